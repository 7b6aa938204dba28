//! What users do to the slices of controllers: one of those of a Service loses its endpoints, goes, is handed over to somebody
//! else, or has a finalizer, with which it goes only when that is taken away.

use serde_json::json;
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_api::{Method, Request};

use super::slices::{LABEL_MANAGED_BY, is_of_service_of};
use wavetank_components::users::{Client, NAMESPACE};

/// Whom a slice is handed over to.
const SOMEBODY: &str = "somebody-else";
/// The finalizer that a slice gets.
const HOLD: &str = "example.com/hold";

/// What is done to a slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SliceAct {
    /// Its endpoints go.
    Change,
    /// It is deleted.
    Delete,
    /// It is labelled as somebody else's.
    Take,
    /// It gets a finalizer.
    Hold,
    /// It has no finalizers any more.
    LetGo,
}

/// One of the slices of a Service that this controller keeps.
pub async fn act_on_slice(client: &Client, act: SliceAct, manager: &str, service: &str) {
    let mut all = client.list(&ENDPOINT_SLICES).await;
    all.retain(|slice| is_of_service_of(&slice.object, manager, NAMESPACE, service));
    if all.is_empty() {
        return;
    }
    let slice = client.one_of(&all).await;
    let path = ENDPOINT_SLICES.path(NAMESPACE, slice.object.name());
    let mut changed = slice.json();
    match act {
        SliceAct::Delete => return client.ask(Request::new(Method::Delete, path)).await,
        SliceAct::Take => changed["metadata"]["labels"][LABEL_MANAGED_BY] = SOMEBODY.into(),
        SliceAct::Hold => changed["metadata"]["finalizers"] = json!([HOLD]),
        SliceAct::LetGo => changed["metadata"]["finalizers"] = json!([]),
        SliceAct::Change => changed["endpoints"] = json!([]),
    }
    let put = Request::new(Method::Put, path);
    client.ask(put.with(changed)).await;
}
