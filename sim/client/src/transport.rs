//! The transports of Kubernetes' clients: what a connection to an apiserver is like. Who connects, and with what
//! request, does not belong here.

use std::sync::OnceLock;
use std::time::Duration;

use wavetank_engine::{Keepalive, Name, Transport};
use wavetank_version::Version;

use crate::gates;

/// Events of a stream that may be under way: Go's client lets 4 MB come (`transportDefaultStreamFlow`).
const WINDOW: u32 = 1024;

/// client-go's health check: read idle 30 s, ping 15 s (`apimachinery/pkg/util/net/http.go`).
const HEALTH_CHECK: Keepalive = Keepalive {
    after: Duration::from_secs(30),
    limit: Duration::from_secs(15),
    idle: true,
};

/// How whoever has no client of client-go's own reaches an apiserver: HTTP/2 with the same health check.
pub static HTTPS: Transport = Transport {
    name: Name::new("https"),
    dial_timeout: Duration::from_secs(30),
    keepalive: Some(HEALTH_CHECK),
    window: None,
};

/// The loopback client of a server: HTTP/2 to its own listener (`apiserver/pkg/server/config_selfclient.go`). Its
/// health check is left out: on the loopback interface nothing is ever lost.
pub(crate) static LOOPBACK: Transport = Transport {
    name: Name::new("loopback"),
    dial_timeout: Duration::from_secs(30),
    keepalive: None,
    window: None,
};

/// HTTP/2 with a health check, from v1.20 on.
static CHECKED: Transport = Transport {
    name: Name::new("https"),
    dial_timeout: Duration::from_secs(30),
    keepalive: Some(HEALTH_CHECK),
    window: Some(WINDOW),
};

/// Before, there was only TCP's: a probe every 30 s, nine without an answer. A probe that is answered does
/// not count, so it is only the last that is sent here.
static UNCHECKED: Transport = Transport {
    name: Name::new("https"),
    dial_timeout: Duration::from_secs(30),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(270),
        limit: Duration::from_secs(30),
        idle: true,
    }),
    window: Some(WINDOW),
};

/// So many windows there may be in one program.
const MOST: usize = 64;
/// The transports with another window, in the order in which they were first asked for: nothing depends on it.
static WITH_WINDOW: [OnceLock<[Transport; 2]>; MOST] = [const { OnceLock::new() }; MOST];

/// The transport of client-go's client of this release, with its window or with another one.
///
/// # Panics
/// If more than 64 windows are asked for in one program.
pub(crate) fn of_release(release: Version, window: Option<u32>) -> &'static Transport {
    let is_checked = release.has(gates::HTTP2_IS_CHECKED);
    let Some(window) = window else {
        return match is_checked {
            true => &CHECKED,
            false => &UNCHECKED,
        };
    };
    let window = Some(window);
    let make = || {
        [
            Transport {
                window,
                ..UNCHECKED
            },
            Transport { window, ..CHECKED },
        ]
    };
    let mut all = WITH_WINDOW.iter().map(|place| place.get_or_init(make));
    let found = all.find(|both| both[0].window == window);
    &found.expect("no program has so many windows")[usize::from(is_checked)]
}
