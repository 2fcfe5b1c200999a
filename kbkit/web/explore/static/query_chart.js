// The chart of a result: Vega-Lite, run by Vega's interpreter, because the policy of the page forbids eval.
"use strict";
globalThis.kbkit_drawChart = (form) => {
  const FEW = 40; // categories of an axis; others are left out, the largest stay
  const [COLOURS, NAMED, OTHERS] = [10, 9, "other"]; // up to ten values of a colour have their own, of more the nine most frequent
  const place = document.getElementById("chart");
  const note = document.getElementById("chart-note");
  const files = document.querySelector(".chart-files");
  const fields = [...form.elements.x.options].slice(1).map(({ value, text, dataset }) => ({ place: Number(value), name: text, kind: dataset.kind }));
  const ids = /^(id|key|rank|n)$|_id$/;
  let [view, wanted, spec] = [null, 0, null];

  // What is drawn: fields (numbers in `fields`, null for none), mark and total, with a guess where a person chose nothing.
  function settings() {
    const value = (name) => fields[Number(form.elements[name].value || NaN)] ?? null;
    const numbers = fields.filter(({ kind, name }) => kind === "number" && !ids.test(name));
    const date = fields.find(({ kind, name }) => kind === "date" || (kind === "number" && /year/i.test(name)));
    const text = fields.find(({ kind, name }) => kind === "text" && /^(name|.*label|type)$/i.test(name)) ?? fields.find(({ kind }) => kind === "text");
    let [x, y] = [value("x"), value("y")]; // each is chosen or guessed by itself
    const automatic = { x: !x, y: form.elements.y.value === "" };
    if (automatic.y) y = numbers.find((field) => field !== date && field !== x) ?? null;
    x ??= (numbers.length > 1 && !text ? numbers.find((field) => field !== y) : null) ?? (y && date) ?? text ?? numbers.find((field) => field !== y) ?? fields[0];
    if (x === y) y = null;
    const total = form.elements.total.value;
    const isTime = x === date || x.kind === "date";
    const mark = form.elements.mark.value || (x.kind === "text" || y === null ? "bar" : isTime ? "line" : "point");
    return { x, y, colour: value("colour"), mark, total, automatic, log: form.elements.log.value };
  }

  const type = ({ kind }) => ({ number: "quantitative", date: "temporal", text: "nominal" })[kind];

  // Whether each mark is one row, so that it can lead to the node of the row.
  const isRow = ({ y, mark, total }) => y !== null && !total && !["boxplot", "rect", "line", "area"].includes(mark);

  function specification({ x, y, colour, mark, total, log }, named, shades) {
    const field = (axis, name, more = {}) => ({ field: name, type: type(axis), title: axis.name, ...more });
    const year = (axis) => (axis.kind === "number" && /year/i.test(axis.name) ? { axis: { format: "d" } } : {});
    const transform = [];
    const count = { aggregate: "count", title: "rows" };
    const logged = (axis, name) => (axis?.kind === "number" && log.includes(name) ? { scale: { type: "log" }, axis: { gridOpacity: 0.4 } } : {});
    const near = { zero: false, ...(mark === "point" ? { padding: 8 } : {}) }; // values may be far from 0, such as years
    const from = (axis) => (axis.kind !== "text" && ["point", "line"].includes(mark) ? { scale: near } : {});
    const across = field(x, "x", { ...year(x), ...from(x), ...(y !== null ? logged(x, "x") : {}), ...(y === null && x.kind === "number" ? { bin: { maxbins: 30 } } : {}) });
    let along = y === null ? { ...count, ...(log.includes("y") ? { scale: { type: "log" } } : {}) } : field(y, "y", { ...year(y), ...(mark === "point" ? from(y) : {}), ...logged(y, "y") });
    if (y !== null && total) along = { ...along, aggregate: total, title: `${total} of ${y.name}` };
    if (x.kind === "text" && y?.kind !== "text" && !["boxplot", "arc"].includes(mark)) {
      const counted = y === null ? { op: "count", as: "size" } : { op: total || "max", field: "y", as: "size" };
      transform.push(
        { joinaggregate: [counted], groupby: ["x"] },
        { window: [{ op: "dense_rank", as: "place" }], sort: [{ field: "size", order: "descending" }, { field: "x", order: "ascending" }] },
        { filter: `datum.place <= ${FEW}` },
      );
    }
    const shade = colour ? { color: field(colour, "colour", shades ? { ...shades, field: "shade" } : {}) } : {};
    const sort = x.kind === "text" ? { sort: { field: "size", op: "max", order: "descending" } } : {};
    let encoding = { x: { ...across, ...sort }, y: along, ...shade };
    const isRead = x.kind === "text" && (mark === "bar" || (mark === "point" && y?.kind !== "text"));
    if (isRead) encoding = { y: { ...across, ...sort }, x: along, ...shade }; // names are read
    if (mark === "arc") encoding = { theta: along, color: shades ? field(x, "shade", shades) : across };
    if (mark === "rect") {
      const cells = y === null ? shade.color ?? count : colour ? { ...shade.color, aggregate: "mean" } : count;
      encoding = { x: across, y: y === null ? along : field(y, "y"), color: cells };
      if (x.kind === "number") encoding.x = { ...across, bin: { maxbins: 40 } };
      if (y?.kind === "number") encoding.y = { ...encoding.y, bin: { maxbins: 40 } };
    }
    if (named && isRow({ y, mark, total })) {
      const figure = (axis) => (axis.kind === "number" && !/year/i.test(axis.name) && !ids.test(axis.name) ? { format: ",.12~g" } : {});
      const told = [[x, "x"], [y, "y"], [colour, "colour"]].filter(([axis]) => axis && !(axis.kind === "text" && axis.name === "name"));
      encoding.tooltip = [{ field: "name", title: "name", type: "nominal" }, ...told.map(([axis, name]) => field(axis, name, { type: axis.kind === "number" ? "quantitative" : "nominal", ...figure(axis) }))];
    }
    const look = (name) => getComputedStyle(place).getPropertyValue(name).trim();
    const [ink, soft, edge] = ["--ink", "--soft", "--edge"].map(look);
    const narrow = place.parentElement.clientWidth < 600;
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      data: { name: "rows" },
      transform,
      mark: { type: mark, tooltip: true, ...(mark === "point" ? { filled: true, opacity: 0.7 } : {}), ...(mark === "line" ? { point: true } : {}) },
      encoding,
      width: mark === "arc" ? 260 : Math.max(220, Math.min(place.parentElement.clientWidth - (narrow ? 140 : 260), 900)),
      height: isRead ? { step: 18 } : mark === "arc" ? 260 : 340,
      background: "transparent",
      config: {
        font: "system-ui, sans-serif",
        view: { stroke: edge },
        mark: { color: look("--link") },
        axis: { labelColor: ink, titleColor: soft, gridColor: edge, domainColor: soft, tickColor: soft, labelFlush: false, labelLimit: narrow ? 90 : 180, labelFontSize: 12, titleFontSize: 12 },
        axisX: { labelFlush: true }, // the last one would touch the legend
        legend: { labelColor: ink, titleColor: soft, labelLimit: 150 },
        range: { category: { scheme: "tableau10" } },
      },
    };
  }

  // The colours of the values of a field of texts: those of the most frequent ones, the rest has one together.
  function shadesOf(texts) {
    const counts = new Map();
    texts.forEach((text) => counts.set(text, (counts.get(text) ?? 0) + 1));
    const most = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([text]) => text);
    const own = most.slice(0, most.length > COLOURS ? NAMED : COLOURS);
    const known = new Set(own);
    const rest = most.length - own.length;
    const domain = rest ? [...own, OTHERS] : own;
    const range = [...vega.scheme("tableau10").slice(0, own.length), ...(rest ? [getComputedStyle(place).getPropertyValue("--line").trim()] : [])];
    return { rest, values: texts.map((text) => (known.has(text) ? text : OTHERS)), encoding: { scale: { domain, range }, sort: domain } };
  }

  async function draw() {
    const mine = ++wanted;
    if (!fields.length) return void (note.textContent = "The result has no columns.");
    const chosen = settings();
    const used = [chosen.x, chosen.y, chosen.colour].filter(Boolean);
    const address = chosenAt(form.dataset.chart);
    for (const { place: column } of used) address.searchParams.append("column", column);
    const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (mine !== wanted) return;
    if (!answer?.ok) return void (note.textContent = answer ? "The rows cannot be read." : "The server does not answer.");
    const { total, columns, nodes } = await answer.json();
    const of = (field) => columns[used.indexOf(field)];
    // A line through several rows of one year would go up and down in it.
    if (!form.elements.mark.value && chosen.mark === "line" && !chosen.total && !chosen.colour
        && new Set(of(chosen.x)).size < of(chosen.x).length) chosen.mark = "point";
    // Bars of several rows would be stacked to a sum, which the query does not ask for.
    const alone = (i) => JSON.stringify([of(chosen.x)[i], chosen.colour && of(chosen.colour)[i]]);
    const times = new Map();
    of(chosen.x).forEach((_, i) => times.set(alone(i), (times.get(alone(i)) ?? 0) + 1));
    const repeated = [...times].filter(([, number]) => number > 1);
    const sums = ["bar", "arc", "area"].includes(chosen.mark) && chosen.y?.kind === "number" && !chosen.total && chosen.x.kind === "text" && repeated.length > 0;
    if (sums && !form.elements.mark.value) chosen.mark = "point";
    form.elements.x.options[0].text = chosen.automatic.x ? `automatic: ${chosen.x.name}` : "automatic";
    form.elements.y.options[0].text = chosen.automatic.y ? `automatic: ${chosen.y?.name ?? "number of rows"}` : "automatic";
    const hue = chosen.mark === "arc" ? chosen.x : chosen.colour;
    const shades = hue?.kind === "text" ? shadesOf(of(hue).map((text) => text ?? "no value")) : null;
    const every = of(chosen.x).map((x, i) => ({
      x, y: chosen.y && of(chosen.y)[i], colour: chosen.colour && of(chosen.colour)[i],
      ...(shades ? { shade: shades.values[i] } : {}),
      ...(nodes ? { name: nodes[2][i] || nodes[1][i], type: nodes[0][i], key: nodes[1][i] } : {}),
    }));
    const above = (axis, name) => axis?.kind === "number" && chosen.log.includes(name) && !(name === "x" && chosen.y === null);
    const isDrawn = (axis, name, value) => (above(axis, name) ? value > 0 : !axis || axis.kind === "text" || value !== null);
    const rows = every.filter(({ x, y }) => isDrawn(chosen.x, "x", x) && isDrawn(chosen.y, "y", y));
    spec = specification(chosen, Boolean(nodes), shades?.encoding);
    try {
      const warn = { level: () => warn, warn: () => warn, error: () => warn, info: () => warn, debug: () => warn };
      const compiled = vegaLite.compile(spec, { logger: warn }).spec;
      const fresh = new vega.View(vega.parse(compiled, null, { ast: true }), {
        expr: kbkit_interpreter.expressionInterpreter, renderer: "canvas", hover: true, logger: warn,
      }).data("rows", rows);
      fresh.tooltip(tell);
      if (nodes && isRow(chosen)) {
        fresh.addEventListener("click", (_, item) => item?.datum?.key !== undefined && location.assign(nodeAddress(item.datum)));
      }
      await fresh.initialize(place).runAsync();
      view?.finalize();
      view = fresh;
    } catch (error) {
      note.textContent = `These fields cannot be drawn like this: ${error.message}`;
      return;
    }
    files.hidden = false;
    const names = new Set(of(chosen.x)).size;
    const cut = chosen.x.kind === "text" && names > FEW && spec.transform.length ? `; the ${FEW} largest of ${names.toLocaleString("en")} values of ${chosen.x.name} are drawn` : "";
    const more = total > rows.length ? ` of ${total.toLocaleString("en")}` : "";
    const left = every.length - rows.length;
    const lacking = [chosen.x, chosen.y].filter((axis) => axis && axis.kind !== "text").map(({ name }) => name).join(" or ");
    const without = left ? `; ${left.toLocaleString("en")} without ${chosen.log ? "a number above 0" : "a value"} of ${lacking} ${left === 1 ? "is" : "are"} left out` : "";
    const grey = shades?.rest ? `; the ${NAMED} most frequent of ${(NAMED + shades.rest).toLocaleString("en")} values of ${hue.name} have a colour of their own` : "";
    const opens = nodes && isRow(chosen) ? " A click on a mark opens its node." : "";
    const first = sums ? JSON.parse(repeated[0][0])[0] : "";
    const several = !sums ? "" : ` ${first}${repeated.length > 1 ? ` and ${(repeated.length - 1).toLocaleString("en")} more` : ""} ${repeated.length > 1 ? "have" : "has"} several rows: ${chosen.mark === "point" ? "each row is a point, not a bar" : "their values are stacked, as a sum"}. Choose a total to draw one mark for each.`;
    note.textContent = `${rows.length.toLocaleString("en")}${more} rows${cut}${without}${grey}.${several}${opens}`;
    note.classList.toggle("problem", sums);
    const what = chosen.y ? `${chosen.y.name} by ${chosen.x.name}` : `rows by ${chosen.x.name}`;
    place.setAttribute("aria-label", `Chart: ${what}; the table has the same numbers`);
    globalThis.kbkit_chart = { view, spec, rows };
  }

  const nodeAddress = ({ type: kind, key }) => `/node?ref=${encodeURIComponent(`${kind}#${key}`)}`;

  // Say what a mark is where the mouse is. Vega passes the values by name, as text.
  const tip = document.getElementById("chart-tip");
  function tell(_, event, item, value) {
    tip.hidden = !value;
    if (!value) return;
    const lines = typeof value === "object" ? Object.entries(value).map(([name, text]) => `${name}: ${text}`) : [String(value)];
    tip.textContent = lines.join("\n");
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
    const below = event.clientY + 14;
    tip.style.top = `${below + tip.offsetHeight < innerHeight ? below : event.clientY - tip.offsetHeight - 8}px`;
    place.classList.toggle("leads", item?.datum?.key !== undefined && /click/.test(note.textContent));
  }

  // An address with what is chosen in the form.
  function chosenAt(start) {
    const address = new URL(start, location);
    for (const name of ["mark", "x", "y", "colour", "total", "log"]) {
      if (form.elements[name].value) address.searchParams.set(name, form.elements[name].value);
      else address.searchParams.delete(name);
    }
    return address;
  }

  function keep() {
    const address = chosenAt(form.dataset.address);
    history.replaceState({ htmx: true }, ""); // Back loads the chart before
    history.pushState({ htmx: true }, "", address);
  }

  async function save(kind) {
    const named = { ...spec, data: { values: globalThis.kbkit_chart.rows } };
    const href = kind === "json" ? URL.createObjectURL(new Blob([JSON.stringify(named, null, 1)], { type: "application/json" })) : await view.toImageURL(kind, 2);
    const link = Object.assign(document.createElement("a"), { href, download: `${form.dataset.saved}.${kind}` });
    link.click();
  }

  form.addEventListener("change", () => (keep(), draw()));
  form.addEventListener("submit", (event) => event.preventDefault());
  files.addEventListener("click", ({ target }) => target.dataset.save && save(target.dataset.save));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
};
