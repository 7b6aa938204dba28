//! Validating admission: what looks at an object as it would be stored, and may refuse it (`ValidateObjectFunc`,
//! `ValidateObjectUpdateFunc` of `apiserver/pkg/registry/rest`). Plugins that change objects come earlier, in the handlers.

use std::fmt;

use wavetank_api::Status;
use wavetank_api::json::Json;
use wavetank_engine::Rx;

use super::{Hooked, Registry};

/// What may refuse an object.
pub trait ValidateObject: fmt::Debug + Send + Sync {
    /// Of an update with the object that is stored.
    ///
    /// The error is a Status: why it may not be stored.
    fn validate<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        object: &'a Json,
        old: Option<&'a Json>,
    ) -> Hooked<'a, Result<(), Status>>;
}

impl Registry {
    /// May it be stored?
    ///
    /// # Errors
    /// What a plugin says.
    pub(super) async fn admit(
        &self,
        rx: Rx,
        object: &Json,
        old: Option<&Json>,
    ) -> Result<(), Status> {
        match &self.validation {
            Some(validation) => validation.validate(rx, self, object, old).await,
            None => Ok(()),
        }
    }
}
