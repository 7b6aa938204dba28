//! A write that changes nothing but when somebody wrote is none
//! (`apiserver/pkg/endpoints/handlers/fieldmanager/equality.go`).

use super::managed::entries;
use crate::json::{self, Json};

/// `IgnoreManagedFieldsTimestampsTransformer`
pub fn ignore_managed_fields_timestamps_transformer(new: &mut Json, old: &Json) {
    let (now, before) = (entries(new), entries(old));
    if now.len() != before.len() || now == before {
        return;
    }
    let but_for_time = |now: &Json, before: &Json| {
        let bare = |entry: &Json| {
            let mut entry = entry.clone();
            json::remove(&mut entry, &["time"]);
            entry
        };
        bare(now) == bare(before)
    };
    if !now
        .iter()
        .zip(before)
        .all(|(now, before)| but_for_time(now, before))
    {
        return;
    }
    let before = before.to_vec();
    let after = json::at(new, &["metadata", "managedFields"])
        .cloned()
        .unwrap_or_default();
    json::set(new, &["metadata", "managedFields"], before);
    if new != old {
        json::set(new, &["metadata", "managedFields"], after);
    }
}
