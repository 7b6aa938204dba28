//! The connections of clients: one that all share, or one for each purpose. How calls use them does not belong here.

use std::sync::OnceLock;
use std::time::Duration;

use wavetank_engine::{Keepalive, Name, Transport};

/// kube-apiserver's connection to etcd: keep-alive 30 s with a limit of 10 s, dialling 20 s
/// (`apiserver/pkg/storage/storagebackend/factory/etcd3.go`).
pub static ETCD: Transport = Transport {
    name: Name::new("etcd"),
    dial_timeout: Duration::from_secs(20),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(30),
        limit: Duration::from_secs(10),
        idle: false,
    }),
    window: Some(64),
};

/// Whether a process has one connection to a member, or one for each of its clients.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Connections {
    /// All of its clients share one.
    #[default]
    Shared,
    /// Each client has its own, as those that kube-apiserver makes have.
    PerClient,
    /// The same without keep-alive: nobody notices that a connection is dead.
    PerClientUnchecked,
}

/// What a client is made for: a resource, or something else that has a client of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Purpose {
    name: &'static str,
    group: &'static str,
}

impl Purpose {
    /// A purpose of this name.
    pub const fn new(name: &'static str) -> Purpose {
        Purpose { name, group: "" }
    }

    /// The resource of this name in a group, which is empty for core.
    pub const fn resource(name: &'static str, group: &'static str) -> Purpose {
        Purpose { name, group }
    }

    fn text(self) -> String {
        match self.group {
            "" => format!("{}/{}", ETCD.name, self.name),
            group => format!("{}/{}.{group}", ETCD.name, self.name),
        }
    }
}

/// So many purposes there may be in one program.
const MOST: usize = 512;
/// The transports that were asked for, in the order in which they were first: nothing depends on the order, since
/// transports are told apart by their names.
static OF_PURPOSES: [OnceLock<OfPurpose>; MOST] = [const { OnceLock::new() }; MOST];

struct OfPurpose {
    purpose: Purpose,
    checked: Transport,
    unchecked: Transport,
}

/// The transport of the client with this purpose, for example `etcd/configmaps`. It is made when it is first
/// asked for, and lives as long as the program: custom kinds are not known before. Without keep-alive it is not
/// `checked`.
///
/// # Panics
/// If there are more than 512 purposes.
pub fn transport_for(purpose: Purpose, checked: bool) -> &'static Transport {
    let make = || {
        let name = Name::new(purpose.text().leak());
        OfPurpose {
            purpose,
            checked: Transport { name, ..ETCD },
            unchecked: Transport {
                name,
                keepalive: None,
                ..ETCD
            },
        }
    };
    let mut all = OF_PURPOSES.iter().map(|place| place.get_or_init(make));
    let found = all.find(|own| own.purpose == purpose);
    let found = found.expect("no program has so many kinds");
    match checked {
        true => &found.checked,
        false => &found.unchecked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_purpose_has_one_transport() {
        let of = |name, group| transport_for(Purpose::resource(name, group), true);
        let (jobs, others) = (of("jobs", "batch"), of("jobs", "example.com"));
        assert_eq!(jobs.name.as_str(), "etcd/jobs.batch");
        assert_eq!(of("health", "").name.as_str(), "etcd/health");
        assert!(std::ptr::eq(jobs, of("jobs", "batch")));
        assert_ne!(jobs, others);
        assert_ne!(*jobs, ETCD);
        let unchecked = transport_for(Purpose::resource("jobs", "batch"), false);
        assert_eq!(unchecked.name, jobs.name);
        assert!(unchecked.keepalive.is_none() && jobs.keepalive.is_some());
    }
}
