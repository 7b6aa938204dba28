//! Keys of scenario files: the release of etcd, how much a member holds, and how many there are.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wavetank_component::file::suggest;
use wavetank_component::values::text::{self, Written, Wrong};
use wavetank_component::{Mistakes, Part, Section};
use wavetank_releases::etcd as known;
use wavetank_version::EtcdVersion;

/// The etcd members: their release, and how much each holds. All are alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
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

impl Part for Options {
    const SECTION: Section = Section::Own("etcd");
}

impl Options {
    pub(super) fn check(&self, mistakes: &mut Mistakes) {
        let sizes = [
            ("snapshot-count", self.snapshot_count),
            ("watch-channel", self.watch_channel),
        ];
        for (key, _) in sizes.into_iter().filter(|(_, size)| *size == Some(0)) {
            mistakes.value(
                Self::SECTION,
                key,
                format!("`{key}` is 0"),
                "give at least 1",
            );
        }
        let window = self.watch_window.unwrap_or(64);
        if !(16..=64).contains(&window) {
            let message = format!("`watch-window` is {window}");
            let help = "give 16 to 64: clients acknowledge 16 responses at a time";
            mistakes.value(Self::SECTION, "watch-window", message, help);
        }
    }
}

/// Of `topology`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Members {
    /// The number of etcd members: one is named etcd, several e1, e2 and so on.
    #[schemars(range(min = 1, max = 9))]
    pub etcd: u32,
}

impl Default for Members {
    fn default() -> Members {
        Members { etcd: 1 }
    }
}

impl Part for Members {
    const SECTION: Section = Section::Topology;
}
