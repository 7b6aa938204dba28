//! From where a watch begins: with events of the window, or with all there is.

use std::sync::Arc;

use wavetank_api::Status;
use wavetank_etcd::Revision;

use super::Cacher;
use super::event::{Event, covers};
use super::state::Cache;
use super::watcher::Initial;
use crate::cacher::gates;
use crate::options::{ListOptions, StoreError};
use wavetank_engine::{Instant, mutant};

impl Cache {
    /// `getAllEventsSince`: from where a watch begins.
    pub(super) fn get_all_events_since(
        &self,
        cacher: Cacher,
        under: &str,
        options: &ListOptions,
        send_initial_events: Option<bool>,
        required: Revision,
    ) -> Result<Initial, StoreError> {
        if send_initial_events == Some(true) {
            return Ok(self.all(cacher, under, options));
        }
        let oldest = self.oldest(cacher)?;
        let mut since = required;
        if since == 0 {
            if send_initial_events.is_none() {
                return Ok(self.all(cacher, under, options));
            }
            since = self.revision;
        }
        if since < oldest
            && !mutant!(
                "too-old-is-served",
                "a watch that begins before the window is not refused"
            )
        {
            let why = format!("too old resource version: {since} ({oldest})");
            return Err(Status::new_resource_expired(why).into());
        }
        let (from, to) = (self.window.after(since), self.window.end());
        // Until v1.20 they are copied here, v1.36 reads them when it sends them.
        let later = cacher
            .config
            .release
            .has(gates::INITIAL_EVENTS_ARE_READ_LATER);
        let (events, rest) = match later {
            false => {
                let events = self.window.slice(from, to, usize::MAX);
                (events.unwrap_or_default(), None)
            }
            true => (Vec::new(), Some((from, to))),
        };
        Ok(Initial {
            revision: since,
            events: events.into(),
            rest,
        })
    }

    /// Everything as added, in the order of keys (until v1.20 in that of a Go map).
    fn all(&self, cacher: Cacher, under: &str, options: &ListOptions) -> Initial {
        let one = options.one;
        let wanted = self
            .store
            .iter()
            .filter(|(key, _)| !one || covers(under, key));
        let events: Vec<Arc<Event>> = wanted
            .map(|(key, stored)| {
                Arc::new(Event {
                    key: key.clone(),
                    deleted: false,
                    object: stored.clone(),
                    before: None,
                    revision: self.revision,
                    recorded: Instant::default(),
                })
            })
            .collect();
        // v1.20 takes the revision from the last of them: of none it is what was asked for.
        let own = cacher
            .config
            .release
            .has(gates::INITIAL_STATE_HAS_ITS_REVISION);
        let revision = match own || !events.is_empty() {
            true => self.revision,
            false => 0,
        };
        Initial {
            revision,
            events: events.into(),
            rest: None,
        }
    }
}
