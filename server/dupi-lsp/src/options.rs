//! Options as written, on the command line and in `dupi.toml` alike, and how they become settings.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use dupi::blots::Blotter;
use dupi::document::{Document, Scratch};
use dupi::files::Source;
use dupi::ignore::Matcher;
use dupi::regular;
use dupi::settings::MAX_FILE_BYTES;
use dupi::taboo::Taboo;
use dupi::{Ignore, Kind, Settings, Zone};
use serde::{Deserialize, Deserializer};
use time::{Date, Month, OffsetDateTime};

/// The file at the root of what is checked that holds a project's options.
pub const FILE: &str = "dupi.toml";
/// It is written by hand: thousands of entries take less.
const MAX_CONFIGURATION: u64 = 1 << 20;

/// Flags that are no keys of that file, because a repository that somebody else wrote must not say where files go or how
/// much memory is taken. The file refuses every key that it does not know; for these it says why.
const FLAGS_ONLY: [&str; 7] = ["index-dir", "no-index", "memory", "format", "output", "baseline", "write-baseline"];

/// Reports write an id with so many digits.
const ID_DIGITS: usize = 16;

/// What can be set; each key is a flag and a key of `dupi.toml`.
#[derive(clap::Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Options {
    /// Least number of tokens of a copy [default: 50]
    #[arg(long, value_name = "N")]
    pub min_tokens: Option<u32>,
    /// Least number of lines of a copy [default: 5]
    #[arg(long, value_name = "N")]
    pub min_lines: Option<u32>,
    /// Least number of tokens of a copy in test code [default: 100]
    #[arg(long, value_name = "N")]
    pub test_min_tokens: Option<u32>,
    /// Least share of a copy that corresponds to the others, 0 to 1; short and simple code needs more [default: 0.7]
    #[arg(long, value_name = "SHARE")]
    pub min_similarity: Option<f64>,
    /// Kinds to report: exact, renamed, near (edited after copying) [default: all]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Option<Vec<String>>,
    /// Zones to report: code, test, data, imports, generated [default: code,test]
    #[arg(long, value_name = "ZONE", value_delimiter = ',')]
    pub zone: Option<Vec<String>>,
    /// Read only files that match one of these globs
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub include: Option<Vec<String>>,
    /// Leave out files and folders that match one of these globs
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub exclude: Option<Vec<String>>,
    /// Read only these languages
    #[arg(long, value_name = "LANGUAGE", value_delimiter = ',')]
    pub lang: Option<Vec<String>>,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Leave out files larger than this many KiB [default: 4096]
    #[arg(long, value_name = "KIB")]
    pub max_file_size: Option<u64>,
    /// Also read what .gitignore names
    #[arg(long, num_args = 0, default_missing_value = "true", value_name = "BOOL")]
    pub no_gitignore: Option<bool>,
    /// Also read vendored folders (vendor, node_modules, third_party …)
    #[arg(long, num_args = 0, default_missing_value = "true", value_name = "BOOL")]
    pub vendored: Option<bool>,
    /// Also read folders whose names start with a dot
    #[arg(long, num_args = 0, default_missing_value = "true", value_name = "BOOL")]
    pub hidden: Option<bool>,
    /// Also report classes inside others that have no more copies than these
    #[arg(long, num_args = 0, default_missing_value = "true", value_name = "BOOL")]
    pub nested: Option<bool>,
    /// How candidates are found: rolling, circular, interleaved; the answer is the same [default: rolling]
    #[arg(long, value_name = "BLOTTER")]
    pub blotter: Option<String>,
    /// Fail if more than this share of all lines is duplicated; `test=10` counts only what is of a zone
    #[arg(long, value_name = "[ZONE=]PERCENT", value_delimiter = ',', value_parser = limit, help_heading = GATE)]
    #[serde(default, deserialize_with = "limits")]
    pub max_percent: Option<Vec<Limit>>,
    /// Fail if there are more classes than this; `test=10` counts only those of a zone
    #[arg(long, value_name = "[ZONE=]N", value_delimiter = ',', value_parser = limit, help_heading = GATE)]
    #[serde(default, deserialize_with = "limits")]
    pub max_classes: Option<Vec<Limit>>,
    /// Fail if more classes than this are new or have new copies, with --baseline, --since or --staged [default: 0]
    #[arg(long, value_name = "[ZONE=]N", value_delimiter = ',', value_parser = limit, help_heading = GATE)]
    #[serde(default, deserialize_with = "limits")]
    pub max_new: Option<Vec<Limit>>,
    /// Classes that are never reported, each with a reason; only in the file
    #[arg(skip)]
    pub ignore: Option<Vec<Ignored>>,
    /// Texts that are no copies of each other wherever they stand; only in the file
    #[arg(skip)]
    pub taboo: Option<Vec<TabooText>>,
}

/// A text that everybody has: written out, or that of a file of the project.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TabooText {
    text: Option<String>,
    file: Option<PathBuf>,
    /// Needed for a text that is written out.
    lang: Option<String>,
    /// For whoever reads the file.
    #[serde(rename = "reason")]
    _reason: Option<String>,
}

impl TabooText {
    /// The text as a document; files are those of the project at `root` and no others.
    fn document(&self, root: &Path) -> Result<Document, BadOption> {
        let (path, bytes) = match (&self.text, &self.file) {
            (Some(text), None) => (PathBuf::from("text"), text.clone().into_bytes()),
            (None, Some(file)) => {
                let path = root.join(file).canonicalize();
                let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
                let inside = path.ok().filter(|path| path.starts_with(root) && path.is_file());
                let Some(path) = inside else {
                    return Err(bad("file", format!("no file of the project: {}", file.display())));
                };
                let cannot = |error| bad("file", format!("cannot read {}: {error}", file.display()));
                (file.clone(), regular::read(&path, MAX_FILE_BYTES).map_err(cannot)?)
            }
            _ => return Err(bad("taboo", "needs either `text` or `file`".to_owned())),
        };
        let language = match &self.lang {
            Some(name) => names("lang", std::slice::from_ref(name), dupi_grammars::by_name, &languages())?[0],
            None => dupi_grammars::detect(&path, &bytes).ok_or_else(|| {
                bad("taboo", format!("cannot tell the language of {}: name it by `lang`", path.display()))
            })?,
        };
        let source = Source::new(path.clone(), dupi::files::show(&path));
        let settings = Settings { zones: Zone::ALL.to_vec(), ..Settings::default() };
        Document::from_text(&source, language, &bytes, &settings, &mut Scratch::default())
            .map_err(|reason| bad("taboo", format!("cannot use {}: {reason}", path.display())))
    }
}

pub fn languages() -> Vec<&'static str> {
    dupi_grammars::LANGUAGES.iter().map(|language| language.name).collect()
}

/// Where help lists what decides whether a check fails.
pub const GATE: &str = "What fails";

/// The most that there may be, in all or in one zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub zone: Option<Zone>,
    pub most: f64,
}

/// `3` or `test=10`.
fn limit(text: &str) -> Result<Limit, String> {
    let (zone, most) = match text.split_once('=') {
        Some((zone, most)) => (Some(zone_of_limit(zone.trim())?), most),
        None => (None, text),
    };
    let most = most.trim().parse().map_err(|_| "neither a number nor a zone and a number, as in `test=10`")?;
    Ok(Limit { zone, most })
}

fn zone_of_limit(name: &str) -> Result<Zone, String> {
    let known = || spellings(Zone::ALL, Zone::name).join(", ");
    Zone::by_name(name).ok_or_else(|| format!("no such zone: `{name}`; known are: {}", known()))
}

/// `3`, or a table from zones to numbers.
fn limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Limit>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "neither a number nor a table from zones to numbers")]
    enum Written {
        All(f64),
        Zones(BTreeMap<String, f64>),
    }
    Ok(Some(match Written::deserialize(deserializer)? {
        Written::All(most) => vec![Limit { zone: None, most }],
        Written::Zones(zones) => {
            let limit = |(zone, most): (String, f64)| Ok(Limit { zone: Some(zone_of_limit(&zone)?), most });
            zones.into_iter().map(limit).collect::<Result<_, String>>().map_err(serde::de::Error::custom)?
        }
    }))
}

/// Classes that somebody looked at and wants as they are: one, or all that stand only in some files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ignored {
    /// The id of a class, as reports have it.
    class: Option<String>,
    /// A glob, as in `exclude`.
    path: Option<String>,
    pub reason: String,
    /// Who is to be asked.
    pub owner: Option<String>,
    /// The last day on which it holds, in universal time.
    expires: Option<toml::value::Datetime>,
}

impl Ignored {
    /// What it names, as it is written.
    pub fn name(&self) -> &str {
        self.class.as_deref().or(self.path.as_deref()).unwrap_or_default()
    }

    fn what(&self) -> Result<Ignore, BadOption> {
        match (&self.class, &self.path) {
            (Some(class), None) => {
                let id = Some(class).filter(|class| class.len() == ID_DIGITS);
                id.and_then(|class| u64::from_str_radix(class, 16).ok())
                    .map(Ignore::Class)
                    .ok_or_else(|| bad("class", format!("`{class}` is no id of a class")))
            }
            (None, Some(glob)) => {
                let paths = Ignore::Paths(glob.clone());
                Matcher::new(std::slice::from_ref(&paths))
                    .map_err(|error| BadOption { key: None, message: error.to_string() })?;
                Ok(paths)
            }
            _ => Err(bad("ignore", "each entry names either a `class` or a `path`".to_owned())),
        }
    }

    fn last_day(&self) -> Result<Option<Date>, BadOption> {
        let Some(expires) = &self.expires else { return Ok(None) };
        let day = expires.date.and_then(|date| {
            let month = Month::try_from(date.month).ok()?;
            Date::from_calendar_date(i32::from(date.year), month, date.day).ok()
        });
        day.map(Some).ok_or_else(|| bad("expires", format!("`{expires}` is no date, as in 2027-01-31")))
    }

    /// Does it no longer hold?
    pub fn is_over(&self) -> bool {
        self.last_day().is_ok_and(|day| day.is_some_and(|day| day < OffsetDateTime::now_utc().date()))
    }

    /// "2026-01-31".
    pub fn expires(&self) -> String {
        self.expires.map_or(String::new(), |date| date.to_string())
    }
}

/// What the file of the project at `root` holds, if there is one.
pub fn read_file(root: &Path) -> io::Result<Option<String>> {
    let path = root.join(FILE);
    match regular::read_to_string(&path, MAX_CONFIGURATION) {
        Ok(text) => Ok(Some(text)),
        // A link to nothing is a mistake, and not the lack of a file.
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(error),
    }
}

impl Options {
    /// The options of a project, if it has any.
    pub fn read(root: &Path) -> Result<Options> {
        let path = root.join(FILE);
        let text = read_file(root).with_context(|| format!("cannot read {}", path.display()))?;
        let Some(text) = text else { return Ok(Options::default()) };
        Options::parse(&text, root).map_err(|BadConfiguration { line, message }| {
            let line = line.map_or(String::new(), |line| format!("{line}: "));
            anyhow!("{}:{line}{message}", path.display())
        })
    }

    /// The options that the file of the project at `root` holds.
    pub fn parse(text: &str, root: &Path) -> Result<Options, BadConfiguration> {
        let options: Options = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
            let key = key_on_line(text, line);
            let is_flag = key.is_some_and(|key| FLAGS_ONLY.contains(&key));
            let message = if is_flag { "only a flag: a project does not set it" } else { error.message() };
            let key = key.map_or(String::new(), |key| format!("`{key}`: "));
            BadConfiguration { line: Some(line), message: format!("{key}{message}") }
        })?;
        // A bad value is told with the line that its key stands on.
        options.settings_in(root).map_err(|error| BadConfiguration {
            line: error.key.and_then(|key| line_of(text, key)),
            message: error.to_string(),
        })?;
        Ok(options)
    }

    /// These options, and what they leave open from `others`.
    pub fn or(self, others: Options) -> Options {
        Options {
            min_tokens: self.min_tokens.or(others.min_tokens),
            min_lines: self.min_lines.or(others.min_lines),
            test_min_tokens: self.test_min_tokens.or(others.test_min_tokens),
            min_similarity: self.min_similarity.or(others.min_similarity),
            kind: self.kind.or(others.kind),
            zone: self.zone.or(others.zone),
            include: self.include.or(others.include),
            exclude: self.exclude.or(others.exclude),
            lang: self.lang.or(others.lang),
            threads: self.threads.or(others.threads),
            max_file_size: self.max_file_size.or(others.max_file_size),
            no_gitignore: self.no_gitignore.or(others.no_gitignore),
            vendored: self.vendored.or(others.vendored),
            hidden: self.hidden.or(others.hidden),
            nested: self.nested.or(others.nested),
            blotter: self.blotter.or(others.blotter),
            max_percent: self.max_percent.or(others.max_percent),
            max_classes: self.max_classes.or(others.max_classes),
            max_new: self.max_new.or(others.max_new),
            ignore: self.ignore.or(others.ignore),
            taboo: self.taboo.or(others.taboo),
        }
    }

    /// What is set, as `key = value`, for a person to read.
    pub fn written(&self) -> Vec<String> {
        fn shown<T>(key: &str, value: &Option<T>, show: impl Fn(&T) -> String) -> Option<String> {
            value.as_ref().map(|value| format!("{key} = {}", show(value)))
        }
        let list = |values: &Vec<String>| values.join(" ");
        let limits = |limits: &Vec<Limit>| {
            let shown = limits.iter().map(|Limit { zone, most }| match zone {
                Some(zone) => format!("{}={most}", zone.name()),
                None => most.to_string(),
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        let Options {
            min_tokens,
            min_lines,
            test_min_tokens,
            min_similarity,
            kind,
            zone,
            include,
            exclude,
            lang,
            threads,
            max_file_size,
            no_gitignore,
            vendored,
            hidden,
            nested,
            blotter,
            max_percent,
            max_classes,
            max_new,
            ignore,
            taboo,
        } = self;
        let written = [
            shown("min-tokens", min_tokens, u32::to_string),
            shown("min-lines", min_lines, u32::to_string),
            shown("test-min-tokens", test_min_tokens, u32::to_string),
            shown("min-similarity", min_similarity, f64::to_string),
            shown("kind", kind, list),
            shown("zone", zone, list),
            shown("include", include, list),
            shown("exclude", exclude, list),
            shown("lang", lang, list),
            shown("threads", threads, usize::to_string),
            shown("max-file-size", max_file_size, u64::to_string),
            shown("no-gitignore", no_gitignore, bool::to_string),
            shown("vendored", vendored, bool::to_string),
            shown("hidden", hidden, bool::to_string),
            shown("nested", nested, bool::to_string),
            shown("blotter", blotter, String::clone),
            shown("max-percent", max_percent, limits),
            shown("max-classes", max_classes, limits),
            shown("max-new", max_new, limits),
            shown("[[ignore]]", ignore, |entries| entries.len().to_string()),
            shown("[[taboo]]", taboo, |texts| texts.len().to_string()),
        ];
        written.into_iter().flatten().collect()
    }

    /// The settings that these options ask for in the project at `root`.
    pub fn settings_in(&self, root: &Path) -> Result<Settings, BadOption> {
        let mut taboo = Taboo::default();
        for text in self.taboo.iter().flatten() {
            let document = text.document(root)?;
            if !taboo.add(&document) {
                let n = document.codes.len();
                let least = dupi::taboo::MIN_TOKENS;
                return Err(bad("taboo", format!("`{}` has {n} tokens, and needs {least}", document.shown)));
            }
        }
        Ok(Settings { taboo: Arc::new(taboo), ..self.settings()? })
    }

    /// The same without what needs a project: texts that are taboo.
    pub fn settings(&self) -> Result<Settings, BadOption> {
        let mut settings = Settings::default();
        let Options {
            min_tokens,
            min_lines,
            test_min_tokens,
            min_similarity,
            kind,
            zone,
            include,
            exclude,
            lang,
            threads,
            max_file_size,
            no_gitignore,
            vendored,
            hidden,
            nested,
            blotter,
            max_percent,
            max_classes,
            max_new,
            ignore,
            taboo: _,
        } = self;
        if let Some(n) = min_tokens {
            settings.min_tokens = at_least_one("min-tokens", *n)?;
        }
        if let Some(n) = min_lines {
            settings.min_lines = at_least_one("min-lines", *n)?;
        }
        if let Some(n) = test_min_tokens {
            settings.test_min_tokens = at_least_one("test-min-tokens", *n)?;
        }
        if let Some(share) = min_similarity {
            if !(0.0..=1.0).contains(share) {
                return Err(bad("min-similarity", format!("`{share}` is not between 0 and 1")));
            }
            settings.min_similarity = *share;
        }
        if let Some(kinds) = kind {
            settings.kinds = names("kind", kinds, Kind::by_name, &spellings(Kind::ALL, Kind::name))?;
        }
        if let Some(zones) = zone {
            settings.zones = names("zone", zones, Zone::by_name, &spellings(Zone::ALL, Zone::name))?;
        }
        if let Some(lang) = lang {
            names("lang", lang, dupi_grammars::by_name, &languages())?;
            settings.languages = lang.clone();
        }
        if let Some(name) = blotter {
            let known = spellings(Blotter::ALL, Blotter::name);
            settings.blotter = names("blotter", std::slice::from_ref(name), Blotter::by_name, &known)?[0];
        }
        if let Some(ignore) = ignore {
            for entry in ignore {
                entry.last_day()?;
                entry.what()?;
            }
            settings.ignored =
                ignore.iter().filter(|entry| !entry.is_over()).map(Ignored::what).collect::<Result<_, _>>()?;
        }
        for (key, limits, highest, whole) in [
            ("max-percent", max_percent, 100.0, false),
            ("max-classes", max_classes, f64::MAX, true),
            ("max-new", max_new, f64::MAX, true),
        ] {
            for Limit { most, .. } in limits.iter().flatten() {
                if !(0.0..=highest).contains(most) || (whole && most.fract() != 0.0) {
                    let kind = if whole { "a number of classes" } else { "between 0 and 100" };
                    return Err(bad(key, format!("`{most}` is not {kind}")));
                }
            }
        }
        if let Some(n) = threads {
            // More threads than cores help nobody, and a project's file must not start thousands.
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            settings.threads = (*n).min(cores * 4);
        }
        settings.include = include.clone().unwrap_or_default();
        settings.exclude = exclude.clone().unwrap_or_default();
        if let Some(kib) = max_file_size {
            settings.max_file_bytes = kib.saturating_mul(1024).min(u64::from(u32::MAX) / 2);
        }
        settings.gitignore = !no_gitignore.unwrap_or(false);
        settings.skip_vendored = !vendored.unwrap_or(false);
        settings.skip_hidden = !hidden.unwrap_or(false);
        settings.nested = nested.unwrap_or(false);
        Ok(settings)
    }
}

/// What is wrong with a project's file, and on which line (from 1) if one is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadConfiguration {
    pub line: Option<usize>,
    pub message: String,
}

/// An option with a value that it cannot have.
#[derive(Debug)]
pub struct BadOption {
    key: Option<&'static str>,
    message: String,
}

impl std::fmt::Display for BadOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.key {
            Some(key) => write!(f, "`{key}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for BadOption {}

fn bad(key: &'static str, message: String) -> BadOption {
    BadOption { key: Some(key), message }
}

fn at_least_one(key: &'static str, n: u32) -> Result<u32, BadOption> {
    if n == 0 { Err(bad(key, "must be at least 1".to_owned())) } else { Ok(n) }
}

fn names<T>(
    key: &'static str,
    names: &[String],
    by_name: impl Fn(&str) -> Option<T>,
    known: &[&str],
) -> Result<Vec<T>, BadOption> {
    if names.is_empty() {
        return Err(bad(key, format!("names nothing; known are: {}", known.join(", "))));
    }
    names
        .iter()
        .map(|name| {
            by_name(name).ok_or_else(|| bad(key, format!("no such {key}: `{name}`; known are: {}", known.join(", "))))
        })
        .collect()
}

fn spellings<T: Copy>(values: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
    values.iter().map(|&value| name(value)).collect()
}

/// The line (from 1) on which a key is set.
fn line_of(text: &str, key: &str) -> Option<usize> {
    text.lines().position(|line| line.split('=').next().is_some_and(|left| left.trim() == key)).map(|i| i + 1)
}

/// The key set on a line, if there is one.
fn key_on_line(text: &str, line: usize) -> Option<&str> {
    text.lines().nth(line - 1).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim())
}

/// The folder to which everything is relative: the one folder that was named, else what all paths have in common.
pub fn root(paths: &[PathBuf]) -> Result<PathBuf> {
    let absolute: Vec<_> = paths
        .iter()
        .map(|path| path.canonicalize().with_context(|| format!("cannot read {}", path.display())))
        .collect::<Result<_>>()?;
    let mut root = absolute.first().cloned().ok_or_else(|| anyhow!("no path to check"))?;
    if !root.is_dir() {
        root.pop();
    }
    for path in &absolute[1..] {
        while !path.starts_with(&root) {
            if !root.pop() {
                bail!("the paths have no folder in common");
            }
        }
    }
    Ok(root)
}
