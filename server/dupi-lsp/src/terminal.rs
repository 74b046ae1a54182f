//! What a terminal may be shown: text with everything taken out that could steer it, or command the CI that reads its log;
//! and progress that gets out of the way.

use std::cmp::Reverse;
use std::fmt::Write;
use std::io::{IsTerminal, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use dupi::Progress;
use serde_json::ser::{Formatter, PrettyFormatter};

/// Text as a terminal and a log may have it: [`inline`], and at its start nothing that makes a line a command.
///
/// GitHub and Forgejo take a line for a command that starts with `::` behind blanks; GitHub, Azure and TeamCity one that
/// has `##[`, `##vso[` or `##teamcity[` in it. The marks of GitLab and Travis have control characters in them.
pub fn escape(text: &str) -> String {
    let mut text = inline(text);
    let start = text.len() - text.trim_start().len();
    if text[start..].starts_with("::") {
        text.replace_range(start..=start, "\\u{3a}");
    }
    text
}

/// Text that stands behind something else on its line: [`visible`], and with nothing in it that a CI takes for a command.
pub fn inline(text: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '[' if is_command_before(&text[..at]) => out.push_str("\\u{5b}"),
            c => out.push(c),
        }
    }
    out
}

/// Is this `##` and a word, at its end?
fn is_command_before(text: &str) -> bool {
    text.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).ends_with("##")
}

/// Replaces control characters and marks that reorder or hide text by visible escapes. Tabs become blanks.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            c if steers(c) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// 1234567 as 1 234 567.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// "1 file", "2 files".
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// How many there are of each, most first: "Go 12, C 3".
pub fn tally<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> String {
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|&(name, n)| (Reverse(n), name));
    let counts: Vec<String> = counts.into_iter().map(|(name, n)| format!("{name} {}", grouped(n))).collect();
    counts.join(", ")
}

/// 4 900 000 as 4.9 MB.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut n = n as f64 / 1000.0;
    let mut unit = 0;
    // What would be rounded to 1000.0 is 1.0 of the next.
    while n >= 999.95 && unit + 1 < UNITS.len() {
        n /= 1000.0;
        unit += 1;
    }
    format!("{n:.1} {}", UNITS[unit])
}

/// 1 of 8 as 12.5 %.
pub fn percent(n: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * n as f64 / of.max(1) as f64)
}

/// How many to show; `all` is more than there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top(pub usize);

impl std::fmt::Display for Top {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            usize::MAX => f.write_str("all"),
            n => write!(f, "{n}"),
        }
    }
}

pub fn top(text: &str) -> Result<Top, String> {
    match text {
        "all" => Ok(Top(usize::MAX)),
        _ => text.parse().map(Top).map_err(|_| "neither a number nor `all`".to_owned()),
    }
}

/// Who closes the pipe has seen enough: that is no failure.
pub fn unless_closed(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes JSON for programs, and a last line break.
pub fn write_json(out: &mut (impl std::io::Write + ?Sized), value: &impl serde::Serialize) -> std::io::Result<()> {
    // Each of a million small writes would be looked through for colours.
    let mut out = std::io::BufWriter::with_capacity(1 << 16, out);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, LogFormatter::default()))?;
    writeln!(out)?;
    out.flush()
}

/// JSON in lines, in which no text is a command of a CI: it may be written to a log. The value is the same.
#[derive(Default)]
struct LogFormatter(PrettyFormatter<'static>);

impl Formatter for LogFormatter {
    fn write_string_fragment<W: std::io::Write + ?Sized>(&mut self, out: &mut W, text: &str) -> std::io::Result<()> {
        let mut written = 0;
        for (at, _) in text.match_indices('[').filter(|(at, _)| is_command_before(&text[..*at])) {
            out.write_all(&text.as_bytes()[written..at])?;
            out.write_all(b"\\u005b")?;
            written = at + 1;
        }
        out.write_all(&text.as_bytes()[written..])
    }

    fn begin_array<W: std::io::Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: std::io::Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: std::io::Write + ?Sized>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: std::io::Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: std::io::Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: std::io::Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: std::io::Write + ?Sized>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: std::io::Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: std::io::Write + ?Sized>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.0.end_object_value(out)
    }
}

/// A text in a table of RFC 4180. Spreadsheets take one that starts with certain signs for a formula, unless a quotation mark is before it.
pub fn csv_field(text: &str) -> String {
    let text = inline(text);
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// How much is done, as a bar of twenty characters and in percent.
pub fn bar(done: u64, of: u64) -> String {
    const WIDTH: u64 = 20;
    let share = |whole: u64| (u128::from(whole) * u128::from(done.min(of)) / u128::from(of.max(1))) as usize;
    format!("[{:<20}] {:>3} %", "#".repeat(share(WIDTH)), share(100))
}

/// Tells on standard error what changes neither the answer nor the exit code.
pub fn note(text: &str) {
    eprintln!("dupi-lsp: note: {}", escape(text));
}

/// How long a search runs before it says so: most are over by then.
const PATIENCE: Duration = Duration::from_millis(300);
const INTERVAL: Duration = Duration::from_millis(100);

/// One line on standard error that is rewritten in place, if that is a terminal. A thread of its own writes it, so that
/// a step that takes long is told of even if it tells nothing itself.
pub struct ProgressLine {
    text: Arc<Mutex<String>>,
    writer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressLine {
    pub fn new() -> ProgressLine {
        let text = Arc::new(Mutex::new(String::new()));
        let writer = std::io::stderr().is_terminal().then(|| {
            let (stop, stopped) = std::sync::mpsc::channel();
            let text = Arc::clone(&text);
            (stop, std::thread::spawn(move || write_until(&stopped, &text)))
        });
        ProgressLine { text, writer }
    }

    pub fn show(&self, text: impl Into<String>) {
        if self.writer.is_some() {
            *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
        }
    }

    /// Takes the line away.
    pub fn clear(self) {
        if let Some((stop, writer)) = self.writer {
            drop(stop);
            let _ = writer.join();
        }
    }
}

fn write_until(stopped: &Receiver<()>, text: &Mutex<String>) {
    let mut shown = String::new();
    let mut wait = PATIENCE;
    while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        wait = INTERVAL;
        let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if text != shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K{text}");
            shown = text;
        }
    }
    if !shown.is_empty() {
        let _ = write!(std::io::stderr(), "\r\x1b[2K");
    }
}

/// Shows what the engine is doing, for as long as it does it.
pub fn with_progress<T>(work: impl FnOnce(&(dyn Fn(Progress) + Sync)) -> T) -> T {
    let line = ProgressLine::new();
    let done = work(&|progress| {
        line.show(match progress {
            Progress::Walking => "looking for source files".to_owned(),
            Progress::Reading(n, of) => format!("reading {} of {} files", grouped(n as u64), grouped(of as u64)),
            Progress::Comparing => "comparing".to_owned(),
        });
    });
    line.clear();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        assert_eq!(
            escape("a\x1b]0;x\x07b\r\n\u{202e}c\u{9b}é\t|"),
            "a\\u{1b}]0;x\\u{7}b\\u{d}\\u{a}\\u{202e}c\\u{9b}é    |"
        );
    }

    #[test]
    fn nothing_is_a_command_of_a_ci() {
        for (text, shown) in [
            ("::stop-commands::x", "\\u{3a}:stop-commands::x"),
            (" \u{3000}\t::error::x", " \u{3000}    \\u{3a}:error::x"),
            ("std::vec::Vec", "std::vec::Vec"),
            ("a ##[b] ##vso[c]##teamcity[d", "a ##\\u{5b}b] ##vso\\u{5b}c]##teamcity\\u{5b}d"),
            ("#[test] #! [x] # [y]", "#[test] #! [x] # [y]"),
            ("section_start:1:x\r\x1b[0Ky", "section_start:1:x\\u{d}\\u{1b}[0Ky"),
        ] {
            assert_eq!(escape(text), shown);
        }
        let mut json = Vec::new();
        write_json(&mut json, &["##[a]", "x\n##vso[b", "[]"]).expect("written");
        assert!(!String::from_utf8_lossy(&json).contains("##["));
        assert_eq!(serde_json::from_slice::<Vec<String>>(&json).expect("JSON"), ["##[a]", "x\n##vso[b", "[]"]);
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!(grouped(1_234_567).replace('\u{202f}', " "), "1 234 567");
        assert_eq!(grouped(999), "999");
        assert_eq!(tally([("B", 2), ("C", 7), ("A", 2)]), "C 7, A 2, B 2");
    }

    #[test]
    fn a_bar_is_as_long_as_what_is_done() {
        assert_eq!(bar(0, 0), "[                    ]   0 %");
        assert_eq!(bar(1, 2), "[##########          ]  50 %");
        assert_eq!(bar(9, 8), "[####################] 100 %", "a file that grows");
    }

    #[test]
    fn sizes_have_one_decimal_and_never_four_digits_before_it() {
        for (n, text) in [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (4_949_999, "4.9 MB"), (999_950, "1.0 MB")] {
            assert_eq!(bytes(n), text);
        }
        assert_eq!((percent(1, 8).as_str(), percent(1, 0).as_str()), ("12.5 %", "100.0 %"));
    }
}
