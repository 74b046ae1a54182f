//! Which files of a folder are source, in an order that does not depend on the disk; and why the others are left out.
//!
//! A walk of our own over `ignore`'s matchers, because `ignore`'s walk does not say what it left out.
//! Links are never followed, so there are no loops.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf, Prefix};

use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::Error;
use crate::settings::Settings;
use crate::skip::{Skip, SkipReason};

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

/// A source file: where it is, and how it is shown.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub struct Found {
    pub sources: Vec<Source>,
    pub skipped: Vec<Skip>,
}

/// All sources under `paths`, each shown relative to `root`, sorted by that.
pub fn find(root: &Path, paths: &[PathBuf], settings: &Settings) -> Result<Found, Error> {
    let walk = Walk {
        root,
        settings,
        include: globs(&settings.include, "include")?,
        exclude: globs(&settings.exclude, "exclude")?,
    };
    let mut found = Found::default();
    for path in paths {
        let meta = fs::symlink_metadata(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        // A path that was named is read even if it is a link; links below it are not followed.
        let is_dir = if meta.is_symlink() { path.is_dir() } else { meta.is_dir() };
        if is_dir {
            fs::read_dir(path).map_err(|source| Error::Read { path: path.clone(), source })?;
            let ignores = if settings.gitignore { parents(path) } else { Vec::new() };
            walk.folder(path.clone(), ignores, &mut found);
        } else {
            let meta = fs::metadata(path).map_err(|source| Error::Read { path: path.clone(), source })?;
            walk.file(path.clone(), &meta.file_type(), &mut found);
        }
    }
    found.sources.sort_by(|a, b| a.shown.cmp(&b.shown));
    found.sources.dedup_by(|a, b| a.shown == b.shown);
    found.skipped.sort();
    found.skipped.dedup();
    Ok(found)
}

fn globs(patterns: &[String], key: &'static str) -> Result<Option<GlobSet>, Error> {
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

/// The ignore files above a folder, up to the root of its git checkout.
fn parents(folder: &Path) -> Vec<Gitignore> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let mut ignores = Vec::new();
    let Some(top) = folder.ancestors().find(|dir| dir.join(".git").exists()) else { return Vec::new() };
    let exclude = top.join(".git/info/exclude");
    if exclude.is_file() {
        let mut builder = GitignoreBuilder::new(top);
        builder.add(exclude);
        ignores.extend(builder.build().ok());
    }
    if folder != top {
        let mut between: Vec<&Path> = folder.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).collect();
        between.reverse();
        ignores.extend(between.into_iter().filter_map(|dir| ignore_files(dir, true)));
    }
    ignores
}

/// The ignore files that stand in a folder.
///
/// In a git checkout they mean what they mean to git. Elsewhere (an unpacked archive) a line that ignores everything is
/// passed over: it says what a repository tracks, and taken literally it would leave nothing to check.
fn ignore_files(folder: &Path, checkout: bool) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let mut any = false;
    for name in [".gitignore", ".ignore"] {
        let file = folder.join(name);
        let Ok(text) = fs::read_to_string(&file) else { continue };
        any = true;
        for line in text.lines().filter(|line| checkout || !matches!(line.trim(), "*" | "/*" | "**" | "/**")) {
            // A line that is no pattern ignores nothing, as with git.
            let _ = builder.add_line(Some(file.clone()), line);
        }
    }
    if any { builder.build().ok() } else { None }
}

/// Does a folder lie in a git checkout?
fn in_checkout(folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folder.ancestors().any(|dir| dir.join(".git").exists()))
}

struct Walk<'a> {
    root: &'a Path,
    settings: &'a Settings,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

/// A folder still to be read: the ignore files above it are `ignores[..n_ignores]` of the walk's stack.
struct Open {
    path: PathBuf,
    n_ignores: usize,
}

impl Walk<'_> {
    fn folder(&self, path: PathBuf, mut ignores: Vec<Gitignore>, found: &mut Found) {
        let checkout = in_checkout(&path);
        // Depth first, so that the ignore files that hold for a folder are a prefix of one stack.
        let mut open = vec![Open { path, n_ignores: ignores.len() }];
        while let Some(Open { path, n_ignores }) = open.pop() {
            let Ok(entries) = fs::read_dir(&path) else {
                self.skip(&path, SkipReason::Unreadable, found);
                continue;
            };
            ignores.truncate(n_ignores);
            let entries: Vec<fs::DirEntry> = entries.flatten().collect();
            let named = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
            if self.settings.gitignore && (named(".gitignore") || named(".ignore")) {
                ignores.extend(path.canonicalize().ok().and_then(|path| ignore_files(&path, checkout)));
            }
            let absolute = if ignores.is_empty() { None } else { path.canonicalize().ok() };
            for entry in entries {
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                let is_dir = kind.is_dir();
                let name = entry.file_name();
                if let Some(absolute) = &absolute
                    && is_ignored(&ignores, &absolute.join(&name), is_dir)
                {
                    if is_dir || is_source(&path) {
                        self.skip(&path, SkipReason::Ignored, found);
                    }
                } else if is_dir {
                    let hidden = name.as_encoded_bytes().starts_with(b".");
                    let vendored = name.to_str().is_some_and(|name| VENDORED.contains(&name));
                    if vendored && self.settings.skip_vendored {
                        self.skip(&path, SkipReason::Vendored, found);
                    } else if self.exclude.as_ref().is_some_and(|set| set.is_match(self.relative(&path))) {
                        self.skip(&path, SkipReason::Excluded, found);
                    } else if hidden && (self.settings.skip_hidden || is_history(&name)) {
                        if !is_history(&name) {
                            self.skip(&path, SkipReason::Hidden, found);
                        }
                    } else {
                        open.push(Open { path, n_ignores: ignores.len() });
                    }
                } else {
                    self.file(path, &kind, found);
                }
            }
        }
    }

    fn file(&self, path: PathBuf, kind: &fs::FileType, found: &mut Found) {
        if !is_source(&path) && !may_have_shebang(&path) {
            return;
        }
        let relative = self.relative(&path);
        if kind.is_symlink() {
            self.skip(&path, SkipReason::Symlink, found);
        } else if !kind.is_file() {
            self.skip(&path, SkipReason::Special, found);
        } else if self.include.as_ref().is_some_and(|set| !set.is_match(&relative))
            || self.exclude.as_ref().is_some_and(|set| set.is_match(&relative))
        {
            self.skip(&path, SkipReason::Excluded, found);
        } else {
            let shown = show(&relative);
            found.sources.push(Source { path, shown });
        }
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root).map_or_else(|_| path.to_owned(), Path::to_owned)
    }

    fn skip(&self, path: &Path, reason: SkipReason, found: &mut Found) {
        if !is_source(path) && reason != SkipReason::Unreadable && !path.is_dir() {
            return; // not known to be source: nobody misses it
        }
        found.skipped.push(Skip { path: show(&self.relative(path)), reason });
    }
}

/// Folders that version control keeps for itself: nobody wants to hear of them.
fn is_history(name: &OsStr) -> bool {
    [".git", ".hg", ".svn", ".jj"].iter().any(|history| name == *history)
}

fn is_ignored(ignores: &[Gitignore], path: &Path, is_dir: bool) -> bool {
    for ignore in ignores.iter().rev() {
        let matched = ignore.matched(path, is_dir);
        if !matched.is_none() {
            return matched.is_ignore();
        }
    }
    false
}

fn is_source(path: &Path) -> bool {
    dupi_grammars::by_path(path).is_some()
}

/// Files without an extension may be scripts.
fn may_have_shebang(path: &Path) -> bool {
    path.extension().is_none() && !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
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
