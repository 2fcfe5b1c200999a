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

  // Show a type in the panel, also one that the drawing leaves out.
  async function about(address) {
    wanted = address;
    const part = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (wanted !== address) return;
    const close = element("button", { class: "close", type: "button", "aria-label": "Close", click: () => (graph.choose(null), select(null)) }, "\u00d7");
    const content = new DOMParser().parseFromString((await part?.text()) ?? "The server does not answer.", "text/html");
    panel.replaceChildren(close, ...content.body.childNodes);
    panel.hidden = false;
    panel.scrollTop = 0;
  }

  function select(i) {
    if (i !== null) return about(data.nodes[i].about);
    wanted = null;
    panel.hidden = true;
  }

  function choose(name) {
    const found = data.nodes.findIndex(({ type_name: other }) => other === name);
    if (found >= 0) graph.choose(found);
    else about(`/schema/type?name=${encodeURIComponent(name)}`);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-type]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.replaceState(history.state, "", link.href);
    choose(link.dataset.type);
    panel.closest(".drawn").scrollIntoView({ block: "start" });
  });
  const asked = new URLSearchParams(location.search).get("type");
  if (asked) choose(asked);
  document.getElementById("fit").addEventListener("click", () => graph.place(true));
  find.addEventListener("change", () => {
    const typed = find.value.trim().toLowerCase();
    const found = typed ? data.nodes.findIndex(({ type_name: name }) => name.toLowerCase().startsWith(typed)) : -1;
    if (found >= 0) graph.choose(found);
    find.setCustomValidity(typed && found < 0 ? "No type of this drawing has this name." : "");
    find.reportValidity();
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && (graph.choose(null), select(null)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.restyle());
})();
