//! Tools that query a SQLite file and cannot change it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use concertina_types::{Digest, limits};
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, ffi};
use serde_json::{Value, json};

use super::Outcome;
use crate::Cancel;
use crate::private::{create, create_private_directory};

/// Where the database comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// A file that is there.
    Database(PathBuf),
    /// A file of SQL, from which a private database is made below `home` on first use.
    Seed { script: PathBuf, home: PathBuf },
}

/// A database that can be queried.
#[derive(Debug, Clone)]
pub struct SqliteTool {
    origin: Origin,
    max_rows: u64,
}

/// The largest single value or statement, in bytes.
const VALUE_BYTES: i32 = 1_000_000;
/// The largest database that is made from a seed, in bytes.
const SEEDED_BYTES: u64 = 256 * 1024 * 1024;
/// The size of its pages, in bytes.
const PAGE_BYTES: u64 = 4096;
/// Steps of the query machine between two looks at the clock.
const STEPS: i32 = 10_000;

impl SqliteTool {
    /// Queries the file `database`, returning at most `max_rows` rows.
    pub fn database(database: PathBuf, max_rows: u64) -> Self {
        Self { origin: Origin::Database(database), max_rows }
    }

    /// Queries a database made from the SQL file `script`, kept below `home` under the digest of
    /// the script: another script is another database.
    pub fn seeded(script: PathBuf, home: PathBuf, max_rows: u64) -> Self {
        Self { origin: Origin::Seed { script, home }, max_rows }
    }

    pub(super) fn run(&self, arguments: &Value, cancel: &Cancel) -> Outcome {
        let Some(query) = arguments.get("query").and_then(Value::as_str) else {
            return Outcome::failed("BAD_ARGUMENTS", "`query` must hold one SQL statement");
        };
        let path = match self.path(cancel) {
            Ok(path) => path,
            Err(outcome) => return outcome,
        };
        match self.query(&path, query, cancel) {
            Ok(output) => Outcome::done(0, output, 0),
            Err(error) => explain(&path, &error, cancel),
        }
    }

    fn query(&self, path: &Path, query: &str, cancel: &Cancel) -> Result<String, QueryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, VALUE_BYTES)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        guard(&mut connection, cancel)?;
        connection.authorizer(Some(reading))?;
        let mut statements = rusqlite::Batch::new(&connection, query);
        let Some(mut statement) = statements.next()? else { return Err(QueryError::Empty) };
        if !statement.readonly() {
            return Err(QueryError::Writes);
        }
        if statements.next()?.is_some() {
            return Err(QueryError::Several);
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let width = columns.len();
        let mut rows = statement.query([])?;
        let mut kept: Vec<String> = Vec::new();
        let mut bytes = 0;
        let mut more = false;
        while let Some(row) = rows.next()? {
            let cells = (0..width).map(|at| row.get_ref(at).map(cell));
            let line = Value::Array(cells.collect::<Result<_, _>>()?).to_string();
            bytes += line.len();
            let rows = u64::try_from(kept.len()).unwrap_or(u64::MAX);
            if rows >= self.max_rows || bytes > limits::OUTPUT_BYTES {
                more = true;
                break;
            }
            kept.push(line);
        }
        Ok(render(&columns, &kept, more))
    }

    /// The file to query, made first where it has to be.
    fn path(&self, cancel: &Cancel) -> Result<PathBuf, Outcome> {
        match &self.origin {
            Origin::Database(path) => match fs::metadata(path) {
                Ok(meta) if meta.is_file() => Ok(path.clone()),
                Ok(_) => Err(Outcome::failed(
                    "DATABASE_MISSING",
                    format!("{} is not a file", path.display()),
                )),
                Err(error) => Err(Outcome::failed(
                    "DATABASE_MISSING",
                    format!(
                        "the database {} cannot be opened: {error}; check `database` in the settings",
                        path.display()
                    ),
                )),
            },
            Origin::Seed { script, home } => seed(script, home, cancel),
        }
    }
}

/// Makes the database of `script` below `home`, unless it is there. It appears under its name only
/// once it is complete.
fn seed(script: &Path, home: &Path, cancel: &Cancel) -> Result<PathBuf, Outcome> {
    let sql = fs::read_to_string(script).map_err(|error| {
        Outcome::failed(
            "SEED_MISSING",
            format!(
                "the SQL file {} cannot be read: {error}; check `seed` in the settings",
                script.display()
            ),
        )
    })?;
    let directory = home.join("seeded");
    let path = directory.join(format!("{}.db", Digest::of(sql.as_bytes()).hex()));
    if path.exists() {
        return Ok(path);
    }
    let failed = |what: String| {
        Outcome::failed(
            "SEED_FAILED",
            format!(
                "no database could be made in {} from {}: {what}",
                directory.display(),
                script.display()
            ),
        )
    };
    create_private_directory(&directory).map_err(|error| failed(error.to_string()))?;
    sweep(&directory);
    let draft = directory.join(format!("draft-{}-{}", std::process::id(), draft_number()));
    // SQLite keeps the mode of a file that is there.
    let made = create(&draft, 0o600)
        .map_err(|error| failed(error.to_string()))
        .and_then(|_| fill(&draft, &sql, cancel).map_err(|error| failed(unfilled(&error, cancel))))
        .and_then(|()| fs::rename(&draft, &path).map_err(|error| failed(error.to_string())));
    if made.is_err() {
        for end in ["", "-journal", "-wal", "-shm"] {
            let mut file = draft.clone().into_os_string();
            file.push(end);
            let _ = fs::remove_file(file);
        }
    }
    made.map(|()| path)
}

/// Removes the drafts of processes that were killed: no seed is at work for this long.
fn sweep(directory: &Path) {
    let age = Duration::from_secs(10 * limits::TOOL_SECONDS);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_draft = entry.file_name().to_string_lossy().starts_with("draft-");
        let changed = entry.metadata().and_then(|meta| meta.modified()).ok();
        let is_old = changed.is_some_and(|at| at.elapsed().is_ok_and(|since| since > age));
        if is_draft && is_old {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Runs `sql` on a new database at `draft`, which is the only file it can touch.
fn fill(draft: &Path, sql: &str, cancel: &Cancel) -> rusqlite::Result<()> {
    let mut connection = Connection::open(draft)?;
    guard(&mut connection, cancel)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    for schema in ["main", "temp"] {
        let pages = SEEDED_BYTES / PAGE_BYTES;
        connection.pragma_update_and_check(Some(schema), "max_page_count", pages, |_| Ok(()))?;
    }
    connection.authorizer(Some(filling))?;
    connection.execute_batch(sql)
}

/// What a seed may do: all but change the size that was set for its database.
fn filling(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Pragma { pragma_name, .. }
            if ["page_size", "max_page_count"]
                .iter()
                .any(|name| name.eq_ignore_ascii_case(pragma_name)) =>
        {
            Authorization::Ignore
        }
        _ => Authorization::Allow,
    }
}

/// Why a seed did not come to its end.
fn unfilled(error: &rusqlite::Error, cancel: &Cancel) -> String {
    match error.sqlite_error_code() {
        Some(ffi::ErrorCode::DiskFull) => {
            format!("it makes more than {} MB, or the disk is full", SEEDED_BYTES / (1024 * 1024))
        }
        Some(ffi::ErrorCode::OperationInterrupted) if !cancel.is_stopped() => {
            format!("it was stopped after {} seconds", limits::TOOL_SECONDS)
        }
        _ => error.to_string(),
    }
}

/// Keeps a connection to its own file, its own size and its own time.
fn guard(connection: &mut Connection, cancel: &Cancel) -> rusqlite::Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES)?;
    // No second database: ATTACH and VACUUM INTO would read, or make, any file.
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let deadline = Instant::now() + Duration::from_secs(limits::TOOL_SECONDS);
    let stop = cancel.clone();
    connection
        .progress_handler(STEPS, Some(move || stop.is_stopped() || Instant::now() >= deadline))
}

/// Pragmas that change nothing, whatever they are given: those that tell of the schema, and
/// `data_version`, which full-text tables (FTS5) ask for themselves.
const READING_PRAGMAS: [&str; 10] = [
    "data_version",
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "database_list",
    "collation_list",
];

/// What a statement may do: read. Everything else is refused before it runs.
fn reading(context: AuthContext<'_>) -> Authorization {
    let reads = match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => {
            !function_name.eq_ignore_ascii_case("load_extension")
        }
        AuthAction::Pragma { pragma_name, .. } => {
            READING_PRAGMAS.iter().any(|name| name.eq_ignore_ascii_case(pragma_name))
        }
        _ => false,
    };
    if reads { Authorization::Allow } else { Authorization::Deny }
}

/// Tells apart the drafts of threads of one process.
fn draft_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

#[derive(Debug)]
enum QueryError {
    Empty,
    Writes,
    Several,
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn explain(path: &Path, error: &QueryError, cancel: &Cancel) -> Outcome {
    let path = path.display();
    let error = match error {
        QueryError::Empty => {
            return Outcome::failed("BAD_ARGUMENTS", "`query` holds no SQL statement");
        }
        QueryError::Writes => {
            return Outcome::failed(
                "WRITE_REFUSED",
                "this tool only reads, and the statement would change the database; nothing was run",
            );
        }
        QueryError::Several => {
            return Outcome::failed(
                "BAD_ARGUMENTS",
                "`query` holds several statements; send one at a time",
            );
        }
        QueryError::Sqlite(error) => error,
    };
    // SQLite has no code of its own for a function that the authorizer denies.
    if error.to_string().starts_with("not authorized to use function") {
        return Outcome::failed(
            "NOT_ALLOWED",
            "this tool only reads its database, and the statement calls a function that reaches \
             beyond it; nothing was run",
        );
    }
    let Some(code) = error.sqlite_error_code() else {
        return Outcome::failed("SQL_ERROR", error.to_string());
    };
    match code {
        ffi::ErrorCode::OperationInterrupted if cancel.is_stopped() => {
            Outcome::failed("CANCELLED", "stopped before its end")
        }
        ffi::ErrorCode::OperationInterrupted => Outcome::failed(
            "TIMEOUT",
            format!("the query was stopped after {} seconds; ask for less", limits::TOOL_SECONDS),
        ),
        ffi::ErrorCode::ReadOnly | ffi::ErrorCode::AuthorizationForStatementDenied => {
            Outcome::failed(
                "WRITE_REFUSED",
                "this tool only reads, and the statement would change the database; nothing was changed",
            )
        }
        ffi::ErrorCode::NotADatabase | ffi::ErrorCode::DatabaseCorrupt => Outcome::failed(
            "DATABASE_CORRUPT",
            format!(
                "{path} is damaged or no SQLite database: {error}; restore it, or delete it where it was made from a seed"
            ),
        ),
        ffi::ErrorCode::CannotOpen | ffi::ErrorCode::PermissionDenied => Outcome::failed(
            "DATABASE_MISSING",
            format!("the database {path} cannot be opened: {error}"),
        ),
        ffi::ErrorCode::TooBig => Outcome::failed(
            "TOO_LARGE",
            format!("a value or the statement is over {VALUE_BYTES} bytes; ask for less"),
        ),
        _ => Outcome::failed(
            "SQL_ERROR",
            format!("{error}; check the statement against the tables in the skill"),
        ),
    }
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => Value::String(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(blob) => Value::String(format!("[{} bytes]", blob.len())),
    }
}

/// The rows as JSON that a model reads at little cost and a person can follow: one row a line.
fn render(columns: &[String], rows: &[String], more: bool) -> String {
    let body = if rows.is_empty() { String::new() } else { format!("\n{}\n", rows.join(",\n")) };
    format!(
        "{{\"columns\":{},\"count\":{},\"more\":{more},\"rows\":[{body}]}}",
        json!(columns),
        rows.len()
    )
}
