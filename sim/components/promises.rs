//! What the properties of all components are written with.

use wavetank_component::{Need, PropertyInfo};
use wavetank_engine::{Always, Check, Class, Note, Reached, Violation, World};

/// A guarantee that is looked at with each note.
pub fn always(name: &'static str, check: fn(&World, &Note) -> Check) -> Always {
    Always {
        name,
        class: Class::Guarantee,
        check,
    }
}

/// It is violated.
pub fn violated(kind: &'static str, object: &str, message: String) -> Check {
    Check::Violated(Violation {
        kind,
        object: object.to_owned(),
        message,
    })
}

/// No promise: is this ever reached? What is needed for it is needed for those that it puts to the test.
pub fn reaches(
    name: &'static str,
    about: &'static str,
    needed: Need,
    here: fn(&World, &Note) -> bool,
) -> PropertyInfo {
    PropertyInfo::new(name, about, needed, move |_| {
        Box::new(Reached { name, here })
    })
}
