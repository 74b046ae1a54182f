//! A process for tests to kill, to starve and to confuse: it uses an index and ends, if nothing ends it before.
//!
//! `victim build INDEX ROOT [KILL_AT]`   open, refresh, merge, report; aborts at the operation KILL_AT of the store
//! `victim hold INDEX ROOT`              open and refresh, say "ready", and keep the lock until it is killed
//! `victim damage INDEX ROOT STRIDE`     flip each STRIDE-th byte and cut at each, of each file: the answer stays right
//! `victim cut INDEX ROOT LENGTH ASK`    cut the segments that are open to LENGTH, then ASK: none of it ends the process
#![allow(clippy::print_stdout, reason = "a command line")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};
use dupi::index::{Index, MIN_MEMORY};
use dupi::store::faulty::{Fault, Faulty};
use dupi::store::{Folder, Store};
use dupi_tests::answers::{
    self, difference, first_difference, orphans, refresh, searched, small, text, told, touching,
};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder, root, more @ ..] = &arguments[..] else { bail!("usage: see the source") };
    let (folder, root) = (Path::new(folder), Path::new(root));
    let number = more.first().map(|text| text.parse::<u64>()).transpose()?;
    match what.as_str() {
        "build" => build(folder, root, number),
        "hold" => hold(folder, root),
        "damage" => damage(folder, root, number.context("a stride")? as usize),
        "cut" => cut(folder, root, number.context("a length")?, more.get(1).context("what to ask")?),
        _ => bail!("no {what}"),
    }
}

fn build(folder: &Path, root: &Path, kill_at: Option<u64>) -> anyhow::Result<()> {
    let fault = kill_at.map_or(Fault::None, |at| Fault::Kill { at });
    let store = Faulty::new(Arc::new(Folder::create(folder)?), fault, kill_at.unwrap_or(0));
    let mut index = Index::open(Arc::new(store), answers::workspace(root, small()), MIN_MEMORY);
    index.refresh(&|_| {})?;
    index.merge();
    told(&mut index);
    ensure!(index.is_committed(), "{:?}", index.troubles());
    Ok(())
}

fn hold(folder: &Path, root: &Path) -> anyhow::Result<()> {
    let mut index = answers::open(folder, &answers::workspace(root, small()));
    index.refresh(&|_| {})?;
    ensure!(index.is_writer() && index.is_committed());
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// What a file of the index is turned into.
enum Damage {
    Flip(usize, u8),
    Cut(usize),
}

fn damage(folder: &Path, root: &Path, stride: usize) -> anyhow::Result<()> {
    let workspace = answers::workspace(root, small());
    let expected = text(&searched(&workspace));
    let store = Folder::create(folder)?;
    let whole: Vec<(String, Vec<u8>)> = store
        .names()?
        .into_iter()
        .filter(|name| name != "lock")
        .map(|name| Ok((name.clone(), store.read(&name, u64::MAX)?)))
        .collect::<std::io::Result<_>>()?;
    let mut n = 0;
    for (name, bytes) in &whole {
        let flips = (0..bytes.len()).map(|at| Damage::Flip(at, [0x01, 0x80, 0xff][at % 3]));
        let cuts = (0..bytes.len()).map(Damage::Cut);
        for damage in flips.step_by(stride).chain(cuts.step_by(stride)) {
            for entry in fs::read_dir(folder)?.flatten().filter(|entry| entry.file_name() != "lock") {
                fs::remove_file(entry.path())?;
            }
            for (name, bytes) in &whole {
                fs::write(folder.join(name), bytes)?;
            }
            let mut changed = bytes.clone();
            let what = match damage {
                Damage::Flip(at, bits) => {
                    changed[at] ^= bits;
                    format!("{bits:#x} at {at} of {name}")
                }
                Damage::Cut(at) => {
                    changed.truncate(at);
                    format!("{name} cut at {at}")
                }
            };
            fs::write(folder.join(name), &changed)?;
            let mut index = answers::open(folder, &workspace);
            refresh(&mut index);
            if let Some(difference) = first_difference(&told(&mut index), &expected) {
                bail!("{what}: {difference}");
            }
            let problems = index.verify().problems;
            ensure!(index.is_committed() && problems.is_empty(), "{what}: {:?} {problems:?}", index.troubles());
            drop(index);
            let mut index = answers::open(folder, &workspace);
            ensure!(index.is_committed() && index.troubles().is_empty(), "{what}: it was not made whole");
            if let Some(difference) = first_difference(&told(&mut index), &expected) {
                bail!("{what}, opened again: {difference}");
            }
            ensure!(orphans(folder).is_empty(), "{what}: {:?}", orphans(folder));
            n += 1;
        }
    }
    println!("{n} damages");
    Ok(())
}

fn cut(folder: &Path, root: &Path, length: u64, ask: &str) -> anyhow::Result<()> {
    let workspace = answers::workspace(root, small());
    let mut index = answers::open(folder, &workspace);
    // A segment for each file: enough for a merge.
    let paths = searched(&workspace).files.into_iter().map(|file| file.path);
    for path in paths {
        index.refresh_within(&[path])?;
    }
    told(&mut index);
    let merge = index.plan_merge().context("a merge")?;
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "seg") {
            let file = fs::OpenOptions::new().write(true).open(entry.path())?;
            // Always by something.
            file.set_len(length.min(file.metadata()?.len() - 1))?;
        }
    }
    let one = workspace.root.join("0.go");
    match ask {
        // Only what is known to have changed is asked for: the rest must come back by itself.
        "refresh" => drop(index.refresh_within(std::slice::from_ref(&one))?),
        "report" => {}
        "clones" => {
            let expected = touching(&searched(&workspace), "0.go");
            ensure!(!expected.is_empty() && answers::clones(&mut index, &one) == Some(expected));
        }
        "snapshot" => ensure!(index.snapshot().clones_of("0.go", &workspace.settings).is_none()),
        "merge" => {
            ensure!(merge.run().is_none());
            index.merge();
        }
        "verify" => ensure!(!index.verify().problems.is_empty()),
        "stats" => ensure!(index.stats().documents > 0),
        "buffer" => {
            index.set_buffer(&one, &fs::read(&one)?);
            ensure!(answers::clones(&mut index, &one).is_some());
            index.drop_buffer(&one);
        }
        "touched" => {
            // A time that is not remembered: what was kept of it would be read.
            fs::File::options().write(true).open(&one)?.set_modified(SystemTime::now())?;
            refresh(&mut index);
        }
        _ => bail!("no {ask}"),
    }
    if let Some(difference) = difference(&mut index) {
        bail!("{difference}");
    }
    ensure!(index.is_committed() && index.verify().problems.is_empty());
    println!("answered");
    Ok(())
}
