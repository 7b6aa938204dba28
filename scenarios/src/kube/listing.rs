//! What there is to choose from, in one line each: properties, defects, releases.

use wavetank_cluster::{Components, Named};
use wavetank_releases::Release;
use wavetank_version::{Composition, Defect, EtcdVersion};

use crate::catalogue::Listed;
use crate::file::Scenario;

/// All components.
pub(super) fn components(components: &Components) -> Vec<Listed> {
    let all = components.iter();
    all.map(|own| Listed::new(own.name(), own.about()))
        .collect()
}

/// All properties.
pub(super) fn properties(components: &Components) -> Vec<Listed> {
    let listed = |Named { info, .. }: &Named| {
        let class = if info.is_sometimes() {
            "sometimes: "
        } else {
            ""
        };
        Listed::new(info.name, format!("{class}{}", info.about))
    };
    components.properties().iter().map(listed).collect()
}

/// A defect or a fix, and what shipped with it.
pub(super) fn defect(defect: &Defect) -> Listed {
    let releases = Release::TABLE.iter();
    let with_it = releases.filter(|release| defect.ships_with(release.version));
    let mut ships: Vec<String> = with_it.map(|release| release.name.to_owned()).collect();
    ships.extend(
        defect
            .etcd_lines()
            .iter()
            .map(|line| format!("etcd {line}")),
    );
    let ships = match ships.is_empty() {
        true => String::new(),
        false => format!(", shipped with {}", ships.join(", ")),
    };
    let about = format!("{} ({}{ships})", defect.about, defect.source);
    Listed::new(defect.name, about)
}

/// A release of etcd.
pub(super) fn etcd(components: &Components, release: EtcdVersion) -> Listed {
    let bugs = components.selection(&Composition::default(), release);
    let bugs = bugs.iter().count();
    let under: Vec<&str> = Release::TABLE
        .iter()
        .filter(|kubernetes| kubernetes.etcd == release)
        .map(|kubernetes| kubernetes.name)
        .collect();
    let under = match under.is_empty() {
        true => String::new(),
        false => format!("; under Kubernetes {}", under.join(" and ")),
    };
    Listed::new(
        release.to_string(),
        format!("etcd, with {bugs} of the known bugs{under}"),
    )
}

/// A scenario or scope, by the first sentence of what it is about.
pub(super) fn scenario(scenario: &Scenario) -> Listed {
    Listed::new(&scenario.name, first_sentence(&scenario.about))
}

/// Until a full stop or a colon after which something else begins: `1.9` and `10.0.0.1` are in one sentence.
fn first_sentence(text: &str) -> String {
    let ends = |(at, c): &(usize, char)| {
        let rest = &text[at + c.len_utf8()..];
        ".:".contains(*c) && rest.chars().next().is_none_or(char::is_whitespace)
    };
    let end = text
        .char_indices()
        .find(ends)
        .map_or(text.len(), |(at, _)| at);
    let words: Vec<&str> = text[..end].split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_with_its_full_stop() {
        let text = "As until 1.9,\nwithout leases: each. And more.";
        assert_eq!(first_sentence(text), "As until 1.9, without leases");
        assert_eq!(first_sentence("One. Two."), "One");
        assert_eq!(first_sentence("No end"), "No end");
    }
}
