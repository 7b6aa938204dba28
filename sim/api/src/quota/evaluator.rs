//! Which resources are counted of objects of a kind (`apiserver/pkg/quota/v1/generic/evaluator.go`,
//! `kubernetes/pkg/quota/v1/evaluator/core/registry.go`).

use super::check::{Attributes, Operation, ResourceQuota};
use super::resources::ResourceList;
use super::scopes::{Selector, get_scope_selectors_from_quota};
use super::{claims, pods, services};
use crate::Stamp;
use crate::json::Json;
use crate::kinds::{
    CONFIG_MAPS, EVENTS, NEW_EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS, REPLICATION_CONTROLLERS,
    RESOURCE_QUOTAS, Resource, SECRETS, SERVICES,
};

/// How objects of one resource are measured (upstream's `Evaluator`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evaluator {
    resource: &'static Resource,
    by: Measure,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measure {
    Pods,
    Services,
    Claims,
    /// `objectCountEvaluator`, with another name that the number has had before.
    Count(Option<&'static str>),
}

/// `legacyObjectCountAliases`
const ALIASES: [(&Resource, &str); 4] = [
    (&CONFIG_MAPS, "configmaps"),
    (&RESOURCE_QUOTAS, "resourcequotas"),
    (&REPLICATION_CONTROLLERS, "replicationcontrollers"),
    (&SECRETS, "secrets"),
];

/// `DefaultIgnoredResources`, as far as they are stored.
const IGNORED: [&Resource; 2] = [&EVENTS, &NEW_EVENTS];

/// `ObjectCountQuotaResourceNameFor`
pub(super) fn object_count_quota_resource_name_for(resource: &Resource) -> String {
    match resource.group {
        "" => format!("count/{}", resource.plural),
        group => format!("count/{}.{group}", resource.plural),
    }
}

impl Evaluator {
    /// That of a resource: the registry's, or one that counts objects. None of what quotas ignore.
    pub fn of(resource: &'static Resource) -> Option<Evaluator> {
        if IGNORED.contains(&resource) {
            return None;
        }
        let by = match resource {
            own if *own == PODS => Measure::Pods,
            own if *own == SERVICES => Measure::Services,
            own if *own == PERSISTENT_VOLUME_CLAIMS => Measure::Claims,
            own => {
                let alias = ALIASES.iter().find(|(of, _)| *of == own);
                Measure::Count(alias.map(|(_, alias)| *alias))
            }
        };
        Some(Evaluator { resource, by })
    }

    /// What it measures (`GroupResource`).
    pub fn resource(&self) -> &'static Resource {
        self.resource
    }

    /// `Handles`: could this request change what is used?
    pub fn handles(&self, request: &Attributes) -> bool {
        match self.by {
            Measure::Pods => pods::handles(request),
            Measure::Services => request.subresource.is_empty(),
            Measure::Claims => claims::handles(request),
            Measure::Count(_) => {
                request.subresource.is_empty() && request.operation == Operation::Create
            }
        }
    }

    /// `MatchingResources`: those of these names that it measures.
    pub fn matching_resources<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        let mut own = names.to_vec();
        own.retain(|name| self.measures(name));
        own
    }

    fn measures(&self, name: &str) -> bool {
        if name == object_count_quota_resource_name_for(self.resource) {
            return true;
        }
        match self.by {
            Measure::Pods => pods::measures(name),
            Measure::Services => services::RESOURCES.contains(&name),
            Measure::Claims => claims::measures(name),
            Measure::Count(alias) => alias == Some(name),
        }
    }

    /// `Matches`: does the quota bind this object?
    pub fn matches(&self, quota: &ResourceQuota, object: &Json) -> bool {
        let hard = quota.hard.names();
        let mut scopes = get_scope_selectors_from_quota(quota.object.json()).into_iter();
        !self.matching_resources(&hard).is_empty() && scopes.all(|own| self.is_in(&own, object))
    }

    /// Upstream's `MatchesScopeFunc`
    fn is_in(&self, scope: &Selector<'_>, object: &Json) -> bool {
        match self.by {
            Measure::Pods => pods::pod_matches_scope_func(scope, object),
            Measure::Claims => claims::pvc_matches_scope_func(scope, object),
            Measure::Services | Measure::Count(_) => false,
        }
    }

    /// `Constraints`
    ///
    /// # Errors
    /// What the object has to say for these resources.
    pub(super) fn constraints(&self, required: &[&str], object: &Json) -> Result<(), String> {
        match self.by {
            Measure::Pods => pods::constraints(required, object),
            _ => Ok(()),
        }
    }

    /// `Usage`: what an object uses.
    pub fn usage(&self, object: &Json, now: Stamp) -> ResourceList {
        let count = object_count_quota_resource_name_for(self.resource);
        let counted = ResourceList::count(&[&*count], 1);
        match self.by {
            Measure::Pods => counted.add(&pods::pod_usage_func(object, now)),
            Measure::Services => counted.add(&services::usage(object)),
            Measure::Claims => counted.add(&claims::usage(object)),
            Measure::Count(alias) => counted.add(&ResourceList::count(alias.as_slice(), 1)),
        }
    }

    /// Must a quota be counted again because an object has changed so (`DefaultUpdateFilter`)?
    pub fn update_filter(&self, old: &Json, new: &Json, now: Stamp) -> bool {
        match self.by {
            Measure::Pods => pods::frees(old, new, now),
            Measure::Services => {
                services::get_quota_service_type(old) != services::get_quota_service_type(new)
            }
            Measure::Claims => claims::requires_quota_replenish(new, old),
            Measure::Count(_) => false,
        }
    }

    /// `CalculateUsageStats`: what these objects use of these resources of the quota.
    fn calculate_usage_stats<'a>(
        &self,
        quota: &Json,
        names: &[&str],
        objects: impl Iterator<Item = &'a Json>,
        now: Stamp,
    ) -> ResourceList {
        let scopes = get_scope_selectors_from_quota(quota);
        let bound = objects.filter(|object| scopes.iter().all(|own| self.is_in(own, object)));
        bound.fold(ResourceList::count(names, 0), |used, object| {
            used.add(&self.usage(object, now))
        })
    }
}

/// `CalculateUsage`: what is used of the resources that a quota limits and that are measured. Each evaluator is given
/// with the objects of the quota's namespace that it measures; without, where they cannot be listed: then its resources
/// are left out.
pub fn calculate_usage(
    quota: &Json,
    all: &[(Evaluator, Option<Vec<&Json>>)],
    now: Stamp,
) -> ResourceList {
    let hard = ResourceList::of(quota, &["spec", "hard"]);
    let mut matched: Vec<&str> = hard.names();
    matched.retain(|name| all.iter().any(|(evaluator, _)| evaluator.measures(name)));
    let mut used = ResourceList::default();
    for (evaluator, objects) in all {
        let own = evaluator.matching_resources(&matched);
        if own.is_empty() {
            continue;
        }
        match objects {
            None => matched.retain(|name| !own.contains(name)),
            Some(objects) => {
                let objects = objects.iter().copied();
                used = used.add(&evaluator.calculate_usage_stats(quota, &own, objects, now));
            }
        }
    }
    used.mask(&matched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::DEPLOYMENTS;
    use serde_json::json;

    #[test]
    fn objects_are_counted_under_all_their_names() {
        let now = Stamp::parse("2026-01-01T00:00:00Z").expect("an instant");
        let usage = |resource| {
            let evaluator = Evaluator::of(resource).expect("it is counted");
            evaluator.usage(&json!({}), now).to_json()
        };
        assert_eq!(usage(&DEPLOYMENTS), json!({"count/deployments.apps": "1"}));
        assert_eq!(
            usage(&CONFIG_MAPS),
            json!({"configmaps": "1", "count/configmaps": "1"})
        );
        assert_eq!(Evaluator::of(&EVENTS), None);
    }

    #[test]
    fn what_cannot_be_listed_is_left_out() {
        let now = Stamp::parse("2026-01-01T00:00:00Z").expect("an instant");
        let quota = json!({"spec": {"hard": {"pods": "2", "configmaps": "3", "gold": "1"}}});
        let of = |resource| Evaluator::of(resource).expect("it is counted");
        let map = json!({});
        let pod = json!({"spec": {"containers": []}});
        let used = calculate_usage(
            &quota,
            &[(of(&PODS), Some(vec![&pod])), (of(&CONFIG_MAPS), None)],
            now,
        );
        assert_eq!(used.to_json(), json!({"pods": "1"}));
        let used = calculate_usage(
            &quota,
            &[
                (of(&PODS), Some(Vec::new())),
                (of(&CONFIG_MAPS), Some(vec![&map, &map])),
            ],
            now,
        );
        assert_eq!(used.to_json(), json!({"configmaps": "2", "pods": "0"}));
    }
}
