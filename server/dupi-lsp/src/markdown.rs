//! Text of a workspace in Markdown: names and code that are shown as they are written and mean nothing there, neither
//! Markdown nor HTML. Everything that shows such text in Markdown gets it from here.

use crate::terminal::visible;

/// Text that is nothing but text: every sign that could mean something is written as its number.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            c if c.is_alphanumeric() || " /.,;:-%()".contains(c) || !c.is_ascii() => out.push(c),
            c => out.push_str(&format!("&#{};", c as u32)),
        }
    }
    // A bare address becomes a link, and a name behind an at sign calls somebody: the sign is written as a number above.
    out.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
}

/// Code in its span. Control characters, and with them line ends, are shown as escapes: a blank line would end the span.
pub fn code(text: &str) -> String {
    let text = visible(text);
    // Only as many backticks as it starts with end a span.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // One blank at each end is taken off again, unless there is nothing else.
    let is_padded = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let pad = if is_padded && !text.trim_matches(' ').is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A link to an address that is a URI: all but parentheses is escaped there already.
pub fn link(text: &str, address: &str) -> String {
    format!("[{}]({})", plain(text), address.replace('(', "%28").replace(')', "%29"))
}
