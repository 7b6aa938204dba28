//! The reflector (`tools/cache/reflector.go`): keeps the queue of an informer up with the server. It lists,
//! then watches; v1.36 first tries a watch that begins with a list.
//!
//! One routine, which goes from place to place: `list` is the list with its pages, `watch` the loop of
//! watches, `stream` what comes on one. What becomes of what is queued does not belong here.

pub(crate) mod list;
pub(crate) mod stream;
mod watch;

use std::hash::Hash;
use std::sync::Arc;

use wavetank_api::{Reason, Request, Status, http::Method};
use wavetank_engine::{Message, Name, Outcome, Rx, Task, mutant};
use wavetank_etcd::Revision;
use wavetank_version::{Defect, Version};

use crate::InformerDefect;
use crate::gates;
use crate::informer::{
    INFORMERS, Informer, InformerId, InformerSpec, Informers, forget, queued, resync,
};
use crate::observed::{Synced, Trouble, WatchOver};
use crate::rest::Failure;
use crate::wait::JITTER;
use crate::wait::backoff::{RESET_AFTER, Rearm};

use stream::Streaming;

pub(crate) const REFLECT: Name = Name::new("reflect");

/// A reflector, at one place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Reflect {
    informer: InformerId,
    place: Place,
}

/// Where it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Place {
    /// `ListAndWatch` begins.
    Begin,
    /// It asks for a watch that begins with a list.
    WatchList,
    /// It lists.
    List,
    /// It asks for a watch.
    Watch,
    /// A watch that began with a list goes on as one.
    Adopt(Streaming),
    /// It reads a watch.
    Stream(Streaming),
    /// `ListAndWatch` has returned.
    End,
}

impl Reflect {
    /// A reflector that begins.
    pub fn new(informer: InformerId) -> Reflect {
        Reflect {
            informer,
            place: Place::Begin,
        }
    }

    /// Whose it is.
    pub fn scope(&self) -> Name {
        self.informer.scope
    }
}

/// Which back-off manager.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Rounds,
    Connections,
}

/// What its functions share.
struct Reflector {
    rx: Rx,
    own: Arc<Informers>,
    /// The number of its informer in the process, and its place among those of its owner.
    informer: u32,
    at: u32,
}

/// One turn: from one place to the next.
pub(crate) async fn turn(rx: Rx, own: Arc<Informers>, reflect: Reflect) -> Outcome {
    let informer = reflect.informer.number;
    let reflector = Reflector {
        rx,
        own,
        informer,
        at: reflect.informer.at,
    };
    let place = match reflect.place {
        Place::Begin if reflector.release().has(gates::WATCH_LIST_CLIENT) => Place::WatchList,
        Place::Begin => Place::List,
        Place::WatchList => reflector.watch_list().await,
        Place::List => reflector.list().await,
        Place::Watch => reflector.watch().await,
        Place::Adopt(streaming) => reflector.adopt(streaming).await,
        Place::Stream(streaming) => reflector.stream(streaming).await,
        Place::End => {
            rx.disarm(resync(informer));
            reflector.back_off(Between::Rounds).await;
            Place::Begin
        }
    };
    Outcome::Become(Task::new(REFLECT, Reflect { place, ..reflect }))
}

pub(crate) const TOO_LARGE_IS_NO_FALLBACK: Defect = Defect::known(
    "too-large-is-no-fallback",
    "k/k#91073, PR #92537 (1.18.6, 1.19)",
    "a list that is refused as too large is asked for again and again",
)
.until(gates::TOO_LARGE_FALLS_BACK)
.fits_only(gates::RELISTS_AT_LAST_SEEN);

impl Reflector {
    fn release(&self) -> Version {
        self.own.rest.release
    }

    fn spec(&self) -> &InformerSpec {
        &self.own.specs[self.at as usize]
    }

    /// Works on what the informer remembers.
    fn with<R: Message + Clone + Eq + Hash>(&self, work: impl FnOnce(&mut Informer) -> R) -> R {
        let informer = self.informer as usize;
        self.rx.update(&INFORMERS, |all| work(&mut all[informer]))
    }

    /// The same, where something may have come into the queue.
    fn queue<R: Message + Clone + Eq + Hash>(&self, work: impl FnOnce(&mut Informer) -> R) -> R {
        let (result, synced) = self.with(|informer| {
            let result = work(informer);
            (result, informer.newly_synced())
        });
        if synced {
            // Nothing was to be filled in.
            let informer = self.informer;
            self.rx.note(Synced { informer });
        }
        self.rx.broadcast(queued(self.informer));
        result
    }

    /// Waits as the back-off manager says.
    async fn back_off(&self, between: Between) {
        let manager = match between {
            Between::Connections if self.release().has(gates::CONNECTIONS_BACK_OFF_APART) => 1,
            _ => 0,
        };
        let jitter = match self.release().has(gates::REFLECTORS_BACK_OFF) {
            true => self.rx.choose(JITTER).await,
            false => 0,
        };
        let (delay, rearm) =
            self.with(|informer| informer.reflector.backoffs[manager].step(jitter));
        if rearm == Rearm::Now {
            self.rx
                .arm(forget(self.informer, manager as u32), RESET_AFTER);
        }
        self.rx.sleep(delay).await;
    }

    /// A request for the collection.
    fn request(&self, mut query: Vec<(&str, String)>) -> Request {
        let selection = &self.spec().selection;
        let labels = selection.labels.text();
        if !labels.is_empty() {
            query.push(("labelSelector", labels));
        }
        query.sort();
        let query: Vec<(&str, &str)> = query.iter().map(|(n, v)| (*n, &**v)).collect();
        Request::new(Method::Get, selection.path()).ask(&query)
    }

    /// Does a list or watch-list that fails so have to be asked for without a revision? One place for
    /// both, as both treat it alike.
    fn falls_back(&self, failure: &Failure) -> bool {
        let Failure::Status(status) = failure else {
            return false;
        };
        (is_expired_error(status)
            && !mutant!(
                "expired-list-is-asked-again",
                "a list that is expired is asked for again at its revision"
            ))
            || is_too_large_resource_version_error(status)
                && !self.own.defects.has(InformerDefect::TooLargeIsNoFallback)
    }

    /// A watch is over. Tells why.
    fn over(&self, watch: u64, why: Option<Trouble>) {
        self.rx.note(WatchOver {
            informer: self.informer,
            watch,
            why,
        });
    }
}

/// `isExpiredError`
fn is_expired_error(status: &Status) -> bool {
    status.is(Reason::Expired) || status.is(Reason::Gone)
}

/// `isTooLargeResourceVersionError`
fn is_too_large_resource_version_error(status: &Status) -> bool {
    let text = "Too large resource version";
    let says = || status.is(Reason::Timeout) && status.message.contains(text);
    status.has_cause("ResourceVersionTooLarge") || says()
}

/// `isWatchErrorRetriable`: v1.16 and v1.20 know only the first.
fn is_watch_error_retriable(release: Version, failure: &Failure) -> bool {
    match failure {
        Failure::Net(error) => *error == wavetank_engine::NetError::Refused,
        Failure::Status(status) => {
            let retries = release.has(gates::TOO_MANY_REQUESTS_ARE_RETRIED);
            retries && status.is(Reason::TooManyRequests)
        }
    }
}

fn trouble(failure: &Failure) -> Trouble {
    match failure {
        Failure::Status(status) => Trouble::Status(status.clone()),
        Failure::Net(error) => Trouble::Net(*error),
    }
}

/// A revision as a parameter: none is left out.
fn revision_parameter(revision: Option<Revision>) -> Vec<(&'static str, String)> {
    let named = revision.map(|revision| ("resourceVersion", revision.to_string()));
    named.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::{V1_20, V1_36};

    #[test]
    fn refusals_are_told_apart() {
        let too_large = Status::new_too_large_resource_version_error(9, 5, 1);
        assert!(is_too_large_resource_version_error(&too_large) && !is_expired_error(&too_large));
        assert!(is_too_large_resource_version_error(
            &Status::new_timeout_error("Too large resource version: 9", 1)
        ));
        assert!(!is_too_large_resource_version_error(
            &Status::new_timeout_error("request did not complete", 1)
        ));
        assert!(is_expired_error(&Status::new_resource_expired(
            "too old resource version: 1 (5)"
        )));
        let busy = Failure::Status(Status::new_too_many_requests("later", 1));
        assert!(is_watch_error_retriable(V1_36, &busy) && !is_watch_error_retriable(V1_20, &busy));
    }
}
