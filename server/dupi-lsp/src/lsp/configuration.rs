//! From a project's `dupi.toml` and the user's settings to how a folder is read.

use std::path::Path;

use dupi::Settings;
use dupi::index::Workspace;
use tower_lsp::ls_types::{Diagnostic, DiagnosticSeverity, Position, Range};

use crate::options::{self, BadConfiguration, Options};
use crate::preferences::Preferences;

/// How a folder is read. A project's file that cannot be used counts as none, and what is wrong with it is told.
pub fn workspace(root: &Path, preferences: &Preferences) -> (Workspace, Option<BadConfiguration>) {
    let read = match options::read_file(root) {
        Ok(Some(text)) => Options::parse(&text, root),
        Ok(None) => Ok(Options::default()),
        Err(error) => Err(BadConfiguration { line: None, message: format!("cannot be read: {error}") }),
    };
    let (project, mut bad) = match read {
        Ok(options) => (options, None),
        Err(bad) => (Options::default(), Some(bad)),
    };
    // Each was found good by itself, and each key stands alone, so together they are.
    let settings = preferences.options.clone().or(project).settings_in(root).unwrap_or_else(|error| {
        bad.get_or_insert(BadConfiguration { line: None, message: error.to_string() });
        Settings::default()
    });
    (Workspace { root: root.to_owned(), paths: vec![root.to_owned()], settings }, bad)
}

pub fn diagnostic(bad: &BadConfiguration) -> Diagnostic {
    let line = bad.line.unwrap_or(1).saturating_sub(1) as u32;
    Diagnostic {
        range: Range::new(Position::new(line, 0), Position::new(line + 1, 0)),
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("dupi".to_owned()),
        message: format!("{}; the file is passed over as long as it is like this", bad.message),
        ..Diagnostic::default()
    }
}
