//! Finds all pairs of simhashes within a distance, for the benchmark.
//!
//! `cargo run --release -p dupi-tests --bin simhashes -- HASHES PAIRS [--distance D] [--blocks B] [--threads N]` reads
//! eight bytes a hash, little-endian, writes the pairs in the same way, and prints the seconds that finding them took.
#![allow(clippy::print_stdout, reason = "a command line")]

use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use dupi::simhash::{BLOCKS, Blocking, DISTANCE, find_all};

const USAGE: &str = "usage: simhashes HASHES PAIRS [--distance D] [--blocks B] [--threads N]";

fn main() -> Result<()> {
    let (mut distance, mut blocks, mut threads) = (DISTANCE, BLOCKS, 1);
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|value| value.parse().ok()).context(USAGE);
        match argument.as_str() {
            "--distance" => distance = number()?,
            "--blocks" => blocks = number()?,
            "--threads" => threads = number()?,
            _ => paths.push(argument),
        }
    }
    let [from, to] = &paths[..] else { bail!(USAGE) };
    let bytes = std::fs::read(from).with_context(|| from.clone())?;
    let hashes: Vec<u64> = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let blocking = Blocking::new(distance, blocks).map_err(|problem| anyhow!(problem))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build()?;
    let start = Instant::now();
    let pairs = pool.install(|| find_all(&hashes, &blocking));
    println!("{}", start.elapsed().as_secs_f64());
    let bytes: Vec<u8> = pairs.iter().flat_map(|&(a, b)| [a, b]).flat_map(u64::to_le_bytes).collect();
    std::fs::write(to, bytes).with_context(|| to.clone())
}
