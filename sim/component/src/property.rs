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

type Fits = Arc<dyn Fn(&Spec) -> bool + Send + Sync>;
type Make = Arc<dyn Fn(Duration) -> Box<dyn Property> + Send + Sync>;

/// A property that a scenario can name, or is held to if it names none.
#[derive(Clone)]
pub struct PropertyInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
    /// What there must be.
    pub need: Need,
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
