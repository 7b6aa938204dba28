//! What the properties of all components are written with.

use wavetank_engine::{Always, Check, Class, Note, Violation, World};

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
