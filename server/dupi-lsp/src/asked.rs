//! What a verb is asked about: a file, some lines of one, or standard input; as a document of the workspace.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use dupi::Zone;
use dupi::document::Document;
use dupi::index::Workspace;
use dupi::quarantine::Quarantine;
use dupi::regular;

use crate::options::languages;

/// Standard input, as it is written and as it is shown.
const STDIN: &str = "-";

#[derive(clap::Args)]
pub struct LanguageArgument {
    /// The language, if the name does not tell: of standard input, as a rule
    #[arg(long = "as", value_name = "LANGUAGE")]
    language: Option<String>,
}

/// A text to ask about.
pub struct Asked {
    pub document: Arc<Document>,
    /// The lines that count (from 0), if not all do.
    pub lines: Option<Range<u32>>,
}

impl Asked {
    /// The tokens that count.
    pub fn tokens(&self) -> Range<u32> {
        let all = 0..self.document.codes.len() as u32;
        self.lines.clone().map_or(all, |lines| self.document.tokens_on(lines))
    }
}

/// Reads a `FILE` or `-`; and `FILE:L1-L2`, if `lines` may be told.
pub fn read(text: &Path, lines: bool, language: &LanguageArgument, workspace: &Workspace) -> Result<Asked> {
    let (path, lines) = if lines { with_lines(text)? } else { (text.to_owned(), None) };
    let max_bytes = workspace.settings.max_file_bytes;
    let is_stdin = path == Path::new(STDIN);
    let bytes = if is_stdin {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(max_bytes + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
        bytes
    } else {
        regular::read(&path, max_bytes).with_context(|| format!("cannot read {}", path.display()))?
    };
    let named = match &language.language {
        Some(name) => Some(
            dupi_grammars::by_name(name)
                .ok_or_else(|| anyhow!("`--as`: no such language: `{name}`; known are: {}", languages().join(", ")))?,
        ),
        None => dupi_grammars::detect(&path, &bytes),
    };
    let shown = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let Some(language) = named else { bail!("cannot tell the language of {shown}: name it by `--as`") };
    let path = if is_stdin { path } else { path.canonicalize()? };
    // Whether it is generated matters for what is looked through, not for what is asked about.
    let mut reading = workspace.clone();
    reading.settings.zones.push(Zone::Generated);
    let buffer = reading.buffer(&path, Some(language), &bytes, &Quarantine::default(), true);
    let document = match (buffer.document, buffer.skipped) {
        (Some(document), _) if !document.codes.is_empty() => document,
        (_, Some(reason)) => bail!("cannot ask about {shown}: {reason}"),
        _ => bail!("cannot ask about {shown}: there is no code in it"),
    };
    if let Some(lines) = &lines
        && lines.start >= document.n_lines
    {
        bail!("{shown} has no line {}: it has {}", lines.start + 1, document.n_lines);
    }
    Ok(Asked { document, lines })
}

/// `FILE:L1-L2` or `FILE:L`, unless there is a file of that very name.
fn with_lines(text: &Path) -> Result<(PathBuf, Option<Range<u32>>)> {
    let split = text.to_str().and_then(|text| text.rsplit_once(':')).filter(|_| !text.exists());
    let Some((path, lines)) = split else { return Ok((text.to_owned(), None)) };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) if 1 <= first && first <= last => Ok((path.into(), Some(first - 1..last))),
        _ => bail!("`{lines}` are no lines: write {path}:10-20"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_behind_a_colon_and_count_from_1() {
        let read = |text: &str| with_lines(Path::new(text)).ok();
        assert_eq!(read("a.go:3-5"), Some(("a.go".into(), Some(2..5))));
        assert_eq!(read("a:b.go:7"), Some(("a:b.go".into(), Some(6..7))));
        assert_eq!(read("a.go"), Some(("a.go".into(), None)));
        for text in ["a.go:0-5", "a.go:5-3", "a.go:x", "a.go:", "a.go:1-2-3", "a.go:4294967296"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
