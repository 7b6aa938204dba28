//! What the informers of a cluster's clients are about: a busy resource, the same by a label, one that
//! changes now and then, and one that is all but quiet. Some of their routines are slow at times.

use std::time::Duration;

use wavetank_api::kinds::{CONFIG_MAPS, PODS, Resource, SECRETS};
use wavetank_api::selector::{LabelSelector, Operator, Requirement};
use wavetank_client::informer::{HandlerSpec, InformerSpec, Lag, Resync};
use wavetank_client::observed::{Labels, Selection};

/// The resources that they are about.
pub const INFORMED: [&Resource; 3] = [&CONFIG_MAPS, &PODS, &SECRETS];

fn lag(one_in: u64, seconds: u64) -> Option<Lag> {
    Some(Lag {
        one_in,
        upto: Duration::from_secs(seconds),
    })
}

pub(super) fn specs() -> Vec<InformerSpec> {
    let busy = InformerSpec {
        resync: Some(Duration::from_secs(40)),
        handlers: vec![
            HandlerSpec {
                lag: lag(4, 6),
                ..HandlerSpec::new("slow")
            },
            HandlerSpec {
                resync: Resync::Never,
                ..HandlerSpec::new("plain")
            },
        ],
        queue_lag: lag(20, 15),
        ..InformerSpec::of(&CONFIG_MAPS)
    };
    let app = Requirement {
        key: "app".into(),
        operator: Operator::In,
        values: vec!["x".into()],
    };
    let labelled = InformerSpec {
        selection: Selection {
            labels: Labels(LabelSelector(vec![app])),
            ..InformerSpec::of(&CONFIG_MAPS).selection
        },
        ..InformerSpec::of(&CONFIG_MAPS)
    };
    let slow = InformerSpec {
        queue_lag: lag(3, 20),
        ..InformerSpec::of(&PODS)
    };
    vec![busy, labelled, slow, InformerSpec::of(&SECRETS)]
}
