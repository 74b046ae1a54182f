//! What people do to a copy after they have made it: statements come, go and change.
//!
//! A statement is a unit of the tokenizer that has its lines for itself, at any depth. Every edited function is read again:
//! its grammar finds no more errors in it than before, and the tokenizer still sees one definition.

use std::collections::HashSet;
use std::ops::Range;

use dupi_grammars::token::{CLOSE_PAREN, COMMA, IDENTIFIER, Lexed, NUMBER, OPEN_PAREN, STRING, Token, Unit, varies};
use dupi_grammars::{Language, tokenize};
use fastrand::Rng;

use super::Function;

/// What is done to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Nothing,
    Insert,
    Delete,
    Change,
    /// Three of these, in the first, second and last third of the function.
    Scatter,
    /// `HEAVY` of the statements are edited.
    Heavy,
}

impl Edit {
    pub const ALL: [Edit; 6] = [Edit::Nothing, Edit::Insert, Edit::Delete, Edit::Change, Edit::Scatter, Edit::Heavy];

    pub fn name(self) -> &'static str {
        match self {
            Edit::Nothing => "unedited",
            Edit::Insert => "inserted",
            Edit::Delete => "deleted",
            Edit::Change => "changed",
            Edit::Scatter => "scattered",
            Edit::Heavy => "heavy",
        }
    }
}

/// The share of the statements that a heavy edit touches.
const HEAVY: f64 = 0.3;
/// Three edits scatter over so many statements: of fewer they would touch more than a heavy edit does.
const MIN_SCATTER: usize = 9;
/// A statement that comes or goes has at most so many tokens: a larger one is a block of them.
const MAX_STATEMENT: u32 = 20;
const MIN_STATEMENT: u32 = 3;
/// How often an edit is drawn until one leaves the function well-formed.
const TRIES: usize = 60;

/// Statements that are never inserted: after them nothing would be reached.
const JUMPS: [&str; 9] = ["return", "break", "continue", "throw", "raise", "goto", "yield", "next", "exit"];

/// Operators that can stand for each other.
const OPERATORS: [(&str, &str); 22] = [
    ("+", "-"),
    ("-", "+"),
    ("*", "+"),
    ("/", "*"),
    ("==", "!="),
    ("!=", "=="),
    ("===", "!=="),
    ("!==", "==="),
    ("<", "<="),
    ("<=", "<"),
    (">", ">="),
    (">=", ">"),
    ("&&", "||"),
    ("||", "&&"),
    ("and", "or"),
    ("or", "and"),
    ("+=", "-="),
    ("-=", "+="),
    ("~=", "=="),
    ("-eq", "-ne"),
    ("-z", "-n"),
    ("-n", "-z"),
];

/// Words for values that can stand for each other.
const WORDS: [(&str, &str); 4] = [("true", "false"), ("false", "true"), ("True", "False"), ("False", "True")];

/// Statements and names of functions of one language, to insert into others.
#[derive(Default)]
pub struct Donors {
    /// Each without the indent of its first line.
    statements: Vec<String>,
    callees: Vec<String>,
}

impl Donors {
    pub fn new<'a>(functions: impl IntoIterator<Item = &'a Function>) -> Donors {
        let mut donors = Donors::default();
        for function in functions {
            let source = Lines::new(function);
            for statement in source.statements.iter().filter(|statement| statement.is_small()) {
                let text = &source.text[statement.bytes.clone()];
                let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
                if !first.is_some_and(|word| JUMPS.contains(&word)) {
                    let lines = text.lines().map(|line| line.strip_prefix(&statement.indent).unwrap_or(line));
                    donors.statements.push(lines.map(|line| format!("{line}\n")).collect());
                }
            }
            donors.callees.extend(calls(function).map(|(callee, _)| function.word(callee).to_owned()));
        }
        donors.statements.sort();
        donors.statements.dedup();
        donors.callees.sort();
        donors.callees.dedup();
        donors
    }
}

/// A function as lines, and its statements.
struct Lines {
    /// With a line end.
    text: String,
    statements: Vec<Statement>,
}

struct Statement {
    unit: Unit,
    /// Whole lines, with their ends.
    bytes: Range<usize>,
    indent: String,
}

impl Statement {
    fn is_small(&self) -> bool {
        (MIN_STATEMENT..=MAX_STATEMENT).contains(&(self.unit.end - self.unit.start))
    }
}

impl Lines {
    fn new(function: &Function) -> Lines {
        let text = format!("{}\n", function.text);
        let statement = |unit: &Unit| {
            let (first, last) = (&function.tokens[unit.start as usize], &function.tokens[unit.end as usize - 1]);
            let start = text[..first.start as usize].rfind('\n').map_or(0, |end| end + 1);
            let end = last.end as usize + text[last.end as usize..].find('\n')? + 1;
            let (before, after) = (&text[start..first.start as usize], &text[last.end as usize..end]);
            let is_alone = before.trim().is_empty() && ["", ",", ";"].contains(&after.trim()) && start > 0;
            let indent = before.to_owned();
            is_alone.then_some(Statement { unit: *unit, bytes: start..end, indent })
        };
        let is_step = |unit: &&Unit| unit.flags & (Unit::DEFINITION | Unit::IMPORT) == 0 && unit.end > unit.start;
        let mut statements: Vec<Statement> = function.units.iter().filter(is_step).filter_map(statement).collect();
        // An expression may be a unit of a statement of the same extent.
        let mut seen = HashSet::new();
        statements.retain(|statement| seen.insert(statement.bytes.clone()));
        Lines { text, statements }
    }
}

/// A replacement of some bytes.
type Patch = (Range<usize>, String);

/// The statements that an edit can be made to, three at least so that edits can scatter.
pub fn n_statements(function: &Function) -> usize {
    Lines::new(function).statements.len()
}

/// The function edited, with its tokens. None if no edit leaves it well-formed.
pub fn edited(rng: &mut Rng, function: &Function, donors: &Donors, edit: Edit) -> Option<(String, Vec<Token>)> {
    let source = Lines::new(function);
    let n = source.statements.len();
    let all: Vec<usize> = (0..n).collect();
    let (mut patches, mut current) = (Vec::new(), None);
    let steps: Vec<(&[usize], Option<Edit>)> = match edit {
        Edit::Nothing => return Some((function.text.clone(), function.tokens.clone())),
        Edit::Insert | Edit::Delete | Edit::Change => vec![(&all, Some(edit))],
        Edit::Scatter if n < MIN_SCATTER => return None,
        Edit::Scatter => vec![(&all[..n / 3], None), (&all[n / 3..2 * n / 3], None), (&all[2 * n / 3..], None)],
        Edit::Heavy => vec![(&all[..], None); (n as f64 * HEAVY).ceil() as usize],
    };
    let mut used = HashSet::new();
    for (candidates, kind) in steps {
        let mut tries = 0..TRIES;
        let done = tries.any(|_| {
            let free: Vec<usize> = candidates.iter().copied().filter(|at| !used.contains(at)).collect();
            if free.is_empty() {
                return false;
            }
            let at = free[rng.usize(0..free.len())];
            // Of edits that are not named, half change something.
            let kind = kind.unwrap_or([Edit::Change, Edit::Change, Edit::Insert, Edit::Delete][rng.usize(0..4)]);
            let Some(patch) = patch(rng, function, &source, at, donors, kind) else { return false };
            if patches.iter().any(|(range, _): &Patch| overlap(range, &patch.0)) {
                return false;
            }
            patches.push(patch);
            let text = patched(&source.text, &patches);
            match read(function, &text) {
                Some(tokens) => {
                    used.insert(at);
                    current = Some((text, tokens));
                    true
                }
                None => {
                    patches.pop();
                    false
                }
            }
        });
        if !done {
            return None;
        }
    }
    current
}

/// Two insertions at one place overlap, too.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a == b || (a.start < b.end && b.start < a.end)
}

fn patched(text: &str, patches: &[Patch]) -> String {
    let mut patches: Vec<&Patch> = patches.iter().collect();
    patches.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = text.to_owned();
    for (range, new) in patches.into_iter().rev() {
        text.replace_range(range.clone(), new);
    }
    text.trim_end().to_owned()
}

fn patch(rng: &mut Rng, function: &Function, source: &Lines, at: usize, donors: &Donors, edit: Edit) -> Option<Patch> {
    let statement = &source.statements[at];
    match edit {
        Edit::Insert => {
            let donor = pick(rng, &donors.statements)?;
            if function.text.contains(donor.trim()) {
                return None;
            }
            let new: String = donor.lines().map(|line| format!("{}{line}\n", statement.indent)).collect();
            let place = if rng.bool() { statement.bytes.start } else { statement.bytes.end };
            Some((place..place, new))
        }
        Edit::Delete => statement.is_small().then(|| (statement.bytes.clone(), String::new())),
        _ => change(rng, function, &statement.unit, donors),
    }
}

/// One thing of a statement changed: an operator, a value, a name, a call, an argument.
fn change(rng: &mut Rng, function: &Function, unit: &Unit, donors: &Donors) -> Option<Patch> {
    // What lies in the statements within this one is theirs.
    let is_inner = |at: usize| {
        let inside = |inner: &Unit| (inner.start as usize..inner.end as usize).contains(&at);
        let mut inner = function.units.iter().filter(|inner| inner.start > unit.start && inner.end < unit.end);
        inner.any(inside)
    };
    let own: Vec<usize> = (unit.start as usize..unit.end as usize).filter(|&at| !is_inner(at)).collect();
    let of_unit = |at: usize| own.binary_search(&at).is_ok();
    let bytes = |at: usize| function.tokens[at].start as usize..function.tokens[at].end as usize;
    let swapped = |table: &[(&str, &str)], at: usize| {
        let word = function.word(at);
        table.iter().find(|(old, _)| *old == word).map(|(_, new)| (bytes(at), (*new).to_owned()))
    };
    let with_code = |code| own.iter().copied().filter(move |&at| function.tokens[at].code == code);
    let calls: Vec<(usize, usize)> = calls(function).filter(|&(callee, _)| of_unit(callee)).collect();
    let arguments: Vec<usize> = own.iter().copied().filter(|&at| is_argument(function, at)).collect();
    let names: Vec<&str> =
        (0..function.tokens.len()).filter(|&at| is_argument(function, at)).map(|at| function.word(at)).collect();
    let callee = pick(rng, &donors.callees).map_or("other", |name| name);
    let value = match pick(rng, &names) {
        Some(name) if rng.bool() => (*name).to_owned(),
        _ => rng.u8(2..90).to_string(),
    };
    let sorts: [Vec<Patch>; 8] = [
        own.iter().filter_map(|&at| swapped(&OPERATORS, at)).collect(),
        own.iter()
            .filter_map(|&at| swapped(&WORDS, at))
            .chain(with_code(NUMBER).map(|at| (bytes(at), number(function.word(at)))))
            .collect(),
        with_code(STRING).filter_map(|at| Some((bytes(at), string(function.word(at))?))).collect(),
        arguments.iter().map(|&at| (bytes(at), value.clone())).collect(),
        calls.iter().map(|&(at, _)| (bytes(at), callee.to_owned())).collect(),
        calls.iter().map(|&(at, close)| added(function, at, close, &value)).collect(),
        calls.iter().filter_map(|&(at, close)| dropped(function, at, close)).collect(),
        arguments.iter().map(|&at| (bytes(at), format!("{callee}({})", function.word(at)))).collect(),
    ];
    let is_new = |patch: &&Patch| function.text[patch.0.clone()] != patch.1;
    let mut sorts: Vec<Vec<&Patch>> = sorts.iter().map(|sort| sort.iter().filter(is_new).collect()).collect();
    sorts.retain(|sort| !sort.is_empty());
    let sort = pick(rng, &sorts)?;
    pick(rng, sort).map(|patch| (*patch).clone())
}

fn number(word: &str) -> String {
    match word {
        "0" => "1".to_owned(),
        "1" => "2".to_owned(),
        _ if word.bytes().all(|b| b.is_ascii_digit()) => format!("{word}1"),
        _ => "7".to_owned(),
    }
}

/// Another word in front of what a string says.
fn string(word: &str) -> Option<String> {
    let quote = word.chars().next().filter(|c| ['"', '\'', '`'].contains(c))?;
    let is_plain = word.len() > 2 && !word.starts_with("\"\"\"") && !word.starts_with("'''");
    is_plain.then(|| format!("{quote}the {}", &word[1..]))
}

/// One argument more, before the closing parenthesis.
fn added(function: &Function, callee: usize, close: usize, value: &str) -> Patch {
    let place = function.tokens[close].start as usize;
    let is_empty = close == callee + 2;
    let after_comma = function.tokens[close - 1].code == COMMA;
    (place..place, if is_empty || after_comma { value.to_owned() } else { format!(", {value}") })
}

/// The last of several arguments less.
fn dropped(function: &Function, callee: usize, close: usize) -> Option<Patch> {
    let mut depth = 0;
    let mut last = None;
    for at in callee + 2..close {
        match function.word(at) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 0 && at + 1 < close => last = Some(at),
            _ => {}
        }
    }
    let start = function.tokens[last?].start as usize;
    Some((start..function.tokens[close].start as usize, String::new()))
}

/// Tokens that are calls: the name, and the closing parenthesis of its arguments.
fn calls(function: &Function) -> impl Iterator<Item = (usize, usize)> {
    let code = |at: usize| function.tokens.get(at).map(|token| token.code);
    let is_call = move |&at: &usize| code(at) == Some(IDENTIFIER) && code(at + 1) == Some(OPEN_PAREN);
    let first = function.units.iter().map(|unit| unit.start as usize).min().unwrap_or(usize::MAX);
    (first..function.tokens.len()).filter(is_call).filter_map(move |at| {
        let mut depth = 0;
        for close in at + 1..function.tokens.len() {
            match function.tokens[close].code {
                OPEN_PAREN => depth += 1,
                CLOSE_PAREN if depth == 1 => return Some((at, close)),
                CLOSE_PAREN => depth -= 1,
                _ => {}
            }
        }
        None
    })
}

/// Is a token a whole argument, or a whole expression in parentheses?
fn is_argument(function: &Function, at: usize) -> bool {
    let code = |at: usize| function.tokens.get(at).map(|token| token.code);
    let before = at.checked_sub(1).and_then(code);
    varies(function.tokens[at].code)
        && [Some(OPEN_PAREN), Some(COMMA)].contains(&before)
        && [Some(CLOSE_PAREN), Some(COMMA)].contains(&code(at + 1))
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> Option<&'a T> {
    (!from.is_empty()).then(|| &from[rng.usize(0..from.len())])
}

impl Function {
    /// The text of a token.
    pub fn word(&self, at: usize) -> &str {
        &self.text[self.tokens[at].start as usize..self.tokens[at].end as usize]
    }
}

/// The tokens of a text that is put in the place of a function. None if it is not well-formed there, or not one definition.
pub fn read(function: &Function, text: &str) -> Option<Vec<Token>> {
    let (before, after) = function.host();
    let host = |text: &str| format!("{before}{text}{after}");
    let tokens = definition(function.language, &host(text), before.len()..before.len() + text.len())?;
    (n_errors(function.language, &host(text)) <= n_errors(function.language, &host(&function.text))).then_some(tokens)
}

/// The tokens of a part of a text, relative to it, if they are one definition.
pub fn definition(language: &Language, text: &str, part: Range<usize>) -> Option<Vec<Token>> {
    let mut lexed = Lexed::default();
    tokenize(language, text.as_bytes(), &mut lexed).ok()?;
    // A core is its definition over again, without the head.
    lexed.units.retain(|unit| unit.flags & Unit::CORE == 0);
    let first = lexed.tokens.partition_point(|token| (token.start as usize) < part.start);
    let end = lexed.tokens.partition_point(|token| (token.end as usize) <= part.end);
    let is_it =
        |unit: &Unit| unit.flags & Unit::DEFINITION != 0 && (unit.start as usize, unit.end as usize) == (first, end);
    let moved =
        |token: &Token| Token { start: token.start - part.start as u32, end: token.end - part.start as u32, ..*token };
    lexed.units.iter().any(is_it).then(|| lexed.tokens[first..end].iter().map(moved).collect())
}

/// How many nodes of a text's tree are errors.
pub fn n_errors(language: &Language, text: &str) -> usize {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&(language.grammar)()).expect("a grammar of this version");
    let Some(tree) = parser.parse(text, None) else { return usize::MAX };
    if !tree.root_node().has_error() {
        return 0;
    }
    let (mut n, mut cursor) = (0, tree.walk());
    loop {
        n += usize::from(cursor.node().is_error() || cursor.node().is_missing());
        if cursor.node().has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return n;
            }
        }
    }
}
