//! What the controller says, for properties and stories.

use std::sync::Arc;

use wavetank_api::Stamp;
use wavetank_client::workqueue::Item;

/// It is about to make a Job for a time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MakesJobFor {
    /// `namespace/name`
    pub cron_job: Item,
    pub uid: Arc<str>,
    /// The time of the schedule.
    pub time: Stamp,
    /// What its clock shows.
    pub now: Stamp,
    /// Until when the Job may be made.
    pub deadline: Option<Stamp>,
    /// Is there a time of the schedule then?
    pub is_of_schedule: bool,
    /// May Jobs not run at once?
    pub forbids: bool,
    /// How many Jobs the status lists that it acts on.
    pub active: usize,
    /// The UIDs of its Jobs for other times that it sees, and that have not ended there: none that somebody made by hand.
    pub others: Arc<[Arc<str>]>,
}

/// It made one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MadeJobFor {
    pub job: Item,
}

/// It asks for the deletion of a Job: there are others that are younger, or it is to be replaced.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct DeletesJob {
    pub job: Item,
    pub is_replaced: bool,
}

/// The Job of the time that is due is another's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct JobIsForeign {
    pub job: Item,
}
