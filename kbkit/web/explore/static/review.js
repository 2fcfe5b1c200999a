// The drawing of a review, which is fetched again after each correction. A click on a type leads to its table.
"use strict";
(() => {
  const summary = document.getElementById("summary");
  let [graph, wanted] = [null, 0];

  async function load() {
    const mine = ++wanted;
    const answer = await fetch(document.querySelector("[data-review]").dataset.review).catch(() => null);
    if (mine !== wanted) return;
    if (!answer?.ok) return void (summary.textContent = "The server does not answer.");
    const data = await answer.json();
    graph?.cy.destroy();
    const former = document.getElementById("graph"); // with styles of its own, which a copy may not have
    const fresh = kbkit.element("div", { id: "graph", role: "img", "aria-label": former.getAttribute("aria-label") });
    former.replaceWith(fresh);
    graph = new kbkit.Graph(fresh, data, { selected: (i) => i !== null && show(data.types[data.nodes[i].type].name) });
    summary.textContent = `${data.summary}. A click on a type leads to its table.`;
    globalThis.kbkit.drawn = graph;
  }

  function show(type) {
    const table = [...document.querySelectorAll(".reviewed")].find((section) => section.dataset.type === type);
    table?.scrollIntoView({ block: "start" });
    table?.focus({ preventScroll: true });
  }

  document.addEventListener("htmx:afterSettle", ({ detail }) => detail.target?.id === "review" && load());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph?.restyle());
  load();
})();
