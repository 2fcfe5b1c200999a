// The page of one drawing: title, legend, graph, and the panel of a node.
"use strict";
(() => {
  const { element } = kbkit;
  const data = JSON.parse(document.getElementById("data").textContent);
  const [panel, legend, find] = ["panel", "legend", "find"].map((id) => document.getElementById(id));
  for (const [number, { name, count, colour }] of data.types.entries()) {
    if (!count) continue;
    const button = element("button", { "aria-pressed": "false", click: () => press(button, number) });
    const dot = element("span", { class: "dot" });
    dot.style.background = colour;
    button.append(dot, `${name} `, element("span", { class: "soft" }, count.toLocaleString("en")));
    legend.append(element("li", {}, button));
  }

  function press(button, type) {
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const other of legend.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(on));
    graph.highlight(on ? type : null);
  }

  const graph = new kbkit.Graph(document.getElementById("graph"), data, {
    selected: (i) => (i === null ? close() : kbkit.showNode(panel, data, i, (j) => graph.choose(j), () => graph.choose(null))),
    full: (group) => graph.choose(group.node),
    styled: true,
  });
  legend.append(...kbkit.styleEntries(graph));

  function close() {
    panel.hidden = true;
  }

  const names = document.getElementById("names");
  names.append(...data.nodes.map(({ name, key }) => element("option", { value: name }, key)));
  find.addEventListener("change", () => {
    const wanted = find.value.trim().toLowerCase();
    const found = wanted ? data.nodes.findIndex(({ name }) => name.toLowerCase().startsWith(wanted)) : -1;
    if (found >= 0) graph.choose(found);
  });

  document.getElementById("fit").addEventListener("click", () => graph.place(true));
  document.getElementById("reset").addEventListener("click", () => {
    for (const button of legend.querySelectorAll("button")) button.setAttribute("aria-pressed", "false");
    graph.reset();
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    graph.restyle();
  });
  dark.addEventListener("change", () => graph.restyle());
  document.addEventListener("keydown", ({ key }) => key === "Escape" && graph.choose(null));
  globalThis.kbkit.drawn = graph;
})();
