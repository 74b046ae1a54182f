//! The fuzzer: random workspaces in all languages, changed at random, and what must hold of them. `tests/fuzz` runs it.
//!
//! `fuzz [--from SEED]`     seeds from there on, for DUPI_FUZZ_SECONDS (60)
//! `DUPI_SEED=N fuzz`       one workspace again; it is kept, whatever comes of it
#![allow(clippy::print_stdout, reason = "a command line")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dupi_tests::binary;
use dupi_tests::fuzz::agreement::Life;
use dupi_tests::fuzz::corpus::grove;
use dupi_tests::fuzz::ground::Ground;
use dupi_tests::fuzz::laws;
use fastrand::Rng;

const SECONDS: u64 = 60;

fn main() -> Result<ExitCode> {
    let (one, seconds) = (number("DUPI_SEED")?, number("DUPI_FUZZ_SECONDS")?.unwrap_or(SECONDS));
    let mut from = one.unwrap_or(0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--from" => from = arguments.next().context("--from needs a seed")?.parse().context("--from")?,
            _ => bail!("usage: fuzz [--from SEED]; DUPI_FUZZ_SECONDS=N, DUPI_SEED=SEED"),
        }
    }
    binary::path();
    // A panic is a difference like any other, and is told with its seed.
    std::panic::set_hook(Box::new(|_| {}));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut ground = Ground::default();
    let mut seed = from;
    println!("seeds from {from}");
    loop {
        workspace(seed, one.is_some(), &mut ground)?;
        ground.tally.workspaces += 1;
        seed += 1;
        if one.is_some() || Instant::now() > end {
            break;
        }
        if seed.is_multiple_of(100) {
            println!("at seed {seed}: {}", summary(&ground));
        }
    }
    println!("seeds {from} to {}: {}", seed - 1, summary(&ground));
    Ok(if ground.tally.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn number(name: &str) -> Result<Option<u64>> {
    std::env::var(name).ok().map(|text| text.parse().with_context(|| format!("{name}={text}"))).transpose()
}

fn summary(ground: &Ground) -> String {
    let tally = &ground.tally;
    let n_laws: usize = tally.laws.values().sum();
    format!(
        "{} workspaces, {} runs, {} edits, {} stops, {} kills, {} indexes verified, {} servers, {n_laws} laws {:?}, {} differences",
        tally.workspaces,
        tally.runs,
        tally.edits,
        tally.stops,
        tally.kills,
        tally.verified,
        tally.servers,
        tally.laws,
        tally.differences,
    )
}

/// All that is done with one workspace.
fn workspace(seed: u64, keep: bool, ground: &mut Ground) -> Result<()> {
    ground.clear()?;
    let mut rng = Rng::with_seed(seed);
    let grove = grove(&mut rng);
    let mut of_laws = rng.fork();
    let drawn = laws::draw(&mut of_laws, &grove, ground);
    let cases = match drawn {
        Ok(cases) => cases,
        Err(error) => {
            ground.tally.differences += 1;
            println!("seed {seed}: {error:#}");
            Vec::new()
        }
    };
    for (n, mut case) in cases.into_iter().enumerate() {
        *ground.tally.laws.entry(case.law).or_default() += 1;
        let broken = match case.broken(ground) {
            Ok(None) => continue,
            Ok(Some(broken)) => broken,
            Err(error) => format!("{error:#}"),
        };
        ground.tally.differences += 1;
        let _ = case.shrink(ground);
        let text = format!("{}: {}\n{broken}\n{}", case.law, case.what, case.commands());
        let kept = ground.keep(&format!("seed-{seed}-law-{n}"), &text)?;
        println!(
            "seed {seed}: {}: {}: {broken}; repeat with DUPI_SEED={seed} tests/fuzz; kept in {}",
            case.law,
            case.what,
            kept.display()
        );
    }
    ground.clear()?;
    let mut life = Life { rng: &mut rng, ground, files: grove.files, log: Vec::new() };
    let outcome = catch_unwind(AssertUnwindSafe(|| life.run())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        bail!(
            "panicked: {}",
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        )
    });
    let log = life.log.join("\n");
    if outcome.is_ok() && !keep {
        return Ok(());
    }
    let told = outcome.as_ref().err().map_or("well".to_owned(), |error| format!("{error:#}"));
    let kept = ground.keep(&format!("seed-{seed}"), &format!("{log}\n{told}\n"))?;
    if outcome.is_err() {
        ground.tally.differences += 1;
        let first: String = told.lines().take(1).collect();
        println!("seed {seed}: {first}; repeat with DUPI_SEED={seed} tests/fuzz; kept in {}", kept.display());
    } else {
        println!("seed {seed}: kept in {}", kept.display());
    }
    Ok(())
}
