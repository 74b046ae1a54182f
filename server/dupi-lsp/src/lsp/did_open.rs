//! `textDocument/didOpen`: from now on the client's text counts, whatever the disk says.

use tower_lsp::ls_types::DidOpenTextDocumentParams;

use super::document::Document;
use super::session::Session;

pub fn apply(session: &mut Session, params: DidOpenTextDocumentParams) {
    let stamp = session.stamp();
    let document = Document::open(params.text_document, stamp);
    session.hurry(&document.path);
    let folders = session.folders_for(&document);
    session.set_document(document.moved(folders));
}
