//! Which files must be read again, told from what is remembered of them; and how a file is read so that what was read
//! is a state that somebody saved. Knows nothing of how the index stores what it remembers.
//!
//! The rule is git's. Size, times of change and inode as remembered: nothing is read. Anything else: the file is read,
//! and if its content is as remembered, only its stamp is renewed. A file that was read within a clock tick of being
//! changed may change again without a new time: it is **racy**, and its content is compared the next time.

use std::io::{self, Read};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::files::{Source, Stamp, nanoseconds};
use crate::regular;

/// The coarsest clock of a file system that is in use: FAT counts in steps of two seconds, network file systems may.
pub const COARSEST_TICK: Duration = Duration::from_secs(2);
/// How often a file that changes while it is read is read again. What is taken then carries a stamp that is outdated
/// already, so that the next look reads it once more: a log that grows all the time ends no build.
const READ_ATTEMPTS: u32 = 4;
/// Editors that save in place truncate the file and write it at once: what is still empty after this is meant to be.
const EMPTY_SETTLES: Duration = Duration::from_millis(100);
/// Between two looks at a file that is being saved.
const PAUSE: Duration = Duration::from_millis(20);
/// Sources that one thread takes at a time: a look-up is too short to be handed out alone.
const LOOKUPS_PER_TASK: usize = 1024;

/// What the index remembers of a file, whether it became a document or was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub stamp: Stamp,
    /// The [`content`] of the file.
    pub content: u64,
    /// The stamp does not tell whether the file is as remembered.
    pub racy: bool,
}

impl Known {
    /// What is to be remembered of a file that was read at the moment `read_at`.
    pub fn new(stamp: Stamp, content: u64, read_at: SystemTime) -> Known {
        Known { stamp, content, racy: is_racy(stamp, read_at) }
    }

    /// The same for a file of which the machine decided what is remembered, and not its content: it could not be read.
    /// It is looked at again the next time, whatever its stamp.
    pub fn unsettled(self) -> Known {
        Known { racy: true, ..self }
    }

    /// Surely the file that carries this stamp now?
    fn is_same(&self, now: Stamp) -> bool {
        !self.racy && now.mtime != Stamp::UNKNOWN.mtime && now == self.stamp
    }
}

/// May a file with this stamp, read at this moment, change again within the same tick of the clock?
pub fn is_racy(stamp: Stamp, read_at: SystemTime) -> bool {
    stamp.mtime > nanoseconds(read_at).saturating_sub(COARSEST_TICK.as_nanos() as i64)
}

/// What tells contents apart.
pub fn content(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// What a refresh has to do.
#[derive(Debug, Default)]
pub struct Plan {
    /// New or perhaps changed, in path order.
    pub read: Vec<Source>,
    /// How many files are as they are remembered.
    pub same: usize,
    /// Remembered and no longer there, as they are shown, in order.
    pub gone: Vec<String>,
}

/// Compares what a walk has found, sorted as it gives it, with what is remembered.
///
/// Names are compared byte for byte: a rename that only changes case is one file gone and one new.
pub fn plan<'a>(
    found: &[Source],
    known: impl Fn(&str) -> Option<Known> + Sync,
    all_known: impl Iterator<Item = &'a str>,
) -> Plan {
    let is_same = |source: &&Source| known(&source.shown).is_some_and(|known| known.is_same(source.stamp));
    let read: Vec<Source> =
        found.par_iter().with_min_len(LOOKUPS_PER_TASK).filter(|source| !is_same(source)).cloned().collect();
    let is_found = |shown: &str| found.binary_search_by(|source| source.shown.as_str().cmp(shown)).is_ok();
    let mut gone: Vec<String> = all_known.filter(|shown| !is_found(shown)).map(str::to_owned).collect();
    gone.sort_unstable();
    gone.dedup();
    Plan { same: found.len() - read.len(), read, gone }
}

/// Why a file is read, which says how long to wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// With thousands of others: no waiting.
    Bulk,
    /// Because it was just changed: an editor may be in the middle of a save.
    Changed,
}

/// Reads a file such that a state in the middle of a save is not taken: one that does not change meanwhile and, if it
/// was just changed, is not empty for a moment only. Follows a link, as a path that was named may be one.
///
/// Errors are those of [`regular::open`].
pub fn read_settled(path: &Path, max_bytes: u64, reading: Reading) -> io::Result<(Vec<u8>, Stamp)> {
    read_pausing(path, max_bytes, reading, || sleep(PAUSE))
}

fn read_pausing(
    path: &Path,
    max_bytes: u64,
    reading: Reading,
    mut pause: impl FnMut(),
) -> io::Result<(Vec<u8>, Stamp)> {
    let mut attempts = 0;
    let mut waited = Duration::ZERO;
    loop {
        let (file, meta) = regular::open(path, max_bytes)?;
        let stamp = Stamp::of(&meta);
        let mut bytes = Vec::with_capacity(stamp.size as usize);
        // One byte more than there should be tells that it grew, and no more than that is ever allocated.
        (&file).take(stamp.size + 1).read_to_end(&mut bytes)?;
        // Of the file that was read: if another took its name meanwhile, the next look finds another inode or time.
        let stood_still = bytes.len() as u64 == stamp.size && Stamp::of(&file.metadata()?) == stamp;
        attempts += 1;
        let wait = if reading == Reading::Bulk {
            false
        } else if stood_still {
            bytes.is_empty() && waited < EMPTY_SETTLES && is_younger(stamp, EMPTY_SETTLES)
        } else {
            attempts < READ_ATTEMPTS
        };
        if wait {
            pause();
            waited += PAUSE;
        } else if stood_still || attempts >= READ_ATTEMPTS {
            return Ok((bytes, stamp));
        }
    }
}

fn is_younger(stamp: Stamp, age: Duration) -> bool {
    stamp.mtime > nanoseconds(SystemTime::now()).saturating_sub(age.as_nanos() as i64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::{self, File};
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    const MAX: u64 = 1 << 20;

    fn source(shown: &str, size: u64, mtime: i64) -> Source {
        Source { stamp: stamp(size, mtime), ..Source::new(PathBuf::from(shown), shown.to_owned()) }
    }

    fn stamp(size: u64, mtime: i64) -> Stamp {
        Stamp { size, mtime, ctime: 20, inode: 30 }
    }

    fn remembered(size: u64, mtime: i64, racy: bool) -> Known {
        Known { stamp: stamp(size, mtime), content: 0, racy }
    }

    fn outcome(found: &[Source], known: &BTreeMap<&str, Known>) -> (Vec<String>, usize, Vec<String>) {
        let plan = plan(found, |shown| known.get(shown).copied(), known.keys().copied());
        (plan.read.into_iter().map(|source| source.shown).collect(), plan.same, plan.gone)
    }

    #[test]
    fn only_what_is_new_changed_or_racy_is_read() {
        let of = |shown: &str, stamp: Stamp| Source { stamp, ..source(shown, 1, 10) };
        let found = [
            of("another", Stamp { inode: 31, ..stamp(1, 10) }),
            of("changed", Stamp { ctime: 21, ..stamp(1, 10) }),
            source("larger", 2, 10),
            source("later", 1, 11),
            source("new", 1, 10),
            source("older", 1, 9),
            source("racy", 1, 10),
            source("same", 1, 10),
            Source::new(PathBuf::from("unknown"), "unknown".to_owned()),
        ];
        let mut known: BTreeMap<&str, Known> = ["another", "changed", "larger", "later", "older", "same", "gone"]
            .map(|shown| (shown, remembered(1, 10, false)))
            .into();
        known.insert("racy", remembered(1, 10, true));
        known.insert("unknown", Known { stamp: Stamp::UNKNOWN, content: 0, racy: false });
        let (read, same, gone) = outcome(&found, &known);
        assert_eq!(read, ["another", "changed", "larger", "later", "new", "older", "racy", "unknown"]);
        assert_eq!((same, gone), (1, vec!["gone".to_owned()]));
    }

    #[test]
    fn a_rename_that_only_changes_case_is_one_gone_and_one_new() {
        let known = [("src/Main.rs", remembered(1, 10, false))].into();
        let (read, same, gone) = outcome(&[source("src/main.rs", 1, 10)], &known);
        assert_eq!((read, same, gone), (vec!["src/main.rs".to_owned()], 0, vec!["src/Main.rs".to_owned()]));
    }

    #[test]
    fn a_file_is_racy_until_the_coarsest_clock_has_ticked() {
        let changed = SystemTime::now();
        let stamp = stamp(1, nanoseconds(changed));
        assert!(is_racy(stamp, changed));
        assert!(is_racy(stamp, changed + COARSEST_TICK / 2));
        assert!(!is_racy(stamp, changed + COARSEST_TICK));
        assert!(is_racy(stamp, changed - Duration::from_secs(3600)), "a clock that was set back");
    }

    #[test]
    fn a_settled_file_is_read_as_it_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.go");
        for (text, reading) in [("", Reading::Bulk), ("", Reading::Changed), ("package a\n", Reading::Bulk)] {
            fs::write(&path, text).expect("written");
            let (bytes, stamp) = read_settled(&path, MAX, reading).expect("read");
            assert_eq!((bytes.as_slice(), stamp.size), (text.as_bytes(), text.len() as u64));
            assert_eq!(stamp, Stamp::of(&fs::metadata(&path).expect("there")));
        }
        assert_eq!(read_settled(&path, 3, Reading::Bulk).expect_err("large").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(
            read_settled(dir.path(), MAX, Reading::Bulk).expect_err("no file").kind(),
            io::ErrorKind::InvalidInput
        );
        fs::remove_file(&path).expect("removed");
        assert_eq!(read_settled(&path, MAX, Reading::Changed).expect_err("gone").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_empty_state_in_the_middle_of_a_save_is_not_taken() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.go");
        let young = SystemTime::now() + Duration::from_secs(3600);
        let save = |text: &str| {
            fs::write(&path, text).expect("written");
            File::options().write(true).open(&path).and_then(|file| file.set_modified(young)).expect("set");
        };
        save("");
        let mut n_pauses = 0;
        let write_later = || {
            n_pauses += 1;
            if n_pauses == 2 {
                save("package a\n");
            }
        };
        let (bytes, _) = read_pausing(&path, MAX, Reading::Changed, write_later).expect("read");
        assert_eq!(bytes, b"package a\n");
        save("");
        let (bytes, _) = read_pausing(&path, MAX, Reading::Changed, || n_pauses += 1).expect("read");
        assert_eq!((bytes.len(), n_pauses), (0, 7), "what stays empty is empty in the end");
        read_pausing(&path, MAX, Reading::Bulk, || panic!("a pause in bulk")).expect("read");
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        /// Against the definition: nothing that differs is taken for the same, and every name is accounted for once.
        #[test]
        fn a_plan_accounts_for_every_file(
            found in prop::collection::btree_map("[a-c]{1,2}", (0u64..2, 0i64..2), 0..8),
            known in prop::collection::btree_map("[a-c]{1,2}", (0u64..2, 0i64..2, any::<bool>()), 0..8),
        ) {
            let sources: Vec<Source> = found.iter().map(|(shown, &(size, mtime))| source(shown, size, mtime)).collect();
            let memory: BTreeMap<&str, Known> = known
                .iter()
                .map(|(shown, &(size, mtime, racy))| (shown.as_str(), remembered(size, mtime, racy)))
                .collect();
            let (read, same, gone) = outcome(&sources, &memory);
            let is_same = |shown: &String, (size, mtime)| known.get(shown) == Some(&(size, mtime, false));
            let expected: Vec<String> =
                found.iter().filter(|&(shown, &stamp)| !is_same(shown, stamp)).map(|(shown, _)| shown.clone()).collect();
            prop_assert_eq!(read.len() + same, found.len());
            prop_assert_eq!(read, expected);
            let missing: Vec<String> = known.keys().filter(|shown| !found.contains_key(*shown)).cloned().collect();
            prop_assert_eq!(gone, missing);
        }
    }
}
