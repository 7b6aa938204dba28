//! Durations, written with a unit: `10s`, `1m30s`, `200ms`, `2.5s`, `150us`.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text::{self, Written, Wrong};

/// A length of virtual time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

/// Units and their nanoseconds, from large to small.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// More than a sensible text has, and few enough for the arithmetic in `amount`.
const MOST_FRACTION_DIGITS: usize = 15;

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// So many whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// So many whole milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// So many whole microseconds.
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds * 1_000)
    }

    /// The number of nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

impl Display for Duration {
    /// Hours and minutes whole, the rest as a decimal in the largest unit that fits.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut rest = self.0;
        for (unit, size) in &UNITS[..2] {
            if rest >= *size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        match UNITS.iter().find(|(_, size)| rest >= *size) {
            Some((unit, size)) => write!(f, "{}{unit}", decimal(rest, *size)),
            None if self.0 == 0 => f.write_str("0s"),
            None => Ok(()),
        }
    }
}

/// `amount / size` as an exact decimal; `size` is a power of ten.
fn decimal(amount: u64, size: u64) -> String {
    let digits = size.ilog10() as usize;
    let text = format!("{}.{:0digits$}", amount / size, amount % size);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

impl FromStr for Duration {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        let mut total = 0_u64;
        let mut rest = text;
        let mut previous = u64::MAX;
        while !rest.is_empty() || previous == u64::MAX {
            let (number, tail) = split(rest, |c| c.is_ascii_digit() || c == '.');
            let (unit, tail) = split(tail, |c| !c.is_ascii_digit() && c != '.');
            let size = size_of(text, number, unit)?;
            if size >= previous {
                return Err(not_a_duration(
                    text,
                    "its units do not go from large to small",
                ));
            }
            let sum = amount(number, size).and_then(|part| total.checked_add(part));
            total = sum.ok_or_else(|| {
                not_a_duration(text, "not a whole number of nanoseconds in 64 bits")
            })?;
            (rest, previous) = (tail, size);
        }
        Ok(Self(total))
    }
}

/// The longest start of the text whose characters all fit, and the rest.
fn split(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !fits(c)).unwrap_or(text.len()))
}

fn size_of(text: &str, number: &str, unit: &str) -> Result<u64, Wrong> {
    if number.is_empty() {
        return Err(not_a_duration(text, "a number was expected"));
    }
    if unit.is_empty() {
        let help = format!("write {}", Duration::examples());
        return Err(Wrong::new("a duration needs a unit, for example 10s", help));
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    known.map(|(_, size)| *size).ok_or_else(|| {
        let help = "the units are `h`, `m`, `s`, `ms`, `us` and `ns`";
        Wrong::new(
            format!("unknown unit `{unit}` in the duration `{text}`"),
            help,
        )
    })
}

fn not_a_duration(text: &str, why: &str) -> Wrong {
    let help = format!("write {}", Duration::examples());
    Wrong::new(format!("`{text}` is not a duration: {why}"), help)
}

/// A decimal number of units in nanoseconds, if that is exact and fits.
fn amount(number: &str, size: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.is_empty() || fraction.len() > MOST_FRACTION_DIGITS {
        return None;
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let parts = fraction.parse::<u128>().ok()? * u128::from(size);
    let exact = parts.is_multiple_of(scale).then_some(parts / scale)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(size)?;
    whole.checked_add(u64::try_from(exact).ok()?)
}

impl Written for Duration {
    fn name() -> Cow<'static, str> {
        "duration".into()
    }

    fn pattern() -> String {
        r"([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+".into()
    }

    fn examples() -> String {
        "`10s`, `1m30s`, `200ms`, `2.5s` or `150us`".into()
    }

    fn read(text: &str) -> Result<Self, Wrong> {
        text.parse()
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::deserialize(from)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        text::schema::<Self>()
    }
}
