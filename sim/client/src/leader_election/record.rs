//! Who leads, as a lock object says it (`LeaderElectionRecord`, `resourcelock/interface.go`): a Lease in its
//! spec, Endpoints and ConfigMaps in an annotation.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::json;
use wavetank_api::Stamp;
use wavetank_api::json::{self, Json};
use wavetank_engine::is_exact;

/// `LeaderElectionRecordAnnotationKey`
pub(super) const ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";
/// `UnknownLeader`: the two objects of a lock differ.
pub(super) const UNKNOWN: &str = "leaderelection.k8s.io/unknown";

/// A record.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Who holds the lock; empty if nobody does.
    pub holder: Arc<str>,
    /// How long it is held, in seconds.
    pub duration: u32,
    /// How often it changed hands.
    pub transitions: u32,
    /// Since when the holder has it.
    pub acquired: Option<Stamp>,
    /// When he renewed it.
    pub renewed: Option<Stamp>,
}

/// By hand, as its hash is: both pass over its instants unless they are exact, as those of objects do.
impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        let parts = |record: &Record| (record.holder.clone(), record.duration, record.transitions);
        let instants = |record: &Record| (record.acquired, record.renewed);
        parts(self) == parts(other) && (!is_exact() || instants(self) == instants(other))
    }
}
impl Eq for Record {}

/// By hand: see its equality.
impl Hash for Record {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.holder.hash(state);
        self.duration.hash(state);
        self.transitions.hash(state);
        if is_exact() {
            self.acquired.hash(state);
            self.renewed.hash(state);
        }
    }
}

impl Record {
    /// Held by `holder` from `now` on.
    pub fn new(holder: &Arc<str>, duration: u32, now: Stamp) -> Record {
        Record {
            holder: holder.clone(),
            duration,
            transitions: 0,
            acquired: Some(now),
            renewed: Some(now),
        }
    }

    /// Would the lock object show the same? Its instants have whole seconds (`metav1.Time`).
    pub fn is_written_alike(&self, other: &Record) -> bool {
        let seconds = |at: Option<Stamp>| at.map(Stamp::seconds);
        self == other
            && seconds(self.acquired) == seconds(other.acquired)
            && seconds(self.renewed) == seconds(other.renewed)
    }

    /// The spec of a Lease (`LeaderElectionRecordToLeaseSpec`).
    pub(super) fn to_spec(&self) -> Json {
        json!({
            "holderIdentity": &*self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired.map(Stamp::micros),
            "renewTime": self.renewed.map(Stamp::micros),
            "leaseTransitions": self.transitions,
        })
    }

    /// The text of an annotation.
    pub(super) fn to_text(&self) -> String {
        let record = json!({
            "holderIdentity": &*self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired.map(Stamp::seconds),
            "renewTime": self.renewed.map(Stamp::seconds),
            "leaderTransitions": self.transitions,
        });
        record.to_string()
    }

    fn of(json: &Json, transitions: &str) -> Record {
        let number = |field| json::number(json, &[field]).and_then(|n| u32::try_from(n).ok());
        let stamp = |field| Stamp::parse(json::text(json, &[field]));
        Record {
            holder: json::text(json, &["holderIdentity"]).into(),
            duration: number("leaseDurationSeconds").unwrap_or_default(),
            transitions: number(transitions).unwrap_or_default(),
            acquired: stamp("acquireTime"),
            renewed: stamp("renewTime"),
        }
    }

    /// What a lock object says, of any of the kinds; nothing if it has never been used as a lock.
    pub fn in_object(object: &Json) -> Option<Record> {
        if let Some(spec) = json::at(object, &["spec"]) {
            return Some(Record::of(spec, "leaseTransitions"));
        }
        let text = json::text(object, &["metadata", "annotations", ANNOTATION]);
        let record: Json = serde_json::from_str(text).ok()?;
        Some(Record::of(&record, "leaderTransitions"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_engine::Time;

    #[test]
    fn a_lease_and_an_annotation_say_the_same() {
        let now = Stamp::of(Time::from_nanos(12_345_678_901));
        let record = Record {
            transitions: 3,
            ..Record::new(&"m1".into(), 15, now)
        };
        let lease = json!({"spec": record.to_spec()});
        let annotated = json!({"metadata": {"annotations": {ANNOTATION: record.to_text()}}});
        for object in [lease, annotated] {
            let read = Record::in_object(&object).expect("it is there");
            assert!(read.is_written_alike(&record), "{read:?}");
        }
        assert_eq!(Record::in_object(&json!({"metadata": {}})), None);
    }

    #[test]
    fn another_second_is_another_record_that_counts_as_equal() {
        let at = |seconds| Record::new(&"m1".into(), 15, Stamp::of(Time::from_secs(seconds)));
        assert_eq!(at(1), at(2));
        assert!(!at(1).is_written_alike(&at(2)));
    }
}
