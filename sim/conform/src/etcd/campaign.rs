//! Many sequences, drawn from a seed, on as many pairs of sides as there are workers; and what
//! came of it.
//!
//! How one sequence is run is in `run.rs`.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::etcd::figures::Figures;
use crate::etcd::render;
use crate::etcd::run::{self, Differ, Sequence, Stop};
use crate::etcd::shrink::{self, Tree};
use crate::etcd::side::Side;
use crate::etcd::strategy;

/// After how many operations sides come to rest; a sequence has one of these.
const RHYTHMS: [usize; 5] = [1, 4, 12, 40, 120];

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How many operations in all, at least.
    pub operations: u64,
    /// All sequences follow from it.
    pub seed: u64,
    /// Operations in a sequence.
    pub length: usize,
    /// Pairs of sides at a time. They mostly wait for each other: more than there are cores helps.
    pub workers: usize,
    /// The keys that are drawn, see [`strategy::KEYS`].
    pub keys: &'static [&'static str],
}

impl Plan {
    /// So many operations, in sequences of 1000 at most, two at a time.
    pub fn new(operations: u64, seed: u64) -> Plan {
        Plan {
            operations,
            seed,
            length: operations.clamp(1, 1000) as usize,
            workers: 2,
            keys: strategy::KEYS,
        }
    }
}

/// Two sides that differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the sequence in which it was found, from 0.
    pub sequence: u64,
    /// The smallest sequence found.
    pub smallest: Sequence,
    /// Where it was found at first: after how many operations of that sequence.
    pub first_at: usize,
    /// What was done in the smallest one, and where the sides part.
    pub differ: Differ,
    /// The names of the sides.
    pub names: [String; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "a difference in sequence {}, found at operation {}, now {} long:",
            self.sequence,
            self.first_at + 1,
            self.smallest.ops.len(),
        )?;
        f.write_str(&render::story(&self.differ, &self.names))
    }
}

/// What came of a comparison.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was compared.
    pub names: [String; 2],
    /// The seed.
    pub seed: u64,
    /// Of the sequences without a difference.
    pub figures: Figures,
    /// The difference of the first sequence that has one.
    pub difference: Option<Difference>,
    /// Why it could not be run to its end, if a side could not be used.
    pub trouble: Option<String>,
    /// Was it ended before all operations were run, or before a difference was made as small as it can be?
    pub interrupted: bool,
}

impl Report {
    /// Were all operations run, without a difference?
    pub fn is_clean(&self) -> bool {
        self.difference.is_none() && self.trouble.is_none() && !self.interrupted
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} against {}, seed {}",
            self.names[0], self.names[1], self.seed
        )?;
        self.figures.fmt(f)?;
        match (&self.difference, &self.trouble) {
            (Some(difference), _) => difference.fmt(f),
            (None, Some(trouble)) => writeln!(f, "it could not go on: {trouble}"),
            (None, None) if self.interrupted => {
                writeln!(f, "interrupted: no difference until then")
            }
            (None, None) => writeln!(f, "no difference"),
        }
    }
}

/// The sequence of this number, as trees that can be shrunk.
fn draw(plan: &Plan, number: u64) -> (usize, Vec<Tree>) {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&plan.seed.to_le_bytes());
    seed[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let rhythm = RHYTHMS[(number % RHYTHMS.len() as u64) as usize];
    let op = strategy::op(plan.keys);
    let tree = |_| {
        let tree = op
            .new_tree(&mut runner)
            .expect("no strategy here rejects anything");
        Box::new(tree) as Tree
    };
    (rhythm, (0..plan.length.max(1)).map(tree).collect())
}

fn sequence(rhythm: usize, trees: &[Tree]) -> Sequence {
    Sequence {
        rhythm,
        ops: trees.iter().map(|tree| tree.current()).collect(),
    }
}

/// Runs a plan on pairs of sides that the two functions make. `progress` hears how far it is, and says whether to go on.
pub fn compare<L: Side, R: Side>(
    plan: &Plan,
    left: impl Fn() -> Result<L, String> + Sync,
    right: impl Fn() -> Result<R, String> + Sync,
    mut progress: impl FnMut(&Figures) -> bool,
) -> Report {
    let mut interrupted = false;
    let total = plan.operations.div_ceil(plan.length.max(1) as u64);
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let names = Mutex::new([String::new(), String::new()]);
    let (tell, told) = mpsc::channel();
    let mut figures = Figures::default();
    let mut stops: Vec<(u64, Stop)> = Vec::new();
    thread::scope(|scope| {
        for _ in 0..plan.workers.max(1) {
            let (tell, next, stop, names) = (tell.clone(), &next, &stop, &names);
            let (left, right) = (&left, &right);
            scope.spawn(move || {
                let (mut left, mut right) = match (left(), right()) {
                    (Ok(left), Ok(right)) => (left, right),
                    (Err(error), _) | (_, Err(error)) => {
                        // The receiver lives as long as the scope, here and below.
                        let _ = tell.send((0, Err(Stop::Trouble(error))));
                        return;
                    }
                };
                *names.lock().unwrap_or_else(PoisonError::into_inner) = [left.name(), right.name()];
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        break;
                    }
                    let (rhythm, trees) = draw(plan, number);
                    let result = run::run(&mut left, &mut right, &sequence(rhythm, &trees));
                    stop.fetch_or(result.is_err(), Ordering::Relaxed);
                    let _ = tell.send((number, result));
                }
            });
        }
        drop(tell);
        for (number, result) in told {
            match result {
                Ok(done) => {
                    figures.add(&done);
                    if !progress(&figures) {
                        interrupted = true;
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                Err(stop) => stops.push((number, stop)),
            }
        }
    });
    let names = names.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut report = Report {
        names,
        seed: plan.seed,
        figures,
        difference: None,
        trouble: None,
        interrupted,
    };
    // The first one of them, whichever worker was faster.
    stops.sort_by_key(|(number, _)| *number);
    match stops.into_iter().next() {
        Some((number, Stop::Differ(first))) => {
            let mut goes_on = || {
                report.interrupted |= !progress(&report.figures);
                !report.interrupted
            };
            match smallest(plan, number, *first, left, right, &mut goes_on) {
                Ok(difference) => report.difference = Some(difference),
                Err(trouble) => report.trouble = Some(trouble),
            }
        }
        // Who interrupts this in a terminal interrupts the real side, too.
        Some((_, Stop::Trouble(_))) if !progress(&report.figures) => report.interrupted = true,
        Some((_, Stop::Trouble(trouble))) => report.trouble = Some(trouble),
        None => {}
    }
    report
}

fn smallest<L: Side, R: Side>(
    plan: &Plan,
    number: u64,
    first: Differ,
    left: impl Fn() -> Result<L, String>,
    right: impl Fn() -> Result<R, String>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Difference, String> {
    let (mut left, mut right) = (left()?, right()?);
    let names = [left.name(), right.name()];
    let first_at = first.at;
    let (rhythm, trees) = draw(plan, number);
    let differs = |sequence: &Sequence| {
        if !goes_on() {
            return None;
        }
        match run::run(&mut left, &mut right, sequence) {
            Err(Stop::Differ(differ)) => Some(*differ),
            // A side that cannot be started shows no difference.
            Ok(_) | Err(Stop::Trouble(_)) => None,
        }
    };
    let (smallest, differ) = shrink::shrink(trees, rhythm, first, differs);
    Ok(Difference {
        sequence: number,
        smallest,
        first_at,
        differ,
        names,
    })
}
