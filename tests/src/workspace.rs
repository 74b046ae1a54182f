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

/// All files below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() { files.extend(self::files(&entry)) } else { files.push(entry) }
    }
    files.sort();
    files
}

/// A function of about 70 tokens; `name` and `x` are what varies.
pub fn function(name: &str, x: &str) -> String {
    format!(
        "func {name}({x} []int, limit int) (int, error) {{\n\ttotal := 0\n\tfor i, v := range {x} {{\n\t\tif v > limit {{\n\t\t\treturn 0, fmt.Errorf(\"value %d at %d is over %d\", v, i, limit)\n\t\t}}\n\t\ttotal += v * i\n\t}}\n\tif total == 0 {{\n\t\treturn 0, nil\n\t}}\n\treturn total, nil\n}}\n"
    )
}

/// Two files with one function in common.
pub fn pair() -> Workspace {
    let workspace = Workspace::new("");
    workspace.write("a.go", format!("package a\n\n{}", function("Sum", "values")));
    workspace.write("b/b.go", format!("package b\n\nimport \"fmt\"\n\nvar x = 1\n\n{}", function("Sum", "values")));
    workspace
}
