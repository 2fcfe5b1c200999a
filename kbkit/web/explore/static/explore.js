// What the pages cannot do without a script: the keys of the lists of names. Everything else is htmx and plain HTML.
"use strict";
(() => {
  const listOf = (input) => document.getElementById(input.getAttribute("aria-controls"));
  const options = (list) => [...list.querySelectorAll("[role=option]:not([aria-disabled])")];
  let typed = false;

  function show(input, on) {
    const list = listOf(input);
    list.hidden = !on || !list.children.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(input, -1);
  }

  function mark(input, position) {
    options(listOf(input)).forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === position));
      if (i === position) option.scrollIntoView({ block: "nearest" });
    });
    const chosen = options(listOf(input))[position];
    if (chosen) input.setAttribute("aria-activedescendant", chosen.id);
    else input.removeAttribute("aria-activedescendant");
  }

  const marked = (input) => options(listOf(input)).findIndex((option) => option.getAttribute("aria-selected") === "true");

  function take(input, option) {
    const chosen = option.querySelector("[data-value]");
    if (input.dataset.names === "go") return chosen.click();
    input.value = chosen.dataset.value;
    return show(input, false);
  }

  // Without this, a page would still show its last result.
  const offline = document.getElementById("offline");
  document.addEventListener("htmx:sendError", () => (offline.hidden = false));
  document.addEventListener("htmx:afterOnLoad", () => (offline.hidden = true));

  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    // Where there is room, a list that folds on a narrow page is open.
    const wide = matchMedia("(min-width: 561px)").matches;
    detail.target?.querySelectorAll("[data-wide]").forEach((fold) => (fold.open = wide));
    const input = document.querySelector(`[data-names][aria-controls="${detail.target?.id}"]`);
    if (!input) return;
    options(detail.target).forEach((option) => (option.id = `${detail.target.id}-${option.id}`));
    detail.target.dataset.text = new URL(detail.xhr.responseURL).searchParams.get(input.name) ?? "";
    show(input, document.activeElement === input && input.value.trim() !== "" && typed);
  });

  document.addEventListener("input", ({ target }) => {
    if (!target.dataset.names) return;
    typed = true;
    if (!target.value.trim()) show(target, false);
  });

  document.addEventListener("submit", () => {
    typed = false;
    document.querySelectorAll("[data-names]").forEach((input) => show(input, false));
  });

  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (key === "/" && !event.ctrlKey && !event.metaKey && !target.closest("input, textarea, select, .editor")) {
      const box = document.querySelector("[data-names], main input");
      if (box) {
        event.preventDefault();
        box.focus();
      }
      return;
    }
    if (key === "Enter" && target.matches("input.note")) { // saves the note, and no button of its form is pressed
      event.preventDefault();
      target.dispatchEvent(new Event("change", { bubbles: true }));
      target.closest(".hit")?.focus();
    }
    if (!target.dataset.names) return;
    const list = listOf(target);
    // The names of an earlier text are shown until those of this one are here: no key takes one of them.
    const count = list.dataset.text === target.value ? options(list).length : 0;
    if (key === "ArrowDown" || key === "ArrowUp") {
      if (!count) return;
      event.preventDefault();
      if (list.hidden) return show(target, true);
      const next = marked(target) + (key === "ArrowDown" ? 1 : -1);
      mark(target, next < -1 ? count - 1 : next >= count ? -1 : next);
    } else if (key === "Enter" && !list.hidden && count && marked(target) >= 0) {
      event.preventDefault();
      take(target, options(list)[marked(target)]);
    } else if (key === "Tab" && !event.shiftKey && target.dataset.names === "fill" && !list.hidden && (count === 1 || marked(target) >= 0)) {
      take(target, options(list)[Math.max(marked(target), 0)]); // and the focus moves on
    } else if (key === "Escape" && !list.hidden) {
      event.preventDefault();
      show(target, false);
    }
  });

  document.addEventListener("click", (event) => {
    const option = event.target.closest(".names [role=option]:not([aria-disabled])");
    if (!option) return;
    const input = document.querySelector(`[aria-controls="${option.parentElement.id}"]`);
    if (input.dataset.names !== "go") {
      event.preventDefault();
      take(input, option);
      input.focus();
    }
  });

  // Another text drops the filters of the one before, unless they were set with it.
  document.addEventListener("formdata", ({ target, formData }) => {
    const before = target.dataset.drops === undefined ? "" : target.elements.q.defaultValue.trim();
    if (!before || before === formData.get("q").trim()) return;
    for (const name of target.dataset.drops.split(" ")) {
      const { options, defaultValue } = target.elements[name];
      const known = options ? ([...options].find((option) => option.defaultSelected) ?? options[0]).value : defaultValue;
      if (formData.get(name) === known) formData.set(name, "");
    }
  });

  // Boxes that are all ticked restrict nothing: the address leaves them out.
  document.addEventListener("formdata", ({ target, formData }) => {
    for (const fold of target.querySelectorAll("[data-all]")) {
      const boxes = [...fold.querySelectorAll("input[type=checkbox]")];
      if (boxes.length && boxes.every((box) => box.checked)) formData.delete(boxes[0].name);
    }
  });
  const counted = (fold) => {
    const boxes = [...fold.querySelectorAll("input[type=checkbox]")];
    const on = boxes.filter((box) => box.checked).length;
    fold.querySelector("[data-count]").textContent = `${on === boxes.length ? "all" : `${on} of ${boxes.length}`}, not applied yet`;
  };
  document.addEventListener("change", ({ target }) => target.closest("[data-all]") && counted(target.closest("[data-all]")));
  document.addEventListener("click", ({ target }) => {
    if (target.dataset?.tick === undefined) return;
    for (const box of target.closest("fieldset").querySelectorAll("input")) box.checked = target.dataset.tick !== "none";
    counted(target.closest("[data-all]"));
  });

  document.addEventListener("change", ({ target }) => {
    const pending = target.form?.querySelector("[data-pending]");
    if (pending && !target.dataset.names) pending.textContent = "not applied yet";
  });

  document.getElementById("cancel")?.addEventListener("click", ({ target }) => {
    htmx.trigger(target.form, "htmx:abort");
    document.getElementById("result").replaceChildren("The query was cancelled.");
  });

  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (target.dataset.names && !relatedTarget?.closest(".names")) setTimeout(() => show(target, false), 150);
  });
})();
