//! `dupi-lsp corpus other`: what another corpus has already.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use dupi::minhash::seen::Seen;
use dupi::minhash::sieve;

use super::{MemoryArguments, ThreadArguments, comparing, flag, open, read_flags};
use crate::terminal::ProgressLine;

#[derive(clap::Args)]
#[command(
    after_help = "A document is a duplicate if one of those in the index has one of its buckets. Flags in HASHES.f become 0, and never 1 again.\n\nExamples:\n  dupi-lsp corpus self old.mh --index old.idx   makes an index\n  dupi-lsp corpus other old.idx new.mh          what of the new is in the old"
)]
pub struct Arguments {
    /// A file of `corpus self --index`
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Files of `corpus hash`
    #[arg(value_name = "HASHES", required = true)]
    hashes: Vec<PathBuf>,
    #[command(flatten)]
    memory: MemoryArguments,
    #[command(flatten)]
    threads: ThreadArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut seen = Seen::open(&arguments.index)?;
    let group = open(&arguments.hashes, Some((seen.shape(), &arguments.index)))?;
    let mut out = anstream::stdout().lock();
    for mut hashes in group {
        let flags = read_flags(&hashes)?;
        let line = ProgressLine::new();
        let duplicates = arguments
            .threads
            .run(|| sieve::against(&mut hashes, &mut seen, arguments.memory.bytes(), &comparing(&line)));
        line.clear();
        writeln!(out, "{}", flag(&hashes, flags, &duplicates??)?)?;
    }
    Ok(())
}
