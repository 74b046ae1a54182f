//! The language server as an editor sees it: the real binary over standard input and output.

use std::time::{Duration, Instant};

use dupi_tests::binary::status_of;
use dupi_tests::editor::{Client, Editor, PATIENCE, uri};
use dupi_tests::inputs::{ABORT, STAGED, many_files, numbered};
use dupi_tests::workspace::Workspace;
use serde_json::{Value, json};

/// A function of some lines, with a name.
fn function(name: &str) -> String {
    format!(
        "func {name}(a []int, b int) int {{\n\tsum := 0\n\tfor i, x := range a {{\n\t\tif x > b {{\n\t\t\tsum += x * i\n\t\t\tcontinue\n\t\t}}\n\t\tif x < 0 {{\n\t\t\tsum -= x\n\t\t}}\n\t\tsum += b + i*2\n\t}}\n\treturn sum\n}}\n"
    )
}

fn file(name: &str) -> String {
    format!("package p\n\n{}", function(name))
}

fn two_copies() -> Workspace {
    let workspace = Workspace::new("");
    workspace.write("a.go", file("first"));
    workspace.write("b.go", file("second"));
    workspace
}

fn root(workspace: &Workspace) -> std::path::PathBuf {
    workspace.path().canonicalize().expect("a folder")
}

#[test]
fn an_open_file_is_told_its_copies_and_an_edit_updates_the_others() {
    let workspace = two_copies();
    let root = root(&workspace);
    let (a, b) = (root.join("a.go"), root.join("b.go"));
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    editor.open(&a, &file("first"));
    let found = editor.published(&a, 1);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["range"], json!({"start": {"line": 2, "character": 0}, "end": {"line": 15, "character": 1}}));
    assert_eq!(
        (&found[0]["source"], &found[0]["code"], &found[0]["severity"]),
        (&json!("dupi"), &json!("renamed"), &json!(3))
    );
    assert_eq!(found[0]["message"], "14 lines duplicated in 1 other place: b.go:3");
    assert_eq!(found[0]["relatedInformation"][0]["location"]["uri"], uri(&b));
    editor.open(&b, &file("second"));
    assert_eq!(editor.published(&b, 1).len(), 1);
    // What is not saved counts.
    editor.replace(&b, 2, "package p\n");
    assert_eq!(editor.published(&b, 2).len(), 0);
    assert_eq!(editor.published(&a, 1).len(), 0, "the other file is told, too");
    // Closed without saving: what is on disk counts again.
    editor.close(&b);
    assert_eq!(editor.published(&a, 1).len(), 1);
}

/// The moment that counts: somebody fixes a bug in one of two copies.
#[test]
fn a_bug_that_is_fixed_in_one_of_two_copies_leaves_both_marked() {
    let search = "\tsum := 0\n\tfor _, y := range a {\n\t\tif y == b {\n\t\t\treturn y + 1\n\t\t}\n\t}\n";
    let file = |name: &str| file(name).replace("\tsum := 0\n", search);
    let workspace = Workspace::new("");
    workspace.write("a.go", file("first"));
    workspace.write("b.go", file("second"));
    let root = root(&workspace);
    let (a, b) = (root.join("a.go"), root.join("b.go"));
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    editor.open(&a, &file("first"));
    editor.open(&b, &file("second"));
    let before = [editor.published(&a, 1), editor.published(&b, 1)];
    let fixed = file("second").replace("sum -= x\n", "sum -= x * b\n\t\t\tcontinue\n");
    editor.replace(&b, 2, &fixed);
    for (path, version, last_line) in [(&b, 2, 21), (&a, 1, 20)] {
        let found = editor.published(path, version);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0]["code"], "near");
        let whole = json!({"start": {"line": 2, "character": 0}, "end": {"line": last_line, "character": 1}});
        assert_eq!(found[0]["range"], whole);
    }
    let document = json!({"uri": uri(&a)});
    let lenses = editor.call("textDocument/codeLens", json!({"textDocument": document}));
    assert_eq!(lenses[0]["command"]["title"], "⧉ 1 copy · 19 lines · near");
    let hover = json!({"textDocument": document, "position": {"line": 2, "character": 3}});
    let shown = editor.call("textDocument/hover", hover)["contents"]["value"].to_string();
    assert!(shown.contains("first → second") && shown.contains("only there * b continue"), "{shown}");
    // Undone: all is as it was.
    editor.replace(&b, 3, &file("second"));
    assert_eq!([editor.published(&a, 1), editor.published(&b, 3)], before);
}

#[test]
fn a_file_that_changes_on_disk_is_noticed() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut editor = Editor::start(Client::simple(&root));
    assert_eq!(editor.settle()["files"], 2);
    editor.open(&a, &file("first"));
    assert_eq!(editor.published(&a, 1).len(), 1);
    std::fs::remove_file(root.join("b.go")).expect("removed");
    assert_eq!(editor.published(&a, 1).len(), 0);
    workspace.write("c/d.go", file("third"));
    assert_eq!(editor.published(&a, 1)[0]["message"], "14 lines duplicated in 1 other place: c/d.go:3");
}

/// The server decides anew where each document counts while the folder that they lie in goes: whichever document it is
/// just looking at must still count.
#[test]
fn open_files_count_even_if_they_go_while_the_server_asks_where_they_belong() {
    const DOCUMENTS: usize = 150;
    let workspace = Workspace::new("");
    workspace.write("work/a.go", file("first"));
    let root = root(&workspace).join("work");
    let (a, folder, away) = (root.join("a.go"), root.join("src"), root.with_file_name("away"));
    let name = |i: usize| folder.join(format!("f{i}.go"));
    let n_others = format!("14 lines duplicated in {DOCUMENTS} other places");
    for round in 0..4 {
        for i in 0..DOCUMENTS {
            workspace.write(&format!("work/src/f{i}.go"), file("second"));
        }
        let mut editor = Editor::start(Client::rich(&root));
        for i in 0..DOCUMENTS {
            editor.open(&name(i), &file("second"));
        }
        let message = editor.pulled(&a)[0]["message"].clone();
        assert!(message.as_str().is_some_and(|message| message.starts_with(&n_others)), "{message}");
        workspace.write("work/.gitignore", "nothing\n");
        let changed = |path: &std::path::Path| json!({"changes": [{"uri": uri(path), "type": 2}]});
        editor.notify("workspace/didChangeWatchedFiles", changed(&root.join(".gitignore")));
        // Each time at another moment of what it does then.
        std::thread::sleep(Duration::from_millis(20 * round));
        std::fs::rename(&folder, &away).expect("renamed");
        editor.notify("workspace/didChangeWatchedFiles", changed(&folder));
        editor.settle();
        let message = editor.pulled(&a)[0]["message"].clone();
        assert!(message.as_str().is_some_and(|message| message.starts_with(&n_others)), "{message}");
        editor.forget("$/progress");
        editor.end();
        std::fs::remove_dir_all(&away).expect("removed");
    }
}

/// What a client is told first of a document, and whether the server said before that it was done.
fn first_published(editor: &mut Editor, path: &std::path::Path) -> (Vec<Value>, bool) {
    let told = editor.take("diagnostics", |message| {
        message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri(path)
    });
    (told["params"]["diagnostics"].as_array().cloned().expect("a list"), editor.is_idle())
}

#[test]
fn nothing_is_published_before_the_folders_are_known() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    // One that is asked for its settings and does not answer: the folders wait for that.
    let mut client = Client { answers: false, ..Client::simple(&root) };
    client.capabilities["workspace"] = json!({"configuration": true});
    let mut editor = Editor::start(client);
    editor.open(&a, &file("first"));
    editor.open_uri("untitled:Untitled-1", "go", &file("third"));
    let (told, was_idle) = first_published(&mut editor, &a);
    assert!(told.len() == 1 && !was_idle, "idle: {was_idle}, {told:?}");
    let told = editor.take("diagnostics", |message| message["params"]["uri"] == "untitled:Untitled-1");
    assert_ne!(told["params"]["diagnostics"], json!([]));
    editor.settle();
    editor.forget("textDocument/publishDiagnostics");
}

/// An index of yesterday, or one that was interrupted, knows some files: enough to say where a copy is, and not that
/// there is none.
#[test]
fn no_document_is_clean_before_all_files_were_looked_at() {
    let workspace = many_files(300);
    let root = root(&workspace);
    let a = root.join("a.go");
    workspace.write("a.go", file("first"));
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    let cache = editor.end();
    workspace.write("z/b.go", file("second"));
    (300..600).for_each(|i| drop(workspace.write(&format!("n{}/f{i}.go", i % 50), numbered(i))));
    let mut editor = Editor::start_with(Client::simple(&root), cache);
    editor.open(&a, &file("first"));
    let asked = json!({"textDocument": {"uri": uri(&a)}});
    let copies = loop {
        match editor.call("dupi/copies", asked.clone()) {
            Value::Null => std::thread::sleep(Duration::from_millis(1)),
            copies => break copies,
        }
    };
    assert_eq!(copies["copies"].as_array().map(Vec::len), Some(1), "{copies}");
    let (told, was_idle) = first_published(&mut editor, &a);
    assert!(told.len() == 1 && !was_idle, "idle: {was_idle}, {told:?}");
    editor.settle();
    editor.forget("textDocument/publishDiagnostics");
}

#[test]
fn who_pulls_waits_for_the_first_index_and_is_pushed_nothing() {
    let workspace = two_copies();
    let root = root(&workspace);
    let mut editor = Editor::start(Client::rich(&root));
    editor.open(&root.join("a.go"), &file("first"));
    assert_eq!(editor.pulled(&root.join("a.go")).len(), 1);
    assert_eq!(editor.pulled(&root.join("b.go")).len(), 1, "a file that is not open");
    let text_document = json!({"uri": uri(&root.join("a.go"))});
    let id = editor.call("textDocument/diagnostic", json!({"textDocument": text_document}))["resultId"].clone();
    let again = editor.call("textDocument/diagnostic", json!({"textDocument": text_document, "previousResultId": id}));
    assert_eq!(again, json!({"kind": "unchanged", "resultId": id}));
    let status = editor.settle();
    assert_eq!((&status["files"], &status["classes"]), (&json!(2), &json!(1)));
    assert_eq!(editor.asked["client/registerCapability"].len(), 1);
    editor.forget("$/progress");
}

/// Each edit appends a number; a request after each edit must see all of them.
#[test]
fn edits_and_requests_are_taken_in_the_order_in_which_they_came() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut editor = Editor::start(Client::rich(&root));
    // Before, an answer waits for the index, and then sees all that came meanwhile.
    editor.settle();
    editor.open(&a, "package p\n");
    let mut asked = Vec::new();
    for round in 0..1000 {
        // The copy moves down by a line with each edit.
        let text = if round == 0 { format!("\n{}", function("first")) } else { "\n".to_owned() };
        let at = json!({"line": 1, "character": 0});
        editor.change(&uri(&a), round + 2, json!([{"range": {"start": at, "end": at}, "text": text}]));
        let id = editor.request("textDocument/diagnostic", json!({"textDocument": {"uri": uri(&a)}}));
        if round % 7 == 3 {
            editor.notify("$/cancelRequest", json!({"id": id}));
        }
        asked.push((round, id));
    }
    for (round, id) in asked {
        let answer = editor.response(id);
        match answer.get("error") {
            Some(error) => assert_eq!((error["code"].as_i64(), round % 7), (Some(-32800), 3), "{answer}"),
            None => assert_eq!(answer["result"]["items"][0]["range"]["start"]["line"], round + 2, "{answer}"),
        }
    }
    editor.settle();
    editor.forget("$/progress");
}

#[test]
fn the_server_ends_when_the_pipe_is_closed() {
    let workspace = two_copies();
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.settle();
    editor.hang_up();
    assert!(editor.wait(PATIENCE).is_some());
}

/// Fault 16: whatever is under way, and nothing of it stays behind.
#[test]
fn a_server_that_is_indexing_ends_with_its_pipe_and_lets_go_of_the_lock() {
    let workspace = many_files(3000);
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.call("workspace/executeCommand", json!({"command": "dupi.status"}));
    editor.hang_up();
    assert!(editor.wait(PATIENCE).is_some());
    let cache = std::mem::replace(&mut editor.cache, tempfile::tempdir().expect("a folder"));
    let run = dupi_tests::binary::run_with(workspace.path(), cache.path(), &["index"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
    assert!(run.stdout.contains("000 files"), "{}", run.stdout);
}

#[test]
fn the_server_ends_when_its_client_is_gone_though_the_pipe_is_open() {
    let workspace = two_copies();
    let mut client = std::process::Command::new("sleep").arg("10000").spawn().expect("a process");
    let mut editor = Editor::start(Client { process_id: Some(client.id()), ..Client::simple(&root(&workspace)) });
    editor.settle();
    client.kill().expect("killed");
    // Not waited for before: a zombie is gone, too.
    assert!(editor.wait(PATIENCE).is_some());
    client.wait().expect("a child");
}

#[test]
fn what_is_asked_after_shutdown_is_refused_and_exit_without_it_is_an_error() {
    let workspace = two_copies();
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.settle();
    editor.call("shutdown", Value::Null);
    let id = editor.request("textDocument/diagnostic", json!({"textDocument": {"uri": "file:///a.go"}}));
    assert_eq!(editor.response(id)["error"]["code"], -32600);
    editor.notify("exit", Value::Null);
    assert!(editor.wait(PATIENCE).expect("an end").success());
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.notify("exit", Value::Null);
    assert!(!editor.wait(PATIENCE).expect("an end").success());
}

/// Fault 17: what is closed is as it is on disk, and what nobody has opened is nothing.
#[test]
fn what_is_asked_after_a_document_is_closed_is_answered_from_disk() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut editor = Editor::start(Client::rich(&root));
    editor.settle();
    editor.open(&a, "package p\n");
    editor.close(&a);
    let document = json!({"textDocument": {"uri": uri(&a)}});
    let at = json!({"line": 2, "character": 0});
    let hover = json!({"textDocument": {"uri": uri(&a)}, "position": at});
    let action =
        json!({"textDocument": {"uri": uri(&a)}, "range": {"start": at, "end": at}, "context": {"diagnostics": []}});
    assert_eq!(editor.pulled(&a).len(), 1);
    assert_eq!(editor.call("textDocument/codeLens", document.clone()), Value::Null);
    assert_eq!(editor.call("textDocument/hover", hover), Value::Null);
    assert_eq!(editor.call("textDocument/codeAction", action), Value::Null);
    editor.change(&uri(&a), 7, json!([{"text": "package p\n"}]));
    assert_eq!(editor.pulled(&a).len(), 1, "an edit of what is not open is none");
    // Answered before it is cancelled, cancelled twice, and cancelled without ever having been asked.
    for id in [editor.request("textDocument/diagnostic", document.clone()), 4711] {
        editor.notify("$/cancelRequest", json!({"id": id}));
        editor.notify("$/cancelRequest", json!({"id": id}));
        if id != 4711 {
            let answer = editor.response(id);
            assert!(answer["error"]["code"] == -32800 || answer["result"]["kind"] == "full", "{answer}");
        }
    }
    editor.settle();
    editor.forget("$/progress");
    editor.forget("window/logMessage");
}

// ---- diagnostics of all files

#[test]
fn a_byte_order_mark_on_disk_takes_no_column() {
    let workspace = Workspace::new("");
    let text = "\u{feff}int sum(const int *a, int n, int b)\n{\n\tint sum = 0;\n\tfor (int i = 0; i < n; i++) {\n\t\tif (a[i] > b)\n\t\t\tsum += a[i] * i;\n\t\telse\n\t\t\tsum -= b;\n\t}\n\treturn sum + n * 2;\n}\n";
    let [a, _] = ["a.c", "b.c"].map(|name| workspace.write(name, text));
    let root = root(&workspace);
    let mut editor = Editor::start(Client::rich(&root));
    editor.settle();
    let start = |found: &[Value]| found[0]["range"]["start"].clone();
    let expected = json!({"line": 0, "character": 0});
    assert_eq!(start(&editor.pulled(&root.join(a.file_name().expect("a name")))), expected);
    let all = editor.call("workspace/diagnostic", json!({"previousResultIds": []}));
    assert_eq!(all["items"][0]["items"][0]["range"]["start"], expected);
    editor.forget("$/progress");
}

#[test]
fn all_files_are_told_of_at_once_with_ids_and_in_parts() {
    let workspace = two_copies();
    workspace.write("alone.go", "package p\n");
    let root = root(&workspace);
    let mut editor = Editor::start(Client::rich(&root));
    let report = editor.call("workspace/diagnostic", json!({"previousResultIds": []}));
    let items = report["items"].as_array().expect("a list");
    let uris: Vec<&Value> = items.iter().map(|item| &item["uri"]).collect();
    assert_eq!(uris, [&json!(uri(&root.join("a.go"))), &json!(uri(&root.join("b.go")))]);
    let ids: Vec<Value> = items.iter().map(|item| json!({"uri": item["uri"], "value": item["resultId"]})).collect();
    // What is not saved counts, and what had copies and has none any more is told of.
    let again = editor.call("workspace/diagnostic", json!({"previousResultIds": ids}));
    assert!(again["items"].as_array().expect("a list").iter().all(|item| item["kind"] == "unchanged"), "{again}");
    editor.open(&root.join("b.go"), "package p\n");
    let id = editor.request("workspace/diagnostic", json!({"previousResultIds": ids, "partialResultToken": "part"}));
    let part = editor.take("a part", |message| message["params"]["token"] == "part");
    let items = part["params"]["value"]["items"].as_array().expect("a list");
    assert!(items.len() == 2 && items.iter().all(|item| item["items"] == json!([])), "{part}");
    assert_eq!(editor.response(id)["result"], json!({"items": []}));
    editor.forget("$/progress");
}

// ---- lenses, hovers, actions, commands

#[test]
fn a_copy_has_a_lens_a_hover_and_actions() {
    let workspace = two_copies();
    let root = root(&workspace);
    let (a, b) = (root.join("a.go"), root.join("b.go"));
    let mut editor = Editor::start(Client::rich(&root));
    editor.settle();
    editor.forget("$/progress");
    editor.open(&a, &file("first"));
    let document = json!({"uri": uri(&a)});
    let lenses = editor.call("textDocument/codeLens", json!({"textDocument": document}));
    assert_eq!(lenses[0]["command"]["title"], "⧉ 1 copy · 14 lines · renamed");
    assert_eq!(lenses[0]["command"]["arguments"][2][1]["uri"], uri(&b));
    assert_eq!(lenses.as_array().map(Vec::len), Some(1));
    let hover = |line: u32| json!({"textDocument": document, "position": {"line": line, "character": 3}});
    let shown = editor.call("textDocument/hover", hover(2))["contents"]["value"].to_string();
    assert!(shown.contains("[b.go:3]") && shown.contains("`first` → `second`"), "{shown}");
    assert_eq!(editor.call("textDocument/hover", hover(5)), Value::Null, "only on the first line");

    let at = json!({"line": 2, "character": 0});
    let asked = json!({"textDocument": document, "range": {"start": at, "end": at}, "context": {"diagnostics": editor.pulled(&a)}});
    let actions = editor.call("textDocument/codeAction", asked);
    let titles: Vec<&str> =
        actions.as_array().expect("a list").iter().filter_map(|action| action["title"].as_str()).collect();
    assert_eq!(
        titles,
        [
            "Go to copy 1: b.go:3",
            "Compare with copy 1: b.go:3",
            "Show all 2 copies",
            "Ignore this copy",
            "Ignore all 2 copies in dupi.toml"
        ]
    );
    let asked = json!({"textDocument": document, "range": {"start": at, "end": at}, "context": {"diagnostics": [], "only": ["quickfix.dupi.ignore.class"]}});
    assert_eq!(editor.call("textDocument/codeAction", asked)[0]["title"], titles[4], "one kind alone");
    let run =
        |action: &Value| json!({"command": action["command"]["command"], "arguments": action["command"]["arguments"]});
    editor.call("workspace/executeCommand", run(&actions[0]));
    let compared = editor.call("workspace/executeCommand", run(&actions[1]));
    assert_eq!(compared["differences"], json!([{"left": "first", "right": "second"}]));
    editor.take("a message", |message| message["method"] == "window/showMessage");
    let all = editor.call("workspace/executeCommand", run(&actions[2]));
    assert_eq!(all.as_array().map(Vec::len), Some(2));
    let named = editor.take("a message", |message| message["method"] == "window/showMessage");
    assert_eq!(named["params"]["message"], "a.go:3, b.go:3", "for who has no list of its own");
    let status = editor.call("workspace/executeCommand", json!({"command": "dupi.status"}));
    assert_eq!((&status["state"], &status["files"]), (&json!("idle"), &json!(2)));
    assert_eq!(editor.asked["window/showDocument"].len(), 2);

    let edit = &actions[3]["edit"]["documentChanges"][0]["edits"];
    assert_eq!(edit, &json!([{"range": {"start": at, "end": at}, "newText": "// dupi:ignore\n"}]));
    editor.replace(&a, 2, &format!("package p\n\n// dupi:ignore\n{}", function("first")));
    assert_eq!(editor.pulled(&a).len(), 0, "what is ignored is not shown");
    editor.replace(&a, 3, &file("first"));
    assert_eq!(editor.pulled(&a).len(), 1);
    // The other way: the class, by its id, in the project's file.
    let text = actions[4]["edit"]["documentChanges"][0]["edits"][0]["newText"].as_str().expect("a text");
    workspace.write("dupi.toml", text);
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": uri(&root.join("dupi.toml")), "type": 1}]}),
    );
    assert_eq!(editor.pulled(&a).len(), 0, "{text}");
    let check = dupi_tests::binary::check_json(&root, &[]);
    assert_eq!(check["classes"], json!([]));
    editor.settle();
    editor.forget("$/progress");
}

/// What Markdown is made of: the addresses of its links and the texts of its spans of code. Nothing else may be in it.
fn links_and_code(markdown: &str) -> (Vec<String>, Vec<String>) {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    let (mut links, mut code) = (Vec::new(), Vec::new());
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => links.push(dest_url.to_string()),
            Event::Code(text) => code.push(text.to_string()),
            Event::Start(Tag::Paragraph | Tag::List(None) | Tag::Item) | Event::End(_) => {}
            Event::Text(_) | Event::SoftBreak => {}
            other => panic!("{other:?} in {markdown}"),
        }
    }
    (links, code)
}

#[test]
fn a_hover_shows_hostile_code_and_names_as_text() {
    let literals = [
        "`",
        "``",
        "``![](http://e.co/p.png)``",
        "```\\n# [x](command:a)",
        "a``b`c```d",
        " ``",
        "<img src=x onerror=1>",
        "\u{1b}[31m\u{202e}[x](http://e.co)",
        "https://e.co www.e.co @all |",
    ];
    let text = |literal: &str| {
        let body = function("same").replace("return sum", &format!("log('{literal}')\n\treturn sum"));
        let go = format!("package p\n\n{body}");
        go.replace("'", "\"")
    };
    let workspace = Workspace::new("");
    workspace.write("a.go", text("own"));
    for (i, literal) in literals.iter().enumerate() {
        let name = match i {
            0 => "`x` ![y](z).go".to_owned(),
            1 if cfg!(unix) => "<b>\n\n# x.go".to_owned(),
            2 => "a)(b].go".to_owned(),
            i => format!("{i}.go"),
        };
        workspace.write(&name, text(literal));
    }
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut editor = Editor::start(Client::rich(&root));
    editor.settle();
    editor.open(&a, &text("own"));
    let hover = json!({"textDocument": {"uri": uri(&a)}, "position": {"line": 2, "character": 3}});
    let shown = editor.call("textDocument/hover", hover);
    let shown = shown["contents"]["value"].as_str().expect("a text");
    let (links, code) = links_and_code(shown);
    assert_eq!(links.len(), literals.len(), "{shown}");
    assert!(links.iter().all(|link| link.starts_with(&uri(&root))), "{links:?}");
    for literal in literals {
        let visible = format!("\"{literal}\"").replace('\u{1b}', "\\u{1b}").replace('\u{202e}', "\\u{202e}");
        assert!(code.contains(&visible), "{visible} is not among {code:#?} of {shown}");
    }
    editor.settle();
    editor.forget("$/progress");
}

#[test]
fn a_hover_on_the_first_line_tells_by_a_setting_how_much_stands_elsewhere() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let hover = json!({"textDocument": {"uri": uri(&a)}, "position": {"line": 0, "character": 3}});
    for (settings, told) in [(json!({}), false), (json!({"hover": {"containment": true}}), true)] {
        let mut editor = Editor::start(Client { options: settings, ..Client::simple(&root) });
        editor.settle();
        editor.open(&a, &file("first"));
        editor.published(&a, 1);
        let shown = editor.call("textDocument/hover", hover.clone())["contents"]["value"].to_string();
        assert_eq!(shown.contains("100 % of this file stands in ") && shown.contains("b.go"), told, "{shown}");
    }
}

#[test]
fn a_report_is_what_a_check_says() {
    let workspace = two_copies();
    let root = root(&workspace);
    let mut editor = Editor::start(Client::simple(&root));
    let report = editor.call("workspace/executeCommand", json!({"command": "dupi.report"}));
    assert_eq!(report[0], dupi_tests::binary::check_json(&root, &[]));
    let id = editor.request("workspace/executeCommand", json!({"command": "dupi.unknown"}));
    assert_eq!(editor.response(id)["error"]["code"], -32602);
    editor.call("workspace/executeCommand", json!({"command": "dupi.reindex"}));
    editor.settle();
}

#[test]
fn a_list_of_classes_is_the_worst_of_them_and_how_many_there_are() {
    let workspace = two_copies();
    workspace.write("a_test.go", format!("package p\n\n{0}\n{0}", function("again").repeat(2)));
    workspace.write("short/a.go", short("one"));
    workspace.write("short/b.go", short("one"));
    let root = root(&workspace);
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    let all = editor.call("dupi/classes", json!({}));
    let titles: Vec<&Value> = all["classes"].as_array().expect("a list").iter().map(|class| &class["title"]).collect();
    assert_eq!(titles, ["14 lines in 6 places · renamed", "9 lines in 2 places · exact"]);
    assert_eq!((&all["total"], &all["classes"][0]["nCopies"]), (&json!(2), &json!(6)));
    let location = json!({"uri": uri(&root.join("a.go")), "range": {"start": {"line": 2, "character": 0}, "end": {"line": 16, "character": 0}}});
    assert_eq!(all["classes"][0]["copies"][0], location);
    let one = editor.call("dupi/classes", json!({"limit": 1}));
    assert_eq!((one["classes"].as_array().map(Vec::len), &one["total"]), (Some(1), &json!(2)));
    let exact = editor.call("dupi/classes", json!({"kinds": ["exact"], "zones": ["code"]}));
    assert_eq!((&exact["total"], &exact["classes"][0]["title"]), (&json!(1), titles[1]));
    let none = editor.call("dupi/classes", json!({"zones": ["test"]}));
    assert_eq!(none, json!({"total": 0, "classes": []}));
    let id = editor.request("dupi/classes", json!({"zones": ["cod"]}));
    assert_eq!(editor.response(id)["error"]["message"], "no such zone: cod");
    // What is not saved counts.
    editor.open(&root.join("short/b.go"), "package p\n");
    assert_eq!(editor.call("dupi/classes", json!({}))["total"], 1);
    editor.published(&root.join("short/b.go"), 1);
    editor.settle();
}

/// Another function, too unlike the first for a class with it.
fn short(name: &str) -> String {
    format!(
        "package p\n\nfunc {name}(names map[string]string) (found []string) {{\n\tfor key, value := range names {{\n\t\tif strings.HasPrefix(key, \"x-\") && value != \"\" {{\n\t\t\tfound = append(found, strings.ToLower(key)+\"=\"+value)\n\t\t}}\n\t}}\n\tsort.Strings(found)\n\treturn found\n}}\n"
    )
}

#[test]
fn an_open_document_is_told_how_much_of_it_is_duplicated_even_if_nothing_is_shown() {
    let workspace = two_copies();
    let root = root(&workspace);
    let (a, b) = (root.join("a.go"), root.join("b.go"));
    let hidden = json!({"diagnostics.enable": false, "codeLens.enable": false});
    let mut editor = Editor::start(Client { options: hidden, ..Client::simple(&root) });
    editor.settle();
    let document = json!({"textDocument": {"uri": uri(&a)}});
    assert_eq!(editor.call("dupi/copies", document.clone()), Value::Null, "not open");
    editor.open(&a, &format!("{}\nvar x = 1\nvar y = 2\n", file("first")));
    let told = editor.call("dupi/copies", document.clone());
    assert_eq!((&told["lines"], &told["duplicatedLines"], &told["percent"]), (&json!(19), &json!(14), &json!(73.68)));
    let copy = &told["copies"][0];
    assert_eq!(
        (&copy["title"], &copy["kind"], &copy["zone"]),
        (&json!("⧉ 1 copy · 14 lines · renamed"), &json!("renamed"), &json!("code"))
    );
    assert_eq!(copy["range"], json!({"start": {"line": 2, "character": 0}, "end": {"line": 15, "character": 1}}));
    assert_eq!(copy["others"][0]["uri"], uri(&b));
    editor.open(&b, "package p\n");
    let told = editor.call("dupi/copies", document);
    assert_eq!((&told["percent"], &told["copies"]), (&json!(0.0), &json!([])));
    editor.settle();
    editor.forget("textDocument/publishDiagnostics");
}

#[test]
fn languages_are_told_with_the_names_that_editors_have_for_them() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let known = dupi_tests::binary::run(folder, &["languages", "--format", "json"]).stdout;
    let known: Value = serde_json::from_str(&known).expect("JSON");
    let is_tsx = |language: &&Value| language["name"] == "tsx";
    let tsx = known.as_array().expect("a list").iter().find(is_tsx).expect("TSX");
    assert_eq!(tsx["editorNames"], json!(["tsx", "typescriptreact"]));
    let text = dupi_tests::binary::run(folder, &["languages"]).stdout;
    assert!(text.contains("\nkotlin      .kt .kts .ktm\n"), "{text}");
}

// ---- settings

#[test]
fn settings_are_pulled_and_pushed_and_change_without_a_restart() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut editor = Editor::start(Client { settings: json!({"minLines": 15}), ..Client::rich(&root) });
    editor.open(&a, &file("first"));
    assert_eq!(editor.pulled(&a).len(), 0, "asked for at the start");
    editor.forget("$/progress");
    editor.forget("window/logMessage");
    drop(editor);

    let mut editor = Editor::start(Client { options: json!({"minLines": 15}), ..Client::simple(&root) });
    editor.settle();
    editor.open(&a, &file("first"));
    assert_eq!(editor.published(&a, 1).len(), 0);
    let push = |editor: &mut Editor, settings: Value| {
        editor.notify("workspace/didChangeConfiguration", json!({"settings": settings}))
    };
    push(&mut editor, json!({"dupi": {"diagnostics": {"severity": {"code": "warning"}}}}));
    assert_eq!(editor.published(&a, 1)[0]["severity"], 2);
    push(&mut editor, json!({"dupi": {"diagnostics.range": "firstLine"}}));
    assert_eq!(editor.published(&a, 1)[0]["range"]["end"]["line"], 2);
    push(&mut editor, json!({"dupi": {"exclude": ["b.go"]}}));
    assert_eq!(editor.published(&a, 1).len(), 0);
    push(&mut editor, json!({"dupi": {"minTokens": "many"}}));
    assert_eq!(editor.published(&a, 1).len(), 1);
    let told =
        editor.take("a warning", |message| message["method"] == "window/logMessage" && message["params"]["type"] == 2);
    assert!(told["params"]["message"].as_str().is_some_and(|message| message.contains("dupi.minTokens")), "{told}");
    editor.settle();
}

/// Fault 27: what a project's file asks for that it may not, and a file that is no file of ours.
#[test]
fn a_malformed_or_hostile_project_file_is_a_diagnostic_and_means_defaults() {
    let workspace = two_copies();
    let root = root(&workspace);
    workspace.write("dupi.toml", "min-lines = 15\n\nindex-dir = \"/etc\"\n");
    let a = root.join("a.go");
    let mut editor = Editor::start(Client::simple(&root));
    let found = editor.published_uri(&uri(&root.join("dupi.toml")), |_| true);
    assert_eq!((found[0]["range"]["start"]["line"].as_i64(), found[0]["severity"].as_i64()), (Some(2), Some(1)));
    editor.settle();
    editor.open(&a, &file("first"));
    assert_eq!(editor.published(&a, 1).len(), 1);
    workspace.write("dupi.toml", "min-lines = 15\nthreads = 10000\n");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": uri(&root.join("dupi.toml")), "type": 2}]}),
    );
    assert_eq!(editor.published_uri(&uri(&root.join("dupi.toml")), |_| true).len(), 0);
    assert_eq!(editor.published(&a, 1).len(), 0);
    #[cfg(unix)]
    {
        // Fault 32: a pipe would wait for somebody who writes into it.
        std::fs::remove_file(root.join("dupi.toml")).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(root.join("dupi.toml")).status();
        assert!(made.is_ok_and(|status| status.success()));
        editor.notify(
            "workspace/didChangeWatchedFiles",
            json!({"changes": [{"uri": uri(&root.join("dupi.toml")), "type": 2}]}),
        );
        let found = editor.published_uri(&uri(&root.join("dupi.toml")), |_| true);
        let message = found[0]["message"].as_str().expect("a message");
        assert!(message.contains("not a regular file"), "{message}");
        assert_eq!(editor.published(&a, 1).len(), 1);
    }
    editor.settle();
}

/// Fault 27: a project brings no index with it, and asks for no more than its user gives.
#[cfg(target_os = "linux")]
#[test]
fn a_hostile_project_gets_no_threads_no_paths_and_no_time() {
    let workspace = two_copies();
    let root = root(&workspace);
    let braces = "{a,b}".repeat(12);
    workspace.write("dupi.toml", format!("threads = 10000\nexclude = [\"{braces}/**\", \"**/**/**/**/x\"]\n"));
    workspace.write(".dupi/manifest", "not an index");
    let mut editor = Editor::start(Client::simple(&root));
    assert_eq!(editor.settle()["files"], 2);
    let n_threads = std::fs::read_dir(format!("/proc/{}/task", editor.process_id())).expect("a process").count();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(n_threads < 6 * cores + 40, "{n_threads} threads on {cores} cores");
    editor.open(&root.join("a.go"), &file("first"));
    assert_eq!(editor.published(&root.join("a.go"), 1).len(), 1);
    assert_eq!(std::fs::read(root.join(".dupi/manifest")).expect("a file"), b"not an index");
    let modes = walk(editor.cache.path()).into_iter().filter(|path| path.is_dir() && path != editor.cache.path());
    for folder in modes {
        use std::os::unix::fs::PermissionsExt;
        let mode = folder.metadata().expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut all = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(path) = all.get(at).cloned() {
        all.extend(std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()));
        at += 1;
    }
    all
}

/// Fault 28: what reads files has low priority, what answers has not, and who has nothing to do does nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_first_index_has_low_priority_and_an_idle_server_uses_no_processor() {
    let workspace = many_files(1000);
    let root = root(&workspace);
    let mut editor = Editor::start(Client::simple(&root));
    let tasks = format!("/proc/{}/task", editor.process_id());
    editor.open(&root.join("new.go"), &file("new"));
    editor.settle();
    let field = |task: &std::path::Path, n: usize| -> Option<i64> {
        let stat = std::fs::read_to_string(task.join("stat")).ok()?;
        // The name stands in brackets, and may have blanks in it.
        stat.rsplit(") ").next()?.split(' ').nth(n)?.parse().ok()
    };
    // That of its first thread, and whoever runs the tests may have lowered that.
    let usual = field(std::path::Path::new(&format!("/proc/{}", editor.process_id())), 16).expect("a process");
    let mut n_low = 0;
    for task in std::fs::read_dir(&tasks).expect("a process").flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let nice = field(&task.path(), 16).expect("a thread");
        let reads = ["dupi-index", "dupi-watch", "notify-rs"].iter().any(|reader| name.starts_with(reader));
        n_low += usize::from(reads);
        assert_eq!(nice, if reads { 15 } else { usual }, "{name}");
    }
    assert!(n_low >= 3, "{n_low}");
    editor.published(&root.join("new.go"), 1);
    let ticks = || {
        let process = std::path::PathBuf::from(format!("/proc/{}", editor.process_id()));
        field(&process, 11).zip(field(&process, 12)).map_or(0, |(user, system)| user + system)
    };
    let before = ticks();
    std::thread::sleep(Duration::from_secs(3));
    // In hundredths of a second; it looks now and then whether its client is alive.
    assert!(ticks() - before <= 3, "{} ticks in 3 s of idleness", ticks() - before);
}

/// Fault 28: a first index is written early if there is little memory for it. So many files that it matters: with the
/// memory that there is by default it takes more than twice as much.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "half a minute"]
fn a_first_index_stays_within_its_memory() {
    let workspace = many_files(20_000);
    let mut editor = Editor::start(Client { options: json!({"memory": 64}), ..Client::simple(&root(&workspace)) });
    let status = loop {
        let status = editor.call("workspace/executeCommand", json!({"command": "dupi.status"}));
        if status["state"] == "idle" {
            break status;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(status["files"], 20_000);
    let peak = status_of(editor.process_id(), "VmHWM");
    assert!(peak.is_some_and(|peak| peak < 180_000), "{peak:?} kB");
}

/// Fault 24, for buffers: what is opened is noted while it is read.
#[test]
fn fault_24_an_open_document_that_ended_the_server_is_not_read_by_the_next_one() {
    let workspace = two_copies();
    let root = root(&workspace);
    let c = root.join("c.go");
    let text = format!("// {ABORT}\n{}", file("third"));
    let client = || Client { environment: vec![(STAGED, root.clone())], ..Client::simple(&root) };
    let mut editor = Editor::start(client());
    editor.settle();
    editor.open(&c, &text);
    let status = editor.wait(PATIENCE).expect("it ends");
    assert!(!status.success(), "{status}");
    let cache = std::mem::replace(&mut editor.cache, tempfile::tempdir().expect("a temporary folder"));
    let mut editor = Editor::start_with(client(), cache);
    editor.open(&c, &text);
    assert_eq!(editor.published(&c, 1).len(), 0, "it is not read");
    editor.replace(&c, 2, &file("third"));
    assert_eq!(editor.published(&c, 2).len(), 1, "another text is");
    editor.settle();
}

// ---- what goes wrong on the wire and with the client

/// Fault 18: positions that are nowhere, in each encoding.
#[test]
fn positions_outside_the_text_are_clamped_in_every_encoding() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut client = Client::rich(&root);
        client.capabilities["general"]["positionEncodings"] = json!([encoding]);
        let mut editor = Editor::start(client);
        assert_eq!(editor.initialized["capabilities"]["positionEncoding"], encoding);
        // The smile is 4, 2 or 1 units wide; lines end in each way that there is.
        editor.open(&a, "\u{feff}package p // \u{1f600}x\r\r\n");
        let width = match encoding {
            "utf-8" => 3 + 12 + 4,
            "utf-16" => 1 + 13 + 2,
            _ => 1 + 13 + 1,
        };
        let range = |a: u32, b: u32, c: u32, d: u32| json!({"start": {"line": a, "character": b}, "end": {"line": c, "character": d}});
        let edits = json!([
            {"range": range(0, width - 1, 0, width - 1), "text": ""},
            {"range": range(0, 9999, 0, 9999), "text": "y"},
            {"range": range(1, 7, 1, 9), "text": ""},
            {"range": range(99, 0, 99, 99), "text": function("first").replace('\n', "\r\n")},
        ]);
        editor.change(&uri(&a), 2, edits);
        let found = editor.pulled(&a);
        assert_eq!(found[0]["range"]["start"], json!({"line": 2, "character": 0}), "{encoding}: {found:?}");
        // End before start: nobody knows the text from here on.
        editor.change(&uri(&a), 3, json!([{"range": range(3, 0, 1, 0), "text": ""}]));
        assert_eq!(editor.pulled(&a).len(), 0);
        editor.change(&uri(&a), 4, json!([{"range": range(0, 0, 0, 0), "text": "x"}]));
        assert_eq!(editor.pulled(&a).len(), 0);
        editor.replace(&a, 5, &file("first"));
        assert_eq!(editor.pulled(&a).len(), 1);
        editor.forget("$/progress");
        editor.forget("window/logMessage");
    }
}

/// Fault 19: one file is one document, however its URI is spelled; what is no file is compared and not stored.
#[test]
fn one_file_is_one_document_and_other_schemes_are_compared() {
    let workspace = two_copies();
    workspace.write("a b/100%.go", file("third"));
    let root = root(&workspace);
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    let plain = format!("file://{}/a b/100%25.go", root.display());
    let odd = format!("file://localhost{}/./x/..//%61%20b/100%25.go", root.display());
    editor.open_uri(&plain, "go", &file("third"));
    let escaped = plain.replace(' ', "%20");
    let found = editor.published_uri(&escaped, |_| true);
    assert_eq!(found[0]["message"], "14 lines duplicated in 2 other places: a.go:3, b.go:3", "not a copy of itself");
    editor.open_uri(&odd, "go", &file("third"));
    assert_eq!(editor.published_uri(&odd, |_| true)[0]["message"], found[0]["message"]);
    for uri in ["untitled:Untitled-1", "git:/no/such/c.go?HEAD"] {
        editor.open_uri(uri, "go", &file("fourth"));
        let found = editor.published_uri(uri, |_| true);
        assert!(found[0]["message"].as_str().is_some_and(|message| message.contains("3 other places")), "{found:?}");
        editor.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
        editor.published_uri(uri, |params| params["diagnostics"] == json!([]));
    }
    // Spelled as on another system, it is no file here, and nothing breaks.
    for uri in ["file:///c%3A/a/b.go", "file:///C:/a/b.go", "file://server/share/b.go", "file:///"] {
        editor.open_uri(uri, "go", &file("fifth"));
        assert_eq!(editor.published_uri(uri, |_| true).len(), 0, "{uri}");
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let odd = root.join(std::ffi::OsStr::from_bytes(b"\xff.go"));
        std::os::unix::fs::symlink(root.join("a.go"), root.join("link.go")).expect("a link");
        for (path, n) in [(odd, "3 other places"), (root.join("link.go"), "2 other places")] {
            editor.open(&path, &file("sixth"));
            let found = editor.published(&path, 1);
            assert!(found[0]["message"].as_str().is_some_and(|message| message.contains(n)), "{found:?}");
            editor.close(&path);
            editor.published_uri(&uri(&path), |params| params["diagnostics"] == json!([]));
        }
    }
    // A version of a file that git has is no copy of that file.
    let git = format!("git:{}/a.go?HEAD", root.display());
    editor.open_uri(&git, "go", &file("first"));
    assert!(
        editor.published_uri(&git, |_| true)[0]["message"]
            .as_str()
            .is_some_and(|message| message.contains("2 other places"))
    );
    editor.settle();
    // What was open before is told of each file that came and went.
    editor.forget("textDocument/publishDiagnostics");
}

/// Fault 20.
#[test]
fn what_is_no_message_is_answered_and_passed_over() {
    let workspace = two_copies();
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.settle();
    let bad: [&[u8]; 5] = [
        b"Content-Length: -5\r\n\r\n",
        b"Content-Type: nothing\r\n\r\n",
        b"Content-Length: 99999999999999999999999\r\n\r\n",
        b"Content-Length: 5\r\n\r\n{\"a\":",
        b"Content-Length: 4\r\n\r\n\xff\xfe\x00\x01",
    ];
    for bytes in bad {
        editor.send_bytes(bytes);
        let answer = editor.take("an error", |message| message["error"]["code"] == -32700);
        assert_eq!(answer["id"], Value::Null);
    }
    let id = editor.request("dupi/nothing", json!({}));
    assert_eq!(editor.response(id)["error"]["code"], -32601);
    editor.notify("dupi/nothing", json!({}));
    let status = editor.call("workspace/executeCommand", json!({"command": "dupi.status"}));
    assert_eq!(status["files"], 2);
    // Half a message, and then nothing.
    editor.send_bytes(b"Content-Length: 1000\r\n\r\n{\"jsonrpc\"");
    editor.hang_up();
    assert!(editor.wait(PATIENCE).is_some());
}

/// Fault 20: a document of 200 MB costs no memory to speak of, and nothing else its answer.
#[test]
fn a_document_of_200_megabytes_is_passed_over() {
    let workspace = two_copies();
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.settle();
    let before = "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":\"file:///x.go\",\"languageId\":\"go\",\"version\":1,\"text\":\"";
    let after = "\"}}}";
    let n = 200 << 20;
    editor.send_bytes(format!("Content-Length: {}\r\n\r\n{before}", before.len() + n + after.len()).as_bytes());
    for _ in 0..n >> 20 {
        editor.send_bytes(&[b'x'; 1 << 20]);
    }
    editor.send_bytes(after.as_bytes());
    editor.take("an error", |message| message["error"]["code"] == -32700);
    let peak = status_of(editor.process_id(), "VmHWM");
    assert!(peak.is_none_or(|peak| peak < 150_000), "{peak:?} kB");
    editor.forget("window/logMessage");
}

/// Fault 21.
#[test]
fn a_client_that_never_answers_is_served() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut editor = Editor::start(Client { answers: false, ..Client::rich(&root) });
    editor.open(&a, &file("first"));
    assert_eq!(editor.pulled(&a).len(), 1);
    editor.settle();
}

/// A client reports no change from before it watches. On a busy machine a checkout at the start was lost that way.
#[test]
fn what_changes_before_the_client_watches_is_seen() {
    let workspace = two_copies();
    let root = root(&workspace);
    let a = root.join("a.go");
    let mut client = Client { answers: false, ..Client::rich(&root) };
    client.capabilities["workspace"]["configuration"] = json!(false);
    let mut editor = Editor::start(client);
    editor.settle();
    assert_eq!(editor.pulled(&a)[0]["message"], "14 lines duplicated in 1 other place: b.go:3");
    workspace.write("c.go", file("third"));
    std::fs::remove_file(root.join("b.go")).expect("a file");
    editor.answer_at_last();
    let end = Instant::now() + PATIENCE;
    while editor.pulled(&a).first().is_none_or(|told| told["message"] != "14 lines duplicated in 1 other place: c.go:3")
    {
        assert!(Instant::now() < end, "{:#?}", editor.pulled(&a));
        editor.settle();
    }
    editor.forget("$/progress");
}

#[test]
fn folders_come_and_go_each_with_an_index() {
    let (one, two) = (two_copies(), two_copies());
    let (one, two) = (root(&one), root(&two));
    let mut editor = Editor::start(Client::simple(&one));
    assert_eq!(editor.settle()["files"], 2);
    let folder = |path: &std::path::Path| json!([{"uri": uri(path), "name": "two"}]);
    editor.notify("workspace/didChangeWorkspaceFolders", json!({"event": {"added": folder(&two), "removed": []}}));
    let c = two.join("b.go");
    editor.open(&c, &file("second"));
    assert_eq!(
        editor.published_uri(&uri(&c), |params| params["diagnostics"] != json!([]))[0]["message"],
        "14 lines duplicated in 1 other place: a.go:3"
    );
    assert_eq!(editor.settle()["files"], 4);
    editor.notify("workspace/didChangeWorkspaceFolders", json!({"event": {"added": [], "removed": folder(&two)}}));
    assert_eq!(editor.published(&c, 1).len(), 0);
    assert_eq!(editor.settle()["files"], 2);
}

/// The index of yesterday is enough for an answer, and the lock is free again once the server is gone.
#[test]
fn a_second_start_finds_the_index_and_may_write_it() {
    let workspace = two_copies();
    let root = root(&workspace);
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    let cache = editor.end();
    let run = dupi_tests::binary::run_with(&root, cache.path(), &["index"]);
    assert!(run.stdout.contains("nothing changed"), "{} {}", run.stdout, run.stderr);
    let mut editor = Editor::start_with(Client::simple(&root), cache);
    editor.open(&root.join("a.go"), &file("first"));
    assert_eq!(editor.published_uri(&uri(&root.join("a.go")), |params| params["diagnostics"] != json!([])).len(), 1);
    editor.settle();
}

#[test]
fn the_table_of_settings_is_the_one_in_the_documentation() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let schema = dupi_tests::binary::run(&folder, &["settings", "--format", "schema"]);
    let written = std::fs::read_to_string(folder.join("server/dupi-lsp/schema/settings.v1.json")).expect("a schema");
    assert_eq!(schema.stdout, written, "dupi-lsp settings --format schema");
    let table = dupi_tests::binary::run(&folder, &["settings"]);
    let readme = std::fs::read_to_string(folder.join("README.md")).expect("a README");
    assert!(readme.contains(&table.stdout), "dupi-lsp settings");
}

/// Fault 22. Only a binary with debug assertions can be asked to panic.
#[cfg(debug_assertions)]
#[test]
fn a_request_that_panics_fails_alone() {
    let workspace = two_copies();
    let root = root(&workspace);
    let mut editor = Editor::start(Client::simple(&root));
    editor.settle();
    for place in ["handler", "worker", "session"] {
        let id = editor.request("workspace/executeCommand", json!({"command": "dupi.panic", "arguments": [place]}));
        assert_eq!(editor.response(id)["error"]["code"], -32603, "{place}");
    }
    editor.open(&root.join("a.go"), &file("first"));
    assert_eq!(editor.published(&root.join("a.go"), 1).len(), 1);
    editor.forget("window/logMessage");
}

/// Fault 16.
#[test]
fn a_closed_standard_error_stops_nothing() {
    let workspace = two_copies();
    let root = root(&workspace);
    let mut editor = Editor::start(Client { closes_stderr: true, ..Client::simple(&root) });
    editor.settle();
    for _ in 0..3 {
        editor.change("file:///never/opened.go", 1, json!([]));
    }
    editor.open(&root.join("a.go"), &file("first"));
    assert_eq!(editor.published(&root.join("a.go"), 1).len(), 1);
    editor.forget("window/logMessage");
}

#[cfg(unix)]
#[test]
fn an_editor_can_be_spoken_to_by_socket_and_by_pipe() {
    use std::io::Read;
    let workspace = two_copies();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}).to_string();
    let message = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let answered = |stream: &mut dyn ReadWrite| {
        stream.write_all(message.as_bytes()).expect("sent");
        let mut answer = String::new();
        let mut buffer = [0; 4096];
        while !answer.contains("serverInfo") {
            let n = stream.read(&mut buffer).expect("an answer");
            assert!(n > 0, "{answer}");
            answer.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    };
    let start = |arguments: &[&str]| {
        let mut command = dupi_tests::binary::command(workspace.path(), workspace.path(), arguments);
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the binary runs")
    };
    let ended = |mut server: std::process::Child| {
        let mut said = String::new();
        server.stdout.take().expect("a pipe").read_to_string(&mut said).expect("read");
        assert_eq!(said, "", "nothing on standard output");
        server.wait().expect("an end");
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = start(&["--socket", &listener.local_addr().expect("an address").port().to_string()]);
    answered(&mut listener.accept().expect("a client").0);
    ended(server);
    let name = workspace.path().join("pipe");
    let listener = std::os::unix::net::UnixListener::bind(&name).expect("a pipe");
    let server =
        start(&["--pipe", name.to_str().expect("a name"), "--clientProcessId", &std::process::id().to_string()]);
    answered(&mut listener.accept().expect("a client").0);
    ended(server);
}

#[cfg(unix)]
trait ReadWrite: std::io::Read + std::io::Write {}
#[cfg(unix)]
impl<T: std::io::Read + std::io::Write> ReadWrite for T {}
