//! The operators in a storm.

mod cluster;

use shop_operator::correct;

wavetank_host::wavetank::seeds!(
    the_correct_operator_is_clean,
    cluster::command(correct::run).fixed("tests/shops.yaml"),
    0..20
);
