//! The objects that hold the record of who leads (`resourcelock/`): one, or two while a cluster goes from one
//! kind to another (`MultiLock`). All but the first write of each is a PUT of what was read, so that etcd's
//! comparison of revisions decides between candidates.

use std::fmt;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{CONFIG_MAPS, ENDPOINTS, LEASES, Resource};
use wavetank_api::{Method, Reason, Request, Stored};
use wavetank_engine::{Name, mutant};
use wavetank_etcd::Key;
use wavetank_version::Version;

use super::candidate::Candidate;
use super::record::{ANNOTATION, Record, UNKNOWN};
use crate::leader_election::gates;
use crate::rest::Failure;

/// Where locks are.
const NAMESPACE: &str = "kube-system";

/// A lock: what candidates of one election agree on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lock {
    /// Its name (`--leader-elect-resource-name`, `LeaderElectionID` of controller-runtime), and that of the election.
    pub name: Name,
    /// What it is made of.
    pub kind: LockKind,
}

impl Lock {
    /// Where etcd holds its primary object.
    pub fn key(self) -> Key {
        self.kind.parts().0.key(NAMESPACE, self.name.as_str())
    }
}

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

    /// Of which its objects are.
    pub fn resources(self) -> impl Iterator<Item = &'static Resource> {
        let (primary, secondary) = self.parts();
        std::iter::once(primary).chain(secondary)
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

impl Lock {
    fn primary(self) -> Part {
        Part {
            number: 0,
            resource: self.kind.parts().0,
        }
    }

    fn secondary(self) -> Option<Part> {
        let resource = self.kind.parts().1?;
        let number = 1;
        Some(Part { number, resource })
    }
}

/// `Get`.
///
/// # Errors
/// See [`Unlocked`].
pub(super) async fn get(own: &Candidate) -> Result<Read, Unlocked> {
    let primary = get_part(own, own.lock.primary()).await?;
    let mut read = Read {
        raw: vec![primary.clone()],
        record: primary,
    };
    let Some(secondary) = own.lock.secondary() else {
        return Ok(read);
    };
    match get_part(own, secondary).await {
        Ok(secondary) => {
            if secondary.holder != read.record.holder
                && !mutant!(
                    "locks-disagree",
                    "of two locks that disagree the first one counts"
                )
            {
                read.record.holder = UNKNOWN.into();
                read.raw[0].holder = UNKNOWN.into();
            }
            read.raw.push(secondary);
            Ok(read)
        }
        // An old client holds it.
        Err(error)
            if error.is(Reason::NotFound)
                && read.record.holder != own.look(|elector| elector.identity.clone()) =>
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
pub(super) async fn create(own: &Candidate, record: &Record) -> Result<(), Unlocked> {
    let created = create_part(own, own.lock.primary(), record).await;
    let Some(secondary) = own.lock.secondary() else {
        return created;
    };
    match created {
        Err(error) if !error.is(Reason::AlreadyExists) => Err(error),
        _ => create_part(own, secondary, record).await,
    }
}

/// `Update`.
///
/// # Errors
/// See [`Unlocked`].
pub(super) async fn update(own: &Candidate, record: &Record) -> Result<(), Unlocked> {
    update_part(own, own.lock.primary(), record).await?;
    let Some(secondary) = own.lock.secondary() else {
        return Ok(());
    };
    match get_part(own, secondary).await {
        Err(error) if error.is(Reason::NotFound) => create_part(own, secondary, record).await,
        _ => update_part(own, secondary, record).await,
    }
}

async fn get_part(own: &Candidate, part: Part) -> Result<Record, Unlocked> {
    let path = part.resource.path(NAMESPACE, own.lock.name.as_str());
    let stored = ask(own, part, Request::new(Method::Get, path)).await?;
    Ok(Record::in_object(stored.object.json()).unwrap_or_default())
}

async fn create_part(own: &Candidate, part: Part, record: &Record) -> Result<(), Unlocked> {
    let resource = part.resource;
    let mut object = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": own.lock.name.as_str(), "namespace": NAMESPACE},
    });
    write(resource, &mut object, record);
    let post = Request::new(Method::Post, resource.path(NAMESPACE, "")).with(object);
    ask(own, part, post).await.map(|_| ())
}

async fn update_part(own: &Candidate, part: Part, record: &Record) -> Result<(), Unlocked> {
    let resource = part.resource;
    let known = own.look(|elector| elector.objects[part.number].clone());
    let mut object = known.ok_or(Unlocked::Unread)?.json();
    write(resource, &mut object, record);
    let put = Request::new(
        Method::Put,
        resource.path(NAMESPACE, own.lock.name.as_str()),
    )
    .with(object);
    ask(own, part, put).await.map(|_| ())
}

/// What the server answers is what the next update changes.
async fn ask(own: &Candidate, part: Part, request: Request) -> Result<Stored, Unlocked> {
    let answer = own
        .rest
        .object_within(own.rx, request, own.request_limit())
        .await;
    let known = match &answer {
        Ok(stored) => Some(stored.clone()),
        // `el.e, err = …`: with an error comes an empty object.
        Err(_) if !own.rest.release.has(gates::ERRORS_KEEP_THE_OBJECT) => None,
        Err(error) => return Err(Unlocked::Failed(error.clone())),
    };
    own.with(|elector| elector.objects[part.number] = known);
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
