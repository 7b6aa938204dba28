//! The chain of managers as requests call it (`managedfields/internal/fieldmanager.go`, `conflict.go`, `versioncheck.go`).

use super::managed::{
    Managed, decode_managed_fields, encode_object_managed_fields, entries,
    remove_object_managed_fields,
};
use super::manager::{
    BuildManagerInfo, CapManagers, Failure, LastAppliedManager, LastAppliedUpdater,
    ManagedFieldsUpdater, Manager, Scope, SkipNonApplied, StripMeta, StructuredMerge, gvk,
    print_manager,
};
use crate::decode::{SCALE, Target};
use crate::json::{self, Json};
use crate::kinds::Resource;
use crate::quote;
use crate::smd::fieldpath::{PathElement, Set, path_string};
use crate::smd::merge::Conflicts;
use crate::smd::schema::{TypeRef, type_name};
use crate::status::{Cause, Details, Reason, Status};
use crate::strategy::Part;
use crate::times::Stamp;

/// `DefaultMaxUpdateManagers`
const MOST_UPDATE_MANAGERS: usize = 10;

/// `FieldManagerMaxLength`
const LONGEST_NAME: usize = 128;

/// `FieldManager`: of one kind, or of one of its subresources.
pub struct FieldManager {
    chain: Box<dyn Manager + Send + Sync>,
    scope: Scope,
    subresource: &'static str,
}

impl FieldManager {
    /// `NewDefaultFieldManager` of a part of a resource, whose reset fields nobody owns unless `owned` says so.
    pub fn of(
        resource: &'static Resource,
        part: Part,
        now: Stamp,
        owned: impl FnOnce() -> bool,
    ) -> FieldManager {
        let subresource = match part {
            Part::Whole => "",
            Part::Status => "status",
            Part::Finalize => "finalize",
            Part::EphemeralContainers => "ephemeralcontainers",
            Part::Resize => "resize",
        };
        let paths = resource.strategy.get_reset_fields(part).iter();
        let path = |path: &&[&str]| {
            path.iter()
                .map(|name| PathElement::field_name_element(*name))
                .collect()
        };
        let reset = Set::of(paths.map(path));
        let reset = Some(reset).filter(|reset| !reset.is_empty() && !owned());
        FieldManager::build(
            resource.api_version(),
            resource.kind,
            Some(resource),
            subresource,
            (reset, false),
            now,
        )
    }

    /// That of a subresource with a kind of its own, a Scale.
    pub fn of_target(target: Target, subresource: &'static str, now: Stamp) -> FieldManager {
        FieldManager::build(
            target.api_version.to_owned(),
            target.kind,
            None,
            subresource,
            (None, false),
            now,
        )
    }

    /// That of the Scale of a custom object.
    pub fn of_custom_scale(now: Stamp) -> FieldManager {
        let Target { api_version, kind } = SCALE;
        let nothing = (None, true);
        FieldManager::build(api_version.to_owned(), kind, None, "scale", nothing, now)
    }

    fn build(
        api_version: String,
        kind: &'static str,
        resource: Option<&'static Resource>,
        subresource: &'static str,
        (reset, of_custom): (Option<Set>, bool),
        now: Stamp,
    ) -> FieldManager {
        let custom = resource.and_then(|resource| resource.strategy.custom());
        let ty = match custom {
            Some(custom) => custom.type_at(&api_version).clone(),
            None => {
                let ty = type_name(&api_version, kind).unwrap_or_default();
                TypeRef::Named(ty.to_owned())
            }
        };
        let scope = Scope {
            api_version,
            kind,
            ty,
            resource,
            of_custom_scale: resource.is_none() && of_custom,
            now,
        };
        let of = || scope.clone();
        let inner = StripMeta {
            inner: StructuredMerge { scope: of(), reset },
        };
        let inner = BuildManagerInfo {
            inner: ManagedFieldsUpdater { inner, scope: of() },
            api_version: scope.api_version.clone(),
            subresource: subresource.to_owned(),
        };
        let inner = SkipNonApplied {
            inner: CapManagers {
                inner,
                most: MOST_UPDATE_MANAGERS,
            },
            scope: of(),
        };
        let inner = LastAppliedManager { inner, scope: of() };
        FieldManager {
            chain: Box::new(LastAppliedUpdater { inner }),
            scope,
            subresource,
        }
    }

    /// `UpdateNoErrors`: of what a create, an update or a patch has made of the live object, `None` if there is none. What
    /// fails leaves the object without managers.
    #[must_use]
    pub fn update_no_errors(&self, live: Option<&Json>, new: Json, manager: &str) -> Json {
        let empty = live.is_none().then(|| self.scope.new_object());
        let live = live.or(empty.as_ref()).unwrap_or(&Json::Null);
        let mut bare = new;
        let managed = self.decode_live_or_new(live, &bare);
        remove_object_managed_fields(&mut bare);
        match self.chain.update(live, bare.clone(), managed, manager) {
            Ok((mut object, managed)) => {
                encode_object_managed_fields(&mut object, &managed);
                object
            }
            Err(_) => bare,
        }
    }

    /// `decodeLiveOrNew`: a request may say who manages an object, but not through a subresource.
    fn decode_live_or_new(&self, live: &Json, new: &Json) -> Managed {
        let of_live = || decode_managed_fields(entries(live)).unwrap_or_default();
        if !self.subresource.is_empty() {
            return of_live();
        }
        let own = entries(new);
        // `isResetManagedFields`
        let is_zero = |entry: &Json| entry.as_object().is_some_and(json::Map::is_empty);
        if let [only] = own
            && is_zero(only)
        {
            return Managed::default();
        }
        match decode_managed_fields(own) {
            Ok(managed) if !managed.fields.is_empty() => managed,
            _ => of_live(),
        }
    }

    /// `Apply`: what a configuration makes of the live object, `None` if there is none.
    ///
    /// # Errors
    /// A Status: 409 if another manager owns a field that would change, unless forced.
    pub fn apply(
        &self,
        live: Option<&Json>,
        config: &Json,
        manager: &str,
        force: bool,
    ) -> Result<Json, Status> {
        let empty = live.is_none().then(|| self.scope.new_object());
        let live = live.or(empty.as_ref()).unwrap_or(&Json::Null);
        let applied = self.apply_to(live, config, manager, force);
        applied.map_err(Failure::status)
    }

    fn apply_to(
        &self,
        live: &Json,
        config: &Json,
        manager: &str,
        force: bool,
    ) -> Result<Json, Failure> {
        let managed = decode_managed_fields(entries(live));
        let managed = managed
            .map_err(|why| Failure::Other(format!("failed to decode managed fields: {why}")))?;
        // `versionCheckManager`
        let text = |field| json::text(config, &[field]);
        if (text("apiVersion"), text("kind")) != (&*self.scope.api_version, self.scope.kind) {
            return Err(Failure::bad_request(format!(
                "invalid object type: {}",
                gvk(config)
            )));
        }
        let (object, managed) = self.chain.apply(live, config, managed, manager, force)?;
        let mut object = object.unwrap_or_else(|| live.clone());
        encode_object_managed_fields(&mut object, &managed);
        Ok(object)
    }
}

/// `NewConflictError`
pub(super) fn new_conflict_error(conflicts: &Conflicts) -> Status {
    let cause = |conflict: &crate::smd::merge::Conflict| Cause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", print_manager(&conflict.manager)),
        field: path_string(&conflict.path),
    };
    let mut status = Status::of(Reason::Conflict, get_conflict_message(conflicts));
    status.details = Some(Box::new(Details {
        causes: conflicts.0.iter().map(cause).collect(),
        ..Details::default()
    }));
    status
}

/// `getConflictMessage`
fn get_conflict_message(conflicts: &Conflicts) -> String {
    if let [only] = conflicts.0.as_slice() {
        let (manager, path) = (print_manager(&only.manager), path_string(&only.path));
        return format!("Apply failed with 1 conflict: conflict with {manager}: {path}");
    }
    let mut lines = Vec::new();
    for (manager, paths) in conflicts.by_manager() {
        lines.push(format!("conflicts with {}:", print_manager(manager)));
        lines.extend(
            paths
                .into_iter()
                .map(|path| format!("- {}", path_string(path))),
        );
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.0.len(),
        lines.join("\n")
    )
}

/// `managerOrUserAgent`: what a request calls its manager, or else its program (`prefixFromUserAgent`).
pub fn manager_or_user_agent(manager: &str, user_agent: &str) -> String {
    if !manager.is_empty() {
        return manager.to_owned();
    }
    let program = user_agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for char in program.chars().filter(|char| quote::is_print(*char)) {
        if name.len() + char.len_utf8() > LONGEST_NAME {
            break;
        }
        name.push(char);
    }
    name
}
