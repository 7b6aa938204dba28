//! Evictions (`kubernetes/pkg/registry/core/pod/storage/eviction.go`, `EvictionREST`): a pod goes if its budget lets it,
//! and says why it went.

use std::pin::Pin;
use std::time::Duration;

use serde_json::json;
use wavetank_api::decode;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{self, pod_binding, pod_eviction};
use wavetank_api::options::{DeleteOptions, WriteOptions};
use wavetank_api::strategy::Part;
use wavetank_api::{Method, Reason, Request, Resource, Response, Stamp, Status};
use wavetank_client::Failure;
use wavetank_engine::{Rx, mutant};

use crate::endpoints::RequestContext;
use crate::endpoints::subresource::created;
use crate::options::Preconditions;
use crate::registry::{Change, Made, Registry, Warnings, warn};

/// `EvictionsRetry`: so often, with so long between. Upstream adds up to a tenth of it.
const STEPS: usize = 20;
const BETWEEN: Duration = Duration::from_millis(500);

/// `EvictionREST.Create`
///
/// # Errors
/// A Status: 429 if a budget does not allow it.
pub async fn evict(cx: RequestContext<'_>, warnings: &mut Warnings) -> Result<Response, Status> {
    let name = cx.name();
    let options = WriteOptions::of_create(&cx.request.query, cx.config.release)?;
    let content_type = cx.request.content_type.as_deref();
    let (eviction, unknown) = decode::target(
        &cx.request.body,
        content_type,
        decode::EVICTION,
        options.reading,
    )?;
    warn(warnings, unknown);
    if json::text(&eviction, &["metadata", "name"]) != name {
        let why = "name in URL does not match name in Eviction object";
        return Err(Status::new_bad_request(why));
    }
    let nothing = Json::Null;
    let mut asked = DeleteOptions::of_json(eviction.get("deleteOptions").unwrap_or(&nothing))?;
    asked.dry_run |= options.dry_run;
    let evicting = Evicting {
        cx,
        pods: cx.registry(asked.dry_run),
        name,
        asked,
    };
    let Some(pod) = evicting.delete_unless_guarded().await? else {
        return Ok(created());
    };
    evicting.delete_guarded(&pod).await?;
    Ok(created())
}

struct Evicting<'a> {
    cx: RequestContext<'a>,
    pods: Registry,
    name: &'a str,
    /// What the eviction says of the deletion.
    asked: DeleteOptions,
}

impl Evicting<'_> {
    /// A pod that no budget can guard goes at once; `None` if it has. Conflicts are tried again, unless the request
    /// says which version of the pod it is about.
    async fn delete_unless_guarded(&self) -> Result<Option<Json>, Status> {
        let rx = self.cx.rx;
        for step in 1.. {
            let pod = self.pods.get(rx, self.name, None).await?.json();
            if !pod_eviction::can_ignore_pdb(&pod) {
                return Ok(Some(pod));
            }
            let unset = self.asked.resource_version.is_none();
            let mut delete = self.asked.clone();
            if unset && pod_eviction::should_enforce_resource_version(&pod) {
                // No race with whoever makes it ready.
                delete.resource_version = Some(resource_version(&pod).into());
            }
            match self.add_condition_and_delete_pod(delete).await {
                Ok(()) => return Ok(None),
                Err(status) if status.is(Reason::Conflict) && unset && step < STEPS => {
                    rx.sleep(BETWEEN).await;
                }
                Err(status) => return Err(status),
            }
        }
        unreachable!("steps end")
    }

    /// A pod that a budget may guard: the budget is spent first.
    async fn delete_guarded(&self, pod: &Json) -> Result<(), Status> {
        let budgets = self.get_pod_disruption_budgets(pod).await?;
        let mut unready = None;
        match budgets.as_slice() {
            [] => {}
            [budget] if pod_eviction::may_go_unready(budget, pod) => {
                unready = Some(json::text(budget, &["metadata", "name"]).to_owned());
            }
            [budget] => self.spend(budget).await?,
            _ => {
                let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::untyped(why));
            }
        }
        let mut delete = self.asked.clone();
        if unready.is_some() {
            // Since then it may have become ready.
            delete.resource_version = Some(resource_version(pod).into());
        }
        let deleted = self.add_condition_and_delete_pod(delete).await;
        deleted.map_err(|status| match &unready {
            Some(budget)
                if status.is(Reason::Conflict) && self.asked.resource_version.is_none() =>
            {
                pod_eviction::create_too_many_requests_error(budget)
            }
            _ => status,
        })
    }

    /// `getPodDisruptionBudgets`, through the loopback client.
    async fn get_pod_disruption_budgets(&self, pod: &Json) -> Result<Vec<Json>, Status> {
        let path = kinds::POD_DISRUPTION_BUDGETS.path(&self.pods.namespace, "");
        let request = Request::new(Method::Get, path);
        let listed = self.cx.config.loopback().list(self.cx.rx, request).await;
        let budgets = listed.map_err(refusal)?.items;
        let budgets = budgets.iter().map(|stored| stored.json());
        Ok(budgets
            .filter(|budget| pod_eviction::guards(budget, pod))
            .collect())
    }

    /// Verifies and decrements; whoever else did so at the same time is asked again.
    async fn spend(&self, budget: &Json) -> Result<(), Status> {
        let (rx, client) = (self.cx.rx, self.cx.config.loopback());
        let name = json::text(budget, &["metadata", "name"]);
        let path = kinds::POD_DISRUPTION_BUDGETS.path(&self.pods.namespace, name);
        let mut budget = budget.clone();
        for step in 1.. {
            if step > 1 {
                let read = client
                    .object(rx, Request::new(Method::Get, path.as_str()))
                    .await;
                budget = read.map_err(refusal)?.json();
            }
            let now = Stamp::of(rx.clock());
            let mut spent = pod_eviction::check_and_decrement(&budget, self.name, now)?;
            if self.asked.dry_run {
                return Ok(());
            }
            let of = &kinds::POD_DISRUPTION_BUDGETS;
            json::set(&mut spent, &["apiVersion"], of.api_version());
            json::set(&mut spent, &["kind"], of.kind);
            let update = Request::new(Method::Put, format!("{path}/status")).with(spent);
            match client.object(rx, update).await {
                Ok(_) => return Ok(()),
                Err(failure)
                    if failure.is(Reason::Conflict)
                        && step < STEPS
                        && !mutant!(
                            "budget-is-spent-once",
                            "an eviction that meets another write of its budget gives up"
                        ) =>
                {
                    rx.sleep(BETWEEN).await;
                }
                Err(failure) if failure.is(Reason::Conflict) => {
                    let name = wavetank_api::quote::quote(name);
                    let why =
                        format!("couldn't update PodDisruptionBudget {name} due to conflicts");
                    return Err(Status::new_timeout_error(&why, 10));
                }
                Err(failure) => return Err(refusal(failure)),
            }
        }
        unreachable!("steps end")
    }

    /// `addConditionAndDeletePod`
    async fn add_condition_and_delete_pod(&self, mut delete: DeleteOptions) -> Result<(), Status> {
        let rx = self.cx.rx;
        if !delete.dry_run {
            let status = Registry {
                part: Part::Status,
                ..self.pods.clone()
            };
            let condition = AddCondition { options: &delete };
            let (any, mut unheard) = (Preconditions::default(), Warnings::new());
            let update = status.update(rx, self.name, &any, &condition, &mut unheard);
            if let (Made::Stored(stored), true) =
                (update.await?.made, delete.resource_version.is_some())
            {
                delete.resource_version = Some(stored.resource_version.to_string().into());
            }
        }
        self.pods.delete(rx, self.name, delete).await?;
        Ok(())
    }
}

fn resource_version(pod: &Json) -> &str {
    json::text(pod, &["metadata", "resourceVersion"])
}

/// What the loopback client has met.
fn refusal(failure: Failure) -> Status {
    match failure {
        Failure::Status(status) => status,
        Failure::Net(error) => Status::new_internal_error(error),
    }
}

/// The newest pod, if it is still the one that was meant, with the condition that tells why it goes.
struct AddCondition<'a> {
    options: &'a DeleteOptions,
}

impl AddCondition<'_> {
    /// Upstream's `getLatestPod`
    fn check(&self, pod: &Json) -> Result<(), Status> {
        let of_meta = |field| json::text(pod, &["metadata", field]);
        let conflict = |why: String| {
            let resource = Resource {
                plural: "Pod",
                ..kinds::PODS
            };
            Err(Status::new_conflict(&resource, of_meta("name"), &why))
        };
        let differs = |wanted: &Option<std::sync::Arc<str>>, field| {
            let wanted = wanted.as_deref().filter(|wanted| !wanted.is_empty());
            wanted
                .filter(|wanted| *wanted != of_meta(field))
                .map(str::to_owned)
        };
        if let Some(uid) = differs(&self.options.uid, "uid") {
            return conflict(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                of_meta("uid")
            ));
        }
        if let Some(version) = differs(&self.options.resource_version, "resourceVersion") {
            return conflict(format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
                 The object might have been modified",
                of_meta("resourceVersion")
            ));
        }
        Ok(())
    }
}

impl Change for AddCondition<'_> {
    fn change<'a>(
        &'a self,
        rx: Rx,
        old: Option<&'a Json>,
        _warnings: &'a mut Warnings,
    ) -> Pin<Box<dyn Future<Output = Result<Json, Status>> + Send + 'a>> {
        Box::pin(async move {
            let mut pod = old.cloned().unwrap_or_default();
            self.check(&pod)?;
            let condition = json!({
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            });
            pod_binding::update_pod_condition(&mut pod, condition, Stamp::of(rx.clock()));
            Ok(pod)
        })
    }
}
