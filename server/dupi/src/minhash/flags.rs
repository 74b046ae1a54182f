//! Which documents of a corpus stay: a file of one character for each, `1` for one that stays and `0` for a duplicate.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::Unusable;
use crate::output::{Draft, Ends};
use crate::regular;

pub const STAYS: u8 = b'1';
pub const DUPLICATE: u8 = b'0';
/// A corpus of more documents would not be held in memory.
const MAX_DOCUMENTS: u64 = 1 << 34;

/// Where the flags of a file of hashes are: beside it.
pub fn beside(hashes: &Path) -> PathBuf {
    let mut path = hashes.as_os_str().to_owned();
    path.push(".f");
    PathBuf::from(path)
}

pub fn write(path: &Path, flags: &[u8]) -> Result<(), Unusable> {
    let is_flags =
        |ends: &Ends| ends.first.iter().all(|flag| [STAYS, DUPLICATE].contains(flag) || flag.is_ascii_whitespace());
    let write = || {
        let mut draft = Draft::create(path, is_flags)?;
        draft.write_all(flags)?;
        draft.finish()
    };
    write().map_err(|error: std::io::Error| Unusable::new(path, error))
}

/// The flags, without what an editor may have put behind them.
pub fn read(path: &Path) -> Result<Vec<u8>, Unusable> {
    let mut flags = regular::read(path, MAX_DOCUMENTS).map_err(|error| Unusable::new(path, error))?;
    flags.truncate(flags.trim_ascii_end().len());
    match flags.iter().position(|flag| ![STAYS, DUPLICATE].contains(flag)) {
        Some(at) => Err(Unusable::new(path, format_args!("character {} is neither 0 nor 1", at + 1))),
        None => Ok(flags),
    }
}
