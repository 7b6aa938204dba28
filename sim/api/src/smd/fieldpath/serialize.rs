//! How sets are written into managedFields (`fieldpath/serialize.go`, `fieldpath/serialize-pe.go`): a tree whose names say
//! what chooses a child: `f:` its name, `k:` the values of its fields, `v:` its value, `i:` its index. `.` is the parent.

use std::fmt::Write;

use crate::json::{Json, Map};
use crate::render;
use crate::smd::fieldpath::{PathElement, Set};

impl PathElement {
    /// `SerializePathElement`
    pub(crate) fn serialize(&self) -> String {
        match self {
            PathElement::FieldName(name) => format!("f:{name}"),
            PathElement::Key(fields) => {
                let mut out = String::from("k:{");
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    render::string(name, &mut out);
                    let _ = write!(out, ":{}", render::sorted(value));
                }
                out + "}"
            }
            PathElement::Value(value) => format!("v:{}", render::sorted(value)),
            PathElement::Index(at) => format!("i:{at}"),
        }
    }

    /// `DeserializePathElement`; `None` for what a later release may understand.
    pub(crate) fn deserialize(text: &str) -> Result<Option<PathElement>, String> {
        if text.len() < 2 {
            return Err("key must be 2 characters long:".to_owned());
        }
        if text.as_bytes()[1] != b':' {
            return Err(format!("missing colon: {text}"));
        }
        let rest = &text[2..];
        let read =
            |rest: &str| serde_json::from_str::<Json>(rest).map_err(|error| error.to_string());
        match text.as_bytes()[0] {
            b'f' => Ok(Some(PathElement::field_name_element(rest))),
            b'v' => Ok(Some(PathElement::Value(read(rest)?))),
            b'k' => match read(rest)? {
                Json::Object(fields) => {
                    Ok(Some(PathElement::key_element(fields.into_iter().collect())))
                }
                other => Err(format!("expect {{ or n, but found {other}")),
            },
            b'i' => match rest.parse() {
                Ok(at) => Ok(Some(PathElement::Index(at))),
                Err(_) => Err(format!("strconv.Atoi: parsing {rest:?}: invalid syntax")),
            },
            _ => Ok(None),
        }
    }
}

impl Set {
    /// `FieldsV1`, as a tree.
    pub(crate) fn to_json(&self) -> Json {
        Json::Object(self.emit_contents_v1(false))
    }

    fn emit_contents_v1(&self, include_self: bool) -> Map {
        let mut out = Map::new();
        let empty = || Json::Object(Map::new());
        if include_self && !(self.members.is_empty() && self.children.is_empty()) {
            out.insert(".".to_owned(), empty());
        }
        for member in self
            .members
            .iter()
            .filter(|member| !self.children.contains_key(member))
        {
            out.insert(member.serialize(), empty());
        }
        for (element, below) in &self.children {
            let below = below.emit_contents_v1(self.members.contains(element));
            out.insert(element.serialize(), Json::Object(below));
        }
        out
    }

    /// `ToJSON`: the text, in upstream's order, which is that of path elements and not of their texts.
    pub(crate) fn to_text(&self) -> String {
        let mut out = String::new();
        self.emit_text(false, &mut out);
        out
    }

    fn emit_text(&self, include_self: bool, out: &mut String) {
        out.push('{');
        let mut first = true;
        let mut name = |name: &str, out: &mut String| {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            render::string(name, out);
            out.push(':');
        };
        if include_self && !(self.members.is_empty() && self.children.is_empty()) {
            name(".", out);
            out.push_str("{}");
        }
        let elements: std::collections::BTreeSet<_> =
            self.members.iter().chain(self.children.keys()).collect();
        for element in elements {
            name(&element.serialize(), out);
            match self.children.get(element) {
                Some(below) => below.emit_text(self.members.contains(element), out),
                None => out.push_str("{}"),
            }
        }
        out.push('}');
    }

    /// `FromJSON`
    ///
    /// # Errors
    /// A name that chooses no child.
    pub(crate) fn from_json(json: &Json) -> Result<Set, String> {
        let (children, _) = read_v1(json)?;
        Ok(children.unwrap_or_default())
    }
}

/// What is below, if anything is, and whether this is a member itself.
fn read_v1(json: &Json) -> Result<(Option<Set>, bool), String> {
    let fields = match json {
        Json::Object(fields) => fields,
        Json::Null => return Ok((None, true)),
        other => return Err(format!("expect {{ or n, but found {other}")),
    };
    let mut children: Option<Set> = None;
    let mut is_member = false;
    for (name, below) in fields {
        if name == "." {
            is_member = true;
            continue;
        }
        let element = PathElement::deserialize(name)
            .map_err(|why| format!("parsing key as path element: {why}"))?;
        let Some(element) = element else {
            continue;
        };
        let (grandchildren, child_is_member) = read_v1(below)?;
        let set = children.get_or_insert_default();
        if child_is_member {
            set.members.insert(element.clone());
        }
        if let Some(grandchildren) = grandchildren {
            set.children.insert(element, grandchildren);
        }
    }
    let is_member = is_member || children.is_none();
    Ok((children, is_member))
}
