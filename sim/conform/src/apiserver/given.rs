//! Names of what a server gives out of a range, and may give again once it is free: addresses of Services, node ports.
//! Each time that it is given it is another thing with another name. What a watch shows is read later than it happened,
//! and lists may be of an old revision: so each name holds from a revision on.

use std::collections::{BTreeMap, BTreeSet};

/// What is given out, by its values.
pub(super) struct Given<T> {
    prefix: &'static str,
    /// How many names were made.
    count: u64,
    /// From which revision on a value is called what; `None` where it is called by itself, as a request has named it or
    /// the server has it of its own.
    names: BTreeMap<T, Vec<(u64, Option<String>)>>,
    live: BTreeSet<T>,
    dry_run: Option<DryRun<T>>,
}

/// What is said while the answer to a dry run is read: what was given is not kept.
struct DryRun<T> {
    asked: BTreeSet<T>,
    names: BTreeMap<T, String>,
}

impl<T: Ord + Clone> Given<T> {
    /// Nothing is given; names begin with this.
    pub fn new(prefix: &'static str) -> Given<T> {
        Given {
            prefix,
            count: 0,
            names: BTreeMap::new(),
            live: BTreeSet::new(),
            dry_run: None,
        }
    }

    /// It was given at this revision. What a request asked for stays what that has called it.
    pub fn allocate(&mut self, value: &T, revision: u64, asked: bool) {
        if self.live.insert(value.clone()) && !asked {
            let name = self.next_name();
            let names = self.names.entry(value.clone()).or_default();
            names.push((revision, Some(name)));
        }
    }

    /// It is free.
    pub fn release(&mut self, value: &T) {
        self.live.remove(value);
    }

    /// All that is given now.
    pub fn live(&self) -> &BTreeSet<T> {
        &self.live
    }

    /// It is called by itself, unless it has a name.
    pub fn know(&mut self, value: &T) {
        let names = self.names.entry(value.clone()).or_default();
        if names.is_empty() {
            names.push((0, None));
        }
    }

    /// What it was called at a revision, or is now; `None` if it is called by itself, or nobody has heard of it.
    pub fn name(&mut self, value: &T, at: Option<u64>) -> Option<String> {
        let names = self.names.get(value).map_or(&[][..], Vec::as_slice);
        let known = match at {
            // What was seen before it was given, or by another than who has given it, has its first name.
            Some(at) => names.iter().rev().find(|(since, _)| *since <= at),
            None => names.last(),
        };
        let known = known.or(names.first()).and_then(|(_, name)| name.clone());
        let is_literal = known.is_none() && !names.is_empty();
        let free = !is_literal && !self.live.contains(value);
        let made_up = self.dry_run.as_ref();
        if !free || made_up.is_none_or(|dry_run| dry_run.asked.contains(value)) {
            return known;
        }
        if let Some(name) = made_up.and_then(|dry_run| dry_run.names.get(value)) {
            return Some(name.clone());
        }
        let name = self.next_name();
        if let Some(dry_run) = &mut self.dry_run {
            dry_run.names.insert(value.clone(), name.clone());
        }
        Some(name)
    }

    /// What it was called, or a name if nobody has heard of it.
    pub fn name_or_new(&mut self, value: &T, at: Option<u64>) -> Option<String> {
        let name = self.name(value, at);
        if name.is_some() || self.names.contains_key(value) {
            return name;
        }
        let name = self.next_name();
        self.names
            .insert(value.clone(), vec![(0, Some(name.clone()))]);
        Some(name)
    }

    /// All names as they were at a revision, or are now.
    pub fn all(&mut self, at: Option<u64>) -> Vec<(T, String)> {
        let values: Vec<T> = self.names.keys().cloned().collect();
        let named = |value| self.name(&value, at).map(|name| (value, name));
        values.into_iter().filter_map(named).collect()
    }

    /// The answer to a dry run follows, whose request named these.
    pub fn begin_dry_run(&mut self, asked: BTreeSet<T>) {
        let names = BTreeMap::new();
        self.dry_run = Some(DryRun { asked, names });
    }

    /// That was the answer.
    pub fn end_dry_run(&mut self) {
        self.dry_run = None;
    }

    fn next_name(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.prefix, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(given: &mut Given<u64>, at: impl Into<Option<u64>>) -> String {
        given.name(&7, at.into()).unwrap_or_default()
    }

    #[test]
    fn what_is_given_again_has_another_name_and_what_was_seen_before_has_the_old_one() {
        let mut given = Given::new("ip");
        given.allocate(&7, 10, false);
        given.release(&7);
        given.allocate(&7, 20, false);
        assert_eq!(
            [
                name(&mut given, 12),
                name(&mut given, 20),
                name(&mut given, None)
            ],
            ["ip-1", "ip-2", "ip-2"]
        );
        assert_eq!(given.all(Some(19)), [(7, "ip-1".to_owned())]);
    }

    #[test]
    fn what_a_request_names_stays_what_that_has_called_it() {
        let mut given = Given::new("port");
        given.know(&7);
        given.allocate(&7, 10, true);
        assert_eq!(name(&mut given, 11), "");
        given.release(&7);
        given.allocate(&7, 20, false);
        given.release(&7);
        given.know(&7);
        given.allocate(&7, 30, true);
        assert_eq!([name(&mut given, 11), name(&mut given, 31)], ["", "port-1"]);
    }

    #[test]
    fn what_a_dry_run_makes_up_is_forgotten() {
        let mut given = Given::new("ip");
        given.allocate(&7, 10, false);
        given.begin_dry_run(BTreeSet::new());
        assert_eq!(name(&mut given, None), "ip-1");
        given.release(&7);
        assert_eq!(
            [name(&mut given, None), name(&mut given, 11)],
            ["ip-2", "ip-2"]
        );
        given.end_dry_run();
        assert_eq!(name(&mut given, None), "ip-1");
        given.begin_dry_run(BTreeSet::from([7]));
        assert_eq!(name(&mut given, None), "ip-1");
    }
}
