//! A record as bytes, for a run that happens in another process of the operating system: what comes back is the
//! record that it would have been here. Nothing else reads these bytes; traces are text (`trace.rs`).

use std::collections::BTreeSet;
use std::sync::Mutex;

use thiserror::Error;

use crate::fault::Action;
use crate::name::{EventName, Kind, Life, Name, Origin, ProcId, RoutineId};
use crate::time::Time;
use crate::trace::{Record, Recorded};

/// Bytes that are no record.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("these bytes are no record: {0}")]
pub struct Unpacked(&'static str);

impl Record {
    /// All of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Packer::default();
        out.number(self.events.len() as u64);
        for event in &self.events {
            out.number(event.at.nanos());
            out.number(event.delays_end.into());
            out.kind(event.name.0);
        }
        out.number(self.delays.len() as u64);
        self.delays.iter().for_each(|delay| out.number(*delay));
        out.number(self.digests.len() as u64);
        for (events, digest) in &self.digests {
            out.number(*events);
            out.number(*digest);
        }
        let actions = serde_json::to_vec(&self.actions).expect("actions are JSON");
        out.bytes.extend(actions);
        out.bytes
    }

    /// What [`Record::to_bytes`] has made.
    ///
    /// # Errors
    /// If these are other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Record, Unpacked> {
        let mut from = Unpacker {
            bytes,
            texts: Vec::new(),
        };
        let mut record = Record::default();
        for _ in 0..from.number()? {
            record.events.push(Recorded {
                at: Time::from_nanos(from.number()?),
                delays_end: from.small()?,
                name: EventName(from.kind()?),
            });
        }
        for _ in 0..from.number()? {
            record.delays.push(from.number()?);
        }
        for _ in 0..from.number()? {
            record.digests.push((from.number()?, from.number()?));
        }
        let actions: Vec<Action> =
            serde_json::from_slice(from.bytes).map_err(|_| Unpacked("its actions"))?;
        record.actions = actions;
        Ok(record)
    }
}

#[derive(Default)]
struct Packer {
    bytes: Vec<u8>,
    /// Texts so far: each is written once.
    texts: Vec<&'static str>,
}

impl Packer {
    /// Seven bits a byte, the lowest first.
    fn number(&mut self, mut number: u64) {
        while number > 0x7f {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn text(&mut self, text: &'static str) {
        let known = self.texts.iter().position(|known| *known == text);
        self.number(known.unwrap_or(self.texts.len()) as u64);
        if known.is_none() {
            self.texts.push(text);
            self.number(text.len() as u64);
            self.bytes.extend(text.as_bytes());
        }
    }

    fn process(&mut self, process: ProcId) {
        self.number(process.0.into());
    }

    fn life(&mut self, life: Life) {
        self.process(life.process);
        self.number(life.incarnation.into());
    }

    fn routine(&mut self, routine: RoutineId) {
        self.text(routine.kind.as_str());
        self.number(routine.ordinal.into());
    }

    fn origin(&mut self, origin: Origin) {
        self.routine(origin.routine);
        self.number(origin.op.into());
        self.number(origin.nth.into());
    }

    fn link(&mut self, verb: &'static str, client: Life, transport: Name, server: ProcId) {
        self.text(verb);
        self.life(client);
        self.text(transport.as_str());
        self.process(server);
    }

    fn kind(&mut self, kind: Kind) {
        match kind {
            Kind::CallFrame {
                verb,
                client,
                origin,
                server,
            } => {
                self.number(0);
                self.text(verb);
                self.life(client);
                self.origin(origin);
                self.process(server);
            }
            Kind::LinkFrame {
                verb,
                client,
                transport,
                server,
            } => {
                self.number(1);
                self.link(verb, client, transport, server);
            }
            Kind::LinkTimer {
                verb,
                client,
                transport,
                server,
            } => {
                self.number(2);
                self.link(verb, client, transport, server);
            }
            Kind::Timer { life, tag, arg } => {
                self.number(3);
                self.life(life);
                self.text(tag.as_str());
                self.number(arg);
            }
            Kind::Routine {
                verb,
                life,
                routine,
                nth,
            } => {
                self.number(4);
                self.text(verb);
                self.life(life);
                self.routine(routine);
                self.number(nth.into());
            }
            Kind::Choose {
                life,
                origin,
                domain,
                value,
            } => {
                self.number(5);
                self.life(life);
                self.origin(origin);
                self.number(domain);
                self.number(value);
            }
            Kind::Property { index } => {
                self.number(6);
                self.number(index.into());
            }
            Kind::Act { index } => {
                self.number(7);
                self.number(index.into());
            }
            Kind::Calm => self.number(8),
        }
    }
}

struct Unpacker<'a> {
    bytes: &'a [u8],
    texts: Vec<&'static str>,
}

impl Unpacker<'_> {
    fn number(&mut self) -> Result<u64, Unpacked> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first().ok_or(Unpacked("cut off"))?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Unpacked("a number without end"))
    }

    fn small(&mut self) -> Result<u32, Unpacked> {
        u32::try_from(self.number()?).map_err(|_| Unpacked("a number that is too large"))
    }

    fn text(&mut self) -> Result<&'static str, Unpacked> {
        let at = self.number()? as usize;
        if let Some(known) = self.texts.get(at) {
            return Ok(known);
        }
        let length = self.number()? as usize;
        let (text, rest) = self
            .bytes
            .split_at_checked(length)
            .ok_or(Unpacked("cut off"))?;
        self.bytes = rest;
        let text = std::str::from_utf8(text).map_err(|_| Unpacked("a text that is none"))?;
        let text = intern(text);
        self.texts.push(text);
        Ok(text)
    }

    fn name(&mut self) -> Result<Name, Unpacked> {
        Ok(Name::new(self.text()?))
    }

    fn process(&mut self) -> Result<ProcId, Unpacked> {
        let number = u16::try_from(self.number()?);
        number.map(ProcId).map_err(|_| Unpacked("a process"))
    }

    fn life(&mut self) -> Result<Life, Unpacked> {
        Ok(Life {
            process: self.process()?,
            incarnation: self.small()?,
        })
    }

    fn routine(&mut self) -> Result<RoutineId, Unpacked> {
        Ok(RoutineId {
            kind: self.name()?,
            ordinal: self.small()?,
        })
    }

    fn origin(&mut self) -> Result<Origin, Unpacked> {
        Ok(Origin {
            routine: self.routine()?,
            op: self.small()?,
            nth: self.small()?,
        })
    }

    fn kind(&mut self) -> Result<Kind, Unpacked> {
        Ok(match self.number()? {
            0 => Kind::CallFrame {
                verb: self.text()?,
                client: self.life()?,
                origin: self.origin()?,
                server: self.process()?,
            },
            1 => Kind::LinkFrame {
                verb: self.text()?,
                client: self.life()?,
                transport: self.name()?,
                server: self.process()?,
            },
            2 => Kind::LinkTimer {
                verb: self.text()?,
                client: self.life()?,
                transport: self.name()?,
                server: self.process()?,
            },
            3 => Kind::Timer {
                life: self.life()?,
                tag: self.name()?,
                arg: self.number()?,
            },
            4 => Kind::Routine {
                verb: self.text()?,
                life: self.life()?,
                routine: self.routine()?,
                nth: self.small()?,
            },
            5 => Kind::Choose {
                life: self.life()?,
                origin: self.origin()?,
                domain: self.number()?,
                value: self.number()?,
            },
            6 => Kind::Property {
                index: u16::try_from(self.number()?).map_err(|_| Unpacked("a property"))?,
            },
            7 => Kind::Act {
                index: self.small()?,
            },
            8 => Kind::Calm,
            _ => return Err(Unpacked("an event that there is none of")),
        })
    }
}

/// Names are texts of the program. What came from another process of the same program is kept once, for good.
fn intern(text: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().expect("nobody panics in here");
    if let Some(known) = known.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.into());
    known.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::End;

    fn life(process: u16, incarnation: u32) -> Life {
        Life {
            process: ProcId(process),
            incarnation,
        }
    }

    fn record() -> Record {
        let routine = RoutineId {
            kind: Name::new("sit"),
            ordinal: 300,
        };
        let origin = Origin {
            routine,
            op: 7,
            nth: 2,
        };
        let (client, server) = (life(3, 2), ProcId(0));
        let transport = Name::new("link");
        let kinds = [
            Kind::CallFrame {
                verb: "request",
                client,
                origin,
                server,
            },
            Kind::LinkFrame {
                verb: "accept",
                client,
                transport,
                server,
            },
            Kind::LinkTimer {
                verb: "keepalive",
                client,
                transport,
                server,
            },
            Kind::Timer {
                life: client,
                tag: Name::new("expiry"),
                arg: u64::MAX,
            },
            Kind::Routine {
                verb: "sleep",
                life: client,
                routine,
                nth: 0,
            },
            Kind::Choose {
                life: client,
                origin,
                domain: 254,
                value: 253,
            },
            Kind::Property { index: 9 },
            Kind::Calm,
        ];
        let mut record = Record::default();
        for (at, kind) in (1_000_000..).step_by(77).zip(kinds) {
            record.event(Time::from_nanos(at), EventName(kind), &[at, 0]);
        }
        let process = "sit1".to_owned();
        let fault = Action::Fault(crate::fault::Fault::Start { process });
        record.action(Time::from_secs(5), fault, &[]);
        record.digest(0xfeed_beef_dead_cafe);
        record
    }

    fn text(record: &Record) -> Vec<String> {
        let name = |process: ProcId| format!("p{}", process.0);
        let end = End {
            events: 9,
            violation: None,
        };
        record
            .lines(&name, end)
            .map(|line| line.to_string())
            .collect()
    }

    #[test]
    fn what_is_packed_is_unpacked_again() {
        let record = record();
        let back = Record::from_bytes(&record.to_bytes()).expect("a record");
        assert_eq!(text(&back), text(&record));
        assert_eq!(back.to_bytes(), record.to_bytes());
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = record().to_bytes();
        for cut in 0..bytes.len() {
            assert!(Record::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
