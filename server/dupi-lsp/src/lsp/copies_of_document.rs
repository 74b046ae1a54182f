//! `dupi/copies`: the copies in an open document and how much of it they are, whatever else the user has switched off.

use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{Location, Range, TextDocumentIdentifier};

use super::blocking;
use super::code_lens::title;
use super::copies::Copy;
use super::session::Queue;
use super::view::View;
use crate::check::covered;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    text_document: TextDocumentIdentifier,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    lines: u32,
    /// Lines that stand in a copy, each counted once.
    duplicated_lines: u64,
    percent: f64,
    /// In the order in which they start, the longer ones first.
    copies: Vec<AnswerCopy>,
}

#[derive(Serialize)]
struct AnswerCopy {
    /// The class's id, as reports have it.
    class: String,
    kind: &'static str,
    zone: &'static str,
    range: Range,
    /// What a lens says.
    title: String,
    /// Where the other copies are.
    others: Vec<Location>,
}

/// None for what is not open, is in no language that is known, or cannot be told of yet.
pub async fn answer(queue: &Queue, params: Params) -> Result<Option<Answer>> {
    let view = queue.view().await?;
    blocking(move || {
        let open = view.documents.get(params.text_document.uri.as_str())?;
        let copies = view.copies(open);
        if !view.can_tell(&open.document, &copies) {
            return None;
        }
        let lines = open.document.buffers().iter().find_map(|(_, buffer)| buffer.document.as_ref())?.n_lines;
        let on = |copy: &Copy| copy.range.start.line..copy.range.end.line + 1;
        let duplicated_lines = covered(copies.iter().map(on).collect());
        let percent = (10_000.0 * duplicated_lines as f64 / f64::from(lines.max(1))).round() / 100.0;
        let copies = copies.iter().map(|copy| answer_copy(&view, copy)).collect();
        Some(Answer { lines, duplicated_lines, percent, copies })
    })
    .await
}

fn answer_copy(view: &View, copy: &Copy) -> AnswerCopy {
    AnswerCopy {
        class: format!("{:016x}", copy.class),
        kind: copy.kind.name(),
        zone: copy.zone.name(),
        range: copy.range,
        title: title(copy),
        others: copy.others.iter().filter_map(|other| other.location(view)).collect(),
    }
}
