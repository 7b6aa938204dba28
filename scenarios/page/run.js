// A run: what the page carries, in columns, and what each event leads to.

/** A run: columns of events, what each follows from and leads to. */
class Run {
  constructor(shown) {
    Object.assign(this, shown);
    const count = shown.at.length;
    this.count = count;
    this.at = new Float64Array(count);
    shown.at.reduce((now, since, event) => (this.at[event] = now + since), 0);
    this.lane = Uint16Array.from(shown.on);
    this.slice = new Int32Array(count).fill(-1);
    for (const [event, distance] of shown.slice) this.slice[event] = distance;
    this.isTold = new Uint8Array(count);
    this.toldOf = new Map();
    for (const told of shown.told) {
      this.isTold[told.event] = 1;
      if (!this.toldOf.has(told.event)) this.toldOf.set(told.event, []);
      this.toldOf.get(told.event).push(told);
    }
    this.askedOf = new Map(shown.asked);
    this.ranOf = new Map(shown.ran);
    this.follow(shown.because);
  }

  /** What each event leads to, in two flat arrays. */
  follow(because) {
    const begin = new Uint32Array(this.count + 1);
    because.forEach((own, event) => {
      for (let at = 0; at < own.length; at += 2) begin[event - own[at] + 1]++;
    });
    for (let event = 0; event < this.count; event++) begin[event + 1] += begin[event];
    const next = begin.slice();
    const later = new Uint32Array(begin[this.count]);
    because.forEach((own, event) => {
      for (let at = 0; at < own.length; at += 2) later[next[event - own[at]]++] = event;
    });
    Object.assign(this, { begin, later });
  }

  /** The events that this one follows from, each with how. */
  before(event) {
    const own = this.because[event] ?? [];
    const all = [];
    for (let at = 0; at < own.length; at += 2) all.push([event - own[at], this.kinds[own[at + 1]]]);
    return all;
  }

  after(event) {
    return this.later.subarray(this.begin[event], this.begin[event + 1]);
  }

  kindOf(before, event) {
    return this.before(event).find(([own]) => own === before)?.[1];
  }

  /** An event in words: what was told, or else its name and what it is about. */
  words(event) {
    const told = this.toldOf.get(event);
    if (told) return told.map(({ who, text }) => (who === "fault" ? text : `${who} ${text}`)).join("; ");
    const more = this.askedOf.get(event);
    const ran = this.ranOf.get(event);
    return this.names[event] + (more ? `: ${more}` : ran ? `, in ${ran}` : "");
  }
}
