//! SARIF 2.1.0, for code scanning: one result for each copy, with the others as related locations.

use std::io::{self, Write};

use dupi::Kind;
use serde_json::{Value, json};

use super::findings::{Finding, Findings};
use crate::terminal::{escape, write_json};

/// GitHub refuses a run with more results; the worst come first.
const MAX_RESULTS: usize = 25_000;
/// Related locations of a result: who has more copies needs the list, not links.
const MAX_RELATED: usize = 50;

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let results: Vec<(&Finding, usize)> = findings
        .shown
        .iter()
        .flat_map(|finding| finding.spoken_of().into_iter().map(move |copy| (finding, copy)))
        .collect();
    let dropped = results.len().saturating_sub(MAX_RESULTS);
    let text = |text: &str| json!({ "text": text });
    let rules: Vec<Value> = Kind::ALL
        .iter()
        .map(|&kind| {
            json!({
                "id": rule(kind),
                "name": "DuplicatedCode",
                "shortDescription": text(&format!("Duplicated code ({})", kind.name())),
                "fullDescription": text(about(kind)),
                "help": text("Share the code, or accept it: [[ignore]] in dupi.toml, or a dupi:ignore comment."),
                "defaultConfiguration": { "level": "warning" },
                "properties": { "tags": ["maintainability", "duplication"] },
            })
        })
        .collect();
    let mut invocation = json!({ "executionSuccessful": true, "exitCode": i32::from(!findings.verdict.passed()) });
    if dropped > 0 {
        let told = format!("{dropped} more copies are left out: no reader takes more than {MAX_RESULTS} results");
        invocation["toolExecutionNotifications"] = json!([{ "level": "warning", "message": text(&told) }]);
    }
    let results: Vec<Value> =
        results.into_iter().take(MAX_RESULTS).map(|(finding, copy)| result(findings, finding, copy)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "utf16CodeUnits",
            "invocations": [invocation],
            "results": results,
        }],
    });
    write_json(out, &log)
}

fn rule(kind: Kind) -> String {
    format!("duplicate-{}", kind.name())
}

fn about(kind: Kind) -> &'static str {
    match kind {
        Kind::Exact => "The same text stands in several places, blanks and comments aside.",
        Kind::Renamed => "The same code stands in several places under other names.",
        Kind::Near => "Nearly the same code stands in several places.",
    }
}

fn result(findings: &Findings, finding: &Finding, copy: usize) -> Value {
    let location = |copy: usize| {
        let place = &finding.places[copy];
        json!({
            "artifactLocation": { "uri": findings.repository.uri(finding.path(copy)) },
            "region": {
                "startLine": place.start.line + 1,
                "startColumn": place.start.column + 1,
                "endLine": place.end.line + 1,
                "endColumn": place.end.column + 1,
            },
        })
    };
    let others: Vec<usize> = finding.others(copy).into_iter().take(MAX_RELATED).collect();
    let links: Vec<String> =
        (1..).zip(&others).map(|(n, &other)| format!("[{}]({n})", bracketed(&finding.name(other)))).collect();
    let left_out = finding.places.len() - 1 - others.len();
    let more = if left_out > 0 { format!(", and {left_out} more") } else { String::new() };
    let related: Vec<Value> = (1..)
        .zip(&others)
        .map(|(n, &other)| {
            json!({ "id": n, "message": { "text": finding.name(other) }, "physicalLocation": location(other) })
        })
        .collect();
    let kind = finding.class.kind;
    let mut properties = json!({
        "class": finding.id(),
        "zone": finding.class.zone.name(),
        "tokens": finding.class.tokens,
        "similarity": finding.class.similarity,
    });
    if let Some(news) = finding.news {
        properties["status"] = news.name().into();
    }
    if let Some(brought) = finding.brought.get(copy).and_then(Option::as_ref) {
        properties["commit"] = brought.commit.as_str().into();
    }
    json!({
        "ruleId": rule(kind),
        "ruleIndex": Kind::ALL.iter().position(|&other| other == kind),
        "level": if finding.is_minor() { "note" } else { "warning" },
        "message": { "text": format!("{}: {}{more}", finding.headline(copy), links.join(", ")) },
        "locations": [{ "physicalLocation": location(copy) }],
        "relatedLocations": related,
        "partialFingerprints": {
            "dupiClass/v1": finding.id(),
            "dupiCopy/v1": finding.fingerprint(copy),
            "primaryLocationLineHash": format!("{}:1", finding.fingerprint(copy)),
        },
        "properties": properties,
    })
}

/// The text of a link: brackets would end it.
fn bracketed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        if matches!(c, '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
