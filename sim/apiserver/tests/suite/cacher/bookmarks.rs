//! When bookmarks come, and of which revision.

use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};

use crate::cacher::lab::*;
use wavetank_engine::drive::Stepped;

fn for_a_while(seconds: u64) -> Vec<Ask> {
    let mut options = at(0);
    options.bookmarks = true;
    vec![Ask::Watch(&CONFIG_MAPS, "", options, Some(seconds))]
}

impl Lab {
    /// Bookmarks as they come, second by second.
    fn bookmarks(&mut self, seconds: u64) -> Vec<(u64, String)> {
        let mut seen = Vec::new();
        let mut before = self.received(0).len();
        for second in 1..=seconds {
            self.run(1.0);
            let told = self.received(0);
            let new = told[before..].iter().cloned();
            seen.extend(new.map(|what| (second, what)));
            before = told.len();
        }
        seen
    }
}

#[test]
fn v1_16_sends_one_before_the_end() {
    let mut lab = Plan::of(V1_16, for_a_while(30)).start();
    lab.follow(0);
    lab.put("a");
    let all = lab.bookmarks(60);
    assert_eq!(all, [(28, "BOOKMARK 2".to_owned())]);
}

#[test]
fn later_releases_send_one_every_minute_and_one_before_the_end() {
    for release in [V1_20, V1_36] {
        let mut lab = Plan::of(release, for_a_while(150)).start();
        lab.follow(0);
        lab.put("a");
        let all = lab.bookmarks(200);
        let expected = [60, 120, 148].map(|at| (at, "BOOKMARK 2".to_owned()));
        assert_eq!(all, expected, "{release}");
    }
}

#[test]
fn one_of_the_revision_of_the_beginning_is_left_out() {
    for release in VERSIONS {
        let mut lab = Plan::of(release, for_a_while(150)).start();
        lab.put("a");
        lab.follow(0);
        assert!(lab.bookmarks(200).is_empty(), "{release}");
    }
}

#[test]
fn before_the_first_event_v1_20_forgets_who_is_due() {
    for release in [V1_20, V1_36] {
        let mut lab = Plan::of(release, for_a_while(600)).start();
        lab.follow(0);
        lab.run(61.0);
        lab.put("a");
        let all = lab.bookmarks(130);
        match release {
            V1_36 => assert_eq!(all.len(), 2, "{all:?}"),
            _ => assert!(all.is_empty(), "{all:?}"),
        }
    }
}
