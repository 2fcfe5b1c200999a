// The editor of queries: CodeMirror in place of the text box, which stays the field of the form.
"use strict";
(() => {
  const box = document.querySelector("textarea[data-editor]");
  if (!box) return;
  const { Decoration, EditorState, EditorView, HighlightStyle, Prec, StateEffect, StateField, StreamLanguage, tags } = kbkit_codemirror;
  const KEYWORDS = new Set(
    `ALL AND ANTI AS ASC ASK AVG BASE BETWEEN BIND BY CASE CONSTRUCT COUNT CROSS DESC DESCRIBE DISTINCT ELSE END EXCEPT
    EXISTS FALSE FILTER FROM FULL GRAPH GROUP HAVING IN INNER INTERSECT IS JOIN LEFT LIKE LIMIT MAX MIN MINUS NOT NULL
    OFFSET ON OPTIONAL OR ORDER OVER PARTITION PREFIX QUALIFY RIGHT SAMPLE SELECT SEMI SERVICE SUM THEN TRUE UNION UNNEST
    USING VALUES WHEN WHERE WITH`.split(/\s+/),
  );

  // One language for SQL, SPARQL and expressions: they share strings, numbers and comments.
  function token(stream) {
    if (stream.eatSpace()) return null;
    const alone = stream.pos === 0 || /\s/.test(stream.string[stream.pos - 1]);
    if (stream.match(alone ? /^(--|#).*/ : /^--.*/)) return "comment";
    if (stream.match(/^"([^"\\]|\\.)*"?|^'([^'\\]|\\.)*'?|^<[^>\s]*>/)) return "string";
    if (stream.match(/^[?$]\w+/)) return "variableName";
    if (stream.match(/^\d+(\.\d+)?([eE][-+]?\d+)?\b/)) return "number";
    if (stream.match(/^[\p{L}_][\p{L}\p{N}_-]*(?=:)/u)) return "typeName";
    const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u);
    if (word) return KEYWORDS.has(word[0].toUpperCase()) ? "keyword" : null;
    stream.next();
    return null;
  }

  const colours = HighlightStyle.define(
    [["comment", tags.comment], ["string", tags.string], ["variable", tags.variableName], ["number", tags.number],
      ["type", tags.typeName], ["keyword", tags.keyword]].map(([name, tag]) => ({ tag, color: `var(--code-${name})` })),
  );
  const theme = EditorView.theme({
    "&": { color: "var(--ink)", backgroundColor: "var(--ground)", minHeight: "6.5em", maxHeight: "60vh" },
    "&.cm-focused": { outline: "2px solid var(--link)" },
    ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5", overflow: "auto" },
    ".cm-content": { caretColor: "var(--ink)", minHeight: "6.5em" },
    ".cm-placeholder": { color: "var(--soft)" },
    "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--edge)", color: "inherit" },
    ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--raised)", border: "1px solid var(--line)" },
    ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--on-main)", background: "var(--main)" },
    ".cm-completionDetail": { color: "var(--soft)", fontStyle: "normal", fontFamily: "system-ui, sans-serif", marginInlineStart: "1.5em" },
    "li[aria-selected] .cm-completionDetail": { color: "inherit" },
    ".wrong": { textDecoration: "underline wavy var(--problem)", textDecorationSkipInk: "none" },
    ".wrong-line": { backgroundColor: "color-mix(in srgb, var(--problem) 12%, transparent)" },
  });

  // The server completes; it counts characters, where scripts count UTF-16 units.
  async function complete(context) {
    const text = context.state.doc.toString();
    const at = [...text.slice(0, context.pos)].length;
    const query = new URLSearchParams({ q: text, at, language: box.form.elements.language.value });
    const answer = await fetch(`/query/complete?${query}`).catch(() => null);
    if (!answer?.ok || context.aborted) return null;
    const found = await answer.json();
    if (!found.length || (!context.explicit && !/[^\s]$/u.test(text.slice(0, context.pos)))) return null;
    const from = [...text].slice(0, found[0].start).join("").length;
    const options = found.filter(({ start }) => start === found[0].start);
    return { from, filter: false, options: options.map(({ text, display, meta }) => (
      { label: text, displayLabel: display, detail: meta, apply: text }
    )) };
  }

  // Chromium gives text that replaces a selection an inline style, which the policy refuses: the editor replaces it.
  function replace(event, view) {
    if (event.inputType !== "insertText" || !event.data || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type" });
    event.preventDefault();
    return true;
  }

  // The place of an error: its line, and the word at its column. Any change of the text removes it.
  const setWrong = StateEffect.define();
  const wrong = StateField.define({
    create: () => Decoration.none,
    update(marks, { effects, docChanged }) {
      const set = effects.find((effect) => effect.is(setWrong));
      return set ? set.value : docChanged ? Decoration.none : marks;
    },
    provide: (field) => EditorView.decorations.from(field),
  });

  // Return the position of a line and a column, which count characters from 1.
  function position(doc, line, column) {
    const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return Math.min(found.from + [...found.text].slice(0, column - 1).join("").length, found.to);
  }

  function mark(line, column) {
    const { doc } = view.state;
    const at = position(doc, line, column);
    const { from, to, text } = doc.lineAt(at);
    const word = text.slice(at - from).match(/^[\p{L}\p{N}_]+|^\S+/u)?.[0].length ?? 0;
    const start = word ? at : Math.max(from, at - 1); // at the end of a line, its last character
    const marks = [Decoration.line({ class: "wrong-line" }).range(from)];
    if (to > from) marks.push(Decoration.mark({ class: "wrong" }).range(start, Math.min(to, at + (word || 1))));
    view.dispatch({ effects: setWrong.of(Decoration.set(marks)) });
  }

  // Put the cursor at a place.
  function go(line, column) {
    const at = position(view.state.doc, line, column);
    view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    view.focus();
  }

  // Insert a name at the cursor, with a space before it where it would touch a word.
  function insert(text) {
    const { from, to } = view.state.selection.main;
    const before = view.state.sliceDoc(Math.max(0, from - 1), from);
    const inserted = `${/[\p{L}\p{N}_"`\]>]/u.test(before) ? " " : ""}${text}`;
    view.dispatch({ changes: { from, to, insert: inserted }, selection: { anchor: from + inserted.length }, userEvent: "input.paste" });
    view.focus();
  }

  const host = document.createElement("div");
  host.className = "editor";
  box.before(host);
  const root = host.attachShadow({ mode: "open" }); // where CodeMirror's styles need no exception in the policy
  const run = () => (box.form.requestSubmit(), true);
  const { autocompletion, bracketMatching, defaultKeymap, history, historyKeymap, keymap, placeholder, syntaxHighlighting } =
    kbkit_codemirror;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: box.value,
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run }, { key: "Tab", run: kbkit_codemirror.acceptCompletion }])),
        autocompletion({ override: [complete], icons: false, activateOnTypingDelay: 150 }),
        history(),
        bracketMatching(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        StreamLanguage.define({ token }),
        syntaxHighlighting(colours),
        theme,
        wrong,
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: replace }),
        placeholder(box.placeholder),
        EditorView.contentAttributes.of({ "aria-label": box.labels[0].textContent, spellcheck: "false" }),
        EditorView.updateListener.of(({ docChanged, state }) => docChanged && (box.value = state.doc.toString())),
      ],
    }),
  });
  box.hidden = true;
  globalThis.kbkit_editor = { mark, go, insert, clear: () => view.dispatch({ effects: setWrong.of(Decoration.none) }) };
  document.addEventListener("submit", () => kbkit_codemirror.closeCompletion(view));
  if (box.autofocus) view.focus();
})();
