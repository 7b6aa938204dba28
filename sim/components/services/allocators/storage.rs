//! The storage of Services inside the generic registry (`pkg/registry/core/service/storage/storage.go`): which of
//! the hooks each release has. What the hooks do is in `hooks`.

use wavetank_api::Status;
use wavetank_api::json::Json;
use wavetank_api::options::DeleteOptions;
use wavetank_api::strategy::{Context, Part};
use wavetank_engine::Rx;
use wavetank_version::Defect;

use super::{Allocators, Layer, hooks};
use crate::services::{ServiceDefect, gates};
use wavetank_apiserver::options::Preconditions;
use wavetank_apiserver::registry::{
    Begun, Change, Deletion, Finish, Gone, Hooked, Made, Reading, Registry, RestStorage, Update,
    Warnings,
};

pub(crate) const FINALIZER_UPDATE_LEAKS: Defect = Defect::known(
    "finalizer-update-leaks",
    "k/k#87603 (1.23)",
    "an update that takes the last finalizer of a Service away gives up nothing",
)
.fits_only(gates::REGISTRY_HOOKS.before());

pub(crate) const STATUS_FINALIZER_LEAKS: Defect = Defect::known(
    "status-finalizer-leaks",
    "k/k#120536, PR #120623 (1.29)",
    "an update of the status that takes the last finalizer of a Service away gives up nothing",
)
.until(gates::STATUS_HAS_HOOKS);

pub(crate) const FIX_RELEASE_ONCE: Defect = Defect::fix(
    "fix-release-once",
    "FINDINGS.md, 6",
    "of several deletions of a Service only the one that removed it gives up what it had",
);

pub(crate) const FIX_FINISH_AFTER_WRITE: Defect = Defect::fix(
    "fix-finish-after-write",
    "FINDINGS.md, 5",
    "an update gives up what the old Service had once the new one is stored",
)
.fits_only(gates::REGISTRY_HOOKS);

impl Allocators {
    /// Are there `BeginCreate` and `BeginUpdate`? v1.36; updates of a status have none.
    fn has_hooks(&self, part: Part) -> bool {
        part == Part::Whole && self.release.has(gates::REGISTRY_HOOKS)
    }

    /// The layer before the registry that Services had until v1.22; updates of a status go past it.
    fn layer<'a>(&'a self, registry: &'a Registry) -> Option<Layer<'a>> {
        let has = registry.part == Part::Whole && !self.release.has(gates::REGISTRY_HOOKS);
        has.then_some(Layer {
            registry,
            allocators: self,
        })
    }

    /// Does an update that takes the last finalizer leave what the Service was allocated?
    fn leaks_with_finalizers(&self, part: Part) -> bool {
        self.defects.has(match part {
            Part::Status => ServiceDefect::StatusFinalizerLeaks,
            _ => ServiceDefect::FinalizerUpdateLeaks,
        })
    }
}

impl RestStorage for Allocators {
    fn complete(&self, cx: &mut Context) {
        cx.dual_stack = self.is_dual();
    }

    fn create<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        object: Json,
        warnings: &'a mut Warnings,
    ) -> Hooked<'a, Result<Made, Status>> {
        Box::pin(async move {
            match self.layer(registry) {
                Some(layer) => layer.create(rx, object, warnings).await,
                None => registry.create(rx, object, warnings).await,
            }
        })
    }

    fn update<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        name: &'a str,
        preconditions: &'a Preconditions,
        change: &'a dyn Change,
        warnings: &'a mut Warnings,
    ) -> Hooked<'a, Result<Update, Status>> {
        Box::pin(async move {
            match self.layer(registry) {
                Some(layer) => layer.update(rx, name, change, warnings).await,
                None => {
                    let update = registry.update(rx, name, preconditions, change, warnings);
                    update.await
                }
            }
        })
    }

    fn delete<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        name: &'a str,
        options: DeleteOptions,
    ) -> Hooked<'a, Result<Deletion, Status>> {
        Box::pin(async move {
            match self.layer(registry) {
                Some(layer) => layer.delete(rx, name, options).await,
                None => registry.delete(rx, name, options).await,
            }
        })
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
            if gone == Gone::Emptied && self.leaks_with_finalizers(registry.part) {
                return;
            }
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

    fn waits_for_write(&self) -> bool {
        hooks::Begun::waits_for_write(self)
    }

    fn conclude<'a>(self: Box<Self>, rx: Rx, failed: Option<&'a Status>) -> Hooked<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(hooks::Begun::conclude(*self, rx, failed))
    }
}
