// How the nodes of a graph look by their values, and the layout in rings.
"use strict";
var kbkit = globalThis.kbkit ?? {};

const NONE = "#7d858f"; // of nodes without a value
const RAMP = ["#3b6ea5", "#2a8f82", "#b3860f", "#c8461e"]; // from low to high
const [SMALLEST, LARGEST, WITHOUT] = [2.5, 22, 4]; // radii of nodes by a value, the last of those without one
const NAMED = 9; // values with a colour of their own

// The positions in rings by distance from the first node, each node near the one that leads to it.
kbkit.rings = (graph) => {
  const { nodes, groups } = graph.data;
  const next = new Map();
  const add = (parent, id, i) => next.set(parent, [...(next.get(parent) ?? []), [id, i]]);
  nodes.forEach((node, i) => i > 0 && graph.visible[i] && add(node.parent < 0 ? 0 : node.parent, `n${i}`, i));
  groups.forEach((group, g) => graph.visible[group.node] && graph.rest(group) && add(group.node, `g${g}`, -1));
  // The room that a node and those behind it need, in nodes of the first ring: farther rings are longer.
  const wide = (i) => Math.max(1, (2 * (graph.looks.radii[i] ?? 0) + 2) / 16);
  const room = new Map();
  const count = (i, depth) => {
    const behind = (next.get(i) ?? []).reduce((sum, [, j]) => sum + (j < 0 ? 1 / (depth + 1) : count(j, depth + 1)), 0);
    room.set(i, Math.max(behind, depth ? wide(i) / depth : 0) || 1);
    return room.get(i);
  };
  const step = Math.max(120, (count(0, 0) * 16) / (2 * Math.PI));
  const places = new Map([["n0", [0, 0]]]);
  const put = (i, depth, from, width) => {
    let at = from;
    for (const [id, j] of next.get(i) ?? []) {
      const share = (width * (j < 0 ? 1 / depth : room.get(j))) / Math.max(room.get(i), 1e-9);
      const angle = at + share / 2;
      places.set(id, [step * depth * Math.cos(angle), step * depth * Math.sin(angle)]);
      if (j >= 0) put(j, depth + 1, at, share);
      at += share;
    }
  };
  put(0, 1, -Math.PI / 2, 2 * Math.PI);
  return places;
};

// The colours and radii of nodes by the values named `size` and `colour` ("": by type), and what the legend says.
kbkit.looksOf = (data, { size, colour }) => {
  const find = (name) => data.values.find((known) => known.name === name);
  const [large, hue] = [find(size), find(colour)];
  const looks = { colours: [], radii: [], size: null, legend: null };
  if (large) {
    const { low, high } = scaled(large.values);
    // The area is proportional to the value, as a person reads it; values below 0 have no area.
    const share = (value) => (low >= 0 ? value / (high || 1) : (value - low) / (high - low || 1));
    data.nodes.forEach((_, i) => (looks.radii[i] = i in large.values ? Math.max(SMALLEST, LARGEST * Math.sqrt(share(large.values[i]))) : WITHOUT));
    looks.size = { heading: large.heading, low, high, isArea: low >= 0 };
  }
  if (hue?.numbers) {
    // The centre may be far above the nodes around it, a continent above its countries: they would all look alike.
    const around = Object.entries(hue.values).filter(([i]) => data.nodes[i].level > 0);
    const scale = scaled(around.length ? Object.fromEntries(around) : hue.values);
    data.nodes.forEach((_, i) => (looks.colours[i] = i in hue.values ? ramp(scale.at(hue.values[i])) : NONE));
    looks.legend = { heading: hue.heading, low: scale.low, high: scale.high, ramp: RAMP, wide: scale.wide };
  } else if (hue) {
    const counts = new Map();
    Object.values(hue.values).forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
    const named = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, NAMED);
    const colours = new Map(named.map(([value], n) => [value, data.palette[n]]));
    data.nodes.forEach((_, i) => (looks.colours[i] = colours.get(hue.values[i]) ?? NONE));
    const others = data.nodes.length - named.reduce((sum, [, number]) => sum + number, 0);
    looks.legend = { heading: hue.heading, values: named.map(([value, number]) => [value, number, colours.get(value)]) };
    if (others) looks.legend.values.push(["other or none", others, NONE]);
  }
  return looks;
};

// A scale from 0 to 1; logarithmic where the largest value is more than a hundred times the smallest.
function scaled(values) {
  const all = Object.values(values);
  const [low, high] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const wide = low > 0 && high > 100 * low;
  const [from, to] = wide ? [Math.log(low), Math.log(high)] : [low, high];
  return { low, high, wide, at: (value) => (to > from ? Math.min(1, Math.max(0, ((wide ? Math.log(Math.max(value, low)) : value) - from) / (to - from))) : 0.5) };
}

function ramp(share) {
  const at = share * (RAMP.length - 1);
  const [low, part] = [Math.min(Math.floor(at), RAMP.length - 2), at - Math.min(Math.floor(at), RAMP.length - 2)];
  const parts = [1, 3, 5].map((place) => {
    const [a, b] = [RAMP[low], RAMP[low + 1]].map((colour) => parseInt(colour.slice(place, place + 2), 16));
    return Math.round(a + (b - a) * part).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}
