//! Goes on reading after a mistake: what is wrong is noted, taken out, and the rest read
//! again, until it reads or the whole is wrong.

use std::collections::BTreeSet;

use super::path::Path;
use super::read::{Error, Kind};
use super::suggest;
use super::tree::{Entry, Node, Shape};

/// More mistakes than this help nobody, and each costs a reading.
const MOST: usize = 50;

/// What could be read with `once`, and all that was wrong. `required` says which keys a type must have, by its name.
pub fn read<T>(
    tree: &mut Node,
    required: impl Fn(&str) -> Vec<String>,
    once: impl Fn(&Node) -> Result<T, Error>,
) -> (Option<T>, Vec<Error>) {
    let mut errors = Vec::new();
    take_out_repeated(tree, Path::default(), &mut errors);
    while errors.len() < MOST {
        let mut error = match once(tree) {
            Ok(value) => return (Some(value), errors),
            Err(error) => error,
        };
        let path = error.path();
        let Some(node) = tree.get_mut(&path) else {
            break;
        };
        if let Kind::Missing { owner, keys } = &mut error.kind {
            *keys = missing(node, required(owner));
        }
        if is_news(&error, node) {
            errors.push(error);
        }
        if path == Path::default() {
            break;
        }
        node.broken = true;
    }
    (None, errors)
}

/// Those that are not given, not even misspelt.
fn missing(node: &Node, required: Vec<String>) -> Vec<String> {
    let given = |key: &String| node.entries().iter().any(|entry| means(entry, key));
    required.into_iter().filter(|key| !given(key)).collect()
}

/// Whether an entry's key is this one, rightly spelt or not.
fn means(entry: &Entry, key: &str) -> bool {
    let misspelt = || entry.node.broken && suggest::nearest(&entry.key, &[key]).is_some();
    entry.key == key || misspelt()
}

/// Whether an error says more than that a part of it is broken.
fn is_news(error: &Error, node: &Node) -> bool {
    match &error.kind {
        Kind::Missing { keys, .. } => !keys.is_empty(),
        Kind::UnknownKey { .. } | Kind::Twice { .. } => true,
        Kind::UnknownValue { .. } | Kind::Unfit { .. } | Kind::Other(_) => !node.holds_broken(),
    }
}

/// Takes out what is given a second time under the same key.
fn take_out_repeated(node: &mut Node, path: Path, errors: &mut Vec<Error>) {
    match &mut node.shape {
        Shape::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                take_out_repeated(item, path.clone().item(index), errors);
            }
        }
        Shape::Map(entries) => {
            let mut seen = BTreeSet::new();
            for entry in entries {
                let path = path.clone().key(&entry.key);
                if !seen.insert(entry.key.clone()) {
                    entry.node.broken = true;
                    let kind = Kind::Twice {
                        key: entry.key.clone(),
                        again: entry.location,
                    };
                    errors.push(Error::at(path, kind));
                } else {
                    take_out_repeated(&mut entry.node, path, errors);
                }
            }
        }
        _ => {}
    }
}
