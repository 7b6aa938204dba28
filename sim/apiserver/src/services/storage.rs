//! The storage of Services inside the generic registry (`pkg/registry/core/service/storage/storage.go`): which of
//! the hooks each release has. What the hooks do is in `hooks`.

use wavetank_api::Status;
use wavetank_api::json::Json;
use wavetank_api::strategy::{Context, Part};
use wavetank_engine::Rx;

use super::{Allocators, ServiceDefect, gates, hooks};
use crate::registry::{Begun, Finish, Gone, Hooked, Made, Reading, Registry, RestStorage};

impl Allocators {
    /// Are there `BeginCreate` and `BeginUpdate`? v1.36; updates of a status have none.
    fn has_hooks(&self, part: Part) -> bool {
        part == Part::Whole && self.release.has(gates::REGISTRY_HOOKS)
    }
}

impl RestStorage for Allocators {
    fn complete(&self, cx: &mut Context) {
        cx.dual_stack = self.is_dual();
    }

    /// Before v1.36 it depends on the gate for two families, and lists are shown as they are stored.
    fn decorates(&self, part: Part, reading: Reading) -> bool {
        let has = |gate| self.release.has(gate);
        let before_hooks = has(gates::FAMILIES_BEFORE_HOOKS) && self.is_dual();
        part == Part::Whole
            && (has(gates::REGISTRY_HOOKS) || before_hooks && reading == Reading::One)
    }

    fn decorator(&self, object: &mut Json) {
        self.default_on_read(object);
    }

    fn begin_create<'a, 'o>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        object: &'o mut Json,
    ) -> Hooked<'o, Result<Begun<'a>, Status>>
    where
        'a: 'o,
    {
        Box::pin(async move {
            if !self.has_hooks(registry.part) {
                return Ok(None);
            }
            let begun = Allocators::begin_create(self, rx, object, registry.dry_run).await?;
            Ok(Some(Box::new(begun) as Box<dyn Finish>))
        })
    }

    fn begin_update<'a, 'o>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        object: &'o mut Json,
        old: &'o mut Json,
    ) -> Hooked<'o, Result<Begun<'a>, Status>>
    where
        'a: 'o,
    {
        Box::pin(async move {
            if !self.has_hooks(registry.part) {
                return Ok(None);
            }
            let begun = Allocators::begin_update(self, rx, object, old, registry.dry_run).await?;
            Ok(Some(Box::new(begun) as Box<dyn Finish>))
        })
    }

    /// Until v1.20 the layer before the registry gives up by itself what a deletion leaves.
    fn after_delete<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        object: &'a Made,
        gone: Gone,
        late: bool,
    ) -> Hooked<'a, ()> {
        Box::pin(async move {
            let gives_up = gone != Gone::Deleted || self.release.has(gates::REGISTRY_HOOKS);
            if gives_up && !(late && self.defects.has(ServiceDefect::FixReleaseOnce)) {
                Allocators::after_delete(self, rx, registry, object).await;
            }
        })
    }
}

impl Finish for hooks::Begun<'_> {
    fn finish_func<'a>(self: Box<Self>, rx: Rx, success: bool) -> Hooked<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(hooks::Begun::finish_func(*self, rx, success))
    }

    fn conclude<'a>(self: Box<Self>, rx: Rx, failed: Option<&'a Status>) -> Hooked<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(hooks::Begun::conclude(*self, rx, failed))
    }
}
