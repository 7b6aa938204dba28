//! What types cannot say: numbers that are possible, and parts that fit together.

use super::Known;
use super::duration::Duration;
use super::path::Path;
use super::scenario::Scenario;
use super::tree::Focus::{self, Key, Value};

/// Longer than any start-up, and short enough to write a scenario of.
const SHORTEST_CALM: Duration = Duration::from_secs(1);
/// A storm or a calm that lasts longer would take days to simulate.
const LONGEST_PHASE: Duration = Duration::from_secs(30 * 24 * 3600);
/// More strikes of one kind than so many are no budget any more.
const MOST_STRIKES: u32 = 10_000;

/// Something that makes no sense, and where.
pub(super) struct Finding {
    pub path: Path,
    pub focus: Focus,
    pub message: String,
    pub help: String,
}

/// A scenario being checked, and what was found.
pub(super) struct Checker<'a> {
    pub scenario: &'a Scenario,
    pub known: &'a Known<'a>,
    found: Vec<Finding>,
}

/// All that makes no sense in a scenario.
pub(super) fn check(scenario: &Scenario, stem: Option<&str>, known: &Known) -> Vec<Finding> {
    let mut checker = Checker {
        scenario,
        known,
        found: Vec::new(),
    };
    checker.title(stem);
    let possible = checker.topology();
    if possible {
        checker.fit();
    }
    checker.options();
    checker.workload();
    checker.watching();
    checker.front();
    checker.published();
    checker.services();
    checker.etcd();
    checker.phases();
    checker.faults();
    checker.plan(possible);
    checker.search(possible);
    checker.properties(possible);
    checker.found
}

impl Checker<'_> {
    pub(super) fn wrong(
        &mut self,
        path: Path,
        focus: Focus,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, help) = (message.into(), help.into());
        self.found.push(Finding {
            path,
            focus,
            message,
            help,
        });
    }

    fn title(&mut self, stem: Option<&str>) {
        let name = &self.scenario.name;
        if !is_kebab_case(name) {
            let help =
                "use small letters, digits and single hyphens, for example `kubernetes-endpoints`";
            self.wrong(
                Path::of("name"),
                Value,
                format!("the name `{name}` is not in kebab-case"),
                help,
            );
        } else if let Some(stem) = stem.filter(|stem| stem != name) {
            let message = format!("the name `{name}` differs from the file's");
            self.wrong(
                Path::of("name"),
                Value,
                message,
                format!("write `{stem}`, or rename the file"),
            );
        }
        if self.scenario.about.trim().is_empty() {
            self.wrong(
                Path::of("about"),
                Value,
                "`about` says nothing",
                "say what the scenario is about",
            );
        }
    }

    fn phases(&mut self) {
        let (storm, calm) = (self.scenario.storm, self.scenario.calm);
        for (phase, lasts) in [("storm", storm), ("calm", calm)] {
            if lasts > LONGEST_PHASE {
                let message = format!("a {phase} of {lasts} is too long to simulate");
                let help = format!(
                    "give at most {LONGEST_PHASE}; more seeds find more than longer storms"
                );
                self.wrong(Path::of(phase), Value, message, help);
            }
        }
        if calm < SHORTEST_CALM {
            let message = format!("a calm of {calm} is too short to recover in");
            self.wrong(
                Path::of("calm"),
                Value,
                message,
                format!("give at least {SHORTEST_CALM}"),
            );
        }
    }

    fn faults(&mut self) {
        let faults = &self.scenario.faults;
        let path = |kind| Path::of("faults").key(kind);
        for (kind, max) in faults.budgets() {
            if max > MOST_STRIKES {
                let message = format!("{max} strikes of `{kind}` in one storm are too many");
                let help = format!("give at most {MOST_STRIKES}");
                self.wrong(path(kind).key("max"), Value, message, help);
            }
            if max > 0 && self.scenario.storm == Duration::ZERO {
                let help = "give the storm some time, or remove the fault";
                self.wrong(
                    path(kind),
                    Key,
                    format!("`{kind}` cannot strike in a storm of 0s"),
                    help,
                );
            }
        }
        if faults
            .slow_link
            .as_ref()
            .is_some_and(|link| link.factor.low == 0)
        {
            let help = "give factors of at least 1";
            self.wrong(
                path("slow-link").key("factor"),
                Value,
                "a factor of 0 makes no link slow",
                help,
            );
        }
        if let Some(rate) = faults
            .clock_rate
            .as_ref()
            .filter(|rate| !(1..1_000_000).contains(&rate.ppm))
        {
            let message = format!("a clock cannot be off by {} parts in a million", rate.ppm);
            self.wrong(
                path("clock-rate").key("ppm"),
                Value,
                message,
                "give 1 to 999999",
            );
        }
    }
}

fn is_kebab_case(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word)
}
