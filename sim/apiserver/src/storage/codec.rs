//! How objects are written and read (`StorageConfig.Codec`). Those of the table are stored as they are served, unless
//! servers of several releases run; those whose type a definition makes are stored in one of its versions, and read as
//! another.

use std::hash::{Hash, Hasher};

use wavetank_api::apiextensions::{Conversion, CustomVersion};
use wavetank_api::json::{self, Json};
use wavetank_api::versions::stored;
use wavetank_api::{Object, Resource, Status, Stored};
use wavetank_engine::Rx;
use wavetank_etcd::KeyValue;
use wavetank_version::{Defect, Set, Version};

use crate::apiextensions::webhook_converter;
use crate::defects::ServerDefect;
use crate::gates;
use crate::options::StoreError;

pub(crate) const STORED_IN_NEWEST_VERSION: Defect = Defect::known(
    "stored-in-newest-version",
    "KEP-4330; k/k#108451 lists by hand what has to wait",
    "an apiserver stores objects in the newest version that it knows, although an older one still runs",
)
.fits_only(gates::STORED_AS_THE_OLDEST_KNOWS)
.shows_between_releases();

/// In which versions the servers of a cluster store and read objects of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StorageVersions {
    /// The release of this server.
    pub release: Version,
    /// `--min-compatibility-version`: the oldest release of a server beside it.
    pub min_compatibility: Version,
    /// Its known bugs and fixes.
    pub defects: Set<ServerDefect>,
}

/// The codec of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codec {
    resource: Option<&'static Resource>,
    versions: Option<StorageVersions>,
}

/// By hand: a codec that changes nothing says nothing.
impl Hash for Codec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(resource) = self.resource {
            resource.hash(state);
        }
        if let Some(versions) = self.versions {
            versions.hash(state);
        }
    }
}

impl Codec {
    /// Of what is stored as it is served.
    pub const PLAIN: Codec = Codec {
        resource: None,
        versions: None,
    };

    /// Of a resource; `versions` where there are servers of several releases.
    pub fn of(resource: &'static Resource, versions: Option<StorageVersions>) -> Codec {
        let versions = versions.filter(|of| stored::knows_hub(resource, of.release).is_some());
        let is_plain = versions.is_none() && resource.strategy.custom().is_none();
        Codec {
            resource: (!is_plain).then_some(resource),
            versions,
        }
    }

    /// The resource, if a definition makes its type.
    pub(super) fn custom_resource(self) -> Option<&'static Resource> {
        self.custom().and(self.resource)
    }

    fn custom(self) -> Option<&'static CustomVersion> {
        self.resource?.strategy.custom()
    }

    /// An object of the table as it is served.
    fn decode_in_versions(self, object: Object) -> Result<Object, StoreError> {
        let (Some(resource), Some(versions)) = (self.resource, self.versions) else {
            return Ok(object);
        };
        let decoded = stored::decode(resource, object.json(), versions.release).map_err(refused)?;
        Ok(decoded.map_or(object, Object::new))
    }

    /// The same as it is stored (`BackwardCompatibileStorageEncodingFor`).
    fn encode_in_versions(self, object: Object) -> Object {
        let (Some(resource), Some(versions)) = (self.resource, self.versions) else {
            return object;
        };
        let oldest = versions.min_compatibility;
        let Some(encoded) = stored::encode(resource, object.json(), oldest) else {
            return object;
        };
        let knows_newer = stored::knows_hub(resource, versions.release) == Some(true);
        match knows_newer && versions.defects.has(ServerDefect::StoredInNewestVersion) {
            true => object,
            false => Object::new(encoded),
        }
    }

    /// An object as it is served.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn decode(self, rx: Rx, object: Object) -> Result<Object, StoreError> {
        let Some(custom) = self.custom() else {
            return self.decode_in_versions(object);
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
            return Ok(self.encode_in_versions(object));
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
