//! A Secret with the token of a ServiceAccount: what it says, and what a token says. Who fills it in is in `generate`.

use serde_json::{Value as Json, json};
use wavetank_api::decode::base64;
use wavetank_api::{Object, json};

/// `SecretTypeServiceAccountToken`
pub(super) const TYPE: &str = "kubernetes.io/service-account-token";
/// `ServiceAccountNameKey`
pub(super) const NAME_KEY: &str = "kubernetes.io/service-account.name";
/// `ServiceAccountUIDKey`
pub(super) const UID_KEY: &str = "kubernetes.io/service-account.uid";
/// `ServiceAccountTokenKey`
pub(super) const TOKEN: &str = "token";
/// `ServiceAccountRootCAKey`
pub(super) const ROOT_CA_KEY: &str = "ca.crt";
/// `ServiceAccountNamespaceKey`
pub(super) const NAMESPACE_KEY: &str = "namespace";

/// Is it such a Secret?
pub(super) fn is_token_secret(secret: &Object) -> bool {
    json::text(secret.json(), &["type"]) == TYPE
}

/// The account that it names.
pub(super) fn account_name(secret: &Object) -> &str {
    json::text(secret.json(), &["metadata", "annotations", NAME_KEY])
}

/// The UID of that, if it says it.
pub(super) fn account_uid(secret: &Object) -> &str {
    json::text(secret.json(), &["metadata", "annotations", UID_KEY])
}

/// `IsServiceAccountToken`
pub(super) fn is_service_account_token(secret: &Object, name: &str, uid: &str) -> bool {
    is_token_secret(secret) && account_name(secret) == name && account_uid(secret) == uid
}

/// What it has under this key, in base64.
pub(super) fn data<'a>(secret: &'a Json, key: &str) -> &'a str {
    json::text(secret, &["data", key])
}

/// The token of an account in a Secret (`LegacyClaims`): what is claimed in it, which nobody signs.
pub(super) fn token(account: &Object, secret: &str) -> String {
    let (namespace, name) = (account.namespace(), account.name());
    let of = "kubernetes.io/serviceaccount";
    let claims = json!({
        "iss": "kubernetes/serviceaccount",
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
        format!("{of}/namespace"): namespace,
        format!("{of}/secret.name"): secret,
        format!("{of}/service-account.name"): name,
        format!("{of}/service-account.uid"): account.uid(),
    });
    claims.to_string()
}

/// The UID of the account that the token of a Secret is for; nothing if it has no token.
pub(super) fn uid_in_token(secret: &Object) -> Option<String> {
    let token = base64::decode(data(secret.json(), TOKEN)).ok()?;
    let claims: Json = serde_json::from_slice(&token).ok()?;
    let uid = claims["kubernetes.io/serviceaccount/service-account.uid"].as_str();
    uid.map(str::to_owned)
}

/// The Secrets that an account refers to (`getSecretReferences`).
pub(super) fn get_secret_references(account: &Json) -> Vec<&str> {
    let all = json::list(account, &["secrets"]).iter();
    all.map(|own| json::text(own, &["name"])).collect()
}
