//! `textDocument/didChange`: edits, one after the other. What cannot be applied makes the text unknown until it is sent
//! whole.

use tower_lsp::ls_types::DidChangeTextDocumentParams;

use super::session::Session;

pub fn apply(session: &mut Session, params: DidChangeTextDocumentParams) {
    let uri = params.text_document.uri.as_str();
    let Some(document) = session.documents.get(uri).cloned() else {
        tracing::warn!("an edit of {uri}, which is not open, is passed over");
        return;
    };
    let stamp = session.stamp();
    let edited = document.edited(params.text_document.version, params.content_changes, session.offered.encoding, stamp);
    if edited.text.is_none() && document.text.is_some() {
        tracing::warn!("an edit of {uri} cannot be applied: it is passed over until the whole text comes");
    }
    session.set_document(edited);
}
