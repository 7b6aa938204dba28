//! Which seeds of a sweep are those of one machine among several.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of so many parts of a sweep. They take seeds in turns, so that a part of the seeds that takes longer than others
/// is shared by all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// From 1.
    number: u64,
    of: u64,
}

impl Shard {
    /// The only one.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// The one of this number, counted from 1.
    ///
    /// # Errors
    /// If there is none of this number.
    pub fn new(number: u64, of: u64) -> Result<Shard, String> {
        match (1..=of).contains(&number) {
            true => Ok(Shard { number, of }),
            false => Err(format!(
                "there is no shard {number} of {of}: they are counted from 1"
            )),
        }
    }

    /// Counted from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// How many there are.
    pub fn of(self) -> u64 {
        self.of
    }

    /// How many of so many seeds are its own.
    pub fn share(self, count: u64) -> u64 {
        count / self.of + u64::from(self.number <= count % self.of)
    }

    /// Where among all seeds the one stands that has this index among its own, both counted from 0.
    pub fn place(self, own: u64) -> u64 {
        own * self.of + self.number - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// `I/N`.
    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let (number, of) = numbers.ok_or("write the third of eight shards as `3/8`")?;
        Shard::new(number, of)
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

/// A variable that says which of several parallel jobs this is, where jobs are counted from, and the variable that says
/// how many there are, if there is one.
const VARIABLES: [(&str, u64, Option<&str>); 4] = [
    // An Indexed Job of Kubernetes.
    ("JOB_COMPLETION_INDEX", 0, None),
    ("CI_NODE_INDEX", 1, Some("CI_NODE_TOTAL")),
    ("CIRCLE_NODE_INDEX", 0, Some("CIRCLE_NODE_TOTAL")),
    (
        "BUILDKITE_PARALLEL_JOB",
        0,
        Some("BUILDKITE_PARALLEL_JOB_COUNT"),
    ),
];

/// A shard as people ask for it: `3/8`; `auto/8` has its number from a variable that tells parallel jobs apart, and
/// `auto` the number of them as well.
///
/// # Errors
/// What is wrong with it, or with the variables.
pub fn parse_shard(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let Some(rest) = text.strip_prefix("auto") else {
        return text.parse();
    };
    let told = VARIABLES
        .iter()
        .find_map(|known| Some((known, variable(known.0)?)));
    let Some(((name, first, count), index)) = told else {
        let names: Vec<&str> = VARIABLES.iter().map(|(name, ..)| *name).collect();
        return Err(format!(
            "nothing says which shard this is: none of {} is set",
            names.join(", ")
        ));
    };
    let number = |name: &str, value: &str| {
        let wrong = || format!("{name} should be a whole number, and is `{value}`");
        value.parse::<u64>().map_err(|_| wrong())
    };
    let index = number(name, &index)?;
    let of = match rest.strip_prefix('/') {
        Some(of) => number("the number of shards", of)?,
        None if rest.is_empty() => {
            let told = count.and_then(|count| Some((count, variable(count)?)));
            let (count, of) = told.ok_or_else(|| {
                format!("{name} says which shard this is, and nothing how many there are: write `auto/8`")
            })?;
            number(count, &of)?
        }
        None => return Err("write `auto`, `auto/8` or `3/8`".to_owned()),
    };
    let number = index.checked_sub(*first).map_or(0, |index| index + 1);
    Shard::new(number, of).map_err(|why| format!("{name} is {index}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shard(text: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            let mut all = variables.iter();
            all.find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        parse_shard(text, &variable).map(|shard| shard.to_string())
    }

    #[test]
    fn variables_say_which_shard_it_is() {
        let is = |text: &str| Ok(text.to_owned());
        assert_eq!(shard("3/8", &[]), is("3/8"));
        assert_eq!(shard("auto/8", &[("JOB_COMPLETION_INDEX", "0")]), is("1/8"));
        let gitlab = [("CI_NODE_INDEX", "4"), ("CI_NODE_TOTAL", "4")];
        assert_eq!(shard("auto", &gitlab), is("4/4"));
        let circle = [("CIRCLE_NODE_INDEX", "3"), ("CIRCLE_NODE_TOTAL", "4")];
        assert_eq!(shard("auto", &circle), is("4/4"));
        for (text, variables, told) in [
            ("", &[][..], "write the third of eight shards as `3/8`"),
            ("0/8", &[], "there is no shard 0 of 8"),
            ("9/8", &[], "there is no shard 9 of 8"),
            ("auto", &[], "none of JOB_COMPLETION_INDEX"),
            ("auto", &[("JOB_COMPLETION_INDEX", "2")], "write `auto/8`"),
            (
                "auto/8",
                &[("JOB_COMPLETION_INDEX", "8")],
                "no shard 9 of 8",
            ),
            ("auto/8", &[("CI_NODE_INDEX", "0")], "no shard 0 of 8"),
            ("auto/8", &[("CI_NODE_INDEX", "x")], "and is `x`"),
            ("automatic", &[("CI_NODE_INDEX", "1")], "`auto/8` or `3/8`"),
        ] {
            let error = shard(text, variables).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn each_seed_is_in_one_shard(of in 1_u64..20, count in 0_u64..200) {
            let mut all: Vec<u64> = (1..=of)
                .map(|number| Shard::new(number, of).expect("it is one of them"))
                .flat_map(|shard| (0..shard.share(count)).map(move |own| shard.place(own)))
                .collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<u64>>());
        }
    }
}
