//! Which fault is behind what: faults that last, until their end, and those that leave silence behind.

use std::collections::BTreeMap;

use crate::fault::Fault;

/// The faults of a run so far, by the number of their event.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Those that last.
    open: Vec<(usize, Fault)>,
    /// Those after which somebody hears nothing.
    silent: Vec<(usize, Fault)>,
    rates: BTreeMap<String, usize>,
    jumps: BTreeMap<String, usize>,
}

impl Faults {
    /// A fault strikes. Those that end with it.
    pub fn strike(&mut self, event: usize, fault: &Fault) -> Vec<usize> {
        match fault {
            Fault::ClockRate { process, ppm: 0 } => {
                return self.rates.remove(process).into_iter().collect();
            }
            Fault::ClockRate { process, .. } => {
                self.rates.insert(process.clone(), event);
            }
            Fault::ClockJump { process, .. } => {
                self.jumps.insert(process.clone(), event);
            }
            Fault::HealAll {} => self.rates.clear(),
            _ => {}
        }
        let ended = self.open.extract_if(.., |(_, open)| ends(fault, open));
        let ended = ended.map(|(event, _)| event).collect();
        if lasts(fault) {
            self.open.push((event, fault.clone()));
        }
        if is_silent(fault) {
            self.silent.push((event, fault.clone()));
        }
        ended
    }

    /// The fault that slows this link.
    pub fn slowing(&self, from: &str, to: &str) -> Option<usize> {
        let slows = |fault: &Fault| match fault {
            Fault::Slow { a, b, .. } => (a == from && b == to) || (a == to && b == from),
            _ => false,
        };
        let mut latest = self.open.iter().rev();
        let found = latest.find(|(_, fault)| slows(fault));
        found.map(|(event, _)| *event)
    }

    /// The fault by which a clock goes wrong,
    pub fn rate(&self, process: &str) -> Option<usize> {
        self.rates.get(process).copied()
    }

    /// or by which it has jumped.
    pub fn jump(&self, process: &str) -> Option<usize> {
        self.jumps.get(process).copied()
    }

    /// Of a timer of a connection the last fault that kept its peer from being heard.
    pub fn behind(&self, event: &str) -> Option<usize> {
        let mut words = event.split(' ');
        let verb = words.next()?;
        if !["keepalive", "dial-timeout"].contains(&verb) {
            return None;
        }
        let (client, server) = (words.next()?.split_once(':')?.0, words.next()?);
        let client = client.rsplit_once('.')?.0;
        let concerns = |fault: &Fault| {
            let processes = fault.processes();
            let has = |name| processes.contains(&name);
            has(server) && (processes.len() == 1 || has(client))
        };
        let mut latest = self.silent.iter().rev();
        let found = latest.find(|(_, fault)| concerns(fault));
        found.map(|(event, _)| *event)
    }
}

fn lasts(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Pause { .. }
            | Fault::Deschedule { .. }
            | Fault::Partition { .. }
            | Fault::Stall { .. }
            | Fault::Slow { .. }
    )
}

fn is_silent(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::HalfOpen { .. }
            | Fault::PowerLoss { .. }
            | Fault::Pause { .. }
            | Fault::Partition { .. }
            | Fault::Stall { .. }
    )
}

/// Does this fault end that one?
fn ends(fault: &Fault, open: &Fault) -> bool {
    match (fault, open) {
        (Fault::Resume { process, .. }, Fault::Pause { process: paused })
        | (
            Fault::Crash { process } | Fault::PowerLoss { process },
            Fault::Pause { process: paused },
        ) => process == paused,
        (
            Fault::Reschedule { process, routine },
            Fault::Deschedule {
                process: held,
                routine: of,
            },
        ) => (process, routine) == (held, of),
        (
            Fault::Heal {
                left,
                right,
                one_way,
            },
            Fault::Partition {
                left: l,
                right: r,
                one_way: one,
            },
        ) => (left, right, one_way) == (l, r, one),
        (Fault::Unstall { from, to }, Fault::Stall { from: f, to: t }) => (from, to) == (f, t),
        (Fault::Unslow { a, b }, Fault::Slow { a: x, b: y, .. }) => (a, b) == (x, y),
        (Fault::HealAll {}, open) => matches!(
            open,
            Fault::Partition { .. } | Fault::Stall { .. } | Fault::Slow { .. }
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn a_fault_ends_with_its_own_end() {
        let mut faults = Faults::default();
        let pause = |process| Fault::Pause {
            process: name(process),
        };
        let resume = Fault::Resume {
            process: name("a"),
            order: 3,
        };
        assert!(faults.strike(1, &pause("a")).is_empty());
        assert!(faults.strike(2, &pause("b")).is_empty());
        assert_eq!(faults.strike(3, &resume), [1]);
        assert!(faults.strike(4, &resume).is_empty());
        let slow = Fault::Slow {
            a: name("a"),
            b: name("b"),
            factor: 9,
        };
        faults.strike(5, &slow);
        assert_eq!(faults.slowing("b", "a"), Some(5));
        assert_eq!(faults.strike(6, &Fault::HealAll {}), [5]);
        assert_eq!(faults.slowing("b", "a"), None);
    }

    #[test]
    fn silence_is_that_of_the_peer() {
        let mut faults = Faults::default();
        let process = name("s");
        faults.strike(1, &Fault::PowerLoss { process });
        let (from, to) = (name("x"), name("s"));
        faults.strike(2, &Fault::Stall { from, to });
        assert_eq!(faults.behind("keepalive c.1:link s"), Some(1));
        assert_eq!(faults.behind("dial-timeout x.12:link s"), Some(2));
        assert_eq!(faults.behind("keepalive s.1:link c"), None);
        assert_eq!(faults.behind("open x.1:link s"), None);
    }
}
