//! Fingerprints: SipHash-1-3 with a fixed key over little-endian 64-bit words, so that a digest is
//! the same on every machine and in every process.

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// A 64-bit fingerprint.
pub type Digest = u64;

/// The one hasher of the simulated world. Integers are widened to 64 bits and written little-endian,
/// `usize` included, so that nothing depends on the CPU.
#[derive(Clone)]
pub struct StableHasher(SipHasher13);

impl StableHasher {
    /// A hasher that has seen nothing.
    pub fn new() -> StableHasher {
        StableHasher(SipHasher13::new_with_keys(
            0x5761_7665_7461_6e6b,
            0x6465_7465_726d_696e,
        ))
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
            self.0.write(&(value as u64).to_le_bytes());
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
        self.0.write(&value.to_le_bytes());
    }
    fn write_i128(&mut self, value: i128) {
        self.0.write(&value.to_le_bytes());
    }
}

/// The fingerprint of one value.
pub fn digest<T: Hash + ?Sized>(value: &T) -> Digest {
    let mut hasher = StableHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
