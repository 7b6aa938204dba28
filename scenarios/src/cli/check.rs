//! `wavetank check`.

mod jobs;
pub(super) mod parts;
mod watch;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::available_parallelism;

use wavetank_engine::Class;
use wavetank_models::{
    Ended, Explored, Explorer, Part, Progress, Readable, Recovery, Shortening, Sketch,
};

use crate::case::Case;
use crate::catalogue::Catalogue;
use crate::head::build;
use crate::livelock_cycle;
use crate::quiet::quietly;
use crate::replay;
use crate::search::{Around, Search};
use crate::trace_file::{self, check_writable};

use super::args::{CheckArgs, Format, shard};
use super::checked::{self, Checked, Coverage, Figures, Found, Turned, Verdict};
use super::exit::{Exit, Problem};
use super::found::replay_line;
use super::replay::unfollowed;
use super::{find, human, interrupt, junit, print, print_json};
use jobs::{Run, jobs};
use watch::Watch;
use words::{MUCH_HEALING, bounds, help, list, narrow, size};

/// Making a counterexample smaller searches again at most so far, in each of three passes.
const SHORTENING_STEPS: u64 = 200_000;

pub(super) fn check(catalogue: &dyn Catalogue, args: &CheckArgs) -> Result<Exit, Problem> {
    if args.is_reduced() && args.threads > 1 {
        let message = "the reduced search has one thread: leave out --threads, or --reduced";
        return Err(Problem::new(message));
    }
    let searches = searches(catalogue, args)?;
    check_writable(&args.out).map_err(Problem::new)?;
    if let Some(path) = &args.report {
        junit::check_writable(path)?;
    }
    if let Some(port) = args.explore {
        return explore(searches, port);
    }
    let shard = shard(args.shard.as_deref())?;
    let stop = interrupt::listen();
    let jobs = jobs(&searches, args.each);
    let threads = match args.threads {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let run = Run {
        args,
        shard,
        interrupted: &|| stop.load(Relaxed),
        has_failed: AtomicBool::new(false),
        room: (threads.min(jobs.len()) > 1).then(RwLock::default),
    };
    let mut all = Vec::new();
    run.in_order(&jobs, threads, |checked| {
        if args.format == Format::Human {
            print(&checked::in_words(&checked))?;
        }
        all.push(checked);
        Ok(())
    })?;
    told(&all, args.format, args.report.as_deref())
}

/// What is told when all scopes have been, each by itself.
pub(super) fn told(
    all: &[Checked],
    format: Format,
    report: Option<&Path>,
) -> Result<Exit, Problem> {
    if format == Format::Json {
        print_json(&all)?;
    } else if let Some(total) = checked::total(all) {
        print(&total)?;
    }
    if let Some(path) = report {
        junit::write(path, &junit::checked(all))?;
    }
    Ok(checked::exit(all))
}

type Searches = Vec<(Box<dyn Case>, Search)>;

/// What is asked for.
fn searches(catalogue: &dyn Catalogue, args: &CheckArgs) -> Result<Searches, Problem> {
    if let Some(path) = &args.around {
        let (trace, _) = find::traced(catalogue, path)?;
        let flips = args.composition.composition();
        let case = catalogue
            .recompose(&trace.head.identity, &flips)
            .map_err(|why| Problem::new(format!("{}: {why}", path.display())))?;
        let around = Around {
            window: args.window,
            deviations: args.deviations,
            beyond: args.window,
        };
        let search = Search::around(case.as_ref(), &trace, around);
        let search = search.map_err(|error| unfollowed(&error, path))?;
        return Ok(vec![(case, search)]);
    }
    let names = match &args.scope {
        Some(scope) => vec![scope.clone()],
        None => catalogue.scope_names(),
    };
    let open = |name: &String| {
        let case = find::scope(catalogue, name, &args.composition.composition())?;
        let search = Search::of(case.as_ref()).map_err(Problem::new)?;
        Ok((case, search))
    };
    names.iter().map(open).collect()
}

/// What a scope says that it shows, and cannot show.
fn says(case: &dyn Case) -> (Vec<String>, BTreeMap<String, String>) {
    let scope = case.scope();
    scope.map_or_else(Default::default, |scope| (scope.shows, scope.cannot_show))
}

/// Searches one scope, writes the trace of what was found, and says what came of it.
fn one(
    run: &Run<'_>,
    case: &dyn Case,
    search: &Search,
    turned: Option<&Turned>,
    threads: usize,
) -> Result<(Checked, Sketch), Problem> {
    let Run { args, shard, .. } = *run;
    let is_over = || run.is_over();
    let watch = Watch::new(case.name(), args, &is_over);
    let recovery = search.calm.map(Recovery::within);
    let explorer = Explorer {
        model: &search.model,
        recovery: recovery.as_ref(),
        reduction: args.reduction(),
        threads,
        watch: &|progress| {
            watch.pass(case.take_passed());
            watch.goes_on(progress)
        },
    };
    let part = shard.map_or(Part::WHOLE, |shard| {
        Part::new(shard.number() as usize - 1, shard.of() as usize)
    });
    let (explored, sketch) = quietly(|| explorer.run_part(search.starts(), part));
    let seconds = watch.clock.elapsed().as_secs_f64();
    let found = match &explored.ended {
        Ended::Violated(found) => Some(write(case, search, found, turned, args)?),
        Ended::Complete | Ended::Stopped => None,
    };
    let coverage = coverage(case, search, &explored, watch.passed());
    let verdict = verdict(
        &explored,
        found.as_ref(),
        turned,
        case.expects().is_some(),
        is_over(),
    );
    // Near to a trace there is what there is; a switch is looked for, and not what it leaves alone.
    let is_promised = turned.is_none() && args.around.is_none();
    let verdict = match is_promised {
        true => promised(verdict, &coverage),
        false => verdict,
    };
    let checked = Checked {
        version: checked::VERSION,
        case: case.name().to_owned(),
        turned: turned.cloned(),
        identity: case.identity(),
        build: build().to_owned(),
        verdict,
        because: match verdict {
            Verdict::Incomplete => Some(limit(&watch)),
            _ => because(verdict, case, &coverage),
        },
        bounds: bounds(case, search, &args.reduction(), args.around.is_none()),
        figures: figures(&explored.progress, seconds),
        coverage,
        shards: None,
        found,
    };
    Ok((checked, sketch))
}

/// Clean is what has put to the test all that it promises.
fn promised(verdict: Verdict, coverage: &Coverage) -> Verdict {
    match verdict {
        Verdict::Clean if !coverage.untested.is_empty() || coverage.tested.is_empty() => {
            Verdict::Untested
        }
        other => other,
    }
}

fn verdict(
    explored: &Explored,
    found: Option<&Found>,
    turned: Option<&Turned>,
    expects: bool,
    interrupted: bool,
) -> Verdict {
    let is_to_find = match turned {
        Some(Turned::Shows(_)) => true,
        Some(Turned::CannotShow(_)) => false,
        None => expects,
    };
    match (&explored.ended, found) {
        (_, Some(_)) if matches!(turned, Some(Turned::CannotShow(_))) => Verdict::FoundAfterAll,
        (_, Some(found)) if found.expected => Verdict::FoundAsExpected,
        (_, Some(_)) => Verdict::Violated,
        (Ended::Complete, None) if is_to_find => Verdict::NotFound,
        (Ended::Complete, None) => Verdict::Clean,
        _ if interrupted => Verdict::Interrupted,
        _ => Verdict::Incomplete,
    }
}

/// Why a complete search says no more.
fn because(verdict: Verdict, case: &dyn Case, coverage: &Coverage) -> Option<String> {
    let Coverage {
        tested, untested, ..
    } = coverage;
    match verdict {
        Verdict::Untested if untested.is_empty() => {
            Some("none of its `properties` is a guarantee".to_owned())
        }
        Verdict::Untested => Some(format!(
            "nothing within these bounds puts {} to the test: widen the bounds, or leave out of `properties` what this \
             scope is not for{}{}",
            list(untested),
            match tested.is_empty() {
                true => String::new(),
                false => format!(
                    " (what it does test is `properties: [{}]`)",
                    tested.join(", ")
                ),
            },
            help(case, untested),
        )),
        Verdict::NotFound => case.expects().map(|property| {
            format!("the expected violation of `{property}` is not within these bounds")
        }),
        _ => None,
    }
}

/// Which limit has ended it, and what would help.
fn limit(watch: &Watch<'_>) -> String {
    let reached = watch.last().unique;
    let limit = match watch.args.max_states.filter(|most| reached >= *most) {
        Some(most) => format!("there are more than {}", human::count(most, "state")),
        None => format!(
            "it came near to the {} MiB of memory that it may have (--memory)",
            watch.args.memory
        ),
    };
    let estimate = watch.last().estimate;
    let Some(estimate) = &estimate else {
        return limit;
    };
    let last = watch.last();
    let healing = last.healing / last.unique.max(1);
    let narrow = match healing {
        ..MUCH_HEALING => narrow(estimate),
        steps => format!(
            "recovery takes {steps} steps a state, more than all else: a later `from` or fewer `faults` \
             help, a shorter `calm`, or a search without `recovers`"
        ),
    };
    format!("{limit}: {}; {narrow}", size(estimate, reached))
}

fn figures(progress: &Progress, seconds: f64) -> Figures {
    let per = |amount: u64, by: f64| if by > 0.0 { amount as f64 / by } else { 0.0 };
    Figures {
        states: progress.unique,
        passed: progress.passed,
        generated: progress.generated,
        longest_path: progress.depth,
        seconds,
        recovery_steps: progress.healing,
        states_per_second: per(progress.unique, seconds),
        generated_per_second: per(progress.generated, seconds),
        bytes_per_state: per(progress.bytes, progress.unique as f64),
    }
}

fn coverage(
    case: &dyn Case,
    search: &Search,
    explored: &Explored,
    passed: BTreeSet<&'static str>,
) -> Coverage {
    let (model, reached) = (&search.model, &explored.coverage);
    let of = |class| reached.properties(model, class);
    let (guarantees, sometimes) = (of(Class::Guarantee), of(Class::Sometimes));
    let (faults, plan) = (reached.faults(model), reached.plan(model));
    let mut missed: Vec<String> = Vec::new();
    let all = [
        ("fault", &faults),
        ("planned", &plan),
        ("sometimes", &sometimes),
    ];
    for (what, reached) in all {
        missed.extend(reached.missed.iter().map(|name| format!("{what}: {name}")));
    }
    missed.extend(search.in_vain.iter().map(|own| {
        let (action, at, why) = (&own.action, own.at, &own.why);
        format!("planned at {at} s: {action}, but {why}")
    }));
    let places = case.places().into_iter();
    let (places, missed_places) = places.partition::<Vec<_>, _>(|place| passed.contains(place));
    let names = |places: Vec<&'static str>| places.into_iter().map(str::to_owned).collect();
    let (places, missed_places): (Vec<String>, Vec<String>) = (names(places), names(missed_places));
    let (shows, mut reasons) = says(case);
    reasons.retain(|switch, _| places.contains(switch));
    let is_unshown = |place: &&String| {
        !shows.is_empty() && !shows.contains(place) && !reasons.contains_key(*place)
    };
    let unshown = places.iter().filter(is_unshown).cloned().collect();
    // What is violated was put to the test.
    let violated = match &explored.ended {
        Ended::Violated(found) => Some(&found.violation.property),
        Ended::Complete | Ended::Stopped => None,
    };
    let (more, untested): (Vec<String>, Vec<String>) = guarantees
        .missed
        .into_iter()
        .partition(|name| Some(name) == violated);
    Coverage {
        faults: faults.reached,
        planned: plan.reached,
        tested: [guarantees.reached, more].concat(),
        sometimes: sometimes.reached,
        places,
        cannot_show: reasons,
        unshown,
        events: reached
            .events()
            .filter(|(_, times)| *times > 0)
            .map(|(kind, times)| (kind.to_owned(), times))
            .collect(),
        deviations: reached.deviations(),
        remembered: reached.remembered().len(),
        untested,
        missed,
        missed_places,
    }
}

/// The found path as a trace on disk, at once as it was found and then smaller.
fn write(
    case: &dyn Case,
    search: &Search,
    found: &wavetank_models::Found,
    turned: Option<&Turned>,
    args: &CheckArgs,
) -> Result<Found, Problem> {
    let switch = turned.map(Turned::switch);
    let out = &switch.map_or_else(|| args.out.clone(), |switch| args.out.join(switch));
    let starts = search.starts();
    let start = &starts[found.start];
    let property = &found.violation.property;
    let stem = match &args.around {
        None => format!("{}-{property}", case.name()),
        // Named for the trace around which it was found: neither it nor what was found around another one is
        // overwritten.
        Some(trace) => format!("{}-near-{property}", trace_file::stem(trace)),
    };
    let save = |trace: &trace_file::Trace| {
        trace_file::write(out, &stem, &trace.to_bytes()).map_err(|error| {
            Problem::new(format!(
                "`{property}` is violated, but its trace cannot be written into `{}`: {error}",
                out.display()
            ))
        })
    };
    save(&search.trace(case, &search.model, start, found))?;
    let shortening = Shortening {
        model: &search.model,
        calm: search.calm,
        steps: SHORTENING_STEPS,
    };
    let shortened = quietly(|| shortening.of(start, found.clone()));
    let trace = search.trace(case, &shortened.model, &shortened.start, &shortened.found);
    let path = save(&trace)?;
    let what = trace.end().violation.clone();
    let what = what.ok_or_else(|| Problem::new("the path that was found violates nothing"))?;
    let story = replay::story(case, &trace).unwrap_or_else(|why| vec![format!("no story: {why}")]);
    Ok(Found {
        expected: matches!(turned, Some(Turned::Shows(_)))
            || case.expects() == Some(what.property.as_str()),
        what,
        cycle: livelock_cycle::of(case, &trace).map(|cycle| cycle.to_string()),
        events: trace.end().events,
        replay: replay_line(&path),
        trace: path.display().to_string(),
        story,
    })
}

/// Serves stateright's Explorer on this machine only.
fn explore(searches: Searches, port: u16) -> Result<Exit, Problem> {
    use stateright::Model as _;
    let [(case, search)] = &searches[..] else {
        return Err(Problem::new("name one scope to look around in"));
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // Stateright panics if it cannot have the address, so this looks first.
    TcpListener::bind(address).map_err(|error| {
        Problem::new(format!(
            "cannot serve at {address}: {error}; choose another port, such as `--explore={}`",
            port.saturating_add(1)
        ))
    })?;
    eprintln!("{} at http://{address} (Ctrl-C ends it)", case.name());
    let checker = Readable(search.model.clone()).checker();
    // Returns when the page is no longer served.
    drop(checker.serve(address));
    Ok(Exit::Clean)
}
