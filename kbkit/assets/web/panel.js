// The page of a node beside a graph. Text of a KB only ever becomes text nodes.
"use strict";
var kbkit = globalThis.kbkit ?? {};

const ADDED = 25; // neighbours that a click on a relation adds
const LISTED = 12; // neighbours of a relation that the panel lists at first

// Return an element with attributes and children; functions are listeners.
kbkit.element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

// Fill `panel` with node `i` of the graph; `go(index)` is called on a click on a neighbour, and `grow(relation, way)`, if
// given, on a click on a relation with neighbours that are not in the graph.
kbkit.showNode = (panel, data, i, go, close, grow) => {
  const { element } = kbkit;
  const node = data.nodes[i];
  const parts = [
    element("button", { class: "close", "aria-label": "Close", click: close }, "\u00d7"),
    element("h2", { dir: "auto" }, node.name),
    element("p", { class: "soft" }, dot(node.colour), `${data.types[node.type].name}  `, element("code", {}, node.key)),
  ];
  if (node.text) parts.push(element("p", { dir: "auto" }, node.text));
  for (const group of relationsOf(data, i)) {
    const relation = data.relations[group.relation];
    const words = relation.heading ?? relation.label;
    const arrow = { 1: "\u2192", "-1": "\u2190", 0: "\u2194" }[group.way];
    const count = group.total > group.nodes.length
      ? `${group.nodes.length.toLocaleString("en")} of ${group.total.toLocaleString("en")}` : `${group.nodes.length}`;
    const heading = element("h3", {}, `${arrow} ${words} `, element("span", { class: "soft" }, count));
    const rest = group.total - group.nodes.length;
    if (grow && rest > 0) {
      const label = `Add ${Math.min(rest, ADDED)}`;
      heading.append(" ", element("button", { class: "small", "aria-label": `${label} by ${words}`, click: () => grow(group.relation, group.way) }, label));
    }
    parts.push(heading);
    parts.push(listed(group.nodes, (j) => neighbour(data, j, go)));
  }
  if (node.command && relationsOf(data, i).some((group) => group.total > group.nodes.length)) {
    parts.push(element("p", { class: "soft" }, "Not all neighbours are in this drawing. To draw them:"));
    parts.push(element("code", { class: "command" }, node.command));
  }
  panel.replaceChildren(...parts);
  panel.hidden = false;
  panel.scrollTop = 0;

  function dot(colour) {
    const made = element("span", { class: "dot" });
    made.style.background = colour;
    return made;
  }

  function neighbour(of, j, open) {
    const other = of.nodes[j];
    return element("li", {}, dot(other.colour), element("button", { class: "link", dir: "auto", click: () => open(j) }, other.name));
  }

  function listed(nodes, item) {
    const list = element("ul", {}, ...nodes.slice(0, LISTED).map(item));
    if (nodes.length > LISTED) {
      const more = element("li", {}, element("button", {
        class: "link",
        click: () => more.replaceWith(...nodes.slice(LISTED).map(item)),
      }, `${nodes.length - LISTED} more`));
      list.append(more);
    }
    return list;
  }
};

// The neighbours of a node in the drawing by relation and direction, and their number in the KB.
function relationsOf(data, i) {
  const groups = new Map();
  const group = (relation, way) => {
    const key = `${relation} ${way}`;
    if (!groups.has(key)) groups.set(key, { relation, way, nodes: [], total: 0 });
    return groups.get(key);
  };
  for (const [relation, way, total] of data.nodes[i].totals) group(relation, way).total = total;
  for (const { s, t, relations } of data.edges) {
    if (s !== i && t !== i) continue;
    for (const [relation, way] of relations) group(relation, s === i ? way : -way || 0).nodes.push(s === i ? t : s);
  }
  return [...groups.values()];
}
