//! The objects that hold the record of who leads (`resourcelock/`): one, or two while a cluster goes from one
//! kind to another (`MultiLock`). All but the first write of each is a PUT of what was read, so that etcd's
//! comparison of revisions decides between candidates.

use std::fmt;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{CONFIG_MAPS, ENDPOINTS, LEASES, Resource};
use wavetank_api::{Method, Reason, Request, Stored};
use wavetank_engine::Rx;
use wavetank_etcd::Key;
use wavetank_version::Version;

use super::record::{ANNOTATION, Record, UNKNOWN};
use super::{ELECTOR, Election};
use crate::leader_election::gates;
use crate::rest::Failure;

/// Where the lock of kube-controller-manager is.
const NAMESPACE: &str = "kube-system";
const NAME: &str = "kube-controller-manager";

/// What the lock is made of (`--leader-elect-resource-lock`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockKind {
    /// `endpoints`
    Endpoints,
    /// `configmaps`
    ConfigMaps,
    /// `leases`
    Leases,
    /// `endpointsleases`
    EndpointsLeases,
    /// `configmapsleases`
    ConfigMapsLeases,
}

impl LockKind {
    /// All of them.
    pub const ALL: [LockKind; 5] = [
        LockKind::Endpoints,
        LockKind::ConfigMaps,
        LockKind::Leases,
        LockKind::EndpointsLeases,
        LockKind::ConfigMapsLeases,
    ];

    /// What kube-controller-manager uses by default (`controller-manager/config`).
    pub fn of(release: Version) -> LockKind {
        match release.has(gates::LEASES_BY_DEFAULT) {
            true => LockKind::Leases,
            false => LockKind::Endpoints,
        }
    }

    /// Does `resourcelock.New` of this release know it?
    pub fn fits(self, release: Version) -> bool {
        match self {
            LockKind::Leases => true,
            LockKind::Endpoints | LockKind::ConfigMaps => release.has(gates::ENDPOINTS_LOCKS),
            LockKind::EndpointsLeases | LockKind::ConfigMapsLeases => {
                release.has(gates::MULTI_LOCKS)
            }
        }
    }

    /// Its objects: the primary one, and the secondary one if there is one.
    fn parts(self) -> (&'static Resource, Option<&'static Resource>) {
        match self {
            LockKind::Endpoints => (&ENDPOINTS, None),
            LockKind::ConfigMaps => (&CONFIG_MAPS, None),
            LockKind::Leases => (&LEASES, None),
            LockKind::EndpointsLeases => (&ENDPOINTS, Some(&LEASES)),
            LockKind::ConfigMapsLeases => (&CONFIG_MAPS, Some(&LEASES)),
        }
    }

    /// Where etcd holds the primary one.
    pub fn key(self) -> Key {
        self.parts().0.key(NAMESPACE, NAME)
    }
}

/// Why a lock could not be read or written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Unlocked {
    /// The request failed.
    Failed(Failure),
    /// It was never read, or (v1.16) the last that was heard of it was an error: there is nothing to update.
    Unread,
}

impl fmt::Display for Unlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unlocked::Failed(failure) => failure.fmt(f),
            Unlocked::Unread => f.write_str("it has not been read"),
        }
    }
}

impl Unlocked {
    /// Did the server say this?
    pub fn is(&self, reason: Reason) -> bool {
        matches!(self, Unlocked::Failed(Failure::Status(status)) if status.is(reason))
    }
}

/// What was read: the record, and all that was compared to tell whether it has changed.
pub(super) struct Read {
    pub record: Record,
    pub raw: Vec<Record>,
}

/// One of the objects.
#[derive(Clone, Copy)]
struct Part {
    number: usize,
    resource: &'static Resource,
}

impl Election {
    fn primary(&self) -> Part {
        Part {
            number: 0,
            resource: self.lock.parts().0,
        }
    }

    fn secondary(&self) -> Option<Part> {
        let resource = self.lock.parts().1?;
        let number = 1;
        Some(Part { number, resource })
    }
}

/// `Get`.
///
/// # Errors
/// See [`Unlocked`].
pub(super) async fn get(rx: Rx, own: &Election) -> Result<Read, Unlocked> {
    let primary = get_part(rx, own, own.primary()).await?;
    let mut read = Read {
        raw: vec![primary.clone()],
        record: primary,
    };
    let Some(secondary) = own.secondary() else {
        return Ok(read);
    };
    match get_part(rx, own, secondary).await {
        Ok(secondary) => {
            if secondary.holder != read.record.holder {
                read.record.holder = UNKNOWN.into();
                read.raw[0].holder = UNKNOWN.into();
            }
            read.raw.push(secondary);
            Ok(read)
        }
        // An old client holds it.
        Err(error)
            if error.is(Reason::NotFound)
                && read.record.holder != rx.look(&ELECTOR, |e| e.identity.clone()) =>
        {
            Ok(read)
        }
        Err(error) => Err(error),
    }
}

/// `Create`.
///
/// # Errors
/// See [`Unlocked`].
pub(super) async fn create(rx: Rx, own: &Election, record: &Record) -> Result<(), Unlocked> {
    let created = create_part(rx, own, own.primary(), record).await;
    let Some(secondary) = own.secondary() else {
        return created;
    };
    match created {
        Err(error) if !error.is(Reason::AlreadyExists) => Err(error),
        _ => create_part(rx, own, secondary, record).await,
    }
}

/// `Update`.
///
/// # Errors
/// See [`Unlocked`].
pub(super) async fn update(rx: Rx, own: &Election, record: &Record) -> Result<(), Unlocked> {
    update_part(rx, own, own.primary(), record).await?;
    let Some(secondary) = own.secondary() else {
        return Ok(());
    };
    match get_part(rx, own, secondary).await {
        Err(error) if error.is(Reason::NotFound) => create_part(rx, own, secondary, record).await,
        _ => update_part(rx, own, secondary, record).await,
    }
}

async fn get_part(rx: Rx, own: &Election, part: Part) -> Result<Record, Unlocked> {
    let path = part.resource.path(NAMESPACE, NAME);
    let stored = ask(rx, own, part, Request::new(Method::Get, path)).await?;
    Ok(Record::in_object(stored.object.json()).unwrap_or_default())
}

async fn create_part(rx: Rx, own: &Election, part: Part, record: &Record) -> Result<(), Unlocked> {
    let resource = part.resource;
    let mut object = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": NAME, "namespace": NAMESPACE},
    });
    write(resource, &mut object, record);
    let post = Request::new(Method::Post, resource.path(NAMESPACE, "")).with(object);
    ask(rx, own, part, post).await.map(|_| ())
}

async fn update_part(rx: Rx, own: &Election, part: Part, record: &Record) -> Result<(), Unlocked> {
    let resource = part.resource;
    let known = rx.look(&ELECTOR, |elector| elector.objects[part.number].clone());
    let mut object = known.ok_or(Unlocked::Unread)?.json();
    write(resource, &mut object, record);
    let put = Request::new(Method::Put, resource.path(NAMESPACE, NAME)).with(object);
    ask(rx, own, part, put).await.map(|_| ())
}

/// What the server answers is what the next update changes.
async fn ask(rx: Rx, own: &Election, part: Part, request: Request) -> Result<Stored, Unlocked> {
    let answer = own
        .rest
        .object_within(rx, request, own.request_limit())
        .await;
    let known = match &answer {
        Ok(stored) => Some(stored.clone()),
        // `el.e, err = …`: with an error comes an empty object.
        Err(_) if !own.rest.release.has(gates::ERRORS_KEEP_THE_OBJECT) => None,
        Err(error) => return Err(Unlocked::Failed(error.clone())),
    };
    rx.update(&ELECTOR, |elector| elector.objects[part.number] = known);
    answer.map_err(Unlocked::Failed)
}

fn write(resource: &Resource, object: &mut Json, record: &Record) {
    if resource.kind == LEASES.kind {
        json::set(object, &["spec"], record.to_spec());
    } else {
        let path = ["metadata", "annotations", ANNOTATION];
        json::set(object, &path, record.to_text());
    }
}
