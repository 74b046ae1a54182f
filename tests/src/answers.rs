//! Answers as text, so that two can be compared: those of an index, and those of a search from scratch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use dupi::index::{CHUNKS, Index, MIN_MEMORY, PLACES, Workspace};
use dupi::manifest::{Manifest, NAME, ReadManifest};
use dupi::quarantine::{NOTES, SUSPECTS};
use dupi::segment::Segment;
use dupi::store::{Folder, Store};
use dupi::{Class, Report, Settings};

/// A folder that is indexed as a whole.
pub fn workspace(root: &Path, settings: Settings) -> Workspace {
    let root = root.canonicalize().expect("a folder");
    Workspace { paths: vec![root.clone()], root, settings }
}

/// Settings under which tiny files have copies.
pub fn small() -> Settings {
    Settings { min_tokens: 20, test_min_tokens: 20, min_lines: 2, threads: 2, ..Settings::default() }
}

/// All that a report says, but for where its root is.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for file in &report.files {
        let path = file.path.strip_prefix(&report.root).unwrap_or(&file.path);
        text += &format!(
            "{} {path:?} {} {} lines {} tokens {} bytes\n",
            file.shown, file.language.name, file.n_lines, file.n_tokens, file.bytes
        );
    }
    text + &format!("{:#?}\n{:#?}", report.skipped, report.classes)
}

/// What a search from scratch finds.
pub fn searched(workspace: &Workspace) -> Report {
    dupi::search(&workspace.root, &workspace.paths, &workspace.settings, &|_| {}).expect("a folder that can be read")
}

/// What the index says, as text.
pub fn told(index: &mut Index) -> String {
    let settings = index.workspace().settings.clone();
    text(&index.report(&settings).expect("an index that can be read"))
}

/// Why the index does not answer as a search does.
pub fn difference(index: &mut Index) -> Option<String> {
    let expected = text(&searched(index.workspace()));
    first_difference(&told(index), &expected)
}

/// Panics unless the index answers as a search does.
pub fn assert_right(index: &mut Index, when: &str) {
    if let Some(difference) = difference(index) {
        panic!("{when}: {difference}");
    }
}

/// The first line in which two texts differ, with some lines before it.
pub fn first_difference(is: &str, should: &str) -> Option<String> {
    if is == should {
        return None;
    }
    let (is, should): (Vec<&str>, Vec<&str>) = (is.lines().collect(), should.lines().collect());
    let at = is.iter().zip(&should).take_while(|(a, b)| a == b).count();
    let around = |lines: &[&str]| lines[at.saturating_sub(12)..(at + 12).min(lines.len())].join("\n");
    Some(format!("line {at}: is\n{}\nshould be\n{}", around(&is), around(&should)))
}

/// A class with paths in the place of numbers.
pub fn named(class: &Class, shown: impl Fn(u32) -> String) -> String {
    let copies: Vec<String> = class
        .copies
        .iter()
        .zip(&class.at)
        .map(|(copy, at)| format!("{}:{}..{} {at:?}", shown(copy.document), copy.start, copy.end))
        .collect();
    let Class { id, kind, zone, tokens, lines, similarity, .. } = class;
    format!("{id:x} {kind:?} {zone:?} {tokens} {lines} {similarity} {copies:?}")
}

/// The classes of a report that have a copy in the file, worst first.
pub fn touching(report: &Report, shown: &str) -> Vec<String> {
    let name = |document: u32| report.files[document as usize].shown.clone();
    let touches = |class: &&Class| class.copies.iter().any(|copy| name(copy.document) == shown);
    report.classes.iter().filter(touches).map(|class| named(class, name)).collect()
}

/// The same as the index tells it.
pub fn clones(index: &mut Index, path: &Path) -> Option<Vec<String>> {
    let settings = index.workspace().settings.clone();
    let clones = index.clones_of(path, &settings)?;
    let name = |document: u32| clones.documents[document as usize].shown.clone();
    Some(clones.classes.iter().map(|class| named(class, name)).collect())
}

pub fn open(folder: &Path, workspace: &Workspace) -> Index {
    let store: Arc<dyn Store> = Arc::new(Folder::create(folder).expect("a folder"));
    Index::open(store, workspace.clone(), MIN_MEMORY)
}

pub fn refresh(index: &mut Index) -> dupi::index::Changes {
    index.refresh(&|_| {}).expect("a folder that can be read")
}

/// Path and content of each current file, as the disk has them; none without a manifest that can be read.
pub fn committed(folder: &Path, root: &Path) -> Option<BTreeMap<String, u64>> {
    let store = Folder::create(folder).expect("a folder");
    let ReadManifest::Current(manifest) = Manifest::read(&store).expect("readable") else { return None };
    let mut files = BTreeMap::new();
    for entry in manifest.segments {
        let segment = Segment::open(store.open(&entry.name).expect("a segment that is listed is there"), root)
            .unwrap_or_else(|error| panic!("{}: {error:?}", entry.name));
        for (ordinal, file) in (0..).zip(&segment.entries) {
            if !entry.deleted.contains(&ordinal) {
                assert!(files.insert(file.shown.clone(), file.known.content).is_none(), "{} twice", file.shown);
            }
        }
    }
    Some(files)
}

/// Files of an index folder that no manifest names.
pub fn orphans(folder: &Path) -> Vec<String> {
    let store = Folder::create(folder).expect("a folder");
    let listed: BTreeSet<String> = match Manifest::read(&store).expect("readable") {
        ReadManifest::Current(manifest) => manifest.segments.into_iter().map(|segment| segment.name).collect(),
        _ => BTreeSet::new(),
    };
    let known = |name: &String| {
        listed.contains(name)
            || [NAME, NOTES, SUSPECTS, PLACES, CHUNKS, "lock", "used"].contains(&&**name)
            || name.ends_with(".ans")
            || name.ends_with(".near")
            || name.ends_with(".sim")
    };
    store.names().expect("readable").into_iter().filter(|name| !known(name)).collect()
}
