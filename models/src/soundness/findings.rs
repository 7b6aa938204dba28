//! What a comparison has found: on what the two searches do not agree, and how much was compared.

use std::fmt;
use std::ops::AddAssign;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The moves from each state.
    Moves,
    /// Each step by memory, against the same step run.
    Step,
    /// What is cached of a state, against what is made from scratch.
    Cached,
    /// Different states have different digests.
    Digest,
    /// Equal states have equal successors.
    Successors,
    /// Routines that are said to wait for ever do.
    Deadlock,
    /// What a process refuses changes nothing.
    Refused,
    /// A world that is shifted in time is the same.
    Shift,
    /// Whether anything is violated, and what.
    Verdict,
    /// The number of states.
    States,
    /// Whether everything recovers.
    Recovery,
    /// A counterexample happens again, also from its trace, and when it was made smaller.
    Replay,
    /// The search comes to an end.
    End,
    /// Neither the search nor the comparison panics.
    Panic,
    /// A process that lies about itself is caught.
    Audit,
    /// The verdict of the reduced search: empirical.
    Reduced,
}

/// The two do not agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// On what.
    pub kind: Kind,
    /// How.
    pub how: String,
}

impl Disagreement {
    pub(super) fn new(kind: Kind, how: impl Into<String>) -> Disagreement {
        Disagreement {
            kind,
            how: how.into(),
        }
    }

    /// Is something wrong? The reduced search may miss what is a matter of microseconds.
    pub fn is_wrong(&self) -> bool {
        self.kind != Kind::Reduced
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.how)
    }
}

/// How much was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Worlds.
    pub worlds: u64,
    /// Those that were looked at within narrower limits, because they are too large.
    pub narrowed: u64,
    /// Different states.
    pub states: u64,
    /// Steps by memory, and the same ones run.
    pub steps: u64,
    /// Steps that memory knew.
    pub known: u64,
    /// Pairs of equal states, whose successors were compared.
    pub twins: u64,
    /// Worlds in which a guarantee is violated.
    pub violated: u64,
    /// States whose recovery was followed.
    pub healed: u64,
    /// Worlds of which some state does not recover.
    pub unhealed: u64,
    /// Counterexamples that happened again.
    pub replayed: u64,
    /// Worlds with a process that lies about itself, so that two states pass for one.
    pub liars: u64,
    /// Those of them in which the lie hides a violation.
    pub hiding: u64,
    /// Those that the audited search caught.
    pub caught: u64,
    /// Worlds of which the reduced search has another verdict.
    pub reduced_otherwise: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, more: Figures) {
        self.worlds += more.worlds;
        self.narrowed += more.narrowed;
        self.states += more.states;
        self.steps += more.steps;
        self.known += more.known;
        self.twins += more.twins;
        self.violated += more.violated;
        self.healed += more.healed;
        self.unhealed += more.unhealed;
        self.replayed += more.replayed;
        self.liars += more.liars;
        self.hiding += more.hiding;
        self.caught += more.caught;
        self.reduced_otherwise += more.reduced_otherwise;
    }
}

/// `1 world`, `2 worlds`
fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ({} of them within narrower limits), {}",
            count(self.worlds, "world"),
            self.narrowed,
            count(self.states, "state"),
        )?;
        writeln!(
            f,
            "{} compared with running them, {} of which memory knew; {} of equal states compared one step ahead",
            count(self.steps, "step"),
            self.known,
            count(self.twins, "pair"),
        )?;
        writeln!(
            f,
            "{} with a violated guarantee; {} followed into recovery, {} in which some do not recover; {} replayed",
            count(self.violated, "world"),
            count(self.healed, "state"),
            count(self.unhealed, "world"),
            count(self.replayed, "counterexample"),
        )?;
        writeln!(
            f,
            "{} with a lie by which states pass for one, {} of which hide a violation; {} caught by the audited search",
            count(self.liars, "world"),
            self.hiding,
            self.caught,
        )?;
        writeln!(
            f,
            "{} of which the reduced search has another verdict, which is empirical",
            count(self.reduced_otherwise, "world")
        )
    }
}

/// What came of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// How much was compared.
    pub figures: Figures,
    /// On what the two do not agree, each kind once.
    pub disagreements: Vec<Disagreement>,
}

impl Compared {
    pub(super) fn disagree(&mut self, kind: Kind, how: impl FnOnce() -> String) {
        if self.disagreements.iter().all(|known| known.kind != kind) {
            self.disagreements.push(Disagreement::new(kind, how()));
        }
    }

    /// What is wrong, if anything is.
    pub fn wrong(&self) -> Option<&Disagreement> {
        self.disagreements
            .iter()
            .find(|disagreement| disagreement.is_wrong())
    }
}
