//! In which function a place in the sources is. The build lists the functions of the files that tell notes.

use std::panic::Location;

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// A function: the line at which it begins, its name, and upstream's where its comment opens with that.
type Function = (u32, &'static str, Option<&'static str>);

/// The function of a place, as upstream calls it, or else as it is called here.
pub(super) fn enclosing(place: &Location<'_>) -> Option<&'static str> {
    let at = FUNCTIONS.binary_search_by(|(file, _)| (*file).cmp(place.file()));
    let (_, functions) = FUNCTIONS[at.ok()?];
    let begun = functions.partition_point(|(line, ..)| *line <= place.line());
    let (_, name, upstream) = functions[begun.checked_sub(1)?];
    Some(upstream.unwrap_or(name))
}

/// The place itself, `sim/etcd/src/state.rs:12`, if it is in these sources.
pub(super) fn shown(place: &Location<'_>) -> Option<String> {
    let known = FUNCTIONS.binary_search_by(|(file, _)| (*file).cmp(place.file()));
    known
        .ok()
        .map(|_| format!("{}:{}", place.file(), place.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_knows_upstreams_names() {
        assert!(FUNCTIONS.is_sorted_by_key(|(file, _)| *file));
        let all = || FUNCTIONS.iter().flat_map(|(_, functions)| functions.iter());
        assert!(all().count() > 200);
        let names = |upstream: &str| all().any(|(.., own)| *own == Some(upstream));
        assert!(names("RemoveEndpoints") && names("tryAcquireOrRenew"));
        let here = Location::caller();
        assert_eq!((enclosing(here), shown(here)), (None, None));
    }
}
