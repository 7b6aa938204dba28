//! What a process refuses leaves nothing behind: neither in its world nor in the next one.

use wavetank_engine::*;

const HELLO: Name = Name::new("hello");

/// Does much before it finds out that it does not know what it is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Hasty {
    told: u64,
}

static COUNT: Cell<u64> = Cell::new("count");
static TO_MYSELF: Transport = Transport {
    name: Name::new("myself"),
    dial_timeout: std::time::Duration::from_secs(1),
    keepalive: None,
    window: None,
};

impl Process for Hasty {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        self.told += 1;
        *cx.cell(&COUNT) += 1;
        cx.spawn(Task::new(HELLO, ()));
        cx.cast(cx.me(), &TO_MYSELF, ());
        cx.arm(Timer::new(HELLO, 0), std::time::Duration::from_secs(1));
        cx.note("told");
        match what {
            "more" => Ok(()),
            _ => {
                cx.exit();
                Err(format!("does not know what `{what}` means"))
            }
        }
    }
    fn crash(&mut self) {}
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async {
            let rx = Rx::new();
            rx.update(&COUNT, |count| *count += 100);
            rx.done().await;
            Outcome::Done
        })
    }
}

fn world() -> World {
    let mut world = WorldBuilder::new()
        .process("hasty", Hasty::default())
        .build();
    let process = "hasty".to_owned();
    apply(&mut world, &Action::Fault(Fault::Start { process })).expect("it starts");
    world
}

fn command(what: &str) -> Action {
    Action::Command {
        process: "hasty".to_owned(),
        what: what.to_owned(),
        args: serde_json::Value::Null,
    }
}

fn apply(world: &mut World, action: &Action) -> Result<Box<Report>, ApplyError> {
    world.apply(Time::ZERO, Event::Act(action), &mut |sent| sent.nominal)
}

#[test]
fn a_refused_command_changes_no_world() {
    let mut before = world();
    apply(&mut before, &command("more")).expect("it knows that");
    let mut after = before.clone();
    let refused = apply(&mut after, &command("nonsense"));
    let why = "`hasty` does not know what `nonsense` means".to_owned();
    assert_eq!(refused.err(), Some(ApplyError::NotUnderstood(why)));
    assert_eq!(after, before);
    assert_eq!(after.digest_from_scratch(), before.digest_from_scratch());
    assert_eq!(after.now(), before.now());

    // Nor the next event of another one on this thread.
    let (mut other, mut twin) = (world(), world());
    let report = apply(&mut twin, &command("more")).expect("it knows that");
    let _ = apply(&mut after, &command("nonsense"));
    let next = apply(&mut other, &command("more")).expect("it knows that");
    assert_eq!(format!("{next:?}"), format!("{report:?}"));
    assert_eq!(other, twin);
}

#[test]
fn who_ends_with_a_refusal_sees_the_same_worlds_until_then() {
    let (mut kept, mut not_kept) = (world(), world());
    let (more, nonsense) = (command("more"), command("nonsense"));
    let report = apply(&mut kept, &more).expect("it knows that");
    let mut end = |action: &Action| {
        let told = Event::Act(action);
        not_kept.apply_or_end(Time::ZERO, told, &mut |sent| sent.nominal)
    };
    let same = end(&more).expect("it knows that");
    assert_eq!(format!("{same:?}"), format!("{report:?}"));
    let why = apply(&mut kept, &nonsense).expect_err("it does not know that");
    assert_eq!(end(&nonsense).expect_err("it does not know that"), why);
    assert!(!same.notes.is_empty());

    // Of what it left nothing is in the next event of another world.
    let mut other = world();
    let next = apply(&mut other, &more).expect("it knows that");
    assert_eq!(format!("{next:?}"), format!("{report:?}"));
    assert_eq!(other, kept);
}
