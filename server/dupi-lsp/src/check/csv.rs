//! One row for each copy, as RFC 4180 has it, for spreadsheets.

use std::io::{self, Write};

use super::findings::Findings;
use crate::terminal::csv_field;

pub const COLUMNS: &str = "class,kind,zone,language,tokens,lines,similarity,status,copy,path,start_line,start_column,\
                           end_line,end_column,commit";

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    write!(out, "{COLUMNS}\r\n")?;
    for finding in &findings.shown {
        let class = finding.class;
        for (copy, place) in finding.places.iter().enumerate() {
            let brought = finding.brought.get(copy).and_then(Option::as_ref);
            write!(
                out,
                "{},{},{},{},{},{},{:.4},{},{},{},{},{},{},{},{}\r\n",
                csv_field(&finding.id()),
                class.kind.name(),
                class.zone.name(),
                finding.file(copy).language.name,
                class.tokens,
                place.lines(),
                class.similarity,
                finding.news.map_or("", |news| news.name()),
                copy + 1,
                csv_field(finding.path(copy)),
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
