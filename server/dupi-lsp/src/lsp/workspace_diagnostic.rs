//! `workspace/diagnostic`: the diagnostics of all files that have some, and of those that had some the last time.

use std::collections::BTreeMap;
use std::sync::Arc;

use dupi::Report;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types::notification::Notification;
use tower_lsp::ls_types::{
    Diagnostic, FullDocumentDiagnosticReport, ProgressToken, UnchangedDocumentDiagnosticReport, Uri,
    WorkspaceDiagnosticParams, WorkspaceDiagnosticReport, WorkspaceDiagnosticReportResult,
    WorkspaceDocumentDiagnosticReport, WorkspaceFullDocumentDiagnosticReport,
    WorkspaceUnchangedDocumentDiagnosticReport,
};

use super::diagnostic::{diagnostics, result_id};
use super::folder::FolderId;
use super::offered::Offered;
use super::session::Queue;
use super::view::View;
use super::{blocking, copies};
use crate::indexer::Reporter;

/// Files of which a client is told at a time, if it takes an answer in parts.
const PART: usize = 200;

/// A part of an answer. The protocol layer has a type for work that is done, and none for this.
enum PartOfAnswer {}

#[derive(Deserialize, Serialize)]
struct PartParams {
    token: ProgressToken,
    value: WorkspaceDiagnosticReport,
}

impl Notification for PartOfAnswer {
    type Params = PartParams;
    const METHOD: &'static str = "$/progress";
}

pub async fn answer(queue: &Queue, params: WorkspaceDiagnosticParams) -> Result<WorkspaceDiagnosticReportResult> {
    let asked = queue.ask(|session, reply| {
        let (offered, outbox) = (Arc::clone(&session.offered), session.outbox.clone());
        session.when_ready(move |view| drop(reply.send((view, offered, outbox))));
    });
    let (view, offered, outbox) = asked.await?;
    let before: BTreeMap<Uri, String> =
        params.previous_result_ids.into_iter().map(|previous| (previous.uri, previous.value)).collect();
    // Editors ask every other second.
    if view.in_workspace.get() == Some(&before) {
        let items = before.into_iter().map(|(uri, id)| unchanged(version(&view, &uri), uri, id)).collect();
        return Ok(WorkspaceDiagnosticReportResult::Report(WorkspaceDiagnosticReport { items }));
    }
    let found = find(queue, &view, &offered).await?;
    let ids = found.iter().map(|(uri, (id, _))| (uri.clone(), id.clone())).collect();
    // Who came first has found the same.
    let _ = view.in_workspace.set(ids);
    let gone: Vec<Uri> = before.keys().filter(|uri| !found.contains_key(*uri)).cloned().collect();
    let gone = gone.into_iter().map(|uri| (uri, (result_id(&[]), Vec::new())));
    let item = |(uri, (id, items)): (Uri, (String, Vec<Diagnostic>))| {
        let version = version(&view, &uri);
        if before.get(&uri) == Some(&id) { unchanged(version, uri, id) } else { full(version, uri, id, items) }
    };
    let mut items: Vec<WorkspaceDocumentDiagnosticReport> = found.into_iter().chain(gone).map(item).collect();
    if let Some(token) = params.partial_result_params.partial_result_token {
        while !items.is_empty() {
            let rest = items.split_off(items.len().min(PART));
            let value = WorkspaceDiagnosticReport { items: std::mem::replace(&mut items, rest) };
            outbox.notify::<PartOfAnswer>(PartParams { token: token.clone(), value });
        }
        outbox.flushed().await;
    }
    Ok(WorkspaceDiagnosticReportResult::Report(WorkspaceDiagnosticReport { items }))
}

/// The files of all folders that have copies: the name of what is to be said of them, and that.
async fn find(
    queue: &Queue,
    view: &Arc<View>,
    offered: &Arc<Offered>,
) -> Result<BTreeMap<Uri, (String, Vec<Diagnostic>)>> {
    let mut found = BTreeMap::new();
    for (id, reporter) in reporters(queue).await? {
        let report = report(view, id, &reporter).await?;
        let (view, offered) = (Arc::clone(view), Arc::clone(offered));
        let of_folder = blocking(move || {
            let Some(folder) = view.folder(id) else { return Vec::new() };
            let copies = copies::in_report(&view, folder, &report);
            // What lies in a folder within this one is that one's.
            let own = copies.iter().filter(|(path, _)| view.folder_of(path).is_some_and(|folder| folder.id == id));
            let all = own.filter_map(|(path, copies)| Some((view.uri(path)?, diagnostics(&view, copies, &offered))));
            all.filter(|(_, items)| !items.is_empty()).map(|(uri, items)| (uri, (result_id(&items), items))).collect()
        });
        found.extend(of_folder.await?);
    }
    Ok(found)
}

fn version(view: &View, uri: &Uri) -> Option<i64> {
    view.documents.get(uri.as_str()).map(|open| i64::from(open.document.version))
}

fn unchanged(version: Option<i64>, uri: Uri, result_id: String) -> WorkspaceDocumentDiagnosticReport {
    WorkspaceDocumentDiagnosticReport::Unchanged(WorkspaceUnchangedDocumentDiagnosticReport {
        uri,
        version,
        unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id },
    })
}

fn full(
    version: Option<i64>,
    uri: Uri,
    result_id: String,
    items: Vec<Diagnostic>,
) -> WorkspaceDocumentDiagnosticReport {
    WorkspaceDocumentDiagnosticReport::Full(WorkspaceFullDocumentDiagnosticReport {
        uri,
        version,
        full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: Some(result_id), items },
    })
}

/// The ways to ask all folders for their classes.
pub fn reporters(queue: &Queue) -> impl Future<Output = Result<Vec<(FolderId, Reporter)>>> + use<> {
    queue.ask(|session, reply| {
        let reporters = session.folders.iter().map(|folder| (folder.id, folder.indexer.reporter())).collect();
        let _ = reply.send(reporters);
    })
}

/// All classes of a folder of the view.
pub async fn report(view: &Arc<View>, id: FolderId, reporter: &Reporter) -> Result<Report> {
    let shared = Arc::clone(view);
    let buffers = blocking(move || shared.folder(id).map(|folder| shared.buffers(folder)).unwrap_or_default()).await?;
    let (sender, receiver) = oneshot::channel();
    reporter.report(buffers, move |report| drop(sender.send(report)));
    let failed = |message: String| Error { code: ErrorCode::ServerError(-32803), message: message.into(), data: None };
    let report = receiver.await.map_err(|_| failed("the folder was closed".to_owned()))?;
    report.map_err(|error| failed(error.to_string()))
}
