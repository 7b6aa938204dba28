//! The paths of printer columns (`client-go/util/jsonpath`): fields, elements, slices, wildcards and filters. A path that
//! upstream reads and this does not is one with a union, a recursion or a range.

use super::super::quote;
use crate::json::Json;

/// A path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct JsonPath(Vec<Node>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Node {
    Field(String),
    /// From, to, step.
    Array([Option<i64>; 3]),
    Wildcard,
    Filter(Filter),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Filter {
    left: Operand,
    /// With its right side; without it the left side has to be there (`exists`).
    operator: Option<(&'static str, Operand)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Operand {
    Path(JsonPath),
    Literal(Json),
}

/// What cannot be found, or read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Unreadable;

type Read<T> = Result<T, Unreadable>;

impl JsonPath {
    /// `Parse`
    pub(super) fn parse(text: &str) -> Read<JsonPath> {
        let mut nodes = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (node, after) = if let Some(inside) = rest.strip_prefix('[') {
                let end = closing(inside).ok_or(Unreadable)?;
                (parse_array(inside[..end].trim())?, &inside[end + 1..])
            } else if let Some(after) = rest.strip_prefix(".*") {
                (Node::Wildcard, after)
            } else {
                let name = rest.strip_prefix('.').ok_or(Unreadable)?;
                let (name, after) = parse_field(name)?;
                if name.is_empty() && after.is_empty() && nodes.is_empty() {
                    break;
                }
                if name.is_empty() && !after.starts_with('[') {
                    return Err(Unreadable);
                }
                if name.is_empty() {
                    rest = after;
                    continue;
                }
                (Node::Field(name), after)
            };
            nodes.push(node);
            rest = after;
        }
        Ok(JsonPath(nodes))
    }

    /// `FindResults`, where keys may be missing.
    ///
    /// # Errors
    /// Something on the way is of another kind.
    pub(super) fn find_results<'a>(&self, object: &'a Json) -> Read<Vec<&'a Json>> {
        let mut found = vec![object];
        for node in &self.0 {
            let mut next = Vec::new();
            for value in found {
                node.walk(value, &mut next)?;
            }
            found = next;
        }
        Ok(found)
    }
}

/// Where the bracket closes that was open before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut quoted = None;
    for (at, char) in text.char_indices() {
        match (quoted, char) {
            (Some(quote), char) => quoted = Some(quote).filter(|quote| *quote != char),
            (None, '"' | '\'') => quoted = Some(char),
            (None, '[') => depth += 1,
            (None, ']') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// `parseField`: a name, whose special characters a backslash frees.
fn parse_field(text: &str) -> Read<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => name.push(chars.next().ok_or(Unreadable)?.1),
            '.' | '[' => return Ok((name, &text[at..])),
            char if char.is_whitespace() || "]{}()".contains(char) => return Err(Unreadable),
            char => name.push(char),
        }
    }
    Ok((name, ""))
}

fn unquoted(text: &str) -> Option<&str> {
    let inside = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"'))
}

/// `parseArray`
fn parse_array(text: &str) -> Read<Node> {
    if let Some(filter) = text.strip_prefix("?(") {
        let filter = filter.strip_suffix(')').ok_or(Unreadable)?;
        return Ok(Node::Filter(parse_filter(filter)?));
    }
    if let Some(name) = unquoted(text) {
        return Ok(Node::Field(name.to_owned()));
    }
    if text == "*" {
        return Ok(Node::Wildcard);
    }
    let mut bounds = [None; 3];
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 3 {
        return Err(Unreadable);
    }
    for (bound, part) in bounds.iter_mut().zip(&parts) {
        *bound = match part.trim() {
            "" => None,
            number => Some(number.parse().map_err(|_| Unreadable)?),
        };
    }
    if let [_] = parts[..] {
        let index = bounds[0].ok_or(Unreadable)?;
        // The last one ends where the array does.
        let end = Some(index + 1).filter(|end| *end != 0);
        bounds = [Some(index), end, None];
    }
    Ok(Node::Array(bounds))
}

/// `parseFilter`
fn parse_filter(text: &str) -> Read<Filter> {
    const OPERATORS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
    let mut quoted = None;
    for (at, char) in text.char_indices() {
        match (quoted, char) {
            (Some(quote), char) => quoted = Some(quote).filter(|quote| *quote != char),
            (None, '"' | '\'') => quoted = Some(char),
            _ => {}
        }
        let found = OPERATORS.into_iter().find(|op| text[at..].starts_with(op));
        if let Some(operator) = found.filter(|_| quoted.is_none()) {
            return Ok(Filter {
                left: operand(&text[..at])?,
                operator: Some((operator, operand(&text[at + operator.len()..])?)),
            });
        }
    }
    Ok(Filter {
        left: operand(text)?,
        operator: None,
    })
}

fn operand(text: &str) -> Read<Operand> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix('@') {
        return JsonPath::parse(path).map(Operand::Path);
    }
    if let Some(text) = unquoted(text) {
        return Ok(Operand::Literal(text.into()));
    }
    let literal = serde_json::from_str(text).map_err(|_| Unreadable)?;
    match literal {
        Json::Number(_) | Json::Bool(_) => Ok(Operand::Literal(literal)),
        _ => Err(Unreadable),
    }
}

impl Node {
    fn walk<'a>(&self, value: &'a Json, found: &mut Vec<&'a Json>) -> Read<()> {
        match (self, value) {
            (_, Json::Null) => {}
            (Node::Field(name), Json::Object(map)) => found.extend(map.get(name)),
            (Node::Field(_), _) => {}
            (Node::Wildcard, Json::Array(all)) => found.extend(all),
            (Node::Wildcard, Json::Object(map)) => found.extend(map.values()),
            (Node::Wildcard, _) => {}
            (Node::Array(bounds), Json::Array(all)) => found.extend(eval_array(*bounds, all)?),
            (Node::Filter(filter), Json::Array(all)) => {
                for value in all {
                    if filter.passes(value)? {
                        found.push(value);
                    }
                }
            }
            (Node::Array(_) | Node::Filter(_), _) => return Err(Unreadable),
        }
        Ok(())
    }
}

/// `evalArray`
fn eval_array(
    [from, to, step]: [Option<i64>; 3],
    all: &[Json],
) -> Read<impl Iterator<Item = &Json>> {
    let length = all.len() as i64;
    let from_end = |at: i64| if at < 0 { at + length } else { at };
    let from = from_end(from.unwrap_or(0));
    let to = from_end(to.unwrap_or(length));
    let step = step.unwrap_or(1);
    let is_outside = |at: i64| at < 0 || at > length;
    let index = to == from + 1;
    if from < 0 || to < 0 || step <= 0 || (index && is_outside(to)) || from > to {
        return Err(Unreadable);
    }
    let all = &all[from.min(length) as usize..to.min(length) as usize];
    Ok(all.iter().step_by(step as usize))
}

impl Filter {
    /// One element of `evalFilter`
    fn passes(&self, value: &Json) -> Read<bool> {
        let one = |operand: &Operand| match operand {
            Operand::Literal(literal) => Ok(Some(literal.clone())),
            Operand::Path(path) => match path.find_results(value)?.as_slice() {
                [] => Ok(None),
                [only] => Ok(Some((*only).clone())),
                _ => Err(Unreadable),
            },
        };
        let left = one(&self.left)?;
        let Some((operator, right)) = &self.operator else {
            return Ok(left.is_some());
        };
        let (Some(left), Some(right)) = (left, one(right)?) else {
            return Ok(false);
        };
        let order = match (&left, &right) {
            (Json::Number(a), Json::Number(b)) => {
                a.as_f64().partial_cmp(&b.as_f64()).ok_or(Unreadable)?
            }
            (Json::String(a), Json::String(b)) => a.cmp(b),
            (Json::Bool(a), Json::Bool(b)) if matches!(*operator, "==" | "!=") => a.cmp(b),
            _ => return Err(Unreadable),
        };
        Ok(match *operator {
            "==" => order.is_eq(),
            "!=" => order.is_ne(),
            "<" => order.is_lt(),
            ">" => order.is_gt(),
            "<=" => order.is_le(),
            _ => order.is_ge(),
        })
    }
}

/// `PrintResults` of one value.
pub(super) fn print_results(value: &Json) -> String {
    match value {
        Json::Null => "<no value>".to_owned(),
        Json::String(text) => text.clone(),
        Json::Array(_) | Json::Object(_) => {
            // As Go writes JSON.
            let text = value.to_string();
            let text = text.replace('<', "\\u003c").replace('>', "\\u003e");
            text.replace('&', "\\u0026")
        }
        value => quote::go_plain(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn found(path: &str) -> Option<Vec<String>> {
        let object = json!({
            "spec": {
                "n": 3, "a.b": "dotted", "list": [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "c"}],
                "null": null,
            },
        });
        let path = JsonPath::parse(path).ok()?;
        let found = path.find_results(&object).ok()?;
        Some(found.into_iter().map(print_results).collect())
    }

    fn some(texts: &[&str]) -> Option<Vec<String>> {
        Some(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn a_path_finds_what_it_names() {
        for (path, texts) in [
            (".spec.n", &["3"] as &[&str]),
            (".spec.a\\.b", &["dotted"]),
            (".spec['a.b']", &["dotted"]),
            (".spec.missing.more", &[]),
            (".spec.null", &["<no value>"]),
            (".spec.list[0].k", &["a"]),
            (".spec.list[-1].k", &["c"]),
            (".spec.list[1:].k", &["b", "c"]),
            (".spec.list[::2].k", &["a", "c"]),
            (".spec.list[*].v", &["1", "2"]),
            (".spec.list[?(@.k==\"b\")].v", &["2"]),
            (".spec.list[?(@.v>1)].k", &["b"]),
            (".spec.list[?(@.v)].k", &["a", "b"]),
            (".spec.list[2]", &["{\"k\":\"c\"}"]),
        ] {
            assert_eq!(found(path), some(texts), "{path}");
        }
    }

    #[test]
    fn what_is_no_list_has_no_elements() {
        assert_eq!(found(".spec[?(@.k==\"a\")].v"), None);
        assert_eq!(found(".spec.n[0]"), None);
        assert_eq!(found(".spec.list[7]"), None);
        assert_eq!(found(".spec.list[0"), None);
        assert_eq!(found("spec"), None);
    }
}
