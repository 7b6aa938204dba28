//! The transports of Kubernetes' clients: what a connection to an apiserver is like. Who connects, and with what
//! request, does not belong here.

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

/// The transport of client-go's client of this release.
pub(crate) fn of_release(release: Version) -> &'static Transport {
    match release.has(gates::HTTP2_IS_CHECKED) {
        true => &CHECKED,
        false => &UNCHECKED,
    }
}
