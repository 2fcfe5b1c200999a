// Labels on a canvas over a graph: of constant size, and apart from each other and from the dots.
"use strict";
var kbkit = globalThis.kbkit ?? {};

// Draw labels in order of importance, each at its first free place, if possible off the `lines`, [[x, y], [x, y]]. A label
// has x, y and r of its dot, or `along`: points [x, y] on which it may lie, of a `line` between two dots; text (lines joined by \n), brief (another text
// for where there is little room), size, colour, bold, faint, away ([x, y], the preferred direction), beside (only to the right of its dot), and `always`: draw it even if no place
// is free. `dots` are [x, y, r]. Returns the labels drawn, each with its text, its box (left, top, right, bottom), and
// whether it covers a line.
kbkit.drawLabels = (canvas, labels, dots, halo, font, lines = []) => {
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  const ratio = globalThis.devicePixelRatio || 1;
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, wide, high);
  pen.lineJoin = "round";
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  const taken = dots.map(([x, y, r]) => [x - r, y - r, x + r, y + r]);
  const isFree = ([left, top, right, bottom]) =>
    left >= 2 && top >= 2 && right <= wide - 2 && bottom <= high - 2 &&
    taken.every(([a, b, c, d]) => a >= right || c <= left || b >= bottom || d <= top);
  const crossed = (box) => lines.filter((line) => crosses(line, box)).length;
  const drawn = [];
  for (const label of labels) {
    pen.font = `${label.bold ? "600 " : ""}${label.size}px ${font}`;
    let [text, box] = [label.text, null];
    for (const form of [label.text, label.brief ?? label.text]) {
      if (form !== label.brief && !fits(label, form)) continue; // it would hide the arrowheads
      const free = places(label, form).filter(isFree);
      const strikes = free.map(crossed); // of a label on its line, also that line
      box = free[strikes.indexOf(Math.min(...strikes))];
      text = form;
      if (box) break;
    }
    if (!box && label.always) box = inside(places(label, text)[0]);
    if (!box) continue;
    taken.push(box);
    pen.globalAlpha = label.faint ? 0.15 : 1;
    const covers = Boolean(label.along) || crossed(box) > 0;
    if (covers) { // the line would strike the letters through
      pen.fillStyle = halo;
      pen.fillRect(box[0] - 1, box[1] + 1, box[2] - box[0] + 2, box[3] - box[1] - 2);
    }
    pen.strokeStyle = halo;
    pen.lineWidth = 3.5;
    const rows = text.split("\n").map((row, i, all) =>
      [row, (box[0] + box[2] - pen.measureText(row).width) / 2, box[1] + ((i + 0.5) * (box[3] - box[1])) / all.length]);
    for (const row of rows) pen.strokeText(...row);
    pen.fillStyle = label.colour;
    for (const row of rows) pen.fillText(...row);
    drawn.push({ ...label, text, box, rows, covers });
  }
  pen.globalAlpha = 1;
  return drawn;

  function places({ x, y, r, along, size, beside, away = [0, 1] }, text) {
    const rows = text.split("\n");
    const [w, h, gap] = [Math.max(...rows.map((row) => pen.measureText(row).width)) + 4, size * 1.25 * rows.length, r + 2];
    if (along) return along.map(([at, down]) => [at - w / 2, down - h / 2, at + w / 2, down + h / 2]);
    const sides = [
      [1, 0, [x + gap, y - h / 2, x + gap + w, y + h / 2]],
      [-1, 0, [x - gap - w, y - h / 2, x - gap, y + h / 2]],
      [0, 1, [x - w / 2, y + gap, x + w / 2, y + gap + h]],
      [0, -1, [x - w / 2, y - gap - h, x + w / 2, y - gap]],
      [0.5, 0.5, [x + gap * 0.7, y + gap * 0.7, x + gap * 0.7 + w, y + gap * 0.7 + h]],
      [0.5, -0.5, [x + gap * 0.7, y - gap * 0.7 - h, x + gap * 0.7 + w, y - gap * 0.7]],
      [-0.5, 0.5, [x - gap * 0.7 - w, y + gap * 0.7, x - gap * 0.7, y + gap * 0.7 + h]],
      [-0.5, -0.5, [x - gap * 0.7 - w, y - gap * 0.7 - h, x - gap * 0.7, y - gap * 0.7]],
    ];
    if (beside) return [sides[0][2]];
    const fit = ([dx, dy]) => dx * away[0] + dy * away[1];
    return sides.sort((a, b) => fit(b) - fit(a)).map((side) => side[2]);
  }

  // Whether the text is shorter than its line without the arrowheads.
  function fits({ line, size }, text) {
    if (!line) return true;
    const [[ax, ay, ar], [bx, by, br]] = line;
    const long = Math.hypot(bx - ax, by - ay) || 1;
    const [across, down] = [Math.abs(bx - ax) / long, Math.abs(by - ay) / long];
    return Math.min(pen.measureText(text).width / across, (1.25 * size) / down) < long - ar - br - 20;
  }

  // Whether a line passes through a box (Liang and Barsky).
  function crosses([[x1, y1], [x2, y2]], [left, top, right, bottom]) {
    const [dx, dy] = [x2 - x1, y2 - y1];
    let [enter, leave] = [0, 1];
    for (const [step, room] of [[-dx, x1 - left], [dx, right - x1], [-dy, y1 - top], [dy, bottom - y1]]) {
      if (step === 0 && room < 0) return false;
      if (step < 0) enter = Math.max(enter, room / step);
      else if (step > 0) leave = Math.min(leave, room / step);
    }
    return enter < leave;
  }

  function inside([left, top, right, bottom]) {
    const dx = Math.max(2 - left, Math.min(0, wide - 2 - right));
    const dy = Math.max(2 - top, Math.min(0, high - 2 - bottom));
    return [left + dx, top + dy, right + dx, bottom + dy];
  }
};
