//! How often faults hit the processes of a component.

/// Faults of one kind that hit the processes of one component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// At most so many in a run.
    pub max: u32,
    /// May a process stay away for good, if the scenario says so?
    pub may_stay_away: bool,
    /// Of faults of one kind those of the lowest turn are drawn first. A strike may come close on the one that was
    /// drawn before it, so who goes first is a part of what seeds mean: components that are younger come last.
    pub turn: u8,
}

impl Hit {
    /// At most so many, and after those of all others.
    pub const fn at_most(max: u32) -> Hit {
        Hit {
            max,
            may_stay_away: false,
            turn: u8::MAX,
        }
    }

    /// In this turn.
    pub const fn in_turn(self, turn: u8) -> Hit {
        Hit { turn, ..self }
    }
}
