//! Fingerprints: rapidhash with fixed secrets over 64-bit words, so that a digest is the same in
//! every process. It may differ between builds; traces of another build are followed by name.
//!
//! There are two of everything that has state. The common one passes over instants that processes
//! remember, as equality does: a world that is only shifted in time is the same. The *exact* one tells
//! those apart, too: what is known of one world is used for another only if both are the same in it.

use std::cell::Cell;
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

thread_local! {
    static EXACT: Cell<bool> = const { Cell::new(false) };
}

/// Is the fingerprint that is being made, or the comparison, an exact one? What passes over instants in
/// its equality and hash asks this, and takes them in if so.
pub fn is_exact() -> bool {
    EXACT.get()
}

/// All fingerprints and comparisons that `make` asks for are exact.
pub fn exactly<R>(make: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            EXACT.set(self.0);
        }
    }
    let _restore = Restore(EXACT.replace(true));
    make()
}

/// Which of the two fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sight {
    Common,
    Exact,
}

impl Sight {
    /// Makes a fingerprint of this kind.
    pub fn make<R>(self, make: impl FnOnce() -> R) -> R {
        match self {
            Sight::Exact => exactly(make),
            Sight::Common => make(),
        }
    }
}

/// Both fingerprints of a value, or of many values that come and go: their sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digests {
    common: Digest,
    exact: Digest,
}

impl Digests {
    /// Those of one value.
    pub fn of<T: Hash + ?Sized>(value: &T) -> Digests {
        Digests {
            common: digest(value),
            exact: exactly(|| digest(value)),
        }
    }

    /// One more.
    pub fn add(&mut self, one: Digests) {
        self.common = self.common.wrapping_add(one.common);
        self.exact = self.exact.wrapping_add(one.exact);
    }

    /// One less.
    pub fn take(&mut self, one: Digests) {
        self.common = self.common.wrapping_sub(one.common);
        self.exact = self.exact.wrapping_sub(one.exact);
    }
}

impl PartialEq for Digests {
    fn eq(&self, other: &Digests) -> bool {
        self.common == other.common && (!is_exact() || self.exact == other.exact)
    }
}
impl Eq for Digests {}

impl Hash for Digests {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(match is_exact() {
            true => self.exact,
            false => self.common,
        });
    }
}

/// The fingerprints of something that changes, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    common: Option<Digest>,
    exact: Option<Digest>,
}

impl Known {
    pub fn get(&self, sight: Sight) -> Option<Digest> {
        match sight {
            Sight::Common => self.common,
            Sight::Exact => self.exact,
        }
    }

    pub fn set(&mut self, sight: Sight, digest: Digest) {
        match sight {
            Sight::Common => self.common = Some(digest),
            Sight::Exact => self.exact = Some(digest),
        }
    }

    /// It changes.
    pub fn forget(&mut self) {
        *self = Known::default();
    }
}

/// One fingerprint of two words, in order: independent of any hasher's state, so that a processor
/// works on many at a time.
pub(crate) fn pair(first: u64, second: u64) -> Digest {
    let product =
        u128::from(first ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(second ^ 0x8bb8_4b93_962e_acc9);
    (product as u64) ^ ((product >> 64) as u64)
}
