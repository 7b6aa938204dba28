//! What a namespace says of its deletion (`pkg/controller/namespace/deletion/status_condition_utils.go`).

use serde_json::json;
use wavetank_api::{Json, Stamp, json as tree};

use super::deleter::Totals;

const DISCOVERY: &str = "NamespaceDeletionDiscoveryFailure";
const CONTENT: &str = "NamespaceDeletionContentFailure";
const CONTENT_REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS_REMAINING: &str = "NamespaceFinalizersRemaining";

/// `conditionTypes`, with the reason and the message of each where all is well.
const TYPES: [(&str, &str, &str); 5] = [
    (
        DISCOVERY,
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        CONTENT,
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    (
        CONTENT_REMAINING,
        "ContentRemoved",
        "All content successfully removed",
    ),
    (
        FINALIZERS_REMAINING,
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
];

/// `namespaceConditionUpdater`
#[derive(Debug)]
pub(super) struct NamespaceConditionUpdater {
    now: String,
    new_conditions: Vec<Json>,
    delete_content_errors: Vec<String>,
}

impl NamespaceConditionUpdater {
    /// One that has seen nothing.
    pub fn new(now: Stamp) -> NamespaceConditionUpdater {
        NamespaceConditionUpdater {
            now: now.seconds(),
            new_conditions: Vec::new(),
            delete_content_errors: Vec::new(),
        }
    }

    fn condition(&self, of: &str, status: &str, reason: &str, message: &str) -> Json {
        json!({
            "type": of,
            "status": status,
            "lastTransitionTime": self.now,
            "reason": reason,
            "message": message,
        })
    }

    fn add(&mut self, of: &str, reason: &str, message: &str) {
        let condition = self.condition(of, "True", reason, message);
        self.new_conditions.push(condition);
    }

    /// `ProcessDiscoverResourcesErr`
    pub fn process_discover_resources_err(&mut self, why: &str) {
        self.add(DISCOVERY, "DiscoveryFailed", why);
    }

    /// `ProcessDeleteContentErr`
    pub fn process_delete_content_err(&mut self, why: &str) {
        self.delete_content_errors.push(why.to_owned());
    }

    /// `ProcessContentTotals`
    pub fn process_content_totals(&mut self, totals: &Totals) {
        let resources = totals.gvr_to_num_remaining.iter();
        let mut resources: Vec<String> = resources
            .map(|((resource, group), count)| {
                format!("{resource}.{group} has {count} resource instances")
            })
            .collect();
        resources.sort();
        if !resources.is_empty() {
            let message = format!("Some resources are remaining: {}", resources.join(", "));
            self.add(CONTENT_REMAINING, "SomeResourcesRemain", &message);
        }
        let finalizers = totals.finalizers_to_num_remaining.iter();
        let mut finalizers: Vec<String> = finalizers
            .map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"))
            .collect();
        finalizers.sort();
        if !finalizers.is_empty() {
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                finalizers.join(", ")
            );
            self.add(FINALIZERS_REMAINING, "SomeFinalizersRemain", &message);
        }
    }

    /// `Update`: does the status of the namespace change?
    pub fn update(mut self, namespace: &mut Json) -> bool {
        if !self.delete_content_errors.is_empty() {
            self.delete_content_errors.sort();
            let count = self.delete_content_errors.len();
            let all = self.delete_content_errors.join(", ");
            let message = format!("Failed to delete all resource types, {count} remaining: {all}");
            self.add(CONTENT, "ContentDeletionFailed", &message);
        }
        let mut conditions = tree::list(namespace, &["status", "conditions"]).to_vec();
        let mut has_changed = false;
        for (of, reason, message) in TYPES {
            let mut new = self.new_conditions.iter().filter(|own| own["type"] == of);
            let new = new.next().cloned();
            let new = new.unwrap_or_else(|| self.condition(of, "False", reason, message));
            match conditions.iter_mut().find(|own| own["type"] == of) {
                None => {
                    conditions.push(new);
                    has_changed = true;
                }
                Some(old) => has_changed |= change(old, new),
            }
        }
        tree::set(namespace, &["status", "conditions"], conditions);
        has_changed
    }
}

/// A condition is what it is now, since when its status is that.
fn change(old: &mut Json, mut new: Json) -> bool {
    let differs = |field: &str| old[field] != new[field];
    if !["status", "message", "reason"].into_iter().any(differs) {
        return false;
    }
    if old["status"] == new["status"] {
        new["lastTransitionTime"] = old["lastTransitionTime"].take();
    }
    *old = new;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> NamespaceConditionUpdater {
        let epoch = Stamp::parse("2025-01-01T00:00:00Z").expect("a time");
        NamespaceConditionUpdater::new(epoch.plus_seconds(seconds))
    }

    #[test]
    fn conditions_change_when_they_do_and_keep_since_when() {
        let mut namespace = json!({"status": {"phase": "Terminating"}});
        let mut totals = Totals::default();
        totals
            .gvr_to_num_remaining
            .insert(("pods".to_owned(), String::new()), 2);
        let mut updater = at(0);
        updater.process_content_totals(&totals);
        assert!(updater.update(&mut namespace));
        let of = |namespace: &Json, at: usize| namespace["status"]["conditions"][at].clone();
        let remaining = of(&namespace, 3);
        assert_eq!(remaining["status"], "True");
        let message = "Some resources are remaining: pods. has 2 resource instances";
        assert_eq!(remaining["message"], message);
        assert_eq!(of(&namespace, 0)["status"], "False");
        // The same again changes nothing.
        let mut updater = at(5);
        updater.process_content_totals(&totals);
        assert!(!updater.update(&mut namespace.clone()));
        // Another number is another message since the same time.
        totals
            .gvr_to_num_remaining
            .insert(("pods".to_owned(), String::new()), 1);
        let mut updater = at(9);
        updater.process_content_totals(&totals);
        assert!(updater.update(&mut namespace));
        let time = "lastTransitionTime";
        assert_eq!(of(&namespace, 3)[time], remaining[time]);
        assert!(at(10).update(&mut namespace));
        assert_eq!(of(&namespace, 3)[time], "2025-01-01T00:00:10Z");
    }
}
