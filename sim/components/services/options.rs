//! What Services are given, written as the flags of an apiserver are: a range of addresses and one of
//! ports; and whether there is somebody to use them.

use std::borrow::Cow;
use std::fmt::{self, Display};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wavetank_api::addresses;

use wavetank_component::values::text::{self, Written, Wrong};
use wavetank_component::{Mistakes, Part, Section};

/// A range of addresses, `10.0.0.0/24`, or one of each family: `10.0.0.0/24,fd00::/120`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cidrs(pub Vec<String>);

/// So many bits tell addresses of a range apart, at least and at most: some Services fit in it besides
/// `kubernetes`, and it can be gone through.
const BITS: std::ops::RangeInclusive<u8> = 2..=16;

impl Display for Cidrs {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl Written for Cidrs {
    fn name() -> Cow<'static, str> {
        "range of addresses".into()
    }

    fn pattern() -> String {
        "[0-9a-fA-F.:]+/[0-9]+(,[0-9a-fA-F.:]+/[0-9]+)?".into()
    }

    fn examples() -> String {
        "an address and the length of its prefix, such as `10.0.0.0/24`, or one of each family: \
         `10.0.0.0/24,fd00::/120`"
            .into()
    }

    fn read(text: &str) -> Result<Self, Wrong> {
        let all: Vec<&str> = text.split(',').map(str::trim).collect();
        for range in &all {
            Cidrs::check(range)?;
        }
        let six = all.iter().filter(|range| range.contains(':')).count();
        if all.len() > 2 || (all.len() == 2 && six != 1) {
            let message = format!("`{text}` is not one range of each family");
            let help = "give one of IPv4 and one of IPv6: `10.0.0.0/24,fd00::/120`";
            return Err(Wrong::new(message, help.to_owned()));
        }
        Ok(Cidrs(all.into_iter().map(str::to_owned).collect()))
    }
}

impl Cidrs {
    fn check(text: &str) -> Result<(), Wrong> {
        let help = || format!("write {}", Self::examples());
        let Some((ip, length)) = addresses::parse_range(text) else {
            let message = format!("`{text}` is not a range of addresses");
            return Err(Wrong::new(message, help()));
        };
        let first = addresses::masked(ip, length);
        if first != ip {
            let message = format!("the range `{text}` does not begin at `{ip}`");
            return Err(Wrong::new(
                message,
                format!("did you mean `{first}/{length}`?"),
            ));
        }
        let most = if ip.is_ipv6() { 128 } else { 32 };
        if !BITS.contains(&(most - length)) {
            let message = format!("a range of `/{length}` cannot be simulated");
            let (short, long) = (most - BITS.end(), most - BITS.start());
            let help = format!("give a prefix of {short} to {long} bits");
            return Err(Wrong::new(message, help));
        }
        Ok(())
    }
}

/// A range of ports, `30000-32767`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl PortRange {
    /// `--service-node-port-range` of upstream.
    pub const UPSTREAM: PortRange = PortRange {
        first: 30000,
        last: 32767,
    };
}

impl Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl Written for PortRange {
    fn name() -> Cow<'static, str> {
        "range of ports".into()
    }

    fn pattern() -> String {
        "[0-9]+-[0-9]+".into()
    }

    fn examples() -> String {
        "the first and the last port, such as `30000-32767`".into()
    }

    fn read(text: &str) -> Result<Self, Wrong> {
        let port = |text: &str| text.parse().ok().filter(|port| *port > 0);
        let ends = text.split_once('-');
        let ends = ends.and_then(|(first, last)| Some((port(first)?, port(last)?)));
        let Some((first, last)) = ends else {
            let message = format!("`{text}` is not a range of ports");
            return Err(Wrong::new(message, format!("write {}", Self::examples())));
        };
        if first > last {
            let message = format!("the range `{text}` is empty: it ends before it begins");
            return Err(Wrong::new(
                message,
                format!("did you mean `{last}-{first}`?"),
            ));
        }
        Ok(PortRange { first, last })
    }
}

/// Both are written as their text.
macro_rules! as_text {
    ($type:ty, $name:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                text::deserialize(from)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                text::schema::<Self>()
            }
        }
    };
}
as_text!(Cidrs, "Cidrs");
as_text!(PortRange, "PortRange");

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// What Services are given cluster addresses from; without it they are given none, and no ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_cluster_ip_range: Option<Cidrs>,
    /// What Services are given node ports from; upstream's default is 30000-32767.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_node_port_range: Option<PortRange>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

impl Options {
    pub(super) fn check(&self, mistakes: &mut Mistakes) {
        if self.service_cluster_ip_range.is_none() && self.service_node_port_range.is_some() {
            let key = "service-node-port-range";
            let message = "Services are given no node ports where they are given no addresses";
            mistakes.key(Self::SECTION, key, message, add_ranges(key));
        }
    }
}

/// What is said where a key needs something that can be given to Services.
pub fn add_ranges(key: &str) -> String {
    format!("add `service-cluster-ip-range: 10.0.0.0/24` to `options`, or remove `{key}`")
}
