//! How a condition is read.

use serde_json::Value as Json;

use super::{Condition, Operand, Operator};
use crate::travel::points::Point;

pub(super) fn parse(text: &str) -> Result<Condition, String> {
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
}
