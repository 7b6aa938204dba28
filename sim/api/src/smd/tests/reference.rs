//! Random histories of applies and updates, and the reference that says what they come to.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::json::{self, Map as JsonMap};

/// An object: its leaves by their paths. An element of the list is a leaf, too, beside its fields.
type Leaves = BTreeMap<String, i64>;

/// What somebody says of each field of [`FIELDS`].
type Said = Vec<(usize, i64)>;

const FIELDS: [&str; 9] = [
    "m.x", "m.y", "s.a", "s.b", "l.p", "l.q", "set.1", "set.2", "atom",
];

#[derive(Clone, Debug)]
enum Op {
    Apply {
        manager: usize,
        config: Said,
        force: bool,
    },
    /// Fields are set, or taken away.
    Update {
        manager: usize,
        edits: Vec<(usize, Option<i64>)>,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let field = 0..FIELDS.len();
    let config = prop::collection::vec((field.clone(), 0..3_i64), 0..6);
    let edits = prop::collection::vec((field, prop::option::of(0..3_i64)), 1..4);
    prop_oneof![
        (0..3_usize, config, any::<bool>()).prop_map(|(manager, config, force)| Op::Apply {
            manager,
            config,
            force
        }),
        (0..2_usize, edits).prop_map(|(manager, edits)| Op::Update { manager, edits }),
    ]
}

fn say(leaves: &mut Leaves, field: &str, value: i64) {
    match field.split_once('.') {
        Some(("l", _)) => {
            leaves.insert(field.to_owned(), 0);
            leaves.insert(format!("{field}.k"), 0);
            leaves.insert(format!("{field}.v"), value);
        }
        Some(("set", _)) => {
            leaves.insert(field.to_owned(), 0);
        }
        _ => {
            leaves.insert(field.to_owned(), value);
        }
    }
}

/// A leaf goes with all that is below it.
fn take(leaves: &mut Leaves, path: &str) {
    leaves.retain(|leaf, _| !is_at_or_below(leaf, path));
}

fn is_at_or_below(leaf: &str, path: &str) -> bool {
    leaf.strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn object(leaves: &Leaves) -> Json {
    let mut object = Json::Object(JsonMap::new());
    let append = |object: &mut Json, list: &str, item: Json| {
        let map = json::map_mut(object, &[]);
        let list = map.entry(list).or_insert_with(|| json!([]));
        list.as_array_mut().expect("a list").push(item);
    };
    for (leaf, value) in leaves {
        match leaf.split('.').collect::<Vec<_>>().as_slice() {
            ["l", k] => {
                let mut item = json!({"k": k});
                if let Some(value) = leaves.get(&format!("l.{k}.v")) {
                    json::set(&mut item, &["v"], *value);
                }
                append(&mut object, "l", item);
            }
            ["l", ..] => {}
            ["set", text] => append(&mut object, "set", (*text).into()),
            ["atom"] => json::set(&mut object, &["atom"], vec![*value]),
            path => json::set(&mut object, path, *value),
        }
    }
    object
}

fn leaves(object: &Json) -> Leaves {
    let mut leaves = Leaves::new();
    for map in ["m", "s"] {
        for (name, value) in object
            .get(map)
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
        {
            leaves.insert(format!("{map}.{name}"), value.as_i64().expect("a number"));
        }
    }
    for item in json::list(object, &["l"]) {
        let path = format!("l.{}", json::text(item, &["k"]));
        say(
            &mut leaves,
            &path,
            json::number(item, &["v"]).unwrap_or_default(),
        );
        // Who owns the element need not own its value.
        if item.get("v").is_none() {
            leaves.remove(&format!("{path}.v"));
        }
    }
    for item in json::list(object, &["set"]) {
        say(
            &mut leaves,
            &format!("set.{}", item.as_str().expect("a text")),
            0,
        );
    }
    if let Some(value) = object.get("atom") {
        leaves.insert("atom".to_owned(), value[0].as_i64().expect("a number"));
    }
    leaves
}

/// What a set says of leaves; who owns what contains them does not matter here.
fn owned(set: &Set) -> BTreeSet<String> {
    let name = |element: &PathElement| match element {
        PathElement::FieldName(name) => name.clone(),
        PathElement::Key(fields) => fields[0].1.as_str().unwrap_or_default().to_owned(),
        PathElement::Value(value) => value.as_str().unwrap_or_default().to_owned(),
        PathElement::Index(at) => at.to_string(),
    };
    let path = |path: Path| path.iter().map(name).collect::<Vec<_>>().join(".");
    let paths = set.paths().into_iter().map(path);
    paths
        .filter(|path| path.contains('.') || path == "atom")
        .collect()
}

/// The reference.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reference {
    object: Leaves,
    owners: BTreeMap<String, BTreeSet<String>>,
}

impl Reference {
    fn changed(&self, new: &Leaves) -> BTreeSet<String> {
        let differs = |(leaf, value): &(&String, &i64)| self.object.get(*leaf) != Some(value);
        new.iter()
            .filter(differs)
            .map(|(leaf, _)| leaf.clone())
            .collect()
    }

    fn gone(&self, new: &Leaves) -> BTreeSet<String> {
        self.object
            .keys()
            .filter(|leaf| !new.contains_key(*leaf))
            .cloned()
            .collect()
    }

    /// Conflicts, if there are any and nobody forces.
    fn apply(
        &mut self,
        manager: &str,
        config: &Leaves,
        force: bool,
    ) -> Option<BTreeSet<(String, String)>> {
        let mut new = self.object.clone();
        new.extend(config.iter().map(|(leaf, value)| (leaf.clone(), *value)));
        let last = self.owners.get(manager).cloned().unwrap_or_default();
        for leaf in last.iter().filter(|leaf| !config.contains_key(*leaf)) {
            let others = self.owners.iter().filter(|(other, _)| *other != manager);
            if !others.clone().any(|(_, owned)| owned.contains(leaf)) {
                take(&mut new, leaf);
            }
        }
        let changed = self.changed(&new);
        let others = self.owners.iter().filter(|(other, _)| *other != manager);
        let conflicts = others.flat_map(|(other, owned)| {
            let lost = owned.intersection(&changed);
            lost.map(|leaf| (other.clone(), leaf.clone()))
        });
        let conflicts: BTreeSet<_> = conflicts.collect();
        if !conflicts.is_empty() && !force {
            return Some(conflicts);
        }
        self.write(manager, new);
        self.owners
            .insert(manager.to_owned(), config.keys().cloned().collect());
        self.owners.retain(|_, owned| !owned.is_empty());
        None
    }

    fn update(&mut self, manager: &str, new: Leaves) {
        let (changed, gone) = (self.changed(&new), self.gone(&new));
        let mut own = self.owners.get(manager).cloned().unwrap_or_default();
        own.retain(|leaf| !gone.contains(leaf));
        own.extend(changed);
        self.write(manager, new);
        self.owners.insert(manager.to_owned(), own);
        self.owners.retain(|_, owned| !owned.is_empty());
    }

    /// Others lose what changes and what goes.
    fn write(&mut self, manager: &str, new: Leaves) {
        let (changed, gone) = (self.changed(&new), self.gone(&new));
        for (other, owned) in &mut self.owners {
            if other != manager {
                owned.retain(|leaf| !changed.contains(leaf) && !gone.contains(leaf));
            }
        }
        self.object = new;
    }
}

/// A type like [`ty`], with one key.
fn simple() -> TypeRef {
    let TypeRef::Inlined(mut atom) = ty() else {
        unreachable!("it is written there");
    };
    let map = atom.map.as_mut().expect("a map");
    let of = map.fields.get_mut("l").expect("a field");
    if let TypeRef::Inlined(list) = &mut of.ty {
        list.list.as_mut().expect("a list").keys = vec!["k".to_owned()];
    }
    TypeRef::Inlined(atom)
}

fn check(ops: Vec<Op>) -> Result<usize, TestCaseError> {
    let (schema, ty) = (Schema::default(), simple());
    let mut reference = Reference::default();
    let (mut live, mut managers) = (Json::Object(JsonMap::new()), ManagedFields::new());
    let mut conflicts_seen = 0;
    for op in ops {
        match op {
            Op::Apply {
                manager,
                config,
                force,
            } => {
                let manager = format!("applier-{manager}");
                let mut said = Leaves::new();
                config
                    .iter()
                    .for_each(|(field, value)| say(&mut said, FIELDS[*field], *value));
                let config = typed(&object(&said), &schema, &ty);
                let before = typed(&live, &schema, &ty);
                let applied =
                    UPDATER.apply(&before, &config, "v1", managers.clone(), &manager, force);
                let expected = reference.apply(&manager, &said, force);
                match (applied, expected) {
                    (Ok((new, now)), None) => {
                        live = new.map_or(live, |new| new.value);
                        managers = now;
                    }
                    (Err(MergeError::Conflicts(found)), Some(expected)) => {
                        conflicts_seen += 1;
                        let found = found.by_manager().into_iter().flat_map(|(manager, paths)| {
                            let owned = owned(&Set::of(paths.into_iter().cloned()));
                            owned
                                .into_iter()
                                .map(move |leaf| (manager.to_owned(), leaf))
                        });
                        prop_assert_eq!(found.collect::<BTreeSet<_>>(), expected);
                    }
                    (applied, expected) => {
                        prop_assert!(false, "{:?} against {:?}", applied, expected)
                    }
                }
            }
            Op::Update { manager, edits } => {
                let manager = format!("updater-{manager}");
                let mut new = reference.object.clone();
                for (field, value) in edits {
                    match value {
                        Some(value) => say(&mut new, FIELDS[field], value),
                        None => take(&mut new, FIELDS[field]),
                    }
                }
                let tree = object(&new);
                let (before, after) = (typed(&live, &schema, &ty), typed(&tree, &schema, &ty));
                let updated = UPDATER.update(&before, &after, "v1", managers.clone(), &manager);
                managers = updated.expect("an update is never refused");
                live = tree;
                reference.update(&manager, new);
            }
        }
        prop_assert_eq!(leaves(&live), reference.object.clone());
        let found = managers
            .iter()
            .map(|(manager, of)| (manager.clone(), owned(&of.set)));
        let found: BTreeMap<_, _> = found.filter(|(_, owned)| !owned.is_empty()).collect();
        prop_assert_eq!(found, reference.owners.clone());
    }
    Ok(conflicts_seen)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn applies_and_updates_come_to_what_the_reference_says(ops in prop::collection::vec(op(), 1..12)) {
        check(ops)?;
    }

    /// A tree is written and read, and sets are what plain sets of paths are.
    #[test]
    fn sets_are_plain_sets_of_paths(a in paths_of(), b in paths_of()) {
        let (left, right) = (Set::of(a.iter().cloned()), Set::of(b.iter().cloned()));
        let plain = |set: &Set| set.paths().into_iter().collect::<BTreeSet<_>>();
        prop_assert_eq!(plain(&left), a.clone());
        prop_assert_eq!(plain(&left.union(&right)), a.union(&b).cloned().collect::<BTreeSet<_>>());
        prop_assert_eq!(plain(&left.difference(&right)), a.difference(&b).cloned().collect::<BTreeSet<_>>());
        prop_assert_eq!(plain(&left.intersection(&right)), a.intersection(&b).cloned().collect::<BTreeSet<_>>());
        let below = |path: &Path| b.iter().any(|other| path.starts_with(other));
        let outside = a.iter().filter(|path| !below(path)).cloned().collect::<BTreeSet<_>>();
        prop_assert_eq!(plain(&left.recursive_difference(&right)), outside);
        prop_assert_eq!(Set::from_json(&left.to_json()).map(|set| plain(&set)), Ok(a.clone()));
        let text: Json = serde_json::from_str(&left.to_text()).expect("it is JSON");
        prop_assert_eq!(text, left.to_json());
        prop_assert_eq!(left.size(), a.len());
        prop_assert!(a.iter().all(|path| left.has(path)));
    }
}

fn paths_of() -> impl Strategy<Value = BTreeSet<Path>> {
    let element = prop_oneof![
        "[ab]".prop_map(PathElement::field_name_element),
        (0..3_i64).prop_map(|n| PathElement::Value(n.into())),
        (0..2_usize).prop_map(PathElement::Index),
        (0..2_i64, "[xy]").prop_map(|(n, t)| PathElement::key_element(vec![
            ("n".to_owned(), n.into()),
            ("a".to_owned(), t.into())
        ])),
    ];
    prop::collection::btree_set(prop::collection::vec(element, 1..4), 0..8)
}

#[test]
fn the_reference_sees_conflicts() {
    let apply = |manager, value, force| Op::Apply {
        manager,
        config: vec![(0, value)],
        force,
    };
    let seen = check(vec![
        apply(0, 1, false),
        apply(1, 2, false),
        apply(1, 2, true),
        apply(0, 1, false),
    ]);
    assert_eq!(seen.expect("as the reference says"), 2);
}
