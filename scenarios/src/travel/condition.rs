//! Conditions over a moment: what `until` waits for.
//!
//! ```text
//! condition := all ("||" all)*          all  := one ("&&" one)*
//! one       := "!" one | "(" condition ")" | value [("==" | "!=" | "<" | "<=" | ">" | ">=" | "~") value]
//! value     := number | "text" | true | false | null | now | event | violated | object
//!            | told("TEXT") | count(POINT, RESOURCE) | revision(POINT, RESOURCE) | differ(POINT, POINT, RESOURCE)
//! object    := POINT:RESOURCE/[NAMESPACE/]NAME[{.path.to[0].field}]
//! ```
//!
//! An object that is not there is null; two are equal if their whole trees are. `~` is whether a text is in another.

mod parse;

use serde_json::Value as Json;

use super::Travel;
use super::points::{Point, differences};

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Either.
    Any(Vec<Condition>),
    /// All.
    All(Vec<Condition>),
    /// Not.
    Not(Box<Condition>),
    /// A comparison.
    Compare(Operand, Operator, Operand),
    /// A value that counts as true: neither false nor null, 0 or an empty text.
    Holds(Operand),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// As it is written.
    Literal(Json),
    /// Seconds of virtual time.
    Now,
    /// How many events have happened.
    Event,
    /// Has the last event violated something?
    Violated,
    /// Was this told of the last event?
    Told(String),
    /// An object, or a part of one.
    Object {
        /// As who sees it.
        point: Point,
        /// Its resource,
        resource: String,
        /// its namespace, or nothing,
        namespace: String,
        /// its name
        name: String,
        /// and the fields that lead to the part.
        path: Vec<String>,
    },
    /// How many objects a point of view holds.
    Count(Point, String),
    /// As of which revision.
    Revision(Point, String),
    /// Do two points of view differ?
    Differ(Point, Point, String),
}

impl Condition {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn parse(text: &str) -> Result<Condition, String> {
        parse::parse(text)
    }

    /// Does it hold here?
    ///
    /// # Errors
    /// If it names what there is none of.
    pub fn holds(&self, travel: &Travel<'_>) -> Result<bool, String> {
        Ok(match self {
            Condition::Any(all) => {
                for one in all {
                    if one.holds(travel)? {
                        return Ok(true);
                    }
                }
                false
            }
            Condition::All(all) => {
                for one in all {
                    if !one.holds(travel)? {
                        return Ok(false);
                    }
                }
                true
            }
            Condition::Not(one) => !one.holds(travel)?,
            Condition::Compare(left, operator, right) => {
                operator.compare(&left.value(travel)?, &right.value(travel)?)
            }
            Condition::Holds(operand) => match operand.value(travel)? {
                Json::Null | Json::Bool(false) => false,
                Json::Number(number) => number.as_f64() != Some(0.0),
                Json::String(text) => !text.is_empty(),
                _ => true,
            },
        })
    }
}

impl Operator {
    fn of(token: &str) -> Option<Operator> {
        Some(match token {
            "==" | "=" => Operator::Equal,
            "!=" => Operator::Unequal,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "~" => Operator::Contains,
            _ => return None,
        })
    }

    fn compare(self, left: &Json, right: &Json) -> bool {
        let number = |value: &Json| match value {
            Json::String(text) => text.parse().ok(),
            value => value.as_f64(),
        };
        let order = match (number(left), number(right)) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => Some(text(left).cmp(&text(right))),
        };
        // A resourceVersion is a text, and who writes 7 means it.
        let equal = left == right
            || (left.is_number() != right.is_number()
                && number(left).is_some()
                && number(left) == number(right));
        let is_there = !left.is_null() && !right.is_null();
        match self {
            Operator::Equal => equal,
            Operator::Unequal => !equal,
            Operator::Less => is_there && order.is_some_and(|order| order.is_lt()),
            Operator::LessOrEqual => is_there && order.is_some_and(|order| order.is_le()),
            Operator::Greater => is_there && order.is_some_and(|order| order.is_gt()),
            Operator::GreaterOrEqual => is_there && order.is_some_and(|order| order.is_ge()),
            Operator::Contains => is_there && text(left).contains(&text(right)),
        }
    }
}

fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        value => value.to_string(),
    }
}

impl Operand {
    /// What it is here.
    ///
    /// # Errors
    /// If it names what there is none of.
    pub fn value(&self, travel: &Travel<'_>) -> Result<Json, String> {
        Ok(match self {
            Operand::Literal(value) => value.clone(),
            Operand::Now => travel.world().now().secs_f64().into(),
            Operand::Event => travel.at().into(),
            Operand::Violated => {
                let last = travel.last();
                last.is_some_and(|last| last.violation.is_some()).into()
            }
            Operand::Told(wanted) => {
                let told = travel.last().into_iter().flat_map(|last| &last.told);
                let mut said = told.map(|(who, text)| format!("{who} {text}"));
                said.any(|said| said.contains(wanted)).into()
            }
            Operand::Object {
                point,
                resource,
                namespace,
                name,
                path,
            } => {
                let resource = travel.resource(resource)?;
                let namespace = match (resource.namespaced, namespace.as_str()) {
                    (true, "") => "default",
                    (_, own) => own,
                };
                // Who is down, or has not looked yet, holds nothing.
                let seen = travel.see_or_nothing(point, resource)?;
                let object = seen.and_then(|seen| {
                    let held = seen.get(resource, namespace, name)?;
                    Some(held.object.json())
                });
                part(object.unwrap_or_default(), path)
            }
            Operand::Count(point, resource) => {
                let seen = travel.see_or_nothing(point, travel.resource(resource)?)?;
                seen.map_or(0, |seen| seen.objects.len()).into()
            }
            Operand::Revision(point, resource) => {
                let seen = travel.see_or_nothing(point, travel.resource(resource)?)?;
                seen.map_or(0, |seen| seen.revision).into()
            }
            Operand::Differ(one, other, resource) => {
                let resource = travel.resource(resource)?;
                let one = travel.see_or_nothing(one, resource)?;
                let other = travel.see_or_nothing(other, resource)?;
                match (one, other) {
                    (Some(one), Some(other)) => !differences(&one, &other).is_empty(),
                    _ => false,
                }
                .into()
            }
        })
    }
}

fn part(mut value: Json, path: &[String]) -> Json {
    for step in path {
        value = match step.parse::<usize>() {
            Ok(index) if value.is_array() => value.get_mut(index).map(Json::take),
            _ => value.get_mut(step).map(Json::take),
        }
        .unwrap_or_default();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_to_a_part_or_to_nothing() {
        let path = ["spec", "ports", "0", "port"].map(str::to_owned);
        let value = json!({"spec": {"ports": [{"port": 80}]}});
        assert_eq!(part(value, &path), json!(80));
        assert_eq!(part(json!({}), &path), Json::Null);
    }

    #[test]
    fn a_number_equals_the_text_of_it_and_nothing_is_less_than_nothing() {
        assert!(Operator::Equal.compare(&json!("7"), &json!(7)));
        assert!(!Operator::Equal.compare(&json!("7"), &json!("07")));
        assert!(Operator::Less.compare(&json!("7"), &json!(10)));
        assert!(!Operator::Less.compare(&Json::Null, &json!(10)));
        assert!(Operator::Contains.compare(&json!("abc"), &json!("b")));
    }
}
