//! Properties over objects as their Rust types.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Resource as KubeResource;
use serde::de::DeserializeOwned;
use wavetank_component::{Need, PropertyInfo};
use wavetank_engine::{Check, NotState, Note, Property, Violation, World};

use super::cluster::{Cluster, read};
use crate::kind;
use crate::process::can_work;
use wavetank_components::sieve::objects::{Objects, changes};

/// How a property is broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// The object: `default/shop1`.
    pub object: String,
    /// What is wrong, in one line.
    pub message: String,
}

impl Breach {
    /// By an object.
    pub fn of(object: impl Into<String>, message: impl Into<String>) -> Breach {
        Breach {
            object: object.into(),
            message: message.into(),
        }
    }

    pub(super) fn check(self) -> Check {
        Check::Violated(Violation {
            kind: "object",
            object: self.object,
            message: self.message,
        })
    }
}

/// What became of an object at one commit.
#[derive(Clone, Debug)]
pub struct Change<K> {
    /// What it was; nothing if it is new.
    pub before: Option<K>,
    /// What it is; nothing if it is gone.
    pub now: Option<K>,
}

type Holds = Arc<dyn Fn(Cluster<'_>) -> Result<(), Breach> + Send + Sync>;
type Judges = Arc<dyn Fn(&Note, Cluster<'_>) -> Check + Send + Sync>;

/// Each change of an object of this type is shown to `check`, with the cluster as it is then. What it has no opinion about
/// is right.
pub fn on_change<K>(
    name: &'static str,
    about: &'static str,
    check: impl Fn(&Change<K>, Cluster<'_>) -> Result<(), Breach> + Send + Sync + 'static,
) -> PropertyInfo
where
    K: KubeResource<DynamicType = ()> + DeserializeOwned + 'static,
{
    let registry = kind::registry::<K>();
    let judges = move |note: &Note, cluster: Cluster<'_>| {
        let mut said = Check::Idle;
        for stored in changes(note).filter(|stored| stored.key.starts_with(&registry)) {
            let change = Change {
                before: stored.before.map(read::<K>),
                now: stored.now.map(read::<K>),
            };
            match check(&change, cluster) {
                Ok(()) => said = Check::Held,
                Err(breach) => return breach.check(),
            }
        }
        said
    };
    let judges: Judges = Arc::new(judges);
    PropertyInfo::new(name, about, Need::NOTHING, move |_| {
        Box::new(OnChange {
            name,
            judges: NotState(judges.clone()),
            objects: Objects::default(),
        })
    })
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct OnChange {
    name: &'static str,
    judges: NotState<Judges>,
    objects: Objects,
}

impl fmt::Debug for OnChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Property for OnChange {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        match self.objects.take(note) {
            true => (self.judges)(note, Cluster(&self.objects)),
            false => Check::Idle,
        }
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note).next().is_none().then_some(Check::Idle)
    }
}

/// Some time after the storm this holds, once: whether or not it did before or does afterwards. It is promised only where
/// a replica of each operator runs through the calm, and so does everybody else.
pub fn eventually(
    name: &'static str,
    about: &'static str,
    holds: impl Fn(Cluster<'_>) -> Result<(), Breach> + Send + Sync + 'static,
) -> PropertyInfo {
    of_calm(name, about, Arc::new(holds), false)
}

/// From some time after the storm on this holds, at every change. Promised as in [`eventually`].
pub fn stable(
    name: &'static str,
    about: &'static str,
    holds: impl Fn(Cluster<'_>) -> Result<(), Breach> + Send + Sync + 'static,
) -> PropertyInfo {
    of_calm(name, about, Arc::new(holds), true)
}

fn of_calm(name: &'static str, about: &'static str, holds: Holds, stays: bool) -> PropertyInfo {
    let about = format!("some time after calm: {about}").leak();
    PropertyInfo::new(name, about, Need::NOTHING, move |settled| {
        Box::new(OfCalm {
            name,
            holds: NotState(holds.clone()),
            settled,
            stays,
            objects: Objects::default(),
            at: At::Storm,
            is_promised: false,
        })
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Storm,
    /// Calm, and it has not held since.
    Open,
    /// It has held in calm.
    Held,
    /// It has to hold.
    Settled,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct OfCalm {
    name: &'static str,
    holds: NotState<Holds>,
    settled: Duration,
    stays: bool,
    objects: Objects,
    at: At,
    /// Has everybody been there since calm began? Else nobody promises anything.
    is_promised: bool,
}

impl fmt::Debug for OfCalm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl OfCalm {
    fn holds(&self) -> Result<(), Breach> {
        (self.holds)(Cluster(&self.objects))
    }

    fn look(&mut self) {
        if self.at == At::Open && self.holds().is_ok() {
            self.at = At::Held;
        }
    }

    fn check(&self) -> Check {
        self.holds().map_or_else(Breach::check, |()| Check::Held)
    }
}

impl Property for OfCalm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if !self.objects.take(note) {
            return Check::Idle;
        }
        match self.at {
            At::Settled if self.stays && self.is_promised && can_work(world) => {
                return self.check();
            }
            At::Open if !self.stays => self.look(),
            _ => {}
        }
        Check::Idle
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note).next().is_none().then_some(Check::Idle)
    }

    fn calm(&mut self, world: &World) -> Option<Duration> {
        self.at = At::Open;
        self.is_promised = can_work(world);
        self.look();
        Some(self.settled)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let before = std::mem::replace(&mut self.at, At::Settled);
        self.is_promised &= can_work(world);
        match before {
            _ if !self.is_promised => Check::Idle,
            At::Held if !self.stays => Check::Held,
            _ => self.check(),
        }
    }
}
