//! Which units define something by themselves (functions, methods, types), and which only are steps of one:
//! read off the tokens alike for every language, since they all spell it with a handful of words.

use std::sync::OnceLock;

use crate::Language;
use crate::token::{Code, Lexed, OPEN_BRACE, OPEN_PAREN, SEMICOLON, Unit};

/// Words that head a body of definitions.
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
/// Of these, words that may also stand in the type of a function: only without parentheses behind do they head a body.
const TYPE_WORDS: [&str; 3] = ["struct", "enum", "union"];
/// Words that head a function, wherever it stands.
const FUNCTIONS: [&str; 6] = ["func", "fn", "def", "function", "fun", "init"];

/// How far into a unit its head is looked for: past annotations and modifiers, not into its body.
const HEAD: usize = 24;
/// The same for the word that heads a function: only modifiers come before it.
const FUNCTION_HEAD: usize = 6;

/// What a code means for definitions.
#[derive(Clone, Copy, Default)]
pub struct Role {
    container: bool,
    type_word: bool,
    function: bool,
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
                    function: FUNCTIONS.contains(&spelling),
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
    // The units around the one at hand: where they end, and whether they hold definitions.
    let mut around: Vec<(u32, bool)> = Vec::with_capacity(32);
    units.retain_mut(|unit| {
        while around.last().is_some_and(|(end, _)| *end <= unit.start) {
            around.pop();
        }
        let among_definitions = around.last().is_none_or(|(_, holds)| *holds);
        let codes = tokens[unit.start as usize..unit.end as usize].iter().map(|token| token.code);
        let head = codes.take(HEAD).take_while(|&code| code != OPEN_BRACE);
        let mut container = false;
        let mut function = false;
        let mut after_type_word = false;
        for (i, code) in head.enumerate() {
            let role = roles[code as usize];
            if role.container {
                container = true;
                after_type_word = role.type_word;
            } else if code == OPEN_PAREN && after_type_word {
                container = false;
            }
            function |= role.function && i < FUNCTION_HEAD;
        }
        let holds = among_definitions && container && !function;
        if among_definitions || function {
            unit.flags |= Unit::DEFINITION;
        }
        around.push((unit.end, holds));
        // A semicolon alone is nothing.
        let empty = unit.end - unit.start == 1 && tokens[unit.start as usize].code == SEMICOLON;
        around.len() <= MAX_DEPTH && !empty
    });
}
