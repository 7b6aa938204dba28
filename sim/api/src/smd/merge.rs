//! What an update or an apply does to an object and to its managers (`merge/update.go`).

mod conflict;

use crate::smd::fieldpath::{ManagedFields, Set, VersionedSet};
use crate::smd::typed::{Comparison, TypedValue, reconcile_field_set_with_schema};
use crate::smd::value;
use wavetank_engine::mutant;

pub(crate) use conflict::{Conflict, Conflicts};

/// `Converter`
pub(crate) trait Converter {
    /// `Convert`
    ///
    /// # Errors
    /// The version is not served (any more), or the object cannot be converted.
    fn convert<'a>(
        &self,
        object: &TypedValue<'a>,
        version: &str,
    ) -> Result<TypedValue<'a>, ConvertError>;
}

/// Why an object was not converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ConvertError {
    /// `IsMissingVersionError`
    MissingVersion,
    /// It does not fit the type of that version.
    Other(String),
}

impl ConvertError {
    fn because(self, doing: &str) -> MergeError {
        let why = match self {
            ConvertError::MissingVersion => "the version is not served".to_owned(),
            ConvertError::Other(why) => why,
        };
        MergeError::Other(format!("{doing}: {why}"))
    }
}

/// Why nothing was merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MergeError {
    Conflicts(Conflicts),
    Other(String),
}

/// `Updater`
pub(crate) struct Updater<C> {
    pub(crate) converter: C,
    /// `IgnoreFilter`, of the version of requests: fields that nobody owns, with all that is below them.
    pub(crate) ignored: Option<Set>,
}

type Merged<T> = Result<T, MergeError>;

impl<C: Converter> Updater<C> {
    /// Whom a change takes fields from; those that are left with none go.
    fn update_managers(
        &self,
        old: &TypedValue<'_>,
        new: &TypedValue<'_>,
        version: &str,
        mut managers: ManagedFields,
        workflow: &str,
        force: bool,
    ) -> Merged<(ManagedFields, Comparison)> {
        let compare = |old: &TypedValue<'_>, new: &TypedValue<'_>| {
            let compared = old.compare(new);
            let compared = compared.map_err(|errors| {
                MergeError::Other(format!("failed to compare objects: {errors}"))
            })?;
            Ok::<_, MergeError>(compared)
        };
        let mut own = compare(old, new)?;
        if let Some(ignored) = &self.ignored {
            own = own.filter_fields(ignored);
        }
        let mut conflicts = ManagedFields::new();
        let mut removed = ManagedFields::new();
        let mut missing = Vec::new();
        for (manager, of) in managers.iter().filter(|(manager, _)| *manager != workflow) {
            let other;
            let comparison = if of.api_version == version {
                &own
            } else {
                let converted = |object| self.converter.convert(object, &of.api_version);
                other = match (converted(old), converted(new)) {
                    (Err(ConvertError::MissingVersion), _)
                    | (_, Err(ConvertError::MissingVersion)) => {
                        missing.push(manager.clone());
                        continue;
                    }
                    (Err(error), _) => return Err(error.because("failed to convert old object")),
                    (_, Err(error)) => return Err(error.because("failed to convert new object")),
                    (Ok(old), Ok(new)) => compare(&old, &new)?,
                };
                &other
            };
            let versioned = |set| VersionedSet {
                set,
                api_version: of.api_version.clone(),
                applied: false,
            };
            let conflict = of
                .set
                .intersection(&comparison.modified.union(&comparison.added));
            if !conflict.is_empty() {
                conflicts.insert(manager.clone(), versioned(conflict));
            }
            if !comparison.removed.is_empty() {
                removed.insert(manager.clone(), versioned(comparison.removed.clone()));
            }
        }
        if !force
            && !conflicts.is_empty()
            && !mutant!(
                "apply-takes-by-force",
                "an apply takes fields of others without being told to"
            )
        {
            return Err(MergeError::Conflicts(Conflicts::conflicts_from_managers(
                &conflicts,
            )));
        }
        for manager in missing {
            managers.remove(&manager);
        }
        for (manager, lost) in conflicts.iter().chain(&removed) {
            if let Some(of) = managers.get_mut(manager)
                && !mutant!(
                    "lost-fields-are-kept",
                    "a manager keeps fields that another one has changed or removed"
                )
            {
                of.set = of.set.difference(&lost.set);
            }
        }
        managers.retain(|_, of| !of.set.is_empty());
        Ok((managers, own))
    }

    /// `Update`: of an object that is merged already. The manager owns what it changes.
    ///
    /// # Errors
    /// What cannot be compared.
    pub(crate) fn update(
        &self,
        live: &TypedValue<'_>,
        new: &TypedValue<'_>,
        version: &str,
        managers: ManagedFields,
        manager: &str,
    ) -> Merged<ManagedFields> {
        let managers = self.reconcile_managed_fields_with_schema_changes(live, managers)?;
        let (mut managers, comparison) =
            self.update_managers(live, new, version, managers, manager, true)?;
        let owned = managers
            .remove(manager)
            .map(|of| of.set)
            .unwrap_or_default();
        let changed = comparison.modified.union(&comparison.added);
        let mut set = owned.difference(&comparison.removed).union(&changed);
        if let Some(ignored) = &self.ignored {
            set = set.recursive_difference(ignored);
        }
        if !set.is_empty() {
            let of = VersionedSet {
                set,
                api_version: version.to_owned(),
                applied: false,
            };
            managers.insert(manager.to_owned(), of);
        }
        Ok(managers)
    }

    /// `Apply`: merges a configuration into the live object; the manager owns what the configuration says, and what it
    /// does not say any more goes. The object is `None` if it does not change.
    ///
    /// # Errors
    /// [`Conflicts`] unless forced, or what cannot be merged.
    pub(crate) fn apply<'a>(
        &self,
        live: &TypedValue<'a>,
        config: &TypedValue<'a>,
        version: &str,
        managers: ManagedFields,
        manager: &str,
        force: bool,
    ) -> Merged<(Option<TypedValue<'a>>, ManagedFields)> {
        let mut managers = self.reconcile_managed_fields_with_schema_changes(live, managers)?;
        let wrong =
            |doing: &str, why: &dyn std::fmt::Display| MergeError::Other(format!("{doing}: {why}"));
        let merged = live
            .merge(config)
            .map_err(|errors| wrong("failed to merge config", &errors))?;
        let last = managers.get(manager).cloned();
        let set = config.to_field_set();
        let mut set = set.map_err(|errors| wrong("failed to get field set", &errors))?;
        if let Some(ignored) = &self.ignored {
            set = set.recursive_difference(ignored);
        }
        let of = VersionedSet {
            set,
            api_version: version.to_owned(),
            applied: true,
        };
        managers.insert(manager.to_owned(), of);
        let pruned = self.prune(merged, &managers, manager, last.as_ref());
        let new = pruned.map_err(|why| wrong("failed to prune fields", &why))?;
        let (managers, _) = self.update_managers(live, &new, version, managers, manager, force)?;
        let same = value::equals(&live.value, &new.value);
        Ok(((!same).then_some(new), managers))
    }

    /// `prune`: without what the manager applied last time and not now, unless another owns it.
    fn prune<'a>(
        &self,
        merged: TypedValue<'a>,
        managers: &ManagedFields,
        manager: &str,
        last: Option<&VersionedSet>,
    ) -> Result<TypedValue<'a>, String> {
        let none = mutant!(
            "apply-removes-nothing",
            "what an applier does not apply any more stays"
        );
        let Some(last) = last.filter(|last| !last.set.is_empty() && !none) else {
            return Ok(merged);
        };
        let version = &last.api_version;
        let text = |error: ConvertError| match error.because("failed to convert merged object") {
            MergeError::Other(why) => why,
            MergeError::Conflicts(conflicts) => conflicts.to_string(),
        };
        let converted = match self.converter.convert(&merged, version) {
            Err(ConvertError::MissingVersion) => return Ok(merged),
            converted => converted.map_err(text)?,
        };
        let applied = last
            .set
            .ensure_named_fields_are_members(converted.schema, converted.type_ref);
        let pruned = converted.remove_items(&applied);
        let pruned = self.add_back_owned_items(&converted, pruned, version, managers)?;
        let pruned = add_back_dangling_items(&converted, &pruned, &applied)?;
        self.converter
            .convert(&pruned, &managers[manager].api_version)
            .map_err(text)
    }

    /// `addBackOwnedItems`: what others, or the new configuration, own stays.
    fn add_back_owned_items<'a>(
        &self,
        merged: &TypedValue<'a>,
        pruned: TypedValue<'a>,
        pruned_version: &str,
        managers: &ManagedFields,
    ) -> Result<TypedValue<'a>, String> {
        let mut owned: std::collections::BTreeMap<&str, Set> = std::collections::BTreeMap::new();
        for of in managers.values() {
            owned.entry(&of.api_version).or_default().add(&of.set);
        }
        // That of the pruned object first: a conversion may need what was pruned.
        let first = owned
            .remove(pruned_version)
            .map(|set| (pruned_version, set));
        let (mut merged, mut pruned) = (merged.clone(), pruned);
        for (version, owned) in first.into_iter().chain(owned) {
            let converted = self.converter.convert(&merged, version);
            let both = converted
                .and_then(|merged| Ok((merged, self.converter.convert(&pruned, version)?)));
            match both {
                Err(ConvertError::MissingVersion) => continue,
                Err(ConvertError::Other(why)) => {
                    return Err(format!(
                        "failed to convert object at version {version}: {why}"
                    ));
                }
                Ok(both) => (merged, pruned) = both,
            }
            let named =
                |set: &Set| set.ensure_named_fields_are_members(merged.schema, merged.type_ref);
            let of_merged = named(&field_set(&merged)?);
            let owned = match mutant!(
                "apply-removes-owned",
                "an apply removes what it does not name any more, whoever else owns it"
            ) {
                true => Set::default(),
                false => owned,
            };
            let stays = named(&field_set(&pruned)?).union(&named(&owned));
            pruned = merged.remove_items(&of_merged.difference(&stays));
        }
        Ok(pruned)
    }

    /// `reconcileManagedFieldsWithSchemaChanges`
    fn reconcile_managed_fields_with_schema_changes(
        &self,
        live: &TypedValue<'_>,
        managers: ManagedFields,
    ) -> Merged<ManagedFields> {
        let mut result = ManagedFields::new();
        for (manager, mut of) in managers {
            let live = match self.converter.convert(live, &of.api_version) {
                // It goes by itself.
                Err(ConvertError::MissingVersion) => continue,
                Err(ConvertError::Other(why)) => return Err(MergeError::Other(why)),
                Ok(live) => live,
            };
            let reconciled =
                reconcile_field_set_with_schema(&of.set, &live).map_err(MergeError::Other)?;
            if let Some(set) = reconciled {
                of.set = set;
            }
            result.insert(manager, of);
        }
        Ok(result)
    }
}

/// `addBackDanglingItems`: nothing is pruned but what the manager applied last time.
fn add_back_dangling_items<'a>(
    merged: &TypedValue<'a>,
    pruned: &TypedValue<'a>,
    applied: &Set,
) -> Result<TypedValue<'a>, String> {
    let named = |set: &Set| set.ensure_named_fields_are_members(merged.schema, merged.type_ref);
    let gone = named(&field_set(merged)?).difference(&named(&field_set(pruned)?));
    Ok(merged.remove_items(&gone.intersection(applied)))
}

fn field_set(object: &TypedValue<'_>) -> Result<Set, String> {
    let set = object.to_field_set();
    set.map_err(|errors| format!("failed to create field set: {errors}"))
}
