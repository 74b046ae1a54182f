//! `dupi-lsp check`: reads, searches, selects what is shown, reports it, and answers with an exit code.
//!
//! What fails is decided in [`policy`], what is shown in [`findings`], and how in one file for each format.

mod badge;
mod baseline;
mod blame;
mod change;
mod checkstyle;
mod csv;
mod findings;
mod format;
mod github;
mod gitlab;
mod html;
mod json;
mod lines;
mod markdown;
mod policy;
mod repository;
mod sarif;
pub mod summary;
pub mod text;

pub use summary::covered;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dupi::ignore::Matcher;
use dupi::index::{Changes, Index, MEMORY, Workspace};
use dupi::locate::{Place as At, locate, locate_in};
use dupi::search::with_threads;
use dupi::store::Memory;
use dupi::{Class, Progress, Report, SkipReason, output};

use crate::git::Git;
use crate::options::{GATE, Options};
use crate::terminal::{Top, count, note, top, with_progress};
use crate::workspace::{IndexArguments, Place, WorkspaceArguments, tell_troubles};
use baseline::{Baseline, Counts, counts, is_baseline};
use change::{Change, Wanted};
use findings::{Finding, Findings, Manner, News, Texts};
use format::Outputs;
use policy::{Policy, Verdict};
use repository::Repository;
use summary::Summary;

/// Within all limits; over one.
const PASSED: u8 = 0;
const FAILED: u8 = 1;

/// How many classes the text shows unless told otherwise: as many as a person reads.
const TOP: usize = 25;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct CheckArguments {
    #[command(flatten)]
    workspace: WorkspaceArguments,
    #[command(flatten)]
    outputs: Outputs,
    /// How many classes to show as text, or `all`
    #[arg(long, value_name = "N|all", value_parser = top, default_value_t = Top(TOP))]
    top: Top,
    /// List the files that were skipped, and why
    #[arg(long)]
    skipped: bool,
    /// Add a table of what differs between copies to each class of the JSON report
    #[arg(long)]
    differences: bool,
    /// Where files are on the web, for links in Markdown: `URL/path#L1-L9` [default: what GitHub and GitLab say in CI]
    #[arg(long, value_name = "URL")]
    links: Option<String>,
    /// Only what is new since this revision and the current commit parted; needs git
    #[arg(long, value_name = "REV", conflicts_with = "staged", help_heading = GATE)]
    since: Option<String>,
    /// Only what is new in what is staged, for a hook before a commit; needs git
    #[arg(long, help_heading = GATE)]
    staged: bool,
    /// Only what is not accepted in this file
    #[arg(long, value_name = "FILE", help_heading = GATE)]
    baseline: Option<PathBuf>,
    /// Accept all that there is now, in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "staged", "baseline"], help_heading = GATE)]
    write_baseline: Option<PathBuf>,
    /// Drop from the file of --baseline what is gone
    #[arg(long, requires = "baseline", help_heading = GATE)]
    prune_baseline: bool,
    /// Say which commit brought each copy, and which copy is the oldest, of the classes shown (see --top); needs git
    #[arg(long)]
    blame: bool,
    #[command(flatten)]
    index: IndexArguments,
    /// Read all files, and keep nothing for the next time
    #[arg(long, conflicts_with_all = ["index_dir", "memory"])]
    no_index: bool,
}

const HELP: &str = "\
Exit code: 0 within all limits (without any: nothing duplicated), 1 over one, 2 wrong usage, a named path, changed file or \
configuration that cannot be read, or nothing scanned.

Examples:
  dupi-lsp --check                               the current folder
  dupi-lsp --check --zone code --min-tokens 80   code only, longer copies
  dupi-lsp --check --max-percent 3 --max-classes test=10
  dupi-lsp --check --since origin/main           only what this branch adds
  dupi-lsp --check --staged                      only what is about to be committed
  dupi-lsp --check --write-baseline dupi.json    accept what there is …
  dupi-lsp --check --baseline dupi.json          … and fail on what is new
  dupi-lsp --check --blame --top 5               who brought the worst copies
  dupi-lsp --check --format sarif --output dupi.sarif --format text
  dupi-lsp --check --format json | jq .summary   for programs
  dupi-lsp --check --exclude 'legacy/**' --top all
  dupi-lsp --check --index-dir ~/ci/dupi         where a CI cache wants the index
  dupi-lsp --check --no-index                    read all files, keep nothing

The same keys can stand in dupi.toml at the root of what is checked, for example:
  min-tokens = 80
  exclude = [\"legacy/**\"]
  max-percent = { code = 3, test = 10 }

In the source: `dupi:ignore` in a comment before a unit, `dupi:ignore-start` … `dupi:ignore-end`, `dupi:ignore-file`.";

pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    let start = Instant::now();
    let (workspace, options) = arguments.workspace.read()?;
    arguments.outputs.check()?;
    if let Some(path) = &arguments.write_baseline {
        output::check(path, is_baseline).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let repository = Repository::around(&workspace.root, arguments.links.as_deref())?;
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    let wanted = arguments.since.clone().map(Wanted::Since).or(arguments.staged.then_some(Wanted::Staged));
    if arguments.workspace.has_max_new() && wanted.is_none() && baseline.is_none() {
        bail!("`--max-new` needs --baseline, --since or --staged: without one of them nothing is new");
    }
    let Found { report, change, mut indexed } =
        find(&arguments.index, arguments.no_index, &workspace, wanted.as_ref())?;
    let took = start.elapsed();
    let report = &report;
    let as_on_disk = Texts::default();
    let texts = change.as_ref().map_or(&as_on_disk, |change| &change.texts);
    let now = counts(report.classes.iter().chain(&report.ignored));
    let policy = Policy::of(&options);
    let compared = compared(change.as_ref(), baseline.as_ref());
    let summary = Summary::new(report);

    let mut shown = select(report, texts, change.as_ref(), baseline.as_ref(), &now);
    let shows_all = arguments.outputs.0.iter().any(|output| output.format.shows_all());
    let n_located = if shows_all { shown.len() } else { shown.len().min(arguments.top.0) };
    if compared.is_none() && shows_all {
        let places = places(report, indexed.as_mut(), &workspace)?;
        shown.iter_mut().zip(places).for_each(|(finding, places)| finding.places = places);
    } else {
        let classes: Vec<Class> = shown[..n_located].iter().map(|finding| finding.class.clone()).collect();
        let places = locate_in(&report.files, &classes, &|file| texts.read(file));
        shown.iter_mut().zip(places).for_each(|(finding, places)| finding.places = places);
    }
    if arguments.blame {
        let n = shown.len().min(arguments.top.0);
        blame::find(&Git::around(&workspace.root)?, &mut shown[..n]);
    }

    let mut notes = entries_to_tell(&options, report, &workspace)?;
    notes.extend(unreadable(report));
    notes.extend(change.iter().flat_map(Change::left_behind));
    if let Some(baseline) = baseline {
        notes.extend(tell_baseline(arguments, baseline, report, &now, &shown)?);
    }
    let failures = policy.failures(&summary, &shown, compared.as_deref());
    let is_gate = policy.has_limits() || compared.is_some();
    let mut verdict = Verdict { failures, notes, is_gate };
    if let Some(path) = arguments.write_baseline.as_ref().filter(|_| !report.files.is_empty()) {
        let baseline = Baseline::of(report, path);
        baseline.write()?;
        let n = count(baseline.len() as u64, "class", "classes");
        verdict.notes.push(format!("{n} accepted in {}: check with --baseline from now on", path.display()));
        verdict.failures.clear();
    }
    verdict.notes.iter().for_each(|told| note(told));
    let code = if verdict.passed() { PASSED } else { FAILED };
    let manner = Manner {
        top: arguments.top.0,
        list_skipped: arguments.skipped,
        differences: arguments.differences,
        took,
        changes: indexed.as_ref().map(|indexed| indexed.changes),
    };
    let findings = Findings { report, summary, shown, compared, verdict, repository, manner };
    arguments.outputs.write(&findings)?;
    tidy(indexed.as_mut(), &workspace)?;
    if report.files.is_empty() {
        bail!("nothing scanned: no source file under {}{}", workspace.root.display(), text::skipped(report));
    }
    Ok(ExitCode::from(code))
}

/// What the index does once the answer is given.
pub fn tidy(indexed: Option<&mut Indexed>, workspace: &Workspace) -> Result<(), dupi::Error> {
    if let Some(Indexed { index, place: Some(place), .. }) = indexed {
        with_threads(&workspace.settings, &workspace.root, || place.tidy(index))?;
        tell_troubles(index);
    }
    Ok(())
}

/// With what a check is compared, as people say it.
fn compared(change: Option<&Change>, baseline: Option<&Baseline>) -> Option<String> {
    let names: Vec<String> =
        change.map(|change| change.name.clone()).into_iter().chain(baseline.map(Baseline::name)).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The classes that are shown: all, or those of which something is new.
fn select<'a>(
    report: &'a Report,
    texts: &'a Texts,
    change: Option<&Change>,
    baseline: Option<&Baseline>,
    now: &Counts,
) -> Vec<Finding<'a>> {
    let select = |class: &'a Class| {
        let mut finding = Finding::new(class, &report.files, texts);
        if let Some(baseline) = baseline {
            finding.news = Some(baseline.news(class, now[&class.id])?);
        }
        if let Some(change) = change {
            // What is accepted is accepted, whoever edits it.
            finding.news = Some(change.news(report, class)?);
            finding.touched = change.touched(report, class);
        }
        Some(finding)
    };
    report.classes.iter().filter_map(select).collect()
}

/// What is to be said of a baseline: what is stale in it, unless that is dropped now, and what a new class may have been.
fn tell_baseline(
    arguments: &CheckArguments,
    mut baseline: Baseline,
    report: &Report,
    now: &Counts,
    shown: &[Finding],
) -> Result<Vec<String>> {
    let perhaps = |finding: &Finding| {
        let was = baseline.was_perhaps(finding.class, report, now)?;
        let id = finding.id();
        Some(format!(
            "{id} is new and {was}, which stood in the same files, is gone: if it was only edited, accept it again with --write-baseline"
        ))
    };
    let new = shown.iter().filter(|finding| finding.news == Some(News::New));
    let mut told: Vec<String> = new.take(arguments.top.0.min(TOP)).filter_map(perhaps).collect();
    // Where nothing was scanned nothing is gone.
    if arguments.prune_baseline && !report.files.is_empty() {
        baseline.prune(now);
        baseline.write()?;
    } else {
        told.extend(baseline.stale(now));
    }
    Ok(told)
}

/// What is to be said of files and folders that were met and could not be read.
fn unreadable(report: &Report) -> Option<String> {
    const MAX_NAMED: usize = 5;
    let unreadable = report.skipped.iter().filter(|skip| skip.reason == SkipReason::Unreadable);
    let names: Vec<&str> = unreadable.map(|skip| skip.path.as_str()).collect();
    let more = if names.len() > MAX_NAMED { ", …" } else { "" };
    let n = count(names.len() as u64, "file or folder", "files or folders");
    let named = names[..names.len().min(MAX_NAMED)].join(", ");
    (!names.is_empty()).then(|| format!("{n} could not be read, so copies there are not known: {named}{more}"))
}

/// What is to be said of `[[ignore]]` entries: that one is over, or that there is nothing left to ignore for it.
fn entries_to_tell(options: &Options, report: &Report, workspace: &Workspace) -> Result<Vec<String>> {
    let mut told = Vec::new();
    let entries = options.ignore.iter().flatten();
    let asked = |owner: &Option<String>| owner.as_ref().map_or(String::new(), |owner| format!(", ask {owner}"));
    for over in entries.clone().filter(|entry| entry.is_over()) {
        let (name, day, reason) = (over.name(), over.expires(), &over.reason);
        told.push(format!(
            "[[ignore]] of `{name}` expired on {day} ({reason}{}): it is reported again",
            asked(&over.owner)
        ));
    }
    let matcher = Matcher::new(&workspace.settings.ignored)?;
    for (i, entry) in entries.filter(|entry| !entry.is_over()).enumerate() {
        let name = |document: u32| report.files[document as usize].shown.as_str();
        if !report.ignored.iter().any(|class| matcher.is_by(i, class, name)) {
            told.push(format!("[[ignore]] of `{}` is stale, nothing is ignored for it: remove it", entry.name()));
        }
    }
    Ok(told)
}

/// Where all copies of a report are.
pub fn places(
    report: &Report,
    indexed: Option<&mut Indexed>,
    workspace: &Workspace,
) -> Result<Vec<Vec<At>>, dupi::Error> {
    let settings = &workspace.settings;
    with_threads(settings, &workspace.root, || match indexed {
        Some(indexed) => indexed.index.locate(report, settings),
        None => locate(&report.files, &report.classes),
    })
}

/// A report as `--format json` writes it where nobody has set a limit.
pub fn json(report: &Report) -> Result<serde_json::Value> {
    let texts = Texts::default();
    let places = locate(&report.files, &report.classes);
    let finding = |(class, places)| Finding { places, ..Finding::new(class, &report.files, &texts) };
    let findings = Findings {
        report,
        summary: Summary::new(report),
        shown: report.classes.iter().zip(places).map(finding).collect(),
        compared: None,
        verdict: Verdict::default(),
        repository: Repository::default(),
        manner: Manner {
            top: usize::MAX,
            list_skipped: false,
            differences: false,
            took: Duration::ZERO,
            changes: None,
        },
    };
    let mut written = Vec::new();
    json::write(&mut written, &findings)?;
    Ok(serde_json::from_slice(&written)?)
}

/// What a check is made of: the classes, and the index that they came from, if it was one.
pub struct Found {
    pub report: Report,
    /// If one was wanted.
    pub change: Option<Change>,
    pub indexed: Option<Indexed>,
}

pub struct Indexed {
    index: Index,
    /// None, if it is in memory only.
    place: Option<Place>,
    changes: Changes,
}

/// Finds all classes, and what is new if that is wanted: by the index, and if there can be none, without it.
pub fn find(index: &IndexArguments, no_index: bool, workspace: &Workspace, wanted: Option<&Wanted>) -> Result<Found> {
    let Workspace { root, paths, settings } = workspace;
    let by_index = |place: Option<Place>| -> Result<Found, Failed> {
        with_progress(|progress| with_threads(settings, root, || find_indexed(place, workspace, wanted, progress)))
            .map_err(Failed::Search)?
    };
    if !no_index {
        match index.place(workspace).map_err(Failed::Index).and_then(|place| by_index(Some(place))) {
            Ok(mut found) => {
                found.indexed.iter_mut().for_each(|indexed| tell_troubles(&mut indexed.index));
                return Ok(found);
            }
            Err(Failed::Index(error)) => note(&format!("no index, all files are read: {error:#}")),
            Err(failed) => return Err(failed.into()),
        }
    }
    if wanted.is_some() {
        return Ok(by_index(None)?);
    }
    let report = with_progress(|progress| dupi::search(root, paths, settings, progress))?;
    Ok(Found { report, change: None, indexed: None })
}

enum Failed {
    /// There is no answer, index or not.
    Search(dupi::Error),
    /// There is nothing to compare with.
    Change(anyhow::Error),
    /// There is no index: a search from scratch gives the same answer.
    Index(anyhow::Error),
}

impl From<Failed> for anyhow::Error {
    fn from(failed: Failed) -> anyhow::Error {
        match failed {
            Failed::Search(error) => error.into(),
            Failed::Change(error) | Failed::Index(error) => error,
        }
    }
}

fn find_indexed(
    place: Option<Place>,
    workspace: &Workspace,
    wanted: Option<&Wanted>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Found, Failed> {
    let mut index = match &place {
        Some(place) => place.open(workspace).map_err(Failed::Index)?,
        None => Index::open(Arc::new(Memory::default()), workspace.clone(), MEMORY),
    };
    let changes = index.refresh(progress).map_err(Failed::Search)?;
    progress(Progress::Comparing);
    let (report, change) = match wanted {
        Some(wanted) => {
            let (report, change) = change::look(&mut index, workspace, wanted).map_err(Failed::Change)?;
            (report, Some(change))
        }
        None => {
            let report = index.report(&workspace.settings).map_err(|error| match error {
                dupi::Error::Index { .. } => Failed::Index(error.into()),
                _ => Failed::Search(error),
            })?;
            (report, None)
        }
    };
    Ok(Found { report, change, indexed: Some(Indexed { index, place, changes }) })
}
