//! Which code of the workspace is like this one: a query by a document or a part of it, be it in the workspace or not.
//!
//! Documents that share a blot are looked at, their codes first: **runs** of equal codes around the windows they share, and
//! runs in a row with small gaps between them are one **likeness**. Names are read only of documents that can still come
//! before what was found. A part too short for blots is looked for in the codes of all documents.
//!
//! Unlike a class, a likeness is no whole unit, and it is there for this query alone: nothing is settled between them.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use dupi_grammars::token::{Code, varies};
use rayon::prelude::*;

use crate::blots::Blotting;
use crate::chunks::counted;
use crate::class::Kind;
use crate::clones::Library;
use crate::document::Document;
use crate::fingerprint::{LastUses, fingerprint};
use crate::judge::{EVIDENCE_IF_FLAT, returning};
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// Fewer tokens than these stand everywhere.
pub const MIN_TOKENS: u32 = 12;

/// Tokens that may differ between two runs of one likeness: a statement that was put in or taken out.
const MAX_GAP: u32 = 24;

/// Places that are compared in one document: where a pattern repeats itself there would be the product of both sides.
const MAX_TRIES: usize = 512;

/// Documents whose names are read at a time, in the order of what they can be worth.
const BATCH: usize = 32;

/// What is asked for.
pub struct Query<'a> {
    pub document: &'a Document,
    pub tokens: Range<u32>,
}

/// A part of a document that is like the query.
pub struct Likeness {
    pub document: Arc<Document>,
    pub tokens: Range<u32>,
    /// What of the query it is like.
    pub of: Range<u32>,
    pub kind: Kind,
    /// Tokens with the same text on both sides.
    pub equal: u32,
    /// Their share of the longer side.
    pub similarity: f64,
}

/// Equal codes: of the query from `own` on, of the document from `other` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    own: u32,
    other: u32,
    len: u32,
}

impl Run {
    fn own_end(&self) -> u32 {
        self.own + self.len
    }

    fn other_end(&self) -> u32 {
        self.other + self.len
    }

    /// Without its first tokens.
    fn skip(&self, n: u32) -> Run {
        Run { own: self.own + n, other: self.other + n, len: self.len - n }
    }
}

/// Runs in a row: in order on both sides.
struct Chain {
    runs: Vec<Run>,
}

impl Chain {
    fn own(&self) -> Range<u32> {
        self.runs[0].own..self.runs[self.runs.len() - 1].own_end()
    }

    fn other(&self) -> Range<u32> {
        self.runs[0].other..self.runs[self.runs.len() - 1].other_end()
    }

    /// Tokens of equal codes.
    fn len(&self) -> u32 {
        self.runs.iter().map(|run| run.len).sum()
    }
}

impl Snapshot {
    /// What is like the query, most equal tokens first, at most `top`; places that overlap the query itself are left out.
    /// None, if the index cannot be read.
    pub fn like(&self, query: &Query, settings: &Settings, top: usize) -> Option<Vec<Likeness>> {
        let blotting = Blotting::of(settings);
        let n_tokens = query.tokens.len();
        let least = (n_tokens as u32).min(blotting.guaranteed() as u32);
        self.while_whole(|| {
            // On a worker thread from the start: each parallel step would hand over to one by itself.
            let mut found: Vec<(u32, Vec<Chain>)> = rayon::scope(|_| {
                if n_tokens < blotting.guaranteed() {
                    self.everywhere(query)
                } else {
                    self.around_blots(query, settings, &blotting)
                }
            })?;
            for (_, chains) in &mut found {
                chains.retain(|chain| chain.len() >= least);
                *chains = apart(std::mem::take(chains));
            }
            found.retain(|(_, chains)| !chains.is_empty());
            let most = |chains: &[Chain]| chains.iter().map(Chain::len).max().unwrap_or(0);
            found.sort_by_key(|(number, chains)| (Reverse(most(chains)), *number));
            let mut likenesses: Vec<Likeness> = Vec::new();
            for batch in found.chunks(BATCH) {
                let worst = top.checked_sub(1).and_then(|last| likenesses.get(last)).map(|likeness| likeness.equal);
                // What follows has no more equal codes than that, and texts agree in no more than codes do.
                if top == 0 || worst.is_some_and(|worst| worst > most(&batch[0].1)) {
                    break;
                }
                let read = batch.par_iter().map(|(number, chains)| self.judged(*number, chains, query, settings));
                likenesses.extend(read.collect::<Option<Vec<_>>>()?.into_iter().flatten());
                likenesses.sort_by(|a, b| {
                    let place = |likeness: &Likeness| (likeness.document.shown.clone(), likeness.tokens.start);
                    (b.equal.cmp(&a.equal)).then(b.similarity.total_cmp(&a.similarity)).then(place(a).cmp(&place(b)))
                });
                likenesses.truncate(top);
            }
            Some(likenesses)
        })
    }

    /// The runs around the windows that documents share with the query, by the number of the document.
    fn around_blots(&self, query: &Query, settings: &Settings, blotting: &Blotting) -> Option<Vec<(u32, Vec<Chain>)>> {
        let k = blotting.k as u32;
        let mut chunks = counted(query.document, settings, &mut Vec::new());
        chunks.retain(|chunk| query.tokens.start <= chunk.position && chunk.position + k <= query.tokens.end);
        chunks.sort_unstable();
        let same: Vec<_> = chunks.chunk_by(|a, b| a.blot == b.blot).collect();
        let mut hits: Vec<(u32, u32)> = Vec::new();
        for (i, same) in (0..).zip(&same) {
            self.holders(same[0].blot, |holder| hits.push((holder.number, i)));
        }
        hits.par_sort_unstable();
        hits.dedup();
        let documents: Vec<&[(u32, u32)]> = hits.chunk_by(|a, b| a.0 == b.0).collect();
        let own = &*query.document.codes;
        let runs_in = |hits: &&[(u32, u32)]| {
            let codes = self.codes(hits[0].0)?;
            let mut runs: Vec<Run> = Vec::new();
            let mut tries = 0;
            for &(_, i) in *hits {
                let positions = same[i as usize];
                let window = &own[positions[0].position as usize..][..blotting.k];
                // One match may overlap the next: where a pattern repeats itself, only one is at the right distance.
                for at in found_in(&codes, window, 1) {
                    for position in positions.iter().map(|chunk| chunk.position) {
                        tries += 1;
                        if tries > MAX_TRIES {
                            return Some((hits[0].0, chains(runs)));
                        }
                        // Another window may have the same blot and other codes.
                        let is_same = own[position as usize..][..blotting.k] == codes[at as usize..][..blotting.k];
                        let is_known = runs.iter().any(|run| {
                            run.own.wrapping_sub(run.other) == position.wrapping_sub(at)
                                && run.own <= position
                                && position < run.own_end()
                        });
                        if is_same && !is_known {
                            runs.push(run(own, &query.tokens, position, &codes, at));
                        }
                    }
                }
            }
            Some((hits[0].0, chains(runs)))
        };
        documents.par_iter().with_min_len(4).map(runs_in).collect()
    }

    /// The places where all codes of the query stand, by the number of the document.
    fn everywhere(&self, query: &Query) -> Option<Vec<(u32, Vec<Chain>)>> {
        let codes = &query.document.codes[query.tokens.start as usize..query.tokens.end as usize];
        if (codes.len() as u32) < MIN_TOKENS {
            return Some(Vec::new());
        }
        let numbers = self.of_family(query.document.language.family);
        let in_document = |&number: &u32| {
            let places = found_in(&self.codes(number)?, codes, codes.len());
            let chain = |other| Chain { runs: vec![Run { own: query.tokens.start, other, len: codes.len() as u32 }] };
            Some((number, places.into_iter().map(chain).collect()))
        };
        numbers.par_iter().with_min_len(8).map(in_document).collect()
    }

    /// The likenesses of a document, by its names, too.
    fn judged(&self, number: u32, chains: &[Chain], query: &Query, settings: &Settings) -> Option<Vec<Likeness>> {
        let document = self.document(number)?;
        let is_query = document.shown == query.document.shown;
        let left_out = settings.taboo.ranges(&document);
        let judge = |chain: &Chain| {
            let (own, other) = (chain.own(), chain.other());
            let overlaps = is_query && other.start < query.tokens.end && query.tokens.start < other.end;
            let is_taboo = left_out.iter().any(|range| range.start <= other.start && other.end <= range.end);
            if overlaps || is_taboo || document.is_muted(other.start, other.end) {
                return None;
            }
            let equal = chain.runs.iter().map(|run| n_equal(query.document, &document, run)).sum();
            let longer = own.len().max(other.len()) as u32;
            let similarity = f64::from(equal) / f64::from(longer);
            let kind = match () {
                _ if equal == longer => Kind::Exact,
                _ if chain.runs.len() == 1 && is_renaming(query.document, &own, &document, &other) => Kind::Renamed,
                _ => Kind::Near,
            };
            let is_alike = kind != Kind::Near || similarity >= settings.min_similarity;
            let likeness = || Likeness { document: document.clone(), tokens: other, of: own, kind, equal, similarity };
            is_alike.then(likeness)
        };
        Some(chains.iter().filter_map(judge).collect())
    }
}

/// Where some codes stand in others: places that are `step` apart at least.
fn found_in(codes: &[Code], wanted: &[Code], step: usize) -> Vec<u32> {
    let finder = memchr::memmem::Finder::new(wanted);
    let (mut places, mut from) = (Vec::new(), 0);
    while let Some(found) = codes.get(from..).and_then(|rest| finder.find(rest)) {
        places.push((from + found) as u32);
        from += found + step;
        if places.len() > MAX_TRIES {
            break;
        }
    }
    places
}

/// The equal codes around two places that are equal, within the tokens that are asked for.
fn run(own: &[Code], within: &Range<u32>, at: u32, other: &[Code], other_at: u32) -> Run {
    let back = (1..=(at - within.start).min(other_at))
        .take_while(|n| own[(at - n) as usize] == other[(other_at - n) as usize])
        .count() as u32;
    let rest = (within.end - at).min(other.len() as u32 - other_at);
    let ahead = (0..rest).take_while(|n| own[(at + n) as usize] == other[(other_at + n) as usize]).count() as u32;
    Run { own: at - back, other: other_at - back, len: back + ahead }
}

/// Runs that follow each other with small gaps are one chain.
fn chains(mut runs: Vec<Run>) -> Vec<Chain> {
    runs.sort_unstable_by_key(|run| (run.other, run.own, run.len));
    let mut chains: Vec<Chain> = Vec::new();
    for run in runs {
        let follows = chains.last().and_then(|chain| {
            let last = chain.runs.last()?;
            // After a gap the tokens before the next run may be those before this one, too.
            let overlap = last.own_end().saturating_sub(run.own).max(last.other_end().saturating_sub(run.other));
            let rest = (overlap < run.len).then(|| run.skip(overlap))?;
            let gap = (rest.own - last.own_end()).max(rest.other - last.other_end());
            (gap > 0 && gap <= MAX_GAP).then_some(rest)
        });
        match (follows, chains.last_mut()) {
            (Some(rest), Some(chain)) => chain.runs.push(rest),
            _ => chains.push(Chain { runs: vec![run] }),
        }
    }
    chains
}

/// The longest of those that stand in the same tokens of the document.
fn apart(mut chains: Vec<Chain>) -> Vec<Chain> {
    chains.sort_by_key(|chain| (Reverse(chain.len()), chain.other().start, chain.own().start));
    let mut chosen: Vec<Chain> = Vec::new();
    for chain in chains {
        let (start, end) = (chain.other().start, chain.other().end);
        if !chosen.iter().any(|chosen| chosen.other().start < end && start < chosen.other().end) {
            chosen.push(chain);
        }
    }
    chosen
}

/// How many tokens of a run have the same text on both sides.
fn n_equal(own: &Document, other: &Document, run: &Run) -> u32 {
    let (codes, symbols) = own.read_tokens(run.own, run.own_end());
    let (_, others) = other.read_tokens(run.other, run.other_end());
    let fixed = codes.iter().filter(|&&code| !varies(code)).count();
    (fixed + symbols.iter().zip(others).filter(|(a, b)| a == b).count()) as u32
}

/// Is one of two parts with equal codes a one-to-one renaming of the other? Only if names come back and are held to it.
fn is_renaming(own: &Document, tokens: &Range<u32>, other: &Document, others: &Range<u32>) -> bool {
    let mut uses = LastUses::default();
    let mut alpha = |document: &Document, tokens: &Range<u32>| {
        let (codes, symbols) = document.read_tokens(tokens.start, tokens.end);
        let tells = returning((codes, symbols), &mut uses) >= EVIDENCE_IF_FLAT;
        uses.read_roles(document.language, codes, symbols);
        tells.then(|| fingerprint(codes, symbols, uses.distances()).alpha)
    };
    alpha(own, tokens).is_some_and(|own| alpha(other, others) == Some(own))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::document::tests::document;
    use crate::index::{Index, MEMORY, Workspace};
    use crate::store::Memory;

    const CODE: &str = "\ttotal := 0\n\tfor i, v := range values {\n\t\tif v > limit {\n\t\t\treturn 0, fmt.Errorf(\"value %d at %d\", v, i)\n\t\t}\n\t\ttotal += v * i\n\t}\n\tif total == 0 {\n\t\treturn 0, nil\n\t}\n\tprintln(total, len(values), limit)\n\treturn total, nil\n";

    const MORE: &str = "\tfor limit > 0 {\n\t\tlimit -= step(limit, 2)\n\t\tif limit%3 == 0 {\n\t\t\tlog(limit)\n\t\t\tcontinue\n\t\t}\n\t\ttotal = total<<1 | limit&7\n\t}\n\tswitch {\n\tcase total > 9:\n\t\treturn grow(total)\n\tdefault:\n\t\tpanic(\"none\")\n\t}\n";

    fn found(files: &[(&str, String)], query: &Document, lines: Option<Range<u32>>, top: usize) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        for (name, text) in files {
            fs::write(root.join(name), text).expect("a file");
        }
        let settings = Settings::default();
        let workspace = Workspace { root: root.clone(), paths: vec![root], settings: settings.clone() };
        let mut index = Index::open(Arc::new(Memory::default()), workspace, MEMORY);
        index.refresh(&|_| {}).expect("a folder");
        let all = 0..query.codes.len() as u32;
        let query = Query { tokens: lines.map_or(all, |lines| query.tokens_on(lines)), document: query };
        let found = index.snapshot().like(&query, &settings, top).expect("an index");
        let name = |likeness: &Likeness| {
            let Likeness { document, tokens, of, kind, similarity, .. } = likeness;
            let (lines, of) = (document.lines(tokens.start, tokens.end), query.document.lines(of.start, of.end));
            format!("{}:{lines:?} {of:?} {} {:.0}", document.shown, kind.name(), similarity * 100.0)
        };
        found.iter().map(name).collect()
    }

    fn function(name: &str) -> String {
        format!("func {name}(values []int, limit int) (int, error) {{\n{CODE}{MORE}}}\n")
    }

    #[test]
    fn exact_comes_before_renamed_and_near_and_the_file_itself_is_left_out() {
        let renamed = function("Sum").replace("total", "sum").replace("values", "list");
        let near =
            format!("func Sum(values []int, limit int) (int, error) {{\n{CODE}\tcheck(limit, values)\n{MORE}}}\n");
        let files = [
            ("a.go", format!("package a\n\n{}", function("Sum"))),
            ("b.go", format!("package b\n\nvar x = 1\n\n{}", function("Sum"))),
            ("c.go", format!("package c\n\nvar x = 1\n\n{renamed}")),
            ("d.go", format!("package d\n\nvar x = 1\n\n{near}")),
            ("e.go", "package e\n\nfunc other() { println(1, 2, 3) }\n".to_owned()),
        ];
        let query = document("a.go", &files[0].1, &Settings::default()).expect("a text");
        let all = found(&files, &query, None, 9);
        assert_eq!(all[0], "b.go:4..32 2..30 exact 100");
        assert!(all[1].starts_with("d.go:") && all[1].contains(" near 9"), "{all:?}");
        assert!(all[2].starts_with("c.go:") && all[2].contains(" renamed "), "{all:?}");
        assert_eq!(all.len(), 3);
        assert_eq!(found(&files, &query, None, 1), all[..1]);
        let snippet = document("snippet.go", CODE, &Settings::default()).expect("a text");
        assert_eq!(found(&files, &snippet, None, 2), ["a.go:3..15 0..12 exact 100", "b.go:5..17 0..12 exact 100"]);
    }

    #[test]
    fn a_few_lines_are_found_wherever_they_stand_also_in_their_own_file() {
        let files = [("a.go", format!("package a\n\n{}\n{}", function("One"), function("Two")))];
        let query = document("a.go", &files[0].1, &Settings::default()).expect("a text");
        assert_eq!(found(&files, &query, Some(4..8), 9), ["a.go:33..37 4..8 exact 100"]);
        assert_eq!(found(&files, &query, Some(2..30), 9), ["a.go:31..59 2..30 renamed 99"]);
    }

    #[test]
    fn what_repeats_itself_without_end_is_bounded_work() {
        let text =
            format!("package a\n\nfunc f() {{\n{}}}\n", "\tx = g(1, 2)\n\tif x > 3 {\n\t\th(x)\n\t}\n".repeat(20_000));
        let files = [("a.go", text.clone()), ("b.go", text)];
        let query = document("a.go", &files[0].1, &Settings::default()).expect("a text");
        assert_eq!(found(&files, &query, None, 3).len(), 1);
    }
}
