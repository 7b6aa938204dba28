//! Is a clean verdict true? Random worlds by their numbers, each searched by the project's search and by a
//! naive one ([`wavetank_models::soundness`]), many at a time. What comes out does not depend on the number of
//! threads: worlds are folded in their order, and without [`Soundness::keep_going`] everything after the
//! lowest one with a disagreement is discarded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use wavetank_models::soundness::{Compared, Disagreement, Figures, Worlds};

use crate::quiet;
use crate::seeds::Seeds;
use crate::stopwatch::Stopwatch;

/// Worlds that are to be compared.
#[derive(Clone, Debug)]
pub struct Soundness {
    /// Which.
    pub worlds: Seeds,
    /// On how many threads; 0 is one a core.
    pub jobs: usize,
    /// Go on after a disagreement.
    pub keep_going: bool,
    /// A world on which more real time is spent does not come to an end.
    pub patience: Duration,
    /// Where disagreements are written.
    pub out: PathBuf,
    /// Begin no world once this is set.
    pub stop: Option<&'static AtomicBool>,
}

/// A world on which the two searches disagree.
#[derive(Clone, Debug)]
pub struct Disputed {
    /// Its number.
    pub number: u64,
    /// On what, in the smallest world that shows it.
    pub disagreement: Disagreement,
    /// Where it is written, or why not.
    pub written: Result<PathBuf, String>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Sounded {
    /// What was counted.
    pub figures: Figures,
    /// Worlds that are too large within any limits.
    pub left_out: u64,
    /// Disagreements, in the order of their worlds.
    pub disputed: Vec<Disputed>,
    /// Worlds of which the reduced search has another verdict.
    pub reduced: Vec<u64>,
    /// A world that does not come to an end.
    pub stuck: Option<u64>,
    /// Somebody asked to stop, and not all worlds were compared.
    pub stopped: bool,
}

/// So often it is looked whether some world does not come to an end.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Soundness {
    /// Compares all of them. `watch` sees how many are done, and with how many disagreements.
    ///
    /// # Errors
    /// If there can be no threads.
    pub fn run(&self, watch: impl Fn(u64, u64)) -> Result<Sounded, String> {
        // Worlds that panic are part of what is searched.
        quiet::for_good();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs)
            .build()
            .map_err(|error| format!("cannot start threads: {error}"))?;
        let threads = pool.current_num_threads();
        let work = Arc::new(Work {
            asked: self.clone(),
            next: AtomicU64::new(0),
            end: AtomicU64::new(self.worlds.count),
            fold: Mutex::new(Fold {
                working: threads,
                ..Fold::default()
            }),
            change: Condvar::new(),
        });
        for _ in 0..threads {
            let work = work.clone();
            pool.spawn(move || work.worker());
        }
        Ok(work.wait(watch))
    }
}

struct Work {
    asked: Soundness,
    next: AtomicU64,
    /// No world from here on matters. Worlds are counted from 0 here.
    end: AtomicU64,
    fold: Mutex<Fold>,
    change: Condvar,
}

#[derive(Default)]
struct Fold {
    /// Threads that are not done.
    working: usize,
    begun: BTreeMap<u64, Stopwatch>,
    /// Compared before one that comes earlier.
    waiting: BTreeMap<u64, One>,
    folded: u64,
    sounded: Sounded,
}

/// What came of one world.
struct One {
    compared: Option<Compared>,
    disputed: Option<Disputed>,
}

impl Work {
    fn worker(&self) {
        let worlds = Worlds::default();
        loop {
            let at = self.next.fetch_add(1, Relaxed);
            let is_stopped = self.asked.stop.is_some_and(|stop| stop.load(Relaxed));
            if is_stopped || at >= self.end.load(Relaxed) {
                break;
            }
            self.fold().begun.insert(at, Stopwatch::start());
            let one = self.one(&worlds, self.asked.worlds.first + at);
            if one.disputed.is_some() && !self.asked.keep_going {
                self.end.fetch_min(at + 1, Relaxed);
            }
            let mut fold = self.fold();
            fold.begun.remove(&at);
            fold.waiting.insert(at, one);
            fold.fold(self.asked.worlds.first, self.end.load(Relaxed));
        }
        self.fold().working -= 1;
        self.change.notify_all();
    }

    fn fold(&self) -> MutexGuard<'_, Fold> {
        self.fold.lock().expect("nobody panics with it")
    }

    fn one(&self, worlds: &Worlds, number: u64) -> One {
        let compared = worlds.compare(number);
        let wrong = compared
            .as_ref()
            .and_then(|compared| compared.wrong().cloned());
        let disputed = wrong.map(|disagreement| {
            // As it was drawn first: to make it smaller may take long.
            let drawn = told(
                number,
                &worlds.draw(number).as_rust(),
                &disagreement,
                "drawn",
            );
            let written = write(&self.asked.out, number, &drawn);
            let smallest = worlds.smallest(number, &disagreement);
            let small = smallest.description.as_rust();
            let small = told(number, &small, &smallest.disagreement, "made smaller");
            let written = written.and_then(|_| write(&self.asked.out, number, &small));
            Disputed {
                number,
                disagreement: smallest.disagreement,
                written,
            }
        });
        One { compared, disputed }
    }

    /// Until all are done, or one does not come to an end.
    fn wait(&self, watch: impl Fn(u64, u64)) -> Sounded {
        let mut fold = self.fold();
        while fold.working > 0 {
            let (again, _) = self
                .change
                .wait_timeout(fold, LOOK_EVERY)
                .expect("nobody panics with it");
            fold = again;
            watch(fold.folded, fold.sounded.disputed.len() as u64);
            let patience = Some(self.asked.patience);
            let stuck = fold.begun.iter().find(|(_, begun)| begun.is_over(patience));
            if let Some((at, _)) = stuck {
                let number = self.asked.worlds.first + at;
                self.end.store(0, Relaxed);
                fold.sounded.stuck = Some(number);
                break;
            }
        }
        let mut sounded = std::mem::take(&mut fold.sounded);
        let is_over =
            sounded.stuck.is_some() || !sounded.disputed.is_empty() && !self.asked.keep_going;
        sounded.stopped = !is_over && fold.folded < self.asked.worlds.count;
        sounded
    }
}

impl Fold {
    fn fold(&mut self, first: u64, end: u64) {
        while let Some(one) = self.waiting.remove(&self.folded) {
            if self.folded >= end {
                return;
            }
            let number = first + self.folded;
            self.folded += 1;
            let sounded = &mut self.sounded;
            match one.compared {
                None => sounded.left_out += 1,
                Some(compared) => {
                    sounded.figures += compared.figures;
                    if compared.figures.reduced_otherwise > 0 {
                        sounded.reduced.push(number);
                    }
                }
            }
            sounded.disputed.extend(one.disputed);
        }
    }
}

fn told(number: u64, description: &str, disagreement: &Disagreement, how: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "// World {number}, {how}.");
    for line in disagreement.to_string().lines() {
        let _ = writeln!(text, "// {line}");
    }
    let _ = writeln!(
        text,
        "// Again: wavetank soundness --worlds {number}..{}",
        number + 1
    );
    let _ = writeln!(text, "{description}");
    text
}

/// Writes what is known of a disagreement.
fn write(out: &Path, number: u64, text: &str) -> Result<PathBuf, String> {
    let path = out.join(format!("soundness-{number}.rs"));
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
