//! From a sequence in which two sides differ to the smallest one.
//!
//! First whole stretches are cut out (relative revisions keep the rest meaningful), then proptest
//! makes each operation that is left simpler. Each attempt runs on fresh sides.

use proptest::strategy::ValueTree;

use crate::cut::cut;
use crate::etcd::op::Op;
use crate::etcd::run::{Differ, Sequence};

/// An operation that proptest can make simpler.
pub(crate) type Tree = Box<dyn ValueTree<Value = Op>>;

/// How often simpler operations are tried; cutting needs no bound.
const ATTEMPTS: usize = 100;

/// The smallest sequence found, and its difference. `differs` runs one.
pub(crate) fn shrink(
    mut trees: Vec<Tree>,
    rhythm: usize,
    first: Differ,
    differs: impl FnMut(&Sequence) -> Option<Differ>,
) -> (Sequence, Differ) {
    // Nothing after the difference matters, but for the rest that showed it.
    trees.truncate(first.at + 1);
    let ops = trees.iter().map(|tree| tree.current()).collect();
    let best = (Sequence { rhythm, ops }, first);
    let mut search = Search {
        trees,
        rhythm: 1,
        best,
        differs,
    };
    // With a rest after each operation the difference is laid to the one that caused it.
    match search.attempt(search.ops()) {
        Some(at) => search.trees.truncate(at + 1),
        None => search.rhythm = rhythm,
    }
    search.cut();
    search.simplify();
    // What is simpler may need less.
    search.cut();
    search.best
}

struct Search<D> {
    trees: Vec<Tree>,
    rhythm: usize,
    best: (Sequence, Differ),
    differs: D,
}

impl<D: FnMut(&Sequence) -> Option<Differ>> Search<D> {
    fn ops(&self) -> Vec<Op> {
        self.trees.iter().map(|tree| tree.current()).collect()
    }

    /// At which operation these differ, if they do.
    fn attempt(&mut self, ops: Vec<Op>) -> Option<usize> {
        let mut sequence = Sequence {
            rhythm: self.rhythm,
            ops,
        };
        let differ = (self.differs)(&sequence)?;
        let at = differ.at;
        sequence.ops.truncate(at + 1);
        self.best = (sequence, differ);
        Some(at)
    }

    /// Cuts out stretches.
    fn cut(&mut self) {
        let all = (0..self.trees.len()).collect();
        let left = cut(all, |left| {
            let ops = left.iter().map(|at| self.trees[*at].current());
            self.attempt(ops.collect()).map(|at| at + 1)
        });
        let mut at = 0;
        self.trees.retain(|_| {
            at += 1;
            left.contains(&(at - 1))
        });
    }

    /// Makes each operation simpler as long as the last one still shows a difference.
    fn simplify(&mut self) {
        let mut attempts = ATTEMPTS;
        for index in 0..self.trees.len() {
            let mut moved = self.trees[index].simplify();
            while moved && attempts > 0 {
                attempts -= 1;
                let at = self.attempt(self.ops());
                moved = if at.is_some_and(|at| at + 1 == self.trees.len()) {
                    self.trees[index].simplify()
                } else {
                    self.trees[index].complicate()
                };
            }
            // Out of attempts it may be at something that does not differ: back to what does.
            while moved && self.trees[index].complicate() {}
        }
    }
}
