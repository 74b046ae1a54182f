//! `textDocument/hover`: on the first line of a copy, where the others are and what is different there; on the first line
//! of a file, by a setting, how much of it stands in others.

use std::fmt::Write;

use dupi::containment::Other;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};

use super::blocking;
use super::code_lens::title;
use super::copies::{self, Copy};
use super::document::Document;
use super::session::Queue;
use super::view::View;
use crate::markdown::{code, link, plain};
use crate::terminal::escape;

/// Copies that are named: a hover is looked at, not read.
const MAX_NAMED: usize = 10;
/// Differences that are named for each of them.
const MAX_DIFFERENCES: usize = 4;
/// Files that are named as having most of this one.
const MAX_CONTAINERS: usize = 3;
/// Longer texts are literals, of which the start says enough.
const MAX_CHARS: usize = 40;

pub async fn answer(queue: &Queue, params: HoverParams) -> Result<Option<Hover>> {
    let asked = queue.ask(|session, reply| drop(reply.send((session.view(), session.offered.markdown))));
    let (view, markdown) = asked.await?;
    blocking(move || hover(&view, markdown, &params)).await
}

fn hover(view: &View, markdown: bool, params: &HoverParams) -> Option<Hover> {
    let at = &params.text_document_position_params;
    let open = view.documents.get(at.text_document.uri.as_str()).filter(|_| view.preferences.hover)?;
    let text = open.document.text.as_deref()?;
    let copies = view.copies(open);
    let here: Vec<&Copy> = copies.iter().filter(|copy| copy.range.start.line == at.position.line).collect();
    let mut parts: Vec<String> = here.iter().map(|copy| part(view, text, copy, markdown)).collect();
    if at.position.line == 0 && view.preferences.containment {
        parts.extend(contained(view, &open.document, markdown));
    }
    if parts.is_empty() {
        return None;
    }
    let kind = if markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
    let contents = HoverContents::Markup(MarkupContent { kind, value: parts.join("\n\n") });
    Some(Hover { contents, range: here.first().map(|copy| copy.range) })
}

/// "62 % of this file stands in b.go, 10 % of which stands here", for the files that have most of it.
fn contained(view: &View, document: &Document, markdown: bool) -> Option<String> {
    let folder = view.folder_of(&document.path).filter(|_| document.is_file)?;
    let root = &folder.workspace.root;
    let shown = dupi::files::show(document.path.strip_prefix(root).ok()?);
    let contained = view.snapshot(folder).contained(&shown, &folder.workspace.settings, MAX_CONTAINERS)?;
    let percent = |share: f64| (share * 100.0).floor();
    let line = |other: &Other| {
        let (share, back) = (percent(contained.share(other)), percent(other.share_of()));
        let name = match view.uri(&root.join(&other.shown)).filter(|_| markdown) {
            Some(uri) => link(&other.shown, uri.as_str()),
            None if markdown => plain(&other.shown),
            None => escape(&other.shown),
        };
        (share >= 1.0).then(|| format!("{share:.0} % of this file stands in {name}, {back:.0} % of which stands here"))
    };
    let lines: Vec<String> = contained.others.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n\n"))
}

fn part(view: &View, text: &str, copy: &Copy, markdown: bool) -> String {
    let mut out = title(copy);
    out.push('\n');
    let named = &copy.others[..copy.others.len().min(MAX_NAMED)];
    for (other, differences) in named.iter().zip(copies::differences(text, copy, view, named)) {
        let name = match view.uri(&other.path).filter(|_| markdown) {
            Some(uri) => link(&other.name(), &format!("{}#L{}", uri.as_str(), other.first_line())),
            None if markdown => plain(&other.name()),
            None => other.name(),
        };
        let _ = write!(out, "\n- {name}");
        for (i, (own, others)) in differences.iter().take(MAX_DIFFERENCES).enumerate() {
            let joint = if i == 0 { ":" } else { "," };
            let [here, there] = [own, others].map(|text| quoted(text, markdown));
            let _ = match (own.is_empty(), others.is_empty()) {
                (true, _) => write!(out, "{joint} only there {there}"),
                (_, true) => write!(out, "{joint} only here {here}"),
                _ => write!(out, "{joint} {here} → {there}"),
            };
        }
        if differences.len() > MAX_DIFFERENCES {
            let _ = write!(out, ", and {} more", differences.len() - MAX_DIFFERENCES);
        }
    }
    if copy.others.len() > MAX_NAMED {
        let _ = write!(out, "\n- and {} more", copy.others.len() - MAX_NAMED);
    }
    out
}

/// The start of a text of the source.
fn quoted(text: &str, markdown: bool) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    if markdown { code(&short) } else { escape(&short) }
}
