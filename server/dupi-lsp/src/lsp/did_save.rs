//! `textDocument/didSave`: the file on disk is another one now, whether or not somebody watches it.

use tower_lsp::ls_types::DidSaveTextDocumentParams;

use super::session::Session;
use super::{did_change_watched_files, uris};

pub fn apply(session: &mut Session, params: DidSaveTextDocumentParams) {
    if let Some(path) = uris::path(&params.text_document.uri) {
        did_change_watched_files::look_at(session, vec![path]);
    }
}
