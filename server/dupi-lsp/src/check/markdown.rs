//! A comment for a pull request: what is new, with links to both sides.

use std::io::{self, Write};

use super::findings::{Finding, Findings};
use super::policy::advice;
use crate::markdown::{link, plain};
use crate::terminal::count;

/// What a bot can look for to find its last comment again.
pub const MARK: &str = "<!-- dupi-lsp -->";
/// GitHub takes comments of up to 65 536 characters; the last row and what follows must fit, too.
const MAX_BYTES: usize = 60_000;
/// Places named in one cell.
const MAX_NAMED: usize = 4;

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let summary = &findings.summary;
    let mut text = format!("{MARK}\n");
    let title = match (&findings.compared, findings.shown.len() as u64) {
        (Some(_), 0) => "no new duplicated code".to_owned(),
        (None, 0) => "no duplicated code".to_owned(),
        (Some(compared), n) => {
            format!("{} with copies, compared with {}", count(n, "class", "classes"), plain(compared))
        }
        (None, n) => format!("{} of duplicated code", count(n, "class", "classes")),
    };
    let sign = if findings.verdict.passed() { "✅" } else { "❌" };
    text.push_str(&format!("### {sign} dupi: {title}\n\n"));
    for failure in &findings.verdict.failures {
        text.push_str(&format!("- {}\n", plain(failure)));
    }
    if !findings.verdict.passed() {
        text.push_str(&format!("\nWhat to do: {}.\n\n", plain(advice(findings.compared.is_some()))));
    }
    if !findings.shown.is_empty() {
        let columns = if findings.compared.is_some() { ["here", "also there"] } else { ["copy", "other copies"] };
        text.push_str(&format!("| lines | kind | {} | {} |\n|--:|---|---|---|\n", columns[0], columns[1]));
    }
    let mut n_told = 0;
    for finding in &findings.shown {
        let row = row(findings, finding);
        if text.len() + row.len() > MAX_BYTES {
            break;
        }
        text.push_str(&row);
        n_told += 1;
    }
    for note in &findings.verdict.notes {
        let note = format!("\n> {}\n", plain(note));
        if text.len() + note.len() < MAX_BYTES {
            text.push_str(&note);
        }
    }
    let more = findings.shown.len() - n_told;
    if more > 0 {
        text.push_str(&format!("\n… and {}.\n", count(more as u64, "more class", "more classes")));
    }
    text.push_str(&format!(
        "\n<sub>{} of {} duplicated, {:.1} %</sub>\n",
        summary.duplicated_lines,
        count(summary.lines, "line", "lines"),
        summary.percent(),
    ));
    out.write_all(text.as_bytes())
}

fn row(findings: &Findings, finding: &Finding) -> String {
    let first = finding.spoken_of()[0];
    let mut own = vec![first];
    let mut others = finding.others(first);
    if finding.is_touched(first) {
        own.extend(others.iter().filter(|&&other| finding.is_touched(other)));
        others.retain(|&other| !finding.is_touched(other));
    }
    let cell = |copies: &[usize]| {
        let mut names: Vec<String> =
            copies.iter().take(MAX_NAMED).map(|&copy| place(findings, finding, copy)).collect();
        if copies.len() > MAX_NAMED {
            names.push(format!("{} more", copies.len() - MAX_NAMED));
        }
        names.join("<br>")
    };
    let kind = finding.class.kind.name();
    let status = finding.news.map_or(String::new(), |news| format!(" · {}", news.name()));
    format!("| {} | {kind}{status} | {} | {} |\n", finding.lines(), cell(&own), cell(&others))
}

/// A place as a link, if it is known where to.
fn place(findings: &Findings, finding: &Finding, copy: usize) -> String {
    let (first, last) = finding.line_numbers(copy);
    let name = format!("{}:{first}-{last}", finding.path(copy));
    let brought = finding.brought.get(copy).and_then(Option::as_ref);
    let brought = brought.map_or(String::new(), |brought| format!(" ({} {})", brought.short(), brought.date));
    match findings.repository.link(finding.path(copy), (first, last)) {
        Some(address) => format!("{}{brought}", link(&name, &address)),
        None => format!("{}{brought}", plain(&name)),
    }
}
