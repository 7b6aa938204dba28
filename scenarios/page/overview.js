// The strip above the diagram: the whole run, its faults, the share of futures that violate, and what is in view.

class Overview {
  constructor(diagram, canvas) {
    Object.assign(this, { diagram, canvas });
    const jump = (event) => {
      if (event.buttons === 0 && event.type !== "pointerdown") return;
      const [first, last] = diagram.whole;
      const [from, to] = diagram.view;
      const part = (event.offsetX - GUTTER) / Math.max(1, canvas.clientWidth - GUTTER - 12);
      diagram.move(first + part * (last - first) - (to - from) / 2);
    };
    canvas.addEventListener("pointerdown", jump);
    canvas.addEventListener("pointermove", jump);
  }

  draw() {
    const { diagram } = this;
    const { pen, width, height } = fitted(this.canvas);
    const { run, colours, shown } = diagram;
    const [first, last] = diagram.whole;
    const across = width - GUTTER - 12;
    const x = (event) => GUTTER + ((diagram.along(event) - first) / (last - first)) * across;
    const base = height - 8;
    pen.fillStyle = colours.soft;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText(`${thousands(shown.length)} events`, GUTTER - 12, 16, GUTTER - 16);
    if (run.curve) {
      pen.fillStyle = colours.curve;
      pen.fillText("futures that", GUTTER - 12, 42, GUTTER - 16);
      pen.fillText("violate", GUTTER - 12, 55, GUTTER - 16);
    }
    pen.textAlign = "left";
    for (const fault of run.faults) {
      const from = x(fault.event);
      const end = diagram.endOf(fault);
      const to = end === null ? from + 2 : Math.max(from + 2, x(end));
      pen.globalAlpha = 0.25;
      pen.fillStyle = fault.needed ? colours.needed : colours.fault;
      pen.fillRect(from, 22, to - from, base - 22);
      pen.globalAlpha = 1;
    }
    const columns = new Uint8Array(Math.ceil(width) + 1);
    for (const event of shown) {
      const at = Math.max(0, Math.min(columns.length - 1, Math.round(x(event))));
      const kind = diagram.hits[event] ? 4 : run.slice[event] >= 0 ? 3 : run.isTold[event] ? 2 : 1;
      columns[at] = Math.max(columns[at], kind);
    }
    const kinds = [null, [colours.dot, 3], [colours.told, 7], [colours.slice, 10], [colours.hit, 12]];
    columns.forEach((kind, at) => {
      if (kind === 0) return;
      pen.fillStyle = kinds[kind][0];
      pen.fillRect(at - 0.5, 16 - kinds[kind][1], 1, kinds[kind][1]);
    });
    if (run.curve) this.drawCurve(pen, x, base);
    const [from, to] = diagram.view.map((place) => GUTTER + ((place - first) / (last - first)) * across);
    pen.strokeStyle = colours.told;
    pen.lineWidth = 1.5;
    pen.strokeRect(from, 1.5, Math.max(2, to - from), height - 3);
  }

  /** The share of futures that violate: a line from nothing to all. */
  drawCurve(pen, x, base) {
    const { run, colours } = this.diagram;
    const { points, futures, lost } = run.curve;
    const y = (violated) => base - (violated / Math.max(1, futures)) * (base - 26);
    const place = (events) => x(Math.min(run.count - 1, Math.max(0, events - 1)));
    pen.beginPath();
    pen.moveTo(place(0), base);
    for (const [events, violated] of points) pen.lineTo(place(events), y(violated));
    pen.lineTo(place(run.count), base);
    pen.closePath();
    pen.globalAlpha = 0.18;
    pen.fillStyle = colours.curve;
    pen.fill();
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.curve;
    pen.lineWidth = 1.8;
    pen.beginPath();
    points.forEach(([events, violated], at) => pen[at ? "lineTo" : "moveTo"](place(events), y(violated)));
    pen.stroke();
    if (lost) {
      pen.fillStyle = colours.bad;
      pen.beginPath();
      pen.arc(place(lost[1]), y(points.find(([events]) => events === lost[1])?.[1] ?? 0), 4, 0, 7);
      pen.fill();
    }
  }
}
