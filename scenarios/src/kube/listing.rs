//! What there is to choose from, in one line each: properties, defects, releases.

use wavetank_cluster::{Components, Named};
use wavetank_release::{EtcdRelease, Release, SwitchInfo, Switches};

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
    let listed = |Named { info, .. }: Named| {
        let class = if info.is_sometimes() {
            "sometimes: "
        } else {
            ""
        };
        Listed::new(info.name, format!("{class}{}", info.about))
    };
    components.properties().into_iter().map(listed).collect()
}

/// A defect or a fix, and what shipped with it.
pub(super) fn defect(info: &SwitchInfo) -> Listed {
    let mut ships: Vec<String> = info.ships.iter().map(ToString::to_string).collect();
    ships.extend(info.etcd.iter().map(|line| format!("etcd {line}")));
    let ships = match ships.is_empty() {
        true => String::new(),
        false => format!(", shipped with {}", ships.join(", ")),
    };
    let about = format!("{} ({}{ships})", info.about, info.source);
    Listed::new(info.name, about)
}

/// A release of etcd.
pub(super) fn etcd(release: EtcdRelease) -> Listed {
    let bugs = Switches::of_etcd(release).iter().count();
    let under: Vec<&str> = Release::ALL
        .into_iter()
        .filter(|kubernetes| kubernetes.etcd() == release)
        .map(Release::name)
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
    let first = scenario.about.split(['.', ':']).next().unwrap_or_default();
    Listed::new(&scenario.name, first.replace('\n', " "))
}
