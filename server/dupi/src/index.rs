//! The index of a workspace: one writer, many snapshots.
//!
//! Documents that came, changed or went are one operation ([`Index::take`]): the new ones become a segment, the old ones
//! tombstones, and one swap of the manifest makes it so. Who has the lock writes. Who has not, or cannot (disk full,
//! read-only, a newer format), keeps the same segments in memory, answers the same, and tries again the next time.
//! Anything read from disk that does not verify is a miss: its files are read again.

mod merge;
mod near;
mod read;
mod sketches;
mod verify;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dupi_grammars::Language;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::answer::Answer;
use crate::blots::Blotting;
use crate::class::Zone;
use crate::containment::{Contained, Sharing};
use crate::document::{Document, Scratch};
use crate::files::{self, Source};
use crate::freshness::{self, Known, Plan, Reading};
use crate::locate::{Place, Places};
use crate::manifest::{Manifest, ReadManifest, SEGMENT, SegmentEntry};
use crate::quarantine::{Quarantine, Sample};
use crate::raw::Settled;
use crate::search::{Progress, Report};
use crate::segment::{self, Entry, Fresh, Segment, Unusable};
use crate::settings::Settings;
use crate::skip::{Skip, SkipReason};
use crate::snapshot::{self, Buffer, Cache, Part, Snapshot};
use crate::store::{Bytes, Lock, Store};
use crate::{Error, clones};

pub use merge::{Merge, Merged};
use near::NearState;
pub use verify::{Stats, Verified};

/// How much memory building may take unless told otherwise.
pub const MEMORY: u64 = 1 << 30;
/// The least that it can be told: below, segments would be too small to be of use.
pub const MIN_MEMORY: u64 = 64 << 20;
/// The part of that memory, in percent, that files which are read and not yet written may take. Writing them takes half
/// as much again, and what is being read, the tables of all segments and the program itself need the rest.
const FRESH_PERCENT: u64 = 35;
/// Bytes of source that are read at a time, so that little is in flight.
const BATCH_BYTES: u64 = 16 << 20;
/// … and files, for those that are empty.
const BATCH_FILES: usize = 4096;

/// How often a reader without the lock looks again for a list of segments of which none is gone.
const ATTEMPTS: usize = 5;

/// The trouble of one who cannot write.
const IN_MEMORY: &str = "the index stays in memory";

/// Answers that are kept, one for each way to judge, and sketches, one for each way to hash: a project has few.
const MAX_ANSWERS: usize = 4;
const ANSWER: &str = ".ans";
/// No answer is larger; what is, is none.
const MAX_ANSWER: u64 = 1 << 31;

/// The places that were last asked for.
pub const PLACES: &str = "places";
/// The chunks that files share, when they were last asked for.
pub const CHUNKS: &str = "chunks";

/// What is indexed: where, and how it is read. Other settings make another index.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub root: PathBuf,
    pub paths: Vec<PathBuf>,
    pub settings: Settings,
}

impl Workspace {
    /// A fingerprint of all that decides which documents there are and what is stored of them.
    pub fn profile(&self) -> u64 {
        let Settings {
            include, exclude, languages, max_file_bytes, gitignore, skip_vendored, skip_hidden, zones, ..
        } = &self.settings;
        let blotting = Blotting::of(&self.settings);
        let generated = zones.contains(&Zone::Generated);
        let paths: Vec<String> = self.paths.iter().map(|path| files::show(path)).collect();
        // A program without some of them takes their files for no sources.
        let known: Vec<&str> = dupi_grammars::LANGUAGES.iter().map(|language| language.name).collect();
        let text = format!(
            "{} {} {include:?} {exclude:?} {languages:?} {max_file_bytes} {gitignore} {skip_vendored} {skip_hidden} \
             {generated} {blotting:?} {paths:?} {known:?} {}",
            crate::engine(),
            segment::VERSION,
            files::show(&self.root),
        );
        xxh3_64(text.as_bytes())
    }

    /// What an editor has open under this path, as a document: in the `language` that the editor says, else in that of
    /// its name. A keystroke (`is_edit`) writes nothing: who crashes on one opens the file again, and that is noted.
    pub fn buffer(
        &self,
        path: &Path,
        language: Option<&'static Language>,
        text: &[u8],
        quarantine: &Quarantine,
        is_edit: bool,
    ) -> Buffer {
        let shown = files::show(path.strip_prefix(&self.root).unwrap_or(path));
        let source = Source::new(path.to_owned(), shown.clone());
        let sample = Sample { content: freshness::content(text), path, language, bytes: text };
        let tokenize = || {
            let scratch = &mut Scratch::default();
            match language {
                _ if text.len() as u64 > self.settings.max_file_bytes => Err(SkipReason::TooLarge),
                Some(language) => Document::from_text(&source, language, text, &self.settings, scratch).map(Some),
                None => Document::parse(&source, text, &self.settings, scratch),
            }
        };
        let document = match is_edit {
            true => quarantine.guard_unnoted(sample, tokenize),
            false => quarantine.guard(sample, tokenize),
        };
        let document = document.unwrap_or(Err(SkipReason::Quarantined));
        Buffer::new(shown, sample.content, document, &Blotting::of(&self.settings))
    }
}

/// What a refresh has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    /// Read again and found to be as they were.
    pub touched: usize,
    /// Not read at all.
    pub same: usize,
}

impl Changes {
    pub fn any(&self) -> bool {
        self.added + self.changed + self.removed > 0
    }
}

/// Where a current entry is: the part's place in the list, and the ordinal.
type At = (u32, u32);

fn answer_name(key: u64) -> String {
    format!("{key:016x}{ANSWER}")
}

/// An answer, and what it was found in: what went since then is only there.
struct Answered {
    answer: Answer,
    snapshot: Arc<Snapshot>,
}

pub struct Index {
    store: Arc<dyn Store>,
    workspace: Workspace,
    profile: u64,
    memory: u64,
    lock: Option<Lock>,
    /// The disk holds something that only a newer release understands: it is left alone.
    newer: bool,
    generation: u64,
    /// What is current on disk is what is current here.
    committed: bool,
    parts: Vec<Part>,
    by_path: BTreeMap<String, At>,
    buffers: BTreeMap<String, Arc<Buffer>>,
    quarantine: Arc<Quarantine>,
    /// What the last walk left out.
    left_out: Vec<Skip>,
    answers: HashMap<u64, Answered>,
    /// What was on disk when it was opened, until the first answer: what is kept there may be of that state.
    opened: Option<Arc<Snapshot>>,
    /// Which of them are on disk as they are here.
    kept_answers: HashSet<u64>,
    /// How often the documents that are no buffers have changed.
    n_changes: u64,
    near: Option<NearState>,
    /// The chunks that files shared when they were last asked for.
    pub(crate) sharing: Option<Sharing>,
    cache: Arc<Cache>,
    snapshot: Arc<Snapshot>,
    stop: Arc<AtomicBool>,
    troubles: Vec<String>,
    /// What was told, and is not over.
    told: Vec<&'static str>,
}

impl Index {
    /// Opens what is on disk, as far as it is usable. Nothing is read of the workspace yet.
    pub fn open(store: Arc<dyn Store>, workspace: Workspace, memory: u64) -> Index {
        let mut index = Index::new(store, workspace, memory);
        index.try_lock();
        index.load();
        index
    }

    /// The same without the right to write: what is there stays as it is, be it damaged.
    pub fn look(store: Arc<dyn Store>, workspace: Workspace) -> Index {
        let mut index = Index::new(store, workspace, MIN_MEMORY);
        index.load();
        index
    }

    fn new(store: Arc<dyn Store>, workspace: Workspace, memory: u64) -> Index {
        let profile = workspace.profile();
        let cache = Cache::new();
        Index {
            store,
            workspace,
            profile,
            memory: memory.max(MIN_MEMORY),
            lock: None,
            newer: false,
            generation: 0,
            committed: false,
            parts: Vec::new(),
            by_path: BTreeMap::new(),
            buffers: BTreeMap::new(),
            quarantine: Arc::default(),
            left_out: Vec::new(),
            answers: HashMap::new(),
            opened: None,
            kept_answers: HashSet::new(),
            n_changes: 0,
            near: None,
            sharing: None,
            snapshot: Arc::new(Snapshot::new(Vec::new(), Vec::new(), &[], Arc::clone(&cache))),
            cache,
            stop: Arc::default(),
            troubles: Vec::new(),
            told: Vec::new(),
        }
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Does this process write the index?
    pub fn is_writer(&self) -> bool {
        self.lock.is_some() && !self.newer
    }

    /// Is all that is known on disk?
    pub fn is_committed(&self) -> bool {
        self.committed
    }

    /// How much memory the next refresh may take.
    pub fn set_memory(&mut self, memory: u64) {
        self.memory = memory.max(MIN_MEMORY);
    }

    /// What is current now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// Ends a refresh that is under way, for as long as it is set: what was read until then is kept, and the next
    /// refresh reads the rest.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// What went wrong and was not told yet: each once.
    pub fn troubles(&mut self) -> Vec<String> {
        std::mem::take(&mut self.troubles)
    }

    /// Told once, whatever the reasons: a full disk has another one for each file.
    fn trouble(&mut self, what: &'static str, why: &dyn Display) {
        if !self.told.contains(&what) {
            self.told.push(what);
            self.troubles.push(format!("{what}: {why}"));
        }
    }

    fn try_lock(&mut self) {
        if self.lock.as_ref().is_some_and(|lock| !lock.is_held()) {
            self.lock = None;
            self.committed = false;
            self.kept_answers.clear();
        }
        if self.lock.is_none() && !self.newer {
            // What was noted under a lock before may be in another folder.
            self.quarantine.stop();
            match self.store.lock() {
                Ok(lock) => self.lock = lock,
                Err(error) => self.trouble(IN_MEMORY, &error),
            }
        }
    }

    /// Reads the manifest and opens its segments.
    fn load(&mut self) {
        for attempt in 1..=ATTEMPTS {
            let manifest = match Manifest::read(&*self.store) {
                Ok(ReadManifest::Current(manifest)) if manifest.profile == self.profile => manifest,
                Ok(ReadManifest::Newer(version)) => {
                    self.newer = true;
                    self.lock = None;
                    self.trouble("the index on disk is left alone", &format_args!("its format {version} is newer"));
                    Manifest::default()
                }
                Ok(ReadManifest::Damaged) => {
                    self.trouble("the index on disk was damaged", &"it is made anew");
                    Manifest::default()
                }
                Ok(_) => Manifest::default(),
                Err(error) => {
                    self.trouble(IN_MEMORY, &error);
                    Manifest::default()
                }
            };
            let opened: Vec<Result<Part, Missing>> =
                manifest.segments.par_iter().map(|entry| self.open_segment(entry)).collect();
            // A writer that removed a segment has listed others by now.
            let gone = opened.iter().any(|part| matches!(part, Err(Missing::Gone)));
            if gone && self.lock.is_none() && attempt < ATTEMPTS {
                continue;
            }
            if opened.iter().any(|part| matches!(part, Err(Missing::Newer))) {
                self.newer = true;
                self.lock = None;
                self.trouble("the index on disk is left alone", &"a part of it is of a newer format");
            }
            if opened.iter().any(|part| matches!(part, Err(Missing::Damaged))) {
                self.trouble("a part of the index was damaged", &"its files are read again");
            }
            if gone {
                self.trouble("a part of the index is missing", &"its files are read again");
            }
            self.generation = manifest.generation;
            self.committed = manifest.generation > 0 && opened.iter().all(Result::is_ok);
            self.parts = opened.into_iter().flatten().collect();
            if self.is_writer() {
                let kept = Manifest { segments: self.entries(), ..manifest };
                if let Err(error) = kept.collect(&*self.store, &[]) {
                    self.trouble("old files of the index stay", &error);
                }
            }
            break;
        }
        self.quarantine = Arc::new(Quarantine::look(&*self.store));
        self.take_notes();
        self.find_current();
        self.n_changes += 1;
        self.renew_snapshot();
        self.opened = Some(self.snapshot());
    }

    /// Not as soon as there is a lock: what is in the folder may be of a newer format, and must be left alone then.
    fn take_notes(&mut self) {
        if self.is_writer() && !self.quarantine.is_noting() {
            self.quarantine = Arc::new(Quarantine::open(&*self.store));
        }
    }

    fn open_segment(&self, entry: &SegmentEntry) -> Result<Part, Missing> {
        let bytes = self.store.open(&entry.name).map_err(|_| Missing::Gone)?;
        if bytes.len() as u64 != entry.bytes {
            return Err(Missing::Damaged);
        }
        let segment = Segment::open(bytes, &self.workspace.root).map_err(|error| match error {
            Unusable::Newer => Missing::Newer,
            Unusable::Damaged => Missing::Damaged,
        })?;
        if segment.checksum() != entry.checksum || segment.entries.len() != entry.n_documents as usize {
            return Err(Missing::Damaged);
        }
        Ok(Part::new(Some(entry.name.clone()), segment, &entry.deleted))
    }

    /// What the manifest says of the parts that are on disk.
    fn entries(&self) -> Vec<SegmentEntry> {
        let entry = |part: &Part| {
            Some(SegmentEntry {
                name: part.name.clone()?,
                bytes: part.segment.bytes().len() as u64,
                checksum: part.segment.checksum(),
                n_documents: part.segment.entries.len() as u32,
                deleted: part.deleted.ordinals(),
            })
        };
        self.parts.iter().filter_map(entry).collect()
    }

    fn find_current(&mut self) {
        self.by_path.clear();
        for (part, number) in self.parts.iter().zip(0..) {
            self.by_path.extend(part.entries().map(|(ordinal, entry)| (entry.shown.clone(), (number, ordinal))));
        }
    }

    fn renew_snapshot(&mut self) {
        let buffers: Vec<Arc<Buffer>> = self.buffers.values().cloned().collect();
        let covered: Vec<At> = self.buffers.keys().filter_map(|shown| self.by_path.get(shown)).copied().collect();
        let near = self.near.as_ref().filter(|near| near.n_changes == self.n_changes);
        let near = near.map(|state| Arc::clone(&state.near));
        let snapshot = Snapshot::new(self.parts.clone(), buffers, &covered, Arc::clone(&self.cache));
        self.snapshot = Arc::new(snapshot.with_near(near).after(&self.snapshot));
    }

    /// Follows another writer, or becomes the writer if there is none any more. Says whether all was loaded anew: what
    /// was in memory only is gone then, and what was damaged, so that only a walk tells what must be read again.
    fn catch_up(&mut self) -> bool {
        let was_writer = self.is_writer();
        self.try_lock();
        self.take_notes();
        let whole = self.snapshot.is_whole();
        if was_writer && self.is_writer() && whole {
            return false;
        }
        let on_disk = match Manifest::read(&*self.store) {
            Ok(ReadManifest::Current(manifest)) if manifest.profile == self.profile => manifest.generation,
            _ => 0,
        };
        // What is in memory only is a difference to the generation that it was made for.
        let own = self.parts.iter().any(|part| part.name.is_none());
        if !whole {
            // What was read since the cut may be wrong, and a segment that is made anew may have the same checksum.
            self.cache = Cache::new();
        }
        let behind =
            !whole || (on_disk > 0 && (on_disk != self.generation || (own && !was_writer && self.is_writer())));
        if behind {
            self.load();
        }
        behind
    }

    /// Compares the workspace with the index, reads what changed, and commits it.
    pub fn refresh(&mut self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Changes, Error> {
        self.catch_up();
        self.walk(progress)
    }

    fn walk(&mut self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Changes, Error> {
        progress(Progress::Walking);
        let Workspace { root, paths, settings } = &self.workspace;
        let mut found = files::find(root, paths, settings)?;
        self.leave_out_itself(&mut found.sources);
        let known = |shown: &str| self.known(shown);
        let plan = freshness::plan(&found.sources, known, self.by_path.keys().map(String::as_str));
        self.left_out = found.skipped;
        self.take(plan, Reading::Bulk, progress)
    }

    /// The same for a few paths that are said to have changed: files, or folders with all that is below them.
    pub fn refresh_within(&mut self, within: &[PathBuf]) -> Result<Changes, Error> {
        if self.catch_up() {
            return self.walk(&|_| {});
        }
        let Workspace { root, paths, settings } = &self.workspace;
        let mut found = files::find_within(root, paths, within.to_vec(), settings)?;
        self.leave_out_itself(&mut found.sources);
        let below: Vec<String> = within.iter().flat_map(|path| self.known_within(&self.shown(path))).collect();
        let plan = freshness::plan(&found.sources, |shown| self.known(shown), below.iter().map(String::as_str));
        self.left_out.retain(|skip| !within.iter().any(|path| root.join(&skip.path).starts_with(path)));
        self.left_out.extend(found.skipped);
        self.left_out.sort();
        self.left_out.dedup();
        self.take(plan, Reading::Changed, &|_| {})
    }

    /// Files of the index are no sources, but each commit would change one that it remembers, and so need another.
    fn leave_out_itself(&self, sources: &mut Vec<Source>) {
        let place = self.store.place().and_then(|place| place.canonicalize().ok());
        let inside = |place: &PathBuf| self.workspace.paths.iter().any(|path| place.starts_with(path));
        if let Some(place) = place.filter(inside) {
            sources.retain(|source| !source.path.starts_with(&place));
        }
    }

    /// A path of the workspace as it is shown, and as entries are told by.
    fn shown(&self, path: &Path) -> String {
        files::show(path.strip_prefix(&self.workspace.root).unwrap_or(path))
    }

    /// What is current of a path: the part that holds it, its ordinal there, and the entry.
    fn current(&self, shown: &str) -> Option<(&Part, u32, &Entry)> {
        let &(part, ordinal) = self.by_path.get(shown)?;
        let part = &self.parts[part as usize];
        Some((part, ordinal, &part.segment.entries[ordinal as usize]))
    }

    fn known(&self, shown: &str) -> Option<Known> {
        self.current(shown).map(|(_, _, entry)| entry.known)
    }

    /// The paths that are known at or below one.
    fn known_within(&self, shown: &str) -> Vec<String> {
        if shown == "." {
            return self.by_path.keys().cloned().collect();
        }
        let folder = format!("{shown}/");
        let below =
            self.by_path.range(folder.clone()..).map(|(path, _)| path).take_while(|path| path.starts_with(&folder));
        below.chain(self.by_path.get_key_value(shown).map(|(path, _)| path)).cloned().collect()
    }

    /// Reads what the plan says, makes segments of it and commits them.
    fn take(&mut self, plan: Plan, reading: Reading, progress: &(dyn Fn(Progress) + Sync)) -> Result<Changes, Error> {
        let mut changes = Changes { same: plan.same, ..Changes::default() };
        let limit = (self.memory / 100 * FRESH_PERCENT) as usize;
        let mut fresh: Vec<Fresh> = Vec::new();
        let mut weight = 0;
        let mut replaced: Vec<String> = plan.gone;
        let mut made: Vec<Part> = Vec::new();
        let (mut n_read, n_all) = (0, plan.read.len());
        changes.removed = replaced.len();
        for batch in batches(&plan.read, self.memory) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let read: Vec<read::Read> = batch
                .par_iter()
                .with_max_len(64)
                .map_init(Scratch::default, |scratch, source| self.read(source, reading, scratch))
                .collect();
            n_read += batch.len();
            progress(Progress::Reading(n_read, n_all));
            for (source, read) in batch.iter().zip(read) {
                let is_known = self.by_path.contains_key(&source.shown);
                match read {
                    // Nothing new to write of what is looked at each time.
                    read::Read::Same(file) if self.known(&source.shown) == Some(file.entry.known) => {
                        changes.touched += 1
                    }
                    read::Read::Same(file) => {
                        changes.touched += 1;
                        weight += file.weight();
                        fresh.push(file);
                        replaced.push(source.shown.clone());
                    }
                    read::Read::New(file) => {
                        *(if is_known { &mut changes.changed } else { &mut changes.added }) += 1;
                        weight += file.weight();
                        fresh.push(file);
                        if is_known {
                            replaced.push(source.shown.clone());
                        }
                    }
                    read::Read::Gone if is_known => {
                        changes.removed += 1;
                        replaced.push(source.shown.clone());
                    }
                    read::Read::Gone => {}
                }
            }
            if weight > limit {
                made.push(self.make_segment(std::mem::take(&mut fresh))?);
                weight = 0;
            }
        }
        if !fresh.is_empty() {
            made.push(self.make_segment(fresh)?);
        }
        if !made.is_empty() || !replaced.is_empty() {
            for shown in &replaced {
                if let Some((part, ordinal)) = self.by_path.remove(shown) {
                    Arc::make_mut(&mut self.parts[part as usize].deleted).insert(ordinal);
                }
            }
            for part in made {
                let number = self.parts.len() as u32;
                self.by_path.extend(part.entries().map(|(ordinal, entry)| (entry.shown.clone(), (number, ordinal))));
                self.parts.push(part);
            }
            self.committed = false;
            self.n_changes += 1;
        }
        self.commit();
        self.quarantine.keep(&*self.store);
        Ok(changes)
    }

    /// A new part: on disk, if this process may write there, else in memory.
    /// What cannot become a segment is no answer: its files would be missing without a word.
    fn make_segment(&mut self, files: Vec<Fresh>) -> Result<Part, Error> {
        let path = || self.workspace.root.clone();
        let bytes = segment::write(files, &Blotting::of(&self.workspace.settings))
            .map_err(|source| Error::Make { path: path(), source })?;
        let (name, bytes) = self.keep(bytes);
        let segment = Segment::written(bytes, &self.workspace.root)
            .ok_or_else(|| Error::Index { path: self.workspace.root.clone() })?;
        Ok(Part::new(name, segment, &[]))
    }

    /// Writes the bytes of a segment, and gives them back as they are to be read.
    fn keep(&mut self, bytes: Vec<u8>) -> (Option<String>, Bytes) {
        if self.is_writer() {
            let written = self.write_segment(&bytes);
            match written.and_then(|name| Ok((self.store.open(&name)?, name))) {
                Ok((mapped, name)) if mapped[..].len() == bytes.len() => return (Some(name), mapped),
                Ok((_, name)) => self.trouble(IN_MEMORY, &format_args!("{name} is not what was written")),
                Err(error) => self.trouble(IN_MEMORY, &error),
            }
        }
        (None, Bytes::from(bytes))
    }

    /// Writes the bytes of a segment under a name of its own.
    fn write_segment(&self, bytes: &[u8]) -> io::Result<String> {
        let checksum = segment::checksum_of(bytes).ok_or(ErrorKind::InvalidData)?;
        let name = format!("{:x}-{checksum:016x}{SEGMENT}", self.generation + 1);
        self.write_whole(&name, bytes)?;
        Ok(name)
    }

    /// Makes what is current here current on disk, if this process may; then others and later ones see it.
    pub fn commit(&mut self) {
        if self.is_writer() && !self.committed {
            if self.lock.as_ref().is_some_and(|lock| !lock.is_held()) {
                // Somebody removed the folder: nothing of it is there any more, and another may write to a new one.
                self.lock = None;
                self.trouble(IN_MEMORY, &"it was removed from the disk");
            } else if let Err(error) = self.try_commit() {
                self.trouble(IN_MEMORY, &error);
            }
        }
        self.renew_snapshot();
    }

    fn try_commit(&mut self) -> io::Result<()> {
        // Somebody may have removed files, or the folder with all of them: what is open is written again.
        let names = self.store.names()?;
        for i in 0..self.parts.len() {
            if self.parts[i].name.as_ref().is_none_or(|name| !names.contains(name)) {
                if !self.parts[i].segment.is_whole() {
                    return Err(io::Error::new(ErrorKind::InvalidData, "a segment was cut and removed"));
                }
                self.parts[i].name = Some(self.write_segment(self.parts[i].segment.bytes())?);
            }
        }
        self.parts.retain(|part| part.n_current() > 0);
        self.find_current();
        let manifest = Manifest { generation: self.generation + 1, profile: self.profile, segments: self.entries() };
        manifest.write(&*self.store)?;
        self.generation = manifest.generation;
        self.committed = true;
        self.told.retain(|what| *what != IN_MEMORY);
        manifest.collect(&*self.store, &[])
    }

    /// What an editor has open, whatever the disk says. Nothing is written, but for a note while it is opened.
    pub fn set_buffer(&mut self, path: &Path, text: &[u8]) {
        let is_open = self.buffers.contains_key(&self.shown(path));
        let buffer = self.workspace.buffer(path, None, text, &self.quarantine, is_open);
        self.buffers.insert(buffer.shown.clone(), Arc::new(buffer));
        self.renew_snapshot();
    }

    /// What must not be tokenized, and notes of what is: for who makes buffers beside it.
    pub fn quarantine(&self) -> Arc<Quarantine> {
        Arc::clone(&self.quarantine)
    }

    /// All that an editor has open, in the place of what it had before.
    pub fn set_buffers(&mut self, buffers: impl IntoIterator<Item = Arc<Buffer>>) {
        self.buffers = buffers.into_iter().map(|buffer| (buffer.shown.clone(), buffer)).collect();
        self.renew_snapshot();
    }

    /// The disk counts again.
    pub fn drop_buffer(&mut self, path: &Path) {
        if self.buffers.remove(&self.shown(path)).is_some() {
            self.renew_snapshot();
        }
    }

    /// The classes that the file has a copy of, worst first. None, if it is no document, or if the index was cut and
    /// cannot be made whole.
    pub fn clones_of(&mut self, path: &Path, settings: &Settings) -> Option<clones::Clones> {
        let shown = self.shown(path);
        let near = self.bring_near(settings, &|| false);
        let clones = self.snapshot.clones_of(&shown, settings).filter(|_| near.is_ok());
        if clones.is_some() || self.snapshot.is_whole() {
            return clones;
        }
        self.refresh(&|_| {}).ok()?;
        self.bring_near(settings, &|| false).ok()?;
        self.snapshot.clones_of(&shown, settings)
    }

    /// All classes of the workspace, as of now: without reading any source, unless a third party has cut what was kept
    /// of it. `settings` may judge otherwise than those of the workspace do, but must not need other documents.
    pub fn report(&mut self, settings: &Settings) -> Result<Report, Error> {
        if let Some(report) = self.try_report(settings) {
            return Ok(report);
        }
        if !self.snapshot.is_whole() {
            self.refresh(&|_| {})?;
        }
        self.try_report(settings).ok_or_else(|| Error::Index { path: self.workspace.root.clone() })
    }

    /// None, if the index cannot be read.
    fn try_report(&mut self, settings: &Settings) -> Option<Report> {
        let decoded =
            self.bring_near_within(settings, self.memory, &|| false).ok()?.filter(|_| self.buffers.is_empty());
        let (files, members) = self.snapshot.documents(&self.workspace.root);
        let key = crate::answer::fingerprint(settings);
        let name = answer_name(key);
        if !self.answers.contains_key(&key)
            && let Some(answer) = self.store.read(&name, MAX_ANSWER).ok().and_then(|bytes| Answer::read(&bytes))
        {
            let snapshot = self.opened.clone().unwrap_or_else(|| self.snapshot());
            self.answers.insert(key, Answered { answer, snapshot });
            self.kept_answers.insert(key);
        }
        let before = self.answers.get(&key);
        let known = before.map(|before| (&before.answer, &*before.snapshot));
        let answer = self.snapshot.answer(&members, known, settings, decoded)?;
        if before.is_none_or(|before| before.answer != answer) {
            self.kept_answers.remove(&key);
        }
        let near = self.near_classes(&members, settings)?;
        let Settled { shown: classes, ignored } = snapshot::settled(&answer, near, &files, settings);
        if self.may_keep() && !self.kept_answers.contains(&key) {
            let written = answer.write().and_then(|bytes| self.write_whole(&name, &bytes));
            match written.and_then(|()| self.drop_others(&name, ANSWER)) {
                Ok(()) => drop(self.kept_answers.insert(key)),
                Err(error) => self.trouble("what was found is not kept", &error),
            }
        }
        self.answers.insert(key, Answered { answer, snapshot: self.snapshot() });
        self.opened = None;
        let mut skipped = self.left_out.clone();
        skipped.extend(self.snapshot.skipped());
        skipped.sort();
        Some(Report { root: self.workspace.root.clone(), files, skipped, classes, ignored })
    }

    /// The places of all copies of a report that was just given for these settings, in the order of its classes. Files
    /// are read only if it was not asked for them before.
    pub fn locate(&mut self, report: &Report, settings: &Settings) -> Vec<Vec<Place>> {
        let before = self.store.read(PLACES, MAX_ANSWER).ok().and_then(|bytes| Places::read(&bytes));
        let answered = self.answers.get(&crate::answer::fingerprint(settings));
        let identities = answered.map_or(&[][..], |answered| answered.answer.identities());
        // If it is the report of another state, nothing is known of its files.
        let identities = if identities.len() == report.files.len() { identities } else { &[] };
        let mut places = before.clone().unwrap_or_default();
        let found = places.locate(&report.files, identities, &report.classes);
        if before.as_ref() != Some(&places) {
            self.keep_beside(PLACES, || places.write(), "where copies are is not kept");
        }
        found
    }

    /// May what was found be kept on disk? It is of the state that is there, and this process writes it.
    fn may_keep(&self) -> bool {
        self.buffers.is_empty() && self.is_writer() && self.committed
    }

    /// Keeps what was found beside the segments, if it may be. `trouble`: what to say if it cannot.
    fn keep_beside(&mut self, name: &str, bytes: impl FnOnce() -> io::Result<Vec<u8>>, trouble: &'static str) {
        if self.may_keep()
            && let Err(error) = bytes().and_then(|bytes| self.write_whole(name, &bytes))
        {
            self.trouble(trouble, &error);
        }
    }

    fn write_whole(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.store.write(name, &mut |out: &mut dyn Write| out.write_all(bytes))
    }

    /// What others hold of each file, in the order of their paths: as of now, and only for files that changed since it was
    /// last asked for is anything read.
    pub fn containment(&mut self, settings: &Settings) -> Result<Vec<Contained>, Error> {
        if !self.snapshot.is_whole() {
            self.refresh(&|_| {})?;
        }
        let (files, members) = self.snapshot.documents(&self.workspace.root);
        let on_disk = || self.store.read(CHUNKS, MAX_ANSWER).ok().and_then(|bytes| Sharing::read(&bytes));
        let before = self.sharing.take().or_else(on_disk);
        let found = self.snapshot.while_whole(|| Sharing::of(&members, &self.snapshot, before.as_ref(), settings));
        let sharing = found.ok_or_else(|| Error::Index { path: self.workspace.root.clone() })?;
        if before.as_ref() != Some(&sharing) {
            self.keep_beside(CHUNKS, || sharing.write(), "what files share is not kept");
        }
        let shown: Vec<String> = files.into_iter().map(|file| file.shown).collect();
        let table = sharing.table(&shown);
        self.sharing = Some(sharing);
        Ok(table)
    }

    /// The names of the files on disk that end so: the answers, or the sketches.
    fn kept_on_disk(&self, end: &str) -> io::Result<Vec<String>> {
        let mut names = self.store.names()?;
        names.retain(|name| name.ends_with(end));
        Ok(names)
    }

    /// Was the same asked for before, so that an answer can be brought up to date?
    pub fn has_answer(&self, settings: &Settings) -> bool {
        let key = crate::answer::fingerprint(settings);
        self.answers.contains_key(&key) || self.store.len(&answer_name(key)).is_ok()
    }

    /// Removes the files of other settings that end so, if they are too many.
    fn drop_others(&self, keep: &str, end: &str) -> io::Result<()> {
        let mut others = self.kept_on_disk(end)?;
        others.retain(|name| name != keep);
        let excess = others.len().saturating_sub(MAX_ANSWERS - 1);
        others.iter().take(excess).try_for_each(|name| self.store.remove(name))
    }
}

/// Why a segment of the manifest is not there.
enum Missing {
    Gone,
    Damaged,
    Newer,
}

/// Sources in groups of which the content is not too much memory.
fn batches(sources: &[Source], memory: u64) -> Vec<&[Source]> {
    let limit = BATCH_BYTES.min(memory / 8);
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (i, source) in sources.iter().enumerate() {
        if i > start && (bytes + source.stamp.size > limit || i - start >= BATCH_FILES) {
            batches.push(&sources[start..i]);
            (start, bytes) = (i, 0);
        }
        bytes += source.stamp.size;
    }
    if start < sources.len() {
        batches.push(&sources[start..]);
    }
    batches
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::search::tests::program;
    use crate::store::Memory;

    fn workspace(root: &Path) -> Workspace {
        let settings = Settings { min_tokens: 20, test_min_tokens: 20, min_lines: 2, ..Settings::default() };
        Workspace { root: root.to_owned(), paths: vec![root.to_owned()], settings }
    }

    fn text(report: &Report) -> String {
        let files: Vec<&str> = report.files.iter().map(|file| file.shown.as_str()).collect();
        format!("{files:?} {:?} {:#?}", report.skipped, report.classes)
    }

    fn fresh(workspace: &Workspace) -> String {
        text(&crate::search(&workspace.root, &workspace.paths, &workspace.settings, &|_| {}).expect("a folder"))
    }

    #[test]
    fn an_index_answers_as_a_search_does_through_changes_and_reopening() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let workspace = workspace(&root);
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let write = |name: &str, seed: u8| {
            let statements: Vec<(u8, u8, u8)> =
                (0..40u8).map(|i| (i.wrapping_mul(7).wrapping_add(seed), i % 3, i % 2)).collect();
            fs::write(root.join(name), program(&statements)).expect("a file");
        };
        (0..9).for_each(|i| write(&format!("{i}.go"), i % 3));
        fs::write(root.join("empty.go"), "").expect("a file");
        let mut index = Index::open(Arc::clone(&store), workspace.clone(), MEMORY);
        let changes = index.refresh(&|_| {}).expect("a folder");
        assert_eq!(changes, Changes { added: 10, ..Changes::default() });
        assert_eq!(text(&index.report(&workspace.settings).expect("an answer")), fresh(&workspace));
        for round in 0..12u8 {
            write(&format!("{}.go", round % 9), round);
            fs::remove_file(root.join(format!("{}.go", (round * 5 + 1) % 9))).ok();
            write(&format!("n{round}.go"), round / 2);
            if round % 4 == 3 {
                drop(index);
                index = Index::open(Arc::clone(&store), workspace.clone(), MEMORY);
            }
            assert!(index.refresh(&|_| {}).expect("a folder").any());
            index.merge();
            assert!(index.is_committed());
            assert_eq!(index.verify().problems, Vec::<String>::new());
            assert_eq!(text(&index.report(&workspace.settings).expect("an answer")), fresh(&workspace), "{round}");
        }
        assert!(index.stats().segments < 12, "merged");
        assert_eq!(index.troubles(), Vec::<String>::new());
    }

    /// What went was in a segment of its own, which went with it, and in a buffer, which is nowhere else.
    #[test]
    fn an_answer_is_brought_up_to_date_however_often_a_file_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let workspace = workspace(&root);
        let settings = &workspace.settings;
        let text_of = |seed: u8| {
            let statements: Vec<(u8, u8, u8)> = (0..40u8).map(|i| (i.wrapping_mul(7) ^ seed, i % 3, i % 2)).collect();
            program(&statements)
        };
        (0..40).for_each(|i| fs::write(root.join(format!("{i}.go")), text_of(i % 3)).expect("a file"));
        let mut index = Index::open(Arc::new(Memory::default()), workspace.clone(), MEMORY);
        let check = |index: &mut Index| {
            let (_, members) = index.snapshot.documents(&root);
            if let Some(Answered { answer, snapshot }) = index.answers.values().next() {
                assert!(index.snapshot.updated(&members, answer, snapshot, settings).is_some());
            }
            text(&index.report(settings).expect("an answer"))
        };
        index.refresh(&|_| {}).expect("a folder");
        check(&mut index);
        let path = root.join("7.go");
        for seed in 10..14 {
            fs::write(&path, text_of(seed)).expect("a file");
            assert!(index.refresh(&|_| {}).expect("a folder").any());
            index.merge();
            assert_eq!(check(&mut index), fresh(&workspace));
        }
        for seed in 20..24 {
            index.set_buffer(&path, text_of(seed).as_bytes());
            check(&mut index);
        }
        index.drop_buffer(&path);
        assert_eq!(check(&mut index), fresh(&workspace));
    }
}
