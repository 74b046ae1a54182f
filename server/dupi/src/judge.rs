//! From places with the same structure to classes that people would call copies: kind, similarity, zone.
//!
//! Structure alone is cheap: half of a normalized code base has an equal somewhere.
//! What counts is that the text agrees, or that a one-to-one renaming explains why it does not.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use dupi_grammars::token::{Code, IDENTIFIER, Unit, varies};

use crate::blots::is_plain;
use crate::class::{Class, Fragment, Kind, Zone};
use crate::document::Document;
use crate::fingerprint::{LastUses, fingerprint, id};
use crate::runs::apart;
use crate::settings::Settings;
use crate::zones::{is_literal, is_table, is_table_all_over};

/// A renaming explains a difference only if names come back and are held to it: where every name is new, any two pieces
/// of one shape are a renaming of each other. This is the least share of names that must be a return of an earlier one:
/// in straight code, and where blocks within blocks make the shape itself telling.
/// Low, for what looks alike by chance is kept out by [`MIN_STEP_TOKENS`]: on Go's library and on a large Rust project
/// 0.4 and 0.2 showed three classes fewer in 3 400, and missed every eighth renamed function of real sources.
pub const EVIDENCE_IF_FLAT: f64 = 0.15;
const EVIDENCE: f64 = 0.05;

/// Steps of a function (or a few small definitions) of this many tokens or more need only the similarity that is asked for;
/// shorter ones look alike by chance more easily, and must agree in more of their text, up to [`SHORT_FACTOR`] at
/// [`SHORT_TOKENS`]. A whole definition stands for itself at any length.
const LONG_TOKENS: f64 = 150.0;
const SHORT_TOKENS: f64 = 50.0;
const SHORT_FACTOR: f64 = 1.36;

/// Steps in a row without a block among them are the way an interface is used more often than a copy:
/// below this many tokens only equal text counts.
const FLAT_TOKENS: f64 = 100.0;

/// Declarations (signatures, fields, empty bodies) resemble each other by their nature: with fewer tokens than this
/// in statements, or fewer than half of a short fragment's, only equal text counts.
const MIN_STEP_TOKENS: u32 = 25;

/// A definition of this many tokens is a copy by itself, and so is one that makes up [`DEFINITION_SHARE`] of a fragment.
/// The size of the fragment decides, never the minimum that somebody asks for: a smaller minimum must not show
/// what a larger one leaves out though it is large enough.
const DEFINITION_TOKENS: u32 = 50;
const DEFINITION_SHARE: f64 = 0.8;

/// A definition with this many tokens in statements is a function, not a table that happens to be one.
const MIN_FUNCTION_TOKENS: u32 = 20;

/// Where more than this share of the names and literals of straight code are literals that differ, they are what it is
/// about: a table in the shape of calls. A one-to-one renaming may carry more of them than a mere likeness.
const MAX_LITERALS_RENAMED: f64 = 0.3;
const MAX_LITERALS_ALIKE: f64 = 0.25;

/// With how many groups of unlike text a place is compared; past that only equal text and renamings find each other.
/// Bounds the work on shapes that stand in thousands of places.
const MAX_LEADERS: usize = 32;

/// A class, and whether its kind and its size are those that are asked for: what is too small to be shown can be a part of
/// what is not.
pub struct Judged {
    pub class: Class,
    pub is_shown: bool,
}

/// Places with one and the same text.
struct Variant {
    exact: u64,
    alpha: u64,
    copies: Vec<Fragment>,
}

/// What has become of places of one structure.
#[derive(Default)]
pub struct Judgement {
    pub classes: Vec<Judged>,
    /// One place of each of the first groups of copies, if there are several; of each of the first texts, if nobody asks for
    /// such content.
    pub leaders: Vec<Fragment>,
}

/// The classes among places of one structure. `places` are in document order and apart.
pub fn judge(documents: &[Arc<Document>], settings: &Settings, places: &[Fragment], uses: &mut LastUses) -> Judgement {
    let Some(first) = places.first() else { return Judgement::default() };
    let (codes, _) = tokens(documents, first);
    let table = is_table(codes);
    let content = content(&documents[first.document as usize], first, table);
    let mut variants = variants(documents, places, codes, uses);
    // By content and not by place, so that moving a file changes nothing.
    variants.sort_by_key(|variant| (std::cmp::Reverse(variant.copies.len()), variant.exact));
    if content.is_some_and(|zone| !settings.zones.contains(&zone)) {
        let leaders = variants.iter().take(MAX_LEADERS).map(|variant| variant.copies[0]);
        return Judgement { classes: Vec::new(), leaders: leaders.collect() };
    }
    let bar = Bar::new(documents, first, table, settings, uses);
    let mut clusters: Vec<Vec<Variant>> = Vec::new();
    let mut by_alpha: HashMap<u64, usize> = HashMap::new();
    for variant in variants {
        let likeness = |cluster: &Vec<Variant>| Likeness::of(documents, &cluster[0].copies[0], &variant.copies[0]);
        let renamed = by_alpha.get(&variant.alpha).copied().filter(|_| bar.renaming);
        let renamed = renamed.filter(|&i| bar.admits_renaming(&likeness(&clusters[i])));
        let home = renamed.or_else(|| {
            // Texts that are not equal are never wholly alike.
            let leaders = if bar.similarity < 1.0 { MAX_LEADERS } else { 0 };
            clusters
                .iter()
                .take(leaders)
                .position(|cluster| bar.admits(documents, &cluster[0].copies[0], &variant.copies[0]))
        });
        let home = home.unwrap_or(clusters.len());
        by_alpha.entry(variant.alpha).or_insert(home);
        match clusters.get_mut(home) {
            Some(cluster) => cluster.push(variant),
            None => clusters.push(vec![variant]),
        }
    }
    let mut judgement = Judgement::default();
    if clusters.len() > 1 {
        judgement.leaders.extend(clusters.iter().take(MAX_LEADERS).map(|cluster| cluster[0].copies[0]));
    }
    for cluster in clusters {
        judgement.classes.extend(class(documents, settings, cluster, content, bar.renaming, uses));
    }
    judgement
}

/// What places must have in common, beside their structure, to be copies of each other.
pub struct Bar {
    /// The least similarity.
    similarity: f64,
    /// Whether a one-to-one renaming is enough instead.
    renaming: bool,
    /// The largest share of literals that differ, for either way.
    literals: f64,
    literals_renamed: f64,
}

/// Do copies of a fragment have to have equal text, to judge by its structure alone?
pub fn needs_equal_text(document: &Document, fragment: &Fragment, table: bool, settings: &Settings) -> bool {
    let (similarity, may_be_renamed) = asked_of(document, fragment, table, settings);
    similarity >= 1.0 && !may_be_renamed
}

/// Is whatever lies in a fragment, and is large enough to be a copy, data? Says so only if it is sure.
pub fn parts_are_data(document: &Document, fragment: &Fragment, settings: &Settings) -> bool {
    !holds_function(document, fragment) && parts_are_tables(document, fragment, settings)
}

fn parts_are_tables(document: &Document, fragment: &Fragment, settings: &Settings) -> bool {
    let codes = &document.codes[fragment.start as usize..fragment.end as usize];
    is_table_all_over(codes, settings.floor() as usize)
}

/// Do copies of whatever lies in a fragment have to have equal text? Says so only if it is sure.
pub fn parts_need_equal_text(document: &Document, fragment: &Fragment, settings: &Settings) -> bool {
    let short = f64::from(fragment.len()) < FLAT_TOKENS;
    settings.min_similarity > 0.0
        && (n_step_tokens(document, fragment) < min_step_tokens(settings.floor())
            || parts_are_tables(document, fragment, settings)
            || (short
                && is_flat(document, fragment)
                && !holds_definition(document, fragment, min_definition(settings.floor()))))
}

/// How many tokens must stand in statements, of a fragment of this length.
fn min_step_tokens(length: u32) -> u32 {
    MIN_STEP_TOKENS.min(length / 2)
}

/// How many tokens a definition must have to be a copy by itself, in a fragment of this length.
fn min_definition(length: u32) -> u32 {
    DEFINITION_TOKENS.min((f64::from(length) * DEFINITION_SHARE) as u32)
}

/// The least similarity of copies of a fragment, and whether a renaming could be enough instead.
fn asked_of(document: &Document, fragment: &Fragment, table: bool, settings: &Settings) -> (f64, bool) {
    let codes = &document.codes[fragment.start as usize..fragment.end as usize];
    // Plain windows are indexed by their text alone, so others of this shape are found by luck. Equal text is not.
    if is_plain(codes) {
        return (1.0, false);
    }
    let whole = holds_definition(document, fragment, min_definition(fragment.len()));
    let asked = settings.min_similarity;
    let length = f64::from(fragment.len());
    let short = ((LONG_TOKENS - length) / (LONG_TOKENS - SHORT_TOKENS)).clamp(0.0, 1.0);
    // Monotonous statements (a constructor that sets fields) are alike by their nature, too.
    let thin = table || n_step_tokens(document, fragment) < min_step_tokens(fragment.len());
    let similarity = match () {
        _ if asked == 0.0 => 0.0,
        _ if thin => 1.0,
        _ if whole => asked,
        _ if length < FLAT_TOKENS && is_flat(document, fragment) => 1.0,
        _ => (asked * (1.0 + (SHORT_FACTOR - 1.0) * short)).min(1.0),
    };
    (similarity, whole && !thin)
}

impl Bar {
    pub fn new(
        documents: &[Arc<Document>],
        fragment: &Fragment,
        table: bool,
        settings: &Settings,
        uses: &mut LastUses,
    ) -> Bar {
        let document = &documents[fragment.document as usize];
        let (similarity, may_be_renamed) = asked_of(document, fragment, table, settings);
        let flat = is_flat(document, fragment);
        let evidence = returning(tokens(documents, fragment), uses);
        let renaming = may_be_renamed && evidence >= if flat { EVIDENCE_IF_FLAT } else { EVIDENCE };
        let asked = settings.min_similarity;
        let (literals, literals_renamed) = match () {
            _ if asked == 0.0 || !flat => (1.0, 1.0),
            _ => (MAX_LITERALS_ALIKE, MAX_LITERALS_RENAMED),
        };
        Bar { similarity, renaming, literals, literals_renamed }
    }

    /// Are the texts of two fragments alike enough? Looks no further than needed to say no.
    fn admits(&self, documents: &[Arc<Document>], a: &Fragment, b: &Fragment) -> bool {
        let ((codes, of_a), (_, of_b)) = (tokens(documents, a), tokens(documents, b));
        let different = of_a.iter().zip(of_b).filter(|(a, b)| a != b);
        // One more than may differ at most, so that rounding never decides here.
        let max = ((1.0 - self.similarity) * codes.len() as f64) as usize + 1;
        if different.take(max + 1).count() > max {
            return false;
        }
        self.admits_likeness(&Likeness::of(documents, a, b))
    }

    pub fn admits_likeness(&self, likeness: &Likeness) -> bool {
        likeness.similarity >= self.similarity && likeness.literals <= self.literals
    }

    /// Are the places of a one-to-one renaming copies?
    pub fn admits_renaming(&self, likeness: &Likeness) -> bool {
        self.renaming && likeness.literals <= self.literals_renamed
    }
}

pub fn tokens<'a>(documents: &'a [Arc<Document>], fragment: &Fragment) -> (&'a [Code], &'a [u32]) {
    documents[fragment.document as usize].read_tokens(fragment.start, fragment.end)
}

/// Groups places by text; a place whose codes are not those of the first (a clash of hashes) is dropped.
fn variants(documents: &[Arc<Document>], places: &[Fragment], codes: &[Code], uses: &mut LastUses) -> Vec<Variant> {
    let mut by_text: HashMap<u64, usize> = HashMap::new();
    let mut variants: Vec<Variant> = Vec::new();
    for place in places {
        let (of_place, symbols) = tokens(documents, place);
        if of_place != codes {
            continue;
        }
        uses.read_roles(documents[place.document as usize].language, of_place, symbols);
        let print = fingerprint(of_place, symbols, uses.distances());
        let i = *by_text.entry(print.exact).or_insert_with(|| {
            variants.push(Variant { exact: print.exact, alpha: print.alpha, copies: Vec::new() });
            variants.len() - 1
        });
        variants[i].copies.push(*place);
    }
    variants
}

/// Is there a definition in a fragment that is large enough to be a copy by itself?
fn holds_definition(document: &Document, fragment: &Fragment, min_tokens: u32) -> bool {
    document
        .units_in(fragment.start, fragment.end)
        .any(|unit| unit.flags & Unit::DEFINITION != 0 && unit.end - unit.start >= min_tokens)
}

/// The statements of a fragment: units that define nothing by themselves.
fn steps<'a>(document: &'a Document, fragment: &Fragment) -> impl Iterator<Item = &'a Unit> {
    document.units_in(fragment.start, fragment.end).filter(|unit| unit.flags & Unit::DEFINITION == 0)
}

/// How many tokens of a fragment stand in statements.
fn n_step_tokens(document: &Document, fragment: &Fragment) -> u32 {
    let (mut n, mut end) = (0, 0);
    for unit in steps(document, fragment) {
        if unit.start >= end {
            n += unit.end - unit.start;
            end = unit.end;
        }
    }
    n
}

/// Is there no statement within a statement in a fragment?
fn is_flat(document: &Document, fragment: &Fragment) -> bool {
    let mut end = fragment.start;
    steps(document, fragment).all(|unit| {
        let beside = unit.start >= end;
        end = unit.end;
        beside
    })
}

/// The share of a piece's names that come back: only those hold a renaming to anything.
pub fn returning((codes, symbols): (&[Code], &[u32]), uses: &mut LastUses) -> f64 {
    uses.read(codes, symbols);
    let (mut names, mut returns) = (0usize, 0usize);
    for (code, distance) in codes.iter().filter(|&&code| varies(code)).zip(uses.distances()) {
        if *code == IDENTIFIER {
            names += 1;
            returns += usize::from(*distance != u32::MAX);
        }
    }
    returns as f64 / names.max(1) as f64
}

/// How alike the texts of two fragments of one structure are.
pub struct Likeness {
    /// The share of tokens whose text is the same.
    pub similarity: f64,
    /// The share of names and literals that are literals whose text differs.
    literals: f64,
}

impl Likeness {
    fn of(documents: &[Arc<Document>], a: &Fragment, b: &Fragment) -> Likeness {
        let ((codes, of_a), (_, of_b)) = (tokens(documents, a), tokens(documents, b));
        let mut counts = Counts { tokens: codes.len(), ..Counts::default() };
        for (code, (a, b)) in codes.iter().filter(|&&code| varies(code)).zip(of_a.iter().zip(of_b)) {
            counts.add(*code, a != b);
        }
        Likeness::from(counts)
    }
}

impl From<Counts> for Likeness {
    fn from(counts: Counts) -> Likeness {
        Likeness {
            similarity: 1.0 - (counts.names + counts.literals) as f64 / counts.tokens.max(1) as f64,
            literals: counts.literals as f64 / counts.varying.max(1) as f64,
        }
    }
}

/// Counts of tokens in two fragments of one structure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub tokens: usize,
    /// Names and literals.
    pub varying: usize,
    /// Those whose text differs.
    pub names: usize,
    pub literals: usize,
}

impl Counts {
    /// Counts a name or a literal.
    pub fn add(&mut self, code: Code, differs: bool) {
        self.varying += 1;
        *(if code == IDENTIFIER { &mut self.names } else { &mut self.literals }) += usize::from(differs);
    }
}

/// The zone of a fragment if its content alone decides it: imports and data are that wherever they stand.
pub fn content(document: &Document, fragment: &Fragment, table: bool) -> Option<Zone> {
    let mut end = fragment.start;
    let mut outer = document.units_in(fragment.start, fragment.end).filter(|unit| {
        let beside = unit.start >= end;
        end = end.max(unit.end);
        beside
    });
    if outer.all(|unit| unit.flags & Unit::IMPORT != 0) {
        return Some(Zone::Imports);
    }
    ((table && !holds_function(document, fragment)) || is_literal(document, fragment)).then_some(Zone::Data)
}

/// A function is one however monotonous its statements are.
fn holds_function(document: &Document, fragment: &Fragment) -> bool {
    holds_definition(document, fragment, 1) && n_step_tokens(document, fragment) >= MIN_FUNCTION_TOKENS
}

/// The zone of a class, and the least number of its tokens, from where its copies stand: each in a test or not, and in a
/// generated file or not.
pub fn zone(copies: impl Iterator<Item = (bool, bool)>, settings: &Settings) -> (Zone, u32) {
    let (mut code, mut test) = (0, 0);
    for (is_test, is_generated) in copies {
        if is_generated {
        } else if is_test {
            test += 1;
        } else {
            code += 1;
        }
    }
    // Two places in code make it a matter of code; one of them copied into a test does not.
    let zone = match (code, test) {
        (2.., _) => Zone::Code,
        _ if code + test >= 2 => Zone::Test,
        _ => Zone::Generated,
    };
    // Tests repeat themselves on purpose, but not the code that they test.
    (zone, if code > 0 { settings.min_tokens } else { settings.min_tokens_in(zone) })
}

fn class(
    documents: &[Arc<Document>],
    settings: &Settings,
    cluster: Vec<Variant>,
    content: Option<Zone>,
    evidence: bool,
    uses: &mut LastUses,
) -> Option<Judged> {
    let leader = cluster[0].copies[0];
    let kind = if cluster.len() == 1 {
        Kind::Exact
    } else if cluster.iter().all(|variant| variant.alpha == cluster[0].alpha) {
        Kind::Renamed
    } else {
        Kind::Near
    };
    let (mut sum, mut n) = (0.0, 0usize);
    for variant in &cluster {
        sum += Likeness::of(documents, &leader, &variant.copies[0]).similarity * variant.copies.len() as f64;
        n += variant.copies.len();
    }
    // The leader is like itself; the mean is over the others.
    let similarity = if n > 1 { (sum - 1.0) / (n - 1) as f64 } else { 1.0 };
    let salt = if evidence { 0 } else { cluster.iter().map(|variant| variant.exact).min().unwrap_or(0) };
    let mut copies: Vec<Fragment> = cluster.into_iter().flat_map(|variant| variant.copies).collect();
    copies.sort_unstable();
    apart(&mut copies);
    let at: Vec<Range<u32>> =
        copies.iter().map(|copy| documents[copy.document as usize].lines(copy.start, copy.end)).collect();
    let lines = at.iter().map(|lines| lines.end - lines.start).max()?;
    let place = |copy: &Fragment| {
        let document = &documents[copy.document as usize];
        (document.is_test(copy.start, copy.end), document.generated)
    };
    let (zone, min_tokens) = match content {
        Some(zone) => (zone, settings.min_tokens_in(zone)),
        None => zone(copies.iter().map(place), settings),
    };
    if copies.len() < 2 {
        return None;
    }
    let is_shown = settings.zones.contains(&zone)
        && settings.kinds.contains(&kind)
        && lines >= settings.min_lines
        && leader.len() >= min_tokens;
    let (codes, symbols) = tokens(documents, &leader);
    uses.read(codes, symbols);
    let id = id(&documents[leader.document as usize], codes, uses.distances(), salt);
    let class = Class { id, kind, zone, tokens: leader.len(), lines, similarity, copies, at };
    Some(Judged { class, is_shown })
}
