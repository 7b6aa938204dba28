//! Equality, hash and copy are derived, so that no field of a state is forgotten in one of them: two worlds that differ in
//! it would be one to a search. Where they are written by hand, the line above says why.

use std::fs;

use crate::support::{root, sources};

/// What is no state of a world or has its own tests of this: the engine compares cached with uncached digests.
const ELSEWHERE: &str = "sim/engine/";

#[test]
fn what_is_compared_or_hashed_by_hand_says_why() {
    let root = root();
    let mut all = Vec::new();
    for folder in ["sim", "scenarios/src"] {
        sources(&root.join(folder), &mut all);
    }
    let (mut reasons, mut without) = (0, Vec::new());
    for path in all {
        let path = path.strip_prefix(&root).expect("it is below the root");
        if path.starts_with(ELSEWHERE) {
            continue;
        }
        let text = fs::read_to_string(root.join(path)).expect("it is text");
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2) {
            let traits = [" Hash for ", " PartialEq for ", " Clone for "];
            let is_by_hand =
                pair[1].starts_with("impl") && traits.iter().any(|name| pair[1].contains(name));
            match is_by_hand {
                true if pair[0].starts_with("/// By hand") => reasons += 1,
                true => without.push(format!("{}: {}", path.display(), pair[1])),
                false => {}
            }
        }
    }
    assert!(
        without.is_empty(),
        "derive it, perhaps with `NotState`, or say why not in a line `/// By hand: …`:\n{}",
        without.join("\n")
    );
    assert!(reasons >= 10, "{reasons}");
}
