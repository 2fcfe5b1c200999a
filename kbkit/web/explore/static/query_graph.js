// The graph of a result: its nodes, with the edges between them or those of proofs.
"use strict";
globalThis.kbkit_drawGraph = async (place) => {
  const { element } = kbkit;
  const [panel, legend, find, shown, problem, summary] =
    ["panel", "legend", "find", "shown", "problem", "summary"].map((id) => document.getElementById(id));
  const answer = await fetch(place.dataset.graph, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok) {
    summary.textContent = "";
    problem.hidden = false;
    problem.textContent = answer
      ? new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".problem")?.textContent : "The server does not answer.";
    place.classList.add("empty");
    return;
  }
  const data = await answer.json();
  legend.replaceChildren();
  let type = null;
  const graph = new kbkit.Graph(document.getElementById("graph"), data, { selected: select });
  summary.textContent = data.summary;
  shown.replaceChildren(...data.nodes.map(({ name, key }) => element("option", { value: name }, key)));
  for (const [number, { name, count, colour }] of data.types.entries()) {
    if (!count) continue;
    const dot = element("span", { class: "dot" });
    dot.style.background = colour;
    const button = element("button", { type: "button", "aria-pressed": "false", click: () => {
      type = type === number ? null : number;
      graph.choose(null);
      graph.highlight(type);
      for (const other of legend.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && type !== null));
    } });
    button.append(dot, `${name} `, element("span", { class: "soft" }, count.toLocaleString("en")));
    legend.append(element("li", {}, button));
  }
  if (data.nodes.some(({ marked }) => marked)) legend.append(element("li", { class: "soft" }, "\u25ce answers"));
  if (data.more) {
    const more = element("button", { type: "button", class: "small", click: () => {
      place.dataset.graph += `&nodes=${data.more}`;
      graph.cy.destroy();
      fresh();
      summary.textContent = "Loading \u2026";
      globalThis.kbkit_drawGraph(place);
    } }, `Draw ${data.more.toLocaleString("en")}`);
    summary.append(" ", more);
  }
  globalThis.kbkit.drawn = graph;

  // Cytoscape.js leaves styles in its container: another drawing needs another one.
  function fresh() {
    const former = document.getElementById("graph");
    former.replaceWith(element("div", { id: "graph", role: "img", "aria-label": former.getAttribute("aria-label") }));
    panel.hidden = true;
  }

  function select(i) {
    panel.hidden = i === null;
    if (i === null) return;
    kbkit.showNode(panel, data, i, (j) => graph.choose(j), () => graph.choose(null));
    const node = data.nodes[i];
    panel.querySelector("h2").after(element("p", { class: "actions" },
      element("a", { class: "button", href: node.page }, "Open page"), element("a", { class: "button", href: node.graph }, "Graph")));
  }

  document.getElementById("fit").addEventListener("click", () => graph.place(true));
  find.addEventListener("change", () => {
    const typed = find.value.trim().toLowerCase();
    const found = typed ? data.nodes.findIndex(({ name }) => name.toLowerCase().startsWith(typed)) : -1;
    if (found >= 0) graph.choose(found);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.restyle());
};
