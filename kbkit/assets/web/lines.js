// Lines of a drawing: which of them bend around dots that they would pass through, and where they run.
"use strict";
var kbkit = globalThis.kbkit ?? {};

const BENDS = Array.from({ length: 29 }, (_, i) => (i % 2 ? 10 : -10) * Math.ceil(i / 2)); // 0, 10, -10, 20, ...: how far a line's middle is moved aside, the first clear one is taken
const CLEAR = 6; // pixels between a line and the dots that it passes
const PIECES = 12; // of a bent line
kbkit.DASHES = [[], [7, 4], [1.5, 3.5], [9, 3, 1.5, 3]]; // styles of lines, by how many lines have their relations

// The styles of the lines of a drawing: for each of DASHES in use the indexes of its relations, and a name. The most
// frequent relations have a style of their own; where there are more relations than styles, the others share the last.
// Relations that have a style in a drawing before (`former`) keep it.
kbkit.lineStyles = ({ edges, relations }, former = []) => {
  const counts = new Map();
  edges.forEach(({ relations: own }) => own.forEach(([r]) => counts.set(r, (counts.get(r) ?? 0) + 1)));
  const place = (r) => former.findIndex(({ key }) => key === relations[r].key) >>> 0; // without one, after the others
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).map(([r]) => r).sort((a, b) => place(a) - place(b));
  const single = sorted.length > kbkit.DASHES.length ? kbkit.DASHES.length - 1 : sorted.length;
  const styles = sorted.slice(0, single).map((r) => ({ relations: [r], key: relations[r].key, name: relations[r].heading ?? relations[r].label }));
  if (single < sorted.length) styles.push({ relations: sorted.slice(single), name: `${sorted.length - single} other relations` });
  return styles;
};

// The entries of a legend for the styles of lines that are shown.
kbkit.styleEntries = (graph) => {
  const shown = new Set(graph.lines().map((line) => graph.styleOf(line.data("e"))));
  return graph.styles.map(({ name }, n) => [name, n]).filter(([, n]) => !graph.isFiltered() || shown.has(n)).map(([name, n]) => {
    const [svg, line] = ["svg", "line"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    for (const [key, value] of [["width", 30], ["height", 8], ["aria-hidden", "true"], ["class", "stroke"]]) svg.setAttribute(key, value);
    const dashes = kbkit.DASHES[n].join(" ");
    for (const [key, value] of [["x2", 30], ["y1", 4], ["y2", 4], ["stroke", "currentColor"], ["stroke-width", 1.4], ["stroke-dasharray", dashes]]) line.setAttribute(key, value);
    svg.append(line);
    return kbkit.element("li", { class: "soft", "data-dashes": dashes }, svg, ` ${name}`);
  });
};

// The point towards which a line between two points leaves them; in the middle if the line is straight.
kbkit.control = ([ax, ay], [bx, by], bend) => {
  const long = Math.hypot(bx - ax, by - ay) || 1;
  return [(ax + bx) / 2 - (2 * bend * (by - ay)) / long, (ay + by) / 2 + (2 * bend * (bx - ax)) / long];
};

// The point of a line at a share of its length (a quadratic Bezier curve).
kbkit.along = (a, b, bend, share) => {
  const c = kbkit.control(a, b, bend);
  return [0, 1].map((i) => (1 - share) ** 2 * a[i] + 2 * share * (1 - share) * c[i] + share ** 2 * b[i]);
};

// The straight pieces of a line, [[x, y], [x, y]].
kbkit.pieces = (a, b, bend) => {
  if (!bend) return [[a, b]];
  const points = Array.from({ length: PIECES + 1 }, (_, i) => kbkit.along(a, b, bend, i / PIECES));
  return points.slice(1).map((point, i) => [points[i], point]);
};

// The distance of a point from a line, given by its pieces.
kbkit.apart = ([x, y], pieces) => Math.min(...pieces.map(([[ax, ay], [bx, by]]) => {
  const [dx, dy] = [bx - ax, by - ay];
  const share = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - share * dx, y - ay - share * dy);
}));

// How far each line bends, so that it passes through no dot but its ends. `dots` are [x, y, r] by id, `lines` pairs of ids.
kbkit.bends = (dots, lines) => lines.map(([s, t]) => {
  const [a, b] = [dots.get(s), dots.get(t)];
  if (s === t) return 0;
  const others = [...dots].filter(([id]) => id !== s && id !== t).map(([, dot]) => dot);
  const cost = (bend) => {
    const pieces = kbkit.pieces(a, b, bend);
    return others.reduce((sum, [x, y, r]) => sum + Math.max(0, r + CLEAR - kbkit.apart([x, y], pieces)), 0);
  };
  const costs = [];
  for (const bend of BENDS) {
    costs.push(cost(bend));
    if (!costs.at(-1)) return bend;
  }
  return BENDS[costs.indexOf(Math.min(...costs))];
});
