//! Which files of a folder are source, in an order that does not depend on the disk; and why the others are left out.
//!
//! A walk of our own over `ignore`'s matchers, because `ignore`'s walk does not say what it left out.
//! Links are never followed, so there are no loops. Folders are read by all threads of the pool that the caller runs in.

pub(crate) mod rules;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf, Prefix};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use globset::{Glob, GlobSet, GlobSetBuilder};
use rayon::Scope;
use rayon::slice::ParallelSliceMut;

use crate::settings::Settings;
use crate::skip::{Skip, SkipReason};
use crate::{Error, place};
use rules::Rules;

/// Folders that hold other people's code.
const VENDORED: [&str; 16] = [
    "vendor",
    "node_modules",
    "bower_components",
    "third_party",
    "third-party",
    "thirdparty",
    "3rdparty",
    "site-packages",
    "venv",
    ".venv",
    "Pods",
    "Carthage",
    "jspm_packages",
    "Godeps",
    ".yarn",
    ".tox",
];

/// A source file: where it is, how it is shown, and what tells that it has not changed.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
    pub stamp: Stamp,
}

impl Source {
    /// A source of which nothing is known but its name.
    pub fn new(path: PathBuf, shown: String) -> Source {
        Source { path, shown, stamp: Stamp::UNKNOWN }
    }
}

/// What the file system says of a file's content without reading it: what git compares, too.
///
/// Not the device: a network file system, or a disk that is plugged in again, may get another number each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    pub size: u64,
    /// When the content was changed last, in nanoseconds since 1970; 64 bits last until 2262. Any program can set it.
    pub mtime: i64,
    /// When content or metadata were changed last, which no program can set. On Windows the standard library gives no
    /// such time: there it is the time of creation, which differs if another file took the name.
    pub ctime: i64,
    /// The number of the file in its file system: another file that was renamed to this name has another one. 0 on
    /// Windows, where the standard library gives none.
    pub inode: u64,
}

impl Stamp {
    /// Of a file that could not be asked. Not a time that a file can have, so it never tells that nothing changed.
    pub const UNKNOWN: Stamp = Stamp { size: 0, mtime: i64::MIN, ctime: i64::MIN, inode: 0 };

    pub fn of(meta: &Metadata) -> Stamp {
        let time = |time: io::Result<SystemTime>| time.map_or(i64::MIN, nanoseconds);
        #[cfg(unix)]
        let (ctime, inode) = {
            use std::os::unix::fs::MetadataExt;
            (meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec()), meta.ino())
        };
        #[cfg(not(unix))]
        let (ctime, inode) = (time(meta.created()), 0);
        Stamp { size: meta.len(), mtime: time(meta.modified()), ctime, inode }
    }
}

/// A moment in nanoseconds since 1970; what does not fit is the nearest that does.
pub fn nanoseconds(time: SystemTime) -> i64 {
    const MAX: i64 = i64::MAX;
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(-MAX, |nanos| -nanos),
    }
}

/// What a walk has found, all of it sorted.
#[derive(Debug, Default)]
pub struct Found {
    pub sources: Vec<Source>,
    pub skipped: Vec<Skip>,
}

impl Found {
    fn append(&mut self, mut other: Found) {
        self.sources.append(&mut other.sources);
        self.skipped.append(&mut other.skipped);
    }

    fn sort(&mut self) {
        // Threads come in any order, so of two paths that are shown alike the same one must win: the lesser.
        self.sources.par_sort_unstable_by(|a, b| a.shown.cmp(&b.shown).then_with(|| a.path.cmp(&b.path)));
        self.sources.dedup_by(|a, b| a.shown == b.shown);
        self.skipped.sort_unstable();
        self.skipped.dedup();
    }
}

/// All sources under `paths`, each shown relative to `root`, sorted by that.
pub fn find(root: &Path, paths: &[PathBuf], settings: &Settings) -> Result<Found, Error> {
    walk(root, paths, None, None, settings)
}

/// What [`find`] finds at and below the paths `within`, without reading folders that are beside the way there.
/// These must be written as `find` writes them: one of `paths`, and what stands below it.
pub fn find_within(root: &Path, paths: &[PathBuf], within: Vec<PathBuf>, settings: &Settings) -> Result<Found, Error> {
    walk(root, paths, Some(within), None, settings)
}

/// Whether [`find`] reads the regular file at this path, or would read one if it were there.
///
/// Names and ignore files alone decide. The path itself is never looked at: a file that is removed or replaced while
/// this runs would otherwise be neither there nor missing.
pub fn would_find(root: &Path, paths: &[PathBuf], path: &Path, settings: &Settings) -> bool {
    would_find_all(root, paths, vec![path.to_owned()], settings).is_ok_and(|found| !found.is_empty())
}

/// The paths among `candidates` for which [`would_find`] holds. Neither they nor their folders need exist.
pub fn would_find_all(
    root: &Path,
    paths: &[PathBuf],
    mut candidates: Vec<PathBuf>,
    settings: &Settings,
) -> Result<Vec<PathBuf>, Error> {
    let walk = Walk::new(root, None, None, settings)?;
    let mut entered: Vec<Entered> = paths.iter().map(|_| Entered::new()).collect();
    candidates.retain(|path| {
        let mut named = paths.iter().zip(&mut entered);
        named.any(|(above, entered)| path.starts_with(above) && walk.would_read(above, path, entered))
    });
    Ok(candidates)
}

/// Tells of each folder that [`find`] reads below `root`, or at, below and on the way to `within`; of each before it is
/// read, so that a folder that is watched from then on has no moment in which something comes unnoticed.
pub fn enter(
    root: &Path,
    within: Option<Vec<PathBuf>>,
    settings: &Settings,
    visit: &(dyn Fn(&Path) + Sync),
) -> Result<(), Error> {
    walk(root, &[root.to_owned()], within, Some(visit), settings).map(drop)
}

fn walk(
    root: &Path,
    paths: &[PathBuf],
    mut within: Option<Vec<PathBuf>>,
    visit: Option<&(dyn Fn(&Path) + Sync)>,
    settings: &Settings,
) -> Result<Found, Error> {
    if let Some(within) = &mut within {
        within.sort_unstable();
    }
    let walk = Walk::new(root, within, visit, settings)?;
    for path in paths {
        let bad = |source| Error::Read { path: path.clone(), source };
        // A path that was named is read even if it is a link; links below it are not followed.
        let meta = fs::metadata(path).map_err(bad)?;
        let whole = walk.is_wanted(path);
        if meta.is_dir() {
            fs::read_dir(path).map_err(bad)?;
            let absolute = path.canonicalize().unwrap_or_else(|_| path.clone());
            let mut unheeded = Vec::new();
            let folder = Folder {
                shown: show(walk.relative(path)),
                rules: if settings.gitignore { Rules::above(path, &mut unheeded) } else { Rules::default() },
                checkout: rules::in_checkout(&absolute),
                path: path.clone(),
                absolute,
                whole,
            };
            let skip = |(file, reason): (PathBuf, SkipReason)| Skip { path: show(walk.relative(&file)), reason };
            walk.keep(Found { skipped: unheeded.into_iter().map(skip).collect(), ..Found::default() });
            rayon::scope(|scope| walk.folder(folder, scope));
        } else if whole {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let mut found = Found::default();
            if may_be_source(name) {
                walk.file(path.clone(), show(walk.relative(path)), &meta.file_type(), || Some(meta), &mut found);
            }
            walk.keep(found);
        }
    }
    let mut found = walk.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    Ok(found)
}

pub(crate) fn globs(patterns: &[String], key: &'static str) -> Result<Option<GlobSet>, Error> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        let bad = |source| Error::Glob { key, pattern: pattern.clone(), source };
        // `src`, `src/` and `src/**` all mean what is in that folder, and `*.go` means at any depth.
        let trimmed = pattern.trim_start_matches("./").trim_end_matches('/');
        builder.add(Glob::new(trimmed).map_err(bad)?);
        builder.add(Glob::new(&format!("{trimmed}/**")).map_err(bad)?);
        if !trimmed.contains('/') {
            builder.add(Glob::new(&format!("**/{trimmed}")).map_err(bad)?);
            builder.add(Glob::new(&format!("**/{trimmed}/**")).map_err(bad)?);
        }
    }
    builder.build().map(Some).map_err(|source| Error::Glob { key, pattern: patterns.join(", "), source })
}

struct Walk<'a> {
    root: &'a Path,
    settings: &'a Settings,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    /// Sorted; if given, nothing but what stands at or below these paths is wanted.
    within: Option<Vec<PathBuf>>,
    /// If given, folders are what the walk is for, and files are passed by.
    visit: Option<&'a (dyn Fn(&Path) + Sync)>,
    found: Mutex<Found>,
}

/// For each folder, the rules that hold in it; none if a walk does not enter it.
type Entered = HashMap<PathBuf, Option<Rules>>;

/// A folder still to be read.
struct Folder {
    path: PathBuf,
    /// The same without links: ignore files speak of such paths.
    absolute: PathBuf,
    shown: String,
    rules: Rules,
    checkout: bool,
    /// Whether all of it is wanted.
    whole: bool,
}

impl<'a> Walk<'a> {
    fn new(
        root: &'a Path,
        within: Option<Vec<PathBuf>>,
        visit: Option<&'a (dyn Fn(&Path) + Sync)>,
        settings: &'a Settings,
    ) -> Result<Walk<'a>, Error> {
        Ok(Walk {
            root,
            settings,
            include: globs(&settings.include, "include")?,
            exclude: globs(&settings.exclude, "exclude")?,
            within,
            visit,
            found: Mutex::default(),
        })
    }

    /// Whether a regular file at `path` would be read in a walk of the path `above`.
    fn would_read(&self, above: &Path, path: &Path, entered: &mut Entered) -> bool {
        let Some(name) = path.file_name() else { return false };
        if !may_be_source(name) || !self.is_included(path) {
            return false;
        }
        // Ignore files do not hold for a file that was named itself.
        path == above || {
            let rules = path.parent().and_then(|folder| self.rules_in(above, folder, entered));
            rules.is_some_and(|rules| !rules.ignore(path, false))
        }
    }

    fn rules_in(&self, above: &Path, folder: &Path, entered: &mut Entered) -> Option<Rules> {
        if let Some(known) = entered.get(folder) {
            return known.clone();
        }
        let rules = if folder == above {
            Some(if self.settings.gitignore { Rules::above(above, &mut Vec::new()) } else { Rules::default() })
        } else {
            let (outer, name) = (folder.parent()?, folder.file_name()?);
            let rules = self.rules_in(above, outer, entered)?;
            let left_out =
                rules.ignore(folder, true) || self.leave_out(name, folder).is_some() || place::is_index(folder);
            (!left_out).then_some(rules)
        };
        let rules = rules.map(|rules| {
            let with_files = |rules: Rules| rules.with_files_of(folder, rules::in_checkout(above), &mut Vec::new());
            if self.settings.gitignore { with_files(rules) } else { rules }
        });
        entered.insert(folder.to_owned(), rules.clone());
        rules
    }

    fn folder<'scope>(&'scope self, folder: Folder, scope: &Scope<'scope>) {
        let mut found = Found::default();
        if let Some(visit) = self.visit {
            visit(&folder.path);
        }
        match fs::read_dir(&folder.path) {
            Ok(entries) => {
                let (mut read, mut is_whole) = (Vec::new(), true);
                // What could be listed counts, and that it is not all is told.
                entries.for_each(|entry| match entry {
                    Ok(entry) => read.push(entry),
                    Err(_) => is_whole = false,
                });
                if !is_whole {
                    self.skip(&folder.path, folder.shown.clone(), SkipReason::Unreadable, &mut found);
                }
                self.entries(&folder, read, scope, &mut found);
            }
            Err(_) => self.skip(&folder.path, folder.shown.clone(), SkipReason::Unreadable, &mut found),
        }
        self.keep(found);
    }

    fn entries<'scope>(
        &'scope self,
        folder: &Folder,
        entries: Vec<fs::DirEntry>,
        scope: &Scope<'scope>,
        found: &mut Found,
    ) {
        let mut rules = folder.rules.clone();
        let names_rules = |entry: &fs::DirEntry| rules::IGNORE_FILES.iter().any(|name| entry.file_name() == *name);
        if self.settings.gitignore && entries.iter().any(names_rules) {
            let mut unheeded = Vec::new();
            rules = rules.with_files_of(&folder.absolute, folder.checkout, &mut unheeded);
            let skip = |(file, reason): (PathBuf, SkipReason)| Skip {
                path: below(&folder.shown, file.file_name().unwrap_or_default()),
                reason,
            };
            // What they would have left out is read, so somebody must hear of it.
            found.skipped.extend(unheeded.into_iter().map(skip));
        }
        for entry in entries {
            // Where a folder's list does not tell the kind, the file is asked, and may have gone since.
            let Ok(kind) = entry.file_type() else { continue };
            let (name, is_dir) = (entry.file_name(), kind.is_dir());
            if !is_dir && (self.visit.is_some() || !may_be_source(&name)) {
                continue;
            }
            let path = entry.path();
            if is_dir && place::is_index(&path) {
                continue;
            }
            let whole = folder.whole || self.is_wanted(&path);
            let on_the_way = is_dir && self.is_on_the_way(&path);
            if !whole && !on_the_way {
                continue;
            }
            let shown = below(&folder.shown, &name);
            if !rules.is_empty() && rules.ignore(&folder.absolute.join(&name), is_dir) {
                if is_dir || is_source(&name) {
                    self.skip(&path, shown, SkipReason::Ignored, found);
                }
            } else if !is_dir {
                self.file(path, shown, &kind, || entry.metadata().ok(), found);
            } else if let Some(reason) = self.leave_out(&name, &path) {
                if !is_history(&name) || reason != SkipReason::Hidden {
                    self.skip(&path, shown, reason, found);
                }
            } else {
                let absolute = folder.absolute.join(&name);
                let below = Folder { path, absolute, shown, rules: rules.clone(), checkout: folder.checkout, whole };
                scope.spawn(move |scope| self.folder(below, scope));
            }
        }
    }

    /// Why a folder is not entered, but for ignore files.
    fn leave_out(&self, name: &OsStr, path: &Path) -> Option<SkipReason> {
        if self.settings.skip_vendored && name.to_str().is_some_and(|name| VENDORED.contains(&name)) {
            Some(SkipReason::Vendored)
        } else if self.exclude.as_ref().is_some_and(|set| set.is_match(self.relative(path))) {
            Some(SkipReason::Excluded)
        } else if is_history(name) || self.settings.skip_hidden && name.as_encoded_bytes().starts_with(b".") {
            Some(SkipReason::Hidden)
        } else {
            None
        }
    }

    /// A file that may be a source by its name.
    fn file(
        &self,
        path: PathBuf,
        shown: String,
        kind: &fs::FileType,
        meta: impl FnOnce() -> Option<Metadata>,
        found: &mut Found,
    ) {
        if kind.is_symlink() {
            self.skip(&path, shown, SkipReason::Symlink, found);
        } else if !kind.is_file() {
            self.skip(&path, shown, SkipReason::Special, found);
        } else if !self.is_included(&path) {
            self.skip(&path, shown, SkipReason::Excluded, found);
        } else {
            // A file that has gone since is found unreadable when it is read.
            let stamp = meta().as_ref().map_or(Stamp::UNKNOWN, Stamp::of);
            found.sources.push(Source { path, shown, stamp });
        }
    }

    /// Whether the globs of the settings let a file be read.
    fn is_included(&self, path: &Path) -> bool {
        let relative = self.relative(path);
        self.include.as_ref().is_none_or(|set| set.is_match(relative))
            && !self.exclude.as_ref().is_some_and(|set| set.is_match(relative))
    }

    fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(self.root).unwrap_or(path)
    }

    fn skip(&self, path: &Path, shown: String, reason: SkipReason, found: &mut Found) {
        let known = path.file_name().is_some_and(is_source);
        if known || reason == SkipReason::Unreadable || path.is_dir() {
            found.skipped.push(Skip { path: shown, reason });
        } // else not known to be source: nobody misses it
    }

    /// Takes over what one folder holds: one lock a folder is nothing beside reading it.
    fn keep(&self, found: Found) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).append(found);
    }

    /// Is this path among those that are asked for?
    fn is_wanted(&self, path: &Path) -> bool {
        self.within.as_ref().is_none_or(|within| within.binary_search_by(|wanted| wanted.as_path().cmp(path)).is_ok())
    }

    /// Is something below this folder asked for? Paths sort by component, so what is below follows it directly.
    fn is_on_the_way(&self, folder: &Path) -> bool {
        self.within.as_ref().is_none_or(|within| {
            let next = within.partition_point(|wanted| wanted.as_path() < folder);
            within.get(next).is_some_and(|wanted| wanted.starts_with(folder))
        })
    }
}

/// Folders that version control keeps for itself: nobody wants to hear of them.
fn is_history(name: &OsStr) -> bool {
    [".git", ".hg", ".svn", ".jj"].iter().any(|history| name == *history)
}

fn is_source(name: &OsStr) -> bool {
    dupi_grammars::by_path(Path::new(name)).is_some()
}

/// May a file of that name be a source, or a script that says so only in its first line?
pub fn may_be_source(name: &OsStr) -> bool {
    may_have_shebang(Path::new(name)) || is_source(name)
}

/// Files without an extension may be scripts.
fn may_have_shebang(path: &Path) -> bool {
    path.extension().is_none() && !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// How an entry of a folder is shown, as [`show`] shows its whole path.
fn below(folder: &str, name: &OsStr) -> String {
    let name = name.to_string_lossy();
    match folder {
        "." => name.into_owned(),
        _ if folder.ends_with('/') => format!("{folder}{name}"),
        _ => format!("{folder}/{name}"),
    }
}

/// A path as it is shown: with `/`, and what is not UTF-8 replaced.
pub fn show(path: &Path) -> String {
    let mut shown = String::new();
    for component in path.components() {
        match component {
            Component::CurDir => continue,
            // Windows writes a resolved path as `\\?\C:\…`; people write `C:/…`.
            Component::Prefix(prefix) => {
                if let Prefix::VerbatimDisk(disk) | Prefix::Disk(disk) = prefix.kind() {
                    shown.push(disk as char);
                    shown.push(':');
                    continue;
                }
            }
            Component::RootDir => {
                shown.push('/');
                continue;
            }
            _ => {}
        }
        if !shown.is_empty() && !shown.ends_with('/') {
            shown.push('/');
        }
        shown.push_str(&component.as_os_str().to_string_lossy());
    }
    if shown.is_empty() { ".".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }

    fn found(root: &Path) -> Found {
        find(root, &[root.to_owned()], &Settings::default()).expect("a walk")
    }

    fn sources(found: &Found) -> Vec<&str> {
        found.sources.iter().map(|source| source.shown.as_str()).collect()
    }

    fn skips(found: &Found) -> Vec<(&str, SkipReason)> {
        found.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason)).collect()
    }

    /// A tree with something of everything.
    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for file in
            ["a.go", "script", "b/c.go", "b/d/e.go", "b/d/f.go", "b/gen/g.go", "vendor/h.go", ".i/j.go", "k.txt"]
        {
            write(&dir.path().join(file), "package a\n");
        }
        write(&dir.path().join(".git/info/exclude"), "nothing.go\n");
        write(&dir.path().join("b/.gitignore"), "gen\n*.go\n!c.go\n");
        write(&dir.path().join("b/d/.ignore"), "!f.go\n");
        dir
    }

    #[test]
    fn ignore_files_hold_for_the_folders_below() {
        let tree = tree();
        let found = found(tree.path());
        assert_eq!(sources(&found), ["a.go", "b/c.go", "b/d/f.go", "script"]);
        let reasons = [
            (".i", SkipReason::Hidden),
            ("b/d/e.go", SkipReason::Ignored),
            ("b/gen", SkipReason::Ignored),
            ("vendor", SkipReason::Vendored),
        ];
        assert_eq!(skips(&found), reasons);
        let folders = Mutex::new(Vec::new());
        let visit = |folder: &Path| folders.lock().expect("a lock").push(folder.to_owned());
        enter(tree.path(), None, &Settings::default(), &visit).expect("a walk");
        let mut folders = folders.into_inner().expect("a lock");
        folders.sort();
        assert_eq!(folders, ["", "b", "b/d"].map(|folder| tree.path().join(folder)));
        let inner = find(tree.path(), &[tree.path().join("b/d")], &Settings::default()).expect("a walk");
        assert_eq!(sources(&inner), ["b/d/f.go"], "and for a folder that is walked alone");
    }

    #[test]
    fn a_source_carries_its_size_and_time() {
        let tree = tree();
        for source in found(tree.path()).sources {
            assert_eq!(source.stamp, Stamp::of(&fs::metadata(&source.path).expect("there")));
            assert_eq!(source.stamp.size, 10);
        }
        assert_eq!(nanoseconds(SystemTime::UNIX_EPOCH), 0);
        assert_eq!(nanoseconds(SystemTime::UNIX_EPOCH - std::time::Duration::from_nanos(3)), -3);
    }

    #[test]
    fn a_walk_within_some_paths_finds_what_a_walk_of_all_finds_there() {
        let tree = tree();
        let (root, settings) = (tree.path(), Settings::default());
        let all = found(root);
        let paths =
            ["", "a.go", "b", "b/d", "b/d/f.go", "b/d/e.go", "b/gen", "b/gen/g.go", "vendor/h.go", "no", "b/d/no"];
        for first in paths {
            for second in paths {
                let within = vec![root.join(first), root.join(second)];
                let is_within = |path: &Path| within.iter().any(|wanted| path.starts_with(wanted));
                let part = find_within(root, &[root.to_owned()], within.clone(), &settings).expect("a walk");
                let expected = all.sources.iter().filter(|source| is_within(&source.path));
                assert_eq!(sources(&part), expected.map(|source| source.shown.as_str()).collect::<Vec<_>>());
                let reasons = |found: &Found| -> Vec<Skip> {
                    found.skipped.iter().filter(|skip| is_within(&root.join(&skip.path))).cloned().collect()
                };
                assert_eq!(reasons(&part), reasons(&all), "{within:?}");
            }
        }
    }

    /// Each path that could be a file: those of the tree, and the same names in every folder.
    fn every_path(root: &Path) -> Vec<PathBuf> {
        let (mut folders, mut names) = (vec![root.to_owned()], HashMap::new());
        let mut at = 0;
        while let Some(folder) = folders.get(at).cloned() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                match entry.file_type().expect("a kind") {
                    kind if kind.is_dir() => folders.push(entry.path()),
                    _ => drop(names.insert(entry.file_name(), ())),
                }
            }
            at += 1;
        }
        folders.iter().flat_map(|folder| names.keys().map(move |name| folder.join(name))).collect()
    }

    #[test]
    fn whether_a_file_is_found_follows_from_names_alone() {
        let exclude = Settings { exclude: vec!["b/d".into(), "a.go".into()], ..Settings::default() };
        let include = Settings { include: vec!["*.go".into()], skip_hidden: false, ..Settings::default() };
        let all = Settings { gitignore: false, skip_vendored: false, ..Settings::default() };
        for settings in [Settings::default(), exclude, include, all] {
            for named in [&["."][..], &["b"], &["b/d/e.go", "k.txt"], &[".", "vendor", "b/gen"]] {
                for is_checkout in [true, false] {
                    let tree = tree();
                    let root = tree.path().canonicalize().expect("a folder");
                    if !is_checkout {
                        fs::remove_dir_all(root.join(".git")).expect("removed");
                    }
                    // A checkout within, of which nothing is tracked.
                    write(&root.join("inner/.git/HEAD"), "");
                    write(&root.join("inner/.gitignore"), "*\n");
                    write(&root.join("inner/m.go"), "package m\n");
                    let paths: Vec<PathBuf> =
                        named.iter().map(|name| root.join(name).canonicalize().expect("there")).collect();
                    let candidates = every_path(&root);
                    let by_name = || {
                        let mut found = would_find_all(&root, &paths, candidates.clone(), &settings).expect("rules");
                        found.sort();
                        found
                    };
                    candidates
                        .iter()
                        .filter(|path| !path.exists())
                        .for_each(|path| fs::write(path, "").expect("written"));
                    let walked = find(&root, &paths, &settings).expect("a walk");
                    let mut walked: Vec<PathBuf> = walked.sources.into_iter().map(|source| source.path).collect();
                    walked.sort();
                    assert_eq!(by_name(), walked, "{named:?}, a checkout: {is_checkout}, {settings:?}");
                    for path in &walked {
                        assert!(would_find(&root, &paths, path, &settings), "{}", path.display());
                        fs::remove_file(path).expect("removed");
                        assert!(would_find(&root, &paths, path, &settings), "{}, which is gone", path.display());
                    }
                    assert_eq!(by_name(), walked, "and none of them is there any more");
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let tree = tree();
        let walk = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("a pool");
            format!("{:?}", pool.install(|| found(tree.path())))
        };
        let one = walk(1);
        for n_threads in [2, 3, 8, 1] {
            assert_eq!(walk(n_threads), one);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_closed_folders_are_passed_by_with_a_reason() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("root");
        write(&root.join("src/a.go"), "package a\n");
        write(&root.join("closed/b.go"), "package b\n");
        write(&dir.path().join("outside/c.go"), "package c\n");
        symlink("..", root.join("src/loop")).expect("linked");
        symlink("itself.go", root.join("src/itself.go")).expect("linked");
        symlink("../../outside", root.join("src/out")).expect("linked");
        symlink("../../outside/c.go", root.join("src/c.go")).expect("linked");
        let made = std::process::Command::new("mkfifo").args([root.join("pipe.go"), root.join(".ignore")]).status();
        assert!(made.expect("mkfifo").success());
        let closed = fs::Permissions::from_mode(0o000);
        fs::set_permissions(root.join("closed"), closed).expect("closed");
        let is_closed = fs::read_dir(root.join("closed")).is_err();
        let found = found(&root);
        fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o700)).expect("opened");

        let mut expected = vec![
            (".ignore", SkipReason::Special),
            ("pipe.go", SkipReason::Special),
            ("src/c.go", SkipReason::Symlink),
            ("src/itself.go", SkipReason::Symlink),
            ("src/loop", SkipReason::Symlink),
            ("src/out", SkipReason::Symlink),
        ];
        // Nothing is closed to the superuser.
        if is_closed {
            expected.insert(1, ("closed", SkipReason::Unreadable));
            assert_eq!(sources(&found), ["src/a.go"]);
        } else {
            assert_eq!(sources(&found), ["closed/b.go", "src/a.go"]);
        }
        assert_eq!(skips(&found), expected);
    }
}
