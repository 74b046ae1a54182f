//! `window/workDoneProgress/cancel`: what is being indexed is left as it is.

use tower_lsp::ls_types::{ProgressToken, WorkDoneProgressCancelParams};

use super::session::Session;

pub fn apply(session: &mut Session, params: WorkDoneProgressCancelParams) {
    let is_meant = |token: &ProgressToken| *token == params.token;
    for folder in &mut session.folders {
        if folder.progress.as_ref().map(|progress| &progress.token).is_some_and(is_meant) {
            tracing::warn!(
                "indexing {} was cancelled: copies that were not found until then are not shown",
                folder.name
            );
            folder.was_cancelled = true;
            folder.indexer.cancel();
        }
    }
}
