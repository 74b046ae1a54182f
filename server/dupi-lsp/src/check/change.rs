//! What a change adds (`--since`, `--staged`): the workspace with it, the workspace before it, and what is new.
//!
//! Both are the same index with other texts over a few files, so only these are read and compared, with the whole
//! workspace; the answers are those of two full runs.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use dupi::index::{Index, Workspace};
use dupi::snapshot::Buffer;
use dupi::{Class, Fragment, Report, SkipReason, files, regular};

use super::baseline::{Counts, counts};
use super::findings::{News, Texts};
use super::lines::{Lines, is_same_text};
use crate::git::{Before, EntryKind, Git, Index as Staged, ObjectId};

/// Classes of which the change has edited some copies and not the others that are named.
const MAX_TOLD: usize = 10;

/// Which change is looked at.
pub enum Wanted {
    /// From where this revision and the current commit part, to the files as they are.
    Since(String),
    /// From the current commit to what is staged.
    Staged,
}

pub struct Change {
    /// What it was compared with, as people say it.
    pub name: String,
    /// Files that are not as the disk has them.
    pub texts: Texts,
    before: Report,
    lines: HashMap<String, Lines>,
    counts: (Counts, Counts),
    /// The lines of all copies before the change, by path.
    copied: HashMap<String, Vec<Range<u32>>>,
}

/// What some files hold in another state than that of the disk; nothing, if they are not there.
type Overlay = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// The workspace with the change, and the change.
pub fn look(index: &mut Index, workspace: &Workspace, wanted: &Wanted) -> Result<(Report, Change)> {
    let git = Git::around(&workspace.root)?;
    // As the disk is: what is found is kept for the next time, whatever is laid over it now.
    let on_disk = index.report(&workspace.settings)?;
    let staged = git.index()?;
    let is_outside = untracked(&git, &staged);
    let outside = on_disk.files.iter().map(|file| file.path.clone()).filter(|path| is_outside(path));
    let is_in = |differing: &Before, path: &Path| differing.keys().any(|other| git.top.join(other).starts_with(path));
    let (name, now, before) = match wanted {
        Wanted::Since(revision) => {
            let base = git.merge_base(revision)?;
            let mut differing = git.unstaged(&staged);
            differing.extend(git.staged(Some(&base))?);
            let is_new = |path: &Path| !path.is_dir() && is_outside(path);
            require_readable(workspace, &on_disk, |path| is_in(&differing, path) || is_new(path))?;
            let mut before = read(&git, workspace, differing)?;
            before.retain(|path, text| !is_on_disk(path, text.as_deref()));
            outside.for_each(|path| {
                before.entry(path).or_default();
            });
            (format!("{revision} ({})", git.short(&base)), Overlay::new(), before)
        }
        Wanted::Staged => {
            let head = git.commit("HEAD").ok();
            let mut now = read(&git, workspace, git.unstaged(&staged))?;
            now.retain(|path, text| !is_on_disk(path, text.as_deref()));
            outside.for_each(|path| drop(now.insert(path, None)));
            let differing = git.staged(head.as_deref())?;
            require_readable(workspace, &on_disk, |path| is_in(&differing, path))?;
            let mut before = now.clone();
            before.extend(read(&git, workspace, differing)?);
            let name = head.map_or("no commit at all".to_owned(), |head| format!("HEAD ({})", git.short(&head)));
            (name, now, before)
        }
    };
    let quarantine = index.quarantine();
    let mut report_over = |overlay: &Overlay| {
        index.set_buffers(overlay.iter().map(|(path, text)| {
            Arc::new(match text {
                Some(text) => workspace.buffer(path, None, text, &quarantine, false),
                None => Buffer::absent(shown(workspace, path)),
            })
        }));
        let report = index.report(&workspace.settings);
        index.set_buffers([]);
        report
    };
    let report = if now.is_empty() { on_disk } else { report_over(&now)? };
    let before_report = report_over(&before)?;
    let lines = compare(workspace, &now, &before)?;
    let texts = now.into_iter().filter_map(|(path, text)| Some((shown(workspace, &path), text?))).collect();
    let mut copied: HashMap<String, Vec<Range<u32>>> = HashMap::new();
    for class in &before_report.classes {
        for (copy, at) in class.copies.iter().zip(&class.at) {
            let path = &before_report.files[copy.document as usize].shown;
            copied.entry(path.clone()).or_default().push(at.clone());
        }
    }
    let counts = (counts(&before_report.classes), counts(&report.classes));
    Ok((report, Change { name, texts: Texts(texts), before: before_report, lines, counts, copied }))
}

fn shown(workspace: &Workspace, path: &Path) -> String {
    files::show(path.strip_prefix(&workspace.root).unwrap_or(path))
}

/// Tells whether git does not track a file, but for those of other repositories within this one.
fn untracked(git: &Git, staged: &Staged) -> impl Fn(&Path) -> bool {
    let modules = staged.entries.iter().filter(|entry| entry.kind == EntryKind::Module);
    let modules: Vec<PathBuf> = modules.map(|module| git.top.join(&module.path)).collect();
    move |path| {
        !staged.has(path.strip_prefix(&git.top).unwrap_or(path))
            && !modules.iter().any(|module| path.starts_with(module))
    }
}

/// Fails if something that the change touches cannot be read: without it the answer would be another one.
fn require_readable(workspace: &Workspace, report: &Report, touches: impl Fn(&Path) -> bool) -> Result<()> {
    let mut unreadable = report.skipped.iter().filter(|skip| skip.reason == SkipReason::Unreadable);
    match unreadable.find(|skip| touches(&workspace.root.join(&skip.path))) {
        Some(skip) => bail!("cannot read {}, which the change touches", skip.path),
        None => Ok(()),
    }
}

/// What some files of the repository held, as far as they are files of the workspace.
fn read(git: &Git, workspace: &Workspace, before: Before) -> Result<Overlay> {
    let Workspace { root, paths, settings } = workspace;
    let held: BTreeMap<PathBuf, Option<ObjectId>> =
        before.into_iter().map(|(path, object)| (git.top.join(path), object)).collect();
    let found = files::would_find_all(root, paths, held.keys().cloned().collect(), settings)?;
    let mut overlay: Overlay = found.iter().map(|path| (path.clone(), None)).collect();
    let stored: Vec<(&PathBuf, &ObjectId)> =
        found.iter().filter_map(|path| Some((path, held[path].as_ref()?))).collect();
    let objects: Vec<ObjectId> = stored.iter().map(|(_, object)| (*object).clone()).collect();
    git.read(&objects, |i, content| drop(overlay.insert(stored[i].0.clone(), Some(content))))
        .context("cannot read what the change is compared with")?;
    Ok(overlay)
}

/// Does a file hold this text, but for line ends? A checkout may have others than what is stored.
fn is_on_disk(path: &Path, text: Option<&[u8]>) -> bool {
    // With other line ends it has at most twice the size.
    text.is_some_and(|text| {
        regular::read(path, 2 * text.len() as u64).is_ok_and(|on_disk| is_same_text(text, &on_disk))
    })
}

/// What became of the lines of each file that is not the same in both states.
fn compare(workspace: &Workspace, now: &Overlay, before: &Overlay) -> Result<HashMap<String, Lines>> {
    let mut lines = HashMap::new();
    for (path, old) in before {
        let new = match now.get(path) {
            Some(new) => new.clone(),
            None => on_disk(path, workspace).with_context(|| format!("cannot read {}", path.display()))?,
        };
        let (old, new) = (old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
        if !is_same_text(old, new) {
            lines.insert(shown(workspace, path), Lines::new(old, new));
        }
    }
    Ok(lines)
}

/// What a file holds now; none, if it is gone, or one that is not looked at.
fn on_disk(path: &Path, workspace: &Workspace) -> io::Result<Option<Vec<u8>>> {
    use ErrorKind::{FileTooLarge, InvalidInput, NotADirectory, NotFound, PermissionDenied};
    match regular::read(path, workspace.settings.max_file_bytes) {
        Ok(text) => Ok(Some(text)),
        // An unreadable one is told by itself.
        Err(error)
            if [NotFound, NotADirectory, FileTooLarge, InvalidInput, PermissionDenied].contains(&error.kind()) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Change {
    fn lines(&self, path: &str) -> Option<&Lines> {
        self.lines.get(path)
    }

    /// Which copies of a class of the report stand on lines that the change touches.
    pub fn touched(&self, report: &Report, class: &Class) -> Vec<bool> {
        let is_touched = |(copy, at): (&Fragment, &Range<u32>)| {
            self.lines(&report.files[copy.document as usize].shown).is_some_and(|lines| lines.touches(at))
        };
        class.copies.iter().zip(&class.at).map(is_touched).collect()
    }

    /// What is new of a class of the report.
    ///
    /// It had as many copies as there were of its id, and as there are copies that lie in what was a copy before: who
    /// edits one of two copies makes two shorter ones of each, and adds none.
    pub fn news(&self, report: &Report, class: &Class) -> Option<News> {
        let count = |counts: &Counts| counts.get(&class.id).copied().unwrap_or(0);
        let (had, has) = (count(&self.counts.0), count(&self.counts.1));
        let before = if has > had { had.max(self.n_known(report, class)) } else { had };
        if has > before {
            Some(if before == 0 { News::New } else { News::More { before } })
        } else {
            self.touched(report, class).contains(&true).then_some(News::Edited { before })
        }
    }

    /// Copies that are, but for less than half of their lines, what stood in a copy before.
    fn n_known(&self, report: &Report, class: &Class) -> usize {
        let is_known = |(copy, at): (&Fragment, &Range<u32>)| {
            let path = &report.files[copy.document as usize].shown;
            let was: Vec<u32> = match self.lines(path) {
                Some(lines) => at.clone().filter_map(|line| lines.was.get(line as usize).copied().flatten()).collect(),
                None => at.clone().collect(),
            };
            let (Some(first), Some(last)) = (was.first(), was.last()) else { return false };
            let copies = self.copied.get(path).map_or(&[][..], Vec::as_slice);
            was.len() * 2 > at.len() && copies.iter().any(|lines| lines.contains(first) && lines.contains(last))
        };
        class.copies.iter().zip(&class.at).filter(|copy| is_known((copy.0, copy.1))).count()
    }

    /// Classes that the change has edited in some places and not in others, as sentences: perhaps the same is due there.
    pub fn left_behind(&self) -> Vec<String> {
        let name = |copy: &Fragment| self.before.files[copy.document as usize].shown.as_str();
        let mut told = Vec::new();
        for class in &self.before.classes {
            let has = self.counts.1.get(&class.id).copied().unwrap_or(0);
            if has >= class.copies.len() {
                continue;
            }
            let (mut edited, mut same) = (Vec::new(), Vec::new());
            for (copy, at) in class.copies.iter().zip(&class.at) {
                let place = format!("{}:{}", name(copy), at.start + 1);
                match self.lines(name(copy)).map(|lines| lines.fate(at)) {
                    None | Some((true, _)) => same.push(place),
                    Some((false, n_kept)) if n_kept * 2 > at.len() => edited.push(place),
                    Some(_) => {}
                }
            }
            if !edited.is_empty() && !same.is_empty() {
                told.push(format!(
                    "{} was edited, and was a copy of {}: is the same due there?",
                    edited.join(", "),
                    same.join(", ")
                ));
            }
            if told.len() == MAX_TOLD {
                break;
            }
        }
        told
    }
}
