//! `DeleteCollection`: list, and delete one after another (`--delete-collection-workers` is 1).

use wavetank_api::options::DeleteOptions;
use wavetank_api::{Status, Stored};
use wavetank_engine::{Rx, mutant};

use crate::options::{ListOptions, Listed};
use crate::registry::Registry;

/// `deleteCollectionPageSize`.
const PAGE: u64 = 10_000;

impl Registry {
    /// `DeleteCollection`: the objects that were to be deleted, as they were listed. It is not
    /// atomic: an error leaves those deleted that were.
    ///
    /// # Errors
    /// A Status.
    pub async fn delete_collection(
        &self,
        rx: Rx,
        options: &DeleteOptions,
        list: &ListOptions,
    ) -> Result<Listed, Status> {
        let has_limit = list.limit > 0;
        let mut list = list.clone();
        if !has_limit {
            list.limit = PAGE;
        }
        let mut all: Vec<Stored> = Vec::new();
        let mut first: Option<Listed> = None;
        loop {
            let page = self.list_predicate(rx, &list).await?;
            for item in &page.items {
                let namespaced = Registry {
                    namespace: item.object.namespace().into(),
                    ..self.clone()
                };
                let name = item.object.name();
                let deleted = namespaced
                    .rest
                    .delete(rx, &namespaced, name, options.clone())
                    .await;
                if let Err(status) = deleted
                    && !status.is(wavetank_api::Reason::NotFound)
                {
                    return Err(status);
                }
            }
            all.extend(page.items.iter().cloned());
            let next = page.continues.clone().filter(|_| {
                !mutant!(
                    "collection-deletes-a-page",
                    "the deletion of a collection ends with the first page"
                )
            });
            let first = first.get_or_insert(page);
            if has_limit || next.is_none() {
                first.items = all;
                return Ok(first.clone());
            }
            list.continues = next;
            list.resource_version = None;
            list.resource_version_match = None;
        }
    }
}
