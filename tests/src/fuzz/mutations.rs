//! What can happen to a file: bytes that nobody expects, parts of others, other line ends, other names.

use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::corpus::{Files, pick, sources};

/// No file grows beyond this: it would only make runs slow.
const MAX_BYTES: usize = 60_000;

/// Changes a file, or its name. Returns what was done.
pub fn mutate(rng: &mut Rng, files: &mut Files) -> String {
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let Some(path) = pick(rng, &paths).cloned() else {
        let source = &sources()[rng.usize(0..sources().len())];
        let path = super::corpus::new_path(rng, &source.extension);
        files.insert(path.clone(), source.text.clone().into_bytes());
        return format!("add {}", path.display());
    };
    if rng.u8(0..12) == 0 {
        let to = odd_name(rng, &path);
        if let Some(bytes) = files.remove(&path) {
            files.insert(to.clone(), bytes);
        }
        return format!("rename {} to {}", path.display(), to.display());
    }
    let other = pick(rng, &paths).and_then(|path| files.get(path)).cloned().unwrap_or_default();
    let before = files.get(&path).cloned().unwrap_or_default();
    let (what, mut bytes) = content(rng, before, &other);
    bytes.truncate(MAX_BYTES);
    files.insert(path.clone(), bytes);
    format!("{what} {}", path.display())
}

/// Some bytes, made into others.
pub fn content(rng: &mut Rng, mut bytes: Vec<u8>, other: &[u8]) -> (&'static str, Vec<u8>) {
    let at = rng.usize(0..=bytes.len());
    let what = match rng.u8(0..18) {
        0 => {
            bytes.truncate(at);
            "truncate"
        }
        1 | 2 => {
            let part = part(rng, other);
            bytes.splice(at..at, part);
            "splice bytes into"
        }
        3 | 4 => {
            let lines: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
            let from = rng.usize(0..=lines.len());
            let n = rng.usize(0..30).min(lines.len() - from);
            let at = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
            bytes.splice(at..at, lines[from..from + n].concat());
            "splice lines into"
        }
        5 | 6 => {
            for _ in 0..rng.usize(1..4) {
                let brackets: Vec<usize> = (0..bytes.len()).filter(|&i| b"(){}[]<>".contains(&bytes[i])).collect();
                if let Some(at) = pick(rng, brackets) {
                    bytes.remove(at);
                }
            }
            "delete brackets of"
        }
        7 => {
            let odd: [&[u8]; 12] = [
                b"\0",
                b"\xff",
                b"\xc3",
                b"\xed\xa0\x80",
                b"\x1b[31m",
                b"\x07",
                b"\x0c",
                "\u{2028}".as_bytes(),
                "\u{202e}".as_bytes(),
                "\u{200d}".as_bytes(),
                "\u{feff}".as_bytes(),
                "\u{1f600}".as_bytes(),
            ];
            for _ in 0..rng.usize(1..3) {
                let at = rng.usize(0..=bytes.len());
                bytes.splice(at..at, odd[rng.usize(0..odd.len())].iter().copied());
            }
            "put odd bytes into"
        }
        8 => {
            let open: [&str; 14] =
                ["\"", "'", "`", "/*", "*/", "\"\"\"", "<<EOF\n", "#{", "${", "//", "--[[", "<!--", "?>", "\\"];
            bytes.splice(at..at, open[rng.usize(0..open.len())].bytes());
            "open a literal in"
        }
        9 => {
            let n = rng.usize(100..2_000);
            bytes.splice(at..at, b"a = b + 1; ".repeat(n));
            "put a long line into"
        }
        10 => {
            let nests =
                [("(", ")"), ("{", "}"), ("[", "]"), ("if (a) {\n", "}\n"), ("f(`${\n", ""), ("<a b={<c>\n", "")];
            let (open, close) = nests[rng.usize(0..nests.len())];
            let n = [5, 60, 300, 2_000][rng.usize(0..4)];
            bytes.splice(at..at, format!("\n{}\n{}\n", open.repeat(n), close.repeat(n)).into_bytes());
            "nest deeply in"
        }
        11 => {
            let ends = rng.u8(0..4);
            let line_feeds = bytes.iter().filter(|byte| **byte == b'\n').count();
            let mut out = Vec::with_capacity(bytes.len() + line_feeds);
            for byte in bytes {
                match (byte, ends) {
                    (b'\n', 0) => out.extend(b"\r\n"),
                    (b'\n', 1) => out.push(b'\r'),
                    (b'\n', 2) if rng.bool() => out.extend(b"\r\n"),
                    (b'\n', 2) if rng.u8(0..4) == 0 => out.push(b'\r'),
                    _ => out.push(byte),
                }
            }
            if ends == 3 {
                out.truncate(out.trim_ascii_end().len());
            }
            bytes = out;
            "change the line ends of"
        }
        12 => {
            bytes.splice(0..0, "\u{feff}".bytes());
            "put a byte order mark into"
        }
        13 => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            bytes = match rng.u8(0..3) {
                0 => "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
                1 => "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect(),
                _ => text.replace("name", "café").chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect(),
            };
            "encode"
        }
        14 => {
            let contents: [&[u8]; 3] = [b"", b" \n\t\r\n", b"\n"];
            bytes = contents[rng.usize(0..contents.len())].to_vec();
            "empty"
        }
        15 => {
            let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            let at = rng.usize(0..lines.len().max(1));
            let n = rng.usize(0..6).min(lines.len() - at.min(lines.len()));
            let rows = lines.get(at..at + n).unwrap_or_default().concat().repeat(rng.usize(2..12));
            let at: usize = lines.iter().take(at).map(|line| line.len()).sum();
            bytes.splice(at..at, rows);
            "repeat lines of"
        }
        16 => {
            let marks: [&[u8]; 5] = [
                b"// dupi:ignore-start\n",
                b"# dupi:ignore-end\n",
                b"// dupi:ignore-file\n",
                b"// Code generated by a tool. DO NOT EDIT.\n",
                b"#!/usr/bin/env python3\n",
            ];
            let at = if rng.bool() { 0 } else { at };
            bytes.splice(at..at, marks[rng.usize(0..marks.len())].iter().copied());
            "mark"
        }
        _ => {
            let part = part(rng, &bytes);
            bytes.splice(at..at, part);
            "copy within"
        }
    };
    (what, bytes)
}

fn part(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let from = rng.usize(0..=bytes.len());
    let n = rng.usize(0..2_000).min(bytes.len() - from);
    bytes[from..from + n].to_vec()
}

/// Another name with the same ending, or with that of another language.
fn odd_name(rng: &mut Rng, path: &Path) -> PathBuf {
    let mut stems = vec![
        "a b",
        "ü",
        "-x",
        "--check",
        "a'b",
        "x%20y",
        "::error",
        "$HOME",
        "a.b.c",
        "x_test",
        "test",
        "zz.gen",
        "CON",
        "\u{202e}cod",
        ".hidden",
        "{a,b}",
        "[a]",
        "!a",
    ];
    // Windows has no such names.
    if cfg!(unix) {
        stems.extend(["a\nb", "q\"q", "back\\slash", "a*", "<b>", "tab\t"]);
    }
    if rng.u8(0..16) == 0
        && let Some(name) = name_without_text()
    {
        return name;
    }
    let folders = ["", "", "core", "tests", "vendor", "node_modules", "ä ö", ".git", "x.d", "build"];
    let extension = match rng.u8(0..4) {
        0 => crate::inputs::EXTENSIONS[rng.usize(0..crate::inputs::EXTENSIONS.len())].to_owned(),
        _ => path.extension().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let name = format!("{}.{extension}", stems[rng.usize(0..stems.len())]);
    Path::new(folders[rng.usize(0..folders.len())]).join(name)
}

/// A name that is no UTF-8, where there can be one.
fn name_without_text() -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStringExt;
        Some(std::ffi::OsString::from_vec(b"no\xfftext.py".to_vec()).into())
    }
    #[cfg(not(target_os = "linux"))]
    None
}
