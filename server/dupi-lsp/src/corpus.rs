//! `dupi-lsp corpus`: the duplicates of corpora of documents, found by MinHash. One file for each step.

mod apply;
mod hash;
mod input;
mod itself;
mod other;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Subcommand;
use dupi::Settings;
use dupi::minhash::Shape;
use dupi::minhash::flags::{self, DUPLICATE};
use dupi::minhash::hashes::Hashes;
use dupi::search::with_threads;

use crate::terminal::{ProgressLine, bar, count, escape, grouped, percent};

#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Documents are lines of JSON, or the source files of folders. A flag file has one character for each: 1 stays, 0 is a duplicate.\nExit code: 0 done, 2 wrong usage, or what cannot be read or written.\n\nExamples:\n  dupi-lsp corpus hash a.jsonl -o a.mh             hash each document; all flags are 1\n  dupi-lsp corpus self a.mh --index a.idx          flag those that are like one before them\n  dupi-lsp corpus hash b.jsonl -o b.mh\n  dupi-lsp corpus other a.idx b.mh                 flag those that are like one of another corpus\n  dupi-lsp corpus self b.mh\n  dupi-lsp corpus apply b.mh.f b.jsonl > clean.jsonl"
)]
pub struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Hash each document of a corpus
    Hash(hash::Arguments),
    /// Flag the documents that are like one before them in the same corpus
    #[command(name = "self")]
    Itself(itself::Arguments),
    /// Flag the documents that are like one of another corpus
    Other(other::Arguments),
    /// Write the documents that stay
    Apply(apply::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.step {
        Step::Hash(arguments) => hash::run(arguments),
        Step::Itself(arguments) => itself::run(arguments),
        Step::Other(arguments) => other::run(arguments),
        Step::Apply(arguments) => apply::run(arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// What all steps that compute have in common.
#[derive(clap::Args)]
struct ThreadArguments {
    /// Threads; 0 means one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

impl ThreadArguments {
    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let settings = Settings { threads: self.threads, ..Settings::default() };
        Ok(with_threads(&settings, Path::new("."), work)?)
    }
}

#[derive(clap::Args)]
struct MemoryArguments {
    /// Compare within this much memory: more passes over the hashes, the same answer
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    memory: u64,
}

impl MemoryArguments {
    fn bytes(&self) -> u64 {
        self.memory << 20
    }
}

/// Opens files of hashes that are to be compared with each other, and with what has this shape.
fn open(paths: &[PathBuf], shape: Option<(Shape, &Path)>) -> Result<Vec<Hashes>> {
    let mut expected = shape.map(|(shape, path)| (shape, path.to_owned()));
    let mut all = Vec::new();
    for path in paths {
        let hashes = Hashes::open(path)?;
        let (shape, of) = expected.get_or_insert_with(|| (hashes.shape(), path.clone()));
        if hashes.shape() != *shape {
            bail!("{} has {}, {} has {}: they cannot be compared", path.display(), hashes.shape(), of.display(), shape);
        }
        all.push(hashes);
    }
    Ok(all)
}

/// The flags of a file of hashes.
fn read_flags(hashes: &Hashes) -> Result<Vec<u8>> {
    let path = flags::beside(hashes.path());
    let flags = flags::read(&path)?;
    if flags.len() as u64 != hashes.len() {
        bail!("{} has {} flags for {} documents: hash them again", path.display(), flags.len(), hashes.len());
    }
    Ok(flags)
}

/// Sets the flags of duplicates and says how many there are now, and how many of them are new.
fn flag(hashes: &Hashes, mut flags: Vec<u8>, duplicates: &[bool]) -> Result<String> {
    let mut fresh = 0;
    for (flag, _) in flags.iter_mut().zip(duplicates).filter(|(_, duplicate)| **duplicate) {
        fresh += u64::from(*flag != DUPLICATE);
        *flag = DUPLICATE;
    }
    flags::write(&flags::beside(hashes.path()), &flags)?;
    let (n, all) = (flags.iter().filter(|flag| **flag == DUPLICATE).count() as u64, flags.len() as u64);
    let new = if fresh == n { String::new() } else { format!(", {} of them new", grouped(fresh)) };
    Ok(format!(
        "{}: {} of {} ({}){new}",
        escape(&hashes.path().display().to_string()),
        count(n, "duplicate", "duplicates"),
        count(all, "document", "documents"),
        percent(n, all)
    ))
}

/// Shows how many bucket places are compared.
fn comparing(line: &ProgressLine) -> impl Fn(u32, u32) + Sync + '_ {
    |done, of| line.show(format!("comparing {}", bar(u64::from(done), u64::from(of))))
}
