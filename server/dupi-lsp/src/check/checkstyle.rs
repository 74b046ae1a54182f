//! Checkstyle's XML: a list of errors by file, which most build servers and review bots read.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::findings::{Finding, Findings};
use crate::terminal::visible;

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let mut files: BTreeMap<&str, Vec<(&Finding, usize)>> = BTreeMap::new();
    for finding in &findings.shown {
        for copy in finding.spoken_of() {
            files.entry(finding.path(copy)).or_default().push((finding, copy));
        }
    }
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"8.0\">")?;
    for (path, mut errors) in files {
        errors.sort_by_key(|(finding, copy)| finding.places[*copy].start);
        writeln!(out, "  <file name=\"{}\">", attribute(&findings.repository.path(path)))?;
        for (finding, copy) in errors {
            let start = finding.places[copy].start;
            writeln!(
                out,
                "    <error line=\"{}\" column=\"{}\" severity=\"{}\" message=\"{}\" source=\"dupi-lsp.{}\"/>",
                start.line + 1,
                start.column + 1,
                if finding.is_minor() { "info" } else { "warning" },
                attribute(&finding.message(copy)),
                finding.class.kind.name(),
            )?;
        }
        writeln!(out, "  </file>")?;
    }
    writeln!(out, "</checkstyle>")
}

/// The value of an attribute. XML has no way to write most control characters, so they are shown instead.
fn attribute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            // Else `##[` could be a command of the CI in whose log it is written.
            '[' => out.push_str("&#91;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
