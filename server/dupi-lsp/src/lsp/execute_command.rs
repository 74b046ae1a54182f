//! `workspace/executeCommand`: for clients that have no better way of their own, and for programs.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::notification::ShowMessage;
use tower_lsp::ls_types::request::ShowDocument;
use tower_lsp::ls_types::{ExecuteCommandParams, LSPAny, Location, MessageType, ShowDocumentParams, ShowMessageParams};

use super::copies;
use super::session::{Queue, Session};
use super::view::View;
use super::workspace_diagnostic::{report, reporters};
use super::{blocking, doctor, status, uris};
use crate::terminal::escape;

pub const SHOW_COPIES: &str = "dupi.showCopies";
pub const COMPARE: &str = "dupi.compare";
const REINDEX: &str = "dupi.reindex";
const REPORT: &str = "dupi.report";
const STATUS: &str = "dupi.status";
const DOCTOR: &str = "dupi.doctor";
pub const COMMANDS: [&str; 6] = [SHOW_COPIES, COMPARE, REINDEX, REPORT, STATUS, DOCTOR];

/// Copies that a message names: more fit on no screen.
const MAX_NAMED: usize = 10;
/// Differences that a message names.
const MAX_DIFFERENCES: usize = 8;

pub async fn answer(queue: &Queue, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
    let arguments = params.arguments;
    match params.command.as_str() {
        SHOW_COPIES => show_copies(queue, &arguments).await,
        COMPARE => compare(queue, &arguments).await,
        REINDEX => {
            queue.post(|session| {
                session.folders.iter().for_each(|folder| folder.indexer.refresh());
                status::tell(session);
            });
            Ok(None)
        }
        REPORT => whole_report(queue).await,
        STATUS => {
            let status = queue.ask(|session, reply| drop(reply.send(status::status(session)))).await?;
            Ok(Some(json!(status)))
        }
        DOCTOR => doctor::answer(queue).await.map(Some),
        // So that tests can see what a mistake costs; a release has no such command.
        #[cfg(debug_assertions)]
        "dupi.panic" => {
            match arguments.first().and_then(Value::as_str) {
                Some("session") => queue.ask(|_, _: tokio::sync::oneshot::Sender<()>| panic!("asked for")).await?,
                Some("worker") => blocking(|| panic!("asked for")).await?,
                _ => panic!("asked for"),
            }
            Ok(None)
        }
        unknown => {
            Err(Error::invalid_params(format!("no such command: {unknown}; known are: {}", COMMANDS.join(", "))))
        }
    }
}

fn argument<T: DeserializeOwned>(arguments: &[Value], at: usize, what: &str) -> Result<T> {
    let value = arguments.get(at).cloned().unwrap_or(Value::Null);
    serde_json::from_value(value)
        .map_err(|error| Error::invalid_params(format!("argument {at} is not {what}: {error}")))
}

/// Gives the locations back, for who shows lists. A client that asks here has no list of its own: a single location is
/// gone to, several are named.
async fn show_copies(queue: &Queue, arguments: &[Value]) -> Result<Option<LSPAny>> {
    let locations: Vec<Location> = argument(arguments, 2, "a list of locations")?;
    let view = queue.view().await?;
    let named = named(locations.iter().map(|location| name(&view, location)), MAX_NAMED);
    let only = if let [location] = &*locations { Some(shown(location)) } else { None };
    queue.post(move |session| match only {
        Some(only) if session.offered.show_document => session.outbox.request::<ShowDocument>(only, |_| {}),
        _ => tell(session, named),
    });
    Ok(Some(json!(locations)))
}

/// "auth/login.go:40", as diagnostics name it.
fn name(view: &View, location: &Location) -> String {
    let path = uris::any_path(&location.uri);
    let root = view.folder_of(&path).map(|folder| folder.workspace.root.as_path());
    let below = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(&path);
    format!("{}:{}", escape(&dupi::files::show(below)), location.range.start.line + 1)
}

/// The first `n`, and whether there are more.
fn named(names: impl ExactSizeIterator<Item = String>, n: usize) -> String {
    let more = if names.len() > n { ", …" } else { "" };
    names.take(n).collect::<Vec<_>>().join(", ") + more
}

fn tell(session: &Session, message: String) {
    session.outbox.notify::<ShowMessage>(ShowMessageParams { typ: MessageType::INFO, message });
}

fn shown(location: &Location) -> ShowDocumentParams {
    ShowDocumentParams {
        uri: location.uri.clone(),
        external: Some(false),
        take_focus: Some(true),
        selection: Some(location.range),
    }
}

/// Goes to the other copy, and says what is different there.
async fn compare(queue: &Queue, arguments: &[Value]) -> Result<Option<LSPAny>> {
    let own: Location = argument(arguments, 0, "a location")?;
    let other: Location = argument(arguments, 1, "a location")?;
    let view = queue.view().await?;
    let (from, to) = (own.clone(), other.clone());
    let differences = blocking(move || {
        let open = view.documents.get(own.uri.as_str())?;
        let found = view.copies(open);
        let copy = found.iter().find(|copy| copy.range == own.range)?;
        let is_meant = |place: &&copies::Other| place.location(&view).is_some_and(|location| location == other);
        let place = copy.others.iter().find(is_meant)?;
        let text = open.document.text.as_deref()?;
        copies::differences(text, copy, &view, std::slice::from_ref(place)).pop()
    })
    .await?;
    let Some(differences) = differences else {
        return Err(Error::invalid_params("these are no copies of each other any more"));
    };
    let message = match differences.len() {
        0 => "The copies are the same".to_owned(),
        _ => {
            let pairs = differences.iter().map(|(own, other)| format!("{own} → {other}"));
            format!("There it is: {}", named(pairs, MAX_DIFFERENCES))
        }
    };
    let location = to.clone();
    queue.post(move |session| {
        if session.offered.show_document {
            session.outbox.request::<ShowDocument>(shown(&location), |_| {});
        }
        tell(session, message);
    });
    let differences: Vec<Value> = differences.iter().map(|(own, other)| json!({"left": own, "right": other})).collect();
    Ok(Some(json!({"left": from, "right": to, "differences": differences})))
}

/// What `--check --format json` says, for each folder, with open documents as they are open.
async fn whole_report(queue: &Queue) -> Result<Option<LSPAny>> {
    let asked = queue.ask(|session, reply| session.when_ready(move |view| drop(reply.send(view))));
    let view = asked.await?;
    let mut reports = Vec::new();
    for (id, reporter) in reporters(queue).await? {
        let report = report(&view, id, &reporter).await?;
        let json = blocking(move || crate::check::json(&report)).await?;
        reports.push(json.map_err(|_| Error::internal_error())?);
    }
    Ok(Some(Value::Array(reports)))
}
