//! What a leader knows of a follower (`tracker/progress.go`).

/// How entries are sent to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum State {
    /// One message at a time, until it is known where its log ends.
    Probe {
        /// One is under way.
        sent: bool,
    },
    /// As they come.
    Replicate,
    /// Not before it has the snapshot up to this entry.
    Snapshot(u64),
}

/// A follower.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Progress {
    /// Up to here its log is the leader's.
    pub(super) matched: u64,
    /// The next entry to send.
    pub(super) next: u64,
    /// Was it heard since the leader last looked for its quorum?
    pub(super) active: bool,
    state: State,
}

impl Progress {
    pub(super) fn new(last: u64) -> Progress {
        Progress {
            matched: 0,
            next: last + 1,
            active: false,
            state: State::Probe { sent: false },
        }
    }

    pub(super) fn is_paused(&self) -> bool {
        match self.state {
            State::Probe { sent } => sent,
            State::Replicate => false,
            State::Snapshot(_) => true,
        }
    }

    /// Entries up to `last` were sent.
    pub(super) fn sent(&mut self, last: u64) {
        match &mut self.state {
            State::Probe { sent } => *sent = true,
            _ => self.next = last + 1,
        }
    }

    pub(super) fn await_snapshot(&mut self, index: u64) {
        self.state = State::Snapshot(index);
    }

    /// It accepted everything up to `index`. Did the leader not know?
    pub(super) fn accept(&mut self, index: u64) -> bool {
        let news = index > self.matched;
        self.matched = self.matched.max(index);
        self.next = self.next.max(index + 1);
        match self.state {
            State::Probe { .. } => self.state = State::Replicate,
            State::Snapshot(pending) if index >= pending => {
                self.state = State::Replicate;
                self.next = index + 1;
            }
            _ => {}
        }
        news
    }

    /// It rejected entries after `index`; `hint` is the newest that might fit.
    pub(super) fn reject(&mut self, index: u64, hint: u64) -> bool {
        let stale = match self.state {
            State::Replicate => index <= self.matched,
            _ => index + 1 != self.next,
        };
        if stale {
            return false;
        }
        self.next = match self.state {
            State::Replicate => self.matched + 1,
            _ => index.min(hint + 1).max(1),
        };
        self.state = State::Probe { sent: false };
        true
    }

    /// It answers: the next probe may go.
    pub(super) fn resume(&mut self) {
        if let State::Probe { sent } = &mut self.state {
            *sent = false;
        }
    }

    /// A snapshot that has not arrived for so long is lost (`ReportSnapshot`).
    pub(super) fn give_snapshot_up(&mut self) {
        if let State::Snapshot(_) = self.state {
            self.next = self.matched + 1;
            self.state = State::Probe { sent: false };
        }
    }
}
