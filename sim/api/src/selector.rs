//! Label and field selectors, and the predicate of a list or watch
//! (`apimachinery/pkg/labels`, `pkg/fields`, `apiserver/pkg/storage/selection_predicate.go`).

mod parse;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use wavetank_engine::mutant;

use crate::json::{self, Json};
use crate::strategy::Strategy;

/// One requirement of a label selector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requirement {
    /// The label's key.
    pub key: Arc<str>,
    /// What is asked of it.
    pub operator: Operator,
    /// The values, sorted.
    pub values: Vec<Arc<str>>,
}

/// What a requirement asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "they are upstream's")]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

/// A label selector: all requirements hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LabelSelector(pub Vec<Requirement>);

/// One term of a field selector: the field equals the value, or it does not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldTerm {
    /// The field, `metadata.name`.
    pub field: Arc<str>,
    /// Must it equal the value?
    pub equal: bool,
    /// The value.
    pub value: Arc<str>,
}

/// A field selector: all terms hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FieldSelector(pub Vec<FieldTerm>);

/// What a list or watch wants.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Predicate {
    /// By labels.
    pub labels: LabelSelector,
    /// By fields; a name in the path is one, too.
    pub fields: FieldSelector,
}

impl LabelSelector {
    /// Adds a requirement.
    pub fn push(&mut self, requirement: Requirement) {
        self.0.push(requirement);
    }

    /// Does it select an object with these labels?
    pub fn matches(&self, object: &Json) -> bool {
        self.0.iter().all(|requirement| {
            let label = json::at(object, &["metadata", "labels", &requirement.key]);
            requirement.holds(label.and_then(Json::as_str))
        })
    }
}

impl Requirement {
    fn holds(&self, label: Option<&str>) -> bool {
        let listed = |label: &str| self.values.iter().any(|value| **value == *label);
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = self.values.first().and_then(|value| number(value));
        match (self.operator, label) {
            (Operator::In, Some(label)) => listed(label),
            (Operator::NotIn, Some(label)) => !listed(label),
            (Operator::NotIn, None)
                if mutant!(
                    "not-in-wants-label",
                    "`notin` does not match an object without the label"
                ) =>
            {
                false
            }
            (Operator::NotIn | Operator::DoesNotExist, None) | (Operator::Exists, Some(_)) => true,
            (Operator::In | Operator::Exists, None) | (Operator::DoesNotExist, Some(_)) => false,
            (Operator::GreaterThan, label) => label.and_then(number) > bound && bound.is_some(),
            (Operator::LessThan, label) => {
                let label = label.and_then(number);
                label.is_some() && label < bound
            }
        }
    }
}

/// As it stands in a URL.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// As it stands in a URL; empty if everything is selected.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.0.iter().enumerate() {
            let between = if at == 0 { "" } else { "," };
            write!(f, "{between}{requirement}")?;
        }
        Ok(())
    }
}

impl FieldSelector {
    /// Does it select an object whose selectable fields are read by `field`?
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Cow<'a, str>) -> bool {
        self.0
            .iter()
            .all(|term| (field(&term.field) == *term.value) == term.equal)
    }

    /// With the labels that the kind knows its fields by, or why it does not
    /// (`ConvertFieldLabel`).
    pub fn convert(self, strategy: &dyn Strategy) -> Result<FieldSelector, String> {
        let terms = self.0.into_iter().map(|term| {
            let field = strategy.convert_field_label(&term.field)?.into();
            Ok(FieldTerm { field, ..term })
        });
        terms.collect::<Result<_, String>>().map(FieldSelector)
    }

    /// The value that a field must have (`RequiresExactMatch`).
    pub fn exactly(&self, field: &str) -> Option<&str> {
        let term = self
            .0
            .iter()
            .find(|term| term.equal && *term.field == *field)?;
        Some(&term.value)
    }
}

impl Predicate {
    /// Does it select everything?
    pub fn is_everything(&self) -> bool {
        self.labels.0.is_empty() && self.fields.0.is_empty()
    }

    /// Does it select this object of this resource?
    pub fn matches(&self, resource: &crate::Resource, object: &Json) -> bool {
        let field = |name: &str| resource.strategy.field(object, name);
        self.labels.matches(object) && self.fields.matches(field)
    }
}
