//! Keys and values. The etcd of a simulated control plane keeps objects as trees. What a service writes is bytes: text is
//! kept as a string, other bytes as a list of numbers, and nothing as null. An object that an apiserver has written reads
//! as its JSON.

use serde_json::Value as Json;
use wavetank_api::Object;
use wavetank_etcd::{Key, Keys, Value as _};

use super::{Error, Result};

/// What is kept for these bytes.
pub(super) fn object(bytes: &[u8]) -> Object {
    if bytes.is_empty() {
        return Object::empty();
    }
    Object::new(match str::from_utf8(bytes) {
        Ok(text) => Json::String(text.to_owned()),
        Err(_) => Json::Array(bytes.iter().map(|byte| Json::from(*byte)).collect()),
    })
}

/// The bytes of what is kept.
pub(super) fn bytes(object: &Object) -> Vec<u8> {
    match object.json() {
        Json::Null => Vec::new(),
        Json::String(text) => text.clone().into_bytes(),
        Json::Array(bytes) => bytes
            .iter()
            .map(|byte| byte.as_u64().unwrap_or(0) as u8)
            .collect(),
        other => other.to_string().into_bytes(),
    }
}

/// Keys of the simulated etcd are text, as Kubernetes' are.
pub(super) fn key(bytes: Vec<u8>) -> Result<Key> {
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Error::InvalidArgs("a key that is no text".to_owned()))?;
    Ok(text.into())
}

/// One key, or all that begin so.
pub(super) fn keys(bytes: Vec<u8>, is_prefix: bool) -> Result<Keys> {
    let key = key(bytes)?;
    Ok(match is_prefix {
        true if key.is_empty() => Keys::all(),
        true => Keys::Prefix(key),
        false => Keys::One(key),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        for bytes_in in [&b""[..], b"text", b"{\"a\":1}", b"null", &[0xff, 0, 1]] {
            assert_eq!(bytes(&object(bytes_in)), bytes_in);
        }
    }
}
