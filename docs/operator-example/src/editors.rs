use wavetank::prelude::*;

use crate::operator::WEBSITES;

/// So many websites there are.
const WEBSITES_EDITED: u64 = 20;

/// Who edits websites: each edit has a number and a title.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Editor;

impl Act for Editor {
    const REPLICAS: &'static str = "editors";
    const COMMANDS: &'static [(&'static str, &'static str)] =
        &[("edit", "Each editor edits one of the websites.")];

    async fn act(&self, cx: &Context, _: &str, _: &Json) {
        let website = format!("default/shop{}", cx.rx.choose(WEBSITES_EDITED).await);
        let edited = cx.create_or_update(&WEBSITES, &website, |website| {
            let edit = json::number(website, &["spec", "edit"]).unwrap_or(0) + 1;
            website["spec"] = json!({"edit": edit, "title": format!("Edition {edit}")});
        });
        // Whether it succeeds or not, the next edit goes on from what is there.
        let _ = edited.await;
    }
}

pub fn editors() -> impl Component {
    Actors::new("pe", "people who edit a Website", Editor)
}
