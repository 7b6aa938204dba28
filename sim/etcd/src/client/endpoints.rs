//! The members that a client knows (`--etcd-servers`). Which of them a call goes to is in `balancer`.

use std::fmt;
use std::hash::{Hash, Hasher};

use wavetank_engine::ProcId;

/// So many members a cluster has at most.
const MOST: usize = 9;

/// The members that a client knows: one, as kubeadm's stacked topology has it, or several.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Endpoints {
    /// What is behind the last repeats the first.
    all: [ProcId; MOST],
    count: u8,
}

impl Endpoints {
    /// These.
    ///
    /// # Panics
    /// If there are none, or more than 9.
    pub fn of(members: &[ProcId]) -> Endpoints {
        let count = members.len();
        assert!((1..=MOST).contains(&count), "a client knows 1 to 9 members");
        let mut all = [members[0]; MOST];
        all[..count].copy_from_slice(members);
        let count = count as u8;
        Endpoints { all, count }
    }

    /// All of them.
    pub fn all(&self) -> &[ProcId] {
        &self.all[..usize::from(self.count)]
    }

    /// The only one; `None` if there are several.
    pub fn only(&self) -> Option<ProcId> {
        match self.all() {
            [only] => Some(*only),
            _ => None,
        }
    }
}

impl From<ProcId> for Endpoints {
    fn from(member: ProcId) -> Endpoints {
        Endpoints::of(&[member])
    }
}

/// By hand: what lies behind the last is filling.
impl Hash for Endpoints {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.all().hash(state);
    }
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}
