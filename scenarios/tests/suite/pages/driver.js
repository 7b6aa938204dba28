// Uses the page as somebody would: what is not as it should be is written down.
"use strict";
const wrong = [];
const expect = (what, is) => { if (!is) wrong.push(what); };
const text = (id) => document.getElementById(id).textContent;
window.addEventListener("error", (event) => wrong.push(event.message));

/** Is there a pixel of about this colour in the diagram? */
function isDrawn(name) {
  const diagram = document.getElementById("diagram");
  page.diagram.drawNow();
  const colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const copy = new OffscreenCanvas(diagram.width, diagram.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(diagram, 0, 0);
  const { data } = copy.getImageData(0, 0, diagram.width, diagram.height);
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 200 && wanted.every((part, place) => Math.abs(part - data[at + place]) < 12)) return true;
  }
  return false;
}

const press = (key, target = document.body) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));

function drive() {
  expect("the violation is told", text("verdict").includes("10.0.0.2 is still listed"));
  expect("the violation is selected", text("event").includes("The violation."));
  expect("the slice is drawn", isDrawn("--slice"));
  expect("no hit is drawn yet", !isDrawn("--hit"));

  const search = document.getElementById("search");
  search.value = "removing its address failed";
  search.dispatchEvent(new Event("input"));
  expect("one is found", text("hits") === "1 found");
  press("Enter", search);
  expect("it is selected", text("event").includes("removing its address failed"));
  expect("its address is the event's", location.hash === "#e112");
  expect("a hit is drawn", isDrawn("--hit"));

  const first = document.querySelector("#story li");
  document.getElementById("tab-story").click();
  first.click();
  expect("a step is marked", first.getAttribute("aria-current") === "true");
  press("s");
  expect("the next step is selected", page.selected === page.run.steps.find((step) => step.event > page.run.steps[0].event).event);

  const all = page.diagram.shown.length;
  for (const filter of ["slice", "story", "told", "all"]) {
    document.getElementById("filter").value = filter;
    document.getElementById("filter").dispatchEvent(new Event("change"));
    const shown = page.diagram.shown.length;
    expect(`${filter} shows events`, filter === "all" ? shown === all : shown > 0 && shown < all);
  }
  press("ArrowRight");
  press("o");
  expect("the axis is time", page.diagram.axis === "time");
  press("o");

  document.getElementById("tab-objects").click();
  const keys = [...document.querySelectorAll("#objects li")];
  const endpoints = keys.find((row) => row.dataset.key.endsWith("/services/endpoints/default/kubernetes"));
  endpoints.click();
  expect("a diff has a line that came", document.querySelector("#objects pre.diff .plus") !== null);
  expect("and one that went", document.querySelector("#objects pre.diff .minus") !== null);

  const before = getComputedStyle(document.body).backgroundColor;
  press("t");
  expect("it is dark now", getComputedStyle(document.body).backgroundColor !== before);
  expect("the slice is drawn in the dark", isDrawn("--slice"));

  location.hash = "#e5";
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  expect("an address selects", page.selected === 4);
  expect("the curve is told", text("story").includes("other futures") || text("story").includes("From the beginning"));
}

try {
  drive();
} catch (error) {
  wrong.push(String(error));
}
document.documentElement.dataset.wrong = wrong.join("; ");
document.documentElement.dataset.done = "true";
