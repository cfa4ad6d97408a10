//! All inputs below a root, looked at by a few threads: each takes a directory, and leaves those inside
//! for whoever is free.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ignore::gitignore::Gitignore;
use rustix::fs::{AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::cache::Known;
use super::look::{Failure, Look, look, open};
use super::repository::{Repository, bounded};
use super::rules::{RULES_BYTES, Rules, path_of};
use super::{FILES, InputsError};

/// Threads at most: looking at files is mostly the kernel's work, and more of them wait for each other.
const THREADS: usize = 4;
/// Directories inside each other. Real trees reach 40; each level holds a descriptor open.
const DEPTH: usize = 200;

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of their paths.
    pub(super) looks: Vec<Look>,
    /// How many files were read.
    pub(super) read: u64,
    /// How many of those can be known the next time, and their bytes.
    pub(super) fresh: u64,
    pub(super) fresh_bytes: u64,
}

/// All inputs below `root`, without what `ignore` names and without `home`.
pub(super) fn walk(
    root: &Path,
    ignore: &Gitignore,
    home: Option<&Path>,
    known: &Known,
    now: SystemTime,
) -> Result<Found, InputsError> {
    let (top, place) = place_of(root)?;
    let above = root.strip_prefix(&top).map(|path| path.as_os_str().as_bytes()).unwrap_or_default();
    let mut path = above.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    let root_bytes = path.len();
    let home = home.and_then(|home| home.strip_prefix(&top).ok());
    let home = home.map(|path| path.as_os_str().as_bytes().to_vec());
    let queue =
        Queue { todo: vec![Directory { at: None, path, depth: 0, place }], ..Queue::default() };
    let (queue, woken) = (Mutex::new(queue), Condvar::new());
    let walk = Walk { root, top, root_bytes, ignore, home, known, now, queue, woken };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let mut looks = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| walk.work())).collect();
        let mut looks = walk.work();
        for other in others {
            match other.join() {
                Ok(more) => looks.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        looks
    });
    if let Some(failure) = walk.lock().failure.take() {
        return Err(failure);
    }
    // Each thread's part is in order, so this merges.
    looks.sort_by(|one, other| one.entry.path.cmp(&other.entry.path));
    let mut found = Found::default();
    for look in &looks {
        found.read += u64::from(look.read.is_some());
        if let (Some(bytes), Some(_)) = (look.read, look.stamp) {
            found.fresh += 1;
            found.fresh_bytes += bytes;
        }
    }
    Ok(Found { looks, ..found })
}

/// Where paths that rules and indexes speak of begin, and what holds for the directory `root`.
fn place_of(root: &Path) -> Result<(PathBuf, Place), InputsError> {
    let alone = || (root.to_owned(), Place::default());
    let Some((top, repository)) = Repository::around(root)? else { return Ok(alone()) };
    let mut place = Place::of(repository, 0);
    let way = root.strip_prefix(&top).unwrap_or(Path::new(""));
    let (mut path, mut at) = (Vec::new(), top.clone());
    for part in way.components() {
        let handle = File::open(&at).map_err(|error| InputsError::unreadable(&at, error))?;
        place.read_rules(&handle.into(), &path, &at)?;
        at.push(part);
        path.extend(part.as_os_str().as_bytes());
        place = place.inside(&mut path);
    }
    // To a repository that ignores it and knows nothing of it, a directory does not belong.
    if place.ignored && place.tracked.is_empty() { Ok(alone()) } else { Ok((top, place)) }
}

/// What holds for the files of a directory.
#[derive(Debug, Clone, Default)]
struct Place {
    repository: Option<Arc<Repository>>,
    /// How many bytes of a path lead to where the repository begins.
    start: usize,
    /// Which entries of its index lie in the directory.
    tracked: Range<usize>,
    rules: Option<Arc<Rules>>,
    /// Whether what is not tracked here is ignored, whatever rules say.
    ignored: bool,
}

impl Place {
    /// The top of `repository`, to which `start` bytes of a path lead.
    fn of(repository: Repository, start: usize) -> Self {
        let (tracked, rules) = (repository.index.all(), repository.rules.clone());
        Self { repository: Some(Arc::new(repository)), start, tracked, rules, ignored: false }
    }

    /// Adds what the `.gitignore` of this directory says, if it is a file.
    fn read_rules(&mut self, at: &OwnedFd, path: &[u8], shown: &Path) -> Result<(), InputsError> {
        let unreadable = |error| InputsError::unreadable(&shown.join(".gitignore"), error);
        let file = match open(at.as_fd(), c".gitignore") {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(()),
            Err(error) => return Err(unreadable(error.into())),
        };
        if file.metadata().map_err(unreadable)?.is_file() {
            let text = bounded(file, RULES_BYTES).map_err(unreadable)?;
            self.rules = Rules::nearer(self.rules.take(), path.len(), &text);
        }
        Ok(())
    }

    fn tracks(&self, path: &[u8]) -> bool {
        let path = path.get(self.start..).unwrap_or_default();
        self.repository.as_ref().is_some_and(|known| known.index.holds(path, &self.tracked))
    }

    fn ignores(&self, path: &[u8], is_directory: bool) -> bool {
        self.ignored || self.rules.as_ref().is_some_and(|rules| rules.ignore(path, is_directory))
    }

    /// What holds in the directory `path` here; a slash is added to it.
    fn inside(&self, path: &mut Vec<u8>) -> Self {
        let ignored = self.ignores(path, true);
        path.push(b'/');
        let prefix = path.get(self.start..).unwrap_or_default();
        let below = |known: &Arc<Repository>| known.index.below(prefix, &self.tracked);
        let tracked = self.repository.as_ref().map(below).unwrap_or_default();
        Self { tracked, ignored, ..self.clone() }
    }
}

/// A directory to be looked into.
struct Directory {
    /// The directory it lies in, and its name there; none for the root. No path is followed, so that
    /// nobody puts a link into it meanwhile.
    at: Option<(Arc<OwnedFd>, CString)>,
    /// From where the outermost repository begins, with a slash behind it.
    path: Vec<u8>,
    depth: usize,
    place: Place,
}

#[derive(Default)]
struct Queue {
    /// The last one is taken first, so that few descriptors stay open.
    todo: Vec<Directory>,
    /// How many threads may still add to it.
    busy: usize,
    /// How many files were found.
    files: usize,
    failure: Option<InputsError>,
}

struct Walk<'a> {
    root: &'a Path,
    top: PathBuf,
    /// How many bytes of a path lead to the root.
    root_bytes: usize,
    ignore: &'a Gitignore,
    home: Option<Vec<u8>>,
    known: &'a Known,
    now: SystemTime,
    queue: Mutex<Queue>,
    woken: Condvar,
}

impl Walk<'_> {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks into directories until there is none left, and gives what was found in order.
    fn work(&self) -> Vec<Look> {
        let mut looks = Vec::new();
        while let Some(directory) = self.next() {
            let before = looks.len();
            // What panics here must not leave the others waiting.
            let turn = Turn(self);
            let done = self.enter(&directory, &mut looks);
            let mut queue = self.lock();
            match done {
                Ok(inside) => queue.todo.extend(inside.into_iter().rev()),
                Err(failure) => queue.failure = queue.failure.take().or(Some(failure)),
            }
            queue.files += looks.len() - before;
            if queue.files > FILES {
                queue.failure = Some(InputsError::too_large(self.root, "more files", FILES));
            }
            drop(queue);
            drop(turn);
        }
        looks.sort_by(|one, other| one.entry.path.cmp(&other.entry.path));
        looks
    }

    fn next(&self) -> Option<Directory> {
        let mut queue = self.lock();
        loop {
            if queue.failure.is_some() {
                return None;
            }
            if let Some(directory) = queue.todo.pop() {
                queue.busy += 1;
                return Some(directory);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.woken.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Looks at the files of `directory`, and gives the directories in it.
    fn enter(
        &self,
        directory: &Directory,
        looks: &mut Vec<Look>,
    ) -> Result<Vec<Directory>, InputsError> {
        let shown = || self.top.join(path_of(&directory.path));
        let unreadable =
            |error: Errno| InputsError::unreadable(&shown(), std::io::Error::from(error));
        let handle = match self.open(directory) {
            Ok(handle) => Arc::new(handle),
            Err(Errno::NOENT) if directory.depth > 0 => return Ok(Vec::new()),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(InputsError::Changing { path: shown() });
            }
            Err(error) => return Err(unreadable(error)),
        };
        if directory.depth > DEPTH {
            return Err(InputsError::too_large(&shown(), "more levels", DEPTH));
        }
        let entries = Dir::read_from(&handle).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = entries.map_err(unreadable)?;
        // Names are short; later, whole paths that are nearly in order are soon in order.
        entries.sort_unstable_by(|one, other| one.file_name().cmp(other.file_name()));
        let place = self.place(directory, &handle, &entries)?;
        let mut inside = Vec::new();
        let mut path = directory.path.clone();
        for entry in &entries {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            path.truncate(directory.path.len());
            path.extend(name.to_bytes());
            let Some(is_directory) = is_directory(&handle, entry).map_err(unreadable)? else {
                continue;
            };
            let relative = path.get(self.root_bytes..).unwrap_or_default();
            let is_left_out = self.home.as_ref() == Some(&path)
                || self.ignore.matched(path_of(relative), is_directory).is_ignore();
            if is_left_out {
                continue;
            }
            if is_directory {
                let is_tracked = place.tracks(&path);
                let within = place.inside(&mut path);
                if is_tracked || !within.ignored || !within.tracked.is_empty() {
                    let at = Some((handle.clone(), name.to_owned()));
                    let (path, depth) = (path.clone(), directory.depth + 1);
                    inside.push(Directory { at, path, depth, place: within });
                }
            } else if place.tracks(&path) || !place.ignores(&path, false) {
                let found = look(handle.as_fd(), name, relative, self.known, self.now);
                looks.extend(found.map_err(|failure| {
                    let path = self.top.join(path_of(&path));
                    match failure {
                        Failure::Io(error) => InputsError::unreadable(&path, error),
                        Failure::Changing => InputsError::Changing { path },
                    }
                })?);
            }
        }
        Ok(inside)
    }

    fn open(&self, directory: &Directory) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match &directory.at {
            Some((parent, name)) => openat(parent, name.as_c_str(), flags, Mode::empty()),
            None => openat(CWD, self.root, flags, Mode::empty()),
        }
    }

    /// What holds for the `entries` of `directory`: another repository may begin here, and rules may be
    /// added.
    fn place(
        &self,
        directory: &Directory,
        handle: &OwnedFd,
        entries: &[DirEntry],
    ) -> Result<Place, InputsError> {
        let has = |name: &CStr| entries.iter().any(|entry| entry.file_name() == name);
        let mut place = directory.place.clone();
        let shown = || self.top.join(path_of(&directory.path));
        // Else who makes a `.git` in a directory could have what is tracked there ignored.
        if directory.depth > 0 && place.tracked.is_empty() && has(c".git") {
            let start = directory.path.len();
            if let Some(repository) = Repository::at(&shown(), start)? {
                place = Place::of(repository, start);
            }
        }
        if !place.ignored && has(c".gitignore") {
            place.read_rules(handle, &directory.path, &shown())?;
        }
        Ok(place)
    }
}

/// A thread's turn at a directory. When it ends, others may find something to do, or that there is nothing.
struct Turn<'a, 'w>(&'a Walk<'w>);

impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.woken.notify_all();
    }
}

/// Whether `entry` is a directory; none where it is gone. Most file systems say so in their listing.
fn is_directory(at: &OwnedFd, entry: &DirEntry) -> Result<Option<bool>, Errno> {
    let kind = match entry.file_type() {
        FileType::Unknown => match statat(at, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error),
        },
        kind => kind,
    };
    Ok(Some(kind == FileType::Directory))
}
