//! What a misspelt name is taken for.

use wavetank_component::file::suggest::nearest;

const KNOWN: [&str; 3] = [
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "job-controller",
];

#[test]
fn a_misspelt_word_is_near_and_one_of_the_same_parts_is_meant() {
    let near = |word| nearest(word, &KNOWN);
    assert_eq!(near("jobs-controller"), Some(KNOWN[2]));
    assert_eq!(near("persistentvolume-binder"), Some(KNOWN[0]));
    assert_eq!(near("pv-binder-controller"), Some(KNOWN[0]));
}

#[test]
fn what_several_have_as_much_of_or_too_little_is_no_guess() {
    assert_eq!(nearest("controller-persistentvolume", &KNOWN), None);
    assert_eq!(nearest("controller-of-what-binds-volumes", &KNOWN), None);
}
