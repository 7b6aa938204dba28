//! The release of Kubernetes that a scenario names: one of the table's.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use wavetank_releases::Release as Known;

/// A Kubernetes release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release(pub &'static Known);

/// The names, as serde wants them.
const NAMES: &[&str] = &{
    let mut names = [""; Known::TABLE.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Known::TABLE[at].name;
        at += 1;
    }
    names
};

impl Release {
    /// Its version.
    pub fn version(self) -> wavetank_version::Version {
        self.0.version
    }
}

impl Default for Release {
    fn default() -> Release {
        Release(Known::DEFAULT)
    }
}

impl Serialize for Release {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.name)
    }
}

/// As an enum of the names, so that a wrong one is refused as serde refuses it.
impl<'de> Deserialize<'de> for Release {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Release, D::Error> {
        from.deserialize_enum("Release", NAMES, OfEnum)
    }
}

struct OfEnum;

impl<'de> Visitor<'de> for OfEnum {
    type Value = Release;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("enum Release")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Release, A::Error> {
        let (Named(release), variant) = data.variant::<Named>()?;
        variant.unit_variant()?;
        Ok(release)
    }
}

/// A release as an identifier.
struct Named(Release);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Named, D::Error> {
        from.deserialize_identifier(OfName)
    }
}

struct OfName;

impl Visitor<'_> for OfName {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variant identifier")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Named, E> {
        let known = Known::named(name).map(|known| Named(Release(known)));
        known.ok_or_else(|| E::unknown_variant(name, NAMES))
    }
}

impl JsonSchema for Release {
    fn schema_name() -> Cow<'static, str> {
        "Release".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Known::TABLE.iter().map(|known| {
            json_schema!({
                "description": format!("Kubernetes {}.", known.name),
                "type": "string",
                "const": known.name,
            })
        });
        json_schema!({
            "description": "A Kubernetes release.",
            "oneOf": names.collect::<Vec<_>>(),
        })
    }
}
