//! Sources that a machine has anyway: where to find real code in each language.

use std::path::{Path, PathBuf};

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
