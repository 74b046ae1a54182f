//! The code quality report of GitLab: the part of Code Climate's format that it reads, and a little more of it.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::findings::Findings;
use crate::terminal::write_json;

/// Other locations of an issue: nobody follows more.
const MAX_OTHERS: usize = 50;

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let mut issues: Vec<Value> = Vec::new();
    for finding in &findings.shown {
        let location = |copy: usize| {
            let (begin, end) = finding.line_numbers(copy);
            json!({
                "path": findings.repository.path(finding.path(copy)),
                "lines": { "begin": begin, "end": end },
            })
        };
        for copy in finding.spoken_of() {
            let others: Vec<Value> = finding.others(copy).into_iter().take(MAX_OTHERS).map(location).collect();
            issues.push(json!({
                "type": "issue",
                "check_name": format!("duplicate-{}", finding.class.kind.name()),
                "description": finding.message(copy),
                "categories": ["Duplication"],
                "severity": if finding.is_minor() { "info" } else { "minor" },
                "fingerprint": finding.fingerprint(copy),
                "location": location(copy),
                "other_locations": others,
            }));
        }
    }
    write_json(out, &Value::Array(issues))
}
