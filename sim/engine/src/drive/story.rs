//! Why a run failed: its happens-before graph, sliced to what led to the violation, and told.
//!
//! Edges: the event that sent a frame or armed a timer happens before its arrival; the events of
//! one routine follow each other; what is told about an object follows what was last told about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Dfs, Reversed};

use crate::fault::{Action, Fault};
use crate::property::Note;
use crate::queue::Entry;
use crate::time::Time;
use crate::trace::{TraceEvent, TraceWhat};
use crate::world::{Report, World};

/// A note in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// One line, without time and process.
    pub text: String,
    /// The objects it is about.
    pub about: Vec<String>,
}

type Describe = dyn Fn(&World, &Note) -> Option<Description> + Send + Sync;

/// Puts the notes into words that a story tells; `None` for those that no story needs.
#[derive(Clone)]
pub struct Describer(Arc<Describe>);

impl Describer {
    /// One that does so.
    pub fn new(
        describe: impl Fn(&World, &Note) -> Option<Description> + Send + Sync + 'static,
    ) -> Describer {
        Describer(Arc::new(describe))
    }

    /// A note in words.
    pub fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        (self.0)(world, note)
    }
}

impl fmt::Debug for Describer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Describer")
    }
}

#[derive(Debug)]
struct Node {
    at: Time,
    lines: Vec<(String, String)>,
    /// What somebody is told to do: what it leads to tells more, so this is left out first.
    is_command: bool,
    /// A story tells it even if nothing links to it: its effect is what did not happen, or when.
    always: bool,
}

/// A line: of which event, and which of its lines.
type Place = (NodeIndex, usize);

/// Of a story that is too long so many lines of each ten are about what it is of; the rest are the last of all.
const DIRECT_OF_TEN: usize = 6;

/// What a story is to tell.
#[derive(Clone, Copy, Debug)]
pub enum Telling<'a> {
    /// All that was told.
    Everything,
    /// What led to a violation: to the last event, to what was last told about its object, and about the objects
    /// that its message names.
    Violation {
        /// Its object.
        object: &'a str,
        /// Its message.
        message: &'a str,
    },
    /// Whatever was told about an object, and what led there; or what a process told, was told and was struck by.
    About(&'a str),
}

/// The history of a run, as far as a story needs it.
#[derive(Debug)]
pub struct Chronicle {
    describer: Describer,
    graph: DiGraph<Node, ()>,
    /// Where the sequence numbers of each event begin.
    first_seqs: Vec<u64>,
    last_of_routine: BTreeMap<String, NodeIndex>,
    /// What was told about each object.
    about: BTreeMap<String, Vec<Place>>,
    /// The names of all processes.
    processes: BTreeSet<String>,
}

impl Chronicle {
    /// Nothing yet.
    pub fn new(describer: Describer) -> Chronicle {
        Chronicle {
            describer,
            graph: DiGraph::new(),
            first_seqs: Vec::new(),
            last_of_routine: BTreeMap::new(),
            about: BTreeMap::new(),
            processes: BTreeSet::new(),
        }
    }

    /// Adds an event that `world` has just applied.
    pub fn add(
        &mut self,
        world: &World,
        event: &TraceEvent,
        entry: Option<&Entry>,
        report: &Report,
    ) {
        if self.first_seqs.is_empty() {
            let names = world
                .processes()
                .map(|process| world.name(process).to_owned());
            self.processes = names.collect();
        }
        let node = self.graph.add_node(Node {
            at: event.at,
            lines: Vec::new(),
            is_command: false,
            always: false,
        });
        self.first_seqs.push(report.first_seq);
        match &event.what {
            TraceWhat::Act(Action::Fault(fault)) if report.injected => {
                self.graph[node].always = tells(fault);
                self.line(node, "fault", fault.to_string());
            }
            TraceWhat::Act(Action::Command {
                process,
                what,
                args,
            }) => {
                let args = match args.is_null() {
                    true => String::new(),
                    false => format!(" {args}"),
                };
                let unheard = match report.injected {
                    true => "",
                    false => ", and does not hear it: it is not up",
                };
                self.graph[node].is_command = true;
                self.line(node, process, format!("is told to {what}{args}{unheard}"));
            }
            TraceWhat::Calm => {
                self.graph[node].always = true;
                self.line(node, "calm", "the storm is over".to_owned());
            }
            _ => {}
        }
        if let Some(entry) = entry {
            self.link_to_cause(node, entry);
        }
        if let TraceWhat::Pending(name) | TraceWhat::Choice(name, _) = &event.what {
            self.link_to_routine(node, name);
        }
        for note in &report.notes {
            let Some(description) = self.describer.describe(world, note) else {
                continue;
            };
            let line = self.graph[node].lines.len();
            for object in description.about {
                let about = self.about.entry(object).or_default();
                if let Some((before, _)) = about.last().filter(|(before, _)| *before != node) {
                    self.graph.add_edge(*before, node, ());
                }
                about.push((node, line));
            }
            let name = world.name(note.process).to_owned();
            self.line(node, &name, description.text);
        }
    }

    fn line(&mut self, node: NodeIndex, who: &str, text: String) {
        self.graph[node].lines.push((who.to_owned(), text));
    }

    fn link_to_cause(&mut self, node: NodeIndex, entry: &Entry) {
        let made_by = self.first_seqs.partition_point(|seq| *seq <= entry.seq);
        if made_by > 0 && made_by - 1 != node.index() {
            self.graph.add_edge(NodeIndex::new(made_by - 1), node, ());
        }
    }

    fn link_to_routine(&mut self, node: NodeIndex, name: &str) {
        let Some(routine) = resumed(name) else { return };
        if let Some(before) = self.last_of_routine.insert(routine.to_owned(), node) {
            self.graph.add_edge(before, node, ());
        }
    }

    /// The objects that something was told about.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        self.about.keys().map(String::as_str)
    }

    /// The names of the processes.
    pub fn processes(&self) -> impl Iterator<Item = &str> {
        self.processes.iter().map(String::as_str)
    }

    /// Does this text name a process, or an object that something was told about?
    pub fn knows(&self, text: &str) -> bool {
        self.processes.contains(text) || self.objects().any(|object| names(object, text))
    }

    /// What a process told or was told, what struck it, and what names it, if this is one.
    fn of_process(&self, name: &str) -> Vec<Place> {
        if !self.processes.contains(name) {
            return Vec::new();
        }
        let lines = self.graph.node_indices().flat_map(|node| {
            let lines = self.graph[node].lines.iter().enumerate();
            let own = lines.filter(|(_, (who, text))| who == name || has_word(text, name));
            own.map(move |(line, _)| (node, line))
        });
        lines.collect()
    }

    /// The lines of a story: at most `limit`.
    pub fn story(&self, telling: Telling<'_>, limit: Option<usize>) -> Vec<String> {
        let of_process = match telling {
            Telling::About(text) => self.of_process(text),
            _ => Vec::new(),
        };
        let direct: Vec<&[Place]> = match telling {
            Telling::Everything => Vec::new(),
            Telling::Violation { object, message } => self.told_about(object, message),
            Telling::About(text) => {
                let named = self.about.iter().filter(|(object, _)| names(object, text));
                let named = named.map(|(_, about)| about.as_slice());
                named.chain([of_process.as_slice()]).collect()
            }
        };
        let ends: Vec<NodeIndex> = match telling {
            Telling::Everything => self.graph.node_indices().collect(),
            Telling::Violation { .. } => {
                let last = self.graph.node_indices().next_back();
                let told = direct.iter().filter_map(|about| about.last());
                last.into_iter()
                    .chain(told.map(|(node, _)| *node))
                    .collect()
            }
            Telling::About(_) => direct.iter().copied().flatten().map(|(n, _)| *n).collect(),
        };
        let led_here = self.led_to(ends);
        let told = |node: &NodeIndex| self.graph[*node].always || led_here[node.index()];
        let events = self.graph.node_indices().filter(told);
        let places = events.flat_map(|node| {
            let lines = self.graph[node].lines.len();
            (0..lines).map(move |line| (node, line))
        });
        let direct: BTreeSet<Place> = direct.into_iter().flatten().copied().collect();
        // What led to all that a process told is nearly everything.
        let is_of_process =
            matches!(telling, Telling::About(text) if self.processes.contains(text));
        let places: Vec<Place> = places
            .filter(|place| !is_of_process || direct.contains(place))
            .collect();
        let limit = limit.unwrap_or(usize::MAX);
        let kept = match places.len() <= limit {
            true => places.clone(),
            false => {
                let tells_more = |place: &&Place| !(self.graph[place.0].is_command && place.1 == 0);
                let places: Vec<Place> = places.iter().filter(tells_more).copied().collect();
                kept(&places, &direct, limit)
            }
        };
        let skipped = places.len() - kept.len();
        let skipped = (skipped > 0).then(|| format!("{:>12}    ({skipped} lines left out)", ""));
        let lines = kept.into_iter().map(|(node, line)| {
            let node = &self.graph[node];
            let (who, text) = &node.lines[line];
            format!("{:>12.6} s  {who:<6} {text}", node.at.secs_f64())
        });
        skipped.into_iter().chain(lines).collect()
    }

    /// What was told about the object of a violation, and about the objects that its message names.
    fn told_about(&self, object: &str, message: &str) -> Vec<&[Place]> {
        let named = self.about.iter();
        let named = named.filter(|(known, _)| concerns(known, object, message));
        named.map(|(_, about)| about.as_slice()).collect()
    }

    /// Which events happened before one of these, or are one of them.
    fn led_to(&self, ends: Vec<NodeIndex>) -> Vec<bool> {
        let mut led_here = vec![false; self.graph.node_count()];
        let reversed = Reversed(&self.graph);
        let mut walk = Dfs::empty(reversed);
        walk.stack = ends;
        while let Some(node) = walk.next(reversed) {
            led_here[node.index()] = true;
        }
        led_here
    }
}

/// At most `limit` of these lines: the latest that are direct, and the latest of all.
fn kept(places: &[Place], direct: &BTreeSet<Place>, limit: usize) -> Vec<Place> {
    if places.len() <= limit {
        return places.to_vec();
    }
    let latest = places.iter().rev();
    let of_direct = latest.clone().filter(|place| direct.contains(place));
    let mut kept: BTreeSet<Place> = of_direct
        .take(limit * DIRECT_OF_TEN / 10)
        .copied()
        .collect();
    for place in latest {
        if kept.len() == limit {
            break;
        }
        kept.insert(*place);
    }
    kept.into_iter().collect()
}

/// Does a violation concern what is known by this name: is it its object, or a key that its message names?
pub fn concerns(known: &str, object: &str, message: &str) -> bool {
    let separates = |c: char| c.is_whitespace() || ",;()".contains(c);
    let words = message.split(separates);
    // Only what looks like a key or a path: other words may be the end of a key by chance.
    let mut words = words
        .map(|word| word.trim_end_matches([':', '.']))
        .filter(|word| word.contains('/'));
    known == object || known.starts_with('/') && words.any(|word| names(known, word))
}

/// Does this text name the object: all of it, whole words of it (`b1` of `ball 0 of b1`), or the end of its key
/// (`default/x` of `/things/default/x`)?
fn names(object: &str, text: &str) -> bool {
    let ends_a_key = || {
        let rest = object.strip_suffix(text);
        rest.is_some_and(|rest| rest.ends_with('/'))
    };
    let is_in_words = || {
        let text: Vec<&str> = text.split(' ').collect();
        let words: Vec<&str> = object.split(' ').collect();
        words.windows(text.len()).any(|part| part == text)
    };
    is_in_words() || ends_a_key()
}

/// Is this among the words of a text?
fn has_word(text: &str, word: &str) -> bool {
    let separates = |c: char| !(c.is_alphanumeric() || "-_.".contains(c));
    text.split(separates).any(|own| own == word)
}

/// Faults that a story tells even if nothing links to them: their effect is what did not happen.
fn tells(fault: &Fault) -> bool {
    fault.kind().is_some() || matches!(fault, Fault::Start { .. })
}

/// The routine that an event resumes, `w1.1/count#0`, by the event's name.
fn resumed(name: &str) -> Option<&str> {
    let (verb, rest) = name.split_once(' ')?;
    const VERBS: [&str; 8] = [
        "answer", "push", "sleep", "grant", "recv", "send", "wake", "choose",
    ];
    if !VERBS.contains(&verb) {
        return None;
    }
    let (routine, _op) = rest.split(' ').next()?.rsplit_once('.')?;
    Some(routine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_that_is_too_long_keeps_what_it_is_about() {
        let place = |at| (NodeIndex::new(at), 0);
        let places: Vec<Place> = (0..100).map(place).collect();
        let direct = BTreeSet::from([place(3), place(50), place(99)]);
        let of = |limit| -> Vec<usize> {
            let kept = kept(&places, &direct, limit).into_iter();
            kept.map(|(node, _)| node.index()).collect()
        };
        assert_eq!(of(5), [3, 50, 97, 98, 99]);
        assert_eq!(of(2), [98, 99]);
        assert_eq!(of(100).len(), 100);
    }

    #[test]
    fn an_object_goes_by_its_words_and_by_the_end_of_its_key() {
        let key = "/things/default/x";
        assert!(names(key, key) && names(key, "default/x") && names(key, "x"));
        assert!(!names(key, "efault/x") && !names(key, "default"));
        let ball = "ball 0 of b1";
        assert!(names(ball, "b1") && names(ball, "ball 0"));
        assert!(!names(ball, "ball 1") && !names(ball, "b"));
    }

    #[test]
    fn a_process_goes_by_whole_words() {
        assert!(has_word("b1, b2 cannot reach c", "b1") && has_word("is hit (by b1)", "b1"));
        assert!(!has_word("b10 crashes", "b1") && !has_word("10.0.0.1", "10"));
    }
}
