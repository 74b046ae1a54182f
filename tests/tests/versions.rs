//! What the engine makes of frozen sources changes only together with the number that tells indexes apart.
//!
//! An index, and what is kept in it, is used by every program with the same [`dupi::engine`]. A change of tokens, units,
//! blots, stored bytes or classes without a new number would read what another program stored, and answer with it.
//! `tests/fixtures/versions.txt` has the digests of each number.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dupi::blots::Blotting;
use dupi::clones::kept;
use dupi::document::{Document, Scratch};
use dupi::files::{Source, Stamp};
use dupi::freshness::{Known, content};
use dupi::manifest::{Manifest, NAME, SegmentEntry};
use dupi::segment::{self, Entry, Fresh, What};
use dupi::simhash::prints::{Grain, Weighting};
use dupi::simhash::{Blocking, Sketching};
use dupi::store::{Memory, Store};
use dupi::{Kind, Settings, Zone};
use dupi_grammars::token::Lexed;
use dupi_tests::inputs::write_no_texts;
use dupi_tests::workspace::Workspace;
use dupi_tests::{answers, workspace};
use xxhash_rust::xxh3::xxh3_64;

const TABLE: &str = "versions.txt";

/// What a number stands for: its name in the table, where it is raised, and what it is now.
struct Number {
    name: &'static str,
    constant: &'static str,
    now: Version,
}

/// `1`, or `1.2`: what is stored follows from the tokens, too, so that its second part alone is its own.
type Version = Vec<u32>;

fn version(text: &str) -> Option<Version> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

fn shown(version: &[u32]) -> String {
    version.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

/// Digests by area.
type Digests = BTreeMap<String, String>;

/// By name and version.
type Table = BTreeMap<(String, Version), Digests>;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The frozen sources, by their path below the fixtures.
fn sources() -> Vec<(String, Vec<u8>)> {
    let folders = ["fuzz", "planted", "syntax"];
    let files = folders.iter().flat_map(|folder| workspace::files(&fixtures().join(folder)));
    files
        .map(|path| {
            let name = path.strip_prefix(fixtures()).expect("below").to_string_lossy().replace('\\', "/");
            // A checkout on Windows may have other line ends.
            let text = fs::read_to_string(&path).expect("a source").replace("\r\n", "\n");
            (name, text.into_bytes())
        })
        .collect()
}

fn digest(what: &[u8]) -> String {
    format!("{:016x}", xxh3_64(what))
}

fn digest_of(what: &impl Debug) -> String {
    digest(format!("{what:?}").as_bytes())
}

fn document(name: &str, text: &[u8]) -> Document {
    let language = dupi_grammars::detect(Path::new(name), text).expect("a language");
    let source = Source::new(PathBuf::from(name), name.to_owned());
    Document::from_text(&source, language, text, &Settings::default(), &mut Scratch::default()).expect("a document")
}

/// Tokens, comments and units, by language.
fn tokens(sources: &[(String, Vec<u8>)]) -> Digests {
    let mut of: BTreeMap<&str, Vec<Lexed>> = BTreeMap::new();
    for (name, text) in sources {
        let language = dupi_grammars::detect(Path::new(name), text).expect("a language");
        let mut lexed = Lexed::default();
        dupi_grammars::tokenize(language, text, &mut lexed).expect("tokens");
        // For the lexer itself.
        lexed.marks.clear();
        of.entry(language.name).or_default().push(lexed);
    }
    let all: BTreeSet<&str> = dupi_grammars::LANGUAGES.iter().map(|language| language.name).collect();
    assert_eq!(of.keys().copied().collect::<BTreeSet<_>>(), all, "a frozen source for each language");
    of.into_iter().map(|(language, lexed)| (language.to_owned(), digest_of(&lexed))).collect()
}

/// What is stored and how it is judged.
fn engine(sources: &[(String, Vec<u8>)]) -> Digests {
    let documents: Vec<(Arc<Document>, u64)> =
        sources.iter().map(|(name, text)| (Arc::new(document(name, text)), content(text))).collect();
    let blotting = Blotting::of(&Settings::default());
    let (mut parts, mut blots) = (Vec::new(), Vec::new());
    for (document, _) in &documents {
        parts.push(format!("{:?}", (&document.codes, document.symbols(), &document.units, &document.muted)));
        kept(document, &blotting, &mut Vec::new(), |kept, stored| blots.push((kept, stored)));
    }
    let files = documents.into_iter().map(fresh).collect();
    let segment = segment::write(files, &blotting).expect("a segment");
    let mut digests: Digests = [
        ("documents", digest_of(&parts)),
        ("blots", digest_of(&blots)),
        ("segment", digest(&segment)),
        ("manifest", digest(&manifest())),
    ]
    .map(|(area, digest)| (area.to_owned(), digest))
    .into();
    digests.extend(answered(sources));
    digests
}

fn fresh((document, content): (Arc<Document>, u64)) -> Fresh {
    let stamp = Stamp { size: document.bytes, mtime: 1_000_000_000, ctime: 1_000_000_001, inode: 7 };
    let what = What::Document {
        language: document.language,
        n_lines: document.n_lines,
        n_tokens: document.codes.len() as u32,
        generated: document.generated,
    };
    let entry = Entry { shown: document.shown.clone(), path: None, known: Known { stamp, content, racy: false }, what };
    Fresh { entry, document: Some(document) }
}

fn manifest() -> Vec<u8> {
    let segment =
        SegmentEntry { name: "a.seg".to_owned(), bytes: 1, checksum: 2, n_documents: 300, deleted: vec![1, 7, 299] };
    let store = Memory::default();
    Manifest { generation: 3, profile: 4, segments: vec![segment] }.write(&store).expect("written");
    store.open(NAME).expect("a manifest").to_vec()
}

/// An edited copy: the n-th. Names and literals differ everywhere or in some lines, and lines are missing in some.
fn edited(text: &[u8], n: usize) -> String {
    const WORDS: [(&str, &str); 6] =
        [("text", "words"), ("1", "7"), ("value", "item"), ("name", "title"), ("\"", "\"a "), ("n", "m")];
    let mut copy = String::new();
    for (i, line) in String::from_utf8_lossy(text).split_inclusive('\n').enumerate() {
        if n % 3 == 2 && i % (2 * n + 3) == n {
            continue;
        }
        let words = if n.is_multiple_of(2) { n / 2..n / 2 + 2 } else { (i + n) % 3..(i + n) % 7 };
        let words = WORDS.iter().take(words.end).skip(words.start);
        copy += &words.fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
    }
    copy
}

/// The answers about a workspace of the sources, each with edited copies, and about what is no source text; and the files
/// of the index in which answers are kept.
fn answered(sources: &[(String, Vec<u8>)]) -> Digests {
    let workspace = Workspace::new("");
    for (name, text) in sources {
        workspace.write(&format!("a/{name}"), text);
        for n in 0..8 {
            workspace.write(&format!("b{n}/{name}"), edited(text, n));
        }
    }
    write_no_texts(&workspace);
    workspace.write("generated.go", "// Code generated by x. DO NOT EDIT.\npackage x\n");
    let settings = Settings {
        zones: Zone::ALL.iter().copied().filter(|zone| *zone != Zone::Generated).collect(),
        kinds: Kind::ALL.to_vec(),
        ..answers::small()
    };
    let indexes = tempfile::tempdir().expect("a folder");
    let of = answers::workspace(workspace.path(), settings.clone());
    let mut index = answers::open(indexes.path(), &of);
    answers::refresh(&mut index);
    let strict = index.report(&Settings::default()).expect("an answer");
    let report = index.report(&settings).expect("an answer");
    assert!(
        strict.classes.len() > 50 && report.classes.len() > 500,
        "{} {}",
        strict.classes.len(),
        report.classes.len()
    );
    index.locate(&report, &settings);
    index.containment(&settings).expect("an answer");
    let blocking = Blocking::new(3, 6).expect("blocks");
    let sketching = Sketching { grain: Grain::Functions, weighting: Weighting::Tf, min_tokens: 20, blocking };
    index.sketches(&sketching).expect("sketches");
    let classes = [answers::text(&strict), answers::text(&report)].concat();
    let mut digests: Digests = [("classes".to_owned(), digest(classes.as_bytes()))].into();
    let mut kept: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for path in workspace::files(indexes.path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let area = match name.rsplit_once('.') {
            Some((_, end @ ("ans" | "sim"))) => end.to_owned(),
            None if ["places", "chunks"].contains(&&*name) => name,
            _ => continue,
        };
        kept.entry(area).or_default().push(unkeyed(&fs::read(path).expect("a file")));
    }
    for (area, mut files) in kept {
        // Their names are keys.
        files.sort();
        digests.insert(area, digest(&files.concat()));
    }
    assert_eq!(digests.len(), 5, "{digests:?}");
    digests
}

/// What is kept beside an index, without its key, which the numbers are part of, and without the checksum.
fn unkeyed(bytes: &[u8]) -> Vec<u8> {
    [&bytes[..12], &bytes[20..bytes.len() - 8]].concat()
}

fn read_table(text: &str) -> Table {
    let mut table = Table::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, number, area, digest] = words[..] else { panic!("{TABLE}: `{line}`: not four words") };
        let key = (name.to_owned(), version(number).unwrap_or_else(|| panic!("{TABLE}: `{line}`: no number")));
        let twice = table.entry(key).or_default().insert(area.to_owned(), digest.to_owned());
        assert!(twice.is_none(), "{TABLE}: `{line}` is there twice");
    }
    table
}

/// What has to be done, if anything: which constant to raise, and which lines to add.
fn to_do(table: &Table, Number { name, constant, now }: &Number, digests: &Digests) -> Option<String> {
    let add = |version: &[u32]| -> String {
        let version = shown(version);
        let lines = digests.iter().map(|(area, digest)| format!("{name} {version} {area} {digest}\n"));
        format!("add to tests/fixtures/{TABLE}\n\n{}", lines.collect::<String>())
    };
    let last = table.keys().filter(|(of, _)| of == name).map(|(_, version)| version).max();
    if let Some(last) = last.filter(|last| now < last) {
        return Some(format!("{constant}: {} was used before {}, and no number returns", shown(now), shown(last)));
    }
    let Some(recorded) = table.get(&((*name).to_owned(), now.clone())) else {
        return Some(format!("{name} {} is new: {}", shown(now), add(now)));
    };
    let areas: BTreeSet<&String> = recorded.keys().chain(digests.keys()).collect();
    let is_changed = |area: &&String| recorded.get(*area) != digests.get(*area);
    let changed: Vec<&str> = areas.into_iter().filter(is_changed).map(String::as_str).collect();
    let mut next = now.clone();
    next.last_mut().into_iter().for_each(|part| *part += 1);
    (!changed.is_empty()).then(|| {
        let changed = changed.join(", ");
        format!("{name} changed: {changed}. If that is meant: raise {constant}, write its history, {}", add(&next))
    })
}

#[test]
fn what_is_made_of_frozen_sources_changes_only_with_a_number() {
    let sources = sources();
    let table = read_table(&fs::read_to_string(fixtures().join(TABLE)).expect("the table"));
    let frozen = Digests::from([("all".to_owned(), digest_of(&sources))]);
    let recorded = table.get(&("sources".to_owned(), vec![1]));
    assert_eq!(recorded, Some(&frozen), "the sources are frozen: put other sources elsewhere");
    let of = |name, constant, now: &str| Number { name, constant, now: version(now).expect("a number") };
    let of_tokens = of("tokens", "VERSION in grammars/src/lib.rs", &dupi_grammars::VERSION.to_string());
    let of_engine = of("engine", "VERSION in server/dupi/src/lib.rs", &dupi::engine());
    // Whatever follows from other tokens is no other engine: these come first.
    if let Some(to_do) = to_do(&table, &of_tokens, &tokens(&sources)) {
        panic!("\n{to_do}");
    }
    if let Some(to_do) = to_do(&table, &of_engine, &engine(&sources)) {
        panic!("\n{to_do}");
    }
}

#[test]
fn a_change_without_a_number_names_the_constant_and_the_lines() {
    let table = read_table("# A comment.\n\nx 1.9 a 00\nx 1.9 b 01\nx 2.1 a 02\nx 2.1 b 03\n");
    let of = |areas: &[(&str, &str)]| areas.iter().map(|&(area, is)| (area.to_owned(), is.to_owned())).collect();
    let told = |now: &str, areas: &[(&str, &str)]| {
        let number = Number { name: "x", constant: "X", now: version(now).expect("a number") };
        to_do(&table, &number, &of(areas)).unwrap_or_default()
    };
    assert_eq!(told("2.1", &[("a", "02"), ("b", "03")]), "");
    let changed = told("2.1", &[("a", "02"), ("b", "04")]);
    assert!(changed.starts_with("x changed: b. If that is meant: raise X"), "{changed}");
    assert!(changed.ends_with("\n\nx 2.2 a 02\nx 2.2 b 04\n"), "{changed}");
    let raised = told("2.2", &[("a", "02"), ("b", "04")]);
    assert!(raised.starts_with("x 2.2 is new: ") && raised.ends_with("\n\nx 2.2 a 02\nx 2.2 b 04\n"), "{raised}");
    assert!(told("1.9", &[("a", "00"), ("b", "01")]).ends_with("no number returns"));
    let language = told("2.1", &[("a", "02"), ("b", "03"), ("c", "05")]);
    assert!(language.starts_with("x changed: c. "), "{language}");
}
