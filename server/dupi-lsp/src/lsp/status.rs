//! `dupi/status`: how far the server is, so that "nothing found" can be told from "not looked yet".

use serde::{Deserialize, Serialize};
use tower_lsp::ls_types::notification::Notification;

use super::session::Session;

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct StatusParams {
    /// Counts the states that were told.
    pub generation: u64,
    /// `idle` when all files were looked at, and the diagnostics of all open documents are sent.
    pub state: State,
    /// Files in the index.
    pub files: usize,
    /// Classes of all files as they are on disk; null if they were not counted.
    pub classes: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Idle,
    Busy,
}

pub enum Status {}

impl Notification for Status {
    type Params = StatusParams;
    const METHOD: &'static str = "dupi/status";
}

pub fn status(session: &Session) -> StatusParams {
    StatusParams {
        generation: session.generation,
        state: if session.is_busy() { State::Busy } else { State::Idle },
        files: session.folders.iter().map(|folder| folder.n_files).sum(),
        classes: session.folders.iter().map(|folder| folder.n_classes).sum(),
    }
}

pub fn tell(session: &mut Session) {
    let status = status(session);
    session.outbox.notify::<Status>(status);
}
