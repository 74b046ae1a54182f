//! `dupi/classes`: the worst classes of all folders, for who shows a list of them. The rest is only counted.

use std::sync::Arc;

use dupi::{Class, Kind, Zone};
use serde::{Deserialize, Serialize};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types::Location;

use super::blocking;
use super::copies::{self, Other};
use super::session::Queue;
use super::workspace_diagnostic::{report, reporters};
use crate::terminal::count;

/// Classes that are told of, unless somebody asks for more or less: a list that is looked at, not read to its end.
const LIMIT: usize = 200;
/// Copies that are told of each class: one of thousands must not be most of the answer.
const MAX_COPIES: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Params {
    limit: usize,
    /// None means all that are shown at all.
    zones: Vec<String>,
    kinds: Vec<String>,
}

impl Default for Params {
    fn default() -> Params {
        Params { limit: LIMIT, zones: Vec::new(), kinds: Vec::new() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// How many classes there are, of the zones and kinds that were asked for.
    total: usize,
    /// Worst first.
    classes: Vec<AnswerClass>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerClass {
    /// As reports have it.
    id: String,
    kind: &'static str,
    zone: &'static str,
    tokens: u32,
    lines: u32,
    similarity: f64,
    /// "38 lines in 4 places · renamed".
    title: String,
    n_copies: usize,
    /// Where the first of them are, in the order of their paths.
    copies: Vec<Location>,
}

/// Waits until all files were looked at once.
pub async fn answer(queue: &Queue, params: Params) -> Result<Answer> {
    let asked = queue.ask(|session, reply| session.when_ready(move |view| drop(reply.send(view))));
    let zones = named(&params.zones, Zone::by_name, "zone")?;
    let kinds = named(&params.kinds, Kind::by_name, "kind")?;
    let is_asked = move |class: &Class| {
        (zones.is_empty() || zones.contains(&class.zone)) && (kinds.is_empty() || kinds.contains(&class.kind))
    };
    let view = asked.await?;
    let mut found: Vec<(Class, Vec<Other>)> = Vec::new();
    let mut total = 0;
    for (id, reporter) in reporters(queue).await? {
        let report = report(&view, id, &reporter).await?;
        let (view, is_asked) = (Arc::clone(&view), is_asked.clone());
        let of_folder = blocking(move || {
            // What lies wholly in folders within this one is told of there.
            let is_own = |class: &Class| {
                let mut paths = class.copies.iter().map(|copy| &report.files[copy.document as usize].path);
                view.folders.len() == 1 || paths.any(|path| view.folder_of(path).is_some_and(|folder| folder.id == id))
            };
            let name = |file: u32| {
                let file = &report.files[file as usize];
                (file.path.clone(), file.shown.clone())
            };
            let asked: Vec<&Class> = report.classes.iter().filter(|class| is_asked(class) && is_own(class)).collect();
            let worst = asked.iter().take(params.limit);
            let worst: Vec<_> = worst.map(|&class| (class.clone(), copies::places(class, &name))).collect();
            (asked.len(), worst)
        });
        let (n_asked, worst) = of_folder.await?;
        total += n_asked;
        found.extend(worst);
    }
    // A stable sort: each folder's own order stays.
    found.sort_by_key(|(class, _)| std::cmp::Reverse(class.weight()));
    found.truncate(params.limit);
    let told = |(class, places): &(Class, Vec<Other>)| AnswerClass {
        id: format!("{:016x}", class.id),
        kind: class.kind.name(),
        zone: class.zone.name(),
        tokens: class.tokens,
        lines: class.lines,
        similarity: class.similarity,
        title: title(class),
        n_copies: places.len(),
        copies: places.iter().take(MAX_COPIES).filter_map(|place| place.location(&view)).collect(),
    };
    Ok(Answer { total, classes: found.iter().map(told).collect() })
}

fn named<T>(names: &[String], by_name: fn(&str) -> Option<T>, what: &str) -> Result<Vec<T>> {
    let one = |name: &String| by_name(name).ok_or_else(|| Error::invalid_params(format!("no such {what}: {name}")));
    names.iter().map(one).collect()
}

fn title(class: &Class) -> String {
    let lines = count(u64::from(class.lines), "line", "lines");
    format!("{lines} in {} places · {}", class.copies.len(), class.kind.name())
}
