//! Reads types from a tree. serde_saphyr could do so itself, but it stops at the first
//! mistake and reports text; here a mistake is a value that says where and what.

use std::fmt::{self, Display};

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_saphyr::Location;

use super::path::{Path, Step};
use super::tree::{Entry, Node, Shape};

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub struct Error {
    /// What.
    pub kind: Kind,
    /// The steps from the place up to the root, as they are added on the way up.
    upwards: Vec<Step>,
}

/// What is wrong.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each says what its fields are")]
pub enum Kind {
    /// A key that is none here: these are.
    UnknownKey { key: String, known: Vec<String> },
    /// A key that is given a second time, there.
    Twice { key: String, again: Location },
    /// Keys that must be given in what is read as the type of that name.
    Missing {
        owner: &'static str,
        keys: Vec<String>,
    },
    /// A value that is none of these.
    UnknownValue { known: &'static [&'static str] },
    /// Something else was expected.
    Unfit { expected: String },
    /// A type's own words: what is wrong, and on a second line what would be right.
    Other(String),
}

impl Error {
    /// An error at a path.
    pub fn at(path: Path, kind: Kind) -> Self {
        Self {
            kind,
            upwards: path.0.into_iter().rev().collect(),
        }
    }

    /// The path of what is wrong.
    pub fn path(&self) -> Path {
        let path = Path(self.upwards.iter().rev().cloned().collect());
        match &self.kind {
            Kind::UnknownKey { key, .. } => path.key(key),
            _ => path,
        }
    }

    fn new(kind: Kind) -> Self {
        Self {
            kind,
            upwards: Vec::new(),
        }
    }

    /// The same, one step further down.
    pub fn inside(mut self, step: Step) -> Self {
        self.upwards.push(step);
        self
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.path(), self.kind)
    }
}

/// In short: what is read from a file is explained at length, with its place.
impl Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Kind::UnknownKey { key, .. } => write!(f, "unknown key `{key}`"),
            Kind::Twice { key, .. } => write!(f, "`{key}` is given twice"),
            Kind::Missing { keys, .. } => write!(f, "`{}` is missing", keys.join("`, `")),
            Kind::UnknownValue { known } => write!(f, "none of {}", known.join(", ")),
            Kind::Unfit { expected } => write!(f, "not what is expected there: {expected}"),
            Kind::Other(text) => f.write_str(text.lines().next().unwrap_or_default()),
        }
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(Kind::Other(message.to_string()))
    }

    fn invalid_type(_: Unexpected, expected: &dyn Expected) -> Self {
        Self::new(Kind::Unfit {
            expected: expected.to_string(),
        })
    }

    fn invalid_value(_: Unexpected, expected: &dyn Expected) -> Self {
        Self::new(Kind::Unfit {
            expected: expected.to_string(),
        })
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownValue { known })
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownKey {
            key: key.into(),
            known: known.iter().map(|&key| key.to_owned()).collect(),
        })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Kind::Missing {
            owner: "",
            keys: vec![key.into()],
        })
    }
}

impl Error {
    /// Serde names only the first missing key, and not of which type it is: that is said here, and `gather` names
    /// the others.
    fn missing_in(self, owner: &'static str) -> Error {
        match self.kind {
            Kind::Missing { keys, .. } if self.upwards.is_empty() => {
                Error::new(Kind::Missing { owner, keys })
            }
            _ => self,
        }
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.shape {
            Shape::Empty => visitor.visit_unit(),
            Shape::Bool(value) => visitor.visit_bool(*value),
            Shape::Natural(value) => visitor.visit_u64(*value),
            Shape::Negative(value) => visitor.visit_i64(*value),
            Shape::Float(value) => visitor.visit_f64(*value),
            Shape::Text(value) => visitor.visit_borrowed_str(value),
            Shape::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Shape::Map(entries) => visitor.visit_map(Entries {
                entries,
                value: None,
            }),
        }
    }

    /// An empty value is a mistake rather than nothing: whoever writes `stop:` wants
    /// something of it.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Serde would take a list for a struct's fields in their order; files should not.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if let Shape::List(_) = self.shape {
            return Err(de::Error::invalid_type(Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
            .map_err(|error| error.missing_in(name))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.shape {
            Shape::Text(name) => visitor.visit_enum(name.as_str().into_deserializer()),
            Shape::Map(entries) if entries.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries {
                    entries,
                    value: None,
                }))
            }
            _ => Err(Error::new(Kind::UnknownValue { known })),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The items of a list.
struct Items<'de> {
    items: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        while let Some(item) = self.items.get(self.next) {
            let step = Step::Item(self.next);
            self.next += 1;
            if !item.broken {
                return seed
                    .deserialize(item)
                    .map(Some)
                    .map_err(|error| error.inside(step));
            }
        }
        Ok(None)
    }
}

/// The entries of a mapping still to come, and the one whose key was just read.
struct Entries<'de> {
    entries: &'de [Entry],
    value: Option<&'de Entry>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        while let Some((entry, rest)) = self.entries.split_first() {
            self.entries = rest;
            if !entry.node.broken {
                self.value = Some(entry);
                return seed.deserialize(StrDeserializer::new(&entry.key)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let entry = self
            .value
            .take()
            .expect("serde asks for a key before its value");
        let step = || Step::Key(entry.key.clone());
        seed.deserialize(&entry.node)
            .map_err(|error| error.inside(step()))
    }
}
