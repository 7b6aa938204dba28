//! Fingerprints: rapidhash with fixed secrets over 64-bit words, so that a digest is the same in
//! every process. It may differ between builds; traces of another build are followed by name.

use std::hash::{Hash, Hasher};

use rapidhash::inner::RapidHasher;

/// A 64-bit fingerprint.
pub type Digest = u64;

/// The one hasher of the simulated world. Integers are widened to 64 bits, `usize` included.
///
/// Of rapidhash's forms the one that mixes in every word as it comes: gathering two of them first
/// is faster, but forgets their order relative to strings.
#[derive(Clone)]
pub struct StableHasher(RapidHasher<'static, true, false>);

impl StableHasher {
    /// A hasher that has seen nothing.
    pub fn new() -> StableHasher {
        StableHasher(RapidHasher::default_const())
    }
}

impl Default for StableHasher {
    fn default() -> Self {
        StableHasher::new()
    }
}

macro_rules! widen {
    ($($name:ident: $ty:ty),*) => { $(
        fn $name(&mut self, value: $ty) {
            self.0.write_u64(value as u64);
        }
    )* };
}

impl Hasher for StableHasher {
    fn finish(&self) -> u64 {
        self.0.finish()
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
    widen!(write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_usize: usize,
           write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64, write_isize: isize);
    fn write_u128(&mut self, value: u128) {
        self.0.write_u128(value);
    }
    fn write_i128(&mut self, value: i128) {
        self.0.write_u128(value as u128);
    }
}

/// The fingerprint of one value.
pub fn digest<T: Hash + ?Sized>(value: &T) -> Digest {
    let mut hasher = StableHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// One fingerprint of two words, in order: independent of any hasher's state, so that a processor
/// works on many at a time.
pub(crate) fn pair(first: u64, second: u64) -> Digest {
    let product =
        u128::from(first ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(second ^ 0x8bb8_4b93_962e_acc9);
    (product as u64) ^ ((product >> 64) as u64)
}
