//! `dupi-lsp report`: the classes as one page for a browser, and where that page may be written.

mod columns;
mod history;
pub mod html;
mod texts;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use dupi::output::{self, Draft};

use crate::check::summary::Summary;
use crate::check::{Found, find, places, text, tidy};
use crate::terminal::{ProgressLine, bytes, count, escape, unless_closed};
use crate::workspace::{IndexArguments, WorkspaceArguments};

const WRITTEN: u8 = 0;

/// In the current folder, unless told otherwise.
const OUTPUT: &str = "dupi-report.html";

#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 the page was written, 2 wrong usage, unreadable path, nothing scanned, or the page cannot be written.\n\nThe page is one file that needs no other and no network. An older report is overwritten, any other file is not.\n\nExamples:\n  dupi-lsp report                                 the current folder, as dupi-report.html\n  dupi-lsp report src lib -o copies.html          two folders\n  dupi-lsp report --history runs/*.json           with a trend, from what `--check --format json` wrote before\n  dupi-lsp report --text-limit 0                  places only, no source text in the page\n  dupi-lsp report -o - > page.html                to standard output"
)]
pub struct Arguments {
    #[command(flatten)]
    workspace: WorkspaceArguments,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = OUTPUT)]
    output: PathBuf,
    /// JSON reports of earlier runs, oldest first, for a trend
    #[arg(long, value_name = "FILE", num_args = 1..)]
    history: Vec<PathBuf>,
    /// Show the source text of the worst classes, as many as fit into so many MB of the page
    #[arg(long, value_name = "MB", default_value_t = html::TEXT_LIMIT)]
    text_limit: u64,
    #[command(flatten)]
    index: IndexArguments,
    /// Read all files, and keep nothing for the next time
    #[arg(long, conflicts_with_all = ["index_dir", "memory"])]
    no_index: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let start = Instant::now();
    let output = Output::new(&arguments.output)?;
    let history = arguments.history.iter().map(|path| history::read(path)).collect::<Result<Vec<_>>>()?;
    let workspace = arguments.workspace.workspace()?;
    let Found { report, mut indexed, .. } = find(&arguments.index, arguments.no_index, &workspace, None)?;
    if report.files.is_empty() {
        bail!("nothing scanned: no source file under {}{}", workspace.root.display(), text::skipped(&report));
    }
    let line = ProgressLine::new();
    line.show("writing the page");
    let places = places(&report, indexed.as_mut(), &workspace)?;
    let details = html::Details { history, text_limit: arguments.text_limit.saturating_mul(1_000_000) };
    let mut page = Vec::new();
    let written = html::write(&mut page, &report, &places, &details);
    line.clear();
    let n_texts = written?;
    output.write(&page)?;
    tidy(indexed.as_mut(), &workspace)?;
    if let Output::File(path) = &output {
        let summary = Summary::new(&report);
        let texts = match report.classes.len() - n_texts {
            0 => String::new(),
            _ => format!(" (with the texts of the worst {n_texts}: --text-limit allows more)"),
        };
        writeln!(
            anstream::stdout(),
            "wrote {}: {} in {}{texts}, {:.1} % duplicated; {} in {:.2} s",
            escape(&path.display().to_string()),
            count(report.classes.len() as u64, "class", "classes"),
            count(report.files.len() as u64, "file", "files"),
            summary.percent(),
            bytes(page.len() as u64),
            start.elapsed().as_secs_f64(),
        )?;
    }
    Ok(ExitCode::from(WRITTEN))
}

/// Where the page goes.
enum Output {
    Standard,
    File(PathBuf),
}

impl Output {
    /// Refuses what it would be a pity to lose, before any work is done.
    fn new(path: &Path) -> Result<Output> {
        if path == Path::new("-") {
            return Ok(Output::Standard);
        }
        output::check(path, html::is_page).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Output::File(path.to_owned()))
    }

    fn write(&self, page: &[u8]) -> Result<()> {
        let path = match self {
            Output::Standard => return Ok(unless_closed(std::io::stdout().lock().write_all(page))?),
            Output::File(path) => path,
        };
        let write = || {
            let mut draft = Draft::create(path, html::is_page)?;
            draft.write_all(page)?;
            draft.finish()
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }
}
