//! Where in a scenario something is: `plan[0].at`.

use std::fmt::{self, Display};

/// One step down from a mapping or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the value of a key.
    Key(String),
    /// To an item of a list.
    Item(usize),
}

/// The steps from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The path of a key of the whole scenario.
    pub fn of(key: &str) -> Self {
        Self::default().key(key)
    }

    /// One step further, to a key.
    pub fn key(mut self, key: &str) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// One step further, to an item.
    pub fn item(mut self, index: usize) -> Self {
        self.0.push(Step::Item(index));
        self
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (n, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if n == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
