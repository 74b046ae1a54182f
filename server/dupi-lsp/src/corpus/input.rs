//! Where documents come from: lines of JSON in files or on standard input, and source files of folders.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dupi::Settings;
use dupi::files::{self, Source};
use dupi::regular;

/// Standard input, as it is written.
const STDIN: &str = "-";
/// A longer line is read in pieces, of which none is a document: each takes several times its size in memory.
const MAX_LINE: u64 = 256 << 20;
/// How much is read at a time: enough for all threads.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_DOCUMENTS: usize = 4096;

/// A document as it was read.
pub enum Document {
    /// A line of JSON, with its line break if it has one.
    Line(Vec<u8>),
    /// A source file: its path as it is shown, and its text.
    File(String, String),
    /// A file that cannot be read, and why.
    Unreadable(String),
}

enum Kind {
    Lines(Box<dyn BufRead + Send>),
    Files(PathBuf, std::vec::IntoIter<Source>),
}

/// One input, read from its first document to its last.
pub struct Input {
    pub name: String,
    kind: Kind,
    /// How many bytes there are, if that is known.
    pub bytes: Option<u64>,
    n_read: u64,
}

impl Input {
    pub fn open(path: &Path) -> Result<Input> {
        let name = path.display().to_string();
        if path == Path::new(STDIN) {
            let kind = Kind::Lines(Box::new(BufReader::with_capacity(1 << 20, io::stdin())));
            return Ok(Input { name, kind, bytes: None, n_read: 0 });
        }
        let meta = std::fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
        if meta.is_dir() {
            let root = path.canonicalize().with_context(|| format!("cannot read {name}"))?;
            let found = files::find(&root, std::slice::from_ref(&root), &Settings::default())?;
            let sources: Vec<Source> = found.sources.into_iter().filter(is_source).collect();
            let bytes = Some(sources.iter().map(|source| source.stamp.size).sum());
            return Ok(Input { name, kind: Kind::Files(root, sources.into_iter()), bytes, n_read: 0 });
        }
        let (file, meta) = regular::open_stream(path).with_context(|| format!("cannot read {name}"))?;
        let kind = Kind::Lines(Box::new(BufReader::with_capacity(1 << 20, file)));
        Ok(Input { name, kind, bytes: meta.is_file().then_some(meta.len()), n_read: 0 })
    }

    /// Where its n-th document (from 0) is.
    pub fn place(&self, n: u64) -> String {
        format!("{}:{}", self.name, n + 1)
    }

    /// The next documents, in their order; none at the end.
    pub fn batch(&mut self) -> Result<Vec<Document>> {
        let mut documents = Vec::new();
        let mut n_bytes = 0;
        while n_bytes < BATCH_BYTES && documents.len() < BATCH_DOCUMENTS {
            let Some(document) = self.next().with_context(|| format!("cannot read {}", self.name))? else { break };
            n_bytes += document.len();
            documents.push(document);
        }
        self.n_read += n_bytes as u64;
        Ok(documents)
    }

    /// How many bytes were read.
    pub fn n_read(&self) -> u64 {
        self.n_read
    }

    fn next(&mut self) -> io::Result<Option<Document>> {
        match &mut self.kind {
            Kind::Lines(lines) => next_line(lines),
            Kind::Files(root, sources) => Ok(sources.next().map(|source| read(root, source))),
        }
    }
}

impl Document {
    fn len(&self) -> usize {
        match self {
            Document::Line(line) => line.len(),
            Document::File(_, text) => text.len(),
            Document::Unreadable(_) => 0,
        }
    }
}

fn next_line(lines: &mut dyn BufRead) -> io::Result<Option<Document>> {
    let mut line = Vec::new();
    if lines.take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(Document::Line(line)))
}

/// What a folder has a document for.
fn is_source(source: &Source) -> bool {
    dupi_grammars::by_path(&source.path).is_some() && source.stamp.size <= MAX_LINE
}

fn read(root: &Path, source: Source) -> Document {
    let shown = source.path.strip_prefix(root).map_or_else(|_| source.shown.clone(), files::show);
    match regular::read_to_string(&source.path, MAX_LINE) {
        Ok(text) => Document::File(shown, text),
        Err(error) => Document::Unreadable(format!("{shown}: {error}")),
    }
}
