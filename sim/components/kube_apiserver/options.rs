//! Keys of scenario files: how many apiservers there are and of which release, and how the endpoints of the
//! `kubernetes` service are kept.

use std::fmt;

use crate::kube_apiserver::bootstrap::Reconciler;
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use wavetank_component::values::{Choices, Duration, Release};
use wavetank_component::{Draw, Drawn, Mistakes, Part, Section};

/// Of `topology`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Topology {
    /// The apiservers, named a1, a2 and so on. There may be none if there are clients of etcd.
    pub apiservers: Apiservers,
}

impl Part for Topology {
    const SECTION: Section = Section::Topology;
}

/// The apiservers: how many, or the release of each.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Apiservers {
    /// So many, all of the scenario's release.
    Count(#[schemars(range(min = 0, max = 9))] u32),
    /// Each with its own release.
    Each(#[schemars(length(min = 1, max = 9))] Vec<Apiserver>),
}

impl Default for Apiservers {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl Apiservers {
    /// How many there are.
    pub fn count(&self) -> u32 {
        match self {
            Self::Count(count) => *count,
            Self::Each(each) => each.len().try_into().unwrap_or(u32::MAX),
        }
    }
}

/// By hand, since serde's own untagged enums forget where a mistake was.
impl<'de> Deserialize<'de> for Apiservers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ApiserversVisitor)
    }
}

struct ApiserversVisitor;

impl<'de> Visitor<'de> for ApiserversVisitor {
    type Value = Apiservers;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number or a list: `3`, or `[{release: v1.20}, {release: v1.36}]`")
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<Apiservers, E> {
        // Too many for 32 bits are too many anyhow, and that is said later.
        Ok(Apiservers::Count(count.try_into().unwrap_or(u32::MAX)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Apiservers, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Apiservers::Each)
    }
}

/// One apiserver of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Apiserver {
    /// The release it runs.
    pub release: Release,
}

/// Options of the apiservers. Each may be one value or a list, of which each seed draws one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// How the endpoints of the `kubernetes` service are kept.
    pub endpoint_reconciler_type: Choices<ReconcilerType>,
    /// How many apiservers each believes there are, for `master-count` only; upstream's
    /// default is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apiserver_count: Option<Choices<u32>>,
    /// How long a stopping apiserver goes on serving.
    pub shutdown_delay: Choices<Duration>,
}

/// Of `options`: admission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct AdmissionOptions {
    /// Admission plugins. With those that look at namespaces apiservers have an informer of namespaces, keep those of the
    /// system, and make no object in one that is not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enable_admission_plugins: Vec<AdmissionPlugin>,
}

impl Part for AdmissionOptions {
    const SECTION: Section = Section::Options;
}

/// Values of `--enable-admission-plugins`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AdmissionPlugin {
    /// Nothing is made in a namespace that is missing or on its way out.
    NamespaceLifecycle,
    /// There is a policy that concerns all objects and refuses none; v1.30 and later.
    ValidatingAdmissionPolicy,
    /// What is made is charged to the quotas of its namespace; v1.36 and later.
    ResourceQuota,
}

impl AdmissionOptions {
    /// Is there an informer of namespaces?
    pub fn look_at_namespaces(&self) -> bool {
        self.has(AdmissionPlugin::NamespaceLifecycle)
            || self.has(AdmissionPlugin::ValidatingAdmissionPolicy)
    }

    /// Is this one on?
    pub fn has(&self, plugin: AdmissionPlugin) -> bool {
        self.enable_admission_plugins.contains(&plugin)
    }
}

/// What a seed decides.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Decided {
    pub endpoint_reconciler_type: ReconcilerType,
    pub apiserver_count: u32,
    pub shutdown_delay: Duration,
}

impl Part for Options {
    const SECTION: Section = Section::Options;

    /// `--apiserver-count` is 1 by default (`options.NewServerRunOptions`, MasterCount).
    fn draw(&self, draw: &mut Draw) {
        draw.choose("endpoint-reconciler-type", &self.endpoint_reconciler_type);
        draw.choose_or("apiserver-count", self.apiserver_count.as_ref(), 1);
        draw.choose("shutdown-delay", &self.shutdown_delay);
    }

    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        drawn.read::<Decided>().map(drop)
    }
}

impl Options {
    pub(super) fn check(&self, mistakes: &mut Mistakes) {
        let Some(counts) = &self.apiserver_count else {
            return;
        };
        let key = "apiserver-count";
        if counts.values().contains(&0) {
            let message = "`apiserver-count` is 0";
            mistakes.value(Self::SECTION, key, message, "give at least 1");
        }
        let types = self.endpoint_reconciler_type.values();
        if !types.contains(&ReconcilerType::MasterCount) {
            let message =
                "`apiserver-count` has no effect without the reconciler type `master-count`";
            let help = "remove it, or write `endpoint-reconciler-type: master-count`";
            mistakes.key(Self::SECTION, key, message, help);
        }
    }
}

/// Values of `--endpoint-reconciler-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReconcilerType {
    /// Each apiserver holds a lease in etcd.
    #[default]
    Lease,
    /// Each apiserver adds itself, and cuts the list to `apiserver-count`.
    MasterCount,
    /// Nobody keeps the endpoints.
    None,
}

impl From<ReconcilerType> for Reconciler {
    fn from(of: ReconcilerType) -> Reconciler {
        match of {
            ReconcilerType::Lease => Reconciler::Lease,
            ReconcilerType::MasterCount => Reconciler::MasterCount,
            ReconcilerType::None => Reconciler::None,
        }
    }
}
