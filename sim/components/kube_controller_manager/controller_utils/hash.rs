//! The hash of a template (`ComputeHash` of `pkg/controller/controller_utils.go`), by which a set is named. Upstream hashes
//! how Go prints the template; here its JSON is hashed, by the same function.

use wavetank_api::json::Json;

/// `SafeEncodeString`
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// FNV-1a, 32 bits.
fn fnv32a(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(2_166_136_261, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
    })
}

/// `ComputeHash`
pub fn compute_hash(template: &Json, collisions: Option<i64>) -> String {
    let text = template.to_string();
    let count = collisions.map(|count| (count as u32).to_le_bytes());
    // Upstream writes eight bytes, of which the count fills four.
    let count = count
        .into_iter()
        .flat_map(|own| own.into_iter().chain([0; 4]));
    let hash = fnv32a(text.bytes().chain(count)).to_string();
    let letters = hash
        .bytes()
        .map(|digit| LETTERS[usize::from(digit) % LETTERS.len()]);
    letters.map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_collision_gives_another_name() {
        // The known values of FNV-1a.
        assert_eq!(fnv32a("".bytes()), 0x811c_9dc5);
        assert_eq!(fnv32a("foobar".bytes()), 0xbf9c_f968);
        let template = json!({"spec": {}});
        let of = |collisions| compute_hash(&template, collisions);
        assert!(of(None) != of(Some(0)) && of(Some(0)) != of(Some(1)));
        assert_eq!(of(Some(1)), of(Some(1)));
    }
}
