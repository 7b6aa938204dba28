//! Seeds, as people write them: `0..100`, `7`, or a commit hash.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A prefix of a commit hash has at least as many digits as git shows.
const SHORTEST_HASH: usize = 7;
/// As many digits of a hash as a seed has.
const SEED_DIGITS: usize = 16;
const HASH_DIGITS: usize = 40;

/// Consecutive seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Seeds {
    /// One seed.
    pub const fn one(seed: u64) -> Seeds {
        Seeds {
            first: seed,
            count: 1,
        }
    }

    /// All from `first` on.
    pub const fn from(first: u64) -> Seeds {
        Seeds {
            first,
            count: u64::MAX - first,
        }
    }
}

impl From<Range<u64>> for Seeds {
    fn from(range: Range<u64>) -> Seeds {
        Seeds {
            first: range.start,
            count: range.end.saturating_sub(range.start),
        }
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "{}", self.first),
            count => write!(
                f,
                "{}..{}",
                self.first,
                u128::from(self.first) + u128::from(count)
            ),
        }
    }
}

impl FromStr for Seeds {
    type Err = String;

    /// `A..B`, half open.
    fn from_str(text: &str) -> Result<Seeds, String> {
        let Some((from, to)) = text.split_once("..") else {
            return Err(match text.parse::<u64>() {
                Ok(one) => format!(
                    "a range has two ends: write `{one}..{}`",
                    one.saturating_add(1)
                ),
                Err(_) => "write a range of seeds as `0..100`".to_owned(),
            });
        };
        if to.starts_with('=') {
            return Err("ranges are half open: write `0..100` for the seeds 0 to 99".to_owned());
        }
        let end = |name: &str, text: &str| {
            text.parse::<u64>()
                .map_err(|_| format!("{name}, `{text}`, should be a whole number in 64 bits"))
        };
        let (from, to) = (end("its start", from)?, end("its end", to)?);
        if from >= to {
            return Err("the range is empty: it should end after it begins".to_owned());
        }
        Ok((from..to).into())
    }
}

/// A seed: digits are a number; 40 hexadecimal digits, or at least 7 with a letter among them, are
/// a commit hash, of which the first 16 count (a shorter one is filled up with zeros).
///
/// # Errors
/// What would be a seed.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    let is_hex = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let is_decimal = is_hex && text.bytes().all(|b| b.is_ascii_digit());
    let length = text.len();
    if !is_hex || (is_decimal && length != HASH_DIGITS) {
        return text
            .parse()
            .map_err(|_| "a seed is a whole number in 64 bits or a commit hash".to_owned());
    }
    if !(SHORTEST_HASH..=HASH_DIGITS).contains(&length) {
        return Err(format!(
            "a commit hash has {SHORTEST_HASH} to {HASH_DIGITS} digits, this has {length}"
        ));
    }
    let digits = &text[..length.min(SEED_DIGITS)];
    u64::from_str_radix(&format!("{digits:0<SEED_DIGITS$}"), 16).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_half_open() {
        let seeds: Seeds = "3..10".parse().expect("a range");
        assert_eq!((seeds.first, seeds.count), (3, 7));
        assert_eq!(seeds.to_string(), "3..10");
        for bad in [
            "", "7", "3..", "..3", "5..5", "9..3", "1..=4", "a..b", "-1..4",
        ] {
            assert!(bad.parse::<Seeds>().is_err(), "{bad}");
        }
    }

    #[test]
    fn seeds_are_numbers_or_hashes() {
        assert_eq!(parse_seed("42"), Ok(42));
        assert_eq!(parse_seed("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_seed(&"f".repeat(40)), Ok(u64::MAX));
        assert_eq!(parse_seed("00c0ffee"), Ok(0x00c0_ffee_0000_0000));
        let all_digits = "1234567890".repeat(4);
        assert_eq!(parse_seed(&all_digits), Ok(0x1234_5678_9012_3456));
        for bad in [
            "",
            "abc",
            "-1",
            "12x",
            "18446744073709551616",
            &"a".repeat(41),
        ] {
            assert!(parse_seed(bad).is_err(), "{bad}");
        }
    }
}
