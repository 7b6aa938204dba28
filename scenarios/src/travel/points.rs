//! Points of view: the store, the watch caches of an apiserver, the informers of a process, and whatever a component declares.
//! A point is named by its process, `a1`, or by process and view where it has several, `a1/informer`.

use wavetank_api::discovery::api_resources;
use wavetank_api::{Json, Resource, json};
use wavetank_component::{Held, Holds, View};
use wavetank_engine::{ProcId, World};
use wavetank_releases::Release;

use super::Travel;

/// What everything is stored in, whoever does it: of several the one that is the furthest.
pub const STORE: &str = "store";

/// A point of view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The name of a process, or [`STORE`].
    pub process: String,
    /// The name of one of its views.
    pub view: Option<String>,
}

impl Point {
    /// `a1`, `a1/informer`.
    pub fn parse(text: &str) -> Point {
        match text.split_once('/') {
            Some((process, view)) => Point {
                process: process.to_owned(),
                view: Some(view.to_owned()),
            },
            None => Point {
                process: text.to_owned(),
                view: None,
            },
        }
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.view {
            Some(view) => write!(f, "{}/{view}", self.process),
            None => f.write_str(&self.process),
        }
    }
}

/// What a point of view holds of one resource.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The process, and the name of the view.
    pub process: String,
    /// Its name.
    pub view: &'static str,
    /// As of which revision.
    pub revision: u64,
    /// The objects.
    pub objects: Vec<Held>,
}

impl Seen {
    /// The object of this name.
    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Option<&Held> {
        let key = resource.key(namespace, name);
        self.objects.iter().find(|held| *held.key == *key)
    }
}

/// A view as `points` lists it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its point.
    pub point: Point,
    /// Of which resource, if it is of one.
    pub resource: Option<&'static Resource>,
    /// As of which revision.
    pub revision: u64,
    /// So many objects.
    pub objects: usize,
}

impl Travel<'_> {
    /// The process of a point of view.
    fn process_of(&self, point: &Point) -> Result<ProcId, String> {
        let world = self.world();
        if let Some(process) = world.find(&point.process) {
            return Ok(process);
        }
        if point.process == STORE {
            let stores = world.processes().filter_map(|process| {
                let views = self.views(process).into_iter();
                let mut stores = views.filter(|view| view.holds == Holds::Stored);
                Some((stores.next()?.revision, process))
            });
            if let Some((_, process)) = stores.max_by_key(|(revision, _)| *revision) {
                return Ok(process);
            }
        }
        let all: Vec<&str> = world.processes().map(|own| world.name(own)).collect();
        Err(format!(
            "there is no process `{}`; there are {}",
            point.process,
            all.join(", ")
        ))
    }

    /// All points of view that hold something, or would.
    pub fn points(&self) -> Vec<Listed> {
        let world = self.world();
        let of = |process: ProcId| {
            let views = self.views(process).into_iter();
            views.map(move |view| Listed {
                point: Point {
                    process: world.name(process).to_owned(),
                    view: Some(view.name.to_owned()),
                },
                resource: view.resource,
                revision: view.revision,
                objects: view.objects.len(),
            })
        };
        world.processes().flat_map(of).collect()
    }

    /// What a point of view holds of a resource; of several of its views the first that is of it.
    ///
    /// # Errors
    /// What is there instead, for people.
    pub fn see(&self, point: &Point, resource: &'static Resource) -> Result<Seen, String> {
        let process = self.process_of(point)?;
        let name = self.world().name(process).to_owned();
        let views = self.views(process);
        let is_named = |view: &&View| point.view.as_deref().is_none_or(|own| own == view.name);
        let is_of = |view: &&View| view.resource.is_none_or(|own| is_same(own, resource));
        let fitting = views.iter().filter(is_named).find(is_of);
        let Some(view) = fitting else {
            return Err(self.nothing(&name, point, resource, &views));
        };
        let begin = format!("{}/", resource.registry);
        let objects = view.objects.iter();
        let objects = objects.filter(|held| held.key.starts_with(&begin));
        // Of several kinds with one prefix only this one.
        let objects = objects.filter(|held| {
            let kind = json::text(held.object.object.json(), &["kind"]);
            kind.is_empty() || kind == resource.kind
        });
        Ok(Seen {
            process: name,
            view: view.name,
            revision: view.revision,
            objects: objects.cloned().collect(),
        })
    }

    /// The same, but of a process that is down or has no such view nothing.
    ///
    /// # Errors
    /// There is no such process.
    pub fn see_or_nothing(
        &self,
        point: &Point,
        resource: &'static Resource,
    ) -> Result<Option<Seen>, String> {
        self.process_of(point)?;
        Ok(self.see(point, resource).ok())
    }

    fn nothing(&self, name: &str, point: &Point, resource: &Resource, views: &[View]) -> String {
        let world = self.world();
        let status = world.find(name).map(|process| world.status(process));
        if views.is_empty() {
            let down = match status {
                Some(wavetank_engine::Status::Up) => "",
                _ => ": it is down",
            };
            return format!("{name} holds no objects{down}; `points` lists what there is");
        }
        let of = |view: &View| match view.resource {
            Some(resource) => format!("{} of {}", view.name, resource.qualified()),
            None => view.name.to_owned(),
        };
        let all: Vec<String> = views.iter().map(of).collect();
        format!(
            "{point} holds no {}; it has {}",
            resource.qualified(),
            all.join(", ")
        )
    }

    /// The resource that somebody means: `services`, `service`, `svc`, `endpointslices.discovery.k8s.io`.
    ///
    /// # Errors
    /// For people.
    pub fn resource(&self, text: &str) -> Result<&'static Resource, String> {
        let known = self.resources();
        let lower = text.to_lowercase();
        let is = |resource: &&&'static Resource| {
            resource.plural == lower
                || resource.qualified() == lower
                || resource.kind.to_lowercase() == lower
        };
        let named = known.iter().find(is).or_else(|| {
            let mut all = known.iter();
            all.find(|resource| short_names(resource).contains(&lower))
        });
        named.copied().ok_or_else(|| {
            let held: Vec<String> = known.iter().take(40).map(|own| own.qualified()).collect();
            format!(
                "there is no resource `{text}`; some are {}",
                held.join(", ")
            )
        })
    }

    /// All resources: those that somebody has a view of come first.
    pub fn resources(&self) -> Vec<&'static Resource> {
        let world = self.world();
        let views = world.processes().flat_map(|process| self.views(process));
        let mut all: Vec<&'static Resource> = Vec::new();
        let more = Resource::ALL.into_iter();
        for resource in views.filter_map(|view| view.resource).chain(more) {
            if !all.iter().any(|own| is_same(own, resource)) {
                all.push(resource);
            }
        }
        all
    }

    /// An object as a point of view holds it: with its resourceVersion, or nothing.
    ///
    /// # Errors
    /// For people.
    pub fn object(
        &self,
        point: &Point,
        resource: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Json>, String> {
        let seen = self.see(point, resource)?;
        let held = seen.get(resource, namespace, name);
        Ok(held.map(|held| held.object.json()))
    }
}

fn is_same(one: &Resource, other: &Resource) -> bool {
    std::ptr::eq(one, other) || (one.group, one.plural) == (other.group, other.plural)
}

fn short_names(resource: &'static Resource) -> Vec<String> {
    let newest = Release::TABLE.last().expect("there is a release");
    let all = api_resources(resource, newest.version).into_iter();
    let own = all.filter(|own| own.name == resource.plural);
    own.flat_map(|own| own.short_names).collect()
}

/// How two holders of the same keys differ: a line for each, in the order of keys.
pub fn differences(one: &Seen, other: &Seen) -> Vec<(String, Option<u64>, Option<u64>)> {
    let mut keys: Vec<&String> = one.objects.iter().map(|held| &held.key).collect();
    keys.extend(other.objects.iter().map(|held| &held.key));
    keys.sort();
    keys.dedup();
    let version = |seen: &Seen, key: &str| {
        let held = seen.objects.iter().find(|held| held.key == key);
        held.map(|held| held.object.resource_version)
    };
    let both = keys.into_iter().map(|key| {
        let (one, other) = (version(one, key), version(other, key));
        (key.clone(), one, other)
    });
    both.filter(|(_, one, other)| one != other).collect()
}

/// Who reads a world by its processes' names.
pub fn names(world: &World) -> Vec<String> {
    let all = world.processes();
    all.map(|process| world.name(process).to_owned()).collect()
}
