//! Keys of scenario files: the release of etcd, how much a member holds, and how many there are.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use wavetank_component::file::path::Path;
use wavetank_component::file::suggest;
use wavetank_component::values::text::{self, Written, Wrong};
use wavetank_component::{Focus, Mistakes, Part, Section};
use wavetank_etcd::{MAX_TTL, MIN_TTL};
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
    /// So many revocations of leases that were found over together are under way at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pending_revokes: Option<u32>,
    /// So many responses wait for a watch stream before its watches fall behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub watch_channel: Option<u32>,
    /// So many responses are under way on a watch stream, or unread at the client; clients
    /// acknowledge 16 at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 64))]
    pub watch_window: Option<u32>,
    /// What is stored before anybody else starts, in the order in which it was written: objects as they stand in etcd.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
}

/// A key that is there from the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Content {
    /// The key in etcd, for example `/registry/services/specs/default/web`.
    pub key: String,
    /// It goes after so many seconds, unless somebody renews its lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<u64>,
    /// The object, with `apiVersion` and `kind`.
    pub object: Map<String, Json>,
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
            ("pending-revokes", self.pending_revokes),
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
        self.check_content(mistakes);
        let window = self.watch_window.unwrap_or(64);
        if !(16..=64).contains(&window) {
            let message = format!("`watch-window` is {window}");
            let help = "give 16 to 64: clients acknowledge 16 responses at a time";
            mistakes.value(Self::SECTION, "watch-window", message, help);
        }
    }
}

impl Options {
    /// Nothing is there that no apiserver could have written.
    fn check_content(&self, mistakes: &mut Mistakes) {
        let root = Path::of("etcd").key("content");
        for (index, content) in self.content.iter().enumerate() {
            let (path, key) = (root.clone().item(index), &content.key);
            if !key.starts_with('/') || key.ends_with('/') {
                let message = format!("`{key}` is no key of an object");
                let help = "keys are like `/registry/services/specs/default/web`";
                mistakes.at(path.clone().key("key"), Focus::Value, message, help);
            }
            if self.content[..index].iter().any(|other| other.key == *key) {
                let message = format!("`{key}` is there twice");
                let help = "a key holds one object: remove one of them";
                mistakes.at(path.clone().key("key"), Focus::Value, message, help);
            }
            if let Some(lease) = content.lease
                && !(MIN_TTL..=MAX_TTL).contains(&lease)
            {
                let message = format!("there is no lease of {lease} s");
                let help = format!("give {MIN_TTL} seconds at least, or remove `lease`");
                mistakes.at(path.clone().key("lease"), Focus::Value, message, help);
            }
            for key in ["apiVersion", "kind"] {
                if !content.object.get(key).is_some_and(Json::is_string) {
                    let message = format!("an object says its `{key}`");
                    let help = "write it as `kubectl get -o json` shows it";
                    mistakes.at(path.clone().key("object"), Focus::Value, message, help);
                }
            }
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
