//! Compares a fast lexer with its grammar on chosen files:
//! `cargo run -p dupi-tests --bin differential -- go PATH… [--limit N] [--show N]`.
#![allow(clippy::print_stdout, reason = "a command line")]

use std::path::PathBuf;

use dupi_tests::{differential, sources};

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let name =
        args.next().ok_or_else(|| anyhow::anyhow!("usage: differential LANGUAGE PATH… [--limit N] [--show N]"))?;
    let language = dupi_grammars::by_name(&name).ok_or_else(|| anyhow::anyhow!("no language {name}"))?;
    let (mut roots, mut limit, mut show) = (Vec::new(), 1_000, 20);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--limit" => limit = args.next().unwrap_or_default().parse()?,
            "--show" => show = args.next().unwrap_or_default().parse()?,
            _ => roots.push(PathBuf::from(arg)),
        }
    }
    let files = sources::files(&roots, &name, limit, 512 * 1024);
    let outcome = differential::compare(language, &files);
    for example in outcome.examples.iter().take(show) {
        println!("{example}");
    }
    println!("{}", outcome.summary(&name));
    Ok(())
}
