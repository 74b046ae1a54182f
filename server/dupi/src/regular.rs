//! The one place where files are opened to be read. Knows nothing of what is in them.
//!
//! A checkout can bring a link to an endless device, and an archive a pipe, by any name that is read: dupi.toml, an ignore
//! file, a baseline. Opening a pipe may never return, and reading a device may never end. So only regular files are
//! opened, and none is read beyond a limit. What counts is what the opened handle says, since a path can be another file
//! a moment later.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// For the lists of the operating system under `/proc`.
pub const MAX_SYSTEM: u64 = 16 << 20;

/// Reads a file of at most `limit` bytes. What it is instead, a folder or a device, is `InvalidInput`; a larger one is
/// `FileTooLarge`.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, meta) = open(path, limit)?;
    // The size is 0 for what a file system makes up while it is read, and a file may grow.
    read_to(file, meta.len(), limit)
}

/// As [`read`], for text.
pub fn read_to_string(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "not UTF-8"))
}

/// Opens a file of at most `limit` bytes, perhaps by a link to it.
pub fn open(path: &Path, limit: u64) -> io::Result<(File, Metadata)> {
    // Opening a device can do something by itself, so the path is asked first.
    check(&fs::metadata(path)?, limit)?;
    let mut options = OpenOptions::new();
    options.read(true);
    at_once(&mut options, false);
    let file = match options.open(path) {
        // Another program (a file server) has a lease on this file and is asked to give it up.
        Err(error) if error.kind() == ErrorKind::WouldBlock => OpenOptions::new().read(true).open(path),
        opened => opened,
    }?;
    let meta = file.metadata()?;
    check(&meta, limit)?;
    Ok((file, meta))
}

/// Opens a file of ours of any size: a link by its name is not followed.
pub fn open_own(path: &Path) -> io::Result<(File, Metadata)> {
    own(path, OpenOptions::new().read(true))
}

/// Opens a file of ours for changes and keeps its content; makes it if there is none.
pub fn open_to_change(path: &Path) -> io::Result<File> {
    own(path, OpenOptions::new().read(true).write(true).create(true).truncate(false)).map(|(file, _)| file)
}

fn own(path: &Path, options: &mut OpenOptions) -> io::Result<(File, Metadata)> {
    match fs::symlink_metadata(path) {
        Ok(meta) => check(&meta, u64::MAX)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    at_once(options, true);
    let file = options.open(path)?;
    let meta = file.metadata()?;
    check(&meta, u64::MAX)?;
    Ok((file, meta))
}

/// Opens what is read from its start to its end: a regular file of any size, or a pipe, for which this waits.
/// Only for what a user names on the command line.
pub fn open_stream(path: &Path) -> io::Result<(File, Metadata)> {
    #[cfg(unix)]
    let is_pipe = |meta: &Metadata| std::os::unix::fs::FileTypeExt::is_fifo(&meta.file_type());
    #[cfg(not(unix))]
    let is_pipe = |_: &Metadata| false;
    if !is_pipe(&fs::metadata(path)?) {
        return open(path, u64::MAX);
    }
    let file = OpenOptions::new().read(true).open(path)?;
    let meta = file.metadata()?;
    if !is_pipe(&meta) {
        check(&meta, u64::MAX)?;
    }
    Ok((file, meta))
}

/// Reads what should have `size` bytes, and more of it up to `limit`.
pub fn read_to(file: File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let capacity = usize::try_from(size.min(limit)).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(capacity).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

fn check(meta: &Metadata, limit: u64) -> io::Result<()> {
    if meta.is_dir() {
        Err(io::Error::new(ErrorKind::InvalidInput, "a folder, not a file"))
    } else if !meta.is_file() {
        Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"))
    } else if meta.len() > limit {
        Err(too_large(limit))
    } else {
        Ok(())
    }
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("larger than {limit} bytes"))
}

/// Opening returns at once, makes no terminal that of this process and, if it is `own`, follows no link.
#[cfg(unix)]
fn at_once(options: &mut OpenOptions, own: bool) {
    use rustix::fs::OFlags;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | if own { OFlags::NOFOLLOW } else { OFlags::empty() };
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits() as i32);
}

/// Windows has no pipes and devices in folders, and its links need rights of their own; files that it keeps elsewhere
/// (deduplicated, in a cloud) are links to it, too, and would not be read if none was followed.
#[cfg(not(unix))]
fn at_once(_options: &mut OpenOptions, _own: bool) {}
