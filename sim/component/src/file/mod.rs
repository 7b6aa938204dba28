//! How the text of a scenario file becomes values: `tree` keeps the YAML with its places, `read` reads types from it,
//! `gather` goes on after a mistake, `suggest` guesses what was meant. What a scenario says does not belong here.

pub mod gather;
pub mod path;
pub mod read;
pub mod suggest;
pub mod tree;
