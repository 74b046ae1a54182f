//! `dupi-lsp check`: reads, searches, reports, and answers with an exit code.

mod json;
mod summary;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use dupi::Progress;

use crate::options::{Options, root};
use crate::terminal::{ProgressLine, grouped};

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
    after_help = "Exit code: 0 nothing duplicated, 1 duplicates found, 2 wrong usage, unreadable path or nothing scanned.\n\nExamples:\n  dupi-lsp --check                               the current folder\n  dupi-lsp --check --zone code --min-tokens 80   code only, longer copies\n  dupi-lsp --check --format json | jq .summary   for programs\n  dupi-lsp --check --exclude 'legacy/**' --top all\n\nThe same keys can stand in dupi.toml at the root of what is checked, for example:\n  min-tokens = 80\n  exclude = [\"legacy/**\"]\n\nIn the source: `dupi:ignore` in a comment before a unit, `dupi:ignore-start` … `dupi:ignore-end`, `dupi:ignore-file`."
)]
pub struct CheckArguments {
    /// Files and folders to check [default: the current folder]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// Do not read dupi.toml
    #[arg(long)]
    no_config: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// How many classes to show as text, or `all`
    #[arg(long, value_name = "N|all", value_parser = top, default_value_t = Top(TOP))]
    top: Top,
    /// List the files that were skipped, and why
    #[arg(long)]
    skipped: bool,
}

/// A number of classes; `all` is more than there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Top(usize);

impl std::fmt::Display for Top {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

fn top(text: &str) -> Result<Top, String> {
    match text {
        "all" => Ok(Top(usize::MAX)),
        _ => text.parse().map(Top).map_err(|_| "neither a number nor `all`".to_owned()),
    }
}

pub fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    let start = Instant::now();
    let paths = if arguments.paths.is_empty() { vec![PathBuf::from(".")] } else { arguments.paths.clone() };
    let root = root(&paths)?;
    let project = if arguments.no_config { Options::default() } else { Options::read(&root)? };
    let settings = arguments.options.clone().or(project).settings()?;
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.canonicalize()).collect::<std::io::Result<_>>()?;
    let line = ProgressLine::new();
    let report = dupi::search(&root, &paths, &settings, &|progress| {
        line.show(|| match progress {
            Progress::Walking => "looking for source files".to_owned(),
            Progress::Reading(n, of) => format!("reading {} of {} files", grouped(n as u64), grouped(of as u64)),
            Progress::Comparing => "comparing".to_owned(),
        });
    });
    line.clear();
    let report = report?;
    let seconds = start.elapsed();
    let mut out = anstream::stdout().lock();
    let written = match arguments.format {
        Format::Text => text::write(&mut out, &report, arguments.top.0, arguments.skipped, seconds),
        Format::Json => json::write(&mut out, &report),
    }
    .and_then(|()| out.flush());
    match written {
        // Who closes the pipe has seen enough; the exit code still tells.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(error.into()),
        _ => {}
    }
    if report.files.is_empty() {
        anyhow::bail!("nothing scanned: no source file under {}{}", root.display(), text::skipped(&report));
    }
    let code = if report.classes.is_empty() { CLEAN } else { DUPLICATES };
    Ok(ExitCode::from(code))
}
