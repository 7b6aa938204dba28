//! SHA-256 (FIPS 180-4).

use std::sync::LazyLock;

/// The words of the message schedule: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
static CONSTANTS: LazyLock<[u32; 64]> = LazyLock::new(|| fractions(3));
/// Where every hash begins: the same of the square roots of the first eight.
static FIRST: LazyLock<[u32; 8]> = LazyLock::new(|| fractions(2));

fn fractions<const N: usize>(root: u32) -> [u32; N] {
    let mut fractions = [0; N];
    for (to, prime) in fractions.iter_mut().zip(primes()) {
        *to = fraction(prime, root);
    }
    fractions
}

fn primes() -> impl Iterator<Item = u64> {
    (2_u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
}

/// The first 32 bits of the fractional part of a root of a small number.
fn fraction(number: u64, root: u32) -> u32 {
    // The largest integer whose power is at most the number, shifted by 32 bits a root.
    let target = u128::from(number) << (32 * root);
    let (mut low, mut high) = (0_u128, 1_u128 << 40);
    while high - low > 1 {
        let middle = u128::midpoint(low, high);
        match middle
            .checked_pow(root)
            .is_some_and(|power| power <= target)
        {
            true => low = middle,
            false => high = middle,
        }
    }
    low as u32
}

/// The hash of a message.
pub(super) fn sum(message: &[u8]) -> [u8; 32] {
    let mut state = *FIRST;
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        compress(&mut state, block, &CONSTANTS);
    }
    let mut out = [0; 32];
    for (bytes, word) in out.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    out
}

fn compress(state: &mut [u32; 8], block: &[u8], constants: &[u32; 64]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let first = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let second = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        let sum = words[at - 16]
            .wrapping_add(first)
            .wrapping_add(words[at - 7]);
        words[at] = sum.wrapping_add(second);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.into_iter().zip(constants) {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = (e & f) ^ (!e & g);
        let first = h.wrapping_add(mixed).wrapping_add(chosen);
        let first = first.wrapping_add(*constant).wrapping_add(word);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = mixed.wrapping_add(majority);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(message: &str) -> String {
        sum(message.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    #[test]
    fn the_examples_of_the_standard_come_out() {
        assert_eq!(
            hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
        assert_eq!(
            hex(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
