//! `textDocument/didClose`: the disk counts again.

use tower_lsp::ls_types::DidCloseTextDocumentParams;

use super::did_change_watched_files;
use super::session::Session;

pub fn apply(session: &mut Session, params: DidCloseTextDocumentParams) {
    if let Some(closed) = session.close_document(params.text_document.uri.as_str())
        && closed.is_file
    {
        // Nobody may have looked at it while it was open.
        did_change_watched_files::look_at(session, vec![closed.path.clone()]);
    }
}
