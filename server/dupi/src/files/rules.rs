//! Ignore files: which of them hold for a folder, and what they leave out. Knows nothing of the walk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::regular;
use crate::skip::SkipReason;

/// Ignore files are written by hand and have some kilobytes. A million lines would take seconds to be made a matcher of.
const MAX_BYTES: u64 = 2 << 20;

/// The names of files that say what is left out, of their folder and those below.
pub const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The ignore file of a checkout that is not part of it, relative to the checkout.
pub const EXCLUDE: &str = ".git/info/exclude";

/// Ignore files that cannot be heeded, and why.
pub type Unheeded = Vec<(PathBuf, SkipReason)>;

/// The rules that hold for a folder: those of the nearest ignore files, then those above.
/// A chain and not a stack, because folders are read by many threads and share what is above them.
#[derive(Clone, Default)]
pub struct Rules(Option<Arc<Link>>);

struct Link {
    matcher: Gitignore,
    above: Rules,
}

impl Rules {
    /// The rules above a folder, up to the root of its git checkout.
    pub fn above(folder: &Path, unheeded: &mut Unheeded) -> Rules {
        let mut rules = Rules::default();
        let Ok(folder) = folder.canonicalize() else { return rules };
        let Some(top) = checkout(&folder) else { return rules };
        rules = rules.and(matcher(top, &[EXCLUDE], true, unheeded));
        let mut between: Vec<&Path> = folder.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).collect();
        between.reverse();
        between.into_iter().fold(rules, |rules, dir| rules.and(matcher(dir, &IGNORE_FILES, true, unheeded)))
    }

    /// These rules, and those of the ignore files that stand in a folder.
    pub fn with_files_of(&self, folder: &Path, checkout: bool, unheeded: &mut Unheeded) -> Rules {
        self.clone().and(matcher(folder, &IGNORE_FILES, checkout, unheeded))
    }

    fn and(self, matcher: Option<Gitignore>) -> Rules {
        match matcher {
            Some(matcher) => Rules(Some(Arc::new(Link { matcher, above: self }))),
            None => self,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Is a path left out? The nearest rule that speaks of it decides.
    pub fn ignore(&self, path: &Path, is_dir: bool) -> bool {
        let mut rules = self;
        while let Some(link) = &rules.0 {
            let matched = link.matcher.matched(path, is_dir);
            if !matched.is_none() {
                return matched.is_ignore();
            }
            rules = &link.above;
        }
        false
    }
}

/// What the ignore files of these names say of a folder and what is below.
///
/// In a git checkout they mean what they mean to git. Elsewhere (an unpacked archive) a line that ignores everything is
/// passed over: it says what a repository tracks, and taken literally it would leave nothing to check.
fn matcher(folder: &Path, names: &[&str], checkout: bool, unheeded: &mut Unheeded) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let mut heeded = Vec::new();
    for name in names {
        let file = folder.join(name);
        let text = match regular::read(&file, MAX_BYTES) {
            Ok(text) => text,
            // A folder of that name is no ignore file at all; a parent that is a file (`.git` of a worktree) has none.
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => continue,
            Err(_) if file.is_dir() => continue,
            Err(error) => {
                unheeded.push((file, SkipReason::of(&error)));
                continue;
            }
        };
        // Names that are not UTF-8 are matched by none of the lines; the other lines count.
        for line in String::from_utf8_lossy(&text)
            .lines()
            .filter(|line| checkout || !matches!(line.trim(), "*" | "/*" | "**" | "/**"))
        {
            // A line that is no pattern ignores nothing, as with git.
            let _ = builder.add_line(Some(file.clone()), line);
        }
        heeded.push(file);
    }
    if heeded.is_empty() {
        return None;
    }
    match builder.build() {
        Ok(matcher) => Some(matcher),
        // All patterns together are more than a matcher can be made of.
        Err(_) => {
            unheeded.extend(heeded.into_iter().map(|file| (file, SkipReason::TooLarge)));
            None
        }
    }
}

/// The root of the git checkout in which a folder lies.
fn checkout(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|dir| dir.join(".git").exists())
}

/// Does a folder lie in a git checkout?
pub fn in_checkout(folder: &Path) -> bool {
    checkout(folder).is_some()
}

/// The folders outside a resolved folder in which an ignore file that holds for it may stand.
pub fn folders_above(folder: &Path) -> Vec<PathBuf> {
    let Some(top) = checkout(folder) else { return Vec::new() };
    let between = folder.ancestors().skip(1).take_while(|dir| dir.starts_with(top));
    let info = top.join(EXCLUDE).parent().map(Path::to_owned);
    between.map(Path::to_owned).chain(info.filter(|info| info.is_dir())).collect()
}
