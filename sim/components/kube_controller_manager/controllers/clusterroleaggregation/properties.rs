//! What those who are bound to aggregated ClusterRoles may rely on once all has been well for a while: these have the rules of the roles
//! that they select and no others, and are left alone.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::CLUSTER_ROLES;
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::changes::is_of;
use wavetank_components::promises::{reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Stable, World};
use wavetank_etcd::Change;

use super::controller::CONTROLLER;
use super::notes::Aggregates;
use super::rules::{Left, aggregate, aggregation_rule, are_equal, rules};
use super::{NEEDED, USE, USERS};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;

/// What failed in a storm is tried again a little later than the storm was long.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

/// Somebody has to use ClusterRoles.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", USE, "{every: 2s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "aggregated-roles-have-what-they-select",
            "some time after calm each ClusterRole with an aggregationRule has the rules of those that it selects, each once, selector \
             by selector and in the order of their names, and no others",
            NEEDED,
            |settled| Box::new(aggregated_roles_have_what_they_select(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "aggregation-is-quiet",
            "some time after calm the controller applies no rules any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(IsQuiet::after(settled, REST)),
        ),
        reaches(
            "rules-were-aggregated",
            "the controller found an aggregated role that had other rules than those that it selects, of which there were some",
            NEEDED,
            |_, note| note.body.get().is_some_and(|own: &Aggregates| own.rules > 0),
        )
        .fits(users),
        reaches(
            "rules-were-taken",
            "the controller found an aggregated role that had rules, and selects none",
            NEEDED,
            |_, note| note.body.get().is_some_and(|own: &Aggregates| own.rules == 0),
        )
        .fits(users),
    ]
}

fn aggregated_roles_have_what_they_select(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let all = ClusterView(world).all(CLUSTER_ROLES.registry);
        let mut checked = Check::Idle;
        for role in &all {
            let (name, role) = (role.name(), role.json());
            if aggregation_rule(role).is_none() {
                continue;
            }
            let others = all.iter().map(|role| role.json());
            let Some(selected) = aggregate(role, others, Left::default()) else {
                continue;
            };
            let own = rules(role);
            if !are_equal(&selected, own) {
                let (has, selects) = (own.len(), selected.len());
                let message = format!(
                    "the ClusterRole {name} has other rules than those that it selects: {has}, and {selects}"
                );
                return violated("ClusterRole", name, message);
            }
            checked = Check::Held;
        }
        checked
    };
    let name = "aggregated-roles-have-what-they-select";
    Stable::new(name, after, |_, _| Check::Idle, holds)
}

/// Any role may be selected by any other.
const ANY: &str = "any";

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let is_role = is_of(change, &CLUSTER_ROLES);
    is_role.then(|| ANY.into()).into_iter().collect()
}

const REST: Rest = Rest {
    property: "aggregation-is-quiet",
    controller: CONTROLLER,
    kind: "ClusterRole",
    acts: |role| format!("the rules of {role} are applied"),
    act: |note| {
        let Aggregates { role, .. } = note.body.get()?;
        Some(Act {
            on: role.clone(),
            name: role.clone(),
        })
    },
    concerns,
    follows: |_, _, changed| changed.contains(ANY),
};
