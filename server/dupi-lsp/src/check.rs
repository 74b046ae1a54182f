//! `dupi-lsp check`: reads, searches, reports, and answers with an exit code.

mod json;
mod summary;
mod text;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use dupi::index::{Changes, Index, Workspace};
use dupi::locate::locate;
use dupi::search::with_threads;
use dupi::{Progress, Report};

use crate::terminal::{Top, note, top, unless_closed, with_progress};
use crate::workspace::{IndexArguments, Place, WorkspaceArguments, tell_troubles};

/// Nothing duplicated; something duplicated.
const CLEAN: u8 = 0;
const DUPLICATES: u8 = 1;

/// How many classes the text shows unless told otherwise: as many as a person reads.
const TOP: usize = 25;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs; the schema is in the repository
    Json,
}

#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 nothing duplicated, 1 duplicates found, 2 wrong usage, unreadable path or nothing scanned.\n\nExamples:\n  dupi-lsp --check                               the current folder\n  dupi-lsp --check --zone code --min-tokens 80   code only, longer copies\n  dupi-lsp --check --format json | jq .summary   for programs\n  dupi-lsp --check --exclude 'legacy/**' --top all\n  dupi-lsp --check --index-dir ~/ci/dupi         where a CI cache wants the index\n  dupi-lsp --check --no-index                    read all files, keep nothing\n\nThe same keys can stand in dupi.toml at the root of what is checked, for example:\n  min-tokens = 80\n  exclude = [\"legacy/**\"]\n\nIn the source: `dupi:ignore` in a comment before a unit, `dupi:ignore-start` … `dupi:ignore-end`, `dupi:ignore-file`."
)]
pub struct CheckArguments {
    #[command(flatten)]
    workspace: WorkspaceArguments,
    /// How to report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// How many classes to show as text, or `all`
    #[arg(long, value_name = "N|all", value_parser = top, default_value_t = Top(TOP))]
    top: Top,
    /// List the files that were skipped, and why
    #[arg(long)]
    skipped: bool,
    #[command(flatten)]
    index: IndexArguments,
    /// Read all files, and keep nothing for the next time
    #[arg(long, conflicts_with_all = ["index_dir", "memory"])]
    no_index: bool,
}

pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    let start = Instant::now();
    let workspace = arguments.workspace.workspace()?;
    let Found { report, mut indexed } = find(arguments, &workspace)?;
    let seconds = start.elapsed();
    let mut out = anstream::stdout().lock();
    let written = match arguments.format {
        Format::Text => text::write(&mut out, &report, arguments.top.0, arguments.skipped, seconds)
            .and_then(|()| indexed.as_ref().map_or(Ok(()), |indexed| text::write_reuse(&mut out, &indexed.changes))),
        Format::Json => json::write(&mut out, &report, &places(&report, indexed.as_mut(), &workspace)?),
    }
    .and_then(|()| out.flush());
    // The exit code still tells.
    unless_closed(written)?;
    drop(out);
    if let Some(Indexed { index, place, .. }) = &mut indexed {
        with_threads(&workspace.settings, &workspace.root, || place.tidy(index))?;
        tell_troubles(index);
    }
    if report.files.is_empty() {
        anyhow::bail!("nothing scanned: no source file under {}{}", workspace.root.display(), text::skipped(&report));
    }
    let code = if report.classes.is_empty() { CLEAN } else { DUPLICATES };
    Ok(ExitCode::from(code))
}

/// Where all copies of a report are.
fn places(
    report: &Report,
    indexed: Option<&mut Indexed>,
    workspace: &Workspace,
) -> Result<Vec<Vec<dupi::locate::Place>>, dupi::Error> {
    let settings = &workspace.settings;
    with_threads(settings, &workspace.root, || match indexed {
        Some(indexed) => indexed.index.locate(report, settings),
        None => locate(&report.files, &report.classes),
    })
}

/// A report as `--format json` writes it.
pub fn json(report: &Report) -> serde_json::Value {
    let mut written = Vec::new();
    let places = locate(&report.files, &report.classes);
    let json = json::write(&mut written, report, &places).ok().and_then(|()| serde_json::from_slice(&written).ok());
    json.unwrap_or_default()
}

/// What a check is made of: the classes, and the index that they came from, if it was one.
struct Found {
    report: Report,
    indexed: Option<Indexed>,
}

struct Indexed {
    index: Index,
    place: Place,
    changes: Changes,
}

/// Finds all classes: by the index, and if there can be none, without it.
fn find(arguments: &CheckArguments, workspace: &Workspace) -> Result<Found> {
    let Workspace { root, paths, settings } = workspace;
    if !arguments.no_index {
        let found = with_progress(|progress| {
            with_threads(settings, root, || find_indexed(&arguments.index, workspace, progress))
        })?;
        match found {
            Ok(mut found) => {
                found.indexed.iter_mut().for_each(|indexed| tell_troubles(&mut indexed.index));
                return Ok(found);
            }
            Err(Failed::Search(error)) => return Err(error.into()),
            Err(Failed::Index(error)) => note(&format!("no index, all files are read: {error:#}")),
        }
    }
    let report = with_progress(|progress| dupi::search(root, paths, settings, progress))?;
    Ok(Found { report, indexed: None })
}

enum Failed {
    /// There is no answer, index or not.
    Search(dupi::Error),
    /// There is no index: a search from scratch gives the same answer.
    Index(anyhow::Error),
}

fn find_indexed(
    arguments: &IndexArguments,
    workspace: &Workspace,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Found, Failed> {
    let place = arguments.place(workspace).map_err(Failed::Index)?;
    let mut index = place.open(workspace).map_err(Failed::Index)?;
    let changes = index.refresh(progress).map_err(Failed::Search)?;
    progress(Progress::Comparing);
    let report = index.report(&workspace.settings).map_err(|error| match error {
        dupi::Error::Index { .. } => Failed::Index(error.into()),
        _ => Failed::Search(error),
    })?;
    Ok(Found { report, indexed: Some(Indexed { index, place, changes }) })
}
