//! Asking for watches: the loop of a round (`watch`; in v1.16 and v1.20 the second half of `ListAndWatch`), and
//! the watch that begins with a list (`watchList`).

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use imbl::OrdMap;
use wavetank_engine::{Either, NetError, Payload, mutant};
use wavetank_etcd::Revision;

use super::stream::{Part, Streaming, Use};
use super::{Between, Place, Reflector, is_watch_error_retriable, revision_parameter, trouble};
use crate::gates;
use crate::load_balancer::BALANCED;
use crate::observed::{Trouble, WatchBegan};
use crate::rest::Failure;

/// `defaultMinWatchTimeout`, in seconds; as much again is drawn on top.
const TIMEOUT: u64 = 300;
/// A watch that ends within this time and brings nothing is an error.
const SHORT: Duration = Duration::from_secs(1);

/// A watch that was just asked for.
struct Asked {
    /// There is no stream where the watch is an empty one.
    opened: Result<Option<Streaming>, Failure>,
    /// What came first, if anything did within [`SHORT`].
    first: Option<Part>,
    /// It took longer than that.
    is_long: bool,
}

impl Reflector {
    /// One watch of the loop.
    pub(super) async fn watch(&self) -> Place {
        let from = self.with(|informer| informer.reflector.last);
        let beyond = from.is_some_and(|from| from > 0)
            && mutant!(
                "watch-begins-late",
                "a watch is begun one revision behind the list"
            );
        let from = from.map(|from| from + u64::from(beyond));
        let mut query = revision_parameter(from);
        query.push(("allowWatchBookmarks", "true".to_owned()));
        let asked = self.ask(from, query, None).await;
        let streaming = match asked.opened {
            Ok(Some(streaming)) => streaming,
            Ok(None) => {
                // As a stream that ends at once.
                let short = (!asked.is_long).then_some(Trouble::Short);
                self.over(0, short.clone());
                return self.after_watch(short).await;
            }
            Err(failure) => {
                self.over(0, Some(trouble(&failure)));
                if is_watch_error_retriable(self.release(), &failure) {
                    self.back_off(Between::Connections).await;
                    return Place::Watch;
                }
                return Place::End;
            }
        };
        self.proceed(streaming, asked.first, asked.is_long).await
    }

    /// `watchList`: then it goes on with the same watch. Failing that, it lists.
    pub(super) async fn watch_list(&self) -> Place {
        let from = self.with(|informer| match informer.reflector.unavailable {
            true => None,
            false => informer.reflector.last,
        });
        let mut query = revision_parameter(from);
        query.push(("allowWatchBookmarks", "true".to_owned()));
        query.push(("sendInitialEvents", "true".to_owned()));
        query.push(("resourceVersionMatch", "NotOlderThan".to_owned()));
        let collecting = Use::List {
            asked: from,
            items: OrdMap::new(),
        };
        let asked = self.ask(from, query, Some(collecting)).await;
        let streaming = match asked.opened {
            Ok(Some(streaming)) => streaming,
            Ok(None) if asked.is_long => {
                self.over(0, None);
                return self.without_end();
            }
            Ok(None) => {
                self.over(0, Some(Trouble::Short));
                return Place::List;
            }
            Err(failure) => {
                self.over(0, Some(trouble(&failure)));
                return self.after_watch_list(&failure).await;
            }
        };
        self.proceed(streaming, asked.first, asked.is_long).await
    }

    /// Goes on after a watch-list that failed (`isErrorRetriableWithSideEffectsFn`).
    pub(super) async fn after_watch_list(&self, failure: &Failure) -> Place {
        if is_watch_error_retriable(self.release(), failure) {
            self.back_off(Between::Connections).await;
            return Place::WatchList;
        }
        if self.falls_back(failure) {
            self.with(|informer| informer.reflector.unavailable = true);
            return Place::WatchList;
        }
        Place::List
    }

    /// A watch that began with a list has become an ordinary one, which counts as begun now.
    pub(super) async fn adopt(&self, streaming: Streaming) -> Place {
        let mut young = pin!(self.rx.sleep(SHORT));
        let first = self.first(&streaming, young.as_mut()).await;
        let is_long = first.is_none();
        self.proceed(streaming, first, is_long).await
    }

    async fn proceed(&self, streaming: Streaming, first: Option<Part>, is_long: bool) -> Place {
        match first {
            Some(part) => self.take(streaming, part, is_long).await,
            None => Place::Stream(streaming),
        }
    }

    /// Asks, and waits for what comes first, or until the watch is not young any more.
    async fn ask(
        &self,
        from: Option<Revision>,
        mut query: Vec<(&str, String)>,
        collecting: Option<Use>,
    ) -> Asked {
        let timeout = TIMEOUT + self.rx.choose(TIMEOUT).await;
        query.push(("timeoutSeconds", timeout.to_string()));
        query.push(("watch", "true".to_owned()));
        let request = self.request(query);
        let moves = self.rx.update(&BALANCED, |balanced| balanced.moves);
        let mut young = pin!(self.rx.sleep(SHORT));
        let mut opening = pin!(self.own.rest.watch(self.rx, request));
        let (opened, is_long) = match self.rx.select(opening.as_mut(), young.as_mut()).await {
            Either::Left(opened) => (opened, false),
            Either::Right(()) => (opening.await, true),
        };
        let (stream, server) = match opened {
            Ok(Some(opened)) => opened,
            none => {
                return Asked {
                    opened: none.map(|_| None),
                    first: None,
                    is_long,
                };
            }
        };
        let initial_events = collecting.is_some();
        let unordered = from.is_none_or(|from| from == 0);
        let watch = self.with(|informer| {
            informer.reflector.watches += 1;
            informer.reflector.watches
        });
        self.rx.note(WatchBegan {
            informer: self.informer,
            watch,
            from,
            initial_events,
            server,
        });
        let waits = self.release().has(gates::REVISION_WAITS_FOR_ADDED);
        let streaming = Streaming {
            stream,
            server,
            watch,
            moves,
            past_added: !unordered && !initial_events || !waits,
            events: false,
            use_as: collecting.unwrap_or(Use::Watch),
        };
        let first = match is_long {
            true => None,
            false => self.first(&streaming, young.as_mut()).await,
        };
        Asked {
            is_long: first.is_none(),
            opened: Ok(Some(streaming)),
            first,
        }
    }

    /// What comes first, unless the watch grows old before.
    async fn first(
        &self,
        streaming: &Streaming,
        young: Pin<&mut impl Future<Output = ()>>,
    ) -> Option<Result<Option<Payload>, NetError>> {
        let next = self.rx.next(streaming.stream);
        match self.rx.select(next, young).await {
            Either::Left(part) => Some(part),
            Either::Right(()) => None,
        }
    }
}
