// A graph of the explorer with its tools: one that grows, paths, or the nodes of a result. The server decides what is shown
// and where clicks lead: every state is an address. How the graph looks is in the address, too: layout, size, colour, and
// the types, relations and nodes that are hidden.
"use strict";
kbkit.showGraph = (stage) => {
  const { element } = kbkit;
  const byId = (id) => document.getElementById(id);
  kbkit.left?.abort(); // what an earlier graph of this page listens to
  kbkit.left = new AbortController();
  const { signal } = kbkit.left;
  const [panel, legend, find, shown, undo, files, problem, summary, filters] =
    ["panel", "legend", "find", "shown", "undo", "files", "problem", "summary", "filters"].map(byId);
  const [layout, size, colour, save] = ["layout", "size", "colour", "save"].map(byId);
  const LOOK = ["layout", "size", "colour", "hide", "view"]; // parameters that the server leaves to this script
  const PAGERANK = "*pagerank";
  const MORE = 25; // neighbours by a relation that a click adds
  const PART = { "HX-Request": "true" }; // asks for an error as a message, not as a page
  const pinned = new Map(); // positions of pinned nodes by key
  let [graph, type, wanted] = [null, null, 0];
  const steps = () => history.state?.steps ?? 0; // the browser keeps it for each address, also after a reload
  const asked = () => new URLSearchParams(location.search);
  const source = (...more) => `${stage.dataset.source}?${[asked(), ...more].join("&")}`;

  // Fetch the graph of the page's address and draw it; the nodes that stay move to their new places.
  async function load(keep) {
    const mine = ++wanted;
    const ranked = [asked().get("size"), asked().get("colour")].includes(PAGERANK) ? ["rank=1"] : [];
    const answer = await fetched(source(...ranked));
    if (mine === wanted && answer) draw(answer, keep);
  }

  async function fetched(address) {
    const answer = await fetch(address, { headers: PART }).catch(() => null);
    problem.hidden = answer?.ok ?? false;
    stage.closest(".drawn")?.classList.toggle("empty", !problem.hidden);
    if (answer?.ok) return answer.json();
    summary.textContent = "";
    problem.textContent = answer ? messageOf(await answer.text()) : "The server does not answer.";
    return null;
  }

  const messageOf = (page) => new DOMParser().parseFromString(page, "text/html").querySelector(".problem")?.textContent;

  function draw(data, keep) {
    const before = new Map();
    const first = !graph;
    const former = graph && { styles: graph.styles, spots: new Map() };
    if (graph) {
      if (graph.layout === "force") graph.spots.forEach(([dot, at]) => dot.data("i") !== undefined && former.spots.set(graph.data.nodes[dot.data("i")].key, at));
      graph.dots().forEach((dot) => {
        if (dot.data("i") !== undefined) before.set(graph.data.nodes[dot.data("i")].key, { ...dot.position() });
      });
      graph.cy.destroy();
    }
    const fresh = byId("graph").cloneNode(false);
    byId("graph").replaceWith(fresh);
    graph = new kbkit.Graph(fresh, data, { selected: select, full: (group) => go(group.more), layout: layoutOf(), styled: true, former });
    if (first) restore(data);
    else {
      data.nodes.forEach(({ key, parent }, i) => {
        const at = pinned.get(key) ?? before.get(key) ?? before.get(data.nodes[parent]?.key);
        if (at) graph.cy.$id(`n${i}`).position({ ...at });
        if (pinned.has(key)) graph.cy.$id(`n${i}`).lock().addClass("pinned");
      });
    }
    if (before.size) graph.place(true);
    graph.cy.on("dragfree", "node", ({ target }) => pinned.has(data.nodes[target.data("i")]?.key) && pin(target.data("i"), true));
    shown.replaceChildren(...data.nodes.map(({ name, key }) => element("option", { value: name }, key)));
    files.replaceChildren(
      ...["png", "svg"].map((kind) => element("button", { type: "button", class: "link", click: () => kbkit.savePicture(graph, about(), data.saved_as, kind) }, kind.toUpperCase())),
      element("a", { href: data.graphml }, "GraphML"),
      element("p", { class: "soft", id: "as-shown", hidden: "" }, "The pictures are as on the screen, where what is not chosen is faint."),
    );
    graph.cy.on("resize", tellColumns);
    showControls(data);
    look();
    tellColumns();
    const kept = keep ? data.nodes.findIndex(({ key }) => key === keep) : -1;
    if (kept >= 0) graph.choose(kept);
    else panel.hidden = true;
    globalThis.kbkit.drawn = graph;
  }

  // On the page of paths: where the relations of lines without a name are.
  function tellColumns() {
    const told = byId("columns");
    if (!told) return;
    told.hidden = !graph.columns(graph.lines()).size;
    told.textContent = `The relation ${graph.isTall() ? "beside a row" : "above a column"} is that of its lines without a name; where another name has no room, the list has it.`;
  }

  // What the file of a drawing says around it: the title, what is shown, the legend and the paths of the page, and the KB.
  function about() {
    const entries = [...legend.children].map((entry) => [entry.querySelector(".dot")?.style.background, entry.textContent.trim(), entry.dataset.dashes]);
    const columns = byId("columns");
    const told = columns && !columns.hidden ? `. ${columns.textContent}` : "";
    const said = (path) => [...path.childNodes].filter((part) => !part.matches?.("[class*=button]")).map((part) => part.matches?.(".weight") ? `(${part.textContent})` : part.textContent.trim()).filter(Boolean).join(" ");
    const list = [...document.querySelectorAll(".paths li")].map((path, i) => `${path.parentElement.start + i}. ${said(path)}`);
    return { heading: [graph.data.title, summary.textContent + told], legend: entries, list, source: graph.data.source };
  }

  // Put the nodes of a saved view where they were, if the view has them all; pinned ones stay there.
  function restore(data) {
    const places = data.nodes.map(({ key }) => data.places[key]);
    places.forEach((place, i) => place?.[2] && pinned.set(data.nodes[i].key, { x: place[0], y: place[1] }));
    if (!places.every(Boolean)) return;
    places.forEach(([x, y], i) => graph.cy.$id(`n${i}`).position({ x, y }));
    data.groups.forEach((group, g) => {
      const place = data.places[`+${g}`];
      if (place) graph.cy.$id(`g${g}`).position({ x: place[0], y: place[1] });
    });
    graph.spots = graph.positions();
    graph.place(false);
    data.nodes.forEach(({ key }, i) => {
      if (!pinned.has(key)) return;
      pinned.set(key, { ...graph.cy.$id(`n${i}`).position() });
      graph.cy.$id(`n${i}`).lock().addClass("pinned");
    });
  }

  // -- how the graph looks --------------------------------------------------------------------------------------------

  const layoutOf = () => ({ layered: "layered", rings: kbkit.rings })[asked().get("layout")] ?? "force";

  function showControls(data) {
    const option = (value, text) => element("option", { value }, text);
    const groups = (kinds) => data.values.filter(({ numbers }) => kinds.includes(numbers)).map(({ name, heading }) => option(name, heading));
    size.replaceChildren(option("", "by distance"), ...groups([true]));
    colour.replaceChildren(option("", "type"), ...groups([true, false]));
    for (const [field, name] of [[layout, "layout"], [size, "size"], [colour, "colour"]]) {
      if (field) field.value = asked().get(name) ?? "";
      if (field && field.selectedIndex < 0) field.value = "";
    }
    const hidden = new Set(asked().getAll("hide"));
    const counts = new Map();
    data.edges.forEach(({ relations }) => relations.forEach(([r]) => counts.set(r, (counts.get(r) ?? 0) + 1)));
    const boxes = (title, entries) => element("fieldset", {}, element("legend", {}, title), ...entries.map(([name, text, count]) => {
      const box = element("input", { type: "checkbox", value: name, change: hide });
      box.checked = !hidden.has(name);
      return element("label", {}, box, ` ${text} `, element("span", { class: "soft" }, count.toLocaleString("en")));
    }));
    const single = data.nodes.filter(({ key }) => hidden.has(nodeOf(key)));
    filters.replaceChildren(
      ...(single.length ? [boxes("Hidden nodes", single.map(({ key, name }) => [nodeOf(key), name, ""]))] : []),
      boxes("Types", data.types.filter(({ count }) => count).map(({ name, count }) => [`type:${name}`, name, count])),
      boxes("Relations", [...counts].map(([r, count]) => [`relation:${data.relations[r].key}`, data.relations[r].heading, count])),
    );
  }

  const nodeOf = (key) => `node:${key}`;

  // Hide a node: a step that can be undone.
  function hideNode(i) {
    const { key, level } = graph.data.nodes[i];
    if (level === 0) return;
    const address = `${location.pathname}?${asked()}&${new URLSearchParams({ hide: nodeOf(key) })}`;
    graph.choose(null);
    if (undo) step(address);
    else history.replaceState(history.state, "", address);
    showControls(graph.data);
    look();
  }

  function step(address) {
    history.pushState({ steps: steps() + 1 }, "", address);
    undo.disabled = false;
  }

  // Keep how the graph looks in the address, without a step back.
  function keep(name, values) {
    const now = asked();
    now.delete(name);
    values.filter(Boolean).forEach((value) => now.append(name, value));
    history.replaceState(history.state, "", `${location.pathname}?${now}`);
  }

  function hide() {
    const known = [...filters.querySelectorAll("input")];
    const others = asked().getAll("hide").filter((value) => !known.some((box) => box.value === value)); // of another state
    keep("hide", [...others, ...known.filter((box) => !box.checked).map((box) => box.value)]);
    look();
    if (graph.layout !== "force") graph.arrange(true); // else rings and columns would have gaps
  }

  // Apply the filters, colours and sizes of the address.
  function look() {
    const { data } = graph;
    const hidden = new Set(asked().getAll("hide"));
    const indexes = (list, name) => new Set(list.map((_, i) => i).filter((i) => hidden.has(name(list[i]))));
    graph.filter(
      indexes(data.types, (one) => `type:${one.name}`), indexes(data.relations, (one) => `relation:${one.key}`),
      indexes(data.nodes, (one) => nodeOf(one.key)),
    );
    const looks = kbkit.looksOf(data, { size: size.value, colour: colour.value });
    graph.dress(looks);
    showLegend(data, looks);
    filters.closest("details").querySelector("summary").classList.toggle("on", graph.isFiltered());
    const some = (on, all, name) => `${on.toLocaleString("en")} of ${all.toLocaleString("en")} ${name}`;
    const joined = data.edges.filter(({ s, t }, e) => graph.visible[s] && graph.visible[t] && graph.relationsOf(e).length).length;
    summary.textContent = graph.isFiltered() ? `${some(graph.visible.filter(Boolean).length, data.nodes.length, "nodes")}, ${some(joined, data.edges.length, "edges")}` : data.summary;
    if (data.more) summary.append(" ", element("button", { type: "button", class: "small", click: () => {
      keep("nodes", [data.more]);
      summary.textContent = "Loading \u2026";
      load(null);
    } }, `Draw ${data.more.toLocaleString("en")}`));
  }

  async function choose(field, name) {
    keep(name, [field.value]);
    const known = graph.data.values.find((one) => one.name === PAGERANK);
    if (field.value === PAGERANK && known && !Object.keys(known.values).length) {
      const before = summary.textContent;
      summary.textContent = "Computing PageRank \u2026";
      const answer = await fetched(source("rank=1"));
      if (!answer) return;
      summary.textContent = before;
      graph.data.values = answer.values;
    }
    look();
    if (graph.layout !== "force") graph.arrange(true); // large dots need more room
  }

  function showLegend(data, looks) {
    legend.replaceChildren();
    const dot = (hue) => {
      const made = element("span", { class: "dot" });
      made.style.background = hue;
      return made;
    };
    const span = (low, high) => `${rounded(low)} to ${rounded(high)}`;
    if (looks.size) legend.append(element("li", { class: "soft" }, `Size: ${looks.size.heading}, ${span(looks.size.low, looks.size.high)}${looks.size.isArea ? " (by area)" : ""}`));
    if (looks.legend?.ramp) {
      const bar = element("span", { class: "ramp" });
      bar.style.background = `linear-gradient(90deg, ${looks.legend.ramp.join(", ")})`;
      legend.append(element("li", { class: "soft" }, `Colour: ${looks.legend.heading}, ${rounded(looks.legend.low)} `, bar, ` ${rounded(looks.legend.high)}${looks.legend.wide ? " (logarithmic)" : ""}`));
    } else if (looks.legend) {
      legend.append(element("li", { class: "soft" }, `Colour: ${looks.legend.heading}`));
      for (const [value, count, hue] of looks.legend.values) legend.append(element("li", { class: "soft" }, dot(hue), `${value} ${count.toLocaleString("en")}`));
    }
    const drawn = data.types.map(({ count }, t) => (graph.isFiltered() ? data.nodes.filter((node, i) => node.type === t && graph.visible[i]).length : count));
    for (const [number, { name, colour: hue }] of looks.legend ? [] : data.types.entries()) {
      const count = drawn[number];
      if (!count) continue;
      const button = element("button", { "aria-pressed": String(type === name), click: () => highlight(type === name ? null : name) });
      button.append(dot(hue), `${name} `, element("span", { class: "soft" }, count.toLocaleString("en")));
      legend.append(element("li", {}, button));
      if (type === name) graph.highlight(number);
    }
    if (data.nodes.some(({ marked }) => marked)) legend.append(element("li", { class: "soft" }, "\u25ce answers"));
    legend.append(...kbkit.styleEntries(graph));
    legend.removeAttribute("tabindex");
    if (legend.scrollHeight > legend.clientHeight) legend.tabIndex = 0; // so that keys can scroll it
  }

  const rounded = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3, useGrouping: Math.abs(value) >= 10_000 });

  function highlight(name) {
    type = name;
    graph.choose(null); // a chosen node dims others, too
    graph.highlight(name === null ? null : graph.data.types.findIndex((known) => known.name === name));
    byId("as-shown").hidden = name === null;
    for (const button of legend.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.firstChild.nextSibling.textContent === `${name} `));
  }

  // -- steps ----------------------------------------------------------------------------------------------------------

  function go(address) {
    const url = new URL(address, location);
    for (const name of LOOK) url.searchParams.delete(name);
    for (const name of LOOK) asked().getAll(name).forEach((value) => url.searchParams.append(name, value));
    if (url.search === `?${asked()}`) return; // a double click
    const kept = graph.chosen === null ? null : graph.data.nodes[graph.chosen].key;
    step(url);
    load(kept);
  }

  // The address of the graph with more neighbours of a node by a relation.
  function withMore(key, relation, way) {
    const now = asked();
    const entries = now.getAll("more").map((entry) => JSON.parse(entry));
    const known = entries.find((entry) => entry[0] === key && entry[1] === relation && entry[2] === way);
    if (known) known[3] += MORE;
    else entries.push([key, relation, way, MORE]);
    now.delete("more");
    entries.forEach((entry) => now.append("more", JSON.stringify(entry)));
    return `${location.pathname}?${now}`;
  }

  function select(i) {
    byId("as-shown").hidden = i === null && type === null;
    if (i === null) {
      panel.hidden = true;
      return;
    }
    const { data } = graph;
    const node = data.nodes[i];
    kbkit.showNode(panel, data, i, (j) => graph.choose(j), () => graph.choose(null), layout && ((relation, way) => go(withMore(node.key, data.relations[relation].key, way))));
    const actions = element("p", { class: "actions" }, element("a", { class: "button", href: node.page }, "Open page"));
    if (node.toggle) actions.prepend(element("button", { id: "toggle", click: () => go(node.toggle) }, node.opened ? "Collapse" : "Expand"));
    if (node.graph) actions.append(element("a", { class: "button", href: node.graph }, layout ? "Centre" : "Graph"));
    const button = element("button", { id: "pin", click: () => {
      pin(i, !pinned.has(node.key));
      button.textContent = pinned.has(node.key) ? "Unpin" : "Pin";
    } }, pinned.has(node.key) ? "Unpin" : "Pin");
    actions.append(button);
    if (node.level > 0) actions.append(element("button", { title: "Delete", click: () => hideNode(i) }, "Hide"));
    panel.querySelector("h2").after(actions);
    const values = data.values.filter((one) => i in one.values && !one.name.startsWith("*"));
    if (values.length) {
      panel.querySelector("p.soft").after(element("dl", {}, ...values.flatMap(({ heading, values: of, numbers }) =>
        [element("dt", {}, heading), element("dd", {}, numbers ? of[i].toLocaleString("en", { useGrouping: Math.abs(of[i]) >= 10_000 }) : of[i])])));
    }
  }

  // Keep a node where it is while the graph grows.
  function pin(i, on) {
    const dot = graph.cy.$id(`n${i}`);
    const { key } = graph.data.nodes[i];
    dot.unlock().toggleClass("pinned", on);
    pinned.delete(key);
    if (!on) return;
    pinned.set(key, { ...dot.position() });
    dot.lock();
  }

  save?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const places = {};
    graph.cy.nodes().forEach((dot) => {
      const { x, y } = dot.position();
      const key = dot.data("i") === undefined ? `+${dot.data("g")}` : graph.data.nodes[dot.data("i")].key;
      places[key] = [Math.round(x), Math.round(y), pinned.has(key) ? 1 : 0];
    });
    const name = byId("view").value;
    const body = new URLSearchParams({ name, address: location.search, places: JSON.stringify(places) });
    const answer = await fetch("/graph/views", { method: "POST", body, headers: PART }).catch(() => null);
    byId("saved").textContent = answer?.ok ? "Saved. The view is on the page Graph." : messageOf((await answer?.text()) ?? "") ?? "Not saved.";
    if (answer?.ok) history.replaceState(history.state, "", (await answer.json()).address);
  });
  layout?.addEventListener("change", () => {
    keep("layout", [layout.value]);
    graph.layout = layoutOf();
    graph.arrange(true);
  });
  size.addEventListener("change", () => choose(size, "size"));
  colour.addEventListener("change", () => choose(colour, "colour"));
  if (undo) {
    addEventListener("popstate", () => {
      undo.disabled = !steps();
      load(graph?.chosen == null ? null : graph.data.nodes[graph.chosen].key);
    }, { signal });
    undo.disabled = !steps();
    undo.addEventListener("click", () => history.back());
  }
  byId("fit").addEventListener("click", () => {
    if (graph.isFiltered()) graph.arrange(true);
    else graph.place(true);
  });
  find.addEventListener("change", () => {
    const typed = find.value.trim().toLowerCase();
    const found = typed ? graph.data.nodes.findIndex(({ name }) => name.toLowerCase().startsWith(typed)) : -1;
    if (found >= 0) graph.choose(found);
    find.setCustomValidity(typed && found < 0 ? "No node of this graph has this name." : "");
    find.reportValidity();
  });
  document.addEventListener("keydown", ({ key, target }) => {
    const open = document.querySelectorAll("details.menu[open]");
    if (key === "Delete" && graph?.chosen != null && !target.closest("input, select, textarea, .editor")) hideNode(graph.chosen);
    if (key !== "Escape") return;
    if (open.length) open.forEach((menu) => {
      menu.open = false;
      if (menu.contains(target)) menu.firstElementChild.focus();
    });
    else graph?.choose(null);
  }, { signal });
  document.addEventListener("click", ({ target }) => {
    document.querySelectorAll("details.menu[open]").forEach((menu) => menu.contains(target) || (menu.open = false));
  }, { signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph?.restyle(), { signal });
  load(null);
};
{
  const stage = document.querySelector("[data-source]");
  if (stage && !stage.closest("#result")) kbkit.showGraph(stage); // a result's is shown when it is swapped in
}
