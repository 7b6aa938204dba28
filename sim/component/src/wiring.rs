//! Takes the processes of a world, each of which may know of others.

use wavetank_engine::{ProcId, Process, WorldBuilder};

/// The processes of a world that is being built.
#[derive(Debug)]
pub struct Wiring<'a> {
    builder: &'a mut WorldBuilder,
    names: Vec<String>,
    of: &'a [(&'static str, Vec<String>)],
}

impl<'a> Wiring<'a> {
    /// A world with these processes (the names, by component).
    pub fn new(builder: &'a mut WorldBuilder, of: &'a [(&'static str, Vec<String>)]) -> Wiring<'a> {
        let names = of.iter().flat_map(|(_, names)| names.iter().cloned());
        let names = names.collect();
        Wiring { builder, names, of }
    }

    /// The names of the processes of a component.
    pub fn names(&self, component: &str) -> &'a [String] {
        let mut all = self.of.iter();
        let found = all.find(|(name, _)| *name == component);
        found.map_or(&[], |(_, names)| names)
    }

    /// The processes of a component, in the order of their numbers.
    pub fn ids(&self, component: &str) -> Vec<ProcId> {
        let names = self.names(component).iter();
        names.map(|name| self.id(name)).collect()
    }

    /// The process of this name.
    ///
    /// # Panics
    /// If there is none.
    pub fn id(&self, name: &str) -> ProcId {
        WorldBuilder::id_of(name, &self.names)
    }

    /// Adds a process; it is down until it is started.
    pub fn process(&mut self, name: &str, process: impl Process) {
        self.builder.process(name, process);
    }
}
