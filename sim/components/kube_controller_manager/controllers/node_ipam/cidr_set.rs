//! Which ranges of a cluster are taken (`pkg/controller/nodeipam/ipam/cidrset/cidr_set.go`): a range of the cluster is cut into
//! ranges of one size, and each is taken or free. Who has one belongs to `range_allocator`.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use wavetank_api::addresses;

/// A range of addresses, from its first address on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Cidr {
    pub first: IpAddr,
    pub mask_size: u8,
}

impl Cidr {
    /// The one of this text, cut to its first address.
    pub fn parse(text: &str) -> Option<Cidr> {
        let (ip, mask_size) = addresses::parse_range(text)?;
        Some(Cidr {
            first: addresses::masked(ip, mask_size),
            mask_size,
        })
    }

    /// How many bits an address of its family has.
    pub fn width(self) -> u8 {
        if self.first.is_ipv4() { 32 } else { 128 }
    }

    fn bits(self) -> u128 {
        match self.first {
            IpAddr::V4(ip) => ip.to_bits().into(),
            IpAddr::V6(ip) => ip.to_bits(),
        }
    }

    /// Its last address.
    fn last(self) -> u128 {
        let rest = self.width() - self.mask_size;
        let ones = 1_u128
            .checked_shl(rest.into())
            .map_or(u128::MAX, |end| end - 1);
        self.bits() | ones
    }

    /// Does the one contain the other?
    pub fn overlaps(self, other: Cidr) -> bool {
        self.width() == other.width() && self.bits() <= other.last() && other.bits() <= self.last()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.mask_size)
    }
}

/// `CidrSet`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CidrSet {
    cluster: Cidr,
    node_mask_size: u8,
    next_candidate: u32,
    used: BTreeSet<u32>,
}

impl CidrSet {
    /// `NewCIDRSet`: the range of a cluster, cut into ranges of this size.
    pub fn new_cidr_set(cluster: Cidr, node_mask_size: u8) -> CidrSet {
        CidrSet {
            cluster,
            node_mask_size,
            next_candidate: 0,
            used: BTreeSet::new(),
        }
    }

    /// `getMaxCIDRs`
    pub fn get_max_cidrs(&self) -> u32 {
        1 << (self.node_mask_size - self.cluster.mask_size)
    }

    /// Is none of them free?
    pub fn is_full(&self) -> bool {
        self.used.len() as u32 == self.get_max_cidrs()
    }

    /// Those that are taken.
    pub fn used(&self) -> impl Iterator<Item = Cidr> {
        self.used.iter().map(|at| self.index_to_cidr_block(*at))
    }

    /// `indexToCIDRBlock`
    fn index_to_cidr_block(&self, index: u32) -> Cidr {
        let shift = self.cluster.width() - self.node_mask_size;
        let bits = self.cluster.bits() | u128::from(index) << shift;
        let first = match self.cluster.first {
            IpAddr::V4(_) => IpAddr::V4((bits as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        };
        Cidr {
            first,
            mask_size: self.node_mask_size,
        }
    }

    /// `getIndexForIP`
    fn get_index_for_ip(&self, bits: u128) -> Option<u32> {
        let shift = self.cluster.width() - self.node_mask_size;
        let index = (self.cluster.bits() ^ bits) >> shift;
        let index = u32::try_from(index).ok()?;
        (index < self.get_max_cidrs()).then_some(index)
    }

    /// `getBeginningAndEndIndices`: which of them a range covers; nothing if it lies outside.
    fn get_beginning_and_end_indices(&self, cidr: Cidr) -> Option<RangeInclusive<u32>> {
        if !self.cluster.overlaps(cidr) {
            return None;
        }
        match self.cluster.mask_size < cidr.mask_size {
            true => {
                let begin = self.get_index_for_ip(cidr.bits())?;
                Some(begin..=self.get_index_for_ip(cidr.last())?)
            }
            false => Some(0..=self.get_max_cidrs() - 1),
        }
    }

    /// `AllocateNext`: the next that is free after the one that was given out last.
    pub fn allocate_next(&mut self) -> Option<Cidr> {
        let most = self.get_max_cidrs();
        let mut all = (0..most).map(|step| (self.next_candidate + step) % most);
        let candidate = all.find(|at| !self.used.contains(at))?;
        self.next_candidate = (candidate + 1) % most;
        self.used.insert(candidate);
        Some(self.index_to_cidr_block(candidate))
    }

    /// `Release`: was it inside?
    pub fn release(&mut self, cidr: Cidr) -> bool {
        let covered = self.get_beginning_and_end_indices(cidr);
        covered
            .map(|all| self.used.retain(|at| !all.contains(at)))
            .is_some()
    }

    /// `Occupy`: was it inside? It may be taken already.
    pub fn occupy(&mut self, cidr: Cidr) -> bool {
        let covered = self.get_beginning_and_end_indices(cidr);
        covered.map(|all| self.used.extend(all)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        Cidr::parse(text).expect("it is one")
    }

    fn used(set: &CidrSet) -> Vec<String> {
        set.used().map(|own| own.to_string()).collect()
    }

    #[test]
    fn ranges_are_given_out_in_turn_and_a_freed_one_last() {
        let mut set = CidrSet::new_cidr_set(cidr("10.0.0.0/28"), 30);
        let first = set.allocate_next().expect("there is one");
        assert_eq!(first.to_string(), "10.0.0.0/30");
        assert!(set.release(first));
        let next: Vec<_> = (0..4).filter_map(|_| set.allocate_next()).collect();
        let next: Vec<_> = next.iter().map(Cidr::to_string).collect();
        assert_eq!(
            next,
            ["10.0.0.4/30", "10.0.0.8/30", "10.0.0.12/30", "10.0.0.0/30"]
        );
        assert_eq!(set.allocate_next(), None);
    }

    #[test]
    fn a_range_covers_those_that_lie_in_it_and_one_outside_none() {
        let mut set = CidrSet::new_cidr_set(cidr("fd00::/124"), 126);
        assert!(set.occupy(cidr("fd00::4/125")));
        assert_eq!(used(&set), ["fd00::/126", "fd00::4/126"]);
        assert!(set.release(cidr("fd00::6/128")));
        assert_eq!(used(&set), ["fd00::/126"]);
        assert!(set.occupy(cidr("fd00::/64")));
        assert_eq!(used(&set).len(), 4);
        assert!(!set.occupy(cidr("fd01::/126")) && !set.release(cidr("10.0.0.0/8")));
    }
}
