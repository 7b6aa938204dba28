//! Field errors, as `apimachinery/pkg/util/validation/field` words them.
//!
//! The rules themselves stand with what they are about: metadata in `metadata`, each kind in `kinds`.

use std::fmt;

use crate::json::Json;
use crate::quote;
use crate::status::Cause;

/// A value that is at fault, as messages show it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bad(String);

impl Bad {
    /// Shown as it stands here: JSON in Go's order of fields, a number.
    pub fn shown(text: impl Into<String>) -> Bad {
        Bad(text.into())
    }

    /// Not shown at all (`OmitValueType`).
    pub fn omitted() -> Bad {
        Bad(String::new())
    }
}

impl From<&str> for Bad {
    fn from(text: &str) -> Bad {
        Bad(quote::quote(text))
    }
}
impl From<&String> for Bad {
    fn from(text: &String) -> Bad {
        Bad(quote::quote(text))
    }
}
impl From<String> for Bad {
    fn from(text: String) -> Bad {
        Bad(quote::quote(&text))
    }
}
impl From<i64> for Bad {
    fn from(number: i64) -> Bad {
        Bad(number.to_string())
    }
}
impl From<bool> for Bad {
    fn from(bool: bool) -> Bad {
        Bad(bool.to_string())
    }
}
impl From<&Json> for Bad {
    /// Texts quoted as Go quotes them, anything else as JSON, its fields sorted.
    fn from(json: &Json) -> Bad {
        match json {
            Json::String(text) => text.into(),
            json => Bad(crate::render::sorted(json)),
        }
    }
}
impl From<Option<&Json>> for Bad {
    fn from(json: Option<&Json>) -> Bad {
        json.unwrap_or(&Json::Null).into()
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with a field.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ErrorType {
    /// FieldValueRequired
    Required,
    /// FieldValueInvalid, with the bad value.
    Invalid(Bad),
    /// FieldValueDuplicate, with the value.
    Duplicate(Bad),
    /// FieldValueNotSupported, with the value; the detail lists what is.
    NotSupported(Bad),
    /// FieldValueForbidden
    Forbidden,
    /// FieldValueTooLong
    TooLong,
    /// FieldValueTooMany, with how many there are.
    TooMany(u64),
    /// FieldValueNotFound, with the value.
    NotFound(Bad),
    /// InternalError
    Internal,
    /// FieldValueTypeInvalid, with the bad value.
    TypeInvalid(Bad),
}

/// One field error.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldError {
    /// What is wrong.
    pub error: ErrorType,
    /// The path, `spec.ports[0].port`.
    pub field: String,
    /// The explanation.
    pub detail: String,
}

/// Field errors, in the order in which they were found.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ErrorList(Vec<FieldError>);

impl ErrorType {
    /// `reason` of a cause.
    pub fn reason(&self) -> &'static str {
        match self {
            ErrorType::Required => "FieldValueRequired",
            ErrorType::Invalid(_) => "FieldValueInvalid",
            ErrorType::Duplicate(_) => "FieldValueDuplicate",
            ErrorType::NotSupported(_) => "FieldValueNotSupported",
            ErrorType::Forbidden => "FieldValueForbidden",
            ErrorType::TooLong => "FieldValueTooLong",
            ErrorType::TooMany(_) => "FieldValueTooMany",
            ErrorType::NotFound(_) => "FieldValueNotFound",
            ErrorType::Internal => "InternalError",
            ErrorType::TypeInvalid(_) => "FieldValueTypeInvalid",
        }
    }
}

impl FieldError {
    /// `ErrorBody`: everything but the field.
    pub fn body(&self) -> String {
        let (what, value) = match &self.error {
            ErrorType::Required => ("Required value", None),
            ErrorType::Invalid(value) => ("Invalid value", Some(value)),
            ErrorType::Duplicate(value) => ("Duplicate value", Some(value)),
            ErrorType::NotSupported(value) => ("Unsupported value", Some(value)),
            ErrorType::Forbidden => ("Forbidden", None),
            ErrorType::TooLong => ("Too long", None),
            ErrorType::TooMany(count) => {
                return with_detail(format!("Too many: {count}"), &self.detail);
            }
            ErrorType::NotFound(value) => ("Not found", Some(value)),
            ErrorType::Internal => ("Internal error", None),
            ErrorType::TypeInvalid(value) => ("Invalid value", Some(value)),
        };
        let body = match value.filter(|value| !value.0.is_empty()) {
            None => what.to_owned(),
            Some(value) => format!("{what}: {value}"),
        };
        with_detail(body, &self.detail)
    }
}

fn with_detail(body: String, detail: &str) -> String {
    if detail.is_empty() {
        body
    } else {
        format!("{body}: {detail}")
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl ErrorList {
    /// Adds an error.
    pub fn add(&mut self, error: ErrorType, field: impl Into<String>, detail: impl Into<String>) {
        self.0.push(FieldError {
            error,
            field: field.into(),
            detail: detail.into(),
        });
    }

    /// `field.Required`
    pub fn required(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(ErrorType::Required, field, detail);
    }

    /// `field.Forbidden`
    pub fn forbidden(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(ErrorType::Forbidden, field, detail);
    }

    /// `field.Invalid`
    pub fn invalid(
        &mut self,
        field: impl Into<String>,
        value: impl Into<Bad>,
        detail: impl Into<String>,
    ) {
        self.add(ErrorType::Invalid(value.into()), field, detail);
    }

    /// An error for each of these details, as `field.Invalid` makes one.
    pub fn invalid_each(&mut self, field: &str, value: impl Into<Bad>, details: Vec<String>) {
        // Most values are right, and a value is put in quotes for an error only.
        if details.is_empty() {
            return;
        }
        let value = value.into();
        for detail in details {
            self.add(ErrorType::Invalid(value.clone()), field, detail);
        }
    }

    /// `field.Duplicate`
    pub fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Bad>) {
        self.add(ErrorType::Duplicate(value.into()), field, "");
    }

    /// `field.NotSupported`, with what is.
    pub fn not_supported(
        &mut self,
        field: impl Into<String>,
        value: impl Into<Bad>,
        supported: &[&str],
    ) {
        let quoted: Vec<String> = supported.iter().map(|text| quote::quote(text)).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        self.add(ErrorType::NotSupported(value.into()), field, detail);
    }

    /// `field.TooLong`
    pub fn too_long(&mut self, field: impl Into<String>, limit: usize) {
        self.add(
            ErrorType::TooLong,
            field,
            format!("may not be more than {limit} bytes"),
        );
    }

    /// `field.TooMany`
    pub fn too_many(&mut self, field: impl Into<String>, count: usize, limit: usize) {
        let detail = format!("must have at most {limit} items");
        self.add(ErrorType::TooMany(count as u64), field, detail);
    }

    /// Adds the errors of another list.
    pub fn extend(&mut self, other: ErrorList) {
        self.0.extend(other.0);
    }

    /// Is nothing wrong?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The errors.
    pub fn iter(&self) -> impl Iterator<Item = &FieldError> {
        self.0.iter()
    }

    /// The causes of a Status.
    pub fn causes(&self) -> Vec<Cause> {
        let cause = |error: &FieldError| Cause {
            reason: error.error.reason().to_owned(),
            message: error.body(),
            field: error.field.clone(),
        };
        self.0.iter().map(cause).collect()
    }
}

impl fmt::Display for ErrorList {
    /// `ToAggregate`: one error as it is, several in brackets, none twice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts: Vec<String> = Vec::new();
        for error in &self.0 {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match texts.as_slice() {
            [one] => f.write_str(one),
            all => write!(f, "[{}]", all.join(", ")),
        }
    }
}
