//! `dupi-lsp index --stats`: what an index holds, and where its bytes are.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::Style;
use anyhow::Result;
use dupi::index::{Stats, Workspace};
use dupi::search::with_threads;
use dupi::segment::Sizes;

use super::GOOD;
use crate::terminal::{bytes, escape, grouped, percent, tally};
use crate::workspace::{Place, tell_troubles};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

pub fn show(place: &Place, workspace: &Workspace) -> Result<ExitCode> {
    let (mut index, stats) = with_threads(&workspace.settings, &workspace.root, || {
        let index = place.look(workspace)?;
        let stats = index.stats();
        anyhow::Ok((index, stats))
    })??;
    tell_troubles(&mut index);
    let on_disk = place.bytes()?;
    let mut out = anstream::stdout().lock();
    write(&mut out, &stats, on_disk, workspace, &place.folder)?;
    Ok(ExitCode::from(GOOD))
}

fn write(out: &mut impl Write, stats: &Stats, on_disk: u64, workspace: &Workspace, folder: &Path) -> io::Result<()> {
    let shown = |path: &Path| escape(&path.display().to_string());
    writeln!(
        out,
        "{BOLD}index of {}{BOLD:#}: {}, {} of source",
        shown(&workspace.root),
        bytes(on_disk),
        percent(on_disk, stats.source)
    )?;
    writeln!(out, "{DIM}{}{DIM:#}\n", shown(folder))?;
    let languages = tally(stats.languages.iter().map(|(&name, &n)| (name, n as u64)));
    for (name, n, more) in [
        ("documents", stats.documents as u64, languages),
        ("skipped", stats.skipped as u64, String::new()),
        ("tokens", stats.tokens, String::new()),
        ("posts", stats.posts as u64, String::new()),
        ("segments", stats.segments as u64, String::new()),
        ("deleted", stats.deleted as u64, String::new()),
        ("generation", stats.generation, String::new()),
    ] {
        let more = if more.is_empty() { more } else { format!("  {DIM}{more}{DIM:#}") };
        writeln!(out, "{name:<12}{:>16}{more}", grouped(n))?;
    }
    writeln!(out, "\n{DIM}{:<12}{:>16}{:>12}{DIM:#}", "", "bytes", "of source")?;
    let Sizes { streams, dictionary, posts, table } = stats.sizes;
    for (name, n) in [
        ("streams", streams),
        ("dictionary", dictionary),
        ("posts", posts),
        ("tables", table),
        ("answers", stats.answers),
        // Headers and the manifest; also what a damaged part has, and what waits to be collected.
        ("other", on_disk.saturating_sub(stats.bytes())),
        ("all", on_disk),
        ("source", stats.source),
    ] {
        writeln!(out, "{name:<12}{:>16}{:>12}", grouped(n), percent(n, stats.source))?;
    }
    Ok(())
}
