//! Clients that use one kind of thing in a scenario: each does something when it is told to `use` it, and remembers
//! nothing. What they do is beside what they use.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::{Method, Request, Resource, Stored, json};
use wavetank_client::{Failure, RestClient};
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
    fn order(&self, args: &Json) -> Result<Self::Order, String>;

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
        let order = self.uses.order(args)?;
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

/// The text of an argument.
pub fn text(args: &Json, key: &str) -> Option<String> {
    args[key].as_str().map(str::to_owned)
}

/// The one of `all` that the order names under this key; none where it leaves that to be drawn.
///
/// # Errors
/// If there is none of this name: which there are.
pub fn named<T: Copy>(order: &Json, key: &str, all: &[(&str, T)]) -> Result<Option<T>, String> {
    let Some(named) = order[key].as_str() else {
        return Ok(None);
    };
    let found = all.iter().find(|(name, _)| *name == named);
    let found = found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("`{key}` is one of {}, not `{named}`", names.join(", "))
    })?;
    Ok(Some(found.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_found_or_refused_with_all_names() {
        let all = [("create", 1), ("delete", 2)];
        let named = |order| named(&order, "what", &all);
        assert_eq!(named(json!({"what": "delete"})), Ok(Some(2)));
        assert_eq!(named(json!({})), Ok(None));
        let refused = named(json!({"what": "move"}));
        let why = "`what` is one of create, delete, not `move`";
        assert_eq!(refused, Err(why.to_owned()));
    }
}
