//! Files that a user names to be written: reports, baselines, hashes of a corpus. All of them are written here.
//!
//! A checkout may bring a link or any file by the name of an output. So nothing is written through a link, or over a file
//! that is no older output of the same kind. A file is replaced as a whole: a reader sees the old one or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::regular;

/// How much of a file is looked at, at its start and at its end, to tell whose it is.
const ENDS: u64 = 16 * 1024;

/// The first and the last bytes of a file, all of it if it is small.
pub struct Ends {
    pub first: Vec<u8>,
    pub last: Vec<u8>,
}

/// Says why an output must not be written to a path, if there is a reason. `is_ours` tells whether a file that is there
/// was written as the same kind of output; an empty one is nobody's.
pub fn check(path: &Path, is_ours: impl Fn(&Ends) -> bool) -> io::Result<()> {
    let refuse = |why: &str| Err(io::Error::new(ErrorKind::AlreadyExists, why.to_owned()));
    if let Some(link) = link_above(path) {
        return refuse(&format!("{} is a link: name the folder itself", link.display()));
    }
    let meta = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    if meta.is_symlink() {
        return refuse("it is a link: name the file itself");
    }
    if meta.is_dir() {
        return refuse("it is a folder: name a file in it");
    }
    if !meta.is_file() {
        return refuse("it is not a regular file");
    }
    if meta.len() > 0 && !is_ours(&ends(path)?) {
        return refuse("it is a file of another kind: remove it, or name another file");
    }
    Ok(())
}

/// A link among the folders of a path that a checkout could have brought: those below the current folder. Links above it
/// are the user's.
fn link_above(path: &Path) -> Option<PathBuf> {
    let below = match std::env::current_dir() {
        Ok(current) if path.is_absolute() => path.strip_prefix(current).ok()?,
        _ => path,
    };
    let n_above = path.components().count() - below.components().count();
    let folders = path.parent()?.ancestors();
    folders
        .take_while(|folder| folder.components().count() > n_above)
        .find(|folder| folder.is_symlink())
        .map(Path::to_owned)
}

fn ends(path: &Path) -> io::Result<Ends> {
    let (mut file, _) = regular::open_own(path)?;
    let mut ends = Ends { first: Vec::new(), last: Vec::new() };
    (&file).take(ENDS).read_to_end(&mut ends.first)?;
    let size = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(size.saturating_sub(ENDS)))?;
    file.take(ENDS).read_to_end(&mut ends.last)?;
    Ok(ends)
}

/// An output under a temporary name in its folder until it is whole.
pub struct Draft {
    path: PathBuf,
    temporary: PathBuf,
    out: BufWriter<File>,
}

impl Draft {
    /// Fails where [`check`] does.
    pub fn create(path: &Path, is_ours: impl Fn(&Ends) -> bool) -> io::Result<Draft> {
        check(path, is_ours)?;
        let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it names no file"))?;
        let process = std::process::id();
        for n in 0..100 {
            let mut temporary = name.to_owned();
            temporary.push(format!(".{process}-{n}.tmp"));
            let temporary = path.with_file_name(temporary);
            // New: nothing that is there already is followed or overwritten.
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => {
                    let out = BufWriter::with_capacity(1 << 20, file?);
                    return Ok(Draft { path: path.to_owned(), temporary, out });
                }
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "its folder is full of unfinished files"))
    }

    /// Puts it into its place. A link that came there meanwhile is replaced, not followed.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Ok(meta) = self.path.symlink_metadata()
            && meta.is_file()
        {
            fs::set_permissions(&self.temporary, meta.permissions())?;
        }
        fs::rename(&self.temporary, &self.path)
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Not there any more, if it was finished.
        let _ = fs::remove_file(&self.temporary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) -> io::Result<()> {
        let mut draft = Draft::create(path, |ends| ends.first.starts_with(b"ours"))?;
        draft.write_all(text.as_bytes())?;
        draft.finish()
    }

    #[test]
    fn only_what_is_ours_or_empty_is_replaced_and_nothing_else_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        write(&path, "ours 1").expect("a new file");
        write(&path, "ours 2").expect("an older output");
        fs::write(&path, "").expect("a file");
        write(&path, "mine").expect("an empty file");
        let refused = write(&path, "ours 3").expect_err("a file of another kind");
        assert!(refused.to_string().contains("of another kind"), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "mine");
        assert!(write(folder.path(), "ours").is_err(), "a folder");
        drop(Draft::create(&folder.path().join("other"), |_| false).expect("a draft"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no draft stays");
    }

    #[cfg(unix)]
    #[test]
    fn neither_links_nor_pipes_are_written_to_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        fs::write(&victim, "ours").expect("a file");
        symlink(&victim, &link).expect("linked");
        assert!(write(&link, "ours 2").is_err());
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        assert!(write(&pipe, "ours").is_err());
        assert_eq!(fs::read_to_string(&victim).expect("a file"), "ours");
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o640)).expect("a mode");
        write(&victim, "ours 3").expect("written");
        assert_eq!(fs::metadata(&victim).expect("a file").permissions().mode() & 0o777, 0o640);
    }
}
