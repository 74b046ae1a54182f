//! From a file of the workspace to what is remembered of it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::Index;
use crate::document::{self, Document, Scratch};
use crate::files::Source;
use crate::freshness::{self, Known, Reading, read_settled};
use crate::quarantine::Sample;
use crate::segment::{Entry, Fresh, What};
use crate::skip::SkipReason;

/// What became of a file that was read.
pub(super) enum Read {
    /// New, or with another content.
    New(Fresh),
    /// The content is as it was; only when it was written is not.
    Same(Fresh),
    /// It is no longer there.
    Gone,
}

impl Index {
    pub(super) fn read(&self, source: &Source, reading: Reading, scratch: &mut Scratch) -> Read {
        let settings = &self.workspace.settings;
        let started = SystemTime::now();
        if dupi_grammars::by_path(&source.path).is_none() {
            let known = Known::new(source.stamp, 0, started);
            match document::starts_with_shebang(&source.path) {
                Ok(true) => {}
                Ok(false) => return self.remember(source, known, Ok(None)),
                Err(_) => return self.remember(source, known.unsettled(), Ok(None)),
            }
        }
        let (bytes, stamp) = match read_settled(&source.path, settings.max_file_bytes, reading) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::NotFound => return Read::Gone,
            Err(error) => {
                let known = Known::new(source.stamp, 0, started);
                // Its size says so, unless it was another one when the folder was walked.
                let is_settled = error.kind() == ErrorKind::FileTooLarge && source.stamp.size > settings.max_file_bytes;
                let known = if is_settled { known } else { known.unsettled() };
                return self.remember(source, known, Err(SkipReason::of(&error)));
            }
        };
        let content = freshness::content(&bytes);
        if let Some((part, ordinal, entry)) = self.current(&source.shown)
            && entry.known.content == content
            && entry.known.stamp.size == stamp.size
        {
            let known = Known::new(stamp, content, started);
            // Not if it was cut since the refresh began: then the file is parsed again.
            let document = if part.segment.is_whole() { part.segment.document(ordinal) } else { None };
            // What has ended a process is tried again by each, which quarantine decides.
            let is_tried = matches!(entry.what, What::Skipped(SkipReason::Quarantined));
            if document.is_some() || !entry.is_document() && !is_tried {
                return Read::Same(Fresh { entry: Entry { known, ..entry.clone() }, document });
            }
        }
        let tokenize = || Document::parse(source, &bytes, settings, scratch);
        let sample = Sample { content, path: &source.path, language: None, bytes: &bytes };
        let known = Known::new(stamp, content, started);
        match self.quarantine.guard(sample, tokenize) {
            Some(document) => self.remember(source, known, document),
            None => self.remember(source, known.unsettled(), Err(SkipReason::Quarantined)),
        }
    }

    fn remember(&self, source: &Source, known: Known, read: Result<Option<Document>, SkipReason>) -> Read {
        let what = match &read {
            Ok(Some(document)) => What::Document {
                language: document.language,
                n_lines: document.n_lines,
                n_tokens: document.codes.len() as u32,
                generated: document.generated,
            },
            Ok(None) => What::Other,
            Err(reason) => What::Skipped(*reason),
        };
        let path = source.path.strip_prefix(&self.workspace.root).unwrap_or(&source.path);
        let path = (path != Path::new(&source.shown)).then(|| path.to_owned());
        let entry = Entry { shown: source.shown.clone(), path, known, what };
        // What is not looked into (too large, no source) has no content: it is the same as long as that is so.
        let before = self.current(&source.shown).map(|(_, _, before)| (before.known.content, before.what));
        let same = match (before, what) {
            (Some((_, What::Other)), What::Other) => known.content == 0,
            (Some((content, What::Skipped(before))), What::Skipped(now)) => content == known.content && before == now,
            _ => false,
        };
        let file = Fresh { entry, document: read.ok().flatten().map(Arc::new) };
        if same { Read::Same(file) } else { Read::New(file) }
    }
}
