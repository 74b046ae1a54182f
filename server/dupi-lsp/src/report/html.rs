//! The page: one HTML file with its style, its script and its data, and a policy that lets nothing else in.
//!
//! Nothing of a workspace stands in the page as HTML: names and texts are compressed JSON in base64, which the script
//! unpacks and puts in as text.
//!
//! ```text
//! head     policy, style
//! body     the frame, the columns, the script; then the texts, chunk by chunk
//! ```
//!
//! The texts come last, so that everything else is drawn before a browser has read them.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use dupi::Report;
use dupi::locate::Place;
use dupi::output::Ends;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::columns::Columns;
use super::history::Run;
use super::texts::Texts;

/// What every page starts with. A file that starts otherwise is not overwritten.
const MARK: &str = "<!doctype html>\n<!-- a report of dupi-lsp -->\n";

/// Is a file a page that this module wrote?
pub fn is_page(ends: &Ends) -> bool {
    ends.first.starts_with(MARK.as_bytes())
}

const FRAME: &str = include_str!("page/frame.html");
const STYLE: &str = include_str!("page/style.css");
/// One script, in the order in which its parts build on each other.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("page/dom.js"),
    include_str!("page/data.js"),
    include_str!("page/route.js"),
    include_str!("page/summary.js"),
    include_str!("page/map.js"),
    include_str!("page/sharing.js"),
    include_str!("page/list.js"),
    include_str!("page/diff.js"),
    include_str!("page/class.js"),
    include_str!("page/file.js"),
    include_str!("page/main.js"),
    "})();\n",
);

/// Base64 is larger than what it stands for.
const fn without_base64(bytes: u64) -> u64 {
    bytes / 4 * 3
}

/// Megabytes of the page that texts may take: about what a mail server lets pass.
pub const TEXT_LIMIT: u64 = 10;

/// What the page shows beside the classes.
pub struct Details {
    /// Earlier runs, oldest first.
    pub history: Vec<Run>,
    /// How many bytes of the page the texts may take.
    pub text_limit: u64,
}

impl Default for Details {
    fn default() -> Details {
        Details { history: Vec::new(), text_limit: TEXT_LIMIT * 1_000_000 }
    }
}

/// `places` are those of all copies, in the order of the classes. Tells how many classes have their text in the page.
pub fn write(out: &mut impl Write, report: &Report, places: &[Vec<Place>], details: &Details) -> io::Result<usize> {
    let texts = Texts::new(report, places, without_base64(details.text_limit))?;
    let columns = Columns::new(report, places, &details.history, &texts);
    out.write_all(MARK.as_bytes())?;
    // Every second part is a name.
    for (i, part) in FRAME.split("%%").enumerate() {
        match part {
            _ if i % 2 == 0 => out.write_all(part.as_bytes())?,
            "policy" => out.write_all(policy().as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            "columns" => write_data(out, "columns", &pack(&serde_json::to_vec(&columns)?)?)?,
            _ => {
                for (i, chunk) in texts.chunks.iter().enumerate() {
                    write_data(out, &format!("texts-{i}"), &chunk.packed)?;
                }
            }
        }
    }
    out.flush()?;
    Ok(texts.end)
}

fn write_data(out: &mut impl Write, id: &str, packed: &[u8]) -> io::Result<()> {
    writeln!(out, "<script type=\"application/octet-stream\" id=\"{id}\">{}</script>", BASE64.encode(packed))
}

/// Nothing but this style and this script; and even these cannot turn a text into HTML.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE),
    )
}

/// As browsers unpack by themselves, with a checksum.
pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
