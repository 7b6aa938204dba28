//! YAML with the place of each key and value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::{DuplicateKeyPolicy, Location, MergeKeyPolicy, Spanned};

use super::path::{Path, Step};

/// A value and where it is.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub shape: Shape,
    /// Where it is.
    pub location: Location,
    /// A mistake was found here: reading goes on as if it were not there.
    pub broken: bool,
}

/// The value itself.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the shapes of YAML")]
pub enum Shape {
    Empty,
    Bool(bool),
    Natural(u64),
    Negative(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key, where it is, and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is.
    pub location: Location,
    /// The value.
    pub node: Node,
}

/// Which part of a key and its value a mistake is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// The key.
    Key,
    /// The value.
    Value,
}

/// Reads YAML. Keys given twice are kept, so that they are found with all other mistakes;
/// merge keys (`<<`) are left out of the format, since places would become hard to tell.
pub fn parse(text: &str) -> Result<Node, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
}

impl Node {
    /// The part one step down, if there is one.
    fn child(&self, step: &Step) -> Option<&Node> {
        match (&self.shape, step) {
            (Shape::List(items), Step::Item(index)) => items.get(*index),
            (_, Step::Key(key)) => self.entry(key).map(|entry| &entry.node),
            _ => None,
        }
    }

    fn child_mut(&mut self, step: &Step) -> Option<&mut Node> {
        match (&mut self.shape, step) {
            (Shape::List(items), Step::Item(index)) => items.get_mut(*index),
            (Shape::Map(entries), Step::Key(key)) => entries
                .iter_mut()
                .find(|entry| entry.key == *key)
                .map(|entry| &mut entry.node),
            _ => None,
        }
    }

    /// The entry with this key, unless a mistake was found there.
    pub fn sound(&self, key: &str) -> Option<&Entry> {
        self.entry(key).filter(|entry| !entry.node.broken)
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The entries of a mapping, none of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.shape {
            Shape::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The part at a path.
    pub fn get(&self, path: &Path) -> Option<&Node> {
        path.0.iter().try_fold(self, |node, step| node.child(step))
    }

    /// The part at a path.
    pub fn get_mut(&mut self, path: &Path) -> Option<&mut Node> {
        path.0
            .iter()
            .try_fold(self, |node, step| node.child_mut(step))
    }

    /// Where to point for a path. What is not there is shown at what should contain it, and
    /// a mapping or list over several lines at its key.
    pub fn place(&self, path: &Path, focus: Focus) -> Location {
        let mut node = self;
        let mut key = None;
        for (n, step) in path.0.iter().enumerate() {
            let Some(child) = node.child(step) else { break };
            key = match step {
                Step::Key(name) => node.entry(name).map(|entry| entry.location),
                Step::Item(_) => None,
            };
            node = child;
            if focus == Focus::Value && n + 1 == path.0.len() && !node.location.span().is_empty() {
                key = None;
            }
        }
        key.unwrap_or(node.location)
    }

    /// Whether anything below is broken, so that this may be wrong for that reason alone.
    pub fn holds_broken(&self) -> bool {
        let bad = |node: &Node| node.broken || node.holds_broken();
        match &self.shape {
            Shape::List(items) => items.iter().any(bad),
            Shape::Map(entries) => entries.iter().any(|entry| bad(&entry.node)),
            _ => false,
        }
    }
}

/// JSON has no places.
impl From<&Json> for Node {
    fn from(json: &Json) -> Node {
        let shape = match json {
            Json::Null => Shape::Empty,
            Json::Bool(value) => Shape::Bool(*value),
            Json::String(text) => Shape::Text(text.clone()),
            Json::Array(items) => Shape::List(items.iter().map(Node::from).collect()),
            Json::Object(entries) => {
                let entry = |(key, value): (&String, &Json)| Entry {
                    key: key.clone(),
                    location: Location::UNKNOWN,
                    node: Node::from(value),
                };
                Shape::Map(entries.iter().map(entry).collect())
            }
            Json::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => Shape::Natural(value),
                (None, Some(value)) => Shape::Negative(value),
                (None, None) => Shape::Float(number.as_f64().unwrap_or_default()),
            },
        };
        Node {
            shape,
            location: Location::UNKNOWN,
            broken: false,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned {
            value: shape,
            referenced: location,
            ..
        } = Spanned::deserialize(from)?;
        Ok(Self {
            shape,
            location,
            broken: false,
        })
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Empty)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Shape, E> {
        Ok(Shape::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::Natural(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Shape, E> {
        Ok(u64::try_from(value).map_or(Shape::Negative(value), Shape::Natural))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Shape, E> {
        Ok(Shape::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Shape, E> {
        Ok(Shape::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Shape::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = map.next_entry::<Spanned<String>, Node>()? {
            entries.push(Entry {
                key: key.value,
                location: key.referenced,
                node,
            });
        }
        Ok(Shape::Map(entries))
    }
}
