//! Keys of scenario files: the ranges of a cluster, and how large that of a node is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::{Mistakes, Part, Section, Spec};
use wavetank_components::services::Cidrs;

use super::NEEDED;
use super::cidr_set::{Cidr, CidrSet};

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Options {
    /// The range of addresses of pods (`--cluster-cidr`), or one of each family; without it 10.244.0.0/20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_cidr: Option<Cidrs>,
    /// How many bits the range of a node has in common (`--node-cidr-mask-size-ipv4`); without it 24.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_cidr_mask_size_ipv4: Option<u8>,
    /// The same of IPv6 (`--node-cidr-mask-size-ipv6`); without it 64, which is too few for most ranges that can be simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_cidr_mask_size_ipv6: Option<u8>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

/// The range of a cluster without the option: as large as can be simulated with the usual ranges of nodes.
const CLUSTER_CIDR: &str = "10.244.0.0/20";

const MASK_IPV4: &str = "node-cidr-mask-size-ipv4";
const MASK_IPV6: &str = "node-cidr-mask-size-ipv6";

impl Options {
    /// The keys that the scenario has.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            (self.cluster_cidr.is_some(), "cluster-cidr"),
            (self.node_cidr_mask_size_ipv4.is_some(), MASK_IPV4),
            (self.node_cidr_mask_size_ipv6.is_some(), MASK_IPV6),
        ];
        all.into_iter()
            .filter_map(|(is_given, key)| is_given.then_some(key))
            .collect()
    }

    /// Each range of the cluster, with the mask of nodes and the key that this stands under.
    fn ranges(&self) -> Vec<(Cidr, u8, &'static str)> {
        let given = self.cluster_cidr.as_ref().map(|given| given.0.clone());
        let all = given.unwrap_or_else(|| vec![CLUSTER_CIDR.to_owned()]);
        let all = all.iter().filter_map(|text| Cidr::parse(text));
        let sized = all.map(|cidr| match cidr.width() {
            32 => (cidr, self.node_cidr_mask_size_ipv4.unwrap_or(24), MASK_IPV4),
            _ => (cidr, self.node_cidr_mask_size_ipv6.unwrap_or(64), MASK_IPV6),
        });
        sized.collect()
    }
}

/// The ranges of a cluster, none of which is taken.
pub(super) fn cidr_sets(spec: &Spec) -> Vec<CidrSet> {
    let ranges = spec.part::<Options>().ranges().into_iter();
    let sets = ranges.map(|(cidr, mask, _)| CidrSet::new_cidr_set(cidr, mask));
    sets.collect()
}

/// Finds what is wrong with them (`NewNodeIpamController`, and `clusterSubnetMaxDiff`, here of both families).
pub(super) fn check(spec: &Spec, mistakes: &mut Mistakes) {
    let options: Options = spec.part();
    if !(NEEDED.met)(spec) {
        if let Some(key) = options.given().first() {
            let message = format!("`{key}` is for {}", NEEDED.lacking);
            mistakes.key(
                Section::Options,
                key,
                message,
                format!("add {}", NEEDED.add),
            );
        }
        return;
    }
    for (cidr, mask, key) in options.ranges() {
        let (least, most) = (cidr.mask_size, cidr.width().min(cidr.mask_size + 16));
        if !(least..=most).contains(&mask) {
            let message = format!("a node cannot have a range of `/{mask}` out of {cidr}");
            let help = format!("give `{key}` of {least} to {most}");
            let at = if options.given().contains(&key) {
                key
            } else {
                "cluster-cidr"
            };
            mistakes.value(Section::Options, at, message, help);
        }
    }
}
