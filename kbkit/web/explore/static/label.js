// Grades by keys. The server saves each grade and returns the hit anew; this moves between the hits.
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

  const list = document.querySelector(".grading");
  if (!list) return;
  const hits = () => [...list.children];
  const done = []; // positions of grades given here, for undo
  let leaving = false; // a note is saved because the focus left it
  let [current, wanted, noting] = [Math.max(0, hits().findIndex((hit) => hit.dataset.grade === "")), null, false];

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

  list.addEventListener("focusin", ({ target }) => {
    current = hits().indexOf(target.closest(".hit"));
  });

  // A graded hit is replaced: the focus goes to the next one, or to where a key wants it.
  list.addEventListener("htmx:beforeRequest", ({ target }) => {
    wanted = leaving ? null : hits().indexOf(target.closest(".hit"));
    leaving = false;
  });
  document.addEventListener("htmx:afterSettle", () => {
    const graded = hits().filter((hit) => hit.dataset.grade).length;
    const progress = document.getElementById("progress");
    const done = progress.dataset.done ?? "graded"; // or decided
    progress.textContent = graded < hits().length ? `${graded} of ${hits().length} ${done}` : `All ${graded} ${done}`;
    const failed = hits().findIndex((hit) => hit.querySelector(".problem"));
    if (wanted === null) return;
    if (failed >= 0) wanted = failed;
    go(wanted);
    wanted = null;
    if (noting) note();
  });

  list.addEventListener("focusout", ({ target, relatedTarget }) => {
    const hit = target.closest(".hit");
    if (target.name !== "note" || target.value === target.defaultValue || hit.contains(relatedTarget)) return;
    leaving = true;
    target.form.requestSubmit(target.form.querySelector("button"));
  });

  function note() {
    noting = wanted !== null; // a hit that is being replaced would lose the text
    if (!noting) hits()[current]?.querySelector("[name=note]").focus();
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select")) {
      if (key === "Escape") go(current);
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
    else if (key === "0" || key === "1" || key === "2") {
      done.push(current);
      press(current, key, following(current));
    } else if (key === "u" && done.length) {
      const last = done.pop();
      press(last, "u", last);
    } else if (key === "n") note();
    else if (key === "g" || key === "w") document.getElementById(key === "g" ? "open" : "write")?.click();
    else return;
    event.preventDefault();
  });

  go(current);
})();
