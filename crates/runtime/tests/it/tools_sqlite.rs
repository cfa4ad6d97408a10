//! Databases that can be read and not changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use concertina_core::session::{Answer, Refusal};
use concertina_runtime::{Cancel, Session, Workspace};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::kit::{World, begin, call, is_root};

const CONFIG: &str = "[tool.q]\nkind = \"sqlite\"\ndatabase = \"d.db\"\nmax_rows = 3\n";

struct Shop {
    world: World,
    workspace: Workspace,
    session: Session,
}

impl Shop {
    fn new() -> Self {
        let world = World::new();
        world.config(CONFIG);
        Connection::open(world.path("work/d.db"))
            .unwrap()
            .execute_batch(
                "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, blob BLOB, price REAL);
                 CREATE INDEX by_name ON t(name);
                 INSERT INTO t VALUES (1,'é\"x\n',x'00ff',1.5),(2,NULL,NULL,2.0),(3,'c',NULL,3),(4,'d',NULL,4);",
            )
            .unwrap();
        Self::over(world)
    }

    fn over(world: World) -> Self {
        let mut workspace = world.alone();
        let session = begin(&mut workspace);
        Self { world, workspace, session }
    }

    fn ask(&mut self, query: &str) -> Result<Answer, Refusal> {
        call(&mut self.session, &self.workspace, "q", json!({"query": query}))
    }

    /// The code of the error that a query ends with.
    fn code(&mut self, query: &str) -> String {
        let refusal = self.ask(query).expect_err(query);
        assert!(!refusal.message.is_empty());
        refusal.code
    }

    fn rows(&mut self, query: &str) -> Value {
        let text = self.ask(query).unwrap().text;
        let json = text.split_once('\n').unwrap().1.rsplit_once('\n').unwrap().0;
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.world.path("work/d.db")).unwrap()
    }
}

#[test]
fn rows_come_back_as_they_are() {
    let mut shop = Shop::new();
    let rows = shop.rows("SELECT id, name, blob, price FROM t ORDER BY id LIMIT 2");
    assert_eq!(
        rows,
        json!({"columns": ["id", "name", "blob", "price"], "count": 2, "more": false,
               "rows": [[1, "é\"x\n", "[2 bytes]", 1.5], [2, null, null, 2.0]]})
    );
    assert_eq!(
        shop.rows("SELECT 1 WHERE 0"),
        json!({"columns": ["1"], "count": 0, "more": false, "rows": []})
    );
    let capped = shop.rows("SELECT id FROM t");
    assert_eq!((&capped["count"], &capped["more"]), (&json!(3), &json!(true)));
    assert_eq!(shop.rows("PRAGMA table_info(t)")["count"], json!(3));
    assert_eq!(
        shop.rows("WITH x AS (SELECT 5 AS v) SELECT v FROM x;  -- done")["rows"],
        json!([[5]])
    );
    assert_eq!(shop.rows("EXPLAIN QUERY PLAN SELECT * FROM t")["count"], json!(1));
}

#[test]
fn every_write_is_refused() {
    let mut shop = Shop::new();
    let before = shop.bytes();
    for query in [
        "INSERT INTO t(name) VALUES ('x')",
        "UPDATE t SET name = 'x'",
        "DELETE FROM t",
        "REPLACE INTO t(id) VALUES (1)",
        "DROP TABLE t",
        "CREATE TABLE u(x)",
        "CREATE TEMP TABLE u(x)",
        "ALTER TABLE t ADD COLUMN y",
        "WITH x AS (SELECT 1) INSERT INTO t(id) SELECT * FROM x",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = 1",
        "PRAGMA query_only(0)",
        "VACUUM",
        "REINDEX",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "SELECT 1; DELETE FROM t",
        "SAVEPOINT s",
        "EXPLAIN DELETE FROM t",
    ] {
        assert_eq!(shop.code(query), "WRITE_REFUSED", "{query}");
    }
    assert_eq!(shop.bytes(), before);
    let beside = fs::read_dir(shop.world.path("work")).unwrap().count();
    assert_eq!(beside, 3, "only .git, the settings and the database");
}

#[test]
fn no_other_file_is_reached() {
    let mut shop = Shop::new();
    let other = shop.world.path("other.db");
    for query in [
        format!("ATTACH '{}' AS o", other.display()),
        format!("VACUUM INTO '{}'", other.display()),
        format!("SELECT writefile('{}', 'x')", other.display()),
        format!("SELECT readfile('{}')", shop.world.path("work/concertina.toml").display()),
        format!(".output {}", other.display()),
        "SELECT load_extension('/tmp/x')".to_owned(),
    ] {
        let code = shop.code(&query);
        let codes = ["WRITE_REFUSED", "SQL_ERROR", "NOT_ALLOWED"];
        assert!(codes.contains(&code.as_str()), "{query}: {code}");
    }
    assert!(!other.exists());
}

#[test]
fn a_function_that_loads_code_is_denied_and_no_mistake_of_the_asker() {
    let mut shop = Shop::new();
    for query in ["SELECT load_extension('x')", "SELECT 1 WHERE Load_Extension('x', 'y')"] {
        assert_eq!(shop.code(query), "NOT_ALLOWED", "{query}");
    }
    assert_eq!(shop.code("SELECT \"not authorized to use function\".x"), "SQL_ERROR");
}

#[test]
fn full_text_tables_are_queried() {
    let mut shop = seeded(
        "CREATE VIRTUAL TABLE notes USING fts5(body);
         INSERT INTO notes VALUES ('red apples'), ('green pears');",
    );
    let query = "SELECT highlight(notes, 0, '<', '>') FROM notes WHERE notes MATCH 'pears'";
    assert_eq!(shop.rows(query)["rows"], json!([["green <pears>"]]));
    assert_eq!(shop.code("INSERT INTO notes VALUES ('x')"), "WRITE_REFUSED");
    assert_eq!(shop.code("INSERT INTO notes(notes) VALUES ('rebuild')"), "WRITE_REFUSED");
}

#[test]
fn one_statement_at_a_time() {
    let mut shop = Shop::new();
    for query in ["SELECT 1; SELECT 2", "", "  ", "-- nothing", ";"] {
        assert_eq!(shop.code(query), "BAD_ARGUMENTS", "{query:?}");
    }
    assert_eq!(shop.code("SELECT no_such FROM t"), "SQL_ERROR");
    assert_eq!(shop.code("SELEC 1"), "SQL_ERROR");
    assert_eq!(shop.code("SELECT 'a\0b"), "BAD_ARGUMENTS");
    assert_eq!(shop.code("SELECT zeroblob(2000000)"), "TOO_LARGE");
    assert_eq!(shop.code(&format!("SELECT '{}'", "x".repeat(2_000_000))), "TOO_LARGE");
    let refusal =
        call(&mut shop.session, &shop.workspace, "q", json!({"sql": "SELECT 1"})).unwrap_err();
    assert_eq!(refusal.code, "BAD_ARGUMENTS");
}

#[test]
fn a_query_without_end_is_stopped() {
    let mut shop = Shop::new();
    let cancel = Cancel::default();
    let stopper = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        stopper.stop();
    });
    let begun = Instant::now();
    let query =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c";
    let origin = concertina_core::session::Origin::model("c");
    let reply =
        shop.session.call(&shop.workspace, origin, "q", json!({"query": query}), &cancel).unwrap();
    assert!(reply.answer.unwrap().text.starts_with("error CANCELLED"));
    assert_eq!(reply.refusal.unwrap().code, "CANCELLED");
    assert!(begun.elapsed() < Duration::from_secs(5));
    // Rows without end need no stop: they are counted.
    let rows =
        shop.rows("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c");
    assert_eq!((&rows["count"], &rows["more"]), (&json!(3), &json!(true)));
}

#[test]
fn a_result_is_bounded_in_bytes_too() {
    let world = World::new();
    world.config("[tool.q]\nkind = \"sqlite\"\ndatabase = \"d.db\"\nmax_rows = 1000000\n");
    Connection::open(world.path("work/d.db")).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
    let mut shop = Shop::over(world);
    let query = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT printf('%.*c', 900000, 'x') FROM c";
    let answer = shop.ask(query).unwrap();
    assert!(!answer.error && answer.text.len() < 12_000, "{}", answer.text.len());
    let kept = shop.session.state().evidence.values().next().unwrap().bytes;
    assert!(kept < 9 * 1024 * 1024, "{kept}");
}

#[test]
fn a_database_that_is_none_is_said_to_be() {
    let world = World::new();
    world.config(CONFIG);
    let mut shop = Shop::over(world);
    assert_eq!(shop.code("SELECT 1"), "DATABASE_MISSING");
    fs::create_dir(shop.world.path("work/d.db")).unwrap();
    assert_eq!(shop.code("SELECT 1"), "DATABASE_MISSING");
    fs::remove_dir(shop.world.path("work/d.db")).unwrap();
    shop.world.write(
        "work/d.db",
        "this is no database at all, but long enough to be taken for one".repeat(50),
    );
    assert_eq!(shop.code("SELECT * FROM t"), "DATABASE_CORRUPT");
    let mut whole = Shop::new();
    let mut bytes = whole.bytes();
    let middle = bytes.len() / 2;
    bytes[100..middle].fill(0xAA);
    whole.world.write("work/d.db", bytes);
    assert_eq!(whole.code("SELECT * FROM t"), "DATABASE_CORRUPT");
}

const SEEDED: &str = "[tool.q]\nkind = \"sqlite\"\nseed = \"seed.sql\"\n";

fn seeded(sql: &str) -> Shop {
    let world = World::new();
    world.config(SEEDED).write("work/seed.sql", sql);
    Shop::over(world)
}

fn databases(shop: &Shop) -> Vec<String> {
    let entries = fs::read_dir(shop.world.path("state/seeded")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_seed_is_made_once_for_each_text() {
    let mut shop = seeded("CREATE TABLE t(x); INSERT INTO t VALUES (1);");
    assert_eq!(shop.rows("SELECT x FROM t")["rows"], json!([[1]]));
    let made = databases(&shop);
    assert_eq!(made.len(), 1);
    shop.rows("SELECT x FROM t");
    assert_eq!(databases(&shop), made);
    shop.world.write("work/seed.sql", "CREATE TABLE t(x); INSERT INTO t VALUES (2);");
    assert_eq!(shop.rows("SELECT x FROM t")["rows"], json!([[2]]));
    assert_eq!(databases(&shop).len(), 2);
}

#[test]
fn a_race_for_a_seed_leaves_one_database() {
    let rows: String = (0..2_000).map(|row| format!("INSERT INTO t VALUES ({row});")).collect();
    let shop = seeded(&format!("CREATE TABLE t(x); BEGIN; {rows} COMMIT;"));
    let workspace = &shop.workspace;
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(move || {
                let store = concertina_store::Store::memory();
                let mut own = shop_session(workspace, store);
                let text =
                    call(&mut own, workspace, "q", json!({"query": "SELECT count(*) FROM t"}))
                        .unwrap()
                        .text;
                assert!(text.contains("[2000]"), "{text}");
            });
        }
    });
    assert_eq!(databases(&shop).len(), 1, "no draft is left: {:?}", databases(&shop));
}

/// A session beside that of the shop, over the same files.
fn shop_session(workspace: &Workspace, store: concertina_store::Store) -> Session {
    let home = workspace.root().parent().unwrap().join("state");
    let mut again = Workspace::open(
        workspace.root(),
        concertina_runtime::WorkspaceOptions::only(home, &|_| None),
    )
    .unwrap();
    Session::create(&mut again, store, concertina_runtime::Started::default()).unwrap()
}

#[test]
fn a_seed_touches_no_other_file_and_ends() {
    let mut shop = seeded("CREATE TABLE t(x);");
    let other = shop.world.path("other.db");
    for sql in [
        format!("ATTACH '{0}' AS o; CREATE TABLE o.t(x);", other.display()),
        format!("CREATE TABLE t(x); VACUUM INTO '{}';", other.display()),
        "CREATE TABLE broken(".to_owned(),
    ] {
        shop.world.write("work/seed.sql", &sql);
        assert_eq!(shop.code("SELECT 1"), "SEED_FAILED", "{sql}");
        assert!(!other.exists(), "{sql}");
        assert!(databases(&shop).is_empty(), "no half database is left");
    }
    fs::remove_file(shop.world.path("work/seed.sql")).unwrap();
    assert_eq!(shop.code("SELECT 1"), "SEED_MISSING");
    shop.world.write("work/seed.sql", [0xff, 0xfe]);
    assert_eq!(shop.code("SELECT 1"), "SEED_MISSING");
}

#[test]
fn a_seed_without_end_is_stopped_by_its_size() {
    let endless = "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)
                   SELECT zeroblob(900000) FROM c;";
    for before in [
        "CREATE TABLE t(x);",
        "BEGIN; CREATE TEMP TABLE t(x);",
        "PRAGMA page_size = 65536; PRAGMA max_page_count = 4294967294; CREATE TABLE t(x);",
    ] {
        let mut shop = seeded(&format!("{before} {endless}"));
        let refusal = shop.ask("SELECT 1").unwrap_err();
        assert_eq!(refusal.code, "SEED_FAILED", "{before}");
        assert!(refusal.message.contains("more than 256 MB"), "{before}: {refusal}");
        assert!(databases(&shop).is_empty(), "{before}: {:?}", databases(&shop));
    }
}

#[test]
fn drafts_of_killed_processes_are_removed() {
    let mut shop = seeded("CREATE TABLE t(x);");
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(2);
    for name in ["draft-1-0", "draft-1-0-journal", "draft-2-0"] {
        shop.world.write(&format!("state/seeded/{name}"), "half");
        if name != "draft-2-0" {
            let file = fs::File::options()
                .write(true)
                .open(shop.world.path(&format!("state/seeded/{name}")))
                .unwrap();
            file.set_modified(long_ago).unwrap();
        }
    }
    shop.rows("SELECT count(*) FROM t");
    let left: Vec<_> =
        databases(&shop).into_iter().filter(|name| name.starts_with("draft")).collect();
    assert_eq!(left, ["draft-2-0"], "one that may be at work stays");
}

#[test]
fn a_home_that_cannot_be_written_is_said_so() {
    let mut shop = seeded("CREATE TABLE t(x);");
    shop.world.write("state/seeded", "a file in the way");
    assert_eq!(shop.code("SELECT 1"), "SEED_FAILED");
    fs::remove_file(shop.world.path("state/seeded")).unwrap();
    if is_root() {
        eprintln!("skipped: no permission stops this user");
        return;
    }
    fs::set_permissions(shop.world.path("state"), fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(shop.code("SELECT 1"), "SEED_FAILED");
    fs::set_permissions(shop.world.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_database_that_cannot_be_written_is_read() {
    let mut shop = Shop::new();
    let path = shop.world.path("work/d.db");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(shop.rows("SELECT count(*) FROM t")["rows"], json!([[4]]));
    // A journal as another program leaves it open does no harm.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL; INSERT INTO t(id) VALUES (5)").unwrap();
    assert_eq!(shop.rows("SELECT count(*) FROM t")["rows"], json!([[5]]));
}
