//! A trace, followed again: does everything match, and what is its story?

use wavetank_engine::World;
use wavetank_engine::drive::replay::{Fit, Parting, Replay, Replayed};
use wavetank_engine::drive::story::{Chronicle, Telling};
use wavetank_engine::trace::{FoundViolation, Line};

use crate::apart;
use crate::case::Case;
use crate::quiet::quietly;
use crate::trace_file::Trace;

/// A story has at most so many lines.
pub const STORY_LINES: usize = 25;

/// So many lines of a trace stand before its first event.
pub(crate) const LINES_BEFORE: u64 = 2;

/// A violation in one line: `every-ball-is-hit-once (ball 7): hit twice`.
pub fn in_words(violation: &FoundViolation) -> String {
    let FoundViolation {
        property,
        kind,
        object,
        message,
    } = violation;
    match object.is_empty() {
        true => format!("{property} ({kind}): {message}"),
        false => format!("{property} ({kind} {object}): {message}"),
    }
}

/// Why a trace could not be followed to its end.
#[derive(Debug)]
pub enum Unfollowed {
    /// Its world cannot be built.
    NoWorld(String),
    /// There can be no copy of its world, or nothing came back from where it is simulated.
    Apart(String),
    /// World and trace parted.
    Parted {
        /// At this line of the trace, from 1.
        line: u64,
        /// How.
        parting: Parting,
        /// If a digest differs: at the line after this one the worlds may have begun to differ.
        alike: Option<u64>,
    },
}

impl std::fmt::Display for Unfollowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unfollowed::NoWorld(why) => write!(f, "its world cannot be built: {why}"),
            Unfollowed::Apart(why) => f.write_str(why),
            Unfollowed::Parted {
                line,
                parting,
                alike,
            } => {
                write!(f, "it no longer fits: line {line}, {parting}")?;
                let Some(alike) = alike else { return Ok(()) };
                let (from, to) = (alike + 1, line - 1);
                write!(
                    f,
                    "; in lines {from} to {to} something led elsewhere without an event that differs: a latency, an \
                     answer to a choice, what was done to a process"
                )
            }
        }
    }
}
impl std::error::Error for Unfollowed {}

/// Where following a trace has led.
#[derive(Debug)]
pub struct Followed {
    /// The world there.
    pub world: World,
    /// Events applied.
    pub events: u64,
    /// The violation that the trace shows, if it shows one and was followed to its end.
    pub violation: Option<FoundViolation>,
    chronicle: Chronicle,
}

impl Followed {
    /// What led to the violation, or without one the last of all that was told.
    pub fn story(&self) -> Vec<String> {
        let telling = match &self.violation {
            None => Telling::Everything,
            Some(found) => Telling::Violation {
                object: &found.object,
                message: &found.message,
            },
        };
        self.chronicle.story(telling, Some(STORY_LINES))
    }

    /// All that was told.
    pub fn whole_story(&self) -> Vec<String> {
        self.chronicle.story(Telling::Everything, None)
    }

    /// All that was told about an object, and what led there, or of a process; `None` if there is neither.
    pub fn story_about(&self, object: &str) -> Option<Vec<String>> {
        let is_known = self.chronicle.knows(object);
        is_known.then(|| self.chronicle.story(Telling::About(object), None))
    }

    /// The names of the processes.
    pub fn processes(&self) -> impl Iterator<Item = &str> {
        self.chronicle.processes()
    }

    /// The objects that something was told about.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        self.chronicle.objects()
    }
}

/// Follows a trace to its end, or through its first `until` events. `see` is shown each line that
/// fits, with the world after it.
///
/// # Errors
/// [`Unfollowed`].
pub fn follow(
    case: &dyn Case,
    trace: &Trace,
    fit: Fit,
    until: Option<u64>,
    see: &mut dyn FnMut(&World, &Line, &Replayed),
) -> Result<Followed, Unfollowed> {
    let apart = case.apart();
    apart::on_thread(apart.as_deref(), || {
        step_through(case, trace, begin(case, trace, fit)?, until, see)
    })
}

/// The same, to the end, with all that can be known of what happens inside of events.
///
/// # Errors
/// [`Unfollowed`].
pub(crate) fn observe(
    case: &dyn Case,
    trace: &Trace,
    fit: Fit,
    see: &mut dyn FnMut(&World, &Line, &Replayed),
) -> Result<Followed, Unfollowed> {
    let apart = case.apart();
    apart::on_thread(apart.as_deref(), || {
        let replay = begin(case, trace, fit)?.observed();
        step_through(case, trace, replay, None, see)
    })
}

/// Whoever goes back in a trace, or leaves it, does so on copies of its world.
///
/// # Errors
/// [`Unfollowed::Apart`], if there can be none.
pub(crate) fn needs_copies(case: &dyn Case) -> Result<(), Unfollowed> {
    match case.apart() {
        None => Ok(()),
        Some(apart) => Err(Unfollowed::Apart(apart.why().to_owned())),
    }
}

fn begin(case: &dyn Case, trace: &Trace, fit: Fit) -> Result<Replay, Unfollowed> {
    let world = case
        .world(&trace.head.options)
        .map_err(Unfollowed::NoWorld)?;
    Ok(match trace.head.shrunk {
        // It may be a counterexample of a search, whose events come in any order.
        true => Replay::new(world, fit),
        false => Replay::new(world, fit).in_order(),
    })
}

fn step_through(
    case: &dyn Case,
    trace: &Trace,
    mut replay: Replay,
    until: Option<u64>,
    see: &mut dyn FnMut(&World, &Line, &Replayed),
) -> Result<Followed, Unfollowed> {
    let mut chronicle = Chronicle::new(case.describer());
    let mut violation = None;
    let mut alike = LINES_BEFORE;
    for (number, line) in (LINES_BEFORE + 1..).zip(&trace.lines) {
        if matches!(line, Line::Event(_)) && until.is_some_and(|until| replay.events() >= until) {
            break;
        }
        let is_digest = matches!(line, Line::Digest { .. });
        let replayed = replay.follow(line).map_err(|parting| Unfollowed::Parted {
            line: number,
            parting,
            alike: is_digest.then_some(alike),
        })?;
        if is_digest {
            alike = number;
        }
        match (&replayed, line) {
            (Replayed::Event { entry, report }, Line::Event(event)) => {
                chronicle.add(replay.world(), event, entry.as_ref(), report);
            }
            // As it is told here: another build may have other words.
            (Replayed::End(end), _) => {
                violation = replay.violation().or(end.violation.as_ref()).cloned();
            }
            _ => {}
        }
        see(replay.world(), line, &replayed);
    }
    Ok(Followed {
        events: replay.events(),
        world: replay.into_world(),
        violation,
        chronicle,
    })
}

/// The story of a trace that this build has written.
///
/// # Errors
/// [`Unfollowed`].
pub fn story(case: &dyn Case, trace: &Trace) -> Result<Vec<String>, Unfollowed> {
    let told = || {
        let followed = quietly(|| follow(case, trace, trace.head.fit(), None, &mut |_, _, _| {}));
        followed.map(|followed| followed.story())
    };
    let Some(apart) = case.apart() else {
        return told();
    };
    let mut work = || {
        let story = told().map_err(|error| error.to_string());
        serde_json::to_vec(&story).expect("it is JSON")
    };
    let bytes = apart.in_process(&mut work, &|| false);
    let bytes = bytes.map_err(Unfollowed::Apart)?.expect("nobody stops it");
    let story: Result<Vec<String>, String> =
        serde_json::from_slice(&bytes).expect("the same program has written it");
    story.map_err(Unfollowed::Apart)
}
