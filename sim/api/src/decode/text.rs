//! Reads JSON text as Go's `encoding/json` does, with its errors, and keeps what a map would lose:
//! the order of fields, fields that come twice, and how numbers were written.

use crate::json::Json;

/// How deep text may be nested. Upstream allows 10,000.
pub(crate) const MAX_DEPTH: usize = 500;

/// A JSON value as written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    /// The literal.
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Reads a text; the error is Go's `SyntaxError`.
pub(crate) fn parse(bytes: &[u8]) -> Result<Node, String> {
    let mut reader = Reader { bytes, at: 0 };
    reader.space();
    let node = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.unexpected("after top-level value")),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// `scanner.error` at this byte, or the one at the end of the text.
    fn unexpected(&self, context: &str) -> String {
        match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quote_char(byte)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Node::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Node::Number),
            Some(b't') => self.literal("true").map(|()| Node::Bool(true)),
            Some(b'f') => self.literal("false").map(|()| Node::Bool(false)),
            Some(b'n') => self.literal("null").map(|()| Node::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                let context = format!("in literal {word} (expecting {})", quote_char(byte));
                return Err(self.unexpected(&context));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<String, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            match self.peek() {
                Some(b'0'..=b'9') => self.digits(),
                _ => return Err(self.unexpected("after decimal point in numeric literal")),
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            match self.peek() {
                Some(b'0'..=b'9') => self.digits(),
                _ => return Err(self.unexpected("in exponent of numeric literal")),
            }
        }
        Ok(String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned())
    }

    /// A string; what is no UTF-8 and surrogates that stand alone become U+FFFD.
    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(String::from_utf8_lossy(&out).into_owned());
                }
                Some(b'\\') => {
                    self.at += 1;
                    let char = self.escape()?;
                    out.extend(char.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(byte) if byte >= 0x20 => {
                    out.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let char = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(char)
    }

    fn unicode(&mut self) -> Result<char, String> {
        let high = self.hex()?;
        if (0xd800..0xdc00).contains(&high) && self.bytes[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let both = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("in \\u hexadecimal character escape"));
            };
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Node, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Node::Array(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Node::Array(items));
                }
                _ => return Err(self.unexpected("after array element")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node, String> {
        self.at += 1;
        let mut fields = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Node::Object(fields));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let name = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.space();
            fields.push((name, self.value(depth + 1)?));
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Node::Object(fields));
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
    }
}

/// `quoteChar` of Go's scanner: the byte as a character between single quotes.
fn quote_char(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        _ => {
            let text = crate::quote::quote(&char::from(byte).to_string());
            format!("'{}'", &text[1..text.len() - 1])
        }
    }
}

impl Node {
    /// The tree of it, as Go reads it into `interface{}`: of a field that comes twice the last stays.
    pub(crate) fn json(&self) -> Json {
        match self {
            Node::Null => Json::Null,
            Node::Bool(bool) => Json::Bool(*bool),
            Node::Number(text) => number(text),
            Node::String(text) => Json::String(text.clone()),
            Node::Array(items) => items.iter().map(Node::json).collect(),
            Node::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, node)| (name.clone(), node.json()));
                Json::Object(fields.collect())
            }
        }
    }
}

/// A number as Go reads it into `interface{}`: whole ones stay whole.
pub(crate) fn number(text: &str) -> Json {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.into();
    }
    let float = text.parse::<f64>().ok();
    let float = float.and_then(serde_json::Number::from_f64);
    float.map_or(Json::Null, Json::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        parse(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn errors_are_worded_as_go_words_them() {
        let end = "unexpected end of JSON input";
        assert_eq!(error(""), end);
        assert_eq!(error("{\"a\":1"), end);
        assert_eq!(
            error("not json"),
            "invalid character 'o' in literal null (expecting 'u')"
        );
        assert_eq!(
            error("{bad"),
            "invalid character 'b' looking for beginning of object key string"
        );
        assert_eq!(
            error("[1,]"),
            "invalid character ']' looking for beginning of value"
        );
        assert_eq!(error("{} x"), "invalid character 'x' after top-level value");
        assert_eq!(error("{\"a\" 1}"), "invalid character '1' after object key");
        assert_eq!(error("[1 2]"), "invalid character '2' after array element");
        assert_eq!(
            error("\"a\n\""),
            "invalid character '\\n' in string literal"
        );
        assert_eq!(
            error("\"\\q\""),
            "invalid character 'q' in string escape code"
        );
        assert_eq!(error("-x"), "invalid character 'x' in numeric literal");
        let strange = parse(&[0x81]).expect_err("no JSON");
        assert_eq!(
            strange,
            "invalid character '\\u0081' looking for beginning of value"
        );
    }

    #[test]
    fn what_a_map_would_lose_is_kept() {
        let node = parse(br#"{"b":1.0,"a":"\ud83d\ude00\ud800","b":null}"#).expect("JSON");
        let Node::Object(fields) = &node else {
            panic!("an object")
        };
        let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        assert_eq!(fields[0].1, Node::Number("1.0".to_owned()));
        assert_eq!(fields[1].1, Node::String("😀\u{fffd}".to_owned()));
        assert_eq!(node.json()["b"], Json::Null);
    }

    #[test]
    fn deep_text_is_refused() {
        let deep = "[".repeat(100_000);
        assert_eq!(error(&deep), "exceeded max depth");
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde(text in r#"[\[\]{}:,"a1\-. tfn\\u0]{0,30}"#) {
            let ours = parse(text.as_bytes());
            let theirs = serde_json::from_str::<Json>(&text);
            // Surrogates that stand alone are an error of serde's, not of Go's.
            prop_assert!(ours.is_ok() == theirs.is_ok() || text.contains("\\u"));
        }
        #[test]
        fn any_bytes_are_refused_or_can_be_written_and_read_again(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            dense in r#"[\[\]{}:,"a1\-. tfn\\u0]{0,30}"#,
        ) {
            for bytes in [&bytes[..], dense.as_bytes()] {
                if let Ok(read) = parse(bytes) {
                    let again = parse(read.json().to_string().as_bytes());
                    prop_assert_eq!(again.map(|node| node.json()), Ok(read.json()));
                }
            }
        }
    }
}
