//! A whole trace as a log with vector clocks, which ShiViz shows as a space-time diagram.
//!
//! A process is a host, and so is what comes from outside. An event takes in the clocks of all that it follows from, and
//! of the event before it at its host.

use std::collections::BTreeMap;

use super::history::History;

/// How ShiViz reads the log: the first line of the file. The second one, which would part several executions, is empty.
pub const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)";

/// How many events of each host an event knows of.
type Clock<'a> = BTreeMap<&'a str, u64>;

/// The whole trace.
///
/// # Panics
/// Never: a clock is JSON.
pub(super) fn shiviz(history: &History) -> String {
    let mut text = format!("{PARSER}\n\n");
    let mut clocks: Vec<Clock<'_>> = Vec::with_capacity(history.events.len());
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (event, happened) in history.events.iter().enumerate() {
        let host = happened.host();
        let before = history.causes.before(event).into_iter();
        let before = before.map(|(before, _)| before);
        let mut clock = Clock::new();
        for known in before.chain(last.get(host).copied()) {
            for (host, events) in &clocks[known] {
                let own = clock.entry(host).or_default();
                *own = (*own).max(*events);
            }
        }
        *clock.entry(host).or_default() += 1;
        let json = serde_json::to_string(&clock).expect("names and numbers");
        let label = history.label(event).replace(['\n', '\r'], " ");
        text += &format!("{host} {json}\n{:.6} s: {label}\n", happened.at.secs_f64());
        last.insert(host, event);
        clocks.push(clock);
    }
    text
}
