//! How a seed is looked for that shows a defect. Each seed is simulated once with all fixed, and after that only with those
//! defects whose places it passed: no other can make a difference.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use wavetank::case::Case;

use super::pin::{Pin, violated};

/// Pins of one scenario and release.
pub struct Group {
    fixed: Box<dyn Case>,
    /// Each with the case in which its defect is on.
    pins: Vec<(Pin, Box<dyn Case>)>,
}

/// What a search has to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// The seed of this pin is found.
    Found(Pin),
    /// The defect of this pin also shows by another property.
    Otherwise(Pin),
    /// This seed violates a property although all is fixed.
    NotClean(u64, String),
}

impl Group {
    /// Those that are of the scenario and release of the first.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(pins: Vec<Pin>) -> Group {
        let fixed = pins.first().expect("there is a pin").fixed();
        let switched = |pin: Pin| {
            let case = pin.switched();
            (pin, case)
        };
        let pins = pins.into_iter().map(switched).collect();
        Group { fixed, pins }
    }

    /// Those whose seeds show nothing any more.
    pub fn stale(&self, jobs: usize) -> Vec<Pin> {
        let seeds: BTreeSet<u64> = self.pins.iter().map(|(pin, _)| pin.seed).collect();
        let shown = Mutex::new(Vec::new());
        self.look(seeds, jobs, &|pin, seed| pin.seed == seed, &|news| {
            if let News::Found(pin) = news {
                locked(&shown).push(pin.switch);
            }
        });
        let shown = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stale = self.pins.iter().map(|(pin, _)| pin.clone());
        stale.filter(|pin| !shown.contains(&pin.switch)).collect()
    }

    /// Looks for the lowest seeds that show these. Those that it has not found are left over.
    pub fn find(
        &self,
        wanted: Vec<Pin>,
        seeds: Range<u64>,
        jobs: usize,
        tell: &(dyn Fn(News) + Sync),
    ) -> Vec<Pin> {
        // Threads are ahead of one another: what was found may yet be found at a lower seed.
        let lowest: Vec<(Pin, AtomicU64)> = wanted
            .into_iter()
            .map(|pin| (pin, AtomicU64::new(u64::MAX)))
            .collect();
        let of = |pin: &Pin| lowest.iter().find(|(own, _)| own.switch == pin.switch);
        let is_wanted = |pin: &Pin, seed| {
            of(pin).is_some_and(|(_, found)| seed < found.load(Ordering::Relaxed))
        };
        let all_found = || {
            let mut all = lowest.iter();
            all.all(|(_, found)| found.load(Ordering::Relaxed) < u64::MAX)
        };
        let seeds = seeds.take_while(|_| !all_found());
        self.look(seeds, jobs, &is_wanted, &|news| {
            if let News::Found(pin) = &news
                && let Some((_, found)) = of(pin)
                && found.fetch_min(pin.seed, Ordering::Relaxed) < pin.seed
            {
                return;
            }
            tell(news);
        });
        let left = lowest
            .iter()
            .filter(|(_, found)| found.load(Ordering::Relaxed) == u64::MAX);
        left.map(|(pin, _)| pin.clone()).collect()
    }

    /// Simulates these seeds, on so many threads.
    fn look(
        &self,
        seeds: impl IntoIterator<Item = u64, IntoIter: Send>,
        jobs: usize,
        is_wanted: &(dyn Fn(&Pin, u64) -> bool + Sync),
        tell: &(dyn Fn(News) + Sync),
    ) {
        let seeds = Mutex::new(seeds.into_iter());
        thread::scope(|scope| {
            for _ in 0..jobs.max(1) {
                scope.spawn(|| {
                    loop {
                        let next = locked(&seeds).next();
                        let Some(seed) = next else { break };
                        self.look_at(seed, is_wanted, tell);
                    }
                });
            }
        });
    }

    fn look_at(
        &self,
        seed: u64,
        is_wanted: &(dyn Fn(&Pin, u64) -> bool + Sync),
        tell: &(dyn Fn(News) + Sync),
    ) {
        // What was passed before is nothing of this seed's.
        self.fixed.take_passed();
        if let Some(property) = violated(self.fixed.as_ref(), seed) {
            tell(News::NotClean(seed, property));
            return;
        }
        let passed = self.fixed.take_passed();
        for (pin, switched) in &self.pins {
            if !passed.contains(&pin.switch.as_str()) || !is_wanted(pin, seed) {
                continue;
            }
            let Some(property) = violated(switched.as_ref(), seed) else {
                continue;
            };
            let is_it = property == pin.property;
            let pin = Pin {
                seed,
                property,
                ..pin.clone()
            };
            tell(match is_it {
                true => News::Found(pin),
                false => News::Otherwise(pin),
            });
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
