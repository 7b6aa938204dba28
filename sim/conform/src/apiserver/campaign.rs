//! Many sequences on one real server after another, and what came of them.

use std::collections::BTreeMap;
use std::fmt;

use wavetank_oracle::corpus::Recording;
use wavetank_oracle::{self as oracle, replay};

use super::draw::{self, Shape};
use super::known::Known;
use super::op::Op;
use super::record::record;
use super::scripts;
use super::server::{Program, Server};
use crate::cut::cut;
use crate::server::Program as Etcd;

/// Operations that are drawn for one sequence. What follows from a difference may differ, too: so they are short.
const LENGTH: usize = 60;
/// Every so many sequences one has a custom kind.
const CUSTOM_EVERY: u64 = 3;
/// Of so many sequences one runs on the server whose ranges are exhausted.
const TINY_EVERY: u64 = 6;
/// So often at most a sequence is tried with something taken out.
const ATTEMPTS: usize = 150;

/// `--service-cluster-ip-range` of six addresses, and `--service-node-port-range` of eight ports.
const TINY: [(&str, &str); 2] = [
    ("service-cluster-ip-range", "10.96.0.0/29"),
    ("service-node-port-range", "30000-30007"),
];

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Operations in all, at least.
    pub operations: u64,
    /// All sequences follow from it.
    pub seed: u64,
    /// What is known to differ.
    pub known: Known,
}

/// How far it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Sequences that were run.
    pub sequences: u64,
    /// Operations in them.
    pub operations: u64,
    /// Lines of recordings that were compared.
    pub steps: u64,
    /// Differences that are known, by their reason.
    pub known: BTreeMap<String, u64>,
    /// Differences that did not show when the same was done again.
    pub fleeting: Vec<String>,
    /// IPAddresses that no Service had when all were deleted, how long, and what the server's log says of them.
    pub left: Vec<String>,
    /// What is going on, if that is no sequence.
    pub doing: &'static str,
}

/// What differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Where it was found.
    pub sequence: u64,
    /// In how many sequences it was the first difference.
    pub seen: u64,
    /// The smallest recording that shows it.
    pub recording: Recording,
    /// The step.
    pub difference: oracle::Difference,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was compared.
    pub names: [String; 2],
    /// The seed.
    pub seed: u64,
    /// How much.
    pub figures: Figures,
    /// What differs and is not known.
    pub differences: Vec<Difference>,
    /// Why it could not be run to its end.
    pub trouble: Option<String>,
    /// Was it ended before?
    pub interrupted: bool,
}

/// Sequences that run on one server.
struct Part {
    flags: &'static [(&'static str, &'static str)],
    sequences: Vec<(u64, Vec<Op>)>,
}

/// All of a plan.
fn parts(plan: &Plan) -> [Part; 2] {
    let mut usual = Part {
        flags: &[],
        sequences: Vec::new(),
    };
    let mut tiny = Part {
        flags: &TINY,
        sequences: Vec::new(),
    };
    let mut number = 0;
    let mut operations = 0;
    for script in scripts::all() {
        let part = if script.tiny { &mut tiny } else { &mut usual };
        operations += script.ops.len() as u64;
        part.sequences.push((number, script.ops));
        number += 1;
    }
    while operations < plan.operations {
        let shape = Shape {
            length: LENGTH,
            tiny: number % TINY_EVERY == TINY_EVERY - 1,
            custom: number % CUSTOM_EVERY == 0,
        };
        let ops = draw::sequence(plan.seed, number, shape);
        operations += ops.len() as u64;
        let part = if shape.tiny { &mut tiny } else { &mut usual };
        part.sequences.push((number, ops));
        number += 1;
    }
    [usual, tiny]
}

struct Campaign<'a, P> {
    plan: &'a Plan,
    report: Report,
    /// Runs so far, on any server: names are made of it.
    runs: u64,
    progress: P,
}

/// Runs a plan.
pub fn compare(
    program: &Program,
    etcd: &Etcd,
    plan: &Plan,
    progress: impl FnMut(&Figures) -> bool,
) -> Report {
    let mut campaign = Campaign {
        plan,
        report: Report {
            names: [format!("{program} over {etcd}"), "simulated".to_owned()],
            seed: plan.seed,
            figures: Figures::default(),
            differences: Vec::new(),
            trouble: None,
            interrupted: false,
        },
        runs: 0,
        progress,
    };
    for part in parts(plan) {
        let done = campaign.part(program, etcd, part);
        match done {
            Ok(true) => {}
            Ok(false) => break,
            // Who interrupts this in a terminal interrupts the real server, too.
            Err(_) if !campaign.goes_on("") => break,
            Err(trouble) => {
                campaign.report.trouble = Some(trouble);
                break;
            }
        }
    }
    campaign.report
}

impl<P: FnMut(&Figures) -> bool> Campaign<'_, P> {
    fn goes_on(&mut self, doing: &'static str) -> bool {
        self.report.figures.doing = doing;
        let goes_on = (self.progress)(&self.report.figures);
        self.report.interrupted |= !goes_on;
        goes_on
    }

    /// Is there more to do?
    fn part(&mut self, program: &Program, etcd: &Etcd, part: Part) -> Result<bool, String> {
        if part.sequences.is_empty() {
            return Ok(true);
        }
        if !self.goes_on("starting a server") {
            return Ok(false);
        }
        let mut server = Server::start(program, etcd, part.flags)?;
        for (number, ops) in part.sequences {
            if !self.goes_on("") {
                return Ok(false);
            }
            let (recording, replayed) = self.run(&mut server, &ops)?;
            let figures = &mut self.report.figures;
            figures.sequences += 1;
            figures.operations += ops.len() as u64;
            figures.steps += replayed.steps;
            for difference in &replayed.differences {
                if let Some(reason) = self.plan.known.reason(difference) {
                    *figures.known.entry(reason.to_owned()).or_default() += 1;
                }
            }
            if let Some(difference) = self.unknown(&replayed) {
                self.look_into(&mut server, number, &ops, recording, difference)?;
            }
        }
        Ok(true)
    }

    fn run(
        &mut self,
        server: &mut Server,
        ops: &[Op],
    ) -> Result<(Recording, oracle::Replayed), String> {
        self.runs += 1;
        let (recording, left) = record(server, self.runs, ops)?;
        self.report.figures.left.extend(left);
        let replayed = replay(&recording)?;
        Ok((recording, replayed))
    }

    /// The first difference that is not known. What comes after it may follow from it.
    fn unknown(&self, replayed: &oracle::Replayed) -> Option<oracle::Difference> {
        let mut unknown = replayed.differences.iter();
        unknown
            .find(|difference| self.plan.known.reason(difference).is_none())
            .cloned()
    }

    /// Does it show again? Then it is made smaller, unless one like it was.
    fn look_into(
        &mut self,
        server: &mut Server,
        sequence: u64,
        ops: &[Op],
        recording: Recording,
        difference: oracle::Difference,
    ) -> Result<(), String> {
        let kind = kind(&difference);
        let mut found = self.report.differences.iter_mut();
        if let Some(found) = found.find(|found| self::kind(&found.difference) == kind) {
            found.seen += 1;
            return Ok(());
        }
        let mut smallest = (recording, difference);
        let mut attempts = ATTEMPTS;
        let mut trouble = None;
        let mut attempt = |campaign: &mut Self, left: &[usize]| -> Option<usize> {
            if attempts == 0
                || trouble.is_some()
                || !campaign.goes_on("making a difference smaller")
            {
                return None;
            }
            attempts -= 1;
            let ops: Vec<Op> = left.iter().map(|at| ops[*at].clone()).collect();
            match campaign.run(server, &ops) {
                Ok((recording, replayed)) => {
                    let again = campaign.unknown(&replayed);
                    let again = again.filter(|again| self::kind(again) == kind)?;
                    smallest = (recording, again);
                    Some(left.len())
                }
                Err(error) => {
                    trouble = Some(error);
                    None
                }
            }
        };
        let all: Vec<usize> = (0..ops.len()).collect();
        let shows_again = attempt(self, &all).is_some();
        if shows_again {
            cut(all, |left| attempt(self, left));
        }
        if let Some(trouble) = trouble.filter(|_| !self.report.interrupted) {
            return Err(trouble);
        }
        let (recording, difference) = smallest;
        if !shows_again && !self.report.interrupted {
            let what = format!(
                "sequence {sequence}: {} at {}",
                difference.what, difference.unequal.at
            );
            self.report.figures.fleeting.push(what);
            return Ok(());
        }
        self.report.differences.push(Difference {
            sequence,
            seen: 1,
            recording,
            difference,
        });
        Ok(())
    }
}

/// What a difference has in common with others of its kind: the method, the resource and the place in the answer.
fn kind(difference: &oracle::Difference) -> String {
    let mut words = difference.what.split_whitespace();
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    // Names are those of the run, and there are few others.
    let is_name = |part: &&str| {
        let is_of_run = part.contains(|c: char| c.is_ascii_digit()) && !part.starts_with('v');
        !is_of_run && !matches!(*part, "x" | "y" | "z")
    };
    let path: Vec<&str> = path.split('/').filter(is_name).collect();
    let at = difference
        .unequal
        .at
        .replace(|c: char| c.is_ascii_digit(), "");
    format!("{method} {} {at}", path.join("/"))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [real, simulated] = &self.names;
        writeln!(f, "{real} against {simulated}, seed {}", self.seed)?;
        let figures = &self.figures;
        writeln!(
            f,
            "{} operations in {} sequences, {} steps compared",
            figures.operations, figures.sequences, figures.steps
        )?;
        for (reason, times) in &figures.known {
            writeln!(f, "known, {times} times: {reason}")?;
        }
        for what in &figures.fleeting {
            writeln!(f, "differed once, and not when it was done again: {what}")?;
        }
        for what in &figures.left {
            writeln!(f, "left by the real server for {what}")?;
        }
        for (at, found) in self.differences.iter().enumerate() {
            let unequal = &found.difference.unequal;
            writeln!(
                f,
                "difference {}: in sequence {}, in {} in all, now {} steps long",
                at + 1,
                found.sequence,
                found.seen,
                found.recording.lines.len() - 2
            )?;
            writeln!(
                f,
                "  step {}: {}",
                found.difference.step, found.difference.what
            )?;
            writeln!(f, "    at        {}", unequal.at)?;
            writeln!(f, "    real      {}", unequal.recorded)?;
            writeln!(f, "    simulated {}", unequal.simulated)?;
        }
        match (&self.trouble, self.differences.len()) {
            (Some(trouble), _) => writeln!(f, "it could not go on: {trouble}"),
            (None, _) if self.interrupted => writeln!(f, "interrupted"),
            (None, 0) => writeln!(f, "no difference that is not known"),
            (None, n) => writeln!(f, "differences that are not known: {n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_oracle::Unequal;

    fn difference(what: &str, at: &str) -> oracle::Difference {
        oracle::Difference {
            step: 1,
            what: what.to_owned(),
            unequal: Unequal {
                at: at.to_owned(),
                recorded: String::new(),
                simulated: String::new(),
            },
        }
    }

    #[test]
    fn differences_of_one_kind_are_told_once() {
        let one = difference(
            "GET /api/v1/namespaces/a-7/pods/x {\"limit\":\"1\"}",
            "response.body.items[3].x",
        );
        let other = difference(
            "GET /api/v1/namespaces/b-9/pods/z",
            "response.body.items[12].x",
        );
        assert_eq!(kind(&one), kind(&other));
        let third = difference(
            "GET /api/v1/namespaces/b-9/services/z",
            "response.body.items[12].x",
        );
        assert_ne!(kind(&one), kind(&third));
    }

    #[test]
    fn a_plan_has_as_many_operations_as_it_says_and_is_the_same_again() {
        let plan = Plan {
            operations: 2_000,
            seed: 3,
            known: Known::bundled().expect("the list"),
        };
        let count = |parts: &[Part; 2]| -> usize {
            let sequences = parts.iter().flat_map(|part| &part.sequences);
            sequences.map(|(_, ops)| ops.len()).sum()
        };
        let [one, two] = [parts(&plan), parts(&plan)];
        assert!((2_000..2_200).contains(&count(&one)), "{}", count(&one));
        for (one, two) in one.iter().zip(&two) {
            assert!(!one.sequences.is_empty());
            assert_eq!(one.sequences, two.sequences);
        }
    }
}
