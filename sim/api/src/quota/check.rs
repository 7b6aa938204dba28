//! What a request may still use (`CheckRequest`, `apiserver/pkg/admission/plugin/resourcequota/controller.go`). That
//! resources can be limited without a quota (`LimitedResources` of the plugin's configuration) is left out: no cluster has
//! that by default.

use std::sync::Arc;

use super::evaluator::Evaluator;
use super::resources::ResourceList;
use crate::json;
use crate::kinds::Resource;
use crate::{Object, Stamp, Status, Stored};

/// What a request does to an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "they are upstream's")]
pub enum Operation {
    Create,
    Update,
}

/// A request that is weighed (`admission.Attributes`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attributes {
    /// The resource, and the namespace in which it lies.
    pub resource: &'static Resource,
    /// See the resource.
    pub namespace: Arc<str>,
    /// The name of the object.
    pub name: Arc<str>,
    /// The part of it that is written; empty for all.
    pub subresource: &'static str,
    /// What is done.
    pub operation: Operation,
    /// The object as it is to be stored.
    pub object: Object,
    /// The object that is stored, of an update.
    pub old: Option<Object>,
    /// Is nothing to be stored?
    pub dry_run: bool,
}

/// A quota, with what its status says: so far as is decided, and not yet written.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceQuota {
    /// The object as it is stored, with its revision.
    pub object: Object,
    /// Its revision.
    pub revision: u64,
    /// `status.hard`
    pub hard: ResourceList,
    /// `status.used`
    pub used: ResourceList,
}

impl ResourceQuota {
    /// One that is stored.
    pub fn of(stored: &Stored) -> ResourceQuota {
        let json = stored.object.json();
        ResourceQuota {
            hard: ResourceList::of(json, &["status", "hard"]),
            used: ResourceList::of(json, &["status", "used"]),
            object: stored.object.clone(),
            revision: stored.resource_version,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.object.name()
    }

    /// The object to write.
    pub fn to_json(&self) -> crate::Json {
        let mut object = self.object.json().clone();
        let revision = self.revision.to_string();
        json::set(&mut object, &["metadata", "resourceVersion"], revision);
        json::set(&mut object, &["status", "used"], self.used.to_json());
        object
    }

    /// `hasUsageStats`
    fn has_usage_stats(&self, interesting: &[&str]) -> bool {
        let mut names = self.hard.names().into_iter();
        names.all(|name| !interesting.contains(&name) || self.used.has(name))
    }
}

fn forbidden(request: &Attributes, why: &str) -> Status {
    Status::new_forbidden(request.resource, &request.name, why)
}

/// `CheckRequest`: the quotas as they are if the request is admitted.
///
/// # Errors
/// 403: it asks for more than one of them allows, or it cannot be said what it asks for.
pub fn check_request(
    quotas: &[ResourceQuota],
    request: &Attributes,
    now: Stamp,
) -> Result<Vec<ResourceQuota>, Status> {
    let unchanged = || Ok(quotas.to_vec());
    let evaluator = Evaluator::of(request.resource);
    let Some(evaluator) = evaluator.filter(|own| own.handles(request)) else {
        return unchanged();
    };
    let object = request.object.json();
    let mut interesting = Vec::new();
    for (index, quota) in quotas.iter().enumerate() {
        if !evaluator.matches(quota, object) {
            continue;
        }
        let restricted = evaluator.matching_resources(&quota.hard.names());
        let name = quota.name();
        evaluator
            .constraints(&restricted, object)
            .map_err(|why| forbidden(request, &format!("failed quota: {name}: {why}")))?;
        if !quota.has_usage_stats(&restricted) {
            let resources = restricted.join(",");
            let why = format!("status unknown for quota: {name}, resources: {resources}");
            return Err(forbidden(request, &why));
        }
        interesting.push(index);
    }
    let usage = evaluator.usage(object, now);
    let negative = usage.is_negative();
    if !negative.is_empty() {
        let why = format!(
            "quota usage is negative for resource(s): {}",
            negative.join(",")
        );
        return Err(forbidden(request, &why));
    }
    let mut checked = quotas.to_vec();
    for index in interesting {
        // What was bound before is charged for what is more.
        let old = request.old.as_ref().map(Object::json);
        let old = old.filter(|old| evaluator.matches(&quotas[index], old));
        let delta = match old {
            Some(old) => usage
                .clone()
                .subtract_with_non_negative_result(&evaluator.usage(old, now)),
            None => usage.clone(),
        };
        let delta = delta.remove_zeros();
        if !delta.is_empty() {
            charge(&mut checked[index], &delta, request)?;
        }
    }
    Ok(checked)
}

/// Adds to what is used, if the quota allows it.
fn charge(
    quota: &mut ResourceQuota,
    delta: &ResourceList,
    request: &Attributes,
) -> Result<(), Status> {
    let requested = delta.clone().mask(&quota.hard.names());
    let used = quota.used.clone().add(&requested);
    let masked = used.clone().mask(&requested.names());
    let exceeded = match request.subresource {
        "status" => Vec::new(),
        _ => masked.exceeding(&quota.hard),
    };
    if !exceeded.is_empty() {
        let show = |list: &ResourceList| list.clone().mask(&exceeded).pretty_print();
        let why = format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            quota.name(),
            show(&requested),
            show(&quota.used),
            show(&quota.hard),
        );
        return Err(forbidden(request, &why));
    }
    quota.used = used;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;
    use crate::kinds::{CONFIG_MAPS, PODS, SERVICES};
    use serde_json::json;

    fn now() -> Stamp {
        Stamp::parse("2026-01-01T00:00:00Z").expect("an instant")
    }

    fn quota(hard: Json, used: Json) -> ResourceQuota {
        let metadata = json!({"name": "q", "namespace": "ns"});
        let status = json!({"hard": hard, "used": used});
        ResourceQuota::of(&Stored {
            object: Object::new(json!({"metadata": metadata, "spec": {}, "status": status})),
            resource_version: 7,
        })
    }

    fn request(resource: &'static Resource, object: Json, old: Option<Json>) -> Attributes {
        Attributes {
            resource,
            namespace: "ns".into(),
            name: "x".into(),
            subresource: "",
            operation: match old {
                None => Operation::Create,
                Some(_) => Operation::Update,
            },
            object: Object::new(object),
            old: old.map(Object::new),
            dry_run: false,
        }
    }

    fn refused(quota: &ResourceQuota, request: &Attributes) -> String {
        let checked = check_request(std::slice::from_ref(quota), request, now());
        checked.expect_err("too much").message
    }

    #[test]
    fn what_is_left_can_be_used_and_no_more() {
        let request = request(&CONFIG_MAPS, json!({}), None);
        let hard = json!({"count/configmaps": "2"});
        let left = quota(hard.clone(), json!({"count/configmaps": "1"}));
        let checked = check_request(&[left], &request, now()).expect("one is left");
        let written = checked[0].to_json();
        assert_eq!(written["status"]["used"], json!({"count/configmaps": "2"}));
        assert_eq!(written["metadata"]["resourceVersion"], "7");
        assert_eq!(
            refused(&checked[0], &request),
            "configmaps \"x\" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: \
             count/configmaps=2, limited: count/configmaps=2"
        );
        assert_eq!(
            refused(&quota(hard, json!({})), &request),
            "configmaps \"x\" is forbidden: status unknown for quota: q, resources: count/configmaps"
        );
    }

    #[test]
    fn an_update_pays_for_what_is_more() {
        let service = |kind: &str| json!({"spec": {"type": kind, "ports": [{"port": 1}]}});
        let hard = json!({"services": "1", "services.nodeports": "1"});
        let of = |ports: &str| {
            quota(
                hard.clone(),
                json!({"services": "1", "services.nodeports": ports}),
            )
        };
        let to_node_port = request(&SERVICES, service("NodePort"), Some(service("ClusterIP")));
        let checked = check_request(&[of("0")], &to_node_port, now()).expect("a port is left");
        assert_eq!(
            checked[0].used.pretty_print(),
            "services=1,services.nodeports=1"
        );
        assert!(refused(&of("1"), &to_node_port).contains("requested: services.nodeports=1"));
        let back = request(&SERVICES, service("ClusterIP"), Some(service("NodePort")));
        let checked = check_request(&[of("1")], &back, now()).expect("it is less");
        assert_eq!(
            checked,
            [of("1")],
            "who takes less is not charged, nor paid back"
        );
    }

    #[test]
    fn a_quota_binds_what_its_scopes_select() {
        let mut bound = quota(json!({"pods": "0"}), json!({"pods": "0"}));
        let mut object = bound.object.json().clone();
        object["spec"]["scopes"] = json!(["BestEffort"]);
        bound.object = Object::new(object);
        let pod = |resources: Json| {
            request(
                &PODS,
                json!({"spec": {"containers": [{"resources": resources}]}}),
                None,
            )
        };
        assert!(refused(&bound, &pod(json!({}))).contains("exceeded quota"));
        let other = pod(json!({"requests": {"cpu": "1"}}));
        assert_eq!(
            check_request(std::slice::from_ref(&bound), &other, now()),
            Ok(vec![bound])
        );
    }
}
