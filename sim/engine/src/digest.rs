//! Fingerprints: rapidhash with fixed secrets over 64-bit words, so that a digest is the same in
//! every process. It may differ between builds; traces of another build are followed by name.
//!
//! There are two of everything that has state. The common one passes over instants that processes
//! remember, as equality does: a world that is only shifted in time is the same. The *exact* one tells
//! those apart, too: what is known of one world is used for another only if both are the same in it.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use rapidhash::inner::RapidHasher;

use crate::mutant;
use crate::not_state::NotState;

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
        #[inline]
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

/// Which fingerprint is being made, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DigestKind {
    /// Does it tell instants apart?
    pub exact: bool,
    /// Is nothing taken from what is known?
    scratch: bool,
}

thread_local! {
    static SIGHT: Cell<DigestKind> = const { Cell::new(DigestKind { exact: false, scratch: false }) };
}

impl DigestKind {
    /// That of the fingerprint that is being made.
    pub fn now() -> DigestKind {
        SIGHT.get()
    }

    /// That which passes over instants.
    pub const COMMON: DigestKind = DigestKind {
        exact: false,
        scratch: false,
    };
    /// That which tells them apart.
    pub const EXACT: DigestKind = DigestKind {
        exact: true,
        scratch: false,
    };
    pub const BOTH: [DigestKind; 2] = [DigestKind::COMMON, DigestKind::EXACT];

    /// Makes fingerprints of this kind.
    fn look<R>(self, make: impl FnOnce() -> R) -> R {
        struct Restore(DigestKind);
        impl Drop for Restore {
            fn drop(&mut self) {
                SIGHT.set(self.0);
            }
        }
        let _restore = Restore(SIGHT.replace(self));
        make()
    }
}

/// Is the fingerprint that is being made, or the comparison, an exact one? What passes over instants in
/// its equality and hash asks this, and takes them in if so.
pub fn is_exact() -> bool {
    DigestKind::now().exact
}

/// All fingerprints and comparisons that `make` asks for are exact.
pub fn exactly<R>(make: impl FnOnce() -> R) -> R {
    let sight = DigestKind {
        exact: true,
        ..DigestKind::now()
    };
    sight.look(make)
}

/// All fingerprints that `make` asks for are made anew, whatever is known.
pub(crate) fn from_scratch<R>(make: impl FnOnce() -> R) -> R {
    let sight = DigestKind {
        scratch: true,
        ..DigestKind::now()
    };
    sight.look(make)
}

/// The fingerprint of a type: what a value of unknown type begins with, so that two of different types
/// never have one fingerprint. The same in every process, as all are; so it is made of the name.
pub(crate) fn digest_of_type<T: ?Sized>() -> Digest {
    match mutant::is("digest: type") {
        true => 0,
        false => digest(std::any::type_name::<T>()),
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

/// Both fingerprints of a value that stands beside them, as far as they are known.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known {
    common: Option<Digest>,
    exact: Option<Digest>,
}

impl Known {
    #[inline]
    fn get(&self, sight: DigestKind) -> Option<Digest> {
        match sight.exact {
            false => self.common,
            true => self.exact,
        }
    }

    /// Is the fingerprint known that is being made?
    #[inline]
    pub fn has(&self, sight: DigestKind) -> bool {
        self.get(sight).is_some()
    }

    /// The fingerprint that is being made. A search asks for dozens of them a step, and nearly all are known.
    #[inline]
    pub fn digest(&self, sight: DigestKind, make: impl FnOnce() -> Digest) -> Digest {
        match self.get(sight) {
            Some(digest) if !sight.scratch => digest,
            _ => anew(sight, make),
        }
    }

    /// From now on it is known.
    pub fn cache(&mut self, sight: DigestKind, make: impl FnOnce() -> Digest) {
        if !self.has(sight) {
            let digest = sight.look(make);
            match sight.exact {
                false => self.common = Some(digest),
                true => self.exact = Some(digest),
            }
        }
    }

    /// The value may change: from now on nothing is known.
    pub fn forget(&mut self) {
        if !mutant::is("digest: stale") {
            *self = Known::default();
        }
    }
}

#[cold]
#[inline(never)]
fn anew(sight: DigestKind, make: impl FnOnce() -> Digest) -> Digest {
    sight.look(make)
}

/// A value with its fingerprints, as far as they are known. Whoever may change it makes them unknown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cached<T> {
    value: T,
    known: NotState<Known>,
}

impl<T> Cached<T> {
    pub fn new(value: T) -> Cached<T> {
        let known = NotState::default();
        Cached { value, known }
    }

    /// Is the fingerprint known that is being made?
    pub fn is_known(&self, sight: DigestKind) -> bool {
        self.known.has(sight)
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// For a change that makes no difference to the fingerprints.
    pub fn beside(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Hash> Cached<T> {
    /// The fingerprint that is being made.
    #[inline]
    pub fn digest(&self, sight: DigestKind) -> Digest {
        self.known.digest(sight, || digest(&self.value))
    }

    /// From now on it is known.
    pub fn cache(&mut self, sight: DigestKind) {
        self.known.cache(sight, || digest(&self.value));
    }
}

impl<T: Hash> Hash for Cached<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest(DigestKind::now()));
    }
}

impl<T> Deref for Cached<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Cached<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.known.forget();
        &mut self.value
    }
}

/// One fingerprint of two words, in order: independent of any hasher's state, so that a processor
/// works on many at a time.
pub(crate) fn pair(first: u64, second: u64) -> Digest {
    let product =
        u128::from(first ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(second ^ 0x8bb8_4b93_962e_acc9);
    (product as u64) ^ ((product >> 64) as u64)
}
