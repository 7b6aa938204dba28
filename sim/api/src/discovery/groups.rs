//! Which groups a server has, and in which order: the aggregator sorts them by the priorities of their APIServices
//! (`kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go`, and the table `apiVersionPriorities` of
//! `kubernetes/pkg/controlplane/apiserver/aggregator.go`).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use wavetank_version::Version;

use super::{ApiResource, api_resources, without_objects};
use crate::json::{self, Json};
use crate::kinds::{API_SERVICES, Kinds};
use crate::reviews;

/// A version of a group, with what it serves.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GroupVersion {
    /// `v1`
    pub version: String,
    /// `versionPriority` of its APIService.
    pub priority: u32,
    /// Its resources, by name.
    pub resources: Vec<ApiResource>,
}

/// A group.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Group {
    /// `apps`; empty for core.
    pub name: String,
    /// The largest `groupPriorityMinimum` of its APIServices.
    pub priority: u32,
    /// Its versions, the preferred one first.
    pub versions: Vec<GroupVersion>,
}

/// What upstream's table says of a local group version: `groupPriorityMinimum` and `versionPriority`.
const PRIORITIES: [(&str, &str, u32, u32); 22] = [
    ("", "v1", 18000, 1),
    ("apiregistration.k8s.io", "v1", 18000, 10),
    ("apps", "v1", 17800, 15),
    ("events.k8s.io", "v1", 17750, 15),
    ("authentication.k8s.io", "v1", 17700, 15),
    ("authorization.k8s.io", "v1", 17600, 15),
    ("autoscaling", "v2", 17500, 30),
    ("autoscaling", "v1", 17500, 15),
    ("batch", "v1", 17400, 15),
    ("certificates.k8s.io", "v1", 17300, 15),
    ("networking.k8s.io", "v1", 17200, 15),
    ("policy", "v1", 17100, 15),
    ("rbac.authorization.k8s.io", "v1", 17000, 15),
    ("storage.k8s.io", "v1", 16800, 15),
    ("admissionregistration.k8s.io", "v1", 16700, 15),
    ("apiextensions.k8s.io", "v1", 16700, 15),
    ("scheduling.k8s.io", "v1", 16600, 15),
    ("coordination.k8s.io", "v1", 16500, 15),
    ("node.k8s.io", "v1", 16300, 15),
    ("discovery.k8s.io", "v1", 16200, 15),
    ("resource.k8s.io", "v1", 16200, 21),
    ("flowcontrol.apiserver.k8s.io", "v1", 16100, 21),
];

/// The priorities `groupPriorityMinimum` and `versionPriority` of a group version: of those that a user has made all alike
/// (`crdRegistrationController`).
pub fn priority(group: &str, version: &str) -> (u32, u32) {
    let mut all = PRIORITIES.into_iter();
    let found = all.find(|(name, of, ..)| (*name, *of) == (group, version));
    found.map_or((1000, 100), |(_, _, group, version)| (group, version))
}

/// The groups of these kinds, and those that were added, as clients see them.
pub fn groups_of(kinds: &Kinds, added: &[Group], release: Version) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for resource in kinds.iter() {
        let of = version_of(&mut groups, resource.group, resource.version);
        of.resources.extend(api_resources(resource, release));
    }
    if let Some(core) = groups.iter_mut().find(|group| group.name.is_empty()) {
        core.versions[0].resources.extend(without_objects());
    }
    for review in &reviews::ALL {
        let of = version_of(&mut groups, review.group, "v1");
        of.resources.push(review.api_resource());
    }
    for version in groups.iter_mut().flat_map(|group| &mut group.versions) {
        version.resources.sort_by(|a, b| a.name.cmp(&b.name));
    }
    for group in added {
        for version in &group.versions {
            let of = version_of(&mut groups, &group.name, &version.version);
            of.resources.extend(version.resources.iter().cloned());
        }
    }
    sort_by_group_and_version(&mut groups);
    groups
}

/// The groups that APIServices tell of (`apisHandler`): that of APIServices themselves first.
pub fn groups_of_api_services<'a>(services: impl Iterator<Item = &'a Json>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut priorities: BTreeMap<String, u32> = BTreeMap::new();
    for service in services {
        let text = |field| json::text(service, &["spec", field]);
        let number = |field| {
            let number = json::number(service, &["spec", field]);
            u32::try_from(number.unwrap_or(0)).unwrap_or(0)
        };
        let of = version_of(&mut groups, text("group"), text("version"));
        of.priority = number("versionPriority");
        let largest = priorities.entry(text("group").to_owned()).or_default();
        *largest = (*largest).max(number("groupPriorityMinimum"));
    }
    for group in &mut groups {
        group.priority = priorities[&group.name];
    }
    sort_by_group_and_version(&mut groups);
    let mut own = Vec::new();
    version_of(&mut own, API_SERVICES.group, API_SERVICES.version);
    own.extend(groups);
    own
}

/// Upstream's `SortedByGroupAndVersion`
fn sort_by_group_and_version(groups: &mut [Group]) {
    for group in &mut *groups {
        let by = |version: &GroupVersion| {
            let kube_like = kube_like(&version.version).map(Reverse);
            (Reverse(version.priority), kube_like.is_none(), kube_like)
        };
        group.versions.sort_by_key(by);
    }
    let first = |group: &Group| format!("{}.{}", group.versions[0].version, group.name);
    groups.sort_by_key(|group| (Reverse(group.priority), first(group)));
}

fn version_of<'a>(groups: &'a mut Vec<Group>, name: &str, version: &str) -> &'a mut GroupVersion {
    let (of_group, of_version) = priority(name, version);
    let at = groups.iter().position(|group| group.name == name);
    let at = at.unwrap_or_else(|| {
        groups.push(Group {
            name: name.to_owned(),
            ..Group::default()
        });
        groups.len() - 1
    });
    let group = &mut groups[at];
    group.priority = group.priority.max(of_group);
    let versions = &mut group.versions;
    let at = versions.iter().position(|own| own.version == version);
    let at = at.unwrap_or_else(|| {
        versions.push(GroupVersion {
            version: version.to_owned(),
            priority: of_version,
            resources: Vec::new(),
        });
        versions.len() - 1
    });
    &mut versions[at]
}

/// Upstream's `parseKubeVersion`: how mature a version is, and its numbers; `None` if it is not called as Kubernetes calls them.
fn kube_like(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (major, rest) = rest.split_at(digits);
    let major = major.parse().ok()?;
    let (kind, minor) = match rest {
        "" => return Some((2, major, 0)),
        rest => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (1, minor),
            (_, Some(minor)) => (0, minor),
            _ => return None,
        },
    };
    Some((kind, major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(added: &[Group]) -> Vec<Group> {
        groups_of(&Kinds::default(), added, wavetank_releases::V1_36)
    }

    #[test]
    fn groups_come_by_their_priorities() {
        let all = groups(&[]);
        let names: Vec<&str> = all.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(
            &names[..4],
            ["", "apiregistration.k8s.io", "apps", "events.k8s.io"]
        );
        let autoscaling = all
            .iter()
            .find(|group| group.name == "autoscaling")
            .expect("one");
        let versions: Vec<&str> = autoscaling
            .versions
            .iter()
            .map(|v| v.version.as_str())
            .collect();
        assert_eq!(versions, ["v2", "v1"]);
    }

    #[test]
    fn a_group_that_is_added_comes_after_ours_with_its_best_version_first() {
        let version = |version: &str| GroupVersion {
            version: version.to_owned(),
            ..GroupVersion::default()
        };
        let names = ["other", "v1alpha1", "v1beta1", "v10", "v2beta3", "v1"];
        let added = Group {
            name: "stable.example".to_owned(),
            versions: names.map(version).to_vec(),
            ..Group::default()
        };
        let all = groups(&[added]);
        let last = all.last().expect("there are some");
        assert_eq!(
            (last.name.as_str(), last.priority),
            ("stable.example", 1000)
        );
        let sorted: Vec<&str> = last.versions.iter().map(|v| v.version.as_str()).collect();
        assert_eq!(
            sorted,
            ["v10", "v1", "v2beta3", "v1beta1", "v1alpha1", "other"]
        );
    }
}
