//! `encoding/base64`: the standard alphabet, and where Go says that a text goes wrong,
//! which no crate says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `base64.StdEncoding.EncodeToString`
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// `base64.StdEncoding.DecodeString`; the error is the place of a `CorruptInputError`.
pub fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    let mut at = 0;
    let skip = |mut at: usize| {
        while matches!(bytes.get(at), Some(b'\n' | b'\r')) {
            at += 1;
        }
        at
    };
    loop {
        let mut bits: u32 = 0;
        let mut count = 0;
        let mut ended = false;
        while count < 4 {
            let Some(byte) = bytes.get(at) else {
                if count == 0 {
                    return Ok(out);
                }
                return Err(at - count);
            };
            at += 1;
            match ALPHABET.iter().position(|letter| letter == byte) {
                Some(six) => {
                    bits = (bits << 6) | six as u32;
                    count += 1;
                }
                None if matches!(byte, b'\n' | b'\r') => {}
                None if *byte != b'=' || count < 2 => return Err(at - 1),
                None => {
                    if count == 2 {
                        at = skip(at);
                        match bytes.get(at) {
                            None => return Err(bytes.len()),
                            Some(b'=') => at += 1,
                            Some(_) => return Err(at - 1),
                        }
                    }
                    at = skip(at);
                    if at < bytes.len() {
                        return Err(at);
                    }
                    ended = true;
                    break;
                }
            }
        }
        let whole = bits << (6 * (4 - count));
        let made = [(whole >> 16) as u8, (whole >> 8) as u8, whole as u8];
        out.extend_from_slice(&made[..count - 1]);
        if ended {
            return Ok(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn errors_stand_where_go_sees_them() {
        assert_eq!(decode("not base64!"), Err(3));
        assert_eq!(decode("v"), Err(0));
        assert_eq!(decode("eA="), Err(3));
        assert_eq!(decode("eA==x"), Err(4));
        assert_eq!(decode("=A=="), Err(0));
        assert_eq!(decode("eA\n=="), Ok(b"x".to_vec()));
        assert_eq!(decode(""), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(decode(&encode(&bytes)), Ok(bytes));
        }
        #[test]
        fn any_text_is_refused_or_has_a_text_of_its_own(text in "[A-Za-z=\n -]{0,20}") {
            if let Ok(bytes) = decode(&text) {
                let canonical = encode(&bytes);
                // The last letter may have bits that are not read.
                prop_assert_eq!(canonical.len(), text.replace('\n', "").len());
                prop_assert_eq!(decode(&canonical), Ok(bytes));
            }
        }
    }
}
