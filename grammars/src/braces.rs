//! Units of the languages that are written in braces, read off the tokens alone: no parse.
//!
//! One pass with a stack of open brackets. What a language knows of itself ([`Rules`]) is asked at three moments:
//! what does this `{` open, does the unit end after this token, what kind of unit was that.
//! Held to tree-sitter's nodes by the differential test, language by language.

use crate::token::{
    CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, Lexed, OPEN_BRACE, OPEN_BRACKET, OPEN_PAREN, Token,
    Unit,
};

/// What stands between a pair of brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Statements, declarations or members: each is a unit, and [`Rules::ends`] says where it ends.
    Statements,
    /// Units with commas between them (match arms, the members of an object).
    Elements,
    /// Nothing that is a unit by itself (arguments, data); brackets within are still looked at.
    Opaque,
}

/// Where a unit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It goes on.
    Not,
    /// This token is its last one.
    After,
    /// It ended before this token, which is a separator and in no unit.
    Before,
}

/// An open bracket, or the body of a `case` clause.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its opening bracket (for a clause: its colon); `None` for the file itself.
    pub open: Option<usize>,
    pub body: Body,
    /// A `case` clause: closed by the next one, or by the bracket that closes the switch.
    pub clause: bool,
    /// The first token of the unit that is being read.
    pub unit: Option<usize>,
    /// Index into `Lexed::units` of that unit.
    slot: usize,
    list: u32,
    /// The unit at hand is a `case` clause whose colon is still to come.
    pub case: bool,
    /// The body that the last bracket pair closed in this unit had, if any.
    pub closed: Option<Body>,
    /// The opening bracket of that pair.
    pub pair: Option<usize>,
    /// A token that the rules noted in this frame (for example the `func` whose body is to come),
    /// or whatever else they have to remember of the unit at hand.
    pub note: Option<usize>,
    /// What follows this conditional directive: closed by the next one, or by any bracket around it.
    directive: Option<Directive>,
    /// The unit at hand is this conditional directive, and its line has not ended yet.
    condition: Option<Directive>,
    /// How many conditionals are open inside the unit at hand: they are part of it, and so is what closes them.
    inner: u32,
}

/// A line that makes what follows conditional (`#if`), whole units at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `#if`: a unit through its [`Directive::Close`], whose contents are a list.
    Open,
    /// `#else`, `#elif`: the last unit of that list, with a list of its own.
    Other,
    /// `#endif`
    Close,
}

/// What the rules may look at: the source, its tokens, the brackets that are open, the token at hand.
pub struct Context<'a> {
    pub src: &'a [u8],
    pub tokens: &'a [Token],
    pub frames: &'a [Frame],
    pub at: usize,
    /// See [`Lexed::marks`].
    pub marks: &'a [u32],
}

impl Context<'_> {
    #[inline]
    pub fn code(&self, i: usize) -> Option<Code> {
        self.tokens.get(i).map(|t| t.code)
    }

    /// The token before the one at hand.
    #[inline]
    pub fn previous(&self) -> Option<Code> {
        self.at.checked_sub(1).and_then(|i| self.code(i))
    }

    #[inline]
    pub fn next(&self) -> Option<Code> {
        self.code(self.at + 1)
    }

    /// The innermost open bracket.
    #[inline]
    pub fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }

    /// The first token of the unit at hand.
    #[inline]
    pub fn head(&self) -> Option<Code> {
        self.frame().unit.and_then(|i| self.code(i))
    }

    pub fn text(&self, i: usize) -> &[u8] {
        self.tokens.get(i).map_or(&[], |t| &self.src[t.start as usize..t.end as usize])
    }

    /// Does a line end between the token at hand and the next one (or the file)?
    pub fn line_ends(&self) -> bool {
        match self.tokens.get(self.at + 1) {
            None => true,
            Some(next) => {
                let token = self.tokens[self.at];
                next.line > token.line
                    && memchr::memchr(b'\n', &self.src[token.end as usize..next.start as usize]).is_some()
            }
        }
    }
}

/// What a language in braces knows of its own structure.
pub trait Rules {
    /// What the bracket at hand, `{` or `(` or `[`, opens.
    fn opens(&self, cx: &Context) -> Body;

    /// Asked after each token that stands directly in a list of statements: does the unit end here?
    fn ends(&self, cx: &Context) -> End;

    /// Does this token start a `case` clause, when it stands first in a unit?
    fn clause(&self, _cx: &Context) -> bool {
        false
    }

    /// Does this comma stand between two units of [`Body::Elements`]?
    fn separates(&self, _cx: &Context) -> bool {
        true
    }

    /// Does the clause at hand have another label after this colon (`case 1: case 2:` in the languages
    /// where that is one clause)?
    fn joins(&self, _cx: &Context) -> bool {
        false
    }

    /// Is this token the first of a conditional directive?
    fn directive(&self, _cx: &Context) -> Option<Directive> {
        None
    }

    /// Asked at each token that stands directly in a list: what the frame should note from here on.
    fn note(&self, cx: &Context) -> Option<usize> {
        cx.frame().note
    }

    /// [`Unit::IMPORT`], [`Unit::TEST`], for the unit of the tokens `start..end`.
    fn flags(&self, cx: &Context, start: usize, end: usize) -> u8;
}

/// How many open brackets a `)` or `]` may leave open by closing one further out: more is no typing mistake.
const MAX_REACH: usize = 256;

/// Reads the units of `lexed.tokens` into `lexed.units`.
pub fn units(rules: &impl Rules, src: &[u8], lexed: &mut Lexed) {
    let Lexed { tokens, units, marks, .. } = lexed;
    let mut reader = Reader {
        rules,
        src,
        tokens,
        marks,
        units,
        frames: Vec::with_capacity(32),
        n_lists: 0,
        n_directives: 0,
        n_braces: 0,
    };
    reader.push(None, Body::Statements, false);
    for at in 0..tokens.len() {
        reader.token(at);
    }
    while !reader.frames.is_empty() {
        reader.pop(tokens.len());
    }
    // A unit that never got an end was opened by a bracket that nothing closed; it holds nothing of its own.
    units.retain(|unit| unit.end > unit.start);
}

struct Reader<'a, R> {
    rules: &'a R,
    src: &'a [u8],
    tokens: &'a [Token],
    marks: &'a [u32],
    units: &'a mut Vec<Unit>,
    frames: Vec<Frame>,
    n_lists: u32,
    /// How many of the frames are those of directives.
    n_directives: usize,
    /// How many of the frames are those of braces.
    n_braces: usize,
}

impl<R: Rules> Reader<'_, R> {
    fn context(&self, at: usize) -> Context<'_> {
        Context { src: self.src, tokens: self.tokens, frames: &self.frames, at, marks: self.marks }
    }

    fn push(&mut self, open: Option<usize>, body: Body, clause: bool) {
        let list = self.n_lists;
        if body != Body::Opaque {
            self.n_lists += 1;
        }
        self.frames.push(Frame {
            open,
            body,
            clause,
            unit: None,
            slot: 0,
            list,
            case: false,
            closed: None,
            pair: None,
            note: None,
            directive: None,
            condition: None,
            inner: 0,
        });
    }

    /// Closes the innermost frame before the token `end`.
    fn pop(&mut self, end: usize) {
        self.end_unit(end);
        let Some(frame) = self.frames.pop() else { return };
        if frame.directive.is_some() {
            self.n_directives -= 1;
        } else if frame.open.is_some_and(|i| self.tokens[i].code == OPEN_BRACE) {
            self.n_braces -= 1;
        }
    }

    fn top(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the file's own frame is popped last")
    }

    fn start_unit(&mut self, at: usize) {
        let slot = self.units.len();
        let frame = self.top();
        frame.unit = Some(at);
        frame.slot = slot;
        frame.closed = None;
        frame.pair = None;
        frame.note = None;
        frame.condition = None;
        frame.inner = 0;
        let list = frame.list;
        self.units.push(Unit { start: at as u32, end: 0, list, flags: 0 });
    }

    fn end_unit(&mut self, end: usize) {
        let frame = *self.top();
        let Some(start) = frame.unit else { return };
        let flags = self.rules.flags(&self.context(end.saturating_sub(1)), start, end);
        let unit = &mut self.units[frame.slot];
        unit.end = end as u32;
        unit.flags |= flags;
        self.top().unit = None;
        self.top().case = false;
    }

    fn token(&mut self, at: usize) {
        let code = self.tokens[at].code;
        match code {
            OPEN_BRACE | OPEN_PAREN | OPEN_BRACKET => {
                self.enter(at);
                let body = self.rules.opens(&self.context(at));
                self.push(Some(at), body, false);
                self.n_braces += usize::from(code == OPEN_BRACE);
            }
            CLOSE_BRACE | CLOSE_PAREN | CLOSE_BRACKET => self.close(at, code),
            _ => self.plain(at, code),
        }
    }

    /// Before the token `at` is read: starts a unit if the frame holds units and none is open.
    fn enter(&mut self, at: usize) {
        let frame = self.top();
        if frame.body != Body::Opaque && frame.unit.is_none() {
            self.start_unit(at);
        }
    }

    fn plain(&mut self, at: usize, code: Code) {
        if let Some(directive) = self.rules.directive(&self.context(at))
            && self.conditional(at, directive)
        {
            return;
        }
        let Frame { body, unit, clause, case, .. } = *self.top();
        match body {
            Body::Opaque => {
                let note = self.rules.note(&self.context(at));
                self.top().note = note;
            }
            Body::Elements => {
                if code == COMMA && self.rules.separates(&self.context(at)) {
                    self.end_unit(at);
                } else {
                    self.enter(at);
                    let note = self.rules.note(&self.context(at));
                    self.top().note = note;
                }
            }
            Body::Statements => {
                if unit.is_none() && self.rules.clause(&self.context(at)) {
                    if clause {
                        self.pop(at);
                        self.end_unit(at);
                    }
                    self.start_unit(at);
                    self.top().case = true;
                    return;
                }
                if code == COLON && case {
                    if self.rules.joins(&self.context(at)) {
                        return;
                    }
                    self.top().case = false;
                    self.push(Some(at), Body::Statements, true);
                    return;
                }
                self.enter(at);
                let note = self.rules.note(&self.context(at));
                self.top().note = note;
                self.after(at);
            }
        }
    }

    /// Reads the first token of a directive, unless it is part of the unit at hand.
    fn conditional(&mut self, at: usize, directive: Directive) -> bool {
        let frame = self.top();
        let between = frame.body == Body::Statements && frame.unit.is_none();
        match directive {
            Directive::Open if between => {}
            Directive::Open => {
                frame.inner += 1;
                return false;
            }
            Directive::Other if frame.inner > 0 => return false,
            Directive::Close if frame.inner > 0 => {
                frame.inner -= 1;
                return false;
            }
            Directive::Other | Directive::Close => {
                // Alternatives nest: each is the last unit of the one before it.
                let opener = |frame: &Frame| match directive {
                    Directive::Close => frame.directive == Some(Directive::Open),
                    _ => frame.directive.is_some(),
                };
                if self.n_directives == 0 {
                    return false; // nothing to close, and looking for it every time would take quadratic time
                }
                let Some(found) = self.frames.iter().rposition(opener) else { return false };
                let innermost = self.frames[found + 1..].iter().all(|frame| frame.directive.is_none());
                while self.frames.len() > found + 1 {
                    self.pop(at);
                }
                if innermost && self.top().unit.is_some() {
                    // What is not whole by now goes on behind the directive: attributes, or half a statement.
                    self.top().unit = None;
                    self.pop(at);
                    self.top().inner = u32::from(directive == Directive::Other);
                    return false;
                }
                if directive == Directive::Close {
                    self.pop(at);
                    self.end_unit(at + 1);
                    return true;
                }
                self.end_unit(at);
            }
        }
        self.start_unit(at);
        self.top().condition = Some(directive);
        self.after(at);
        true
    }

    /// Asks whether the unit at hand ends with the token `at`.
    fn after(&mut self, at: usize) {
        if self.top().unit.is_none() {
            return;
        }
        if let Some(directive) = self.top().condition {
            if self.context(at).line_ends() {
                self.top().condition = None;
                self.push(Some(at), Body::Statements, false);
                self.top().directive = Some(directive);
                self.n_directives += 1;
            }
            return;
        }
        if self.top().inner > 0 {
            return; // no unit ends in one branch of a conditional that it holds
        }
        match self.rules.ends(&self.context(at)) {
            End::Not => {}
            End::After => self.end_unit(at + 1),
            End::Before if self.top().unit == Some(at) => {
                // A separator alone is no unit.
                self.units.pop();
                self.top().unit = None;
            }
            End::Before => self.end_unit(at),
        }
    }

    fn close(&mut self, at: usize, code: Code) {
        let open = match code {
            CLOSE_BRACE => OPEN_BRACE,
            CLOSE_PAREN => OPEN_PAREN,
            _ => OPEN_BRACKET,
        };
        // A brace closes whatever was left open inside it; other brackets never close a brace.
        let is_match = |frame: &Frame| match frame.open {
            _ if frame.clause || frame.directive.is_some() => false,
            Some(i) => self.tokens[i].code == open || (open != OPEN_BRACE && self.tokens[i].code == OPEN_BRACE),
            None => true,
        };
        // Looked for in vain again and again, an opening bracket would take quadratic time.
        let nearest = match open {
            OPEN_BRACE if self.n_braces == 0 => return,
            OPEN_BRACE => 0,
            _ => self.frames.len().saturating_sub(MAX_REACH),
        };
        let found = self.frames[nearest..].iter().rposition(is_match).map(|i| nearest + i);
        let Some(found) = found else { return };
        if self.frames[found].open.is_none_or(|i| self.tokens[i].code != open) {
            return; // nothing to close: a stray bracket
        }
        while self.frames.len() > found + 1 {
            self.pop(at);
        }
        let Frame { body, open: pair, .. } = *self.top();
        self.pop(at);
        let frame = self.top();
        frame.closed = Some(body);
        frame.pair = pair;
        if frame.body == Body::Statements {
            self.after(at);
        }
    }
}
