//! What can be said in a shell.

use super::Session;
use crate::catalogue::Listed;
use crate::cli::find;

/// A command: its name, what follows it, and what it does.
pub(super) struct Command {
    pub name: &'static str,
    pub usage: &'static str,
    pub about: &'static str,
    run: fn(&mut Session<'_>, &Words<'_>) -> Result<String, String>,
}

/// A line: its first word, the others, and all behind the first as it stands there.
pub(super) struct Words<'l> {
    pub all: Vec<String>,
    pub rest: &'l str,
}

/// What stands behind a command: operands, and options with their values.
pub(super) struct Given {
    pub operands: Vec<String>,
    options: Vec<(String, String)>,
}

impl Given {
    /// The value of an option.
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        let mut all = self.options.iter();
        let found = all.find(|(name, _)| names.contains(&name.as_str()));
        found.map(|(_, value)| value.as_str())
    }
}

impl Words<'_> {
    /// Operands and options; `flags` have no value, `options` have one.
    pub fn given(&self, flags: &[&str], options: &[&str]) -> Result<Given, String> {
        let (mut operands, mut found) = (Vec::new(), Vec::new());
        let mut words = self.all.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with('-') => (name, Some(value)),
                _ => (word.as_str(), None),
            };
            if flags.contains(&name) && value.is_none() {
                found.push((name.to_owned(), String::new()));
            } else if options.contains(&name) {
                let value = value.map(str::to_owned).or_else(|| words.next().cloned());
                let value = value.ok_or_else(|| format!("`{name}` has no value"))?;
                found.push((name.to_owned(), value));
            } else if word.starts_with('-') && word.parse::<f64>().is_err() {
                let known = [flags, options].concat().join(", ");
                return Err(format!(
                    "there is no option `{name}` here; there are {known}"
                ));
            } else {
                operands.push(word.clone());
            }
        }
        Ok(Given {
            operands,
            options: found,
        })
    }
}

macro_rules! commands {
    ($($name:literal, $usage:literal, $about:literal => $run:ident;)*) => {
        pub(super) const COMMANDS: &[Command] = &[
            $(Command { name: $name, usage: $usage, about: $about, run: |session, words| session.$run(words) },)*
        ];
    };
}

commands! {
    "next", "[N]", "the next event, or the next N" => next;
    "back", "[N]", "one event back, or N" => back;
    "goto", "EVENT|TIMEs|start|end", "the moment after so many events, or at this time" => goto;
    "until", "CONDITION", "on to the first event at which this holds" => until;
    "run", "", "on to the end, or to a violation" => run_on;
    "event", "", "the last event, and what was told of it" => event;
    "story", "[N]", "the last N lines that were told until now" => story;
    "points", "", "the points of view: who holds which objects, as of which revision" => points;
    "from", "[POINT]", "look from there if nothing else is said: store, a1, i1, m1/informer" => from;
    "get", "RESOURCE [[NAMESPACE/]NAME] [-A|-n NAMESPACE] [-o wide|yaml|json|name] [--from POINT]",
        "objects as kubectl prints them" => get;
    "describe", "RESOURCE [NAMESPACE/]NAME [-n NAMESPACE]", "an object, who holds which version of it, and who wrote it" => describe;
    "diff", "RESOURCE [[NAMESPACE/]NAME] POINT POINT [-n NAMESPACE]", "how two points of view differ" => diff;
    "watch", "RESOURCE [[NAMESPACE/]NAME] [--events N] [--from POINT] [-A|-n NAMESPACE]", "goes on and prints each change" => watch;
    "processes", "", "who runs, is down, paused or held" => processes;
    "pending", "[N]", "what can happen next, in the order in which it is due" => pending;
    "timers", "[N]", "the same, but only what time alone brings" => timers;
    "branch", "", "leave the trace here" => branch;
    "fault", "KIND PROCESS.. | {KIND: {..}}", "this fault strikes here and now, on a branch" => fault;
    "tell", "PROCESS WHAT [JSON]", "a process is told something, on a branch" => tell;
    "first", "#N|NAME", "this pending event comes first, on a branch" => first;
    "rejoin", "", "leave the branch: back on the trace" => rejoin;
    "save", "FILE", "what has happened up to here, as a trace" => save;
    "help", "[COMMAND]", "what can be done" => help;
    "quit", "", "the end" => quit;
}

/// How conditions are written.
const CONDITIONS: &str = "\
A condition is made of values, == != < <= > >= ~ (has in it), ! && || and parentheses. Values are
  store:configmaps/default/x          an object as somebody holds it, or null
  i1:configmaps/default/x{.data.n}    a part of it
  differ(i1, store, configmaps)       do two points of view hold the same?
  count(a1, pods)  revision(a1, pods) how many objects, as of which revision
  told(\"begins to shut down\")         was that told of the last event?
  violated  now  event                a violation, seconds, the number of the event
  7  \"text\"  true  null               as they are written
";

impl Session<'_> {
    /// Does what a line says; the text that comes of it.
    pub(super) fn run(&mut self, line: &str) -> Result<String, String> {
        let mut all = split(line)?.into_iter();
        let Some(name) = all.next() else {
            return Ok(String::new());
        };
        let words = Words {
            all: all.collect(),
            rest: line[name.len().min(line.len())..].trim(),
        };
        let begins: Vec<&Command> = COMMANDS
            .iter()
            .filter(|own| own.name.starts_with(&name))
            .collect();
        let exact = COMMANDS.iter().find(|own| own.name == name);
        let only = (begins.len() == 1).then(|| begins[0]);
        match (exact.or(only), begins.as_slice()) {
            (Some(command), _) => (command.run)(self, &words),
            (None, []) => {
                let known: Vec<Listed> = COMMANDS
                    .iter()
                    .map(|own| Listed::new(own.name, ""))
                    .collect();
                let help = find::help(&name, &known, "there are");
                Err(format!("there is no `{name}`; {help}"))
            }
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|own| own.name).collect();
                Err(format!("`{name}` may be {}", names.join(" or ")))
            }
        }
    }

    fn help(&mut self, words: &Words<'_>) -> Result<String, String> {
        let wanted = words.all.first();
        let known = COMMANDS.iter();
        let mut text = String::new();
        for own in known.filter(|own| wanted.is_none_or(|wanted| own.name == wanted)) {
            let usage = format!("{} {}", own.name, own.usage);
            text += &match usage.len() {
                ..30 => format!("{usage:<30} {}\n", own.about),
                _ => format!("{usage}\n{:<30} {}\n", "", own.about),
            };
        }
        match wanted {
            Some(wanted) if text.is_empty() => Err(format!("there is no `{wanted}`")),
            Some(wanted) if wanted != "until" => Ok(text),
            _ => Ok(format!("{text}\n{CONDITIONS}")),
        }
    }

    fn quit(&mut self, _: &Words<'_>) -> Result<String, String> {
        self.is_over = true;
        Ok(String::new())
    }
}

/// The words of a line; what stands in quotes or braces is one.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut quote, mut depth, mut is_word) = (None, 0_u32, false);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => {
                quote = None;
                if depth > 0 {
                    word.push(c);
                }
            }
            (c, Some(_)) => word.push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                is_word = true;
                if depth > 0 {
                    word.push(c);
                }
            }
            (c, None) if c.is_whitespace() && depth == 0 => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            (c, None) => {
                match c {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                is_word = true;
                word.push(c);
            }
        }
    }
    if let Some(open) = quote {
        return Err(format!("a text has no end: add a {open}"));
    }
    if depth > 0 {
        return Err("a { has no end: add a }".to_owned());
    }
    if is_word {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_words() {
        let words = split(r#"tell a1 hold {"resource": "pods"} 'one word'"#);
        let expected = ["tell", "a1", "hold", r#"{"resource": "pods"}"#, "one word"];
        assert_eq!(words.expect("it has"), expected);
        assert!(split("get 'x").is_err() && split("fault {a").is_err());
        assert!(split("  ").is_ok_and(|words| words.is_empty()));
    }

    #[test]
    fn options_have_values() {
        let words = Words {
            all: split("pods x -A -o yaml --from=a1 -3").expect("words"),
            rest: "",
        };
        let given = words.given(&["-A"], &["-o", "--from"]).expect("known");
        assert_eq!(given.operands, ["pods", "x", "-3"]);
        assert_eq!(given.option(&["-o", "--output"]), Some("yaml"));
        assert_eq!(given.option(&["--from"]), Some("a1"));
        assert!(given.option(&["-A"]).is_some());
        assert!(words.given(&[], &["-o"]).is_err());
    }

    #[test]
    fn no_name_of_a_command_is_taken_twice() {
        let mut names: Vec<&str> = COMMANDS.iter().map(|own| own.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }
}
