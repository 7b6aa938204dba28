//! A scenario that begins in the middle: its opening, and what is chosen from there on.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use wavetank_cluster::Components;
use wavetank_component::Drawn;
use wavetank_engine::drive::plan::{FromPlan, Plan, Planned};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::{Action, Fault, Time, World};
use wavetank_releases::AnyRelease;
use wavetank_version::{Composition, Defect, Kind};

use super::fault_schedule::directed;
use super::job::Job;
use crate::case::{Case as _, Options};
use crate::file::{
    Answered, Directed, Duration as Span, Faults, Network, Occurrence, Release, Scenario, Scene,
    Switches, Taken, Told,
};
use crate::quiet::quietly;
use crate::scene::Draft;

/// All but the members of etcd start so long after these.
const OTHERS_START: Duration = Duration::from_secs(2);

fn time(span: Span) -> Time {
    Time::from_nanos(span.nanos())
}

fn span(time: Time) -> Span {
    Span(time.nanos())
}

/// What is planned, with what it waits for.
fn planned(job: &Job) -> Vec<Planned> {
    let all = directed(&job.scenario).expect("checked when the job was made");
    let anchors = job.scenario.plan.iter().map(|planned| &planned.after);
    let all = all.into_iter().zip(anchors);
    let all = all.map(|((at, action), after)| Planned {
        at,
        after: after.as_ref().map(|own| (own.event.clone(), own.nth)),
        action,
    });
    all.collect()
}

/// What is chosen in a scene; nothing in other scenarios, where a seed draws.
pub(super) fn explicit(job: &Job) -> Option<Plan> {
    let scene = job.scenario.scene.as_ref()?;
    let from = time(scene.from);
    let taken = scene.latencies.iter();
    let answered = scene.choices.iter();
    Some(Plan {
        actions: planned(job)
            .into_iter()
            .filter(|own| own.at >= from)
            .collect(),
        calm: Some(time(job.scenario.storm)),
        delays: taken
            .map(|own| {
                let take = own.take.iter().map(|take| take.nanos()).collect();
                ((own.event.clone(), own.nth), take)
            })
            .collect(),
        choices: answered
            .map(|own| ((own.event.clone(), own.nth), own.answer))
            .collect(),
    })
}

/// What is decided before the first event.
pub(super) fn options(scene: &Scene, usual: &Drawn) -> Options {
    let mut options = usual.to_json();
    if let Some(all) = options.as_object_mut() {
        all.extend(scene.options.clone());
    }
    options
}

/// The world when the run begins: everybody has started over what is stored.
pub(super) fn opened(
    job: &Job,
    scene: &Scene,
    world: World,
    first: &[String],
) -> Result<World, String> {
    let (begin, from) = (time(scene.begin), time(scene.from));
    let start = |name: &str| Planned {
        at: match first.iter().any(|own| own == name) {
            true => begin,
            false => begin + OTHERS_START,
        },
        after: None,
        action: Action::Fault(Fault::Start {
            process: name.to_owned(),
        }),
    };
    let names = world.processes().map(|process| world.name(process));
    let up = names.filter(|name| !scene.down.iter().any(|down| down == name));
    let mut actions: Vec<Planned> = up.map(start).collect();
    actions.extend(planned(job).into_iter().filter(|own| own.at < from));
    let plan = Plan {
        actions,
        ..Plan::default()
    };
    let choices = FromPlan::new(&plan);
    let run = Run::new(world, choices, Limits::until(from), Record::default());
    let outcome = quietly(|| run.finish());
    match outcome.ending {
        Ending::Clean => Ok(outcome.world),
        Ending::Violated(found) => Err(format!(
            "the opening of the scene violates {} ({}): {}; begin the run earlier than {}",
            found.property, found.object, found.message, scene.from
        )),
    }
}

/// The defects and fixes of a scene.
///
/// # Errors
/// A name that is none.
pub(super) fn composition(scene: &Scene, components: &Components) -> Result<Composition, String> {
    let named = |names: &[String]| -> Result<Vec<&'static Defect>, String> {
        let named = |name: &String| {
            let found = components.defect(name);
            found.ok_or_else(|| format!("this build knows no defect `{name}`"))
        };
        names.iter().map(named).collect()
    };
    Ok(Composition {
        fixed: scene.switches.fixed,
        on: named(&scene.switches.defect)?,
        off: named(&scene.switches.without)?,
    })
}

fn directed_of(planned: &Planned) -> Directed {
    let (fault, tell) = match &planned.action {
        Action::Fault(fault) => (
            Some(serde_json::to_value(fault).expect("faults are JSON")),
            None,
        ),
        Action::Command {
            process,
            what,
            args,
        } => {
            let told = Told {
                process: process.clone(),
                what: what.clone(),
                with: args.clone(),
            };
            (None, Some(told))
        }
    };
    Directed {
        at: span(planned.at),
        after: planned
            .after
            .clone()
            .map(|(event, nth)| Occurrence { event, nth }),
        fault,
        hold: None,
        release: None,
        tell,
    }
}

/// All fixed, but for those of these that are on here, or off.
fn kept_only(job: &Job, kept: &[String]) -> Composition {
    let is_kept = |defect: &&'static Defect| kept.iter().any(|name| name == defect.name);
    let all = job.components.defects().into_iter();
    let kept: Vec<&'static Defect> = all.map(|(_, _, defect)| defect).filter(is_kept).collect();
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    let (on, off) = kept.into_iter().partition(|defect| match defect.kind {
        Kind::Fix => false,
        _ => job.has(defect),
    });
    Composition { on, off, ..fixed }
}

/// The same case, beginning where a draft says, with what is chosen there.
pub(super) fn staged(job: &Job, draft: &Draft) -> Result<Job, String> {
    let mut scenario = job.scenario.clone();
    let composition = &match &draft.switches {
        None => job.spec.composition.clone(),
        Some(kept) => kept_only(job, kept),
    };
    let names =
        |defects: &[&'static Defect]| defects.iter().map(|own| own.name.to_owned()).collect();
    scenario.name = draft.name.clone();
    scenario.about = draft.about.clone();
    if let Some(release) = job.spec.kubernetes {
        scenario.release = Release(release);
    }
    scenario.storm = span(draft.storm);
    scenario.search = None;
    scenario.faults = Faults::default();
    scenario.network = Network::default();
    scenario.properties = vec![draft.property.clone()];
    scenario.expect = Some(draft.property.clone());
    scenario.plan = draft
        .before
        .iter()
        .chain(&draft.plan.actions)
        .map(directed_of)
        .collect();
    scenario.plan.sort_by_key(|planned| planned.at);
    scenario.scene = Some(Scene {
        begin: span(draft.begin),
        from: span(draft.from),
        down: draft.down.clone(),
        switches: Switches {
            fixed: composition.fixed,
            defect: names(&composition.on),
            without: names(&composition.off),
        },
        options: Map::new(),
        choices: draft
            .plan
            .choices
            .iter()
            .map(|((event, nth), answer)| Answered {
                event: event.clone(),
                nth: *nth,
                answer: *answer,
            })
            .collect(),
        latencies: draft
            .plan
            .delays
            .iter()
            .map(|((event, nth), take)| Taken {
                event: event.clone(),
                nth: *nth,
                take: take.iter().map(|nanos| Span(*nanos)).collect(),
            })
            .collect(),
    });
    for begins in &draft.content {
        let list = Json::Array(begins.parts.clone());
        let keys = [(begins.key.to_owned(), list)].into_iter().collect();
        scenario.given.add(begins.section, keys);
    }
    let own = job.spec.kubernetes.map(AnyRelease::from);
    let mut staged = Job::new(scenario, own, composition.clone(), &job.components)?;
    let usual = staged.derive(0);
    let odd = draft.options.as_object().into_iter().flatten();
    let odd = odd.filter(|(key, value)| usual.get(key) != Some(value));
    let odd = odd
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if let Some(scene) = &mut staged.scenario.scene {
        scene.options = odd;
    }
    Ok(staged.with_etcd(job.spec.etcd))
}

/// What a scenario file says of it: what nothing draws from is left out of a scene.
pub(super) fn file(scenario: &Scenario) -> Json {
    let mut json = scenario.to_json();
    if let (Some(all), Some(_)) = (json.as_object_mut(), &scenario.scene) {
        all.remove("network");
        for section in all.values_mut().filter_map(Json::as_object_mut) {
            section.retain(|_, value| !value.as_array().is_some_and(Vec::is_empty));
        }
    }
    json
}
