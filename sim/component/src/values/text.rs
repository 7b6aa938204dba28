//! Values that a scenario file writes as one short text, such as `10s` or `5s..40s`.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::marker::PhantomData;

use schemars::{Schema, json_schema};
use serde::de::{self, Deserializer, Visitor};

/// Why a text is not a value, and what would be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl Wrong {
    /// What is wrong, and what would be right.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
        }
    }

    /// Passes through serde as two lines, since its errors are mere text.
    pub fn into_error<E: de::Error>(self) -> E {
        E::custom(format_args!("{}\n{}", self.message, self.help))
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

impl std::error::Error for Wrong {}

/// A value with a text form of its own.
pub trait Written: Display + Sized {
    /// What it is called, for example "duration".
    fn name() -> Cow<'static, str>;

    /// A regular expression for the text form, without anchors.
    fn pattern() -> String;

    /// How to write it, with examples.
    fn examples() -> String;

    /// Reads the text form.
    fn read(text: &str) -> Result<Self, Wrong>;
}

/// Describes the text form to an editor.
pub fn schema<T: Written>() -> Schema {
    json_schema!({
        "type": "string",
        "pattern": format!("^{}$", T::pattern()),
        "description": format!("A {}: {}.", T::name(), T::examples()),
    })
}

/// Reads a text form through serde. Numbers are taken as their text, so that a duration
/// without a unit is told so rather than "invalid type".
pub fn deserialize<'de, T: Written, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(TextVisitor(PhantomData))
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a {}: {}", T::name(), T::examples())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(Wrong::into_error)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}
