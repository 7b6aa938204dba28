//! Properties that a scenario can name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Class, Property};

use crate::setup::Spec;

/// What there must be in a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Is it there?
    pub met: fn(&Spec) -> bool,
    /// What is said where it is not. Of a property: what it is about, `informers, and there are none`.
    pub lacking: &'static str,
    /// What would have to be added, and to what: "`informers: 2` to `topology`".
    pub add: &'static str,
}

impl Need {
    /// Nothing.
    pub const NOTHING: Need = Need {
        met: |_| true,
        lacking: "",
        add: "",
    };
}

/// A key of a scenario file, with a value that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it stands: `faults`, `workload`, `topology`.
    pub section: &'static str,
    /// The key.
    pub key: &'static str,
    /// The value, as in a file.
    pub value: &'static str,
}

impl Entry {
    /// Processes are stopped gracefully.
    pub const STOP: Entry = Entry::new("faults", "stop", "{max: 3, lasts: 5s..30s}");
    /// Processes crash.
    pub const CRASH: Entry = Entry::new("faults", "crash", "{max: 3, lasts: 5s..30s}");

    /// A key with a value.
    pub const fn new(section: &'static str, key: &'static str, value: &'static str) -> Entry {
        Entry {
            section,
            key,
            value,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}: {}` to `{}`", self.key, self.value, self.section)
    }
}

type Fits = Arc<dyn Fn(&Spec) -> bool + Send + Sync>;
type Make = Arc<dyn Fn(Duration) -> Box<dyn Property> + Send + Sync>;

/// A property that a scenario can name, or is held to if it names none.
#[derive(Clone)]
pub struct PropertyInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it says, in one line. What holds only when all has been well for a while says so first: `some time after
    /// calm`.
    pub about: &'static str,
    /// What there must be.
    pub need: Need,
    /// Without these it is seldom or never put to the test.
    pub tested_by: &'static [Entry],
    fits: Fits,
    make: Make,
}

impl PropertyInfo {
    /// A property. It is made for a world whose component has settled so long after calm.
    pub fn new(
        name: &'static str,
        about: &'static str,
        need: Need,
        make: impl Fn(Duration) -> Box<dyn Property> + Send + Sync + 'static,
    ) -> PropertyInfo {
        PropertyInfo {
            name,
            about,
            need,
            tested_by: &[],
            fits: Arc::new(|_| true),
            make: Arc::new(make),
        }
    }

    /// Scenarios that name no properties have it where this is true.
    pub fn fits(self, fits: impl Fn(&Spec) -> bool + Send + Sync + 'static) -> PropertyInfo {
        PropertyInfo {
            fits: Arc::new(fits),
            ..self
        }
    }

    /// It is put to the test by these.
    pub fn tested_by(self, tested_by: &'static [Entry]) -> PropertyInfo {
        PropertyInfo { tested_by, ..self }
    }

    /// Is it put to the test only some time after calm?
    pub fn is_of_calm(&self) -> bool {
        self.about.starts_with("some time after calm")
    }

    /// Is a scenario that names no properties held to it?
    pub fn is_by_default(&self, spec: &Spec) -> bool {
        (self.need.met)(spec) && (self.fits)(spec)
    }

    /// The property itself.
    pub fn property(&self, settled: Duration) -> Box<dyn Property> {
        (self.make)(settled)
    }

    /// Is it to be reached, and not to be kept?
    pub fn is_sometimes(&self) -> bool {
        self.property(Duration::ZERO).class() == Class::Sometimes
    }
}

impl fmt::Debug for PropertyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PropertyInfo")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
