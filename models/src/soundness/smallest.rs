//! Worlds by their numbers, and the smallest one in which the two searches still disagree.

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::compare::compare;
use super::description::Description;
use super::findings::{Compared, Disagreement, Kind};
use super::strategy;

/// So many smaller worlds are tried.
const ATTEMPTS: u32 = 3000;

/// Draws worlds. Each is a function of its number and of the build.
#[derive(Debug, Default)]
pub struct Worlds(());

/// A world in which the two disagree, as small as could be found.
#[derive(Clone, Debug)]
pub struct Smallest {
    /// The number of the world that was drawn.
    pub number: u64,
    /// The smallest.
    pub description: Description,
    /// How they disagree on it.
    pub disagreement: Disagreement,
}

impl Worlds {
    /// The world of this number.
    pub fn draw(&self, number: u64) -> Description {
        tree(number).current()
    }

    /// Searches the world of this number both ways: see [`compare`].
    pub fn compare(&self, number: u64) -> Option<Compared> {
        compare(&self.draw(number))
    }

    /// The smallest world that disagrees in the same way.
    pub fn smallest(&self, number: u64, disagreement: &Disagreement) -> Smallest {
        let mut tree = tree(number);
        let mut best = Smallest {
            number,
            description: tree.current(),
            disagreement: disagreement.clone(),
        };
        let mut moved = tree.simplify();
        for _ in 0..ATTEMPTS {
            if !moved {
                break;
            }
            let description = tree.current();
            moved = match disagreement_of(&description, disagreement.kind) {
                Some(disagreement) => {
                    best = Smallest {
                        number,
                        description,
                        disagreement,
                    };
                    tree.simplify()
                }
                None => tree.complicate(),
            };
        }
        best
    }
}

fn disagreement_of(description: &Description, kind: Kind) -> Option<Disagreement> {
    let compared: Compared = compare(description)?;
    compared
        .disagreements
        .into_iter()
        .find(|found| found.kind == kind)
}

fn tree(number: u64) -> Box<dyn ValueTree<Value = Description>> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy: BoxedStrategy<Description> = strategy::of(number);
    strategy
        .new_tree(&mut runner)
        .expect("no strategy here rejects anything")
}
