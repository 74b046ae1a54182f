//! `dupi-lsp`, the one binary: what its arguments mean, and which face answers them.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]
#![allow(clippy::print_stderr, reason = "this is the command line")]

mod asked;
mod blot;
mod check;
mod corpus;
mod differences;
mod doctor;
mod extract;
mod git;
mod index;
mod indexer;
mod inspect;
mod languages;
mod like;
mod lsp;
mod markdown;
mod options;
mod preferences;
mod report;
mod similar;
mod terminal;
mod trial;
mod unblot;
mod workspace;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Exit code for wrong usage, unreadable input, or nothing scanned.
const FAILED: u8 = 2;

/// Finds duplicated code.
#[derive(Parser)]
#[command(
    name = "dupi-lsp",
    version,
    about = "Finds duplicated code and says where the copies are",
    after_help = "Without a command it is a language server: an editor starts it and speaks with it.\n\nExamples:\n  dupi-lsp --check              check the current folder\n  dupi-lsp --check src lib      check two folders\n  dupi-lsp report -o page.html  the same as a page to look at\n  dupi-lsp index --stats        what is remembered of the current folder\n  dupi-lsp like main.go:10-30   which code is like these lines\n  dupi-lsp check --help         everything that can be set",
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    server: lsp::ServerArguments,
}

#[derive(Subcommand)]
enum Command {
    /// Report the duplicated code of files and folders (also: `dupi-lsp --check`)
    Check(Box<check::CheckArguments>),
    /// Build or refresh what is remembered of files and folders; show, verify or clear it
    Index(Box<index::Arguments>),
    /// Show which languages are known
    Languages(languages::Arguments),
    /// Write a page that shows the duplicated code of files and folders, for a browser
    Report(Box<report::Arguments>),
    /// List the blots of the workspace, the most frequent first
    Extract(Box<extract::Arguments>),
    /// List the blots of a file or snippet, and how often they stand in the workspace
    Blot(Box<blot::Arguments>),
    /// Show the texts behind blots, and where they stand
    Unblot(Box<unblot::Arguments>),
    /// Find the code that is like a file, some lines of it, or a snippet
    Like(Box<like::Arguments>),
    /// Show how the blots of the workspace are spread
    Inspect(Box<inspect::Arguments>),
    /// Tell which files, or functions, are alike: how much of each stands in others, or by simhash
    Similar(Box<similar::Arguments>),
    /// Find the duplicates of a corpus: documents in lines of JSON, or folders of source
    Corpus(corpus::Arguments),
    /// Say how the program, its index and the workspace are doing, to paste into an issue
    Doctor(Box<doctor::Arguments>),
    /// Show what can be set in an editor
    Settings(preferences::Arguments),
    /// Tokenize standard input, to see whether that ends the process
    #[command(hide = true)]
    Tokenize(trial::Arguments),
}

fn main() -> ExitCode {
    dupi::quarantine::set_trial(trial::ends_its_process);
    let arguments = match Arguments::try_parse_from(with_subcommand(std::env::args_os())) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no errors.
            if !error.use_stderr() {
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            // What is wrong is told with what was written, be it the name of a file that a hook has found.
            if std::io::stderr().is_terminal() {
                let _ = error.print();
            } else {
                error.render().to_string().lines().for_each(|line| eprintln!("{}", terminal::escape(line)));
            }
            return ExitCode::from(FAILED);
        }
    };
    let outcome = match arguments.command {
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Index(arguments)) => index::run(&arguments),
        Some(Command::Languages(arguments)) => languages::run(&arguments),
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Extract(arguments)) => extract::run(&arguments),
        Some(Command::Blot(arguments)) => blot::run(&arguments),
        Some(Command::Unblot(arguments)) => unblot::run(&arguments),
        Some(Command::Like(arguments)) => like::run(&arguments),
        Some(Command::Inspect(arguments)) => inspect::run(&arguments),
        Some(Command::Similar(arguments)) => similar::run(&arguments),
        Some(Command::Corpus(arguments)) => corpus::run(&arguments),
        Some(Command::Doctor(arguments)) => doctor::run(&arguments),
        Some(Command::Settings(arguments)) => preferences::run(&arguments),
        Some(Command::Tokenize(arguments)) => trial::run(&arguments),
        None => lsp::run(arguments.server),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("dupi-lsp: {}", terminal::escape(&format!("{error:#}")));
        ExitCode::from(FAILED)
    })
}

/// `--check` is written like a flag, and means the subcommand of that name.
fn with_subcommand(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    if let Some(at) = arguments[..end].iter().position(|argument| argument == "--check") {
        arguments.remove(at);
        arguments.insert(1, "check".into());
    }
    arguments
}
