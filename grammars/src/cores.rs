//! The core of a definition: what is left of it without its modifiers, annotations, attributes, decorators and receiver.
//!
//! Copies differ in these more than in anything else: one is made `pub`, the other gets an `@Override`. The core is a unit
//! in a list of its own, inside of the definition, so that everything that compares units compares cores, too.
//! Read off the tokens alike for every language, as definitions are.

use crate::Language;
use crate::definitions::Role;
use crate::token::{
    CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, DOT, IDENTIFIER, OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN,
    SEMICOLON, STRING, Token, varies,
};

/// Words that may come before a definition without being what it defines, in the languages that reserve them.
pub const MODIFIERS: [&str; 56] = [
    "abstract",
    "actual",
    "async",
    "consteval",
    "constexpr",
    "constinit",
    "convenience",
    "declare",
    "default",
    "dynamic",
    "expect",
    "explicit",
    "export",
    "extern",
    "external",
    "fileprivate",
    "final",
    "friend",
    "implicit",
    "indirect",
    "infix",
    "inline",
    "inner",
    "internal",
    "lateinit",
    "lazy",
    "local",
    "mutating",
    "native",
    "nonisolated",
    "nonmutating",
    "open",
    "optional",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "register",
    "required",
    "sealed",
    "static",
    "strictfp",
    "suspend",
    "synchronized",
    "tailrec",
    "transient",
    "transparent",
    "unowned",
    "unsafe",
    "virtual",
    "volatile",
    "weak",
    "noinline",
];

/// The same where they are names to the lexer.
fn is_modifier(text: &[u8]) -> bool {
    matches!(
        text,
        b"abstract"
            | b"accessor"
            | b"async"
            | b"declare"
            | b"default"
            | b"module_function"
            | b"noinline"
            | b"non-sealed"
            | b"override"
            | b"partial"
            | b"private"
            | b"private_class_method"
            | b"protected"
            | b"public"
            | b"readonly"
            | b"required"
            | b"sealed"
            | b"static"
            | b"unsafe"
            | b"_Noreturn"
            | b"__always_inline"
            | b"__forceinline"
            | b"__inline"
            | b"__inline__"
    )
}

/// Words that are modifiers only before one of these: `const fn`, `operator fun`.
const BEFORE: [(&str, &[&str]); 2] = [("const", &["fn", "unsafe", "async", "extern", "val"]), ("operator", &["fun"])];

/// Languages in which a function may name whose it is: its core starts with its own name.
const WITH_RECEIVERS: [&str; 4] = ["go", "kotlin", "lua", "ruby"];

/// Fewer tokens are no copy at any sensible setting, and every field with a modifier would have a core.
const MIN_TOKENS: usize = 20;

/// How many annotations of a definition have a core behind them, beside the one behind all of its head.
const MAX_ANNOTATIONS: usize = 4;

/// How far the end of type parameters is looked for.
const MAX_TYPE_PARAMETERS: usize = 64;

/// How far the end of an annotation's brackets is looked for: where everything nests, each unit would be read to its end.
const MAX_GROUP: usize = 1024;

/// What comes first in a definition.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Where each annotation ends, of those that a core may start behind.
    annotations: [usize; MAX_ANNOTATIONS],
    n_annotations: usize,
    /// Where annotations and modifiers end.
    pub end: usize,
}

/// The tokens of one unit, with what is needed to read its head.
pub struct Reader<'a> {
    pub language: &'a Language,
    pub roles: &'a [Role; 256],
    pub src: &'a [u8],
    pub tokens: &'a [Token],
}

impl Reader<'_> {
    fn text(&self, at: usize) -> &[u8] {
        self.tokens.get(at).map_or(&[], |t| &self.src[t.start as usize..t.end as usize])
    }

    fn is(&self, at: usize, code: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.code == code)
    }

    fn role(&self, at: usize) -> Role {
        self.tokens.get(at).map_or(Role::default(), |token| self.roles[token.code as usize])
    }

    /// Is there a name, a literal or a keyword here?
    fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| varies(token.code)) || self.role(at).word
    }

    /// May what a definition is without its head start here?
    fn may_start(&self, at: usize) -> bool {
        let bracket = |code| {
            matches!(
                code,
                OPEN_PAREN | OPEN_BRACE | CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE | COMMA | SEMICOLON | COLON | DOT
            )
        };
        self.tokens.get(at).is_some_and(|token| !bracket(token.code)) && !self.role(at).assigns
    }

    /// One past the bracket that closes the one at `at`; `at` itself if nothing does, or not soon.
    fn group(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(at).take(MAX_GROUP) {
            match token.code {
                OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE => depth += 1,
                CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE => depth = depth.saturating_sub(1),
                code if self.roles[code as usize].opens_attribute => depth += 1,
                _ => {}
            }
            if depth == 0 {
                return if i > at { i + 1 } else { at };
            }
        }
        at
    }

    /// Does `record A` stand at `at`?
    pub fn is_record(&self, at: usize) -> bool {
        self.is(at, IDENTIFIER) && self.is(at + 1, IDENTIFIER) && self.text(at) == b"record"
    }

    /// The head of a definition. Costs next to nothing where there is none.
    pub fn head(&self) -> Head {
        let mut head = Head::default();
        let mut at = 0;
        loop {
            let annotation = self.annotation(at);
            let next = if annotation > at { annotation } else { self.modifier(at) };
            if next == at {
                return head;
            }
            at = next;
            if !self.may_start(at) {
                continue;
            }
            if annotation == at && head.n_annotations < MAX_ANNOTATIONS {
                head.annotations[head.n_annotations] = at;
                head.n_annotations += 1;
            }
            head.end = at;
        }
    }

    /// Where an annotation that starts at `at` ends: `@A.B(…)`, `#[a]`, `[A]`, `[[a]]`. `at` itself if there is none.
    fn annotation(&self, at: usize) -> usize {
        let role = self.role(at);
        if role.at_sign {
            let mut end = at + 1;
            if self.is(end, OPEN_BRACKET) {
                return self.group(end); // `@[A B]`
            }
            if !self.is_word(end) {
                return at;
            }
            end += 1;
            while (self.is(end, DOT) || self.is(end, COLON)) && self.is_word(end + 1) {
                end += 2;
            }
            while self.is(end, OPEN_PAREN) && self.group(end) > end {
                end = self.group(end);
            }
            return end;
        }
        if role.opens_attribute {
            return self.group(at);
        }
        if role.hash && self.is(at + 1, OPEN_BRACKET) {
            return self.group(at + 1).max(at);
        }
        if self.is(at, OPEN_BRACKET) {
            // Elsewhere a bracket starts an array or the name of a member.
            let end = self.group(at);
            let follows = self.is_word(end) || self.is(end, OPEN_BRACKET);
            return if follows { end } else { at };
        }
        at
    }

    /// Is there a word that can be a modifier?
    fn is_modifier(&self, at: usize) -> bool {
        let role = self.role(at);
        let is_before = |&(word, before): &(&str, &[&str])| {
            self.text(at) == word.as_bytes() && before.iter().any(|next| self.text(at + 1) == next.as_bytes())
        };
        role.modifier
            || (self.is(at, IDENTIFIER) && is_modifier(self.text(at)))
            || (role.word && BEFORE.iter().any(is_before))
    }

    /// Where a modifier that starts at `at` ends: `pub(crate)`, `private[a]`, `extern "C"`. `at` itself if there is none.
    fn modifier(&self, at: usize) -> usize {
        if !self.is_modifier(at) {
            return at;
        }
        let next = at + 1;
        if self.is(next, OPEN_PAREN) || self.is(next, OPEN_BRACKET) {
            let end = self.group(next);
            if self.is_word(end) {
                return end;
            }
            return if self.is(next, OPEN_BRACKET) { next } else { at };
        }
        if self.is(next, STRING) && self.text(at) == b"extern" {
            return next + 1;
        }
        let role = self.role(next);
        let goes_on = self.is_word(next) || role.at_sign || role.hash || role.angle || role.opens_attribute;
        // `async *a() {}`, `virtual ~A() {}`
        if goes_on || matches!(self.text(next), b"*" | b"~" | b"::") { next } else { at }
    }

    /// Where the name of the function that starts at `at` stands, behind its receiver.
    fn name(&self, at: usize) -> Option<usize> {
        if !self.role(at).function {
            return None;
        }
        let mut name = at + 1;
        if self.is(name, OPEN_PAREN) {
            name = self.group(name);
        } else if self.role(name).angle {
            name = self.angles(name)?;
        }
        loop {
            let mut next = name + 1;
            if self.role(next).angle {
                next = self.angles(next).unwrap_or(next);
            }
            let method = self.is(next, COLON) && self.language.family == "lua";
            if !(self.is(next, DOT) || method) || !self.is_word(next + 1) {
                break;
            }
            name = next + 1;
        }
        self.is_word(name).then_some(name)
    }

    /// One past the `>` that closes the `<` at `at`.
    fn angles(&self, at: usize) -> Option<usize> {
        let mut depth = 0usize;
        for i in at..(at + MAX_TYPE_PARAMETERS).min(self.tokens.len()) {
            match self.text(i) {
                b"<" => depth += 1,
                b">" => depth = depth.saturating_sub(1),
                b"{" | b";" => return None,
                _ => {}
            }
            if depth == 0 {
                return Some(i + 1);
            }
        }
        None
    }

    /// Calls `each` for where a core of the definition starts, outer before inner.
    pub fn cores(&self, head: &Head, mut each: impl FnMut(usize)) {
        let name = WITH_RECEIVERS.contains(&self.language.family).then(|| self.name(head.end)).flatten();
        let annotations = &head.annotations[..head.n_annotations];
        // `export default {…}`: what follows the last modifier is no definition without it.
        let last_core = name.or((!self.is_modifier(head.end)).then_some(head.end));
        let mut last = 0;
        for start in annotations.iter().copied().chain(last_core) {
            if start > last && start + MIN_TOKENS <= self.tokens.len() {
                each(start);
                last = start;
            }
        }
    }
}

#[cfg(all(test, feature = "all"))]
mod tests {
    use crate::fixture;
    use crate::token::Unit;

    /// Where the cores of a text start.
    fn cores(language: &str, src: &str) -> Vec<String> {
        let lexed = fixture::lexed(crate::by_name(language).expect("a known language"), src);
        let cores = lexed.units.iter().filter(|unit| unit.flags & Unit::CORE != 0);
        let text = |unit: &Unit| {
            let first = lexed.tokens[unit.start as usize];
            src[first.start as usize..].split(['(', ' ', '\n']).next().unwrap_or_default().to_owned()
        };
        cores.map(text).collect()
    }

    /// Enough to have a core.
    const BODY: &str = "a(b, c, d); e(f, g, h); i(j, k, l);";

    #[test]
    fn modifiers_are_no_part_of_the_core() {
        for (language, head, name) in [
            ("rust", "pub fn", "fn"),
            ("rust", "pub(crate) const unsafe extern \"C\" fn", "fn"),
            ("rust", "async fn", "fn"),
            ("c", "static inline int", "int"),
            ("c", "static __always_inline struct x *", "struct"),
            ("cpp", "static constexpr auto", "auto"),
            ("javascript", "export default async function", "function"),
            ("typescript", "export declare function", "function"),
        ] {
            let src = format!("{head} f() {{ {BODY} }}");
            assert_eq!(cores(language, &src), [name], "{src}");
        }
        for (language, class, head, name) in [
            ("java", "class A", "public static final synchronized int", "int"),
            ("java", "class A", "private <T> T", "<T>"),
            ("c-sharp", "class A", "public override async Task", "Task"),
            ("typescript", "class A", "private static async", "f"),
            ("javascript", "class A", "static async *", "*"),
            ("kotlin", "class A", "override suspend fun", "f"),
            ("swift", "class A", "public override func", "func"),
            ("scala", "class A", "private[b] override def", "def"),
            ("php", "<?php class A", "final public static function", "function"),
        ] {
            let src = format!("{class} {{ {head} f() {{ {BODY} }} }}");
            assert_eq!(cores(language, &src), [name], "{src}");
        }
    }

    #[test]
    fn there_is_a_core_behind_each_annotation_and_behind_them_all() {
        for (language, src, expected) in [
            ("java", "@A(b = {1, 2}) @C.D public int f() { $ }", &["@C.D", "public", "int"][..]),
            ("rust", "#[inline]\n#[cfg(a)]\npub fn f() { $ }", &["#[cfg", "pub", "fn"]),
            ("typescript", "@A({ b: 1 })\nexport class C { f() { $ } }", &["export", "class"]),
            ("c-sharp", "[A] [B(new[] { 1 })] public int F() { $ }", &["[B", "public", "int"]),
            ("cpp", "[[nodiscard]] static int f() { $ }", &["static", "int"]),
            ("php", "<?php #[A] #[B(1)] function f() { $ }", &["#[B", "function"]),
            ("kotlin", "@A @B(\"c\") fun f() { $ }", &["@B", "fun", "f"]),
            ("swift", "@A(b: 1) public func f() { $ }", &["public", "func"]),
        ] {
            assert_eq!(cores(language, &src.replace('$', BODY)), expected, "{src}");
        }
        let src = "@a.b(c)\n@d\nasync def f(e):\n    a(b, c, d)\n    e(f, g, h)\n    i(j, k, l)\n";
        assert_eq!(cores("python", src), ["@d", "async", "def"]);
    }

    #[test]
    fn a_receiver_is_no_part_of_the_core() {
        let lines = "\n a(b, c, d)\n e(f, g, h)\n i(j, k, l)\n";
        for (language, src) in [
            ("go", "func f() {$}"),
            ("go", "func (t *T[K, V]) f() {$}"),
            ("ruby", "def self.f$end"),
            ("ruby", "private def f$end"),
            ("lua", "function M.a.f()$end"),
            ("lua", "local function f()$end"),
            ("lua", "function M:f()$end"),
            ("kotlin", "fun <T> List<T>.f() {$}"),
        ] {
            assert_eq!(cores(language, &src.replace('$', lines)).last().map(String::as_str), Some("f"), "{src}");
        }
    }

    #[test]
    fn what_only_looks_like_a_head_is_none() {
        for (language, src) in [
            ("javascript", "class A { async() { $ } }"),
            ("javascript", "class A { [Symbol.iterator]() { $ } }"),
            ("javascript", "async (x) => { $ }"),
            ("javascript", "export default { f() { $ } }"),
            ("java", "class A { static { $ } }"),
            ("c", "extern \"C\" { $ }"),
            ("rust", "const A: B = { $ };"),
            ("ruby", "[a, b, c, d, e, f, g, h].each { |x| $ }"),
        ] {
            assert_eq!(cores(language, &src.replace('$', BODY)), [""; 0], "{src}");
        }
    }
}
