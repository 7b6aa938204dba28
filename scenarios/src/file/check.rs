//! What types cannot say: numbers that are possible, and parts that fit together. What is wrong with the keys of a
//! component it says itself.

use wavetank_cluster::Components;
use wavetank_component::file::path::Path;
use wavetank_component::file::tree::Focus::{Key, Value};
use wavetank_component::values::Duration;
use wavetank_component::{Finding, Focus, Mistakes, Section, Setup, Spec};
use wavetank_engine::FaultKind;

use super::faults::EVERYWHERE;
use super::scenario::Scenario;

/// Longer than any start-up, and short enough to write a scenario of.
const SHORTEST_CALM: Duration = Duration::from_secs(1);
/// A storm or a calm that lasts longer would take days to simulate.
const LONGEST_PHASE: Duration = Duration::from_secs(30 * 24 * 3600);
/// What is done more often takes the storm for itself: a second would have millions of commands.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
/// More strikes of one kind than so many are no budget any more.
const MOST_STRIKES: u32 = 10_000;

/// A scenario being checked, and what was found.
pub(super) struct Checker<'a> {
    pub scenario: &'a Scenario,
    pub components: &'a Components,
    pub spec: Spec,
    found: Mistakes,
}

/// All that makes no sense in a scenario.
pub(super) fn check(
    scenario: &Scenario,
    stem: Option<&str>,
    components: &Components,
) -> Vec<Finding> {
    let mut checker = Checker {
        scenario,
        components,
        spec: scenario.spec(),
        found: Mistakes::default(),
    };
    checker.title(stem);
    let possible = checker.counts();
    if possible {
        // Of what can be: a scenario may ask for more processes than there is memory.
        checker.spec = components.complete(checker.spec);
        checker.given();
    }
    checker.workload();
    checker.phases();
    checker.faults(possible);
    checker.plan(possible);
    checker.search(possible);
    checker.scene(possible);
    checker.properties(possible);
    checker.found.found()
}

/// What is wrong with a name, of a file that is called so.
pub(super) fn misnamed(name: &str, stem: Option<&str>) -> Mistakes {
    let mut found = Mistakes::default();
    let mut wrong = |message: String, help: &str| {
        found.at(Path::of("name"), Value, message, help);
    };
    if !is_kebab_case(name) {
        let help =
            "use small letters, digits and single hyphens, for example `kubernetes-endpoints`";
        wrong(format!("the name `{name}` is not in kebab-case"), help);
    } else if let Some(stem) = stem.filter(|stem| *stem != name) {
        let message = format!("the name `{name}` differs from the file's");
        wrong(message, &format!("write `{stem}`, or rename the file"));
    }
    found
}

impl Checker<'_> {
    pub(super) fn wrong(
        &mut self,
        path: Path,
        focus: Focus,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.found.at(path, focus, message, help);
    }

    fn title(&mut self, stem: Option<&str>) {
        self.found.extend(misnamed(&self.scenario.name, stem));
        if self.scenario.about.trim().is_empty() {
            self.wrong(
                Path::of("about"),
                Value,
                "`about` says nothing",
                "say what the scenario is about",
            );
        }
    }

    /// Can there be so many processes? Their names are looked at only then: there may be none, or four thousand
    /// million.
    fn counts(&mut self) -> bool {
        let mut mistakes = Mistakes::default();
        for component in self.components.iter() {
            component.check_count(&self.spec.given, &mut mistakes);
        }
        let possible = mistakes.is_empty();
        self.found.extend(mistakes);
        possible
    }

    fn given(&mut self) {
        for component in self.components.iter() {
            component.check(&self.spec, &mut self.found);
        }
    }

    /// Is there somebody to do what is to be done?
    fn workload(&mut self) {
        let workload = self.spec.given.section(Section::Workload);
        for load in self.components.iter().flat_map(|own| own.workload()) {
            let Some(every) = load.every(workload) else {
                continue;
            };
            let path = Path::of("workload").key(load.key);
            if every < SHORTEST_INTERVAL {
                let message = match every == Duration::ZERO {
                    true => load.never.to_owned(),
                    false => format!("`{}` every {every} is more than anybody does", load.key),
                };
                let help = format!("give at least {SHORTEST_INTERVAL}");
                self.found
                    .at(path.clone().key("every"), Value, message, help);
            }
            if !(load.need.met)(&self.spec) {
                let help = format!("add {}, or remove `{}`", load.need.add, load.key);
                self.found.at(path, Key, load.need.lacking, help);
            }
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

    fn faults(&mut self, possible: bool) {
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
        if possible {
            self.targets();
        }
    }

    /// Is there somebody to be hit?
    fn targets(&mut self) {
        let setup = Setup {
            drawn: self.components.draw(&self.spec, 0),
            spec: self.spec.clone(),
        };
        let Ok(processes) = self.components.processes(&setup, None) else {
            return;
        };
        let exist = |name| {
            processes
                .iter()
                .any(|(of, own)| *of == name && !own.is_empty())
        };
        let hits = |kind: FaultKind, max| {
            let all = self.components.iter().filter(|own| exist(own.name()));
            let hits = all.filter_map(|own| own.hit(&setup, kind, max));
            hits.collect::<Vec<_>>()
        };
        // Whom it could strike if there were some.
        let lacking = |kind: FaultKind, max| {
            let all = self.components.iter().filter(|own| !exist(own.name()));
            let struck = all.filter(|own| own.hit(&setup, kind, max).is_some());
            let mut added = struck
                .map(|own| own.added_by())
                .filter(|add| !add.is_empty());
            match added.next() {
                Some(add) => format!("add {add}, or remove it"),
                None => "remove it".to_owned(),
            }
        };
        let mut wrong = Vec::new();
        for (name, max) in self.scenario.faults.budgets() {
            let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name);
            let Some(kind) = kind.filter(|kind| !EVERYWHERE.contains(kind)) else {
                continue;
            };
            let hits = hits(kind, max);
            let path = Path::of("faults").key(name);
            if hits.is_empty() {
                let message = format!("there is nobody whom `{name}` could strike");
                wrong.push((path, message, lacking(kind, max)));
            } else if self.scenario.faults.gone(kind) > 0.0
                && !hits.iter().any(|hit| hit.may_stay_away)
            {
                let message = "those who can be injected here always come back".to_owned();
                wrong.push((path.key("gone"), message, "remove `gone`".to_owned()));
            }
        }
        for (path, message, help) in wrong {
            self.wrong(path, Key, message, help);
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
