//! What is known of a property, a defect, a kind of fault, a scenario or a scope: what it says, and what tests it.
//! `cases` is how scenarios and scopes are told.

mod cases;

use std::collections::BTreeSet;

use wavetank_cluster::Named;
use wavetank_component::Setup;
use wavetank_engine::FaultKind;
use wavetank_releases::Release;
use wavetank_version::{Composition, Defect, Kind};

use super::defects::SEVERAL_RELEASES;
use super::{Kube, flags, library};
use crate::case::Case as _;
use crate::catalogue::{Described, Listed};
use crate::file::{EVERYWHERE, Faults, Format, Scenario};
use crate::kube::Job;

type Facts = Vec<(String, Vec<String>)>;

fn fact(heading: &str, lines: impl IntoIterator<Item = String>) -> (String, Vec<String>) {
    (heading.to_owned(), lines.into_iter().collect())
}

/// The bundled scenarios and scopes, and whether each is a scope.
fn bundled(kube: &Kube) -> impl Iterator<Item = (Scenario, bool)> {
    let scenarios = library::bundled(&kube.components).into_iter();
    let scopes = library::scopes(&kube.components).into_iter();
    let scenarios = scenarios.map(|scenario| (scenario, false));
    scenarios.chain(scopes.map(|scope| (scope, true)))
}

/// A scenario as it is when all is fixed, under its own release or another.
fn fixed(kube: &Kube, scenario: &Scenario, release: Option<&'static Release>) -> Option<Job> {
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    kube.job(scenario.clone(), release.map(Into::into), fixed)
        .ok()
}

/// A bundled scenario or scope, when all is fixed.
#[derive(Debug)]
pub(super) struct Bundled {
    job: Job,
    is_scope: bool,
    /// Each is asked of several, when one defect is told of.
    showing: Vec<&'static Defect>,
}

/// All of them.
fn jobs(kube: &Kube) -> &[Bundled] {
    let job = |(scenario, is_scope)| {
        let job = fixed(kube, &scenario, None)?;
        Some(Bundled {
            showing: job.showing().collect(),
            job,
            is_scope,
        })
    };
    let read = || bundled(kube).filter_map(job).collect();
    kube.bundled.get_or_init(read)
}

/// The names of the scenarios, and those of the scopes, of which this is true.
fn that(jobs: &[Bundled], is_so: impl Fn(&Job) -> bool) -> Facts {
    let names = |scope: bool| {
        let all = jobs
            .iter()
            .filter(|own| own.is_scope == scope && is_so(&own.job));
        let names: Vec<&str> = all.map(|own| own.job.name()).collect();
        joined(names.into_iter().map(str::to_owned).collect())
    };
    vec![fact("scenarios", names(false)), fact("scopes", names(true))]
}

/// One line with all of these, if there are any.
fn joined(names: Vec<String>) -> Option<String> {
    (!names.is_empty()).then(|| names.join(", "))
}

/// Where a defect has its place and would show: scenarios and scopes, each with the release that it takes if that is
/// not its own.
pub(super) fn homes(kube: &Kube, defect: &'static Defect) -> (Vec<String>, Vec<String>) {
    homes_among(kube, jobs(kube), defect)
}

fn homes_among(
    kube: &Kube,
    jobs: &[Bundled],
    defect: &'static Defect,
) -> (Vec<String>, Vec<String>) {
    let home = |own: &Bundled| {
        let scenario = &own.job.scenario;
        if own.showing.contains(&defect) {
            return Some(scenario.name.clone());
        }
        // Then it is not for its release that it does not show.
        if own.job.fits_a_release(defect) {
            return None;
        }
        let mut releases = Release::TABLE.iter().rev();
        let release = releases.find(|release| {
            let job = defect
                .fits(release.version)
                .then(|| fixed(kube, scenario, Some(release)));
            let mut showing = job.iter().flatten().flat_map(Job::showing);
            showing.any(|own| own == defect)
        })?;
        Some(format!("{} --release {}", scenario.name, release.name))
    };
    let (mut scenarios, mut scopes) = (Vec::new(), Vec::new());
    for own in jobs {
        match own.is_scope {
            true => scopes.extend(home(own)),
            false => scenarios.extend(home(own)),
        }
    }
    (scenarios, scopes)
}

/// The releases of Kubernetes whose algorithms have the place of a defect.
pub(super) fn releases_that_fit(defect: &Defect) -> String {
    let releases = Release::TABLE.iter();
    let fitting = releases.filter(|release| defect.fits(release.version));
    fitting
        .map(|release| release.name)
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn described(kube: &Kube) -> Vec<Listed> {
    let components = &kube.components;
    let properties = components.properties().iter();
    let properties = properties.map(|named| named.info.name.to_owned());
    let defects = components.defects().into_iter();
    let defects = defects.map(|(_, _, defect)| defect.name.to_owned());
    let faults = Faults::KINDS.iter().map(|kind| (*kind).to_owned());
    let cases = library::scenario_names().into_iter();
    let cases = cases.chain(library::scope_names());
    let all = properties.chain(defects).chain(faults).chain(cases);
    all.map(|name| Listed::new(name, "")).collect()
}

pub(super) fn describe(kube: &Kube, name: &str) -> Option<Described> {
    if let Some(named) = kube.components.property(name) {
        return Some(property(kube, named));
    }
    if let Some(known) = kube.components.defect(name) {
        return Some(defect(kube, known));
    }
    if let Some(kind) = Faults::KINDS.iter().find(|kind| **kind == name) {
        return Some(fault(kube, kind));
    }
    let (scenario, is_scope) = bundled(kube).find(|(scenario, _)| scenario.name == name)?;
    let job = fixed(kube, &scenario, None)?;
    Some(match is_scope {
        true => cases::scope(&job),
        false => cases::scenario(&job),
    })
}

/// What a scenario needs to have: "`informers: 2` in `topology`".
fn needs(add: &str) -> Option<String> {
    (!add.is_empty()).then(|| add.replace("` to `", "` in `"))
}

fn property(kube: &Kube, named: &Named) -> Described {
    let info = &named.info;
    let is_held = |job: &Job| job.properties.iter().any(|own| own.info.name == info.name);
    let tested_by = info
        .tested_by
        .iter()
        .filter_map(|entry| needs(&entry.to_string()));
    let tested_by = match info.is_of_calm() {
        true => Some("a `calm` that is long enough".to_owned())
            .into_iter()
            .chain(tested_by)
            .collect(),
        false => tested_by.collect(),
    };
    let jobs = jobs(kube);
    let mut examples: Vec<(bool, &str)> = jobs
        .iter()
        .filter(|own| is_held(&own.job))
        .map(|own| (own.is_scope, own.job.name()))
        .collect();
    examples.sort_by_key(|(is_scope, _)| *is_scope);
    let example = examples.first().map(|(is_scope, case)| match is_scope {
        true => format!("wavetank check {case} --fixed"),
        false => format!(
            "wavetank run {case} --fixed --seeds 0..100 --require {}",
            info.name
        ),
    });
    let mut facts = vec![
        fact("component", [named.of.to_owned()]),
        fact("needs", needs(info.need.add)),
        fact("tested by", joined(tested_by)),
    ];
    facts.extend(that(jobs, is_held));
    facts.push(fact("example", example));
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
    let of = own.next().map(|(component, ..)| component);
    let component = of.map(|component| component.name().to_owned());
    let component_needs = of.and_then(|component| needs(&component.added_by()));
    let options = defect
        .needs
        .iter()
        .chain(defect.shows_with.iter().flatten());
    let options = options.map(|option| format!("{option} in `options`"));
    let several = defect.shows_between_releases.then_some(SEVERAL_RELEASES);
    let several = several.map(str::to_owned);
    let wanted = component_needs.into_iter().chain(options).chain(several);
    let ships = Some(flags::shipped_with(defect)).filter(|ships| !ships.is_empty());
    let fitting = (!defect.is_of_etcd()).then(|| releases_that_fit(defect));
    let jobs = jobs(kube);
    let cannot = jobs.iter().filter_map(|Bundled { job, .. }| {
        let reason = job.scope()?.cannot_show.remove(defect.name)?;
        Some(format!("{}: {reason}", job.name()))
    });
    let (scenarios, _) = homes_among(kube, jobs, defect);
    let shown_by = |job: &Job| {
        let scope = job.scope();
        scope.is_some_and(|scope| scope.shows.iter().any(|name| name == defect.name))
    };
    let scopes = jobs.iter().filter(|own| shown_by(&own.job));
    let scopes: Vec<String> = scopes.map(|own| own.job.name().to_owned()).collect();
    let switch = match defect.kind {
        Kind::Fix => format!("--without {}", defect.name),
        Kind::Defect | Kind::OpenDefect => format!("--defect {}", defect.name),
    };
    // A scope that says so shows it for certain.
    let example = match (scopes.first(), scenarios.first()) {
        (Some(scope), _) => Some(format!("wavetank check {scope} --fixed {switch}")),
        (None, Some(scenario)) => Some(format!(
            "wavetank run {scenario} --fixed {switch} --seeds 0..2000"
        )),
        (None, None) => None,
    };
    let facts = vec![
        fact("upstream", [defect.source.to_owned()]),
        fact("component", component),
        fact("shipped with", ships),
        fact("has a place in", fitting),
        fact("needs", wanted),
        fact("scenarios", joined(scenarios)),
        fact("scopes", joined(scopes)),
        fact("not seen by", cannot),
        fact("example", example),
    ];
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
        let mut budgets = job.scenario.faults.budgets();
        budgets.any(|(name, max)| name == kind && max > 0)
    };
    let jobs = jobs(kube);
    let mut budgeted = jobs.iter().filter(|own| is_budgeted(&own.job));
    let example = budgeted.next().map(|own| {
        let case = own.job.name();
        format!("wavetank run {case} --fixed --seeds 0..100")
    });
    let in_a_file = Faults::example(kind).unwrap_or_default();
    let mut facts = vec![
        fact(
            "in a file",
            [format!(
                "`{in_a_file}` in `faults` (`wavetank schema` has all keys)"
            )],
        ),
        fact("needs", targets(jobs, kind)),
    ];
    facts.extend(that(jobs, is_budgeted));
    facts.push(fact("example", example));
    Described {
        name: kind.to_owned(),
        kind: "a kind of fault".to_owned(),
        about: about.unwrap_or_default(),
        facts,
    }
}

/// What a scenario needs so that there is somebody whom such a fault can strike.
fn targets(jobs: &[Bundled], kind: &str) -> Option<String> {
    let kind = FaultKind::ALL.into_iter().find(|own| own.name() == kind)?;
    if EVERYWHERE.contains(&kind) {
        return Some("nothing: it strikes whatever there is".to_owned());
    }
    let mut added = BTreeSet::new();
    for Bundled { job, .. } in jobs {
        let setup = Setup {
            drawn: job.components.draw(&job.spec, 0),
            spec: job.spec.clone(),
        };
        let Ok(processes) = job.components.processes(&setup, None) else {
            continue;
        };
        for (of, names) in processes {
            let component = job.components.find(of).filter(|_| !names.is_empty());
            let struck = component.filter(|own| own.hit(&setup, kind, 1).is_some());
            added.extend(struck.and_then(|own| needs(&own.added_by())));
        }
    }
    let added: Vec<String> = added.into_iter().collect();
    (!added.is_empty()).then(|| format!("one of {}", added.join(", ")))
}
