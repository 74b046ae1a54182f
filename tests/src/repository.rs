//! A throw-away git repository.

use std::path::Path;
use std::process::Command;

use crate::workspace::Workspace;

pub struct Repository {
    pub workspace: Workspace,
}

impl Default for Repository {
    fn default() -> Repository {
        let repository = Repository { workspace: Workspace::new("") };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }
}

impl Repository {
    pub fn path(&self) -> &Path {
        self.workspace.path()
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.workspace.write(path, content);
    }

    /// Runs git here, with nobody's settings, and gives what it says.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments)
    }

    /// Commits all that there is.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }
}

pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A. Writer").env(format!("GIT_{who}_EMAIL"), "writer@example.org");
    }
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
}
