//! Faults are values: chosen by a generator, written by hand, taken from a trace; all the same.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that is done to the world from outside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// A fault, or its end.
    Fault(Fault),
    /// A stimulus of the workload, or a fault that only the process itself understands.
    #[serde(rename = "tell")]
    Command {
        /// The process.
        process: String,
        /// What it is told.
        what: String,
        /// With what.
        #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
        args: serde_json::Value,
    },
}

fn in_due_order(order: &u16) -> bool {
    *order == 0
}

/// A fault or the end of one. Processes are named; a fault whose target does not exist (any more)
/// does nothing and does not count as having injected.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
#[allow(
    missing_docs,
    reason = "the fields are process names and amounts with their unit"
)]
pub enum Fault {
    /// SIGTERM.
    Stop { process: String },
    /// The process ends at once; its machine resets its connections.
    Crash { process: String },
    /// The machine goes off: its peers hear nothing.
    PowerLoss { process: String },
    /// A process that is down begins its next life.
    Start { process: String },
    /// The process stands still (SIGSTOP); its machine goes on buffering.
    Pause { process: String },
    /// It goes on, and reads what has come in meanwhile: connections and timers in any order that keeps
    /// that of each connection, within about a millisecond. `order` stands for one of them; 0 is the
    /// order in which it was due.
    Resume {
        process: String,
        #[serde(default, skip_serializing_if = "in_due_order")]
        order: u16,
    },
    /// One routine is held at its await.
    Deschedule { process: String, routine: String },
    /// It goes on.
    Reschedule { process: String, routine: String },
    /// Nothing passes from `left` to `right`, and back unless `one_way`.
    Partition {
        left: Vec<String>,
        right: Vec<String>,
        #[serde(default)]
        one_way: bool,
    },
    /// It passes again.
    Heal {
        left: Vec<String>,
        right: Vec<String>,
        #[serde(default)]
        one_way: bool,
    },
    /// Nothing passes on one link, in one direction.
    Stall { from: String, to: String },
    /// It passes again.
    Unstall { from: String, to: String },
    /// A connection is reset: both ends see it.
    Reset {
        client: String,
        server: String,
        transport: String,
    },
    /// A connection is forgotten on the way: neither end sees it.
    HalfOpen {
        client: String,
        server: String,
        transport: String,
    },
    /// A link takes `factor` times as long, in both directions, but not over two minutes for a frame.
    Slow { a: String, b: String, factor: u32 },
    /// It is as fast as before.
    Unslow { a: String, b: String },
    /// What is under way from `from` to `to` arrives `nanos` nanoseconds later.
    Delay {
        from: String,
        to: String,
        nanos: u64,
    },
    /// An answer that is under way is lost, and its connection with it.
    LoseAnswer { client: String, server: String },
    /// The clock of the process runs fast by so many parts per million; 0 is right.
    ClockRate { process: String, ppm: i64 },
    /// The wall clock of the process jumps by so many milliseconds.
    ClockJump { process: String, millis: i64 },
    /// All links are healed and all clocks are right.
    HealAll {},
}

/// The kinds of faults that a budget knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "each is explained at `Fault`")]
pub enum FaultKind {
    Stop,
    Crash,
    PowerLoss,
    Pause,
    Deschedule,
    Partition,
    PartitionOneWay,
    Stall,
    Reset,
    HalfOpen,
    SlowLink,
    Delay,
    LoseAnswer,
    ClockRate,
    ClockJump,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 15] = [
        FaultKind::Stop,
        FaultKind::Crash,
        FaultKind::PowerLoss,
        FaultKind::Pause,
        FaultKind::Deschedule,
        FaultKind::Partition,
        FaultKind::PartitionOneWay,
        FaultKind::Stall,
        FaultKind::Reset,
        FaultKind::HalfOpen,
        FaultKind::SlowLink,
        FaultKind::Delay,
        FaultKind::LoseAnswer,
        FaultKind::ClockRate,
        FaultKind::ClockJump,
    ];

    /// The name in scenario files and reports.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Stop => "stop",
            FaultKind::Crash => "crash",
            FaultKind::PowerLoss => "power-loss",
            FaultKind::Pause => "pause",
            FaultKind::Deschedule => "deschedule",
            FaultKind::Partition => "partition",
            FaultKind::PartitionOneWay => "partition-one-way",
            FaultKind::Stall => "stall",
            FaultKind::Reset => "reset",
            FaultKind::HalfOpen => "half-open",
            FaultKind::SlowLink => "slow-link",
            FaultKind::Delay => "delay",
            FaultKind::LoseAnswer => "lose-answer",
            FaultKind::ClockRate => "clock-rate",
            FaultKind::ClockJump => "clock-jump",
        }
    }
}

impl Fault {
    /// What faults and their ends are called in scenario files and traces.
    pub const NAMES: [&'static str; 21] = [
        "stop",
        "crash",
        "power-loss",
        "start",
        "pause",
        "resume",
        "deschedule",
        "reschedule",
        "partition",
        "heal",
        "stall",
        "unstall",
        "reset",
        "half-open",
        "slow",
        "unslow",
        "delay",
        "lose-answer",
        "clock-rate",
        "clock-jump",
        "heal-all",
    ];

    /// Its kind; `None` for the end of a fault.
    pub fn kind(&self) -> Option<FaultKind> {
        Some(match self {
            Fault::Stop { .. } => FaultKind::Stop,
            Fault::Crash { .. } => FaultKind::Crash,
            Fault::PowerLoss { .. } => FaultKind::PowerLoss,
            Fault::Pause { .. } => FaultKind::Pause,
            Fault::Deschedule { .. } => FaultKind::Deschedule,
            Fault::Partition { one_way: false, .. } => FaultKind::Partition,
            Fault::Partition { one_way: true, .. } => FaultKind::PartitionOneWay,
            Fault::Stall { .. } => FaultKind::Stall,
            Fault::Reset { .. } => FaultKind::Reset,
            Fault::HalfOpen { .. } => FaultKind::HalfOpen,
            Fault::Slow { .. } => FaultKind::SlowLink,
            Fault::Delay { .. } => FaultKind::Delay,
            Fault::LoseAnswer { .. } => FaultKind::LoseAnswer,
            Fault::ClockRate { ppm, .. } if *ppm != 0 => FaultKind::ClockRate,
            Fault::ClockJump { .. } => FaultKind::ClockJump,
            _ => return None,
        })
    }

    /// The process that it strikes, if it strikes one and nothing that others share.
    pub(crate) fn only_process(&self) -> Option<&str> {
        match self {
            Fault::Stop { process }
            | Fault::Crash { process }
            | Fault::PowerLoss { process }
            | Fault::Start { process }
            | Fault::Pause { process }
            | Fault::Resume { process, .. }
            | Fault::Deschedule { process, .. }
            | Fault::Reschedule { process, .. }
            | Fault::ClockRate { process, .. }
            | Fault::ClockJump { process, .. } => Some(process),
            Fault::Partition { .. }
            | Fault::Heal { .. }
            | Fault::Stall { .. }
            | Fault::Unstall { .. }
            | Fault::Reset { .. }
            | Fault::HalfOpen { .. }
            | Fault::Slow { .. }
            | Fault::Unslow { .. }
            | Fault::Delay { .. }
            | Fault::LoseAnswer { .. }
            | Fault::HealAll {} => None,
        }
    }

    /// The processes that it names.
    pub fn processes(&self) -> Vec<&str> {
        match self {
            Fault::Partition { left, right, .. } | Fault::Heal { left, right, .. } => {
                left.iter().chain(right).map(String::as_str).collect()
            }
            Fault::Stall { from, to }
            | Fault::Unstall { from, to }
            | Fault::Delay { from, to, .. } => vec![from, to],
            Fault::Reset { client, server, .. }
            | Fault::HalfOpen { client, server, .. }
            | Fault::LoseAnswer { client, server } => vec![client, server],
            Fault::Slow { a, b, .. } | Fault::Unslow { a, b } => vec![a, b],
            one => one.only_process().into_iter().collect(),
        }
    }
}

/// A transport's name may say after a slash what its connection is for.
fn what_for(transport: &str) -> String {
    let purpose = transport.split_once('/');
    purpose.map_or_else(String::new, |(_, purpose)| format!(" for {purpose}"))
}

impl fmt::Display for Action {
    /// For stories: `a1 crashes`, `w1 is told to write`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Fault(fault) => fault.fmt(f),
            Action::Command { process, what, .. } => write!(f, "{process} is told to {what}"),
        }
    }
}

impl fmt::Display for Fault {
    /// For stories: `a1 crashes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |names: &[String]| names.join(", ");
        match self {
            Fault::Stop { process } => write!(f, "{process} is asked to stop (SIGTERM)"),
            Fault::Crash { process } => write!(f, "{process} crashes"),
            Fault::PowerLoss { process } => write!(f, "the machine of {process} loses power"),
            Fault::Start { process } => write!(f, "{process} is started"),
            Fault::Pause { process } => write!(f, "{process} is paused"),
            Fault::Resume { process, .. } => write!(f, "{process} goes on"),
            Fault::Deschedule { process, routine } => {
                write!(f, "routine {routine} of {process} is descheduled")
            }
            Fault::Reschedule { process, routine } => {
                write!(f, "routine {routine} of {process} goes on")
            }
            Fault::Partition {
                left,
                right,
                one_way,
            } => write!(
                f,
                "nothing passes from {} to {}{}",
                group(left),
                group(right),
                if *one_way { "" } else { ", nor back" }
            ),
            Fault::Heal { left, right, .. } => {
                write!(
                    f,
                    "{} and {} are connected again",
                    group(left),
                    group(right)
                )
            }
            Fault::Stall { from, to } => write!(f, "the link from {from} to {to} stalls"),
            Fault::Unstall { from, to } => write!(f, "the link from {from} to {to} goes on"),
            Fault::Reset {
                client,
                server,
                transport,
            } => {
                let what_for = what_for(transport);
                write!(
                    f,
                    "the connection of {client} to {server}{what_for} is reset"
                )
            }
            Fault::HalfOpen {
                client,
                server,
                transport,
            } => {
                let what_for = what_for(transport);
                write!(
                    f,
                    "the connection of {client} to {server}{what_for} is half open"
                )
            }
            Fault::Slow { a, b, factor } => {
                write!(f, "the link between {a} and {b} is {factor} times as slow")
            }
            Fault::Unslow { a, b } => write!(f, "the link between {a} and {b} is fast again"),
            Fault::Delay { from, to, nanos } => write!(
                f,
                "what is under way from {from} to {to} is delayed by {:?}",
                std::time::Duration::from_nanos(*nanos)
            ),
            Fault::LoseAnswer { client, server } => {
                write!(f, "an answer of {server} to {client} is lost")
            }
            Fault::ClockRate { process, ppm } => {
                write!(f, "the clock of {process} runs fast by {ppm} ppm")
            }
            Fault::ClockJump { process, millis } => {
                write!(f, "the clock of {process} jumps by {millis} ms")
            }
            Fault::HealAll {} => write!(f, "links and clocks are healed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_says_what_it_is_for() {
        let told = |transport: &str| {
            let reset = Fault::Reset {
                client: "a".to_owned(),
                server: "b".to_owned(),
                transport: transport.to_owned(),
            };
            reset.to_string()
        };
        assert_eq!(told("https"), "the connection of a to b is reset");
        assert_eq!(
            told("store/things"),
            "the connection of a to b for things is reset"
        );
    }

    #[test]
    fn the_names_are_those_that_are_read() {
        let wrong = serde_json::json!({"nothing": {}});
        let error = serde_json::from_value::<Fault>(wrong).expect_err("there is no such fault");
        let error = error.to_string();
        let expected: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert_eq!(expected, Fault::NAMES);
    }
}
