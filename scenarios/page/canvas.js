// What the diagram draws on, and where things are in sorted arrays.

/** The first place in a sorted array whose value is not below this. */
function lowerBound(array, value) {
  let from = 0, to = array.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (array[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ground", "ink", "soft", "line", "lane", "dot", "told", "slice", "chosen", "hit", "message",
    "fault", "needed", "bad", "curve"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** A canvas as large as its element, in the pixels of the screen. */
function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}
