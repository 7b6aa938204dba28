//! What the server's types look like: which fields a kind has, of what Go type, in what order they
//! are written, when they are left out, and how they are merged.
//!
//! The table `schema/types.txt` is generated (`cargo run -p wavetank-api --example types --`), `schema/ours.txt` is what is not upstream's.
//! It is that of the newest release, and says of each field which release brought it.
//! Both are read once, when a kind is first asked for. What values mean does not belong here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use wavetank_version::{Gate, Version};

use crate::json::Json;

/// The place of a struct in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StructId(usize);

/// What a Go type is to JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A string or a named one.
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    /// `[]byte`: base64.
    Bytes,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// `intstr.IntOrString`
    IntOrString,
    /// `resource.Quantity`
    Quantity,
    /// Any JSON: `metav1.FieldsV1`, `runtime.RawExtension`.
    Raw,
    Pointer(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>),
    Struct(StructId),
    /// A JSON schema, or something else in its place: it reads itself.
    SchemaOr(SchemaOr),
}

/// What may stand in the place of a JSON schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SchemaOr {
    /// `JSONSchemaPropsOrBool`
    Bool,
    /// `JSONSchemaPropsOrArray`
    Array,
    /// `JSONSchemaPropsOrStringArray`
    Strings,
    /// `JSON`: anything.
    Anything,
}

/// A Go type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    /// As `reflect.Type.String` shows it, `map[string]string`.
    pub(crate) go: String,
    pub(crate) shape: Shape,
    /// The values that it may have, where no others are meant (`+enum`).
    pub(crate) values: &'static str,
}

impl Type {
    /// One that may have any value of this shape.
    pub(crate) fn plain(go: String, shape: Shape) -> Type {
        Type {
            go,
            shape,
            values: "",
        }
    }

    /// The values that it may have, where no others are meant.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'static str> {
        let of = match self.values {
            "" => None,
            values => Some(values.split(',')),
        };
        of.into_iter().flatten()
    }
}

/// How lists and structs are merged (`patchStrategy`, `patchMergeKey`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Merge {
    /// Lists are merged, not replaced.
    pub(crate) merge: bool,
    /// A patch may say which keys are to stay.
    pub(crate) retain_keys: bool,
    /// What tells elements apart; empty for lists of primitives.
    pub(crate) key: &'static str,
    /// `patchStrategy`, in its words.
    pub(crate) strategy: &'static str,
}

/// `+listType`: what tells the elements of a list apart when managers share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ListType {
    /// Nothing: it has one manager.
    Atomic,
    /// Their values.
    Set,
    /// These fields of theirs.
    Map(Vec<&'static str>),
}

/// `+mapType`, `+structType`: whether managers share a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MapType {
    Atomic,
    Granular,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
    /// Has it to be there? Not what is written says so, but a marker, or its lack.
    pub(crate) required: bool,
    pub(crate) merge: Merge,
    pub(crate) list: Option<ListType>,
    pub(crate) map: Option<MapType>,
    /// `+default`
    pub(crate) default: Option<Json>,
    /// Only releases before that of the table have it: before this one of the struct.
    pub(crate) before: Option<&'static str>,
    /// The releases that have it; `None` if all that have the struct do.
    pub(crate) since: Option<Gate>,
    /// Its number in protobuf, after those of the messages in which it lies: what is embedded is one. Empty of what has
    /// none.
    pub(crate) numbers: Vec<u32>,
}

/// A Go struct; embedded ones are spread out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Struct {
    /// What it is called in the table, `core.ConfigMap`.
    pub(crate) full_name: &'static str,
    /// Its package, `core`.
    pub(crate) package: &'static str,
    /// Its name without a package, `ConfigMap`.
    pub(crate) name: &'static str,
    /// Its fields in the order in which they are written.
    pub(crate) fields: Vec<Field>,
    pub(crate) map: Option<MapType>,
    by_name: BTreeMap<&'static str, usize>,
}

impl Field {
    /// Does a server of this release know it? `None` stands for that of the table.
    pub(crate) fn is_in(&self, release: Option<Version>) -> bool {
        match (self.since, release) {
            (Some(since), Some(release)) => release.has(since),
            _ => true,
        }
    }
}

impl Struct {
    /// The field of this name; names are told apart by case.
    pub(crate) fn field(&self, name: &str) -> Option<(usize, &Field)> {
        let at = *self.by_name.get(name)?;
        Some((at, &self.fields[at]))
    }
}

/// What named types are, and the values that they may have.
type Aliases = BTreeMap<&'static str, (&'static str, &'static str)>;

struct Schema {
    structs: Vec<Struct>,
    names: BTreeMap<&'static str, StructId>,
    /// By the names of kinds, and by the versions in which these are served: each body that is read is looked up here.
    kinds: BTreeMap<&'static str, Vec<(&'static str, StructId)>>,
    /// Those of fields, each once.
    gates: Vec<Gate>,
}

const TABLES: [&str; 3] = [
    include_str!("schema/types.txt"),
    include_str!("schema/apiextensions.txt"),
    include_str!("schema/ours.txt"),
];

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::read(&TABLES));

/// Reads the table.
pub(crate) fn prepare() {
    LazyLock::force(&SCHEMA);
}

/// A struct of the table.
pub(crate) fn of(id: StructId) -> &'static Struct {
    &SCHEMA.structs[id.0]
}

/// The packages of kinds, by the versions in which these are served.
const PACKAGES: [(&str, &str); 22] = [
    ("v1", "core"),
    ("apiextensions.k8s.io/v1", "apiextensions"),
    ("admissionregistration.k8s.io/v1", "admissionregistration"),
    ("apiregistration.k8s.io/v1", "apiregistration"),
    ("apps/v1", "apps"),
    ("authentication.k8s.io/v1", "authentication"),
    ("authorization.k8s.io/v1", "authorization"),
    ("autoscaling/v1", "autoscaling"),
    ("autoscaling/v2", "autoscalingv2"),
    ("batch/v1", "batch"),
    ("certificates.k8s.io/v1", "certificates"),
    ("coordination.k8s.io/v1", "coordination"),
    ("discovery.k8s.io/v1", "discovery"),
    ("events.k8s.io/v1", "events"),
    ("flowcontrol.apiserver.k8s.io/v1", "flowcontrol"),
    ("networking.k8s.io/v1", "networking"),
    ("node.k8s.io/v1", "node"),
    ("policy/v1", "policy"),
    ("rbac.authorization.k8s.io/v1", "rbac"),
    ("resource.k8s.io/v1", "resource"),
    ("scheduling.k8s.io/v1", "scheduling"),
    ("storage.k8s.io/v1", "storage"),
];

/// The struct of a kind, `("apps/v1", "Deployment")`.
pub(crate) fn kind(api_version: &str, kind: &str) -> Option<StructId> {
    let mut all = SCHEMA.kinds.get(kind)?.iter();
    all.find(|(of, _)| *of == api_version).map(|(_, id)| *id)
}

/// The version in which a struct is served, if it is a kind. Of the package `meta` that is one alone.
fn served_in(of: &Struct) -> Option<&'static str> {
    let is_kind = of.field("kind").is_some();
    match (of.package, of.name) {
        _ if !is_kind => None,
        ("meta", "DeleteOptions") => Some("v1"),
        (package, _) => api_version_of(package),
    }
}

/// The version in which the kinds of a package are served.
pub(crate) fn api_version_of(package: &str) -> Option<&'static str> {
    let mut all = PACKAGES.into_iter();
    all.find(|(_, of)| *of == package)
        .map(|(api_version, _)| api_version)
}

/// Is this a group that a user has made: a domain, and none of ours?
pub(crate) fn is_custom(group: &str) -> bool {
    group.contains('.') && !group.ends_with(".k8s.io")
}

/// The struct of a kind that a scheme or a world knows: also of a custom one, `("example.com/v1", "Website")`.
pub(crate) fn kind_or_custom(api_version: &str, kind: &str) -> Option<StructId> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match is_custom(group) {
        true => named("custom.Object"),
        false => self::kind(api_version, kind),
    }
}

/// Does a server of this release know each field of the table?
pub(crate) fn is_known_to(release: Option<Version>) -> bool {
    let has = |gate: &Gate| release.is_none_or(|release| release.has(*gate));
    SCHEMA.gates.iter().all(has)
}

/// A struct by the name that it has in the table, `core.PodSpec`.
pub(crate) fn named(name: &str) -> Option<StructId> {
    SCHEMA.names.get(name).copied()
}

/// All structs of the table, by the names that they have in it.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, StructId)> {
    SCHEMA.names.iter().map(|(name, id)| (*name, *id))
}

/// The names of all fields.
#[cfg(test)]
pub(crate) fn field_names() -> Vec<&'static str> {
    let all = SCHEMA.structs.iter().flat_map(|of| of.fields.iter());
    let names: std::collections::BTreeSet<_> = all.map(|field| field.name).collect();
    names.into_iter().collect()
}

/// The releases since one, `1.20`.
fn since(release: &str) -> Gate {
    let numbers = release.split_once('.');
    let numbers =
        numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = numbers.expect("the table has a release here");
    Gate::since(major, minor)
}

/// The lines of a struct, as they stand in the table.
#[derive(Clone, Default)]
struct Raw {
    head: &'static str,
    fields: Vec<&'static str>,
}

impl Schema {
    fn read(tables: &[&'static str]) -> Schema {
        let lines = || {
            let lines = tables.iter().flat_map(|table| table.lines());
            lines.filter(|line| !line.starts_with('#') && !line.is_empty())
        };
        let alias = |line: &'static str| {
            let (name, is) = line.split_once(" = ")?;
            Some((name, is.split_once(" enum=").unwrap_or((is, ""))))
        };
        let aliases: Aliases = lines().filter_map(alias).collect();
        let mut names: BTreeMap<&'static str, StructId> = BTreeMap::new();
        let mut raw: Vec<Raw> = Vec::new();
        let mut current = 0;
        for line in lines().filter(|line| !line.contains(" = ")) {
            if let Some(field) = line.strip_prefix("  ") {
                raw[current].fields.push(field);
                continue;
            }
            let name = line.split(' ').next().unwrap_or_default();
            let StructId(at) = *names.entry(name).or_insert(StructId(raw.len()));
            current = at;
            if at == raw.len() {
                let fields = Vec::new();
                raw.push(Raw { head: line, fields });
            }
        }
        let mut schema = Schema {
            structs: vec![Struct::default(); names.len()],
            names,
            kinds: BTreeMap::new(),
            gates: Vec::new(),
        };
        let all: Vec<_> = schema.names.iter().map(|(n, id)| (*n, *id)).collect();
        for (name, id) in all {
            let head = raw[id.0].head.split(' ').skip(1);
            let (package, short) = name.split_once('.').unwrap_or(("", name));
            let mut built = Struct {
                full_name: name,
                package,
                name: short,
                map: head
                    .filter_map(|word| word.strip_prefix("map="))
                    .map(map_type)
                    .next(),
                ..Struct::default()
            };
            schema.fields(id, &raw, &aliases, &mut built.fields);
            let (own, older): (Vec<_>, Vec<_>) =
                built.fields.into_iter().partition(|f| f.before.is_none());
            built.fields = own;
            for field in older {
                let at = built
                    .fields
                    .iter()
                    .position(|other| Some(other.name) == field.before);
                let at = at.expect("it stands before a field of the table");
                built.fields.insert(at, field);
            }
            for gate in built.fields.iter().filter_map(|field| field.since) {
                if !schema.gates.contains(&gate) {
                    schema.gates.push(gate);
                }
            }
            built.by_name = built.fields.iter().map(|f| f.name).zip(0..).collect();
            if let Some(api_version) = served_in(&built) {
                let kinds = schema.kinds.entry(short).or_default();
                kinds.push((api_version, id));
            }
            schema.structs[id.0] = built;
        }
        schema
    }

    fn fields(&self, id: StructId, raw: &[Raw], aliases: &Aliases, out: &mut Vec<Field>) {
        for line in &raw[id.0].fields {
            let mut words = line.split(' ');
            let (name, ty) = (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            );
            if name == "&" {
                let at = out.len();
                self.fields(self.names[ty], raw, aliases, out);
                let number = words.next().and_then(|word| word.strip_prefix("pb="));
                let number: Option<u32> = number.and_then(|number| number.parse().ok());
                for field in &mut out[at..] {
                    match number {
                        Some(number) => field.numbers.insert(0, number),
                        // Protobuf says it elsewhere: kind and version beside the message.
                        None => field.numbers.clear(),
                    }
                }
                continue;
            }
            let mut field = Field {
                name: name.trim_end_matches(['?', '!']),
                ty: self.ty(ty, aliases),
                omit_empty: name.contains('?'),
                omit_zero: name.contains('!'),
                required: !name.contains('?'),
                merge: Merge::default(),
                list: None,
                map: None,
                default: None,
                before: None,
                since: None,
                numbers: Vec::new(),
            };
            for word in words {
                let (what, value) = word.split_once('=').unwrap_or((word, ""));
                match what {
                    "patch" => {
                        field.merge.strategy = value;
                        field.merge.merge = value.contains("merge");
                        field.merge.retain_keys = value.contains("retainKeys");
                    }
                    "key" => field.merge.key = value,
                    "list" => field.list = Some(list_type(value)),
                    "map" => field.map = Some(map_type(value)),
                    "default" => field.default = serde_json::from_str(value).ok(),
                    "before" => field.before = Some(value),
                    "since" => field.since = Some(since(value)),
                    "pb" => field.numbers.extend(value.parse::<u32>().ok()),
                    "optional" => field.required = false,
                    "required" => field.required = true,
                    other => unreachable!("the table says nothing of {other}"),
                }
            }
            out.push(field);
        }
    }

    fn ty(&self, text: &str, aliases: &Aliases) -> Type {
        let inner = |prefix: &str, rest: &str| {
            let inner = self.ty(rest, aliases);
            (format!("{prefix}{}", inner.go), Box::new(inner))
        };
        if text == "[]byte" {
            return Type::plain("[]uint8".to_owned(), Shape::Bytes);
        }
        if let Some(rest) = text.strip_prefix('*') {
            let (go, inner) = inner("*", rest);
            return Type::plain(go, Shape::Pointer(inner));
        }
        if let Some(rest) = text.strip_prefix("[]") {
            let (go, inner) = inner("[]", rest);
            return Type::plain(go, Shape::List(inner));
        }
        if let Some((key, rest)) = text.strip_prefix("map[").and_then(|t| t.split_once(']')) {
            let (go, inner) = inner(&format!("map[{}]", go_name(key)), rest);
            return Type::plain(go, Shape::Map(inner));
        }
        let shape = match text {
            "string" | "types.UID" => Shape::String,
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "float64" => Shape::Float64,
            "schema.Json" => Shape::SchemaOr(SchemaOr::Anything),
            "schema.OrBool" => Shape::SchemaOr(SchemaOr::Bool),
            "schema.OrArray" => Shape::SchemaOr(SchemaOr::Array),
            "schema.OrStrings" => Shape::SchemaOr(SchemaOr::Strings),
            "meta.Time" => Shape::Time,
            "meta.MicroTime" => Shape::MicroTime,
            "meta.FieldsV1" | "runtime.RawExtension" => Shape::Raw,
            "intstr.IntOrString" => Shape::IntOrString,
            "resource.Quantity" => Shape::Quantity,
            name => match (aliases.get(name), self.names.get(name)) {
                (Some((of, _)), _) => self.ty(of, aliases).shape,
                (_, Some(id)) => Shape::Struct(*id),
                _ => unreachable!("the table knows every type that it names: {name}"),
            },
        };
        let values = aliases.get(text).map_or("", |(_, values)| values);
        let go = go_name(text);
        Type { go, shape, values }
    }
}

fn list_type(value: &'static str) -> ListType {
    match value.split_once(':') {
        Some(("map", keys)) => ListType::Map(keys.split(',').collect()),
        _ if value == "set" => ListType::Set,
        _ => ListType::Atomic,
    }
}

fn map_type(value: &str) -> MapType {
    match value {
        "granular" => MapType::Granular,
        _ => MapType::Atomic,
    }
}

/// The table tells packages apart that Go all calls `v1`.
fn go_name(name: &str) -> String {
    match name.split_once('.') {
        Some(("types" | "intstr" | "runtime", _)) | None => name.to_owned(),
        Some(("resource", "Quantity")) => name.to_owned(),
        Some((package, name)) if package.ends_with("v2") => format!("v2.{name}"),
        Some((_, name)) => format!("v1.{name}"),
    }
}

#[cfg(test)]
mod tests;
