//! A world that is stepped by hand: for tests of one process or of a few, which strike and ask at times of their
//! choice. Everything happens in the default order, under nominal latencies. Nothing here searches, draws or
//! judges.

use std::fmt;
use std::time::Duration;

use crate::fault::{Action, Fault};
use crate::message::Message;
use crate::name::ProcId;
use crate::property::{Check, Class, Note};
use crate::queue::{Entry, What};
use crate::slot::Status;
use crate::time::Time;
use crate::world::{Event, Report, World};

/// How a choice is answered.
type Answer = Box<dyn FnMut(&World, &Entry) -> Event<'static> + Send>;

/// A world, and what was seen of it.
pub struct Bench {
    /// The world.
    pub world: World,
    /// When the next fault strikes and the next command is given: not before the world's own time.
    pub now: Time,
    /// What processes noted, and when.
    pub notes: Vec<(Time, Note)>,
    /// What properties said, by name, unless they had nothing to say.
    pub checks: Vec<(String, Class, Check)>,
    answer: Answer,
}

impl fmt::Debug for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench")
            .field("world", &self.world)
            .finish_non_exhaustive()
    }
}

impl Bench {
    /// A world in which each choice has its usual answer.
    pub fn new(world: World) -> Bench {
        Bench {
            now: world.now(),
            world,
            notes: Vec::new(),
            checks: Vec::new(),
            answer: Box::new(|_, entry| entry.usual()),
        }
    }

    /// From here on a choice among so many is answered like this, by the world and the number of answers.
    pub fn choose(&mut self, mut answer: impl FnMut(&World, &Entry, u64) -> u64 + Send + 'static) {
        self.answer = Box::new(move |world, entry| match entry.what {
            What::Choose { domain, .. } => Event::Choice(entry.seq, answer(world, entry, domain)),
            _ => Event::Pending(entry.seq),
        });
    }

    /// What a pending event is when it happens here.
    pub fn event(&mut self, entry: &Entry) -> Event<'static> {
        (self.answer)(&self.world, entry)
    }

    /// Applies an event.
    ///
    /// # Panics
    /// If the world refuses it.
    #[track_caller]
    pub fn apply(&mut self, at: Time, event: Event<'_>) -> Box<Report> {
        let applied = self.world.apply(at, event, &mut |sent| sent.nominal);
        let report = applied.unwrap_or_else(|error| panic!("{error}"));
        self.now = self.now.max(self.world.now());
        self.keep(&report);
        report
    }

    fn keep(&mut self, report: &Report) {
        let now = self.world.now();
        let notes = report.notes.iter().cloned();
        self.notes.extend(notes.map(|note| (now, note)));
        for (at, check) in &report.checks {
            let property = self.world.properties().nth(usize::from(*at));
            let property = property.expect("its index");
            let (name, class) = (property.name().to_owned(), property.class());
            self.checks.push((name, class, check.clone()));
        }
    }

    /// The process of this name.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn id(&self, process: &str) -> ProcId {
        let found = self.world.find(process);
        found.unwrap_or_else(|| panic!("no process {process}"))
    }

    /// Is it up?
    #[track_caller]
    pub fn is_up(&self, process: &str) -> bool {
        self.world.status(self.id(process)) == Status::Up
    }

    /// What was noted of this kind, with the seconds.
    pub fn noted<T: Message + Clone>(&self) -> Vec<(f64, T)> {
        let of_kind =
            |(at, note): &(Time, Note)| Some((at.secs_f64(), note.body.get::<T>()?.clone()));
        self.notes.iter().filter_map(of_kind).collect()
    }

    /// Guarantees that were violated: name and message.
    pub fn violations(&self) -> Vec<(&str, &str)> {
        self.objections(Class::Guarantee)
    }

    /// Observations that were made: name and message.
    pub fn observed(&self) -> Vec<(&str, &str)> {
        self.objections(Class::Observation)
    }

    fn objections(&self, of: Class) -> Vec<(&str, &str)> {
        let all = self.checks.iter().filter(|(_, class, _)| *class == of);
        all.filter_map(|(name, _, check)| match check {
            Check::Violated(violation) => Some((name.as_str(), violation.message.as_str())),
            _ => None,
        })
        .collect()
    }

    /// Was this property put to the test and held, or reached?
    pub fn held(&self, property: &str) -> bool {
        let is =
            |(name, _, check): &(String, Class, Check)| name == property && *check == Check::Held;
        self.checks.iter().any(is)
    }
}

/// What a laboratory around a [`Bench`] can do. It says where its bench is, and may do more with each event.
pub trait Stepped {
    /// The bench.
    fn bench(&mut self) -> &mut Bench;

    /// What the laboratory makes of what an event did.
    fn seen(&mut self, _: &Report) {}

    /// What the laboratory looks at when a stretch of time is over.
    fn rested(&mut self) {}

    /// A pending event happens.
    #[track_caller]
    fn happen(&mut self, entry: &Entry) {
        let bench = self.bench();
        let event = bench.event(entry);
        let report = bench.apply(entry.at, event);
        self.seen(&report);
    }

    /// A fault or a command, now.
    #[track_caller]
    fn act(&mut self, action: &Action) -> Box<Report> {
        let bench = self.bench();
        let report = bench.apply(bench.now, Event::Act(action));
        self.seen(&report);
        report
    }

    /// Strikes now.
    ///
    /// # Panics
    /// If the fault does not find its target.
    #[track_caller]
    fn strike(&mut self, fault: Fault) {
        let shown = fault.to_string();
        let report = self.act(&Action::Fault(fault));
        assert!(report.injected, "{shown}: there is no such target");
    }

    /// Starts a process.
    #[track_caller]
    fn start(&mut self, process: &str) {
        let process = process.to_owned();
        self.strike(Fault::Start { process });
    }

    /// Asks it to stop.
    #[track_caller]
    fn stop(&mut self, process: &str) {
        let process = process.to_owned();
        self.strike(Fault::Stop { process });
    }

    /// Crashes it.
    #[track_caller]
    fn crash(&mut self, process: &str) {
        let process = process.to_owned();
        self.strike(Fault::Crash { process });
    }

    /// Tells a process to do something.
    #[track_caller]
    fn command(&mut self, process: &str, what: &str, args: serde_json::Value) -> Box<Report> {
        self.act(&Action::Command {
            process: process.to_owned(),
            what: what.to_owned(),
            args,
        })
    }

    /// The storm is over.
    #[track_caller]
    fn calm(&mut self) {
        let bench = self.bench();
        let report = bench.apply(bench.now, Event::Calm);
        self.seen(&report);
    }

    /// The next event; false if there is none.
    #[track_caller]
    fn step(&mut self) -> bool {
        let next = self.bench().world.next_entry().copied();
        next.map(|entry| self.happen(&entry)).is_some()
    }

    /// All that is due until then, which it is after that.
    #[track_caller]
    fn run_until(&mut self, until: Time) {
        let is_due = |bench: &mut Bench| {
            bench
                .world
                .next_entry()
                .is_some_and(|next| next.at <= until)
        };
        while is_due(self.bench()) {
            self.step();
        }
        let bench = self.bench();
        bench.now = bench.now.max(until);
        self.rested();
    }

    /// So many seconds on.
    #[track_caller]
    fn run(&mut self, seconds: f64) {
        let until = self.bench().now + Duration::from_secs_f64(seconds);
        self.run_until(until);
    }
}

impl Stepped for Bench {
    fn bench(&mut self) -> &mut Bench {
        self
    }
}
