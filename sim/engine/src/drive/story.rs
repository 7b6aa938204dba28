//! Why a run failed: its happens-before graph, sliced to what led to the violation, and told.
//!
//! Edges: the event that sent a frame or armed a timer happens before its arrival; the events of
//! one routine follow each other; what is told about an object follows what was last told about it.

use std::collections::BTreeMap;
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
    is_fault: bool,
}

/// The history of a run, as far as a story needs it.
#[derive(Debug)]
pub struct Chronicle {
    describer: Describer,
    graph: DiGraph<Node, ()>,
    /// Where the sequence numbers of each event begin.
    first_seqs: Vec<u64>,
    last_of_routine: BTreeMap<String, NodeIndex>,
    last_about: BTreeMap<String, NodeIndex>,
}

impl Chronicle {
    /// Nothing yet.
    pub fn new(describer: Describer) -> Chronicle {
        Chronicle {
            describer,
            graph: DiGraph::new(),
            first_seqs: Vec::new(),
            last_of_routine: BTreeMap::new(),
            last_about: BTreeMap::new(),
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
        let node = self.graph.add_node(Node {
            at: event.at,
            lines: Vec::new(),
            is_fault: false,
        });
        self.first_seqs.push(report.first_seq);
        if let TraceWhat::Act(Action::Fault(fault)) = &event.what
            && report.injected
        {
            self.graph[node].is_fault = tells(fault);
            self.line(node, "fault", fault.to_string());
        }
        if let TraceWhat::Calm = event.what {
            self.line(node, "calm", "the storm is over".to_owned());
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
            for about in description.about {
                if let Some(before) = self.last_about.insert(about, node)
                    && before != node
                {
                    self.graph.add_edge(before, node, ());
                }
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

    /// The lines that led to the last event, and to what was last told about `object`: at most
    /// `limit`, the latest ones.
    pub fn story(&self, limit: usize, object: Option<&str>) -> Vec<String> {
        let last = self.graph.node_indices().next_back();
        let about = object.and_then(|object| self.last_about.get(object).copied());
        let mut led_here = vec![false; self.graph.node_count()];
        for end in last.into_iter().chain(about) {
            let mut walk = Dfs::new(Reversed(&self.graph), end);
            while let Some(node) = walk.next(Reversed(&self.graph)) {
                led_here[node.index()] = true;
            }
        }
        let mut lines: Vec<String> = self
            .graph
            .node_indices()
            .filter(|node| led_here[node.index()] || self.graph[*node].is_fault)
            .flat_map(|node| {
                let node = &self.graph[node];
                node.lines
                    .iter()
                    .map(|(who, text)| format!("{:>12.6} s  {who:<6} {text}", node.at.secs_f64()))
            })
            .collect();
        let skipped = lines.len().saturating_sub(limit);
        if skipped > 0 {
            lines.drain(..skipped);
            lines.insert(
                0,
                format!("{:>12}    ({skipped} earlier lines left out)", ""),
            );
        }
        lines
    }
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
