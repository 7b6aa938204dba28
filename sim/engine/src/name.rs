//! Names: of processes, routines and events. An event is named by what it is, never by its place
//! in a random stream, so that a trace outlives a change of the code around it.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A static name: of a routine, a lock, a signal, a timer …
///
/// Names are in the order of their texts. Nearly always their heads tell which is first, or that two are not the same.
#[derive(Clone, Copy)]
pub struct Name {
    /// The first eight bytes, the first one the highest; zeros behind a shorter text.
    head: u64,
    text: &'static str,
}

impl Name {
    /// A name, usually a `const`.
    pub const fn new(text: &'static str) -> Name {
        let head = head(text.as_bytes());
        Name { head, text }
    }

    /// The text.
    pub const fn as_str(&self) -> &'static str {
        self.text
    }
}

const fn head(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    let mut head = [0; 8];
    let mut at = 0;
    while at < bytes.len() {
        head[at] = bytes[at];
        at += 1;
    }
    u64::from_be_bytes(head)
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        // Nearly always the very same constant.
        let is_same = || std::ptr::eq(self.text, other.text) || self.text == other.text;
        self.head == other.head && is_same()
    }
}
impl Eq for Name {}
impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        match self.head.cmp(&other.head) {
            Ordering::Equal if std::ptr::eq(self.text, other.text) => Ordering::Equal,
            Ordering::Equal => self.text.cmp(other.text),
            differs => differs,
        }
    }
}
impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

/// A process of the world. Processes are numbered in the order of their names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcId(pub(crate) u16);

impl ProcId {
    /// The index, for tables with one row a process.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A routine within its process: its kind and the smallest number that was free when it began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoutineId {
    /// What it runs.
    pub kind: Name,
    /// Tells apart routines of one kind that are alive at once.
    pub ordinal: u32,
}

impl fmt::Display for RoutineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.kind, self.ordinal)
    }
}
impl fmt::Debug for RoutineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A process in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Life {
    pub process: ProcId,
    pub incarnation: u32,
}

/// One operation of one routine: the origin of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Origin {
    pub routine: RoutineId,
    /// Its place in the routine's log.
    pub op: u32,
    /// Which of the routine's operations of this kind it is. Names count these: another read of a
    /// cell or another lock must not rename every call after it.
    pub nth: u32,
}

/// What an event was, in a form that is compact while it is recorded and rendered when it is
/// written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventName(pub(crate) Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A frame that belongs to a call: `request w1.1/count#0.3 store`.
    CallFrame {
        verb: &'static str,
        client: Life,
        origin: Origin,
        server: ProcId,
    },
    /// A frame of a connection itself: `accept w1.1:link store`.
    LinkFrame {
        verb: &'static str,
        client: Life,
        transport: Name,
        server: ProcId,
    },
    /// A connection's own timer: `keepalive w1.1:link store`.
    LinkTimer {
        verb: &'static str,
        client: Life,
        transport: Name,
        server: ProcId,
    },
    /// `timer store.1 expiry 7`.
    Timer { life: Life, tag: Name, arg: u64 },
    /// A routine is resumed: `sleep`, `grant`, `recv`, `send`, `wake`, `deadline`.
    Routine {
        verb: &'static str,
        life: Life,
        routine: RoutineId,
        nth: u32,
    },
    /// `choose w1.1/pick#0.2 of 254`.
    Choose {
        life: Life,
        origin: Origin,
        domain: u64,
        value: u64,
    },
    /// The deadline of a property: `deadline-of 3`.
    Property { index: u16 },
    /// An action from outside, by its place in the recorder's list of actions.
    Act { index: u32 },
    /// The storm is over.
    Calm,
}

impl EventName {
    /// The name as it stands in a trace. `names` are the processes' names, by [`ProcId`].
    pub(crate) fn render(&self, names: &dyn Fn(ProcId) -> String, out: &mut String) {
        use fmt::Write as _;
        let life = |l: Life| format!("{}.{}", names(l.process), l.incarnation);
        let done = match self.0 {
            Kind::CallFrame {
                verb,
                client,
                origin,
                server,
            } => write!(
                out,
                "{verb} {}/{}.{} {}",
                life(client),
                origin.routine,
                origin.nth,
                names(server)
            ),
            Kind::LinkFrame {
                verb,
                client,
                transport,
                server,
            }
            | Kind::LinkTimer {
                verb,
                client,
                transport,
                server,
            } => write!(out, "{verb} {}:{transport} {}", life(client), names(server)),
            Kind::Timer { life: l, tag, arg } => write!(out, "timer {} {tag} {arg}", life(l)),
            Kind::Routine {
                verb,
                life: l,
                routine,
                nth,
            } => write!(out, "{verb} {}/{routine}.{nth}", life(l)),
            Kind::Choose {
                life: l,
                origin,
                domain,
                value: _,
            } => write!(
                out,
                "choose {}/{}.{} of {domain}",
                life(l),
                origin.routine,
                origin.nth
            ),
            Kind::Property { index } => write!(out, "property-deadline {index}"),
            Kind::Act { .. } => write!(out, "act"),
            Kind::Calm => write!(out, "calm"),
        };
        done.expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_texts() {
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "a\0b",
            "ab",
            "serve",
            "service-",
            "service-a",
            "service-b",
            "service-ab",
            "services",
            "é",
            "zzzzzzzz",
            "zzzzzzzzz",
        ];
        for (one, other) in texts
            .iter()
            .flat_map(|one| texts.map(|other| (*one, other)))
        {
            let (a, b) = (Name::new(one), Name::new(other));
            assert_eq!(a.cmp(&b), one.cmp(other), "{one:?} and {other:?}");
            assert_eq!(a == b, one == other, "{one:?} and {other:?}");
        }
        // The same text at another place.
        let copy: &'static str = String::from("service-addresses").leak();
        assert_eq!(Name::new(copy), Name::new("service-addresses"));
    }
}
