//! What differs from run to run: uids, revisions, generated names, times. The recording holds
//! symbols in their place; each is bound to what the simulated server said where it first stands.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regex::Regex;
use serde_json::Value as Json;
use wavetank_api::json::Map;

/// The symbols of one recording.
pub struct Symbols {
    bound: BTreeMap<String, String>,
    /// How far each revision symbol is from the beginning of the recording: at least and at most.
    distances: BTreeMap<String, (u64, u64)>,
    /// The newest revision symbol that was bound without a difference since: distance and value.
    anchor: Option<(u64, u64)>,
    /// The last one that was bound at all.
    last: (u64, u64),
    /// The highest number of a uid symbol that the recording has shown.
    uids: u64,
    pattern: Regex,
    /// What texts with symbols must be like, by the pattern: most are of one symbol and nothing else.
    made: BTreeMap<String, Regex>,
}

/// What is not equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unequal {
    /// Where in the answer.
    pub at: String,
    /// What was recorded.
    pub recorded: String,
    /// What the simulated server said.
    pub simulated: String,
}

/// Requests that carry a time carry that of an object. This one stands in for those of objects that are gone.
const SOME_TIME: &str = "2026-01-01T00:00:03Z";

const PATTERN: &str = r"a-time|continue\(v=[^,]*,rv=[^,]*,start=[^)]*\)|rv-pre-[0-9]+|rv-[0-9]+|uid-[0-9]+|ip6-[0-9]+|ip-[0-9]+|port-[0-9]+|name-[A-Za-z0-9._-]*?-(?:[0-9]+|rejected)";

impl Symbols {
    /// For a recording that begins at this revision.
    pub fn new(lines: &[Json], begin: u64) -> Symbols {
        let table = lines.last().and_then(|last| last.get("rv"));
        let table = table.and_then(Json::as_object).into_iter().flatten();
        let distance = |(symbol, distance): (&String, &Json)| {
            let first = distance.get(0).unwrap_or(distance).as_u64()?;
            let last = distance.get(1).and_then(Json::as_u64);
            Some((symbol.clone(), (first, last.unwrap_or(first))))
        };
        Symbols {
            bound: BTreeMap::new(),
            distances: table.filter_map(distance).collect(),
            anchor: Some((0, begin)),
            last: (0, begin),
            uids: 0,
            pattern: Regex::new(PATTERN).expect("a pattern"),
            made: BTreeMap::new(),
        }
    }

    /// After a difference the distance to the next revision is not known.
    pub fn lose_anchor(&mut self) {
        self.anchor = None;
    }

    /// A recorded value with the symbols replaced by what they are bound to.
    pub fn fill(&self, recorded: &Json) -> Json {
        self.fill_like(recorded, &BTreeMap::new(), None)
    }

    /// A recorded request. Times in it are those of the objects that it is a copy of: these are the ones that there are, by
    /// their uids.
    pub fn fill_request(&self, recorded: &Json, objects: &BTreeMap<String, Json>) -> Json {
        self.fill_like(recorded, objects, None)
    }

    fn fill_like(
        &self,
        recorded: &Json,
        objects: &BTreeMap<String, Json>,
        copied: Option<&Json>,
    ) -> Json {
        match recorded {
            Json::String(text) if text == "time" => {
                let time = copied.filter(|copied| copied.is_string()).cloned();
                time.unwrap_or_else(|| SOME_TIME.into())
            }
            Json::String(text) => {
                let filled = self.fill_text(text);
                match filled.parse::<u64>() {
                    Ok(number) if text.starts_with("port-") => number.into(),
                    _ => filled.into(),
                }
            }
            Json::Array(items) => {
                let item = |(at, item)| {
                    let copied = copied.and_then(|copied| copied.get(at));
                    self.fill_like(item, objects, copied)
                };
                items.iter().enumerate().map(item).collect()
            }
            Json::Object(fields) => {
                let uid = recorded.pointer("/metadata/uid").and_then(Json::as_str);
                let own = uid.and_then(|uid| objects.get(&self.fill_text(uid)));
                let copied = own.or(copied);
                let filled = fields.iter().map(|(name, value)| {
                    let copied = copied.and_then(|copied| copied.get(name));
                    (name.clone(), self.fill_like(value, objects, copied))
                });
                Json::Object(filled.collect())
            }
            other => other.clone(),
        }
    }

    /// The value of a symbol, or the symbol.
    pub fn fill_text(&self, text: &str) -> String {
        let replaced = self
            .pattern
            .replace_all(text, |found: &regex::Captures<'_>| {
                let symbol = &found[0];
                match parse_token(symbol) {
                    Some((version, revision, start)) => {
                        let revision = self.fill_text(revision);
                        let token = format!(
                            "{{\"v\":\"{version}\",\"rv\":{revision},\"start\":{}}}",
                            Json::from(self.fill_text(start))
                        );
                        URL_SAFE_NO_PAD.encode(token)
                    }
                    None => self.value(symbol),
                }
            });
        replaced.into_owned()
    }

    /// What a symbol stands for. A revision that nobody has seen, as of a request for the future, is
    /// at its distance from one that was seen.
    fn value(&self, symbol: &str) -> String {
        let (distance, value) = self.last;
        match (self.bound.get(symbol), self.distances.get(symbol)) {
            (Some(bound), _) => bound.clone(),
            (None, Some((far, _))) => (value + far).saturating_sub(distance).to_string(),
            (None, None) => symbol.to_owned(),
        }
    }

    /// Is what was said what was recorded? Binds the symbols that are new.
    ///
    /// # Errors
    /// The first place that differs. What stands beside it is looked at all the same, so that its
    /// symbols are bound.
    pub fn compare(&mut self, recorded: &Json, said: &Json, at: &str) -> Result<(), Unequal> {
        match (recorded, said) {
            (Json::String(text), Json::String(said)) => self.compare_text(text, said, at),
            (Json::String(symbol), Json::Number(number)) if symbol.starts_with("port-") => {
                self.compare_text(symbol, &number.to_string(), at)
            }
            (Json::Array(items), Json::Array(said)) if items.len() == said.len() => {
                let mut first = Ok(());
                for (number, (item, said)) in items.iter().zip(said).enumerate() {
                    let result = self.compare(item, said, &format!("{at}[{number}]"));
                    first = first.and(result);
                }
                first
            }
            (Json::Object(fields), Json::Object(said)) => {
                let mut first = Ok(());
                let named = self.named_fields(fields);
                let fields = named.as_ref().unwrap_or(fields);
                let added = said.keys().filter(|field| !fields.contains_key(*field));
                for field in fields.keys().chain(added) {
                    let at = format!("{at}.{field}");
                    let absent = Json::from("(absent)");
                    let result = match (fields.get(field), said.get(field)) {
                        (Some(field), Some(said)) => self.compare(field, said, &at),
                        (field, said) => {
                            let field = field.unwrap_or(&absent);
                            self.count_uids(field);
                            Err(unequal(field, said.unwrap_or(&absent), &at))
                        }
                    };
                    first = first.and(result);
                }
                first
            }
            (recorded, said) if recorded == said => Ok(()),
            (recorded, said) => {
                self.count_uids(recorded);
                Err(unequal(recorded, said, at))
            }
        }
    }

    /// Names of fields may hold symbols, too: managedFields name items of lists by their keys.
    fn named_fields(&self, fields: &Map) -> Option<Map> {
        let has_symbols = fields.keys().any(|name| name.starts_with("k:"));
        let named = |(name, value): (&String, &Json)| (self.fill_text(name), value.clone());
        has_symbols.then(|| fields.iter().map(named).collect())
    }

    /// The uids in what is not there at all are counted all the same.
    fn count_uids(&mut self, recorded: &Json) {
        for found in self.pattern.find_iter(&recorded.to_string()) {
            if let Some(number) = found.as_str().strip_prefix("uid-") {
                self.uids = self.uids.max(number.parse().unwrap_or(0));
            }
        }
    }

    fn compare_text(&mut self, recorded: &str, said: &str, at: &str) -> Result<(), Unequal> {
        let differs = || unequal(&Json::from(recorded), &Json::from(said), at);
        if recorded == "time" {
            let is_time = said.len() >= 20 && said.ends_with('Z') && said.as_bytes()[10] == b'T';
            return if is_time { Ok(()) } else { Err(differs()) };
        }
        // An age, as people read it.
        if recorded == "age" {
            let is_age = said.ends_with(['s', 'm', 'h', 'd', 'y']);
            return if is_age { Ok(()) } else { Err(differs()) };
        }
        // Where revisions come and go with the time, the recording tells none.
        if matches!(recorded, "rv" | "rv-event") {
            let is_revision = !said.is_empty() && said.bytes().all(|b| b.is_ascii_digit());
            return if is_revision { Ok(()) } else { Err(differs()) };
        }
        if recorded == "date" {
            let is_date = said == "date" || said.len() == 10 && said.as_bytes()[4] == b'-';
            return if is_date { Ok(()) } else { Err(differs()) };
        }
        // Times in a text: within JSON, or as the value that is wrong.
        let recorded = &recorded
            .replace(":\\\"time\\\"", ":\\\"a-time\\\"")
            .replace("Invalid value: \"time\"", "Invalid value: \"a-time\"");
        let symbols: Vec<(usize, usize)> = self
            .pattern
            .find_iter(recorded)
            .map(|found| (found.start(), found.end()))
            .collect();
        if symbols.is_empty() {
            return if recorded == said {
                Ok(())
            } else {
                Err(differs())
            };
        }
        let mut pattern = String::from("(?s)^");
        let mut last = 0;
        for (start, end) in &symbols {
            pattern += &regex::escape(&recorded[last..*start]);
            pattern += shape(&recorded[*start..*end]);
            last = *end;
        }
        pattern += &regex::escape(&recorded[last..]);
        pattern.push('$');
        let made = match self.made.entry(pattern) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => {
                let made = Regex::new(place.key()).map_err(|_| differs())?;
                place.insert(made)
            }
        };
        let Some(found) = made.captures(said) else {
            return Err(differs());
        };
        for (number, (start, end)) in symbols.iter().enumerate() {
            let symbol = &recorded[*start..*end];
            if !self.bind(symbol, &found[number + 1]) {
                return Err(differs());
            }
        }
        Ok(())
    }

    /// Is the symbol bound to this, or may it be?
    fn bind(&mut self, symbol: &str, said: &str) -> bool {
        if let Some((version, revision, start)) = parse_token(symbol) {
            let Some(token) = decode_token(said) else {
                return false;
            };
            return token["v"] == version
                && token["start"] == self.fill_text(start)
                && self.bind(revision, &token["rv"].to_string());
        }
        if symbol == "a-time" || symbol.ends_with("-rejected") {
            return true;
        }
        if let Some(bound) = self.bound.get(symbol) {
            return bound == said;
        }
        if !self.is_plausible(symbol, said) {
            return false;
        }
        // What was released may be allocated again.
        // Caches that trail may be at one revision here and at several there.
        let drawn = ["ip-", "ip6-", "port-", "rv-pre-"];
        let again = drawn.iter().any(|prefix| symbol.starts_with(prefix));
        if !again && self.bound.values().any(|bound| bound == said) {
            return false;
        }
        self.bound.insert(symbol.to_owned(), said.to_owned());
        true
    }

    /// Is a symbol that is new where it may be: uids in order, revisions at their distance?
    fn is_plausible(&mut self, symbol: &str, said: &str) -> bool {
        if let Some(number) = symbol.strip_prefix("uid-") {
            let number: u64 = number.parse().unwrap_or(0);
            let is_next = number == self.uids + 1;
            self.uids = self.uids.max(number);
            return is_next;
        }
        if symbol.starts_with("rv-pre-") {
            return true;
        }
        if symbol.starts_with("rv-") {
            let (Some((least, most)), Ok(said)) =
                (self.distances.get(symbol).copied(), said.parse::<u64>())
            else {
                return false;
            };
            let fits = self.anchor.is_none_or(|(anchor, value)| {
                let distance = i128::from(said) - i128::from(value) + i128::from(anchor);
                (least.into()..=most.into()).contains(&distance)
            });
            // One of a block whose order is open is no measure for others.
            if least == most {
                self.anchor = Some((least, said));
                self.last = (least, said);
            }
            return fits;
        }
        true
    }
}

/// What may stand in the place of a symbol.
fn shape(symbol: &str) -> &'static str {
    if symbol == "a-time" {
        "([0-9T:.Z-]+)"
    } else if symbol.starts_with("continue(") {
        "([A-Za-z0-9_-]+)"
    } else if symbol.starts_with("rv-") || symbol.starts_with("port-") {
        "([0-9]+)"
    } else if symbol.starts_with("uid-") {
        "([0-9a-f]{8}-[0-9a-f-]{27})"
    } else if symbol.starts_with("ip6-") {
        "([0-9a-f:]+)"
    } else if symbol.starts_with("ip-") {
        "([0-9.]+)"
    } else {
        "([A-Za-z0-9._-]+)"
    }
}

fn parse_token(symbol: &str) -> Option<(&str, &str, &str)> {
    let inner = symbol.strip_prefix("continue(v=")?.strip_suffix(')')?;
    let (version, rest) = inner.split_once(",rv=")?;
    let (revision, start) = rest.split_once(",start=")?;
    Some((version, revision, start))
}

fn decode_token(said: &str) -> Option<Json> {
    let bytes = URL_SAFE_NO_PAD.decode(said).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn unequal(recorded: &Json, said: &Json, at: &str) -> Unequal {
    Unequal {
        at: at.trim_start_matches('.').to_owned(),
        recorded: recorded.to_string(),
        simulated: said.to_string(),
    }
}
