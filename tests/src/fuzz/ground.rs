//! A workspace on disk with the cache folder of its indexes, and the count of all that was done.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::corpus::Files;
use super::weather::{self, Weather};
use crate::binary::{self, Run};
use crate::history::quick_folder;

/// What was done, for the summary.
#[derive(Default)]
pub struct Tally {
    pub workspaces: usize,
    pub runs: usize,
    pub edits: usize,
    pub stops: usize,
    pub kills: usize,
    pub servers: usize,
    pub verified: usize,
    /// How often each law was checked.
    pub laws: BTreeMap<&'static str, usize>,
    pub differences: usize,
}

/// A folder with a workspace and a cache.
pub struct Ground {
    folder: TempDir,
    pub tally: Tally,
}

impl Default for Ground {
    fn default() -> Ground {
        Ground { folder: quick_folder(), tally: Tally::default() }
    }
}

impl Ground {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder").join(name)
    }

    /// The root of the workspace.
    pub fn root(&self) -> PathBuf {
        self.path("work")
    }

    pub fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// Removes everything.
    pub fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(self.folder.path())?.flatten() {
            remove(&entry.path())?;
        }
        Ok(())
    }

    /// Writes files below a new folder of that name.
    pub fn write(&self, name: &str, files: &Files) -> Result<PathBuf> {
        let root = self.path(name);
        remove(&root)?;
        fs::create_dir_all(&root)?;
        for (path, bytes) in files {
            put(&root.join(path), bytes)?;
        }
        Ok(root)
    }

    /// What a check without an index says of a folder.
    pub fn scratch(&mut self, root: &Path, more: &[&str]) -> Result<Run> {
        let arguments = [&["--check", "--format", "json", "--no-index"], more].concat();
        self.run(root, &arguments, Weather::Calm)?.context("a calm run ends")
    }

    /// A run of the binary; none if it was killed.
    pub fn run(&mut self, root: &Path, arguments: &[&str], weather: Weather) -> Result<Option<Run>> {
        self.tally.runs += 1;
        let cache = self.cache();
        fs::create_dir_all(&cache)?;
        let command = binary::command(root, &cache, arguments);
        weather::run(command, weather, &self.path("output"), &mut self.tally)
    }

    /// Keeps all that is here, with a text, where no later run removes it.
    pub fn keep(&self, name: &str, text: &str) -> Result<PathBuf> {
        let kept = binary::target().join("fuzz").join(name);
        remove(&kept)?;
        crate::history::copy_folder(self.folder.path(), &kept);
        fs::write(kept.join("log.txt"), text)?;
        Ok(kept)
    }
}

/// Writes a file, and its folders.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let shown = || path.display().to_string();
    fs::create_dir_all(path.parent().with_context(shown)?).with_context(shown)?;
    fs::write(path, bytes).with_context(shown)
}

fn remove(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(fs::remove_dir_all(path)?),
        Ok(_) => Ok(fs::remove_file(path)?),
        Err(_) => Ok(()),
    }
}
