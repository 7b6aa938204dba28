// Words: numbers, times, objects as YAML, and how two of these differ.

const thousands = (number) => number.toLocaleString("en-US");

const seconds = (nanos) => (nanos / 1e9).toFixed(6);

/** An element with attributes and children; a child that is a text is shown as it is. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** JSON as kubectl prints YAML: enough of it for objects of the API. */
function yaml(value, indent = "") {
  const isPlain = (text) => /^[A-Za-z0-9/_.][\w./:-]*$/.test(text) && !/^(true|false|null|[\d.]+)$/.test(text);
  if (value === null || typeof value !== "object") {
    return [typeof value === "string" && isPlain(value) ? value : JSON.stringify(value)];
  }
  const isList = Array.isArray(value);
  const entries = isList ? value.map((item) => ["-", item]) : Object.entries(value);
  if (entries.length === 0) return [isList ? "[]" : "{}"];
  const lines = [];
  for (const [name, item] of entries) {
    const nested = item !== null && typeof item === "object" && Object.keys(item).length > 0;
    if (!nested) {
      lines.push(`${indent}${name}${isList ? "" : ":"} ${yaml(item)[0]}`);
    } else if (isList) {
      const inner = yaml(item, `${indent}  `);
      lines.push(`${indent}- ${inner[0].slice(indent.length + 2)}`, ...inner.slice(1));
    } else {
      const deeper = Array.isArray(item) ? indent : `${indent}  `;
      lines.push(`${indent}${name}:`, ...yaml(item, deeper));
    }
  }
  return lines;
}

/** The lines of two texts, each with "same", "minus" or "plus": by their longest common part. */
function differences(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const left = () => Math.min(before.length, after.length) - start;
  while (end < left() && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  const wide = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * wide + j] = a[i] === b[j]
        ? longest[(i + 1) * wide + j + 1] + 1
        : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
    }
  }
  const lines = before.slice(0, start).map((line) => ["same", line]);
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push(["same", a[(j++, i++)]]);
    else if (i < a.length && (j === b.length || longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])) {
      lines.push(["minus", a[i++]]);
    } else lines.push(["plus", b[j++]]);
  }
  return lines.concat(before.slice(before.length - end).map((line) => ["same", line]));
}

/** Differences as an element; of what is the same only what is next to a difference. */
function diff(before, after) {
  const lines = differences(before, after);
  const near = (at) => lines.slice(Math.max(0, at - 2), at + 3).some(([how]) => how !== "same");
  const shown = element("pre", { class: "diff" });
  let left = false;
  lines.forEach(([how, line], at) => {
    if (!near(at)) {
      if (!left) shown.append(element("span", { class: "soft" }, "⋯"));
      left = true;
      return;
    }
    left = false;
    const sign = { same: "  ", minus: "- ", plus: "+ " }[how];
    shown.append(element("span", { class: how }, sign + line));
  });
  return shown;
}
