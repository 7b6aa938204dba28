// The space-time diagram: a lane for each process, messages as arrows, faults as bands, the slice highlighted.
//
// Only what is in view is drawn. Where that is more than fits, a pixel of a lane stands for all events that fall on it.

const GUTTER = 104;
const TOP = 22;
const BOTTOM = 22;
/** With more events than so in view, no arrows are drawn, or no labels. */
const MANY_ARROWS = 2500;
const MANY_LABELS = 500;

class Diagram {
  constructor(run, canvas, overview, choose) {
    Object.assign(this, { run, canvas, choose });
    this.overview = new Overview(this, overview);
    this.shown = Int32Array.from({ length: run.count }, (_, event) => event);
    this.axis = "order";
    this.steps = null;
    this.selected = -1;
    this.hits = new Uint8Array(run.count);
    this.asked = false;
    this.fit();
    this.listen();
  }

  // What lies where.

  /** The place of an event along the axis; of one that is not shown that of the next one that is. */
  along(event) {
    return this.axis === "time" ? this.run.at[event] : lowerBound(this.shown, event);
  }

  get whole() {
    const { run, shown } = this;
    if (this.axis === "order" || run.count === 0) return [-0.5, Math.max(1, shown.length) - 0.5];
    const [first, last] = [run.at[0], run.at[run.count - 1]];
    const margin = Math.max(1, (last - first) * 0.01);
    return [first - margin, last + margin];
  }

  x(event) {
    const [from, to] = this.view;
    return GUTTER + ((this.along(event) - from) / (to - from)) * (this.width - GUTTER - 12);
  }

  y(lane) {
    const room = this.height - TOP - BOTTOM;
    return TOP + (room / this.run.processes.length) * (lane + 0.5);
  }

  /** The first and the last but one of the places of `shown` that are in view. */
  get inView() {
    const [from, to] = this.view;
    if (this.axis === "order") {
      return [Math.max(0, Math.ceil(from)), Math.min(this.shown.length, Math.floor(to) + 1)];
    }
    const { at } = this.run;
    const before = (time) => {
      let low = 0, high = this.shown.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (at[this.shown[middle]] < time) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return [before(from), before(to + 1)];
  }

  // What is in view.

  show(events, steps = null) {
    Object.assign(this, { shown: events, steps });
    this.fit();
  }

  fit() {
    this.view = this.whole;
    this.draw();
  }

  /** Makes what is in view so much larger, around a place between 0 and 1. */
  zoom(factor, around = 0.5) {
    const [from, to] = this.view;
    const [least, most] = [this.axis === "order" ? 6 : 1000, this.whole[1] - this.whole[0]];
    const size = Math.min(most, Math.max(Math.min(least, most), (to - from) / factor));
    const centre = from + (to - from) * around;
    this.move(centre - size * around, size);
  }

  move(from, size = this.view[1] - this.view[0]) {
    const [first, last] = this.whole;
    const begin = Math.min(Math.max(first, from), Math.max(first, last - size));
    this.view = [begin, begin + size];
    this.draw();
  }

  select(event, isFar = true) {
    this.selected = event;
    if (event >= 0 && isFar) {
      const [from, to] = this.view;
      const place = this.along(event);
      const margin = (to - from) * 0.06;
      if (place < from + margin || place > to - margin) this.move(place - (to - from) / 2);
    }
    this.draw();
  }

  /** A view of about so many events around one. */
  focus(event, events = 60) {
    const place = this.along(event);
    const [first, last] = this.whole;
    const size = this.axis === "order"
      ? Math.min(events, last - first)
      : Math.min(last - first, Math.max(1e6, (last - first) / 40));
    this.move(place - size / 2, size);
  }

  // Drawing.

  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    this.asked = false;
    this.colours = colours();
    const fit = fitted(this.canvas);
    Object.assign(this, fit);
    const { pen, width } = fit;
    pen.font = "12px system-ui, sans-serif";
    this.drawLanes();
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER - 4, 0, width - GUTTER + 4, fit.height);
    pen.clip();
    this.drawFaults();
    this.drawTimes();
    const [first, end] = this.inView;
    this.spacing = (width - GUTTER) / Math.max(1, end - first);
    this.drawArrows(first, end);
    this.drawSelected();
    this.drawEvents(first, end);
    pen.restore();
    this.overview.draw();
  }

  drawLanes() {
    const { pen, run, colours, width } = this;
    run.processes.forEach((name, lane) => {
      const y = this.y(lane);
      pen.strokeStyle = colours.lane;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(GUTTER - 6, y);
      pen.lineTo(width, y);
      pen.stroke();
      pen.fillStyle = lane === this.run.lane[this.selected] ? colours.told : colours.ink;
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      pen.fillText(name, GUTTER - 12, y, GUTTER - 16);
    });
    pen.textAlign = "left";
  }

  drawFaults() {
    const { pen, run, colours } = this;
    const labelled = new Float64Array(run.processes.length);
    const each = Math.min(76, (this.height - TOP - BOTTOM) / run.processes.length);
    for (const fault of run.faults) {
      const from = this.x(fault.event);
      const to = Math.max(from + 3, this.endOf(fault) === null ? from + 3 : this.x(this.endOf(fault)));
      if (to < GUTTER || from > this.width) continue;
      const colour = fault.needed ? colours.needed : colours.fault;
      for (const lane of new Set(fault.on)) {
        const y = this.y(lane) - each * 0.38;
        pen.globalAlpha = 0.2;
        pen.fillStyle = colour;
        pen.fillRect(from, y, to - from, each * 0.76);
        pen.globalAlpha = 0.8;
        pen.fillRect(from, y, 2, each * 0.76);
        pen.globalAlpha = 1;
      }
      const room = Math.min(to, this.width) - Math.max(from, GUTTER) - 8;
      const lane = Math.min(...fault.on);
      const begin = Math.max(from, GUTTER) + 5;
      if (each >= 26 && room > 44 && fault.on.length > 0 && begin > labelled[lane]) {
        labelled[lane] = begin + Math.min(room, fault.text.length * 5.4) + 6;
        pen.fillStyle = colours.soft;
        pen.textBaseline = "top";
        pen.font = "10px system-ui, sans-serif";
        pen.fillText(this.cut(fault.text, room, 5.2), begin, this.y(lane) - each * 0.37);
        pen.font = "12px system-ui, sans-serif";
      }
    }
  }

  /** The event that ends a fault: what nothing ends lasts to the end, unless it is over at once. */
  endOf(fault) {
    return fault.end === null && fault.lasts ? this.run.count - 1 : fault.end;
  }

  /** As much of a text as has room. */
  cut(text, room, each = 6.2) {
    const fits = Math.floor(room / each);
    return text.length <= fits ? text : `${text.slice(0, Math.max(0, fits - 1))}…`;
  }

  drawTimes() {
    const { pen, colours, run } = this;
    const [first, end] = this.inView;
    const base = this.height - 6;
    pen.fillStyle = colours.soft;
    pen.textBaseline = "alphabetic";
    pen.font = "11px ui-monospace, monospace";
    if (this.axis === "order") {
      const step = Math.max(1, Math.ceil((end - first) * 130 / Math.max(1, this.width - GUTTER)));
      for (let place = Math.ceil(first / step) * step; place < end; place += step) {
        const event = this.shown[place];
        const x = this.x(event);
        this.tick(x);
        pen.fillText(`${seconds(run.at[event])} s`, x + 3, base);
      }
    } else {
      const [from, to] = this.view;
      const rough = (to - from) * 130 / Math.max(1, this.width - GUTTER);
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough);
      for (let time = Math.ceil(from / step) * step; time < to; time += step) {
        const x = GUTTER + ((time - from) / (to - from)) * (this.width - GUTTER - 12);
        this.tick(x);
        const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(step))));
        pen.fillText(`${(time / 1e9).toFixed(digits)} s`, x + 3, base);
      }
    }
    pen.font = "12px system-ui, sans-serif";
  }

  tick(x) {
    const { pen } = this;
    pen.strokeStyle = this.colours.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, TOP - 8);
    pen.lineTo(x, this.height - 18);
    pen.stroke();
  }

  drawArrows(first, end) {
    const { pen, run, shown, colours } = this;
    if (this.steps) this.drawStory();
    if (end - first > MANY_ARROWS || this.steps) return;
    pen.globalAlpha = end - first > 600 ? 0.35 : 1;
    const passes = [[false, colours.message, 0.9], [true, colours.slice, 1.3]];
    for (const [ofSlice, colour, thick] of passes) {
      const seen = new Set();
      for (let place = first; place < end; place++) {
        const event = shown[place];
        if (ofSlice && run.slice[event] < 0) continue;
        for (const [before, kind] of run.before(event)) {
          const both = run.slice[event] >= 0 && run.slice[before] >= 0;
          if (both !== ofSlice || (kind !== "message" && !both)) continue;
          this.arrowOnce(seen, before, event, colour, thick);
        }
        for (const after of run.after(event)) {
          const both = run.slice[event] >= 0 && run.slice[after] >= 0;
          if (both !== ofSlice || run.kindOf(event, after) !== "message") continue;
          this.arrowOnce(seen, event, after, colour, thick);
        }
      }
    }
    pen.globalAlpha = 1;
  }

  /** Where only the story is shown: from each step to those that follow from it. */
  drawStory() {
    for (const { event, after } of this.steps) {
      for (const step of after) this.arrow(this.steps[step - 1].event, event, this.colours.slice, 1.3);
    }
  }

  /** Of arrows that fall on the same pixels one is enough. */
  arrowOnce(seen, before, event, colour, thick) {
    const [x, to] = [this.x(before), this.x(event)];
    const key = `${Math.round(x)} ${this.run.lane[before]} ${Math.round(to)} ${this.run.lane[event]}`;
    if (seen.has(key)) return;
    seen.add(key);
    this.arrow(before, event, colour, thick);
  }

  arrow(before, event, colour, thick) {
    const { pen, run } = this;
    const [x1, y1, x2, y2] = [this.x(before), this.y(run.lane[before]), this.x(event), this.y(run.lane[event])];
    if ((x1 < GUTTER && x2 < GUTTER) || (x1 > this.width && x2 > this.width)) return;
    pen.strokeStyle = colour;
    pen.fillStyle = colour;
    pen.lineWidth = thick;
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
    if (y1 === y2 || this.spacing < 5) return;
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const [tip, size] = [[x2 - Math.cos(angle) * 4, y2 - Math.sin(angle) * 4], 6];
    pen.beginPath();
    pen.moveTo(...tip);
    for (const turn of [-0.4, 0.4]) {
      pen.lineTo(tip[0] - Math.cos(angle + turn) * size, tip[1] - Math.sin(angle + turn) * size);
    }
    pen.fill();
  }

  drawEvents(first, end) {
    const { pen, run, shown, colours } = this;
    const radius = Math.max(1.3, Math.min(4.5, this.spacing / 3));
    const classes = [colours.dot, colours.told, colours.slice, colours.hit];
    const columns = Math.ceil(this.width) + 2;
    const taken = new Int8Array(columns * run.processes.length).fill(-1);
    const places = [[], [], [], []];
    for (let place = first; place < end; place++) {
      const event = shown[place];
      const kind = this.hits[event] ? 3 : run.slice[event] >= 0 ? 2 : run.isTold[event] ? 1 : 0;
      const x = this.x(event);
      const at = run.lane[event] * columns + Math.min(columns - 1, Math.max(0, Math.round(x)));
      if (taken[at] >= kind) continue;
      taken[at] = kind;
      places[kind].push(x, this.y(run.lane[event]));
    }
    places.forEach((own, kind) => {
      pen.fillStyle = classes[kind];
      const size = radius + (kind >= 2 ? 0.8 : 0);
      for (let at = 0; at < own.length; at += 2) {
        if (radius < 2) {
          pen.fillRect(own[at] - 0.5, own[at + 1] - 4 - kind * 2, 1.2, 8 + kind * 4);
          continue;
        }
        pen.beginPath();
        pen.arc(own[at], own[at + 1], size, 0, 7);
        pen.fill();
      }
    });
    if (end - first <= MANY_LABELS) this.drawLabels(first, end);
  }

  /** What is told, where there is room on the lane; steps of the story have their numbers. */
  drawLabels(first, end) {
    const { pen, run, shown, colours } = this;
    const free = new Float64Array(run.processes.length).fill(-1);
    const numbered = new Float64Array(run.processes.length).fill(-99);
    pen.textBaseline = "top";
    for (let place = first; place < end; place++) {
      const event = shown[place];
      const step = run.steps.findIndex((own) => own.event === event);
      const text = run.isTold[event] ? run.words(event) : "";
      const [x, lane] = [this.x(event), run.lane[event]];
      if (step >= 0 && x - numbered[lane] > 15) {
        numbered[lane] = x;
        pen.fillStyle = colours.slice;
        pen.textAlign = "center";
        pen.fillText(String(step + 1), x, this.y(lane) - 21);
        pen.textAlign = "left";
      }
      if (text === "" || x < free[lane]) continue;
      let next = this.width;
      for (let later = place + 1; later < end; later++) {
        if (run.lane[shown[later]] !== lane || !run.isTold[shown[later]]) continue;
        next = this.x(shown[later]);
        break;
      }
      const room = next - x - 8;
      if (room < 40) continue;
      pen.fillStyle = colours.soft;
      pen.font = "11px system-ui, sans-serif";
      pen.fillText(this.cut(text, room, 5.6), x + 2, this.y(lane) + 7);
      pen.font = "12px system-ui, sans-serif";
      free[lane] = x + Math.min(room, text.length * 5.6);
    }
  }

  drawSelected() {
    const { pen, run, colours, selected } = this;
    if (selected < 0) return;
    const [x, y] = [this.x(selected), this.y(run.lane[selected])];
    pen.strokeStyle = colours.chosen;
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(x, TOP - 8);
    pen.lineTo(x, this.height - 18);
    pen.stroke();
    for (const [before] of run.before(selected)) this.arrow(before, selected, colours.chosen, 1.4);
    pen.setLineDash([]);
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, 8, 0, 7);
    pen.stroke();
  }

  // What is done to it.

  nearest(x, y, most = 14) {
    const [first, end] = this.inView;
    let [found, least] = [-1, most * most];
    for (let place = first; place < end; place++) {
      const event = this.shown[place];
      const across = this.x(event) - x;
      const down = this.y(this.run.lane[event]) - y;
      const distance = across * across + down * down;
      if (distance <= least) [found, least] = [event, distance];
    }
    return found;
  }

  listen() {
    const { canvas } = this;
    const tip = document.body.appendChild(element("div", { id: "tip", hidden: "" }));
    tip.style.cssText = "position:fixed;max-width:420px;padding:4px 8px;border-radius:6px;pointer-events:none;" +
      "background:var(--ink);color:var(--paper);font-size:12px;z-index:3;overflow-wrap:anywhere";
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [from, to] = this.view;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.move(from + (event.deltaX || event.deltaY) * (to - from) / this.width);
        return;
      }
      const around = (event.offsetX - GUTTER) / Math.max(1, this.width - GUTTER - 12);
      this.zoom(Math.exp(-event.deltaY / 300), Math.min(1, Math.max(0, around)));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, from: this.view[0], moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const moved = event.clientX - drag.x;
        drag.moved ||= Math.abs(moved) > 3;
        const [from, to] = this.view;
        if (drag.moved) this.move(drag.from - moved * (to - from) / (this.width - GUTTER - 12));
        return;
      }
      const found = this.nearest(event.offsetX, event.offsetY);
      tip.hidden = found < 0;
      if (found < 0) return;
      tip.textContent = `${thousands(found + 1)} · ${seconds(this.run.at[found])} s · ${this.run.words(found)}`;
      tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - 440)}px`;
      tip.style.top = `${event.clientY + 16}px`;
    });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("pointerup", (event) => {
      const found = drag?.moved ? -1 : this.nearest(event.offsetX, event.offsetY);
      drag = null;
      if (found >= 0) this.choose(found, false);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
    const prefers = matchMedia("(prefers-color-scheme: dark)");
    prefers.addEventListener("change", () => this.draw());
    window.addEventListener("beforeprint", () => this.drawNow());
  }
}
