//! What the server's types look like: which fields a kind has, of what Go type, in what order they
//! are written, when they are left out, and how lists of them are merged.
//!
//! The table `schema/types.txt` is read once, when a kind is first asked for. What values mean does
//! not belong here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    /// Any JSON: `metav1.FieldsV1`.
    Raw,
    Pointer(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>),
    Struct(StructId),
}

/// A Go type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    /// As `reflect.Type.String` shows it, `map[string]string`.
    pub(crate) go: String,
    pub(crate) shape: Shape,
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
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
    pub(crate) merge: Merge,
}

/// A Go struct; embedded ones are spread out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Struct {
    /// Its name without a package, `ConfigMap`.
    pub(crate) name: &'static str,
    /// Its fields in the order in which they are written.
    pub(crate) fields: Vec<Field>,
    by_name: BTreeMap<&'static str, usize>,
}

impl Struct {
    /// The field of this name; names are told apart by case.
    pub(crate) fn field(&self, name: &str) -> Option<(usize, &Field)> {
        let at = *self.by_name.get(name)?;
        Some((at, &self.fields[at]))
    }
}

struct Schema {
    structs: Vec<Struct>,
    names: BTreeMap<&'static str, StructId>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::read(include_str!("schema/types.txt")));

/// A struct of the table.
pub(crate) fn of(id: StructId) -> &'static Struct {
    &SCHEMA.structs[id.0]
}

/// The struct of a kind, `("apps/v1", "Deployment")`.
pub(crate) fn kind(api_version: &str, kind: &str) -> Option<StructId> {
    let package = match api_version {
        "v1" => match kind {
            "DeleteOptions" => "meta",
            _ => "core",
        },
        "apps/v1" => "apps",
        "batch/v1" => "batch",
        "discovery.k8s.io/v1" => "discovery",
        "coordination.k8s.io/v1" => "coordination",
        "networking.k8s.io/v1" => "networking",
        "autoscaling/v1" => "autoscaling",
        "policy/v1" => "policy",
        "events.k8s.io/v1" => "events",
        _ => return None,
    };
    let id = named(&format!("{package}.{kind}"))?;
    of(id).field("kind").map(|_| id)
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

/// A struct by the name that it has in the table, `core.PodSpec`.
pub(crate) fn named(name: &str) -> Option<StructId> {
    SCHEMA.names.get(name).copied()
}

/// The names of all fields.
#[cfg(test)]
pub(crate) fn field_names() -> Vec<&'static str> {
    let all = SCHEMA.structs.iter().flat_map(|of| of.fields.iter());
    let names: std::collections::BTreeSet<_> = all.map(|field| field.name).collect();
    names.into_iter().collect()
}

impl Schema {
    fn read(text: &'static str) -> Schema {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let aliases: BTreeMap<&str, &str> = lines().filter_map(|l| l.split_once(" = ")).collect();
        let heads = lines().filter(|l| !l.is_empty() && !l.starts_with(' ') && !l.contains(" = "));
        let names: BTreeMap<_, _> = heads.zip((0..).map(StructId)).collect();
        let mut raw: Vec<Vec<&'static str>> = vec![Vec::new(); names.len()];
        let mut current = None;
        for line in lines() {
            match line.strip_prefix("  ") {
                Some(field) => {
                    let StructId(at) = current.expect("a field stands below its type");
                    raw[at].push(field);
                }
                None => current = names.get(line).copied(),
            }
        }
        let mut schema = Schema {
            structs: vec![Struct::default(); names.len()],
            names,
        };
        let all: Vec<_> = schema.names.iter().map(|(n, id)| (*n, *id)).collect();
        for (name, id) in all {
            let mut built = Struct {
                name: name.split_once('.').map_or(name, |(_, name)| name),
                ..Struct::default()
            };
            schema.fields(id, &raw, &aliases, &mut built.fields);
            built.by_name = built.fields.iter().map(|f| f.name).zip(0..).collect();
            schema.structs[id.0] = built;
        }
        schema
    }

    fn fields(
        &self,
        id: StructId,
        raw: &[Vec<&'static str>],
        aliases: &BTreeMap<&str, &str>,
        out: &mut Vec<Field>,
    ) {
        for line in &raw[id.0] {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap_or_default();
            let (name, ty, strategy, key) = (word(), word(), word(), word());
            if name == "&" {
                self.fields(self.names[ty], raw, aliases, out);
                continue;
            }
            out.push(Field {
                name: name.trim_end_matches(['?', '!']),
                ty: self.ty(ty, aliases),
                omit_empty: name.contains('?'),
                omit_zero: name.contains('!'),
                merge: Merge {
                    merge: strategy.contains("merge"),
                    retain_keys: strategy.contains("retainKeys"),
                    key,
                },
            });
        }
    }

    fn ty(&self, text: &str, aliases: &BTreeMap<&str, &str>) -> Type {
        let inner = |prefix: &str, rest: &str| {
            let inner = self.ty(rest, aliases);
            (format!("{prefix}{}", inner.go), Box::new(inner))
        };
        if text == "[]byte" {
            let go = "[]uint8".to_owned();
            return Type {
                go,
                shape: Shape::Bytes,
            };
        }
        if let Some(rest) = text.strip_prefix('*') {
            let (go, inner) = inner("*", rest);
            return Type {
                go,
                shape: Shape::Pointer(inner),
            };
        }
        if let Some(rest) = text.strip_prefix("[]") {
            let (go, inner) = inner("[]", rest);
            return Type {
                go,
                shape: Shape::List(inner),
            };
        }
        if let Some((key, rest)) = text.strip_prefix("map[").and_then(|t| t.split_once(']')) {
            let (go, inner) = inner(&format!("map[{}]", go_name(key)), rest);
            return Type {
                go,
                shape: Shape::Map(inner),
            };
        }
        let shape = match text {
            "string" | "types.UID" => Shape::String,
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "meta.Time" => Shape::Time,
            "meta.MicroTime" => Shape::MicroTime,
            "meta.FieldsV1" => Shape::Raw,
            "intstr.IntOrString" => Shape::IntOrString,
            "resource.Quantity" => Shape::Quantity,
            name => match (aliases.get(name), self.names.get(name)) {
                (Some(of), _) => self.ty(of, aliases).shape,
                (_, Some(id)) => Shape::Struct(*id),
                _ => unreachable!("the table knows every type that it names: {name}"),
            },
        };
        let go = go_name(text);
        Type { go, shape }
    }
}

/// The table tells packages apart that Go all calls `v1`.
fn go_name(name: &str) -> String {
    match name.split_once('.') {
        Some(("types" | "intstr" | "resource", _)) | None => name.to_owned(),
        Some((_, name)) => format!("v1.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads() {
        let pod = of(kind("v1", "Pod").expect("a kind"));
        assert_eq!(pod.name, "Pod");
        let names: Vec<_> = pod.fields.iter().map(|field| field.name).collect();
        assert_eq!(names, ["kind", "apiVersion", "metadata", "spec", "status"]);
        let spec = of(named("core.PodSpec").expect("a type"));
        let (_, containers) = spec.field("containers").expect("a field");
        assert_eq!(containers.ty.go, "[]v1.Container");
        assert!(containers.merge.merge && !containers.omit_empty);
        assert_eq!(containers.merge.key, "name");
        assert!(kind("v1", "PodSpec").is_none());
        assert!(kind("apps/v1", "ConfigMap").is_none());
    }
}
