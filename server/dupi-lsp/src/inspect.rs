//! `dupi-lsp inspect`: how the blots of the workspace are spread.

use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::Style;
use anyhow::Result;
use dupi::blots::Blotting;
use dupi::occurrences::{Frequency, Spread};
use serde::Serialize;

use crate::terminal::{grouped, unless_closed, write_json};
use crate::workspace::{QueryArguments, unreadable};

/// Shares of all blots, in percent, below which each percentile lies.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];
/// Characters of the longest bar.
const BAR: usize = 40;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 done, 2 wrong usage or nothing indexed.\n\nExamples:\n  dupi-lsp inspect                                       the current folder\n  dupi-lsp inspect --in src --blotter circular           another way to blot, for comparison\n  dupi-lsp inspect --k 12 --w 8 --json | jq .mean        smaller windows, for programs"
)]
pub struct Arguments {
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    query: QueryArguments,
}

#[derive(Serialize)]
struct Inspected {
    blotter: &'static str,
    /// Tokens in a window, and windows in a row of which one is kept.
    k: usize,
    w: usize,
    files: usize,
    /// Different ones.
    blots: usize,
    /// A blot and a file.
    posts: u64,
    places: u64,
    /// Of the places of a blot.
    mean: f64,
    sigma: f64,
    percentiles: Vec<Percentile>,
    histogram: Vec<Bar>,
}

#[derive(Serialize)]
struct Percentile {
    percent: f64,
    places: u32,
}

/// Blots that stand in so many places.
#[derive(Serialize)]
struct Bar {
    from: u32,
    to: u32,
    blots: usize,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workspace = arguments.query.workspace()?;
    arguments.query.ask(&workspace, |index| {
        let snapshot = index.snapshot();
        let frequencies = snapshot.frequencies(&workspace.settings).ok_or_else(|| unreadable(&workspace))?;
        let inspected = inspect(&frequencies, snapshot.n_documents(), Blotting::of(&workspace.settings));
        let mut out = anstream::stdout().lock();
        Ok(unless_closed(if arguments.json { write_json(&mut out, &inspected) } else { text(&mut out, &inspected) })?)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn inspect(frequencies: &[Frequency], files: usize, blotting: Blotting) -> Inspected {
    let mut places: Vec<u32> = frequencies.iter().map(|frequency| frequency.places).collect();
    places.sort_unstable();
    let percentile = |&percent: &f64| {
        let rank = (percent / 100.0 * places.len() as f64).ceil() as usize;
        Percentile { percent, places: places.get(rank.saturating_sub(1)).copied().unwrap_or(0) }
    };
    let most = places.last().copied().unwrap_or(0);
    // 1, 2, 3–4, 5–8 …: each twice as wide as the one before.
    let ends = std::iter::successors(Some(1u32), |end| end.checked_mul(2).filter(|_| *end < most));
    let bar = |to: u32| {
        let from = to / 2 + 1;
        let n_up_to = |end: u32| places.partition_point(|n| *n <= end);
        Bar { from, to, blots: n_up_to(to) - n_up_to(from - 1) }
    };
    let Spread { mean, sigma } = Spread::of(frequencies);
    Inspected {
        blotter: blotting.blotter.name(),
        k: blotting.k,
        w: blotting.w,
        files,
        blots: frequencies.len(),
        posts: frequencies.iter().map(|frequency| u64::from(frequency.documents)).sum(),
        places: places.iter().copied().map(u64::from).sum(),
        mean,
        sigma,
        percentiles: PERCENTILES.iter().map(percentile).collect(),
        histogram: ends.map(bar).collect(),
    }
}

fn text(out: &mut impl Write, inspected: &Inspected) -> io::Result<()> {
    let Inspected { blotter, k, w, files, blots, posts, places, mean, sigma, percentiles, histogram } = inspected;
    writeln!(out, "{BOLD}{} different blots{BOLD:#} {DIM}{blotter}, k {k}, w {w}{DIM:#}\n", grouped(*blots as u64))?;
    for (name, n) in [("files", *files as u64), ("posts", *posts), ("places", *places)] {
        writeln!(out, "{name:<8}{:>12}", grouped(n))?;
    }
    writeln!(out, "{:<8}{mean:>12.2} places a blot\n{:<8}{sigma:>12.2}", "mean", "σ")?;
    for Percentile { percent, places } in percentiles {
        writeln!(out, "{:<8}{:>12}", format!("{percent} %"), grouped(u64::from(*places)))?;
    }
    writeln!(out, "\n{DIM}{:>15}{:>12}  logarithmic{DIM:#}", "places", "blots")?;
    let scale = |n: usize| ((n + 1) as f64).ln();
    let longest = histogram.iter().map(|bar| scale(bar.blots)).fold(f64::MIN_POSITIVE, f64::max);
    for Bar { from, to, blots } in histogram {
        let range = if from == to {
            grouped(u64::from(*to))
        } else {
            format!("{}–{}", grouped(u64::from(*from)), grouped(u64::from(*to)))
        };
        let bar = "█".repeat((scale(*blots) / longest * BAR as f64).round() as usize);
        writeln!(out, "{range:>15}{:>12}  {bar}", grouped(*blots as u64))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use dupi::blots::Blotter;

    use super::*;

    #[test]
    fn every_blot_is_in_one_bar_and_percentiles_are_ranks() {
        let places = [1, 1, 1, 1, 1, 1, 2, 3, 4, 9];
        let frequencies: Vec<Frequency> =
            (0..).zip(places).map(|(blot, places)| Frequency { blot, places, documents: 1 }).collect();
        let blotting = Blotting { blotter: Blotter::Rolling, k: 28, w: 23 };
        let inspected = inspect(&frequencies, 3, blotting);
        let bars: Vec<(u32, u32, usize)> =
            inspected.histogram.iter().map(|bar| (bar.from, bar.to, bar.blots)).collect();
        assert_eq!(bars, [(1, 1, 6), (2, 2, 1), (3, 4, 2), (5, 8, 0), (9, 16, 1)]);
        let percentiles: Vec<u32> = inspected.percentiles.iter().map(|percentile| percentile.places).collect();
        assert_eq!(percentiles, [1, 4, 9, 9, 9]);
        assert_eq!((inspected.mean, inspected.places), (2.4, 24));
        assert!((inspected.sigma - 2.4166).abs() < 0.001, "{}", inspected.sigma);
        let nothing = inspect(&[], 0, blotting);
        assert_eq!((nothing.mean, nothing.histogram.len()), (0.0, 1));
    }
}
