//! The git program, asked only for what it has stored. Knows nothing of copies.
//!
//! A repository that somebody else wrote may name programs in its configuration: monitors, hooks, filters, helpers that
//! fetch. None of them is run: only commands are used that read objects and the index, and all that could start a
//! program is switched off for each of them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

/// What is switched off, as settings that win over those of the repository.
const OFF: [(&str, &str); 6] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.untrackedCache", "false"),
    ("blame.ignoreRevsFile", ""),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
];

/// No tracked source is larger; what is, is no source.
const MAX_BLOB: u64 = 1 << 30;

/// The name of an object, as git writes it.
pub type ObjectId = String;

pub struct Git {
    /// The folder that holds the checkout.
    pub top: PathBuf,
    /// Settings that win: what is switched off, and all filters that the configuration names.
    settings: Vec<(String, String)>,
}

/// A file that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Relative to the top of the checkout.
    pub path: PathBuf,
    /// What it was; nothing, if it was not there or no regular file.
    pub before: Option<ObjectId>,
    /// What it is; nothing, if it is not there or no regular file. What is only in the work tree has no name yet.
    pub after: Option<After>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    Stored(ObjectId),
    InWorkTree,
}

/// What a line goes back to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    pub time: i64,
    pub author: String,
    pub summary: String,
}

/// The commit of each line from one on, and what is known of these commits. Lines that are not committed have none.
#[derive(Debug, Default)]
pub struct Blame {
    pub lines: BTreeMap<u32, ObjectId>,
    pub commits: BTreeMap<ObjectId, Commit>,
}

impl Git {
    /// The repository around a folder.
    pub fn around(folder: &Path) -> Result<Git> {
        let mut git =
            Git { top: folder.to_owned(), settings: OFF.map(|(key, value)| (key.to_owned(), value.to_owned())).into() };
        let top = git
            .line(&["rev-parse", "--show-toplevel"])
            .with_context(|| format!("{} is in no git repository that can be read", folder.display()))?;
        git.top = Path::new(&top).canonicalize().with_context(|| format!("cannot read {top}"))?;
        if !folder.starts_with(&git.top) {
            bail!("the git repository of {} is a checkout of another folder, {top}", folder.display());
        }
        // A filter is a program that may be run whenever content is compared. Its name is anybody's choice.
        let named = git.output(&["config", "--null", "--name-only", "--get-regexp", r"^filter\."]).unwrap_or_default();
        for key in named.split(|&b| b == 0).filter_map(|key| std::str::from_utf8(key).ok()) {
            let off = if key.ends_with(".required") { "false" } else { "" };
            if !key.is_empty() {
                git.settings.push((key.to_owned(), off.to_owned()));
            }
        }
        Ok(git)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("--no-pager").arg("--no-optional-locks").arg("--literal-pathspecs").arg("-C").arg(&self.top);
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A hook is run with variables that would lead to another repository, but for the index: that may be one that
        // holds only what is being committed.
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS"] {
            command.env_remove(variable);
        }
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (i, (key, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{i}"), key).env(format!("GIT_CONFIG_VALUE_{i}"), value);
        }
        // What is not here is not fetched, and nobody is asked for a password.
        command.env("GIT_ALLOW_PROTOCOL", "").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("LC_ALL", "C");
        command
    }

    fn output(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = self.command(arguments).output().map_err(not_started)?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let told = told.trim().trim_start_matches("fatal: ");
            bail!("git {}: {}", arguments[0], if told.is_empty() { "no answer" } else { told });
        }
        Ok(output.stdout)
    }

    fn line(&self, arguments: &[&str]) -> Result<String> {
        let output = String::from_utf8(self.output(arguments)?).context("git answers with what is no UTF-8")?;
        Ok(output.lines().next().unwrap_or_default().to_owned())
    }

    /// The commit that a revision names.
    pub fn commit(&self, revision: &str) -> Result<ObjectId> {
        let name = format!("{revision}^{{commit}}");
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).map_err(|_| {
            let hint = if self.is_shallow() { self.deepen() } else { String::new() };
            anyhow!("git knows no commit `{revision}`{hint}")
        })
    }

    /// The last commit that a revision and the current one have in common.
    pub fn merge_base(&self, revision: &str) -> Result<ObjectId> {
        let (base, head) = (self.commit(revision)?, self.commit("HEAD")?);
        self.line(&["merge-base", &base, &head]).map_err(|_| {
            let hint = if self.is_shallow() { self.deepen() } else { String::new() };
            anyhow!("`{revision}` and HEAD have no commit in common{hint}")
        })
    }

    fn is_shallow(&self) -> bool {
        self.line(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|answer| answer == "true")
    }

    fn deepen(&self) -> String {
        "; this is a shallow clone: fetch its history (git fetch --unshallow; in CI, fetch-depth: 0 or GIT_DEPTH: 0)"
            .to_owned()
    }

    /// As much of a commit's name as is needed to tell it.
    pub fn short(&self, commit: &str) -> String {
        self.line(&["rev-parse", "--short", commit]).unwrap_or_else(|_| commit.to_owned())
    }

    /// What differs between a commit and the work tree, as far as git tracks it.
    pub fn changed_in_work_tree(&self, commit: &str) -> Result<Vec<Difference>> {
        self.differences(&[
            "diff-index",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--ignore-submodules=all",
            commit,
            "--",
        ])
    }

    /// What differs between a commit, or nothing at all, and what is staged.
    pub fn staged(&self, commit: Option<&str>) -> Result<Vec<Difference>> {
        let empty = self.line(&["hash-object", "-t", "tree", "--stdin"])?;
        let commit = commit.unwrap_or(&empty);
        self.differences(&[
            "diff-index",
            "--cached",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--ignore-submodules=all",
            commit,
            "--",
        ])
    }

    /// What differs between what is staged and the work tree.
    pub fn unstaged(&self) -> Result<Vec<Difference>> {
        self.differences(&["diff-files", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=all", "--"])
    }

    fn differences(&self, arguments: &[&str]) -> Result<Vec<Difference>> {
        parse_raw(&self.output(arguments)?).ok_or_else(|| anyhow!("git {} answers in another way", arguments[0]))
    }

    /// The files that git tracks, sorted, and the folders that are other repositories.
    pub fn tracked(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        let output = self.output(&["ls-files", "-s", "-z"])?;
        let (mut files, mut modules) = (Vec::new(), Vec::new());
        for entry in output.split(|&b| b == 0).filter(|entry| !entry.is_empty()) {
            let tab = entry.iter().position(|&b| b == b'\t').context("git ls-files answers in another way")?;
            let is_module = entry.starts_with(b"160000 ");
            (if is_module { &mut modules } else { &mut files }).push(path(&entry[tab + 1..]));
        }
        files.sort();
        Ok((files, modules))
    }

    /// Calls `each` with the content of each of these objects, in their order.
    pub fn read(&self, objects: &[ObjectId], mut each: impl FnMut(usize, Vec<u8>)) -> Result<()> {
        if objects.is_empty() {
            return Ok(());
        }
        let mut command = self.command(&["cat-file", "--batch"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(not_started)?;
        let mut input = child.stdin.take().context("git takes no input")?;
        let mut output = BufReader::new(child.stdout.take().context("git gives no output")?);
        let read = std::thread::scope(|scope| {
            // From a thread of its own: git answers before it has read all that is asked.
            scope.spawn(move || objects.iter().try_for_each(|object| writeln!(input, "{object}")));
            let mut head = String::new();
            for (i, object) in objects.iter().enumerate() {
                head.clear();
                output.read_line(&mut head)?;
                let size = head.strip_prefix(object.as_str()).and_then(|rest| rest.strip_prefix(" blob "));
                let size: u64 = size
                    .and_then(|size| size.trim().parse().ok())
                    .filter(|&size| size <= MAX_BLOB)
                    .with_context(|| {
                        format!("git has no content for {object}: the clone lacks it (in CI, fetch without a filter)")
                    })?;
                let mut content = vec![0; size as usize];
                output.read_exact(&mut content)?;
                output.read_exact(&mut [0])?;
                each(i, content);
            }
            Ok(())
        });
        drop(output);
        if read.is_err() {
            let _ = child.kill();
        }
        child.wait()?;
        read
    }

    /// Which commit each of these lines (from 1, both ends inclusive) of a file goes back to, where `content` is what it
    /// holds now.
    pub fn blame(&self, file: &Path, content: &[u8], lines: &[(u32, u32)]) -> Result<Blame> {
        let ranges: Vec<String> = lines.iter().map(|(first, last)| format!("-L{first},{last}")).collect();
        let mut command = self.command(&["blame", "--porcelain", "--contents", "-"]);
        command.args(&ranges).arg("--").arg(file);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(not_started)?;
        let mut input = child.stdin.take().context("git takes no input")?;
        let output = std::thread::scope(|scope| {
            scope.spawn(move || input.write_all(content));
            child.wait_with_output()
        })?;
        if !output.status.success() {
            bail!("git blame does not know {}", file.display());
        }
        Ok(parse_blame(&output.stdout))
    }
}

fn not_started(error: std::io::Error) -> anyhow::Error {
    anyhow!("cannot run git: {error}; install it, or check without --since, --staged and --blame")
}

/// A path as git writes it.
fn path(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
    }
    #[cfg(not(unix))]
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// `:mode mode id id status NUL path NUL`, again and again. Only regular files count.
fn parse_raw(output: &[u8]) -> Option<Vec<Difference>> {
    let is_file = |mode: &str| mode.starts_with("100");
    let mut fields = output.split(|&b| b == 0);
    let mut differences = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = std::str::from_utf8(head).ok()?.strip_prefix(':')?;
        let mut words = head.split(' ');
        let (old_mode, mode, old, new) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let path = path(fields.next()?);
        let is_null = |id: &str| id.bytes().all(|b| b == b'0');
        let before = (is_file(old_mode) && !is_null(old)).then(|| old.to_owned());
        let after = is_file(mode).then(|| if is_null(new) { After::InWorkTree } else { After::Stored(new.to_owned()) });
        if before.is_some() || after.is_some() {
            differences.push(Difference { path, before, after });
        }
    }
    Some(differences)
}

fn parse_blame(output: &[u8]) -> Blame {
    let mut blame = Blame::default();
    let mut current: Option<ObjectId> = None;
    for line in String::from_utf8_lossy(output).lines() {
        if line.starts_with('\t') {
            current = None;
        } else if let Some(commit) = &current {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            let known = blame.commits.entry(commit.clone()).or_default();
            match key {
                "author" => known.author = value.to_owned(),
                "author-time" => known.time = value.parse().unwrap_or_default(),
                "summary" => known.summary = value.to_owned(),
                _ => {}
            }
        } else {
            // "id line-before line-now [lines]"
            let mut words = line.split(' ');
            let (id, now) = (words.next().unwrap_or_default(), words.nth(1).and_then(|now| now.parse().ok()));
            if let Some(now) = now.filter(|_| !id.bytes().all(|b| b == b'0')) {
                blame.lines.insert(now, id.to_owned());
            }
            current = Some(id.to_owned());
        }
    }
    blame
}
