//! Units of JavaScript and TypeScript, read off the tokens: statements, members of classes and objects, `case` clauses.
//!
//! One pass with a stack of what is open, tags included. `braces.rs` is not enough here: where a statement without a
//! semicolon ends depends on which part of it has been read (`if (a)` goes on in the next line, `f(a)` does not), so
//! each frame keeps a small [`State`] of its unit.

use super::{WORDS, is_postfix, is_test};
use crate::alphabet::{code_of, table, word};
use crate::token::{
    CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, DOT, FIRST_WORD, IDENTIFIER, Lexed, NUMBER,
    OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN, SEMICOLON, STRING, Token, Unit,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Statements: the file, a body.
    Block,
    /// Statements of a `case`, closed by the next one.
    Clause,
    Class,
    Switch,
    /// Members with commas or semicolons between them: of an object, an object type, an interface, an enum.
    Members,
    Opaque,
    /// An element, from the `<` of its opening tag to the `>` of its closing one.
    Tag,
}

/// What has been read of the unit at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but modifiers and decorators; or a head like `if (…)` or `else`, after which a statement starts anew.
    Start,
    Decorator,
    Expression,
    /// `if`, `for`, `while`, `with`: up to the closing parenthesis.
    Control,
    /// `try`, `catch`, `finally`, `namespace`: up to the block.
    Body,
    SwitchHead,
    Function,
    Class,
    Interface,
    Enum,
    /// Also an export without a declaration.
    Import,
    TypeAlias,
    /// The `while (…)` of a `do`.
    DoTail,
    /// A `case` whose colon is still to come.
    Case,
    /// The closing tag of an element has begun.
    ClosingTag,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Frame {
    kind: Kind,
    /// The code of its opening bracket; 0 for the file, clauses, tags.
    open: Code,
    /// Its end is the end of the statement or member that it stands in.
    completes: bool,
    /// Holds types: a line end separates, `<` is never less-than, `=>` is followed by a type.
    types: bool,
    list: u32,
    /// The first token of the unit that is being read.
    unit: u32,
    /// Index of that unit.
    slot: u32,
    /// From here on: what has been read of that unit.
    state: State,
    /// Open `do`s.
    dos: u16,
    /// `?` that wait for their `:`.
    ternaries: u16,
    /// Open `<` of type arguments, counted in types and annotations only.
    angles: u16,
    /// Type arguments end here, as looked ahead.
    angle_end: u32,
    /// A `class` or `function` whose body is to come.
    class: bool,
    function: bool,
    /// The `=` of a field was read: what follows is an expression.
    value: bool,
    /// After the `:` of an annotation.
    typing: bool,
    /// There was a `=>`.
    arrow: bool,
}

/// How many tokens ahead the end of type arguments is looked for, where `<` may also mean less-than.
const MAX_TYPE_ARGUMENTS: usize = 128;

/// How many frames down a parenthesis or bracket looks for its pair when others were left open inside it.
const MAX_UNCLOSED: usize = 8;

/// A next line that starts with one of these goes on with the statement.
const CONTINUES: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < WORDS.len() {
        // Operators but those that may start a statement.
        table[FIRST_WORD as usize + i] = !WORDS[i].as_bytes()[0].is_ascii_alphabetic();
        i += 1;
    }
    let starts = ["!", "~", "++", "--", "@", "..."];
    let mut i = 0;
    while i < starts.len() {
        table[code_of(WORDS, starts[i]) as usize] = false;
        i += 1;
    }
    let more =
        [word!("in"), word!("instanceof"), word!("extends"), COMMA, SEMICOLON, COLON, DOT, CLOSE_PAREN, CLOSE_BRACKET];
    let mut i = 0;
    while i < more.len() {
        table[more[i] as usize] = true;
        i += 1;
    }
    table
};

/// Keywords that a line end may follow at the end of a statement.
const LAST_WORDS: [bool; 256] = table(WORDS, &["return", "break", "continue", "debugger", "yield", "++", "--"]);

/// Words that look like names but wait for an operand.
fn is_operator_word(text: &[u8]) -> bool {
    matches!(text, b"as" | b"satisfies" | b"is" | b"keyof" | b"of" | b"readonly" | b"infer" | b"asserts" | b"unique")
}

/// Fills `lexed.units` from the tokens, and the marks that say which `<` open tags.
pub fn units(src: &[u8], lexed: &mut Lexed) {
    let Lexed { tokens, units, marks, optional, .. } = lexed;
    let mut reader = Reader {
        src,
        tokens,
        tags: marks,
        next_tag: 0,
        units,
        optional,
        frames: Vec::with_capacity(64),
        n_lists: 0,
        n_braces: 0,
    };
    reader.push(Kind::Block, 0, false, false);
    for at in 0..tokens.len() {
        reader.token(at);
    }
    while !reader.frames.is_empty() {
        reader.pop(tokens.len());
    }
    units.retain(|unit| unit.end > unit.start);
}

struct Reader<'a> {
    src: &'a [u8],
    tokens: &'a [Token],
    tags: &'a [u32],
    next_tag: usize,
    units: &'a mut Vec<Unit>,
    optional: &'a mut Vec<u32>,
    frames: Vec<Frame>,
    n_lists: u32,
    n_braces: usize,
}

impl Reader<'_> {
    #[inline]
    fn code(&self, i: usize) -> Option<Code> {
        self.tokens.get(i).map(|t| t.code)
    }

    fn is(&self, i: usize, code: Code) -> bool {
        self.code(i) == Some(code)
    }

    fn text(&self, i: usize) -> &[u8] {
        self.tokens.get(i).map_or(&[], |t| &self.src[t.start as usize..t.end as usize])
    }

    #[inline]
    fn top(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the file's own frame is popped last")
    }

    fn push(&mut self, kind: Kind, open: Code, completes: bool, types: bool) {
        let list = self.n_lists;
        if !matches!(kind, Kind::Opaque | Kind::Tag) {
            self.n_lists += 1;
        }
        if open == OPEN_BRACE {
            self.n_braces += 1;
        }
        self.frames.push(Frame {
            kind,
            open,
            completes,
            types,
            list,
            unit: NONE,
            slot: 0,
            state: State::Start,
            dos: 0,
            ternaries: 0,
            angles: 0,
            angle_end: 0,
            class: false,
            function: false,
            value: false,
            typing: false,
            arrow: false,
        });
    }

    fn pop(&mut self, end: usize) -> Option<Frame> {
        self.end_unit(end);
        let frame = self.frames.pop()?;
        if frame.open == OPEN_BRACE {
            self.n_braces -= 1;
        }
        Some(frame)
    }

    fn start_unit(&mut self, at: usize) {
        let slot = self.units.len() as u32;
        let frame = self.top();
        *frame = Frame {
            unit: at as u32,
            slot,
            state: State::Start,
            dos: 0,
            ternaries: 0,
            angles: 0,
            angle_end: 0,
            class: false,
            function: false,
            value: false,
            typing: false,
            arrow: false,
            ..*frame
        };
        let list = frame.list;
        self.units.push(Unit { start: at as u32, end: 0, list, flags: 0 });
    }

    fn end_unit(&mut self, end: usize) {
        let frame = *self.top();
        if frame.unit == NONE {
            return;
        }
        let flags = self.flags(&frame, frame.unit as usize, end);
        let unit = &mut self.units[frame.slot as usize];
        unit.end = end as u32;
        unit.flags = flags;
        self.top().unit = NONE;
    }

    fn flags(&self, frame: &Frame, start: usize, end: usize) -> u8 {
        if frame.kind == Kind::Members && !frame.types && self.is_function(frame, start, end) {
            return Unit::DEFINITION;
        }
        if !matches!(frame.kind, Kind::Block | Kind::Clause) || end <= start {
            return 0;
        }
        if frame.state == State::Import || self.is_require(start, end) {
            Unit::IMPORT
        } else if is_test(self.src, &self.tokens[start..end]) {
            Unit::TEST
        } else {
            0
        }
    }

    /// Is a member of an object a function: `a() {…}`, `async *[a]() {…}`, `a: function () {…}`, `a: (b) => …`?
    fn is_function(&self, frame: &Frame, start: usize, end: usize) -> bool {
        let mut at = start;
        // A word before the name, unless it is the name.
        while at + 1 < end
            && (self.is(at, word!("*")) || matches!(self.text(at), b"async" | b"get" | b"set"))
            && !matches!(self.code(at + 1), Some(OPEN_PAREN | COLON | COMMA))
        {
            at += 1;
        }
        if self.is(at, OPEN_BRACKET) {
            let close = (at..end).take(MAX_TYPE_ARGUMENTS).find(|&i| self.is(i, CLOSE_BRACKET));
            let Some(close) = close else { return false };
            at = close;
        }
        at += 1;
        if self.is(at, word!("<")) {
            at = self.type_arguments(at).map_or(end, |close| close + 1);
        }
        match self.code(at).filter(|_| at < end) {
            Some(OPEN_PAREN) => self.is(end - 1, CLOSE_BRACE),
            Some(COLON) => {
                let is_async = self.text(at + 1) == b"async" && !self.is(at + 2, word!("=>"));
                let value = if is_async { at + 2 } else { at + 1 };
                let arrow = self.is(value, OPEN_PAREN) || self.is(value, word!("<"));
                self.is(value, word!("function")) || self.is(value + 1, word!("=>")) || arrow && frame.arrow
            }
            _ => false,
        }
    }

    /// `const a = require("b");`, `const { a } = require("b").c;`
    fn is_require(&self, start: usize, end: usize) -> bool {
        if ![word!("const"), word!("let"), word!("var")].contains(&self.tokens[start].code) {
            return false;
        }
        let end = if self.is(end - 1, SEMICOLON) { end - 1 } else { end };
        let qualified = end >= 2 && self.is(end - 1, IDENTIFIER) && self.is(end - 2, DOT);
        let end = if qualified { end - 2 } else { end };
        let Some(call) = end.checked_sub(4).filter(|&call| call >= start + 3) else { return false };
        self.is(end - 1, CLOSE_PAREN)
            && self.is(end - 2, STRING)
            && self.is(call - 1, word!("="))
            && (call == start + 3 || (self.is(start + 1, OPEN_BRACE) && self.is(call - 2, CLOSE_BRACE)))
            && self.text(call) == b"require"
    }

    #[inline]
    fn enter(&mut self, at: usize) {
        let frame = self.top();
        if frame.unit == NONE && !matches!(frame.kind, Kind::Opaque | Kind::Tag) {
            self.start_unit(at);
        }
    }

    fn token(&mut self, at: usize) {
        let code = self.tokens[at].code;
        if self.tags.get(self.next_tag) == Some(&(at as u32)) {
            self.next_tag += 1;
            self.enter(at);
            self.begin(at, code);
            return self.push(Kind::Tag, 0, false, false);
        }
        if self.top().kind == Kind::Tag {
            if code == word!("</") {
                self.top().state = State::ClosingTag;
                return;
            }
            if code == word!("/>") || (code == word!(">") && self.top().state == State::ClosingTag) {
                self.pop(at);
                return self.after_operand(at);
            }
        }
        match code {
            OPEN_BRACE => {
                self.enter(at);
                self.open_brace(at);
            }
            OPEN_PAREN | OPEN_BRACKET => {
                self.enter(at);
                self.begin(at, code);
                self.push(Kind::Opaque, code, false, false);
            }
            CLOSE_BRACE | CLOSE_PAREN | CLOSE_BRACKET => self.close(at, code),
            _ => self.plain(at, code),
        }
    }

    fn plain(&mut self, at: usize, code: Code) {
        match self.top().kind {
            Kind::Tag => {}
            Kind::Opaque => self.track(at, code),
            Kind::Members => {
                let frame = *self.top();
                let inside = frame.angles > 0 || (at as u32) < frame.angle_end;
                if code == COMMA && !inside {
                    // Between the members of a type a line end does as well.
                    self.optional.extend(frame.types.then_some(at as u32));
                    return self.end_unit(at);
                }
                self.enter(at);
                if code == SEMICOLON && !inside {
                    self.optional.push(at as u32);
                    return self.end_unit(at + 1);
                }
                self.track(at, code);
                self.angle(at, code);
                self.after_operand(at);
            }
            Kind::Class => {
                self.enter(at);
                if code == SEMICOLON {
                    self.optional.push(at as u32);
                    return self.end_unit(at + 1);
                }
                self.begin(at, code);
                if code == word!("=") {
                    self.top().value = true;
                }
                self.track(at, code);
                self.after_operand(at);
            }
            Kind::Switch => {
                let frame = *self.top();
                if frame.unit == NONE {
                    self.start_unit(at);
                    self.top().state = State::Case;
                } else if code == COLON && frame.ternaries == 0 {
                    return self.push(Kind::Clause, 0, false, false);
                }
                self.track(at, code);
            }
            Kind::Block | Kind::Clause => self.statement(at, code),
        }
    }

    fn statement(&mut self, at: usize, code: Code) {
        let frame = *self.top();
        if frame.kind == Kind::Clause && frame.unit == NONE && (code == word!("case") || code == word!("default")) {
            self.pop(at);
            self.end_unit(at);
            return self.plain(at, code);
        }
        self.enter(at);
        self.begin(at, code);
        self.track(at, code);
        if code == SEMICOLON {
            // `while (a);` is a loop only with it.
            let is_body = frame.unit != NONE && frame.state == State::Start;
            self.optional.extend((!is_body).then_some(at as u32));
            return self.finish(at);
        }
        self.after_operand(at);
    }

    /// What every token tells of the unit or bracket that it stands in.
    #[inline]
    fn track(&mut self, at: usize, code: Code) {
        if code < FIRST_WORD && code != COLON && code != COMMA {
            return;
        }
        let next = self.code(at + 1);
        let frame = self.top();
        match code {
            COLON if frame.ternaries > 0 => {
                frame.ternaries -= 1;
                frame.typing = false;
            }
            // In a pattern, `const { a: { b } } = c`, a colon renames.
            COLON if frame.kind == Kind::Opaque && frame.open == OPEN_BRACE => {}
            COLON if frame.kind != Kind::Members => {
                frame.typing = true;
                frame.angles = 0;
            }
            COMMA => frame.typing &= frame.angles > 0,
            _ if frame.typing && code == word!("<") => frame.angles = frame.angles.saturating_add(1),
            _ if frame.typing && code == word!(">") => frame.angles = frame.angles.saturating_sub(1),
            _ if code == word!("=") || code == word!("=>") => {
                frame.typing = false;
                frame.arrow |= code == word!("=>");
            }
            _ if code == word!("?") => {
                let optional =
                    matches!(next, Some(COLON | COMMA | CLOSE_PAREN | SEMICOLON)) || next == Some(word!("="));
                frame.ternaries = frame.ternaries.saturating_add(!optional as u16);
            }
            _ if code == word!("class") => frame.class = true,
            _ if code == word!("function") => frame.function = true,
            _ => {}
        }
    }

    /// Keeps count of type arguments among members: their commas separate no members.
    fn angle(&mut self, at: usize, code: Code) {
        if code != word!("<") && code != word!(">") {
            return;
        }
        let frame = *self.top();
        if frame.types {
            let angles =
                if code == word!("<") { frame.angles.saturating_add(1) } else { frame.angles.saturating_sub(1) };
            self.top().angles = angles;
        } else if code == word!("<") && at as u32 >= frame.angle_end {
            // `Map<K, V>` is written without a blank, unlike most comparisons; `<K, V>(…) => …` follows no operand.
            let before = at.wrapping_sub(1);
            let close = self.tokens.get(before).is_some_and(|t| t.end == self.tokens[at].start);
            let shift = self.is(before, word!("<")) || self.is(at + 1, word!("<"));
            let opens = !shift && (close || !self.is_operand(before));
            if let Some(end) = opens.then(|| self.type_arguments(at)).flatten() {
                self.top().angle_end = end as u32;
            }
        }
    }

    /// Where the type arguments that the `<` at `at` may open end.
    fn type_arguments(&self, at: usize) -> Option<usize> {
        const ALLOWED: [bool; 256] = table(
            WORDS,
            &["<", ">", "|", "&", "?", "=>", "=", "extends", "typeof", "new", "...", "-", "import", "in", "const"],
        );
        let (mut angles, mut brackets) = (0usize, 0usize);
        for (i, token) in self.tokens.iter().enumerate().skip(at).take(MAX_TYPE_ARGUMENTS) {
            match token.code {
                OPEN_BRACE | OPEN_BRACKET | OPEN_PAREN => brackets += 1,
                CLOSE_BRACE | CLOSE_BRACKET | CLOSE_PAREN => brackets = brackets.checked_sub(1)?,
                code if code == word!("<") => angles += 1,
                code if code == word!(">") => {
                    angles -= 1;
                    if angles == 0 {
                        return (brackets == 0).then_some(i);
                    }
                }
                IDENTIFIER | NUMBER | STRING | COMMA | COLON | SEMICOLON | DOT => {}
                code if ALLOWED[code as usize] => {}
                _ => return None,
            }
        }
        None
    }

    /// Moves the state of a statement or member on, if it is still at its start.
    fn begin(&mut self, at: usize, code: Code) {
        let frame = *self.top();
        if !matches!(frame.kind, Kind::Block | Kind::Clause | Kind::Class) {
            return;
        }
        match frame.state {
            State::Start => {}
            State::Decorator => {
                let previous = self.code(at.wrapping_sub(1));
                let goes_on = previous == Some(word!("@"))
                    || previous == Some(DOT)
                    || code == DOT
                    || (code == OPEN_PAREN && matches!(previous, Some(IDENTIFIER)));
                if goes_on {
                    return;
                }
            }
            _ => return,
        }
        let state = if code == word!("@") {
            State::Decorator
        } else if frame.kind == Kind::Class {
            State::Expression
        } else {
            self.statement_state(at, code, frame.unit as usize)
        };
        let frame = self.top();
        frame.state = state;
        if code == word!("do") {
            frame.dos = frame.dos.saturating_add(1);
        }
    }

    fn statement_state(&self, at: usize, code: Code, unit: usize) -> State {
        let next = self.code(at + 1);
        let previous = if at > unit { self.code(at - 1) } else { None };
        let same_line = || self.tokens.get(at + 1).is_some_and(|t| t.line == self.tokens[at].line);
        match code {
            IDENTIFIER if next == Some(COLON) => State::Start, // a label
            COLON if previous == Some(IDENTIFIER) => State::Start,
            IDENTIFIER
                if next.is_some_and(|next| {
                    next == IDENTIFIER || next >= FIRST_WORD || next == STRING || next == OPEN_BRACE
                }) =>
            {
                match self.text(at) {
                    b"async" if next == Some(word!("function")) && same_line() => State::Start,
                    b"declare" | b"abstract" if next.is_some_and(declares) && same_line() => State::Start,
                    b"type" if next == Some(IDENTIFIER) && same_line() => State::TypeAlias,
                    b"type" if previous == Some(word!("export")) => State::Import,
                    b"namespace" | b"module" if matches!(next, Some(IDENTIFIER | STRING)) && same_line() => State::Body,
                    b"global" if next == Some(OPEN_BRACE) && at > unit && self.text(at - 1) == b"declare" => {
                        State::Body
                    }
                    _ => State::Expression,
                }
            }
            _ if code == word!("export")
                || code == word!("default")
                || code == word!("else")
                || code == word!("do") =>
            {
                State::Start
            }
            _ if code == word!("const") && next == Some(word!("enum")) => State::Start,
            _ if code == word!("if") || code == word!("for") || code == word!("while") || code == word!("with") => {
                State::Control
            }
            _ if code == word!("try") || code == word!("catch") || code == word!("finally") => State::Body,
            _ if code == word!("switch") => State::SwitchHead,
            _ if code == word!("function") => State::Function,
            _ if code == word!("class") => State::Class,
            _ if code == word!("interface") => State::Interface,
            _ if code == word!("enum") => State::Enum,
            _ if code == word!("import") && next != Some(OPEN_PAREN) && next != Some(DOT) => State::Import,
            _ if code == word!("*") && previous == Some(word!("export")) => State::Import,
            _ => State::Expression,
        }
    }

    fn open_brace(&mut self, at: usize) {
        let frame = *self.top();
        let previous = if at > 0 { self.code(at - 1) } else { None };
        let after_operand = self.is_operand(at.wrapping_sub(1));
        let plain = |kind| (kind, false, false);
        let (kind, completes, types) = match frame.kind {
            Kind::Tag => plain(Kind::Opaque),
            Kind::Block | Kind::Clause => match frame.state {
                State::Start | State::Decorator => {
                    let previous = if at as u32 > frame.unit { previous } else { None };
                    if previous == Some(word!("export")) {
                        self.top().state = State::Import;
                        plain(Kind::Opaque)
                    } else if previous == Some(word!("default")) {
                        self.top().state = State::Expression;
                        plain(Kind::Members)
                    } else {
                        (Kind::Block, true, false)
                    }
                }
                State::Body => (Kind::Block, true, false),
                State::SwitchHead => (Kind::Switch, true, false),
                State::Function if after_operand => (Kind::Block, true, false),
                State::Class if after_operand || previous == Some(word!("class")) => (Kind::Class, true, false),
                State::Interface if after_operand => (Kind::Members, true, true),
                State::Enum => (Kind::Members, true, false),
                State::Function | State::Class | State::Interface | State::TypeAlias => (Kind::Members, false, true),
                State::Import => plain(Kind::Opaque),
                _ => self.in_expression(at, &frame, previous, after_operand),
            },
            Kind::Class if frame.value => self.in_expression(at, &frame, previous, after_operand),
            Kind::Class if after_operand => (Kind::Block, true, false),
            Kind::Class => (Kind::Members, false, true),
            Kind::Members if frame.types => (Kind::Members, false, true),
            Kind::Members | Kind::Opaque | Kind::Switch => self.in_expression(at, &frame, previous, after_operand),
        };
        self.push(kind, OPEN_BRACE, completes, types);
    }

    fn in_expression(
        &mut self,
        at: usize,
        frame: &Frame,
        previous: Option<Code>,
        after_operand: bool,
    ) -> (Kind, bool, bool) {
        const PATTERNS: [bool; 256] = table(WORDS, &["const", "let", "var"]);
        let previous = previous.unwrap_or(0);
        if frame.class && (after_operand || previous == word!("class")) {
            self.top().class = false;
            (Kind::Class, false, false)
        } else if previous == word!("=>") || (after_operand && !self.is_assertion(at - 1)) {
            self.top().function = false;
            (Kind::Block, false, false)
        } else if PATTERNS[previous as usize] {
            (Kind::Opaque, false, false)
        } else {
            let types = (frame.typing && previous != word!(">"))
                || previous == word!("<")
                || (previous == IDENTIFIER && self.text(at - 1) != b"of");
            (Kind::Members, false, types)
        }
    }

    /// Does the token at `at` end a type assertion, `<any>{…}`, which follows no operand?
    fn is_assertion(&self, at: usize) -> bool {
        let mut angles = 0usize;
        for i in (0..=at).rev().take(MAX_TYPE_ARGUMENTS) {
            match self.tokens[i].code {
                code if code == word!(">") => angles += 1,
                code if code == word!("<") => angles -= 1,
                _ => {}
            }
            if angles == 0 {
                return i < at && !self.is_operand(i.wrapping_sub(1));
            }
        }
        false
    }

    /// Does an operand, or a type, end with the token at `at`?
    fn is_operand(&self, at: usize) -> bool {
        match self.code(at) {
            Some(IDENTIFIER) => !is_operator_word(self.text(at)) || self.is(at.wrapping_sub(1), DOT),
            Some(NUMBER | STRING | CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE) => true,
            Some(code) => code == word!(">"),
            None => false,
        }
    }

    /// Ends the unit if a line end after this token does.
    #[inline]
    fn after_operand(&mut self, at: usize) {
        let token = self.tokens[at];
        let next_line = match self.tokens.get(at + 1) {
            None => return,
            Some(next) => next.line,
        };
        if next_line == token.line {
            return;
        }
        let frame = *self.top();
        match frame.kind {
            Kind::Members if frame.types && frame.angles == 0 => {}
            Kind::Class | Kind::Block | Kind::Clause => {}
            _ => return,
        }
        if frame.unit != NONE && self.line_ends(at) && self.ends_at_line(at, &frame) {
            match frame.kind {
                Kind::Members | Kind::Class => self.end_unit(at + 1),
                _ => self.finish(at),
            }
        }
    }

    /// Does a line end between this token and the next one?
    fn line_ends(&self, at: usize) -> bool {
        let (token, next) = (self.tokens[at], self.tokens[at + 1]);
        memchr::memchr(b'\n', &self.src[token.end as usize..next.start as usize]).is_some()
    }

    fn ends_at_line(&self, at: usize, frame: &Frame) -> bool {
        let (code, next) = (self.tokens[at].code, self.tokens[at + 1].code);
        let types = frame.types || frame.state == State::TypeAlias || (frame.kind == Kind::Class && !frame.value);
        let may_end = match code {
            IDENTIFIER => !is_operator_word(self.text(at)) || self.is(at.wrapping_sub(1), DOT),
            NUMBER | STRING | CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE => true,
            _ if code == word!(">") => types || self.closes_angle(at),
            _ if code == word!("/>") => true,
            _ if code == word!("const") => at.checked_sub(1).is_some_and(|i| self.text(i) == b"as"),
            _ if code == word!("!") => is_postfix(self.tokens, at),
            _ => LAST_WORDS[code as usize],
        };
        if !may_end {
            return false;
        }
        match frame.state {
            _ if frame.kind == Kind::Members => {}
            State::Start | State::Decorator | State::Control | State::Body | State::SwitchHead | State::Class => {
                return false;
            }
            State::Interface | State::Enum | State::DoTail | State::Case | State::ClosingTag => return false,
            State::Import => {
                let whole = code == STRING || code == CLOSE_PAREN || code == CLOSE_BRACE || self.has_alias(frame);
                return whole && self.text(at + 1) != b"from" && !CONTINUES[next as usize];
            }
            State::Function | State::Expression | State::TypeAlias => {}
        }
        match next {
            OPEN_PAREN | OPEN_BRACKET => types,
            OPEN_BRACE => {
                !(frame.function || frame.class || frame.state == State::Function || frame.kind == Kind::Class)
            }
            STRING => self.src[self.tokens[at + 1].start as usize] != b'`',
            _ => !CONTINUES[next as usize],
        }
    }

    /// Is the `>` at `at` the end of a tag or of type arguments, and no operator? Those have a blank before them.
    fn closes_angle(&self, at: usize) -> bool {
        /// `>>>` is the longest operator of its kind; nested type arguments rarely close more at once.
        const MAX_RUN: usize = 8;
        let mut at = at;
        for _ in 0..MAX_RUN {
            let Some(before) = at.checked_sub(1) else { return false };
            if self.tokens[before].line < self.tokens[at].line {
                return true; // alone on its line
            }
            if self.tokens[before].end != self.tokens[at].start {
                return false;
            }
            if self.tokens[before].code != word!(">") {
                return true;
            }
            at = before;
        }
        true
    }

    /// `import a = b.c`
    fn has_alias(&self, frame: &Frame) -> bool {
        (1..=4).any(|i| self.is(frame.unit as usize + i, word!("=")))
    }

    /// The statement ends with the token `at`, unless it is part of one that goes on.
    fn finish(&mut self, at: usize) {
        let next = self.code(at + 1).unwrap_or(0);
        let frame = self.top();
        if next == word!("else") || next == word!("catch") || next == word!("finally") {
            frame.state = State::Start;
        } else if next == word!("while") && frame.dos > 0 {
            frame.state = State::DoTail;
        } else {
            self.end_unit(at + 1);
        }
    }

    fn close(&mut self, at: usize, code: Code) {
        let mut closed = None;
        if code == CLOSE_BRACE {
            if self.n_braces == 0 {
                return;
            }
            // A brace closes whatever was left open inside it.
            while closed.is_none_or(|frame: Frame| frame.open != OPEN_BRACE) {
                closed = self.pop(at);
            }
        } else {
            let open = if code == CLOSE_PAREN { OPEN_PAREN } else { OPEN_BRACKET };
            let found = self
                .frames
                .iter()
                .rev()
                .take(MAX_UNCLOSED)
                .take_while(|f| f.open != OPEN_BRACE)
                .position(|f| f.open == open);
            let Some(found) = found else { return };
            for _ in 0..=found {
                closed = self.pop(at);
            }
        }
        if let Some(closed) = closed {
            self.after_close(at, &closed);
        }
    }

    fn after_close(&mut self, at: usize, closed: &Frame) {
        let frame = *self.top();
        match frame.kind {
            Kind::Block | Kind::Clause => match frame.state {
                State::Control if closed.open == OPEN_PAREN => self.top().state = State::Start,
                State::DoTail if closed.open == OPEN_PAREN => {
                    self.top().dos = frame.dos.saturating_sub(1);
                    self.top().state = State::Expression;
                    if !self.is(at + 1, SEMICOLON) {
                        self.finish(at);
                    }
                }
                _ if closed.completes => self.finish(at),
                _ => self.after_operand(at),
            },
            Kind::Class if closed.completes => {
                if !self.is(at + 1, SEMICOLON) {
                    self.end_unit(at + 1);
                }
            }
            Kind::Class | Kind::Members => self.after_operand(at),
            Kind::Switch | Kind::Opaque | Kind::Tag => {}
        }
    }
}

/// May a declaration start with this token?
fn declares(code: Code) -> bool {
    const DECLARES: [bool; 256] =
        table(WORDS, &["class", "const", "enum", "function", "import", "interface", "let", "var"]);
    code == IDENTIFIER || DECLARES[code as usize]
}
