//! Clients that use etcd itself: they read, write, compact, watch and hold leases.

use wavetank_actors::{EtcdUser, etcd_user};
use wavetank_api::{Object, Resource};
use wavetank_component::{Component, Hit, Load, Need, Replicas, Setup, Spec, Wiring};
use wavetank_engine::{FaultKind, NotState};

use crate::etcd;

/// Its name.
pub const NAME: &str = "etcd-clients";
/// The key of their number.
pub const KEY: &str = "etcd-clients";
/// How many watches each of them keeps.
const WATCHES: u32 = 1;

/// Clients of etcd.
#[derive(Clone, Copy, Debug)]
pub struct EtcdClients;

/// An object that is told from others by its name only.
fn numbered(number: u64) -> Object {
    Object::new(serde_json::json!({"metadata": {"name": number.to_string()}}))
}

impl Component for EtcdClients {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "clients that use etcd itself"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that use etcd itself, named u1, u2 and so on.";
        Some(Replicas::counted(KEY, "u", about))
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(KEY) > 0,
            lacking: "there are no clients of etcd to operate",
            add: "`etcd-clients: 3` to `topology`",
        };
        let about = "Clients of etcd read, write, compact, and hold leases.";
        vec![Load {
            never: "clients of etcd cannot begin an operation every 0s",
            ..Load::command("etcd-operations", "operate", about, need)
        }]
    }

    fn build(&self, _: &Setup, wiring: &mut Wiring) {
        for name in wiring.names(NAME) {
            let config = etcd_user::Config {
                members: wiring.ids(etcd::NAME),
                watches: WATCHES,
                value: NotState(numbered),
            };
            wiring.process(name, EtcdUser::new(config));
        }
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn hit(&self, _: &Setup, _: FaultKind, _: u32) -> Option<Hit> {
        None
    }
}
