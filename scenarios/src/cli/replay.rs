//! `wavetank replay`.

use std::fmt::Write as _;
use std::path::Path;

use wavetank_engine::World;
use wavetank_engine::drive::replay::{Fit, Replayed};
use wavetank_engine::trace::Line;

use crate::case::Case;
use crate::catalogue::{Catalogue, Listed};
use crate::head::build;
use crate::replay::{Followed, Unfollowed, follow, in_words};
use crate::trace_file::Trace;

use super::args::ReplayArgs;
use super::exit::{Exit, Problem};
use super::{find, human, print};

/// So many pending events are shown where a replay stops.
const PENDING: usize = 20;
/// So many objects are named to who asks for one that there is not.
const NAMES: usize = 40;

pub(super) fn replay(catalogue: &dyn Catalogue, args: &ReplayArgs) -> Result<Exit, Problem> {
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let fit = trace.head.fit();
    print(&opening(&trace, fit))?;
    let mut failed = None;
    let followed = follow(
        case.as_ref(),
        &trace,
        fit,
        args.until,
        &mut |world, line, replayed| {
            if args.verbose && failed.is_none() {
                failed = print(&told(case.as_ref(), world, line, replayed)).err();
            }
        },
    );
    if let Some(failed) = failed {
        return Err(failed);
    }
    let followed = followed.map_err(|error| unfollowed(&error, &args.trace))?;
    let story = human::story(&story(&followed, args)?);
    match args.until.filter(|until| *until < trace.end().events) {
        Some(_) => {
            print(&format!("{story}{}", stopped(&followed)))?;
            Ok(Exit::Clean)
        }
        None => {
            if args.until.is_some_and(|until| until > trace.end().events) {
                let all = human::count(trace.end().events, "event");
                eprintln!("note: --until is beyond the end: the trace has {all}");
            }
            print(&format!("{story}{}", ended(&followed)))?;
            Ok(match followed.violation {
                Some(_) => Exit::Violation,
                None => Exit::Clean,
            })
        }
    }
}

/// As much of the story as is asked for.
fn story(followed: &Followed, args: &ReplayArgs) -> Result<Vec<String>, Problem> {
    let Some(object) = &args.about else {
        return Ok(match args.story {
            true => followed.whole_story(),
            false => followed.story(),
        });
    };
    let about = followed.story_about(object).ok_or_else(|| {
        let message = format!(
            "{}: nothing was told about `{object}`; ",
            args.trace.display()
        );
        Problem::new(message + &known(followed, object))
    })?;
    Ok(match about.is_empty() {
        true => vec![format!("nothing was told of {object} so far")],
        false => about,
    })
}

/// The processes and objects of a story, the one first that is most likely meant.
fn known(followed: &Followed, object: &str) -> String {
    let listed = |object: &str| Listed::new(object, "");
    let processes: Vec<Listed> = followed.processes().map(listed).collect();
    let objects: Vec<Listed> = followed.objects().map(listed).collect();
    let all = [processes.clone(), objects.clone()].concat();
    let near = find::near(object, &all).map(|name| format!("did you mean `{name}`? "));
    format!(
        "{}there are the processes {}, and the objects {}",
        near.unwrap_or_default(),
        names(&processes),
        names(&objects),
    )
}

/// The first of these names, and how many more there are.
fn names(listed: &[Listed]) -> String {
    let shown = listed.iter().take(NAMES);
    let shown: Vec<&str> = shown.map(|listed| listed.name.as_str()).collect();
    let more = match listed.len().saturating_sub(NAMES) {
        0 => String::new(),
        more => format!(" and {more} more (`--story` tells of them)"),
    };
    shown.join(", ") + &more
}

/// Why a trace could not be followed, for people.
pub(super) fn unfollowed(error: &Unfollowed, trace: &Path) -> Problem {
    let message = format!("{}: {error}", trace.display());
    match error {
        Unfollowed::NoWorld(_) | Unfollowed::Apart(_) => Problem::new(message),
        Unfollowed::Parted { .. } => Problem::misfit(message),
    }
}

fn opening(trace: &Trace, fit: Fit) -> String {
    let head = &trace.head;
    let shrunk = if head.shrunk { ", shrunk" } else { "" };
    let how = match fit {
        Fit::Strict => "this build wrote it: times and digests are compared".to_owned(),
        Fit::ByName => format!(
            "build {} wrote it, this is {}: names decide, times and digests are not compared",
            head.build,
            build()
        ),
    };
    format!("{}, seed {}{shrunk}; {how}\n", head.case, head.seed)
}

/// One line of a trace, with what was told about it.
fn told(case: &dyn Case, world: &World, line: &Line, replayed: &Replayed) -> String {
    let mut text = match replayed {
        Replayed::Digest | Replayed::End(_) => return String::new(),
        Replayed::Event { .. } | Replayed::Panicked(_) => format!("{line}\n"),
    };
    if let Replayed::Event { report, .. } = replayed {
        for note in &report.notes {
            let told = match case.describer().describe(world, note) {
                Some(told) => told.text,
                None => format!("{:?}", note.body),
            };
            writeln!(text, "    {}: {told}", world.name(note.process))
                .expect("writing to a string cannot fail");
        }
    }
    text
}

fn stopped(followed: &Followed) -> String {
    let world = &followed.world;
    let mut text = String::new();
    let events = human::count(followed.events, "event");
    let now = world.now();
    let pending = match world.pending().len() {
        0 => "nothing is pending",
        _ => "pending:",
    };
    writeln!(text, "stopped after {events}, at {now} s; {pending}")
        .expect("writing to a string cannot fail");
    for entry in world.pending().take(PENDING) {
        let name = world.render(&world.entry_name(entry));
        writeln!(text, "  {} {name}", entry.at).expect("writing to a string cannot fail");
    }
    if world.pending().len() > PENDING {
        text += &format!("  and {} more\n", world.pending().len() - PENDING);
    }
    text
}

fn ended(followed: &Followed) -> String {
    let events = human::thousands(followed.events);
    let at = followed.world.now();
    let what = match &followed.violation {
        None => "no violation".to_owned(),
        Some(found) => format!("violation of {}", in_words(found)),
    };
    human::paragraph(&format!("all {events} events match, to {at} s: {what}"))
}
