//! `dupi-lsp corpus self`: the duplicates within one corpus, and an index of what was seen.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use dupi::minhash::hashes::Hashes;
use dupi::minhash::seen::SeenWriter;
use dupi::minhash::sieve;

use super::{MemoryArguments, ThreadArguments, comparing, flag, open, read_flags};
use crate::terminal::ProgressLine;

#[derive(clap::Args)]
#[command(
    after_help = "A document is a duplicate if one before it has one of its buckets, be that one a duplicate or not. Flags in HASHES.f become 0, and never 1 again.\n\nExamples:\n  dupi-lsp corpus self a.mh                               one corpus\n  dupi-lsp corpus self part-1.mh part-2.mh                as if they were one, in this order\n  dupi-lsp corpus self a.mh --index a.idx --memory 4096   for `corpus other`"
)]
pub struct Arguments {
    /// Files of `corpus hash`: one corpus together
    #[arg(value_name = "HASHES", required = true)]
    hashes: Vec<PathBuf>,
    /// Write what was seen here, for `corpus other`
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
    #[command(flatten)]
    memory: MemoryArguments,
    #[command(flatten)]
    threads: ThreadArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    for (i, path) in arguments.hashes.iter().enumerate() {
        if arguments.hashes[..i].contains(path) {
            bail!("{} is named twice: all of it would be a duplicate", path.display());
        }
    }
    let mut group = open(&arguments.hashes, None)?;
    let flags = group.iter().map(read_flags).collect::<Result<Vec<Vec<u8>>>>()?;
    let mut index = match &arguments.index {
        Some(path) => Some(SeenWriter::create(path, group[0].shape())?),
        None => None,
    };
    let line = ProgressLine::new();
    let duplicates = arguments
        .threads
        .run(|| sieve::within(&mut group, arguments.memory.bytes(), index.as_mut(), &comparing(&line)));
    line.clear();
    let duplicates = duplicates??;
    index.map_or(Ok(()), SeenWriter::finish)?;
    let mut out = anstream::stdout().lock();
    let mut rest = &duplicates[..];
    for (hashes, flags) in group.iter().zip(flags) {
        let (of_file, behind) = rest.split_at(Hashes::len(hashes) as usize);
        rest = behind;
        writeln!(out, "{}", flag(hashes, flags, of_file)?)?;
    }
    Ok(())
}
