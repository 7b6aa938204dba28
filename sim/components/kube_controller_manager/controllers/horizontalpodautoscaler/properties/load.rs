//! Nobody scales up without load: what metrics ask for is compared with the load that there was.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_api::quota::milli_value;
use wavetank_api::{Json, json};
use wavetank_components::changes::changes;
use wavetank_components::metrics_servers::{LOAD, MILLI_IN_MEBI, load_of};
use wavetank_components::promises::violated;
use wavetank_engine::{Check, Note, Property, Time, World};

use super::super::notes::Decides;
use super::super::users::{REQUEST, TARGETS};
use super::spec_of;

/// What was measured may have been asked for so much earlier.
const MEASURING: Duration = Duration::from_secs(30);
/// What was measured longer ago is not looked at.
const OLD: Duration = Duration::from_secs(90);

/// A target of a metric, in thousandths of a core or of a byte, and how much of that the load is; nothing if pods do not say
/// what they request.
pub(super) fn target_and_load(metric: &Json, load: i64) -> Option<(i64, i64)> {
    let is_memory = json::text(metric, &["resource", "name"]) == "memory";
    let target = json::at(metric, &["resource", "target"])?;
    let load = if is_memory {
        load * MILLI_IN_MEBI
    } else {
        load
    };
    match target.get("averageValue").and_then(milli_value) {
        Some(average) => Some((average, load)),
        None if is_memory => None,
        None => {
            let percent = json::number(target, &["averageUtilization"])?;
            Some((percent * REQUEST / 100, load))
        }
    }
}

/// Which load there was, since when, by what it is on.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScaleUpsAreForLoad {
    loads: BTreeMap<Arc<str>, Vec<(Time, i64)>>,
}

impl ScaleUpsAreForLoad {
    /// The largest load on this between then and now.
    fn most_since(&self, target: &str, then: Time) -> i64 {
        let all = self.loads.get(target).into_iter().flatten();
        let before = all.clone().rfind(|(since, _)| *since <= then);
        let later = all.filter(|(since, _)| *since > then);
        let all = before.into_iter().chain(later);
        all.map(|(_, load)| *load).max().unwrap_or(0)
    }

    fn load_changes(&mut self, config_map: &Json, now: Time) {
        for target in TARGETS {
            let load = load_of(config_map, target);
            let own = self.loads.entry(target.into()).or_default();
            if own.last().is_none_or(|(_, last)| *last != load) {
                own.push((now, load));
            }
            let old = now - (MEASURING + OLD);
            let last_old = own.iter().rposition(|(since, _)| *since <= old);
            own.drain(..last_old.unwrap_or(0));
        }
    }

    fn check(&self, own: &Decides, now: Time) -> Check {
        let sampled = own.sampled.clock().unwrap_or(Time::ZERO);
        if own.asked <= own.current || now.since(sampled) > OLD {
            return Check::Idle;
        }
        let load = self.most_since(&own.target, sampled - MEASURING);
        let spec = spec_of(own);
        let metrics = json::list(&spec, &["metrics"]).iter();
        let needs = metrics.filter_map(|metric| {
            let (target, load) = target_and_load(metric, load)?;
            // What comes out even may be rounded up.
            Some(load / target + 1)
        });
        let need = needs.max().unwrap_or(0);
        if own.asked <= need {
            return Check::Held;
        }
        let (name, asked, target) = (&own.autoscaler, own.asked, &own.target);
        let message = format!(
            "the metrics of the autoscaler {name} ask for {asked} replicas of {target}, whose load was {load} and asks for \
             {need} at most"
        );
        violated("autoscaler", name, message)
    }
}

impl Property for ScaleUpsAreForLoad {
    fn name(&self) -> &'static str {
        "scale-ups-are-for-load"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if changes(note, &CONFIG_MAPS).next().is_some() {
            return None;
        }
        Some(match note.body.get::<Decides>() {
            Some(own) => self.check(own, world.now()),
            None => Check::Idle,
        })
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(checked) = self.glance(world, note) {
            return checked;
        }
        for change in changes(note, &CONFIG_MAPS) {
            if let Some(now) = change.now.as_ref().filter(|kv| kv.value.name() == LOAD) {
                self.load_changes(now.value.json(), world.now());
            }
        }
        Check::Idle
    }
}
