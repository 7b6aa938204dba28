//! Admission plugins of pods and nodes that look at other objects (`kubernetes/plugin/pkg/admission`): `ServiceAccount`,
//! `Priority` with its classes, `PodTopologyLabels` of pods that are made with a node, and `TaintNodesByCondition`. Upstream asks
//! informers; here storage is asked.

use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::strategy::Part;
use wavetank_api::{Reason, Resource, Status, gates, kinds};
use wavetank_engine::Rx;

use crate::options::{ListOptions, StoreError};
use crate::registry::generate_name;
use crate::server::Config;

/// `MirrorPodAnnotationKey`: such a one stays as its kubelet has made it.
const MIRROR: [&str; 3] = ["metadata", "annotations", "kubernetes.io/config.mirror"];
const SERVICE_ACCOUNT: [&str; 2] = ["spec", "serviceAccountName"];
/// `DefaultAPITokenMountPath`
const TOKENS: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const TOKEN_VOLUME: &str = "kube-api-access-";
/// The default account is made by a controller, so it is looked up more often.
const LOOKS: u32 = 10;

/// What an object that is about to be made gets, or why it may not be made.
///
/// # Errors
/// 403.
pub(super) async fn admit(
    rx: Rx,
    config: &Config,
    resource: &Resource,
    part: Part,
    namespace: &str,
    object: &mut Json,
) -> Result<(), Status> {
    if part != Part::Whole {
        return Ok(());
    }
    let admission = config.admission;
    if admission.service_accounts && *resource == kinds::PODS {
        service_account(rx, config, namespace, object).await?;
    }
    if admission.defaults && *resource == kinds::NODES {
        taint_node(object);
    }
    if admission.defaults && *resource == kinds::PODS {
        priority(rx, config, object).await?;
        if config.release.has(gates::BOUND_PODS_ARE_NOT_NOMINATED) {
            topology_labels(rx, config, object).await?;
        }
    }
    Ok(())
}

fn forbidden(pod: &Json, why: &str) -> Status {
    Status::new_forbidden(&kinds::PODS, json::text(pod, &["metadata", "name"]), why)
}

/// Upstream's `serviceaccount.Plugin.Admit`
async fn service_account(
    rx: Rx,
    config: &Config,
    namespace: &str,
    pod: &mut Json,
) -> Result<(), Status> {
    if json::at(pod, &MIRROR).is_some() {
        return match json::text(pod, &SERVICE_ACCOUNT) {
            "" => Ok(()),
            _ => Err(forbidden(
                pod,
                "a mirror pod may not reference service accounts",
            )),
        };
    }
    if json::text(pod, &SERVICE_ACCOUNT).is_empty() {
        json::set(pod, &SERVICE_ACCOUNT, "default");
    }
    let name = json::text(pod, &SERVICE_ACCOUNT).to_owned();
    // The deprecated name stands beside it when the object is written.
    json::set(pod, &["spec", "serviceAccount"], name.as_str());
    let account = get_service_account(rx, config, namespace, &name).await;
    let account = account.map_err(|why| {
        let why = format!("error looking up service account {namespace}/{name}: {why}");
        forbidden(pod, &why)
    })?;
    let automount = |of: &Json, path: &[&str]| json::at(of, path).and_then(Json::as_bool);
    let own = automount(pod, &["spec", "automountServiceAccountToken"]);
    let mounts = own.or(automount(&account, &["automountServiceAccountToken"]));
    if mounts.unwrap_or(true) {
        mount_service_account_token(rx, pod).await;
    }
    let secrets = json::list(&account, &["imagePullSecrets"]);
    if json::list(pod, &["spec", "imagePullSecrets"]).is_empty() && !secrets.is_empty() {
        json::set(pod, &["spec", "imagePullSecrets"], secrets.to_vec());
    }
    Ok(())
}

/// `getServiceAccount`
async fn get_service_account(
    rx: Rx,
    config: &Config,
    namespace: &str,
    name: &str,
) -> Result<Json, String> {
    let key = kinds::SERVICE_ACCOUNTS.key(namespace, name);
    let storage = config.storage_of(&kinds::SERVICE_ACCOUNTS);
    let looks = if name == "default" { LOOKS } else { 1 };
    let between = Duration::from_millis(100 + rx.choose(100).await);
    for look in 0..looks {
        if look > 0 {
            rx.sleep(between).await;
        }
        match storage.get(rx, key.clone(), 0).await {
            Ok(found) => return Ok(found.object.json().clone()),
            Err(StoreError::NotFound) => {}
            Err(error) => return Err(format!("{error:?}")),
        }
    }
    Err(format!(
        "serviceaccount {} not found",
        wavetank_api::quote::quote(name)
    ))
}

/// `mountServiceAccountToken`: each container that has nothing there gets the token.
async fn mount_service_account_token(rx: Rx, pod: &mut Json) {
    let volumes = json::list(pod, &["spec", "volumes"]).to_vec();
    let mut names = volumes.iter().map(|volume| json::text(volume, &["name"]));
    let existing = names.find(|name| name.starts_with(TOKEN_VOLUME));
    let name = match existing {
        Some(name) => name.to_owned(),
        None => generate_name(rx, TOKEN_VOLUME).await,
    };
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        let mut containers = json::list(pod, &["spec", list]).to_vec();
        for container in &mut containers {
            let mut mounts = json::list(container, &["volumeMounts"]).to_vec();
            if mounts
                .iter()
                .any(|own| json::text(own, &["mountPath"]) == TOKENS)
            {
                continue;
            }
            mounts.push(json!({"name": name, "readOnly": true, "mountPath": TOKENS}));
            json::set(container, &["volumeMounts"], mounts);
            needed = true;
        }
        if !containers.is_empty() {
            json::set(pod, &["spec", list], containers);
        }
    }
    if needed && existing.is_none() {
        let mut volumes = volumes.clone();
        volumes.push(json!({"name": name, "projected": token_volume_source()}));
        json::set(pod, &["spec", "volumes"], volumes);
    }
}

/// `TokenVolumeSource`
fn token_volume_source() -> Json {
    let namespace = json!({"apiVersion": "v1", "fieldPath": "metadata.namespace"});
    json!({
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
        ],
    })
}

/// Upstream's `nodetaint.Plugin.Admit`: a node is not ready until somebody says that it is.
fn taint_node(node: &mut Json) {
    let mut taints = json::list(node, &["spec", "taints"]).to_vec();
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let same =
        |own: &Json| own.get("key") == taint.get("key") && own.get("effect") == taint.get("effect");
    if !taints.iter().any(same) {
        taints.push(taint);
        json::set(node, &["spec", "taints"], taints);
    }
}

/// Upstream's `podtopologylabels.Plugin.admitPod`: a pod is labelled with where its node is, if that is there.
async fn topology_labels(rx: Rx, config: &Config, pod: &mut Json) -> Result<(), Status> {
    const COPIED: [&str; 2] = [
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    ];
    let node = json::text(pod, &["spec", "nodeName"]).to_owned();
    if node.is_empty() {
        return Ok(());
    }
    let storage = config.storage_of(&kinds::NODES);
    let found = match storage.get(rx, kinds::NODES.key("", &node), 0).await {
        Ok(found) => found,
        Err(StoreError::NotFound) => return Ok(()),
        Err(error) => return Err(Status::new_internal_error(format!("{error:?}"))),
    };
    for key in COPIED {
        let label = json::at(found.object.json(), &["metadata", "labels", key]);
        if let Some(label) = label {
            json::set(pod, &["metadata", "labels", key], label.clone());
        }
    }
    Ok(())
}

/// Upstream's `priority.Plugin.admitPod`
async fn priority(rx: Rx, config: &Config, pod: &mut Json) -> Result<(), Status> {
    let class = establish_priority(rx, config, pod).await?;
    let value = class
        .as_ref()
        .and_then(|class| json::number(class, &["value"]))
        .unwrap_or(0);
    let own = json::number(pod, &["spec", "priority"]);
    if let Some(own) = own.filter(|own| *own != value) {
        let why = format!(
            "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        );
        return Err(forbidden(pod, &why));
    }
    json::set(pod, &["spec", "priority"], value);
    let Some(class) = class else { return Ok(()) };
    json::set(
        pod,
        &["spec", "priorityClassName"],
        json::text(&class, &["metadata", "name"]),
    );
    let policy = json::text(&class, &["preemptionPolicy"]);
    let own = json::text(pod, &["spec", "preemptionPolicy"]);
    if !own.is_empty() && !policy.is_empty() && own != policy {
        let why = format!(
            "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        );
        return Err(forbidden(pod, &why));
    }
    if !policy.is_empty() {
        json::set(pod, &["spec", "preemptionPolicy"], policy);
    }
    Ok(())
}

/// `establishPriority`: the class of a pod, or the one that all have who name none.
async fn establish_priority(rx: Rx, config: &Config, pod: &Json) -> Result<Option<Json>, Status> {
    let name = json::text(pod, &["spec", "priorityClassName"]);
    let storage = config.storage_of(&kinds::PRIORITY_CLASSES);
    if name.is_empty() {
        let under = kinds::PRIORITY_CLASSES.key("", "");
        let options = ListOptions::default();
        let listed = storage
            .get_list(rx, under, &options, &kinds::PRIORITY_CLASSES)
            .await;
        let listed = listed.map_err(|error| Status::new_internal_error(format!("{error:?}")))?;
        let classes = listed.items.iter().map(|item| item.object.json());
        let default = classes.filter(|class| class.get("globalDefault") == Some(&Json::Bool(true)));
        let least = default.min_by_key(|class| json::number(class, &["value"]));
        return Ok(least.cloned());
    }
    match storage
        .get(rx, kinds::PRIORITY_CLASSES.key("", name), 0)
        .await
    {
        Ok(found) => Ok(Some(found.object.json().clone())),
        Err(StoreError::NotFound) => {
            let why = format!("no PriorityClass with name {name} was found");
            Err(forbidden(pod, &why))
        }
        Err(error) => Err(Status::of(Reason::InternalError, format!("{error:?}"))),
    }
}
