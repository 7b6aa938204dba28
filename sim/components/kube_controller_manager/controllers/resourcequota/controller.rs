//! One count (`pkg/controller/resourcequota/resource_quota_controller.go`, v1.36.2).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::RESOURCE_QUOTAS;
use wavetank_api::quota::{Evaluator, ResourceList, calculate_usage};
use wavetank_api::{Json, Method, Request, Resource, Stamp, Stored, json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Every, Turn};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Cell, Name, NotState, Rx, Time};
use wavetank_version::Set;

use super::CONTROLLER;
use super::defects::RecountDefect;
use super::monitors::{self, RESOURCE_CHANGES};
use super::notes::Counts;
use crate::controller::{Controller, ControllerContext, Work};
use crate::controller_utils::pod_key;
use wavetank_components::elected::{DRAIN, process_next_work_item};

pub(super) const SCOPE: Name = Name::new(CONTROLLER);
pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "resourcequota_primary");
/// Of quotas whose usage nobody knows yet.
const MISSING_USAGE_QUEUE: WorkQueue = WorkQueue::new(SCOPE, "resourcequota_priority");

/// `--resource-quota-sync-period`
const RESYNC_PERIOD: Duration = Duration::from_secs(5 * 60);
/// How often it is looked whether informers have synced.
const SYNC_POLL: Duration = Duration::from_millis(100);
/// So long after a charge a request may still store what it was charged for. A request ends after 60 s; what
/// it sent to etcd may come later.
const CHARGED_WITHIN: Duration = Duration::from_secs(120);

/// When it was seen last that more is used of a quota.
static CHARGES: Cell<BTreeMap<Item, Time>> = Cell::new("quota-charges");

/// Upstream's `Controller`
#[derive(Debug)]
pub(super) struct QuotaController {
    pub rest: RestClient,
    quotas: Lister,
    /// What is counted, by the numbers of monitors.
    pub counted: Vec<(Evaluator, Lister)>,
    defects: Set<RecountDefect>,
    syncs: u32,
}

/// What the worker with this number does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// `Sync`
    Sync,
    /// `runProcessResourceChanges`
    ProcessChanges,
    /// `enqueueAll`, again and again.
    EnqueueAll,
    /// `worker` of one of the queues.
    Work(WorkQueue),
}

impl QuotaController {
    /// Upstream's `NewController`, with an informer of each resource that somebody uses.
    pub fn new(
        cx: &mut ControllerContext,
        resources: impl Iterator<Item = &'static Resource>,
        syncs: u32,
    ) -> QuotaController {
        let defects: Set<RecountDefect> = cx.defects.of();
        let mut quotas = cx.informers.informer_for(&RESOURCE_QUOTAS);
        quotas.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                quota_changed(rx, notice, defects)
            })),
            ..HandlerSpec::new(CONTROLLER)
        });
        let quotas = quotas.lister();
        let evaluators = resources.filter_map(|own| Some((own, Evaluator::of(own)?)));
        let counted = (0..)
            .zip(evaluators)
            .map(|(number, (resource, evaluator))| {
                let mut informer = cx.informers.informer_for(resource);
                informer.add_event_handler(monitors::handler(number, evaluator));
                (evaluator, informer.lister())
            });
        QuotaController {
            counted: counted.collect(),
            rest: cx.rest.clone(),
            quotas,
            defects,
            syncs,
        }
    }

    fn role(&self, number: u32) -> Role {
        match number {
            0 => Role::Sync,
            1 => Role::ProcessChanges,
            2 => Role::EnqueueAll,
            other if other % 2 == 1 => Role::Work(QUEUE),
            _ => Role::Work(MISSING_USAGE_QUEUE),
        }
    }

    /// The quotas of a namespace.
    pub(super) fn quotas_in(&self, rx: Rx, namespace: &str) -> Vec<Stored> {
        let mut all = self.quotas.list(rx);
        all.retain(|quota| quota.object.namespace() == namespace);
        all
    }

    /// A turn of `enqueueAll`.
    async fn enqueue_all(&self, rx: Rx, leading: &Leading) -> Turn {
        if self.defects.has(RecountDefect::QuotasAreNotCountedAgain) {
            return Turn::Over;
        }
        let turn = Every::period(RESYNC_PERIOD).sliding(rx, &DRAIN, async {
            for quota in self.quotas.list(rx) {
                QUEUE.add(rx, pod_key(&quota.object));
            }
            match leading.leadership().is_closed(rx) {
                true => Turn::Over,
                false => Turn::Again,
            }
        });
        turn.await
    }

    /// Upstream's `WaitForNamedCacheSync`: false if the manager stops before. Nobody looks for monitors any more then.
    async fn wait_for_cache_sync(&self, rx: Rx) -> bool {
        while !(self.quotas.has_synced(rx) && self.is_synced(rx)) {
            if DRAIN.is_closed(rx) {
                return false;
            }
            rx.sleep(SYNC_POLL).await;
        }
        true
    }

    /// `syncResourceQuotaFromKey`
    async fn sync_resource_quota_from_key(&self, rx: Rx, key: Item) -> Result<(), Failure> {
        match self.quotas.get(rx, &key) {
            Some(quota) => self.sync_resource_quota(rx, key, &quota).await,
            None => Ok(()),
        }
    }

    /// `syncResourceQuota`. Upstream writes what it counts (`counts-forget-charges`). Without that defect it counts
    /// what is stored, and writes less only once all requests are over that may have been charged: what a proposal of
    /// upstream's came to (PR #20113) that was not built.
    async fn sync_resource_quota(&self, rx: Rx, key: Item, quota: &Stored) -> Result<(), Failure> {
        let object = quota.object.json();
        let list = |part, of| ResourceList::of(object, &[part, of]);
        let (hard, was) = (list("spec", "hard"), list("status", "used"));
        let is_set = |of| json::at(object, &["status", of]).is_some_and(|own| !own.is_null());
        let is_dirty = !hard.equals(&list("status", "hard")) || !is_set("hard") || !is_set("used");
        let counted = self.count_cached(rx, quota);
        let mut used = with(&was, &counted).mask(&hard.names());
        if !self.defects.has(RecountDefect::CountsForgetCharges) && !used.equals(&was) {
            let live = self.count_live(rx, quota).await?;
            used = with(&was, &live).mask(&hard.names());
            if let (false, Err(left)) = (less(&used, &was).is_empty(), charges_are_over(rx, &key)) {
                QUEUE.add_after(rx, key.clone(), left);
                used = keep(used, &was);
            }
        }
        if !is_dirty && used.equals(&was) {
            return Ok(());
        }
        rx.note(Counts {
            quota: key,
            used: used.pretty_print(),
        });
        let mut usage = quota.json();
        let status = serde_json::json!({"hard": hard.to_json(), "used": used.to_json()});
        json::set(&mut usage, &["status"], status);
        if self.defects.has(RecountDefect::CountsWithoutPrecondition) {
            json::remove(&mut usage, &["metadata", "resourceVersion"]);
        }
        let path = RESOURCE_QUOTAS.path(quota.object.namespace(), quota.object.name());
        let put = Request::new(Method::Put, format!("{path}/status")).with(usage);
        self.rest.object(rx, put).await?;
        Ok(())
    }

    /// What is used as informers show it.
    fn count_cached(&self, rx: Rx, quota: &Stored) -> ResourceList {
        let namespace = quota.object.namespace();
        let listed = self.counted.iter().map(|(evaluator, lister)| {
            let mut own = lister.list(rx);
            own.retain(|stored| stored.object.namespace() == namespace);
            (*evaluator, lister.has_synced(rx).then_some(own))
        });
        let listed: Vec<_> = listed.collect();
        count(rx, quota, &listed)
    }

    /// The same as it is stored.
    async fn count_live(&self, rx: Rx, quota: &Stored) -> Result<ResourceList, Failure> {
        let namespace = quota.object.namespace();
        let mut listed = Vec::new();
        for (evaluator, _) in &self.counted {
            let hard = ResourceList::of(quota.object.json(), &["spec", "hard"]);
            if evaluator.matching_resources(&hard.names()).is_empty() {
                continue;
            }
            let path = evaluator.resource().path(namespace, "");
            let list = self.rest.list(rx, Request::new(Method::Get, path)).await?;
            listed.push((*evaluator, Some(list.items)));
        }
        Ok(count(rx, quota, &listed))
    }
}

fn count(rx: Rx, quota: &Stored, listed: &[(Evaluator, Option<Vec<Stored>>)]) -> ResourceList {
    let objects = listed.iter().map(|(evaluator, own)| {
        let own = own.as_ref();
        let own = own.map(|own| own.iter().map(|stored| stored.object.json()).collect());
        (*evaluator, own)
    });
    let objects: Vec<(Evaluator, Option<Vec<&Json>>)> = objects.collect();
    calculate_usage(quota.object.json(), &objects, Stamp::of(rx.clock()))
}

/// What was used, with what is counted.
fn with(was: &ResourceList, counted: &ResourceList) -> ResourceList {
    let uncounted: Vec<&str> = was.names();
    let uncounted: Vec<&str> = uncounted
        .into_iter()
        .filter(|name| !counted.has(name))
        .collect();
    was.clone().mask(&uncounted).add(counted)
}

/// The names of those of which less is used than was.
fn less<'a>(used: &ResourceList, was: &'a ResourceList) -> Vec<&'a str> {
    was.exceeding(used)
}

/// What is used, of each at least as much as was.
fn keep(used: ResourceList, was: &ResourceList) -> ResourceList {
    let less: Vec<&str> = less(&used, was);
    with(&used, &was.clone().mask(&less))
}

/// Are all requests over that may have been charged? If not, how long it takes.
fn charges_are_over(rx: Rx, key: &Item) -> Result<(), Duration> {
    let now = rx.clock();
    let seen = rx.update(&CHARGES, |all| *all.entry(key.clone()).or_insert(now));
    let over = seen + CHARGED_WITHIN;
    match over > now {
        true => Err(over.since(now)),
        false => Ok(()),
    }
}

/// The handlers of quotas: `addQuota`, and what updates and deletions do.
fn quota_changed(rx: Rx, notice: &Notice, defects: Set<RecountDefect>) {
    match notice {
        Notice::Added { new, .. } => {
            charged(rx, &ResourceList::default(), new);
            add_quota(rx, new);
        }
        Notice::Updated { old, new } => {
            let list = |of: &Stored, path: [&str; 2]| ResourceList::of(of.object.json(), &path);
            charged(rx, &list(old, ["status", "used"]), new);
            let hard = ["spec", "hard"];
            // It was made anew between two looks. Upstream does not ask.
            let is_another = || {
                old.object.uid() != new.object.uid()
                    && defects.has(RecountDefect::FixQuotasMadeAnew)
            };
            if !list(old, hard).equals(&list(new, hard)) || is_another() {
                add_quota(rx, new);
            }
        }
        Notice::Deleted(gone) => {
            if let Some(last) = &gone.last {
                QUEUE.add(rx, pod_key(&last.object));
            }
        }
    }
}

/// Is more used than was?
fn charged(rx: Rx, was: &ResourceList, quota: &Stored) {
    let used = ResourceList::of(quota.object.json(), &["status", "used"]);
    let new = used.names().into_iter().any(|name| !was.has(name));
    if new || !used.exceeding(was).is_empty() {
        let now = rx.clock();
        rx.update(&CHARGES, |all| all.insert(pod_key(&quota.object), now));
    }
}

/// `addQuota`
fn add_quota(rx: Rx, quota: &Stored) {
    let object = quota.object.json();
    let list = |part, of| ResourceList::of(object, &[part, of]);
    let hard = list("status", "hard");
    let used = list("status", "used");
    // Upstream passes over names that nobody measures. A quota with one of these is counted just so from either queue.
    let lacks = hard.names().into_iter().any(|name| !used.has(name));
    let is_new = !list("spec", "hard").equals(&hard);
    let queue = if is_new || lacks {
        MISSING_USAGE_QUEUE
    } else {
        QUEUE
    };
    queue.add(rx, pod_key(&quota.object));
}

impl Controller for QuotaController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE, MISSING_USAGE_QUEUE, RESOURCE_CHANGES]
    }

    fn workers(&self) -> u32 {
        3 + 2 * self.syncs
    }

    fn work_of<'a>(&'a self, rx: Rx, leading: &'a Leading, number: u32) -> Work<'a> {
        Box::pin(async move {
            match self.role(number) {
                Role::Sync => self.sync(rx, leading).await,
                Role::ProcessChanges => {
                    let process = |item: Item| async move {
                        self.process_resource_changes(rx, &item);
                        Ok::<(), ()>(())
                    };
                    process_next_work_item(rx, leading, RESOURCE_CHANGES, process).await
                }
                Role::EnqueueAll | Role::Work(_) if !self.wait_for_cache_sync(rx).await => {
                    Turn::Over
                }
                Role::EnqueueAll => self.enqueue_all(rx, leading).await,
                Role::Work(queue) => {
                    let sync = |key| self.sync_resource_quota_from_key(rx, key);
                    process_next_work_item(rx, leading, queue, sync).await
                }
            }
        })
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        self.work_of(rx, leading, 0)
    }
}
