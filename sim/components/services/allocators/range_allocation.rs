//! A bitmap that all servers share: in memory, and in etcd
//! (`pkg/registry/core/service/allocator/storage/storage.go`).
//!
//! Memory runs ahead of etcd: it is changed first, and nobody puts it right when the transaction fails.
//! The next use that finds another revision in etcd than the one it last began with takes over what
//! is stored there. Until v1.17 (`memory-refuses`) memory is asked before etcd is: what it takes for allocated is refused,
//! although another server may have released it.

use std::sync::Arc;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Reason, Status, Stored};
use wavetank_engine::{Cell, Lock, Rx, mutant};
use wavetank_etcd::{Key, Purpose, Revision};
use wavetank_version::{Defect, Set};

use super::bitmap::Bitmap;
use super::detached;
use super::item_range::{ItemRange, ServiceRanges};
use crate::services::ServiceDefect;
use crate::services::gates;
use wavetank_apiserver::options::{Preconditions, StoreError};
use wavetank_apiserver::{Config, Storage, Updated};

/// What an allocation is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Of {
    /// Cluster addresses of the default family.
    ClusterIps,
    /// Cluster addresses of the other family.
    SecondaryClusterIps,
    /// Node ports.
    NodePorts,
}

impl Of {
    fn key(self) -> Key {
        match self {
            Of::ClusterIps => "/registry/ranges/serviceips",
            Of::SecondaryClusterIps => "/registry/ranges/secondaryserviceips",
            Of::NodePorts => "/registry/ranges/servicenodeports",
        }
        .into()
    }

    /// Each has a client of etcd (`NewEtcd`).
    fn purpose(self) -> Purpose {
        Purpose::new(match self {
            Of::ClusterIps => "serviceips",
            Of::SecondaryClusterIps => "secondaryserviceips",
            Of::NodePorts => "servicenodeports",
        })
    }

    fn resource(self) -> &'static str {
        match self {
            Of::ClusterIps | Of::SecondaryClusterIps => "serviceipallocations",
            Of::NodePorts => "servicenodeportallocations",
        }
    }

    const fn memory(self) -> Cell<Memory> {
        let number = match self {
            Of::ClusterIps => 0,
            Of::NodePorts => 1,
            Of::SecondaryClusterIps => 2,
        };
        Cell::numbered("service-allocations", number)
    }

    fn lock(self) -> Lock {
        match self {
            Of::ClusterIps => Lock::new("service-ips"),
            Of::SecondaryClusterIps => Lock::new("service-secondary-ips"),
            Of::NodePorts => Lock::new("service-node-ports"),
        }
    }
}

/// What a server remembers between two uses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Memory {
    taken: Bitmap,
    /// The revision that the last use began with; 0 before the first.
    last: Revision,
}

/// A bitmap allocator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RangeAllocation {
    of: Of,
    range: ItemRange,
    storage: Storage,
    defects: Set<ServiceDefect>,
}

/// What is stored, or was to be (`RangeAllocation`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Snapshot {
    /// The revision that it was read at; 0 if there was none.
    pub revision: Revision,
    /// The range that it is of; empty if there was none.
    pub range: Arc<str>,
    /// What is taken.
    pub taken: Bitmap,
    object: Json,
}

/// Why an item was not allocated.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Refusal {
    /// None is free.
    Full,
    /// It is taken.
    Taken,
    /// It is in no range.
    Outside(String),
    /// The allocator is not ready.
    NotReady,
    /// Whatever etcd or the server said.
    Failed(String),
}

/// What one use does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Use {
    Take(u32),
    TakeAny,
    /// This one, or any if it is taken.
    TakeOrAny(u32),
    Release(u32),
}

pub(crate) const MEMORY_REFUSES: Defect = Defect::known(
    "memory-refuses",
    "k/k#85894, PR #86527 (1.18)",
    "a server refuses what its own copy of a bitmap calls taken, and does not look into etcd",
)
.fits_only(gates::REFUSALS_ARE_OF_ETCD.before());

pub(crate) const MEMORY_OUTLIVES_FAILURE: Defect = Defect::open(
    "memory-outlives-failure",
    "k/k#92285 (not fixed)",
    "what a server wanted to allocate stays in its copy of a bitmap although etcd failed. Off: the copy is not used again",
);

pub(crate) const FIRST_ADDRESS_IS_GIVEN_AWAY: Defect = Defect::open(
    "first-address-is-given-away",
    "kubernetes-sigs/cluster-api#7804 (not fixed)",
    "who asks for any address before there is a Service `kubernetes` may get its address. Off: nobody does",
);

impl RangeAllocation {
    /// The allocations of the cluster addresses, that of the default family first.
    pub fn of_addresses(
        server: &Config,
        ranges: &ServiceRanges,
        defects: Set<ServiceDefect>,
    ) -> Vec<RangeAllocation> {
        let all = [Of::ClusterIps, Of::SecondaryClusterIps].into_iter();
        let allocation = |(of, range): (Of, &Arc<str>)| {
            Some(RangeAllocation {
                of,
                range: ItemRange::of_addresses(range, server.release)?,
                storage: server.storage_for(of.purpose()),
                defects,
            })
        };
        all.zip(&ranges.cluster_ips)
            .filter_map(allocation)
            .collect()
    }

    /// The allocation of the node ports.
    pub fn of_ports(
        server: &Config,
        ranges: &ServiceRanges,
        defects: Set<ServiceDefect>,
    ) -> RangeAllocation {
        RangeAllocation {
            of: Of::NodePorts,
            range: ItemRange::of_ports(ranges.node_ports, server.release),
            storage: server.storage_for(Of::NodePorts.purpose()),
            defects,
        }
    }

    /// Its range.
    pub fn range(&self) -> &ItemRange {
        &self.range
    }

    /// `Allocate`
    ///
    /// # Errors
    /// [`Refusal::Taken`], or a failure whose outcome may be unknown.
    pub async fn allocate(&self, rx: Rx, offset: u32) -> Result<(), Refusal> {
        match detached::with_allocation(rx, self, Use::Take(offset)).await? {
            Some(_) => Ok(()),
            None => Err(Refusal::Taken),
        }
    }

    /// `AllocateNext`: the offset.
    ///
    /// # Errors
    /// [`Refusal::Full`], or a failure whose outcome may be unknown.
    pub async fn allocate_next(&self, rx: Rx) -> Result<u32, Refusal> {
        let taken = detached::with_allocation(rx, self, Use::TakeAny).await?;
        taken.ok_or(Refusal::Full)
    }

    /// `Release`; what is not taken may be released.
    ///
    /// # Errors
    /// A failure whose outcome may be unknown.
    pub async fn release(&self, rx: Rx, offset: u32) -> Result<(), Refusal> {
        let released = detached::with_allocation(rx, self, Use::Release(offset)).await;
        released.map(|_| ())
    }

    /// One use, under the lock; `None` if there was nothing to be taken.
    pub(super) async fn carry_out(&self, rx: Rx, work: Use) -> Result<Option<u32>, Refusal> {
        let _lock = rx.lock(self.of.lock()).await;
        let done = self.carry_out_locked(rx, work).await;
        if done.is_err() && !self.has_defect(ServiceDefect::MemoryOutlivesFailure) {
            // Memory may be ahead of etcd: whatever is stored there, it is taken over.
            rx.update(&self.of.memory(), |memory| memory.last = 0);
        }
        done
    }

    async fn carry_out_locked(&self, rx: Rx, work: Use) -> Result<Option<u32>, Refusal> {
        if !self.has_defect(ServiceDefect::MemoryRefuses) {
            return self.try_update(rx, work, None).await;
        }
        let Some(offset) = self.work(rx, work).await else {
            return Ok(None);
        };
        let again = match work {
            Use::TakeAny => Use::TakeOrAny(offset),
            other => other,
        };
        match self.try_update(rx, again, Some(offset)).await? {
            None if work == Use::TakeAny => Err(Refusal::Failed("unable to allocate".to_owned())),
            done => Ok(done),
        }
    }

    /// Is it on?
    pub fn has_defect(&self, defect: ServiceDefect) -> bool {
        self.defects().has(defect)
    }

    /// What is on.
    pub fn defects(&self) -> Set<ServiceDefect> {
        self.defects
    }

    /// `Has`: as far as memory knows.
    pub async fn has(&self, rx: Rx, offset: u32) -> bool {
        let _lock = rx.lock(self.of.lock()).await;
        rx.look(&self.of.memory(), |memory| memory.taken.has(offset))
    }

    /// `tryUpdate`. What memory has `done` already is done again only if memory was behind.
    async fn try_update(
        &self,
        rx: Rx,
        work: Use,
        done: Option<u32>,
    ) -> Result<Option<u32>, Refusal> {
        let failed = |error| Refusal::Failed(self.interpret_update_error(error));
        let always = Preconditions::default();
        let key = self.of.key();
        let begun = self.storage.begin_update(rx, key, true, &always, None);
        let mut update = begun.await.map_err(failed)?;
        loop {
            let Some(existing) = update.current().map_err(failed)?.cloned() else {
                let resource = self.of.resource();
                let why = format!("cannot allocate resources of type {resource} at this time");
                return Err(Refusal::Failed(why));
            };
            let was_behind = self.catch_up(rx, &existing)?;
            let offset = match done.filter(|_| !was_behind) {
                Some(done) => done,
                None => match self.work(rx, work).await {
                    Some(offset) => offset,
                    None => return Ok(None),
                },
            };
            let taken = rx.update(&self.of.memory(), |memory| {
                memory.last = existing.resource_version;
                memory.taken.text()
            });
            let mut wanted = existing.json();
            json::set(&mut wanted, &["range"], &*self.range.spec);
            json::set(&mut wanted, &["data"], taken);
            let wanted = Ok(Updated::of(Object::new(wanted)));
            if update.offer(rx, wanted).await.map_err(failed)?.is_some() {
                return Ok(Some(offset));
            }
        }
    }

    /// Takes over what is stored, unless it is what the last use began with. Was it not?
    fn catch_up(&self, rx: Rx, existing: &Stored) -> Result<bool, Refusal> {
        let snapshot = snapshot(existing);
        let ours = snapshot.range == self.range.spec;
        rx.update(&self.of.memory(), |memory| {
            if memory.last == snapshot.revision
                || memory.last != 0
                    && mutant!(
                        "memory-is-not-refreshed",
                        "a server goes on with its own copy of a bitmap"
                    )
            {
                return Ok(false);
            }
            if !ours {
                let why = "the provided range does not match the current range";
                return Err(Refusal::Failed(why.to_owned()));
            }
            memory.taken = snapshot.taken;
            Ok(true)
        })
    }

    /// Changes memory.
    async fn work(&self, rx: Rx, work: Use) -> Option<u32> {
        let memory = self.of.memory();
        match work {
            Use::TakeOrAny(offset)
                if rx.update(&memory, |memory| memory.taken.allocate(offset)) =>
            {
                Some(offset)
            }
            Use::Take(offset)
                if mutant!(
                    "taken-is-given-again",
                    "an item that is asked for by name is given though it is taken"
                ) =>
            {
                rx.update(&memory, |memory| memory.taken.allocate(offset));
                Some(offset)
            }
            Use::Take(offset) => rx
                .update(&memory, |memory| memory.taken.allocate(offset))
                .then_some(offset),
            Use::Release(offset) => {
                rx.update(&memory, |memory| memory.taken.release(offset));
                Some(offset)
            }
            Use::TakeAny | Use::TakeOrAny(_) => {
                if rx.look(&memory, |memory| memory.taken.count()) >= self.range.size() {
                    return None;
                }
                let keep_first = self.of == Of::ClusterIps
                    && !self.has_defect(ServiceDefect::FirstAddressIsGivenAway);
                for part in self.range.parts(keep_first) {
                    let start = rx.choose((part.end - part.start).into()).await as u32;
                    let taken = rx.update(&memory, |memory| {
                        let free = memory.taken.free(&part, start)?;
                        memory.taken.allocate(free).then_some(free)
                    });
                    if taken.is_some() {
                        return taken;
                    }
                }
                None
            }
        }
    }

    /// `Get`: what is stored.
    ///
    /// # Errors
    /// What etcd said.
    pub async fn get(&self, rx: Rx) -> Result<Snapshot, String> {
        match self.storage.get(rx, self.of.key(), 0).await {
            Ok(stored) => Ok(snapshot(&stored)),
            Err(StoreError::NotFound) => Ok(Snapshot::default()),
            Err(error) => Err(self.interpret_update_error(error)),
        }
    }

    /// `CreateOrUpdate`: replaces what is stored, if it is still what was read; memory follows.
    ///
    /// # Errors
    /// A conflict, or a failure whose outcome may be unknown.
    pub async fn create_or_update(&self, rx: Rx, snapshot: Snapshot) -> Result<(), Status> {
        let _lock = rx.lock(self.of.lock()).await;
        let mut object = snapshot.object.clone();
        json::set(&mut object, &["apiVersion"], "v1");
        json::set(&mut object, &["kind"], "RangeAllocation");
        if object.get("metadata").is_none() {
            json::set(
                &mut object,
                &["metadata"],
                json!({"creationTimestamp": null}),
            );
        }
        json::set(&mut object, &["range"], &*snapshot.range);
        json::set(&mut object, &["data"], snapshot.taken.text());
        let object = Object::new(object);
        let conflict = |why: &str| {
            let resource = self.of.resource();
            let message = format!("Operation cannot be fulfilled on {resource} \"\": {why}");
            StoreError::from(Status::of(Reason::Conflict, message))
        };
        let always = Preconditions::default();
        let write = |existing: Option<&Stored>| match existing {
            Some(_) if snapshot.revision == 0 => Err(conflict(
                "another caller has already initialized the resource",
            )),
            Some(existing)
                if existing.resource_version != snapshot.revision
                    && !mutant!(
                        "repair-without-compare",
                        "the repair writes over what was allocated since it looked"
                    ) =>
            {
                Err(conflict("the provided resource version does not match"))
            }
            _ => Ok(Updated::of(object.clone())),
        };
        let key = self.of.key();
        let written = self
            .storage
            .guaranteed_update(rx, key, true, &always, write);
        written.await.map_err(|error| match error {
            StoreError::Status(status) => *status,
            error => Status::untyped(self.interpret_update_error(error)),
        })?;
        let taken = snapshot.taken.clone();
        rx.update(&self.of.memory(), |memory| {
            memory.taken = taken;
            let newer = mutant!(
                "repair-trusts-its-copy",
                "a repair takes what it wrote for the newest there is"
            );
            memory.last = snapshot.revision + u64::from(newer);
        });
        Ok(())
    }

    /// `InterpretUpdateError`
    fn interpret_update_error(&self, error: StoreError) -> String {
        match error {
            StoreError::Status(status) => status.message,
            StoreError::Etcd(error) => error.to_string(),
            other => unreachable!("a key that need not exist, without preconditions: {other:?}"),
        }
    }
}

fn snapshot(stored: &Stored) -> Snapshot {
    let object = stored.object.json();
    Snapshot {
        revision: stored.resource_version,
        range: json::text(object, &["range"]).into(),
        taken: Bitmap::parse(json::text(object, &["data"])).unwrap_or_default(),
        object: object.clone(),
    }
}
