//! Notes and keys in words, for stories.

pub use wavetank_engine::drive::story::Description;

/// What is stored under a key, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The value in a few words; without them its fields are told.
    pub text: Option<String>,
    /// What it is about, besides its key.
    pub about: Vec<String>,
}
