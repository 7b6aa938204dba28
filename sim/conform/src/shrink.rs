//! From a sequence in which two sides differ to the smallest one.
//!
//! First whole stretches are cut out (relative revisions keep the rest meaningful), then proptest
//! makes each operation that is left simpler. Each attempt runs on fresh sides.

use proptest::strategy::ValueTree;

use crate::op::Op;
use crate::run::{Differ, Sequence};

/// An operation that proptest can make simpler.
pub(crate) type Tree = Box<dyn ValueTree<Value = Op>>;

/// How often simpler operations are tried; cutting needs no bound.
const ATTEMPTS: usize = 300;

/// The smallest sequence found, and its difference. `differs` runs one.
pub(crate) fn shrink(
    mut trees: Vec<Tree>,
    rhythm: usize,
    first: Differ,
    mut differs: impl FnMut(&Sequence) -> Option<Differ>,
) -> (Sequence, Differ) {
    let mut best = first;
    let mut rhythm = rhythm;
    // Nothing after the difference matters, but for the rest that showed it.
    trees.truncate(best.at + 1);
    let ops = |trees: &[Tree]| trees.iter().map(|tree| tree.current()).collect::<Vec<Op>>();
    // With a rest after each operation it is laid to the one that caused it.
    if let Some(differ) = differs(&Sequence { rhythm: 1, ops: ops(&trees) }) {
        rhythm = 1;
        trees.truncate(differ.at + 1);
        best = differ;
    }
    let mut size = trees.len().div_ceil(2);
    while size > 0 && !trees.is_empty() {
        let mut cut = false;
        let mut end = trees.len();
        while end > 0 {
            let begin = end.saturating_sub(size);
            let mut left = ops(&trees);
            left.drain(begin..end);
            if let Some(differ) = differs(&Sequence { rhythm, ops: left }) {
                trees.drain(begin..end);
                trees.truncate(differ.at + 1);
                best = differ;
                cut = true;
            }
            end = begin.min(trees.len());
        }
        // A cut may make others possible that were not before.
        size = if size > 1 { size / 2 } else { usize::from(cut) };
    }
    let mut attempts = ATTEMPTS;
    for index in 0..trees.len() {
        while attempts > 0 && trees.get_mut(index).is_some_and(|tree| tree.simplify()) {
            attempts -= 1;
            let differ = differs(&Sequence { rhythm, ops: ops(&trees) });
            match differ.filter(|differ| differ.at + 1 == trees.len()) {
                Some(differ) => best = differ,
                None => {
                    // `complicate` goes one step back towards what still differed.
                    while !reproduces(&ops(&trees), rhythm, &mut differs, &mut best, &mut attempts)
                        && trees[index].complicate()
                    {}
                    break;
                }
            }
        }
    }
    (Sequence { rhythm, ops: ops(&trees) }, best)
}

/// Does it differ at its end?
fn reproduces(
    ops: &[Op],
    rhythm: usize,
    differs: &mut impl FnMut(&Sequence) -> Option<Differ>,
    best: &mut Differ,
    attempts: &mut usize,
) -> bool {
    *attempts = attempts.saturating_sub(1);
    let found = differs(&Sequence { rhythm, ops: ops.to_vec() });
    let found = found.filter(|differ| differ.at + 1 == ops.len());
    let yes = found.is_some();
    if let Some(differ) = found {
        *best = differ;
    }
    yes
}
