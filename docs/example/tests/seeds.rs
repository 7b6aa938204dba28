//! What a project adds to its tests: one line for each case.

use wavetank_example::Vaults;

wavetank::seeds!(writes_are_fenced, Vaults::default(), 0..32);
