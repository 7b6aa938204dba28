//! What the orders have in common that a plan or a search gives to users.

use serde_json::Value as Json;

/// The one of `all` that the order names under this key; none where it leaves that to be drawn.
///
/// # Errors
/// If there is none of this name: which there are.
pub(crate) fn named<T: Copy>(
    order: &Json,
    key: &str,
    all: &[(&str, T)],
) -> Result<Option<T>, String> {
    let Some(named) = order[key].as_str() else {
        return Ok(None);
    };
    let found = all.iter().find(|(name, _)| *name == named);
    let found = found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("`{key}` is one of {}, not `{named}`", names.join(", "))
    })?;
    Ok(Some(found.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_named_is_found_or_refused_with_all_names() {
        let all = [("create", 1), ("delete", 2)];
        let named = |order| named(&order, "what", &all);
        assert_eq!(named(json!({"what": "delete"})), Ok(Some(2)));
        assert_eq!(named(json!({})), Ok(None));
        let refused = named(json!({"what": "move"}));
        let why = "`what` is one of create, delete, not `move`";
        assert_eq!(refused, Err(why.to_owned()));
    }
}
