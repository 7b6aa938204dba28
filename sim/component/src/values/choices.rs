//! One value, or a list of which each seed draws one.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Wrong;

/// The values of which each seed draws one; never empty when read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices<T>(Vec<T>);

impl<T> Choices<T> {
    /// Always this value.
    pub fn only(value: T) -> Self {
        Self(vec![value])
    }

    /// The values, in the order of the file.
    pub fn values(&self) -> &[T] {
        &self.0
    }
}

impl<T: Default> Default for Choices<T> {
    fn default() -> Self {
        Self::only(T::default())
    }
}

impl<T: Serialize> Serialize for Choices<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [only] => only.serialize(to),
            several => several.serialize(to),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choices<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ChoicesVisitor(PhantomData))
    }
}

struct ChoicesVisitor<T>(PhantomData<T>);

/// Hands a single value on to the type of the choices.
macro_rules! single {
    ($($visit:ident: $from:ty),*) => {$(
        fn $visit<E: de::Error>(self, value: $from) -> Result<Choices<T>, E> {
            T::deserialize(value.into_deserializer()).map(Choices::only)
        }
    )*};
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ChoicesVisitor<T> {
    type Value = Choices<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    single!(visit_str: &str, visit_u64: u64, visit_i64: i64, visit_f64: f64, visit_bool: bool);

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Choices<T>, A::Error> {
        let values = Vec::deserialize(SeqAccessDeserializer::new(list))?;
        if values.is_empty() {
            return Err(Wrong::new(
                "nothing to choose from",
                "give at least one value, or leave the key out",
            )
            .into_error());
        }
        Ok(Choices(values))
    }
}

impl<T: JsonSchema> JsonSchema for Choices<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ChoicesOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
    }
}
