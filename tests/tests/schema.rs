//! The JSON report is what its schema says, on real code and in its odd corners.

use std::path::Path;

use boon::{Compiler, Schemas};
use dupi_tests::binary::{check_json, run};
use dupi_tests::repository::Repository;
use dupi_tests::workspace::{Workspace, function};

fn validate(report: &serde_json::Value) -> Result<(), String> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/dupi-lsp/schema/report.v1.json");
    let mut schemas = Schemas::new();
    let index = Compiler::new().compile(&schema.to_string_lossy(), &mut schemas).expect("the schema is one");
    schemas.validate(report, index).map_err(|error| error.to_string())
}

#[test]
fn reports_of_real_code_match_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let everything = ["--zone", "code,test,data,imports,generated", "--min-tokens", "20", "--min-similarity", "0"];
    let report = check_json(&root, &everything);
    assert!(report["classes"].as_array().is_some_and(|classes| !classes.is_empty()));
    validate(&report).expect("a valid report");
}

#[test]
fn skipped_files_match_the_schema() {
    let workspace = Workspace::new(
        "//- good.py\nx = 1\n//- empty.go\n//- vendor/x.go\npackage x\n//- .gitignore\nz.go\n//- z.go\npackage z\n",
    );
    workspace.write("binary.c", b"\0");
    workspace.write("latin1.c", b"\xe9");
    let report = check_json(workspace.path(), &[]);
    assert_eq!(report["scanned"]["skipped"].as_array().map(Vec::len), Some(5));
    validate(&report).expect("a valid report");
}

#[test]
fn what_a_gate_says_matches_the_schema() {
    let repository = Repository::default();
    repository.write("a.go", format!("package a\n\n{}", function("Sum", "values")));
    repository.commit("first");
    repository.write("b.go", format!("package b\n\n{}", function("Sum", "values")));
    repository.write("dupi.toml", "[[ignore]]\npath = \"x\"\nreason = \"stale\"\n");
    let arguments = ["--check", "--since", "HEAD", "--blame", "--max-percent", "1", "--format", "json"];
    let report = run(repository.path(), &arguments).json();
    assert_eq!(report["gate"]["failures"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["gate"]["notes"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["classes"][0]["copies"][0]["commit"]["summary"], "first");
    validate(&report).expect("a valid report");
}

#[test]
fn the_schema_can_fail() {
    let workspace = Workspace::new("//- good.py\nx = 1\n");
    let mut report = check_json(workspace.path(), &[]);
    report["summary"]["extra"] = 1.into();
    assert!(validate(&report).is_err());
}
