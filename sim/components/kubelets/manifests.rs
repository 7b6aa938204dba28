//! Who changes the manifests on the disk of a node in a scenario: a few files appear, change and vanish.

use std::sync::Arc;

use serde_json::Value as Json;
use wavetank_components::users::Args;
use wavetank_engine::{Name, Outcome, Rx};

use crate::config_file::{change, manifest};
use crate::kubelet::Kubelet;
use crate::pod::SYSTEM_NODE_CRITICAL;
use crate::runtime::STUBBORN;
use crate::shapes::Shape;

pub(crate) const CHANGE: Name = Name::new("change-manifest");

/// Names of files and pods.
pub(crate) const FILES: [&str; 2] = ["web", "db"];
const IMAGES: [&str; 3] = ["image:1", "image:2", STUBBORN];
const INITS: [&str; 6] = ["none", "none", "one", "flaky", "two", "both"];
const GRACES: [i64; 2] = [4, 20];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Write,
    Remove,
}

/// How often each is drawn.
const DRAWN: [What; 3] = [What::Write, What::Write, What::Remove];

/// Their priority classes, of which the kubelet knows the names alone.
const CLASSES: [&str; 2] = ["", SYSTEM_NODE_CRITICAL];

/// What is to be done; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Order {
    what: Option<What>,
    file: Option<String>,
    image: Option<String>,
    init: Option<String>,
    grace: Option<i64>,
    class: Option<String>,
}

impl Order {
    /// `manifest {what?, file?, image?, init?, grace?, class?}`
    pub(crate) fn new(args: &Json) -> Result<Order, String> {
        let args = Args::of(args);
        let order = Order {
            what: args.named("what", &[("write", What::Write), ("remove", What::Remove)])?,
            file: args.text("file"),
            image: args.text("image"),
            init: args.text("init"),
            grace: args.number("grace"),
            class: args.text("class"),
        };
        args.finish()?;
        Ok(order)
    }
}

async fn one_of<T: Clone>(rx: Rx, asked: Option<T>, all: &[T]) -> T {
    match asked {
        Some(asked) => asked,
        None => all[rx.choose(all.len() as u64).await as usize].clone(),
    }
}

async fn text_of(rx: Rx, asked: Option<String>, all: &[&str]) -> String {
    match asked {
        Some(asked) => asked,
        None => one_of(rx, None, all).await.to_owned(),
    }
}

fn heeds_shutdowns(rx: Rx) -> bool {
    rx.process(|own: &mut Kubelet| !own.shutdown.is_empty())
}

/// Does it.
pub(crate) async fn run(rx: Rx, order: Order) -> Outcome {
    let what = one_of(rx, order.what, &DRAWN).await;
    let name = text_of(rx, order.file, &FILES).await;
    let file: Arc<str> = format!("{name}.yaml").into();
    if what == What::Remove {
        change(rx, &file, None);
        return Outcome::Done;
    }
    let shape = Shape {
        image: text_of(rx, order.image, &IMAGES).await,
        policy: "Always".to_owned(),
        grace: one_of(rx, order.grace, &GRACES).await,
        probes: "none".to_owned(),
        init: text_of(rx, order.init, &INITS).await,
    };
    let mut spec = shape.spec();
    let class = match order.class {
        None if !heeds_shutdowns(rx) => String::new(),
        asked => text_of(rx, asked, &CLASSES).await,
    };
    if !class.is_empty() {
        spec["priorityClassName"] = class.into();
    }
    change(rx, &file, Some(manifest(&name, spec)));
    Outcome::Done
}
