//! How many faults of each kind may strike, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use wavetank_component::values::{Duration, Range, Wrong};
use wavetank_engine::FaultKind;

/// Declares the kinds once: the budget of each, their names, and how to go through them.
macro_rules! faults {
    ($($(#[doc = $about:literal])* $name:literal $field:ident: $budget:ty,)*) => {
        /// For each kind of fault, how many may strike in a run; a kind not named does not.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct Faults {
            $($(#[doc = $about])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$budget>,)*
        }

        impl Faults {
            /// The names of all kinds.
            pub const KINDS: &[&str] = &[$($name),*];

            /// Such a fault as in a file: `crash: {max: 3, lasts: 5s..30s}`.
            pub fn example(kind: &str) -> Option<String> {
                let more = [$(($name, <$budget>::MORE)),*];
                let (_, more) = more.into_iter().find(|(name, _)| *name == kind)?;
                Some(format!("{kind}: {{max: 3{more}}}"))
            }

            /// The kinds that have a budget, with the most that may strike.
            pub fn budgets(&self) -> impl Iterator<Item = (&'static str, u32)> {
                [$(($name, self.$field.as_ref().map(|budget| budget.max))),*]
                    .into_iter()
                    .filter_map(|(kind, max)| max.map(|max| (kind, max)))
            }
        }
    };
}

faults! {
    /// A process is stopped gracefully (SIGTERM).
    "stop" stop: Outage,
    /// A process ends at once; its connections are closed.
    "crash" crash: Outage,
    /// A machine ends at once; its connections stay half open.
    "power-loss" power_loss: Outage,
    /// A process stands still while the world goes on.
    "pause" pause: Spell,
    /// One routine of a process is held at an await.
    "deschedule" deschedule: Spell,
    /// Two groups of processes cannot reach each other.
    "partition" partition: Spell,
    /// One group of processes cannot reach another, which still reaches it.
    "partition-one-way" partition_one_way: Spell,
    /// One link delivers nothing.
    "stall" stall: Spell,
    /// A connection is reset.
    "reset" reset: Moment,
    /// One side of a connection believes it closed, the other does not.
    "half-open" half_open: Moment,
    /// A link's latency is multiplied.
    "slow-link" slow_link: SlowLink,
    /// One message is delayed.
    "delay" delay: Spell,
    /// A request is carried out, and its answer lost.
    "lose-answer" lose_answer: Moment,
    /// A clock runs fast or slow.
    "clock-rate" clock_rate: ClockRate,
    /// A clock jumps.
    "clock-jump" clock_jump: ClockJump,
}

/// These strike links, clocks and whole processes, so that all are hit alike. Others strike what a process does, and its
/// component says how often.
pub const EVERYWHERE: [FaultKind; 7] = [
    FaultKind::Pause,
    FaultKind::Partition,
    FaultKind::PartitionOneWay,
    FaultKind::Stall,
    FaultKind::SlowLink,
    FaultKind::ClockRate,
    FaultKind::ClockJump,
];

impl Faults {
    /// The probability that a process which is taken away by such a fault stays away.
    pub fn gone(&self, kind: FaultKind) -> f64 {
        let outage = match kind {
            FaultKind::Stop => &self.stop,
            FaultKind::Crash => &self.crash,
            FaultKind::PowerLoss => &self.power_loss,
            _ => &None,
        };
        outage.as_ref().map_or(0.0, |outage| outage.gone)
    }
}

/// A fault that takes a process away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Outage {
    /// At most so many in a run, for each kind of process.
    pub max: u32,
    /// How long until it is restarted.
    pub lasts: Range<Duration>,
    /// The probability that it is never restarted.
    #[serde(default, deserialize_with = "probability")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gone: f64,
}

/// A fault that lasts a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spell {
    /// At most so many in a run; of `deschedule` for each kind of process.
    pub max: u32,
    /// How long it lasts.
    pub lasts: Range<Duration>,
}

/// A fault that happens at one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Moment {
    /// At most so many in a run, for each kind of process.
    pub max: u32,
}

/// A link that is slow for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlowLink {
    /// At most so many in a run.
    pub max: u32,
    /// How long it lasts.
    pub lasts: Range<Duration>,
    /// By how much its latency is multiplied; a frame is not late by over two minutes for it.
    #[serde(default = "ten_to_two_hundred")]
    pub factor: Range<u32>,
}

fn ten_to_two_hundred() -> Range<u32> {
    Range::new(10, 200)
}

/// A clock that runs fast or slow for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClockRate {
    /// At most so many in a run.
    pub max: u32,
    /// How long it lasts.
    pub lasts: Range<Duration>,
    /// By how many parts in a million it is off, at most, either way.
    #[schemars(range(min = 1, max = 999_999))]
    pub ppm: u32,
}

/// A clock that jumps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClockJump {
    /// At most so many in a run.
    pub max: u32,
    /// How far it jumps.
    pub by: Range<Duration>,
}

/// What an example of a budget says besides `max`.
trait Example {
    const MORE: &str;
}

impl Example for Outage {
    const MORE: &str = ", lasts: 5s..30s";
}

impl Example for Spell {
    const MORE: &str = ", lasts: 1s..10s";
}

impl Example for Moment {
    const MORE: &str = "";
}

impl Example for SlowLink {
    const MORE: &str = ", lasts: 1s..40s, factor: 10..200";
}

impl Example for ClockRate {
    const MORE: &str = ", lasts: 10s..60s, ppm: 500";
}

impl Example for ClockJump {
    const MORE: &str = ", by: 1s..60s";
}

/// Reads a probability.
pub(super) fn probability<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let chance = f64::deserialize(from)?;
    if (0.0..=1.0).contains(&chance) {
        return Ok(chance);
    }
    let help = "write a number from 0 (never) to 1 (always)";
    Err(Wrong::new(format!("`{chance}` is not a probability"), help).into_error())
}
