//! `--since` against its definition: the difference of two runs over all files, without an index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use imara_diff::{Algorithm, Diff, InternedInput};
use serde_json::Value;

use crate::binary::{run, run_with};
use crate::repository::git;

/// What a history has shown.
#[derive(Default)]
pub struct Compared {
    pub commits: usize,
    /// Commits that added copies, and how many classes were shown in all.
    pub adding: usize,
    pub shown: usize,
    /// How long each `--since` took.
    pub took: Vec<Duration>,
}

/// A copy as people see it: path, first and last line.
type Place = (String, u64, u64);

fn places(class: &Value) -> BTreeSet<Place> {
    let place = |copy: &Value| {
        let number = |key: &str| copy[key].as_u64().expect("a number");
        (copy["path"].as_str().expect("a path").to_owned(), number("startLine"), number("endLine"))
    };
    class["copies"].as_array().expect("a list").iter().map(place).collect()
}

/// The classes of a report by their places, with their ids.
fn classes(report: &Value) -> BTreeMap<BTreeSet<Place>, String> {
    let class = |class: &Value| (places(class), class["id"].as_str().expect("an id").to_owned());
    report["classes"].as_array().expect("a list").iter().map(class).collect()
}

fn copies_by_id(classes: &BTreeMap<BTreeSet<Place>, String>) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for (copies, id) in classes {
        *counts.entry(id.as_str()).or_default() += copies.len();
    }
    counts
}

/// Checks out each commit but the first and compares what `--since` says of it with two full runs.
pub fn compare(folder: &Path, cache: &Path, commits: &[&str], options: &[&str]) -> Compared {
    let full = || run(folder, &[&["--check", "--no-index", "--format", "json"][..], options].concat()).json();
    let mut compared = Compared::default();
    git(folder, &["checkout", "--quiet", "--detach", commits[0]]);
    let mut before = full();
    for commit in &commits[1..] {
        git(folder, &["checkout", "--quiet", "--detach", commit]);
        let now = full();
        // Once for the index to learn what has changed, as an editor or the check before would have.
        let arguments = [&["--check", "--since", "HEAD~1", "--format", "json"][..], options].concat();
        let start = Instant::now();
        let run = run_with(folder, cache, &arguments);
        compared.took.push(start.elapsed());
        if run.code == 2 {
            assert!(run.stderr.contains("nothing scanned"), "{commit}: {}", run.stderr);
            before = now;
            continue;
        }
        let since = run.json();
        let gained = difference(folder, commit, &before, &now, &since);
        assert_eq!(run.code, i32::from(gained > 0), "{commit}: {}{}", run.stdout, run.stderr);
        compared.commits += 1;
        compared.adding += usize::from(gained > 0);
        compared.shown += since["classes"].as_array().map_or(0, Vec::len);
        before = now;
    }
    compared
}

/// Holds what was said of a commit to what the runs before and after it say. Returns how many classes gained copies.
fn difference(folder: &Path, commit: &str, before: &Value, now: &Value, since: &Value) -> usize {
    let (old, new) = (classes(before), classes(now));
    let (had, has) = (copies_by_id(&old), copies_by_id(&new));
    assert_eq!(since["summary"], now["summary"], "{commit}: all that there is now");
    let told: BTreeMap<BTreeSet<Place>, &str> = since["classes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|class| (places(class), class["status"].as_str().expect("a status")))
        .collect();
    let mapped = Mapped::new(folder, commit);
    let mut gained = 0;
    for (copies, id) in &new {
        let n_had = had.get(id.as_str()).copied().unwrap_or(0);
        let n_has = has[id.as_str()];
        let known = copies.iter().filter(|copy| mapped.was_copy(copy, &old)).count();
        let n_before = if n_has > n_had { n_had.max(known) } else { n_had };
        let touched = copies.iter().any(|copy| mapped.touches(copy));
        let status = match () {
            _ if n_has > n_before && n_before == 0 => Some("new"),
            _ if n_has > n_before => Some("more"),
            _ if touched => Some("edited"),
            _ => None,
        };
        assert_eq!(told.get(copies).copied(), status, "{commit}: {id} at {copies:?}");
        gained += usize::from(n_has > n_before);
    }
    for copies in told.keys() {
        assert!(new.contains_key(copies), "{commit}: {copies:?} is nowhere");
    }
    gained
}

/// Which lines of a commit's files are lines of its parent.
struct Mapped {
    /// By path as it is now: for each line what it was, and the lines before which something was taken away.
    files: BTreeMap<String, (Vec<Option<u64>>, BTreeSet<u64>)>,
}

impl Mapped {
    fn new(folder: &Path, commit: &str) -> Mapped {
        let parent = format!("{commit}~1");
        let names = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=AM", &parent, commit];
        let names = git(folder, &names);
        let mut files = BTreeMap::new();
        for path in names.split('\0').filter(|path| !path.is_empty()) {
            let content = |commit: &str| {
                let show =
                    Command::new("git").arg("-C").arg(folder).args(["show", &format!("{commit}:{path}")]).output();
                show.expect("git runs").stdout
            };
            // Where lines repeat themselves there is more than one way to compare; this is the one of the check.
            let (before, now) = (content(&parent), content(commit));
            let input = InternedInput::new(&before[..], &now[..]);
            let mut diff = Diff::compute(Algorithm::Histogram, &input);
            diff.postprocess_no_heuristic(&input);
            let mut was = Vec::new();
            let mut cut = BTreeSet::new();
            let mut next = 0;
            for hunk in diff.hunks() {
                while (was.len() as u32) < hunk.after.start {
                    was.push(Some(next));
                    next += 1;
                }
                was.extend(hunk.after.clone().map(|_| None));
                next = u64::from(hunk.before.end);
                if !hunk.before.is_empty() {
                    cut.insert(u64::from(hunk.after.start));
                }
            }
            while was.len() < input.after.len() {
                was.push(Some(next));
                next += 1;
            }
            files.insert(path.to_owned(), (was, cut));
        }
        Mapped { files }
    }

    /// The parent's line, if it is one; lines from 1.
    fn was(&self, path: &str, line: u64) -> Option<u64> {
        match self.files.get(path) {
            None => Some(line),
            Some((was, _)) => was.get(line as usize - 1).copied().flatten().map(|line| line + 1),
        }
    }

    fn touches(&self, (path, first, last): &Place) -> bool {
        let added = (*first..=*last).any(|line| self.was(path, line).is_none());
        // Something was taken away between two of its lines.
        let cut = self.files.get(path).is_some_and(|(_, cut)| cut.iter().any(|line| (*first..*last).contains(line)));
        added || cut
    }

    /// Do all lines of a copy that were there, and these are more than half, lie in one copy of the parent?
    fn was_copy(&self, (path, first, last): &Place, old: &BTreeMap<BTreeSet<Place>, String>) -> bool {
        let was: Vec<u64> = (*first..=*last).filter_map(|line| self.was(path, line)).collect();
        let (Some(from), Some(to)) = (was.first(), was.last()) else { return false };
        was.len() as u64 * 2 > last - first + 1
            && old.keys().flatten().any(|(other, start, end)| other == path && start <= from && to <= end)
    }
}
