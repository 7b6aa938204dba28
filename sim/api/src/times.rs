//! Instants inside objects.
//!
//! A world that is only shifted in time must stay equal to itself, so equality and digest of an
//! object pass over the fields that hold instants. What was written is compared in full
//! ([`Object::is_written_alike`](crate::Object::is_written_alike)).

use std::hash::{Hash, Hasher};

use jiff::Timestamp;
use wavetank_engine::{Time, is_exact};

use crate::json::{Json, Map};

/// When every world begins, 2026-01-01T00:00:00Z, in seconds since 1970.
const EPOCH: i64 = 1_767_225_600;

/// An instant as objects show it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp(Timestamp);

impl Stamp {
    /// What a clock of the world shows.
    pub fn of(clock: Time) -> Stamp {
        let since = jiff::SignedDuration::from_nanos(clock.nanos() as i64);
        let begin = Timestamp::new(EPOCH, 0).expect("a date of this century");
        Stamp(begin.saturating_add(since).unwrap_or(Timestamp::MAX))
    }

    /// So long after the beginning of 1970; `None` of what no calendar has.
    pub fn at(seconds: i64, nanos: i32) -> Option<Stamp> {
        Timestamp::new(seconds, nanos).ok().map(Stamp)
    }

    /// `metav1.Time`: whole seconds.
    pub fn seconds(self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// So many seconds later, or earlier.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Stamp {
        let by = jiff::SignedDuration::from_secs(seconds);
        let limit = if seconds < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        Stamp(self.0.saturating_add(by).unwrap_or(limit))
    }

    /// Nanoseconds since 1970 (`UnixNano`).
    pub fn nanos(self) -> i128 {
        self.0.as_nanosecond()
    }

    /// `metav1.MicroTime`.
    pub fn micros(self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// Reads RFC 3339.
    pub fn parse(text: &str) -> Option<Stamp> {
        text.parse().ok().map(Stamp)
    }

    /// The clock of the world that shows it; `None` if it is before the beginning.
    pub fn clock(self) -> Option<Time> {
        let nanos = self.0.as_nanosecond() - i128::from(EPOCH) * 1_000_000_000;
        u64::try_from(nanos).ok().map(Time::from_nanos)
    }
}

/// The fields that hold instants of the world, wherever they stand; `time` is one only where `fieldsType` stands beside it,
/// in an entry of managedFields.
fn holds_an_instant(field: &str, beside: &Map) -> bool {
    if field == "time" {
        return beside.contains_key("fieldsType");
    }
    matches!(
        field,
        "creationTimestamp"
            | "deletionTimestamp"
            | "renewTime"
            | "acquireTime"
            | "lastTransitionTime"
            | "eventTime"
            | "firstTimestamp"
            | "lastTimestamp"
            | "lastObservedTime"
    )
}

/// Who leads is the text of a tree in an annotation (`LeaderElectionRecordAnnotationKey` of client-go).
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

/// The tree in this field, if it holds one as text.
fn embedded(field: &str, value: &Json) -> Option<Json> {
    let text = value.as_str().filter(|_| field == LEADER)?;
    serde_json::from_str(text).ok()
}

/// Hashes a tree, without its instants unless the fingerprint is an exact one.
pub(crate) fn hash<H: Hasher>(json: &Json, state: &mut H) {
    match json {
        Json::Null => state.write_u8(0),
        Json::Bool(bool) => state.write_u8(1 + u8::from(*bool)),
        Json::Number(number) => {
            state.write_u8(3);
            number.hash(state);
        }
        Json::String(text) => {
            state.write_u8(4);
            text.hash(state);
        }
        Json::Array(items) => {
            state.write_u8(5);
            state.write_usize(items.len());
            for item in items {
                hash(item, state);
            }
        }
        Json::Object(map) => {
            state.write_u8(6);
            state.write_usize(map.len());
            for (field, value) in map {
                field.hash(state);
                if let Some(tree) = embedded(field, value) {
                    hash(&tree, state);
                } else if is_exact() || !holds_an_instant(field, map) {
                    hash(value, state);
                }
            }
        }
    }
}

/// Are the trees equal but for their instants?
pub(crate) fn alike(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            let beside = a;
            let same = |((field, a), (other, b)): ((&String, &Json), (&String, &Json))| {
                let trees = || embedded(field, a).zip(embedded(field, b));
                let same = || match trees() {
                    Some((a, b)) => alike(&a, &b),
                    None => alike(a, b),
                };
                field == other && (holds_an_instant(field, beside) || same())
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        _ => a == b,
    }
}
