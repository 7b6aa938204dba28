//! The writes of a step against those that were recorded, object by object.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::names::{Uids, is_uid};
use super::write::Write;
use crate::symbols::Unequal;

/// How far two runs of the real one agree in a step. So far ours has to agree, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Agree {
    /// The writes of each object come in one order.
    Exact,
    /// Those of each object and user do.
    PerUser,
    /// The writes are the same.
    Bag,
    /// They are but for their bodies.
    Brief,
}

impl Agree {
    /// As it was recorded; `None` where the real one differs from itself.
    pub fn of(text: &str) -> Option<Agree> {
        match text {
            "exact" => Some(Agree::Exact),
            "per-user" => Some(Agree::PerUser),
            "bag" => Some(Agree::Bag),
            "brief" => Some(Agree::Brief),
            _ => None,
        }
    }
}

/// What became of one write: of whom it is, and if it differs, what it is and where it does.
pub(super) type Compared = (String, Result<(), (String, Unequal)>);

/// Compares the writes of a step.
pub(super) fn compare(
    agree: Agree,
    recorded: &[Write],
    seen: &[Write],
    uids: &mut Uids,
) -> Vec<Compared> {
    let group = |write: &Write| {
        let user = match agree {
            Agree::Exact => String::new(),
            _ => write.user.clone(),
        };
        (write.object(), user)
    };
    let mut groups: BTreeMap<_, (Vec<&Write>, Vec<&Write>)> = BTreeMap::new();
    for write in recorded {
        groups.entry(group(write)).or_default().0.push(write);
    }
    for write in seen {
        groups.entry(group(write)).or_default().1.push(write);
    }
    let mut all = Vec::new();
    for (recorded, seen) in groups.values() {
        let pairs = match agree {
            Agree::Exact | Agree::PerUser => in_order(agree, recorded, seen, uids),
            Agree::Bag | Agree::Brief => in_any_order(agree, recorded, seen, uids),
        };
        for (mine, theirs) in &pairs {
            let same = equal(agree, recorded[*mine], seen[*theirs], uids);
            all.push((
                recorded[*mine].user.clone(),
                same.map_err(|why| (recorded[*mine].brief(), why)),
            ));
        }
        let left = |count: usize, taken: &dyn Fn(&(usize, usize)) -> usize| {
            let is_left = |at: &usize| !pairs.iter().any(|pair| taken(pair) == *at);
            (0..count).filter(is_left).collect::<Vec<_>>()
        };
        let missing = left(recorded.len(), &|pair| pair.0);
        let more = left(seen.len(), &|pair| pair.1);
        all.extend(unpaired(agree, recorded, seen, &missing, &more, uids));
    }
    all
}

/// Writes that are nobody's pair: those that differ in their bodies only are shown beside each other.
fn unpaired(
    agree: Agree,
    recorded: &[&Write],
    seen: &[&Write],
    missing: &[usize],
    more: &[usize],
    uids: &mut Uids,
) -> Vec<Compared> {
    let mut more = more.to_vec();
    let mut all = Vec::new();
    for at in missing {
        let write = recorded[*at];
        let twin = more
            .iter()
            .position(|own| seen[*own].brief() == write.brief());
        let unequal = match twin {
            Some(twin) => {
                let twin = more.remove(twin);
                let same = equal(agree, write, seen[twin], &mut uids.clone());
                same.err()
                    .unwrap_or_else(|| lacks("another order", write.brief(), seen[twin].brief()))
            }
            None => lacks("", write.body.to_string(), "(nothing)".to_owned()),
        };
        all.push((write.user.clone(), Err((write.brief(), unequal))));
    }
    for at in more {
        let write = seen[at];
        let body = match &write.error {
            Some(error) => format!("{error}: {}", write.body),
            None => write.body.to_string(),
        };
        all.push((
            write.user.clone(),
            Err((write.brief(), lacks("", "(nothing)".to_owned(), body))),
        ));
    }
    all
}

fn lacks(at: &str, recorded: String, simulated: String) -> Unequal {
    Unequal {
        at: at.to_owned(),
        recorded,
        simulated,
    }
}

/// The longest common sequence.
fn in_order(
    agree: Agree,
    recorded: &[&Write],
    seen: &[&Write],
    uids: &Uids,
) -> Vec<(usize, usize)> {
    let (rows, columns) = (recorded.len(), seen.len());
    let mut uids = uids.clone();
    let mut longest = vec![vec![0; columns + 1]; rows + 1];
    let mut same = vec![vec![false; columns]; rows];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let tried = &mut uids.clone();
            same[row][column] = equal(agree, recorded[row], seen[column], tried).is_ok();
            longest[row][column] = match same[row][column] {
                true => longest[row + 1][column + 1] + 1,
                false => longest[row + 1][column].max(longest[row][column + 1]),
            };
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows && column < columns {
        if same[row][column] && equal(agree, recorded[row], seen[column], &mut uids).is_ok() {
            pairs.push((row, column));
            row += 1;
            column += 1;
        } else if longest[row + 1][column] >= longest[row][column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

fn in_any_order(
    agree: Agree,
    recorded: &[&Write],
    seen: &[&Write],
    uids: &Uids,
) -> Vec<(usize, usize)> {
    let mut uids = uids.clone();
    let mut taken = vec![false; seen.len()];
    let mut pairs = Vec::new();
    for (row, write) in recorded.iter().enumerate() {
        let found = (0..seen.len()).find(|at| {
            let mut tried = uids.clone();
            let same = !taken[*at] && equal(agree, write, seen[*at], &mut tried).is_ok();
            if same {
                uids = tried;
            }
            same
        });
        if let Some(found) = found {
            taken[found] = true;
            pairs.push((row, found));
        }
    }
    pairs
}

/// Are two writes the same? New uids are bound.
fn equal(agree: Agree, recorded: &Write, seen: &Write, uids: &mut Uids) -> Result<(), Unequal> {
    if recorded.brief() != seen.brief() {
        return Err(lacks("", recorded.brief(), seen.brief()));
    }
    if agree == Agree::Brief {
        return Ok(());
    }
    if recorded.error != seen.error {
        let text = |error: &Option<String>| error.clone().unwrap_or_default();
        return Err(lacks("error", text(&recorded.error), text(&seen.error)));
    }
    let mut tried = uids.clone();
    same(&recorded.body, &seen.body, "", &mut tried)?;
    *uids = tried;
    Ok(())
}

fn same(recorded: &Json, seen: &Json, at: &str, uids: &mut Uids) -> Result<(), Unequal> {
    match (recorded, seen) {
        (Json::String(symbol), Json::String(uid)) if is_uid(symbol) && uids.bind(symbol, uid) => {
            Ok(())
        }
        (Json::Array(items), Json::Array(own)) if items.len() == own.len() => {
            let mut all = items.iter().zip(own).enumerate();
            all.try_for_each(|(number, (item, own))| {
                same(item, own, &format!("{at}[{number}]"), uids)
            })
        }
        (Json::Object(fields), Json::Object(own)) => {
            let added = own.keys().filter(|key| !fields.contains_key(*key));
            for key in fields.keys().chain(added) {
                let at = format!("{at}.{key}");
                let absent = Json::from("(absent)");
                let both = (
                    fields.get(key).unwrap_or(&absent),
                    own.get(key).unwrap_or(&absent),
                );
                same(both.0, both.1, &at, uids)?;
            }
            Ok(())
        }
        (recorded, seen) if recorded == seen => Ok(()),
        (recorded, seen) => Err(lacks(
            at.trim_start_matches('.'),
            recorded.to_string(),
            seen.to_string(),
        )),
    }
}
