//! Laws: how a workspace can be changed without changing the answer, or how the answer may change with it.
//!
//! Each law makes a second workspace out of a first, well-formed one, and compares what a check says of both.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;
use dupi_grammars::token::{CLOSE_BRACE, COMMA, OPEN_BRACE, SEMICOLON, TEXT};
use fastrand::Rng;

use super::answer::{Answer, Copy, Lens, Shown, read};
use super::corpus::{FOLDERS, Files, Grove, if_well_formed, outline, pick, renamed, sources};
use super::ground::Ground;
use super::outline::{Lines, Outline};

/// Names of laws, as the summary has them.
pub const COMMENTS: &str = "comments";
pub const UNRELATED_FILE: &str = "unrelated file";
pub const UNRELATED_FUNCTION: &str = "unrelated function";
pub const NAMES: &str = "names";
pub const LINE_ENDS: &str = "line ends";
pub const FORMAT: &str = "format";
pub const LARGER_MINIMUM: &str = "larger minimum";
pub const SMALLER_MINIMUM: &str = "smaller minimum";
pub const SURROUNDINGS: &str = "surroundings";

/// How two answers go together.
enum Rule {
    /// They are the same.
    Same,
    /// What is new has a copy in what was added; all else is as before.
    Grows,
    /// Some class still holds these copies, as they are after.
    Covers(Vec<Copy>),
    /// Each class of the first is held by one of the second.
    All,
    /// Each class of the second that has so many tokens is held by one of the first.
    AllOf(u64),
}

/// One side of a law: files, and how a check of them is asked for and read.
#[derive(Clone)]
struct Side {
    files: Files,
    arguments: Vec<String>,
    lens: Lens,
}

impl Side {
    fn answer(&self, ground: &mut Ground, name: &str) -> Result<Answer> {
        let root = ground.write(name, &self.files)?;
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        read(&ground.scratch(&root, &arguments)?, &self.files, &self.lens)
    }
}

/// A law with a workspace to which it applies.
pub struct Case {
    pub law: &'static str,
    /// What was changed.
    pub what: String,
    before: Side,
    after: Side,
    rule: Rule,
}

impl Case {
    /// What does not hold.
    pub fn broken(&self, ground: &mut Ground) -> Result<Option<String>> {
        let after = self.after.answer(ground, "after")?;
        if let Rule::Covers(copies) = &self.rule {
            return Ok((!after.covers(copies)).then(|| format!("lost: {copies:?}")));
        }
        let before = self.before.answer(ground, "before")?;
        let lost = |class: &Shown| format!("lost: {class:?}");
        Ok(match &self.rule {
            Rule::Covers(..) => None,
            Rule::Grows => grows(&before, &after),
            Rule::Same => before.difference(&after),
            Rule::All => before.classes.iter().find(|class| !after.covers(&class.copies)).map(lost),
            Rule::AllOf(least) => {
                let mut classes = after.classes.iter().filter(|class| class.tokens >= *least);
                classes.find(|class| !before.covers(&class.copies)).map(lost)
            }
        })
    }

    /// Removes files for as long as the law stays broken, and writes what is left to `before` and `after`.
    pub fn shrink(&mut self, ground: &mut Ground) -> Result<()> {
        for path in self.before.files.keys().cloned().collect::<Vec<_>>() {
            if matches!(&self.rule, Rule::Covers(copies) if copies.iter().any(|copy| Path::new(&copy.path) == path)) {
                continue;
            }
            let names = &self.after.lens.names;
            let of_after = names.iter().find(|(_, name)| **name == path).map_or(path.clone(), |(path, _)| path.clone());
            let kept = (self.before.files.remove(&path), self.after.files.remove(&of_after));
            if !matches!(self.broken(ground), Ok(Some(_))) {
                self.before.files.extend(kept.0.map(|bytes| (path, bytes)));
                self.after.files.extend(kept.1.map(|bytes| (of_after, bytes)));
            }
        }
        self.broken(ground).map(drop)
    }

    /// The commands that show it.
    pub fn commands(&self) -> String {
        let command = |name: &str, side: &Side| format!("dupi-lsp check {name} {}", side.arguments.join(" "));
        format!("{}\n{}\n", command("before", &self.before), command("after", &self.after))
    }
}

/// Classes that are lost or new although all that was added touches none of them.
fn grows(before: &Answer, after: &Answer) -> Option<String> {
    let (touching, rest): (Vec<&Shown>, Vec<&Shown>) =
        after.classes.iter().partition(|class| class.copies.iter().any(|copy| copy.is_extra));
    let rest: BTreeSet<&Shown> = rest.into_iter().collect();
    let is_held = |class: &Shown| {
        rest.contains(class)
            || touching
                .iter()
                .any(|other| class.copies.iter().all(|copy| other.copies.iter().any(|theirs| theirs.contains(copy))))
    };
    let lost = before.classes.iter().find(|class| !is_held(class));
    let new = || rest.iter().copied().find(|class| !before.classes.contains(*class));
    lost.map(|class| format!("lost: {class:?}")).or_else(|| new().map(|class| format!("new: {class:?}")))
}

/// Draws laws for a workspace.
pub fn draw(rng: &mut Rng, grove: &Grove, ground: &mut Ground) -> Result<Vec<Case>> {
    let files = &grove.files;
    let least = [20, 30, 50][rng.usize(0..3)];
    let mut arguments = minimum(least);
    if rng.u8(0..3) == 0 {
        arguments.extend(["--zone".to_owned(), "code,test,data,imports".to_owned()]);
    }
    if rng.u8(0..6) == 0 {
        arguments.push("--nested".to_owned());
    }
    // Where lines are not counted.
    let unlined = [arguments.clone(), vec!["--min-lines".to_owned(), "1".to_owned()]].concat();
    let side =
        |arguments: &[String]| Side { files: files.clone(), arguments: arguments.to_vec(), lens: Lens::default() };
    let mut cases = Vec::new();
    cases.extend(commented(rng, side(&unlined)));
    cases.extend(formatted(rng, side(&unlined)));
    cases.extend(with_line_ends(rng, side(&arguments)));
    cases.extend(named(rng, side(&arguments)));
    cases.extend(with_unrelated_file(rng, side(&arguments), grove));
    let plain = side(&arguments);
    let answer = plain.answer(ground, "before")?;
    cases.extend(with_unrelated_function(rng, side(&arguments), grove, &answer));
    for _ in 0..3 {
        cases.extend(surrounded(rng, side(&arguments), &answer));
    }
    let larger = least + [10, 20, 30][rng.usize(0..3)];
    let (large, small) = (side(&minimum(larger)), side(&minimum(least)));
    let what = format!("--min-tokens {larger}, and {least}");
    let pair = |law, rule| Case { law, what: what.clone(), before: large.clone(), after: small.clone(), rule };
    cases.push(pair(LARGER_MINIMUM, Rule::All));
    cases.push(pair(SMALLER_MINIMUM, Rule::AllOf(u64::from(larger))));
    Ok(cases)
}

fn minimum(least: u32) -> Vec<String> {
    ["--min-tokens", &least.to_string(), "--test-min-tokens", &least.to_string()].map(str::to_owned).into()
}

/// A case whose second side is the first with a few texts replaced.
fn case(law: &'static str, what: String, before: Side, changed: Vec<(PathBuf, Edited)>, rule: Rule) -> Option<Case> {
    if changed.is_empty() {
        return None;
    }
    let mut after = before.clone();
    for (path, edited) in changed {
        after.files.insert(path.clone(), edited.text.into_bytes());
        after.lens.extra.insert(path, edited.inserted);
    }
    Some(Case { law, what, before, after, rule })
}

/// A text with parts that were not there before.
struct Edited {
    text: String,
    inserted: Vec<Range<usize>>,
}

impl Edited {
    /// Inserts texts at offsets.
    fn inserting(text: &str, mut insertions: Vec<(usize, String)>) -> Edited {
        insertions.sort();
        let mut edited = Edited { text: String::new(), inserted: Vec::new() };
        let mut from = 0;
        for (at, new) in insertions {
            edited.text.push_str(&text[from..at]);
            from = at;
            edited.inserted.push(edited.text.len()..edited.text.len() + new.len());
            edited.text.push_str(&new);
        }
        edited.text.push_str(&text[from..]);
        edited
    }

    fn if_well_formed(self, path: &Path) -> Option<Edited> {
        if_well_formed(path, self.text).map(|text| Edited { text, inserted: self.inserted })
    }
}

fn some_paths(rng: &mut Rng, files: &Files) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = files.keys().cloned().collect();
    rng.shuffle(&mut paths);
    paths.truncate(rng.usize(1..=3));
    paths
}

// ---- a comment changes nothing

const REMARKS: [&str; 6] =
    ["why", "if (so) { return; }", "don't \"panic\"", "TODO: ((([[[{{{", "é ü \u{1f600}", "import x; class Y {"];

fn commented(rng: &mut Rng, before: Side) -> Option<Case> {
    let mut changed = Vec::new();
    for path in some_paths(rng, &before.files) {
        let Some(outline) = outline(&before.files, &path).filter(|outline| !outline.has_here_document()) else {
            continue;
        };
        let mut insertions = Vec::new();
        for _ in 0..rng.usize(1..5) {
            insertions.extend(remark(rng, &outline));
        }
        insertions.dedup_by_key(|(at, _)| *at);
        let edited = Edited::inserting(&outline.text, insertions).if_well_formed(&path);
        changed.extend(edited.map(|edited| (path, edited)));
    }
    case(COMMENTS, "comments inserted".to_owned(), before, changed, Rule::Same)
}

/// A comment, and where it can stand: on a line before a unit, behind one, or between two tokens.
fn remark(rng: &mut Rng, outline: &Outline) -> Option<(usize, String)> {
    let mark = outline.language.line_comment;
    let remark = REMARKS[rng.usize(0..REMARKS.len())];
    if outline.language.block_comment.is_some_and(|(open, _)| open == "/*") && !has_tags(outline) && rng.bool() {
        let gaps: Vec<usize> = (1..outline.lexed.tokens.len())
            .filter(|&i| outline.text[outline.token(i - 1).end..outline.token(i).start].starts_with(' '))
            .map(|i| outline.token(i - 1).end)
            .filter(|&at| outline.is_plain_break(at))
            .collect();
        return Some((pick(rng, gaps)?, format!(" /* {remark} */")));
    }
    let lines = pick(rng, outline.lines().into_iter().filter(|lines| is_code(outline, lines)))?;
    let (start, end) = (lines.bytes.start, lines.bytes.end - 1);
    if rng.bool() {
        (start == 0 || outline.is_plain_break(start - 1)).then(|| (start, format!("{}{mark} {remark}\n", lines.indent)))
    } else {
        outline.is_plain_break(end).then(|| (end, format!(" {mark} {remark}")))
    }
}

fn has_tags(outline: &Outline) -> bool {
    outline.language.family == "javascript" && (outline.text.contains("</") || outline.text.contains("/>"))
}

/// Not a part of what stands between tags, where a comment would be text.
fn is_code(outline: &Outline, lines: &Lines) -> bool {
    let first = &outline.lexed.tokens[lines.unit.start as usize];
    !begins_code(outline, lines)
        && (!has_tags(outline)
            || (first.code != TEXT && !["<", "{"].contains(&&outline.text[outline.token(lines.unit.start as usize)])))
}

/// Is this the tag of PHP, before which everything is text?
fn begins_code(outline: &Outline, lines: &Lines) -> bool {
    outline.text[outline.token(lines.unit.start as usize)].starts_with("<?")
}

// ---- a formatter changes nothing

fn formatted(rng: &mut Rng, before: Side) -> Option<Case> {
    let mut changed = Vec::new();
    for path in some_paths(rng, &before.files) {
        let Some(outline) = outline(&before.files, &path).filter(|outline| !outline.has_here_document()) else {
            continue;
        };
        let text = match rng.u8(0..3) {
            0 => indented(rng, &outline),
            1 => broken(rng, &outline),
            _ => spread(rng, &outline),
        };
        let edited = Edited { text, inserted: Vec::new() }.if_well_formed(&path);
        changed.extend(edited.filter(|edited| edited.text != outline.text).map(|edited| (path, edited)));
    }
    case(FORMAT, "formatted anew".to_owned(), before, changed, Rule::Same)
}

/// With another indent on all lines.
fn indented(rng: &mut Rng, outline: &Outline) -> String {
    let means_something = ["python", "scala"].contains(&outline.language.name);
    let how = if means_something { 0 } else { rng.u8(0..3) };
    let (mut out, mut at) = (String::new(), 0);
    for line in outline.text.split_inclusive('\n') {
        let code = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - code.len()];
        match how {
            _ if at > 0 && !outline.is_plain_break(at - 1) => out.push_str(indent),
            0 => out.push_str(&indent.repeat(2)),
            1 => out.push_str(&indent.replace('\t', "   ")),
            _ => {}
        }
        out.push_str(code);
        at += line.len();
    }
    out
}

/// With empty lines before some units, and blanks at the ends of lines.
fn spread(rng: &mut Rng, outline: &Outline) -> String {
    let mut insertions = Vec::new();
    for lines in outline.lines().iter().filter(|lines| is_code(outline, lines)) {
        let (start, end) = (lines.bytes.start, lines.bytes.end - 1);
        if rng.u8(0..3) == 0 && start > 0 && outline.is_plain_break(start - 1) {
            insertions.push((start, "\n".repeat(rng.usize(1..3))));
        }
        if rng.u8(0..3) == 0 && outline.is_plain_break(end) {
            insertions.push((end, " \t".to_owned()));
        }
    }
    Edited::inserting(&outline.text, insertions).text
}

/// With lines broken, or joined, where the language does not mind.
fn broken(rng: &mut Rng, outline: &Outline) -> String {
    let free = ["java", "c", "cpp", "c-sharp", "rust"].contains(&outline.language.name);
    let half_free = ["go", "javascript", "typescript"].contains(&outline.language.name) && !has_tags(outline);
    let mut text = outline.text.clone();
    for i in (1..outline.lexed.tokens.len()).rev() {
        let (code, gap) = (outline.lexed.tokens[i - 1].code, outline.token(i - 1).end..outline.token(i).start);
        let start = text[..gap.start].rfind('\n').map_or(0, |end| end + 1);
        let is_directive = text[start..].starts_with('#') || !outline.is_plain_break(gap.start);
        let between = &outline.text[gap.clone()];
        // Neither a comment, nor a directive on the next line.
        if !between.trim().is_empty() || is_directive || outline.text[gap.end..].starts_with('#') {
            continue;
        }
        let may_break = (free && [COMMA, SEMICOLON, OPEN_BRACE, CLOSE_BRACE].contains(&code))
            || (half_free && [COMMA, OPEN_BRACE].contains(&code));
        match rng.u8(0..4) {
            0 if may_break => text.replace_range(gap, "\n  "),
            1 if free && may_break && between.contains('\n') => text.replace_range(gap, " "),
            _ => {}
        }
    }
    text
}

// ---- line ends change nothing

fn with_line_ends(rng: &mut Rng, before: Side) -> Option<Case> {
    let mut changed = Vec::new();
    let how = rng.u8(0..4);
    let mut what = "";
    let paths = if rng.bool() { before.files.keys().cloned().collect() } else { some_paths(rng, &before.files) };
    for path in paths {
        let Some(outline) = outline(&before.files, &path) else { continue };
        let mut text = outline.text.clone();
        what = match how {
            0 | 1 => {
                text = text.replace('\n', "\r\n");
                "line ends are CRLF"
            }
            2 => {
                text.insert(0, '\u{feff}');
                "byte order marks"
            }
            _ => {
                text.truncate(text.trim_end().len());
                "no line end at the end"
            }
        };
        changed.push((path, Edited { text, inserted: Vec::new() }));
    }
    case(LINE_ENDS, what.to_owned(), before, changed, Rule::Same)
}

// ---- names change nothing

fn named(rng: &mut Rng, before: Side) -> Option<Case> {
    let mut after = before.clone();
    let paths: Vec<PathBuf> = before.files.keys().cloned().collect();
    let path = pick(rng, &paths)?.clone();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && rng.bool()).map(Path::to_owned);
    let renames: Vec<(PathBuf, PathBuf)> = match &folder {
        Some(folder) => {
            let to = |path: &PathBuf| Some((path.clone(), Path::new("quay").join(path.strip_prefix(folder).ok()?)));
            paths.iter().filter_map(to).collect()
        }
        None => {
            let extension = path.extension()?.to_str()?.to_owned();
            let folder = FOLDERS[rng.usize(0..FOLDERS.len())];
            let stem = ["aaa", "yew", "Z", "willow-2"][rng.usize(0..4)];
            vec![(path.clone(), Path::new(folder).join(format!("{stem}.{extension}")))]
        }
    };
    for (from, to) in &renames {
        let bytes = after.files.remove(from)?;
        after.files.insert(to.clone(), bytes);
        after.lens.names.insert(to.clone(), from.clone());
    }
    let what = format!("renamed: {renames:?}");
    Some(Case { law: NAMES, what, before, after, rule: Rule::Same })
}

// ---- what is unrelated changes nothing

fn with_unrelated_file(rng: &mut Rng, before: Side, grove: &Grove) -> Option<Case> {
    let family = |path: &Path| dupi_grammars::by_path(path).map(|language| language.family);
    let families: BTreeSet<_> = before.files.keys().map(|path| family(path)).collect();
    let is_other = |extension: &str| !families.contains(&family(Path::new(&format!("a.{extension}"))));
    let all = sources().iter().filter(|source| is_other(&source.extension)).chain(grove.apart.iter().copied());
    let source = pick(rng, all)?;
    let path = PathBuf::from(format!("core/unrelated.{}", source.extension));
    let edited = Edited::inserting("", vec![(0, source.text.clone())]);
    case(UNRELATED_FILE, format!("{} added", path.display()), before, vec![(path, edited)], Rule::Grows)
}

fn with_unrelated_function(rng: &mut Rng, before: Side, grove: &Grove, answer: &Answer) -> Option<Case> {
    let source = pick(rng, grove.apart.iter())?;
    let name = PathBuf::from(format!("a.{}", source.extension));
    let donor = Outline::new(&name, &source.text)?;
    let donated = pick(rng, donor.lines().into_iter().filter(|lines| lines.unit.end - lines.unit.start >= 30))?;
    let of_language = |path: &&PathBuf| path.extension() == name.extension();
    let path = pick(rng, before.files.keys().filter(of_language))?.clone();
    let host = outline(&before.files, &path)?;
    let shown = path.to_string_lossy();
    // Where it cuts no copy in two, and does not become part of a clause that ends one.
    let is_free = |lines: &Lines| {
        let at = before.lens.solid(&path, host.text.as_bytes(), lines.bytes.start);
        let cuts = |copy: &Copy| copy.path == shown && copy.start < at && at < copy.end;
        lines.indent == donated.indent
            && !host.has_clause(lines.list)
            && !answer.classes.iter().any(|class| class.copies.iter().any(cuts))
    };
    let place = pick(rng, host.lines().into_iter().filter(is_free))?;
    let at = place.bytes.start;
    let new = donor.text[donated.bytes].to_owned();
    let edited = Edited::inserting(&host.text, vec![(at, new)]).if_well_formed(&path)?;
    let what = format!("a function added to {shown}");
    case(UNRELATED_FUNCTION, what, before, vec![(path, edited)], Rule::Grows)
}

// ---- what stands before or after a copy changes nothing about that it is found

fn surrounded(rng: &mut Rng, before: Side, answer: &Answer) -> Option<Case> {
    let class = pick(rng, answer.classes.iter())?;
    let copy = pick(rng, class.copies.iter())?;
    let path = PathBuf::from(&copy.path);
    let outline = outline(&before.files, &path)?;
    let bytes = outline.text.as_bytes();
    let solid = |at: usize| before.lens.solid(&path, bytes, at);
    let all = outline.lines();
    let first = all.iter().find(|lines| solid(lines.bytes.start) == copy.start)?;
    let of_list = || all.iter().filter(|lines| lines.list == first.list);
    if outline.has_clause(first.list) {
        return None;
    }
    let is_before = rng.bool();
    let beside = if is_before {
        of_list().rfind(|lines| solid(lines.bytes.end) <= copy.start)
    } else {
        of_list().find(|lines| solid(lines.bytes.start) >= copy.end)
    };
    let beside = beside.filter(|lines| !begins_code(&outline, lines));
    let (cut, edited, what) = match beside.filter(|_| rng.u8(0..3) == 0) {
        Some(beside) => {
            let text = [&outline.text[..beside.bytes.start], &outline.text[beside.bytes.end..]].concat();
            let what = format!("deleted beside a copy in {}: {:?}", copy.path, &outline.text[beside.bytes.clone()]);
            let cut = solid(beside.bytes.start)..solid(beside.bytes.end);
            (cut, Edited { text, inserted: Vec::new() }, what)
        }
        None => {
            // What is alike to the copies is one more of them, and may be nearer to one than the other is.
            let is_copy = |lines: &Lines| {
                let (start, end) = (solid(lines.bytes.start), solid(lines.bytes.end));
                class.copies.iter().any(|other| other.path == copy.path && start < other.end && other.start < end)
            };
            let new = outline.text[pick(rng, of_list().filter(|lines| !is_copy(lines)))?.bytes.clone()].to_owned();
            let new = if rng.u8(0..3) == 0 { new } else { renamed(rng, &path, &new) };
            let last = of_list().rfind(|lines| solid(lines.bytes.start) < copy.end)?;
            let at = if is_before { first.bytes.start } else { last.bytes.end };
            let what = format!("inserted beside a copy in {}: {new:?}", copy.path);
            (solid(at)..solid(at), Edited::inserting(&outline.text, vec![(at, new)]), what)
        }
    };
    let mut copies = class.copies.clone();
    for other in copies.iter_mut().filter(|other| other.path == copy.path) {
        // What is changed must lie in no copy of the class.
        if other.start < cut.end.max(cut.start + 1)
            && cut.start < other.end
            && (!cut.is_empty() || other.start < cut.start)
        {
            return None;
        }
        // Counted as the other side counts: without what was deleted.
        if other.start >= cut.end {
            other.start -= cut.len();
            other.end -= cut.len();
        }
    }
    let edited = edited.if_well_formed(&path)?;
    case(SURROUNDINGS, what, before, vec![(path, edited)], Rule::Covers(copies))
}
