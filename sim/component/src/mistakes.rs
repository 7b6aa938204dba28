//! What is wrong with a scenario that types cannot say.

use crate::file::path::Path;
use crate::file::tree::Focus;
use crate::part::Section;

/// Something that makes no sense, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub path: Path,
    /// Is it the key that is wrong, or its value?
    pub focus: Focus,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// All that makes no sense.
#[derive(Debug, Default)]
pub struct Mistakes(Vec<Finding>);

impl Mistakes {
    /// A key should not be there.
    pub fn key(
        &mut self,
        section: Section,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.at(Path::of(section.key()).key(key), Focus::Key, message, help);
    }

    /// A value should be another.
    pub fn value(
        &mut self,
        section: Section,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.at(
            Path::of(section.key()).key(key),
            Focus::Value,
            message,
            help,
        );
    }

    /// Something at a path.
    pub fn at(
        &mut self,
        path: Path,
        focus: Focus,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, help) = (message.into(), help.into());
        self.0.push(Finding {
            path,
            focus,
            message,
            help,
        });
    }

    /// More of them.
    pub fn extend(&mut self, more: Mistakes) {
        self.0.extend(more.0);
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// They.
    pub fn found(self) -> Vec<Finding> {
        self.0
    }
}
