//! Which formats there are, and where each of them goes.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use dupi::output::{self, Draft, Ends};

use super::findings::Findings;
use super::{badge, checkstyle, csv, github, gitlab, html, json, markdown, sarif, text};
use crate::report::html::is_page;
use crate::terminal::unless_closed;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs; the schema is in the repository
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
    /// Code quality report of GitLab, and of all that read Code Climate's
    Gitlab,
    /// Checkstyle's XML, which most build servers read
    Checkstyle,
    /// A comment for a pull request
    Markdown,
    /// A page for browsers, as `dupi-lsp report` writes it
    Html,
    /// A picture of the share of duplicated lines, in SVG
    Badge,
    /// One row for each copy
    Csv,
}

impl Format {
    fn write(self, out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
        match self {
            Format::Text => text::write(out, findings),
            Format::Json => json::write(out, findings),
            Format::Sarif => sarif::write(out, findings),
            Format::Github => github::write(out, findings),
            Format::Gitlab => gitlab::write(out, findings),
            Format::Checkstyle => checkstyle::write(out, findings),
            Format::Markdown => markdown::write(out, findings),
            Format::Html => html::write(out, findings),
            Format::Badge => badge::write(out, findings),
            Format::Csv => csv::write(out, findings),
        }
    }

    /// Was a file written in this format, by this program?
    fn is_of(self, ends: &Ends) -> bool {
        let (first, last) = (compact(&ends.first), compact(&ends.last));
        match self {
            Format::Text => text::is_text(ends),
            Format::Json => first.starts_with("{\"version\":") && first.contains(",\"tool\":{\"name\":\"dupi-lsp\""),
            Format::Sarif => first.starts_with("{\"$schema\":") && last.contains("\"driver\":{\"name\":\"dupi-lsp\""),
            Format::Github => {
                first.starts_with("::")
                    && (first.contains("title=Duplicatedcode(") || first.contains("title=dupi-lsp::"))
            }
            Format::Gitlab => {
                first == "[]" || first.starts_with("[{\"categories\":[\"Duplication\"],\"check_name\":\"duplicate-")
            }
            Format::Checkstyle => {
                first.contains("<checkstyleversion=")
                    && (first.contains("source=\"dupi-lsp.") || !first.contains("<file"))
            }
            Format::Markdown => first.starts_with(&compact(markdown::MARK.as_bytes())),
            Format::Html => is_page(ends),
            Format::Badge => first.starts_with("<svg") && first.contains("aria-label=\"duplicated:"),
            Format::Csv => first.starts_with(csv::COLUMNS),
        }
    }

    /// Does it say of all classes where they are?
    pub fn shows_all(self) -> bool {
        !matches!(self, Format::Text | Format::Badge)
    }

    /// Can it stand among other output? Such a log is searched for lines of a form.
    fn may_mix(self) -> bool {
        self == Format::Github
    }

    fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }
}

/// A format and the file that it goes to, if it is not standard output.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub format: Format,
    file: Option<PathBuf>,
}

/// `--format` and `--output`, which belong together by their order.
#[derive(Clone, Debug)]
pub struct Outputs(pub Vec<Output>);

/// A text without blanks and line ends.
pub fn compact(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_ascii_whitespace().collect()
}

impl Outputs {
    /// Fails if one of them cannot be written, before any work is done.
    pub fn check(&self) -> Result<()> {
        for Output { format, file } in &self.0 {
            if let Some(path) = file {
                output::check(path, |ends| format.is_of(ends))
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }

    pub fn write(&self, findings: &Findings) -> Result<()> {
        for Output { format, file } in &self.0 {
            match file {
                Some(path) => {
                    let write = || {
                        let mut draft = Draft::create(path, |ends| format.is_of(ends))?;
                        // Colours are for terminals.
                        let mut out = BufWriter::new(anstream::StripStream::new(&mut draft as &mut dyn Write));
                        format.write(&mut out, findings)?;
                        out.flush()?;
                        drop(out);
                        draft.finish()
                    };
                    write().with_context(|| format!("cannot write {}", path.display()))?;
                }
                None => {
                    let mut out = anstream::stdout().lock();
                    // Whether anybody reads it or not, the exit code tells.
                    unless_closed(format.write(&mut out, findings).and_then(|()| out.flush()))?;
                }
            }
        }
        Ok(())
    }
}

const FORMAT: &str = "format";
const OUTPUT: &str = "output";

impl Args for Outputs {
    fn augment_args(command: Command) -> Command {
        let values = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let format = Arg::new(FORMAT)
            .long(FORMAT)
            .value_name("FORMAT")
            .help("How to report; several at once, each with an --output [default: text]")
            .action(ArgAction::Append)
            .value_delimiter(',')
            .value_parser(PossibleValuesParser::new(values));
        let output = Arg::new(OUTPUT)
            .long(OUTPUT)
            .short('o')
            .value_name("FILE")
            .help("Write the format before it to this file")
            .action(ArgAction::Append)
            .value_parser(clap::value_parser!(PathBuf));
        command.arg(format).arg(output)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Outputs::augment_args(command)
    }
}

impl FromArgMatches for Outputs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Outputs, clap::Error> {
        let mut given: Vec<(usize, Given)> = Vec::new();
        let at = |name: &str| matches.indices_of(name).into_iter().flatten().collect::<Vec<usize>>();
        let formats = matches.get_many::<String>(FORMAT).into_iter().flatten();
        // Only these are taken by the parser of arguments.
        let formats = formats.filter_map(|name| Format::from_str(name, false).ok());
        given.extend(at(FORMAT).into_iter().zip(formats.map(Given::Format)));
        let files = matches.get_many::<PathBuf>(OUTPUT).into_iter().flatten().cloned();
        given.extend(at(OUTPUT).into_iter().zip(files.map(Given::File)));
        given.sort_by_key(|(at, _)| *at);
        paired(given.into_iter().map(|(_, given)| given))
            .map(Outputs)
            .map_err(|error| clap::Error::raw(ErrorKind::ArgumentConflict, format!("{error}\n")))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Outputs::from_arg_matches(matches)?;
        Ok(())
    }
}

enum Given {
    Format(Format),
    File(PathBuf),
}

/// Each file belongs to the format before it, or to the text if there is none.
fn paired(given: impl Iterator<Item = Given>) -> Result<Vec<Output>> {
    let mut outputs: Vec<Output> = Vec::new();
    for given in given {
        match given {
            Given::Format(format) => outputs.push(Output { format, file: None }),
            Given::File(path) => {
                if outputs.is_empty() {
                    outputs.push(Output { format: Format::Text, file: None });
                }
                let last = outputs.len() - 1;
                if outputs[last].file.replace(path).is_some() {
                    bail!("two `--output` for one format: name a `--format` before each");
                }
            }
        }
    }
    if outputs.is_empty() {
        outputs.push(Output { format: Format::Text, file: None });
    }
    let mixed: Vec<String> = outputs
        .iter()
        .filter(|output| output.file.is_none() && !output.format.may_mix())
        .map(|o| o.format.name())
        .collect();
    if mixed.len() > 1 {
        bail!("{} all go to standard output: give all but one of them an `--output FILE`", mixed.join(" and "));
    }
    for (i, output) in outputs.iter().enumerate() {
        if let Some(file) = &output.file
            && outputs[..i].iter().any(|before| before.file.as_ref() == Some(file))
        {
            bail!("two formats go to {}", file.display());
        }
    }
    Ok(outputs)
}
