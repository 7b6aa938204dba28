//! The Endpoints and EndpointSlice default/kubernetes through the loopback client:
//! `reconcilers/endpointsadapter.go`.

use std::sync::Arc;

use wavetank_apiserver::{
    Answer, Body, EndpointSlice, Endpoints, LoopbackError, Meta, Object, Port, Reason, Request,
    Resource, Subset, Verb,
};
use wavetank_engine::Rx;
use wavetank_etcd::Revision;
use wavetank_release::Release;

use super::ReconcileError;
use crate::bootstrap::Bootstrap;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The Endpoints as read, to be changed and written back.
#[derive(Clone, Debug)]
pub struct Current {
    labels: Vec<(Arc<str>, Arc<str>)>,
    /// Its subsets.
    pub subsets: Vec<Subset>,
    /// The revision at which it was read; 0 if there was none.
    pub resource_version: Revision,
}

impl Current {
    /// There is none yet.
    pub fn absent() -> Current {
        Current {
            labels: Vec::new(),
            subsets: Vec::new(),
            resource_version: 0,
        }
    }

    /// `setSkipMirrorTrue`: did it change anything?
    pub fn set_skip_mirror(&mut self) -> bool {
        let wanted: (Arc<str>, Arc<str>) = (SKIP_MIRROR.into(), "true".into());
        if self.labels.contains(&wanted) {
            return false;
        }
        self.labels.retain(|(key, _)| **key != *SKIP_MIRROR);
        self.labels.push(wanted);
        true
    }

    fn object(&self) -> Object {
        let meta = Meta {
            namespace: NAMESPACE.into(),
            name: NAME.into(),
            labels: self.labels.clone(),
            generation: 0,
        };
        let subsets = self.subsets.clone();
        Object::new(meta, Body::Endpoints(Endpoints { subsets }))
    }
}

/// The port of every apiserver.
pub fn ports() -> Vec<Port> {
    vec![Port {
        name: "https".into(),
        port: 6443,
    }]
}

/// `RepackSubsets`, as far as one subset needs it: no address twice, no subset without addresses.
pub fn repack(mut subsets: Vec<Subset>) -> Vec<Subset> {
    for subset in &mut subsets {
        subset.addresses.sort();
        subset.addresses.dedup();
    }
    subsets.retain(|subset| !subset.addresses.is_empty());
    subsets
}

async fn request(
    rx: Rx,
    me: &Bootstrap,
    resource: Resource,
    verb: Verb,
) -> Result<Answer, LoopbackError> {
    let request = Request::Api {
        verb,
        resource,
        namespace: NAMESPACE.into(),
        name: NAME.into(),
    };
    me.server.loopback().request(rx, request).await
}

/// GET
pub async fn get(rx: Rx, me: &Bootstrap) -> Result<Current, LoopbackError> {
    match request(rx, me, Resource::Endpoints, Verb::Get).await? {
        Answer::One(stored) => Ok(Current {
            labels: stored.object.meta().labels.clone(),
            subsets: match stored.object.endpoints() {
                Some(endpoints) => endpoints.subsets.clone(),
                None => Vec::new(),
            },
            resource_version: stored.resource_version,
        }),
        other => unreachable!("{other:?}"),
    }
}

/// POST. If somebody else was faster that is success, and the slice is left to them.
pub async fn create(rx: Rx, me: &Bootstrap, current: &Current) -> Result<Revision, ReconcileError> {
    let verb = Verb::Create(current.object());
    match request(rx, me, Resource::Endpoints, verb).await {
        Ok(answer) => written(rx, me, current, &answer).await,
        Err(error) if error.is(Reason::AlreadyExists) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// PUT with the resourceVersion that was read.
pub async fn update(rx: Rx, me: &Bootstrap, current: &Current) -> Result<Revision, ReconcileError> {
    let verb = Verb::Update(current.object(), Some(current.resource_version));
    let answer = request(rx, me, Resource::Endpoints, verb).await?;
    written(rx, me, current, &answer).await
}

/// PUT without a resourceVersion, whatever is there.
pub async fn overwrite(
    rx: Rx,
    me: &Bootstrap,
    current: &Current,
) -> Result<Revision, ReconcileError> {
    let verb = Verb::Update(current.object(), None);
    let answer = request(rx, me, Resource::Endpoints, verb).await?;
    written(rx, me, current, &answer).await
}

/// After every successful write the slice follows.
async fn written(
    rx: Rx,
    me: &Bootstrap,
    current: &Current,
    answer: &Answer,
) -> Result<Revision, ReconcileError> {
    let Answer::One(stored) = answer else {
        unreachable!("{answer:?}")
    };
    ensure_slice(rx, me, &current.subsets).await?;
    Ok(stored.resource_version)
}

/// `EnsureEndpointSliceFromEndpoints` (v1.20, v1.36): from the first subset, unconditionally.
pub async fn ensure_slice(
    rx: Rx,
    me: &Bootstrap,
    subsets: &[Subset],
) -> Result<(), ReconcileError> {
    if me.server.release == Release::V1_16 {
        return Ok(());
    }
    let wanted = slice_of(subsets);
    let current = match request(rx, me, Resource::EndpointSlices, Verb::Get).await {
        Ok(Answer::One(stored)) => stored,
        Ok(other) => unreachable!("{other:?}"),
        Err(error) if error.is(Reason::NotFound) => {
            let create = Verb::Create(wanted);
            return match request(rx, me, Resource::EndpointSlices, create).await {
                Err(error) if !error.is(Reason::AlreadyExists) => Err(error.into()),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(error.into()),
    };
    let ipv6 = |object: &Object| object.slice().is_some_and(|slice| slice.ipv6);
    if ipv6(&current.object) != ipv6(&wanted) {
        request(rx, me, Resource::EndpointSlices, Verb::Delete).await?;
        request(rx, me, Resource::EndpointSlices, Verb::Create(wanted)).await?;
        return Ok(());
    }
    if current.object == wanted {
        return Ok(());
    }
    let update = Verb::Update(wanted, None);
    request(rx, me, Resource::EndpointSlices, update).await?;
    Ok(())
}

fn slice_of(subsets: &[Subset]) -> Object {
    let first = subsets.first().cloned().unwrap_or_default();
    let ipv6 = !first.addresses.is_empty() && first.addresses.iter().all(|a| a.contains(':'));
    let meta = Meta {
        namespace: NAMESPACE.into(),
        name: NAME.into(),
        labels: vec![(SERVICE_NAME.into(), NAME.into())],
        generation: 0,
    };
    let slice = EndpointSlice {
        ipv6,
        endpoints: first.addresses,
        ports: first.ports,
    };
    Object::new(meta, Body::EndpointSlice(slice))
}
