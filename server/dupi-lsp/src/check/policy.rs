//! What fails: limits as they were set, and whether a check is within them. Knows neither formats nor where figures come from.

use dupi::Zone;

use super::findings::{Finding, News};
use super::summary::Summary;
use crate::options::{Limit, Options};
use crate::terminal::count;

/// What may be: without any limit, nothing.
pub struct Policy {
    percent: Vec<Limit>,
    classes: Vec<Limit>,
    new: Vec<Limit>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Whether somebody has set a limit or compares with something.
    pub is_gate: bool,
    /// What is over a limit, each as a sentence.
    pub failures: Vec<String>,
    /// What somebody should know though nothing fails by it: entries that no longer hold.
    pub notes: Vec<String>,
}

impl Verdict {
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

impl Policy {
    pub fn of(options: &Options) -> Policy {
        let limits = |limits: &Option<Vec<Limit>>| limits.clone().unwrap_or_default();
        Policy {
            percent: limits(&options.max_percent),
            classes: limits(&options.max_classes),
            new: limits(&options.max_new),
        }
    }

    pub fn has_limits(&self) -> bool {
        !(self.percent.is_empty() && self.classes.is_empty() && self.new.is_empty())
    }

    /// `compared`: with what, if it was.
    pub fn failures(&self, summary: &Summary, shown: &[Finding], compared: Option<&str>) -> Vec<String> {
        let mut failures = Vec::new();
        if let Some(compared) = compared {
            let unlimited = [Limit { zone: None, most: 0.0 }];
            for limit in if self.new.is_empty() { &unlimited } else { &self.new[..] } {
                let counts = |finding: &&Finding| {
                    finding.news.is_some_and(News::is_gain) && limit.zone.is_none_or(|zone| finding.class.zone == zone)
                };
                let n = shown.iter().filter(counts).count();
                if n as f64 > limit.most {
                    let have = if n == 1 { "is new or has new copies" } else { "are new or have new copies" };
                    failures.push(format!(
                        "{}{} {have}, compared with {compared}; {} (`max-new`)",
                        count(n as u64, "class", "classes"),
                        within(limit.zone),
                        allowed(limit.most, ""),
                    ));
                }
            }
        } else if self.percent.is_empty() && self.classes.is_empty() && !shown.is_empty() {
            failures.push(format!("{} of duplicated code", count(shown.len() as u64, "class", "classes")));
        }
        for limit in &self.classes {
            let (n, _) = summary.of(limit.zone);
            if n as f64 > limit.most {
                let classes = count(n as u64, "class", "classes");
                let most = allowed(limit.most, "");
                failures.push(format!("{classes} of duplicated code{}; {most} (`max-classes`)", within(limit.zone)));
            }
        }
        for limit in &self.percent {
            let (_, percent) = summary.of(limit.zone);
            if percent > limit.most {
                let (zone, most) = (within(limit.zone), allowed(limit.most, " %"));
                failures.push(format!("{percent:.2} % of all lines are duplicated{zone}; {most} (`max-percent`)"));
            }
        }
        failures
    }
}

fn within(zone: Option<Zone>) -> String {
    zone.map_or(String::new(), |zone| format!(" in {}", zone.name()))
}

fn allowed(most: f64, unit: &str) -> String {
    if most == 0.0 { "none is allowed".to_owned() } else { format!("at most {most}{unit} are allowed") }
}

/// What can be done about failures.
pub fn advice(compared: bool) -> &'static str {
    if compared {
        "share the code instead of copying it; or accept a class with [[ignore]] in dupi.toml or a `dupi:ignore` comment, \
         or allow more with --max-new"
    } else {
        "share the code; or accept it with [[ignore]] in dupi.toml, a `dupi:ignore` comment or --write-baseline, or allow \
         some with --max-classes or --max-percent"
    }
}
