//! Kinds as Rust types, and as the simulated apiservers know them.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::BTreeMap;

use kube::{CustomResourceExt, Resource as KubeResource};
use serde_json::Value as Json;
use wavetank_api::Resource;
use wavetank_api::kinds::CustomResource;

use wavetank_components::sieve::path;

thread_local! {
    /// The custom kinds by their types. Who uses a kind asks for it again and again, and to make a definition with its schema
    /// each time took a sixteenth of a run. For each thread: a lock that somebody has while a simulation begins would be held
    /// for ever in the process of that.
    static KINDS: RefCell<BTreeMap<TypeId, &'static Resource>> = const { RefCell::new(BTreeMap::new()) };
}

/// A custom kind as its Rust type says, for the simulated apiservers and those who use them. The schema is not looked at.
///
/// # Panics
/// If its definition is none.
pub fn kind<K: CustomResourceExt + 'static>() -> &'static Resource {
    KINDS.with_borrow_mut(|kinds| {
        *kinds.entry(TypeId::of::<K>()).or_insert_with(|| {
            let definition = serde_json::to_value(K::crd());
            defined(&definition.expect("it is JSON"))
        })
    })
}

/// A custom kind as its CustomResourceDefinition says, for operators that are written with another version of kube.
///
/// # Panics
/// If this is none.
pub fn defined(definition: &Json) -> &'static Resource {
    let spec = &definition["spec"];
    let kept = |text: &Json| -> &'static str {
        let text = text.as_str().expect("a CustomResourceDefinition");
        Box::leak(text.into())
    };
    let mut versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.find(|version| version["storage"] == true);
    let version = served.expect("one version is stored");
    let (group, plural) = (kept(&spec["group"]), kept(&spec["names"]["plural"]));
    let has_status = !version["subresources"]["status"].is_null();
    // Made once for each kind: a program has few.
    Box::leak(Box::new(Resource {
        group,
        version: kept(&version["name"]),
        plural,
        kind: kept(&spec["names"]["kind"]),
        namespaced: spec["scope"] == "Namespaced",
        registry: Box::leak(format!("/registry/{group}/{plural}").into()),
        strategy: match has_status {
            true => &CustomResource::WITH_STATUS,
            false => &CustomResource::WITHOUT_STATUS,
        },
    }))
}

/// A kind of Kubernetes.
pub(crate) fn known<K: KubeResource<DynamicType = ()>>() -> &'static Resource {
    let (group, plural) = (K::group(&()), K::plural(&()));
    let mut all = Resource::ALL.into_iter();
    let found = all.find(|resource| resource.group == group && resource.plural == plural);
    found.unwrap_or_else(|| panic!("the simulated apiservers do not know {plural} of `{group}`"))
}

/// Where objects of a type are stored, whichever it is.
pub(crate) fn registry<K: KubeResource<DynamicType = ()>>() -> String {
    path::registry(&K::group(&()), &K::plural(&()))
}
