//! The store on a disk. Owns the order of syncs and renames, and what differs between operating systems.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::regular;

use super::{Bytes, Held, Lock, Slots, Store, TEMPORARY};

/// Locked by the process that writes. Never deleted: a process that locked a deleted file would lock nothing.
const LOCK: &str = "lock";

/// Segments are written in small pieces; the default of 8 KiB would be a call to the system for each few posts.
const BUFFER: usize = 1 << 16;

/// A folder of the file system.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    never_map: bool,
    plain_reads: AtomicBool,
}

impl Folder {
    /// The store at `path`. What is missing of that path is created for the user alone: an index tells as much as the
    /// sources do.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Folder> {
        let path = path.into();
        create_private(&path).map_err(|source| failed("create", &path, source))?;
        Ok(Folder { path, never_map: false, plain_reads: AtomicBool::new(false) })
    }

    /// The same, as if the system refused to map files.
    pub fn with_plain_reads(path: impl Into<PathBuf>) -> io::Result<Folder> {
        Ok(Folder { never_map: true, ..Folder::create(path)? })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Was a file read into memory because it could not be mapped?
    pub fn plain_reads(&self) -> bool {
        self.plain_reads.load(Ordering::Relaxed)
    }

    /// Names come from the manifest too, and none may lead out of the folder.
    fn file(&self, name: &str) -> io::Result<PathBuf> {
        let mut components = Path::new(name).components();
        match (components.next(), components.next()) {
            (Some(Component::Normal(first)), None) if first == name => Ok(self.path.join(name)),
            _ => Err(failed("use", &self.path.join(name), ErrorKind::InvalidInput.into())),
        }
    }
}

impl Store for Folder {
    fn place(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let list = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    // All our names are UTF-8.
                    names.extend(entry.file_name().into_string().ok());
                }
            }
            names.sort_unstable();
            Ok(names)
        };
        list().map_err(|source| failed("read", &self.path, source))
    }

    fn write(&self, name: &str, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let path = self.file(name)?;
        let temporary = self.file(&format!("{name}{TEMPORARY}"))?;
        let mut write = || -> io::Result<()> {
            // What a crash has left is not written into: it may be a link, or be open elsewhere.
            missing_is_fine(fs::remove_file(&temporary))?;
            let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
            let mut writer = BufWriter::with_capacity(BUFFER, file);
            content(&mut writer)?;
            writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|source| {
            let _ = fs::remove_file(&temporary);
            failed("write", &path, source)
        })
    }

    fn sync(&self) -> io::Result<()> {
        // Windows has no such thing: there a rename is in the journal once it returns.
        if cfg!(not(unix)) {
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "a folder, of which nothing is read")]
        let folder = File::open(&self.path);
        match folder.and_then(|folder| folder.sync_all()) {
            // Some network file systems sync no folders; nothing better can be done there.
            Err(source) if matches!(source.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
            result => result.map_err(|source| failed("sync", &self.path, source)),
        }
    }

    fn open(&self, name: &str) -> io::Result<Bytes> {
        let path = self.file(name)?;
        let open = || -> io::Result<Bytes> {
            let (file, meta) = regular::open_own(&path)?;
            let len = meta.len();
            if len == 0 {
                return Ok(Vec::new().into());
            }
            if !self.never_map {
                // The reason does not matter: a system that maps no file here may still read it.
                if let Ok(bytes) = Bytes::map(file.try_clone()?) {
                    return Ok(bytes);
                }
            }
            self.plain_reads.store(true, Ordering::Relaxed);
            Ok(read_to(file, len)?.into())
        };
        open().map_err(|source| failed("open", &path, source))
    }

    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        let path = self.file(name)?;
        regular::open_own(&path)
            .and_then(|(file, meta)| read_to(file, meta.len().min(limit)))
            .map_err(|source| failed("read", &path, source))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.file(name)?;
        match missing_is_fine(fs::remove_file(&path)) {
            // Somebody has it mapped; a later collection finds it again.
            Err(_) if cfg!(windows) => Ok(()),
            result => result.map_err(|source| failed("remove", &path, source)),
        }
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        let path = self.file(name)?;
        fs::metadata(&path).map(|meta| meta.len()).map_err(|source| failed("read", &path, source))
    }

    fn lock(&self) -> io::Result<Option<Lock>> {
        let path = self.path.join(LOCK);
        let lock = || -> io::Result<Option<Lock>> {
            // Somebody may have removed the folder since: then it starts anew.
            create_private(&self.path)?;
            let file = regular::open_to_change(&path)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(Lock(Held::File { file, path: path.clone() }))),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(source)) => Err(source),
            }
        };
        lock().map_err(|source| failed("lock", &path, source))
    }

    fn slots(&self, name: &str, n: usize) -> io::Result<Option<Box<dyn Slots>>> {
        let path = self.file(name)?;
        let open = || -> io::Result<InPlace> {
            let file = regular::open_to_change(&path)?;
            // Zeroes, not a length alone: then there is room for what comes, be the disk full by then.
            write_at(&file, &vec![0; n * 8], 0)?;
            file.set_len(n as u64 * 8)?;
            Ok(InPlace(file))
        };
        open().map(|slots| Some(Box::new(slots) as _)).map_err(|source| failed("write", &path, source))
    }
}

/// Written, not mapped: a third party may cut the file.
#[derive(Debug)]
struct InPlace(File);

impl Slots for InPlace {
    fn set(&self, slot: usize, number: u64) -> io::Result<()> {
        write_at(&self.0, &number.to_le_bytes(), slot as u64 * 8)
    }
}

/// Writes to a place of a file, in one call if the system takes it all.
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(windows)]
    return match std::os::windows::fs::FileExt::seek_write(file, bytes, at)? {
        n if n == bytes.len() => Ok(()),
        _ => Err(ErrorKind::WriteZero.into()),
    };
    #[cfg(not(any(unix, windows)))]
    Err((file, bytes, at)).map_err(|_| ErrorKind::Unsupported.into())
}

/// Makes a folder, and those above it, for the user alone: what is written there tells what is in the sources.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Is `path` the name of this very file?
pub(super) fn is_same(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (held.dev(), held.ino()) == (named.dev(), named.ino())
    }
    // A name is not free again while a handle is open, so the file that has it is ours.
    #[cfg(not(unix))]
    {
        held.is_file() && named.is_file()
    }
}

fn read_to(file: File, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let capacity = usize::try_from(len).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(capacity).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn missing_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The same kind of error, with the path in its message.
fn failed(what: &str, path: &Path, source: io::Error) -> io::Error {
    io::Error::new(source.kind(), format!("cannot {what} {}: {source}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Folder, name: &str, content: &[u8]) {
        folder.write(name, &mut |to| to.write_all(content)).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn created_folders_are_the_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("cache/index");
        Folder::create(&path).unwrap();
        for created in [path.as_path(), path.parent().unwrap()] {
            assert_eq!(fs::metadata(created).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_lock_of_one_folder_excludes_another_on_the_same_path() {
        let temporary = tempfile::tempdir().unwrap();
        // Left by a process that has died.
        fs::write(temporary.path().join(LOCK), "4711").unwrap();
        let [one, other] = [(); 2].map(|()| Folder::create(temporary.path()).unwrap());
        let lock = one.lock().unwrap().expect("a stale file locks nothing");
        assert!(other.lock().unwrap().is_none());
        drop(lock);
        let lock = other.lock().unwrap().expect("free after drop");
        assert!(one.lock().unwrap().is_none());
        assert!(lock.is_held());
        assert!(temporary.path().join(LOCK).exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_in_a_deleted_folder_is_no_longer_held() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("index");
        let folder = Folder::create(&path).unwrap();
        let lock = folder.lock().unwrap().unwrap();
        fs::remove_dir_all(&path).unwrap();
        assert!(!lock.is_held());
        let other = Folder::create(&path).unwrap().lock().unwrap().expect("nobody has this one");
        assert!(!lock.is_held() && other.is_held());
    }

    #[cfg(unix)]
    #[test]
    fn a_mapped_file_cut_by_a_third_party_is_noticed() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        put(&folder, "a.seg", &[1; 10_000]);
        let bytes = folder.open("a.seg").unwrap();
        assert!(bytes.is_whole() && !folder.plain_reads());
        OpenOptions::new().write(true).open(temporary.path().join("a.seg")).unwrap().set_len(5).unwrap();
        assert!(!bytes.is_whole());
    }

    #[test]
    fn plain_reads_are_told_of_and_never_cut() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::with_plain_reads(temporary.path()).unwrap();
        put(&folder, "a.seg", &[1; 10_000]);
        assert!(!folder.plain_reads());
        let bytes = folder.open("a.seg").unwrap();
        assert!(folder.plain_reads());
        fs::write(temporary.path().join("a.seg"), "").unwrap();
        assert!(bytes.is_whole());
        assert_eq!(&bytes[..], [1; 10_000]);
    }

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path().join("index")).unwrap();
        fs::write(temporary.path().join("secret"), "s").unwrap();
        for name in ["../secret", "/etc/passwd", "a/b", ".", "..", "", "a/", "./a"] {
            assert_eq!(folder.open(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
            assert!(folder.remove(name).is_err() && folder.write(name, &mut |_| Ok(())).is_err(), "{name}");
        }
        assert!(temporary.path().join("secret").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_folders_in_the_place_of_files_are_errors_that_name_them() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        std::os::unix::fs::symlink("/dev/zero", temporary.path().join("manifest")).unwrap();
        std::os::unix::fs::symlink("elsewhere", temporary.path().join(LOCK)).unwrap();
        fs::create_dir(temporary.path().join("a.seg")).unwrap();
        for error in [
            folder.open("manifest").unwrap_err(),
            folder.read("manifest", 10).unwrap_err(),
            folder.open("a.seg").unwrap_err(),
            folder.lock().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(temporary.path().to_str().unwrap()), "{error}");
        }
        assert!(folder.names().unwrap().is_empty());
    }
}
