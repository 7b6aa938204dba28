//! How objects are written and read (`StorageConfig.Codec`). Those of the table are stored as they are served; those whose
//! type a definition makes are stored in one of its versions, and read as another.

use std::hash::{Hash, Hasher};

use wavetank_api::apiextensions::CustomVersion;
use wavetank_api::{Object, Resource, Status, Stored};
use wavetank_etcd::KeyValue;

use crate::options::StoreError;

/// The codec of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codec(Option<&'static Resource>);

/// By hand: a codec that changes nothing says nothing.
impl Hash for Codec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(resource) = self.0 {
            resource.hash(state);
        }
    }
}

impl Codec {
    /// Of what is stored as it is served.
    pub const PLAIN: Codec = Codec(None);

    /// Of a resource.
    pub fn of(resource: &'static Resource) -> Codec {
        Codec(resource.strategy.custom().map(|_| resource))
    }

    /// The resource, if a definition makes its type.
    pub(super) fn custom_resource(self) -> Option<&'static Resource> {
        self.0
    }

    fn custom(self) -> Option<&'static CustomVersion> {
        self.0?.strategy.custom()
    }

    /// An object as it is served.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn decode(self, object: Object) -> Result<Object, StoreError> {
        let Some(custom) = self.custom() else {
            return Ok(object);
        };
        let decoded = custom.decode(object.json());
        decoded.map(Object::new).map_err(refused)
    }

    /// An object as it is stored.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn encode(self, object: Object) -> Result<Object, StoreError> {
        let Some(custom) = self.custom() else {
            return Ok(object);
        };
        let encoded = custom.encode(object.json());
        encoded.map(Object::new).map_err(refused)
    }

    /// What is stored under a key.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn stored(self, kv: KeyValue<Object>) -> Result<Stored, StoreError> {
        Ok(Stored {
            object: self.decode(kv.value)?,
            resource_version: kv.mod_revision,
        })
    }
}

fn refused(why: String) -> StoreError {
    Status::untyped(why).into()
}
