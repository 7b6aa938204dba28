//! Virtual time. Nothing here reads a real clock.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest::is_exact;
use crate::mutant;

/// An instant of virtual time, in nanoseconds since the world began.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The instant at which every world begins.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `nanos` nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// The instant `seconds` seconds after the beginning.
    pub const fn from_secs(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    /// Nanoseconds since the beginning.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning, for reports.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to `self`, zero if `earlier` is the later one. It is as long to never from any
    /// time.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(match self {
            Time::NEVER if earlier != Time::NEVER => FOR_EVER,
            at => at.0.saturating_sub(earlier.0),
        })
    }
}

/// How many whole `grain`s `span` is long.
pub(crate) fn grains(span: Duration, grain: Duration) -> u64 {
    (span.as_nanos() / grain.as_nanos().max(1)) as u64
}

/// An instant that a process remembers. States that differ in it alone are the same: a world that is
/// shifted in time is the same world. Only what is exact tells them apart ([`exactly`](crate::exactly)).
#[derive(Clone, Copy, Debug, Default)]
pub struct Instant(pub Time);

impl PartialEq for Instant {
    fn eq(&self, other: &Instant) -> bool {
        !is_exact() || self.0 == other.0
    }
}

impl Eq for Instant {}

impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if is_exact() && !mutant::is("digest: instants") {
            self.0.hash(state);
        }
    }
}

impl Time {
    /// How far it is from `now`, in nanoseconds: ahead, or behind as a negative number would be. What is
    /// never is as far from any time.
    pub(crate) fn ahead_of(self, now: Time) -> u64 {
        match self {
            Time::NEVER => FOR_EVER,
            at => at.0.wrapping_sub(now.0),
        }
    }
}

/// Whatever takes so many nanoseconds, 292 years, takes for ever: so it does not depend on the time at
/// which it begins whether it comes to an end.
const FOR_EVER: u64 = 1 << 63;

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, by: Duration) -> Time {
        match nanos(by) {
            FOR_EVER.. => Time::NEVER,
            by => Time(self.0.saturating_add(by)),
        }
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, by: Duration) -> Time {
        Time(self.0.saturating_sub(nanos(by)))
    }
}

impl fmt::Display for Time {
    /// Seconds with as many decimals as are needed: `12.0035`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{rest:09}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl std::str::FromStr for Time {
    type Err = String;
    fn from_str(text: &str) -> Result<Time, String> {
        let bad = || format!("`{text}` is not a time in seconds such as 12.0035");
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        if rest.len() > 9 || !rest.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let whole: u64 = whole.parse().map_err(|_| bad())?;
        let rest: u64 = format!("{rest:0<9}").parse().map_err(|_| bad())?;
        whole
            .checked_mul(1_000_000_000)
            .and_then(|n| n.checked_add(rest))
            .map(Time)
            .ok_or_else(bad)
    }
}

/// A duration in nanoseconds, saturating (u64 holds 584 years).
pub(crate) fn nanos(d: Duration) -> u64 {
    d.as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(d.subsec_nanos()))
}
