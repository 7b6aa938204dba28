//! Sequences of operations, drawn from a seed: every verb, all kinds of patches, all options of a deletion, lists and
//! watches of all kinds, on a few names in two namespaces, so that requests conflict.

use serde_json::{Value as Json, json};

use super::bodies::{self, CONFIG_MAP, DEPLOYMENT, FINALIZERS, KINDS, Kind, POD, SERVICE, WIDGET};
use super::dice::Dice;
use super::op::{Op, request};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";

/// What a sequence is drawn for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// How many operations are drawn.
    pub length: usize,
    /// Are the ranges of Services so small that they are exhausted?
    pub tiny: bool,
    /// Is there a custom kind?
    pub custom: bool,
}

struct Draw {
    dice: Dice,
    shape: Shape,
    watches: u32,
    ops: Vec<Op>,
}

/// The sequence of this number under a seed.
pub(crate) fn sequence(seed: u64, number: u64, shape: Shape) -> Vec<Op> {
    let mut draw = Draw {
        dice: Dice::new(seed, number),
        shape,
        watches: 0,
        ops: namespaces(),
    };
    if shape.custom {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        draw.send("POST", path, json!({"body": bodies::definition()}));
    }
    for _ in 0..shape.length {
        draw.op();
    }
    for number in 1..=draw.watches {
        draw.ops.push(Op::Read(number));
    }
    for kind in [CONFIG_MAP, SERVICE, POD, DEPLOYMENT] {
        draw.ops
            .push(Op::Request(request("GET", &kind.everywhere())));
    }
    draw.ops.push(Op::Allocations);
    draw.ops
}

/// Creates the two namespaces.
pub(crate) fn namespaces() -> Vec<Op> {
    let create = |name: &str| {
        let mut create = request("POST", "/api/v1/namespaces");
        create["contentType"] = "application/json".into();
        create["body"] =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        Op::Request(create)
    };
    ["{a}", "{b}"].map(create).into()
}

impl Draw {
    /// Adds a request with these fields beside its method and path.
    fn send(&mut self, method: &str, path: &str, fields: Json) {
        let mut request = request(method, path);
        for (name, value) in fields.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        if !request["body"].is_null() && request["contentType"].is_null() {
            request["contentType"] = "application/json".into();
        }
        if request["query"].is_null() {
            request["query"] = json!({});
        }
        self.ops.push(Op::Request(request));
    }

    fn kind(&mut self) -> Kind {
        match self.shape {
            Shape { tiny: true, .. } if self.dice.percent(85) => SERVICE,
            Shape { custom: true, .. } if self.dice.percent(40) => WIDGET,
            _ => *self.dice.pick(&KINDS),
        }
    }

    fn op(&mut self) {
        let kind = self.kind();
        let namespace = *self.dice.pick(&["{a}", "{a}", "{b}"]);
        let name = *self.dice.pick(&["x", "y", "z"]);
        let collection = kind.collection(namespace);
        let path = format!("{collection}/{name}");
        let weights = [20, 14, 18, 8, 12, 5, 7, 2, 4, 3, 3, 4, 4, 1, 2];
        match self.dice.weighted(&weights) {
            0 => self.create(kind, &collection, name),
            1 => self.update(kind, &path, name),
            2 => self.patch(kind, &path),
            3 => self.apply(kind, &path, name),
            4 => self.delete(&path),
            5 => self.get(&path),
            6 => self.list(kind, &collection),
            7 => self.delete_collection(&collection),
            8 => self.status(kind, &path, name),
            9 => self.scale(kind, namespace, name),
            10 => self.bind(namespace, name),
            11 => self.open(kind, &collection, name),
            12 => self.read(),
            13 => {
                let back = self.dice.below(12);
                self.ops.push(Op::Compact(back));
            }
            _ => self.odd(kind, &collection, name),
        }
    }

    /// Options that any write may have.
    fn options(&mut self) -> Json {
        let mut query = json!({});
        if self.dice.percent(6) {
            query["dryRun"] = "All".into();
        }
        if self.dice.percent(10) {
            query["fieldManager"] = (*self.dice.pick(&["m", "n"])).into();
        }
        if self.dice.percent(6) {
            query["fieldValidation"] =
                (*self.dice.pick(&["Strict", "Warn", "Ignore", "Odd"])).into();
        }
        query
    }

    fn create(&mut self, kind: Kind, collection: &str, name: &str) {
        let rest = kind.draw(&mut self.dice, self.shape.tiny);
        let mut body = kind.object(name, rest);
        match self.dice.below(16) {
            0 => body["metadata"]["resourceVersion"] = json!({"$revision": 0}),
            1 => body["unknown"] = "field".into(),
            2 => body["metadata"]["namespace"] = "elsewhere".into(),
            _ => {}
        }
        if self.dice.percent(6) {
            // What lists show in which order would else be chance.
            let at = self.ops.len();
            let letters = [at / 26, at % 26].map(|at| char::from(b'a' + (at % 26) as u8));
            let prefix = format!("made-up-{}-", String::from_iter(letters));
            body["metadata"]["generateName"] = prefix.into();
            body["metadata"]["name"] = Json::Null;
        }
        let query = self.options();
        self.send("POST", collection, json!({"body": body, "query": query}));
    }

    fn update(&mut self, kind: Kind, path: &str, name: &str) {
        let rest = kind.draw(&mut self.dice, self.shape.tiny);
        let new = kind.object(name, rest);
        let change = kind.change(&mut self.dice, self.shape.tiny);
        let body = match self.dice.below(6) {
            0..=2 => json!({"$object": path, "merge": change, "or": new}),
            3 => json!({"$object": path, "back": self.dice.below(3), "merge": change, "or": new}),
            4 => {
                let mut change = change;
                change["metadata"]["resourceVersion"] = Json::Null;
                json!({"$object": path, "merge": change, "or": new})
            }
            _ => new,
        };
        let query = self.options();
        self.send("PUT", path, json!({"body": body, "query": query}));
    }

    fn patch(&mut self, kind: Kind, path: &str) {
        let version = json!({"$rv": path, "back": self.dice.below(3)});
        let (kind_of_patch, body) = match self.dice.below(9) {
            0 => (
                JSON,
                json!([
                    {"op": "test", "path": "/metadata/resourceVersion", "value": version},
                    {"op": "add", "path": "/metadata/labels", "value": {"l": "j"}},
                ]),
            ),
            1 => (
                JSON,
                json!([{"op": "remove", "path": *self.dice.pick(&["/metadata/labels", "/data/k", "/spec/replicas"])}]),
            ),
            2 => (
                MERGE,
                json!({"metadata": {"resourceVersion": version, "annotations": {"a": self.dice.below(3).to_string()}}}),
            ),
            3 => (
                MERGE,
                json!({"metadata": {"finalizers": *self.dice.pick(&[None, Some(&FINALIZERS[..1]), Some(&FINALIZERS)])}}),
            ),
            4 => (
                STRATEGIC,
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZERS[0]]}}),
            ),
            5 | 6 => (MERGE, kind.change(&mut self.dice, self.shape.tiny)),
            _ => (STRATEGIC, kind.change(&mut self.dice, self.shape.tiny)),
        };
        let query = self.options();
        self.send(
            "PATCH",
            path,
            json!({"body": body, "contentType": kind_of_patch, "query": query}),
        );
    }

    fn apply(&mut self, kind: Kind, path: &str, name: &str) {
        let rest = kind.draw(&mut self.dice, self.shape.tiny);
        let mut query = self.options();
        query["fieldManager"] = (*self.dice.pick(&["m", "n"])).into();
        if self.dice.percent(50) {
            query["force"] = "true".into();
        }
        let body = kind.object(name, rest);
        self.send(
            "PATCH",
            path,
            json!({"body": body, "contentType": APPLY, "query": query}),
        );
    }

    fn delete(&mut self, path: &str) {
        let (mut query, back) = (json!({}), self.dice.below(3));
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        match self.dice.below(10) {
            0 => options["preconditions"] = json!({"uid": {"$uid": path, "back": back}}),
            1 => options["preconditions"] = json!({"resourceVersion": {"$rv": path, "back": back}}),
            2 => {
                options["propagationPolicy"] =
                    (*self
                        .dice
                        .pick(&["Foreground", "Background", "Orphan", "Odd"]))
                    .into()
            }
            3 => options["gracePeriodSeconds"] = (*self.dice.pick(&[0, 0, 5, 40, -1])).into(),
            4 => options["dryRun"] = json!(["All"]),
            5 => options["orphanDependents"] = self.dice.percent(50).into(),
            6 => query["gracePeriodSeconds"] = (*self.dice.pick(&["0", "3"])).into(),
            7 => query["propagationPolicy"] = (*self.dice.pick(&["Foreground", "Orphan"])).into(),
            _ => options = Json::Null,
        }
        self.send("DELETE", path, json!({"body": options, "query": query}));
    }

    fn get(&mut self, path: &str) {
        let headers = self.form();
        let query = match self.dice.below(6) {
            0 => json!({"resourceVersion": "0"}),
            1 => json!({"resourceVersion": {"$revision": 0}}),
            _ => json!({}),
        };
        self.send("GET", path, json!({"query": query, "headers": headers}));
    }

    fn form(&mut self) -> Json {
        match self.dice.below(8) {
            0 => json!({"Accept": TABLE}),
            1 => json!({"Accept": METADATA}),
            _ => json!({}),
        }
    }

    fn selector(&mut self, name: &str, query: &mut Json) {
        match self.dice.below(6) {
            0 => {
                query["labelSelector"] = (*self.dice.pick(&[
                    "l",
                    "l=p",
                    "!l",
                    "l in (p,q)",
                    "l notin (p)",
                    "l!=q",
                    "l==",
                ]))
                .into()
            }
            1 => query["fieldSelector"] = format!("metadata.name={name}").into(),
            2 => {
                query["fieldSelector"] = (*self.dice.pick(&[
                    "metadata.namespace!=a",
                    "status.phase=Running",
                    "spec.nodeName=n1",
                ]))
                .into()
            }
            _ => {}
        }
    }

    fn list(&mut self, kind: Kind, collection: &str) {
        let everywhere = kind.everywhere();
        let path = if self.dice.percent(40) {
            &everywhere
        } else {
            collection
        };
        let mut query = json!({});
        self.selector("x", &mut query);
        match self.dice.below(9) {
            0 => query["limit"] = (*self.dice.pick(&["1", "2"])).into(),
            1 => {
                query["limit"] = "1".into();
                query["continue"] = json!({"$continue": path});
            }
            2 => query["resourceVersion"] = "0".into(),
            3 => {
                query["resourceVersion"] = json!({"$revision": self.dice.below(8)});
                let how = *self.dice.pick(&["Exact", "NotOlderThan", "Odd"]);
                query["resourceVersionMatch"] = how.into();
            }
            4 => {
                query["resourceVersion"] = json!({"$revision": self.dice.below(8)});
                query["limit"] = "1".into();
            }
            _ => {}
        }
        let headers = self.form();
        self.send(
            "GET",
            path,
            json!({"query": query, "headers": headers, "verb": "list"}),
        );
    }

    fn delete_collection(&mut self, collection: &str) {
        let mut query = json!({"labelSelector": *self.dice.pick(&["l=p", "l=q", "!l"])});
        if self.dice.percent(20) {
            query["dryRun"] = "All".into();
        }
        self.send(
            "DELETE",
            collection,
            json!({"query": query, "verb": "deletecollection"}),
        );
    }

    fn status(&mut self, kind: Kind, path: &str, name: &str) {
        let kind = if kind.status { kind } else { POD };
        let path = match kind == POD {
            true => format!("{}/{name}/status", POD.collection("{a}")),
            false => format!("{path}/status"),
        };
        let mut body = kind.status(&mut self.dice);
        if self.dice.percent(30) {
            body["metadata"] = json!({"finalizers": null, "labels": {"l": "s"}});
        }
        match self.dice.below(4) {
            0 => {
                let object = path.trim_end_matches("/status");
                let body = json!({"$object": object, "merge": body, "or": kind.object(name, body.clone())});
                self.send("PUT", &path, json!({"body": body}));
            }
            1 => {
                let body = kind.object(name, body);
                self.send(
                    "PATCH",
                    &path,
                    json!({"body": body, "contentType": APPLY, "query": {"fieldManager": "s"}}),
                );
            }
            _ => self.send("PATCH", &path, json!({"body": body, "contentType": MERGE})),
        }
    }

    fn scale(&mut self, kind: Kind, namespace: &str, name: &str) {
        let kind = if kind.scale { kind } else { DEPLOYMENT };
        let path = format!("{}/{name}/scale", kind.collection(namespace));
        let replicas = *self.dice.pick(&[-1, 0, 1, 2, 3]);
        match self.dice.below(4) {
            0 => self.send("GET", &path, json!({})),
            1 => {
                let body = json!({
                    "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, "namespace": namespace},
                    "spec": {"replicas": replicas},
                });
                self.send("PUT", &path, json!({"body": body}));
            }
            _ => {
                let body = json!({"spec": {"replicas": replicas}});
                self.send("PATCH", &path, json!({"body": body, "contentType": MERGE}));
            }
        }
    }

    fn bind(&mut self, namespace: &str, name: &str) {
        let pod = format!("{}/{name}", POD.collection(namespace));
        if self.dice.percent(60) {
            let node = *self.dice.pick(&["n1", "n2"]);
            let body = json!({
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node},
            });
            self.send("POST", &format!("{pod}/binding"), json!({"body": body}));
        } else {
            let body =
                json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
            self.send("POST", &format!("{pod}/eviction"), json!({"body": body}));
        }
    }

    fn open(&mut self, kind: Kind, collection: &str, name: &str) {
        let mut query = json!({"watch": "true"});
        self.selector(name, &mut query);
        match self.dice.below(6) {
            0 | 1 => query["resourceVersion"] = json!({"$revision": 0}),
            2 => query["resourceVersion"] = json!({"$revision": self.dice.below(10)}),
            3 => query["resourceVersion"] = "0".into(),
            4 => {
                query["sendInitialEvents"] = "true".into();
                query["resourceVersionMatch"] = "NotOlderThan".into();
                query["allowWatchBookmarks"] = "true".into();
            }
            _ => {}
        }
        let everywhere = kind.everywhere();
        let path = if self.dice.percent(30) {
            &everywhere
        } else {
            collection
        };
        let mut watch = request("GET", path);
        watch["query"] = query;
        self.watches += 1;
        self.ops.push(Op::Open(self.watches, watch));
    }

    fn read(&mut self) {
        if self.watches > 0 {
            let watch = 1 + self.dice.below(self.watches.into()) as u32;
            self.ops.push(Op::Read(watch));
        }
    }

    /// Requests that go wrong in a way of their own.
    fn odd(&mut self, kind: Kind, collection: &str, name: &str) {
        let path = format!("{collection}/{name}");
        match self.dice.below(8) {
            0 => self.send("POST", collection, json!({"body": "{\"kind\": "})),
            1 => self.send(
                "POST",
                collection,
                json!({"body": kind.object("Not_A_Name", json!({}))}),
            ),
            2 => self.send(
                "PUT",
                &path,
                json!({"body": kind.object("other", json!({}))}),
            ),
            3 => self.send(
                "PATCH",
                &path,
                json!({"body": {}, "contentType": "application/json"}),
            ),
            // A custom object is created by a POST to its own path, without managedFields: that is not modelled.
            4 if kind != WIDGET => {
                self.send("POST", &path, json!({"body": kind.object(name, json!({}))}))
            }
            5 => self.send(
                "PATCH",
                &path,
                json!({"body": [{"op": "odd", "path": "/x"}], "contentType": JSON}),
            ),
            6 => self.send("GET", collection, json!({"query": {"limit": "-1"}})),
            _ => self.send("GET", &format!("{path}/nothing"), json!({})),
        }
    }
}
