//! How a child is chosen in what contains it (`fieldpath/element.go`, `fieldpath/path.go`).

use std::cmp::Ordering;
use std::fmt;

use crate::json::Json;
use crate::smd::value;

/// `PathElement`; the order of the variants is that of upstream's `Compare`.
#[derive(Clone, Debug)]
pub(crate) enum PathElement {
    /// A field of a struct or an entry of a map.
    FieldName(String),
    /// The element of a list whose fields have these values, sorted by their names.
    Key(Vec<(String, Json)>),
    /// The element of a set.
    Value(Json),
    /// The element of a list that has nothing to tell its elements apart.
    Index(usize),
}

/// `Path`: from the object to a field.
pub(crate) type Path = Vec<PathElement>;

impl PathElement {
    /// `FieldNameElement`
    pub(crate) fn field_name_element(name: impl Into<String>) -> PathElement {
        PathElement::FieldName(name.into())
    }

    /// `KeyElement`
    pub(crate) fn key_element(mut fields: Vec<(String, Json)>) -> PathElement {
        fields.sort_by(|(l, _), (r, _)| l.cmp(r));
        PathElement::Key(fields)
    }

    fn rank(&self) -> u8 {
        match self {
            PathElement::FieldName(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &PathElement) -> Ordering {
        match (self, other) {
            (PathElement::FieldName(l), PathElement::FieldName(r)) => l.cmp(r),
            (PathElement::Key(l), PathElement::Key(r)) => {
                let pairs = l.iter().zip(r);
                let mut pairs = pairs
                    .map(|((ln, lv), (rn, rv))| ln.cmp(rn).then_with(|| value::compare(lv, rv)));
                let first = pairs.find(|order| order.is_ne());
                first.unwrap_or_else(|| l.len().cmp(&r.len()))
            }
            (PathElement::Value(l), PathElement::Value(r)) => value::compare(l, r),
            (PathElement::Index(l), PathElement::Index(r)) => l.cmp(r),
            (l, r) => l.rank().cmp(&r.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &PathElement) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By hand: as the order, which is upstream's, and in which numbers of two kinds may be equal.
impl PartialEq for PathElement {
    fn eq(&self, other: &PathElement) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

/// `String`
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::FieldName(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, of)| format!("{name}={}", value::to_string(of)))
                    .collect();
                write!(f, "[{}]", fields.join(","))
            }
            PathElement::Value(of) => write!(f, "[={}]", value::to_string(of)),
            PathElement::Index(at) => write!(f, "[{at}]"),
        }
    }
}

/// `Path.String`
pub(crate) fn path_string(path: &[PathElement]) -> String {
    path.iter().map(PathElement::to_string).collect()
}
