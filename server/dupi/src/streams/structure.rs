//! Codes, line breaks and units of a document in one stream of bytes. Knows nothing of names.
//!
//! ```text
//! structure  form · [muted] · [units] · item*
//! muted      n · (gap · length)*                       only if the form says so
//! units      n · (start · length · list · flags)*      only if the form says so: they do not nest
//! item       a code · BREAK · OPEN + flags · LISTED flags list · CORE · CLOSE · ESCAPE code
//! ```
//!
//! Before each code come the ends of the units that end there, the breaks since the last token, and the units that
//! start there, outer before inner. The first child of a unit opens a list of its own, and the next one is in the list
//! of the one before; `OPEN_OTHER` opens another new list; what is neither names its list (`LISTED`).
//! A core has always the same flags and is alone in its list.

use dupi_grammars::token::{Code, Unit};

use crate::bytes::{Reader, put};
use crate::document::{Body, Document};

/// Flags of a unit that fit in a marker.
const N_FLAGS: u8 = 16;
/// Above the codes of every alphabet that there is; one that grows so large is escaped.
const OPEN: u8 = 192;
const OPEN_OTHER: u8 = OPEN + N_FLAGS;
const LISTED: u8 = OPEN_OTHER + N_FLAGS;
const BREAK: u8 = LISTED + 1;
const CLOSE: u8 = LISTED + 2;
const ESCAPE: u8 = LISTED + 3;
const CORE: u8 = LISTED + 4;

/// The flags of every core.
const CORE_FLAGS: u8 = Unit::DEFINITION | Unit::CORE;

const HAS_MUTED: u8 = 1;
const HAS_UNITS: u8 = 2;

/// A unit that is open, or the document itself.
struct Frame {
    unit: usize,
    end: u32,
    /// The list of the last child.
    list: Option<u32>,
}

impl Frame {
    /// The document itself, which no unit outlasts.
    const ROOT: Frame = Frame { unit: usize::MAX, end: u32::MAX, list: None };
}

/// About how many bytes a document will have here; at most `MAX_GROWTH` times as many.
pub fn size(document: &Document) -> usize {
    2 + document.codes.len() + document.line_starts().len() + 2 * document.units.len() + document.muted.len()
}

/// Five varints of five bytes at most, for what is counted as two.
pub const MAX_GROWTH: usize = 13;

pub fn write(document: &Document, out: &mut Vec<u8>) {
    out.reserve(size(document));
    let n_tokens = document.codes.len() as u32;
    let nested = nest(&document.units, n_tokens);
    let muted = &document.muted;
    out.push(if muted.is_empty() { 0 } else { HAS_MUTED } | if nested { 0 } else { HAS_UNITS });
    if !muted.is_empty() {
        put(out, muted.len() as u64);
        let mut end = 0;
        for range in muted {
            put(out, u64::from(range.start.wrapping_sub(end)));
            put(out, u64::from(range.end.wrapping_sub(range.start)));
            end = range.end;
        }
    }
    let mut units = document.units.iter().peekable();
    if !nested {
        put(out, document.units.len() as u64);
        for unit in units.by_ref() {
            put(out, u64::from(unit.start));
            put(out, u64::from(unit.end.wrapping_sub(unit.start)));
            put(out, u64::from(unit.list));
            out.push(unit.flags);
        }
    }
    let mut stack = vec![Frame::ROOT];
    let mut n_lists = 0;
    let mut line_starts = document.line_starts().iter().skip(1).peekable();
    for (token, &code) in (0..).zip(&document.codes) {
        close(&mut stack, token, out);
        while line_starts.next_if(|&&start| start <= token).is_some() {
            out.push(BREAK);
        }
        while let Some(unit) = units.next_if(|unit| unit.start == token) {
            let Some(parent) = stack.last_mut() else { break };
            let new = unit.list == n_lists;
            n_lists += u32::from(new);
            if unit.flags == CORE_FLAGS && new {
                out.push(CORE);
                stack.push(Frame { unit: 0, end: unit.end, list: None });
                continue;
            }
            if unit.flags < N_FLAGS && parent.list.map_or(new, |list| list == unit.list) {
                out.push(OPEN + unit.flags);
            } else if new {
                out.push(OPEN_OTHER + unit.flags);
            } else {
                out.extend([LISTED, unit.flags]);
                put(out, u64::from(unit.list));
            }
            parent.list = Some(unit.list);
            stack.push(Frame { unit: 0, end: unit.end, list: None });
        }
        if code >= OPEN {
            out.push(ESCAPE);
        }
        out.push(code);
    }
    close(&mut stack, n_tokens, out);
}

fn close(stack: &mut Vec<Frame>, token: u32, out: &mut Vec<u8>) {
    while stack.pop_if(|frame| frame.end <= token).is_some() {
        out.push(CLOSE);
    }
}

/// Are these units a forest in order, with flags that fit? A condition around half a block can end elsewhere.
fn nest(units: &[Unit], n_tokens: u32) -> bool {
    let mut ends = vec![n_tokens];
    let mut start = 0;
    units.iter().all(|unit| {
        while ends.len() > 1 && ends.last().is_some_and(|&end| end <= unit.start) {
            ends.pop();
        }
        let good = unit.start >= start
            && unit.start < unit.end
            && ends.last().is_some_and(|&end| unit.end <= end)
            && (unit.flags < N_FLAGS || unit.flags == CORE_FLAGS);
        start = unit.start;
        ends.push(unit.end);
        good
    })
}

/// The codes alone: several times as fast as all of it.
pub fn codes(bytes: &[u8]) -> Option<Vec<Code>> {
    let mut bytes = Reader::new(bytes);
    read_head(&mut bytes, &mut Body::default())?;
    // A place for each byte; which of them is a code decides only where the next one goes.
    let mut codes = vec![0; bytes.len()];
    let mut n = 0;
    while let Some(byte) = bytes.u8() {
        codes[n] = byte;
        n += usize::from(byte < OPEN);
        if byte == ESCAPE {
            codes[n] = bytes.u8()?;
            n += 1;
        } else if byte == LISTED {
            bytes.u8()?;
            bytes.u32()?;
        }
    }
    codes.truncate(n);
    Some(codes)
}

/// What comes before the items.
fn read_head(bytes: &mut Reader<'_>, body: &mut Body) -> Option<()> {
    let form = bytes.u8()?;
    if form & HAS_MUTED != 0 {
        let mut end = 0u32;
        for _ in 0..bytes.u32()? {
            let start = end.wrapping_add(bytes.u32()?);
            end = start.wrapping_add(bytes.u32()?);
            body.muted.push(start..end);
        }
    }
    if form & HAS_UNITS != 0 {
        let n_units = bytes.u32()?;
        for _ in 0..n_units {
            let start = bytes.u32()?;
            let end = start.wrapping_add(bytes.u32()?);
            // No list is numbered higher than there are units: whoever counts by lists may rely on it.
            let list = bytes.u32().filter(|&list| list < n_units)?;
            body.units.push(Unit { start, end, list, flags: bytes.u8()? });
        }
    }
    Some(())
}

pub fn read(bytes: &[u8], body: &mut Body) -> Option<()> {
    let mut bytes = Reader::new(bytes);
    read_head(&mut bytes, body)?;
    body.codes.reserve(bytes.len());
    let mut stack = vec![Frame::ROOT];
    let mut n_lists = 0;
    let mut n_breaks = 0;
    while let Some(byte) = bytes.u8() {
        let token = body.codes.len() as u32;
        let code: Code = match byte {
            CLOSE => {
                let frame = stack.pop()?;
                body.units.get_mut(frame.unit)?.end = token;
                continue;
            }
            BREAK => {
                n_breaks += 1;
                continue;
            }
            OPEN..=LISTED => {
                let parent = stack.last_mut()?;
                let (flags, list) = match byte {
                    OPEN..OPEN_OTHER => (byte - OPEN, parent.list.unwrap_or(n_lists)),
                    OPEN_OTHER..LISTED => (byte - OPEN_OTHER, n_lists),
                    _ => (bytes.u8()?, bytes.u32().filter(|&list| list < n_lists)?),
                };
                n_lists += u32::from(list == n_lists);
                parent.list = Some(list);
                stack.push(Frame { unit: body.units.len(), end: 0, list: None });
                body.units.push(Unit { start: token, end: 0, list, flags });
                continue;
            }
            CORE => {
                stack.push(Frame { unit: body.units.len(), end: 0, list: None });
                body.units.push(Unit { start: token, end: 0, list: n_lists, flags: CORE_FLAGS });
                n_lists += 1;
                continue;
            }
            ESCAPE => bytes.u8()?,
            code => code,
        };
        if body.codes.is_empty() {
            body.line_starts.push(0);
        }
        body.line_starts.resize(body.line_starts.len() + n_breaks, token);
        n_breaks = 0;
        body.codes.push(code);
    }
    // Units are used as ranges of tokens, and so are muted ranges: neither may lie elsewhere.
    let n_tokens = body.codes.len() as u32;
    let within = |start: u32, end: u32| start <= end && end <= n_tokens;
    let good = stack.len() == 1
        && body.units.iter().all(|unit| within(unit.start, unit.end))
        && body.units.is_sorted_by_key(|unit| unit.start)
        && body.muted.iter().all(|range| within(range.start, range.end));
    good.then_some(())
}
