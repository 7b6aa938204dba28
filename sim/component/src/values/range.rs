//! Ranges, written `5s..40s`; a single `5s` stands for itself.

use std::borrow::Cow;
use std::fmt::{self, Display};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text::{self, Written, Wrong};

/// The values from `low` to `high`, both included; never empty when read from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range<T> {
    /// The smallest value.
    pub low: T,
    /// The largest value.
    pub high: T,
}

impl<T> Range<T> {
    /// The values from `low` to `high`, both included.
    pub const fn new(low: T, high: T) -> Self {
        Self { low, high }
    }
}

impl<T: Display + PartialEq> Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.low == self.high {
            return self.low.fmt(f);
        }
        write!(f, "{}..{}", self.low, self.high)
    }
}

impl<T: Written + Clone + PartialOrd> Written for Range<T> {
    fn name() -> Cow<'static, str> {
        format!("range of {}s", T::name()).into()
    }

    fn pattern() -> String {
        format!(r"{0}(\.\.{0})?", T::pattern())
    }

    fn examples() -> String {
        format!(
            "`low..high`, both included, or one value; each {}",
            T::examples()
        )
    }

    fn read(text: &str) -> Result<Self, Wrong> {
        let Some((low, high)) = text.split_once("..") else {
            let only = T::read(text)?;
            return Ok(Self::new(only.clone(), only));
        };
        if low.is_empty() || high.is_empty() {
            let message = format!("the range `{text}` needs two ends");
            return Err(Wrong::new(message, format!("write {}", Self::examples())));
        }
        let (from, to) = (T::read(low)?, T::read(high)?);
        if from > to {
            let message = format!("the range `{text}` is empty: it ends before it begins");
            return Err(Wrong::new(
                message,
                format!("did you mean `{high}..{low}`?"),
            ));
        }
        Ok(Self::new(from, to))
    }
}

impl Written for u32 {
    fn name() -> Cow<'static, str> {
        "whole number".into()
    }

    fn pattern() -> String {
        "[0-9]+".into()
    }

    fn examples() -> String {
        "a whole number such as `10`".into()
    }

    fn read(text: &str) -> Result<Self, Wrong> {
        let wrong = |_| {
            Wrong::new(
                format!("`{text}` is not a whole number"),
                format!("write {}", Self::examples()),
            )
        };
        text.parse().map_err(wrong)
    }
}

impl<T: Display + PartialEq> Serialize for Range<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de, T: Written + Clone + PartialOrd> Deserialize<'de> for Range<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::deserialize(from)
    }
}

impl<T: Written + Clone + PartialOrd + JsonSchema> JsonSchema for Range<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("RangeOf{}", T::schema_name()).into()
    }

    /// A single number may go without quotes, so where YAML would read one it is allowed.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = text::schema::<Self>();
        let single = T::json_schema(generator);
        if single.get("type").is_some_and(|kind| kind != "string") {
            schema.insert("type".into(), serde_json::json!(["string", "integer"]));
        }
        schema
    }
}
