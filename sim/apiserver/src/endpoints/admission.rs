//! Admission: what stands between a request that is read and the registry. The plugins that are on
//! by default and that objects alone do not decide.

use wavetank_api::kinds::{self, pods};
use wavetank_api::status::Cause;
use wavetank_api::strategy::Part;
use wavetank_api::{Json, Reason, Resource, Status, json};
use wavetank_engine::{Rx, mutant};

use crate::options::StoreError;
use crate::server::Config;

/// What is about to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they are upstream's")]
pub enum Operation {
    Create,
    Update,
    Delete,
}

/// `NamespaceLifecycle` (`apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go`): some
/// namespaces stay, and nothing is made in one that is missing or on its way out.
///
/// Upstream asks its informer first and etcd only if that does not know the namespace or saw its
/// deletion lately; here etcd is always asked.
///
/// # Errors
/// 403 or 404.
pub async fn namespace_lifecycle(
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
    if *resource == kinds::NAMESPACES {
        let stays = ["default", "kube-system", "kube-public"].contains(&name);
        return match operation {
            Operation::Delete if stays => {
                let why = "this namespace may not be deleted";
                Err(Status::new_forbidden(resource, name, why))
            }
            _ => Ok(()),
        };
    }
    if namespace.is_empty() || operation == Operation::Delete {
        return Ok(());
    }
    let key = kinds::NAMESPACES.key("", namespace);
    let found = match config.storage_of(&kinds::NAMESPACES).get(rx, key, 0).await {
        Ok(found) => found,
        Err(StoreError::NotFound) => {
            return Err(Status::new_not_found(&kinds::NAMESPACES, namespace));
        }
        Err(StoreError::Etcd(error)) => return Err(Status::new_internal_error(error)),
        Err(error) => return Err(Status::new_internal_error(format!("{error:?}"))),
    };
    let phase = json::text(found.object.json(), &["status", "phase"]);
    if operation == Operation::Create
        && phase == "Terminating"
        && !mutant!(
            "create-in-terminating",
            "objects can be created in a namespace that goes"
        )
    {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut status = Status::new_forbidden(resource, name, &why);
        debug_assert!(status.is(Reason::Forbidden));
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                reason: "NamespaceTerminating".to_owned(),
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".to_owned(),
            });
        }
        return Err(status);
    }
    Ok(())
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
