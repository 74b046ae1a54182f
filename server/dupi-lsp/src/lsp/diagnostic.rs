//! `textDocument/diagnostic`, and what a diagnostic is: one for each copy in the file.

use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DocumentDiagnosticParams, DocumentDiagnosticReport,
    DocumentDiagnosticReportResult, FullDocumentDiagnosticReport, NumberOrString, Position, Range,
    RelatedFullDocumentDiagnosticReport, RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport,
};
use xxhash_rust::xxh3::xxh3_64;

use super::blocking;
use super::copies::{Copy, Other};
use super::offered::Offered;
use super::session::Queue;
use super::view::View;
use crate::preferences::Severity;
use crate::terminal::count;

/// Places that a message names; the others follow as links.
const MAX_NAMED: usize = 3;
/// Links of a diagnostic: who has more copies needs the list, not links.
const MAX_RELATED: usize = 50;

pub async fn answer(queue: &Queue, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
    let uri = params.text_document.uri.clone();
    let ready = queue.ask(move |session, reply| {
        let offered = std::sync::Arc::clone(&session.offered);
        session.when_ready_for(&uri, move |view| drop(reply.send((view, offered))));
    });
    let (view, offered) = ready.await?;
    blocking(move || {
        let copies = view.copies_at(&params.text_document.uri).unwrap_or_default();
        let items = diagnostics(&view, &copies, &offered);
        let id = result_id(&items);
        DocumentDiagnosticReportResult::Report(if params.previous_result_id.as_ref() == Some(&id) {
            DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id },
            })
        } else {
            DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
                related_documents: None,
                full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: Some(id), items },
            })
        })
    })
    .await
}

/// The same for the same diagnostics, and for no others.
pub fn result_id(items: &[Diagnostic]) -> String {
    format!("{:016x}", xxh3_64(format!("{items:?}").as_bytes()))
}

pub fn diagnostics(view: &View, copies: &[Copy], offered: &Offered) -> Vec<Diagnostic> {
    if !view.preferences.diagnostics {
        return Vec::new();
    }
    copies.iter().filter_map(|copy| diagnostic(view, copy, offered)).collect()
}

fn diagnostic(view: &View, copy: &Copy, offered: &Offered) -> Option<Diagnostic> {
    let severity = match view.preferences.severity(copy.zone) {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Information => DiagnosticSeverity::INFORMATION,
        Severity::Hint => DiagnosticSeverity::HINT,
        Severity::Off => return None,
    };
    let mut range = copy.range;
    if view.preferences.first_line_only && range.end.line > range.start.line {
        // Clients clamp what is past the end of a line.
        range = Range::new(range.start, Position::new(range.start.line, u32::from(u16::MAX)));
    }
    let related = offered.related_information.then(|| {
        let link = |other: &Other| {
            Some(DiagnosticRelatedInformation { location: other.location(view)?, message: other.name() })
        };
        copy.others.iter().take(MAX_RELATED).filter_map(link).collect()
    });
    Some(Diagnostic {
        range,
        severity: Some(severity),
        code: Some(NumberOrString::String(copy.kind.name().to_owned())),
        source: Some("dupi".to_owned()),
        message: message(copy),
        related_information: related,
        data: offered.data.then(|| serde_json::json!({"class": format!("{:016x}", copy.class)})),
        ..Diagnostic::default()
    })
}

/// "38 lines duplicated in 3 other places: auth/login.go:40, auth/token.go:112, …".
pub fn message(copy: &Copy) -> String {
    let n = copy.others.len();
    let lines = count(u64::from(copy.lines()), "line", "lines");
    let places = count(n as u64, "other place", "other places");
    let named: Vec<String> = copy.others.iter().take(MAX_NAMED).map(Other::name).collect();
    let more = if n > MAX_NAMED { ", …" } else { "" };
    format!("{lines} duplicated in {places}: {}{more}", named.join(", "))
}
