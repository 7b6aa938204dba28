//! A scenario, and a scope, as they are told.

use super::{Facts, fact, joined};
use crate::case::Case as _;
use crate::catalogue::Described;
use crate::kube::Job;

pub(super) fn scenario(job: &Job) -> Described {
    let scenario = &job.scenario;
    let budgets = scenario.faults.budgets();
    let faults = budgets.map(|(kind, max)| format!("{kind} {max}")).collect();
    let faults = joined(faults).map(|faults| format!("at most in one run: {faults}"));
    let planned = match scenario.plan.len() {
        0 => None,
        planned => Some(format!("{planned} at given times in every run")),
    };
    let mut facts = asked_for(job);
    facts.extend([
        fact("storm", [scenario.storm.to_string()]),
        fact("calm", [scenario.calm.to_string()]),
        fact("faults", faults.into_iter().chain(planned)),
    ]);
    facts.extend(held_to(job));
    facts.push(fact(
        "example",
        [format!(
            "wavetank run {} --fixed --seeds 0..100",
            scenario.name
        )],
    ));
    described(job, "a bundled scenario, for `wavetank run`", facts)
}

pub(super) fn scope(job: &Job) -> Described {
    let name = job.name();
    let mut facts = asked_for(job);
    if let (Some(search), Some(scope)) = (&job.scenario.search, job.scope()) {
        let bounds = &scope.bounds;
        let end = job.scenario.storm;
        let most = match bounds.at_most {
            Some(most) => format!("; at most {most} of them on one path"),
            None => String::new(),
        };
        let faults = bounds.faults.iter().map(ToString::to_string).collect();
        let faults = joined(faults).map(|faults| format!("{faults}{most}"));
        let recovers = search
            .recovers
            .then(|| format!("within {}", job.scenario.calm));
        let cannot = scope.cannot_show.iter();
        let cannot = cannot.map(|(switch, why)| format!("{switch}: {why}"));
        facts.extend([
            fact(
                "searches",
                [format!("{} to {end} of virtual time", search.from)],
            ),
            fact("faults", faults),
            fact("deviations", [bounds.deviations.to_string()]),
            fact("recovers", recovers),
            fact("finds", joined(scope.shows.clone())),
            fact("cannot find", cannot),
        ]);
    }
    facts.extend(held_to(job));
    facts.push(fact("example", [format!("wavetank check {name} --fixed")]));
    described(job, "a bundled scope, for `wavetank check`", facts)
}

fn described(job: &Job, kind: &str, facts: Facts) -> Described {
    let about: Vec<&str> = job.scenario.about.split_whitespace().collect();
    Described {
        name: job.name().to_owned(),
        kind: kind.to_owned(),
        about: about.join(" "),
        facts,
    }
}

/// What it asks for, section by section, as in its file.
fn asked_for(job: &Job) -> Facts {
    let sections = job.scenario.given.sections();
    let sections = sections.filter(|(_, keys)| !keys.is_empty());
    let sections = sections.map(|(section, keys)| {
        let keys = keys
            .iter()
            .map(|(key, value)| format!("{key}: {}", plain(value)));
        fact(section, joined(keys.collect()))
    });
    let release = fact("release", [job.scenario.release.0.name.to_owned()]);
    std::iter::once(release).chain(sections).collect()
}

/// A value as somebody would write it in YAML, on one line.
fn plain(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => format!(
            "[{}]",
            list.iter().map(plain).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(keys) => {
            let keys = keys
                .iter()
                .map(|(key, value)| format!("{key}: {}", plain(value)));
            format!("{{{}}}", keys.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// What it is held to, and what may be wrong in it.
fn held_to(job: &Job) -> Facts {
    let of = |sometimes: bool| {
        let all = job.properties.iter();
        let all = all.filter(|named| named.info.is_sometimes() == sometimes);
        joined(all.map(|named| named.info.name.to_owned()).collect())
    };
    let defects = job.places().into_iter().map(str::to_owned).collect();
    vec![
        fact("properties", of(false)),
        fact("sometimes", of(true)),
        fact("defects", joined(defects)),
    ]
}
