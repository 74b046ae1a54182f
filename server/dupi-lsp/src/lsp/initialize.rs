//! `initialize`: what the client offers, and what it is offered. Answers at once; nothing is opened yet.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, DiagnosticOptions,
    DiagnosticServerCapabilities, ExecuteCommandOptions, HoverProviderCapability, InitializeParams, InitializeResult,
    OneOf, SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkspaceFolder, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};

use super::offered::Offered;
use super::session::Queue;
use super::{execute_command, parent, uris};
use crate::preferences::Preferences;

pub fn answer(queue: &Queue, params: InitializeParams) -> Result<InitializeResult> {
    let mut offered = Offered::new(&params.capabilities);
    // Helix says that it watches files, and tells only of those that it saves itself.
    offered.watches &= params.client_info.as_ref().is_none_or(|client| client.name != "helix");
    let (preferences, wrong) =
        Preferences::read(params.initialization_options.as_ref().unwrap_or(&serde_json::Value::Null));
    let capabilities = capabilities(&offered);
    if let Some(id) = params.process_id {
        parent::watch(id);
    }
    let folders = folders(params);
    queue.post(move |session| {
        wrong.iter().for_each(|wrong| tracing::warn!("{wrong}"));
        session.begin(offered, preferences, folders);
    });
    let info = ServerInfo { name: "dupi-lsp".to_owned(), version: Some(env!("CARGO_PKG_VERSION").to_owned()) };
    Ok(InitializeResult { capabilities, server_info: Some(info), ..InitializeResult::default() })
}

/// The folders that the client has open, as it says it: in one of three ways, by its age.
#[allow(deprecated, reason = "old clients know no folders")]
fn folders(params: InitializeParams) -> Vec<WorkspaceFolder> {
    if let Some(folders) = params.workspace_folders {
        return folders;
    }
    let root = params.root_uri.or_else(|| uris::of_path(std::path::Path::new(&params.root_path?)));
    let named = |uri: tower_lsp::ls_types::Uri| {
        let name = uris::path(&uri).and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        WorkspaceFolder { name: name.unwrap_or_default(), uri }
    };
    root.map(named).into_iter().collect()
}

fn capabilities(offered: &Offered) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
        ..TextDocumentSyncOptions::default()
    };
    let diagnostics = DiagnosticOptions {
        identifier: Some("dupi".to_owned()),
        inter_file_dependencies: true,
        workspace_diagnostics: true,
        ..DiagnosticOptions::default()
    };
    let actions = CodeActionOptions { code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]), ..Default::default() };
    let folders =
        WorkspaceFoldersServerCapabilities { supported: Some(true), change_notifications: Some(OneOf::Left(true)) };
    // No definitions and no references: these are the language's own server's to answer.
    ServerCapabilities {
        position_encoding: Some(offered.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        code_action_provider: Some(CodeActionProviderCapability::Options(actions)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: execute_command::COMMANDS.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        diagnostic_provider: offered.pulls.then_some(DiagnosticServerCapabilities::Options(diagnostics)),
        workspace: Some(WorkspaceServerCapabilities { workspace_folders: Some(folders), ..Default::default() }),
        ..ServerCapabilities::default()
    }
}
