//! The vault: a process that is a plain state machine.
//!
//! A process reads no clock and draws no random number. What it wants from outside goes through
//! [`Cx`], what it keeps is in its fields; equality and hash cover all of them, since two worlds
//! are the same if their processes are.

use std::time::Duration;

use wavetank_engine::{Caller, Cx, Name, Payload, ProcId, Process, Timer, Transport};

/// How writers reach the vault.
pub static TO_THE_VAULT: Transport = Transport {
    name: Name::new("vault"),
    dial_timeout: Duration::from_secs(2),
    keepalive: None,
    window: None,
};

/// How long the lock lasts.
pub const HOLD: Duration = Duration::from_secs(5);

/// A deadline is a timer in the world, not an instant in the process: worlds that differ by a
/// shift of time are then equal.
const EXPIRY: Timer = Timer::new(Name::new("expiry"), 0);

/// A number of the lock: each time it is handed out, a larger one.
pub type Token = u64;

/// What a writer asks of the vault.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// The lock.
    Acquire,
    /// To store something under the lock with this token.
    Write(Token),
}

/// What the vault answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// The lock is yours, with this token.
    Granted(Token),
    /// It is somebody else's, or your token is too old.
    Denied,
    /// Stored.
    Stored,
}

/// What the vault tells properties and stories.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VaultNote {
    /// The lock was handed out.
    Granted(Token, ProcId),
    /// The lock is free again.
    Expired(Token),
    /// Something was stored under this token.
    Written(Token, ProcId),
    /// A write under this token was refused.
    Refused(Token, ProcId),
}

/// Hands out the lock, one token after the other, and stores what is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Vault {
    /// Of the lock that was handed out last.
    token: Token,
    held: bool,
    /// Of the newest write.
    newest: Token,
    /// The defect.
    no_fencing: bool,
}

impl Vault {
    /// A vault that has handed out nothing yet, with or without the defect.
    pub fn new(no_fencing: bool) -> Vault {
        Vault {
            no_fencing,
            ..Vault::default()
        }
    }

    /// Has somebody the lock?
    pub fn is_held(&self) -> bool {
        self.held
    }
}

impl Process for Vault {
    /// Timers do not outlive a crash: a lock that was held before it lasts anew.
    fn boot(&mut self, cx: &mut Cx<'_>) {
        if self.held {
            cx.arm(EXPIRY, HOLD);
        }
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        match *body.expect() {
            Request::Acquire if self.held => cx.reply(caller, Answer::Denied),
            Request::Acquire => {
                self.held = true;
                self.token += 1;
                cx.arm(EXPIRY, HOLD);
                cx.note(VaultNote::Granted(self.token, caller.process()));
                cx.reply(caller, Answer::Granted(self.token));
            }
            // Fencing is this one look.
            Request::Write(token) if token < self.newest && !self.no_fencing => {
                cx.note(VaultNote::Refused(token, caller.process()));
                cx.reply(caller, Answer::Denied);
            }
            Request::Write(token) => {
                self.newest = token;
                cx.note(VaultNote::Written(token, caller.process()));
                cx.reply(caller, Answer::Stored);
            }
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, _: Timer) {
        self.held = false;
        cx.note(VaultNote::Expired(self.token));
    }

    /// Nothing is forgotten: the vault keeps all of it on disk.
    fn crash(&mut self) {}
}
