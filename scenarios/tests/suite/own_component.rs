//! A component of somebody else's has all that ours have: keys beside ours, faults, a workload, defects, properties and
//! a story. This one looks after nothing much, and uses every hook.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::component::values::{Choices, Duration as Written};
use wavetank::component::{
    Component, Description, Draw, Drawn, Hit, Keys, Load, Mistakes, Need, Part, PropertyInfo,
    Replicas, Section, Setup, Spec, Wiring,
};
use wavetank::kube::Kube;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;
use wavetank_engine::{
    Always, Caller, Check, Class, Cx, FaultKind, Note, Payload, Process, RoutineFuture, Task,
    Violation, World,
};
use wavetank_version::{Defect, Gate, List, Listed, defects};

const TEXT: &str = "\
name: sitters
about: Sitters look, while they and the apiserver crash.
topology: {apiservers: 1, sitters: 2}
options: {endpoint-reconciler-type: none, patience: [1s, 2s]}
workload: {look: {every: 1s}}
storm: 40s
calm: 30s
properties: [looks-awake]
faults: {crash: {max: 3, lasts: 1s..5s}, pause: {max: 1, lasts: 1s..5s}}
";

const SLEEPS: Defect =
    Defect::known("sitter-sleeps", "issue 1", "a sitter looks in its sleep").ships(Gate::NEVER);

defects! {
    /// Of sitters.
    pub enum SitterDefect in "sitters" {
        Sleeps = SLEEPS,
    }
}

/// A process that looks when it is told to, and remembers nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sitter {
    sleeps: bool,
}

/// A note: it has looked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Looked {
    asleep: bool,
}

impl Process for Sitter {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a sitter: {body:?}");
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        if what != "look" {
            return Err(format!("knows `look`, not `{what}`"));
        }
        let asleep = self.sleeps;
        cx.note(Looked { asleep });
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        unreachable!("a sitter has no routine: {task:?}");
    }
}

/// Of `options`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
struct Options {
    /// How long a sitter waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    patience: Option<Choices<Written>>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;

    fn draw(&self, draw: &mut Draw) {
        draw.choose_or("patience", self.patience.as_ref(), Written::from_secs(5));
    }

    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        drawn.read::<Decided>().map(drop)
    }
}

#[derive(Deserialize)]
struct Decided {
    patience: Written,
}

struct Sitters;

const NAME: &str = "sitters";

impl Component for Sitters {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "processes that look"
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn replicas(&self) -> Option<Replicas> {
        Some(Replicas::counted(NAME, "sitter", "The number of sitters."))
    }

    fn workload(&self) -> Vec<Load> {
        let need = Need {
            met: |spec| spec.count(NAME) > 0,
            lacking: "there is nobody to look",
            add: "`sitters: 2` to `topology`",
        };
        vec![Load::command("look", "look", "Each sitter looks.", need).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        let patience = spec.part::<Options>().patience;
        if patience.is_some_and(|own| own.values().contains(&Written::ZERO)) {
            let message = "nobody has no patience at all";
            mistakes.value(Section::Options, "patience", message, "give more than 0s");
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Decided { patience } = setup.decided();
        assert!(patience > Written::ZERO);
        for (name, release) in wiring.names(NAME).iter().zip(setup.sitters()) {
            let defects = setup.set::<SitterDefect>(release);
            let sleeps = defects.has(SitterDefect::Sleeps);
            wiring.process(name, Sitter { sleeps });
        }
    }

    fn hit(&self, _: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        (kind != FaultKind::Stop).then_some(Hit::at_most(max))
    }

    fn defects(&self) -> Vec<List> {
        vec![SitterDefect::LIST]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        let need = Need {
            met: |spec| spec.count(NAME) > 0,
            lacking: "sitters, and there are none",
            add: "`sitters: 2` to `topology`",
        };
        let about = "who looks is awake";
        vec![PropertyInfo::new("looks-awake", about, need, |settled| {
            assert!(settled.is_zero() || settled == SETTLED);
            Box::new(Always {
                name: "looks-awake",
                class: Class::Guarantee,
                check: looks_awake,
            })
        })]
    }

    fn settles(&self, _: &Setup) -> Duration {
        SETTLED
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        let looked = note.body.get::<Looked>()?;
        let how = if looked.asleep { " in its sleep" } else { "" };
        Some(Description {
            text: format!("looks{how}"),
            about: vec!["the view".to_owned()],
        })
    }
}

const SETTLED: Duration = Duration::from_secs(7);

/// All are of the newest release that scenarios know.
trait OfSitters {
    fn sitters(&self) -> Vec<wavetank_version::Version>;
}

impl OfSitters for Setup {
    fn sitters(&self) -> Vec<wavetank_version::Version> {
        vec![self.version(self.release); self.count(NAME) as usize]
    }
}

fn looks_awake(world: &World, note: &Note) -> Check {
    match note.body.get::<Looked>() {
        None => Check::Idle,
        Some(Looked { asleep: false }) => Check::Held,
        Some(Looked { asleep: true }) => {
            let name = world.name(note.process).to_owned();
            Check::Violated(Violation {
                kind: "sitter",
                message: format!("{name} sleeps"),
                object: name,
            })
        }
    }
}

fn kube() -> Kube {
    wavetank::command().with(Sitters).catalogue()
}

fn case(text: &str, defects: &[&str]) -> Result<Box<dyn Case>, String> {
    let composition = Composition {
        fixed: true,
        defects: defects.iter().map(|&name| name.to_owned()).collect(),
        ..Composition::default()
    };
    kube().case("sitters.yaml", text, &composition)
}

#[track_caller]
fn mistake(right: &str, wrong: &str, words: &str) {
    assert_eq!(TEXT.matches(right).count(), 1, "{right}");
    let report = case(&TEXT.replace(right, wrong), &[]).err();
    let report = report.expect("it is a mistake");
    assert!(report.contains(words), "{report}");
}

/// The scenario without sitters.
fn nobody_sits() -> String {
    let mine = [
        ", sitters: 2",
        ", patience: [1s, 2s]",
        "workload: {look: {every: 1s}}\n",
        "properties: [looks-awake]\n",
    ];
    mine.iter()
        .fold(TEXT.to_owned(), |text, mine| text.replace(mine, ""))
}

wavetank::seeds!(
    a_test_is_one_line,
    case(TEXT, &[]).expect("it is right"),
    0..3
);

#[test]
fn its_keys_stand_beside_ours() {
    let schema: serde_json::Value = serde_json::from_str(&kube().schema()).expect("it is JSON");
    let keys = |section: &str| schema["properties"][section]["properties"].clone();
    assert_eq!(keys("topology")["sitters"]["maximum"], 99);
    assert!(keys("topology")["apiservers"].is_object());
    let patience = &keys("options")["patience"]["description"];
    assert_eq!(patience, "How long a sitter waits.");
    assert_eq!(
        keys("workload")["look"]["description"],
        "Each sitter looks."
    );
    assert!(
        kube()
            .properties()
            .iter()
            .any(|own| own.name == "looks-awake")
    );
    assert!(
        kube()
            .defects()
            .iter()
            .any(|own| own.name == "sitter-sleeps")
    );
}

#[test]
fn mistakes_in_its_keys_are_pointed_at() {
    mistake("sitters: 2", "siters: 2", "did you mean `sitters`?");
    mistake("sitters: 2", "sitters: 100", "100 sitters are too many");
    mistake(", sitters: 2", "", "there is nobody to look");
    mistake("[1s, 2s]", "0s", "nobody has no patience at all");
    mistake("[1s, 2s]", "1", "a duration needs a unit");
    let plan = "plan: [{at: 1s, tell: {process: sitter1, what: run}}]\nstorm: 40s\n";
    mistake("storm: 40s\n", plan, "knows `look`, not `run`");
}

#[test]
fn faults_hit_it_and_the_others_decide_what_they_did() {
    let own = case(TEXT, &[]).expect("it is right");
    let options = own.derive(7);
    assert_eq!(options["sitters"], 2);
    let fault_schedule = own.fault_schedule(&options);
    let targets = ["sitter1".to_owned(), "sitter2".to_owned()];
    let mut budgets = fault_schedule.budgets.iter();
    let crash = budgets.find(|own| own.kind == FaultKind::Crash && own.targets == targets);
    assert_eq!(crash.map(|own| own.max), Some(3));
    assert!(
        fault_schedule
            .workload
            .iter()
            .any(|load| load.processes == targets)
    );
    let ours = Kube::default().case("sitters.yaml", &nobody_sits(), &Composition::default());
    let ours = ours.expect("it is right").derive(7);
    for (key, value) in ours.as_object().expect("a mapping") {
        assert_eq!(options[key], *value, "{key}");
    }
    let smaller = own.smaller(&options);
    assert!(smaller.iter().any(|options| options["sitters"] == 1));
}

#[test]
fn what_it_decides_is_looked_at_when_a_trace_is_read() {
    let own = case(TEXT, &[]).expect("it is right");
    let mut options = own.derive(0);
    options["patience"] = "long".into();
    let error = own.world(&options).expect_err("it is no duration");
    assert!(error.contains("`long` is not a duration"), "{error}");
    let mut options = own.derive(0);
    options["sitters"] = 3.into();
    assert_eq!(
        own.world(&options).err().as_deref(),
        Some("the options: 3 sitters")
    );
    options["sisters"] = 1.into();
    let error = own.world(&options).err();
    assert_eq!(
        error.as_deref(),
        Some("the options: nobody knows `sisters`")
    );
}

#[test]
fn its_defect_is_found_and_blamed_and_its_story_told() {
    assert!(matches!(
        run_seed(
            &*case(TEXT, &[]).expect("it is right"),
            0,
            None,
            Record::default()
        )
        .ending,
        Ending::Clean
    ));
    let own = case(TEXT, &["sitter-sleeps"]).expect("it has a place");
    let outcome = run_seed(own.as_ref(), 0, None, Record::default());
    let Ending::Violated(found) = &outcome.ending else {
        panic!("it sleeps");
    };
    assert_eq!(found.property, "looks-awake");
    let flips: Vec<String> = own.flips().into_iter().map(|flip| flip.name).collect();
    assert_eq!(flips, ["sitter-sleeps"]);
    let reopened = kube().reopen(&own.identity()).expect("it is ours");
    assert_eq!(reopened.identity(), own.identity());
    let error = case(&nobody_sits(), &["sitter-sleeps"]);
    let error = error.err().expect("nobody sleeps");
    assert!(
        error.contains("has a place only in sitters, and there are none"),
        "{error}"
    );
}

#[test]
#[should_panic(expected = "there are two components with the name `sitters`")]
fn two_of_one_name_are_refused() {
    let _ = kube().with(Sitters);
}
