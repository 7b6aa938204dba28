//! Our proposal for k/k#99181: what makes a custom object compares its definition, too. Upstream does not.

use wavetank_api::Status;
use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_engine::Rx;
use wavetank_etcd::Compare;

use crate::apiextensions::{CREATE_NOT_ALLOWED, CustomDefect, DEFECTS};
use crate::options::StoreError;
use crate::storage::Storage;

impl Storage {
    /// What must not have changed when a custom object of this name is stored for the first time: its definition, which is
    /// there and does not go. `None` of other objects, and as upstream does it.
    ///
    /// # Errors
    /// [`StoreError`]; a refusal if there is no such definition any more.
    pub(super) async fn of_definition(
        self,
        rx: Rx,
        name: &str,
    ) -> Result<Option<Compare<wavetank_api::Object>>, StoreError> {
        let Some(resource) = self.codec.custom_resource() else {
            return Ok(None);
        };
        if rx.read(&DEFECTS).has(CustomDefect::LateCreationStays) {
            return Ok(None);
        }
        let definition = format!("{}.{}", resource.plural, resource.group);
        let key = CUSTOM_RESOURCE_DEFINITIONS.key("", &definition);
        let found = self.read(rx, key.clone()).await?;
        match found.filter(|crd| !crd.value.is_being_deleted()) {
            Some(crd) => Ok(Some(Compare::mod_revision(key, crd.mod_revision))),
            None => Err(Status::new_forbidden(resource, name, CREATE_NOT_ALLOWED).into()),
        }
    }
}
