//! API objects: immutable and shared, with their digest beside them.
//!
//! The two kinds of the first slice are types of our own, with the fields that its algorithms
//! read; k8s-openapi's types arrive with the REST issue and take the place of [`Body`].

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use wavetank_engine::Payload;
use wavetank_etcd::{Revision, Value};

/// An object as it is stored: without a resourceVersion.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Object(Payload);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Content {
    meta: Meta,
    body: Body,
}

impl Value for Object {
    fn empty() -> Object {
        Object::new(Meta::default(), Body::Endpoints(Endpoints::default()))
    }
    /// Far below every limit, as the real ones are.
    fn size(&self) -> usize {
        1024
    }
    /// Kubernetes never compares values; the order is only a fixed one.
    fn order(&self, other: &Object) -> Ordering {
        format!("{self:?}").cmp(&format!("{other:?}"))
    }
}

/// The metadata that the algorithms read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Meta {
    /// `metadata.namespace`
    pub namespace: Arc<str>,
    /// `metadata.name`
    pub name: Arc<str>,
    /// `metadata.labels`, sorted.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// `metadata.generation`
    pub generation: u64,
}

/// What is particular to a kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// v1 Endpoints
    Endpoints(Endpoints),
    /// discovery.k8s.io EndpointSlice
    EndpointSlice(EndpointSlice),
}

/// `subsets` of an Endpoints.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Endpoints {
    /// The subsets.
    pub subsets: Vec<Subset>,
}

/// One subset.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Subset {
    /// Ready addresses.
    pub addresses: Vec<Arc<str>>,
    /// Ports.
    pub ports: Vec<Port>,
}

/// A port of a subset or slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Port {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub port: u16,
}

/// An EndpointSlice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EndpointSlice {
    /// IPv6, or IPv4.
    pub ipv6: bool,
    /// One address an endpoint.
    pub endpoints: Vec<Arc<str>>,
    /// Ports.
    pub ports: Vec<Port>,
}

impl Object {
    /// An object.
    pub fn new(meta: Meta, body: Body) -> Object {
        Object(Payload::new(Content { meta, body }))
    }

    fn content(&self) -> &Content {
        self.0.expect()
    }

    /// Its metadata.
    pub fn meta(&self) -> &Meta {
        &self.content().meta
    }

    /// What is particular to its kind.
    pub fn body(&self) -> &Body {
        &self.content().body
    }

    /// The Endpoints that it is.
    pub fn endpoints(&self) -> Option<&Endpoints> {
        match self.body() {
            Body::Endpoints(endpoints) => Some(endpoints),
            Body::EndpointSlice(_) => None,
        }
    }

    /// The EndpointSlice that it is.
    pub fn slice(&self) -> Option<&EndpointSlice> {
        match self.body() {
            Body::EndpointSlice(slice) => Some(slice),
            Body::Endpoints(_) => None,
        }
    }

    /// All addresses that it lists.
    pub fn addresses(&self) -> Vec<Arc<str>> {
        match self.body() {
            Body::Endpoints(endpoints) => {
                let all = endpoints.subsets.iter().flat_map(|s| &s.addresses);
                all.cloned().collect()
            }
            Body::EndpointSlice(slice) => slice.endpoints.clone(),
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An object as it is read: with the revision that wrote it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stored {
    /// The object.
    pub object: Object,
    /// `metadata.resourceVersion`
    pub resource_version: Revision,
}
