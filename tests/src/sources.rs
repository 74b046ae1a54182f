//! Sources that a machine has anyway: where to find real code in each language.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::binary;

/// Files under `roots` written in `language`, in a stable order, at most `limit` of them spread evenly,
/// none larger than `max_bytes`.
pub fn files(roots: &[PathBuf], language: &str, limit: usize, max_bytes: u64) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = roots.to_vec();
    while let Some(path) = open.pop() {
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            let Ok(entries) = std::fs::read_dir(&path) else { continue };
            open.extend(entries.flatten().map(|entry| entry.path()));
        } else if meta.is_file() && meta.len() <= max_bytes && is(&path, language) {
            found.push(path);
        }
    }
    found.sort();
    let step = found.len().div_ceil(limit.max(1)).max(1);
    found.into_iter().step_by(step).collect()
}

fn is(path: &Path, language: &str) -> bool {
    dupi_grammars::detect(path, b"").is_some_and(|found| found.name == language)
}

/// Where code stands on this machine: what `tests/fetch-sources` got, crates, Python's and Go's libraries.
pub fn roots() -> Vec<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .unwrap_or_default();
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    };
    let mut roots = vec![binary::target().join("sources"), cargo.join("registry/src")];
    roots.extend(said("python3", &["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]));
    roots.extend(said("npm", &["root", "-g"]));
    for folder in ["/usr/share", "/usr/lib"] {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        roots.extend(
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("go-")).map(|entry| entry.path()),
        );
    }
    roots
}
