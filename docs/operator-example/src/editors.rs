use wavetank::operator;
use wavetank::prelude::*;

use crate::operator::WEBSITES;

const EDITORS: &str = "editors";
/// So many websites there are.
const WEBSITES_EDITED: u64 = 20;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Person;

impl Act for Person {
    const COMMANDS: &'static [&'static str] = &["edit"];

    /// Reads one of the websites, and writes it with another title; the first creates it.
    async fn act(&self, cx: &Context, _: &str, _: &Json) {
        let spec = |edit: i64| json!({"edit": edit, "title": format!("Edition {edit}")});
        let name = format!("shop{}", cx.rx.choose(WEBSITES_EDITED).await);
        let _ = match cx.get(&WEBSITES, &format!("default/{name}")).await {
            Ok(website) => {
                let mut website = website.json();
                let edit = json::number(&website, &["spec", "edit"]).unwrap_or(0);
                website["spec"] = spec(edit + 1);
                cx.update(&WEBSITES, website).await
            }
            Err(error) if error.is(Reason::NotFound) => {
                let metadata = json!({"namespace": "default", "name": name});
                cx.create(&WEBSITES, json!({"metadata": metadata, "spec": spec(1)}))
                    .await
            }
            Err(error) => Err(error),
        };
    }
}

/// People who edit a website.
pub struct Editors;

impl Component for Editors {
    fn name(&self) -> &'static str {
        EDITORS
    }

    fn about(&self) -> &'static str {
        "people who edit a Website"
    }

    fn replicas(&self) -> Option<Replicas> {
        Some(Replicas::counted(EDITORS, "p", "The number of editors."))
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(EDITORS) > 0,
            lacking: "there is nobody to edit",
            add: "`editors: 1` to `topology`",
        };
        vec![Load::command(
            "edit",
            "edit",
            "Each editor edits one of the websites.",
            need,
        )]
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        operator::actors(EDITORS, setup, wiring, &Person);
    }
}
