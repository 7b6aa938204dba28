//! Looking at objects, from points of view.

use std::fmt::Write as _;

use wavetank_api::Resource;
use wavetank_component::Held;

use super::Session;
use super::commands::{Given, Words};
use super::kubectl::{Columns, aligned, diff, table, yaml};
use crate::travel::Stuck;
use crate::travel::points::{Listed, Point, Seen, differences};

const OPTIONS: [&str; 6] = ["-n", "--namespace", "-o", "--output", "--from", "--events"];
const FLAGS: [&str; 2] = ["-A", "--all-namespaces"];

/// Which objects are meant.
struct Wanted {
    resource: &'static Resource,
    name: Option<String>,
    /// `None`: of all.
    namespace: Option<String>,
    point: Point,
    given: Given,
}

impl Wanted {
    fn has(&self, held: &Held) -> bool {
        let object = &held.object.object;
        let is_named = self
            .name
            .as_deref()
            .is_none_or(|name| name == object.name());
        let namespace = self
            .namespace
            .as_deref()
            .filter(|_| self.resource.namespaced);
        is_named && namespace.is_none_or(|own| own == object.namespace())
    }

    fn of<'s>(&self, seen: &'s Seen) -> Vec<&'s Held> {
        seen.objects.iter().filter(|held| self.has(held)).collect()
    }
}

/// The namespace and the name, where both are said as stories say them: `shop/web-1`.
fn placed(
    resource: &Resource,
    option: Option<&str>,
    name: &str,
) -> Result<(Option<String>, String), String> {
    let Some((namespace, name)) = name.split_once('/') else {
        return Ok((None, name.to_owned()));
    };
    let qualified = resource.qualified();
    if !resource.namespaced {
        return Err(format!(
            "{qualified} are in no namespace: `{namespace}/{name}` is none of them"
        ));
    }
    if let Some(option) = option.filter(|option| *option != namespace) {
        return Err(format!(
            "the namespace is {option}, as -n says, or {namespace}, as `{namespace}/{name}` does?"
        ));
    }
    Ok((Some(namespace.to_owned()), name.to_owned()))
}

impl Session<'_> {
    fn wanted(&self, words: &Words<'_>) -> Result<Wanted, String> {
        let given = words.given(&FLAGS, &OPTIONS)?;
        let resource = given.operands.first();
        let resource = resource.ok_or("say what: get configmaps, get svc -A")?;
        let (resource, of_path) = match resource.split_once('/') {
            Some((resource, name)) => (resource, Some(name.to_owned())),
            None => (resource.as_str(), None),
        };
        let resource = self.travel.resource(resource)?;
        let all = given.option(&FLAGS).is_some();
        let name = of_path.or_else(|| given.operands.get(1).cloned());
        let option = given.option(&["-n", "--namespace"]);
        let placed = name.map(|name| placed(resource, option, &name));
        let (of_name, name) = placed.transpose()?.unzip();
        let of_name = of_name.flatten();
        let namespace = of_name.as_deref().or(option);
        let namespace = namespace.unwrap_or(&self.namespace).to_owned();
        let point = given.option(&["--from"]).map(Point::parse);
        Ok(Wanted {
            resource,
            name,
            namespace: (of_name.is_some() || !all).then_some(namespace),
            point: point.unwrap_or_else(|| self.from.clone()),
            given,
        })
    }

    pub(super) fn get(&mut self, words: &Words<'_>) -> Result<String, String> {
        let wanted = self.wanted(words)?;
        let seen = self.travel.see(&wanted.point, wanted.resource)?;
        let objects = wanted.of(&seen);
        let output = wanted.given.option(&["-o", "--output"]).unwrap_or_default();
        if let (true, Some(name)) = (objects.is_empty(), &wanted.name) {
            return Err(format!(
                "{} has no {} \"{name}\" (as of revision {})",
                wanted.point,
                wanted.resource.qualified(),
                seen.revision
            ));
        }
        let trees = || objects.iter().map(|held| held.object.json());
        let now = self.travel.world().now();
        Ok(match output {
            "yaml" => {
                let all: Vec<String> = trees().map(|tree| yaml(&tree).join("\n")).collect();
                all.join("\n---\n") + "\n"
            }
            "json" => trees().fold(String::new(), |text, tree| text + &format!("{tree:#}\n")),
            "name" => objects.iter().fold(String::new(), |text, held| {
                text + &format!(
                    "{}/{}\n",
                    wanted.resource.qualified(),
                    held.object.object.name()
                )
            }),
            "" | "wide" if objects.is_empty() => {
                format!("no resources found (as of revision {})\n", seen.revision)
            }
            "" | "wide" => {
                let columns = Columns {
                    namespace: wanted.namespace.is_none(),
                    wide: output == "wide",
                };
                aligned(&table(wanted.resource, &objects, now, columns))
            }
            other => {
                return Err(format!(
                    "there is no output `{other}`; there are wide, yaml, json, name"
                ));
            }
        })
    }

    pub(super) fn describe(&mut self, words: &Words<'_>) -> Result<String, String> {
        let wanted = self.wanted(words)?;
        let name = wanted.name.clone();
        let name = name.ok_or("say which: describe RESOURCE NAME")?;
        let namespace = wanted.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| self.namespace.clone());
        let key = wanted.resource.key(&namespace, &name).to_string();
        let seen = self.travel.see(&wanted.point, wanted.resource)?;
        let mut text = format!("Key:       {key}\n");
        match seen.get(wanted.resource, &namespace, &name) {
            Some(held) => {
                text += &format!("Held by:   {} ({})\n", seen.process, seen.view);
                for line in yaml(&held.object.json()) {
                    writeln!(text, "  {line}").expect("to memory");
                }
            }
            None => text += &format!("Held by:   not {} ({})\n", seen.process, seen.view),
        }
        text += "Seen by:\n";
        text += &indented(&aligned(&self.seen_by(wanted.resource, &namespace, &name)));
        text += "Written:\n";
        let writes = self.travel.writes_of(&key);
        for (event, told) in &writes {
            writeln!(text, "  event {event}: {told}").expect("to memory");
        }
        if writes.is_empty() {
            text += "  never\n";
        }
        Ok(text)
    }

    /// Which version of an object each point of view holds.
    fn seen_by(
        &self,
        resource: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Vec<Vec<String>> {
        let head = ["POINT", "AS OF", "HOLDS"].map(str::to_owned).to_vec();
        let mut lines = vec![head];
        for Listed {
            point, revision, ..
        } in self.holders(resource)
        {
            let Ok(seen) = self.travel.see(&point, resource) else {
                continue;
            };
            let held = seen.get(resource, namespace, name);
            let held = held.map_or("nothing".to_owned(), |held| {
                format!("resourceVersion {}", held.object.resource_version)
            });
            lines.push(vec![point.to_string(), revision.to_string(), held]);
        }
        lines
    }

    /// The points of view that may hold objects of a resource.
    fn holders(&self, resource: &Resource) -> Vec<Listed> {
        let mut points = self.travel.points();
        points.retain(|own| {
            own.resource
                .is_none_or(|own| own.qualified() == resource.qualified())
        });
        points.dedup_by(|one, other| one.point == other.point);
        points
    }

    pub(super) fn diff(&mut self, words: &Words<'_>) -> Result<String, String> {
        let given = words.given(&[], &["-n", "--namespace"])?;
        let say =
            "say what, and between whom: diff configmaps store i1, diff configmaps x store i1";
        let (resource, name, one, other) = match given.operands.as_slice() {
            [resource, one, other] => (resource, None, one, other),
            [resource, name, one, other] => (resource, Some(name), one, other),
            _ => return Err(say.to_owned()),
        };
        let resource = self.travel.resource(resource)?;
        let option = given.option(&["-n", "--namespace"]);
        let name = name.map(|name| placed(resource, option, name));
        let name = name.transpose()?;
        let [one, other] = [one, other].map(|own| Point::parse(own));
        let sees = [&one, &other].map(|point| self.travel.see(point, resource));
        let [left, right] = sees;
        let (left, right) = (left?, right?);
        let Some((of_name, name)) = name else {
            return Ok(whole(&one, &left, &other, &right));
        };
        let namespace = of_name.as_deref().or(option);
        let namespace = namespace.unwrap_or(&self.namespace);
        let lines = |seen: &Seen| {
            let held = seen.get(resource, namespace, &name);
            held.map_or(Vec::new(), |held| yaml(&held.object.json()))
        };
        let (before, after) = (lines(&left), lines(&right));
        if before == after {
            return Ok("no difference\n".to_owned());
        }
        let heads = format!(
            "--- {one} (as of {})\n+++ {other} (as of {})\n",
            left.revision, right.revision
        );
        Ok(heads + &diff(&before, &after).join("\n") + "\n")
    }

    pub(super) fn watch(&mut self, words: &Words<'_>) -> Result<String, String> {
        let wanted = self.wanted(words)?;
        let events = match wanted.given.option(&["--events"]) {
            None => usize::MAX,
            Some(text) => text
                .parse()
                .map_err(|_| format!("`{text}` is no number of events"))?,
        };
        let columns = Columns {
            namespace: wanted.namespace.is_none(),
            wide: false,
        };
        let begun = self.travel.at();
        let mut before = self.held(&wanted)?;
        let mut lines: Vec<Vec<String>> = Vec::new();
        while self.travel.at() - begun < events {
            match self.travel.step() {
                Ok(stepped) if stepped.violation.is_some() => break,
                Ok(_) => {}
                Err(Stuck::End) => break,
                Err(Stuck::Refused(why)) => return Err(why),
            }
            let after = self.held(&wanted)?;
            for (what, held) in changes(&before, &after) {
                let now = self.travel.world().now();
                let mut rows = table(wanted.resource, &[held], now, columns);
                let at = [
                    self.travel.at().to_string(),
                    now.to_string(),
                    what.to_owned(),
                ];
                let head = ["EVENT", "TIME", "CHANGE"].map(str::to_owned);
                if lines.is_empty() {
                    lines.push([&head[..], &rows[0]].concat());
                }
                lines.push([&at[..], &rows.remove(1)].concat());
            }
            before = after;
        }
        let over = self.travel.at() - begun;
        let ended = format!("{over} events, to {} s\n", self.travel.world().now());
        Ok(match lines.is_empty() {
            true => format!("no change in {ended}"),
            false => aligned(&lines) + &ended,
        })
    }

    fn held(&self, wanted: &Wanted) -> Result<Vec<Held>, String> {
        let seen = self.travel.see_or_nothing(&wanted.point, wanted.resource)?;
        let objects = seen.map(|seen| wanted.of(&seen).into_iter().cloned().collect());
        Ok(objects.unwrap_or_default())
    }
}

/// The objects that two points of view hold in different versions.
fn whole(one: &Point, left: &Seen, other: &Point, right: &Seen) -> String {
    let all = differences(left, right);
    let as_of = |point: &Point, seen: &Seen| format!("{point} (as of {})", seen.revision);
    let mut lines = vec![vec![
        "KEY".to_owned(),
        as_of(one, left),
        as_of(other, right),
    ]];
    let version = |version: Option<u64>| version.map_or("-".to_owned(), |own| own.to_string());
    for (key, left, right) in &all {
        lines.push(vec![key.clone(), version(*left), version(*right)]);
    }
    match all.is_empty() {
        true => "no difference\n".to_owned(),
        false => aligned(&lines),
    }
}

/// What came, changed and went, by key.
fn changes<'h>(before: &'h [Held], after: &'h [Held]) -> Vec<(&'static str, &'h Held)> {
    let mut changes = Vec::new();
    for held in after {
        match before.iter().find(|own| own.key == held.key) {
            None => changes.push(("ADDED", held)),
            Some(own) if own.object.resource_version != held.object.resource_version => {
                changes.push(("MODIFIED", held));
            }
            Some(_) => {}
        }
    }
    let gone = before.iter();
    let gone = gone.filter(|own| !after.iter().any(|held| held.key == own.key));
    changes.extend(gone.map(|own| ("DELETED", own)));
    changes
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
