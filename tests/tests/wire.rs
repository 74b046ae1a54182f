//! What a client may write on the wire: no message ends the server, whatever it holds.
#![allow(clippy::print_stdout, reason = "a failure tells how to repeat it")]

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use dupi_tests::editor::{Client, Editor, PATIENCE, uri};
use dupi_tests::workspace::Workspace;
use serde_json::{Value, json};

const HOVER: &str = r#""textDocument/hover""#;

fn function(name: &str) -> String {
    format!(
        "package p\n\nfunc {name}(a []int, b int) int {{\n\tsum := 0\n\tfor i, x := range a {{\n\t\tif x > b {{\n\t\t\tsum += x * i\n\t\t\tcontinue\n\t\t}}\n\t\tif x < 0 {{\n\t\t\tsum -= x\n\t\t}}\n\t\tsum += b + i*2\n\t}}\n\treturn sum\n}}\n"
    )
}

fn two_copies() -> Workspace {
    let workspace = Workspace::new("");
    workspace.write("a.go", function("first"));
    workspace.write("b.go", function("second"));
    workspace
}

fn root(workspace: &Workspace) -> std::path::PathBuf {
    workspace.path().canonicalize().expect("a folder")
}

fn framed(body: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

/// What the server says next that is no notification of its own: the answers to `body`, and not those after it.
fn answers(editor: &mut Editor, body: &[u8]) -> Vec<(Value, i64)> {
    editor.send_bytes(&framed(body));
    let id = editor.request("dupi/nothing", json!({}));
    assert_eq!(editor.response(id)["error"]["code"], -32601, "{}", String::from_utf8_lossy(body));
    let answers = editor.forget_all();
    let answers = answers.iter().filter(|message| message.get("method").is_none());
    answers.map(|answer| (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap_or_default())).collect()
}

#[test]
fn fault_31_valid_but_odd_json_costs_one_message_and_gets_the_error_of_the_protocol() {
    const PARSE: i64 = -32700;
    const INVALID: i64 = -32600;
    const PARAMS: i64 = -32602;
    let workspace = two_copies();
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.settle();
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let none = Value::Null;
    let cases: Vec<(String, Vec<(Value, i64)>)> = vec![
        // No JSON.
        (String::new(), vec![(none.clone(), PARSE)]),
        ("\0\0".into(), vec![(none.clone(), PARSE)]),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"$/foo\"}".into(), vec![(none.clone(), PARSE)]),
        (r#"{"jsonrpc":"2.0","method":"$/foo"} x"#.into(), vec![(none.clone(), PARSE)]),
        // No message.
        ("null".into(), vec![(none.clone(), INVALID)]),
        ("17".into(), vec![(none.clone(), INVALID)]),
        (nested.clone(), vec![(none.clone(), INVALID)]),
        (format!(r#"[{{"jsonrpc":"2.0","id":5,"method":{HOVER},"params":{{}}}}]"#), vec![(none.clone(), INVALID)]),
        (r#"["2.0",5,"textDocument/hover",{}]"#.into(), vec![(none.clone(), INVALID)]),
        ("{}".into(), vec![(none.clone(), INVALID)]),
        (r#"{"jsonrpc":"2.0","id":9}"#.into(), vec![(json!(9), INVALID)]),
        // No version, or another.
        (format!(r#"{{"id":6,"method":{HOVER},"params":{{}}}}"#), vec![(json!(6), INVALID)]),
        (format!(r#"{{"jsonrpc":"1.0","id":"7","method":{HOVER}}}"#), vec![(json!("7"), INVALID)]),
        (format!(r#"{{"jsonrpc":2.0,"id":-8,"method":{HOVER}}}"#), vec![(json!(-8), INVALID)]),
        (r#"{"method":"$/foo"}"#.into(), vec![(none.clone(), INVALID)]),
        // Ids that are none.
        (format!(r#"{{"jsonrpc":"2.0","id":1.5,"method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        (format!(r#"{{"jsonrpc":"2.0","id":1e999,"method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        (format!(r#"{{"jsonrpc":"2.0","id":99999999999999999999,"method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        (format!(r#"{{"jsonrpc":"2.0","id":{{}},"method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        (format!(r#"{{"jsonrpc":"2.0","id":true,"method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        (format!(r#"{{"jsonrpc":"2.0","id":"\ud83d","method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        (format!(r#"{{"jsonrpc":"2.0","id":{nested},"method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        // Methods that are none.
        (r#"{"jsonrpc":"2.0","id":10,"method":5}"#.into(), vec![(json!(10), INVALID)]),
        (r#"{"jsonrpc":"2.0","id":11,"method":null}"#.into(), vec![(json!(11), INVALID)]),
        (r#"{"jsonrpc":"2.0","id":12,"method":"x","result":1}"#.into(), vec![(json!(12), INVALID)]),
        (r#"{"jsonrpc":"2.0","id":13,"method":"exit"}"#.into(), vec![(json!(13), INVALID)]),
        (r#"{"jsonrpc":"2.0","method":"shutdown"}"#.into(), vec![]),
        // Keys twice.
        (r#"{"jsonrpc":"2.0","method":"$/foo","method":"exit"}"#.into(), vec![(none.clone(), INVALID)]),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"id":2,"method":{HOVER}}}"#), vec![(none.clone(), INVALID)]),
        // Params that are none.
        (format!(r#"{{"jsonrpc":"2.0","id":14,"method":{HOVER},"params":"x"}}"#), vec![(json!(14), PARAMS)]),
        (format!(r#"{{"jsonrpc":"2.0","id":15,"method":{HOVER}}}"#), vec![(json!(15), PARAMS)]),
        (format!(r#"{{"jsonrpc":"2.0","id":16,"method":{HOVER},"params":[1e999]}}"#), vec![(json!(16), PARAMS)]),
        (format!(r#"{{"jsonrpc":"2.0","id":17,"method":{HOVER},"params":{nested}}}"#), vec![(json!(17), PARAMS)]),
        (
            format!(r#"{{"jsonrpc":"2.0","id":18,"method":{HOVER},"params":{{"x":"\ud83d"}}}}"#),
            vec![(json!(18), PARAMS)],
        ),
        (r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":[1e999]}"#.into(), vec![]),
        (format!(r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{nested}}}"#), vec![]),
        (r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":5}"#.into(), vec![]),
        (r#"{"jsonrpc":"2.0","method":"$/foo","params":"\udead","x":"\udead"}"#.into(), vec![]),
        // Answers are never answered.
        (r#"{"jsonrpc":"2.0","id":12345,"result":{}}"#.into(), vec![]),
        (r#"{"jsonrpc":"2.0","id":0,"result":{},"error":{"code":1,"message":"x"}}"#.into(), vec![]),
        (r#"{"jsonrpc":"2.0","id":0,"error":{"code":"x"}}"#.into(), vec![]),
        (r#"{"jsonrpc":"2.0","id":{},"error":{"code":1e999}}"#.into(), vec![]),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#.into(), vec![]),
        (format!(r#"{{"jsonrpc":"2.0","id":0,"result":{nested}}}"#), vec![]),
        (r#"{"id":0,"result":null}"#.into(), vec![]),
    ];
    for (body, expected) in cases {
        let shown: String = body.chars().take(200).collect();
        assert_eq!(answers(&mut editor, body.as_bytes()), expected, "{shown}");
    }
    let not_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/hover\",\"params\":\"\xff\"}";
    assert_eq!(answers(&mut editor, not_utf8), [(none, PARSE)]);
}

#[test]
fn fault_31_a_document_with_half_an_emoji_arrives_and_so_does_half_an_emoji_that_is_typed() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    let text = serde_json::to_string(&function("first")).expect("JSON").replace("package p", r"package p // \ud83d");
    let body = format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"{}","languageId":"go","version":1,"text":{text}}}}}}}"#,
        uri(&a)
    );
    editor.send_bytes(&framed(body.as_bytes()));
    assert_eq!(editor.published(&a, 1).len(), 1);
    // The half counts as one unit of UTF-16, as it does in the client: the comment ends with it, and the second half of
    // an emoji is typed behind it. A whole one is two units, and stays what it is.
    for (version, character, text) in [(2, 14, r"\udc00"), (3, 15, r"\ud83d\ude00"), (4, 17, r"\n")] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{}","version":{version}}},"contentChanges":[{{"range":{{"start":{{"line":0,"character":{character}}},"end":{{"line":0,"character":{character}}}}},"text":"{text}"}}]}}}}"#,
            uri(&a)
        );
        editor.send_bytes(&framed(body.as_bytes()));
    }
    let line = |diagnostics: Vec<Value>| diagnostics[0]["range"]["start"]["line"].clone();
    assert_eq!(line(editor.published(&a, 4)), 3);
    editor.settle();
    editor.forget_all();
}

#[test]
fn a_request_with_a_dollar_is_refused_and_a_notification_ignored() {
    let workspace = two_copies();
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.settle();
    let id = editor.request("$/foo", json!({}));
    assert_eq!(editor.response(id)["error"]["code"], -32601);
    assert_eq!(answers(&mut editor, br#"{"jsonrpc":"2.0","method":"$/foo"}"#), []);
}

/// Messages as editors send them; none of them ends the session or opens a folder.
fn templates(a: &str) -> Vec<String> {
    let document = json!({"uri": a, "languageId": "go", "version": 1, "text": "package p\n\nfunc f() {\n}\n"});
    let position = json!({"line": 2, "character": 1});
    let range = json!({"start": position, "end": {"line": 3, "character": 0}});
    let at = json!({"textDocument": {"uri": a}, "position": position, "range": range, "context": {"diagnostics": []}});
    let changes = json!([{"range": range, "text": "\u{1f600} \"\\"}, {"text": "package p\n"}]);
    let change = json!({"textDocument": {"uri": a, "version": 2}, "contentChanges": changes});
    let mut messages = vec![
        json!({"method": "textDocument/didOpen", "params": {"textDocument": document}}),
        json!({"method": "textDocument/didChange", "params": change}),
        json!({"method": "textDocument/didSave", "params": {"textDocument": {"uri": a}}}),
        json!({"method": "textDocument/didClose", "params": {"textDocument": {"uri": a}}}),
        json!({"method": "workspace/didChangeConfiguration", "params": {"settings": {"dupi": {"minTokens": 40}}}}),
        json!({"method": "workspace/didChangeWatchedFiles", "params": {"changes": [{"uri": a, "type": 2}]}}),
        json!({"method": "$/cancelRequest", "params": {"id": 100}}),
        json!({"method": "$/setTrace", "params": {"value": "off"}}),
        json!({"id": 0, "result": [{"minTokens": 40}]}),
        json!({"id": 1, "error": {"code": -32601, "message": "no such method"}}),
    ];
    for method in ["hover", "codeLens", "codeAction", "diagnostic"] {
        messages.push(json!({"id": 100, "method": format!("textDocument/{method}"), "params": at}));
    }
    for method in ["workspace/diagnostic", "dupi/classes", "dupi/copies", "dupi/nothing"] {
        let params = json!({"previousResultIds": [], "uri": a, "textDocument": {"uri": a}, "limit": 3});
        messages.push(json!({"id": "x", "method": method, "params": params}));
    }
    let status = json!({"command": "dupi.status", "arguments": []});
    messages.push(json!({"id": 101, "method": "workspace/executeCommand", "params": status}));
    for message in &mut messages {
        message["jsonrpc"] = json!("2.0");
    }
    messages.iter().map(Value::to_string).collect()
}

/// A piece of JSON that a client does not write, or should not.
const ODD: [&str; 22] = [
    "null",
    "true",
    "1e999",
    "-0",
    "1.5",
    "99999999999999999999",
    "-1",
    "4294967296",
    r#""\ud83d""#,
    r#""\udc00\ud800""#,
    r#""\u0000""#,
    "\"\u{202e}\"",
    "{}",
    "[]",
    "[[[[[[[[",
    r#"{"id":1}"#,
    r#""id":1,"#,
    r#""method":"x","#,
    r#""params":[],"#,
    r#""jsonrpc":"2.0","#,
    "\u{feff}",
    "\\",
];

fn mutated(random: &mut fastrand::Rng, templates: &[String]) -> Vec<u8> {
    let mut body = templates[random.usize(..templates.len())].clone().into_bytes();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..=body.len());
        let end = (at + random.usize(..20)).min(body.len());
        match random.u8(..7) {
            0 => drop(body.drain(at..end)),
            1 => body.truncate(at),
            2 => drop(body.splice(at..end, ODD[random.usize(..ODD.len())].bytes())),
            3 => body.insert(at, random.u8(..)),
            // A whole value, so that the rest stays JSON.
            4 => {
                let colons: Vec<usize> =
                    body.iter().enumerate().filter(|(_, b)| **b == b':').map(|(i, _)| i + 1).collect();
                let Some(&start) = random.choice(&colons) else { continue };
                let length = body[start..].iter().position(|b| matches!(b, b',' | b'}')).unwrap_or_default();
                drop(body.splice(start..start + length, ODD[random.usize(..ODD.len())].bytes()));
            }
            5 => {
                let other = templates[random.usize(..templates.len())].as_bytes();
                let from = random.usize(..other.len());
                body.truncate(at);
                body.extend_from_slice(&other[from..]);
            }
            _ => body = [b"[".as_slice(), &body, b"]"].concat(),
        }
    }
    body
}

/// `DUPI_SEED` repeats a run.
#[test]
fn fault_31_thousands_of_mutated_messages_leave_the_server_answering() {
    let seed = std::env::var("DUPI_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("DUPI_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let templates = templates(&uri(&a));
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    for _ in 0..50 {
        let mut last = Vec::new();
        for _ in 0..100 {
            last = mutated(&mut random, &templates);
            editor.send_bytes(&framed(&last));
        }
        let id = editor.request("dupi/nothing", json!({}));
        assert_eq!(editor.response(id)["error"]["code"], -32601, "last: {}", String::from_utf8_lossy(&last));
        editor.forget_all();
    }
    // It still finds what it should, whatever it was told before.
    let defaults = json!({"settings": {"dupi": {}}});
    editor.notify("workspace/didChangeConfiguration", defaults);
    editor.close(&a);
    editor.settle();
    editor.forget_all();
    editor.open(&a, &function("first"));
    assert_eq!(editor.published_uri(&uri(&a), |params| params["diagnostics"] != json!([])).len(), 1);
    editor.settle();
    editor.forget_all();
}

/// It is served for as long as it takes something; `send` in `wire.rs` has tests of that.
#[test]
fn a_client_that_neither_reads_nor_closes_is_dropped_after_a_while() {
    let workspace = two_copies();
    let mut command = dupi_tests::binary::command(workspace.path(), workspace.path(), &["--client-patience", "1"]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("runs");
    let mut stdin = server.stdin.take().expect("a pipe");
    let (stdout, dropped) = (server.stdout.take(), Instant::now() + PATIENCE);
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}"#;
    stdin.write_all(&framed(initialize.as_bytes())).expect("sent");
    // More than fits into any pipe; the server stops to read when it cannot write, so this stops, too.
    let request = framed(br#"{"jsonrpc":"2.0","id":1,"method":"dupi/nothing"}"#);
    let writer = std::thread::spawn(move || {
        while stdin.write_all(&request).is_ok() {}
        stdin
    });
    let status = loop {
        if let Some(status) = server.try_wait().expect("a child") {
            break status;
        }
        assert!(Instant::now() < dropped, "it is still there");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status.code(), Some(1));
    // Both pipes were open until here.
    drop((stdout, writer.join()));
}
