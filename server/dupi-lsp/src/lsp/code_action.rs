//! `textDocument/codeAction`: what can be done about a copy. Each is an edit, or a command that any client can run.

use std::collections::HashMap;

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, Command, CreateFile,
    CreateFileOptions, Diagnostic, DocumentChangeOperation, DocumentChanges, OneOf,
    OptionalVersionedTextDocumentIdentifier, Position, Range, ResourceOp, TextDocumentEdit, TextEdit, Uri,
    WorkspaceEdit,
};

use super::blocking;
use super::code_lens::show_copies;
use super::copies::{Copy, Other};
use super::diagnostic::message;
use super::execute_command::{COMPARE, SHOW_COPIES};
use super::offered::Offered;
use super::positions::Lines;
use super::session::Queue;
use super::uris;
use super::view::{DocumentView, View};
use crate::options::{self, FILE};

/// What an editor asks for that has a command to ignore a copy, or all of its class.
const IGNORE_COPY: CodeActionKind = CodeActionKind::new("quickfix.dupi.ignore.copy");
const IGNORE_CLASS: CodeActionKind = CodeActionKind::new("quickfix.dupi.ignore.class");

/// Copies that have actions of their own: a menu of more is none. All of them can be shown at once.
const MAX_NAMED: usize = 5;

pub async fn answer(queue: &Queue, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
    let asked = queue.ask(|session, reply| drop(reply.send((session.view(), session.offered.clone()))));
    let (view, offered) = asked.await?;
    blocking(move || actions(&view, &offered, &params)).await
}

fn actions(view: &View, offered: &Offered, params: &CodeActionParams) -> Option<CodeActionResponse> {
    let open = view.documents.get(params.text_document.uri.as_str())?;
    let own: Vec<&Diagnostic> =
        params.context.diagnostics.iter().filter(|d| d.source.as_deref() == Some("dupi")).collect();
    let mut actions = Vec::new();
    for copy in view.copies(open).iter() {
        let diagnostic = own.iter().find(|d| d.range.start == copy.range.start && d.message == message(copy));
        let starts_here = (params.range.start.line..=params.range.end.line).contains(&copy.range.start.line);
        if diagnostic.is_some() || own.is_empty() && starts_here {
            of_copy(view, offered, open, copy, diagnostic.copied(), &mut actions);
        }
    }
    if let Some(only) = &params.context.only {
        let kind = |action: &CodeActionOrCommand| match action {
            CodeActionOrCommand::CodeAction(CodeAction { kind: Some(kind), .. }) => kind.clone(),
            _ => CodeActionKind::QUICKFIX,
        };
        actions.retain(|action| only.iter().any(|asked| is_of(&kind(action), asked)));
    }
    Some(actions)
}

/// Is a kind the one that was asked for, or one of its parts, which are told apart by dots?
fn is_of(kind: &CodeActionKind, asked: &CodeActionKind) -> bool {
    let rest = kind.as_str().strip_prefix(asked.as_str());
    asked == &CodeActionKind::EMPTY || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn of_copy(
    view: &View,
    offered: &Offered,
    open: &DocumentView,
    copy: &Copy,
    diagnostic: Option<&Diagnostic>,
    actions: &mut CodeActionResponse,
) {
    let uri = open.document.uri.as_str();
    let mut add = |title: String, kind: CodeActionKind, command: Option<Command>, edit: Option<WorkspaceEdit>| {
        let action = CodeAction {
            title,
            kind: Some(kind),
            diagnostics: diagnostic.map(|diagnostic| vec![diagnostic.clone()]),
            command,
            edit,
            ..CodeAction::default()
        };
        match action {
            action if offered.code_action_literals => actions.push(CodeActionOrCommand::CodeAction(action)),
            // A client that knows only commands is offered only these.
            CodeAction { command: Some(command), .. } => actions.push(CodeActionOrCommand::Command(command)),
            _ => {}
        }
    };
    let named = || (1..).zip(copy.others.iter().take(MAX_NAMED));
    for (n, other) in named() {
        let title = format!("Go to copy {n}: {}", other.name());
        add(title.clone(), CodeActionKind::QUICKFIX, go_to(view, uri, copy, other, title), None);
    }
    for (n, other) in named() {
        let title = format!("Compare with copy {n}: {}", other.name());
        add(title.clone(), CodeActionKind::QUICKFIX, compare(view, uri, copy, other, title), None);
    }
    let title = format!("Show all {} copies", copy.others.len() + 1);
    add(title.clone(), CodeActionKind::QUICKFIX, Some(show_copies(view, uri, copy, title)), None);
    if let Some(edit) = ignore_here(view, offered, open, copy) {
        add("Ignore this copy".to_owned(), IGNORE_COPY, None, Some(edit));
    }
    if let Some(edit) = ignore_class(view, offered, copy) {
        add(format!("Ignore all {} copies in {FILE}", copy.others.len() + 1), IGNORE_CLASS, None, Some(edit));
    }
}

fn go_to(view: &View, uri: &str, copy: &Copy, other: &Other, title: String) -> Option<Command> {
    let arguments = vec![uri.into(), serde_json::json!(copy.range.start), serde_json::json!([other.location(view)?])];
    Some(Command { title, command: SHOW_COPIES.to_owned(), arguments: Some(arguments) })
}

fn compare(view: &View, uri: &str, copy: &Copy, other: &Other, title: String) -> Option<Command> {
    let own = serde_json::json!({"uri": uri, "range": copy.range});
    let arguments = vec![own, serde_json::json!(other.location(view)?)];
    Some(Command { title, command: COMPARE.to_owned(), arguments: Some(arguments) })
}

/// A comment before the copy, indented as it is; around it, if it is more than one statement or declaration.
fn ignore_here(view: &View, offered: &Offered, open: &DocumentView, copy: &Copy) -> Option<WorkspaceEdit> {
    let document = &open.document;
    let text = document.text.as_deref()?;
    let lines = Lines::new(text, view.encoding);
    let first = lines.text(copy.range.start.line);
    let indent = &first[..first.len() - first.trim_start().len()];
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let comment = |mark: &str| match (copy.language.line_comment, copy.language.block_comment) {
        ("", Some((open, close))) => format!("{indent}{open} {mark} {close}{end_of_line}"),
        (line, _) => format!("{indent}{line} {mark}{end_of_line}"),
    };
    let is_one_unit = document.buffers().iter().any(|(_, buffer)| {
        let units = buffer.document.as_ref().map(|parsed| &parsed.units);
        units.is_some_and(|units| {
            units.iter().any(|unit| unit.start == copy.tokens.start && unit.end == copy.tokens.end)
        })
    });
    let insert = |line: u32, text: String| {
        let at = Position::new(line, 0);
        TextEdit { range: Range::new(at, at), new_text: text }
    };
    let edits = if is_one_unit {
        vec![insert(copy.range.start.line, comment("dupi:ignore"))]
    } else {
        // What follows a line that nothing ends is on that line.
        let is_last = !text.ends_with('\n') && lines.position(text.len()).line == copy.range.end.line;
        let after = if is_last {
            let end = lines.position(text.len());
            let comment = format!("{end_of_line}{}", comment("dupi:ignore-end").trim_end());
            TextEdit { range: Range::new(end, end), new_text: comment }
        } else {
            insert(copy.range.end.line + 1, comment("dupi:ignore-end"))
        };
        vec![insert(copy.range.start.line, comment("dupi:ignore-start")), after]
    };
    Some(edit(offered, document.uri.clone(), Some(document.version), edits, false))
}

/// The class's id in the project's file, with what it was as the reason, for a person to say it better.
fn ignore_class(view: &View, offered: &Offered, copy: &Copy) -> Option<WorkspaceEdit> {
    let path = copy.root.join(FILE);
    let uri = view.uri(&path).or_else(|| uris::of_path(&path))?;
    let open = view.documents.get(uri.as_str());
    // What cannot be read cannot be added to either; it has a diagnostic of its own.
    let on_disk = if open.is_some() { None } else { options::read_file(&copy.root).ok()? };
    let is_new = open.is_none() && on_disk.is_none();
    let text = open.and_then(|open| open.document.text.as_deref()).or(on_disk.as_deref()).unwrap_or_default();
    let end = Lines::new(text, view.encoding).position(text.len());
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    // A string of JSON without control characters is one of TOML.
    let reason = serde_json::Value::from(format!("accepted: {}", message(copy)));
    let new_text = format!("{gap}[[ignore]]\nclass = \"{:016x}\"\nreason = {reason}\n", copy.class);
    let version = open.map(|open| open.document.version);
    Some(edit(offered, uri, version, vec![TextEdit { range: Range::new(end, end), new_text }], is_new))
}

/// Edits of one document, in the form that the client offers.
#[allow(clippy::mutable_key_type, reason = "the protocol's own type")]
fn edit(offered: &Offered, uri: Uri, version: Option<i32>, edits: Vec<TextEdit>, is_new: bool) -> WorkspaceEdit {
    if !offered.versioned_edits {
        return WorkspaceEdit { changes: Some(HashMap::from([(uri, edits)])), ..WorkspaceEdit::default() };
    }
    let create = (is_new && offered.creates_files).then(|| {
        let options = CreateFileOptions { overwrite: Some(false), ignore_if_exists: Some(true) };
        let create = CreateFile { uri: uri.clone(), options: Some(options), annotation_id: None };
        DocumentChangeOperation::Op(ResourceOp::Create(create))
    });
    let text_document = OptionalVersionedTextDocumentIdentifier { uri, version };
    let edits = TextDocumentEdit { text_document, edits: edits.into_iter().map(OneOf::Left).collect() };
    let document_changes = match create {
        Some(create) => DocumentChanges::Operations(vec![create, DocumentChangeOperation::Edit(edits)]),
        None => DocumentChanges::Edits(vec![edits]),
    };
    WorkspaceEdit { document_changes: Some(document_changes), ..WorkspaceEdit::default() }
}
