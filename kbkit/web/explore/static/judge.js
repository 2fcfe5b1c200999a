// Answers by keys: a key answers the first open question, or presses the button of that name.
"use strict";
(() => {
  const form = document.querySelector(".judging");
  if (!form) return;
  const boxes = [...form.querySelectorAll("[type=checkbox]")];
  const questions = [...form.querySelectorAll("fieldset")];
  const chosen = (question) => question.querySelector("input:checked, select")?.value || undefined;

  // Questions that other answers make needless are disabled, which hides them.
  function update() {
    for (const question of questions) {
      const [name, value] = (question.dataset.unless ?? "").split(" ");
      const other = questions.find(({ dataset }) => name && dataset.name === name);
      question.disabled = other !== undefined && [undefined, value].includes(chosen(other));
    }
  }

  const open = () => questions.find((question) => !question.disabled && chosen(question) === undefined);

  function move(step) {
    const at = boxes.indexOf(document.activeElement);
    boxes[at < 0 ? 0 : Math.min(Math.max(at + step, 0), boxes.length - 1)]?.focus();
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("select")) return;
    const named = (place, kind) => [...place.querySelectorAll(kind)].find(({ value }) => value === key.toLowerCase());
    const choice = open() && named(open(), "input");
    if (choice) {
      choice.click();
      (open()?.querySelector("input, select") ?? form.querySelector("button")).focus();
    } else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else if (key === "Enter" && target.closest("input")) form.requestSubmit();
    else if (named(form, "[name=instead]")) named(form, "[name=instead]").click();
    else return;
    event.preventDefault();
  });
  form.addEventListener("change", update);
  update();
})();
