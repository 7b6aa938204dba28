//! The JSON schema beside the scenarios is the one of the types, and the scenarios refer to it.

use std::fs;
use std::path::Path;

use wavetank::catalogue::Catalogue as _;
use wavetank::kube::Kube;

#[test]
fn the_schema_beside_the_scenarios_is_that_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stored = fs::read_to_string(folder.join("scenario.schema.json")).expect("it is there");
    assert!(
        stored.trim_end() == Kube::default().schema().trim_end(),
        "scenarios/scenario.schema.json is out of date: \
         cargo run -- schema > scenarios/scenario.schema.json"
    );
}

#[test]
fn every_bundled_scenario_tells_an_editor_where_its_schema_is() {
    let entries = fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("the folder of scenarios");
    let mut scenarios = 0;
    for entry in entries {
        let path = entry.expect("it can be listed").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let text = fs::read_to_string(&path).expect("it can be read");
            let line = "# yaml-language-server: $schema=scenario.schema.json\n";
            assert!(text.starts_with(line), "{}", path.display());
            scenarios += 1;
        }
    }
    assert_eq!(scenarios, Kube::default().bundled().len());
}
