// Grades and decisions by keys. The server saves each one and returns the hit with it; this moves between the hits.
"use strict";
(() => {
  // A file of queries is read into the box, where it can be seen before it is sent.
  document.getElementById("label-lines")?.addEventListener("change", async ({ target }) => {
    const box = document.getElementById("label-many");
    const text = await target.files[0].text();
    box.value = [box.value.trim(), text.trim()].filter(Boolean).join("\n");
    target.value = "";
    box.focus();
  });

  // Saving many queries takes seconds.
  document.addEventListener("submit", ({ submitter }) => submitter?.dataset.busy && (submitter.textContent = submitter.dataset.busy));

  // A form of several buttons: this one needs one of its fields only, whose message a browser shows beside it.
  document.addEventListener("click", (event) => {
    const needed = document.getElementById(event.target.dataset?.needs);
    if (needed && !needed.reportValidity()) event.preventDefault();
  });

  // The links to queries name the annotator who is typed, also before the server knows.
  document.getElementById("label-annotator")?.addEventListener("input", ({ target }) => {
    for (const link of document.querySelectorAll("#queries a")) {
      if (/^\/label\/\d/.test(link.getAttribute("href"))) link.search = new URLSearchParams({ annotator: target.value });
    }
  });

  const hits = () => [...document.querySelectorAll(".grading > .hit")]; // a page may fetch them later
  const done = []; // positions of grades given here, for undo
  const first = () => Math.max(hits().findIndex((hit) => hit.dataset.grade === ""), 0);
  let [current, wanted, noting] = [-1, null, false];

  function go(position) {
    current = Math.min(Math.max(position, 0), hits().length - 1);
    hits()[current]?.focus({ preventScroll: true });
    hits()[current]?.scrollIntoView({ block: "center" });
  }

  // The next hit without a grade, or else the next one; grades that are being saved count.
  function following(position) {
    const open = hits().map((hit, i) => hit.dataset.grade === "" && !done.includes(i) && i !== position);
    const [next, first] = [open.indexOf(true, position + 1), open.indexOf(true)];
    return next >= 0 ? next : first >= 0 ? first : position + 1;
  }

  document.addEventListener("focusin", ({ target }) => {
    const at = hits().indexOf(target.closest(".hit"));
    if (at >= 0) current = at;
  });

  // A graded hit is replaced: the focus goes to the next one, or to where a key wants it.
  document.addEventListener("htmx:beforeRequest", ({ target }) => {
    if (target.closest(".hit") && target.name !== "note") wanted ??= hits().indexOf(target.closest(".hit"));
  });
  document.addEventListener("htmx:sendError", () => (wanted = null));
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.requestConfig.elt.name === "note") return;
    const graded = hits().filter((hit) => hit.dataset.grade).length;
    const progress = document.getElementById("progress");
    if (!progress) return;
    if (current < 0 && document.activeElement === document.body) go(first()); // they were fetched later
    const done = progress.dataset.done ?? "graded"; // or decided
    progress.textContent = graded < hits().length ? `${graded} of ${hits().length} ${done}` : `All ${graded} ${done}${progress.dataset.end ?? ""}`;
    for (const left of document.querySelectorAll("[data-left]")) left.textContent = hits().length - graded;
    const failed = hits().findIndex((hit) => hit.querySelector(".problem"));
    if (wanted === null) return;
    if (failed >= 0) wanted = failed;
    go(wanted);
    wanted = null;
    if (noting) note();
  });

  function note() {
    noting = wanted !== null; // a hit that is being replaced would lose the text
    const field = noting ? null : hits()[current]?.querySelector("[name=note]");
    field?.focus();
    field?.setSelectionRange(field.value.length, field.value.length);
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (!hits().length) return;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select")) {
      if (key === "Escape" && target.closest(".hit")) go(current);
      return;
    }
    const press = (position, name, next) => {
      const button = hits()[position]?.querySelector(`[data-key="${name}"]`);
      if (!button) return;
      button.click();
      wanted = current = next; // at once, for the next key
    };
    const move = (position) => {
      go(position);
      if (wanted !== null) wanted = current; // while a grade is being saved
    };
    if (key === "j" || key === "ArrowDown") move(current + 1);
    else if (key === "k" || key === "ArrowUp") move(current - 1);
    else if (key === "u") {
      const last = done.pop() ?? current;
      press(last, "u", last);
    } else if (hits()[current]?.querySelector(`[data-key="${CSS.escape(key)}"]`)) {
      done.push(current);
      press(current, key, following(current));
    } else if (key === "n") note();
    else if (key === "g" || key === "w") document.getElementById(key === "g" ? "open" : "write")?.click();
    else return;
    event.preventDefault();
  });

  const added = hits().findIndex((hit) => hit.dataset.added);
  if (hits().length) go(added < 0 ? first() : added);
})();
