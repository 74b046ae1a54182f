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
    /// The innermost frame that a brace (or the file) opened, and how many brackets of the other kinds are open
    /// in it: what a closing bracket closes is found without looking at frames that it leaves open.
    brace: usize,
    n_parens: u32,
    n_brackets: u32,
    /// The unit at hand is a `case` clause whose colon is still to come.
    pub case: bool,
    /// The body that the last bracket pair closed in this unit had, if any.
    pub closed: Option<Body>,
    /// A token that the rules noted in this frame (for example the `func` whose body is to come),
    /// or whatever else they have to remember of the unit at hand.
    pub note: Option<usize>,
    /// A token that the rules noted until the end of the unit (for example the value of a match arm).
    pub anchor: Option<usize>,
    /// The opening bracket of the pair that was last closed in this unit.
    pub closed_at: Option<usize>,
}

/// A line for the preprocessor, by what it does to the lines around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Stands alone: a unit.
    Line,
    /// Starts lines that may not be compiled.
    If,
    /// Starts other lines in their place.
    Else,
    EndIf,
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

    /// Is this bit set in what the rules noted of the unit at hand?
    pub fn noted(&self, bit: usize) -> bool {
        self.frame().note.is_some_and(|bits| bits & bit != 0)
    }

    /// … of the unit around the innermost bracket?
    pub fn noted_around(&self, bit: usize) -> bool {
        self.frames.len().checked_sub(2).and_then(|i| self.frames[i].note).is_some_and(|bits| bits & bit != 0)
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

    /// Asked at each token that stands directly in a list: what the frame should note from here on.
    fn note(&self, cx: &Context) -> Option<usize> {
        cx.frame().note
    }

    /// Asked at each opening bracket, which `opens` has said to hold `body`: what the frame around it should note.
    fn note_at_bracket(&self, cx: &Context, _body: Body) -> Option<usize> {
        cx.frame().note
    }

    /// Asked at each plain token, before `note`: what to keep until the unit's end.
    fn anchor(&self, cx: &Context) -> Option<usize> {
        cx.frame().anchor
    }

    /// Asked after a closed pair of brackets that stands directly in a list of elements: does the element end
    /// here, without a comma?
    fn ends_element(&self, _cx: &Context) -> bool {
        false
    }

    /// Does the clause at hand have another label after this colon (`case 1: case 2:` in the languages
    /// where that is one clause)?
    fn joins(&self, _cx: &Context) -> bool {
        false
    }

    /// Does the comma at hand, directly in a list of elements, separate two of them?
    fn separates(&self, _cx: &Context) -> bool {
        true
    }

    /// Does a directive end the unit before it, between the units of a file? (In C a macro call may lack its semicolon.)
    fn directive_ends_unit(&self) -> bool {
        false
    }

    /// Does a line for the preprocessor start here? If so, what it does, and the token after it.
    fn directive(&self, _cx: &Context) -> Option<(Directive, usize)> {
        None
    }

    /// [`Unit::IMPORT`], [`Unit::TEST`], for the unit of the tokens `start..end`.
    fn flags(&self, cx: &Context, start: usize, end: usize) -> u8;
}

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
        conditions: Vec::new(),
        n_ignored: 0,
    };
    reader.push(None, Body::Statements, false);
    let mut at = 0;
    while at < tokens.len() {
        match rules.directive(&reader.context(at)) {
            Some((directive, end)) => {
                let end = end.clamp(at + 1, tokens.len());
                reader.directive(directive, at, end);
                at = end;
            }
            None => {
                reader.token(at);
                at += 1;
            }
        }
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
    conditions: Vec<Condition>,
    /// Conditions that are open but too deep to be remembered.
    n_ignored: usize,
}

/// How many conditional lines may be open at once, and how many brackets around one are remembered:
/// real code stays far below, and remembering all of them would make hostile input slow.
const MAX_CONDITIONS: usize = 64;
const MAX_REMEMBERED: usize = 64;

/// An open `#if`. Its lines are read as if each branch stood alone: every branch starts with the brackets that were
/// open before the `#if`, and what follows the `#endif` goes on with those that the first branch left open.
struct Condition {
    before: Vec<Frame>,
    after_first: Option<Vec<Frame>>,
    /// The units that the whole condition and its further branches are, where it stands between units.
    slots: Vec<usize>,
    list: u32,
    /// A branch of it is no list of whole units.
    broken: bool,
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
        let (mut brace, mut n_parens, mut n_brackets) =
            self.frames.last().map_or((0, 0, 0), |frame| (frame.brace, frame.n_parens, frame.n_brackets));
        match open.filter(|_| !clause).map(|i| self.tokens[i].code) {
            Some(OPEN_PAREN) => n_parens += 1,
            Some(OPEN_BRACKET) => n_brackets += 1,
            Some(OPEN_BRACE) => (brace, n_parens, n_brackets) = (self.frames.len(), 0, 0),
            _ => {}
        }
        self.frames.push(Frame {
            open,
            body,
            clause,
            unit: None,
            slot: 0,
            list,
            brace,
            n_parens,
            n_brackets,
            case: false,
            closed: None,
            note: None,
            anchor: None,
            closed_at: None,
        });
    }

    /// Closes the innermost frame before the token `end`.
    fn pop(&mut self, end: usize) {
        self.end_unit(end);
        self.frames.pop();
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
        frame.note = None;
        frame.anchor = None;
        frame.closed_at = None;
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
                let note = self.rules.note_at_bracket(&self.context(at), body);
                self.top().note = note;
                self.push(Some(at), body, false);
            }
            CLOSE_BRACE | CLOSE_PAREN | CLOSE_BRACKET => self.close(at, code),
            _ => self.plain(at, code),
        }
    }

    /// Before the token `at` is read: starts a unit if the frame holds units and none is open.
    fn enter(&mut self, at: usize) {
        let frame = *self.top();
        if frame.body != Body::Opaque && frame.unit.is_none() {
            self.start_unit(at);
        }
    }

    fn plain(&mut self, at: usize, code: Code) {
        let frame = *self.top();
        match frame.body {
            Body::Opaque => self.take_notes(at),
            Body::Elements => {
                if code == COMMA && self.rules.separates(&self.context(at)) {
                    self.end_unit(at);
                } else {
                    self.enter(at);
                    self.take_notes(at);
                }
            }
            Body::Statements => {
                if frame.unit.is_none() && self.rules.clause(&self.context(at)) {
                    if frame.clause {
                        self.pop(at);
                        self.end_unit(at);
                    }
                    self.start_unit(at);
                    self.top().case = true;
                    return;
                }
                if code == COLON && frame.case {
                    if self.rules.joins(&self.context(at)) {
                        return;
                    }
                    self.top().case = false;
                    self.push(Some(at), Body::Statements, true);
                    return;
                }
                self.enter(at);
                self.take_notes(at);
                self.after(at);
            }
        }
    }

    fn take_notes(&mut self, at: usize) {
        let anchor = self.rules.anchor(&self.context(at));
        self.top().anchor = anchor;
        let note = self.rules.note(&self.context(at));
        self.top().note = note;
    }

    /// Asks whether the unit at hand ends with the token `at`.
    fn after(&mut self, at: usize) {
        if self.top().unit.is_none() {
            return;
        }
        match self.rules.ends(&self.context(at)) {
            End::Not => {}
            End::After => self.end_unit(at + 1),
            End::Before if self.top().unit == Some(at) => {
                // A separator alone is no unit: it never gets an end.
                self.top().unit = None;
            }
            End::Before => self.end_unit(at),
        }
    }

    fn close(&mut self, at: usize, code: Code) {
        // A brace closes whatever was left open inside it; other brackets never close a brace.
        let top = *self.top();
        let (open, stray) = match code {
            CLOSE_BRACE => (OPEN_BRACE, self.frames[top.brace].open.is_none()),
            CLOSE_PAREN => (OPEN_PAREN, top.n_parens == 0),
            _ => (OPEN_BRACKET, top.n_brackets == 0),
        };
        if stray {
            return;
        }
        let found = match open {
            OPEN_BRACE => Some(top.brace),
            // Every frame that is passed here is closed below.
            _ => self
                .frames
                .iter()
                .rposition(|frame| !frame.clause && frame.open.is_some_and(|i| self.tokens[i].code == open)),
        };
        let Some(found) = found else { return };
        while self.frames.len() > found + 1 {
            self.pop(at);
        }
        let Frame { body, open, .. } = *self.top();
        self.pop(at);
        let frame = self.top();
        frame.closed = Some(body);
        frame.closed_at = open;
        let Frame { body, unit, .. } = *frame;
        match body {
            Body::Statements => self.after(at),
            Body::Elements if unit.is_some() && self.rules.ends_element(&self.context(at)) => self.end_unit(at + 1),
            _ => {}
        }
    }

    /// A line for the preprocessor: the tokens `at..end`. Its brackets are its own.
    fn directive(&mut self, directive: Directive, at: usize, end: usize) {
        match directive {
            Directive::Line => {
                self.end_at_top(at);
                let frame = *self.top();
                if frame.body != Body::Opaque && frame.unit.is_none() {
                    self.start_unit(at);
                    self.end_unit(end);
                }
            }
            Directive::If => self.condition(at, end),
            Directive::Else => self.branch(at, end),
            Directive::EndIf => self.end_condition(at, end),
        }
    }

    /// Ends the unit at hand if the language lets none of a file's units go on across a directive.
    fn end_at_top(&mut self, at: usize) {
        if self.frames.len() == 1 && self.rules.directive_ends_unit() {
            self.end_unit(at);
        }
    }

    fn new_list(&mut self) -> u32 {
        self.n_lists += 1;
        self.n_lists - 1
    }

    fn condition(&mut self, at: usize, end: usize) {
        if self.conditions.len() >= MAX_CONDITIONS || self.frames.len() > MAX_REMEMBERED || self.n_ignored > 0 {
            self.n_ignored += 1;
            return;
        }
        self.end_at_top(at);
        let top = *self.top();
        // `#if` before a `case`: the clause before it has ended.
        if top.clause && top.unit.is_none() && end < self.tokens.len() && self.rules.clause(&self.context(end)) {
            self.pop(at);
            self.end_unit(at);
        }
        let Frame { body, unit, list, .. } = *self.top();
        let mut slots = Vec::new();
        let before = self.frames.clone();
        if body != Body::Opaque && unit.is_none() {
            slots.push(self.units.len());
            self.units.push(Unit { start: at as u32, end: 0, list, flags: 0 });
            let list = self.new_list();
            self.top().list = list;
        }
        self.conditions.push(Condition { before, after_first: None, slots, list, broken: false });
    }

    /// At the end of a branch: what it left open that ends with it. Is it as it was before the `#if`, then?
    fn end_branch(&mut self, at: usize) -> bool {
        self.end_at_top(at);
        let n_before = self.conditions.last().map_or(1, |condition| condition.before.len());
        while self.frames.len() > n_before.max(1) && self.top().clause && self.top().unit.is_none() {
            self.pop(at);
            self.end_unit(at);
        }
        let (open, unit) = (self.top().open, self.top().unit);
        self.conditions.last().is_some_and(|condition| {
            let before = &condition.before;
            before.len() == self.frames.len() && unit.is_none() && before.last().is_some_and(|frame| frame.open == open)
        })
    }

    /// A condition that holds only the beginning of a unit (attributes, say) is part of that unit.
    fn adopt(&mut self, condition: &Condition) {
        let Some(&first) = condition.slots.first() else { return };
        let start = self.units[first].start;
        let frame = self.top();
        let Frame { unit, slot, .. } = *frame;
        if unit.is_some() && slot == first + 1 {
            frame.unit = Some(start as usize);
            frame.list = condition.list;
            self.units[slot].start = start;
            self.units[slot].list = condition.list;
        }
    }

    fn branch(&mut self, at: usize, _end: usize) {
        if self.n_ignored > 0 || self.conditions.is_empty() {
            return;
        }
        let whole = self.end_branch(at);
        let list = self.top().list;
        let next = self.new_list();
        let Some(condition) = self.conditions.last_mut() else { return };
        let frames = std::mem::replace(&mut self.frames, condition.before.clone());
        condition.after_first.get_or_insert(frames);
        if !whole {
            condition.slots.truncate(1);
            condition.broken = true;
        }
        if !condition.slots.is_empty() && !condition.broken {
            condition.slots.push(self.units.len());
            self.units.push(Unit { start: at as u32, end: 0, list, flags: 0 });
        }
        if let Some(frame) = self.frames.last_mut().filter(|frame| frame.unit.is_none()) {
            frame.list = next;
        }
    }

    fn end_condition(&mut self, at: usize, end: usize) {
        if self.n_ignored > 0 {
            self.n_ignored -= 1;
            return;
        }
        let whole = self.end_branch(at);
        let Some(mut condition) = self.conditions.pop() else { return };
        if let Some(frames) = condition.after_first.take() {
            self.frames = frames;
        }
        let within = condition.before.last().filter(|frame| frame.unit.is_some());
        if let Some(around) = within.filter(|around| self.units[around.slot].end > 0) {
            // The condition stands in a unit that ends with a branch of it: then it ends with all of them.
            self.units[around.slot].end = end as u32;
        }
        if !whole || condition.broken || condition.slots.is_empty() {
            self.adopt(&condition);
            return;
        }
        for (i, &slot) in condition.slots.iter().enumerate() {
            self.units[slot].end = if i == 0 { end } else { at } as u32;
        }
        // What follows is again a neighbour of what came before, with the condition as a unit between them.
        if self.top().unit.is_none() {
            self.top().list = condition.list;
        }
    }
}
