//! `workspace/didChangeConfiguration`: pushed with the settings, or a sign to ask for them.

use tower_lsp::ls_types::request::WorkspaceConfiguration;
use tower_lsp::ls_types::{ConfigurationItem, ConfigurationParams, DidChangeConfigurationParams};

use super::session::Session;

pub fn apply(session: &mut Session, params: DidChangeConfigurationParams) {
    if session.offered.configuration {
        pull(session);
    } else {
        session.prefer(&params.settings);
    }
}

/// Asks the client for its settings.
pub fn pull(session: &mut Session) {
    let item = ConfigurationItem { scope_uri: None, section: Some("dupi".to_owned()) };
    let queue = session.queue.clone();
    session.outbox.request::<WorkspaceConfiguration>(ConfigurationParams { items: vec![item] }, move |answer| {
        let written = answer.ok().and_then(|mut answers| answers.pop());
        queue.post(move |session| {
            if let Some(written) = written {
                session.prefer(&written);
            }
            session.open_folders();
        });
    });
}
