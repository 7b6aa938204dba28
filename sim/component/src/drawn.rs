//! What a seed decides before the first event: one flat mapping, which stands in a trace's head.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use wavetank_engine::drive::random::Stream;

use crate::values::Choices;

/// Draws what a seed decides.
#[derive(Debug)]
pub struct Draw {
    stream: Stream,
    drawn: Map<String, Json>,
}

impl Draw {
    /// Nothing is decided yet; what is drawn comes from this stream.
    pub fn new(stream: Stream) -> Draw {
        let drawn = Map::new();
        Draw { stream, drawn }
    }

    /// From here on it comes from this one.
    pub fn draw_from(&mut self, stream: Stream) -> Stream {
        std::mem::replace(&mut self.stream, stream)
    }

    /// One of the choices.
    pub fn pick<T: Clone>(&mut self, of: &Choices<T>) -> T {
        let picked = self.stream.pick(of.values());
        picked.expect("choices are never none").clone()
    }

    /// Decides a key that nothing is drawn for.
    ///
    /// # Panics
    /// If it has been decided: names are unique among all components.
    pub fn set(&mut self, key: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).expect("it is JSON");
        let before = self.drawn.insert(key.to_owned(), value);
        assert!(before.is_none(), "`{key}` is decided twice");
    }

    /// Decides a key by one of the choices.
    pub fn choose<T: Clone + Serialize>(&mut self, key: &str, of: &Choices<T>) {
        let picked = self.pick(of);
        self.set(key, picked);
    }

    /// The same where there may be none: then it is what it otherwise is, and nothing is drawn.
    pub fn choose_or<T: Clone + Serialize>(
        &mut self,
        key: &str,
        of: Option<&Choices<T>>,
        otherwise: T,
    ) {
        let picked = match of {
            Some(of) => self.pick(of),
            None => otherwise,
        };
        self.set(key, picked);
    }

    /// All that is decided.
    pub fn done(self) -> Drawn {
        Drawn(self.drawn)
    }
}

/// What a seed has decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn(Map<String, Json>);

impl Drawn {
    /// What stands in the head of a trace. Keys that younger components decide are missing in old ones: they are those
    /// of `now`, drawn by this build; keys that nobody decides are refused.
    ///
    /// # Errors
    /// What does not fit.
    pub fn from_json(json: &Json, now: &Drawn) -> Result<Drawn, String> {
        let object = json.as_object();
        let object = object.ok_or_else(|| format!("the options are no mapping: {json}"))?;
        if let Some(key) = object.keys().find(|key| !now.0.contains_key(*key)) {
            return Err(format!("the options: nobody knows `{key}`"));
        }
        let mut all = now.0.clone();
        all.extend(object.clone());
        Ok(Drawn(all))
    }

    /// As it stands in the head of a trace.
    pub fn to_json(&self) -> Json {
        Json::Object(self.0.clone())
    }

    /// Some keys of it, as a struct.
    ///
    /// # Errors
    /// The value that is none.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(&self.0).map_err(|error| format!("the options: {error}"))
    }

    /// How many there are.
    ///
    /// # Errors
    /// If that is no number.
    pub fn count(&self, key: &str) -> Result<u32, String> {
        let count = self.0.get(key).and_then(Json::as_u64);
        let count = count.and_then(|count| u32::try_from(count).ok());
        count.ok_or_else(|| format!("the options: `{key}` is no number"))
    }

    /// The same with another number of them.
    pub fn with_count(&self, key: &str, count: u32) -> Drawn {
        let mut drawn = self.clone();
        drawn.0.insert(key.to_owned(), count.into());
        drawn
    }
}
