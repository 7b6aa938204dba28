//! Informers that are held back: one that is named, or whichever is drawn, so that its store shows the past.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Json;
use wavetank_engine::{Cx, Name, Outcome, Rx, Task, Timer};

use super::state::{Hold, HoldAt, INFORMERS, Informer, first_of};
use super::{Informers, queued, released};
use crate::observed::Held;

/// An informer is held no longer.
pub(super) const LET_GO: Name = Name::new("informer-let-go");
/// Any informer is held for a while.
pub(super) const LAG: Name = Name::new("lag-informer");
/// The longest while that is drawn, in seconds: that of a watch cache that lags.
const LONGEST_LAG: u64 = 90;

fn let_go(number: usize) -> Timer {
    Timer::new(LET_GO, number as u64)
}

impl Informers {
    /// Holds an informer back: it takes nothing more, or nothing newer than a revision.
    pub fn hold(&self, cx: &mut Cx<'_>, at: u32, hold: Option<Hold>) {
        let all = cx.cell(&INFORMERS);
        let informer = (first_of(all, self.scope) + at as usize) as u32;
        all[informer as usize].hold = hold;
        cx.note(Held {
            informer,
            held: hold.is_some(),
        });
        cx.broadcast(queued(informer));
        cx.broadcast(released(informer));
    }

    /// `hold {resource, revision?, watch?, seconds?}`: an informer takes nothing (newer than `revision`) out of its queue,
    /// or off its watch, for so long. `release {resource}`. `lag`: any that is not held takes nothing for a while. Where they have
    /// not begun nothing is held.
    ///
    /// # Errors
    /// If it is none of these, or there is no informer of the resource.
    pub fn command(&self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let mut all = cx.cell(&INFORMERS).iter();
        let have_begun = all.any(|informer| informer.id.scope == self.scope);
        let hold = match what {
            "hold" => Some(Hold {
                at: args["revision"].as_u64(),
                place: match args["watch"].as_bool() {
                    Some(true) => HoldAt::Watch,
                    _ => HoldAt::Queue,
                },
            }),
            "release" => None,
            "lag" => {
                if have_begun {
                    cx.spawn(Task::new(LAG, self.scope));
                }
                return Ok(());
            }
            other => return Err(format!("knows `hold`, `release` and `lag`, not `{other}`")),
        };
        let resource = args["resource"].as_str().unwrap_or_default();
        let at = self.of_resource(resource);
        let at = at.ok_or_else(|| format!("has no informer of `{resource}`"))?;
        if have_begun {
            self.hold(cx, at, hold);
            if let Some(seconds) = args["seconds"].as_u64() {
                let number = first_of(cx.cell(&INFORMERS), self.scope) + at as usize;
                cx.arm(let_go(number), Duration::from_secs(seconds));
            }
        }
        Ok(())
    }
}

/// Tells that an informer is held, and lets it go after so long.
fn held_for(rx: Rx, number: usize, lasts: Duration) {
    rx.note(Held {
        informer: number as u32,
        held: true,
    });
    rx.arm(let_go(number), lasts);
}

impl Informers {
    /// Holds all that are not held, at their watches, for so long. Where they have not begun nothing is held.
    pub fn hold_all(&self, rx: Rx, lasts: Duration) {
        let hold = Hold {
            at: None,
            place: HoldAt::Watch,
        };
        let held: Vec<usize> = rx.update(&INFORMERS, |all: &mut Vec<Informer>| {
            let own = all.iter_mut().enumerate();
            let own = own.filter(|(_, own)| own.id.scope == self.scope && own.hold.is_none());
            own.map(|(number, own)| {
                own.hold = Some(hold);
                number
            })
            .collect()
        });
        for number in held {
            held_for(rx, number, lasts);
        }
    }
}

/// Holds any informer, at its queue or at its watch, for any while, unless it is held.
pub(super) async fn lag(rx: Rx, own: Arc<Informers>) -> Outcome {
    let at = match own.specs.len() as u64 {
        1 => 0,
        several => rx.choose(several).await as usize,
    };
    let place = match rx.choose(2).await {
        0 => HoldAt::Queue,
        _ => HoldAt::Watch,
    };
    let seconds = rx.choose(LONGEST_LAG).await + 1;
    let hold = Hold { at: None, place };
    let held = rx.update(&INFORMERS, |all: &mut Vec<Informer>| {
        let number = first_of(all, own.scope) + at;
        let is_free = all[number].hold.is_none();
        all[number].hold.get_or_insert(hold);
        is_free.then_some(number)
    });
    if let Some(number) = held {
        held_for(rx, number, Duration::from_secs(seconds));
    }
    Outcome::Done
}
