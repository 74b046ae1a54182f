//! The language server: which file answers which method. Protocol types live in this folder and nowhere else.
//!
//! A notification is a task in the session's queue; a request asks the session for a view, and works on that elsewhere.
//! `exchange.rs` says why both are in the queue in the order in which they came.

mod cancel_progress;
mod classes;
mod code_action;
mod code_lens;
mod configuration;
mod copies;
mod copies_of_document;
mod diagnostic;
mod did_change;
mod did_change_configuration;
mod did_change_watched_files;
mod did_change_workspace_folders;
mod did_close;
mod did_open;
mod did_save;
mod doctor;
mod document;
mod exchange;
mod execute_command;
mod folder;
mod hover;
mod initialize;
mod initialized;
mod log;
mod message;
mod offered;
mod outbox;
mod parent;
mod positions;
mod progress;
mod publisher;
mod session;
mod status;
mod uris;
mod view;
mod wire;
mod workspace_diagnostic;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tower_lsp::jsonrpc::{Error, Result as Answer};
use tower_lsp::ls_types::{
    CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams, DocumentDiagnosticParams,
    DocumentDiagnosticReportResult, ExecuteCommandParams, Hover, HoverParams, InitializeParams, InitializeResult,
    InitializedParams, LSPAny, WorkDoneProgressCancelParams, WorkspaceDiagnosticParams,
    WorkspaceDiagnosticReportResult,
};
use tower_lsp::{LanguageServer, LspService};

use crate::terminal::note;
use crate::workspace::IndexArguments;
use outbox::Outbox;
use session::Queue;

/// How long answers that are under way may take when the client has said that it is gone, or is.
const GRACE: Duration = Duration::from_secs(2);
/// Threads that work on answers at the same time, two of which read and write. More requests wait their turn.
const MAX_WORKERS: usize = 64;
/// Seconds for which a client may take nothing of what it is sent before it counts as gone. An editor that somebody
/// debugs, or that swaps, stands still for minutes; one that forgot its server does so for ever.
const CLIENT_PATIENCE: &str = "1800";

#[derive(clap::Args, Clone)]
pub struct ServerArguments {
    /// Speak with an editor by standard input and output: this is what it does without arguments
    #[arg(long, group = "transport")]
    stdio: bool,
    /// Speak with an editor that listens at this port
    #[arg(long, value_name = "PORT", group = "transport")]
    socket: Option<u16>,
    /// Speak with an editor that listens at this pipe
    #[arg(long, value_name = "NAME", group = "transport")]
    pipe: Option<PathBuf>,
    /// End when this process does, as some editors ask
    #[arg(long = "clientProcessId", value_name = "ID", hide = true)]
    client_process_id: Option<u32>,
    /// End when the client has taken nothing of what it is sent for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = CLIENT_PATIENCE, hide = true)]
    client_patience: u64,
    /// Also write the log to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Keep indexes in this folder [default: the user's cache folder]
    #[arg(long, value_name = "DIR")]
    index_dir: Option<PathBuf>,
}

impl ServerArguments {
    /// Where indexes are kept, and within which memory (in MiB) they are built.
    fn index(&self, memory: u64) -> IndexArguments {
        IndexArguments::new(self.index_dir.clone(), memory)
    }
}

pub fn run(arguments: ServerArguments) -> Result<ExitCode> {
    log::start(arguments.log.as_deref())?;
    if arguments.socket.is_none() && arguments.pipe.is_none() && std::io::stdin().is_terminal() {
        note("a language server: it waits for an editor to speak to it; `dupi-lsp --help` tells what else it does");
    }
    if let Some(id) = arguments.client_process_id {
        parent::watch(id);
    }
    // Made here so that it is told apart: whoever used it first would give it its name.
    rayon::ThreadPoolBuilder::new().thread_name(|i| format!("dupi-answer-{i}")).build_global().ok();
    raise_open_files();
    let runtime =
        Builder::new_multi_thread().worker_threads(2).max_blocking_threads(MAX_WORKERS).enable_all().build()?;
    let was_shut_down = runtime.block_on(serve(arguments))?;
    // Standard input may still be read from, which would hold this up for ever.
    runtime.shutdown_background();
    Ok(ExitCode::from(if was_shut_down { 0 } else { 1 }))
}

/// Allows as many open files as the system lets a user have: each folder has the lock and the segments of an index, and
/// what is allowed without asking is often 1024.
fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::debug!("no more open files are allowed: {error}");
        }
    }
}

/// Serves until the client is gone or says that it will be. Was it polite about it?
async fn serve(arguments: ServerArguments) -> Result<bool> {
    let (input, output) = wire::open(&arguments).await?;
    let patience = Duration::from_secs(arguments.client_patience);
    let ending = Arc::new(Notify::new());
    let was_shut_down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&was_shut_down);
    let (service, socket) = LspService::build(|client| {
        let outbox = Outbox::new(client, Handle::current());
        log::to_client(outbox.clone());
        Server { queue: session::start(outbox, arguments), was_shut_down }
    })
    .custom_method("dupi/classes", Server::classes)
    .custom_method("dupi/copies", Server::copies)
    .custom_method("window/workDoneProgress/cancel", Server::cancel_progress)
    .custom_method("$/setTrace", Server::set_trace)
    .finish();
    let ended = Arc::clone(&ending);
    let messages = wire::messages(input, move || ended.notify_one());
    let served = exchange::run(messages, output, socket, service, patience);
    let overdue = async {
        ending.notified().await;
        tokio::time::sleep(GRACE).await;
    };
    futures::future::select(Box::pin(served), Box::pin(overdue)).await;
    Ok(is_down.load(Ordering::Relaxed))
}

/// Runs what takes a while where it holds up nobody. If it panics, this request alone has failed.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::internal_error())
}

struct Server {
    queue: Queue,
    was_shut_down: Arc<AtomicBool>,
}

impl LanguageServer for Server {
    // ---- from start to end

    async fn initialize(&self, params: InitializeParams) -> Answer<InitializeResult> {
        initialize::answer(&self.queue, params)
    }

    async fn initialized(&self, _: InitializedParams) {
        self.queue.post(initialized::apply);
    }

    async fn shutdown(&self) -> Answer<()> {
        self.was_shut_down.store(true, Ordering::Relaxed);
        self.queue.post(session::Session::end);
        Ok(())
    }

    // ---- documents

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.queue.post(|session| did_open::apply(session, params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.queue.post(|session| did_change::apply(session, params));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.queue.post(|session| did_save::apply(session, params));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.queue.post(|session| did_close::apply(session, params));
    }

    // ---- the workspace

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.queue.post(|session| did_change_configuration::apply(session, params));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.queue.post(|session| did_change_workspace_folders::apply(session, params));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.queue.post(|session| did_change_watched_files::apply(session, params));
    }

    // ---- answers

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Answer<DocumentDiagnosticReportResult> {
        diagnostic::answer(&self.queue, params).await
    }

    async fn workspace_diagnostic(&self, params: WorkspaceDiagnosticParams) -> Answer<WorkspaceDiagnosticReportResult> {
        workspace_diagnostic::answer(&self.queue, params).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Answer<Option<Vec<CodeLens>>> {
        code_lens::answer(&self.queue, params).await
    }

    async fn hover(&self, params: HoverParams) -> Answer<Option<Hover>> {
        hover::answer(&self.queue, params).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Answer<Option<CodeActionResponse>> {
        code_action::answer(&self.queue, params).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Answer<Option<LSPAny>> {
        execute_command::answer(&self.queue, params).await
    }
}

/// Methods that tower-lsp has no name for.
impl Server {
    async fn classes(&self, params: classes::Params) -> Answer<classes::Answer> {
        classes::answer(&self.queue, params).await
    }

    async fn copies(&self, params: copies_of_document::Params) -> Answer<Option<copies_of_document::Answer>> {
        copies_of_document::answer(&self.queue, params).await
    }

    async fn cancel_progress(&self, params: WorkDoneProgressCancelParams) {
        self.queue.post(|session| cancel_progress::apply(session, params));
    }

    /// What is traced is the log's matter.
    async fn set_trace(&self, _: LSPAny) {}
}
