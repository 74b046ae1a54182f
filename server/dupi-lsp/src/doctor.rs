//! `dupi-lsp doctor`: how the program is doing on this machine and in this workspace, as one text to paste into an issue.
//! The server gives the same for the folders that it has open.
//!
//! Reads the index and walks the workspace, and changes nothing. The user's home folder is shown as `~` everywhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;
use dupi::SkipReason;
use dupi::index::Workspace;
use dupi::search::with_threads;
use dupi::watch::{Mode, POLL_INTERVAL, Watch};
use serde::Serialize;
use serde_json::Value;

use crate::git;
use crate::terminal::{bytes, count, escape, grouped};
use crate::workspace::{IndexArguments, Place, WorkspaceArguments};

/// Files that are named for each reason to skip them.
const MAX_NAMED: usize = 3;
/// Bytes of a file of the system that holds one number.
const MAX_LIMIT: u64 = 64;
/// Exit code if something needs attention.
const ATTENTION: u8 = 1;

#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 all is well, 1 something needs attention, 2 wrong usage or nothing to look at.\n\nExamples:\n  dupi-lsp doctor                   the current folder\n  dupi-lsp doctor --format json     the same for programs\n  dupi-lsp doctor > doctor.txt      to paste into an issue: the home folder is shown as ~\n\nNeovim has it as `:checkhealth dupi`, VS Code as \"dupi: Doctor\"."
)]
pub struct Arguments {
    #[command(flatten)]
    workspace: WorkspaceArguments,
    #[command(flatten)]
    index: IndexArguments,
    /// How to write it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What is found out about this machine and some folders.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    version: &'static str,
    engine: String,
    platform: String,
    git: Option<String>,
    log: String,
    folders: Vec<Folder>,
    attention: Vec<Attention>,
}

/// Something that a person should do something about.
#[derive(Serialize)]
struct Attention {
    what: String,
    advice: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Folder {
    root: String,
    /// `key = value` of what is set.
    settings: Vec<String>,
    /// Files that are read, or were left out for what they hold.
    sources: usize,
    skipped: Vec<Skipped>,
    /// Limits that some of these have reached, each with what to do about it.
    limits: Vec<String>,
    index: Option<Index>,
    index_folder: Option<String>,
    watching: String,
}

/// Files that were skipped for one reason.
#[derive(Serialize)]
struct Skipped {
    reason: &'static str,
    files: usize,
    /// Some of them.
    paths: Vec<String>,
}

#[derive(Serialize)]
struct Index {
    bytes: u64,
    generation: u64,
    documents: usize,
    segments: usize,
    posts: usize,
    /// What does not verify.
    problems: Vec<String>,
}

/// How changes on disk are noticed.
#[derive(Clone)]
pub enum Watching {
    ByClient,
    By(Mode),
    /// Not yet.
    Starting,
}

/// A folder to look at.
pub struct Subject {
    pub workspace: Arc<Workspace>,
    pub index: IndexArguments,
    /// `key = value` of what is set.
    pub settings: Vec<String>,
    /// What is wrong with its `dupi.toml`.
    pub bad_configuration: Option<String>,
    pub watching: Watching,
    /// What went wrong while it was kept.
    pub troubles: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (workspace, options, bad) = match arguments.workspace.read() {
        Ok((workspace, options)) => (workspace, options, None),
        Err(error) => {
            let (workspace, options) = arguments.workspace.read_without_configuration()?;
            (workspace, options, Some(format!("{error:#}")))
        }
    };
    let ignore = arguments.index.place(&workspace).map(|place| place.folder).into_iter().collect();
    let watch = Watch::start(&workspace.root, workspace.settings.clone(), ignore, |_| {});
    let subject = Subject {
        workspace: Arc::new(workspace),
        index: arguments.index.clone(),
        settings: options.written(),
        bad_configuration: bad,
        watching: Watching::By(watch.mode()),
        troubles: Vec::new(),
    };
    let log = "standard error of the server, which editors show as its output; `--log FILE` writes it to a file, too";
    let diagnosis = Diagnosis::of(log.to_owned(), vec![subject]);
    let mut out = anstream::stdout();
    match arguments.format {
        Format::Text => write!(out, "{}", diagnosis.text())?,
        Format::Json => writeln!(out, "{:#}", diagnosis.json()?)?,
    }
    Ok(ExitCode::from(if diagnosis.attention.is_empty() { 0 } else { ATTENTION }))
}

impl Diagnosis {
    pub fn of(log: String, subjects: Vec<Subject>) -> Diagnosis {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let platform =
            format!("{} {}, {}", std::env::consts::OS, std::env::consts::ARCH, count(cores as u64, "core", "cores"));
        let git = git::version().ok();
        let mut attention = Vec::new();
        if git.is_none() {
            let advice = "install it: `--since`, `--staged` and `--blame` need it";
            attention.push(Attention { what: "git cannot be run".to_owned(), advice: advice.to_owned() });
        }
        let folders = subjects.into_iter().map(|subject| subject.look(&mut attention)).collect();
        let (version, engine) = (env!("CARGO_PKG_VERSION"), dupi::engine());
        Diagnosis { version, engine, platform, git, log, folders, attention }
    }

    pub fn json(&self) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(self)?;
        strings(&mut value, &|text| *text = without_home(text));
        Ok(value)
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        line(&mut out, "version", &format!("{} (engine {})", self.version, self.engine));
        line(&mut out, "platform", &self.platform);
        line(&mut out, "git", self.git.as_deref().unwrap_or("cannot be run"));
        line(&mut out, "log", &self.log);
        for folder in &self.folders {
            folder.write(&mut out);
        }
        out.push('\n');
        match self.attention.len() as u64 {
            0 => out.push_str("all is well\n"),
            1 => out.push_str("1 thing needs attention:\n"),
            n => out.push_str(&format!("{} need attention:\n", count(n, "thing", "things"))),
        }
        for Attention { what, advice } in &self.attention {
            let _ = writeln!(out, "- {}\n  what to do: {}", escape(what), escape(advice));
        }
        without_home(&out)
    }
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name:<12}{}", escape(value));
}

impl Folder {
    fn write(&self, out: &mut String) {
        out.push('\n');
        line(out, "workspace", &self.root);
        let settings = if self.settings.is_empty() { "as by default".to_owned() } else { self.settings.join(", ") };
        line(out, "settings", &settings);
        line(out, "files", &grouped(self.sources as u64));
        for (i, Skipped { reason, files, paths }) in self.skipped.iter().enumerate() {
            let more = if *files > paths.len() { ", …" } else { "" };
            let name = if i == 0 { "skipped" } else { "" };
            line(out, name, &format!("{} {reason}: {}{more}", grouped(*files as u64), paths.join(", ")));
        }
        let limits = if self.limits.is_empty() { "none reached".to_owned() } else { self.limits.join("; ") };
        line(out, "limits", &limits);
        let Some(folder) = &self.index_folder else { return line(out, "index", "there is no place for one") };
        match &self.index {
            None => line(out, "index", &format!("none yet at {folder}")),
            Some(index) => {
                let (documents, segments) = (index.documents as u64, index.segments as u64);
                let content = format!(
                    "{} in {}, generation {}, {}",
                    count(documents, "document", "documents"),
                    count(segments, "segment", "segments"),
                    index.generation,
                    bytes(index.bytes)
                );
                line(out, "index", &format!("{content}, at {folder}"));
                let posts = count(index.posts as u64, "post", "posts");
                let verified = match index.problems.len() as u64 {
                    0 => format!("good: {} and {posts}", count(documents, "document", "documents")),
                    n => count(n, "problem", "problems"),
                };
                line(out, "verified", &verified);
            }
        }
        line(out, "watching", &self.watching);
    }
}

impl Subject {
    fn look(self, attention: &mut Vec<Attention>) -> Folder {
        let root = &self.workspace.root;
        let mut attend = |what: String, advice: &str| attention.push(Attention { what, advice: advice.to_owned() });
        if let Some(bad) = self.bad_configuration {
            attend(bad, "mend it: until then editors ignore the file, and a check fails");
        }
        for trouble in self.troubles {
            attend(trouble, "the log may say more");
        }
        let found = dupi::files::find(root, &self.workspace.paths, &self.workspace.settings);
        let found = found.unwrap_or_else(|error| {
            attend(error.to_string(), "see to it that the folder can be read");
            dupi::files::Found::default()
        });
        let mut skipped: BTreeMap<SkipReason, Vec<String>> = BTreeMap::new();
        for skip in found.skipped {
            skipped.entry(skip.reason).or_default().push(skip.path);
        }
        let place = self.index.place(&self.workspace);
        let index = match place.as_ref().map(|place| place.exists().then(|| look_at_index(place, &self.workspace))) {
            Ok(None) => None,
            Ok(Some(Ok((index, in_index)))) => {
                for skip in in_index {
                    skipped.entry(skip.reason).or_default().push(skip.path);
                }
                Some(index)
            }
            Ok(Some(Err(error))) => {
                attend(format!("the index cannot be read: {error:#}"), "`dupi-lsp index --clear` removes it");
                None
            }
            Err(error) => {
                attend(format!("there is no place for an index: {error:#}"), "name a folder by `--index-dir`");
                None
            }
        };
        for problem in index.iter().flat_map(|index| &index.problems) {
            attend(problem.clone(), "`dupi-lsp index` repairs the index");
        }
        for (reason, paths) in &mut skipped {
            paths.sort_unstable();
            paths.dedup();
            if let Some(advice) = advice(*reason) {
                let n = count(paths.len() as u64, "file", "files");
                attend(format!("{n} skipped, {reason}: {}", some(paths).join(", ")), advice);
            }
        }
        let watching = match self.watching {
            Watching::ByClient => "by the editor".to_owned(),
            Watching::Starting => "not yet: the folder is still to be read".to_owned(),
            Watching::By(Mode::Native) => format!("by the operating system{}", allowed()),
            Watching::By(Mode::Polling { why }) => {
                let seconds = POLL_INTERVAL.as_secs();
                let what = format!("a look every {seconds} s, because {why}");
                // Whatever else it is, a person cannot change it.
                if why.contains("fs.inotify") {
                    attend(format!("changes on disk are noticed by {what}"), "raise that limit of the system");
                }
                format!("{what}{}", allowed())
            }
        };
        let limits = skipped.iter().filter_map(|(reason, paths)| {
            let n = count(paths.len() as u64, "file", "files");
            limit(*reason, &self.workspace).map(|what| format!("{n} {reason}: {what}"))
        });
        let limits = limits.collect();
        let as_skipped = |(reason, paths): (SkipReason, Vec<String>)| Skipped {
            reason: reason.name(),
            files: paths.len(),
            paths: some(&paths).to_vec(),
        };
        Folder {
            root: root.display().to_string(),
            settings: self.settings,
            sources: found.sources.len(),
            skipped: skipped.into_iter().map(as_skipped).collect(),
            limits,
            index,
            index_folder: place.ok().map(|place| place.folder.display().to_string()),
            watching,
        }
    }
}

fn some(paths: &[String]) -> &[String] {
    &paths[..paths.len().min(MAX_NAMED)]
}

/// What to do about files that were skipped, if it is not what somebody wanted.
fn advice(reason: SkipReason) -> Option<&'static str> {
    match reason {
        SkipReason::Unreadable => Some("make them readable, or exclude them"),
        SkipReason::Crashed => Some("report them: this is a mistake in dupi-lsp"),
        SkipReason::Quarantined => {
            Some("report them: this is a mistake in dupi-lsp; `dupi-lsp index --clear` has them read once more")
        }
        SkipReason::Ignored
        | SkipReason::Vendored
        | SkipReason::Hidden
        | SkipReason::Excluded
        | SkipReason::Generated
        | SkipReason::Minified
        | SkipReason::Binary
        | SkipReason::NotUtf8
        | SkipReason::Empty
        | SkipReason::TooLarge
        | SkipReason::TooSlow
        | SkipReason::TooDeep
        | SkipReason::Suppressed
        | SkipReason::Symlink
        | SkipReason::Special => None,
    }
}

/// The limit that a file was skipped for, and how it is raised.
fn limit(reason: SkipReason, workspace: &Workspace) -> Option<String> {
    match reason {
        SkipReason::TooLarge => {
            Some(format!("more than {} KiB, see `max-file-size`", workspace.settings.max_file_bytes >> 10))
        }
        SkipReason::TooSlow | SkipReason::TooDeep => {
            Some("exclude them if they are no sources, or report them".to_owned())
        }
        _ => None,
    }
}

/// Reads all of an index, and which files it has as skipped.
fn look_at_index(place: &Place, workspace: &Workspace) -> Result<(Index, Vec<dupi::Skip>)> {
    with_threads(&workspace.settings, &workspace.root, || {
        let mut index = place.look(workspace)?;
        let verified = index.verify();
        // What could not be opened could not be verified either.
        let problems = index.troubles().into_iter().chain(verified.problems).collect();
        let stats = index.stats();
        let looked = Index {
            bytes: place.bytes()?,
            generation: stats.generation,
            documents: stats.documents,
            segments: stats.segments,
            posts: verified.posts,
            problems,
        };
        Ok((looked, index.snapshot().skipped()))
    })?
}

/// How much the system lets a user watch, where that is limited.
fn allowed() -> String {
    let limit = |name: &str| {
        let value = dupi::regular::read_to_string(&Path::new("/proc/sys/fs/inotify").join(name), MAX_LIMIT).ok()?;
        Some(format!("{name} {}", grouped(value.trim().parse().ok()?)))
    };
    let limits: Vec<String> = ["max_user_watches", "max_user_instances"].into_iter().filter_map(limit).collect();
    if limits.is_empty() { String::new() } else { format!(" ({})", limits.join(", ")) }
}

/// Calls `change` for each string of a value.
fn strings(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| strings(value, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| strings(value, change)),
        _ => {}
    }
}

/// A text without the name of the user's home folder, which often is the user's own.
fn without_home(text: &str) -> String {
    let home = std::env::home_dir().filter(|home| home.parent().is_some());
    let resolved = home.as_ref().and_then(|home| home.canonicalize().ok());
    let homes = [resolved, home].into_iter().flatten().map(|home| home.display().to_string());
    homes.fold(text.to_owned(), |text, home| {
        let mut parts = text.split(&home);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // `/home/ann` is not the start of `/home/anna`.
            let is_whole = !part.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
            out.push_str(if is_whole { "~" } else { &home });
            out.push_str(part);
        }
        out
    })
}
