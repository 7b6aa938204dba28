//! What can happen in a random plan.

use proptest::prelude::*;
use wavetank_etcd::{Keys, Limits};

pub const KEYS: [&str; 4] = ["a", "a/1", "a/2", "b"];
pub const STREAMS: [u8; 2] = [0, 1];

/// Something that happens; the stream comes first.
#[derive(Clone, Debug)]
pub enum Step {
    /// Keys to put or to delete.
    Write(Vec<(usize, bool)>),
    /// A snapshot with so many writes, compacted so far below its end.
    Install(Vec<(usize, bool)>, Option<u64>),
    Compact(u64),
    Create(u8, Create),
    /// In two steps, with a write in between.
    CreateAround(u8, Create, (usize, bool)),
    Cancel(u8, u32),
    Progress(u8),
    Tick(u8),
    Sync,
    Retry,
    /// So many responses; true: from the channel of events first.
    Read(u8, usize, bool),
    Reopen(u8),
}

/// A watch that is asked for.
#[derive(Clone, Debug)]
pub struct Create {
    pub keys: Keys,
    /// Relative to the newest revision; none: from now on.
    pub start: Option<i64>,
    pub prev_kv: bool,
    pub fragment: bool,
    pub no_put: bool,
    pub no_delete: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let op = || (0..KEYS.len(), prop::bool::weighted(0.7));
    let ops = || prop::collection::vec(op(), 1..4);
    let stream = || prop::sample::select(&STREAMS[..]);
    prop_oneof![
        12 => ops().prop_map(Step::Write),
        2 => (ops(), prop::option::of(0..5_u64)).prop_map(|(ops, c)| Step::Install(ops, c)),
        1 => (0..4_u64).prop_map(Step::Compact),
        4 => (stream(), create()).prop_map(|(s, c)| Step::Create(s, c)),
        1 => (stream(), create(), op()).prop_map(|(s, c, op)| Step::CreateAround(s, c, op)),
        1 => (stream(), 0..6_u32).prop_map(|(s, id)| Step::Cancel(s, id)),
        3 => stream().prop_map(Step::Progress),
        2 => stream().prop_map(Step::Tick),
        4 => Just(Step::Sync),
        3 => Just(Step::Retry),
        6 => (stream(), 1..6_usize, any::<bool>()).prop_map(|(s, n, e)| Step::Read(s, n, e)),
        1 => prop::sample::select(&STREAMS[..]).prop_map(Step::Reopen),
    ]
}

fn create() -> impl Strategy<Value = Create> {
    let keys = prop_oneof![
        2 => prop::sample::select(&KEYS[..]).prop_map(Keys::one),
        2 => Just(Keys::prefix("a")),
        1 => Just(Keys::all()),
        1 => Just(Keys::Between("a/1".into(), "b".into())),
    ];
    let rare = || prop::bool::weighted(0.2);
    let start = prop_oneof![2 => Just(None), 3 => (-6..6_i64).prop_map(Some)];
    (keys, start, any::<bool>(), rare(), rare(), rare()).prop_map(
        |(keys, start, prev_kv, fragment, no_put, no_delete)| Create {
            keys,
            start,
            prev_kv,
            fragment,
            no_put,
            no_delete,
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    let watchers = prop::sample::select(&[1, 2, 512][..]);
    let revisions = prop::sample::select(&[1, 2, 1000][..]);
    (1..4_usize, 1..4_usize, watchers, revisions).prop_map(
        |(channel, control, watchers, revisions)| Limits {
            channel,
            control,
            watchers,
            revisions,
            fragment: 6,
        },
    )
}

/// Small limits and what happens under them.
pub type Plan = (Limits, Vec<Step>);

/// Any plan.
pub fn plan() -> impl Strategy<Value = Plan> {
    (limits(), prop::collection::vec(step(), 1..60))
}
