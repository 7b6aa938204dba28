mod forms;
mod mistakes;
mod round_trip;
mod scenes;
mod suggestions;

use wavetank_cluster::Components;

use super::{Report, Scenario, parse};

/// The whole format in one file.
const FULL: &str = include_str!("full.yaml");

fn read(text: &str) -> Result<Scenario, Report> {
    parse("scenarios/full.yaml", text, &Components::default())
}

/// Compares with a snapshot beside all others of the workspace.
fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../snapshots/scenario-file"
    ));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
