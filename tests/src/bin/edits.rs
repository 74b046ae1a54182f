//! Measures what an editor waits for: one-line edits of real files, each answered by the index of their folder.
//!
//! `cargo run --release -p dupi-tests --bin edits -- FOLDER --index-dir DIR [--edits N] [--seed N] [--threads N]
//! [--memory MIB] [--verify K] [--stats]` prints JSON; times are in microseconds, sizes in bytes.
//!
//! The index is made or brought up to date first; for the memory of a server that only opens one, run it twice
//! (`filesRead` is 0 then). `--stats` stops there and tells what the index holds.
//! With `--verify K` the answers to K of the edits are compared with searches from scratch over a copy of the folder,
//! and the exit code is 1 if one differs: for small folders.
//!
//! Each edit is of another document, spread evenly over all of them in the order of their paths. The document is opened
//! as a buffer as it is on disk, and its classes are asked for, as an editor does: `open`. Nobody has asked for them
//! before, so nothing of it is remembered. Then the clock runs from before the edited text is set to when its classes are
//! in hand.
//! Before the first, `WARM_UP` edits of other documents are not counted: they start the threads and fill what these keep.
#![allow(clippy::print_stdout, reason = "a command line")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dupi::index::{Index, MEMORY, Stats, Workspace};
use dupi::search::with_threads;
use dupi::store::Folder;
use dupi::{File, Settings, place};
use dupi_tests::answers::{named, touching};
use serde_json::{Value, json};

const USAGE: &str = "usage: edits FOLDER --index-dir DIR [--edits N] [--seed N] [--threads N] [--memory MIB] \
                     [--verify K] [--stats]";

const EDITS: usize = 1_000;
const WARM_UP: usize = 20;
/// How many of the slowest edits are named.
const SLOWEST: usize = 10;
/// What is put into a file that has no line of code.
const STATEMENT: &[u8] = b"x = f(y);\n";

struct Arguments {
    folder: PathBuf,
    index_dir: PathBuf,
    edits: usize,
    seed: u64,
    threads: usize,
    memory: u64,
    verify: usize,
    stats: bool,
}

fn arguments() -> Result<Arguments> {
    let (mut folder, mut index_dir) = (None, None);
    let (mut edits, mut seed, mut threads, mut memory, mut verify, mut stats) = (EDITS, 47, 0, MEMORY, 0, false);
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || -> Result<u64> {
            let value = args.next().context(USAGE)?;
            value.to_str().and_then(|value| value.parse().ok()).with_context(|| format!("{value:?} is no number"))
        };
        match arg.to_str() {
            Some("--edits") => edits = number()? as usize,
            Some("--seed") => seed = number()?,
            Some("--threads") => threads = number()? as usize,
            Some("--memory") => memory = number()? << 20,
            Some("--verify") => verify = number()? as usize,
            Some("--stats") => stats = true,
            Some("--index-dir") => index_dir = args.next().map(PathBuf::from),
            _ if folder.is_none() => folder = Some(PathBuf::from(arg)),
            _ => bail!(USAGE),
        }
    }
    let (folder, index_dir) = folder.zip(index_dir).context(USAGE)?;
    Ok(Arguments { folder, index_dir, edits, seed, threads, memory, verify, stats })
}

fn main() -> Result<ExitCode> {
    let arguments = arguments()?;
    let root = arguments.folder.canonicalize().with_context(|| arguments.folder.display().to_string())?;
    let settings = Settings { threads: arguments.threads, ..Settings::default() };
    with_threads(&settings, &root, || run(&arguments, &root, &settings))?
}

fn run(arguments: &Arguments, root: &Path, settings: &Settings) -> Result<ExitCode> {
    let workspace = Workspace { root: root.to_owned(), paths: vec![root.to_owned()], settings: settings.clone() };
    let folder = place::index_folder(&arguments.index_dir, root, workspace.profile());
    let store = Arc::new(Folder::create(&folder)?);
    let start = Instant::now();
    let mut index = Index::open(store, workspace, arguments.memory);
    let (open, open_memory) = (start.elapsed(), anonymous_memory()?);
    let start = Instant::now();
    let changes = index.refresh(&|_| {})?;
    let refresh = start.elapsed();
    let n_read = changes.added + changes.changed + changes.touched;
    let troubles = index.troubles();
    if !troubles.is_empty() {
        bail!("{}", troubles.join("; "));
    }
    let mut told = json!({
        "index": stats(&index.stats(), &folder)?,
        "filesRead": n_read,
        "openMicroseconds": micros(open),
        "refreshMicroseconds": micros(refresh),
        "anonymousAfterOpening": open_memory,
        "anonymousAfterRefresh": anonymous_memory()?,
    });
    if !arguments.stats {
        let measured = edits(arguments, &mut index, root, settings)?;
        told["edits"] = measured.told;
        println!("{told:#}");
        for difference in &measured.differences {
            println!("{difference}");
        }
        return Ok(if measured.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    println!("{told:#}");
    Ok(ExitCode::SUCCESS)
}

/// What the index holds. All that lies in its folder counts, whatever the index itself says of its parts.
fn stats(stats: &Stats, folder: &Path) -> Result<Value> {
    let mut on_disk = 0;
    for entry in folder.read_dir()? {
        on_disk += entry?.metadata()?.len();
    }
    let parts: BTreeMap<&str, u64> = [
        ("streams", stats.sizes.streams),
        ("dictionary", stats.sizes.dictionary),
        ("posts", stats.sizes.posts),
        ("table", stats.sizes.table),
        ("answers", stats.answers),
        ("other", on_disk.saturating_sub(stats.bytes())),
    ]
    .into();
    Ok(json!({
        "documents": stats.documents,
        "skipped": stats.skipped,
        "deleted": stats.deleted,
        "tokens": stats.tokens,
        "posts": stats.posts,
        "segments": stats.segments,
        "sourceBytes": stats.source,
        "bytes": on_disk,
        "parts": parts,
    }))
}

/// Bytes of memory that are of no file: what the process costs a machine whose page cache can always be given back.
fn anonymous_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory can only be measured on Linux")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// One measured edit.
struct Taken {
    /// From the text of the file to its classes, before it is edited.
    open: Duration,
    set: Duration,
    find: Duration,
    /// None if the edited text is no document: its zones or its size may say so.
    n_classes: Option<usize>,
}

impl Taken {
    fn total(&self) -> Duration {
        self.set + self.find
    }
}

struct Measured {
    told: Value,
    differences: Vec<String>,
}

fn edits(arguments: &Arguments, index: &mut Index, root: &Path, settings: &Settings) -> Result<Measured> {
    let files = index.snapshot().documents(root).0;
    if files.is_empty() {
        bail!("no document under {}", root.display());
    }
    // As a server does before it says that it is idle.
    index.bring_near(settings, &|| false)?;
    index.prepare_for_edits(&|| false);
    let mut random = Random(arguments.seed);
    let mut other = STATEMENT.to_vec();
    let spread = |n: usize, of: usize| (0..of).map(move |i| i * n / of);
    for i in spread(files.len(), WARM_UP.min(files.len())) {
        edit(index, &files[i], Kind::Insert, &mut other, &mut random, settings, |_, _| Ok(()))?;
    }
    let before = anonymous_memory()?;
    let n_edits = arguments.edits.min(files.len());
    let n_verified = arguments.verify.min(n_edits);
    let verified: Vec<usize> = spread(n_edits, n_verified).collect();
    let copy = if verified.is_empty() { None } else { Some(Copied::new(&files)?) };
    let mut peak = before;
    let mut differences = Vec::new();
    let mut all: Vec<(&File, Kind, Taken)> = Vec::with_capacity(n_edits);
    for (n, i) in spread(files.len(), n_edits).enumerate() {
        let kind = Kind::ALL[n % Kind::ALL.len()];
        let file = &files[i];
        let taken = edit(index, file, kind, &mut other, &mut random, settings, |text, found| {
            peak = peak.max(anonymous_memory()?);
            if let Some(copy) = copy.as_ref().filter(|_| verified.contains(&n)) {
                let (shown, expected) = (&file.shown, copy.search(&file.shown, text, settings)?);
                let found = found.unwrap_or_default();
                if found != expected {
                    differences
                        .push(format!("{kind:?} in {shown}:\nfrom the index {found:#?}\nfrom scratch {expected:#?}"));
                }
            }
            Ok(())
        })?;
        all.push((file, kind, taken));
    }
    all.sort_by_key(|(_, _, taken)| std::cmp::Reverse(taken.total()));
    let slowest: Vec<Value> = all.iter().take(SLOWEST).map(|(file, kind, taken)| one(file, *kind, taken)).collect();
    let column = |of: fn(&Taken) -> Duration| percentiles(all.iter().map(|(_, _, taken)| micros(of(taken))).collect());
    let told = json!({
        "count": all.len(),
        "seed": arguments.seed,
        "warmUp": WARM_UP,
        "total": column(Taken::total),
        "setBuffer": column(|taken| taken.set),
        "clonesOf": column(|taken| taken.find),
        "open": column(|taken| taken.open),
        "withClasses": all.iter().filter(|(_, _, taken)| taken.n_classes.is_some_and(|n| n > 0)).count(),
        "noDocument": all.iter().filter(|(_, _, taken)| taken.n_classes.is_none()).count(),
        "anonymousBefore": before,
        "anonymousPeak": peak,
        "verified": n_verified,
        "different": differences.len(),
        "slowest": slowest,
    });
    Ok(Measured { told, differences })
}

fn one(file: &File, kind: Kind, taken: &Taken) -> Value {
    json!({
        "path": file.shown,
        "edit": format!("{kind:?}").to_lowercase(),
        "tokens": file.n_tokens,
        "classes": taken.n_classes,
        "total": micros(taken.total()),
        "setBuffer": micros(taken.set),
        "clonesOf": micros(taken.find),
        "open": micros(taken.open),
    })
}

/// By nearest rank: each is a time that was measured.
fn percentiles(mut times: Vec<u64>) -> Value {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    json!({ "p50": at(50), "p90": at(90), "p99": at(99), "max": at(100) })
}

/// Opens a file as a buffer and edits a line of it, asking for its classes each time. `look` is called with the text and
/// what was found while the buffer is still open, outside the measured time.
fn edit(
    index: &mut Index,
    file: &File,
    kind: Kind,
    other: &mut Vec<u8>,
    random: &mut Random,
    settings: &Settings,
    mut look: impl FnMut(&[u8], Option<Vec<String>>) -> Result<()>,
) -> Result<Taken> {
    let text = std::fs::read(&file.path).with_context(|| file.shown.clone())?;
    let mut ask = |text: &[u8]| -> Result<Taken> {
        let start = Instant::now();
        index.set_buffer(&file.path, text);
        let set = start.elapsed();
        let clones = index.clones_of(&file.path, settings);
        let find = start.elapsed() - set;
        let n_classes = clones.as_ref().map(|clones| clones.classes.len());
        let found = clones.as_ref().map(|clones| {
            let shown = |document: u32| clones.documents[document as usize].shown.clone();
            clones.classes.iter().map(|class| named(class, shown)).collect()
        });
        look(text, found)?;
        Ok(Taken { open: Duration::ZERO, set, find, n_classes })
    };
    let open = ask(&text)?.total();
    let edited = ask(&kind.apply(&text, other, random))?;
    index.drop_buffer(&file.path);
    if let Some(line) = random.pick(&code_lines(&text)) {
        *other = text[line].to_vec();
    }
    Ok(Taken { open, ..edited })
}

/// The documents of a folder once more, to search them from scratch with an edit.
struct Copied {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl Copied {
    fn new(files: &[File]) -> Result<Copied> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        for file in files {
            let target = root.join(&file.shown);
            std::fs::create_dir_all(target.parent().unwrap_or(&root))?;
            std::fs::copy(&file.path, &target).with_context(|| file.shown.clone())?;
        }
        Ok(Copied { folder, root })
    }

    /// The classes that touch a file when it has this text.
    fn search(&self, shown: &str, text: &[u8], settings: &Settings) -> Result<Vec<String>> {
        let path = self.folder.path().join(shown);
        let before = std::fs::read(&path)?;
        std::fs::write(&path, text)?;
        let report = dupi::search(&self.root, std::slice::from_ref(&self.root), settings, &|_| {});
        std::fs::write(&path, before)?;
        Ok(touching(&report?, shown))
    }
}

/// What can be done to one line.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A copy of another line of the file comes in between.
    Insert,
    Delete,
    /// An identifier gets another name, in one place.
    Rename,
    /// A line stands there twice.
    Duplicate,
    /// A line of another file comes in between.
    Paste,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Insert, Kind::Delete, Kind::Rename, Kind::Duplicate, Kind::Paste];

    /// The text with the edit. `other` is a line of another file.
    fn apply(self, text: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
        let lines = code_lines(text);
        let Some(at) = random.pick(&lines) else { return [text, other].concat() };
        let line = &text[at.clone()];
        let replaced = match self {
            Kind::Insert => [&text[random.pick(&lines).unwrap_or(at.clone())], line].concat(),
            Kind::Delete => Vec::new(),
            Kind::Rename => {
                let word = line.iter().position(|byte| is_letter(*byte)).unwrap_or(0);
                let end = line[word..].iter().position(|byte| !is_letter(*byte)).map_or(line.len(), |n| word + n);
                [&line[..end], b"_renamed", &line[end..]].concat()
            }
            Kind::Duplicate => [line, line].concat(),
            Kind::Paste => [other, line].concat(),
        };
        [&text[..at.start], &replaced, &text[at.end..]].concat()
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// The lines, with their ends, that look like a statement: people edit these, not braces, blanks and comments.
fn code_lines(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let code = line.trim_ascii();
        let comment = [&b"//"[..], b"/*", b"*", b"#"].iter().any(|mark| code.starts_with(mark));
        if !comment && line.ends_with(b"\n") && code.iter().any(|byte| is_letter(*byte)) {
            lines.push(start..start + line.len());
        }
        start += line.len();
    }
    lines
}

/// SplitMix64: the same edits from the same seed, on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let at = self.next().checked_rem(from.len() as u64)?;
        from.get(at as usize).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_changes_one_line() {
        let text = b"// a comment\nint f()\n{\n\treturn one;\n}\n";
        let mut random = Random(1);
        for _ in 0..50 {
            for (kind, n_more) in Kind::ALL.into_iter().zip([1, -1, 0, 1, 1]) {
                let edited = kind.apply(text, STATEMENT, &mut random);
                assert_ne!(edited, text);
                let count = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count() as i32;
                assert_eq!(count(&edited), count(text) + n_more, "{kind:?}");
                assert!(edited.starts_with(b"// a comment\n") && edited.ends_with(b"}\n"));
            }
        }
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let told = percentiles((1..=1000).rev().collect());
        assert_eq!(told, json!({ "p50": 500, "p90": 900, "p99": 990, "max": 1000 }));
        assert_eq!(percentiles(vec![7]), json!({ "p50": 7, "p90": 7, "p99": 7, "max": 7 }));
    }
}
