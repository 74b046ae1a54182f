//! `dupi-lsp extract`: the blots of the workspace, the most frequent first.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use dupi::occurrences::{Frequency, Spread};
use serde::Serialize;

use crate::terminal::{Top, top, unless_closed, write_json};
use crate::workspace::{QueryArguments, unreadable};

#[derive(clap::Args)]
#[command(
    after_help = "A line has the blot, its places and its files.\nExit code: 0 done, 2 wrong usage or nothing indexed.\n\nExamples:\n  dupi-lsp extract --top 20                       the twenty most frequent blots\n  dupi-lsp extract --sigma 3 | dupi-lsp unblot    the code that stands out, as text\n  dupi-lsp extract --json | jq .sigma             for programs"
)]
pub struct Arguments {
    /// Only blots in as many places as the mean and S standard deviations, or more
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    sigma: Option<f64>,
    /// Only blots in as many places, or more
    #[arg(long, value_name = "N", default_value_t = 2)]
    min_places: u32,
    /// How many to show, or `all`
    #[arg(long, value_name = "N|all", value_parser = top, default_value_t = Top(usize::MAX))]
    top: Top,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    query: QueryArguments,
}

#[derive(Serialize)]
struct JsonBlots {
    /// Of all blots, shown or not.
    mean: f64,
    sigma: f64,
    blots: Vec<JsonBlot>,
}

#[derive(Serialize)]
struct JsonBlot {
    blot: String,
    places: u32,
    files: u32,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.sigma.is_some_and(|sigma| !sigma.is_finite()) {
        anyhow::bail!("`--sigma` must be a number");
    }
    let workspace = arguments.query.workspace()?;
    arguments.query.ask(&workspace, |index| {
        let frequencies = index.snapshot().frequencies(&workspace.settings).ok_or_else(|| unreadable(&workspace))?;
        let spread = Spread::of(&frequencies);
        let least = arguments.sigma.map_or(0.0, |sigma| spread.mean + sigma * spread.sigma);
        let mut shown = frequencies;
        shown.retain(|blot| blot.places >= arguments.min_places && f64::from(blot.places) >= least);
        shown.sort_unstable_by_key(|blot| (Reverse(blot.places), Reverse(blot.documents), blot.blot));
        shown.truncate(arguments.top.0);
        let mut out = anstream::stdout().lock();
        let written = if arguments.json { json(&mut out, &shown, spread) } else { text(&mut out, &shown) };
        Ok(unless_closed(written)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn text(out: &mut impl Write, blots: &[Frequency]) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    for Frequency { blot, places, documents } in blots {
        writeln!(out, "{blot:016x} {places:>7} {documents:>7}")?;
    }
    out.flush()
}

fn json(out: &mut impl Write, blots: &[Frequency], spread: Spread) -> io::Result<()> {
    let json = |of: &Frequency| JsonBlot { blot: format!("{:016x}", of.blot), places: of.places, files: of.documents };
    write_json(out, &JsonBlots { mean: spread.mean, sigma: spread.sigma, blots: blots.iter().map(json).collect() })
}
