//! What is taken of a range of items (`pkg/registry/core/service/allocator/bitmap.go`).

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The items that are taken, by their offset. It is written as the bytes of a big-endian number.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bitmap(BTreeSet<u32>);

impl Bitmap {
    /// Reads what was written; `None` if it is not Base64.
    pub fn parse(text: &str) -> Option<Bitmap> {
        let bytes = STANDARD.decode(text).ok()?;
        let mut taken = BTreeSet::new();
        for (at, byte) in bytes.iter().rev().enumerate() {
            let bits = (0..8).filter(|bit| byte & (1 << bit) != 0);
            taken.extend(bits.map(|bit| at as u32 * 8 + bit));
        }
        Some(Bitmap(taken))
    }

    /// What is written.
    pub fn text(&self) -> String {
        let length = self.0.last().map_or(0, |last| *last as usize / 8 + 1);
        let mut bytes = vec![0_u8; length];
        for offset in &self.0 {
            bytes[length - 1 - *offset as usize / 8] |= 1 << (offset % 8);
        }
        STANDARD.encode(bytes)
    }

    /// `Allocate`: takes an item; `false` if it was taken.
    pub fn allocate(&mut self, offset: u32) -> bool {
        self.0.insert(offset)
    }

    /// `Release`
    pub fn release(&mut self, offset: u32) {
        self.0.remove(&offset);
    }

    /// `Has`
    pub fn has(&self, offset: u32) -> bool {
        self.0.contains(&offset)
    }

    /// How many are taken.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// `ForEach`: those that are taken.
    pub fn taken(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    /// The scan of `AllocateBit`: the first free item of a part, from the `start`-th on and around.
    pub fn free(&self, part: &Range<u32>, start: u32) -> Option<u32> {
        let length = part.end - part.start;
        let around = (0..length).map(|step| part.start + (start + step) % length);
        around.into_iter().find(|offset| !self.has(*offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_a_big_endian_number() {
        for (taken, text) in [
            (vec![], ""),
            (vec![0], "AQ=="),
            (vec![0, 9], "AgE="),
            (vec![0, 21], "IAAB"),
            (vec![0, 199], "gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ=="),
        ] {
            let mut bitmap = Bitmap::default();
            for offset in taken {
                assert!(bitmap.allocate(offset));
                assert!(!bitmap.allocate(offset), "it is taken");
            }
            assert_eq!(bitmap.text(), text);
            assert_eq!(Bitmap::parse(text), Some(bitmap));
        }
    }

    #[test]
    fn a_scan_goes_around_its_part() {
        let mut bitmap = Bitmap::default();
        for offset in [3, 4, 7] {
            bitmap.allocate(offset);
        }
        assert_eq!(bitmap.free(&(2..8), 1), Some(5));
        assert_eq!(
            bitmap.free(&(2..8), 5),
            Some(2),
            "past the end it begins again"
        );
        bitmap.release(4);
        assert_eq!(bitmap.free(&(3..5), 0), Some(4));
        bitmap.allocate(4);
        assert_eq!(bitmap.free(&(3..5), 0), None);
    }
}
