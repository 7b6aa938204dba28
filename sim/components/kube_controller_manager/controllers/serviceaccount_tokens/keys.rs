//! What stands in the queues: enough to find an account or a Secret in the caches, and to know what belonged to it if it is gone. Items
//! are texts, so these are lists in JSON: names that users write in annotations may have any characters.

use wavetank_api::{Object, json};
use wavetank_client::workqueue::Item;

use super::token_secrets::{account_name, account_uid};

/// `serviceAccountQueueKey`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AccountKey {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

/// `secretQueueKey`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SecretKey {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub account: String,
    /// Empty if the Secret does not say it.
    pub account_uid: String,
}

fn item(parts: &[&str]) -> Item {
    json::Json::from(parts).to_string().into()
}

fn parts<const COUNT: usize>(item: &Item) -> Option<[String; COUNT]> {
    let parts: Vec<String> = serde_json::from_str(item).ok()?;
    parts.try_into().ok()
}

/// `makeServiceAccountKey`
pub(super) fn make_service_account_key(account: &Object) -> Item {
    item(&[account.namespace(), account.name(), account.uid()])
}

/// `parseServiceAccountKey`
pub(super) fn parse_service_account_key(item: &Item) -> Option<AccountKey> {
    let [namespace, name, uid] = parts(item)?;
    let is_whole = ![&namespace, &name, &uid].into_iter().any(String::is_empty);
    is_whole.then_some(AccountKey {
        namespace,
        name,
        uid,
    })
}

/// `makeSecretQueueKey`
pub(super) fn make_secret_queue_key(secret: &Object) -> Item {
    item(&[
        secret.namespace(),
        secret.name(),
        secret.uid(),
        account_name(secret),
        account_uid(secret),
    ])
}

/// `parseSecretQueueKey`
pub(super) fn parse_secret_queue_key(item: &Item) -> Option<SecretKey> {
    let [namespace, name, uid, account, account_uid] = parts(item)?;
    let needed = [&namespace, &name, &uid, &account];
    let is_whole = !needed.into_iter().any(String::is_empty);
    is_whole.then_some(SecretKey {
        namespace,
        name,
        uid,
        account,
        account_uid,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wavetank_api::Object;

    use super::*;

    fn secret(account: &str) -> Object {
        Object::new(json!({"metadata": {
            "namespace": "n", "name": "s", "uid": "u",
            "annotations": {"kubernetes.io/service-account.name": account},
        }}))
    }

    #[test]
    fn keys_keep_what_stands_in_annotations() {
        let odd = "a/b\",\"c";
        let key = parse_secret_queue_key(&make_secret_queue_key(&secret(odd))).unwrap();
        assert_eq!((key.account.as_str(), key.account_uid.as_str()), (odd, ""));
        assert_eq!(
            parse_secret_queue_key(&make_secret_queue_key(&secret(""))),
            None
        );
    }

    #[test]
    fn accounts_have_a_uid() {
        let account = |uid: &str| {
            let metadata = json!({"namespace": "n", "name": "a", "uid": uid});
            make_service_account_key(&Object::new(json!({ "metadata": metadata })))
        };
        let key = parse_service_account_key(&account("u")).unwrap();
        assert_eq!(key.uid, "u");
        assert_eq!(parse_service_account_key(&account("")), None);
    }
}
