//! How much memory a node has, and who uses it: in Mi, of the moment.

use std::time::Duration;

use wavetank_engine::{Name, Outcome, Rx};

use super::ContainerRuntime;
use super::cri::{Answer, Id, Stats};

pub(super) const GROW: Name = Name::new("container-grows");
pub(super) const HOG: Name = Name::new("node-is-hogged");
/// What the machine has, and what it uses for itself.
const CAPACITY: i64 = 4_096;
const SYSTEM: i64 = 500;
/// What a container uses that does not grow.
pub(super) const MODEST: i64 = 100;
/// How much a container uses that grows, until it ends.
const GROWS_TO: [i64; 4] = [300, 900, 2_000, 3_300];
/// How much somebody else uses, and for how long, in seconds.
const HOGGED: [i64; 3] = [2_400, 2_900, 3_500];
const HOGGED_FOR: [u64; 3] = [15, 45, 120];

impl ContainerRuntime {
    pub(super) fn stats(&self) -> Stats {
        let running = self.containers.iter().filter(|own| own.is_running());
        let usage = running.map(|own| (own.pod.uid.clone(), own.name.clone(), own.memory));
        let usage: Vec<_> = usage.collect();
        let used: i64 = usage.iter().map(|(_, _, own)| own).sum();
        Stats {
            available: (CAPACITY - SYSTEM - self.hogged - used).max(0),
            usage,
        }
    }
}

pub(super) fn stats(rx: Rx) -> Answer {
    Answer::Stats(rx.process(|own: &mut ContainerRuntime| own.stats()))
}

async fn one_of<T: Copy>(rx: Rx, all: &[T]) -> T {
    all[rx.choose(all.len() as u64).await as usize]
}

/// One of those that run grows to so much.
pub(super) async fn grow(rx: Rx, id: Option<Id>, asked: Option<i64>) -> Outcome {
    let memory = match asked {
        Some(asked) => asked,
        None => one_of(rx, &GROWS_TO).await,
    };
    rx.process(|own: &mut ContainerRuntime| {
        let all = own.containers.iter_mut();
        for own in all.filter(|own| Some(&own.id) == id.as_ref()) {
            own.memory = memory;
        }
    });
    Outcome::Done
}

/// Somebody else uses so much for a while.
pub(super) async fn hog(rx: Rx, asked: Option<i64>) -> Outcome {
    let memory = match asked {
        Some(asked) => asked,
        None => one_of(rx, &HOGGED).await,
    };
    let lasts = one_of(rx, &HOGGED_FOR).await;
    rx.process(|own: &mut ContainerRuntime| own.hogged += memory);
    rx.sleep(Duration::from_secs(lasts)).await;
    rx.process(|own: &mut ContainerRuntime| own.hogged -= memory);
    Outcome::Done
}
