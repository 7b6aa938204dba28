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
    /// A world on which more real time is spent is given up, and with it all that have not begun.
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

/// A world of which nobody knows whether the two searches agree on it: it took too long.
#[derive(Clone, Debug)]
pub struct TimedOut {
    /// Its number.
    pub number: u64,
    /// Where it is written, or why not.
    pub written: Result<PathBuf, String>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Sounded {
    /// What was counted.
    pub figures: Figures,
    /// Worlds that are too large within any limits, and were not compared.
    pub left_out: Vec<u64>,
    /// Disagreements, in the order of their worlds.
    pub disputed: Vec<Disputed>,
    /// Worlds of which the reduced search has another verdict.
    pub reduced: Vec<u64>,
    /// A world that took too long to be compared.
    pub timed_out: Option<TimedOut>,
    /// Somebody asked to stop, and not all worlds were compared: those from this number on were not.
    pub stopped: Option<u64>,
}

/// So often it is looked whether some world takes too long, at least.
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
    begun: BTreeMap<u64, Begun>,
    /// Compared before one that comes earlier.
    waiting: BTreeMap<u64, One>,
    folded: u64,
    sounded: Sounded,
}

/// A world that is being compared, or in which the two disagree and that is being made smaller.
struct Begun {
    clock: Stopwatch,
    disputed: Option<Disputed>,
}

impl Begun {
    fn now(disputed: Option<Disputed>) -> Begun {
        let clock = Stopwatch::start();
        Begun { clock, disputed }
    }
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
            self.fold().begun.insert(at, Begun::now(None));
            let one = self.one(&worlds, at);
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

    fn one(&self, worlds: &Worlds, at: u64) -> One {
        let number = self.asked.worlds.first + at;
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
            let as_drawn = Disputed {
                number,
                disagreement: disagreement.clone(),
                written: written.clone(),
            };
            self.fold().begun.insert(at, Begun::now(Some(as_drawn)));
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
        let look_every = self
            .asked
            .patience
            .clamp(Duration::from_millis(1), LOOK_EVERY);
        let mut fold = self.fold();
        while fold.working > 0 {
            let (again, _) = self
                .change
                .wait_timeout(fold, look_every)
                .expect("nobody panics with it");
            fold = again;
            watch(fold.folded, fold.sounded.disputed.len() as u64);
            if let Some(number) = fold.give_up(self.asked.worlds.first, self.asked.patience) {
                self.end.store(0, Relaxed);
                fold.sounded.timed_out = number.map(|number| self.timed_out(number));
                break;
            }
        }
        let mut sounded = std::mem::take(&mut fold.sounded);
        let is_over =
            sounded.timed_out.is_some() || !sounded.disputed.is_empty() && !self.asked.keep_going;
        let is_stopped = !is_over && fold.folded < self.asked.worlds.count;
        sounded.stopped = is_stopped.then_some(self.asked.worlds.first + fold.folded);
        sounded
    }

    fn timed_out(&self, number: u64) -> TimedOut {
        let text = format!(
            "// World {number}: it was not compared within {:?}, so nobody knows whether the two searches agree.\n\
             // Again: wavetank soundness --worlds {number}..{} --patience DURATION\n{}\n",
            self.asked.patience,
            number + 1,
            Worlds::default().draw(number).as_rust()
        );
        let written = write_as(
            &self.asked.out,
            &format!("soundness-{number}-timed-out.rs"),
            &text,
        );
        TimedOut { number, written }
    }
}

impl Fold {
    /// Does some world take longer than this? One in which the two disagree is told as it was drawn; of another one the
    /// number is given.
    fn give_up(&mut self, first: u64, patience: Duration) -> Option<Option<u64>> {
        let mut begun = self.begun.iter_mut();
        let (at, begun) = begun.find(|(_, begun)| begun.clock.is_over(Some(patience)))?;
        let number = first + at;
        Some(match begun.disputed.take() {
            Some(disputed) => {
                self.sounded.disputed.push(disputed);
                None
            }
            None => Some(number),
        })
    }

    fn fold(&mut self, first: u64, end: u64) {
        while let Some(one) = self.waiting.remove(&self.folded) {
            if self.folded >= end {
                return;
            }
            let number = first + self.folded;
            self.folded += 1;
            let sounded = &mut self.sounded;
            match one.compared {
                None => sounded.left_out.push(number),
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
    write_as(out, &format!("soundness-{number}.rs"), text)
}

fn write_as(out: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = out.join(name);
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use wavetank_models::soundness::Kind;

    use super::*;

    /// A world that is under way for longer than anybody waits.
    fn under_way(disputed: Option<Disputed>) -> Fold {
        let mut fold = Fold::default();
        fold.begun.insert(3, Begun::now(disputed));
        fold
    }

    #[test]
    fn a_disagreement_that_is_not_made_smaller_in_time_is_one() {
        let disputed = Disputed {
            number: 43,
            disagreement: Disagreement {
                kind: Kind::Verdict,
                how: "clean, and not clean".to_owned(),
            },
            written: Ok(PathBuf::from("soundness-43.rs")),
        };
        let mut fold = under_way(Some(disputed));
        assert_eq!(fold.give_up(40, Duration::from_secs(3_600)), None);
        assert_eq!(fold.give_up(40, Duration::ZERO), Some(None));
        let numbers: Vec<u64> = fold.sounded.disputed.iter().map(|own| own.number).collect();
        assert_eq!(numbers, [43]);
    }

    #[test]
    fn a_world_that_takes_too_long_is_no_disagreement() {
        let mut fold = under_way(None);
        assert_eq!(fold.give_up(40, Duration::ZERO), Some(Some(43)));
        assert!(fold.sounded.disputed.is_empty());
    }
}
