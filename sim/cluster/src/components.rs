//! All components, and what is composed of what each declares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use wavetank_api::kinds::Kinds;
use wavetank_component::{Component, Draw, Drawn, Given, Keys, Section, Setup, Spec, View};
use wavetank_engine::drive::random::Stream;
use wavetank_engine::{ProcId, World};
use wavetank_version::{AnyVersion, Composition, Defect, List, Selection, Version};

use crate::list;
use crate::properties::{Named, properties_of};

/// The components of which worlds are composed: those that are built in, and those that somebody has added.
#[derive(Clone)]
pub struct Components {
    all: Vec<Arc<dyn Component>>,
    /// The keys of each: every seed draws for them.
    keys: Vec<Vec<Arc<Keys>>>,
    /// The properties of all: each scenario that is read looks some up.
    pub(crate) properties: Vec<Named>,
    /// So many of them are built in.
    built_in: usize,
}

impl Default for Components {
    fn default() -> Components {
        let all = list::all();
        let components = Components {
            built_in: all.len(),
            keys: all.iter().map(|own| keys_of(own.as_ref())).collect(),
            properties: all
                .iter()
                .flat_map(|own| properties_of(own.as_ref()))
                .collect(),
            all,
        };
        components.assert_unique();
        components
    }
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(|own| own.name()))
            .finish()
    }
}

fn keys_of(component: &dyn Component) -> Vec<Arc<Keys>> {
    component.all_keys().into_iter().map(Arc::new).collect()
}

impl Components {
    /// One more.
    ///
    /// # Panics
    /// If it has a name that another has: of itself, of a key, of a property or of a defect.
    pub fn with(mut self, component: impl Component) -> Components {
        self.keys.push(keys_of(&component));
        self.properties.extend(properties_of(&component));
        self.all.push(Arc::new(component));
        self.assert_unique();
        self
    }

    /// They, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Component> {
        self.all.iter().map(|own| own.as_ref())
    }

    /// What a process holds of objects, as its parts say.
    pub fn views(&self, world: &World, process: ProcId) -> Vec<View> {
        self.iter()
            .flat_map(|own| own.views(world, process))
            .collect()
    }

    /// The names of the processes that serve the API.
    ///
    /// # Errors
    /// What is wrong with what was decided (it may come from a trace).
    pub fn servers(&self, setup: &Setup) -> Result<Vec<String>, String> {
        let serving = self.iter().filter(|own| own.serves());
        let names: Result<Vec<Vec<String>>, String> = serving
            .map(|own| own.processes(setup, Some(&setup.drawn)))
            .collect();
        Ok(names?.concat())
    }

    /// The one of this name.
    pub fn find(&self, name: &str) -> Option<&dyn Component> {
        self.iter().find(|own| own.name() == name)
    }

    /// All keys of scenario files that components claim, by section.
    pub fn keys(&self) -> BTreeMap<Section, Vec<Arc<Keys>>> {
        let mut all: BTreeMap<Section, Vec<Arc<Keys>>> = BTreeMap::new();
        for keys in self.keys.iter().flatten() {
            all.entry(keys.section()).or_default().push(keys.clone());
        }
        all
    }

    /// What a scenario file says that says nothing.
    pub fn nothing_given(&self) -> Given {
        let mut given = Given::default();
        for keys in self.keys().into_values().flatten() {
            given.add(keys.section(), keys.default());
        }
        given
    }

    /// What a seed decides. One who was added draws from streams of its own, so that ours decide what they did.
    pub fn draw(&self, spec: &Spec, seed: u64) -> Drawn {
        let mut draw = Draw::new(Stream::new(seed, "options"));
        for own in self.iter() {
            if let Some(replicas) = own.replicas() {
                draw.set(replicas.key, own.count(&spec.given));
            }
        }
        let sections: BTreeSet<Section> = self
            .keys
            .iter()
            .flatten()
            .map(|keys| keys.section())
            .collect();
        for section in sections {
            let given = spec.given.section(section);
            for (at, (own, keys)) in self.iter().zip(self.keys.iter()).enumerate() {
                let added = at >= self.built_in;
                let ours = added.then(|| {
                    let stream = format!("options/{}/{}", own.name(), section.key());
                    draw.draw_from(Stream::new(seed, &stream))
                });
                for keys in keys.iter().filter(|keys| keys.section() == section) {
                    keys.draw(given, &mut draw);
                }
                if let Some(ours) = ours {
                    draw.draw_from(ours);
                }
            }
        }
        draw.done()
    }

    /// What the same seed could have decided with fewer processes, the smallest first.
    pub fn smaller(&self, drawn: &Drawn) -> Vec<Drawn> {
        let replicas = self.iter().filter_map(|own| own.replicas());
        let fewer = replicas.flat_map(|replicas| {
            let count = drawn.count(replicas.key).unwrap_or_default();
            let counts = (replicas.fewest..count).step_by(replicas.step as usize);
            counts.map(move |count| drawn.with_count(replicas.key, count))
        });
        fewer.collect()
    }

    /// The names of all processes, by component.
    ///
    /// # Errors
    /// What is wrong with what was decided (it may come from a trace).
    pub fn processes(
        &self,
        spec: &Spec,
        drawn: Option<&Drawn>,
    ) -> Result<Vec<(&'static str, Vec<String>)>, String> {
        let all = self.iter();
        all.map(|own| Ok((own.name(), own.processes(spec, drawn)?)))
            .collect()
    }

    /// The releases of Kubernetes that processes have, or may have during a run.
    pub fn releases(&self, spec: &Spec) -> Vec<Version> {
        self.iter().flat_map(|own| own.releases(spec)).collect()
    }

    /// The kinds that apiservers serve, and which of them are used: those of a component that a scenario has none of are
    /// not among them.
    fn kinds(&self, spec: &Spec) -> Kinds {
        let there = self.iter().filter(|own| own.exists(spec));
        let kinds = Kinds::with(there.flat_map(|own| own.kinds()).collect());
        let used = self.iter().flat_map(|own| own.uses(spec));
        used.fold(kinds, Kinds::with_used)
    }

    /// The same, with what follows from which components there are: the kinds that its apiservers serve, and whether
    /// somebody elects a leader or may apply.
    pub fn complete(&self, spec: Spec) -> Spec {
        let kinds = self.kinds(&spec);
        let there = || self.iter().filter(|own| own.exists(&spec));
        Spec {
            kinds,
            elects: there().any(|own| own.elects(&spec)),
            applies: there().any(Component::applies),
            ..spec
        }
    }

    /// All defects and fixes, each with the component that has its place, and with the list in which it stands.
    pub fn defects(&self) -> Vec<(&dyn Component, List, &'static Defect)> {
        let of = |own| {
            let lists = Component::defects(own).into_iter();
            lists.flat_map(move |list| list.defects.iter().map(move |defect| (own, list, *defect)))
        };
        self.iter().flat_map(of).collect()
    }

    /// The defect or fix of this name.
    pub fn defect(&self, name: &str) -> Option<&'static Defect> {
        let all = self.defects().into_iter();
        let mut all = all.map(|(_, _, defect)| defect);
        all.find(|defect| defect.name == name)
    }

    /// What is on in a process of this version, of whichever component.
    pub fn selection(
        &self,
        composition: &Composition,
        version: impl Into<AnyVersion>,
    ) -> Selection {
        let all = self.defects().into_iter();
        composition.selection(version, all.map(|(_, _, defect)| defect))
    }

    /// Those whose places this thread has passed since it was asked last.
    pub fn take_passed(&self) -> Vec<&'static Defect> {
        let lists = self.iter().flat_map(|own| own.defects());
        lists.flat_map(|list| list.take_passed()).collect()
    }

    /// What is told from each other by name must not be called alike.
    fn assert_unique(&self) {
        let mut names = BTreeSet::new();
        let mut claim = |what: &str, name: &str| {
            let is_new = names.insert(format!("{what} `{name}`"));
            assert!(is_new, "there are two components with the {what} `{name}`");
        };
        // Looks at them.
        let _ = Kinds::with(self.iter().flat_map(|own| own.kinds()).collect());
        for (own, keys) in self.iter().zip(self.keys.iter()) {
            claim("name", own.name());
            for keys in keys {
                let section = format!("key of `{}`", keys.section().key());
                for key in keys.names() {
                    claim(&section, key);
                }
            }
            if let Some(replicas) = own.replicas() {
                claim("prefix of processes", replicas.prefix);
            }
            for defect in own.defects().iter().flat_map(|list| list.defects) {
                claim("defect", defect.name);
            }
        }
        for property in &self.properties {
            claim("property", property.info.name);
        }
    }
}
