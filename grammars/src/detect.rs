//! Which language a file is written in: by its name, else by its `#!` line.

use std::path::Path;

use crate::{LANGUAGES, Language};

/// `first` is the start of the file's content, as much of it as is at hand; it is looked at only if the name says nothing.
pub fn detect(path: &Path, first: &[u8]) -> Option<&'static Language> {
    by_path(path).or_else(|| by_shebang(first))
}

/// By whole name or extension alone. Files whose names say nothing may still have a `#!` line.
pub fn by_path(path: &Path) -> Option<&'static Language> {
    // A name need not be UTF-8 for its extension to say enough.
    let name = path.file_name()?.to_string_lossy();
    if let Some(language) = LANGUAGES.iter().find(|language| language.file_names.contains(&name.as_ref())) {
        return Some(language);
    }
    let extension = path.extension()?.to_str()?;
    let exact = LANGUAGES.iter().find(|language| language.extensions.contains(&extension));
    exact
        .or_else(|| {
            let lower = extension.to_ascii_lowercase();
            LANGUAGES.iter().find(|language| language.extensions.contains(&lower.as_str()))
        })
        .copied()
}

fn by_shebang(first: &[u8]) -> Option<&'static Language> {
    let line = first.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let mut program = words.next()?.rsplit('/').next()?;
    if program == "env" {
        program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    }
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    LANGUAGES.iter().find(|language| language.shebangs.contains(&program) || language.shebangs.contains(&bare)).copied()
}
