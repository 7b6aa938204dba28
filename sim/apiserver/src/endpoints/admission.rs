//! Admission: what stands between a request that is read and the registry. The plugins that are on
//! by default and that objects alone do not decide.

use wavetank_api::kinds::{self, pods};
use wavetank_api::strategy::Part;
use wavetank_api::{Json, Resource, Status};
use wavetank_engine::Rx;
use wavetank_version::Defect;

use super::namespace_lifecycle::{self, NAMESPACE_LISTER, look_up};
use crate::ServerDefect;
use crate::gates;
use crate::server::Config;

/// What is about to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they are upstream's")]
pub enum Operation {
    Create,
    Update,
    Delete,
}

pub(crate) const POLICY_TRUSTS_ITS_INFORMER: Defect = Defect::known(
    "policy-trusts-its-informer",
    "k/k#135352, PR #135359 (1.35)",
    "a ValidatingAdmissionPolicy refuses an object whose namespace the server's informer does not show yet",
)
.until(gates::POLICIES_LOOK_UP_NAMESPACES)
.fits_only(gates::ADMISSION_POLICIES)
.needs("enable-admission-plugins", &["ValidatingAdmissionPolicy"]);

/// The chain of plugins that look at namespaces, on a server that has them on: first `NamespaceLifecycle`, then webhooks,
/// of which there are none, then policies.
///
/// # Errors
/// 403 or 404.
pub async fn admission(
    rx: Rx,
    config: &Config,
    operation: Operation,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<(), Status> {
    if !config.namespace_lifecycle {
        return Ok(());
    }
    namespace_lifecycle::admit(rx, config, operation, resource, namespace, name).await?;
    // `Dispatch` of webhooks, and of policies: whatever the request is about but their own configuration.
    if resource.group != "admissionregistration.k8s.io"
        && !namespace_lifecycle::wait_for_ready(rx).await
    {
        return Err(namespace_lifecycle::not_yet_ready(resource, name));
    }
    let has_policy = config.admission.policies && config.release.has(gates::ADMISSION_POLICIES);
    match has_policy && !namespace.is_empty() {
        true => get_namespace(rx, config, namespace).await,
        false => Ok(()),
    }
}

/// `Matcher.GetNamespace` (`plugin/webhook/predicates/namespace/matcher.go`), for a policy that concerns all objects and
/// refuses none.
async fn get_namespace(rx: Rx, config: &Config, namespace: &str) -> Result<(), Status> {
    if NAMESPACE_LISTER.get(rx, namespace).is_some() {
        return Ok(());
    }
    let defects = config.defects.server;
    match defects.has(ServerDefect::PolicyTrustsItsInformer) {
        true => Err(Status::new_not_found(&kinds::NAMESPACES, namespace)),
        false => look_up(rx, config, namespace).await.map(drop),
    }
}

/// The plugins that change objects: `DefaultTolerationSeconds` and `Priority`, of pods.
pub fn mutate(resource: &Resource, part: Part, object: &mut Json, old: Option<&Json>) {
    if *resource != kinds::PODS || part != Part::Whole {
        return;
    }
    pods::default_tolerations(object);
    match old {
        None => pods::default_priority(object),
        Some(old) => pods::keep_priority(object, old),
    }
}
