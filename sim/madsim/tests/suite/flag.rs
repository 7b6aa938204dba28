//! Without the flag this crate is empty, and so would its tests be: green, and of no use.

#[test]
#[allow(
    clippy::assertions_on_constants,
    reason = "it is the build that is tested"
)]
fn the_flag_of_madsim_is_set() {
    assert!(
        cfg!(madsim),
        "`--cfg madsim` is missing, so that nothing of wavetank-madsim was built or tested. `.cargo/config.toml` sets it; a \
         RUSTFLAGS (or CARGO_ENCODED_RUSTFLAGS) of the environment replaces what is set there: unset it, or add \
         `--cfg madsim` to it."
    );
}
