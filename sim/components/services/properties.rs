//! What Services may rely on. Each kind of promise has a file: `unique` is what is true of what is stored,
//! `quiet` what is true between requests, `refusals` what an answer is worth, `repair` what becomes of leaks
//! and of servers that start, `rounds` what single rounds of a repair may do. `books` keeps up with who has what, `words` understands servers.
//!
//! How Services are allocated does not belong here: a property sees commits of etcd, what clients were
//! told, and the world.

mod books;
mod messages;
mod quiet;
mod refusals;
mod repair;
mod rounds;
mod unique;

use quiet::{NothingIsLeft, UsedIsAllocated};
use refusals::{FullMeansFull, TakenMeansTaken, trouble_is_not_invalid};
use repair::{
    StartCompletes, StrandedAllocations, kubernetes_is_there, range_full, repair_conflicted,
    repair_found_leak,
};
use rounds::{LeaksAreCounted, RepairsAreNeeded};
use unique::{KeepsItsAddress, Unique, in_range, kubernetes_is_first};

use crate::services::allocators::{ItemRange, ServiceRanges};
use crate::services::gates::IP_ADDRESSES;
use wavetank_apiserver::HOOKS_DONE;
use wavetank_component::{Entry, Need, PropertyInfo};
use wavetank_engine::{ProcId, World};
use wavetank_version::Version;

use crate::promises::always;
use crate::view::ClusterView;
use books::Item;

/// Somebody has to use Services.
const USED: [Entry; 2] = [
    Entry::new("topology", "service-writers", "4"),
    Entry::new("workload", "services", "{every: 1s}"),
];

/// All of them, where this is there.
pub(super) fn all(need: Need) -> Vec<PropertyInfo> {
    let all = vec![
        PropertyInfo::new(
            "cluster-ips-are-unique",
            "no two Services have the same cluster address",
            need,
            |_| Box::new(Unique::addresses()),
        ),
        PropertyInfo::new(
            "node-ports-are-unique",
            "no two Services have the same node port; one may use it for two protocols",
            need,
            |_| Box::new(Unique::ports()),
        ),
        PropertyInfo::new(
            "allocations-are-in-range",
            "addresses and ports of Services are in the ranges of the servers",
            need,
            |_| Box::new(always("allocations-are-in-range", in_range)),
        ),
        PropertyInfo::new(
            "service-keeps-its-address",
            "a Service keeps the address that its client was told until it is deleted or gives it up",
            need,
            |_| Box::new(KeepsItsAddress::default()),
        ),
        PropertyInfo::new(
            "kubernetes-keeps-the-first-address",
            "the Service default/kubernetes has the first address, and no other has",
            need,
            |_| {
                Box::new(always(
                    "kubernetes-keeps-the-first-address",
                    kubernetes_is_first,
                ))
            },
        ),
        PropertyInfo::new(
            "kubernetes-gets-the-first-address",
            "some time after calm the Service default/kubernetes is there",
            need,
            |_| Box::new(kubernetes_is_there()),
        ),
        PropertyInfo::new(
            "used-is-allocated",
            "between requests all that Services have is allocated",
            need,
            |_| Box::new(UsedIsAllocated::default()),
        ),
        PropertyInfo::new(
            "refused-leaves-no-trace",
            "a request that is refused leaves nothing allocated, unless etcd or a server had trouble",
            need,
            |_| Box::new(NothingIsLeft::by_refused()),
        ),
        PropertyInfo::new(
            "service-gives-up-all",
            "what a Service loses or leaves behind is free, unless etcd or a server had trouble",
            need,
            |_| Box::new(NothingIsLeft::by_services()),
        ),
        PropertyInfo::new(
            "leaks-are-repaired",
            "some time after calm nothing is allocated that no Service has",
            need,
            |_| Box::new(StrandedAllocations::default()),
        ),
        PropertyInfo::new(
            "leaks-are-freed-in-time",
            "a repair loop of a bitmap frees what has leaked when it sees it for the third time",
            need,
            |_| Box::new(LeaksAreCounted::default()),
        ),
        PropertyInfo::new(
            "repair-allocates-what-is-used",
            "a repair loop of a bitmap allocates nothing but what a Service had without an allocation",
            need,
            |_| Box::new(RepairsAreNeeded::default()),
        ),
        PropertyInfo::new(
            "taken-means-taken",
            "what a server calls allocated was allocated at some time since it was asked for",
            need,
            |_| Box::new(TakenMeansTaken::default()),
        ),
        PropertyInfo::new(
            "allocation-succeeds-while-free",
            "who is told that the range is full was told so while nothing stayed free",
            need,
            |_| Box::new(FullMeansFull::default()),
        ),
        PropertyInfo::new(
            "trouble-is-not-invalid",
            "a request that fails because of etcd is not refused as invalid",
            need,
            |_| Box::new(always("trouble-is-not-invalid", trouble_is_not_invalid)),
        ),
        PropertyInfo::new(
            "start-completes",
            "an apiserver gets through its start, however busy others are",
            need,
            |_| Box::new(StartCompletes::default()),
        ),
        PropertyInfo::new(
            "range-was-full",
            "a Service was refused because everything was taken",
            need,
            |_| Box::new(range_full()),
        ),
        PropertyInfo::new(
            "leak-was-cleaned-up",
            "a repair loop freed what had leaked",
            need,
            |_| Box::new(repair_found_leak()),
        ),
        PropertyInfo::new(
            "repair-gave-up",
            "a repair loop met other writers until it gave a round up",
            need,
            |_| Box::new(repair_conflicted()),
        ),
    ];
    all.into_iter().map(|info| info.tested_by(&USED)).collect()
}

/// What the servers give to Services: all of them the same.
fn ranges(world: &World) -> Option<ServiceRanges> {
    let first = ClusterView(world).apiservers().next()?;
    first.1.hooks().first()?.services.as_deref().cloned()
}

/// The address of the Service `kubernetes`.
fn first_address(world: &World) -> Option<String> {
    ranges(world)?.first_address()
}

/// The release of a server.
fn release(world: &World, server: ProcId) -> Option<Version> {
    let mut all = ClusterView(world).apiservers();
    let found = all.find(|(process, _)| *process == server)?;
    Some(found.1.config().release)
}

/// Has this server got through its start?
fn is_ready(world: &World, server: ProcId) -> bool {
    let mut all = ClusterView(world).apiservers();
    let found = all.find(|(process, _)| *process == server);
    found.is_some_and(|(_, state)| world.cell(server, &HOOKS_DONE) >= state.config().hooks)
}

/// Does this server allocate addresses as objects?
fn allocates_objects(world: &World, server: ProcId) -> bool {
    release(world, server).is_some_and(|release| release.has(IP_ADDRESSES))
}

/// All that this server has to give.
fn all_items(world: &World, server: ProcId) -> Vec<Item> {
    let (Some(ranges), Some(release)) = (ranges(world), release(world, server)) else {
        return Vec::new();
    };
    let of_addresses = ranges.cluster_ips.iter();
    let of_addresses = of_addresses.filter_map(|range| ItemRange::of_addresses(range, release));
    let addresses = of_addresses.flat_map(|range| {
        let all = 0..range.size();
        all.map(move |offset| Item::Address(range.item(offset).into()))
    });
    let (first, count) = ranges.node_ports;
    let ports = (0..i64::from(count)).map(|offset| Item::Port(i64::from(first) + offset));
    addresses.chain(ports).collect()
}
