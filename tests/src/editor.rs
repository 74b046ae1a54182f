//! A small editor that speaks with the real binary. What it was told and did not look at fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary;

/// A machine that is busy with other tests is slow; what takes longer never comes.
/// The server reads files at low priority, so beside other programs on one core it gets a fiftieth of it.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// What an editor can be like.
pub struct Client {
    pub capabilities: Value,
    pub folders: Vec<PathBuf>,
    pub options: Value,
    /// What it answers when it is asked for its settings.
    pub settings: Value,
    /// Whether it answers what it is asked at all.
    pub answers: bool,
    pub arguments: Vec<String>,
    pub process_id: Option<u32>,
    /// Whether it closes the server's standard error, so that every line written there fails.
    pub closes_stderr: bool,
    /// Variables that the server gets.
    pub environment: Vec<(&'static str, PathBuf)>,
}

impl Client {
    /// One that is pushed diagnostics and can do little else.
    pub fn simple(folder: &Path) -> Client {
        let capabilities =
            json!({"textDocument": {"publishDiagnostics": {"relatedInformation": true, "versionSupport": true}}});
        Client {
            capabilities,
            folders: vec![folder.to_owned()],
            options: Value::Null,
            settings: json!({}),
            answers: true,
            arguments: Vec::new(),
            process_id: None,
            closes_stderr: false,
            environment: Vec::new(),
        }
    }

    /// One that can do what Visual Studio Code can.
    pub fn rich(folder: &Path) -> Client {
        let capabilities = json!({
            "workspace": {
                "applyEdit": true, "workspaceFolders": true, "configuration": true,
                "workspaceEdit": {"documentChanges": true},
                "didChangeConfiguration": {"dynamicRegistration": true},
                "didChangeWatchedFiles": {"dynamicRegistration": true},
                "codeLens": {"refreshSupport": true}, "diagnostics": {"refreshSupport": true},
            },
            "textDocument": {
                "publishDiagnostics": {"relatedInformation": true, "versionSupport": true, "dataSupport": true},
                "diagnostic": {"dynamicRegistration": true, "relatedInformation": true},
                "hover": {"contentFormat": ["markdown", "plaintext"]},
                "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
            },
            "window": {"workDoneProgress": true, "showDocument": {"support": true}},
            "general": {"positionEncodings": ["utf-16", "utf-32", "utf-8"]},
        });
        Client { capabilities, ..Client::simple(folder) }
    }
}

pub struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<Value>,
    /// What came and was not looked at yet.
    kept: Vec<Value>,
    /// Methods of which nobody need look at what comes.
    forgotten: BTreeSet<String>,
    /// What the server has asked for, by method.
    pub asked: BTreeMap<String, Vec<Value>>,
    /// How far the server said that it is.
    status: Value,
    settings: Value,
    answers: bool,
    /// Method and id of what the server has asked for and was not answered.
    unanswered: Vec<(String, Value)>,
    n_requests: i64,
    pub initialized: Value,
    pub cache: TempDir,
    ended: bool,
}

impl Editor {
    pub fn start(client: Client) -> Editor {
        let cache = tempfile::tempdir().expect("a temporary folder");
        Editor::start_with(client, cache)
    }

    /// Starts the server with the indexes that are in `cache`.
    pub fn start_with(client: Client, cache: TempDir) -> Editor {
        let folder = client.folders.first().cloned().unwrap_or_else(std::env::temp_dir);
        let arguments: Vec<&str> = client.arguments.iter().map(String::as_str).collect();
        let mut command = binary::command(&folder, cache.path(), &arguments);
        let stderr = if client.closes_stderr { Stdio::piped() } else { Stdio::null() };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).envs(client.environment);
        let mut child = command.spawn().expect("the binary runs");
        drop(child.stderr.take());
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, incoming) = channel();
        thread::spawn(move || read_all(stdout, |message| sender.send(message).is_ok()));
        let mut editor = Editor {
            child,
            stdin,
            incoming,
            kept: Vec::new(),
            forgotten: BTreeSet::new(),
            asked: BTreeMap::new(),
            status: Value::Null,
            settings: client.settings,
            answers: client.answers,
            unanswered: Vec::new(),
            n_requests: 0,
            initialized: Value::Null,
            cache,
            ended: false,
        };
        let folders: Vec<Value> = client
            .folders
            .iter()
            .map(|path| json!({"uri": uri(path), "name": path.file_name().map(|name| name.to_string_lossy())}))
            .collect();
        editor.initialized = editor.call(
            "initialize",
            json!({
                "processId": client.process_id,
                "rootUri": client.folders.first().map(|path| uri(path)),
                "workspaceFolders": folders,
                "capabilities": client.capabilities,
                "initializationOptions": client.options,
            }),
        );
        editor.notify("initialized", json!({}));
        editor
    }

    // ---- to the server

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("an open pipe");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request, and does not wait.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.n_requests += 1;
        let id = self.n_requests;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
        id
    }

    /// The whole answer to a request.
    pub fn response(&mut self, id: i64) -> Value {
        self.take(&format!("the answer to request {id}"), |message| {
            message.get("method").is_none() && message["id"] == id
        })
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let mut response = self.response(id);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].take()
    }

    pub fn open(&mut self, path: &Path, text: &str) {
        let language = path.extension().map_or_else(String::new, |extension| extension.to_string_lossy().into_owned());
        self.open_uri(&uri(path), &language, text);
    }

    pub fn open_uri(&mut self, uri: &str, language: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces the whole text.
    pub fn replace(&mut self, path: &Path, version: i32, text: &str) {
        self.change(&uri(path), version, json!([{"text": text}]));
    }

    pub fn change(&mut self, uri: &str, version: i32, changes: Value) {
        let document = json!({"uri": uri, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    pub fn save(&mut self, path: &Path) {
        self.notify("textDocument/didSave", json!({"textDocument": {"uri": uri(path)}}));
    }

    pub fn close(&mut self, path: &Path) {
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri(path)}}));
    }

    // ---- from the server

    /// The first message that is meant, whenever it came or comes.
    pub fn take(&mut self, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.kept.iter().position(&is_meant) {
                return self.kept.remove(at);
            }
            assert!(self.hear(end.saturating_duration_since(Instant::now())), "no {what}; there are {:#?}", self.kept);
        }
    }

    /// Takes in one message; false if none comes, or none will.
    fn hear(&mut self, patience: Duration) -> bool {
        let message = match self.incoming.recv_timeout(patience) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        };
        match (message.get("method").and_then(Value::as_str).map(str::to_owned), message.get("id").cloned()) {
            (Some(method), Some(id)) => {
                match self.answers {
                    true => self.answer(&method, &id),
                    false => self.unanswered.push((method.clone(), id)),
                }
                self.asked.entry(method).or_default().push(message["params"].clone());
            }
            (Some(method), None) if method == "dupi/status" => self.status = message["params"].clone(),
            _ => self.kept.push(message),
        }
        true
    }

    fn answer(&mut self, method: &str, id: &Value) {
        let result = match method {
            "workspace/configuration" => json!([self.settings]),
            "workspace/applyEdit" => json!({"applied": true}),
            "window/showDocument" => json!({"success": true}),
            _ => Value::Null,
        };
        // It may be gone already.
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        if let Some(stdin) = &mut self.stdin {
            let _ = write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).and_then(|()| stdin.flush());
        }
    }

    /// Answers what the server has asked for until now, and from now on.
    pub fn answer_at_last(&mut self) {
        self.answers = true;
        for (method, id) in std::mem::take(&mut self.unanswered) {
            self.answer(&method, &id);
        }
    }

    /// Waits until the server has nothing to do, and says so: how far it is then.
    pub fn settle(&mut self) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let is_quiet = !self.hear(Duration::from_millis(100));
            if is_quiet && self.is_idle() {
                // On a slow machine it may not have read yet what it was sent last. It answers in order.
                let status = self.call("workspace/executeCommand", json!({"command": "dupi.status"}));
                if status["state"] == "idle" {
                    return status;
                }
            }
            let is_running = self.child.try_wait().expect("a child").is_none();
            assert!(is_running && Instant::now() < end, "never idle: {}", self.status);
        }
    }

    /// Whether the server has said that it has nothing to do, in the messages taken in until now.
    pub fn is_idle(&self) -> bool {
        self.status["state"] == "idle"
    }

    /// The diagnostics of a file that were published last, for that version or a later one.
    pub fn published(&mut self, path: &Path, version: i32) -> Vec<Value> {
        self.published_uri(&uri(path), |params| params["version"].as_i64() >= Some(i64::from(version)))
    }

    /// The same for a URI, with a condition on what is published.
    pub fn published_uri(&mut self, uri: &str, is_meant: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut last = self.take(&format!("diagnostics of {uri}"), |message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && is_meant(&message["params"])
        });
        self.kept.retain(|message| {
            let is_later = message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri;
            if is_later && is_meant(&message["params"]) {
                last = message.clone();
            }
            !is_later
        });
        last["params"]["diagnostics"].as_array().cloned().expect("a list")
    }

    /// All diagnostics that were published and nobody looked at yet, the last of each document.
    pub fn take_published(&mut self) -> BTreeMap<String, Vec<Value>> {
        while self.hear(Duration::from_millis(20)) {}
        let is_meant = |message: &mut Value| message["method"] == "textDocument/publishDiagnostics";
        let published = self.kept.extract_if(.., is_meant).map(|message| {
            let params = &message["params"];
            (
                params["uri"].as_str().unwrap_or_default().into(),
                params["diagnostics"].as_array().cloned().expect("a list"),
            )
        });
        published.collect()
    }

    /// The diagnostics of a file, asked for.
    pub fn pulled(&mut self, path: &Path) -> Vec<Value> {
        let report = self.call("textDocument/diagnostic", json!({"textDocument": {"uri": uri(path)}}));
        assert_eq!(report["kind"], "full", "{report}");
        report["items"].as_array().cloned().expect("a list")
    }

    /// Throws away what nobody asked for, and does not mind if more of it comes.
    pub fn forget(&mut self, method: &str) {
        while self.hear(Duration::from_millis(50)) {}
        self.kept.retain(|message| message["method"] != method);
        self.forgotten.insert(method.to_owned());
    }

    /// Throws away all that came and nobody looked at, and gives it back.
    pub fn forget_all(&mut self) -> Vec<Value> {
        while self.hear(Duration::from_millis(20)) {}
        std::mem::take(&mut self.kept)
    }

    // ---- the end

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Closes the pipe to the server.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the server's process.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.ended = true;
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Ends it as an editor should, and gives back where the indexes are.
    pub fn end(mut self) -> TempDir {
        self.finish();
        std::mem::replace(&mut self.cache, tempfile::tempdir().expect("a temporary folder"))
    }

    fn finish(&mut self) {
        self.call("shutdown", Value::Null);
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
        let status = self.wait(PATIENCE).expect("the server ends");
        assert!(status.success(), "{status}");
        while self.hear(PATIENCE) {}
        let is_chatter = |message: &Value| message["method"] == "window/logMessage" && message["params"]["type"] == 3;
        self.kept.retain(|message| !is_chatter(message));
        self.kept.retain(|message| !message["method"].as_str().is_some_and(|method| self.forgotten.contains(method)));
        assert!(self.kept.is_empty(), "nobody looked at {:#?}", self.kept);
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if !self.ended && !thread::panicking() {
            self.finish();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Calls `each` for every message; whatever is no message fails.
fn read_all(stdout: ChildStdout, each: impl Fn(Value) -> bool) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut length = None;
        loop {
            let mut line = String::new();
            match stdout.read_line(&mut line) {
                Ok(n) if n > 0 => {}
                _ => return,
            }
            if line == "\r\n" {
                break;
            }
            let value = line.trim_end().strip_prefix("Content-Length: ");
            length = Some(value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no header: {line:?}")));
        }
        let mut body = vec![0; length.expect("a length")];
        if stdout.read_exact(&mut body).is_err() || !each(serde_json::from_slice(&body).expect("JSON")) {
            return;
        }
    }
}

/// The URI of a path, as most editors write it.
pub fn uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(*byte as char),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The copies in a file, as the server and a check both have them: class, kind, and from where to where, counted from 0.
pub type Told = BTreeSet<(String, String, [u64; 4])>;

/// A diagnostic as a copy.
pub fn diagnosed(diagnostic: &Value) -> (String, String, [u64; 4]) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |end: &str, what: &str| diagnostic["range"][end][what].as_u64().unwrap_or(u64::MAX);
    let place =
        [number("start", "line"), number("start", "character"), number("end", "line"), number("end", "character")];
    (text(&diagnostic["data"]["class"]), text(&diagnostic["code"]), place)
}

/// The copies that a check has found, by file.
pub fn checked(report: &Value) -> BTreeMap<String, Told> {
    let mut by_file: BTreeMap<String, Told> = BTreeMap::new();
    for class in report["classes"].as_array().expect("a list") {
        for copy in class["copies"].as_array().expect("a list") {
            let number = |key: &str| copy[key].as_u64().expect("a number") - 1;
            let place = [number("startLine"), number("startColumn"), number("endLine"), number("endColumn")];
            let (id, kind) = (class["id"].as_str().unwrap_or_default(), class["kind"].as_str().unwrap_or_default());
            by_file.entry(copy["path"].as_str().expect("a path").to_owned()).or_default().insert((
                id.into(),
                kind.into(),
                place,
            ));
        }
    }
    by_file
}
