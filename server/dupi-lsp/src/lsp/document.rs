//! A document that the client has open: its text as the client has it. Never changes: an edit makes another one.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use dupi::snapshot::Buffer;
use tower_lsp::ls_types::{TextDocumentContentChangeEvent, TextDocumentItem, Uri};

use super::folder::{FolderId, Reading};
use super::positions::{Encoding, Lines};
use super::uris;
use crate::languages::by_editors_name;

pub struct Document {
    /// As the client spells it: it is answered by that name.
    pub uri: Uri,
    /// The file that it is, or that it speaks of.
    pub path: PathBuf,
    /// Whether it is a file: others are compared, and nobody is compared with them.
    pub is_file: bool,
    language_id: String,
    pub version: i32,
    /// None if a change could not be applied: what the client has is not known until it sends the whole text.
    pub text: Option<Arc<str>>,
    /// Greater than that of any document that was opened or changed before.
    pub stamp: u64,
    /// For each folder in which it counts, whether it would be read if it were saved there.
    folders: Vec<Reading>,
    /// Whether it was edited since it was opened.
    is_edit: bool,
    buffers: OnceLock<Vec<(FolderId, Arc<Buffer>)>>,
}

impl Document {
    pub fn open(item: TextDocumentItem, stamp: u64) -> Document {
        Document {
            is_file: uris::is_file(&item.uri),
            path: uris::any_path(&item.uri),
            uri: item.uri,
            language_id: item.language_id,
            version: item.version,
            text: Some(item.text.into()),
            stamp,
            folders: Vec::new(),
            is_edit: false,
            buffers: OnceLock::new(),
        }
    }

    /// The document after an edit.
    pub fn edited(
        &self,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
        stamp: u64,
    ) -> Document {
        let mut text = self.text.as_deref().map(str::to_owned);
        for change in changes {
            text = match change.range {
                None => Some(change.text),
                Some(range) => text.and_then(|mut text| {
                    let lines = Lines::new(&text, encoding);
                    let (start, end) = (lines.offset(range.start), lines.offset(range.end));
                    (start <= end).then(|| {
                        text.replace_range(start..end, &change.text);
                        text
                    })
                }),
            };
        }
        Document { is_edit: true, ..self.with(version, text.map(Arc::from), stamp, self.folders.clone()) }
    }

    /// The same text, counted in other folders.
    pub fn moved(&self, folders: Vec<Reading>) -> Document {
        self.with(self.version, self.text.clone(), self.stamp, folders)
    }

    fn with(&self, version: i32, text: Option<Arc<str>>, stamp: u64, folders: Vec<Reading>) -> Document {
        Document {
            uri: self.uri.clone(),
            path: self.path.clone(),
            is_file: self.is_file,
            language_id: self.language_id.clone(),
            version,
            text,
            stamp,
            folders,
            is_edit: self.is_edit,
            buffers: OnceLock::new(),
        }
    }

    /// What it is in each of its folders. Tokenized when it is first asked for: of many edits at once only the last is.
    pub fn buffers(&self) -> &[(FolderId, Arc<Buffer>)] {
        self.buffers.get_or_init(|| {
            let Some(text) = &self.text else { return Vec::new() };
            // What is a file has the language of its name, as on disk; else it is the one that the client says.
            let language = if self.is_file { None } else { by_editors_name(&self.language_id) };
            let buffer = |Reading { folder, workspace, quarantine }: &Reading| {
                let buffer = workspace.buffer(&self.path, language, text.as_bytes(), quarantine, self.is_edit);
                (*folder, Arc::new(buffer))
            };
            self.folders.iter().map(buffer).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use tower_lsp::ls_types::{Position, Range};

    use super::*;

    fn document(text: &str) -> Document {
        let uri = Uri::from_str("untitled:a").expect("a URI");
        Document::open(TextDocumentItem { uri, language_id: "go".into(), version: 1, text: text.into() }, 0)
    }

    fn change(range: Option<(u32, u32, u32, u32)>, text: &str) -> TextDocumentContentChangeEvent {
        let range = range.map(|(a, b, c, d)| Range::new(Position::new(a, b), Position::new(c, d)));
        TextDocumentContentChangeEvent { range, range_length: None, text: text.into() }
    }

    #[test]
    fn changes_of_one_edit_are_applied_one_after_the_other() {
        let edits = vec![change(Some((0, 1, 0, 1)), "x\n"), change(Some((1, 0, 9, 9)), "y")];
        let edited = document("ab\ncd\n").edited(2, edits, Encoding::Utf16, 1);
        assert_eq!((edited.text.as_deref(), edited.version), (Some("ax\ny"), 2));
    }

    #[test]
    fn what_cannot_be_applied_is_out_of_sync_until_the_whole_text_comes() {
        let lost = document("ab\ncd\n").edited(2, vec![change(Some((1, 1, 0, 0)), "x")], Encoding::Utf16, 1);
        assert_eq!(lost.text, None);
        let still = lost.edited(3, vec![change(Some((0, 0, 0, 0)), "x")], Encoding::Utf16, 2);
        assert_eq!(still.text, None);
        assert_eq!(still.edited(4, vec![change(None, "ef")], Encoding::Utf16, 3).text.as_deref(), Some("ef"));
    }
}
