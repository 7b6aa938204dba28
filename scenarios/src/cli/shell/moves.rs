//! Moving: along the trace, and on branches.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use wavetank_engine::{Action, Fault, Status, Time};

use super::Session;
use super::commands::Words;
use crate::cli::args::duration;
use crate::replay::in_words;
use crate::travel::condition::Condition;
use crate::travel::{Stepped, Stuck};

/// So many steps are shown, of many.
const SHOWN: usize = 12;

impl Session<'_> {
    pub(super) fn next(&mut self, words: &Words<'_>) -> Result<String, String> {
        let count = number(words, 1)?;
        let mut steps = Vec::new();
        for _ in 0..count {
            match self.travel.step() {
                Ok(stepped) => steps.push(stepped.clone()),
                Err(stuck) if steps.is_empty() => return Err(self.stuck(stuck)),
                Err(_) => break,
            }
        }
        let left_out = steps.len().saturating_sub(SHOWN);
        let mut text = match left_out {
            0 => String::new(),
            more => format!("({more} events left out)\n"),
        };
        text.extend(steps[left_out..].iter().map(shown));
        Ok(text)
    }

    pub(super) fn back(&mut self, words: &Words<'_>) -> Result<String, String> {
        let count = number(words, 1)?;
        let to = self.travel.at().checked_sub(count);
        let to = to.ok_or_else(|| format!("only {} events have happened", self.travel.at()))?;
        self.arrive(to)
    }

    pub(super) fn goto(&mut self, words: &Words<'_>) -> Result<String, String> {
        let [to] = words.all.as_slice() else {
            return Err("say where: a number of events, a time as 10.5s, start or end".to_owned());
        };
        let to = match to.as_str() {
            "start" => 0,
            "end" | "violation" => self.travel.len(),
            text => match text.parse() {
                Ok(events) => events,
                Err(_) => {
                    let by = duration(text)?;
                    self.travel.events_by(Time::ZERO + by)
                }
            },
        };
        if self.travel.left_at().is_none() && to > self.travel.len() {
            return Err(format!("the trace has {} events", self.travel.len()));
        }
        self.arrive(to)
    }

    fn arrive(&mut self, to: usize) -> Result<String, String> {
        let gone = self.travel.goto(to);
        gone.map_err(|stuck| self.stuck(stuck))?;
        Ok(match self.travel.last() {
            Some(last) if to > 0 => shown(last),
            _ => "before the first event\n".to_owned(),
        })
    }

    pub(super) fn until(&mut self, words: &Words<'_>) -> Result<String, String> {
        let condition = Condition::parse(words.rest)?;
        // What it names must be there, wherever that is.
        condition.holds(&self.travel)?;
        let begun = self.travel.at();
        loop {
            match self.travel.step() {
                Ok(_) => {}
                Err(Stuck::End) => {
                    return Err(format!(
                        "it does not hold at any event after {begun}: the end is reached, after {}",
                        self.travel.at()
                    ));
                }
                Err(stuck) => return Err(self.stuck(stuck)),
            }
            if condition.holds(&self.travel)? {
                let last = self.travel.last().map(shown);
                let over = self.travel.at() - begun;
                return Ok(format!(
                    "after {over} events:\n{}",
                    last.unwrap_or_default()
                ));
            }
        }
    }

    pub(super) fn run_on(&mut self, _: &Words<'_>) -> Result<String, String> {
        let begun = self.travel.at();
        loop {
            let (ended, found) = match self.travel.step() {
                Ok(stepped) => (false, stepped.violation.clone()),
                Err(Stuck::End) => (true, None),
                Err(stuck) => return Err(self.stuck(stuck)),
            };
            let over = self.travel.at() - begun;
            let now = self.travel.world().now();
            if let Some(found) = found {
                let found = in_words(&found);
                return Ok(format!(
                    "after {over} events, at {now} s: violation of {found}\n"
                ));
            }
            if ended {
                return Ok(format!(
                    "after {over} events, at {now} s: the end, no violation\n"
                ));
            }
        }
    }

    pub(super) fn event(&mut self, _: &Words<'_>) -> Result<String, String> {
        if self.travel.last().is_none() {
            let at = self.travel.at();
            self.travel.goto(at).map_err(|stuck| self.stuck(stuck))?;
        }
        Ok(match self.travel.last() {
            Some(last) => shown(last),
            None => "before the first event\n".to_owned(),
        })
    }

    pub(super) fn branch(&mut self, _: &Words<'_>) -> Result<String, String> {
        self.travel.leave();
        Ok(format!(
            "the trace is left after event {}; what comes takes from its rest what fits\n",
            self.travel.left_at().unwrap_or_default()
        ))
    }

    pub(super) fn rejoin(&mut self, _: &Words<'_>) -> Result<String, String> {
        match self.travel.left_at() {
            None => Err("this is the trace".to_owned()),
            Some(at) => {
                self.travel.rejoin();
                Ok(format!("back on the trace, after event {at}\n"))
            }
        }
    }

    pub(super) fn fault(&mut self, words: &Words<'_>) -> Result<String, String> {
        let fault = fault(&words.all, words.rest)?;
        let known = crate::travel::points::names(self.travel.world());
        if let Some(unknown) = fault
            .processes()
            .into_iter()
            .find(|own| !known.iter().any(|known| known == own))
        {
            return Err(format!(
                "there is no process `{unknown}`; there are {}",
                known.join(", ")
            ));
        }
        let why = self.travel.world().why_missed(&fault);
        let done = self.travel.act(&Action::Fault(fault)).cloned();
        let stepped = done.map_err(|stuck| self.stuck(stuck))?;
        let missed = match stepped.told.iter().any(|(who, _)| who == "fault") {
            true => String::new(),
            false if why.is_empty() => "it finds no target: nothing happens\n".to_owned(),
            false => format!("it finds no target: {why}\n"),
        };
        Ok(shown(&stepped) + &missed)
    }

    pub(super) fn tell(&mut self, words: &Words<'_>) -> Result<String, String> {
        let (process, what, args) = match words.all.as_slice() {
            [process, what] => (process, what, Json::Null),
            [process, what, args] => {
                let args = serde_json::from_str(args)
                    .map_err(|error| format!("`{args}` is no JSON: {error}"))?;
                (process, what, args)
            }
            _ => return Err("say whom and what: tell i1 hold {\"resource\": \"pods\"}".to_owned()),
        };
        let world = self.travel.world();
        let known = world.find(process);
        if known.is_some_and(|own| world.status(own) != Status::Up) {
            return Err(format!("{process} is down: nobody hears it"));
        }
        let action = Action::Command {
            process: process.clone(),
            what: what.clone(),
            args,
        };
        let done = self.travel.act(&action).map(shown);
        done.map_err(|stuck| self.stuck(stuck))
    }

    pub(super) fn first(&mut self, words: &Words<'_>) -> Result<String, String> {
        let name = match words.rest.strip_prefix('#') {
            None => words.rest.to_owned(),
            Some(number) => {
                let world = self.travel.world();
                let at: Option<usize> = number.parse().ok().filter(|at| *at > 0);
                let mut pending = world.pending();
                let entry = at.and_then(|at| pending.nth(at - 1));
                let entry = entry.ok_or_else(|| {
                    let all = world.pending().len();
                    format!("there is no #{number}; #1 to #{all} are pending")
                })?;
                world.render(&world.entry_name(entry))
            }
        };
        let done = self.travel.first(&name).map(shown);
        done.map_err(|stuck| self.stuck(stuck))
    }

    pub(super) fn save(&mut self, words: &Words<'_>) -> Result<String, String> {
        let [path] = words.all.as_slice() else {
            return Err("say where: save FILE".to_owned());
        };
        let trace = self.travel.saved();
        crate::trace_file::write_at(Path::new(path), &trace.to_bytes())
            .map_err(|error| format!("cannot write `{path}`: {error}"))?;
        let events = trace.end().events;
        let ends = match &trace.end().violation {
            Some(found) => format!("violation of {}", in_words(found)),
            None => "no violation so far".to_owned(),
        };
        Ok(format!("{path}: {events} events, {ends}\n"))
    }

    fn stuck(&self, stuck: Stuck) -> String {
        match stuck {
            Stuck::End => format!("there is nothing after event {}", self.travel.at()),
            Stuck::Refused(why) => why,
        }
    }
}

/// An event as it is told.
pub(in crate::cli) fn shown(stepped: &Stepped) -> String {
    let mut text = format!(
        "{:>6} {:>12.6} s  {}\n",
        stepped.number,
        stepped.at.secs_f64(),
        stepped.name
    );
    for (who, told) in &stepped.told {
        writeln!(text, "{:>23}{who} {told}", "").expect("to memory");
    }
    if let Some(found) = &stepped.violation {
        writeln!(text, "{:>23}VIOLATION of {}", "", in_words(found)).expect("to memory");
    }
    text
}

/// The number that is given, or this.
pub(super) fn number(words: &Words<'_>, usual: usize) -> Result<usize, String> {
    match words.all.as_slice() {
        [] => Ok(usual),
        [number] => number
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| format!("`{number}` is no number of events")),
        _ => Err("one number is enough".to_owned()),
    }
}

/// `crash a1`, `partition a1 etcd`, `{slow: {a: a1, b: etcd, factor: 10}}`.
fn fault(words: &[String], rest: &str) -> Result<Fault, String> {
    let value = match words {
        _ if rest.starts_with('{') => serde_saphyr::from_str::<Json>(rest)
            .map_err(|error| format!("`{rest}` does not parse: {error}"))?,
        [kind] if kind == "heal-all" => json!("heal-all"),
        [kind, process] => json!({kind: {"process": process}}),
        [kind, left, right] if kind == "partition" || kind == "heal" => {
            json!({kind: {"left": [left], "right": [right]}})
        }
        [kind, from, to] if kind == "stall" || kind == "unstall" => json!({kind: {"from": from, "to": to}}),
        [kind, client, server] if kind == "lose-answer" => {
            json!({kind: {"client": client, "server": server}})
        }
        _ => return Err("say which: fault crash a1, fault partition a1 etcd, or fault {KIND: {..}} as in traces".to_owned()),
    };
    serde_json::from_value(value).map_err(|error| format!("this is no fault: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_in_both_forms() {
        let of = |text: &str| {
            let words = super::super::commands::split(text).expect("words");
            fault(&words, text).map(|fault| fault.to_string())
        };
        assert_eq!(of("crash a1"), of("{crash: {process: a1}}"));
        assert_eq!(
            of("stall a1 e1"),
            of(r#"{"stall": {"from": "a1", "to": "e1"}}"#)
        );
        assert!(of("partition a1 etcd").is_ok());
        assert!(of("crush a1").is_err_and(|why| why.contains("crush")));
        assert!(of("crash").is_err_and(|why| why.contains("say which")));
    }
}
