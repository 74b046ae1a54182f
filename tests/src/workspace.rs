//! A throw-away workspace, written as one string: `//- path` starts a file.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub struct Workspace {
    dir: TempDir,
}

impl Workspace {
    /// Files from a fixture: each starts with a line `//- path`.
    pub fn new(fixture: &str) -> Workspace {
        let workspace = Workspace { dir: tempfile::tempdir().expect("a temporary folder") };
        let mut file: Option<(String, String)> = None;
        for line in fixture.split_inclusive('\n') {
            if let Some(path) = line.strip_prefix("//- ") {
                workspace.flush(file.take());
                file = Some((path.trim().to_owned(), String::new()));
            } else if let Some((_, text)) = &mut file {
                text.push_str(line);
            }
        }
        workspace.flush(file);
        workspace
    }

    fn flush(&self, file: Option<(String, String)>) {
        if let Some((path, text)) = file {
            self.write(&path, text);
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder can be made");
        std::fs::write(&path, content).expect("a file can be written");
        path
    }
}
