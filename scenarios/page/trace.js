// The page of a trace: what it carries becomes a run, and what is chosen in one part is shown in all.

const find = (id) => document.getElementById(id);
const carried = (id) => JSON.parse(find(id).textContent);

const TABS = ["story", "objects", "faults", "found"];
/** So many matches are listed. */
const LISTED = 500;

class Page {
  constructor() {
    this.run = new Run(carried("shown"));
    this.selected = -1;
    this.hits = [];
    this.diagram = new Diagram(this.run, find("diagram"), find("overview"), (event, isFar) => this.select(event, isFar));
    this.head();
    this.story();
    this.faults();
    this.legend();
    this.tools();
    this.openTab(this.run.steps.length > 0 || !this.run.violation ? "story" : "faults");
    if (!this.fromAddress()) this.begin();
    window.addEventListener("hashchange", () => this.fromAddress());
  }

  /** At first the violation is shown. */
  begin() {
    const { run } = this;
    if (run.count === 0) return;
    const sliced = run.slice.reduce((sum, distance) => sum + (distance >= 0 ? 1 : 0), 0);
    if (sliced > 0 && run.count > 400) {
      find("filter").value = sliced > 400 && run.steps.length > 0 ? "story" : "slice";
      this.filter();
    }
    if (run.violation) this.select(run.count - 1, true, false);
  }

  head() {
    const { run } = this;
    const last = run.count ? seconds(run.at[run.count - 1]) : "0";
    const shrunk = run.shrunk ? ", shrunk" : "";
    find("case").append(run.case, " ", element("small", {},
      `seed ${run.seed}${shrunk} · ${thousands(run.count)} events in ${last} s · build ${run.build}`));
    find("verdict").className = run.violation ? "bad" : "good";
    find("verdict").textContent = run.violation ? `Violation of ${run.violation}` : "No violation";
    find("blame").textContent = run.blame ? `Blame: ${run.blame}` : "";
  }

  legend() {
    const dot = (colour, text, kind) => [element("i", { style: `background:var(--${colour})`, class: kind }), text];
    const all = [...dot("told", "something is told"), ...dot("dot", "nothing is told")];
    if (this.run.violation) all.unshift(...dot("slice", "leads to the violation"));
    all.push(...dot("hit", "found"), ...dot("fault", "fault", "band"));
    if (this.run.faults.some((fault) => fault.needed)) all.push(...dot("needed", "needed fault", "band"));
    find("legend").append(...all);
  }

  // The parts beside the diagram.

  story() {
    const { run } = this;
    const parts = [];
    if (run.curve) parts.push(this.inevitable());
    if (run.steps.length === 0) {
      const none = run.violation
        ? "Nothing that leads to the violation is told."
        : "The trace holds no violation: all that is told.";
      parts.push(element("p", { class: "note" }, none));
    }
    const needed = new Set(run.faults.filter((fault) => fault.needed).map((fault) => fault.event));
    const lines = run.steps.length > 0
      ? run.steps.map((step) => ({ ...step, told: run.toldOf.get(step.event)[step.line] }))
      : run.violation ? [] : run.told.slice(0, 5000).map((told) => ({ event: told.event, after: [], told }));
    const list = element("ol", { class: "steps" });
    lines.forEach((step, at) => list.append(this.step(step, at + 1, needed, run.steps.length > 0)));
    parts.push(list);
    if (run.fixed) parts.push(this.fixed());
    find("story").append(...parts);
  }

  step({ event, after, told }, number, needed, isNumbered) {
    const { run } = this;
    const link = (step) => {
      const go = (click) => {
        click.stopPropagation();
        this.select(run.steps[step - 1].event);
      };
      return element("a", { href: `#e${run.steps[step - 1].event + 1}`, onclick: go }, String(step));
    };
    const place = told.in ? [told.function ? `in ${told.function}, of ${told.in}` : `in ${told.in}`] : [];
    if (after.length > 0) {
      const links = after.flatMap((step, at) => (at ? [", ", link(step)] : [link(step)]));
      place.push(place.length ? "; after " : "after ", ...links);
    }
    const tag = told.kind === "fault" && needed.has(event) ? element("span", { class: "tag needed" }, "needed") : null;
    return element("li", { "data-event": event, tabindex: 0, onclick: () => this.select(event) },
      isNumbered ? element("span", { class: "number" }, String(number)) : null,
      element("span", { class: "time" }, `${seconds(run.at[event])} s `),
      element("span", { class: "who" }, told.who), ` ${told.text}`, tag,
      place.length > 0 ? element("div", { class: "place" }, ...place) : null);
  }

  inevitable() {
    const { curve } = this.run;
    const share = (events) => {
      const violated = curve.points.find(([own]) => own === events)?.[1] ?? 0;
      return `${Math.round((violated * 100) / Math.max(1, curve.futures))}%`;
    };
    const box = element("div", { class: "box", id: "inevitable" });
    const lost = curve.lost;
    if (!lost) {
      box.append("From the beginning on as many futures violate: no event makes it likelier.");
    } else if (lost[1] === lost[0] + 1) {
      box.append("Lost here: ", this.linkTo(lost[1] - 1), ` — of ${curve.futures} other futures from before it `,
        element("b", {}, share(lost[0])), " violate, after it ", element("b", {}, share(lost[1])), ".");
    } else {
      box.append(`Lost between event ${thousands(lost[0])} (${share(lost[0])} of the futures violate) and `,
        this.linkTo(lost[1] - 1), ` (${share(lost[1])}).`);
    }
    return box;
  }

  fixed() {
    const { fixed } = this.run;
    const box = element("div", { class: "box", id: "fixed" },
      element("p", { class: "strong" }, `With ${fixed.flipped.join(" and ")} the other way`));
    if (fixed.event !== null) {
      const there = fixed.event < this.run.count ? this.linkTo(fixed.event) : `after event ${fixed.event}`;
      box.append(element("p", {}, "differs at ", there), element("p", {}, "as it is: ", fixed.here),
        element("p", {}, "fixed: ", fixed.fixed));
    }
    box.append(element("p", {}, `ends: ${fixed.ends}`));
    return box;
  }

  faults() {
    const { run } = this;
    const list = element("ul", { class: "rows" });
    for (const fault of run.faults) {
      const tag = fault.needed
        ? element("span", { class: "tag needed", title: "without it the violation does not come" }, "needed")
        : fault.leads ? element("span", { class: "tag leads" }, "leads to the violation") : null;
      const until = fault.end === null ? (fault.lasts ? " to the end" : "") : ` until ${seconds(run.at[fault.end])} s`;
      list.append(element("li", { "data-event": fault.event, tabindex: 0, onclick: () => this.select(fault.event) },
        element("span", { class: "time" }, `${seconds(run.at[fault.event])} s${until} `), fault.text, tag));
    }
    const none = run.faults.length === 0 ? element("p", { class: "note" }, "No fault struck.") : list;
    find("faults").append(none);
  }

  /** What was written is read when somebody wants to see it: it is most of the page. */
  get written() {
    if (!this.read) {
      this.read = carried("written");
      this.read.of = this.read.keys.map(() => []);
      for (const change of this.read.changes) this.read.of[change.key].push(change);
    }
    return this.read;
  }

  objects(wanted = "") {
    const { keys, of } = this.written;
    const list = element("ul", { class: "rows" });
    keys.forEach((key, at) => {
      if (!key.toLowerCase().includes(wanted.toLowerCase())) return;
      const writes = of[at].length;
      const gone = of[at][writes - 1].now === null ? " · deleted" : "";
      list.append(element("li", { tabindex: 0, "data-key": key, onclick: () => this.openObject(at) },
        element("span", { class: "key" }, key), element("span", { class: "soft" },
          ` ${thousands(writes)} ${writes === 1 ? "write" : "writes"}${gone}`)));
    });
    const search = element("input", { type: "search", placeholder: "Keys", "aria-label": "Keys", value: wanted });
    search.addEventListener("input", () => {
      this.objects(search.value);
      find("objects").querySelector("input").focus();
    });
    const none = keys.length === 0 ? element("p", { class: "note" }, "Nothing was written.") : list;
    find("objects").replaceChildren(element("div", { class: "toolbar" }, search), none);
    const own = find("objects").querySelector("input");
    own.setSelectionRange(wanted.length, wanted.length);
  }

  openObject(at) {
    const { keys, of } = this.written;
    this.openTab("objects", true);
    const panel = element("div", {});
    panel.append(element("p", { class: "note" },
      element("button", { onclick: () => this.objects() }, "← all keys"), " ", element("code", {}, keys[at])));
    of[at].forEach((change, place) => {
      const box = element("div", { class: "box", "data-event": change.event },
        element("p", {}, element("b", {}, `revision ${change.revision} `), this.linkTo(change.event, true)));
      box.append(this.change(change, of[at][place - 1]));
      panel.append(box);
    });
    find("objects").replaceChildren(panel);
    this.mark();
  }

  change(change, before) {
    if (change.now === null) return element("p", { class: "bad" }, "deleted");
    const lines = (own) => (own && own.now !== null ? yaml(JSON.parse(own.now)) : []);
    return diff(lines(before), lines(change));
  }

  // The selected event.

  linkTo(event, isShort = false) {
    const text = isShort
      ? `event ${thousands(event + 1)}, ${seconds(this.run.at[event])} s`
      : `event ${thousands(event + 1)}: ${this.run.words(event).slice(0, 160)}`;
    const go = (click) => {
      click.preventDefault();
      this.select(event);
    };
    return element("a", { href: `#e${event + 1}`, onclick: go }, text);
  }

  select(event, isFar = true, isSaid = true) {
    this.selected = event;
    this.diagram.select(event, isFar);
    if (isSaid) history.replaceState(null, "", `#e${event + 1}`);
    this.detail();
    this.mark();
  }

  detail() {
    const { run, selected: event } = this;
    const told = (run.toldOf.get(event) ?? []).map((own) => element("p", {},
      element("span", { class: "who" }, own.who), ` ${own.text}`,
      own.in || own.line ? element("span", { class: "place" },
        ` ${own.in ? `in ${own.function ? `${own.function}, of ` : ""}${own.in}` : ""}${own.line ? ` · ${own.line}` : ""}`)
        : null));
    const list = (title, all) => all.length === 0 ? [] : [element("p", { class: "strong" }, title),
      element("ul", {}, ...all)];
    const before = run.before(event).map(([own, kind]) => element("li", {}, `${kind}: `, this.linkTo(own)));
    const after = [...new Set(run.after(event))].slice(0, 12)
      .map((own) => element("li", {}, `${run.kindOf(event, own)}: `, this.linkTo(own)));
    const where = run.askedOf.get(event) ?? (run.ranOf.has(event) ? `in ${run.ranOf.get(event)}` : null);
    const distance = run.slice[event];
    const leads = distance < 0 ? null : element("p", { class: "soft" },
      distance === 0 ? "The violation." : `Leads to the violation over ${distance} ${distance === 1 ? "event" : "events"}.`);
    const changes = this.written.changes.filter((change) => change.event === event).flatMap((change) => {
      const all = this.written.of[change.key];
      const open = () => this.openObject(change.key);
      return [element("p", {}, `revision ${change.revision}: `,
        element("a", { href: `#e${event + 1}`, onclick: (click) => { click.preventDefault(); open(); } },
          this.written.keys[change.key])), this.change(change, all[all.indexOf(change) - 1])];
    });
    find("event").replaceChildren(
      element("h2", {}, element("a", { href: `#e${event + 1}` }, `Event ${thousands(event + 1)}`),
        ` at ${seconds(run.at[event])} s, ${run.processes[run.lane[event]]}`),
      element("p", {}, element("code", {}, run.names[event])),
      ...(where ? [element("p", { class: "soft" }, where)] : []),
      ...told, ...(leads ? [leads] : []), ...changes,
      ...list("Follows from", before), ...list("Leads to", after));
  }

  /** Marks the selected event in the lists. */
  mark() {
    for (const row of document.querySelectorAll("#side [data-event]")) {
      const isIt = Number(row.dataset.event) === this.selected;
      if (isIt) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
      if (isIt && row.offsetParent) row.scrollIntoView({ block: "nearest" });
    }
  }

  // Tools.

  openTab(name, isOpened = false) {
    for (const tab of TABS) {
      find(tab).hidden = tab !== name;
      find(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    }
    if (name === "objects" && !isOpened) this.objects();
  }

  search(text) {
    const { run, diagram } = this;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    diagram.hits = new Uint8Array(run.count);
    this.hits = [];
    for (let event = 0; words.length > 0 && event < run.count; event++) {
      const said = `${run.names[event]} ${run.words(event)}`.toLowerCase();
      if (!words.every((word) => said.includes(word))) continue;
      diagram.hits[event] = 1;
      this.hits.push(event);
    }
    const list = element("ul", { class: "rows" });
    for (const event of this.hits.slice(0, LISTED)) {
      list.append(element("li", { "data-event": event, tabindex: 0, onclick: () => this.select(event) },
        element("span", { class: "time" }, `${seconds(run.at[event])} s `), run.words(event)));
    }
    const more = this.hits.length > LISTED ? [element("p", { class: "note" },
      `and ${thousands(this.hits.length - LISTED)} more`)] : [];
    find("found").replaceChildren(list, ...more);
    find("hits").textContent = words.length === 0 ? "" : `${thousands(this.hits.length)} found`;
    if (words.length > 0) this.openTab("found");
    if (find("filter").value === "hits") this.filter();
    diagram.draw();
  }

  nextHit(step) {
    const { hits } = this;
    if (hits.length === 0) return;
    const place = lowerBound(hits, this.selected);
    const next = step > 0 ? (hits[place] === this.selected ? place + 1 : place) : place - 1;
    const at = (next + hits.length) % hits.length;
    this.select(hits[at]);
    find("hits").textContent = `${thousands(at + 1)} of ${thousands(hits.length)}`;
  }

  filter() {
    const { run, diagram } = this;
    const steps = new Set(run.steps.map((step) => step.event));
    const last = run.count - 1;
    const is = {
      all: () => true,
      told: (event) => run.isTold[event] === 1,
      slice: (event) => run.slice[event] >= 0,
      story: (event) => steps.has(event) || (event === last && Boolean(run.violation)),
      hits: (event) => diagram.hits[event] === 1,
    }[find("filter").value];
    const all = Array.from({ length: run.count }, (_, event) => event);
    const ofStory = find("filter").value === "story" ? run.steps : null;
    diagram.show(Int32Array.from(all.filter(is)), ofStory);
  }

  turn(id) {
    const select = find(id);
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    select.dispatchEvent(new Event("change"));
  }

  tools() {
    const { diagram } = this;
    find("search").addEventListener("input", () => this.search(find("search").value));
    find("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.nextHit(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") find("diagram").focus();
    });
    find("next-hit").addEventListener("click", () => this.nextHit(1));
    find("previous-hit").addEventListener("click", () => this.nextHit(-1));
    find("filter").addEventListener("change", () => {
      this.filter();
      if (this.selected >= 0) diagram.select(this.selected);
    });
    find("axis").addEventListener("change", () => {
      diagram.axis = find("axis").value;
      diagram.fit();
    });
    find("in").addEventListener("click", () => diagram.zoom(1.6));
    find("out").addEventListener("click", () => diagram.zoom(1 / 1.6));
    find("fit").addEventListener("click", () => diagram.fit());
    find("print").addEventListener("click", () => window.print());
    find("keys").addEventListener("click", () => find("help").showModal());
    find("theme").addEventListener("click", () => {
      const root = document.documentElement;
      const isDark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      diagram.draw();
    });
    for (const tab of TABS) find(`tab-${tab}`).addEventListener("click", () => this.openTab(tab));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || find("help").open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (key === "Enter" && target.matches?.("li[tabindex]")) {
      target.click();
      return;
    }
    const done = {
      ArrowRight: () => this.walk(1), ArrowLeft: () => this.walk(-1),
      ArrowDown: () => this.climb(1), ArrowUp: () => this.climb(-1),
      "]": () => this.walk(1, true), "[": () => this.walk(-1, true),
      s: () => this.walkStory(1), S: () => this.walkStory(-1),
      c: () => this.cause(), "/": () => find("search").focus(),
      n: () => this.nextHit(1), N: () => this.nextHit(-1),
      "+": () => this.diagram.zoom(1.6), "=": () => this.diagram.zoom(1.6), "-": () => this.diagram.zoom(1 / 1.6),
      0: () => this.diagram.fit(), f: () => this.turn("filter"), o: () => this.turn("axis"),
      t: () => find("theme").click(), "?": () => find("help").showModal(),
    }[key];
    if (!done) return;
    event.preventDefault();
    done();
  }

  /** The next event that is shown, of any lane or of this one. */
  walk(step, isOnLane = false) {
    const { shown } = this.diagram;
    let place = lowerBound(shown, this.selected);
    if (step < 0 || shown[place] === this.selected) place += step;
    while (isOnLane && shown[place] !== undefined && this.run.lane[shown[place]] !== this.run.lane[this.selected]) {
      place += step;
    }
    if (shown[place] !== undefined) this.select(shown[place]);
  }

  /** The nearest event on the next lane that has one. */
  climb(step) {
    const { lane, processes } = this.run;
    const { shown } = this.diagram;
    const place = lowerBound(shown, this.selected);
    for (let own = lane[this.selected] + step; own >= 0 && own < processes.length; own += step) {
      for (let away = 1; away < shown.length; away++) {
        const found = [shown[place - away], shown[place + away]].find((event) => lane[event] === own);
        if (found !== undefined) {
          this.select(found);
          return;
        }
      }
    }
  }

  walkStory(step) {
    const events = [...new Set(this.run.steps.map((own) => own.event))];
    const next = step > 0
      ? events.find((event) => event > this.selected)
      : events.findLast((event) => event < this.selected);
    if (next !== undefined) this.select(next);
  }

  cause() {
    const before = this.run.before(this.selected);
    if (before.length > 0) this.select(before[0][0]);
  }

  /** `#e12` is an event. */
  fromAddress() {
    const number = Number(/^#e(\d+)$/.exec(location.hash)?.[1]);
    if (!(number >= 1 && number <= this.run.count)) return false;
    this.select(number - 1);
    if (this.diagram.view[1] - this.diagram.view[0] > 400) this.diagram.focus(number - 1);
    return true;
  }
}

window.page = new Page();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
