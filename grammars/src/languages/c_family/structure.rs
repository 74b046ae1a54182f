//! Units of C and C++, read off the tokens: what a brace opens, where a declaration or statement ends, what is conditional.

use super::{Dialect, WORDS, is_test};
use crate::alphabet::word;
use crate::braces::{self, Body, Context, Directive, End, Rules};
use crate::token::{
    CLOSE_BRACE, CLOSE_BRACKET, CLOSE_PAREN, COLON, COMMA, Code, IDENTIFIER, Lexed, OPEN_BRACE, OPEN_BRACKET,
    OPEN_PAREN, SEMICOLON, STRING, Unit,
};

pub fn units(dialect: Dialect, src: &[u8], out: &mut Lexed) {
    braces::units(&CRules { dialect }, src, out);
}

struct CRules {
    dialect: Dialect,
}

/// How far the end of a template's head, or the first statement of a macro's argument, is looked for.
const MAX_LOOK: usize = 512;

/// How many tokens an old-style parameter list may have.
const MAX_PARAMETERS: usize = 128;

/// What a `{` opens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brace {
    /// Statements or declarations, with which the unit around them ends.
    Block,
    /// Statements, after which the unit goes on: a lambda, a statement as an expression.
    Lambda,
    /// The body of `do`, which goes on.
    Do,
    /// The members of a type.
    Members,
    Enumerators,
    Data,
}

const TYPES: [Code; 5] = [word!("struct"), word!("class"), word!("union"), word!("enum"), word!("namespace")];

/// The token that this frame has noted, if it has been passed: the end of a template's head lies ahead.
fn noted(cx: &Context) -> Option<Code> {
    cx.frame().note.filter(|&i| i < cx.at).and_then(|i| cx.code(i))
}

fn in_template_head(cx: &Context) -> bool {
    cx.frame().note.is_some_and(|i| i >= cx.at)
}

fn is_expression(noted: Option<Code>) -> bool {
    const EXPRESSION: [Code; 5] = [word!("="), word!("return"), word!("throw"), word!("co_return"), word!("co_yield")];
    noted.is_some_and(|code| EXPRESSION.contains(&code))
}

/// Where the `<` after the `template` at hand is closed.
fn template_end(cx: &Context) -> Option<usize> {
    if cx.next() != Some(word!("<")) {
        return None;
    }
    let (mut angles, mut brackets) = (0usize, 0usize);
    for i in cx.at + 1..cx.at + MAX_LOOK {
        match cx.code(i)? {
            OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE => brackets += 1,
            CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE => brackets = brackets.checked_sub(1)?,
            SEMICOLON if brackets == 0 => return None,
            code if brackets == 0 && code == word!("<") => angles += 1,
            code if brackets == 0 && code == word!(">") => {
                angles -= 1;
                if angles == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Does the `{` at hand hold a statement: a semicolon, or nothing but a block?
fn holds_statement(cx: &Context) -> bool {
    let mut depth = 0usize;
    for i in cx.at + 1..cx.at + MAX_LOOK {
        match cx.code(i) {
            None => return false,
            Some(OPEN_PAREN | OPEN_BRACKET | OPEN_BRACE) => depth += 1,
            Some(CLOSE_BRACE) if depth == 0 => return false,
            Some(CLOSE_PAREN | CLOSE_BRACKET | CLOSE_BRACE) => depth = depth.saturating_sub(1),
            Some(SEMICOLON) => return true,
            Some(COMMA) if depth == 0 => return false,
            _ => {}
        }
    }
    true
}

/// What the `{` at hand opens.
fn brace(cx: &Context) -> Brace {
    let frame = cx.frame();
    if frame.body == Body::Statements && frame.unit == Some(cx.at) {
        return Brace::Block;
    }
    if in_template_head(cx) {
        return Brace::Data;
    }
    let Some(previous) = cx.previous() else { return Brace::Block };
    let noted = noted(cx);
    let expression = is_expression(noted);
    let statements = frame.body == Body::Statements;
    // The token before the bracket pair that was closed last, which is the one before this brace if one is.
    let before = frame.closed_at.and_then(|i| i.checked_sub(1)).and_then(|i| cx.code(i));
    let of_lambda = before == Some(CLOSE_BRACKET)
        && frame.closed_at.is_some_and(|i| i < 3 || cx.code(i - 3) != Some(word!("operator")));
    let of_type = match noted {
        Some(code) if code == word!("enum") => Some(Brace::Enumerators),
        Some(code) if code == word!("namespace") => Some(Brace::Block),
        Some(code) if TYPES.contains(&code) => Some(Brace::Members),
        _ => None,
    };
    let function = |or: Brace| match noted {
        _ if of_lambda => Brace::Lambda,
        Some(OPEN_PAREN) if statements => Brace::Block,
        Some(code) if code == word!("->") => {
            if statements {
                Brace::Block
            } else {
                Brace::Lambda
            }
        }
        _ => or,
    };
    match previous {
        _ if previous == word!("do") => Brace::Do,
        _ if previous == word!("else") || previous == word!("try") => Brace::Block,
        _ if previous == word!("requires") => Brace::Lambda,
        _ if TYPES.contains(&previous) => of_type.unwrap_or(Brace::Data),
        _ if previous == word!("mutable") || previous == word!("constexpr") => Brace::Lambda,
        _ if previous == word!("noexcept") || previous == word!("const") || previous == word!("volatile") => {
            if expression {
                Brace::Lambda
            } else {
                function(Brace::Block)
            }
        }
        STRING if cx.at >= 2 && cx.code(cx.at - 2) == Some(word!("extern")) => Brace::Block,
        CLOSE_PAREN => {
            let Some(before) = before else { return Brace::Data };
            const HEADS: [Code; 9] = [
                word!("if"),
                word!("for"),
                word!("while"),
                word!("switch"),
                word!("catch"),
                word!("noexcept"),
                word!("throw"),
                word!("constexpr"),
                word!(">"),
            ];
            let operator = frame.closed_at.is_some_and(|i| i >= 2 && cx.code(i - 2) == Some(word!("operator")));
            match before {
                _ if of_lambda => Brace::Lambda,
                _ if noted == Some(COLON) => Brace::Block,
                _ if before == word!("requires") => Brace::Lambda,
                _ if expression => {
                    if before == word!(">") {
                        Brace::Lambda
                    } else {
                        Brace::Data
                    }
                }
                _ if of_type.is_some() => of_type.unwrap_or(Brace::Data),
                _ if !statements => {
                    if noted == Some(OPEN_PAREN) || (before == IDENTIFIER && holds_statement(cx)) {
                        Brace::Lambda
                    } else {
                        Brace::Data
                    }
                }
                IDENTIFIER | CLOSE_PAREN | CLOSE_BRACKET => Brace::Block,
                _ if operator || HEADS.contains(&before) => Brace::Block,
                _ if before == word!("decltype") || before == word!("delete") || before == word!("new") => Brace::Block,
                _ => Brace::Data,
            }
        }
        CLOSE_BRACKET => {
            let attribute = frame.closed_at.is_some_and(|i| cx.code(i + 1) == Some(OPEN_BRACKET));
            match before {
                _ if attribute => of_type.unwrap_or(function(Brace::Block)),
                Some(IDENTIFIER | CLOSE_BRACKET | CLOSE_PAREN | STRING) => Brace::Data,
                Some(before) if before == word!(">") || before == word!("*") || before == word!("operator") => {
                    Brace::Data
                }
                _ => Brace::Lambda,
            }
        }
        CLOSE_BRACE => {
            if noted == Some(COLON) {
                Brace::Block
            } else {
                Brace::Data
            }
        }
        SEMICOLON => Brace::Block,
        COLON => {
            if statements && !expression {
                Brace::Block
            } else {
                Brace::Data
            }
        }
        COMMA | OPEN_PAREN => {
            let parens = frame.open.is_some_and(|i| cx.code(i) == Some(OPEN_PAREN));
            if parens && holds_statement(cx) { Brace::Lambda } else { Brace::Data }
        }
        _ if expression => {
            if of_lambda {
                Brace::Lambda
            } else {
                Brace::Data
            }
        }
        _ if noted == Some(COLON) => Brace::Data,
        _ if of_type.is_some() => of_type.unwrap_or(Brace::Data),
        IDENTIFIER if statements && frame.unit.is_some_and(|unit| unit + 1 == cx.at) => {
            if holds_statement(cx) {
                Brace::Block
            } else {
                Brace::Data
            }
        }
        _ => function(Brace::Data),
    }
}

/// Is the semicolon at hand within the parameter declarations of an old-style function, `int f(a) int a; {…}`?
fn is_old_style(cx: &Context) -> bool {
    let Some(open) = cx.frame().note.filter(|&i| cx.code(i) == Some(OPEN_PAREN)) else { return false };
    let mut close = open + 1;
    while close < open + MAX_PARAMETERS && matches!(cx.code(close), Some(IDENTIFIER | COMMA)) {
        close += 1;
    }
    if cx.code(close) != Some(CLOSE_PAREN) || close + 2 >= cx.at || close == open + 1 {
        return false;
    }
    // The last few tokens declare one of the parameters.
    const DECLARATOR: usize = 8;
    (cx.at.saturating_sub(DECLARATOR).max(close + 1)..cx.at).any(|i| {
        cx.code(i) == Some(IDENTIFIER) && (open + 1..close).step_by(2).any(|parameter| cx.text(parameter) == cx.text(i))
    })
}

impl Rules for CRules {
    fn opens(&self, cx: &Context) -> Body {
        if cx.tokens[cx.at].code != OPEN_BRACE {
            return Body::Opaque;
        }
        match brace(cx) {
            Brace::Data => Body::Opaque,
            Brace::Enumerators => Body::Elements,
            _ => Body::Statements,
        }
    }

    /// What the unit is about to be: the keyword of a type, the `(` of a function, the `:` of a constructor's
    /// initializers, the `=` of a value, `do`; while in the head of a template, the `>` that ends it.
    fn note(&self, cx: &Context) -> Option<usize> {
        let note = cx.frame().note;
        let code = cx.tokens[cx.at].code;
        if let Some(i) = note
            && i >= cx.at
        {
            return if i == cx.at { None } else { note };
        }
        let noted = note.and_then(|i| cx.code(i));
        let expression = is_expression(noted);
        if noted == Some(word!("do")) {
            return if code == word!("while") { None } else { note };
        }
        match code {
            COMMA if cx.frame().body == Body::Opaque => None,
            _ if code == word!("template") => template_end(cx).or(note),
            _ if TYPES.contains(&code) => {
                let kept = expression
                    || noted == Some(OPEN_PAREN)
                    || (noted == Some(word!("enum")) && cx.previous() == noted)
                    || (code == word!("enum") && cx.previous() == Some(word!("using")));
                if kept { note } else { Some(cx.at) }
            }
            _ if code == word!("=") => {
                if cx.previous() == Some(word!("operator")) {
                    note
                } else {
                    Some(cx.at)
                }
            }
            // Not the exceptions that a function may throw.
            _ if code == word!("throw") && cx.next() == Some(OPEN_PAREN) => note,
            _ if is_expression(Some(code)) || code == word!("do") => Some(cx.at),
            _ if code == word!("else") => None,
            _ if noted == Some(OPEN_PAREN) => {
                const TRAILING: [Code; 16] = [
                    word!("const"),
                    word!("volatile"),
                    word!("noexcept"),
                    word!("requires"),
                    word!("&"),
                    word!("&&"),
                    word!("*"),
                    word!("::"),
                    word!("<"),
                    word!(">"),
                    word!("try"),
                    word!("mutable"),
                    word!("typename"),
                    word!("decltype"),
                    word!("operator"),
                    word!("if"),
                ];
                match code {
                    COLON => Some(cx.at),
                    _ if code == word!("->") => Some(cx.at),
                    IDENTIFIER | STRING => note,
                    _ if TRAILING.contains(&code) => note,
                    _ if cx.previous() == Some(word!("operator")) => note,
                    _ if self.dialect == Dialect::C && (code == COMMA || code == SEMICOLON) => note,
                    // `FOO(x) static int f(…)`
                    _ if (word!("break")..=word!("co_yield")).contains(&code) => note,
                    _ => None,
                }
            }
            _ => note,
        }
    }

    fn note_at_bracket(&self, cx: &Context, body: Body) -> Option<usize> {
        let note = cx.frame().note;
        if in_template_head(cx) {
            return note;
        }
        let noted = noted(cx);
        match cx.tokens[cx.at].code {
            OPEN_PAREN => match noted {
                Some(code) if TYPES.contains(&code) => {
                    let attribute =
                        matches!(cx.text(cx.at - 1), b"__attribute__" | b"alignas" | b"__declspec" | b"_Alignas");
                    // In the template arguments of a specialization or a base.
                    let arguments = note.is_some_and(|i| {
                        cx.code(i + 2) == Some(word!("<")) || (i + 2..i + 5).any(|i| cx.code(i) == Some(COLON))
                    });
                    if attribute || arguments { note } else { Some(cx.at) }
                }
                Some(_) => note,
                None if cx.frame().body == Body::Statements => Some(cx.at),
                None => {
                    let lambda = matches!(cx.previous(), Some(CLOSE_BRACKET)) || cx.previous() == Some(word!(">"));
                    if lambda { Some(cx.at) } else { None }
                }
            },
            OPEN_BRACE if body != Body::Opaque => match brace(cx) {
                Brace::Members | Brace::Enumerators | Brace::Do => note,
                Brace::Lambda => Some(cx.at),
                _ => None,
            },
            _ => note,
        }
    }

    fn ends(&self, cx: &Context) -> End {
        const ACCESS: [Code; 3] = [word!("public"), word!("private"), word!("protected")];
        let noted = noted(cx);
        match cx.tokens[cx.at].code {
            SEMICOLON => {
                let goes_on = cx.next() == Some(word!("else"))
                    || (noted == Some(word!("do")) && cx.next() == Some(word!("while")))
                    || (self.dialect == Dialect::C && noted == Some(OPEN_PAREN) && is_old_style(cx));
                if goes_on { End::Not } else { End::After }
            }
            CLOSE_BRACE if cx.frame().closed == Some(Body::Opaque) => End::Not,
            CLOSE_BRACE => {
                let goes_on = noted.is_some()
                    || cx.next().is_some_and(|next| next == word!("else") || next == word!("catch"))
                    || matches!(cx.text(cx.at + 1), b"__except" | b"__finally");
                if goes_on { End::Not } else { End::After }
            }
            COLON => {
                let label = cx.head().is_some_and(|head| ACCESS.contains(&head));
                if label && cx.frame().unit.is_some_and(|unit| unit + 2 >= cx.at) { End::After } else { End::Not }
            }
            // A macro without a semicolon before an access label.
            _ if cx.next().is_some_and(|next| ACCESS.contains(&next)) && cx.code(cx.at + 2) == Some(COLON) => {
                End::After
            }
            _ => End::Not,
        }
    }

    fn clause(&self, cx: &Context) -> bool {
        match cx.tokens[cx.at].code {
            code if code == word!("case") => true,
            code if code == word!("default") => cx.next() == Some(COLON),
            _ => false,
        }
    }

    fn directive_ends_unit(&self) -> bool {
        true
    }

    fn directive(&self, cx: &Context) -> Option<(Directive, usize)> {
        let code = cx.tokens[cx.at].code;
        if !(word!("#include")..=word!("#directive")).contains(&code) {
            return None;
        }
        let mark = cx.marks.partition_point(|&mark| mark as usize <= cx.at);
        let end = cx.marks.get(mark).map_or(cx.tokens.len(), |&mark| mark as usize);
        let directive = if (word!("#if")..=word!("#ifndef")).contains(&code) {
            Directive::If
        } else if (word!("#elif")..=word!("#else")).contains(&code) {
            Directive::Else
        } else if code == word!("#endif") {
            Directive::EndIf
        } else {
            Directive::Line
        };
        Some((directive, end))
    }

    fn flags(&self, cx: &Context, start: usize, end: usize) -> u8 {
        match cx.code(start) {
            Some(code) if code == word!("#include") => Unit::IMPORT,
            Some(code) if code == word!("using") && cx.code(start + 2) != Some(word!("=")) => Unit::IMPORT,
            Some(IDENTIFIER) if is_test(cx.src, &cx.tokens[start..end]) => Unit::TEST,
            _ => 0,
        }
    }
}
