//! The list of a round: at which revision, in how many pages (`tools/pager/pager.go`), and what is done when
//! the revision is not to be had.

use std::sync::Arc;
use wavetank_engine::mutant;

use wavetank_api::http::List;
use wavetank_api::{Reason, Stored};
use wavetank_etcd::Revision;
use wavetank_version::Defect;

use super::{Place, Reflector, revision_parameter, trouble};
use crate::InformerDefect;
use crate::fifo::key_of;
use crate::gates;
use crate::informer::resync;
use crate::observed::{Listed, NotListed};
use crate::rest::Failure;

/// `defaultPageSize`
const PAGE: u32 = 500;

/// All pages of a list.
struct Whole {
    items: Vec<Stored>,
    revision: Revision,
    /// It came in more than one.
    paginated: bool,
}

pub(crate) const RELIST_AT_ZERO: Defect = Defect::known(
    "relist-at-zero",
    "k/k#59848, PR #83520 (1.18)",
    "every list is asked for at revision 0: a server that lags takes the store back",
)
.fits_only(gates::RELISTS_AT_LAST_SEEN.before());

impl Reflector {
    /// `list`: then it watches.
    pub(super) async fn list(&self) -> Place {
        let mut asked = self.relist_resource_version();
        let paginated = self.with(|informer| informer.reflector.paginated);
        let limit = match asked {
            // From the watch cache, which knows no pages.
            Some(revision) if revision > 0 && !paginated => None,
            _ => Some(PAGE),
        };
        let first = asked;
        let mut list = self.all_pages(asked, limit).await;
        if let Err(failure) = &list
            && !self.starts_anew()
            && self.falls_back(failure)
        {
            self.not_listed(asked, failure);
            self.with(|informer| informer.reflector.unavailable = true);
            asked = self.relist_resource_version();
            list = self.all_pages(asked, limit).await;
        }
        let list = match list {
            Ok(list) => list,
            Err(failure) => {
                self.not_listed(asked, &failure);
                return Place::End;
            }
        };
        let paginated = first == Some(0) && list.paginated;
        self.with(|informer| {
            informer.reflector.paginated |= paginated;
            informer.reflector.unavailable = false;
        });
        self.replace(list.items, list.revision, asked, false);
        Place::Watch
    }

    /// Puts a list into the queue, and begins to count for the resync.
    pub(super) fn replace(
        &self,
        items: Vec<Stored>,
        revision: Revision,
        asked: Option<Revision>,
        streamed: bool,
    ) {
        self.rx.note(Listed {
            informer: self.informer,
            asked,
            got: revision,
            items: named(&items),
            streamed,
        });
        self.queue(|informer| {
            let first = items.first().map(|item| item.resource_version);
            informer.fifo.replace(items, revision, &informer.indexer);
            let early = first.is_some_and(|first| first != revision)
                && mutant!(
                    "list-is-as-old-as-its-first-item",
                    "a reflector takes the revision of a list from its first item"
                );
            informer.reflector.last = if early { first } else { Some(revision) };
        });
        if let Some(period) = self.spec().resync_periods().0 {
            self.rx.arm(resync(self.informer), period);
        }
    }

    /// Is every list asked for at revision 0, as in v1.16?
    fn starts_anew(&self) -> bool {
        self.own.defects.has(InformerDefect::RelistAtZero)
    }

    /// `relistResourceVersion`
    fn relist_resource_version(&self) -> Option<Revision> {
        if self.starts_anew() {
            return Some(0);
        }
        self.with(|informer| match informer.reflector.unavailable {
            true => None,
            false => Some(informer.reflector.last.unwrap_or(0)),
        })
    }

    /// `ListPager.List`: page after page. If the first one's revision is compacted meanwhile, all at once.
    async fn all_pages(
        &self,
        asked: Option<Revision>,
        limit: Option<u32>,
    ) -> Result<Whole, Failure> {
        let mut whole = Whole {
            items: Vec::new(),
            revision: 0,
            paginated: false,
        };
        let mut from: Option<Arc<str>> = None;
        loop {
            let named = match from {
                // The token names the revision; v1.16 still sends its 0.
                Some(_) if !self.starts_anew() => None,
                _ => asked,
            };
            let page = match self.page(named, limit, from.as_deref()).await {
                Ok(page) => page,
                Err(Failure::Status(status))
                    if status.is(Reason::Expired) && (from.is_some() || self.starts_anew()) =>
                {
                    let all = self.page(asked, None, None).await?;
                    return Ok(Whole {
                        items: all.items,
                        revision: all.resource_version,
                        paginated: whole.paginated,
                    });
                }
                Err(failure) => return Err(failure),
            };
            if from.is_none() {
                whole.revision = page.resource_version;
            }
            whole.items.extend(page.items);
            match page.continues {
                Some(_)
                    if mutant!(
                        "first-page-is-all",
                        "a reflector takes the first page of a list for all of it"
                    ) =>
                {
                    return Ok(whole);
                }
                None => return Ok(whole),
                Some(token) => from = Some(token),
            }
            whole.paginated = true;
        }
    }

    async fn page(
        &self,
        revision: Option<Revision>,
        limit: Option<u32>,
        from: Option<&str>,
    ) -> Result<List, Failure> {
        let mut query = revision_parameter(revision);
        query.extend(limit.map(|limit| ("limit", limit.to_string())));
        query.extend(from.map(|token| ("continue", token.to_owned())));
        let request = self.request(query);
        self.own.rest.list(self.rx, request).await
    }

    fn not_listed(&self, asked: Option<Revision>, failure: &Failure) {
        self.rx.note(NotListed {
            informer: self.informer,
            asked,
            why: trouble(failure),
        });
    }
}

/// Keys and revisions.
fn named(items: &[Stored]) -> Arc<[(crate::fifo::StoreKey, Revision)]> {
    let items = items.iter();
    items
        .map(|stored| (key_of(&stored.object), stored.resource_version))
        .collect()
}
