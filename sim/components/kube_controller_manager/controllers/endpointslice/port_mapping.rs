//! How the endpoints that have the same ports are put into slices (`reconcileByPortMapping` of
//! `k8s.io/endpointslice/reconciler.go`, v1.36.2). Where upstream goes through a Go map, names and endpoints are in order here.

use std::collections::{BTreeMap, BTreeSet};

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stored};

use super::slices::{new_endpoint_slice, set_endpoint_slice_labels};
use crate::endpoint_utils::{
    EndpointSet, endpoints, endpoints_equal_beyond_hash, hash_endpoint, some,
};

/// What is to be made, updated and deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub create: Vec<Json>,
    pub update: Vec<Json>,
    pub delete: Vec<Stored>,
}

/// What slices are to be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceMeta<'a> {
    pub service: &'a Object,
    pub address_type: &'a str,
    pub ports: &'a [Json],
    /// `maxEndpointsPerSlice`
    pub max_endpoints: usize,
}

/// The slices of one set of ports, while they are reconciled.
#[derive(Debug, Default)]
struct Slices {
    by_name: BTreeMap<String, Json>,
    unchanged: BTreeSet<String>,
    to_update: BTreeSet<String>,
    to_delete: BTreeSet<String>,
}

fn count(slice: &Json) -> usize {
    endpoints(slice).len()
}

/// Adds endpoints until the slice is full.
fn fill(slice: &mut Json, desired: &mut EndpointSet, max: usize) {
    let mut all = endpoints(slice).to_vec();
    while all.len() < max {
        let Some((_, endpoint)) = desired.pop_first() else {
            break;
        };
        all.push(endpoint);
    }
    slice["endpoints"] = some(all);
}

/// Endpoints that are no longer desired go, and those that are have changed are as they should be.
fn keep_desired(existing: &[Stored], desired: &mut EndpointSet, service: &Json) -> Slices {
    let mut slices = Slices::default();
    for stored in existing {
        let name = stored.object.name().to_owned();
        let mut slice = stored.json();
        let before = count(&slice);
        let mut kept = Vec::new();
        let mut updated = false;
        for endpoint in endpoints(&slice) {
            if let Some(wanted) = desired.remove(&hash_endpoint(endpoint)) {
                updated |= !endpoints_equal_beyond_hash(&wanted, endpoint);
                kept.push(wanted);
            }
        }
        let (labels, labels_changed) = set_endpoint_slice_labels(&slice, service);
        let changed = updated || before != kept.len();
        if changed && kept.is_empty() {
            slices.to_delete.insert(name.clone());
        } else if changed {
            slice["endpoints"] = some(kept);
            slice["metadata"]["labels"] = labels.into();
            slices.to_update.insert(name.clone());
        } else if labels_changed {
            slice["metadata"]["labels"] = labels.into();
            slices.to_update.insert(name.clone());
        } else {
            slices.unchanged.insert(name.clone());
        }
        slices.by_name.insert(name, slice);
    }
    slices
}

/// `getSliceToFill`: the one that is closest to full with so many endpoints more.
fn get_slice_to_fill(slices: &Slices, endpoints: usize, max: usize) -> Option<String> {
    let left = |name: &String| max.checked_sub(endpoints + count(&slices.by_name[name]));
    let fitting = slices.unchanged.iter();
    let fitting = fitting.filter_map(|name| Some((left(name)?, name)));
    let closest = fitting.filter(|(left, _)| *left < max).min();
    closest.map(|(_, name)| name.clone())
}

/// `reconcileByPortMapping`
pub(super) fn reconcile_by_port_mapping(
    existing: &[Stored],
    mut desired: EndpointSet,
    of: SliceMeta<'_>,
) -> Plan {
    let max = of.max_endpoints;
    let mut slices = keep_desired(existing, &mut desired, of.service.json());
    // The fullest ones are filled up first.
    let mut names: Vec<String> = slices.to_update.iter().cloned().collect();
    names.sort_by_key(|name| std::cmp::Reverse(count(&slices.by_name[name])));
    for name in names {
        if let Some(slice) = slices
            .by_name
            .get_mut(&name)
            .filter(|_| !desired.is_empty())
        {
            fill(slice, &mut desired, max);
        }
    }
    let mut create = Vec::new();
    while !desired.is_empty() {
        let found = match desired.len() < max {
            true => get_slice_to_fill(&slices, desired.len(), max),
            false => None,
        };
        match found.and_then(|name| Some((slices.by_name.get_mut(&name)?, name))) {
            Some((slice, name)) => {
                fill(slice, &mut desired, max);
                slices.unchanged.remove(&name);
                slices.to_update.insert(name);
            }
            None => {
                let mut slice = new_endpoint_slice(of.service, of.ports, of.address_type);
                fill(&mut slice, &mut desired, max);
                create.push(slice);
            }
        }
    }
    let named = |slice: &Json| json::text(slice, &["metadata", "name"]).to_owned();
    let is_to_go = |slice: &&Stored| slices.to_delete.contains(slice.object.name());
    let delete = existing.iter().filter(is_to_go).cloned().collect();
    let all = slices.by_name.into_values();
    let update = all.filter(|slice| slices.to_update.contains(&named(slice)));
    Plan {
        create,
        update: update.collect(),
        delete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn endpoint(name: &str) -> Json {
        json!({
            "addresses": [format!("10.0.0.{name}")],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "targetRef": {"kind": "Pod", "namespace": "ns", "name": name, "uid": name},
        })
    }

    fn service() -> Object {
        Object::new(json!({
            "metadata": {"namespace": "ns", "name": "web", "uid": "s"},
            "spec": {"clusterIP": "10.96.0.1"},
        }))
    }

    /// A slice as the controller made it.
    fn slice(name: &str, of: &[&str]) -> Stored {
        let mut json = new_endpoint_slice(&service(), &[], "IPv4");
        json["metadata"]["name"] = name.into();
        json["endpoints"] = of.iter().map(|name| endpoint(name)).collect();
        Stored {
            object: Object::new(json),
            resource_version: 1,
        }
    }

    /// The names of the slices that are updated, with those of their endpoints; of the new ones; and of those that go.
    type Told = (Vec<(String, Vec<String>)>, Vec<Vec<String>>, Vec<String>);

    fn reconciled(existing: &[Stored], desired: &[&str], max: usize) -> Told {
        let all = desired.iter().map(|name| endpoint(name));
        let desired = all.map(|own| (hash_endpoint(&own), own)).collect();
        let service = service();
        let plan = reconcile_by_port_mapping(
            existing,
            desired,
            SliceMeta {
                service: &service,
                address_type: "IPv4",
                ports: &[],
                max_endpoints: max,
            },
        );
        let names = |slice: &Json| -> Vec<String> {
            let all = endpoints(slice).iter();
            all.map(|own| json::text(own, &["targetRef", "name"]).to_owned())
                .collect()
        };
        let name = |slice: &Json| json::text(slice, &["metadata", "name"]).to_owned();
        let updated = plan.update.iter().map(|own| (name(own), names(own)));
        let gone = plan.delete.iter().map(|own| own.object.name().to_owned());
        (
            updated.collect(),
            plan.create.iter().map(names).collect(),
            gone.collect(),
        )
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_slice_has_no_more_endpoints_than_it_may() {
        let (updated, created, gone) = reconciled(&[], &["1", "2", "3"], 2);
        assert_eq!((updated, gone), (vec![], vec![]));
        assert_eq!(created, [texts(&["1", "2"]), texts(&["3"])]);
    }

    #[test]
    fn slices_that_change_are_filled_first_and_then_the_one_that_is_closest_to_full() {
        let all = [
            slice("a", &["1", "2"]),
            slice("b", &["3"]),
            slice("c", &["4", "5"]),
        ];
        // `a` loses one and takes the new one.
        let (updated, created, gone) = reconciled(&all, &["1", "3", "4", "5", "6"], 3);
        assert_eq!(updated, [("a".to_owned(), texts(&["1", "6"]))]);
        assert_eq!((created, gone), (vec![], vec![]));
        // Nothing else changes: `a` and `c` are closer to full than `b`.
        let (updated, _, _) = reconciled(&all, &["1", "2", "3", "4", "5", "6"], 3);
        assert_eq!(updated, [("a".to_owned(), texts(&["1", "2", "6"]))]);
    }

    #[test]
    fn what_stands_in_two_slices_stays_in_one() {
        let all = [slice("a", &["1"]), slice("b", &["1"])];
        let (updated, created, gone) = reconciled(&all, &["1"], 3);
        assert_eq!((updated, created), (vec![], vec![]));
        assert_eq!(gone, ["b"]);
    }

    #[test]
    fn nothing_is_written_that_is_as_it_should_be() {
        let all = [slice("a", &["1", "2"])];
        assert_eq!(reconciled(&all, &["1", "2"], 3), (vec![], vec![], vec![]));
    }
}
