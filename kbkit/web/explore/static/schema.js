// The drawing of a schema. A click on a type fetches its description from the server.
"use strict";
(async () => {
  const { element } = kbkit;
  const [panel, find, shown, problem, summary] = ["panel", "find", "shown", "problem", "summary"].map((id) => document.getElementById(id));
  const answer = await fetch(document.querySelector("[data-schema]").dataset.schema).catch(() => null);
  if (!answer?.ok) {
    problem.hidden = false;
    problem.textContent = "The server does not answer.";
    return;
  }
  const data = await answer.json();
  const graph = new kbkit.Graph(document.getElementById("graph"), data, { selected: select });
  let wanted = null;
  summary.textContent = data.summary;
  shown.replaceChildren(...data.nodes.map(({ type_name: value }) => element("option", { value })));
  globalThis.kbkit.drawn = graph;

  async function select(i) {
    wanted = i;
    if (i === null) {
      panel.hidden = true;
      return;
    }
    const part = await fetch(data.nodes[i].about, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (wanted !== i) return;
    const close = element("button", { class: "close", type: "button", "aria-label": "Close", click: () => graph.choose(null) }, "\u00d7");
    const content = new DOMParser().parseFromString((await part?.text()) ?? "The server does not answer.", "text/html");
    panel.replaceChildren(close, ...content.body.childNodes);
    panel.hidden = false;
    panel.scrollTop = 0;
  }

  document.getElementById("fit").addEventListener("click", () => graph.place(true));
  find.addEventListener("change", () => {
    const typed = find.value.trim().toLowerCase();
    const found = typed ? data.nodes.findIndex(({ type_name: name }) => name.toLowerCase().startsWith(typed)) : -1;
    if (found >= 0) graph.choose(found);
    find.setCustomValidity(typed && found < 0 ? "No type of this drawing has this name." : "");
    find.reportValidity();
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && graph.choose(null));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.restyle());
})();
