//! The etcd of a scenario: its release, and how much a member holds.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wavetank_releases::etcd as known;
use wavetank_version::EtcdVersion;

use super::check::Checker;
use super::path::Path;
use super::suggest;
use super::text::{self, Written, Wrong};
use super::tree::Focus::Value;

/// The etcd members: all alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Etcd {
    /// The release of etcd that runs; if not given, the one that goes with the newest apiserver,
    /// or without apiservers the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<EtcdRelease>,
    /// After so many entries the log is cut (`--snapshot-count`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub snapshot_count: Option<u32>,
    /// So many entries are kept then for members that lag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up_entries: Option<u32>,
    /// So many responses wait for a watch stream before its watches fall behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub watch_channel: Option<u32>,
    /// So many responses are under way on a watch stream, or unread at the client; clients
    /// acknowledge 16 at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 64))]
    pub watch_window: Option<u32>,
}

/// A release of etcd, to the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtcdRelease(pub EtcdVersion);

impl fmt::Display for EtcdRelease {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Written for EtcdRelease {
    fn name() -> Cow<'static, str> {
        "release of etcd".into()
    }

    fn pattern() -> String {
        names().join("|").replace('.', r"\.")
    }

    fn examples() -> String {
        "a text such as `v3.5.21`".into()
    }

    fn read(text: &str) -> Result<Self, Wrong> {
        known::named(text).map(Self).ok_or_else(|| {
            let names = names();
            let all: Vec<&str> = names.iter().map(String::as_str).collect();
            let help = suggest::help(text, &all, "the releases are");
            Wrong::new(format!("unknown release of etcd `{text}`"), help)
        })
    }
}

fn names() -> Vec<String> {
    known::VERSIONS.iter().map(ToString::to_string).collect()
}

impl Serialize for EtcdRelease {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EtcdRelease {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        text::deserialize(from)
    }
}

impl JsonSchema for EtcdRelease {
    fn schema_name() -> Cow<'static, str> {
        "EtcdRelease".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "A release of etcd.", "enum": names()})
    }
}

impl Checker<'_> {
    pub(super) fn etcd(&mut self) {
        let etcd = &self.scenario.etcd;
        let sizes = [
            ("snapshot-count", etcd.snapshot_count),
            ("watch-channel", etcd.watch_channel),
        ];
        for (key, _) in sizes.into_iter().filter(|(_, size)| *size == Some(0)) {
            let path = Path::of("etcd").key(key);
            self.wrong(path, Value, format!("`{key}` is 0"), "give at least 1");
        }
        let window = etcd.watch_window.unwrap_or(64);
        if !(16..=64).contains(&window) {
            let path = Path::of("etcd").key("watch-window");
            let help = "give 16 to 64: clients acknowledge 16 responses at a time";
            self.wrong(path, Value, format!("`watch-window` is {window}"), help);
        }
    }
}
