//! Looking at the rest of a moment: who there is, what was told, and what can happen next.

use std::fmt::Write as _;

use wavetank_api::Resource;
use wavetank_engine::{Status, Time};

use super::Session;
use super::commands::Words;
use super::kubectl::aligned;
use super::moves::number;
use crate::travel::points::{Point, names};

/// So many lines of a list are shown if nothing is said.
const LISTED: usize = 20;

impl Session<'_> {
    pub(super) fn points(&mut self, _: &Words<'_>) -> Result<String, String> {
        let head = ["POINT", "RESOURCE", "AS OF", "OBJECTS"]
            .map(str::to_owned)
            .to_vec();
        let points = self.travel.points().into_iter().map(|own| {
            let resource = own.resource.map_or("*".to_owned(), Resource::qualified);
            vec![
                own.point.to_string(),
                resource,
                own.revision.to_string(),
                own.objects.to_string(),
            ]
        });
        let lines: Vec<Vec<String>> = std::iter::once(head).chain(points).collect();
        Ok(match lines.len() {
            1 => "nobody holds anything yet\n".to_owned(),
            _ => aligned(&lines),
        })
    }

    pub(super) fn from(&mut self, words: &Words<'_>) -> Result<String, String> {
        if let Some(point) = words.all.first() {
            let point = Point::parse(point);
            // It must be there.
            self.travel
                .see_or_nothing(&point, &wavetank_api::kinds::PODS)?;
            self.from = point;
        }
        Ok(format!("from {}\n", self.from))
    }

    pub(super) fn story(&mut self, words: &Words<'_>) -> Result<String, String> {
        let count = number(words, LISTED)?;
        let told = self.travel.told();
        let left_out = told.len().saturating_sub(count);
        let mut text = match left_out {
            0 => String::new(),
            more => format!("({more} lines left out)\n"),
        };
        for (event, at, who, told) in &told[left_out..] {
            writeln!(
                text,
                "{event:>6} {:>12.6} s  {who:<6} {told}",
                at.secs_f64()
            )
            .expect("to memory");
        }
        Ok(text)
    }

    pub(super) fn processes(&mut self, _: &Words<'_>) -> Result<String, String> {
        let world = self.travel.world();
        let mut lines = vec![
            ["PROCESS", "LIFE", "STATUS", "ROUTINES"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for process in world.processes() {
            let mut status = match world.status(process) {
                Status::Up => "up".to_owned(),
                other => format!("{other:?}").to_lowercase(),
            };
            let more = [
                (world.is_stopping(process), ", stopping"),
                (world.is_paused(process), ", paused"),
                (world.is_held(process), ", a routine is held"),
            ];
            status.extend(more.iter().filter(|(is, _)| *is).map(|(_, text)| *text));
            lines.push(vec![
                world.name(process).to_owned(),
                world.incarnation(process).to_string(),
                status,
                world.routines(process).len().to_string(),
            ]);
        }
        Ok(aligned(&lines))
    }

    pub(super) fn pending(&mut self, words: &Words<'_>) -> Result<String, String> {
        Ok(self.entries(number(words, LISTED)?, |_| true))
    }

    pub(super) fn timers(&mut self, words: &Words<'_>) -> Result<String, String> {
        const BY_TIME: [&str; 6] = [
            "timer",
            "sleep",
            "deadline",
            "keepalive",
            "dial-timeout",
            "property-deadline",
        ];
        Ok(self.entries(number(words, LISTED)?, |name| {
            let verb = name.split(' ').next();
            verb.is_some_and(|verb| BY_TIME.contains(&verb))
        }))
    }

    /// What is pending, with the numbers by which `first` knows it.
    fn entries(&self, most: usize, is: impl Fn(&str) -> bool) -> String {
        let world = self.travel.world();
        let all = (1..).zip(world.pending()).filter_map(|(number, entry)| {
            let name = world.render(&world.entry_name(entry));
            is(&name).then_some((number, entry.at, name))
        });
        let all: Vec<(usize, Time, String)> = all.collect();
        let mut text = String::new();
        for (number, at, name) in all.iter().take(most) {
            writeln!(
                text,
                "{:>5} {:>12.6} s  {name}",
                format!("#{number}"),
                at.secs_f64()
            )
            .expect("to memory");
        }
        match all.len().saturating_sub(most) {
            0 if all.is_empty() => "nothing is pending\n".to_owned(),
            0 => text,
            more => text + &format!("and {more} more\n"),
        }
    }

    /// What may stand behind a command.
    pub(super) fn known(&self) -> Vec<String> {
        let points = self.travel.points();
        let mut known: Vec<String> = names(self.travel.world());
        known.extend(points.iter().map(|own| own.point.to_string()));
        known.push(crate::travel::points::STORE.to_owned());
        for resource in self.travel.resources() {
            known.push(resource.qualified());
            if let Ok(seen) = self.travel.see(&self.from, resource) {
                let objects = seen.objects.iter();
                known.extend(objects.map(|held| held.object.object.name().to_owned()));
            }
        }
        known.sort();
        known.dedup();
        known
    }
}
