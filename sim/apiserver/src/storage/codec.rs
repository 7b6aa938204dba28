//! How objects are written and read (`StorageConfig.Codec`). Those of the table are stored as they are served; those whose
//! type a definition makes are stored in one of its versions, and read as another.

use std::hash::{Hash, Hasher};

use wavetank_api::apiextensions::{Conversion, CustomVersion};
use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Resource, Status, Stored};
use wavetank_engine::Rx;
use wavetank_etcd::KeyValue;

use crate::apiextensions::webhook_converter;
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
    pub async fn decode(self, rx: Rx, object: Object) -> Result<Object, StoreError> {
        let Some(custom) = self.custom() else {
            return Ok(object);
        };
        let decoded = custom.decode(object.json()).map_err(refused)?;
        let decoded = converted(rx, custom, decoded).await.map_err(refused)?;
        Ok(Object::new(decoded))
    }

    /// An object as it is stored.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn encode(self, rx: Rx, object: Object) -> Result<Object, StoreError> {
        let Some(custom) = self.custom() else {
            return Ok(object);
        };
        let encoded = custom.encode(object.json()).map_err(refused)?;
        let mut encoded = converted(rx, custom, encoded).await.map_err(refused)?;
        json::go_numbers(&mut encoded);
        Ok(Object::new(encoded))
    }

    /// What is stored under a key.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn stored(self, rx: Rx, kv: KeyValue<Object>) -> Result<Stored, StoreError> {
        Ok(Stored {
            object: self.decode(rx, kv.value).await?,
            resource_version: kv.mod_revision,
        })
    }
}

/// What becomes of it, by a webhook where one is to be asked.
async fn converted(
    rx: Rx,
    custom: &'static CustomVersion,
    conversion: Conversion,
) -> Result<Json, String> {
    match conversion {
        Conversion::Done(object) => Ok(object),
        Conversion::ByWebhook(asked) => {
            let converted = webhook_converter::convert(rx, custom, &asked).await?;
            custom.prune_converted(converted)
        }
    }
}

fn refused(why: String) -> StoreError {
    Status::untyped(why).into()
}
