//! Which languages are known, and what editors call them: for whoever wonders, and for what an editor's client is made of.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use dupi_grammars::{LANGUAGES, Language};
use serde_json::{Value, json};

/// What editors call a language, where it is not our name for it.
const ALIASES: [(&str, &str); 6] = [
    ("csharp", "c-sharp"),
    ("javascriptreact", "javascript"),
    ("typescriptreact", "tsx"),
    ("shellscript", "bash"),
    ("sh", "bash"),
    ("objective-c", "c"),
];

/// The language that an editor means.
pub fn by_editors_name(id: &str) -> Option<&'static Language> {
    dupi_grammars::by_name(ALIASES.iter().find(|(alias, _)| *alias == id).map_or(id, |(_, name)| name))
}

fn editors_names(language: &Language) -> Vec<&'static str> {
    let aliases = ALIASES.iter().filter(|(_, name)| *name == language.name).map(|(alias, _)| *alias);
    std::iter::once(language.name).chain(aliases).collect()
}

#[derive(clap::Args)]
pub struct Arguments {
    /// How to show them
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A line for each
    Text,
    /// With the names that editors have for them
    Json,
}

/// `dupi-lsp languages`.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut out = anstream::stdout();
    match arguments.format {
        Format::Text => LANGUAGES.iter().try_for_each(|language| {
            let extensions = language.extensions.iter().map(|extension| format!(".{extension}"));
            let names = language.file_names.iter().map(|name| (*name).to_owned());
            let files: Vec<String> = extensions.chain(names).collect();
            writeln!(out, "{:<12}{}", language.name, files.join(" "))
        })?,
        Format::Json => {
            let languages: Vec<Value> = LANGUAGES
                .iter()
                .map(|language| {
                    json!({
                        "name": language.name,
                        "editorNames": editors_names(language),
                        "extensions": language.extensions,
                        "fileNames": language.file_names,
                    })
                })
                .collect();
            writeln!(out, "{:#}", Value::Array(languages))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
