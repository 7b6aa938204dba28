// The page of a sweep: what was covered, violations by what is to blame, and how both changed over builds.

const find = (id) => document.getElementById(id);
const reports = JSON.parse(find("reports").textContent);
const report = reports[reports.length - 1];
const all = find("all");

const number = (value) => element("td", { class: "n" }, thousands(value));
const bar = (part, whole, kind) => element("td", { class: "bar" },
  part > 0 ? element("div", { class: kind, style: `width:${Math.max(0.5, (part * 100) / Math.max(1, whole))}%` }) : null);
const share = (part) => `${thousands(part)} (${Math.round((part * 100) / Math.max(1, report.totals.seeds))}%)`;

function table(heads, rows) {
  const head = heads.map((name) => element("th", { class: /^[+]/.test(name) ? "n" : null }, name.replace("+", "")));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells))));
}

function head() {
  const { totals } = report;
  find("case").append(report.case, " ", element("small", {}, `seeds ${report.seeds} · build ${report.build}`));
  find("verdict").className = /clean|expected/.test(report.verdict) ? "good" : "bad";
  find("verdict").textContent = report.verdict.replaceAll("-", " ");
  find("verdict").after(...report.because.map((why) => element("p", { class: "soft" }, why)));
  const hours = totals["simulated-seconds"] / 3600;
  const cards = [[thousands(totals.seeds), "seeds"], [thousands(totals.events), "events"],
    [hours < 2 ? `${(hours * 60).toFixed(1)} min` : `${hours.toFixed(1)} h`, "simulated"],
    [`${totals["real-seconds"].toFixed(1)} s`, "in real time"],
    [String(report.violations.length), "different violations"]];
  all.append(element("div", { class: "cards" },
    ...cards.map(([figure, what]) => element("div", {}, element("b", {}, figure), what))));
}

/** What a violation is to be blamed on: its group. */
const blamed = (violation) =>
  violation["explained-by"].length > 0 ? violation["explained-by"].join(" and ") : violation.attribution;

function violations() {
  all.append(element("h2", {}, "Violations by blame"));
  if (report.violations.length === 0) {
    all.append(element("p", { class: "soft" }, "None."));
    return;
  }
  const groups = Map.groupBy?.(report.violations, blamed) ?? report.violations.reduce(
    (known, own) => known.set(blamed(own), [...(known.get(blamed(own)) ?? []), own]), new Map());
  const seeds = (group) => group.reduce((sum, own) => sum + own.seeds, 0);
  const sorted = [...groups].sort(([, a], [, b]) => seeds(b) - seeds(a));
  const most = Math.max(...sorted.map(([, group]) => seeds(group)));
  all.append(table(["blame", "+in seeds", "", "properties"], sorted.map(([blame, group]) => [
    element("td", {}, blame), element("td", { class: "n" }, share(seeds(group))), bar(seeds(group), most, "bad"),
    element("td", {}, [...new Set(group.map((own) => own.property))].join(", "))])));
  for (const [blame, group] of sorted) {
    for (const own of group) all.append(violation(blame, own));
  }
}

function violation(blame, own) {
  const what = `${own.property} (${own.kind}${own.object ? ` ${own.object}` : ""}): ${own.message}`;
  const facts = [`blame: ${blame}`, ...own.explanations,
    `in ${thousands(own.seeds)} seeds, first ${own["first-seed"]}; shortest ${own["shortest-seed"]} with ` +
    `${thousands(own.events)} events`, own.replay ?? ""].filter(Boolean);
  return element("details", {}, element("summary", {}, own.expected ? "expected: " : "", what),
    ...facts.map((fact) => element("p", { class: "soft" }, fact)), element("pre", {}, own.story.join("\n")));
}

function covered() {
  const most = Math.max(1, ...report.faults.map((fault) => fault.times));
  all.append(element("h2", {}, "Faults"));
  all.append(report.faults.length === 0 ? element("p", { class: "soft" }, "None.") :
    table(["fault", "+injected", "", "+in seeds"], report.faults.map((fault) => [
      element("td", {}, fault.kind), number(fault.times), bar(fault.times, most),
      element("td", { class: "n" }, share(fault.seeds))])));
  const tested = Math.max(1, ...report.properties.map((property) => property.tested.times));
  all.append(element("h2", {}, "Properties"));
  all.append(table(["property", "class", "+tested", "", "+in seeds", "+violated"], report.properties.map((property) => [
    element("td", {}, property.name), element("td", { class: "soft" }, property.class),
    property.tested.times > 0 ? number(property.tested.times)
      : element("td", { class: "n bad" }, property.class === "sometimes" ? "never reached" : "never"),
    bar(property.tested.times, tested), element("td", { class: "n" }, share(property.tested.seeds)),
    element("td", { class: property.violated.times > 0 ? "n bad" : "n" }, thousands(property.violated.times))])));
}

/** A figure over builds, as a line; an earlier report may lack it. */
function trend(title, value, kind) {
  const [wide, high, left] = [340, 120, 44];
  const values = reports.map(value);
  const known = values.filter((own) => own !== undefined);
  const most = Math.max(...known, 1e-9);
  const x = (at) => left + (at * (wide - left - 14)) / Math.max(1, reports.length - 1);
  const y = (own) => high - 22 - (own / most) * (high - 40);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: ${values.join(", ")}`);
  const add = (tag, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, own] of Object.entries(attributes)) made.setAttribute(name, own);
    if (text !== undefined) made.textContent = text;
    svg.append(made);
    return made;
  };
  add("line", { x1: left, x2: wide - 8, y1: y(0), y2: y(0) });
  const shown = (own) => own >= 100 ? thousands(Math.round(own)) : String(Number(own.toFixed(2)));
  add("text", { x: left - 6, y: y(most) + 4, "text-anchor": "end" }, shown(most));
  add("text", { x: left - 6, y: y(0) + 3, "text-anchor": "end" }, "0");
  let line = "";
  values.forEach((own, at) => {
    if (own === undefined) return;
    line += `${line ? "L" : "M"}${x(at)} ${y(own)}`;
    const point = add("circle", { cx: x(at), cy: y(own), r: 3, class: kind });
    point.append(document.createElementNS("http://www.w3.org/2000/svg", "title"));
    point.firstChild.textContent = `${reports[at].build}: ${shown(own)}`;
  });
  add("path", { d: line || "M0 0", class: kind });
  const short = (build) => build.replace(/^.*\+/, "").slice(0, 8);
  add("text", { x: x(0), y: high - 6, "text-anchor": "middle" }, short(reports[0].build));
  if (reports.length > 1) {
    add("text", { x: x(reports.length - 1), y: high - 6, "text-anchor": "end" }, short(report.build));
  }
  return element("figure", {}, svg, element("figcaption", {}, title));
}

function trends() {
  if (reports.length < 2) return;
  all.append(element("h2", {}, `Over ${reports.length} reports`));
  const per = (value, own) => (value * 1000) / Math.max(1, own.totals.seeds);
  const blames = [...new Set(reports.flatMap((own) => own.violations.map(blamed)))];
  const inSeeds = (own, blame) => own.violations.filter((one) => blamed(one) === blame)
    .reduce((sum, one) => sum + one.seeds, 0);
  all.append(...blames.map((blame) => trend(`violations of a thousand seeds: ${blame}`,
    (own) => per(inSeeds(own, blame), own), "bad")));
  all.append(trend("events a second", (own) => own.totals["events-per-real-second"]),
    trend("events a seed", (own) => own.totals.events / Math.max(1, own.totals.seeds)),
    trend("faults injected a seed", (own) => own.faults.reduce((sum, fault) => sum + fault.times, 0) /
      Math.max(1, own.totals.seeds)));
  all.append(...report.properties.filter((property) => property.class !== "sometimes").map((property) => trend(
    `tested a seed: ${property.name}`, (own) => {
      const found = own.properties.find((one) => one.name === property.name);
      return found && found.tested.times / Math.max(1, own.totals.seeds);
    })));
}

head();
violations();
covered();
trends();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
