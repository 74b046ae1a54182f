//! What a message of the client says: a request, an answer, or nothing that the protocol knows. Knows no handlers.
//!
//! Whatever the bytes are, the outcome costs this message at most. The envelope is read first and its values are left as
//! they are written, so that the id of a request is known even if its parameters cannot be read.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

pub enum Incoming {
    /// A request, or a notification if it has no id.
    Request(Request),
    /// The client's answer to a request of ours.
    Answer(Response),
    /// No request, and this is what it is answered.
    Refused(Response),
    /// Nothing that may be answered, and why it is not heeded.
    Ignored(String),
}

/// Values as they are written; `None` is a key that is missing.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "written")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    method: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "written")]
    error: Option<&'a RawValue>,
}

/// `null` is a value here, and not the same as a key that is missing.
fn written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub fn parse(body: &[u8]) -> Incoming {
    let Ok(body) = std::str::from_utf8(body) else { return unreadable() };
    // A struct could also be read from an array, which in JSON-RPC is a batch: LSP has none.
    let envelope = body.trim_ascii_start().starts_with('{').then(|| serde_json::from_str::<Envelope<'_>>(body));
    match envelope {
        Some(Ok(envelope)) => envelope.incoming(),
        _ if serde_json::from_str::<IgnoredAny>(body).is_ok() => refused(Id::Null, Error::invalid_request()),
        _ => unreadable(),
    }
}

/// What is said of bytes that are no JSON, or no message at all.
pub fn unreadable() -> Incoming {
    refused(Id::Null, Error::parse_error())
}

fn refused(id: Id, error: Error) -> Incoming {
    Incoming::Refused(Response::from_error(id, error))
}

impl Envelope<'_> {
    fn incoming(&self) -> Incoming {
        // An id that is none is not repaired: the client could not tell to which request the answer belongs.
        let id = self.id.map(|id| serde_json::from_str::<Id>(id.get()).ok());
        let is_current = self.jsonrpc.is_some_and(|version| text(version).as_deref() == Some("2.0"));
        let is_answer = self.result.is_some() || self.error.is_some();
        if self.method.is_none() && is_answer {
            return match id.flatten() {
                Some(id) if is_current && id != Id::Null => Incoming::Answer(Response::from_parts(id, self.outcome())),
                _ => Incoming::Ignored("an answer without a version or an id".to_owned()),
            };
        }
        let method = self.method.and_then(text);
        match (method, id) {
            (Some(method), None) if is_current && !is_answer => self.request(method, None),
            (Some(method), Some(Some(id))) if is_current && !is_answer => self.request(method, Some(id)),
            (_, id) => refused(id.flatten().unwrap_or_default(), Error::invalid_request()),
        }
    }

    fn request(&self, method: String, id: Option<Id>) -> Incoming {
        let params = match self.params.map(|params| value(params).ok_or(params)) {
            None => None,
            // These have none. What a client writes there nevertheless must not keep it from ending the session.
            Some(_) if method == "shutdown" || method == "exit" => None,
            Some(Ok(params)) => Some(params),
            Some(Err(_)) => {
                return match id {
                    Some(id) => refused(id, Error::invalid_params("numbers or nesting beyond what can be read")),
                    None => Incoming::Ignored(format!("`{method}`, whose parameters cannot be read")),
                };
            }
        };
        match (method.as_str(), id) {
            // The protocol layer would end the session, though these are a notification and a request.
            ("exit", Some(id)) => refused(id, Error::invalid_request()),
            ("shutdown", None) => Incoming::Ignored("`shutdown` without an id".to_owned()),
            (_, id) => {
                let request = Request::build(method);
                let request = if let Some(params) = params { request.params(params) } else { request };
                let request = if let Some(id) = id { request.id(id) } else { request };
                Incoming::Request(request.finish())
            }
        }
    }

    /// What the client has answered. A request of ours ends with whatever comes: it would be waited for otherwise.
    fn outcome(&self) -> Result<Value, Error> {
        let unreadable = || Error { message: "an answer that cannot be read".into(), ..Error::internal_error() };
        match self.error.filter(|error| error.get() != "null") {
            Some(error) => {
                let error = value(error).unwrap_or_default();
                let code = error["code"].as_i64().map_or(ErrorCode::InternalError, ErrorCode::from);
                let message = error["message"].as_str().unwrap_or("no message").to_owned();
                Err(Error { code, message: message.into(), data: None })
            }
            None => self.result.map_or(Ok(Value::Null), |result| value(result).ok_or_else(unreadable)),
        }
    }
}

/// A string; nothing for any other value.
fn text(written: &RawValue) -> Option<String> {
    match value(written) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// The value that is written, nothing if its numbers are too large or its nesting too deep.
///
/// Halves of surrogate pairs become U+FFFD. JavaScript writes them when half an emoji is typed, and a document that
/// never arrives costs more than one letter.
fn value(written: &RawValue) -> Option<Value> {
    serde_json::from_str(written.get()).or_else(|_| serde_json::from_str(&with_whole_pairs(written.get()))).ok()
}

/// Valid JSON in which each escaped surrogate that is not one of a pair is replaced.
fn with_whole_pairs(json: &str) -> String {
    let mut whole = String::with_capacity(json.len());
    let mut rest = json;
    // Backslashes occur in strings only, and always before what they escape.
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                whole.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        whole.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    whole.push_str(rest);
    whole
}

/// The unit of UTF-16 that is escaped here.
fn unit(json: &str) -> Option<u16> {
    json.strip_prefix("\\u").and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_nothing_else() {
        for (json, whole) in [
            (r#""a\ud83db""#, r#""a\ufffdb""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d\ud83d\ude00\ude00""#, r#""\ufffd\ud83d\ude00\ufffd""#),
            (r#""\\ud83d\"\\\ud83d""#, r#""\\ud83d\"\\\ufffd""#),
            (r#"["\n\u00e9ü", 1]"#, r#"["\n\u00e9ü", 1]"#),
        ] {
            assert_eq!(with_whole_pairs(json), whole);
        }
    }

    #[test]
    fn an_answer_ends_its_request_whatever_it_holds() {
        for (fields, outcome) in [
            (r#""result":{"a":1}"#, Ok(serde_json::json!({"a": 1}))),
            (r#""result":1,"error":null"#, Ok(1.into())),
            (r#""error":null"#, Ok(Value::Null)),
            (r#""result":null,"error":{"code":-32601,"message":"x"}"#, Err(ErrorCode::MethodNotFound)),
            (r#""error":{"code":"x","more":1}"#, Err(ErrorCode::InternalError)),
            (r#""error":5"#, Err(ErrorCode::InternalError)),
            (r#""result":1e999"#, Err(ErrorCode::InternalError)),
        ] {
            let Incoming::Answer(answer) = parse(format!(r#"{{"jsonrpc":"2.0","id":7,{fields}}}"#).as_bytes()) else {
                panic!("{fields} is no answer")
            };
            let (id, result) = answer.into_parts();
            assert_eq!((id, result.map_err(|error| error.code)), (Id::Number(7), outcome), "{fields}");
        }
    }
}
