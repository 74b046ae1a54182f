//! `initialized`: the client may be asked things now: for its settings, and to tell of changes on disk.

use std::time::Duration;

use serde_json::json;
use tower_lsp::ls_types::request::RegisterCapability;
use tower_lsp::ls_types::{Registration, RegistrationParams};

use super::did_change_configuration::pull;
use super::session::Session;

/// A client that does not answer for its settings by then is taken to have none.
const PATIENCE: Duration = Duration::from_secs(1);

pub fn apply(session: &mut Session) {
    let mut registrations = Vec::new();
    if session.offered.watches {
        // All files: a folder that goes is told of by its own name only, and scripts have no extension.
        let options = json!({"watchers": [{"globPattern": "**/*"}]});
        registrations.push(registration("workspace/didChangeWatchedFiles", options));
    }
    if session.offered.configuration_registration {
        registrations.push(registration("workspace/didChangeConfiguration", json!({"section": "dupi"})));
    }
    if !registrations.is_empty() {
        let (queue, watches) = (session.queue.clone(), session.offered.watches);
        session.outbox.request::<RegisterCapability>(
            RegistrationParams { registrations },
            move |answer| match answer {
                // The client reports no change from before it answered. Folders that are open by then may have been read
                // before such a change; all others are still to be read.
                Ok(()) if watches => queue.post(Session::look_again),
                Ok(()) => {}
                Err(error) => tracing::warn!("the client tells of no changes: {error}"),
            },
        );
    }
    if !session.offered.configuration {
        return session.open_folders();
    }
    pull(session);
    let queue = session.queue.clone();
    session.outbox.after(PATIENCE, move || queue.post(Session::open_folders));
}

fn registration(method: &str, options: serde_json::Value) -> Registration {
    Registration { id: format!("dupi/{method}"), method: method.to_owned(), register_options: Some(options) }
}
