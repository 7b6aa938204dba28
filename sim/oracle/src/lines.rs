//! What the lines of a recording may say. What nobody knows nobody compares, so that it is refused.

use serde_json::Value as Json;

/// Of a kind of recordings.
pub(crate) struct Lines {
    /// What the first line says of the servers.
    head: &'static [&'static str],
    /// What another line is about: one of these.
    kinds: &'static [&'static str],
    /// What else it says.
    others: &'static [&'static str],
}

/// Those of apiservers.
pub(crate) const OF_APISERVERS: Lines = Lines {
    head: &["apiserver", "etcd", "servers", "flags"],
    kinds: &[
        "request",
        "watch",
        "watchOpen",
        "etcd",
        "settle",
        "restart",
        "ipaddresses",
        "nodeports",
        "bitmap",
        "repairRound",
        "masterleases",
        "fact",
        "note",
        "end",
    ],
    others: &[
        "step",
        "response",
        "writes",
        "unordered",
        "events",
        "kvs",
        "messages",
        "rv",
    ],
};

/// Those of controller managers.
pub(crate) const OF_CONTROLLERS: Lines = Lines {
    head: &["kube-apiserver", "kube-controller-manager", "etcd", "flags"],
    kinds: &["do", "wait", "end"],
    others: &[
        "step",
        "agree",
        "code",
        "error",
        "events",
        "note",
        "other",
        "requestDiffers",
        "writes",
    ],
};

impl Lines {
    /// Is all known that the first line says of the servers?
    ///
    /// # Errors
    /// What is not.
    pub(crate) fn knows_head(&self, head: &Json) -> Result<(), String> {
        knows(self.head, head)
    }

    /// Is a line known altogether, and about something?
    ///
    /// # Errors
    /// What is not known of it, or that it is about nothing.
    pub(crate) fn knows(&self, line: &Json) -> Result<(), String> {
        knows(&[self.kinds, self.others].concat(), line)?;
        match self.kind(line) {
            Some(_) => Ok(()),
            None => Err(format!("a line has one of `{}`", self.kinds.join("`, `"))),
        }
    }

    /// What a line is about.
    pub(crate) fn kind(&self, line: &Json) -> Option<&'static str> {
        let mut kinds = self.kinds.iter().copied();
        kinds.find(|kind| line.get(kind).is_some())
    }
}

fn knows(all: &[&str], line: &Json) -> Result<(), String> {
    let fields = line.as_object().ok_or("a line is an object")?;
    let unknown = fields.keys().find(|field| !all.contains(&field.as_str()));
    match unknown {
        None => Ok(()),
        Some(field) => Err(format!(
            "nobody knows `{field}`; there are `{}`",
            all.join("`, `")
        )),
    }
}
