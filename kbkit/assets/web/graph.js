// A graph of a KB on a page: Cytoscape.js with the layout fcose. The data are those of kbkit/display/drawing/page.py.
"use strict";
var kbkit = globalThis.kbkit ?? {};

const RADII = [14, 7.5, 6]; // of dots, by importance
const STEP = 25; // neighbours that a click on "+N more" adds
const MARGIN = 46; // room around the outermost dots, for their labels
const FEW = 40; // lines up to which relations are always labelled
const SHARES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.8, 0.2, 0.45, 0.55, 0.35, 0.65, 0.25, 0.75, 0.15, 0.85, 0.1, 0.9]; // places of a relation's label on its line, the first free one is taken
const ALIKE = 5; // lines of the same relation that are labelled
const APART = 7; // pixels between a label's middle and the lines of others
const SAME = 4; // lines of a relation between two columns from which it is named once, above them
const ONLY = 2; // the same, if they have no other relation
const AVOIDED = 150; // lines up to which names of nodes are placed off them
const HEAD = 3; // lines that a name had better hide than an arrowhead

// Draw `data` in `container`. `selected(index or null)` is called on a click on a node or on the background, `full(group)`
// on a "+N more" whose nodes the page does not have. `layout` is force, layered, or a function that returns the
// positions of the visible nodes, [x, y] by index. `styled`: the lines of each relation have a style of their own.
// `former` are the styles of lines and the positions of nodes (spots, by key) of a drawing that this one follows.
kbkit.Graph = class {
  constructor(container, data, { selected = () => {}, full = () => {}, layout = "force", styled = false, former = null } = {}) {
    Object.assign(this, { container, data, selected, full, over: null, chosen: null, type: null, line: null });
    this.layout = data.layered ? "layered" : layout;
    this.styles = styled && !data.layered ? kbkit.lineStyles(data, former?.styles) : []; // of paths, the columns have the names
    this.former = former?.spots ?? new Map(); // positions by key
    this.hidden = { types: new Set(), relations: new Set(), nodes: new Set() }; // by index
    this.looks = { colours: [], radii: [] }; // by index of the node, where they differ from those of its type
    this.folded = new Set(data.groups.flatMap((group) => group.hidden));
    this.near = data.nodes.map(() => new Set());
    for (const { s, t } of data.edges) {
      this.near[s].add(t);
      this.near[t].add(s);
    }
    this.cy = cytoscape({
      container, elements: this.elements(), minZoom: 0.2, maxZoom: 8, boxSelectionEnabled: false,
      autounselectify: true, layout: { name: "preset" },
    });
    this.canvas = document.createElement("canvas");
    this.canvas.className = "labels";
    container.append(this.canvas);
    this.restyle();
    this.listen();
    this.show();
    this.arrange(false);
  }

  elements() {
    const { nodes, edges, groups } = this.data;
    return [
      ...nodes.map((node, i) => ({
        data: { id: `n${i}`, i, colour: this.looks.colours[i] ?? node.colour, r: 2 * (this.looks.radii[i] ?? RADII[node.level]) },
        classes: node.level === 0 || node.marked ? "centre" : "",
      })),
      ...groups.map((group, g) => ({ data: { id: `g${g}`, g, r: 16 }, classes: "group" })),
      ...groups.map((group, g) => ({ data: { id: `l${g}`, source: `n${group.node}`, target: `g${g}` }, classes: "tie" })),
      ...edges.map(({ s, t, relations }, e) => ({
        data: {
          id: `e${e}`, e, source: `n${s}`, target: `n${t}`,
          on: relations.some(([, way]) => way > 0) ? "triangle" : "none",
          back: relations.some(([, way]) => way < 0) ? "triangle" : "none",
        },
        classes: s === t ? "loop" : "",
      })),
    ];
  }

  // The style of a line: that of its most frequent relation that is shown (-1: the lines have no styles).
  styleOf(e) {
    const own = this.relationsOf(e).map(([relation]) => this.styles.findIndex(({ relations }) => relations.includes(relation)));
    return own.length ? Math.min(...own) : -1;
  }

  // Read the colours of the page's theme.
  restyle() {
    const look = getComputedStyle(this.container);
    const colour = (name) => look.getPropertyValue(name).trim();
    this.look = { ink: colour("--ink"), soft: colour("--soft"), ground: colour("--ground"), font: look.fontFamily };
    this.cy.style([
      { selector: "node", style: { width: "data(r)", height: "data(r)", "background-color": "data(colour)", "border-width": 1.5, "border-color": this.look.ground, "overlay-opacity": 0 } },
      { selector: ".centre, .chosen", style: { "border-width": 3, "border-color": this.look.ink } },
      { selector: ".pinned", style: { "border-width": 3, "border-style": "double", "border-color": this.look.ink } },
      { selector: ".group", style: { "background-color": this.look.ground, "border-width": 1.5, "border-style": "dashed", "border-color": this.look.soft } },
      { selector: "edge", style: { width: 1.2, "line-color": colour("--line"), "curve-style": "straight", "target-arrow-shape": "data(on)", "source-arrow-shape": "data(back)", "target-arrow-color": colour("--arrow"), "source-arrow-color": colour("--arrow"), "arrow-scale": 0.7, "overlay-opacity": 0 } },
      ...kbkit.DASHES.flatMap((dashes, n) => (n ? [{ selector: `.style${n}`, style: { "line-style": "dashed", "line-dash-pattern": dashes } }] : [])),
      { selector: ".tie", style: { width: 0.7, "line-color": colour("--weak"), "target-arrow-shape": "none", "source-arrow-shape": "none" } },
      { selector: ".bent", style: { "curve-style": "unbundled-bezier", "control-point-distances": "data(bend)", "control-point-weights": 0.5, "edge-distances": "node-position" } },
      { selector: ".loop", style: { "curve-style": "bezier" } },
      { selector: ".weak", style: { width: 0.7, "line-color": colour("--weak"), "target-arrow-shape": "none", "source-arrow-shape": "none" } },
      { selector: ".strong", style: { width: 1.8, "line-color": colour("--arrow"), "target-arrow-shape": "data(on)", "source-arrow-shape": "data(back)" } },
      { selector: ".faint", style: { opacity: 0.13 } },
      { selector: ".hidden", style: { display: "none" } },
    ]).update();
  }

  listen() {
    const { cy } = this;
    cy.on("tap", "node", ({ target }) => {
      if (target.hasClass("group")) this.unfold(target.data("g"));
      else this.choose(target.data("i"));
    });
    cy.on("tap", ({ target }) => target === cy && this.choose(null));
    cy.on("mouseover", "node", ({ target }) => this.hover(target.data("i") ?? null));
    cy.on("mouseout", "node", () => this.hover(null));
    cy.on("mouseover mouseout", "edge", ({ type, target }) => {
      this.line = type === "mouseover" ? target.data("e") ?? null : null;
      this.label();
    });
    cy.on("dragfree", "node", () => {
      this.spots = this.positions();
      this.bend(this.spots);
    });
    cy.on("render pan zoom resize", () => this.label());
    let size = `${this.container.clientWidth} ${this.container.clientHeight}`;
    new ResizeObserver(() => {
      const now = `${this.container.clientWidth} ${this.container.clientHeight}`;
      if (now !== size && this.container.clientWidth) {
        cy.resize();
        const { x, y } = cy.pan();
        if (cy.zoom() === 1 && !x && !y) this.place(false); // else keep what the person looks at
      }
      size = now;
    }).observe(this.container);
  }

  // -- what is shown --------------------------------------------------------------------------------------------------

  isShown(i) {
    return this.visible[i];
  }

  // The relations of a line that are not filtered out.
  relationsOf(e) {
    return this.data.edges[e].relations.filter(([relation]) => !this.hidden.relations.has(relation));
  }

  // Hide types, relations and single nodes (sets of indexes), and the nodes that this leaves without a line.
  filter(types, relations, single = new Set()) {
    this.hidden = { types, relations, nodes: single };
    this.show();
    this.bend(this.positions());
    this.attend();
  }

  // Draw nodes with other colours and radii (lists by index, with gaps).
  dress(looks) {
    this.looks = looks;
    this.cy.batch(() => this.data.nodes.forEach((node, i) => {
      this.cy.$id(`n${i}`).data({ colour: looks.colours[i] ?? node.colour, r: 2 * (looks.radii[i] ?? RADII[node.level]) });
    }));
    this.label();
  }

  // Show the nodes that are neither folded nor filtered out; a node is shown with its parent only.
  show() {
    const { nodes, groups, edges } = this.data;
    this.visible = [];
    nodes.forEach((node, i) => {
      this.visible.push(node.parent < 0 || (this.visible[node.parent] && !this.folded.has(i)));
    });
    if (this.isFiltered()) {
      const { types, nodes: single } = this.hidden;
      const kept = this.visible.map((on, i) => on && (nodes[i].level === 0 || (!types.has(nodes[i].type) && !single.has(i))));
      const held = new Set(nodes.map((_, i) => i).filter((i) => nodes[i].level === 0 || !this.near[i].size));
      edges.forEach(({ s, t }, e) => kept[s] && kept[t] && this.relationsOf(e).length && held.add(s).add(t));
      this.visible = kept.map((on, i) => on && held.has(i));
    }
    this.cy.batch(() => {
      nodes.forEach((_, i) => this.cy.$id(`n${i}`).toggleClass("hidden", !this.visible[i]));
      groups.forEach((group, g) => {
        this.cy.$id(`g${g}`).toggleClass("hidden", !this.visible[group.node] || !this.rest(group));
      });
      const lines = this.lines();
      const many = lines.length > 60;
      lines.forEach((line) => {
        const { s, t } = this.data.edges[line.data("e")];
        line.toggleClass("weak", many && s !== 0 && t !== 0);
        line.toggleClass("hidden", !this.relationsOf(line.data("e")).length);
        const style = this.styleOf(line.data("e"));
        kbkit.DASHES.forEach((_, n) => line.toggleClass(`style${n}`, n === style));
      });
    });
  }

  isFiltered() {
    return Object.values(this.hidden).some((one) => one.size);
  }

  // The nodes that are shown; Cytoscape.js learns only later that those of a class are visible.
  dots() {
    return this.cy.nodes().not(".hidden");
  }

  lines() {
    const dots = this.dots();
    return dots.edgesWith(dots).filter((edge) => edge.data("e") !== undefined);
  }

  // Number of nodes behind a "+N more", in the page or not.
  rest(group) {
    return group.hidden.filter((i) => this.folded.has(i)).length + group.missing;
  }

  unfold(g) {
    const group = this.data.groups[g];
    const next = group.hidden.filter((i) => this.folded.has(i)).slice(0, STEP);
    if (!next.length) return this.full(group);
    const at = this.cy.$id(`g${g}`).position();
    next.forEach((i) => {
      this.folded.delete(i);
      this.cy.$id(`n${i}`).position({ ...at });
    });
    this.show();
    return this.arrange(true);
  }

  // Show a node that is folded.
  reveal(i) {
    let found = false; // a node may also be filtered out, and stays so
    for (let at = i; at >= 0; at = this.data.nodes[at].parent) found = this.folded.delete(at) || found;
    if (this.visible[i] || !found) return;
    this.show();
    this.arrange(true);
  }

  reset() {
    this.folded = new Set(this.data.groups.flatMap((group) => group.hidden));
    this.highlight(null);
    this.choose(null);
    this.show();
    this.arrange(false);
  }

  // -- positions ------------------------------------------------------------------------------------------------------

  // Compute the positions and fit them to the page.
  arrange(animate) {
    const dots = this.dots();
    const shown = dots.union(dots.edgesWith(dots));
    const before = this.positions();
    if (this.layout === "layered") this.layers();
    else if (typeof this.layout === "function") {
      this.layout(this).forEach(([x, y], id) => this.cy.$id(id).position({ x, y }));
    } else {
      const random = Math.random; // the same graph gives the same picture
      Math.random = seeded(7);
      const starts = this.start();
      shown.layout({
        name: "fcose", quality: "default", randomize: !starts, animate: false, fit: false, packComponents: true,
        nodeSeparation: 90, idealEdgeLength: 90, nodeRepulsion: 9000, gravity: 0.3, numIter: 2500,
        nodeDimensionsIncludeLabels: false, tilingPaddingVertical: 24, tilingPaddingHorizontal: 130, // names of nodes without lines
      }).run();
      Math.random = random;
    }
    this.spots = this.positions();
    if (animate) before.forEach(([node, at]) => node.position(at));
    this.place(animate);
  }

  // Put the nodes where the drawing before had them, and new ones beside their neighbours; false if it had none.
  start() {
    const { nodes, groups } = this.data;
    const place = (i) => this.former.get(nodes[i].key);
    if (!nodes.some((_, i) => this.visible[i] && place(i))) return false;
    nodes.forEach((_, i) => {
      const { x, y } = place(i) ?? [...this.near[i]].map(place).find(Boolean) ?? { x: 0, y: 0 };
      const aside = place(i) ? 0 : 60;
      this.cy.$id(`n${i}`).position({ x: x + aside * (Math.random() - 0.5), y: y + aside * (Math.random() - 0.5) });
    });
    groups.forEach((group, g) => this.cy.$id(`g${g}`).position({ ...this.cy.$id(`n${group.node}`).position() }));
    return true;
  }

  isTall() {
    return this.container.clientWidth < this.container.clientHeight;
  }

  positions() {
    return this.dots().map((node) => [node, { ...node.position() }]);
  }

  // Place the nodes of paths in columns by their distance from the start, or in rows on a narrow page.
  layers() {
    this.tall = this.isTall();
    const columns = new Map();
    const add = (hop, id) => columns.set(hop, [...(columns.get(hop) ?? []), id]);
    this.data.nodes.forEach(({ hop }, i) => this.visible[i] && add(hop, `n${i}`));
    this.data.groups.forEach((group, g) => this.visible[group.node] && this.rest(group) && add(this.data.nodes[group.node].hop + 1, `g${g}`));
    for (const [hop, column] of columns) {
      const room = (id) => 60 * Math.max(1, this.cy.$id(id).data("r") / 20); // large dots need more
      const places = [0];
      column.slice(1).forEach((id, i) => places.push(places[i] + (room(column[i]) + room(id)) / 2));
      column.forEach((id, place) => {
        const across = places[place] - places.at(-1) / 2;
        this.cy.$id(id).position(this.tall ? { x: across, y: hop * 160 } : { x: hop * 160, y: across });
      });
    }
  }

  // Scale the positions to the container; width and height are scaled alike within limits.
  place(animate) {
    if (this.layout === "layered" && this.isTall() !== this.tall) {
      this.layers();
      this.spots = this.positions();
    }
    const [wide, high] = [this.container.clientWidth, this.container.clientHeight];
    const xs = this.spots.map(([, at]) => at.x);
    const ys = this.spots.map(([, at]) => at.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const margin = Math.min(MARGIN + (wide > 700 ? 50 : 0), wide / 6);
    let kx = (wide - 2 * margin) / Math.max(right - left, 1);
    let ky = (high - 2 * MARGIN) / Math.max(bottom - top, 1);
    const most = this.layout === "layered" ? 8 : typeof this.layout === "function" ? 1.5 : 2.2;
    [kx, ky] = [Math.min(kx, most * ky, 3), Math.min(ky, most * kx, 3)];
    this.cy.stop();
    this.cy.viewport({ zoom: 1, pan: { x: 0, y: 0 } });
    const places = this.spots.map(([node, at]) => {
      const position = { x: wide / 2 + (at.x - (left + right) / 2) * kx, y: high / 2 + (at.y - (top + bottom) / 2) * ky };
      if (animate && !still()) node.animate({ position }, { duration: 350 });
      else node.position(position);
      return [node, position];
    });
    this.bend(places);
  }

  // Bend lines that would pass through a dot at these places.
  bend(places) {
    const lines = this.lines();
    const dots = new Map(places.map(([node, { x, y }]) => [node.id(), [x, y, node.outerWidth() / 2]]));
    const own = lines.filter((line) => dots.has(line.source().id()) && dots.has(line.target().id()));
    const found = own.length <= AVOIDED ? kbkit.bends(dots, own.map((line) => [line.source().id(), line.target().id()])) : [];
    this.cy.batch(() => own.forEach((line, i) => line.data("bend", 2 * (found[i] ?? 0)).toggleClass("bent", Boolean(found[i]))));
  }

  // -- attention ------------------------------------------------------------------------------------------------------

  hover(i) {
    this.over = i;
    this.attend();
  }

  choose(i) {
    this.cy.nodes().removeClass("chosen");
    this.chosen = i;
    if (i !== null) {
      this.reveal(i);
      this.cy.$id(`n${i}`).addClass("chosen");
    }
    this.attend();
    this.selected(i);
  }

  highlight(type) {
    this.type = type;
    this.attend();
  }

  // Dim what is not near the node in focus, or not of the type in focus.
  attend() {
    const focus = this.over ?? this.chosen;
    this.isFaint = (i) =>
      focus !== null ? i !== focus && !this.near[focus].has(i)
      : this.type !== null && this.data.nodes[i].type !== this.type;
    this.cy.batch(() => {
      this.data.nodes.forEach((_, i) => this.cy.$id(`n${i}`).toggleClass("faint", this.isFaint(i)));
      this.data.groups.forEach((group, g) => {
        const faint = this.isFaint(group.node) || (focus !== null && group.node !== focus);
        this.cy.$id(`g${g}`).toggleClass("faint", faint);
        this.cy.$id(`l${g}`).toggleClass("faint", faint);
      });
      this.data.edges.forEach(({ s, t }, e) => {
        const beside = focus !== null && (s === focus || t === focus);
        const faint = focus !== null ? !beside : this.type !== null && (this.isFaint(s) || this.isFaint(t));
        this.cy.$id(`e${e}`).toggleClass("faint", faint).toggleClass("strong", beside);
      });
    });
    this.label();
  }

  // -- labels ---------------------------------------------------------------------------------------------------------

  label() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.drawLabels();
    });
  }

  drawLabels() {
    const { data, cy, look } = this;
    const focus = this.over ?? this.chosen;
    const narrow = this.container.clientWidth < 500;
    const spots = new Map();
    const dots = [];
    this.dots().forEach((node) => {
      const { x, y } = node.renderedPosition();
      const r = node.renderedOuterWidth() / 2;
      spots.set(node.id(), [x, y, r]);
      dots.push([x, y, r]);
    });
    const rank = (i) => (data.nodes[i].level === 0 || data.nodes[i].marked ? 3e6 : 0) + (i === focus ? 2e6 : 0)
      + (focus !== null && this.near[focus].has(i) ? 1e6 : 0)
      + (this.looks.radii[i] ?? 0) * 1e4 + this.near[i].size; // large dots first
    const labels = [];
    data.groups.forEach((group, g) => {
      const at = spots.get(`g${g}`);
      if (at) labels.push({ ...spot(at), text: `+${this.rest(group).toLocaleString("en")} more`, size: 11.5, colour: look.ink, always: true, away: this.away(spots, `g${g}`, [group.node]) });
    });
    const shown = data.nodes.map((_, i) => i).filter((i) => this.visible[i]).sort((a, b) => rank(b) - rank(a));
    for (const i of shown) {
      const node = data.nodes[i];
      const faint = this.isFaint?.(i) ?? false;
      if (faint && focus !== null && node.level > 0) continue;
      const important = node.level === 0 || i === focus;
      const label = {
        ...spot(spots.get(`n${i}`)), text: narrow && !important && !data.layered ? node.brief : node.label,
        brief: node.brief, size: node.level === 0 ? 14 : 12, bold: important || node.marked, always: important,
        colour: look.ink, faint, beside: this.layout === "layered" && !data.layered && !this.tall, away: node.level === 0 && this.near[i].size > 4 ? [0, 1] : this.away(spots, `n${i}`, this.near[i]),
      };
      if (important) labels.unshift(label);
      else labels.push(label);
    }
    const lines = this.lines();
    const [used, once] = [new Map(), new Set()];
    const bendOf = (line) => ((line.data("bend") ?? 0) / 2) * cy.zoom();
    const segments = lines.map((line) => {
      const { s, t } = data.edges[line.data("e")];
      return [line.data("e"), kbkit.pieces(spots.get(`n${s}`), spots.get(`n${t}`), bendOf(line))];
    });
    // Whether no other line passes there: its label would be read as that of the other one.
    const clearOf = (e, at) => Math.min(...segments.map(([other, pieces]) => (other === e ? Infinity : kbkit.apart(at, pieces))));
    const onLines = [];
    const named = this.layout === "layered" && data.layered ? this.columns(lines) : new Map();
    for (const { gap, text } of focus === null ? named.values() : []) {
      const [first, last] = [gap, gap + 1].map((hop) => [...spots].find(([id]) => data.nodes[id.slice(1)]?.hop === hop)[1]);
      const rows = halved(text);
      const middle = this.tall ? [0, (first[1] + last[1]) / 2] : [(first[0] + last[0]) / 2, 3 + 7 * rows.split("\n").length];
      labels.unshift({ along: [middle], text: rows, size: 11, colour: look.ink, always: true });
    }
    lines.forEach((line) => {
      const e = line.data("e");
      const { s, t } = data.edges[e];
      const over = e === this.line;
      const relations = this.relationsOf(e);
      if (!relations.length || (!over && (focus === null ? lines.length > FEW && s !== 0 && !data.layered : s !== focus && t !== focus))) return;
      const [a, b] = [spots.get(`n${s}`), spots.get(`n${t}`)];
      const names = [...new Set(relations.map(([relation]) => data.relations[relation].label))];
      const text = names.join(" | ");
      used.set(text, (used.get(text) ?? 0) + 1);
      if (used.get(text) > ALIKE && !data.layered && !over) return;
      if (focus === null && !over && named.get(gapOf(data, e))?.text === text) return;
      const loop = s === t ? line.renderedMidpoint() : null;
      const points = loop ? [[loop.x, loop.y]] : SHARES.map((share) => kbkit.along(a, b, bendOf(line), share));
      const clear = points.map((at) => [over ? Infinity : clearOf(e, at), at]);
      const own = clear.filter(([room]) => room > APART).map(([, at]) => at);
      // In a drawing of paths with room every line has a name: where no place is its own, the one that is least like another's.
      const others = (data.layered && !this.tall) || loop ? clear.filter(([room]) => room <= APART).sort(([a], [b]) => b - a).map(([, at]) => at) : [];
      const along = [...own, ...others];
      if (!along.length) return;
      const told = `${gapOf(data, e)} ${text}`; // between two rows, a relation is named once
      if (this.tall && data.layered && !over && once.has(told)) return;
      once.add(told);
      const label = { along, text, brief: names.length > 1 ? `${names.length} relations` : halved(text), line: loop ? null : [a, b], size: over ? 12 : 10.5, colour: over ? look.ink : look.soft, always: over };
      if (over) labels.unshift(label);
      else onLines.push([own.length, label]);
    });
    labels.push(...onLines.sort(([a], [b]) => (data.layered ? a - b : 0)).map(([, label]) => label)); // those with few places first
    const avoided = segments.length <= AVOIDED ? segments.flatMap(([, pieces]) => pieces) : [];
    lines.forEach((line, n) => avoided.length && !line.hasClass("weak") && avoided.push(...this.heads(line, spots, segments[n][1])));
    this.labelled = kbkit.drawLabels(this.canvas, labels, dots, look.ground, look.font, avoided);
  }

  // The pieces of a line under its arrowheads, several times: a name hides those last.
  heads(line, spots, pieces) {
    const { s, t, relations } = this.data.edges[line.data("e")];
    return relations.flatMap(([, way]) => {
      if (!way || s === t) return [];
      const [x, y, r] = spots.get(`n${way > 0 ? t : s}`);
      const [a, b] = way > 0 ? pieces.at(-1) : pieces[0];
      const from = way > 0 ? a : b;
      const long = Math.hypot(from[0] - x, from[1] - y) || 1;
      const at = (far) => [x + ((from[0] - x) * far) / long, y + ((from[1] - y) * far) / long];
      return Array(HEAD).fill([at(r), at(r + 9)]);
    });
  }

  // The relation that most lines between two columns of paths have, by the first of the columns. The others are named on
  // the lines, for which rows on a narrow page have no room.
  columns(lines) {
    const counts = new Map();
    lines.forEach((line) => {
      const e = line.data("e");
      const gap = gapOf(this.data, e);
      if (gap === null) return;
      const text = [...new Set(this.relationsOf(e).map(([relation]) => this.data.relations[relation].label))].join(" | ");
      const own = counts.get(gap) ?? counts.set(gap, new Map()).get(gap);
      own.set(text, (own.get(text) ?? 0) + 1);
    });
    const found = new Map();
    for (const [gap, own] of counts) {
      const [text, count] = [...own].sort((a, b) => b[1] - a[1])[0];
      if (count >= (own.size === 1 ? ONLY : SAME) && (own.size === 1 || !this.tall)) found.set(gap, { gap, text });
    }
    return found;
  }

  // The direction from a node's neighbours to the node.
  away(spots, id, near) {
    const [x, y] = spots.get(id);
    let [dx, dy, count] = [0, 0, 0];
    for (const i of near) {
      const at = spots.get(`n${i}`);
      if (at) [dx, dy, count] = [dx + x - at[0], dy + y - at[1], count + 1];
    }
    const long = Math.hypot(dx, dy);
    return long ? [dx / long, dy / long] : [Number(!count), Number(count > 0)];
  }
};

// A long text as two lines of whole words.
function halved(text) {
  if (text.length < 19) return text;
  const words = text.split(" ");
  const half = words.findIndex((_, i) => words.slice(0, i + 1).join(" ").length >= text.length / 2) + 1;
  return [words.slice(0, half).join(" "), words.slice(half).join(" ")].filter(Boolean).join("\n");
}

// The column of a path that a line to the next column starts in; null for other lines.
function gapOf(data, e) {
  const [from, to] = [data.nodes[data.edges[e].s].hop, data.nodes[data.edges[e].t].hop];
  return Math.abs(from - to) === 1 ? Math.min(from, to) : null;
}

const spot = ([x, y, r]) => ({ x, y, r });
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// A generator of random numbers (mulberry32, in the public domain).
function seeded(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
