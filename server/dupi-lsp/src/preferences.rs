//! What a user can set in an editor, all of it in one table: it reads settings, and makes their documentation and schema.
//!
//! A project's `dupi.toml` is the base, and what the user sets here wins. Knows JSON, no protocol.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use dupi::Zone;
use serde_json::{Map, Value, json};

use crate::options::Options;

/// What an index may take in a server that sits beside an editor, in MiB: less than a check, which has the machine.
/// With 384 the whole process had 316 MB at most while Linux was indexed.
const MEMORY: u64 = 320;
/// More than any machine has.
const MAX_MEMORY: u64 = 1 << 20;
/// The least that an index can be built in.
const MIN_MEMORY: u64 = dupi::index::MIN_MEMORY >> 20;

/// One setting: `dupi.` and its key.
struct Setting {
    key: &'static str,
    shape: Shape,
    /// In JSON.
    default: &'static str,
    about: &'static str,
    /// The key of `dupi.toml` that it stands for, if it is one.
    option: Option<&'static str>,
}

enum Shape {
    Flag,
    Number(u64, u64),
    Share,
    Texts,
    Names(&'static [&'static str]),
    Choice(&'static [&'static str]),
}

const SEVERITIES: &[&str] = &["error", "warning", "information", "hint", "off"];
const KINDS: &[&str] = &["exact", "renamed", "near"];
const ZONES: &[&str] = &["code", "test", "data", "imports", "generated"];

const fn option(
    key: &'static str,
    option: &'static str,
    shape: Shape,
    default: &'static str,
    about: &'static str,
) -> Setting {
    Setting { key, shape, default, about, option: Some(option) }
}

const fn own(key: &'static str, shape: Shape, default: &'static str, about: &'static str) -> Setting {
    Setting { key, shape, default, about, option: None }
}

/// The table.
const SETTINGS: &[Setting] = &[
    own("diagnostics.enable", Shape::Flag, "true", "Show copies as diagnostics."),
    own(
        "diagnostics.range",
        Shape::Choice(&["copy", "firstLine"]),
        "\"copy\"",
        "What a diagnostic underlines: the whole copy, or its first line.",
    ),
    own("diagnostics.severity.code", Shape::Choice(SEVERITIES), "\"information\"", "How copies in code are shown."),
    own("diagnostics.severity.test", Shape::Choice(SEVERITIES), "\"hint\"", "How copies in test code are shown."),
    own(
        "diagnostics.severity.data",
        Shape::Choice(SEVERITIES),
        "\"hint\"",
        "How copies in tables and lists are shown, if `dupi.zones` asks for them.",
    ),
    own(
        "diagnostics.severity.imports",
        Shape::Choice(SEVERITIES),
        "\"hint\"",
        "How copies of imports are shown, if `dupi.zones` asks for them.",
    ),
    own(
        "diagnostics.severity.generated",
        Shape::Choice(SEVERITIES),
        "\"hint\"",
        "How copies in generated files are shown, if `dupi.zones` asks for them.",
    ),
    own("codeLens.enable", Shape::Flag, "true", "Show a lens above each copy."),
    own("hover.enable", Shape::Flag, "true", "Show the other copies when the mouse rests on the first line of one."),
    own(
        "hover.containment",
        Shape::Flag,
        "false",
        "Also say, on the first line of a file, how much of it stands in others.",
    ),
    option("minTokens", "min-tokens", Shape::Number(1, 1 << 20), "50", "Least number of tokens of a copy."),
    option("minLines", "min-lines", Shape::Number(1, 1 << 20), "5", "Least number of lines of a copy."),
    option(
        "testMinTokens",
        "test-min-tokens",
        Shape::Number(1, 1 << 20),
        "100",
        "Least number of tokens of a copy in test code.",
    ),
    option(
        "minSimilarity",
        "min-similarity",
        Shape::Share,
        "0.7",
        "Least share of a copy that corresponds to the others, 0 to 1; short and simple code needs more.",
    ),
    option("kinds", "kind", Shape::Names(KINDS), "[\"exact\", \"renamed\", \"near\"]", "Kinds of copies to show."),
    option("zones", "zone", Shape::Names(ZONES), "[\"code\", \"test\"]", "Zones to show."),
    option(
        "include",
        "include",
        Shape::Texts,
        "[]",
        "Globs, relative to the folder; if there are any, only files that match one are read.",
    ),
    option("exclude", "exclude", Shape::Texts, "[]", "Globs of files and folders that are left out."),
    option("languages", "lang", Shape::Texts, "[]", "Names of languages; none means all."),
    option("maxFileSize", "max-file-size", Shape::Number(1, 1 << 21), "4096", "Larger files are left out, in KiB."),
    option("noGitignore", "no-gitignore", Shape::Flag, "false", "Also read what .gitignore names."),
    option(
        "vendored",
        "vendored",
        Shape::Flag,
        "false",
        "Also read vendored folders (vendor, node_modules, third_party …).",
    ),
    option("hidden", "hidden", Shape::Flag, "false", "Also read folders whose names start with a dot."),
    option(
        "nested",
        "nested",
        Shape::Flag,
        "false",
        "Also show classes inside others that have no more copies than these.",
    ),
    option("threads", "threads", Shape::Number(0, 1 << 10), "0", "Threads that read files; 0 means one per core."),
    own("memory", Shape::Number(MIN_MEMORY, MAX_MEMORY), "320", "Memory in which an index is built, in MiB."),
];

/// How a copy is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
    Off,
}

impl Severity {
    fn by_name(name: &str) -> Severity {
        match name {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            "information" => Severity::Information,
            "hint" => Severity::Hint,
            _ => Severity::Off,
        }
    }
}

/// Settings as used.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub diagnostics: bool,
    pub first_line_only: bool,
    severities: Vec<(Zone, Severity)>,
    pub code_lens: bool,
    pub hover: bool,
    /// Whether a hover on the first line says how much of the file stands in others.
    pub containment: bool,
    /// In MiB.
    pub memory: u64,
    /// What wins over `dupi.toml`.
    pub options: Options,
    /// `key = value` of what differs from its default and is no option.
    pub changed: Vec<String>,
}

impl Default for Preferences {
    fn default() -> Preferences {
        Preferences::read(&Value::Null).0
    }
}

impl Preferences {
    /// Settings as written, nested or with dots in their keys; and what is wrong with them: each such value counts as
    /// its default.
    pub fn read(written: &Value) -> (Preferences, Vec<String>) {
        let written = &section(written);
        let (mut wrong, mut changed) = (Vec::new(), Vec::new());
        let mut used: Map<String, Value> = Map::new();
        let mut options: Map<String, Value> = Map::new();
        for setting in SETTINGS {
            let default = || serde_json::from_str(setting.default).unwrap_or(Value::Null);
            let value = match lookup(written, setting.key) {
                None | Some(Value::Null) => default(),
                Some(value) => match setting.shape.refusal(value).or_else(|| setting.refused_as_option(value)) {
                    Some(why) => {
                        wrong.push(format!("`dupi.{}`: {why}", setting.key));
                        default()
                    }
                    None => {
                        if let Some(option) = setting.option {
                            options.insert(option.to_owned(), value.clone());
                        }
                        value.clone()
                    }
                },
            };
            if setting.option.is_none() && value != default() {
                changed.push(format!("dupi.{} = {value}", setting.key));
            }
            used.insert(setting.key.to_owned(), value);
        }
        let flag = |key: &str| used.get(key).and_then(Value::as_bool).unwrap_or(true);
        let text = |key: &str| used.get(key).and_then(Value::as_str).unwrap_or_default();
        let severity = |zone: &Zone| (*zone, Severity::by_name(text(&format!("diagnostics.severity.{}", zone.name()))));
        let preferences = Preferences {
            diagnostics: flag("diagnostics.enable"),
            first_line_only: text("diagnostics.range") == "firstLine",
            severities: Zone::ALL.iter().map(severity).collect(),
            code_lens: flag("codeLens.enable"),
            hover: flag("hover.enable"),
            containment: flag("hover.containment"),
            memory: used.get("memory").and_then(Value::as_u64).unwrap_or(MEMORY),
            // Each was found good by itself.
            options: serde_json::from_value(Value::Object(options)).unwrap_or_else(|error| {
                wrong.push(format!("`dupi`: {error}"));
                Options::default()
            }),
            changed,
        };
        (preferences, wrong)
    }

    pub fn severity(&self, zone: Zone) -> Severity {
        self.severities.iter().find(|(of, _)| *of == zone).map_or(Severity::Hint, |(_, severity)| *severity)
    }
}

/// Our part of what was written: some send all settings, some only this section, some with it in each key.
fn section(written: &Value) -> Value {
    let Some(fields) = written.as_object() else { return Value::Null };
    if let Some(section) = fields.get("dupi") {
        return section.clone();
    }
    let own: Map<String, Value> =
        fields.iter().filter_map(|(key, value)| Some((key.strip_prefix("dupi.")?.to_owned(), value.clone()))).collect();
    if own.is_empty() { written.clone() } else { Value::Object(own) }
}

/// The value of a key such as `diagnostics.enable`, whichever way it is written.
fn lookup<'a>(written: &'a Value, key: &str) -> Option<&'a Value> {
    let fields = written.as_object()?;
    if let Some(value) = fields.get(key) {
        return Some(value);
    }
    key.match_indices('.').find_map(|(dot, _)| lookup(fields.get(&key[..dot])?, &key[dot + 1..]))
}

impl Setting {
    /// What the option that it stands for has against a value of the right shape.
    fn refused_as_option(&self, value: &Value) -> Option<String> {
        let option = self.option?;
        // Nothing named is nothing set, but for lists of names that must name something.
        let options = serde_json::from_value::<Options>(json!({ option: value }));
        match options {
            Ok(options) => options.settings().err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Shape {
    fn refusal(&self, value: &Value) -> Option<String> {
        let is_one = |known: &[&str]| value.as_str().is_some_and(|name| known.contains(&name));
        let texts = || value.as_array().is_some_and(|values| values.iter().all(Value::is_string));
        match self {
            Shape::Flag => (!value.is_boolean()).then(|| "must be true or false".to_owned()),
            Shape::Number(least, most) => (!value.as_u64().is_some_and(|n| (*least..=*most).contains(&n)))
                .then(|| format!("must be a number from {least} to {most}")),
            Shape::Share => (!value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)))
                .then(|| "must be a number from 0 to 1".to_owned()),
            Shape::Texts => (!texts()).then(|| "must be a list of texts".to_owned()),
            Shape::Names(known) => (!texts()).then(|| format!("must be a list of: {}", known.join(", "))),
            Shape::Choice(known) => (!is_one(known)).then(|| format!("must be one of: {}", known.join(", "))),
        }
    }

    fn schema(&self) -> Value {
        match self {
            Shape::Flag => json!({"type": "boolean"}),
            Shape::Number(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Shape::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
            Shape::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Shape::Names(known) => json!({"type": "array", "items": {"type": "string", "enum": known}, "minItems": 1}),
            Shape::Choice(known) => json!({"type": "string", "enum": known}),
        }
    }
}

#[derive(clap::Args)]
pub struct Arguments {
    /// How to show them
    #[arg(long, value_enum, default_value = "markdown")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table for people
    Markdown,
    /// A JSON schema for editors
    Schema,
}

/// `dupi-lsp settings`.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let text = match arguments.format {
        Format::Markdown => documentation(),
        Format::Schema => format!("{:#}\n", schema()),
    };
    anstream::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The settings as a JSON schema: what an editor's settings page is made of.
fn schema() -> Value {
    let mut properties = Map::new();
    for setting in SETTINGS {
        let mut schema = setting.shape.schema();
        schema["default"] = serde_json::from_str(setting.default).unwrap_or(Value::Null);
        schema["description"] = setting.about.into();
        properties.insert(format!("dupi.{}", setting.key), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of dupi-lsp",
        "type": "object",
        "properties": properties,
    })
}

/// The settings as a table in Markdown.
fn documentation() -> String {
    let mut out = String::from("| setting | default | what it does |\n|---|---|---|\n");
    for Setting { key, default, about, option, .. } in SETTINGS {
        let option = option.map_or(String::new(), |option| format!(" In `dupi.toml`: `{option}`."));
        out.push_str(&format!("| `dupi.{key}` | `{default}` | {about}{option} |\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_that_its_setting_can_have() {
        for setting in SETTINGS {
            let value = serde_json::from_str(setting.default).expect(setting.key);
            assert_eq!(setting.shape.refusal(&value), None, "{}", setting.key);
        }
        assert_eq!(Preferences::read(&Value::Null).1, Vec::<String>::new());
        assert_eq!(Preferences::default().memory, MEMORY);
    }

    #[test]
    fn the_defaults_of_options_are_those_of_the_engine() {
        let options: Map<String, Value> = SETTINGS
            .iter()
            .filter(|setting| !["lang"].contains(&setting.option.unwrap_or("lang")))
            .map(|setting| {
                (setting.option.unwrap_or_default().to_owned(), serde_json::from_str(setting.default).expect("JSON"))
            })
            .collect();
        let options: Options = serde_json::from_value(Value::Object(options)).expect("options");
        assert_eq!(options.settings().expect("good"), dupi::Settings::default());
    }

    #[test]
    fn settings_are_read_nested_and_with_dots_and_bad_ones_are_told() {
        let written = json!({"minTokens": 80, "diagnostics": {"enable": false, "severity.code": "warning"},
            "zones": ["cod"], "codeLens.enable": 1, "unknown": {}});
        let (preferences, wrong) = Preferences::read(&written);
        assert_eq!(preferences.options.min_tokens, Some(80));
        assert!(!preferences.diagnostics && preferences.code_lens);
        assert_eq!(preferences.severity(Zone::Code), Severity::Warning);
        assert_eq!(preferences.options.zone, None);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        for written in [json!({"dupi": {"minLines": 7}}), json!({"dupi.minLines": 7}), json!({"minLines": 7})] {
            assert_eq!(Preferences::read(&written).0.options.min_lines, Some(7), "{written}");
        }
    }
}
