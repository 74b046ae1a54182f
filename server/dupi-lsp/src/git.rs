//! The git program, asked only for what it has stored: objects, references and the index. Knows nothing of copies.
//!
//! A repository that somebody else wrote may name programs in its configuration, under any name: filters, text
//! conversions, external diffs, monitors, hooks, helpers that fetch. None of them is run, because of how git is called:
//!
//! - as if the repository was bare. Without a work tree there is no file that git could filter, convert or monitor;
//!   files of the work tree are compared with the index here, by their stamps ([`Entry`]) and then by their content;
//! - by commands that read only, so no hook has an occasion;
//! - with every transport forbidden and no `GIT_*` variable but those of [`KEPT`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use rayon::prelude::*;

/// Settings that win over those of the repository: what reading needs none of, be it switched on.
const SETTINGS: [(&str, &str); 4] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("blame.ignoreRevsFile", ""),
    ("safe.bareRepository", "explicit"),
];

/// Variables that git still gets: where its objects, its own programs and the user's configuration are. A hook is run
/// with others that would lead to another repository, and others again name programs.
const KEPT: [&str; 9] = [
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_NO_REPLACE_OBJECTS",
];

/// No tracked source is larger; what is, is no source.
const MAX_BLOB: u64 = 1 << 30;

/// The name of an object, as git writes it.
pub type ObjectId = String;

pub struct Git {
    /// The folder that holds the checkout.
    pub top: PathBuf,
    /// The repository itself, usually `.git` in that folder.
    folder: PathBuf,
    index: PathBuf,
}

/// What some files were, by their paths relative to the top of the checkout; nothing, if they were not there or no
/// regular files.
pub type Before = BTreeMap<PathBuf, Option<ObjectId>>;

/// What is staged, with what tells whether the work tree still has it.
pub struct Index {
    /// Sorted by path. A path with conflicts is there once for each side, this side last.
    pub entries: Vec<Entry>,
    /// When it was written. A file that was changed at that time or later may have changed unnoticed.
    written: Option<Time>,
}

impl Index {
    /// Is there something at this path, relative to the top of the checkout?
    pub fn has(&self, path: &Path) -> bool {
        self.entries.binary_search_by(|entry| entry.path.as_path().cmp(path)).is_ok()
    }
}

/// A path that git tracks.
#[derive(Debug)]
pub struct Entry {
    /// Relative to the top of the checkout.
    pub path: PathBuf,
    pub kind: EntryKind,
    object: ObjectId,
    /// A sparse checkout leaves it out of the work tree.
    is_left_out: bool,
    /// None, if it has conflicts, or if git does not tell.
    stamp: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Link,
    /// Another repository.
    Module,
}

/// Seconds and nanoseconds since 1970, as git cuts them.
type Time = (u32, u32);

/// What the file system said of a file when it was staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    mtime: Time,
    ctime: Time,
    inode: u32,
    size: u32,
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
        // With git's own search, since that refuses repositories of other users.
        let ask = |what: &str| -> Result<PathBuf> {
            let mut command = command(folder);
            let answer = output(command.args(["rev-parse", what]))?;
            Ok(path(answer.strip_suffix(b"\n").unwrap_or(&answer)))
        };
        let outside = || format!("{} is in no git repository that can be read", folder.display());
        let top = ask("--show-toplevel").with_context(outside)?;
        let top = top.canonicalize().with_context(|| format!("cannot read {}", top.display()))?;
        if !folder.starts_with(&top) {
            bail!("the git repository of {} is a checkout of another folder, {}", folder.display(), top.display());
        }
        let git = ask("--absolute-git-dir").with_context(outside)?;
        // A hook may be run with an index that holds only what is being committed.
        let index = std::env::var_os("GIT_INDEX_FILE").map_or_else(|| git.join("index"), |index| top.join(index));
        Ok(Git { top, folder: git, index })
    }

    /// Without a work tree; see above.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.folder);
        command.env("GIT_INDEX_FILE", &self.index).arg("--bare").args(arguments);
        command
    }

    fn output(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        output(&mut self.command(arguments))
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

    /// What those files were in a commit, or in nothing at all, that are not what is staged.
    pub fn staged(&self, commit: Option<&str>) -> Result<Before> {
        let empty = self.line(&["hash-object", "-t", "tree", "--stdin"])?;
        let commit = commit.unwrap_or(&empty);
        let arguments = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", commit, "--"];
        parse_raw(&self.output(&arguments)?).context("git diff-index answers in another way")
    }

    /// What is staged.
    pub fn index(&self) -> Result<Index> {
        // Before it is read: an index that is written meanwhile has newer stamps, and more files count as changed.
        let written = self.index.metadata().and_then(|meta| meta.modified()).ok().map(seconds);
        let entries = parse_index(&self.output(&["ls-files", "-s", "-t", "-z", "--debug"])?)
            .context("git ls-files answers in another way")?;
        Ok(Index { entries, written })
    }

    /// What those files are in the index that the work tree may have otherwise, by their stamps. Some have the same
    /// content all the same.
    pub fn unstaged(&self, index: &Index) -> Before {
        let may_differ = |entry: &&Entry| match self.top.join(&entry.path).symlink_metadata() {
            Ok(meta) => match entry.kind {
                EntryKind::File => {
                    !(meta.is_file() && entry.stamp.is_some_and(|stamp| stamp.tells(&meta, index.written)))
                }
                EntryKind::Link => meta.is_file(),
                EntryKind::Module => false,
            },
            Err(_) => entry.kind == EntryKind::File && !entry.is_left_out,
        };
        let differing = index.entries.par_iter().filter(may_differ);
        let before = |entry: &Entry| (entry.kind == EntryKind::File).then(|| entry.object.clone());
        differing.map(|entry| (entry.path.clone(), before(entry))).collect()
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

    /// The content of a file in the current commit.
    pub fn committed(&self, file: &Path) -> Result<Vec<u8>> {
        let mut name = OsString::from("HEAD:");
        name.push(written(file));
        output(self.command(&["cat-file", "blob"]).arg(name))
    }

    /// Which commit each of these lines (from 1, both ends inclusive) of a file goes back to, as the current commit has
    /// it.
    pub fn blame(&self, file: &Path, lines: &[(u32, u32)]) -> Result<Blame> {
        let ranges = lines.iter().map(|(first, last)| format!("-L{first},{last}"));
        let mut command = self.command(&["blame", "--porcelain", "--no-textconv"]);
        Ok(parse_blame(&output(command.args(ranges).args(["HEAD", "--"]).arg(written(file)))?))
    }
}

/// Git in a folder.
fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("GIT_") && !KEPT.contains(&&*name) {
            command.env_remove(variable);
        }
    }
    command.env("GIT_CONFIG_COUNT", SETTINGS.len().to_string());
    for (i, (key, value)) in SETTINGS.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{i}"), key).env(format!("GIT_CONFIG_VALUE_{i}"), value);
    }
    // What is not here is not fetched, and nobody is asked for a password.
    command.env("GIT_ALLOW_PROTOCOL", "").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
    command.env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.args(["--no-pager", "--no-optional-locks", "--literal-pathspecs", "-C"]).arg(folder);
    command
}

/// "git version 2.43.0".
pub fn version() -> Result<String> {
    let output = output(command(Path::new(".")).arg("--version"))?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().map_err(not_started)?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let told = told.trim().trim_start_matches("fatal: ");
        bail!("git: {}", if told.is_empty() { "no answer" } else { told });
    }
    Ok(output.stdout)
}

fn not_started(error: std::io::Error) -> anyhow::Error {
    anyhow!("cannot run git: {error}; install it, or check without --since, --staged and --blame")
}

fn seconds(time: SystemTime) -> Time {
    // A time before 1970 is none that git has written: then the content is looked at.
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    (since.as_secs() as u32, since.subsec_nanos())
}

impl Stamp {
    /// Is a file certainly what was staged? Any doubt costs only a look at its content.
    fn tells(&self, meta: &Metadata, written: Option<Time>) -> bool {
        // Where no part of a second was kept, none is compared.
        let same = |kept: Time, is: Time| kept.0 == is.0 && (kept.1 == 0 || kept.1 == is.1);
        let before = |kept: Time, other: Time| kept.0 < other.0 || kept.1 != 0 && kept < other;
        self.size == meta.len() as u32
            && meta.modified().is_ok_and(|mtime| same(self.mtime, seconds(mtime)))
            && written.is_some_and(|written| before(self.mtime, written))
            && self.is_of_same_file(meta)
    }

    #[cfg(unix)]
    fn is_of_same_file(&self, meta: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        let ctime = (meta.ctime() as u32, meta.ctime_nsec() as u32);
        self.inode == meta.ino() as u32 && self.ctime.0 == ctime.0 && (self.ctime.1 == 0 || self.ctime.1 == ctime.1)
    }

    #[cfg(not(unix))]
    fn is_of_same_file(&self, _: &Metadata) -> bool {
        true
    }
}

/// A path as git reads it.
fn written(path: &Path) -> OsString {
    if cfg!(windows) { path.to_string_lossy().replace('\\', "/").into() } else { path.as_os_str().to_owned() }
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

/// `:mode mode id id status NUL path NUL`, again and again.
fn parse_raw(output: &[u8]) -> Option<Before> {
    let mut fields = output.split(|&b| b == 0);
    let mut before = Before::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let mut words = std::str::from_utf8(head).ok()?.strip_prefix(':')?.split(' ');
        let (mode, _, object) = (words.next()?, words.next()?, words.next()?);
        let is_file = EntryKind::of(mode) == EntryKind::File && object.bytes().any(|b| b != b'0');
        before.insert(path(fields.next()?), is_file.then(|| object.to_owned()));
    }
    Some(before)
}

impl EntryKind {
    fn of(mode: &str) -> EntryKind {
        match mode {
            "160000" => EntryKind::Module,
            _ if mode.starts_with("100") => EntryKind::File,
            _ => EntryKind::Link,
        }
    }
}

/// The stage of a conflict that holds this side.
const OURS: &str = "2";

/// `tag mode id stage TAB path NUL`, and lines that start with two blanks, again and again.
fn parse_index(output: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        let end = memchr::memchr(0, rest)?;
        let tab = memchr::memchr(b'\t', &rest[..end])?;
        let mut words = std::str::from_utf8(&rest[..tab]).ok()?.split(' ');
        let (tag, mode, object, stage) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let path = path(&rest[tab + 1..end]);
        rest = &rest[end + 1..];
        let mut stamp = BTreeMap::new();
        while rest.starts_with(b"  ") {
            let end = memchr::memchr(b'\n', rest)?;
            parse_stamp_line(&rest[..end], &mut stamp);
            rest = &rest[end + 1..];
        }
        let entry = Entry {
            path,
            kind: EntryKind::of(mode),
            object: object.to_owned(),
            is_left_out: tag == "S",
            stamp: Stamp::new(&stamp).filter(|_| stage == "0"),
        };
        entries.push((entry, stage == OURS));
    }
    entries.sort_by(|(a, a_is_ours), (b, b_is_ours)| (&a.path, a_is_ours).cmp(&(&b.path, b_is_ours)));
    Some(entries.into_iter().map(|(entry, _)| entry).collect())
}

/// `  key: value TAB key: value`.
fn parse_stamp_line<'a>(line: &'a [u8], into: &mut BTreeMap<&'a str, &'a str>) {
    // A line without fields is no stamp, so that the content is looked at.
    let Ok(line) = std::str::from_utf8(line) else { return };
    into.extend(line.split('\t').filter_map(|field| field.trim_ascii().split_once(": ")));
}

impl Stamp {
    /// None, if git writes it in another way than until now: it does not promise to.
    fn new(fields: &BTreeMap<&str, &str>) -> Option<Stamp> {
        let number = |text: &str| text.parse::<i64>().ok().map(|n| n as u32);
        let field = |key: &str| fields.get(key).copied();
        let time = |key: &str| {
            let (seconds, nanoseconds) = field(key)?.split_once(':')?;
            Some((number(seconds)?, number(nanoseconds)?))
        };
        Some(Stamp {
            mtime: time("mtime")?,
            ctime: time("ctime")?,
            inode: number(field("ino")?)?,
            size: number(field("size")?)?,
        })
    }
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
                // Of a commit with a time that is no number nothing else is believed either: see `Brought::of`.
                "author-time" => known.time = value.parse().unwrap_or(i64::MAX),
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
