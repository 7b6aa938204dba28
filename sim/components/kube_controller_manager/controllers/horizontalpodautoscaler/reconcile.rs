//! One look at an autoscaler (`reconcileKey`, `reconcileAutoscaler`): how many replicas there are is read, how many there should
//! be is decided, and both are written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::selector::LabelSelector;
use wavetank_api::{Json, Method, Object, Reason, Request, Stamp, Stored, json};
use wavetank_client::Failure;
use wavetank_client::wait::DEFAULT_RETRY;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Rx};

use super::compute::{Computed, Failed};
use super::controller::HorizontalController;
use super::defects::HorizontalPodAutoscalerDefect as Bug;
use super::normalize::{
    NormalizationArg, forget, record_initial_recommendation, store_scale_event,
};
use super::notes::{Decides, LooksAt, ReadScale, Rescaled, Rescales};
use super::selectors;
use super::status::{set_condition, set_current_replicas_and_metrics_in_status, set_status};
use crate::controller_utils::discovery::{Mapping, rest_mapping};

/// Which autoscaler was looked at last under a key, by its UID. Upstream does not remember that.
static KNOWN: Cell<BTreeMap<Item, Arc<str>>> = Cell::new("hpa-uids");
/// The groups and versions, with a resource, of which discovery has told the kind of the scale (`cachedScaleKindResolver`).
static SCALE_KINDS: Cell<BTreeSet<Arc<str>>> = Cell::new("hpa-scale-kinds");

/// What a look works on.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub key: Item,
    pub namespace: String,
    pub uid: Arc<str>,
    /// The autoscaler, with what is to be written of it.
    pub autoscaler: Json,
    /// The status as the cache has it.
    pub status: Json,
    /// The resource of what it is for, the path of its scale, and that scale.
    mapping: Option<Mapping>,
    path: String,
    pub scale: Json,
    pub current_replicas: i64,
    min_replicas: i64,
    max_replicas: i64,
}

impl Look {
    fn new(key: Item, of: &Object) -> Look {
        let json = of.json();
        let number = |field| json::number(json, &["spec", field]);
        Look {
            key,
            namespace: of.namespace().to_owned(),
            uid: of.uid().into(),
            autoscaler: json.clone(),
            status: json.get("status").cloned().unwrap_or_default(),
            mapping: None,
            path: String::new(),
            scale: Json::Null,
            current_replicas: 0,
            min_replicas: number("minReplicas").unwrap_or(1),
            max_replicas: number("maxReplicas").unwrap_or(0),
        }
    }

    fn target(&self, field: &str) -> &str {
        json::text(&self.autoscaler, &["spec", "scaleTargetRef", field])
    }

    fn behavior(&self) -> Option<&Json> {
        let behavior = json::at(&self.autoscaler, &["spec", "behavior"]);
        behavior.filter(|own| own.is_object())
    }

    fn able_to_scale(&mut self, rx: Rx, is_true: bool, why: (&str, &str)) {
        let now = Stamp::of(rx.clock());
        set_condition(&mut self.autoscaler, "AbleToScale", is_true, why, now);
    }

    fn status_of_failure(&mut self, statuses: Option<Vec<Json>>) {
        let current = self.current_replicas;
        set_current_replicas_and_metrics_in_status(&mut self.autoscaler, current, statuses);
    }
}

impl HorizontalController {
    /// `reconcileKey`: is the autoscaler gone?
    pub(super) async fn reconcile_key(&self, rx: Rx, key: Item) -> bool {
        let Some(autoscaler) = self.autoscalers.get(rx, &key) else {
            forget(rx, &key);
            rx.update(&KNOWN, |all| {
                all.remove(&key);
            });
            return true;
        };
        rx.note(LooksAt {
            autoscaler: key.clone(),
            uid: autoscaler.object.uid().into(),
        });
        self.reconcile_autoscaler(rx, key, &autoscaler).await;
        false
    }

    /// `reconcileAutoscaler`. Whatever fails, it is looked at again in 15 s, so that nobody needs to know.
    async fn reconcile_autoscaler(&self, rx: Rx, key: Item, shared: &Stored) {
        let mut look = Look::new(key, &shared.object);
        if self.defects.has(Bug::FixForgetGoneAutoscalers) {
            forget_another(rx, &look);
        }
        if let Err(why) = self.read_scale(rx, &mut look).await {
            let message =
                format!("the HPA controller was unable to get the target's current scale: {why}");
            look.able_to_scale(rx, false, ("FailedGetScale", &message));
            return self.update_status_if_needed(rx, &look).await;
        }
        let read = "the HPA controller was able to get the target's current scale";
        look.able_to_scale(rx, true, ("SucceededGetScale", read));
        rx.note(ReadScale {
            uid: look.uid.clone(),
            replicas: look.current_replicas,
            now: rx.clock(),
        });
        if !self.defects.has(Bug::FirstSizeIsForgotten) {
            record_initial_recommendation(rx, look.current_replicas, &look.key);
        }
        let (desired, statuses) = match self.decide(rx, &mut look).await {
            Ok(decided) => decided,
            Err(Failed { statuses }) => {
                look.status_of_failure(statuses);
                return self.update_status_if_needed(rx, &look).await;
            }
        };
        let current = look.current_replicas;
        let rescales = desired != current;
        if rescales {
            let done = self.rescale(rx, &mut look, desired, statuses.clone());
            if !done.await {
                return;
            }
        }
        let rescaled = rescales.then(|| Stamp::of(rx.clock()));
        set_status(&mut look.autoscaler, current, desired, statuses, rescaled);
        self.update_status_if_needed(rx, &look).await;
    }

    /// Reads the scale of what the autoscaler is for (`RESTMappings`, `scaleForResourceMappings`).
    async fn read_scale(&self, rx: Rx, look: &mut Look) -> Result<(), String> {
        let forgets = self.defects.has(Bug::FixForgetOldSelectors);
        let (version, kind) = (look.target("apiVersion"), look.target("kind"));
        let mapping = rest_mapping(rx, &self.rest, version, kind).await;
        let mapping = mapping.map_err(|_| format!("no matches for kind {kind} in {version}"))?;
        look.path = format!(
            "{}/scale",
            mapping.path(&look.namespace, look.target("name"))
        );
        look.mapping = Some(mapping);
        let get = Request::new(Method::Get, look.path.clone());
        let scale = match self.rest.object(rx, get).await {
            Ok(scale) => scale.json(),
            Err(failure) => {
                if forgets && failure.is(Reason::NotFound) {
                    selectors::put_selector(rx, &look.key, None);
                }
                return Err(failure.to_string());
            }
        };
        look.current_replicas = json::number(&scale, &["spec", "replicas"]).unwrap_or(0);
        look.scale = scale;
        Ok(())
    }

    /// How many replicas there are to be, and what metrics are, if these were asked.
    async fn decide(&self, rx: Rx, look: &mut Look) -> Result<(i64, Option<Vec<Json>>), Failed> {
        let current = look.current_replicas;
        if self.defects.has(Bug::FixForgetOldSelectors) {
            // Also where metrics are not asked for, and the selector is not looked at otherwise.
            let text = json::text(&look.scale, &["status", "selector"]);
            let selector = LabelSelector::parse(text).ok();
            selectors::put_selector(rx, &look.key, selector.filter(|_| !text.is_empty()));
        }
        if current == 0 && !self.defects.has(Bug::ZeroIsScaledUp) {
            let why = (
                "ScalingDisabled",
                "scaling is disabled since the replica count of the target is zero",
            );
            let now = Stamp::of(rx.clock());
            set_condition(&mut look.autoscaler, "ScalingActive", false, why, now);
            return Ok((0, None));
        }
        let bound = match current {
            _ if current > look.max_replicas => Some(look.max_replicas),
            _ if current < look.min_replicas => Some(look.min_replicas),
            _ => None,
        };
        if let Some(bound) = bound {
            if self.defects.has(Bug::FixSharedPodsStay) {
                self.validate_and_parse_selector(rx, look).await?;
            }
            return Ok((bound, None));
        }
        let computed = self.compute_replicas_for_metrics(rx, look).await?;
        let desired = self.normalize(rx, look, &computed);
        Ok((desired, Some(computed.statuses)))
    }

    /// What is made of what metrics ask for.
    fn normalize(&self, rx: Rx, look: &mut Look, computed: &Computed) -> i64 {
        let args = NormalizationArg {
            key: &look.key,
            behavior: look.behavior(),
            min_replicas: look.min_replicas,
            max_replicas: look.max_replicas,
            current_replicas: look.current_replicas,
            desired_replicas: computed.replicas,
            defects: self.defects,
        };
        let normalized = args.normalize(rx);
        look.able_to_scale(rx, true, normalized.able);
        let is_limited = normalized.desired != normalized.stabilized;
        let now = Stamp::of(rx.clock());
        let autoscaler = &mut look.autoscaler;
        set_condition(
            autoscaler,
            "ScalingLimited",
            is_limited,
            normalized.limited,
            now,
        );
        rx.note(Decides {
            autoscaler: look.key.clone(),
            uid: look.uid.clone(),
            target: look.target("name").into(),
            spec: look.autoscaler["spec"].to_string().into(),
            current: look.current_replicas,
            asked: computed.replicas,
            stabilized: normalized.stabilized,
            desired: normalized.desired,
            invalid: computed.invalid,
            missing: computed.missing,
            sampled: computed.sampled,
            now: rx.clock(),
        });
        normalized.desired
    }

    /// Scales, and says so; false if it could not.
    async fn rescale(
        &self,
        rx: Rx,
        look: &mut Look,
        desired: i64,
        statuses: Option<Vec<Json>>,
    ) -> bool {
        let current = look.current_replicas;
        rx.note(Rescales {
            autoscaler: look.key.clone(),
            target: look.target("name").into(),
            from: current,
            to: desired,
            min: look.min_replicas,
            max: look.max_replicas,
        });
        if let Err(failure) = self.update_scale(rx, look, desired).await {
            let message =
                format!("the HPA controller was unable to update the target scale: {failure}");
            look.able_to_scale(rx, false, ("FailedUpdateScale", &message));
            look.status_of_failure(statuses);
            self.update_status_if_needed(rx, look).await;
            return false;
        }
        let message =
            format!("the HPA controller was able to update the target scale to {desired}");
        look.able_to_scale(rx, true, ("SucceededRescale", &message));
        let (behavior, key) = (look.behavior(), &look.key);
        store_scale_event(rx, behavior, key, current, desired, self.defects);
        let behavior = look.behavior().unwrap_or(&Json::Null);
        rx.note(Rescaled {
            uid: look.uid.clone(),
            behavior: behavior.to_string().into(),
            from: current,
            to: desired,
            now: rx.clock(),
        });
        true
    }

    /// Upstream's `RetryOnConflict` around the update of a scale: after a conflict the new scale is overwritten (finding 59).
    async fn update_scale(&self, rx: Rx, look: &mut Look, desired: i64) -> Result<(), Failure> {
        let mut backoff = DEFAULT_RETRY;
        loop {
            json::set(&mut look.scale, &["spec", "replicas"], desired);
            let Err(failure) = self.put_scale(rx, look).await else {
                return Ok(());
            };
            let mut is_another = false;
            let get = Request::new(Method::Get, look.path.clone());
            if let Ok(latest) = self.rest.object(rx, get).await {
                look.scale = latest.json();
                let replicas = json::number(&look.scale, &["spec", "replicas"]).unwrap_or(0);
                is_another = replicas != look.current_replicas;
            }
            let stops = is_another && self.defects.has(Bug::FixRescaleWhatWasRead);
            if !failure.is(Reason::Conflict) || stops || !backoff.wait(rx).await {
                return Err(failure);
            }
        }
    }

    /// Upstream's `Update` of a `namespacedScaleClient`, which asks for the kind of the scale first.
    async fn put_scale(&self, rx: Rx, look: &Look) -> Result<(), Failure> {
        if let Some(mapping) = &look.mapping {
            self.scale_for_resource(rx, mapping).await?;
        }
        let put = Request::new(Method::Put, look.path.clone()).with(look.scale.clone());
        self.rest.object(rx, put).await.map(drop)
    }

    /// `ScaleForResource`: discovery is asked once for each resource (`client-go/scale/util.go`).
    async fn scale_for_resource(&self, rx: Rx, of: &Mapping) -> Result<(), Failure> {
        let resource: Arc<str> = format!("{}/{}", of.api_version, of.resource).into();
        if rx.look(&SCALE_KINDS, |known| known.contains(&resource)) {
            return Ok(());
        }
        let get = Request::new(Method::Get, of.path_of_version());
        self.rest.object(rx, get).await?;
        rx.update(&SCALE_KINDS, |known| {
            known.insert(resource);
        });
        Ok(())
    }
}

/// The fix of a finding: what is remembered under a key is of one autoscaler.
fn forget_another(rx: Rx, look: &Look) {
    let before = rx.update(&KNOWN, |all| all.insert(look.key.clone(), look.uid.clone()));
    if before.is_some_and(|before| before != look.uid) {
        forget(rx, &look.key);
    }
}
