//! Values of a type (`typed`): checked against their schema, merged, compared, and taken apart by sets of fields.

mod compare;
mod helpers;
mod merge;
mod reconcile_schema;
mod remove;
mod to_field_set;
mod validate;

use crate::json::Json;
use crate::smd::fieldpath::Set;
use crate::smd::schema::{Schema, TypeRef};

pub(crate) use compare::Comparison;
pub(crate) use helpers::ValidationErrors;
pub(crate) use reconcile_schema::reconcile_field_set_with_schema;

/// `TypedValue`
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TypedValue<'a> {
    pub(crate) value: Json,
    pub(crate) type_ref: &'a TypeRef,
    pub(crate) schema: &'a Schema,
}

/// May the elements of a set or a keyed list come twice (`AllowDuplicates`)?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Duplicates {
    Allowed,
    Refused,
}

impl<'a> TypedValue<'a> {
    /// `AsTyped`
    ///
    /// # Errors
    /// What of the value does not fit the schema.
    pub(crate) fn as_typed(
        value: Json,
        schema: &'a Schema,
        type_ref: &'a TypeRef,
        duplicates: Duplicates,
    ) -> Result<TypedValue<'a>, ValidationErrors> {
        let typed = TypedValue {
            value,
            type_ref,
            schema,
        };
        typed.validate(duplicates)?;
        Ok(typed)
    }

    fn with(&self, value: Json) -> TypedValue<'a> {
        TypedValue { value, ..*self }
    }

    /// `Merge`: fields of `partial` over those of this; nothing is removed.
    ///
    /// # Errors
    /// What cannot be merged.
    pub(crate) fn merge(
        &self,
        partial: &TypedValue<'a>,
    ) -> Result<TypedValue<'a>, ValidationErrors> {
        let merged = merge::merge(self.schema, self.type_ref, &self.value, &partial.value)?;
        Ok(self.with(merged))
    }

    /// `Compare`
    ///
    /// # Errors
    /// What cannot be compared.
    pub(crate) fn compare(&self, rhs: &TypedValue<'a>) -> Result<Comparison, ValidationErrors> {
        compare::compare(self.schema, self.type_ref, &self.value, &rhs.value)
    }

    /// `RemoveItems`
    #[must_use]
    pub(crate) fn remove_items(&self, items: &Set) -> TypedValue<'a> {
        let left = remove::remove_items_with_schema(
            &self.value,
            Some(items),
            self.schema,
            self.type_ref,
            false,
        );
        self.with(left)
    }

    /// `ExtractItems`
    #[must_use]
    #[cfg(test)]
    pub(crate) fn extract_items(&self, items: &Set) -> TypedValue<'a> {
        let taken = remove::remove_items_with_schema(
            &self.value,
            Some(items),
            self.schema,
            self.type_ref,
            true,
        );
        self.with(taken)
    }
}
