//! One row for each copy, as RFC 4180 has it, for spreadsheets.

use std::io::{self, Write};

use super::findings::Findings;
use crate::terminal::escape;

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let columns = "class,kind,zone,language,tokens,lines,similarity,status,copy,path,start_line,start_column,end_line,\
                   end_column,commit";
    write!(out, "{columns}\r\n")?;
    for finding in &findings.shown {
        let class = finding.class;
        for (copy, place) in finding.places.iter().enumerate() {
            let brought = finding.brought.get(copy).and_then(Option::as_ref);
            write!(
                out,
                "{},{},{},{},{},{},{:.4},{},{},{},{},{},{},{},{}\r\n",
                field(&finding.id()),
                class.kind.name(),
                class.zone.name(),
                finding.file(copy).language.name,
                class.tokens,
                place.lines(),
                class.similarity,
                finding.news.map_or("", |news| news.name()),
                copy + 1,
                field(finding.path(copy)),
                place.start.line + 1,
                place.start.column + 1,
                place.end.line + 1,
                place.end.column + 1,
                brought.map_or("", |brought| brought.commit.as_str()),
            )?;
        }
    }
    Ok(())
}

/// A text. Spreadsheets take one that starts with certain signs for a formula, unless a quotation mark is before it.
fn field(text: &str) -> String {
    let text = escape(text);
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}
