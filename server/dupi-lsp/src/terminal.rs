//! What a terminal may be shown: text with everything that could steer it taken out; and progress that gets out of the way.

use std::fmt::Write;
use std::io::{IsTerminal, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Replaces control characters and marks that reorder or hide text by visible escapes. Tabs become blanks.
pub fn escape(text: &str) -> String {
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

/// How long a search runs before it says so: most are over by then.
const PATIENCE: Duration = Duration::from_millis(300);
const INTERVAL: Duration = Duration::from_millis(100);

/// One line on standard error that is rewritten in place, if that is a terminal.
pub struct ProgressLine {
    shown: Mutex<Option<(Instant, bool)>>,
}

impl ProgressLine {
    pub fn new() -> ProgressLine {
        let start = std::io::stderr().is_terminal().then(|| (Instant::now() + PATIENCE, false));
        ProgressLine { shown: Mutex::new(start) }
    }

    /// Shows `text`, unless another was shown a moment ago.
    pub fn show(&self, text: impl FnOnce() -> String) {
        let Ok(mut shown) = self.shown.try_lock() else { return };
        if let Some((next, any)) = shown.as_mut()
            && Instant::now() >= *next
        {
            *next = Instant::now() + INTERVAL;
            *any = true;
            let _ = write!(std::io::stderr(), "\r\x1b[2K{}", text());
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if let Ok(mut shown) = self.shown.lock()
            && let Some((_, any)) = shown.as_mut()
            && std::mem::take(any)
        {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
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
    fn large_numbers_are_grouped() {
        assert_eq!(grouped(1_234_567).replace('\u{202f}', " "), "1 234 567");
        assert_eq!(grouped(999), "999");
    }
}
