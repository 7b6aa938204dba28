//! Payloads: immutable values of any type that travel between processes, with their fingerprint
//! beside them.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use crate::digest::{Digest, digest, digest_of_type, is_exact, pair};

/// A value that may travel or be kept in a log. Implemented for every type that can be compared,
/// hashed, shown and sent.
pub trait Message: Any + fmt::Debug + Send + Sync {
    /// Structural equality; values of different types differ.
    fn same(&self, other: &dyn Message) -> bool;
    /// The fingerprint of the value and its type.
    fn fingerprint(&self) -> Digest;
    /// For downcasts.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Any + fmt::Debug + Send + Sync + Eq + Hash> Message for T {
    fn same(&self, other: &dyn Message) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }
    fn fingerprint(&self) -> Digest {
        pair(digest_of_type::<T>(), digest(self))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Shared<T: ?Sized> {
    digest: OnceLock<Digest>,
    exact: OnceLock<Digest>,
    value: T,
}

/// An immutable, shared value of any [`Message`] type. Cloning is cheap; the digest is made at most
/// once.
#[derive(Clone)]
pub struct Payload(Arc<Shared<dyn Message>>);

impl Payload {
    /// Wraps a value.
    pub fn new<T: Message + Eq + Hash>(value: T) -> Payload {
        Payload(Arc::new(Shared {
            digest: OnceLock::new(),
            exact: OnceLock::new(),
            value,
        }))
    }

    /// The value, if it is a `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.value.as_any().downcast_ref()
    }

    /// The value, which must be a `T`: two ends that disagree about a type are a defect of the
    /// simulated program, and reported as a violation with a trace.
    #[track_caller]
    pub fn expect<T: 'static>(&self) -> &T {
        match self.get() {
            Some(value) => value,
            None => panic!(
                "expected a {}, got {:?}",
                std::any::type_name::<T>(),
                &self.0.value
            ),
        }
    }

    /// The fingerprint of the value and its type.
    pub fn digest(&self) -> Digest {
        let known = match is_exact() {
            true => &self.0.exact,
            false => &self.0.digest,
        };
        *known.get_or_init(|| self.0.value.fingerprint())
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value.same(&other.0.value)
    }
}

impl Eq for Payload {}

impl Hash for Payload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest());
    }
}
