//! What a reduction by symmetry could save at most.
//!
//! If replicas, clients or objects of a world exchange their names, its text has the same words as before, but
//! for names, in another order. So two worlds of which one is the other with names exchanged have the same
//! *blur*: the bag of the words of each process, of each connection and of each thing that is pending, with its
//! place in the order, where a process is called by the bag of its own words, other names are left out, and what
//! bags there are. Worlds whose blurs differ are made one by no symmetry. Worlds whose blurs are the same may be,
//! or may not.

use std::collections::{BTreeMap, BTreeSet};

use wavetank::search::Search;
use wavetank_engine::{Memo, World, digest};
use wavetank_models::{Node, WorldModel};

/// Larger scopes take too long.
const MOST_STATES: usize = 200_000;

/// The states of a full search, and how many blurs they have.
pub fn blurs(search: &Search) -> Option<(usize, usize)> {
    let (mut seen, mut blurs) = (BTreeSet::new(), BTreeSet::new());
    let (mut memo, mut moves) = (Memo::new(), Vec::new());
    let mut left = search.starts();
    while let Some(node) = left.pop() {
        if !seen.insert(node.fingerprint()) {
            continue;
        }
        if seen.len() > MOST_STATES {
            return None;
        }
        blurs.insert(blur(&search.model, &node));
        moves.clear();
        search.model.moves(&node, &mut moves);
        let next = moves
            .iter()
            .filter_map(|taken| search.model.next(&mut memo, &node, *taken));
        left.extend(next.map(|(next, _)| next));
    }
    Some((seen.len(), blurs.len()))
}

fn blur(model: &WorldModel, node: &Node) -> u64 {
    let text = format!("{:?}", node.world);
    let faults = model.bounds.faults.iter().enumerate();
    let faults = faults.filter(|(at, _)| node.faults >> at & 1 == 1);
    let faults: Vec<String> = faults.map(|(_, fault)| format!("{fault:?}")).collect();
    let names = Names::of(&node.world, &text);
    let parts = ["Slot {", "Entry {", "Conn {"]
        .iter()
        .fold(vec![&*text], |parts, begin| {
            parts.iter().flat_map(|part| part.split(begin)).collect()
        });
    let pending = node.world.pending().enumerate();
    let pending: Vec<String> = pending
        .map(|(place, entry)| format!("place: {place}, {entry:?}"))
        .collect();
    let more = faults.iter().chain(&pending).map(String::as_str);
    let parts = parts.into_iter().chain(more);
    let bag = |sum: u64, part: &str| sum.wrapping_add(digest(&names.words(part)));
    let budgets = (node.deviations, node.planned, node.world.now());
    digest(&(budgets, parts.fold(0, bag)))
}

/// What stands for a name.
#[derive(Default)]
struct Names {
    /// Of processes, by their number,
    processes: Vec<u64>,
    /// by their name and their address.
    words: BTreeMap<String, u64>,
}

impl Names {
    fn of(world: &World, text: &str) -> Names {
        let none = Names::default();
        // What comes before the first is of no process.
        let slots = text.split("Slot {").skip(1);
        let mut names = Names::default();
        for (process, slot) in world.processes().zip(slots) {
            let own = none.words(slot.split("Entry {").next().unwrap_or(slot));
            names.processes.push(own);
            names.words.insert(world.name(process).to_owned(), own);
            let address = slot.split("address: \"").nth(1);
            if let Some((address, _)) = address.and_then(|rest| rest.split_once('"')) {
                names.words.insert(address.to_owned(), own);
            }
        }
        names
    }

    /// The bag of the words of a text, as a sum: their order is nothing.
    fn words(&self, text: &str) -> u64 {
        let mut sum = 0_u64;
        let mut before = ["", ""];
        let words = text
            .split([',', '{', '}', '[', ']', '(', ')'])
            .map(str::trim);
        for word in words.filter(|word| !word.is_empty()) {
            let known = match before[1].ends_with("ProcId") {
                true => self.process(word),
                false if is_passed_over(before, word) => 0,
                false => self.word(word),
            };
            sum = sum.wrapping_add(known);
            before = [before[1], word];
        }
        sum
    }

    fn process(&self, number: &str) -> u64 {
        let number = number.parse::<usize>().ok();
        number.map_or(0, |number| self.processes.get(number).copied().unwrap_or(0))
    }

    /// A word, with what stands for the names in it.
    fn word(&self, word: &str) -> u64 {
        let (_, value) = word.split_once(": ").unwrap_or(("", word));
        if value.parse::<u64>().is_ok() {
            return digest(&word);
        }
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '.';
        let mut parts: Vec<u64> = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            parts.push(match self.words.get(name) {
                Some(known) => *known,
                None if is_name(name) => 0,
                None => digest(&name),
            });
            let end = after.find(is_of_name).unwrap_or(after.len());
            let (between, after) = after.split_at(end);
            parts.push(digest(&between));
            rest = after;
        }
        digest(&parts)
    }
}

/// What names decide, and what a search passes over: numbers of connections and entries, fingerprints,
/// instants that are remembered.
fn is_passed_over([second, first]: [&str; 2], word: &str) -> bool {
    let (key, value) = word.split_once(": ").unwrap_or(("", word));
    let is_fingerprint = value.parse::<u64>().is_ok_and(|value| value > 1 << 50);
    let after = |ends: &[&str]| ends.iter().any(|end| first.ends_with(end));
    let is_remembered = first.ends_with("Time") && second.ends_with("Instant");
    is_fingerprint
        || is_remembered
        || key == "seq"
        || key == "id"
        || key.contains("digest")
        || after(&["ConnId", "common: Some", "exact: Some"])
}

/// Of an object, a client, a network or a port, or a hash of a name.
fn is_name(word: &str) -> bool {
    let are_digits = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let is_numbered = word.starts_with(|c: char| c.is_ascii_lowercase()) && are_digits(&word[1..]);
    let is_address = word.split('.').count() == 4;
    let is_hash = word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let is_port = word.len() == 5 && word.starts_with("30") && are_digits(word);
    is_numbered || is_address || is_hash || is_port
}
