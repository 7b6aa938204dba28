//! Evictions (`kubernetes/pkg/registry/core/pod/storage/eviction.go`, `EvictionREST`): a pod goes if its budget lets it,
//! and says why it went.

mod defects;
mod notes;

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
use wavetank_version::Set;

pub use defects::EvictionDefect;
pub use notes::{Evicts, LetGoBy, RefusesEviction};

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
        defects: cx.config.defects.eviction,
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
    defects: Set<EvictionDefect>,
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
            let mut delete = self.deletion_of(&pod);
            if unset && pod_eviction::should_enforce_resource_version(&pod) {
                // No race with whoever makes it ready.
                delete.resource_version = Some(resource_version(&pod).into());
            }
            self.tell(&pod, LetGoBy::Nobody);
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
            [] => self.tell(pod, LetGoBy::Nobody),
            [budget] if pod_eviction::may_go_unready(budget, pod) => {
                unready = Some(json::text(budget, &["metadata", "name"]).to_owned());
                self.tell(pod, LetGoBy::Unready);
            }
            [budget] => self.spend(budget, pod).await.inspect_err(|status| {
                self.tell_refusal(status);
            })?,
            _ => {
                let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                let refusal = Status::untyped(why);
                self.tell_refusal(&refusal);
                return Err(refusal);
            }
        }
        let mut delete = self.deletion_of(pod);
        if unready.is_some()
            && !self
                .defects
                .has(EvictionDefect::UnreadyEvictionsAreNotPinned)
        {
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

    /// What was asked for, of this pod: upstream does not say of which, unless the request does.
    fn deletion_of(&self, pod: &Json) -> DeleteOptions {
        let mut delete = self.asked.clone();
        let keeps = EvictionDefect::FixEvictionsKeepToTheirPod;
        if delete.uid.is_none() && self.defects.has(keeps) {
            delete.uid = Some(json::text(pod, &["metadata", "uid"]).into());
        }
        delete
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

    /// Upstream's `RetryOnConflict` of `checkAndDecrement`: whoever else wrote at the same time, the budget is read again. What the last
    /// try met is what the eviction meets: that upstream has words for conflicts without end (`wait.Interrupted`) never
    /// shows, since `OnError` takes the last error in its place.
    async fn spend(&self, budget: &Json, pod: &Json) -> Result<(), Status> {
        let rx = self.cx.rx;
        let name = json::text(budget, &["metadata", "name"]);
        let path = kinds::POD_DISRUPTION_BUDGETS.path(&self.pods.namespace, name);
        let mut budget = budget.clone();
        for step in 1.. {
            if step > 1 {
                budget = self.read(&path).await?;
            }
            let spent = self.check_and_decrement(&budget)?;
            if self.asked.dry_run {
                return Ok(());
            }
            match self.update_status(&path, spent, pod).await {
                Ok(()) => return Ok(()),
                Err(status)
                    if status.is(Reason::Conflict)
                        && step < STEPS
                        && !mutant!(
                            "budget-is-spent-once",
                            "an eviction that meets another write of its budget gives up"
                        ) =>
                {
                    rx.sleep(BETWEEN).await;
                }
                Err(status) => return Err(status),
            }
        }
        unreachable!("steps end")
    }

    async fn read(&self, path: &str) -> Result<Json, Status> {
        let get = Request::new(Method::Get, path);
        let client = self.cx.config.loopback();
        let read = client.object(self.cx.rx, get).await;
        Ok(read.map_err(refusal)?.json())
    }

    /// The check of `checkAndDecrement`.
    fn check_and_decrement(&self, budget: &Json) -> Result<Json, Status> {
        let now = Stamp::of(self.cx.rx.clock());
        let mut known = budget.clone();
        if pod_eviction::is_behind(budget)
            && self
                .defects
                .has(EvictionDefect::EvictionsTrustOldGenerations)
        {
            let generation = json::number(budget, &["metadata", "generation"]).unwrap_or(0);
            json::set(&mut known, &["status", "observedGeneration"], generation);
        }
        let mut spent = pod_eviction::check_and_decrement(&known, self.name, now)?;
        if self.defects.has(EvictionDefect::EvictionsAreNotNoted) {
            json::remove(&mut spent, &["status", "disruptedPods", self.name]);
        }
        Ok(spent)
    }

    /// The update of `checkAndDecrement`.
    async fn update_status(&self, path: &str, mut spent: Json, pod: &Json) -> Result<(), Status> {
        let rx = self.cx.rx;
        if self.defects.has(EvictionDefect::EvictionsOverwriteBudgets) {
            let newest = self.read(path).await?;
            let version = resource_version(&newest);
            json::set(&mut spent, &["metadata", "resourceVersion"], version);
        }
        let of = &kinds::POD_DISRUPTION_BUDGETS;
        json::set(&mut spent, &["apiVersion"], of.api_version());
        json::set(&mut spent, &["kind"], of.kind);
        // In whole seconds, as the budget has it.
        let at = Stamp::parse(&Stamp::of(rx.clock()).seconds());
        let update = Request::new(Method::Put, format!("{path}/status")).with(spent);
        let updated = self.cx.config.loopback().object(rx, update).await;
        let updated = updated.map_err(refusal)?;
        let by = LetGoBy::Budget {
            budget: updated.object.uid().into(),
            spent: updated.resource_version,
            at: at.expect("an instant"),
        };
        self.tell(pod, by);
        Ok(())
    }

    /// The pod is about to go.
    fn tell(&self, pod: &Json, by: LetGoBy) {
        if !self.asked.dry_run {
            self.cx.rx.note(Evicts {
                pod: self.pod_key(),
                uid: json::text(pod, &["metadata", "uid"]).into(),
                by,
            });
        }
    }

    fn tell_refusal(&self, status: &Status) {
        self.cx.rx.note(RefusesEviction {
            pod: self.pod_key(),
            code: status.code,
        });
    }

    fn pod_key(&self) -> std::sync::Arc<str> {
        format!("{}/{}", self.pods.namespace, self.name).into()
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
