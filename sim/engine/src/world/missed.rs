//! What there is where a fault strikes nothing, in words: for whoever placed it there.

use std::collections::BTreeSet;

use crate::fault::Fault;
use crate::name::ProcId;
use crate::slot::Status;

use super::World;

/// Of a long list the beginning is enough.
const MOST_NAMED: usize = 12;

impl World {
    /// Why this fault would strike nothing now; empty where there is nothing to say. Its processes exist.
    pub fn why_missed(&self, fault: &Fault) -> String {
        match fault {
            Fault::Stop { process }
            | Fault::Crash { process }
            | Fault::PowerLoss { process }
            | Fault::Pause { process } => match self.state_of(process) {
                Some(state) => format!("{process} is {state}"),
                None => String::new(),
            },
            Fault::Deschedule { process, routine } => match self.state_of(process) {
                Some(state) => format!("{process} is {state}"),
                None => self.without_routine(process, routine),
            },
            Fault::Reset {
                client,
                server,
                transport,
            }
            | Fault::HalfOpen {
                client,
                server,
                transport,
            } => self.without_connection(client, server, transport),
            Fault::LoseAnswer { client, server } => {
                format!("no answer of {server} to {client} is under way")
            }
            Fault::Delay { from, to, .. } => format!("nothing is under way from {from} to {to}"),
            Fault::Slow { a, b, factor } => {
                format!("the link of {a} and {b} is {factor} times as slow already")
            }
            _ => String::new(),
        }
    }

    /// Why this process hears nothing, in words.
    pub fn why_unheard(&self, process: &str) -> String {
        let state = self.state_of(process);
        state.map_or_else(String::new, |state| format!("{process} is {state}"))
    }

    /// What is special about a process, if anything.
    fn state_of(&self, process: &str) -> Option<&'static str> {
        let p = self.find(process)?;
        match self.status(p) {
            Status::Down => Some("down"),
            Status::Off => Some("off"),
            Status::Up if self.is_paused(p) => Some("paused"),
            Status::Up => None,
        }
    }

    fn without_routine(&self, process: &str, routine: &str) -> String {
        let Some(p) = self.find(process) else {
            return String::new();
        };
        let slot = &self.view.state().slots[p.index()];
        let mut others = BTreeSet::new();
        for own in slot.routines.iter() {
            let name = own.id.to_string();
            if name == routine {
                return format!("the routine {routine} of {process} is held already");
            }
            others.insert(name);
        }
        let there_is = format!("{process} has no routine `{routine}`");
        format!("{there_is}, {}", but(others))
    }

    fn without_connection(&self, client: &str, server: &str, transport: &str) -> String {
        let (Some(c), Some(s)) = (self.find(client), self.find(server)) else {
            return String::new();
        };
        let own = self.transports(c, s);
        if own.is_empty() && !self.transports(s, c).is_empty() {
            return format!("{client} is the server there, and {server} its client: swap the two");
        }
        if own.is_empty() {
            return format!("{client} has no connection to {server} at that time");
        }
        let there_is = format!("{client} has no connection `{transport}` to {server} at that time");
        format!("{there_is}, {}", but(own))
    }

    /// The names of the living connections of a client to a server.
    fn transports(&self, client: ProcId, server: ProcId) -> BTreeSet<String> {
        let own = self.living(client, server);
        own.map(|(_, ends)| ends.transport.name.to_string())
            .collect()
    }
}

fn but(all: BTreeSet<String>) -> String {
    let count = all.len();
    if count == 0 {
        return "nor any other".to_owned();
    }
    let named: Vec<String> = all
        .into_iter()
        .take(MOST_NAMED)
        .map(|name| format!("`{name}`"))
        .collect();
    let rest = match count - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("but {}{rest}", named.join(", "))
}
