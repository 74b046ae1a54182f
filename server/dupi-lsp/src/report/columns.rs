//! What the page knows of files and classes, texts aside: one array for each property, which takes a fraction of the
//! room, and of the browser's time, that an object for each class would.

use std::time::{SystemTime, UNIX_EPOCH};

use dupi::locate::Place;
use dupi::{Kind, Report, Zone};
use serde::Serialize;

use super::history::Run;
use super::texts::Texts;
use crate::check::summary::{Summary, duplicated_lines};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Columns<'a> {
    tool: &'static str,
    /// The folder's own name: where it lies is nobody's business who gets the page.
    name: String,
    /// Seconds since 1970.
    written: u64,
    lines: u64,
    duplicated_lines: u64,
    percent: f64,
    n_skipped: usize,
    history: &'a [Run],
    /// What the numbers of the columns below stand for.
    kind_names: Vec<&'static str>,
    zone_names: Vec<&'static str>,
    language_names: Vec<&'static str>,
    /// Of each zone, duplicated lines; a line in two zones counts in both.
    zone_lines: Vec<u64>,
    files: Files<'a>,
    classes: Classes,
    copies: Copies,
    texts: TextPlaces,
}

#[derive(Serialize)]
struct Files<'a> {
    path: Vec<&'a str>,
    language: Vec<usize>,
    lines: Vec<u32>,
    duplicated: Vec<u64>,
}

/// Worst first.
#[derive(Serialize)]
struct Classes {
    id: Vec<String>,
    kind: Vec<u8>,
    zone: Vec<u8>,
    language: Vec<usize>,
    tokens: Vec<u32>,
    lines: Vec<u32>,
    /// In percent, never rounded up to 100.
    similarity: Vec<u32>,
    copies: Vec<usize>,
}

/// Of one class after the other. Lines from 1, both inclusive.
#[derive(Serialize)]
struct Copies {
    file: Vec<u32>,
    start: Vec<u32>,
    end: Vec<u32>,
}

#[derive(Serialize)]
struct TextPlaces {
    /// The first class of each chunk.
    first: Vec<usize>,
    /// Classes from here on have no text.
    end: usize,
}

impl Columns<'_> {
    pub fn new<'a>(report: &'a Report, places: &[Vec<Place>], history: &'a [Run], texts: &Texts) -> Columns<'a> {
        let summary = Summary::new(report);
        let duplicated = duplicated_lines(&report.classes);
        let mut language_names: Vec<&str> = report.files.iter().map(|file| file.language.name).collect();
        language_names.sort_unstable();
        language_names.dedup();
        // All of them are in it: this is where each one is.
        let language = |i: usize| language_names.partition_point(|name| *name < report.files[i].language.name);
        let of_zone = |zone: &Zone| {
            let classes = report.classes.iter().filter(|class| class.zone == *zone);
            duplicated_lines(classes).into_values().sum()
        };
        let classes = &report.classes;
        let all_copies = || classes.iter().zip(places).flat_map(|(class, places)| class.copies.iter().zip(places));
        Columns {
            tool: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
            name: report.root.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            written: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            lines: report.lines(),
            duplicated_lines: summary.duplicated_lines,
            percent: summary.percent(),
            n_skipped: report.skipped.len(),
            history,
            kind_names: Kind::ALL.iter().map(|kind| kind.name()).collect(),
            zone_names: Zone::ALL.iter().map(|zone| zone.name()).collect(),
            zone_lines: Zone::ALL.iter().map(of_zone).collect(),
            files: Files {
                path: report.files.iter().map(|file| file.shown.as_str()).collect(),
                language: (0..report.files.len()).map(language).collect(),
                lines: report.files.iter().map(|file| file.n_lines).collect(),
                duplicated: (0..report.files.len() as u32).map(|i| duplicated.get(&i).copied().unwrap_or(0)).collect(),
            },
            classes: Classes {
                id: classes.iter().map(|class| format!("{:016x}", class.id)).collect(),
                kind: classes.iter().map(|class| class.kind as u8).collect(),
                zone: classes.iter().map(|class| class.zone as u8).collect(),
                language: classes.iter().map(|class| language(class.copies[0].document as usize)).collect(),
                tokens: classes.iter().map(|class| class.tokens).collect(),
                lines: places.iter().map(|places| places.iter().map(Place::lines).max().unwrap_or(0)).collect(),
                similarity: classes.iter().map(|class| (class.similarity * 100.0).floor() as u32).collect(),
                copies: classes.iter().map(|class| class.copies.len()).collect(),
            },
            copies: Copies {
                file: all_copies().map(|(copy, _)| copy.document).collect(),
                start: all_copies().map(|(_, place)| place.start.line + 1).collect(),
                end: all_copies().map(|(_, place)| place.end.line + 1).collect(),
            },
            texts: TextPlaces { first: texts.chunks.iter().map(|chunk| chunk.first).collect(), end: texts.end },
            language_names,
        }
    }
}
