//! Fields that are nobody's (`stripmeta.go`).

use super::{Failure, Managed, Manager};
use crate::json::Json;
use crate::smd::fieldpath::{PathElement, Set};

/// `stripMetaManager`
pub(in crate::managedfields) struct StripMeta<M> {
    pub(in crate::managedfields) inner: M,
}

/// `stripSet`
fn strip_set() -> Set {
    let of_metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let top =
        ["apiVersion", "kind", "metadata"].map(|name| vec![PathElement::field_name_element(name)]);
    let inside = of_metadata.map(|name| {
        vec![
            PathElement::field_name_element("metadata"),
            PathElement::field_name_element(name),
        ]
    });
    Set::of(top.into_iter().chain(inside))
}

/// `stripFields`
fn strip_fields(managed: &mut Managed, manager: &str) {
    let Some(of) = managed.fields.get_mut(manager) else {
        return;
    };
    of.set = of.set.difference(&strip_set());
    if of.set.is_empty() {
        managed.fields.remove(manager);
    }
}

impl<M: Manager> Manager for StripMeta<M> {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        let (object, mut managed) = self.inner.update(live, new, managed, manager)?;
        strip_fields(&mut managed, manager);
        Ok((object, managed))
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        let (object, mut managed) = self.inner.apply(live, config, managed, manager, force)?;
        strip_fields(&mut managed, manager);
        Ok((object, managed))
    }
}
