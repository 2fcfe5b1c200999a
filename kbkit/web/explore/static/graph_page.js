// The page of a graph that grows. The server decides what is shown and where clicks lead: every state is an address.
"use strict";
(() => {
  const { element } = kbkit;
  const [panel, legend, find, shown, undo, files, problem, summary] =
    ["panel", "legend", "find", "shown", "undo", "files", "problem", "summary"].map((id) => document.getElementById(id));
  const stage = document.querySelector(".stage");
  const pinned = new Map(); // positions of pinned nodes by key
  let [graph, type, wanted] = [null, null, 0];
  const steps = () => history.state?.steps ?? 0; // the browser keeps it for each address, also after a reload

  // Fetch the graph of the page's address and draw it; the nodes that stay move to their new places.
  async function load(keep) {
    const mine = ++wanted;
    const answer = await fetch(`${stage.dataset.source}${location.search}`).catch(() => null);
    if (mine !== wanted) return;
    problem.hidden = answer?.ok ?? false;
    if (!answer?.ok) {
      summary.textContent = "";
      problem.textContent = answer ? new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".problem")?.textContent : "The server does not answer.";
      return;
    }
    draw(await answer.json(), keep);
  }

  function draw(data, keep) {
    const before = new Map();
    if (graph) {
      graph.dots().forEach((dot) => {
        if (dot.data("i") !== undefined) before.set(graph.data.nodes[dot.data("i")].key, { ...dot.position() });
      });
      graph.cy.destroy();
    }
    const fresh = document.getElementById("graph").cloneNode(false);
    document.getElementById("graph").replaceWith(fresh);
    graph = new kbkit.Graph(fresh, data, { selected: select, full: (group) => go(group.more) });
    data.nodes.forEach(({ key, parent }, i) => {
      const at = pinned.get(key) ?? before.get(key) ?? before.get(data.nodes[parent]?.key);
      if (at) graph.cy.$id(`n${i}`).position({ ...at });
      if (pinned.has(key)) graph.cy.$id(`n${i}`).lock();
    });
    if (before.size) graph.place(true);
    graph.cy.on("dragfree", "node", ({ target }) => pinned.has(data.nodes[target.data("i")]?.key) && pin(target.data("i"), true));
    summary.textContent = data.summary;
    shown.replaceChildren(...data.nodes.map(({ name, key }) => element("option", { value: name }, key)));
    files.replaceChildren(...Object.entries(data.files).map(([kind, href]) => element("a", { href }, kind === "graphml" ? "GraphML" : kind.toUpperCase())));
    showLegend(data);
    const kept = keep ? data.nodes.findIndex(({ key }) => key === keep) : -1;
    if (kept >= 0) graph.choose(kept);
    else panel.hidden = true;
    globalThis.kbkit.drawn = graph;
  }

  function showLegend(data) {
    legend.replaceChildren();
    for (const [number, { name, count, colour }] of data.types.entries()) {
      if (!count) continue;
      const button = element("button", { "aria-pressed": String(type === name), click: () => filter(type === name ? null : name) });
      const dot = element("span", { class: "dot" });
      dot.style.background = colour;
      button.append(dot, `${name} `, element("span", { class: "soft" }, count.toLocaleString("en")));
      legend.append(element("li", {}, button));
      if (type === name) graph.highlight(number);
    }
  }

  function filter(name) {
    type = name;
    graph.choose(null); // a chosen node dims others, too
    graph.highlight(name === null ? null : graph.data.types.findIndex((known) => known.name === name));
    for (const button of legend.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.firstChild.nextSibling.textContent === `${name} `));
  }

  function go(address) {
    if (new URL(address, location).href === location.href) return; // a double click
    const keep = graph.chosen === null ? null : graph.data.nodes[graph.chosen].key;
    history.pushState({ steps: steps() + 1 }, "", address);
    undo.disabled = false;
    load(keep);
  }

  function select(i) {
    if (i === null) {
      panel.hidden = true;
      return;
    }
    const node = graph.data.nodes[i];
    kbkit.showNode(panel, graph.data, i, (j) => graph.choose(j), () => graph.choose(null));
    const actions = element("p", { class: "actions" }, element("a", { class: "button", href: node.page }, "Open page"));
    if (node.toggle) actions.prepend(element("button", { id: "toggle", click: () => go(node.toggle) }, node.opened ? "Collapse" : "Expand"));
    if (node.graph) actions.append(element("a", { class: "button", href: node.graph }, "Centre"));
    const button = element("button", { id: "pin", "aria-pressed": String(pinned.has(node.key)), click: () => {
      pin(i, !pinned.has(node.key));
      button.setAttribute("aria-pressed", String(pinned.has(node.key)));
    } }, "Pin");
    actions.append(button);
    panel.querySelector("h2").after(actions);
  }

  // Keep a node where it is while the graph grows.
  function pin(i, on) {
    const dot = graph.cy.$id(`n${i}`);
    const { key } = graph.data.nodes[i];
    dot.unlock();
    pinned.delete(key);
    if (!on) return;
    pinned.set(key, { ...dot.position() });
    dot.lock();
  }

  addEventListener("popstate", () => {
    undo.disabled = !steps();
    load(graph?.chosen == null ? null : graph.data.nodes[graph.chosen].key);
  });
  undo.disabled = !steps();
  undo.addEventListener("click", () => history.back());
  document.getElementById("fit").addEventListener("click", () => graph.place(true));
  find.addEventListener("change", () => {
    const typed = find.value.trim().toLowerCase();
    const found = typed ? graph.data.nodes.findIndex(({ name }) => name.toLowerCase().startsWith(typed)) : -1;
    if (found >= 0) graph.choose(found);
    find.setCustomValidity(typed && found < 0 ? "No node of this graph has this name." : "");
    find.reportValidity();
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && graph?.choose(null));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph?.restyle());
  load(null);
})();
