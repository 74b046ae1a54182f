//! Fault 38: a workspace of very many folders.

use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use dupi_tests::binary::status_of;
use dupi_tests::editor::{Client, Editor, uri};
use dupi_tests::workspace::Workspace;
use serde_json::{Value, json};

const N_FOLDERS: usize = 1000;
/// For all folders on a machine that has one core and other things to do.
const LONG: Duration = Duration::from_secs(900);

fn file(name: &str) -> String {
    format!(
        "package p\n\nfunc {name}(a []int, b int) int {{\n\tsum := 0\n\tfor i, x := range a {{\n\t\tif x > b {{\n\t\t\tsum += x * i\n\t\t\tcontinue\n\t\t}}\n\t\tif x < 0 {{\n\t\t\tsum -= x\n\t\t}}\n\t\tsum += b + i*2\n\t}}\n\treturn sum\n}}\n"
    )
}

#[test]
fn fault_38_a_thousand_folders_take_few_threads_and_little_memory_and_the_last_one_is_answered() {
    let workspace = Workspace::new("");
    for i in 0..N_FOLDERS {
        workspace.write(&format!("{i}/a.go"), file("first"));
        workspace.write(&format!("{i}/b.go"), file("second"));
    }
    let root = workspace.path().canonicalize().expect("a folder");
    let folders = (0..N_FOLDERS).map(|i| root.join(i.to_string())).collect();
    let mut editor = Editor::start(Client { folders, ..Client::simple(&root) });
    // Whoever opens a file is not kept waiting until all the others were read.
    let last = root.join((N_FOLDERS - 1).to_string()).join("a.go");
    editor.open(&last, &file("first"));
    let diagnostics = editor.published_uri(&uri(&last), |params| params["diagnostics"] != json!([]));
    assert_eq!(diagnostics[0]["message"], "14 lines duplicated in 1 other place: b.go:3");

    let end = Instant::now() + LONG;
    let status = loop {
        let status = editor.call("workspace/executeCommand", json!({"command": "dupi.status"}));
        if status["state"] == "idle" {
            break status;
        }
        assert!(Instant::now() < end, "never idle: {status}");
        std::thread::sleep(Duration::from_millis(200));
    };
    assert_eq!((&status["files"], &status["classes"]), (&json!(2 * N_FOLDERS), &json!(N_FOLDERS)));
    #[cfg(target_os = "linux")]
    {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let of_server = |key| status_of(editor.process_id(), key).expect("a number");
        let (threads, kilobytes) = (of_server("Threads"), of_server("VmHWM"));
        assert!(threads < 100 + 8 * cores, "{threads} threads");
        assert!(kilobytes < 400_000, "{kilobytes} kB");
    }

    // What changes on disk in the last of them is noticed there.
    workspace.write(&format!("{}/c.go", N_FOLDERS - 1), file("third"));
    let three = |params: &Value| params["diagnostics"][0]["message"].as_str().is_some_and(|m| m.contains("2 other"));
    editor.published_uri(&uri(&last), three);
    editor.forget_all();
}
