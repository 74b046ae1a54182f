//! `workspace/didChangeWorkspaceFolders`: each folder has an index of its own, which comes and goes with it.

use tower_lsp::ls_types::DidChangeWorkspaceFoldersParams;

use super::session::Session;
use super::{status, uris};

pub fn apply(session: &mut Session, params: DidChangeWorkspaceFoldersParams) {
    for folder in params.event.removed {
        if let Some(root) = uris::path(&folder.uri) {
            session.remove_folder(&root);
        }
    }
    for folder in params.event.added {
        session.add_folder(folder);
    }
    session.sort_documents();
    status::tell(session);
}
