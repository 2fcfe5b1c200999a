// The side pane, the place of errors, and the scripts of drawings, which are fetched when one is asked for.
"use strict";
(() => {
  const result = document.getElementById("result");
  const form = document.querySelector("form.query");
  const fetched = new Map();

  // Fetch scripts, once and in order.
  function load(names) {
    if (!fetched.has(names)) {
      const scripts = names.split(" ").map((src) => new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.async = false;
        Object.assign(script, { src, onload: resolve, onerror: () => reject(new Error("The server does not answer.")) });
        document.head.append(script);
      }));
      fetched.set(names, Promise.all(scripts));
    }
    return fetched.get(names);
  }

  // The language in which the text of the box continues.
  function language() {
    const chosen = form.elements.language.value;
    if (chosen) return chosen;
    const text = form.elements.q.value;
    if (/^\s*(prefix\b|ask\s*\{|construct\b)|[?]\w|\{/i.test(text)) return "sparql";
    return /^\s*(select|from|with|describe|summarize)\b/i.test(text) ? "sql" : "answers";
  }

  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".insert");
    if (button) globalThis.kbkit_editor?.insert(button.dataset[language()] || button.dataset.answers || button.dataset.sql);
    const field = document.getElementById(target.dataset.focus);
    if (field) {
      for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      field.scrollIntoView({ block: "center" });
      field.focus();
    }
    if (target.id === "to-error") {
      const { line, column } = result.querySelector("[data-line]").dataset;
      globalThis.kbkit_editor?.go(Number(line), Number(column));
    }
  });

  function drawn() {
    const problem = result.querySelector("[data-line]");
    if (problem) globalThis.kbkit_editor?.mark(Number(problem.dataset.line), Number(problem.dataset.column));
    else globalThis.kbkit_editor?.clear();
    const drawings = [["[data-chart]", "charts", (place) => kbkit_drawChart(place)], ["[data-source]", "graphs", (place) => kbkit.showGraph(place)]];
    for (const [selector, scripts, draw] of drawings) {
      const place = result.querySelector(selector);
      if (place) {
        load(result.dataset[scripts].trim()).then(() => draw(place), (error) => {
          (document.getElementById("chart-note") ?? document.getElementById("summary")).textContent = error.message;
        });
      }
    }
  }

  document.addEventListener("htmx:afterSettle", ({ detail }) => detail.target === result && drawn());
})();
