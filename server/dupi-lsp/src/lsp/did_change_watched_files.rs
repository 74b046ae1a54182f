//! `workspace/didChangeWatchedFiles`: paths that changed on disk. What happened to them is looked up, not believed.

use std::path::PathBuf;

use tower_lsp::ls_types::DidChangeWatchedFilesParams;

use super::session::Session;
use super::{status, uris};
use crate::options::FILE;

/// Files that say which files are read.
const RULES: [&str; 3] = [".gitignore", ".ignore", "exclude"];
/// Folders of version control change all the time, and hold no sources.
const HISTORY: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

pub fn apply(session: &mut Session, params: DidChangeWatchedFilesParams) {
    look_at(session, params.changes.iter().filter_map(|change| uris::path(&change.uri)).collect());
}

/// Looks at what is at these paths now.
pub fn look_at(session: &mut Session, paths: Vec<PathBuf>) {
    let named =
        |path: &PathBuf, names: &[&str]| path.file_name().is_some_and(|name| names.iter().any(|known| name == *known));
    if paths.iter().any(|path| named(path, &[FILE])) {
        session.configure();
    }
    let has_rules = paths.iter().any(|path| named(path, &RULES));
    for folder in &session.folders {
        let root = &folder.workspace.root;
        let is_source = |path: &&PathBuf| {
            path.strip_prefix(root).is_ok_and(|below| !below.iter().any(|name| HISTORY.iter().any(|known| name == *known)))
                // What is gone may have been a folder.
                && (!path.is_file() || path.file_name().is_some_and(dupi::files::may_be_source))
        };
        let inside: Vec<PathBuf> = paths.iter().filter(is_source).cloned().collect();
        if has_rules
            && paths
                .iter()
                .any(|path| path.starts_with(root) || path.parent().is_some_and(|above| root.starts_with(above)))
        {
            folder.indexer.refresh();
        } else if !inside.is_empty() {
            folder.indexer.refresh_within(inside);
        }
    }
    if has_rules {
        session.sort_documents();
    }
    // From now on, until they were looked at, "nothing found" may mean "not looked yet".
    if session.is_busy() {
        status::tell(session);
    }
}
