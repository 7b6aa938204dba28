//! A random world as plain data: what its processes do, what is guaranteed, and how far it is searched.
//! What the words mean is in `toy.rs` (processes), `rules.rs` (properties) and `build.rs` (the rest).
//!
//! Numbers that choose one of several (a process, a lock, a routine) count round: whatever they are, they
//! choose one. So a world stays a world when a part of it is left out, and can be made smaller piece by
//! piece, and be pasted into a test ([`Description::as_rust`]).

use std::fmt;

/// A world, its properties, and how far it is searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Two to four processes, `p0`, `p1` and so on.
    pub processes: Vec<Script>,
    /// What is looked at with each note.
    pub watched: Vec<Watched>,
    /// What has to be so some time after the storm.
    pub settles: Option<Settles>,
    /// How far it is searched.
    pub limits: Limits,
    /// How `p0` lies about itself.
    pub lie: Lie,
}

/// Does the type of a process compare and hash what it is?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lie {
    /// It does.
    None,
    /// Its hash leaves out a field that its equality looks at.
    Hash,
    /// Both leave it out.
    Equality,
}

/// What a process does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Its routines, of kinds `r0`, `r1` and so on.
    pub routines: Vec<Routine>,
    /// When a life begins.
    pub boot: Vec<On>,
    /// When one of its three timers fires.
    pub timers: Vec<Vec<On>>,
    /// When a request arrives, before it is served.
    pub request: Vec<On>,
    /// How a request is served.
    pub serve: Serve,
    /// When a further part of a stream arrives, or some of its parts are acknowledged.
    pub part: Vec<On>,
    /// When a message arrives.
    pub cast: Vec<On>,
    /// When it is told something.
    pub told: Vec<On>,
    /// When it is asked to stop; so long after that it ends.
    pub stop: (Vec<On>, Option<Delay>),
    /// What its channels hold; one of nothing is never made.
    pub channels: [u8; 2],
    /// It takes no connections while its volatile number is this.
    pub deaf_at: Option<u8>,
}

/// What a routine does, so many times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routine {
    /// How often.
    pub rounds: u8,
    /// Each time.
    pub steps: Vec<Do>,
}

/// How long something takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delay {
    /// So many microseconds.
    Us(u32),
    /// Longer than any search.
    Hour,
    /// The longest that there is.
    Ever,
}

/// One step of a routine. Each leaves a number, which the next ones use.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what `Rx` calls so")]
pub enum Do {
    Sleep(Delay),
    Call {
        to: u8,
        over: u8,
        add: u8,
        within: Option<Delay>,
    },
    Stream {
        to: u8,
        over: u8,
        add: u8,
        take: u8,
        part: bool,
        close: bool,
    },
    Lock {
        lock: u8,
        within: Option<Delay>,
        held: Vec<Do>,
    },
    /// Takes the lock if that needs no waiting, in one breath with something else.
    TryLock {
        lock: u8,
    },
    /// Asks for the first lock and gives up the second in one breath.
    HandOver {
        lock: u8,
    },
    Add {
        cell: u8,
        by: u8,
    },
    Read {
        cell: u8,
    },
    Note {
        what: u8,
    },
    Choose {
        among: u8,
    },
    ChooseApart {
        among: u8,
    },
    /// A choice among very many.
    Draw,
    /// One of the routines that come after this one: no routine goes on spawning itself.
    Spawn {
        further: u8,
    },
    Recv {
        channel: u8,
        within: Option<Delay>,
    },
    Send {
        channel: u8,
        within: Option<Delay>,
    },
    TrySend {
        channel: u8,
    },
    Close {
        channel: u8,
    },
    Len {
        channel: u8,
    },
    Wait {
        signal: u8,
    },
    Raise {
        signal: u8,
    },
    Changed {
        condition: u8,
        within: Option<Delay>,
    },
    Broadcast {
        condition: u8,
    },
    /// What the wall clock shows.
    Clock,
    /// Remembers the time.
    Mark,
    /// How long ago that was.
    Age,
    Arm {
        timer: u8,
        after: Delay,
    },
    Disarm {
        timer: u8,
    },
    Deadline(Delay),
    Done {
        within: Delay,
    },
    /// Adds to the durable number of the process.
    Keep {
        by: u8,
    },
    /// Reads its volatile number.
    Look,
    GoAway,
    Exit,
    Restart {
        after: Delay,
    },
    /// What is simulated panics, if the number is this.
    Panic {
        at: u8,
    },
    If {
        at: u8,
        then: Vec<Do>,
    },
    Join(Vec<Do>, Vec<Do>),
    Select(Vec<Do>, Vec<Do>),
}

/// One thing that a callback does.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what `Cx` calls so")]
pub enum On {
    /// Adds to the volatile number of the process.
    Count {
        by: u8,
    },
    /// Adds to its durable number.
    Keep {
        by: u8,
    },
    Note {
        what: u8,
    },
    Spawn {
        routine: u8,
    },
    Cast {
        to: u8,
        over: u8,
    },
    Arm {
        timer: u8,
        after: Delay,
    },
    Disarm {
        timer: u8,
    },
    /// Counts what is left of a timer.
    Remaining {
        timer: u8,
    },
    /// Counts the timers of one kind.
    Timers {
        timer: u8,
    },
    TrySend {
        channel: u8,
    },
    Add {
        cell: u8,
        by: u8,
    },
    Broadcast {
        condition: u8,
    },
    /// Counts what the first caller that waits has not acknowledged.
    Unacknowledged,
    Exit,
}

/// How a request is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serve {
    /// At once, with so many parts before the answer.
    #[allow(missing_docs, reason = "said above")]
    Now { parts: u8 },
    /// With so many parts at once, and the answer when a timer fires.
    #[allow(missing_docs, reason = "said above")]
    Later { parts: u8, timer: u8, after: Delay },
    /// By a routine.
    #[allow(missing_docs, reason = "said above")]
    Routine { routine: u8 },
    /// Not at all.
    Never,
}

/// What must not be noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watched {
    /// What.
    pub rule: Rule,
    /// Does it decide the verdict?
    pub guaranteed: bool,
}

/// What must not be noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// This, more than so often.
    MoreThan {
        /// What.
        what: u8,
        /// How often it may be.
        times: u8,
    },
    /// One after the other, at any time.
    After {
        /// First.
        first: u8,
        /// Then.
        then: u8,
    },
    /// One right after the other, with numbers whose sum leaves this over.
    RightAfter {
        /// First.
        first: u8,
        /// Then.
        then: u8,
        /// Divided by three.
        rest: u8,
    },
    /// This with this number.
    With {
        /// What.
        what: u8,
        /// The number.
        number: u8,
    },
}

/// What has to be so some time after the storm: of the process with this number, or for good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settles {
    /// So long after.
    pub within: Delay,
    /// What.
    pub goal: Goal,
    /// From then on, and not just once until then.
    pub stays: bool,
}

/// A condition on a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// The volatile number of `p0` is not three.
    Volatile,
    /// The durable number of `p1` is zero.
    Durable,
    /// The first cell of `p0` holds less than three.
    Cell,
    /// No process is down.
    Up,
    /// `p0` has no routines.
    Idle,
}

/// How far a world is searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// What happens at which microsecond, in order; nothing stands for the end of the storm.
    pub plan: Vec<(u32, Option<Strike>)>,
    /// What may strike, once each.
    pub faults: Vec<Strike>,
    /// At most so many of them.
    pub at_most: Option<u8>,
    /// Deviations from the default order.
    pub deviations: u8,
    /// An event overtakes those that are due at most so many microseconds earlier.
    pub late_by: Option<u32>,
    /// A choice among more is always the last.
    pub widest_choice: Option<u8>,
    /// Who was injected down stays down when faults end.
    pub stay_down: bool,
    /// So many microseconds are searched.
    pub horizon: u32,
    /// Recovery is looked at over so many microseconds.
    pub calm: Option<u32>,
}

/// What strikes. A process is named by its number.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what `Fault` calls so")]
pub enum Strike {
    Command(u8),
    Stop(u8),
    Crash(u8),
    PowerLoss(u8),
    Start(u8),
    Pause(u8),
    Resume { process: u8, order: u8 },
    Deschedule { process: u8, routine: u8 },
    Reschedule { process: u8, routine: u8 },
    Reset { client: u8, server: u8, over: u8 },
    HalfOpen { client: u8, server: u8, over: u8 },
    Stall { from: u8, to: u8 },
    Unstall { from: u8, to: u8 },
    Partition { left: u8, right: u8, one_way: bool },
    Heal { left: u8, right: u8, one_way: bool },
    Slow { left: u8, right: u8 },
    Unslow { left: u8, right: u8 },
    Delay { from: u8, to: u8 },
    LoseAnswer { client: u8, server: u8 },
    ClockRate { process: u8, slow: bool },
    ClockJump { process: u8 },
}

impl Description {
    /// As it can stand in a test that uses everything in this module.
    pub fn as_rust(&self) -> String {
        let mut rust = String::new();
        // The fields that a line is in, and how far each is indented.
        let mut fields: Vec<(usize, &str)> = Vec::new();
        for line in format!("{self:#?}").lines() {
            let text = line.trim_start();
            let indent = line.len() - text.len();
            fields.retain(|(outer, _)| *outer < indent);
            let (field, value) = match text.split_once(": ") {
                Some((field, value)) => (field, value),
                None => ("", text),
            };
            if !field.is_empty() {
                fields.push((indent, field));
                rust += &format!("{field}: ");
            }
            let kind = fields.iter().rev().find_map(|(_, field)| kind_of(field));
            rust += &match value.trim_end_matches(['(', ' ', '{', ',']) {
                "[" if field == "channels" => value.to_owned(),
                "Hour" | "Ever" | "Us" => format!("Delay::{value}"),
                name if is_variant(name, field) => match kind {
                    Some(kind) if !kind.is_empty() => format!("{kind}::{value}"),
                    _ => value.to_owned(),
                },
                _ => value.replace('[', "vec!["),
            };
            rust.push('\n');
        }
        rust
    }

    /// The same within narrower limits; nothing if they are the narrowest.
    pub fn narrowed(&self) -> Option<Description> {
        let mut narrow = self.clone();
        let limits = &mut narrow.limits;
        if limits.deviations > 0 {
            limits.deviations -= 1;
        } else if limits.faults.len() > 1 && limits.at_most != Some(1) {
            limits.at_most = Some(
                limits
                    .at_most
                    .map_or(1, |most| most.saturating_sub(1).max(1)),
            );
        } else if limits.horizon > 1 {
            limits.horizon /= 2;
        } else {
            return None;
        }
        Some(narrow)
    }
}

/// The enum whose variants stand in a field; of some it is known that they hold structs.
fn kind_of(field: &str) -> Option<&'static str> {
    Some(match field {
        "steps" | "held" | "then" => "Do",
        "boot" | "timers" | "request" | "part" | "cast" | "told" | "stop" => "On",
        "serve" => "Serve",
        "rule" => "Rule",
        "goal" => "Goal",
        "plan" | "faults" => "Strike",
        "lie" => "Lie",
        "processes" | "routines" | "watched" | "settles" | "limits" => "",
        _ => return None,
    })
}

/// Is this the name of a variant, and none of `Option`?
fn is_variant(name: &str, field: &str) -> bool {
    let is_option = name == "Some" || name == "None" && field != "lie";
    name.starts_with(char::is_uppercase) && !is_option
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Us(micros) => write!(f, "{micros} us"),
            Delay::Hour => f.write_str("an hour"),
            Delay::Ever => f.write_str("for ever"),
        }
    }
}
