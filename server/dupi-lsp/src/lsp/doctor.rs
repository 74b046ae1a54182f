//! The command `dupi.doctor`: what `dupi-lsp doctor` says, of the folders that are open here, as they are kept.

use std::sync::Arc;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};

use super::blocking;
use super::folder::Folder;
use super::session::{Queue, Session};
use crate::doctor::{Diagnosis, Subject, Watching};
use crate::options::{FILE, Options};

pub async fn answer(queue: &Queue) -> Result<Value> {
    let asked = queue.ask(|session, reply| {
        let folders: Vec<Subject> = session.folders.iter().map(|folder| subject(session, folder)).collect();
        let _ = reply.send((session.arguments.log.clone(), folders));
    });
    let (log, folders) = asked.await?;
    let log = match log {
        Some(file) => format!("{} and standard error", file.display()),
        None => "standard error, which the editor shows as the server's output".to_owned(),
    };
    blocking(move || {
        let diagnosis = Diagnosis::of(log, folders);
        let json = diagnosis.json().map_err(|_| Error::internal_error())?;
        Ok(json!({"text": diagnosis.text(), "diagnosis": json}))
    })
    .await?
}

fn subject(session: &Session, folder: &Folder) -> Subject {
    // A file that cannot be used counts as none; what is wrong with it is told as such.
    let project = Options::read(&folder.root).unwrap_or_else(|_| Options::default());
    let options = session.preferences.options.clone().or(project);
    let watching = match folder.indexer.watching() {
        _ if session.offered.watches => Watching::ByClient,
        Some(mode) => Watching::By(mode),
        None => Watching::Starting,
    };
    Subject {
        workspace: Arc::clone(&folder.workspace),
        index: session.arguments.index(session.preferences.memory),
        settings: options.written().into_iter().chain(session.preferences.changed.iter().cloned()).collect(),
        bad_configuration: folder.bad.as_ref().map(|bad| format!("{FILE}: {}", bad.message)),
        watching,
        troubles: folder.troubles.clone(),
    }
}
