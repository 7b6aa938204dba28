//! Kinds as Rust types, and as the simulated apiservers know them.

use kube::{CustomResourceExt, Resource as KubeResource};
use wavetank_api::Resource;
use wavetank_api::kinds::CustomResource;

/// A custom kind as its Rust type says, for the simulated apiservers and those who use them. The schema is not looked at.
pub fn kind<K: CustomResourceExt>() -> &'static Resource {
    let spec = K::crd().spec;
    let served = spec.versions.iter().find(|version| version.storage);
    let version = served.expect("one version is stored");
    let status = version.subresources.as_ref();
    let has_status = status.is_some_and(|all| all.status.is_some());
    let kept = |text: &str| -> &'static str { Box::leak(text.into()) };
    // Made once for each component: a program has few.
    Box::leak(Box::new(Resource {
        group: kept(&spec.group),
        version: kept(&version.name),
        plural: kept(&spec.names.plural),
        kind: kept(&spec.names.kind),
        namespaced: spec.scope == "Namespaced",
        registry: kept(&format!("/registry/{}/{}", spec.group, spec.names.plural)),
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
    let (group, plural) = (K::group(&()), K::plural(&()));
    let mut all = Resource::ALL.into_iter();
    let known = all.find(|resource| resource.group == group && resource.plural == plural);
    match known {
        Some(resource) => format!("{}/", resource.registry),
        None => format!("/registry/{group}/{plural}/"),
    }
}
