//! Bookmarks of a watch that goes on. A server sends one about once a second, and when it knows that a revision is over: where
//! they come between events is a matter of time.

use serde_json::Value as Json;

use crate::Unequal;

/// Takes the bookmarks away from what was recorded and from what was simulated, and tells them, if they are not the same
/// ones and each is where it may be: after all that its revision covers, and before all else. `fill` says what a recorded
/// revision is here.
pub(crate) fn set_aside(
    recorded: &mut Vec<Json>,
    simulated: &mut Vec<Json>,
    fill: impl Fn(&Json) -> Json,
) -> Option<Unequal> {
    let told = revisions(recorded, &fill);
    let said = revisions(simulated, Json::clone);
    let plain = |events: &[Json], revisions: &[Option<u64>]| {
        let all = events.iter().zip(revisions).enumerate();
        let plain = all.filter(|(_, (event, _))| is_plain(event));
        plain
            .map(|(at, (_, revision))| (at, *revision))
            .collect::<Vec<_>>()
    };
    let same = plain(recorded, &told) == plain(simulated, &said);
    if same || !are_in_place(recorded, &told) || !are_in_place(simulated, &said) {
        return None;
    }
    let take = |events: &mut Vec<Json>| {
        let taken: Vec<Json> = events.extract_if(.., |event| is_plain(event)).collect();
        Json::from(taken).to_string()
    };
    Some(Unequal {
        at: "events, but for bookmarks".to_owned(),
        recorded: take(recorded),
        simulated: take(simulated),
    })
}

/// A bookmark that does not end the initial events.
fn is_plain(event: &Json) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"].get("annotations").is_none()
}

/// As of which revision each is, where that is known.
fn revisions(events: &[Json], fill: impl Fn(&Json) -> Json) -> Vec<Option<u64>> {
    let revision = |event: &Json| fill(&event["object"]["metadata"]["resourceVersion"]);
    let numbers = events.iter().map(revision);
    numbers
        .map(|revision| revision.as_str()?.parse().ok())
        .collect()
}

/// Is each bookmark where it may be? One of a revision that nothing else tells of may only be the last.
fn are_in_place(events: &[Json], revisions: &[Option<u64>]) -> bool {
    (0..events.len())
        .filter(|at| is_plain(&events[*at]))
        .all(|at| {
            let (before, after) = (&revisions[..at], &revisions[at + 1..]);
            let Some(own) = revisions[at] else {
                return after.is_empty();
            };
            let mut later = after.iter().zip(&events[at + 1..]);
            let is_later =
                |revision: u64, event| revision > own || revision == own && is_plain(event);
            before.iter().flatten().all(|revision| *revision <= own)
                && later.all(|(revision, event)| revision.is_none_or(|own| is_later(own, event)))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, revision: &str) -> Json {
        json!({"type": kind, "object": {"metadata": {"resourceVersion": revision}}})
    }

    /// Recorded revisions are `r7`; `?` is one that nothing tells of.
    fn left(recorded: &[(&str, &str)], simulated: &[(&str, &str)]) -> Option<(usize, usize)> {
        let events = |all: &[(&str, &str)]| {
            let all = all.iter().map(|(kind, revision)| event(kind, revision));
            all.collect::<Vec<_>>()
        };
        let (mut recorded, mut simulated) = (events(recorded), events(simulated));
        let fill = |text: &Json| {
            text.as_str()
                .unwrap_or_default()
                .trim_start_matches('r')
                .into()
        };
        set_aside(&mut recorded, &mut simulated, fill)?;
        Some((recorded.len(), simulated.len()))
    }

    const ADDED: (&str, &str) = ("ADDED", "r3");
    const GONE: (&str, &str) = ("DELETED", "r7");
    const HERE: [(&str, &str); 2] = [("ADDED", "3"), ("DELETED", "7")];

    #[test]
    fn bookmarks_come_where_they_may() {
        assert_eq!(left(&[ADDED, GONE], &HERE), None, "there are none");
        for revision in ["r3", "r5", "r6"] {
            let between = [ADDED, ("BOOKMARK", revision), GONE];
            assert_eq!(left(&between, &HERE), Some((2, 2)), "{revision}");
        }
        for last in ["r7", "r9", "?"] {
            assert_eq!(
                left(&[ADDED, GONE, ("BOOKMARK", last)], &HERE),
                Some((2, 2))
            );
        }
        let simulated = [HERE[0], ("BOOKMARK", "5"), HERE[1]];
        assert_eq!(
            left(&[ADDED, ("BOOKMARK", "r5"), GONE], &simulated),
            None,
            "the same"
        );
        assert_eq!(
            left(&[ADDED, ("BOOKMARK", "r4"), GONE], &simulated),
            Some((2, 2))
        );
        assert_eq!(left(&[ADDED, GONE], &simulated), Some((2, 2)));
    }

    #[test]
    fn elsewhere_they_differ() {
        for revision in ["r2", "r7", "r8", "?"] {
            let between = [ADDED, ("BOOKMARK", revision), GONE];
            assert_eq!(left(&between, &HERE), None, "{revision}");
        }
        assert_eq!(left(&[ADDED, GONE, ("BOOKMARK", "r6")], &HERE), None);
        let simulated = [HERE[0], ("BOOKMARK", "8"), HERE[1]];
        assert_eq!(left(&[ADDED, GONE], &simulated), None);
    }
}
