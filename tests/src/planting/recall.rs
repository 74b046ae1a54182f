//! How many planted copies the binary finds: plants them, asks for the classes, and counts by language and edit.

use std::fs;
use std::path::{Path, PathBuf};

use dupi_grammars::token::{Lexed, Token, Unit};
use dupi_grammars::tokenize;
use fastrand::Rng;
use rayon::prelude::*;
use serde_json::Value;

use super::edits::{Donors, Edit, definition, edited, n_errors, n_statements, read};
use super::{Function, renamed};
use crate::alignment::common;
use crate::binary;
use crate::workspace::{Workspace, files};

/// A function counts as found if a copy has this share of its lines: whether it has exactly these is counted apart.
const COVER: f64 = 0.9;
/// No definition of a copy goes below this share of equal tokens: a plant below is counted, but nobody could find it.
const LEAST_ALIKE: f64 = 0.7;
/// Lines of a function that is planted.
const MIN_LINES: u64 = 7;
/// What is left of a copy after the edit: the least that the binary reports by default.
const MIN_LEFT: (usize, usize) = (50, 5);
/// Hosts that are tried for a copy.
const HOSTS: usize = 40;

/// Functions of one language, and where copies of them go.
pub struct Ground {
    /// For tables: the language, or the extension where a language has several.
    pub name: String,
    pub functions: Vec<Function>,
    /// Files of unrelated code. A workspace holds as many plants as there are, each host once.
    pub hosts: Vec<PathBuf>,
    pub donors: Donors,
}

/// Is a function one that copies are planted of?
pub fn is_plantable(function: &Function) -> bool {
    (60..=400).contains(&function.tokens.len())
        && function.lines.1 - function.lines.0 + 1 >= MIN_LINES
        && !function.is_test
        && n_statements(function) >= 4
        // Lines that are joined, or for the preprocessor, cannot be moved.
        && !function.text.contains("\\\n")
        && !function.text.contains("\n#")
        && read(function, &function.text).is_some()
}

/// What became of the plants of one language and one edit.
#[derive(Clone, Default)]
pub struct Tally {
    pub plants: usize,
    /// In one class with the function.
    pub found: usize,
    /// Of these, on the lines of the function and of its copy.
    pub own: usize,
    /// Plants that have enough in common with the function.
    pub alike: usize,
    /// Functions of which no copy could be made.
    pub undrawn: Vec<String>,
    pub missed: Vec<String>,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        let Tally { plants, found, own, alike, undrawn, missed } = other;
        self.plants += plants;
        self.found += found;
        self.own += own;
        self.alike += alike;
        self.undrawn.extend(undrawn);
        self.missed.extend(missed);
    }

    /// Per cent found.
    pub fn rate(&self) -> f64 {
        percent(self.found, self.plants)
    }

    /// Per cent of those found that are on their own lines.
    pub fn own_rate(&self) -> f64 {
        percent(self.own, self.found)
    }
}

fn percent(n: usize, of: usize) -> f64 {
    if of == 0 { 100.0 } else { 100.0 * n as f64 / of as f64 }
}

/// A function and its copy, each with its file and lines.
struct Plant {
    name: String,
    original: (String, (u64, u64)),
    copy: (String, (u64, u64)),
    similarity: f64,
}

/// Plants every function once, edited, in as few workspaces as the hosts allow, and counts what is found.
pub fn measure(ground: &Ground, edit: Edit, is_renamed: bool, seed: u64, arguments: &[&str]) -> Tally {
    let n_hosts = ground.hosts.len().max(1);
    let numbered: Vec<(usize, &Function)> = ground.functions.iter().enumerate().collect();
    let tallies = numbered.par_chunks(n_hosts).map(|chunk| {
        let mut tally = Tally::default();
        let workspace = Workspace::new("");
        let mut plants = Vec::new();
        let mut hosts = ground.hosts.clone();
        for &(i, function) in chunk {
            // A seed of its own: edits of a function do not depend on the others, but which hosts are left does.
            let mut rng = Rng::with_seed(seed << 32 ^ (i as u64) << 4 ^ edit as u64);
            match plant(&mut rng, &workspace, i, function, &mut hosts, &ground.donors, edit, is_renamed) {
                Some(plant) => plants.push(plant),
                None => tally.undrawn.push(format!("{i} {}", function.place())),
            }
        }
        if plants.is_empty() {
            return tally;
        }
        if let Some(folder) = std::env::var_os("DUPI_KEEP") {
            let renamed = if is_renamed { "-renamed" } else { "" };
            let name = format!("{}-{}{renamed}-{seed}", ground.name, edit.name());
            keep(workspace.path(), &Path::new(&folder).join(name));
        }
        let arguments = [&["--check", "--format", "json", "--no-index", "--no-config"], arguments].concat();
        let run = binary::run(workspace.path(), &arguments);
        assert!(run.code <= 1, "exit {}: {}", run.code, run.stderr);
        let answer = run.json();
        let classes = answer["classes"].as_array().expect("classes");
        for plant in &plants {
            tally.plants += 1;
            tally.alike += usize::from(plant.similarity >= LEAST_ALIKE);
            let found: Vec<&Value> = classes.iter().filter(|class| stands(class, plant, covers)).collect();
            let is_own = found.iter().any(|class| stands(class, plant, |copy, lines| copy == lines));
            tally.found += usize::from(!found.is_empty());
            tally.own += usize::from(is_own);
            if !is_own {
                let what = if found.is_empty() { "missed" } else { "other lines" };
                tally.missed.push(format!("{what} {:.2} {}", plant.similarity, plant.name));
            }
        }
        tally
    });
    tallies.reduce(Tally::default, |mut a, b| {
        a.add(b);
        a
    })
}

/// Copies a workspace to where somebody can look at it.
fn keep(workspace: &Path, folder: &Path) {
    for path in files(workspace) {
        let to = folder.join(path.strip_prefix(workspace).expect("it is below"));
        fs::create_dir_all(to.parent().expect("a file in a folder")).expect("a folder can be made");
        fs::copy(&path, to).expect("a file can be copied");
    }
}

/// Writes a function's file and a host with its edited copy.
#[expect(clippy::too_many_arguments, reason = "all of them are what is drawn from")]
fn plant(
    rng: &mut Rng,
    workspace: &Workspace,
    i: usize,
    function: &Function,
    hosts: &mut Vec<PathBuf>,
    donors: &Donors,
    edit: Edit,
    is_renamed: bool,
) -> Option<Plant> {
    let is_large =
        |(text, tokens): &(String, Vec<Token>)| tokens.len() >= MIN_LEFT.0 && text.lines().count() >= MIN_LEFT.1;
    let (mut text, tokens) = edited(rng, function, donors, edit).filter(is_large)?;
    let words: Vec<&str> = (0..function.tokens.len()).map(|at| function.word(at)).collect();
    let new: Vec<&str> = tokens.iter().map(|token| &text[token.start as usize..token.end as usize]).collect();
    let similarity = common(&words, &new, 0).unwrap_or(0) as f64 / words.len().max(new.len()) as f64;
    if is_renamed {
        text = renamed(&text, &tokens);
        // A grammar may know some names by heart, as `size_t`: that it is one definition is enough.
        let (before, after) = function.host();
        let range = before.len()..before.len() + text.len();
        definition(function.language, &format!("{before}{text}{after}"), range)?;
    }
    let (original, copy) = (format!("a/{i}.{}", function.extension), format!("b/{i}.{}", function.extension));
    let (host, first) = planted(rng, function, &text, hosts);
    workspace.write(&original, fs::read(&function.path).expect("it was read before"));
    workspace.write(&copy, host);
    let last = first + text.lines().count() as u64 - 1;
    Some(Plant {
        name: format!("{i} {}:{}-{} {first}-{last}", function.path.display(), function.lines.0, function.lines.1),
        original: (original, function.lines),
        copy: (copy, (first, last)),
        similarity,
    })
}

/// A host with a text in it, and the text's first line: between the definitions of a host that has some of its indent,
/// else in the small file that any function of the language can stand in.
fn planted(rng: &mut Rng, function: &Function, text: &str, hosts: &mut Vec<PathBuf>) -> (String, u64) {
    rng.shuffle(hosts);
    for at in 0..hosts.len().min(HOSTS) {
        let Ok(host) = fs::read_to_string(&hosts[at]) else { continue };
        if hosts[at] == function.path || host.contains(function.text.trim()) {
            continue;
        }
        if let Some((host, start)) = in_host(rng, function, text, &host) {
            hosts.swap_remove(at);
            let first = host[..start].matches('\n').count() as u64 + 1;
            return (host, first);
        }
    }
    let (before, after) = function.host();
    (format!("{before}{text}{after}"), before.matches('\n').count() as u64 + 1)
}

/// A host with a text before one of its definitions, and where it starts.
fn in_host(rng: &mut Rng, function: &Function, text: &str, host: &str) -> Option<(String, usize)> {
    let mut lexed = Lexed::default();
    tokenize(function.language, host.as_bytes(), &mut lexed).ok()?;
    // A core is its definition over again, without the head.
    lexed.units.retain(|unit| unit.flags & Unit::CORE == 0);
    let indent = &text[..text.len() - text.trim_start().len()];
    let places = lexed.units.iter().filter(|unit| unit.flags & Unit::DEFINITION != 0).filter_map(|unit| {
        let first = lexed.tokens[unit.start as usize].start as usize;
        let line = host[..first].rfind('\n').map_or(0, |end| end + 1);
        (host[line..first] == *indent).then_some(line)
    });
    let mut places: Vec<usize> = places.collect();
    rng.shuffle(&mut places);
    let n = n_errors(function.language, host);
    places.into_iter().take(4).find_map(|place| {
        let new = format!("{}{text}\n\n{}", &host[..place], &host[place..]);
        let stands = definition(function.language, &new, place..place + text.len()).is_some()
            && n_errors(function.language, &new) <= n;
        stands.then_some((new, place))
    })
}

fn covers(copy: (u64, u64), lines: (u64, u64)) -> bool {
    let common = (copy.1.min(lines.1) + 1).saturating_sub(copy.0.max(lines.0));
    common as f64 >= COVER * (lines.1 - lines.0 + 1) as f64
}

/// Does a class have a copy for both sides of a plant?
fn stands(class: &Value, plant: &Plant, fits: impl Fn((u64, u64), (u64, u64)) -> bool) -> bool {
    let copies = class["copies"].as_array().expect("copies");
    [&plant.original, &plant.copy].iter().all(|(path, lines)| {
        copies.iter().any(|copy| {
            let line = |name: &str| copy[name].as_u64().expect("a line");
            copy["path"].as_str() == Some(path) && fits((line("startLine"), line("endLine")), *lines)
        })
    })
}

/// The frozen file of unrelated code in the language of another frozen file.
pub fn frozen_host(path: &Path) -> PathBuf {
    let extension = path.extension().expect("an extension").to_string_lossy();
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/fuzz/rows.{extension}"))
}
