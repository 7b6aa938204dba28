use std::collections::{BTreeMap, BTreeSet};

use wavetank::prelude::*;

use crate::operator::{LABEL, NEEDED, WEBSITES};

pub fn all() -> Vec<PropertyInfo> {
    let one = "a website has one page at most";
    let spec = "what people ask of a website is not undone";
    vec![
        PropertyInfo::new("one-page-each", one, NEEDED, |_| {
            Box::new(OnePageEach::default())
        }),
        PropertyInfo::new("spec-is-kept", spec, NEEDED, |_| {
            always("spec-is-kept", spec_is_kept)
        }),
    ]
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct OnePageEach {
    pages: BTreeMap<String, BTreeSet<String>>,
}

impl Property for OnePageEach {
    fn name(&self) -> &'static str {
        "one-page-each"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        let mut check = Check::Idle;
        for Written { before, now } in written(note, &kinds::CONFIG_MAPS) {
            let Some(page) = now.or(before) else { continue };
            let website = json::text(page.json(), &["metadata", "labels", LABEL]);
            if website.is_empty() {
                continue;
            }
            let pages = self.pages.entry(website.to_owned()).or_default();
            match now {
                Some(page) => pages.insert(page.name().to_owned()),
                None => pages.remove(page.name()),
            };
            if pages.len() > 1 {
                let message = format!("{website} has {} pages", pages.len());
                return violated("Website", website, message);
            }
            check = Check::Held;
        }
        check
    }
}

/// People only count up.
fn spec_is_kept(_: &World, note: &Note) -> Check {
    let edit = |website: &Object| json::number(website.json(), &["spec", "edit"]);
    let mut check = Check::Idle;
    for website in written(note, &WEBSITES) {
        let (Some(before), Some(now)) = (website.before, website.now) else {
            continue;
        };
        if edit(now) < edit(before) {
            let (was, is) = (edit(before).unwrap_or(0), edit(now).unwrap_or(0));
            let message = format!("{} was at edit {was} and is at {is} again", now.name());
            return violated("Website", now.name(), message);
        }
        check = Check::Held;
    }
    check
}
