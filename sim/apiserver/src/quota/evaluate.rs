//! How requests are worked off (`apiserver/pkg/admission/plugin/resourcequota/controller.go`): those of a namespace wait
//! together, one of five workers takes them all at once, holds them one after another against what the quotas still allow,
//! and writes once what is used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::quota::{Attributes, ResourceQuota, check_request};
use wavetank_api::{Stamp, Status};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Condition, Name, Outcome, RoutineFuture, Rx, Task};

use super::resource_access::{get_quotas, uid, update_quota_status};
use super::{Admitted, QUEUE, QuotaDefect};
use crate::server::Config;

/// `NewResourceQuota`: so many workers,
const WORKERS: u32 = 5;
/// so often a charge is tried again that another server was faster with,
const RETRIES: u32 = 3;
/// and so long a request waits.
const LONGEST: Duration = Duration::from_secs(10);

const WORK: Name = Name::new("quota-work");

/// `quotaEvaluator`: what waits.
static EVALUATOR: Cell<Waiting> = Cell::new("quota-evaluator");

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Waiting {
    /// `init`
    started: bool,
    /// How many requests there were.
    count: u32,
    /// `work`, `dirtyWork` and `inProgress`, by namespace.
    work: BTreeMap<Item, Vec<Waiter>>,
    dirty_work: BTreeMap<Item, Vec<Waiter>>,
    in_progress: BTreeSet<Item>,
    /// The requests whose handlers wait, with the verdict once there is one.
    verdicts: BTreeMap<u32, Option<Result<(), Status>>>,
}

/// `admissionWaiter`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiter {
    number: u32,
    attributes: Attributes,
    /// Without one it is denied by default.
    result: Option<Result<(), Status>>,
    /// The quotas that it is charged to,
    charged: BTreeSet<Arc<str>>,
    /// and those that refused it when they were last asked.
    refused_by: BTreeSet<Arc<str>>,
}

fn finished(number: u32) -> Condition {
    Condition::new("quota-finished", u64::from(number))
}

/// `Evaluate`
///
/// # Errors
/// 403, what writing the charge came to, or 500 if it takes too long.
pub(super) async fn evaluate(rx: Rx, attributes: Attributes) -> Result<(), Status> {
    let begins = rx.update(&EVALUATOR, |own| !std::mem::replace(&mut own.started, true));
    for _ in 0..if begins { WORKERS } else { 0 } {
        rx.spawn(Task::new(WORK, ()));
    }
    let number = add_work(rx, attributes);
    let verdict = async {
        loop {
            let known = rx.look(&EVALUATOR, |own| {
                own.verdicts.get(&number).cloned().flatten()
            });
            match known {
                Some(verdict) => return verdict,
                None => rx.changed(finished(number)).await,
            }
        }
    };
    let verdict = rx.timeout(LONGEST, verdict).await;
    rx.update(&EVALUATOR, |own| {
        own.verdicts.remove(&number);
    });
    verdict.unwrap_or_else(|| {
        Err(Status::new_internal_error(
            "resource quota evaluation timed out",
        ))
    })
}

/// `addWork`
fn add_work(rx: Rx, attributes: Attributes) -> u32 {
    let namespace: Item = attributes.namespace.clone();
    QUEUE.add(rx, namespace.clone());
    rx.update(&EVALUATOR, |own| {
        own.count += 1;
        let waiter = Waiter {
            number: own.count,
            attributes,
            result: None,
            charged: BTreeSet::new(),
            refused_by: BTreeSet::new(),
        };
        own.verdicts.insert(own.count, None);
        let work = match own.in_progress.contains(&namespace) {
            true => &mut own.dirty_work,
            false => &mut own.work,
        };
        work.entry(namespace).or_default().push(waiter);
        own.count
    })
}

/// `getWork`
async fn get_work(rx: Rx) -> (Item, Vec<Waiter>) {
    let namespace = QUEUE.get(rx).await;
    let work = rx.update(&EVALUATOR, |own| {
        own.dirty_work.remove(&namespace);
        own.in_progress.insert(namespace.clone());
        own.work.remove(&namespace).unwrap_or_default()
    });
    (namespace, work)
}

/// `completeWork`
fn complete_work(rx: Rx, namespace: &Item) {
    QUEUE.done(rx, namespace);
    rx.update(&EVALUATOR, |own| {
        own.in_progress.remove(namespace);
        match own.dirty_work.remove(namespace) {
            Some(work) => own.work.insert(namespace.clone(), work),
            None => own.work.remove(namespace),
        };
    });
}

/// The future of a task, if it is a worker.
pub(super) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    if task.kind() != WORK {
        return None;
    }
    let config = config.clone();
    Some(Box::pin(async move { do_work(Rx::new(), &config).await }))
}

/// A turn of `doWork`
async fn do_work(rx: Rx, config: &Config) -> Outcome {
    let (namespace, mut waiters) = get_work(rx).await;
    if !waiters.is_empty() {
        check_attributes(rx, config, &namespace, &mut waiters).await;
    }
    complete_work(rx, &namespace);
    Outcome::Become(Task::new(WORK, ()))
}

/// `checkAttributes`: all are told before it ends.
async fn check_attributes(rx: Rx, config: &Config, namespace: &str, waiters: &mut [Waiter]) {
    match get_quotas(rx, config, namespace).await {
        Err(refused) => set_all(waiters, &Err(refused)),
        Ok(quotas) if quotas.is_empty() => set_all(waiters, &Ok(())),
        Ok(quotas) => check_quotas(rx, config, quotas, waiters).await,
    }
    for waiter in waiters {
        let denied = || Err(Status::untyped("DEFAULT DENY"));
        let verdict = waiter.result.clone().unwrap_or_else(denied);
        if verdict.is_ok() && !(waiter.charged.is_empty() && waiter.refused_by.is_empty()) {
            rx.note(waiter.admitted());
        }
        let number = waiter.number;
        rx.update(&EVALUATOR, |own| {
            if let Some(waiting) = own.verdicts.get_mut(&number) {
                *waiting = Some(verdict);
            }
        });
        rx.broadcast(finished(number));
    }
}

/// Those that have no verdict yet get this one.
fn set_all(waiters: &mut [Waiter], result: &Result<(), Status>) {
    for waiter in waiters.iter_mut().filter(|own| own.result.is_none()) {
        waiter.result = Some(result.clone());
    }
}

/// `checkQuotas`
async fn check_quotas(
    rx: Rx,
    config: &Config,
    mut quotas: Vec<ResourceQuota>,
    waiters: &mut [Waiter],
) {
    let mut retries = RETRIES;
    loop {
        let running = weigh(rx, config, &quotas, waiters);
        let mut failed = Vec::new();
        let mut last = None;
        for (original, new) in quotas.iter().zip(&running) {
            if original.used.equals(&new.used) {
                continue;
            }
            if let Err(refused) = update_quota_status(rx, config, new).await {
                failed.push(new.name().to_owned());
                last = Some(refused);
            }
        }
        let Some(last) = last else {
            return set_all(waiters, &Ok(()));
        };
        if config.defects.quota.has(QuotaDefect::RefusedChargesPass) {
            return set_all(waiters, &Ok(()));
        }
        let namespace = waiters[0].attributes.namespace.clone();
        let newest = match retries {
            0 => None,
            _ => get_quotas(rx, config, &namespace).await.ok(),
        };
        let Some(newest) = newest else {
            return set_all(waiters, &Err(last));
        };
        retries -= 1;
        quotas = newest;
        quotas.retain(|quota| failed.iter().any(|name| name == quota.name()));
    }
}

/// Holds the requests one after another against what the quotas still allow: the quotas as they are with all that fit. Those
/// that are tried again are not all that there are. Upstream weighs each request anew all the same: one that another quota
/// has refused is admitted if these do not bind it.
fn weigh(
    rx: Rx,
    config: &Config,
    quotas: &[ResourceQuota],
    waiters: &mut [Waiter],
) -> Vec<ResourceQuota> {
    let now = Stamp::of(rx.clock());
    let defects = config.defects.quota;
    let mut running = quotas.to_vec();
    for waiter in waiters {
        let was_refused = matches!(waiter.result, Some(Err(_)));
        if was_refused && !defects.has(QuotaDefect::RefusalsAreWeighedAgain) {
            continue;
        }
        let against = match defects.has(QuotaDefect::ChargesAreNotSummed) {
            true => quotas.to_vec(),
            false => running.clone(),
        };
        let checked = check_request(&against, &waiter.attributes, now);
        waiter.learn(&against, checked.is_err(), now);
        match checked {
            Err(refused) => waiter.result = Some(Err(refused)),
            Ok(_) if waiter.attributes.dry_run => waiter.result = Some(Ok(())),
            Ok(new) => {
                let changed = against.iter().zip(&new);
                let changed = changed.filter(|(old, new)| !old.used.equals(&new.used));
                let changed: Vec<Arc<str>> = changed.map(|(_, new)| uid(new)).collect();
                if changed.is_empty() {
                    waiter.result = Some(Ok(()));
                }
                waiter.charged.extend(changed);
                running = new;
            }
        }
    }
    running
}

impl Waiter {
    /// Which of these quotas refuse it.
    fn learn(&mut self, quotas: &[ResourceQuota], is_refused: bool, now: Stamp) {
        for quota in quotas {
            let alone = std::slice::from_ref(quota);
            let refuses = is_refused && check_request(alone, &self.attributes, now).is_err();
            match refuses {
                true => self.refused_by.insert(uid(quota)),
                false => self.refused_by.remove(&uid(quota)),
            };
        }
    }

    /// What is told of it once it may be stored.
    fn admitted(&self) -> Admitted {
        let Attributes {
            object,
            namespace,
            name,
            ..
        } = &self.attributes;
        Admitted {
            object: format!("{namespace}/{name}").into(),
            uid: object.uid().into(),
            charged: self.charged.iter().cloned().collect(),
            refused_by: self.refused_by.iter().cloned().collect(),
        }
    }
}
