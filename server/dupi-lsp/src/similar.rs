//! `dupi-lsp similar`: which files are alike. One file for each way to tell.

mod containment;
mod simhash;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use crate::terminal::{Top, top};
use crate::workspace::QueryArguments;

/// As many as a person reads.
const TOP: usize = 25;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The share of a file's chunks that stand in another
    Containment,
    /// How few bits of their simhashes differ
    Simhash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// For spreadsheets: a line for each file and another
    Csv,
}

#[derive(clap::Args)]
#[command(
    after_help = "A chunk is a blot that winnowing keeps of a file, counted once. One that stands in more than 1000 files tells nothing of any two, and counts for none.\nExit code: 0 done, 2 wrong usage, no such file or nothing indexed.\n\nExamples:\n  dupi-lsp similar                              the files most contained in others\n  dupi-lsp similar src/main.go                  who has how much of this file, and it of them\n  dupi-lsp similar --format csv > table.csv     the whole table: 100 others for each file at most\n  dupi-lsp similar --format json | jq '.[0]'\n  dupi-lsp similar --by simhash                             all files of which few bits differ\n  dupi-lsp similar --by simhash src/main.go                 those that are near this file\n  dupi-lsp similar --by simhash --functions --distance 2    functions instead of files, nearer ones\n  dupi-lsp similar --by simhash --weights tf-idf            what stands everywhere counts for less"
)]
pub struct Arguments {
    /// A file of the workspace [default: all of them]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// How to tell
    #[arg(long, value_enum, default_value = "containment")]
    by: By,
    /// How to report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// How many to show as text, or `all`
    #[arg(long, value_name = "N|all", value_parser = top, default_value_t = Top(TOP))]
    top: Top,
    /// Leave out files with fewer chunks, if not one file is asked about
    #[arg(long, value_name = "N", default_value_t = 10)]
    min_chunks: u32,
    #[command(flatten)]
    simhash: simhash::SimhashArguments,
    #[command(flatten)]
    query: QueryArguments,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match arguments.by {
        By::Containment => containment::run(arguments),
        By::Simhash => simhash::run(arguments),
    }
}
