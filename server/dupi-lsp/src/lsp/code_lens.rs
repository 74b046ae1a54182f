//! `textDocument/codeLens`: above each copy, how many others there are. The command is the client's, with locations.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{CodeLens, CodeLensParams, Command, Location, Position, Range};

use super::blocking;
use super::copies::Copy;
use super::execute_command::SHOW_COPIES;
use super::session::Queue;
use super::view::View;
use crate::terminal::count;

pub async fn answer(queue: &Queue, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
    let view = queue.view().await?;
    blocking(move || {
        let open = view.documents.get(params.text_document.uri.as_str()).filter(|_| view.preferences.code_lens)?;
        let copies = view.copies(open);
        let lens = |copy: &Copy| {
            let start = Position::new(copy.range.start.line, 0);
            let command = show_copies(&view, params.text_document.uri.as_str(), copy, title(copy));
            CodeLens { range: Range::new(start, start), command: Some(command), data: None }
        };
        Some(copies.iter().map(lens).collect())
    })
    .await
}

/// "⧉ 3 copies · 38 lines · renamed": the others, as someone who reads this one counts.
pub fn title(copy: &Copy) -> String {
    let copies = count(copy.others.len() as u64, "copy", "copies");
    let lines = count(u64::from(copy.lines()), "line", "lines");
    format!("⧉ {copies} · {lines} · {}", copy.kind.name())
}

/// The command that shows all copies of a class: from where, and the locations, this one first.
pub fn show_copies(view: &View, uri: &str, copy: &Copy, title: String) -> Command {
    let own = view.documents.get(uri).map(|open| Location::new(open.document.uri.clone(), copy.range));
    let locations: Vec<Location> =
        own.into_iter().chain(copy.others.iter().filter_map(|other| other.location(view))).collect();
    let arguments = vec![uri.into(), serde_json::json!(copy.range.start), serde_json::json!(locations)];
    Command { title, command: SHOW_COPIES.to_owned(), arguments: Some(arguments) }
}
