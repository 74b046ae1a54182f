//! Which file a URI means, and which URI means a file. One file has one path here, however its URI is spelled.

use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use tower_lsp::jsonrpc::Request;
use tower_lsp::ls_types::{LSPAny, Uri};

/// What may stand in the path of a URI as it is; clients compare by text, so this is what most of them write.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
/// What a URI cannot hold: a client that did not escape it is understood nevertheless. `%` stays what it is.
const ILLEGAL: &AsciiSet = &percent_encoding::CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The path of a `file:` URI without links, dots and doubled slashes; none for other schemes.
pub fn path(uri: &Uri) -> Option<PathBuf> {
    is_file(uri).then(|| resolved(&written_path(uri)))
}

/// The path that a URI of any scheme speaks of: `git:` and the like name the file that they show a version of.
pub fn any_path(uri: &Uri) -> PathBuf {
    let path = written_path(uri);
    if path.is_absolute() { resolved(&path) } else { path }
}

pub fn is_file(uri: &Uri) -> bool {
    uri.scheme().as_str().eq_ignore_ascii_case("file")
}

/// As it is written, but for escapes.
fn written_path(uri: &Uri) -> PathBuf {
    let bytes: Vec<u8> = percent_decode_str(uri.path().as_str()).collect();
    let host = uri.authority().map(|authority| authority.host().to_owned()).unwrap_or_default();
    from_bytes(&bytes, if host.eq_ignore_ascii_case("localhost") { "" } else { &host })
}

#[cfg(unix)]
fn from_bytes(bytes: &[u8], _host: &str) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn from_bytes(bytes: &[u8], host: &str) -> PathBuf {
    let text = String::from_utf8_lossy(bytes).replace('/', "\\");
    if !host.is_empty() {
        return PathBuf::from(format!("\\\\{host}{text}"));
    }
    // `/c:/…`: the slash is the URI's, and drives are written in capitals.
    let mut text =
        text.strip_prefix('\\').filter(|rest| rest.as_bytes().get(1) == Some(&b':')).unwrap_or(&text).to_owned();
    if text.as_bytes().get(1) == Some(&b':') {
        text[..1].make_ascii_uppercase();
    }
    PathBuf::from(text)
}

/// Without links as far as it exists: what is not there yet keeps its name in the folder that it is to come to.
fn resolved(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let mut missing = Vec::new();
    let mut existing = plain.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else { return plain };
        missing.push(name);
        existing = parent;
    }
}

/// The URI of a path.
pub fn of_path(path: &Path) -> Option<Uri> {
    #[cfg(unix)]
    let escaped = percent_encode(path.as_os_str().as_encoded_bytes(), PATH).to_string();
    #[cfg(not(unix))]
    let escaped = format!("/{}", percent_encode(dupi::files::show(path).as_bytes(), PATH));
    Uri::from_str(&format!("file://{escaped}")).ok()
}

/// A request whose URIs can be parsed: blanks and letters that were not escaped are. Else the whole message would be
/// refused, and a notification that is refused is lost.
pub fn repaired(request: Request) -> Request {
    let Some(params) = request.params() else { return request };
    if !has_bad_uri(params) {
        return request;
    }
    let (method, id, params) = request.into_parts();
    let mut params = params.unwrap_or_default();
    repair(&mut params);
    let request = Request::build(method).params(params);
    match id {
        Some(id) => request.id(id).finish(),
        None => request.finish(),
    }
}

/// Where the protocol has URIs in what clients send.
fn is_uri_key(key: &str) -> bool {
    matches!(key, "uri" | "rootUri" | "oldUri" | "newUri")
}

fn has_bad_uri(value: &LSPAny) -> bool {
    match value {
        LSPAny::Object(fields) => fields.iter().any(|(key, value)| match value {
            LSPAny::String(uri) if is_uri_key(key) => Uri::from_str(uri).is_err(),
            value => has_bad_uri(value),
        }),
        LSPAny::Array(values) => values.iter().any(has_bad_uri),
        _ => false,
    }
}

fn repair(value: &mut LSPAny) {
    match value {
        LSPAny::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    LSPAny::String(uri) if is_uri_key(key) && Uri::from_str(uri).is_err() => {
                        *uri = percent_encode(uri.as_bytes(), ILLEGAL).to_string();
                    }
                    value => repair(value),
                }
            }
        }
        LSPAny::Array(values) => values.iter_mut().for_each(repair),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(uri: &str) -> Uri {
        Uri::from_str(uri).expect("a URI")
    }

    #[cfg(unix)]
    #[test]
    fn all_spellings_of_a_file_are_one_path() {
        for uri in
            ["file:///no/such/a%20b.go", "file://localhost/no/such/a%20b.go", "FILE:///no//such/./x/../%61%20b.go"]
        {
            assert_eq!(path(&parsed(uri)), Some(PathBuf::from("/no/such/a b.go")), "{uri}");
        }
        assert_eq!(path(&parsed("file:///no/100%25.go")), Some(PathBuf::from("/no/100%.go")));
        assert_eq!(path(&parsed("untitled:Untitled-1")), None);
        assert_eq!(any_path(&parsed("git:/no/such/a.go?ref")), PathBuf::from("/no/such/a.go"));
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_utf8_leads_back_to_itself() {
        use std::os::unix::ffi::OsStrExt;
        let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/no/such/\xff 100%\xc3\xa9.go"));
        assert_eq!(path(&of_path(&odd).expect("a URI")), Some(odd));
    }

    #[test]
    fn a_uri_that_was_not_escaped_is_understood() {
        let params = serde_json::json!({"textDocument": {"uri": "file:///a b/ü.go", "text": "uri: a b"}});
        let request = repaired(Request::build("textDocument/didOpen").params(params).finish());
        let params = request.params().expect("params");
        assert_eq!(params["textDocument"]["uri"], "file:///a%20b/%C3%BC.go");
        assert_eq!(params["textDocument"]["text"], "uri: a b");
    }
}
