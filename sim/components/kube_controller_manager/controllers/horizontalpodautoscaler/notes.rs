//! What the controller says, for properties and stories.

use std::sync::Arc;

use wavetank_api::Stamp;
use wavetank_client::workqueue::Item;
use wavetank_engine::Time;

/// It begins to look at an autoscaler, as its cache has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LooksAt {
    pub autoscaler: Item,
    pub uid: Arc<str>,
}

/// It has read to how many replicas that is scaled which an autoscaler is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ReadScale {
    pub uid: Arc<str>,
    pub replicas: i64,
    pub now: Time,
}

/// It has decided, by metrics, how many replicas there are to be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Decides {
    pub autoscaler: Item,
    pub uid: Arc<str>,
    /// What it is for: that is what its pods are called, too.
    pub target: Arc<str>,
    /// Its specification, as JSON.
    pub spec: Arc<str>,
    pub current: i64,
    /// What metrics ask for.
    pub asked: i64,
    /// By what they asked for before.
    pub stabilized: i64,
    pub desired: i64,
    /// So many metrics could not be had.
    pub invalid: usize,
    /// Of the metrics that could be had: how many pods lack one, at most.
    pub missing: i64,
    /// When the oldest sample was taken that counts.
    pub sampled: Stamp,
    pub now: Time,
}

/// It is about to scale.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Rescales {
    pub autoscaler: Item,
    pub target: Arc<str>,
    pub from: i64,
    pub to: i64,
    pub min: i64,
    pub max: i64,
}

/// It has scaled.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Rescaled {
    pub uid: Arc<str>,
    /// `spec.behavior` of the autoscaler, as JSON.
    pub behavior: Arc<str>,
    pub from: i64,
    pub to: i64,
    pub now: Time,
}

/// Other autoscalers select the same pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct IsAmbiguous {
    pub autoscaler: Item,
}

/// It is about to write a status.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WritesStatus {
    pub autoscaler: Item,
}
