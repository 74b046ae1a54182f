//! The language server as an editor sees it: the real binary over standard input and output.

use std::time::{Duration, Instant};

use dupi_tests::editor::{Client, Editor, uri};
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
    let start = Instant::now();
    editor.hang_up();
    assert!(editor.wait(Duration::from_secs(5)).is_some(), "after {:?}", start.elapsed());
}

#[test]
fn the_server_ends_when_its_client_is_gone_though_the_pipe_is_open() {
    let workspace = two_copies();
    let mut client = std::process::Command::new("sleep").arg("1").spawn().expect("a process");
    let mut editor = Editor::start(Client { process_id: Some(client.id()), ..Client::simple(&root(&workspace)) });
    editor.settle();
    // Not waited for before: a zombie is gone, too.
    assert!(editor.wait(Duration::from_secs(6)).is_some());
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
    assert!(editor.wait(Duration::from_secs(5)).expect("an end").success());
    let mut editor = Editor::start(Client::simple(&root(&workspace)));
    editor.notify("exit", Value::Null);
    assert!(!editor.wait(Duration::from_secs(5)).expect("an end").success());
}
