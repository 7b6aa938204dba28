//! `sz-rust-operator` 0.7.0 (kube 0.95): for each `SzRustApp` a Deployment and a Service, as its documentation says.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sz_rust_operator::{SzRustApp as Published, run_controller};
use wavetank_host::Operator;
use wavetank_host::properties::{Breach, stable};
use wavetank_host::wavetank::prelude::{Act, Context, Json, PropertyInfo, json};

/// So many apps there are.
const APPS: u64 = 2;
const MOST_REPLICAS: u64 = 3;

/// What of an app is looked at.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "sz-rust.dev", version = "v1", kind = "SzRustApp", namespaced)]
struct SzRustAppSpec {
    replicas: i32,
}

fn definition() -> Json {
    use kube_0_95::CustomResourceExt;
    serde_json::to_value(Published::crd()).expect("it is JSON")
}

fn apps_are_deployed() -> PropertyInfo {
    let about = "each app has a Deployment of as many replicas";
    stable("apps-are-deployed", about, |cluster| {
        for app in cluster.all::<SzRustApp>() {
            let (namespace, name) = (app.namespace().unwrap_or_default(), app.name_any());
            let made = cluster.get::<Deployment>(&namespace, &name);
            let replicas = made.and_then(|made| made.spec.replicas);
            if replicas != Some(app.spec.replicas) {
                let message = match replicas {
                    None => "has no Deployment".to_owned(),
                    Some(replicas) => format!("its Deployment has {replicas} replicas"),
                };
                return Err(Breach::of(format!("{namespace}/{name}"), message));
            }
        }
        Ok(())
    })
}

pub fn operator() -> Operator {
    let about = "operators of apps (sz-rust-operator 0.7.0)";
    let run = |wire, namespace, _| run_controller(kube_0_95::Client::new(wire, namespace));
    Operator::with_wire("sz-rust-operators", "sz", about, run)
        .serves_defined(&definition())
        .uses::<Deployment>()
        .settles_within(Duration::from_secs(330))
        .promises(apps_are_deployed())
}

/// Who has apps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Developer;

impl Act for Developer {
    const REPLICAS: &'static str = "developers";
    const COMMANDS: &'static [(&'static str, &'static str)] = &[(
        "scale-app",
        "Each developer makes one of the apps, or changes how many replicas it has.",
    )];

    async fn act(&self, cx: &Context, _: &str, _: &Json) {
        let app = format!("default/app{}", cx.rx.choose(APPS).await);
        let replicas = cx.rx.choose(MOST_REPLICAS).await + 1;
        let apps = wavetank_host::kind::<SzRustApp>();
        let scaled = cx.create_or_update(apps, &app, |app| {
            app["spec"] = json!({"image": "example.com/app:1", "replicas": replicas});
        });
        // Whether it succeeds or not, the next one goes on from what is there.
        let _ = scaled.await;
    }
}
