//! How often what was done: the score of a comparison.
//!
//! Nothing is decided here.

use std::collections::BTreeMap;
use std::fmt;

use wavetank_etcd::Response;

use crate::etcd::op::Op;
use crate::etcd::side::{Item, Log, Outcome};

/// What a comparison did, in numbers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Sequences that were run to their end.
    pub sequences: u64,
    /// Operations by kind, without those by which the runner lets both sides come to rest.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Requests that were refused, by the reason; watches included.
    pub refused: BTreeMap<String, u64>,
    /// Watches that were asked for.
    pub watches: u64,
    /// Those from below the revision of the last compaction.
    pub below_compaction: u64,
    /// Those that a compaction ended.
    pub compacted: u64,
    /// Events that watches showed.
    pub events: u64,
    /// Progress notifications.
    pub progress: u64,
}

/// The name of an operation's kind.
pub fn kind(op: &Op) -> &'static str {
    match op {
        Op::Range(_) => "range",
        Op::Put(_) => "put",
        Op::Delete(_) => "delete-range",
        Op::Txn(_) => "txn",
        Op::Compact { .. } => "compact",
        Op::Grant { .. } => "lease grant",
        Op::Revoke(_) => "lease revoke",
        Op::KeepAlive(_) => "lease keep-alive",
        Op::TimeToLive { .. } => "lease time-to-live",
        Op::Leases => "leases",
        Op::Watch(_) => "watch",
        Op::Cancel { .. } | Op::Close { .. } => "watch cancel",
        Op::Progress { .. } => "watch progress",
    }
}

impl Figures {
    /// How many operations.
    pub fn operations(&self) -> u64 {
        self.kinds.values().sum()
    }

    /// How many operations were refused.
    pub fn errors(&self) -> u64 {
        self.refused.values().sum()
    }

    /// How many of 100 operations were refused.
    pub fn error_share(&self) -> f64 {
        share(self.errors(), self.operations())
    }

    /// How many of 100 watches were asked for from below the last compaction.
    pub fn below_share(&self) -> f64 {
        share(self.below_compaction, self.watches)
    }

    /// The kind that came least often, and how many of 100 operations it was.
    pub fn rarest(&self) -> Option<(&'static str, f64)> {
        let (kind, count) = self.kinds.iter().min_by_key(|(_, count)| **count)?;
        Some((kind, share(*count, self.operations())))
    }

    pub(crate) fn operation(&mut self, op: &Op) {
        *self.kinds.entry(kind(op)).or_default() += 1;
    }

    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        let reason = match outcome {
            Outcome::Answer(Response::Error(error)) => error.message().to_owned(),
            Outcome::Answer(_) => return,
            Outcome::Unexpected(text) => text.clone(),
        };
        *self.refused.entry(reason).or_default() += 1;
    }

    pub(crate) fn watch(&mut self, below_compaction: bool) {
        self.watches += 1;
        self.below_compaction += u64::from(below_compaction);
    }

    pub(crate) fn log(&mut self, log: &Log) {
        for item in log.values().flatten() {
            match item {
                Item::Event(_) => self.events += 1,
                Item::Progress(_) => self.progress += 1,
                Item::Refused(_, reason) => {
                    *self.refused.entry(reason.clone()).or_default() += 1;
                }
                Item::Canceled(_, compacted, _) if *compacted != 0 => {
                    self.compacted += 1;
                }
                _ => {}
            }
        }
    }

    /// Counts another comparison's in.
    pub fn add(&mut self, other: &Figures) {
        self.sequences += other.sequences;
        for (kind, count) in &other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        for (reason, count) in &other.refused {
            *self.refused.entry(reason.clone()).or_default() += count;
        }
        self.watches += other.watches;
        self.below_compaction += other.below_compaction;
        self.compacted += other.compacted;
        self.events += other.events;
        self.progress += other.progress;
    }
}

#[allow(clippy::cast_precision_loss, reason = "shares for people")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>9} operations in {} sequences",
            self.operations(),
            self.sequences
        )?;
        for (kind, count) in &self.kinds {
            writeln!(
                f,
                "{count:>9} {:>5.1} % {kind}",
                share(*count, self.operations())
            )?;
        }
        writeln!(
            f,
            "{:>9} {:>5.1} % refused:",
            self.errors(),
            self.error_share()
        )?;
        for (reason, count) in &self.refused {
            writeln!(f, "{count:>17} {reason}")?;
        }
        writeln!(
            f,
            "{:>9} {:>5.1} % of watches from below the last compaction; a compaction ended {}",
            self.below_compaction,
            self.below_share(),
            self.compacted,
        )?;
        writeln!(
            f,
            "{:>9} events, {} progress notifications",
            self.events, self.progress
        )
    }
}
