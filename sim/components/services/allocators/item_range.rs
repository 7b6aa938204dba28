//! A range of addresses or ports: which item stands for which, and where a free one is looked for
//! (`pkg/registry/core/service/ipallocator/allocator.go`, `portallocator/allocator.go`).

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use wavetank_api::addresses;
use wavetank_version::Version;

use crate::services::gates;

/// `--service-cluster-ip-range` and `--service-node-port-range`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ServiceRanges {
    /// In CIDR notation, the first of the default family.
    pub cluster_ips: Vec<Arc<str>>,
    /// The first node port, and how many there are.
    pub node_ports: (u16, u16),
}

impl ServiceRanges {
    /// These ranges of addresses, and the usual node ports.
    pub fn of(cluster_ips: &[&str]) -> ServiceRanges {
        ServiceRanges {
            cluster_ips: cluster_ips.iter().map(|range| (*range).into()).collect(),
            node_ports: (30000, 2768),
        }
    }

    /// The families of the addresses, the default one first.
    pub fn families(&self) -> Vec<&'static str> {
        let family = |range: &Arc<str>| if range.contains(':') { "IPv6" } else { "IPv4" };
        self.cluster_ips.iter().map(family).collect()
    }

    /// The first address of all: that of the Service `kubernetes`.
    pub fn first_address(&self) -> Option<String> {
        let range = ItemRange::of_addresses(self.cluster_ips.first()?, Version::LATEST)?;
        Some(range.item(0))
    }
}

/// A range of items with numbers in a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ItemRange {
    /// How it is written: `10.96.0.0/24`, `30000-32767`.
    pub spec: Arc<str>,
    first: u128,
    size: u32,
    six: bool,
    ports: bool,
    /// How many at its begin are for those who ask for them by name; without a band, 0.
    reserved: u32,
}

/// A bitmap has no more items than that.
const MOST: u128 = 1 << 16;

impl ItemRange {
    /// A range of addresses; `None` if it is none.
    pub fn of_addresses(spec: &str, release: Version) -> Option<ItemRange> {
        let (ip, length) = addresses::parse_range(spec)?;
        let network = addresses::masked(ip, length);
        let six = network.is_ipv6();
        let bits = if six { 128 } else { 32 } - u32::from(length);
        let all = 1_u128.checked_shl(bits).unwrap_or(u128::MAX);
        // Neither the address of the network nor, in IPv4, that of all its hosts; v1.16 left out the
        // last one of either family.
        let size = match six {
            true if release.has(gates::IP_ADDRESSES) => all.min(1 << 32) - 1,
            true if release.has(gates::LAST_ADDRESS_IS_GIVEN) => all.min(MOST) - 1,
            true => all.min(MOST) - 2,
            false => all.saturating_sub(2),
        };
        let banded = release.has(gates::ADDRESS_BANDS);
        Some(ItemRange {
            spec: format!("{network}/{length}").into(),
            first: number(network) + 1,
            size: u32::try_from(size).ok()?,
            six,
            ports: false,
            reserved: if banded {
                calculate_range_offset(all, 16, 256)
            } else {
                0
            },
        })
    }

    /// The node ports.
    pub fn of_ports((first, size): (u16, u16), release: Version) -> ItemRange {
        let last = u32::from(first) + u32::from(size) - 1;
        let banded = release.has(gates::PORT_BANDS);
        ItemRange {
            spec: format!("{first}-{last}").into(),
            first: first.into(),
            size: size.into(),
            six: false,
            ports: true,
            reserved: if banded {
                calculate_range_offset(size.into(), 32, 128)
            } else {
                0
            },
        }
    }

    /// How many items it has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Are its addresses of IPv6?
    pub fn is_six(&self) -> bool {
        self.six
    }

    /// The item at an offset, as text.
    pub fn item(&self, offset: u32) -> String {
        let number = self.first + u128::from(offset);
        match (self.ports, self.six) {
            (true, _) => number.to_string(),
            (false, true) => std::net::Ipv6Addr::from_bits(number).to_string(),
            (false, false) => std::net::Ipv4Addr::from_bits(number as u32).to_string(),
        }
    }

    /// The offset of an address, if it is in the range.
    pub fn offset_of(&self, ip: IpAddr) -> Option<u32> {
        self.contains(number(ip))
            .filter(|_| ip.is_ipv6() == self.six)
    }

    /// The offset of a port, if it is in the range.
    pub fn offset_of_port(&self, port: i64) -> Option<u32> {
        self.contains(u128::try_from(port).ok()?)
    }

    /// The offset of an item, as text.
    pub fn offset(&self, item: &str) -> Option<u32> {
        match self.ports {
            true => self.offset_of_port(item.parse().ok()?),
            false => self.offset_of(addresses::parse_ip_sloppy(item)?),
        }
    }

    fn contains(&self, number: u128) -> Option<u32> {
        let offset = u32::try_from(number.checked_sub(self.first)?).ok()?;
        (offset < self.size).then_some(offset)
    }

    /// The parts in which a free item is looked for, one after the other: the band for automatic
    /// allocation first. The first item of all may be kept for somebody else.
    pub fn parts(&self, keep_first: bool) -> Vec<Range<u32>> {
        let first = u32::from(keep_first);
        let parts = [self.reserved.max(first)..self.size, first..self.reserved];
        parts.into_iter().filter(|part| !part.is_empty()).collect()
    }
}

/// `calculateRangeOffset`: a share of the range, at least 16 and at most so many.
fn calculate_range_offset(size: u128, share: u128, most: u128) -> u32 {
    match size {
        0..=16 => 0,
        size => (size / share).clamp(16, most) as u32,
    }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_releases::{V1_16, V1_20, V1_36};

    fn addresses(spec: &str, release: Version) -> (u32, String, String) {
        let range = ItemRange::of_addresses(spec, release).expect("a range");
        (range.size(), range.item(0), range.item(range.size() - 1))
    }

    #[test]
    fn a_range_of_addresses_leaves_out_its_ends() {
        let four = addresses("10.96.0.0/29", V1_20);
        assert_eq!(four, (6, "10.96.0.1".into(), "10.96.0.6".into()));
        let six = addresses("fd00::/112", V1_20);
        assert_eq!(six, (65535, "fd00::1".into(), "fd00::ffff".into()));
        assert_eq!(addresses("fd00::/112", V1_16).0, 65534);
        let range = ItemRange::of_addresses("10.96.0.0/29", V1_20).expect("a range");
        let offset = |ip: &str| range.offset_of(ip.parse().expect("an address"));
        let offsets = [
            "10.96.0.0",
            "10.96.0.1",
            "10.96.0.6",
            "10.96.0.7",
            "::a60:1",
        ]
        .map(offset);
        assert_eq!(offsets, [None, Some(0), Some(5), None, None]);
    }

    #[test]
    fn from_v1_36_on_a_band_is_kept_for_named_items() {
        let ends = |range: ItemRange| -> Vec<(u32, u32)> {
            let parts = range.parts(false);
            parts
                .into_iter()
                .map(|part| (part.start, part.end))
                .collect()
        };
        let of = |spec, release| ends(ItemRange::of_addresses(spec, release).expect("a range"));
        assert_eq!(of("10.96.0.0/24", V1_20), [(0, 254)]);
        assert_eq!(of("10.96.0.0/24", V1_36), [(16, 254), (0, 16)]);
        assert_eq!(of("10.96.0.0/28", V1_36), [(0, 14)]);
        assert_eq!(of("10.96.0.0/20", V1_36), [(256, 4094), (0, 256)]);
        let ports = ItemRange::of_ports((30000, 2768), V1_36);
        assert_eq!(&*ports.spec, "30000-32767");
        assert_eq!(ends(ports.clone()), [(86, 2768), (0, 86)]);
        assert_eq!(ports.offset_of_port(30010), Some(10));
        assert_eq!(ports.offset_of_port(80), None);
    }
}
