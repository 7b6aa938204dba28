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
        let tokens = tokens(text)?;
        let mut parser = Parser {
            tokens: &tokens,
            at: 0,
        };
        let condition = parser.any()?;
        match parser.peek() {
            None => Ok(condition),
            Some(token) => Err(format!("what is `{token}` behind a whole condition?")),
        }
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

const SIGNS: [&str; 11] = ["||", "&&", "==", "!=", "<=", ">=", "<", ">", "~", "=", "!"];

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let length = match (first, sign) {
            ('"' | '\'', _) => match rest[1..].find(first) {
                Some(end) => end + 2,
                None => return Err(format!("the text {rest} has no end: add a {first}")),
            },
            ('(' | ')' | ',', _) => 1,
            (_, Some(sign)) => sign.len(),
            _ => word(rest)?,
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// How long a word is; a path in braces may have anything in it.
fn word(text: &str) -> Result<usize, String> {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '{' => inside = true,
            '}' => inside = false,
            _ if inside => {}
            c if c.is_whitespace() || "(),<>=!~&|\"'".contains(c) => return Ok(at.max(1)),
            _ => {}
        }
    }
    match inside {
        true => Err(format!("the path in `{text}` has no end: add a }}")),
        false => Ok(text.len()),
    }
}

struct Parser<'t> {
    tokens: &'t [String],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn take(&mut self) -> Result<&str, String> {
        let token = self.tokens.get(self.at);
        self.at += 1;
        token
            .map(String::as_str)
            .ok_or_else(|| "the condition ends where something has to follow".to_owned())
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        match self.take()? {
            token if token == wanted => Ok(()),
            token => Err(format!("`{token}` where there should be `{wanted}`")),
        }
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut all = vec![self.all()?];
        while self.peek() == Some("||") {
            self.at += 1;
            all.push(self.all()?);
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Condition::Any(all),
        })
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut all = vec![self.one()?];
        while self.peek() == Some("&&") {
            self.at += 1;
            all.push(self.one()?);
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Condition::All(all),
        })
    }

    fn one(&mut self) -> Result<Condition, String> {
        match self.peek() {
            Some("!") => {
                self.at += 1;
                return Ok(Condition::Not(Box::new(self.one()?)));
            }
            Some("(") => {
                self.at += 1;
                let condition = self.any()?;
                self.expect(")")?;
                return Ok(condition);
            }
            _ => {}
        }
        let left = self.operand()?;
        let operator = self.peek().and_then(Operator::of);
        Ok(match operator {
            None => Condition::Holds(left),
            Some(operator) => {
                self.at += 1;
                Condition::Compare(left, operator, self.operand()?)
            }
        })
    }

    fn operand(&mut self) -> Result<Operand, String> {
        let token = self.take()?.to_owned();
        if let Some(function) = function(&token)
            && self.peek() == Some("(")
        {
            return self.called(function);
        }
        let literal = |value: Json| Ok(Operand::Literal(value));
        match token.as_str() {
            "now" => return Ok(Operand::Now),
            "event" => return Ok(Operand::Event),
            "violated" => return Ok(Operand::Violated),
            "true" => return literal(true.into()),
            "false" => return literal(false.into()),
            "null" => return literal(Json::Null),
            _ => {}
        }
        if let Some(quoted) = unquoted(&token) {
            return literal(quoted.into());
        }
        if let Ok(number) = token.parse::<i64>() {
            return literal(number.into());
        }
        if let Ok(number) = token.parse::<f64>() {
            return literal(number.into());
        }
        object(&token)
    }

    fn called(&mut self, function: Function) -> Result<Operand, String> {
        let (name, arguments, make) = function;
        self.expect("(")?;
        let mut given = Vec::new();
        while self.peek() != Some(")") {
            if !given.is_empty() {
                self.expect(",")?;
            }
            let token = self.take()?;
            given.push(unquoted(token).unwrap_or(token).to_owned());
        }
        self.expect(")")?;
        match given.len() == arguments.len() {
            true => Ok(make(&given)),
            false => Err(format!("it is {name}({})", arguments.join(", "))),
        }
    }
}

type Function = (
    &'static str,
    &'static [&'static str],
    fn(&[String]) -> Operand,
);

fn function(name: &str) -> Option<Function> {
    const ALL: [Function; 4] = [
        ("told", &["\"TEXT\""], |given| {
            Operand::Told(given[0].clone())
        }),
        ("count", &["POINT", "RESOURCE"], |given| {
            Operand::Count(Point::parse(&given[0]), given[1].clone())
        }),
        ("revision", &["POINT", "RESOURCE"], |given| {
            Operand::Revision(Point::parse(&given[0]), given[1].clone())
        }),
        ("differ", &["POINT", "POINT", "RESOURCE"], |given| {
            let [one, other] = [0, 1].map(|at| Point::parse(&given[at]));
            Operand::Differ(one, other, given[2].clone())
        }),
    ];
    ALL.into_iter().find(|(own, ..)| *own == name)
}

fn unquoted(token: &str) -> Option<&str> {
    let quote = token.chars().next().filter(|c| "\"'".contains(*c))?;
    token.strip_prefix(quote)?.strip_suffix(quote)
}

/// `i1:configmaps/default/x{.data.n}`.
fn object(token: &str) -> Result<Operand, String> {
    let help = || {
        format!(
            "`{token}` is no value: an object is POINT:RESOURCE/NAMESPACE/NAME, with {{.path.to.field}} behind it for a \
             part; a text stands in quotes"
        )
    };
    let (whole, path) = match token.split_once('{') {
        Some((whole, path)) => (whole, path.strip_suffix('}').ok_or_else(help)?),
        None => (token, ""),
    };
    let (point, object) = whole.split_once(':').ok_or_else(help)?;
    let parts: Vec<&str> = object.split('/').collect();
    let (resource, namespace, name) = match parts[..] {
        [resource, name] => (resource, "", name),
        [resource, namespace, name] => (resource, namespace, name),
        _ => return Err(help()),
    };
    let path = path.replace('[', ".").replace(']', "");
    let steps = path.split('.').filter(|step| !step.is_empty());
    Ok(Operand::Object {
        point: Point::parse(point),
        resource: resource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        path: steps
            .map(|step| step.trim_matches(['\'', '"']).to_owned())
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_condition_is_read_as_it_binds() {
        let parsed = Condition::parse("!violated && now >= 1.5 || told('is held')").expect("one");
        let expected = Condition::Any(vec![
            Condition::All(vec![
                Condition::Not(Box::new(Condition::Holds(Operand::Violated))),
                Condition::Compare(
                    Operand::Now,
                    Operator::GreaterOrEqual,
                    Operand::Literal(json!(1.5)),
                ),
            ]),
            Condition::Holds(Operand::Told("is held".to_owned())),
        ]);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn an_object_has_a_path() {
        let parsed = object("a1/informer:pods/ns/x{.spec.ports[0].port}").expect("one");
        let Operand::Object { point, path, .. } = parsed else {
            panic!("an object");
        };
        assert_eq!(point.to_string(), "a1/informer");
        assert_eq!(path, ["spec", "ports", "0", "port"]);
        let value = json!({"spec": {"ports": [{"port": 80}]}});
        assert_eq!(part(value, &path), json!(80));
        assert_eq!(part(json!({}), &path), Json::Null);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |text: &str| Condition::parse(text).expect_err("it is wrong");
        assert!(wrong("configmaps/x == 1").contains("POINT:RESOURCE/NAMESPACE/NAME"));
        assert!(wrong("now ==").contains("ends where something has to follow"));
        assert!(wrong("(now > 1").contains("ends"));
        assert!(wrong("count(a1)").contains("count(POINT, RESOURCE)"));
        assert!(wrong("now > 1 now").contains("behind a whole condition"));
        assert!(wrong("told('x").contains("has no end"));
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
