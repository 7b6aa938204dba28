//! What Services may rely on. Each kind of promise has a file: `unique` is what is true of what is stored,
//! `quiet` what is true between requests, `refusals` what an answer is worth, `repair` what becomes of leaks
//! and of servers that start. `books` keeps up with who has what, `words` understands servers.
//!
//! How Services are allocated does not belong here: a property sees commits of etcd, what clients were
//! told, and the world.

mod books;
mod quiet;
mod refusals;
mod repair;
mod unique;
mod words;

pub use quiet::{NothingIsLeft, UsedIsAllocated};
pub use refusals::{FullMeansFull, TakenMeansTaken, trouble_is_not_invalid};
pub use repair::{
    StartCompletes, StrandedAllocations, kubernetes_is_there, range_full, repair_conflicted,
    repair_found_leak,
};
pub use unique::{KeepsItsAddress, Unique, in_range, kubernetes_is_first};

use wavetank_apiserver::HOOKS_DONE;
use wavetank_apiserver::services::gates::IP_ADDRESSES;
use wavetank_apiserver::services::{Block, ServiceRanges};
use wavetank_engine::{ProcId, World};
use wavetank_version::Version;

use crate::view::ClusterView;
use books::Item;

/// What the servers give to Services: all of them the same.
fn ranges(world: &World) -> Option<ServiceRanges> {
    let first = ClusterView(world).apiservers().next()?;
    first.1.config().services.clone()
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
    let blocks = ranges.cluster_ips.iter();
    let blocks = blocks.filter_map(|range| Block::of_addresses(range, release));
    let addresses = blocks.flat_map(|block| {
        let all = 0..block.size();
        all.map(move |offset| Item::Address(block.item(offset).into()))
    });
    let (first, count) = ranges.node_ports;
    let ports = (0..i64::from(count)).map(|offset| Item::Port(i64::from(first) + offset));
    addresses.chain(ports).collect()
}
