// The drawing on the screen as a file: the same places, lines and labels, in the colours of the light theme.
"use strict";
var kbkit = globalThis.kbkit ?? {};

const LIGHT = { ground: "#ffffff", ink: "#1d2733", soft: "#5b6672", line: "#a9b2bc", weak: "#d5dae0", arrow: "#7f8a96" };
const ROOM = 16; // around the drawing

// Return the drawing as SVG. `heading` are its first lines, `legend` entries (colour or nothing, text, dashes of a line or
// nothing), `list` lines below the drawing, and `source` the last line.
kbkit.svg = (graph, { heading, legend, list = [], source }) => {
  const { cy, look, labelled } = graph;
  const [wide, high] = [graph.container.clientWidth, graph.container.clientHeight];
  const shape = (name, attributes, text = "") =>
    `<${name}${Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`).join("")}>${escaped(text)}</${name}>`;
  const dots = new Map();
  const parts = { lines: [], heads: [], dots: [], labels: [] };
  let [left, top, right, bottom] = [wide, high, 0, 0];
  const reach = (x1, y1, x2, y2) => {
    [left, top] = [Math.min(left, Math.max(x1, 0)), Math.min(top, Math.max(y1, 0))];
    [right, bottom] = [Math.max(right, Math.min(x2, wide)), Math.max(bottom, Math.min(y2, high))];
  };
  const seen = (element) => (element.hasClass("faint") ? 0.13 : 1);
  graph.dots().forEach((dot) => {
    const { x, y } = dot.renderedPosition();
    const r = dot.renderedOuterWidth() / 2;
    dots.set(dot.id(), [x, y, r]);
    reach(x - r, y - r, x + r, y + r);
    const group = dot.hasClass("group");
    const centre = dot.hasClass("centre") || dot.hasClass("chosen");
    parts.dots.push(shape("circle", {
      cx: round(x), cy: round(y), r: round(r), opacity: seen(dot), fill: group ? LIGHT.ground : dot.data("colour"),
      stroke: group ? LIGHT.soft : centre ? LIGHT.ink : LIGHT.ground, "stroke-width": centre ? 3 : 1.5, ...(group ? { "stroke-dasharray": "3 3" } : {}),
    }));
  });
  cy.edges().not(".hidden").forEach((edge) => {
    const [a, b] = [dots.get(edge.source().id()), dots.get(edge.target().id())];
    if (!a || !b) return;
    const weak = edge.hasClass("weak");
    const look = { fill: "none", stroke: weak ? LIGHT.weak : LIGHT.line, "stroke-width": weak ? 0.7 : 1.2, opacity: seen(edge) };
    if (a === b) {
      parts.lines.push(shape("circle", { cx: round(a[0] + a[2]), cy: round(a[1] - a[2]), r: 8, ...look }));
      return;
    }
    const control = kbkit.control(a, b, ((edge.data("bend") ?? 0) / 2) * cy.zoom());
    const towards = ([x, y]) => [control[0] - x, control[1] - y].map((way) => way / (Math.hypot(control[0] - x, control[1] - y) || 1));
    const [[ux, uy], [vx, vy]] = [towards(a), towards(b)];
    const [from, to] = [[a[0] + ux * a[2], a[1] + uy * a[2]], [b[0] + vx * b[2], b[1] + vy * b[2]]];
    const dashes = kbkit.DASHES[edge.data("e") === undefined ? 0 : graph.styleOf(edge.data("e"))] ?? [];
    const dashed = dashes.length ? { "stroke-dasharray": dashes.join(" ") } : {};
    parts.lines.push(shape("path", { d: `M${from.map(round)} Q${control.map(round)} ${to.map(round)}`, ...look, ...dashed }));
    if (weak) return;
    for (const [end, tip, dx, dy] of [["on", to, -vx, -vy], ["back", from, -ux, -uy]]) {
      if (edge.data(end) !== "triangle") continue;
      const points = [tip, [tip[0] - 7 * dx - 3 * dy, tip[1] - 7 * dy + 3 * dx], [tip[0] - 7 * dx + 3 * dy, tip[1] - 7 * dy - 3 * dx]];
      parts.heads.push(shape("polygon", { points: points.map((at) => at.map(round).join(",")).join(" "), fill: LIGHT.arrow, opacity: seen(edge) }));
    }
  });
  for (const { rows, box, size, bold, colour, faint, covers } of labelled) {
    reach(...box);
    const opacity = faint ? 0.15 : 1;
    if (covers) parts.labels.push(shape("rect", { x: round(box[0] - 1), y: round(box[1] + 1), width: round(box[2] - box[0] + 2), height: round(box[3] - box[1] - 2), fill: LIGHT.ground, opacity }));
    for (const [text, x, y] of rows) parts.labels.push(shape("text", {
      x: round(x), y: round(y), "font-size": size, "font-weight": bold ? 600 : 400, "dominant-baseline": "central",
      fill: colour === look.ink ? LIGHT.ink : LIGHT.soft, stroke: LIGHT.ground, "stroke-width": 3.5, "stroke-linejoin": "round", "paint-order": "stroke", opacity,
    }, text));
  }
  // Above the drawing its heading and the legend, below it the source; the text may make the picture wider.
  const pen = document.createElement("canvas").getContext("2d");
  const measured = (text, font) => {
    pen.font = `${font} ${look.font}`;
    return pen.measureText(text).width;
  };
  const around = [];
  let [y, wider] = [ROOM, 0];
  const words = (text, size, attributes) => {
    around.push(shape("text", { x: ROOM, y: y + size, "font-size": size, ...attributes }, text));
    wider = Math.max(wider, measured(text, `${attributes["font-weight"] ?? 400} ${size}px`));
    y += size * 1.4;
  };
  heading.forEach((text, i) => words(text, i ? 12 : 16, i ? { fill: LIGHT.soft } : { fill: LIGHT.ink, "font-weight": 600 }));
  let x = ROOM;
  y += 4;
  for (const [colour, text, dashes] of legend) {
    const mark = colour ? 15 : dashes === undefined ? 0 : 36;
    if (colour) around.push(shape("circle", { cx: x + 5, cy: y + 8, r: 5, fill: colour }));
    else if (mark) around.push(shape("path", { d: `M${x} ${y + 8} h30`, stroke: LIGHT.arrow, "stroke-width": 1.4, ...(dashes ? { "stroke-dasharray": dashes } : {}) }));
    around.push(shape("text", { x: x + mark, y: y + 12, "font-size": 12, fill: LIGHT.ink }, text));
    x += measured(text, "12px") + mark + 18;
    wider = Math.max(wider, x - ROOM - 18);
  }
  const above = y + (legend.length ? 24 : 4);
  const below = above + (bottom - top) + ROOM;
  y = below;
  for (const text of list) words(text, 12, { fill: LIGHT.ink });
  const width = Math.max(right - left, wider, measured(source, "10.5px")) + 2 * ROOM;
  const height = y + ROOM + 16;
  around.push(shape("text", { x: ROOM, y: height - ROOM, "font-size": 10.5, fill: LIGHT.soft }, source));
  const shift = `translate(${round((width - (right - left)) / 2 - left)} ${round(above + ROOM / 2 - top)})`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" font-family="${escaped(look.font)}">`,
    shape("title", {}, heading.join(". ")), `<rect width="100%" height="100%" fill="${LIGHT.ground}"/>`, ...around,
    `<g transform="${shift}">`, ...parts.lines, ...parts.heads, ...parts.dots, ...parts.labels, "</g></svg>", "",
  ].join("\n");
};

// Let the browser save the drawing as `name`.svg or `name`.png.
kbkit.savePicture = async (graph, about, name, kind) => {
  const svg = new Blob([kbkit.svg(graph, about)], { type: "image/svg+xml" });
  const blob = kind === "svg" ? svg : await png(svg);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

async function png(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

const round = (value) => Math.round(value * 10) / 10;
const escaped = (value) => String(value).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
