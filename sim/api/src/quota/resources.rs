//! Lists of resources, and the arithmetic of them (`apiserver/pkg/quota/v1/resources.go`).

use std::collections::BTreeMap;

use crate::decode::values::Quantity;
use crate::json::{self, Json, Map};

/// `Quantity.MilliValue` of a quantity as it stands in an object, rounded up; nothing if it is none.
pub fn milli_value(quantity: &Json) -> Option<i64> {
    const MILLI: i128 = 1_000_000;
    let nanos = Quantity::parse(quantity.as_str()?).ok()?.nanos;
    let rest = i128::from(nanos.rem_euclid(MILLI) != 0);
    i64::try_from(nanos.div_euclid(MILLI) + rest).ok()
}

/// Resources by their names (`v1.ResourceList`).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResourceList(BTreeMap<String, Quantity>);

impl ResourceList {
    /// The list at this place of an object. What is no quantity is left out.
    pub fn of(object: &Json, path: &[&str]) -> ResourceList {
        let map = json::at(object, path).and_then(Json::as_object);
        let read = |(name, value): (&String, &Json)| {
            let quantity = Quantity::parse(value.as_str()?).ok()?;
            Some((name.clone(), quantity))
        };
        ResourceList(map.into_iter().flatten().filter_map(read).collect())
    }

    /// As it stands in an object.
    pub fn to_json(&self) -> Json {
        let all = self.0.iter();
        let map: Map = all
            .map(|(name, quantity)| (name.clone(), quantity.canonical().into()))
            .collect();
        Json::Object(map)
    }

    /// So many of each of these.
    pub(super) fn count(names: &[&str], count: i64) -> ResourceList {
        let all = names
            .iter()
            .map(|name| ((*name).to_owned(), Quantity::whole(count)));
        ResourceList(all.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<Quantity> {
        self.0.get(name).copied()
    }

    pub(super) fn insert(&mut self, name: impl Into<String>, quantity: Quantity) {
        self.0.insert(name.into(), quantity);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.0.iter().map(|(name, own)| (&**name, *own))
    }

    /// Upstream's `ResourceNames`, sorted.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(|name| &**name).collect()
    }

    /// Is this one in it?
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Is nothing in it?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Upstream's `Equals`: the same names with the same values, however those are written.
    pub fn equals(&self, other: &ResourceList) -> bool {
        let mut both = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len()
            && both.all(|(own, other)| own.0 == other.0 && own.1.nanos == other.1.nanos)
    }

    /// Upstream's `Add`
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "it has upstream's name")]
    pub fn add(mut self, other: &ResourceList) -> ResourceList {
        for (name, quantity) in &other.0 {
            let own = self.0.get(name).copied();
            let sum = own.map_or(*quantity, |own| own + *quantity);
            self.0.insert(name.clone(), sum);
        }
        self
    }

    /// Of each the larger (upstream's `Max`).
    #[must_use]
    pub(super) fn max(mut self, other: &ResourceList) -> ResourceList {
        for (name, quantity) in &other.0 {
            let own = self.0.get(name).filter(|own| own.nanos > quantity.nanos);
            if own.is_none() {
                self.0.insert(name.clone(), *quantity);
            }
        }
        self
    }

    /// Upstream's `SubtractWithNonNegativeResult`
    #[must_use]
    pub fn subtract_with_non_negative_result(mut self, other: &ResourceList) -> ResourceList {
        for (name, quantity) in &mut self.0 {
            let less = other.0.get(name).map_or(0, |other| other.nanos);
            *quantity = match quantity.nanos - less {
                nanos if nanos > 0 => quantity.with(nanos),
                _ => Quantity::whole(0),
            };
        }
        for name in other.0.keys() {
            let zero = Quantity::whole(0);
            self.0.entry(name.clone()).or_insert(zero);
        }
        self
    }

    /// Upstream's `Mask`: those with these names.
    #[must_use]
    pub fn mask(mut self, names: &[&str]) -> ResourceList {
        self.0.retain(|name, _| names.contains(&&**name));
        self
    }

    /// Upstream's `RemoveZeros`
    #[must_use]
    pub fn remove_zeros(mut self) -> ResourceList {
        self.0.retain(|_, quantity| quantity.nanos != 0);
        self
    }

    /// Upstream's `IsNegative`: the names of those.
    pub fn is_negative(&self) -> Vec<&str> {
        let negative = self.0.iter().filter(|(_, quantity)| quantity.nanos < 0);
        negative.map(|(name, _)| &**name).collect()
    }

    /// Upstream's `LessThanOrEqual`: the names of those that are more than in the other list, if that has them.
    pub fn exceeding<'a>(&'a self, limits: &ResourceList) -> Vec<&'a str> {
        let more = self.0.iter().filter(|(name, own)| {
            let limit = limits.0.get(*name);
            limit.is_some_and(|limit| own.nanos > limit.nanos)
        });
        more.map(|(name, _)| &**name).collect()
    }

    /// `prettyPrint`
    pub fn pretty_print(&self) -> String {
        let all = self.0.iter();
        let all = all.map(|(name, quantity)| format!("{name}={}", quantity.canonical()));
        all.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn list(of: Json) -> ResourceList {
        ResourceList::of(&of, &[])
    }

    #[test]
    fn sums_are_written_as_their_first_part() {
        let sum = list(json!({"cpu": "400m", "memory": "1Gi"})).add(&list(
            json!({"cpu": "0.6", "memory": "1024Mi", "pods": "1"}),
        ));
        assert_eq!(
            sum.to_json(),
            json!({"cpu": "1", "memory": "2Gi", "pods": "1"})
        );
        // Zero takes the form of what is added to it.
        let of_zero = list(json!({"memory": "0"})).add(&list(json!({"memory": "512Mi"})));
        assert_eq!(of_zero.to_json(), json!({"memory": "512Mi"}));
    }

    #[test]
    fn limits_bind_only_what_they_name() {
        let used = list(json!({"cpu": "2", "pods": "3"}));
        let hard = list(json!({"cpu": "1", "services": "0"}));
        assert_eq!(used.exceeding(&hard), ["cpu"]);
        assert_eq!(used.clone().mask(&["pods"]).pretty_print(), "pods=3");
        assert!(used.equals(&list(json!({"cpu": "2000m", "pods": "3"}))));
        assert!(!used.equals(&list(json!({"cpu": "2"}))));
    }

    proptest! {
        #[test]
        fn what_is_added_can_be_taken_away(a in 0_i64..1000, b in 0_i64..1000) {
            let (first, second) = (ResourceList::count(&["x"], a), ResourceList::count(&["x"], b));
            let sum = first.clone().add(&second);
            prop_assert!(sum.clone().subtract_with_non_negative_result(&second).equals(&first));
            let less = first.clone().subtract_with_non_negative_result(&sum);
            prop_assert!(less.remove_zeros().is_empty());
            prop_assert!(first.clone().max(&second).equals(&ResourceList::count(&["x"], a.max(b))));
            prop_assert_eq!(first.exceeding(&second).is_empty(), a <= b);
        }
    }
}
