//! Clients that use one kind of thing in a scenario: each does something when it is told to `use` it, and remembers
//! nothing. What they do is beside what they use.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::{Method, Request, Resource, Stored, json};
use wavetank_client::{Failure, RestClient};
use wavetank_component::file::suggest::help;
use wavetank_engine::{Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task};

use crate::pod_runners::NEVER_READY;

/// The namespace of all that they use.
pub const NAMESPACE: &str = "default";
/// How long a request may take.
pub const LIMIT: Duration = Duration::from_secs(10);

/// How a client uses something.
pub trait Use: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// The name of the routine that does it.
    const ROUTINE: Name;
    /// What it is told to do. What it is not told, it draws.
    type Order: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static;

    /// The order in the arguments of `use`.
    ///
    /// # Errors
    /// If they name what there is not: what there is.
    fn order(&self, args: &Args<'_>) -> Result<Self::Order, String>;

    /// Does it.
    fn work(self, client: Client, order: Self::Order) -> impl Future<Output = ()> + Send;
}

/// A client that uses something.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct User<U> {
    rest: RestClient,
    uses: U,
}

impl<U: Use> User<U> {
    /// One that reaches apiservers so.
    pub fn new(rest: RestClient, uses: U) -> User<U> {
        User { rest, uses }
    }
}

impl<U: Use> Process for User<U> {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        if what != "use" {
            return Err(format!("knows `use`, not `{what}`"));
        }
        let args = Args::of(args);
        let order = self.uses.order(&args)?;
        args.finish()?;
        cx.spawn(Task::new(U::ROUTINE, order));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let client = Client {
            rx: Rx::new(),
            rest: self.rest.clone(),
        };
        let work = self
            .uses
            .clone()
            .work(client, task.args::<U::Order>().clone());
        Box::pin(async {
            work.await;
            Outcome::Done
        })
    }
}

/// What a user asks of apiservers.
pub struct Client {
    /// What it waits with.
    pub rx: Rx,
    rest: RestClient,
}

impl Client {
    /// Asks for a change. What becomes of it shows in etcd.
    pub async fn ask(&self, request: Request) {
        let asked = self.rest.request(self.rx, request);
        let _ = self.rx.timeout(LIMIT, asked).await;
    }

    /// The object at a path.
    ///
    /// # Errors
    /// If there is none, or no answer in time.
    pub async fn object(&self, path: &str) -> Result<Stored, Failure> {
        let get = Request::new(Method::Get, path);
        self.rest.object_within(self.rx, get, LIMIT).await
    }

    /// The object of this name, if there is one and it is shown in time.
    pub async fn get(&self, of: &Resource, name: &str) -> Option<Json> {
        let found = self.object(&of.path(NAMESPACE, name)).await;
        Some(found.ok()?.json())
    }

    /// All objects of a resource; none if they are not shown in time.
    pub async fn list(&self, of: &Resource) -> Vec<Stored> {
        let list = Request::new(Method::Get, of.path(NAMESPACE, ""));
        let listed = self.rx.timeout(LIMIT, self.rest.list(self.rx, list)).await;
        let listed = listed.and_then(Result::ok);
        listed.map_or(Vec::new(), |list| list.items)
    }

    /// Reads the object of this name, and writes it with one field changed.
    pub async fn change(&self, of: &Resource, name: &str, field: &[&str], value: Json) {
        self.change_at(&of.path(NAMESPACE, name), field, value)
            .await;
    }

    /// The same of the object at a path.
    pub async fn change_at(&self, path: &str, field: &[&str], value: Json) {
        if let Ok(found) = self.object(path).await {
            let mut object = found.json();
            json::set(&mut object, field, value);
            self.ask(Request::new(Method::Put, path).with(object)).await;
        }
    }

    /// The number that was asked for, or one below `most`.
    pub async fn number(&self, asked: Option<i64>, most: u64) -> i64 {
        match asked {
            Some(number) => number,
            None => self.rx.choose(most).await as i64,
        }
    }

    /// The image of a template that was asked for, or one of so many, of which the last never becomes ready.
    pub async fn image(&self, asked: Option<&str>, most: u64) -> String {
        match asked {
            Some(image) => image.to_owned(),
            None => match self.rx.choose(most).await + 1 {
                version if version == most => NEVER_READY.to_owned(),
                version => format!("image:{version}"),
            },
        }
    }

    /// One of these is drawn. One alone is not.
    pub async fn one_of<T: Clone>(&self, all: &[T]) -> T {
        match all {
            [only] => only.clone(),
            _ => all[self.rx.choose(all.len() as u64).await as usize].clone(),
        }
    }
}

/// The containers of a template: one of this image.
pub fn containers(image: &str) -> Json {
    json!([{"name": "main", "image": image}])
}

/// The selector of a set of pods, and the template of these.
pub fn selected_template(app: &str, image: &str) -> (Json, Json) {
    let labels = json!({ "app": app });
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"containers": containers(image)}});
    (json!({ "matchLabels": labels }), template)
}

/// What a process is told with a command, key by key. It is a mistake to say what nobody asks for, or in another form.
#[derive(Debug)]
pub struct Args<'a> {
    all: &'a Json,
    asked: RefCell<Vec<&'static str>>,
    wrong: RefCell<Option<String>>,
}

impl<'a> Args<'a> {
    /// Those of a command; nothing if all is to be drawn.
    pub fn of(all: &'a Json) -> Args<'a> {
        Args {
            all,
            asked: RefCell::default(),
            wrong: RefCell::default(),
        }
    }

    fn get<T>(
        &self,
        key: &'static str,
        form: &str,
        read: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Option<T> {
        self.asked.borrow_mut().push(key);
        let value = self.all.get(key).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            let wrong = format!("`{key}` is {form}, not `{value}`");
            self.wrong.borrow_mut().get_or_insert(wrong);
        }
        read
    }

    /// A text.
    pub fn text(&self, key: &'static str) -> Option<String> {
        self.get(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// A whole number.
    pub fn number(&self, key: &'static str) -> Option<i64> {
        self.get(key, "a whole number", Json::as_i64)
    }

    /// A whole number that is not below 0.
    pub fn count(&self, key: &'static str) -> Option<u64> {
        self.get(key, "a whole number from 0 on", Json::as_u64)
    }

    /// Yes or no.
    pub fn flag(&self, key: &'static str) -> Option<bool> {
        self.get(key, "`true` or `false`", Json::as_bool)
    }

    /// A list of what `read` reads.
    pub fn list<T>(
        &self,
        key: &'static str,
        form: &str,
        read: impl Fn(&'a Json) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.get(key, form, |value| {
            value.as_array()?.iter().map(read).collect()
        })
    }

    /// The one of `all` that is named.
    ///
    /// # Errors
    /// If there is none of this name: which there are.
    pub fn named<T: Copy>(
        &self,
        key: &'static str,
        all: &[(&str, T)],
    ) -> Result<Option<T>, String> {
        let Some(named) = self.text(key) else {
            return Ok(None);
        };
        let found = all.iter().find(|(name, _)| *name == named);
        let found = found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            format!("`{key}` is one of {}, not `{named}`", names.join(", "))
        })?;
        Ok(Some(found.1))
    }

    /// What is done uses these keys, and no others.
    ///
    /// # Errors
    /// If another one was said: which it uses.
    pub fn only(&self, what: &str, uses: &[&str]) -> Result<(), String> {
        let said = self.all.as_object().into_iter().flatten();
        let mut said = said.map(|(key, _)| key.as_str());
        let asked = self.asked.borrow();
        match said.find(|key| *key != "what" && asked.contains(key) && !uses.contains(key)) {
            None => Ok(()),
            Some(other) if uses.is_empty() => Err(format!("`{what}` does not use `{other}`")),
            Some(other) => {
                let uses: Vec<String> = uses.iter().map(|key| format!("`{key}`")).collect();
                let uses = uses.join(", ");
                Err(format!("`{what}` does not use `{other}`: it uses {uses}"))
            }
        }
    }

    /// All that is understood has been asked for.
    ///
    /// # Errors
    /// If something else was said, or something in another form: what would be right.
    pub fn finish(self) -> Result<(), String> {
        if let Some(wrong) = self.wrong.into_inner() {
            return Err(wrong);
        }
        let asked = self.asked.into_inner();
        let said = match self.all {
            Json::Null => return Ok(()),
            Json::Object(said) => said,
            other => return Err(format!("is told `{other}`, which is no mapping")),
        };
        match said.keys().find(|key| !asked.contains(&key.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(format!(
                "knows nothing of `{unknown}`: {}",
                help(unknown, &asked, "it knows")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(&str, u8); 2] = [("create", 1), ("delete", 2)];

    fn read(all: &Json) -> Result<(Option<u8>, Option<i64>), String> {
        let args = Args::of(all);
        let read = (args.named("what", &ALL)?, args.number("replicas"));
        args.finish()?;
        Ok(read)
    }

    #[test]
    fn what_is_named_is_found_or_refused_with_all_names() {
        assert_eq!(read(&json!({"what": "delete"})), Ok((Some(2), None)));
        assert_eq!(read(&Json::Null), Ok((None, None)));
        let refused = read(&json!({"what": "move"}));
        let why = "`what` is one of create, delete, not `move`";
        assert_eq!(refused, Err(why.to_owned()));
    }

    #[test]
    fn what_is_not_used_by_what_is_done_is_refused() {
        let all = json!({"what": "make", "claim": "c0"});
        let args = Args::of(&all);
        assert_eq!(args.text("claim").as_deref(), Some("c0"));
        let refused = args.only("make", &["volume", "size"]);
        let why = "`make` does not use `claim`: it uses `volume`, `size`";
        assert_eq!(refused, Err(why.to_owned()));
        assert_eq!(args.only("give-up", &["claim"]), Ok(()));
    }

    #[test]
    fn what_nobody_asks_for_is_refused() {
        let refused = read(&json!({"what": "create", "replcas": 3})).expect_err("a mistake");
        assert_eq!(
            refused,
            "knows nothing of `replcas`: did you mean `replicas`?"
        );
        let refused = read(&json!({"replicas": "three"})).expect_err("a mistake");
        assert_eq!(refused, "`replicas` is a whole number, not `\"three\"`");
    }
}
