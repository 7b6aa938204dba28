//! Objects whose fields nobody manages (`skipnonapplied.go`): they stay so until somebody applies them, and what they had
//! before is then somebody's, too.

use super::{Failure, Managed, Manager, Scope};
use crate::json::{self, Json};
use wavetank_engine::mutant;

/// `beforeApplyManagerName`
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// `skipNonAppliedManager`, which tracks every object that is created (`DefaultTrackOnCreateProbability`).
pub(in crate::managedfields) struct SkipNonApplied<M> {
    pub(in crate::managedfields) inner: M,
    pub(in crate::managedfields) scope: Scope,
}

impl<M: Manager> Manager for SkipNonApplied<M> {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        let is_create = json::text(live, &["metadata", "uid"]).is_empty();
        if managed.fields.is_empty() && !is_create {
            return Ok((new, managed));
        }
        self.inner.update(live, new, managed, manager)
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        if !managed.fields.is_empty()
            || mutant!(
                "before-first-apply-is-lost",
                "the first apply takes what is there for nobody's"
            )
        {
            return self.inner.apply(live, config, managed, manager, force);
        }
        let empty = self.scope.new_object();
        let converted = self.scope.converts(&empty, "live");
        let made = converted.and_then(|()| {
            let live = live.clone();
            self.inner.update(&empty, live, managed, BEFORE_FIRST_APPLY)
        });
        let made =
            made.map_err(|failure| failure.because("failed to create manager for existing fields"));
        let (live, managed) = made?;
        self.inner.apply(&live, config, managed, manager, force)
    }
}
