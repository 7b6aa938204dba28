//! The operators in a storm.

use shop_operator::correct;

use crate::cluster;

wavetank_host::wavetank::seeds!(
    the_correct_operator_is_clean,
    cluster::command(correct::run).fixed("tests/shops.yaml"),
    0..20
);
