//! `dupi-lsp corpus apply`: the documents that stay.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use dupi::minhash::flags::{self, STAYS};
use dupi::output::{Draft, Ends};
use serde::Serialize;

use super::input::{Document, Input};
use crate::terminal::{count, note, unless_closed};

#[derive(clap::Args)]
#[command(
    after_help = "Lines come out as they were, those that are no documents included. A source file of a folder becomes a line of JSON with its path and its text.\n\nExamples:\n  dupi-lsp corpus apply code.mh.f code.jsonl > clean.jsonl\n  dupi-lsp corpus apply all.mh.f part-*.jsonl -o clean.jsonl   the inputs of `corpus hash`, in the same order"
)]
pub struct Arguments {
    /// The flags: HASHES.f
    #[arg(value_name = "FLAGS")]
    flags: PathBuf,
    /// What was hashed: the same inputs in the same order
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Where they go [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A source file as a document.
#[derive(Serialize)]
struct JsonDocument<'a> {
    path: &'a str,
    text: &'a str,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let flags = flags::read(&arguments.flags)?;
    let inputs = arguments.inputs.iter().map(|path| Input::open(path)).collect::<Result<Vec<Input>>>()?;
    let mut out = match &arguments.output {
        Some(path) if arguments.inputs.contains(path) => bail!("{} would be written over itself", path.display()),
        Some(path) => {
            let draft = Draft::create(path, is_lines_of_json);
            let mut draft = draft.with_context(|| format!("cannot write {}", path.display()))?;
            write_all(&mut draft, arguments, &flags, inputs)?;
            return draft.finish().with_context(|| format!("cannot write {}", path.display()));
        }
        None => BufWriter::with_capacity(1 << 20, io::stdout()),
    };
    write_all(&mut out, arguments, &flags, inputs)
}

/// Is a file made of objects in JSON, one a line? Only the first line is looked at; one may be longer than that.
fn is_lines_of_json(ends: &Ends) -> bool {
    let line = ends.first.split(|&b| b == b'\n').next().unwrap_or_default();
    let is_whole = line.len() < ends.first.len();
    line.starts_with(b"{") && (!is_whole || serde_json::from_slice::<serde_json::Value>(line).is_ok())
}

fn write_all(out: &mut impl Write, arguments: &Arguments, flags: &[u8], inputs: Vec<Input>) -> Result<()> {
    let mut flags_left = flags.iter();
    for mut input in inputs {
        let mut open_line = false;
        loop {
            let batch = input.batch()?;
            if batch.is_empty() {
                break;
            }
            for document in &batch {
                let Some(flag) = flags_left.next() else {
                    bail!(
                        "{} has only {}: are these the inputs that were hashed?",
                        arguments.flags.display(),
                        count(flags.len() as u64, "flag", "flags")
                    );
                };
                if *flag == STAYS && is_closed(write(out, document))? {
                    return Ok(());
                }
                open_line = *flag == STAYS && matches!(document, Document::Line(line) if line.last() != Some(&b'\n'));
            }
        }
        // Else what follows would stand on the same line.
        if open_line && is_closed(out.write_all(b"\n"))? {
            return Ok(());
        }
    }
    unless_closed(out.flush())?;
    match flags_left.len() {
        0 => Ok(()),
        n => bail!("{} more than documents: are these the inputs that were hashed?", count(n as u64, "flag", "flags")),
    }
}

/// Who closes the pipe has seen enough.
fn is_closed(written: io::Result<()>) -> io::Result<bool> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        written => written.map(|()| false),
    }
}

fn write(out: &mut impl Write, document: &Document) -> io::Result<()> {
    match document {
        Document::Line(line) => out.write_all(line),
        Document::File(path, text) => {
            serde_json::to_writer(&mut *out, &JsonDocument { path, text })?;
            out.write_all(b"\n")
        }
        Document::Unreadable(why) => {
            note(why);
            Ok(())
        }
    }
}
