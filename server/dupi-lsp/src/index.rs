//! `dupi-lsp index`: builds and refreshes the index, and tells of it.

mod stats;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use dupi::index::{Changes, Index, Workspace};
use dupi::place;
use dupi::search::with_threads;

use crate::terminal::{ProgressLine, bytes, count, escape, grouped, percent, with_progress};
use crate::workspace::{IndexArguments, Place, WindowArguments, WorkspaceArguments, tell_troubles};

/// All as it should be; the index is damaged.
const GOOD: u8 = 0;
const PROBLEMS: u8 = 1;

#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 done, 1 --verify found problems, 2 wrong usage, nothing indexed, or no index there.\n\nExamples:\n  dupi-lsp index                           build or refresh the index of the current folder\n  dupi-lsp index --stats                   what it holds, how large it is, where it is\n  dupi-lsp index --verify                  read all of it and compare its parts\n  dupi-lsp index --clear                   remove it\n  dupi-lsp index --index-dir ~/ci/dupi     where a CI cache wants it; --check takes the same flag\n  dupi-lsp index --memory 256              on a small machine\n  dupi-lsp index --k 12 --w 8              small windows, to explore with: for extract, blot, unblot, like, similar\n\nEach set of options that decides what is read has an index of its own: give the options of --check here, too."
)]
pub struct Arguments {
    #[command(flatten)]
    workspace: WorkspaceArguments,
    #[command(flatten)]
    windows: WindowArguments,
    #[command(flatten)]
    index: IndexArguments,
    /// Show what the index holds, as it is on disk: nothing is read or built
    #[arg(long, group = "instead")]
    stats: bool,
    /// Check the index: checksums, and each part against the others
    #[arg(long, group = "instead")]
    verify: bool,
    /// Remove all indexes of this folder, whatever options they were built with
    #[arg(long, group = "instead")]
    clear: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut workspace = arguments.workspace.workspace()?;
    arguments.windows.apply(&mut workspace.settings);
    if arguments.clear {
        return clear(&arguments.index, &workspace);
    }
    let place = arguments.index.place(&workspace)?;
    if !arguments.stats && !arguments.verify {
        return refresh(&place, &workspace);
    }
    if !place.exists() {
        bail!("no index of {} at {}: `dupi-lsp index` builds it", workspace.root.display(), place.folder.display());
    }
    if arguments.stats { stats::show(&place, &workspace) } else { verify(&place, &workspace) }
}

fn refresh(place: &Place, workspace: &Workspace) -> Result<ExitCode> {
    let start = Instant::now();
    let (mut index, changes) = with_progress(|progress| {
        with_threads(&workspace.settings, &workspace.root, || {
            let mut index = place.open(workspace)?;
            let changes = index.refresh(progress)?;
            // What went is still at hand now; a later check would have to begin anew.
            if changes.any() && index.has_answer(&workspace.settings) {
                index.report(&workspace.settings)?;
            }
            place.tidy(&mut index);
            anyhow::Ok((index, changes))
        })
    })??;
    tell_troubles(&mut index);
    if !index.is_committed() {
        let why = if index.is_writer() { "" } else { ": another process writes it, or it cannot be written" };
        bail!("the index at {} was not brought up to date{why}", place.folder.display());
    }
    let stats = index.stats();
    if stats.documents == 0 {
        bail!("nothing indexed: no source file under {}", workspace.root.display());
    }
    let skipped =
        if stats.skipped == 0 { String::new() } else { format!(" ({} skipped)", grouped(stats.skipped as u64)) };
    let seconds = start.elapsed().as_secs_f64();
    writeln!(
        anstream::stdout(),
        "indexed {}{skipped} in {seconds:.2} s: {}; {}, {} of source",
        count(stats.documents as u64, "file", "files"),
        told(&changes),
        bytes(stats.bytes()),
        percent(stats.bytes(), stats.source),
    )?;
    Ok(ExitCode::from(GOOD))
}

/// "3 added, 1 removed".
fn told(changes: &Changes) -> String {
    let &Changes { added, changed, removed, touched, same } = changes;
    if added > 0 && changed + removed + touched + same == 0 {
        return "all new".to_owned();
    }
    let told: Vec<String> = [(added, "added"), (changed, "changed"), (removed, "removed")]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", grouped(n as u64)))
        .collect();
    if told.is_empty() { "nothing changed".to_owned() } else { told.join(", ") }
}

fn verify(place: &Place, workspace: &Workspace) -> Result<ExitCode> {
    let start = Instant::now();
    let line = ProgressLine::new();
    line.show("verifying");
    let verified = with_threads(&workspace.settings, &workspace.root, || {
        let mut index: Index = place.look(workspace)?;
        let mut verified = index.verify();
        // What could not be opened could not be verified either.
        verified.problems.splice(0..0, index.troubles());
        anyhow::Ok(verified)
    });
    line.clear();
    let verified = verified??;
    let mut out = anstream::stdout().lock();
    for problem in &verified.problems {
        writeln!(out, "{}", escape(problem))?;
    }
    if !verified.problems.is_empty() {
        let n = count(verified.problems.len() as u64, "problem", "problems");
        writeln!(out, "{n} in the index: `dupi-lsp index` repairs it, `--check` does so by itself")?;
        return Ok(ExitCode::from(PROBLEMS));
    }
    writeln!(
        out,
        "the index is good: {} and {} verified in {:.2} s",
        count(verified.documents as u64, "document", "documents"),
        count(verified.posts as u64, "post", "posts"),
        start.elapsed().as_secs_f64(),
    )?;
    Ok(ExitCode::from(GOOD))
}

fn clear(arguments: &IndexArguments, workspace: &Workspace) -> Result<ExitCode> {
    let base = arguments.base()?;
    let root = escape(&workspace.root.display().to_string());
    let freed = place::clear(&base, &workspace.root)?;
    let mut out = anstream::stdout();
    if freed == 0 {
        writeln!(out, "no index of {root} in {}", escape(&base.display().to_string()))?;
    } else {
        writeln!(out, "cleared the index of {root}: {} freed", bytes(freed))?;
    }
    Ok(ExitCode::from(GOOD))
}
