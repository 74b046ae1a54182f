//! `dupi-lsp corpus hash`: from documents to their buckets, and flags that say that all of them stay.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use dupi::minhash::features::Features;
use dupi::minhash::flags::{self, STAYS};
use dupi::minhash::hashes::HashesWriter;
use dupi::minhash::{BUCKETS, Bucket, Function, Hasher, Of, Shape, WIDTH};
use dupi::output::Draft;
use dupi_grammars::Language;
use rayon::prelude::*;
use serde_json::value::RawValue;

use super::ThreadArguments;
use super::input::{Document, Input};
use crate::terminal::{ProgressLine, bar, bytes, count, note};

/// Broken lines that are told on standard error: the rest is in a file.
const TOLD: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HashName {
    /// MurmurHash3 (x86), 32 bits
    Murmur3,
    /// XXH3, 64 bits
    Xxh3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Each five characters (of Unicode) in a row
    Chars,
    /// Each five tokens in a row: blanks and comments do not count
    Tokens,
}

#[derive(clap::Args)]
#[command(
    after_help = "Beside OUTPUT it writes OUTPUT.f, the flags, and OUTPUT.err with all lines that are no document, if there are any: they are kept and never compared.\n\nExamples:\n  dupi-lsp corpus hash code.jsonl -o code.mh\n  zcat code.jsonl.gz | dupi-lsp corpus hash - --key content -o code.mh\n  dupi-lsp corpus hash part-*.jsonl -o all.mh --hash murmur3 --threads 8\n  dupi-lsp corpus hash ~/src/linux -o linux.mh --by tokens       a folder of source\n  dupi-lsp corpus hash py.jsonl -o py.mh --by tokens --lang python"
)]
pub struct Arguments {
    /// Lines of JSON, folders of source, or `-` for lines on standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Where the hashes go
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The key whose value is the text of a document
    #[arg(long, value_name = "KEY", default_value = "text")]
    key: String,
    /// Which hash
    #[arg(long, value_enum, default_value = "xxh3")]
    hash: HashName,
    /// What documents are compared by
    #[arg(long, value_enum, default_value = "chars")]
    by: By,
    /// Hashes in a bucket, all of which must be equal
    #[arg(long, short, value_name = "N", default_value_t = WIDTH)]
    bucket: u32,
    /// Buckets of a document, of which one must be equal
    #[arg(long, short = 'r', value_name = "N", default_value_t = BUCKETS)]
    buckets: u32,
    /// The language of all documents, for --by tokens [default: what the path says]
    #[arg(long, value_name = "NAME")]
    lang: Option<String>,
    /// The key whose value is the path of a document, for --by tokens
    #[arg(long, value_name = "KEY", default_value = "path")]
    path_key: String,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Arguments {
    fn shape(&self) -> Result<Shape> {
        let function = match self.hash {
            HashName::Murmur3 => Function::Murmur3,
            HashName::Xxh3 => Function::Xxh3,
        };
        let of = match self.by {
            By::Chars => Of::Characters,
            By::Tokens => Of::Tokens,
        };
        let shape = Shape { function, of, width: self.bucket, buckets: self.buckets };
        match shape.problem() {
            Some(problem) => bail!("`--bucket`, `--buckets`: {problem}"),
            None => Ok(shape),
        }
    }

    fn language(&self) -> Result<Option<&'static Language>> {
        let Some(name) = &self.lang else { return Ok(None) };
        dupi_grammars::by_name(name).map(Some).ok_or_else(|| anyhow!("`--lang`: no such language: `{name}`"))
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let reader = Reader { arguments, shape: arguments.shape()?, language: arguments.language()? };
    let start = Instant::now();
    let line = ProgressLine::new();
    let done = arguments.threads.run(|| reader.hash_all(&line));
    line.clear();
    let Done { documents, bytes: n_bytes, broken } = done??;
    flags::write(&flags::beside(&arguments.output), &vec![STAYS; documents as usize])?;
    tell(&broken, &arguments.output)?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = bytes((n_bytes as f64 / seconds.max(1e-9)) as u64);
    let what = count(documents, "document", "documents");
    writeln!(anstream::stdout(), "hashed {what}, {} in {seconds:.2} s ({rate}/s)", bytes(n_bytes))?;
    if documents == 0 {
        bail!("nothing hashed: no document in {}", shown(&arguments.inputs));
    }
    Ok(())
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Names what is no document: all in a file, the first ones on standard error.
fn tell(broken: &[String], output: &Path) -> Result<()> {
    let mut path = output.as_os_str().to_owned();
    path.push(".err");
    let path = PathBuf::from(path);
    // What is there is of another time; a link goes, and not what it leads to.
    let _ = std::fs::remove_file(&path);
    if broken.is_empty() {
        return Ok(());
    }
    let write = || {
        let mut draft = Draft::create(&path, |_| false)?;
        broken.iter().try_for_each(|line| writeln!(draft, "{line}"))?;
        draft.finish()
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    broken.iter().take(TOLD).for_each(|line| note(line));
    let n = count(broken.len() as u64, "line or file is", "lines or files are");
    note(&format!("{n} no document, kept and never compared: all of them in {}", path.display()));
    Ok(())
}

struct Done {
    documents: u64,
    bytes: u64,
    broken: Vec<String>,
}

/// Reads texts out of documents, and hashes them.
struct Reader<'a> {
    arguments: &'a Arguments,
    shape: Shape,
    language: Option<&'static Language>,
}

impl Reader<'_> {
    fn hash_all(&self, line: &ProgressLine) -> Result<Done> {
        // All of them first: a name that is wrong is told before hours of work.
        let inputs: Vec<Input> = self.arguments.inputs.iter().map(|path| Input::open(path)).collect::<Result<_>>()?;
        let all: Option<u64> = inputs.iter().map(|input| input.bytes).sum();
        let mut writer = HashesWriter::create(&self.arguments.output, self.shape)?;
        let hasher = Hasher::new(self.shape);
        let mut done = Done { documents: 0, bytes: 0, broken: Vec::new() };
        for mut input in inputs {
            writer.begin(input.name.clone());
            let (before, mut n) = (done.bytes, 0);
            loop {
                let batch = input.batch()?;
                if batch.is_empty() {
                    break;
                }
                let hash = |features: &mut Features, document: &Document| self.buckets(document, &hasher, features);
                let hashed: Vec<Result<Vec<Bucket>, String>> =
                    batch.par_iter().with_max_len(16).map_init(Features::default, hash).collect();
                for buckets in hashed {
                    writer.put(buckets.as_deref().ok())?;
                    if let Err(why) = buckets {
                        done.broken.push(format!("{}: {why}", input.place(n)));
                    }
                    n += 1;
                }
                done.bytes = before + input.n_read();
                let share = all.map_or(String::new(), |all| format!("{} ", bar(done.bytes, all)));
                let what = count(done.documents + n, "document", "documents");
                line.show(format!("hashing {share}· {what} · {}", bytes(done.bytes)));
            }
            done.documents += n;
        }
        writer.finish()?;
        Ok(done)
    }

    /// The buckets of a document, or why it is none.
    fn buckets(&self, document: &Document, hasher: &Hasher, features: &mut Features) -> Result<Vec<Bucket>, String> {
        let (text, path) = match document {
            Document::Line(line) => {
                let (text, path) = self.pick(line)?;
                (Cow::Owned(text), path)
            }
            Document::File(path, text) => (Cow::Borrowed(text.as_str()), Some(path.clone())),
            Document::Unreadable(why) => return Err(why.clone()),
        };
        match self.shape.of {
            Of::Characters => features.read_text(&text),
            Of::Tokens => {
                let path = path.as_deref().map(Path::new);
                let language = self.language.or_else(|| dupi_grammars::by_path(path?));
                features.read_tokens(language, &text);
            }
        }
        Ok(hasher.buckets(features))
    }

    /// The text of a line, and its path if one is wanted and there.
    fn pick(&self, line: &[u8]) -> Result<(String, Option<String>), String> {
        let object: HashMap<String, &RawValue> =
            serde_json::from_slice(line.trim_ascii_end()).map_err(|error| without_line(&error))?;
        let value = |key: &str| object.get(key).and_then(|value| serde_json::from_str::<String>(value.get()).ok());
        let text = value(&self.arguments.key).ok_or_else(|| format!("no text at the key `{}`", self.arguments.key))?;
        Ok((text, if self.shape.of == Of::Tokens { value(&self.arguments.path_key) } else { None }))
    }
}

/// What is wrong with a line; its number is told otherwise.
fn without_line(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
    if error.column() == 0 { what.to_owned() } else { format!("{what} at column {}", error.column()) }
}
