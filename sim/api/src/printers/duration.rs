//! How long something has been so, as people read it (`apimachinery/pkg/util/duration/duration.go`).

use crate::json::{self, Json};
use crate::times::Stamp;

const UNKNOWN: &str = "<unknown>";

/// `HumanDuration`, of nanoseconds.
pub(super) fn human_duration(nanos: i128) -> String {
    let seconds = (nanos / 1_000_000_000) as i64;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let with = |whole: i64, unit: char, part: i64, of: char| match part {
        0 => format!("{whole}{unit}"),
        part => format!("{whole}{unit}{part}{of}"),
    };
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => with(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => with(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => with(hours / 24, 'd', hours % 24, 'h'),
        () if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        () if hours < 24 * 365 * 8 => with(hours / 24 / 365, 'y', (hours / 24) % 365, 'd'),
        () => format!("{}y", hours / 24 / 365),
    }
}

/// Upstream's `translateTimestampSince`
pub(crate) fn since(instant: &str, now: Stamp) -> String {
    match Stamp::parse(instant) {
        Some(then) => human_duration(now.nanos() - then.nanos()),
        None => UNKNOWN.to_owned(),
    }
}

/// The age of an object.
pub(super) fn age(object: &Json, now: Stamp) -> Json {
    since(json::text(object, &["metadata", "creationTimestamp"]), now).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        let human = |seconds: i64| human_duration(i128::from(seconds) * 1_000_000_000);
        let day = 24 * 3600;
        for (seconds, shown) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 60, "3h1m"),
            (8 * 3600 + 60, "8h"),
            (2 * day, "2d"),
            (2 * day + 3600, "2d1h"),
            (8 * day + 3600, "8d"),
            (2 * 365 * day + day, "2y1d"),
            (8 * 365 * day + day, "8y"),
        ] {
            assert_eq!(human(seconds), shown);
        }
    }
}
