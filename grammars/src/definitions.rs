//! Which units define something by themselves (functions, methods, types), and which only are steps of one:
//! read off the tokens alike for every language, since they all spell it with a handful of words.

use std::sync::OnceLock;

use crate::Language;
use crate::cores::{self, MODIFIERS};
use crate::token::{
    CLOSE_BRACKET, CLOSE_PAREN, COMMA, Code, Lexed, OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN, SEMICOLON, Unit,
};

/// Words that head a body of definitions; not in parentheses or `template <class T, class U>`, where they head a type.
const CONTAINERS: [&str; 18] = [
    "class",
    "interface",
    "@interface",
    "impl",
    "trait",
    "mod",
    "module",
    "namespace",
    "object",
    "extension",
    "protocol",
    "extern",
    "package",
    "companion",
    "record",
    "struct",
    "enum",
    "union",
];
/// Of these, words that may also stand before a function: only without parentheses behind do they head a body.
const TYPE_WORDS: [&str; 4] = ["struct", "enum", "union", "extern"];
/// Of these, words that head one also within a function.
const BODIES: [&str; 6] = ["class", "interface", "impl", "trait", "extension", "protocol"];
/// Words that head a function, wherever it stands.
const FUNCTIONS: [&str; 6] = ["func", "fn", "def", "function", "fun", "init"];

/// Languages that have records but do not reserve the word.
const WITH_RECORDS: [&str; 2] = ["java", "c-sharp"];

/// Directives around what is compiled under a condition: it is there what it would be without.
const CONDITIONS: [&str; 7] = ["#if", "#ifdef", "#ifndef", "#elif", "#elifdef", "#elifndef", "#else"];

/// How far behind the modifiers and annotations of a unit the word is looked for that says what it is: not in its body.
const HEAD: usize = 64;
/// The same for the word that heads a function, not counting what is in brackets: only modifiers come before it.
const FUNCTION_HEAD: usize = 6;

/// What a code means for definitions.
#[derive(Clone, Copy, Default)]
pub struct Role {
    container: bool,
    type_word: bool,
    body: bool,
    condition: bool,
    pub function: bool,
    pub modifier: bool,
    /// A keyword.
    pub word: bool,
    /// `<`
    pub angle: bool,
    /// `@`, `#`, `#[`
    pub at_sign: bool,
    pub hash: bool,
    pub opens_attribute: bool,
    /// `=`, `=>`, `->`: a value follows.
    pub assigns: bool,
}

/// The roles of a language's codes; filled on first use.
pub type Roles = OnceLock<Box<[Role; 256]>>;

fn roles(language: &Language) -> &[Role; 256] {
    language.cache.roles.get_or_init(|| {
        let mut roles = Box::new([Role::default(); 256]);
        for code in 0..=Code::MAX {
            if let Some(spelling) = language.alphabet().spelling(code) {
                roles[code as usize] = Role {
                    container: CONTAINERS.contains(&spelling),
                    type_word: TYPE_WORDS.contains(&spelling),
                    body: BODIES.contains(&spelling),
                    function: FUNCTIONS.contains(&spelling),
                    condition: CONDITIONS.contains(&spelling),
                    modifier: MODIFIERS.contains(&spelling),
                    word: spelling.starts_with(|c: char| c.is_ascii_alphabetic()),
                    angle: spelling == "<",
                    at_sign: spelling == "@",
                    hash: spelling == "#",
                    opens_attribute: spelling == "#[",
                    assigns: matches!(spelling, "=" | "=>" | "->"),
                };
            }
        }
        roles
    })
}

/// How deep units may stand in units. No person goes deeper, and each level costs its whole length once more.
const MAX_DEPTH: usize = 100;

/// Sets [`Unit::DEFINITION`] on the units that are one, adds their cores, and drops units that are nested beyond all
/// measure.
pub fn mark(language: &Language, src: &[u8], lexed: &mut Lexed) {
    let roles = roles(language);
    let has_records = WITH_RECORDS.contains(&language.name);
    let Lexed { tokens, units, .. } = lexed;
    let starts: Vec<u32> = units.iter().map(|unit| unit.start).collect();
    let mut n_seen = 0;
    let mut n_lists = units.iter().map(|unit| unit.list + 1).max().unwrap_or(0);
    let mut cores: Vec<Unit> = Vec::new();
    // The units around the current one, with what they hold.
    let mut around: Vec<Around> = Vec::with_capacity(32);
    units.retain_mut(|unit| {
        while around.last().is_some_and(|around| around.end <= unit.start) {
            around.pop();
        }
        n_seen += 1;
        // Where the first unit in this one starts. A function there is a member of what is headed by an earlier word: not
        // every language has a brace to end the head.
        let inner =
            starts[n_seen..].iter().take(MAX_DEPTH).find(|&&start| start > unit.start).map_or(u32::MAX, |&start| start);
        let among_definitions = around.last().is_none_or(|around| around.holds && unit.start >= around.from);
        let reader = cores::Reader { language, roles, src, tokens: &tokens[unit.start as usize..unit.end as usize] };
        let head = reader.head();
        let from = unit.start + head.end as u32;
        let codes = reader.tokens[head.end..].iter().map(|token| token.code);
        let words = codes.take(HEAD).take_while(|&code| code != OPEN_BRACE);
        let (mut container, mut body, mut function) = (false, false, false);
        let mut after_type_word = false;
        let mut in_list = false;
        let (mut n_open, mut n_words) = (0, 0);
        for (at, code) in (from..).zip(words) {
            let role = roles[code as usize];
            if n_open == 0 {
                if role.container && !in_list {
                    container = true;
                    body |= role.body;
                    after_type_word = role.type_word;
                } else if code == OPEN_PAREN && after_type_word {
                    container = false;
                }
                function |= role.function && n_words < FUNCTION_HEAD && !(container && at >= inner.max(from));
                n_words += 1;
            }
            n_open += i32::from(matches!(code, OPEN_PAREN | OPEN_BRACKET));
            n_open -= i32::from(matches!(code, CLOSE_PAREN | CLOSE_BRACKET));
            in_list = role.angle || code == COMMA;
        }
        if has_records && reader.is_record(head.end) {
            (container, body) = (true, true);
        }
        let condition = roles[tokens[unit.start as usize].code as usize].condition;
        let holds = !function && (body || among_definitions && (condition || container));
        if among_definitions || function || body {
            unit.flags |= Unit::DEFINITION;
        }
        around.push(Around { end: unit.end, from, holds });
        // A semicolon alone is nothing.
        let empty = unit.end - unit.start == 1 && tokens[unit.start as usize].code == SEMICOLON;
        let kept = around.len() <= MAX_DEPTH && !empty;
        if kept && unit.flags & (Unit::DEFINITION | Unit::IMPORT) == Unit::DEFINITION {
            reader.cores(&head, |start| {
                let flags = Unit::DEFINITION | Unit::CORE;
                cores.push(Unit { start: unit.start + start as u32, end: unit.end, list: n_lists, flags });
                n_lists += 1;
            });
        }
        kept
    });
    if !cores.is_empty() {
        units.append(&mut cores);
        // Stable: where a core starts with another unit that reaches as far, that one is the outer one.
        units.sort_by_key(|unit| (unit.start, std::cmp::Reverse(unit.end)));
    }
}

/// A unit around others.
struct Around {
    end: u32,
    /// Where its own head ends: what stands in its annotations defines nothing.
    from: u32,
    /// Whether it holds definitions.
    holds: bool,
}

#[cfg(test)]
mod tests {
    use crate::token::{Lexed, Unit};

    /// Is the last unit of a text, its innermost one, a definition?
    fn is_innermost_definition(language: &str, text: &str) -> bool {
        let language = crate::by_name(language).expect("a known language");
        let mut lexed = Lexed::default();
        crate::tokenize(language, text.as_bytes(), &mut lexed).expect("it can be parsed");
        lexed.units.last().is_some_and(|unit| unit.flags & Unit::DEFINITION != 0)
    }

    #[test]
    fn what_a_function_does_is_no_definition_whatever_types_its_head_names() {
        for (language, text) in [
            ("c", "static int f(struct port *a, enum way b)\n{\n\tx = read(a);\n}\n"),
            ("c", "static struct port *f(struct port *a)\n{\n\tx = read(a);\n}\n"),
            ("cpp", "template <class T, class U> void f(T a)\n{\n\tx = read(a);\n}\n"),
            ("rust", "pub(crate) fn f(a: impl Port) {\n    read(a);\n}\n"),
        ] {
            assert!(!is_innermost_definition(language, text), "{text}");
        }
    }

    #[test]
    fn what_an_object_or_an_annotation_holds_is_no_definition_unless_it_is_a_function() {
        for (language, text) in [
            ("javascript", "f({ a: b(c => d) })\n"),
            ("javascript", "f({ a: [function () { }] })\n"),
            ("javascript", "f({ async: true, get: c })\n"),
            ("typescript", "@A({ b: 1 }) class C { }\n"),
        ] {
            assert!(!is_innermost_definition(language, text), "{text}");
        }
    }

    #[test]
    fn members_are_definitions() {
        for (language, text) in [
            ("c", "struct port {\n\tint a;\n};\n"),
            ("c", "#ifdef A\nint a(void);\n#endif\n"),
            ("cpp", "template <class T> class port {\n\tint a;\n};\n"),
            ("rust", "#[derive(Clone)]\npub(crate) struct Port {\n    a: u8,\n}\n"),
            ("rust", "fn f() {\n    impl Port for u8 {\n        const A: u8 = 1;\n    }\n}\n"),
            ("rust", "#[cfg(all(a = \"b\", not(any(c, d, e, f, g, h, i))))]\nmod m {\n    const A: u8 = 1;\n}\n"),
            ("kotlin", "class Port(val a: Int) {\n    val b = 1\n}\n"),
            ("ruby", "class Port\n  def a\n  end\n  attr_reader :b\nend\n"),
            ("ruby", "module Dock\n  class Port\n    def a; end\n    alias b a\n  end\nend\n"),
            ("python", "class Port:\n    def a(self): return 1\n    b = a\n"),
            ("java", "@A({\"x\", \"y\"}) @B(c = {D.class}) public class Port {\n    int a;\n}\n"),
            ("java", "public record Port(int a) implements Dock {\n    static int b;\n}\n"),
            ("java", "@interface Port {\n    int a() default 1;\n}\n"),
            ("c-sharp", "[A(new[] { 1 })]\npublic sealed class Port {\n    int a;\n}\n"),
            ("c-sharp", "public record Port(int A) {\n    int b;\n}\n"),
            (
                "typescript",
                "@Component({\n  selector: 'a',\n  host: { b: 'c' },\n})\nexport class Port {\n  a = 1\n}\n",
            ),
            ("typescript", "export const port = {\n  a: 1,\n  b(c: D): E { },\n}\n"),
            ("javascript", "f({ async *[a.b]() { } })\n"),
            ("javascript", "f({ a: async function () { } })\n"),
            ("javascript", "f({ get: (a, b) => a })\n"),
            ("javascript", "f({ a: b => b })\n"),
        ] {
            assert!(is_innermost_definition(language, text), "{text}");
        }
    }
}
