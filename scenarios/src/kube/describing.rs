//! What is known of a property, a defect or a kind of fault: what it says, and what tests it.

use wavetank_cluster::Named;
use wavetank_releases::Release;
use wavetank_version::{Composition, Defect, Kind};

use super::{Kube, library};
use crate::case::Case as _;
use crate::catalogue::{Described, Listed};
use crate::file::{Faults, Format};
use crate::kube::Job;

/// A scenario or scope as it is when all is fixed, and whether it is a scope.
fn jobs(kube: &Kube) -> Vec<(Job, bool)> {
    let scenarios = library::bundled(&kube.components).into_iter();
    let scopes = library::scopes(&kube.components).into_iter();
    let scenarios = scenarios.map(|scenario| (scenario, false));
    let all = scenarios.chain(scopes.map(|scope| (scope, true)));
    let fixed = || Composition {
        fixed: true,
        ..Composition::default()
    };
    all.filter_map(|(scenario, is_scope)| {
        let job = kube.job(scenario, None, fixed());
        Some((job.ok()?, is_scope))
    })
    .collect()
}

/// The names of the scenarios, and those of the scopes, of which this is true.
fn that(jobs: &[(Job, bool)], is_so: impl Fn(&Job) -> bool) -> Vec<(String, Vec<String>)> {
    let names = |scope: bool| {
        let all = jobs
            .iter()
            .filter(|(job, is_scope)| *is_scope == scope && is_so(job));
        let names: Vec<&str> = all.map(|(job, _)| job.name()).collect();
        let names = names.join(", ");
        Some(names)
            .filter(|names| !names.is_empty())
            .into_iter()
            .collect()
    };
    vec![
        ("scenarios".to_owned(), names(false)),
        ("scopes".to_owned(), names(true)),
    ]
}

pub(super) fn described(kube: &Kube) -> Vec<Listed> {
    let components = &kube.components;
    let properties = components
        .properties()
        .into_iter()
        .map(|named| named.info.name);
    let defects = components
        .defects()
        .into_iter()
        .map(|(_, _, defect)| defect.name);
    let all = properties
        .chain(defects)
        .chain(Faults::KINDS.iter().copied());
    all.map(|name| Listed::new(name, "")).collect()
}

pub(super) fn describe(kube: &Kube, name: &str) -> Option<Described> {
    if let Some(named) = kube.components.property(name) {
        return Some(property(kube, &named));
    }
    if let Some(known) = kube.components.defect(name) {
        return Some(defect(kube, known));
    }
    let kind = Faults::KINDS.iter().find(|kind| **kind == name)?;
    Some(fault(kube, kind))
}

fn property(kube: &Kube, named: &Named) -> Described {
    let info = &named.info;
    let need = info.need.add;
    let needs = Some(need).filter(|add| !add.is_empty());
    let mut facts = vec![
        ("component".to_owned(), vec![named.of.to_owned()]),
        (
            "needs".to_owned(),
            needs.map(str::to_owned).into_iter().collect(),
        ),
    ];
    let is_held = |job: &Job| job.properties.iter().any(|own| own.info.name == info.name);
    facts.extend(that(&jobs(kube), is_held));
    Described {
        name: info.name.to_owned(),
        kind: match info.is_sometimes() {
            true => "a place that a sweep should reach".to_owned(),
            false => "a property".to_owned(),
        },
        about: info.about.to_owned(),
        facts,
    }
}

fn defect(kube: &Kube, defect: &'static Defect) -> Described {
    let all = kube.components.defects().into_iter();
    let mut own = all.filter(|(_, _, own)| *own == defect);
    let component = own
        .next()
        .map(|(component, _, _)| component.name().to_owned());
    let releases = Release::TABLE.iter();
    let with_it = releases.filter(|release| defect.ships_with(release.version));
    let mut ships: Vec<String> = with_it.map(|release| release.name.to_owned()).collect();
    let lines = defect.etcd_lines().iter();
    ships.extend(lines.map(|line| format!("etcd {line}")));
    let ships = Some(ships.join(", ")).filter(|ships| !ships.is_empty());
    let needs = defect
        .needs
        .iter()
        .chain(defect.shows_with.iter().flatten());
    let jobs = jobs(kube);
    let scope = |job: &Job| job.scope();
    let shows = |job: &Job| match scope(job) {
        Some(scope) => scope.shows.iter().any(|name| name == defect.name),
        None => job.showing().any(|own| own == defect),
    };
    let cannot = jobs.iter().filter_map(|(job, _)| {
        let reason = scope(job)?.cannot_show.remove(defect.name)?;
        Some(format!("{}: {reason}", job.name()))
    });
    let cannot: Vec<String> = cannot.collect();
    let switch = match defect.kind {
        Kind::Fix => format!("--without {}", defect.name),
        Kind::Defect | Kind::OpenDefect => format!("--defect {}", defect.name),
    };
    let mut ways: Vec<(bool, &str)> = jobs
        .iter()
        .filter(|(job, _)| shows(job))
        .map(|(job, is_scope)| (*is_scope, job.name()))
        .collect();
    // A scope that says so shows it for certain.
    ways.sort_by_key(|(is_scope, _)| !is_scope);
    let example = ways.first().map(|(is_scope, name)| match is_scope {
        true => format!("wavetank check {name} --fixed {switch}"),
        false => format!("wavetank run {name} --fixed {switch} --seeds 0..2000"),
    });
    let list = |one: Option<String>| one.into_iter().collect::<Vec<String>>();
    let mut facts = vec![
        ("upstream".to_owned(), vec![defect.source.to_owned()]),
        ("component".to_owned(), list(component)),
        ("shipped with".to_owned(), list(ships)),
        (
            "needs".to_owned(),
            needs.map(|option| option.to_string()).collect(),
        ),
    ];
    facts.extend(that(&jobs, shows));
    facts.push(("not seen by".to_owned(), cannot));
    facts.push(("example".to_owned(), list(example)));
    Described {
        name: defect.name.to_owned(),
        kind: match defect.kind {
            Kind::Defect => "a known bug",
            Kind::OpenDefect => "a known bug that upstream has not fixed",
            Kind::Fix => "the fix of a finding",
        }
        .to_owned(),
        about: defect.about.to_owned(),
        facts,
    }
}

fn fault(kube: &Kube, kind: &'static str) -> Described {
    let about = Format::new(&kube.components).meaning("Faults", kind);
    let is_budgeted = |job: &Job| {
        job.scenario
            .faults
            .budgets()
            .any(|(name, max)| name == kind && max > 0)
    };
    let mut facts = vec![(
        "in a file".to_owned(),
        vec![format!(
            "`{kind}: {{max: 3}}` in `faults` (wavetank schema has all keys)"
        )],
    )];
    facts.extend(that(&jobs(kube), is_budgeted));
    Described {
        name: kind.to_owned(),
        kind: "a kind of fault".to_owned(),
        about: about.unwrap_or_default(),
        facts,
    }
}
