//! Selectors out of text, and what is wrong with it
//! (`apimachinery/pkg/labels/selector.go`, `pkg/fields/selector.go`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{FieldSelector, FieldTerm, LabelSelector, Operator, Requirement};
use crate::names;
use crate::quote;
use crate::validation::ErrorList;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    Error,
    End,
    Closed,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

fn token(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::Closed,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ => return None,
    })
}

fn is_special(char: char) -> bool {
    matches!(char, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n')
}

/// What `Lexer.Lex` yields, up to and with the end.
fn lex(text: &str) -> Vec<(Token, String)> {
    let mut tokens = Vec::new();
    // A zero byte ends the text.
    let mut rest = text.split('\0').next().unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(is_space);
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, String::new()));
            return tokens;
        };
        if !is_special(first) {
            let end = rest.find(|char| is_special(char) || is_space(char));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            tokens.push((token(word).unwrap_or(Token::Identifier), word.to_owned()));
            rest = after;
            continue;
        }
        // The longest symbol; every special character begins one.
        let end = rest.find(|char| !is_special(char)).unwrap_or(rest.len());
        let longest = (1..=end.min(2)).rev().find_map(|length| {
            let symbol = &rest[..length];
            token(symbol).map(|token| (token, symbol))
        });
        let (found, symbol) = longest.unwrap_or((Token::Error, &rest[..1]));
        tokens.push((found, symbol.to_owned()));
        rest = &rest[symbol.len()..];
    }
}

struct Parser {
    tokens: Vec<(Token, String)>,
    at: usize,
}

impl Parser {
    fn token(&self, at: usize) -> (Token, String) {
        let end = (Token::End, String::new());
        self.tokens.get(at).cloned().unwrap_or(end)
    }

    /// The next token where a key or value may stand: words of operators are identifiers there.
    fn peek(&self) -> (Token, String) {
        match self.token(self.at) {
            (Token::In | Token::NotIn, text) => (Token::Identifier, text),
            token => token,
        }
    }

    fn next(&mut self) -> (Token, String) {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => {
                    let requirement = self.requirement();
                    all.push(
                        requirement
                            .map_err(|error| format!("unable to parse requirement: {error}"))?,
                    );
                    match self.next() {
                        (Token::End, _) => return Ok(all),
                        (Token::Comma, _) => match self.peek() {
                            (Token::Identifier | Token::Not, _) => {}
                            (_, text) => {
                                return Err(format!(
                                    "found '{text}', expected: identifier after ','"
                                ));
                            }
                        },
                        (_, text) => {
                            return Err(format!(
                                "found '{text}', expected: ',' or 'end of string'"
                            ));
                        }
                    }
                }
                (Token::End, _) => return Ok(all),
                (_, text) => {
                    return Err(format!(
                        "found '{text}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let not = token == Token::Not;
        if not {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let errors = names::is_qualified_name(&key);
        if !errors.is_empty() {
            let key = quote::quote(&key);
            return Err(format!(
                "<nil>: Invalid value: {key}: {}",
                errors.join("; ")
            ));
        }
        if not {
            return new_requirement(key, Operator::DoesNotExist, BTreeSet::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return new_requirement(key, Operator::Exists, BTreeSet::new());
        }
        let (token, text) = self.token(self.at);
        self.at += 1;
        let operator = match token {
            Token::In | Token::Equals | Token::DoubleEquals => Operator::In,
            Token::NotIn | Token::NotEquals => Operator::NotIn,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            _ => {
                return Err(format!(
                    "found '{text}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        let values = match token {
            Token::In | Token::NotIn => self.values()?,
            _ => self.exact_value()?,
        };
        new_requirement(key, operator, values)
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.next() {
            (Token::Open, _) => {}
            (_, text) => return Err(format!("found '{text}' expected: '('")),
        }
        match self.peek() {
            (Token::Identifier | Token::Comma, _) => {
                let values = self.identifiers()?;
                self.next();
                Ok(values)
            }
            (Token::Closed, _) => {
                self.next();
                Ok(BTreeSet::from([String::new()]))
            }
            (_, text) => Err(format!("found '{text}', expected: ',', ')' or identifier")),
        }
    }

    fn identifiers(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Identifier, text) => {
                    values.insert(text);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Closed, _) => return Ok(values),
                        (_, text) => {
                            return Err(format!("found '{text}', expected: ',' or ')'"));
                        }
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Closed => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            (Token::Identifier, text) => Ok(BTreeSet::from([text])),
            (_, text) => Err(format!("found '{text}', expected: identifier")),
        }
    }
}

/// `NewRequirement`
fn new_requirement(
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
) -> Result<Requirement, String> {
    let mut errors = ErrorList::default();
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        for (at, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.invalid(format!("values[{at}]"), value, detail);
            }
        }
    }
    for (at, value) in values.iter().enumerate() {
        let wrong = names::is_valid_label_value(value);
        if !wrong.is_empty() {
            errors.invalid(format!("values[{at}][{key}]"), value, wrong.join("; "));
        }
    }
    if !errors.is_empty() {
        return Err(errors.to_string());
    }
    Ok(Requirement {
        key: key.into(),
        operator,
        values: values.into_iter().map(Arc::from).collect(),
    })
}

impl LabelSelector {
    /// Reads a selector, `app=x,tier in (a,b),!old`. The error is upstream's (`labels.Parse`).
    pub fn parse(text: &str) -> Result<LabelSelector, String> {
        let tokens = lex(text);
        let mut all = Parser { tokens, at: 0 }.requirements()?;
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(LabelSelector(all))
    }
}

impl FieldSelector {
    /// Reads a selector, `metadata.name=x,status.phase!=Running`. The error is upstream's
    /// (`fields.ParseSelector`).
    pub fn parse(text: &str) -> Result<FieldSelector, String> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let mut all = Vec::new();
        for term in terms {
            if term.is_empty() {
                continue;
            }
            let Some((field, equal, value)) = split_term(term) else {
                return Err(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                ));
            };
            all.push(FieldTerm {
                field: field.into(),
                equal,
                value: unescape_value(value)?.into(),
            });
        }
        Ok(FieldSelector(all))
    }
}

/// `splitTerms`: at commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        terms.push(&text[start..]);
    }
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    term.char_indices().find_map(|(at, _)| {
        let (field, rest) = term.split_at(at);
        let operators = [("!=", false), ("==", true), ("=", true)];
        operators.into_iter().find_map(|(operator, equal)| {
            let value = rest.strip_prefix(operator)?;
            Some((field, equal, value))
        })
    })
}

/// `UnescapeValue`
fn unescape_value(text: &str) -> Result<String, String> {
    let wrong = |sequence: String| {
        Err(format!(
            "invalid field selector: invalid escape sequence: {sequence}"
        ))
    };
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(char @ ('\\' | ',' | '=')) => out.push(char),
                Some(char) => return wrong(format!("\\{char}")),
                None => return wrong("\\".to_owned()),
            },
            ',' | '=' => {
                let char = char as u32;
                return Err(format!(
                    "invalid field selector: unescaped character in value: {char}"
                ));
            }
            char => out.push(char),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn error(text: &str) -> String {
        LabelSelector::parse(text).expect_err(text)
    }

    #[test]
    fn labels_are_selected() {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "x", "in": "notin"}}});
        let matches = |text: &str| LabelSelector::parse(text).expect(text).matches(&object);
        for yes in [
            "",
            "a=1",
            "a==1",
            "a!=2",
            "a in (1,2)",
            "b notin (a,b)",
            "a",
            "!c",
            "a>0,a<2",
            "in in (notin)",
            "c!=x",
            " a = 1 , b ",
        ] {
            assert!(matches(yes), "{yes}");
        }
        for no in ["a=2", "!a", "c", "c=", "a in ()", "b in (,)", "a>1", "b>0"] {
            assert!(!matches(no), "{no}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_label_selector_is_told() {
        for (text, expected) in [
            (
                "i>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' \
                 operators, the value must be an integer",
            ),
            (
                "=x",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            ("a=b,,", "found ',', expected: identifier after ','"),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "/x=1",
                "unable to parse requirement: <nil>: Invalid value: \"/x\": prefix part must be \
                 non-empty",
            ),
            (
                "!",
                "unable to parse requirement: found '', expected: identifier",
            ),
            (
                "a in b",
                "unable to parse requirement: found 'b' expected: '('",
            ),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn fields_are_selected() {
        let parse = |text: &str| FieldSelector::parse(text);
        let selector = parse("metadata.name=a\\,b,status!=x").expect("a selector");
        assert_eq!(selector.exactly("metadata.name"), Some("a,b"));
        assert_eq!(selector.0.len(), 2);
        assert_eq!(
            parse("metadata.name in (c1)"),
            Err(
                "invalid selector: 'metadata.name in (c1)'; can't understand \
                 'metadata.name in (c1)'"
                    .to_owned()
            )
        );
        assert_eq!(
            parse("a=b=c"),
            Err("invalid field selector: unescaped character in value: 61".to_owned())
        );
        assert!(parse("a=\\x").is_err() && parse("").is_ok());
        // In the order of their texts, as upstream has them.
        let values = |text: &str| -> Vec<String> {
            let terms = parse(text).expect("a selector").0;
            terms.iter().map(|term| term.value.to_string()).collect()
        };
        assert_eq!(values("a==,a= "), [" ", ""]);
        assert_eq!(values("a=,a= "), ["", " "]);
    }

    /// Upstream's `EscapeValue`, as a term.
    fn escaped(term: &FieldTerm) -> String {
        let mut value = String::new();
        for char in term.value.chars() {
            if "\\,=".contains(char) {
                value.push('\\');
            }
            value.push(char);
        }
        let operator = if term.equal { "=" } else { "!=" };
        format!("{}{operator}{value}", term.field)
    }

    proptest! {
        #[test]
        fn what_is_read_can_be_written_and_read_again(
            text in "\\PC{0,24}",
            dense in "[ab=!<>(), in\\\\]{0,24}",
            terms in "(a|b=c|!d|e in \\((f|g,h|)\\)|i notin \\(j,k\\)|l>1|m<23|n!=o)(,(p|q==r|!s|t in \\(v,u\\))){0,3}",
        ) {
            for text in [&text, &dense, &terms] {
                if let Ok(read) = LabelSelector::parse(text) {
                    prop_assert_eq!(LabelSelector::parse(&read.to_string()), Ok(read));
                }
                if let Ok(read) = FieldSelector::parse(text) {
                    let written: Vec<String> = read.0.iter().map(escaped).collect();
                    // `parseSelector` sorts what was written, and `a== ` comes after `a=b` where `a= ` comes before it.
                    let mut sorted = read;
                    sorted.0.sort_by_key(escaped);
                    prop_assert_eq!(FieldSelector::parse(&written.join(",")), Ok(sorted));
                }
            }
            prop_assert!(LabelSelector::parse(&terms).is_ok(), "{}", terms);
        }
    }
}
