//! Which units define something by themselves (functions, methods, types), and which only are steps of one:
//! read off the tokens alike for every language, since they all spell it with a handful of words.

use std::sync::OnceLock;

use crate::Language;
use crate::token::{
    CLOSE_BRACKET, CLOSE_PAREN, COMMA, Code, Lexed, OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN, SEMICOLON, Unit,
};

/// Words that head a body of definitions; not in parentheses or `template <class T, class U>`, where they head a type.
const CONTAINERS: [&str; 17] = [
    "class",
    "interface",
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

/// Directives around what is compiled under a condition: it is there what it would be without.
const CONDITIONS: [&str; 7] = ["#if", "#ifdef", "#ifndef", "#elif", "#elifdef", "#elifndef", "#else"];

/// How far into a unit its head is looked for: past annotations and modifiers, not into its body.
const HEAD: usize = 64;
/// The same for the word that heads a function, not counting what is in brackets: only modifiers come before it.
const FUNCTION_HEAD: usize = 6;

/// What a code means for definitions.
#[derive(Clone, Copy, Default)]
pub struct Role {
    container: bool,
    type_word: bool,
    body: bool,
    function: bool,
    angle: bool,
    condition: bool,
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
                    angle: spelling == "<",
                    condition: CONDITIONS.contains(&spelling),
                };
            }
        }
        roles
    })
}

/// How deep units may stand in units. No person goes deeper, and each level costs its whole length once more.
const MAX_DEPTH: usize = 100;

/// Sets [`Unit::DEFINITION`] on the units that are one, and drops those that are nested beyond all measure.
pub fn mark(language: &Language, lexed: &mut Lexed) {
    let roles = roles(language);
    let Lexed { tokens, units, .. } = lexed;
    let starts: Vec<u32> = units.iter().map(|unit| unit.start).collect();
    let mut n_seen = 0;
    // The units around the one at hand: where they end, and whether they hold definitions.
    let mut around: Vec<(u32, bool)> = Vec::with_capacity(32);
    units.retain_mut(|unit| {
        while around.last().is_some_and(|(end, _)| *end <= unit.start) {
            around.pop();
        }
        n_seen += 1;
        // Where the first unit in this one starts. A function there is a member of what is headed by an earlier word: not
        // every language has a brace to end the head.
        let inner =
            starts[n_seen..].iter().take(MAX_DEPTH).find(|&&start| start > unit.start).map_or(u32::MAX, |&start| start);
        let among_definitions = around.last().is_none_or(|(_, holds)| *holds);
        let codes = tokens[unit.start as usize..unit.end as usize].iter().map(|token| token.code);
        let head = codes.take(HEAD).take_while(|&code| code != OPEN_BRACE);
        let (mut container, mut body, mut function) = (false, false, false);
        let mut after_type_word = false;
        let mut in_list = false;
        let (mut n_open, mut n_words) = (0, 0);
        for (at, code) in (unit.start..).zip(head) {
            let role = roles[code as usize];
            if n_open == 0 {
                if role.container && !in_list {
                    container = true;
                    body |= role.body;
                    after_type_word = role.type_word;
                } else if code == OPEN_PAREN && after_type_word {
                    container = false;
                }
                function |= role.function && n_words < FUNCTION_HEAD && !(container && at >= inner);
                n_words += 1;
            }
            n_open += i32::from(matches!(code, OPEN_PAREN | OPEN_BRACKET));
            n_open -= i32::from(matches!(code, CLOSE_PAREN | CLOSE_BRACKET));
            in_list = role.angle || code == COMMA;
        }
        let condition = roles[tokens[unit.start as usize].code as usize].condition;
        let holds = !function && (body || among_definitions && (condition || container));
        if among_definitions || function || body {
            unit.flags |= Unit::DEFINITION;
        }
        around.push((unit.end, holds));
        // A semicolon alone is nothing.
        let empty = unit.end - unit.start == 1 && tokens[unit.start as usize].code == SEMICOLON;
        around.len() <= MAX_DEPTH && !empty
    });
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
        ] {
            assert!(is_innermost_definition(language, text), "{text}");
        }
    }
}
