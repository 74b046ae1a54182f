//! Where indexes live, and which of them may go. Knows folders, not what is written in them but for three names.
//!
//! ```text
//! <base>/                                      the user's cache folder for dupi, or the one that was asked for
//!   <workspace>/                               the root's name and a hash of its whole path
//!     <profile>/                               an index: what these settings make of the workspace
//!       manifest, lock, …                      one of them at least, or it is no index and is left alone
//!       used                                   its mtime is when the index was last used
//!   <workspace>.<profile>.gone/                an index that is being removed, or was when the power went
//! ```
//!
//! An index is renamed aside before it is removed, so nobody opens half of one. Links are never followed.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

// Of the crates that know these folders the one without dependencies (but on Windows), with the places that people of
// each system expect.
use etcetera::BaseStrategy;
use etcetera::base_strategy::choose_native_strategy;
use xxhash_rust::xxh3::xxh3_64;

use crate::{regular, store};

/// An index that nobody used for so long is more likely of a workspace that is gone than of one that is missed;
/// building it again takes seconds.
pub const MAX_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// All indexes together: some twenty of the size of Linux. More than a cache may take without being asked.
pub const MAX_TOTAL: u64 = 4 << 30;

/// Enough to recognize a workspace by, short enough for systems that limit the length of a path.
const MAX_NAME_CHARS: usize = 40;

const HASH_DIGITS: usize = 16;
const GONE: &str = ".gone";

/// The folder for indexes in the user's cache, if the user has a home.
pub fn default_folder() -> Option<PathBuf> {
    let cache = choose_native_strategy().ok()?.cache_dir();
    cache.is_absolute().then(|| cache.join("dupi"))
}

/// The folder of one index. `root` should be canonical: two spellings of a path are two workspaces.
pub fn index_folder(base: &Path, root: &Path, profile: u64) -> PathBuf {
    workspace_folder(base, root).join(format!("{profile:016x}"))
}

fn workspace_folder(base: &Path, root: &Path) -> PathBuf {
    let root: PathBuf = root.components().collect();
    let readable: String = root
        .file_name()
        .unwrap_or(OsStr::new("root"))
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .take(MAX_NAME_CHARS)
        .collect();
    base.join(format!("{readable}-{:016x}", xxh3_64(root.as_os_str().as_encoded_bytes())))
}

/// Makes the folder of an index, and those above it, for the user alone: an index tells what is in the sources.
pub fn create(folder: &Path) -> io::Result<()> {
    store::create_private(folder).map_err(|error| at(folder, error))
}

/// Is this the folder of an index, or what is left of one? A walk must not enter it, wherever somebody keeps it: its files
/// change with every refresh, which would be a reason for the next.
pub fn is_index(folder: &Path) -> bool {
    let (Some(name), Some(workspace)) = (folder.file_name(), folder.parent().and_then(Path::file_name)) else {
        return false;
    };
    let is_named = name.to_str().is_some_and(is_hash) && is_workspace_name(workspace);
    is_gone_name(name) || is_named && Index::in_folder(folder.to_owned()).is_some()
}

/// Marks an index as used now.
pub fn touch(folder: &Path) -> io::Result<()> {
    let used = folder.join("used");
    // Someone else's file must not be touched through a link, and a pipe would wait for who reads it.
    if fs::symlink_metadata(&used).is_ok_and(|meta| !meta.is_file()) {
        fs::remove_file(&used).map_err(|error| at(&used, error))?;
    }
    let file = regular::open_to_change(&used);
    file.and_then(|file| file.set_modified(SystemTime::now())).map_err(|error| at(&used, error))
}

/// Removes indexes that were not used for longer than `MAX_AGE`, then the longest unused ones until all together are
/// under `MAX_TOTAL`; never `keep`, and none that is locked. Returns the folders removed; what cannot be removed stays.
pub fn collect(base: &Path, keep: &Path, now: SystemTime) -> Vec<PathBuf> {
    collect_within(base, keep, now, MAX_TOTAL)
}

fn collect_within(base: &Path, keep: &Path, now: SystemTime, max_total: u64) -> Vec<PathBuf> {
    for entry in folders(base).filter(|entry| is_gone_name(&entry.file_name())) {
        // Someone else may be removing it too; whatever is left is for the next time.
        let _ = fs::remove_dir_all(entry.path());
    }
    let workspaces = folders(base).filter(|entry| is_workspace_name(&entry.file_name()));
    let mut indexes: Vec<Index> = workspaces.flat_map(|workspace| indexes(&workspace.path())).collect();
    indexes.sort_by(|a, b| (a.used, &a.folder).cmp(&(b.used, &b.folder)));
    let mut total: u64 = indexes.iter().map(|index| index.bytes).sum();
    let mut removed = Vec::new();
    for index in indexes {
        // A clock that was set back makes no index old.
        let age = now.duration_since(index.used).unwrap_or(Duration::ZERO);
        // The two last names are unique in `base`, however that is spelled.
        let is_kept =
            index.names().is_none_or(|(workspace, profile)| keep.ends_with(Path::new(workspace).join(profile)));
        if !is_kept && (age > MAX_AGE || total > max_total) && index.remove(base).is_ok() {
            total -= index.bytes;
            removed.push(index.folder);
        }
    }
    removed
}

/// Removes all indexes of a workspace and returns how many bytes they had.
/// An error names the first that is in use, or cannot be removed; the others are gone then too.
pub fn clear(base: &Path, root: &Path) -> io::Result<u64> {
    let (mut bytes, mut failed) = (0, None);
    for index in indexes(&workspace_folder(base, root)) {
        match index.remove(base) {
            Ok(()) => bytes += index.bytes,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(bytes), Err)
}

struct Index {
    folder: PathBuf,
    used: SystemTime,
    bytes: u64,
}

impl Index {
    /// The index in a folder, if there is one.
    fn in_folder(folder: PathBuf) -> Option<Index> {
        let known = file_at(&folder.join("manifest")).or_else(|| file_at(&folder.join("lock")))?;
        // An index whose first use was cut short is as old as what there is of it.
        let used = file_at(&folder.join("used")).unwrap_or(known).modified().ok()?;
        Some(Index { used, bytes: bytes_in(&folder), folder })
    }

    fn names(&self) -> Option<(&OsStr, &OsStr)> {
        Some((self.folder.parent()?.file_name()?, self.folder.file_name()?))
    }

    fn remove(&self, base: &Path) -> io::Result<()> {
        let lock = self.folder.join("lock");
        let locked = file_at(&lock).map(|_| regular::open_own(&lock)).transpose().map_err(|error| at(&lock, error))?;
        match locked.as_ref().map_or(Ok(()), |(file, _)| file.try_lock()) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let error = io::Error::new(io::ErrorKind::WouldBlock, "in use by another process");
                return Err(at(&self.folder, error));
            }
            Err(TryLockError::Error(error)) => return Err(at(&lock, error)),
        }
        // Windows renames no folder in which a file is open. Elsewhere the lock is held until the index is aside.
        let locked = locked.filter(|_| cfg!(not(windows)));
        let Some((workspace, profile)) = self.names() else { return Ok(()) };
        let gone = base.join([workspace, OsStr::new("."), profile, OsStr::new(GONE)].join(OsStr::new("")));
        fs::rename(&self.folder, &gone).map_err(|error| at(&self.folder, error))?;
        drop(locked);
        // It is no index any more: if something of it stays, the next collection removes it.
        let _ = fs::remove_dir_all(&gone);
        if let Some(workspace) = self.folder.parent() {
            // Fails if there is another index, as it should.
            let _ = fs::remove_dir(workspace);
        }
        Ok(())
    }
}

/// The indexes of a workspace; none, if its folder is a link.
fn indexes(workspace: &Path) -> Vec<Index> {
    if workspace.is_symlink() {
        return Vec::new();
    }
    let profiles = folders(workspace).filter(|entry| entry.file_name().to_str().is_some_and(is_hash));
    profiles.filter_map(|entry| Index::in_folder(entry.path())).collect()
}

/// The folders in a folder, without links; none, if it cannot be read.
fn folders(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// What is known of a file, if there is one that is no link.
fn file_at(path: &Path) -> Option<fs::Metadata> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)
}

fn bytes_in(folder: &Path) -> u64 {
    let (mut bytes, mut folders) = (0, vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => bytes += meta.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

fn is_hash(name: &str) -> bool {
    name.len() == HASH_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn is_workspace_name(name: &OsStr) -> bool {
    name.to_str().and_then(|name| name.rsplit_once('-')).is_some_and(|(_, hash)| is_hash(hash))
}

fn is_gone_name(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_suffix(GONE)).and_then(|name| name.rsplit_once('.'));
    name.is_some_and(|(workspace, profile)| is_workspace_name(workspace.as_ref()) && is_hash(profile))
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// An index of `bytes` that was last used `age` ago.
    fn index(base: &Path, root: &str, profile: u64, bytes: usize, age: Duration) -> PathBuf {
        let folder = index_folder(base, Path::new(root), profile);
        create(&folder).unwrap();
        fs::write(folder.join("manifest"), vec![7; bytes]).unwrap();
        touch(&folder).unwrap();
        let used = File::options().write(true).open(folder.join("used")).unwrap();
        used.set_modified(SystemTime::now() - age).unwrap();
        folder
    }

    fn base() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn the_default_folder_is_of_dupi_alone() {
        assert!(default_folder().is_none_or(|folder| folder.is_absolute() && folder.ends_with("dupi")));
    }

    #[test]
    fn a_workspace_has_one_readable_folder_and_each_profile_one_in_it() {
        let base = Path::new("/cache");
        let folder = index_folder(base, Path::new("/home/me/My Project ü"), 0xab);
        let workspace = folder.parent().unwrap();
        assert!(folder.ends_with("00000000000000ab"));
        assert!(workspace.file_name().unwrap().to_str().unwrap().starts_with("My_Project__-"), "{workspace:?}");
        assert!(is_workspace_name(workspace.file_name().unwrap()));
        assert_eq!(workspace.parent(), Some(base));
        assert_eq!(index_folder(base, Path::new("/home/me/My Project ü/"), 0xab), folder);
        assert_ne!(index_folder(base, Path::new("/home/you/My Project ü"), 0xab), folder);
        let long = "x".repeat(300);
        for root in ["/", "", "..", ".hidden", long.as_str()] {
            let name = index_folder(base, Path::new(root), 0);
            let name = name.parent().unwrap().file_name().unwrap();
            assert!(is_workspace_name(name) && name.len() <= MAX_NAME_CHARS + 1 + HASH_DIGITS, "{name:?}");
        }
    }

    #[test]
    fn old_indexes_are_collected_and_others_stay() {
        let base = base();
        let base = base.path();
        let old = index(base, "/a", 1, 10, DAY * 61);
        let older_but_kept = index(base, "/b", 1, 10, DAY * 100);
        let young = index(base, "/c", 1, 10, DAY * 59);
        assert_eq!(collect(base, &older_but_kept, SystemTime::now()), std::slice::from_ref(&old));
        assert!(older_but_kept.exists() && young.exists());
        assert!(!old.parent().unwrap().exists(), "an empty workspace goes too");
        assert_eq!(fs::read_dir(base).unwrap().count(), 2, "nothing is left aside");
    }

    #[test]
    fn the_longest_unused_go_until_the_rest_is_small_enough() {
        let base = base();
        let base = base.path();
        let folders: Vec<PathBuf> = (1..5).map(|age| index(base, "/a", age, 1000, DAY * age as u32)).collect();
        let removed = collect_within(base, &folders[3], SystemTime::now(), 2500);
        assert_eq!(removed, [folders[2].clone(), folders[1].clone()]);
        assert!(folders[0].exists() && folders[3].exists());
    }

    #[test]
    fn an_index_that_is_locked_is_neither_collected_nor_cleared() {
        let base = base();
        let base = base.path();
        let locked = index(base, "/a", 1, 10, DAY * 100);
        let free = index(base, "/a", 2, 30, DAY);
        let lock = File::create(locked.join("lock")).unwrap();
        lock.lock().unwrap();
        fs::write(free.join("lock"), "a stale lock file is none").unwrap();
        assert!(collect(base, Path::new(""), SystemTime::now()).is_empty());
        let error = clear(base, Path::new("/a")).unwrap_err();
        assert!(error.to_string().contains(locked.to_str().unwrap()), "{error}");
        assert!(locked.join("manifest").exists() && !free.exists());
        drop(lock);
        assert_eq!(clear(base, Path::new("/a")).unwrap(), 10);
        assert_eq!(clear(base, Path::new("/a")).unwrap(), 0);
        assert_eq!(fs::read_dir(base).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_index_is_left_alone() {
        let base = base();
        let base = base.path();
        let others = [
            "notes.txt",
            "other.gone/file",
            "project-0123456789abcdef/file",
            "project-0123456789abcdef/readme/manifest",
            "project-0123456789abcdef/0123456789abcdef/file",
            "project/0123456789abcdef/manifest",
        ];
        for other in others {
            fs::create_dir_all(base.join(other).parent().unwrap()).unwrap();
            fs::write(base.join(other), "mine").unwrap();
        }
        assert!(collect_within(base, Path::new(""), SystemTime::now() + DAY * 1000, 0).is_empty());
        for other in others {
            assert!(base.join(other).exists(), "{other}");
        }
    }

    #[test]
    fn an_index_is_known_by_its_names_and_by_what_is_in_it() {
        let base = base();
        let folder = index(base.path(), "/a", 1, 10, DAY);
        assert!(is_index(&folder) && !is_index(folder.parent().unwrap()) && !is_index(base.path()));
        fs::remove_file(folder.join("manifest")).unwrap();
        assert!(!is_index(&folder), "somebody else's folder");
    }

    #[test]
    fn what_was_left_of_a_removal_is_removed_next_time() {
        let base = base();
        let left = base.path().join("project-0123456789abcdef.0123456789abcdef.gone");
        fs::create_dir_all(left.join("segments")).unwrap();
        collect(base.path(), Path::new(""), SystemTime::now());
        assert!(!left.exists());
    }

    #[test]
    fn an_index_from_the_future_is_not_old() {
        let base = base();
        let folder = index(base.path(), "/a", 1, 10, Duration::ZERO);
        assert!(collect(base.path(), Path::new(""), SystemTime::now() - DAY * 300).is_empty());
        assert!(folder.exists());
    }

    #[test]
    fn without_a_base_there_is_nothing_to_do() {
        let base = base();
        let missing = base.path().join("missing");
        assert!(collect(&missing, Path::new(""), SystemTime::now()).is_empty());
        assert_eq!(clear(&missing, Path::new("/a")).unwrap(), 0);
        assert!(touch(&missing).unwrap_err().to_string().contains("missing"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (base, elsewhere) = (base(), base());
        let (base, elsewhere) = (base.path(), elsewhere.path());
        let index_elsewhere = index(elsewhere, "/a", 1, 10, DAY * 100);
        let workspace = index_elsewhere.parent().unwrap();
        symlink(workspace, base.join(workspace.file_name().unwrap())).unwrap();
        let linked = index_folder(base, Path::new("/b"), 1);
        create(linked.parent().unwrap()).unwrap();
        symlink(&index_elsewhere, &linked).unwrap();
        let inside = index(base, "/c", 1, 10, DAY * 100);
        symlink(&index_elsewhere, inside.join("segments")).unwrap();
        symlink(&index_elsewhere, base.join("project-0123456789abcdef.0123456789abcdef.gone")).unwrap();

        assert_eq!(collect_within(base, Path::new(""), SystemTime::now(), 0), [inside]);
        assert_eq!(clear(base, Path::new("/a")).unwrap(), 0);
        assert_eq!(clear(base, Path::new("/b")).unwrap(), 0);
        assert!(index_elsewhere.join("manifest").exists());

        let used = index_folder(base, Path::new("/d"), 1);
        create(&used).unwrap();
        symlink(elsewhere.join("made"), used.join("used")).unwrap();
        touch(&used).unwrap();
        assert!(!elsewhere.join("made").exists() && used.join("used").is_file());
    }

    #[cfg(unix)]
    #[test]
    fn an_index_is_for_its_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let base = base();
        let folder = index(&base.path().join("dupi"), "/a", 1, 10, DAY);
        for folder in folder.ancestors().take(3) {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700, "{folder:?}");
        }
    }
}
