// The page of a flame graph. Data: a tree of frames and rows (node, group, slot) -> weight; see page.py.
// selection (group, time) -> tree of weights -> boxes -> canvas. Only what is seen is drawn.
"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const HEIGHT = 18;
  const state = { view: "flame", invert: false, by: "", which: "", from: 0, to: 0, zoom: null, focus: null, pattern: null, of: -1, sort: "own" };
  const data = await unpack($("data").textContent);
  $("data").remove();
  state.to = data.slots;
  const compares = data.base !== null;

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // ---- selection

  const groupKey = { process: (g) => g[0] + (g[1] >= 0 ? " " + g[1] : ""), thread: (g) => g[0] + " " + g[2], cpu: (g) => String(g[3]) };
  function chosen() {
    if (!state.by) return null;
    const key = groupKey[state.by];
    return data.groups.map((g) => key(g) === state.which);
  }
  function own(rows) { // weight of each node itself, as selected
    const out = new Float64Array(data.parent.length);
    const groups = chosen();
    for (let i = 0; i < rows.node.length; i++) {
      if (groups !== null && !groups[rows.group[i]]) continue;
      if (rows.slot[i] < state.from || rows.slot[i] >= state.to) continue;
      out[rows.node[i]] += rows.weight[i];
    }
    return out;
  }

  // ---- trees: parent, frame, own, before (what is compared with); node 0 is the root

  function tree() { return { parent: [-1], frame: [-1], own: [0], before: [0], known: new Map() }; }
  function below(t, at, frame) {
    const key = at * (data.frames.length + 1) + frame;
    let node = t.known.get(key);
    if (node === undefined) {
      node = t.parent.length;
      t.known.set(key, node);
      t.parent.push(at);
      t.frame.push(frame);
      t.own.push(0);
      t.before.push(0);
    }
    return node;
  }
  function path(node) { // innermost first
    const out = [];
    for (; node > 0; node = data.parent[node]) out.push(data.frame[node]);
    return out;
  }
  function each(visit) { // every node with weight: (frames innermost first, weight, weight before)
    const now = own(data.rows);
    const then = compares ? own(data.base) : null;
    for (let n = 0; n < now.length; n++) {
      const before = then ? then[n] : 0;
      if (now[n] || before) visit(path(n), now[n], before);
    }
  }
  function build() {
    const t = tree();
    each((frames, now, before) => {
      let at = 0;
      if (state.invert) for (const f of frames) at = below(t, at, f);
      else for (let i = frames.length - 1; i >= 0; i--) at = below(t, at, frames[i]);
      t.own[at] += now;
      t.before[at] += before;
    });
    return t;
  }
  function sandwich(frame) { // what calls it (turned around), and what it calls; its outermost call counts
    const callers = tree();
    const callees = tree();
    each((frames, now, before) => {
      const outer = frames.lastIndexOf(frame);
      if (outer < 0) return;
      let at = below(callers, 0, frame);
      for (let i = outer + 1; i < frames.length; i++) at = below(callers, at, frames[i]);
      callers.own[at] += now;
      callers.before[at] += before;
      at = 0;
      for (let i = outer; i >= 0; i--) at = below(callees, at, frames[i]);
      callees.own[at] += now;
      callees.before[at] += before;
    });
    return [callers, callees];
  }

  // ---- boxes: rows by depth, each sorted by x; x and w are fractions of the whole

  function boxes(t) {
    const n = t.parent.length;
    const weight = Float64Array.from(t.own);
    const before = Float64Array.from(t.before);
    for (let i = n - 1; i > 0; i--) { weight[t.parent[i]] += weight[i]; before[t.parent[i]] += before[i]; }
    const children = Array.from({ length: n }, () => null);
    for (let i = 1; i < n; i++) (children[t.parent[i]] ??= []).push(i);
    const whole = weight[0] || 1;
    const scale = before[0] ? whole / before[0] : 0;
    const rows = [];
    let greatest = 0;
    const waiting = [[0, 0, 0, null]];
    while (waiting.length) {
      const [node, depth, x, parent] = waiting.pop();
      const change = compares ? (weight[node] - before[node] * scale) / whole : 0;
      const box = { frame: t.frame[node], depth, x: x / whole, w: weight[node] / whole, weight: weight[node], own: t.own[node], change, parent };
      greatest = Math.max(greatest, Math.abs(change));
      (rows[depth] ??= []).push(box);
      let at = x;
      const kids = (children[node] ?? []).filter((k) => weight[k] > 0);
      kids.sort((a, b) => (data.frames[t.frame[a]] < data.frames[t.frame[b]] ? -1 : 1));
      for (const k of kids) { waiting.push([k, depth + 1, at, box]); at += weight[k]; }
    }
    for (const row of rows) row.sort((a, b) => a.x - b.x);
    return { rows, whole, greatest };
  }

  // ---- colours: as in colors.py

  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const hues = { k: [24, 36], i: [170, 190], j: [100, 130], "": [0, 55] };
  const colours = new Map();
  function unit(text) {
    let h = 2166136261;
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return ((h >>> 8) & 0xffff) / 0xffff;
  }
  function warm(frame) {
    let colour = colours.get(frame);
    if (colour === undefined) {
      const name = nameOf(frame);
      const mark = /_\[([kij])\]$/.exec(name)?.[1] ?? "";
      const [low, high] = hues[mark];
      const hue = low + (high - low) * (unit(name.slice(0, 6)) * 0.7 + unit(name) * 0.3);
      colour = frame < 0 ? "hsl(0,0%,75%)" : `hsl(${hue},${65 + 20 * unit(name + "s")}%,${60 + 10 * unit(name)}%)`;
      colours.set(frame, colour);
    }
    return colour;
  }
  function fill(box, greatest) {
    if (!compares) return warm(box.frame);
    if (!greatest || !box.change) return "hsl(0,0%,94%)";
    return `hsl(${box.change > 0 ? 0 : 220},80%,${94 - 40 * Math.sqrt(Math.abs(box.change) / greatest)}%)`;
  }
  const nameOf = (frame) => (frame < 0 ? "all" : data.frames[frame]);
  const number = (n) => (data.unit === "ns" ? (n / 1e6).toFixed(3) + " ms" : n.toLocaleString("en") + " " + data.unit);
  const percent = (n) => (100 * n).toFixed(2) + "%";

  // ---- drawing

  const canvas = $("graph");
  const pen = canvas.getContext("2d");
  let parts = []; // { layout, up: rows grow upward, top: y of the root's row }
  let deep = 0;
  function compute() {
    if (state.view === "sandwich" && state.of >= 0) {
      const [callers, callees] = sandwich(state.of).map(boxes);
      callers.rows.shift();
      callees.rows.shift();
      const above = callers.rows.length;
      parts = [{ layout: callers, up: true, top: (above - 1) * HEIGHT, first: 1 }, { layout: callees, up: false, top: (above + 0.5) * HEIGHT, first: 1 }];
      deep = above + callees.rows.length + 0.5;
    } else {
      const layout = boxes(build());
      deep = layout.rows.length;
      const up = state.view === "flame" || state.view === "sandwich";
      parts = [{ layout, up, top: up ? (deep - 1) * HEIGHT : 0, first: 0 }];
    }
    const whole = parts[0].layout.whole;
    $("total").textContent = number(parts[0].layout.rows.length ? whole : 0);
    state.zoom = null;
    state.focus = null;
    strip(); // shown or not: what is left of the window is measured after it
    size();
    $("table").hidden = state.view !== "table";
    $("space").hidden = state.view === "table";
    if (state.view === "table") table();
    $("scroll").scrollTop = parts[0].up && parts.length === 1 ? 1e9 : 0;
    count();
    draw();
  }
  function size() {
    const room = $("scroll").getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.max(1, room.width * ratio);
    canvas.height = Math.max(1, room.height * ratio);
    canvas.style.width = room.width + "px";
    canvas.style.height = room.height + "px";
    $("space").style.height = Math.max(room.height, deep * HEIGHT + 4) + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  const rowY = (part, depth) => part.top + (part.up ? -1 : 1) * (depth - part.first) * HEIGHT + slack(part);
  const slack = (part) => (part.up && parts.length === 1 ? Math.max(0, $("scroll").clientHeight - deep * HEIGHT - 4) : 0);
  function window_() { return state.zoom ? [state.zoom.x, state.zoom.w || 1] : [0, 1]; }
  function first(row, x) { // the first box whose end is right of x
    let low = 0;
    let high = row.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (row[mid].x + row[mid].w <= x) low = mid + 1;
      else high = mid;
    }
    return low;
  }
  function draw() {
    if (state.view === "table") return;
    const width = $("scroll").clientWidth;
    const height = $("scroll").clientHeight;
    const scroll = $("scroll").scrollTop;
    pen.clearRect(0, 0, width, height);
    pen.font = "12px monospace";
    pen.textBaseline = "middle";
    const [x0, w0] = window_();
    for (const part of parts) {
      for (const row of part.layout.rows) {
        if (!row?.length) continue;
        const y = rowY(part, row[0].depth) - scroll;
        if (y < -HEIGHT || y > height) continue;
        let painted = -1;
        for (let i = first(row, x0 + 1e-12); i < row.length && row[i].x < x0 + w0 - 1e-12; i++) {
          const box = row[i];
          const left = Math.max(0, ((box.x - x0) / w0) * width);
          const right = Math.min(width, ((box.x + box.w - x0) / w0) * width);
          if (right <= painted + 0.3) continue; // narrower than what can be seen, and something is there
          painted = right;
          paint(box, left, y, right - left, part.layout.greatest);
        }
      }
    }
  }
  function paint(box, x, y, w, greatest) {
    const hit = state.pattern !== null && box.frame >= 0 && state.pattern.test(nameOf(box.frame));
    pen.globalAlpha = state.pattern !== null && !hit ? 0.45 : 1;
    pen.fillStyle = hit ? (dark() ? "#ff5cff" : "#e600e6") : fill(box, greatest);
    pen.fillRect(x, y, Math.max(0.5, w - 0.6), HEIGHT - 1);
    pen.globalAlpha = 1;
    if (box === state.focus) {
      pen.strokeStyle = dark() ? "#fff" : "#000";
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, Math.max(1, w - 2.6), HEIGHT - 3);
    }
    const fits = Math.floor((w - 6) / 7.2);
    if (fits < 3) return;
    const name = nameOf(box.frame);
    pen.fillStyle = "#111";
    pen.fillText(name.length <= fits ? name : name.slice(0, fits - 2) + "..", x + 3, y + HEIGHT / 2);
  }

  // ---- the mouse

  function at(event) {
    const place = canvas.getBoundingClientRect();
    const [x0, w0] = window_();
    const x = x0 + ((event.clientX - place.left) / $("scroll").clientWidth) * w0;
    const y = event.clientY - place.top + $("scroll").scrollTop;
    for (const part of parts) {
      for (const row of part.layout.rows) {
        if (!row?.length) continue;
        const top = rowY(part, row[0].depth);
        if (y < top || y >= top + HEIGHT) continue;
        const box = row[first(row, x)];
        if (box && box.x <= x) return box;
      }
    }
    return null;
  }
  function told(box) {
    const whole = parts[0].layout.whole;
    const more = compares ? `, ${box.change >= 0 ? "+" : ""}${percent(box.change)} against before` : "";
    return `${nameOf(box.frame)}: ${number(box.weight)}, ${percent(box.weight / whole)} (own ${number(box.own)}${more})`;
  }
  function zoom(box) {
    state.zoom = box && box.w < 1 ? box : null;
    const crumbs = $("crumbs");
    crumbs.replaceChildren();
    for (let b = state.zoom; b; b = b.parent) {
      const link = document.createElement("button");
      link.textContent = nameOf(b.frame);
      link.addEventListener("click", () => zoom(b));
      crumbs.prepend(link, " ");
    }
    draw();
  }
  function focus(box) {
    state.focus = box;
    $("detail").textContent = box ? told(box) : "\u00a0";
    draw();
  }
  canvas.addEventListener("mousemove", (e) => { const box = at(e); if (box !== state.focus) focus(box); });
  canvas.addEventListener("mouseleave", () => focus(null));
  canvas.addEventListener("click", (e) => { const box = at(e); if (box) zoom(box); });
  canvas.addEventListener("dblclick", (e) => { const box = at(e); if (box && box.frame >= 0) between(box.frame); });
  $("scroll").addEventListener("scroll", draw);
  addEventListener("resize", () => { size(); draw(); strip(); });

  // ---- the table

  function table() {
    const now = new Map();
    let whole = 0;
    each((frames, weight) => {
      whole += weight;
      const seen = new Set();
      frames.forEach((f, i) => {
        const row = now.get(f) ?? { frame: f, name: nameOf(f), own: 0, weight: 0 };
        now.set(f, row);
        if (i === 0) row.own += weight;
        if (!seen.has(f)) row.weight += weight; // recursion counts once
        seen.add(f);
      });
    });
    const key = state.sort;
    const list = [...now.values()].sort((a, b) => (key === "name" ? (a.name < b.name ? -1 : 1) : b[key] - a[key] || (a.name < b.name ? -1 : 1)));
    const body = $("table").tBodies[0];
    body.replaceChildren();
    for (const row of list.slice(0, 2000)) {
      const line = body.insertRow();
      for (const text of [number(row.own), percent(row.own / (whole || 1)), number(row.weight), percent(row.weight / (whole || 1)), row.name]) line.insertCell().textContent = text;
      line.classList.toggle("hit", state.pattern !== null && state.pattern.test(row.name));
      line.addEventListener("click", () => between(row.frame));
    }
    if (list.length > 2000) body.insertRow().insertCell().textContent = `... and ${list.length - 2000} more`;
  }
  for (const head of document.querySelectorAll("th[data-key]")) head.addEventListener("click", () => { state.sort = head.dataset.key; table(); });

  // ---- search

  function search(text) {
    try {
      state.pattern = text ? new RegExp(text) : null;
      count();
    } catch {
      state.pattern = null;
      $("matched").textContent = "not a regular expression";
    }
    if (state.view === "table") table();
    draw();
  }
  function count() { // weight of stacks with a frame that matches
    if (state.pattern === null) { $("matched").textContent = ""; return; }
    const hit = data.frames.map((f) => state.pattern.test(f));
    let matched = 0;
    let whole = 0;
    each((frames, weight) => { whole += weight; if (frames.some((f) => hit[f])) matched += weight; });
    $("matched").textContent = "matched " + percent(matched / (whole || 1));
  }

  // ---- time

  const band = $("strip");
  function strip() {
    band.hidden = data.slots < 2;
    if (band.hidden) return;
    const width = band.clientWidth;
    band.width = width;
    const ink = band.getContext("2d");
    const sums = new Float64Array(data.slots);
    const groups = chosen();
    for (let i = 0; i < data.rows.node.length; i++) if (groups === null || groups[data.rows.group[i]]) sums[data.rows.slot[i]] += data.rows.weight[i];
    const most = Math.max(...sums, 1);
    const step = width / data.slots;
    for (let i = 0; i < data.slots; i++) {
      ink.fillStyle = i >= state.from && i < state.to ? "#e8761f" : "#9995";
      const h = (sums[i] / most) * 44;
      ink.fillRect(i * step, 48 - h, Math.max(1, step - 0.5), h);
    }
    ink.fillStyle = dark() ? "#ddd" : "#333";
    ink.font = "11px sans-serif";
    const seconds = (slot) => (((data.times[1] - data.times[0]) * slot) / data.slots / 1e9).toFixed(3) + " s";
    ink.fillText(`${seconds(state.from)} to ${seconds(state.to)} of ${seconds(data.slots)}`, 6, 12);
  }
  let from = -1;
  const slotAt = (e) => Math.min(data.slots - 1, Math.max(0, Math.floor(((e.clientX - band.getBoundingClientRect().left) / band.clientWidth) * data.slots)));
  band.addEventListener("pointerdown", (e) => { from = slotAt(e); band.setPointerCapture(e.pointerId); });
  band.addEventListener("pointerup", (e) => {
    if (from < 0) return;
    const to = slotAt(e);
    [state.from, state.to] = from === to ? [0, data.slots] : [Math.min(from, to), Math.max(from, to) + 1];
    from = -1;
    compute();
  });

  // ---- controls

  function between(frame) { state.view = "sandwich"; state.of = frame; $("view").value = "sandwich"; compute(); }
  function choices() {
    const which = $("which");
    which.hidden = !state.by;
    if (!state.by) return;
    const sums = new Map();
    const key = groupKey[state.by];
    for (let i = 0; i < data.rows.node.length; i++) {
      const k = key(data.groups[data.rows.group[i]]);
      sums.set(k, (sums.get(k) ?? 0) + data.rows.weight[i]);
    }
    which.replaceChildren(...[...sums].sort((a, b) => b[1] - a[1]).map(([k, w]) => new Option(`${k || "?"} (${number(w)})`, k)));
    state.which = which.value;
  }
  function view(name) {
    state.view = name;
    $("view").value = name;
    if (name === "sandwich" && state.of < 0 && state.focus) state.of = state.focus.frame;
    compute();
    if (name === "sandwich" && state.of < 0) $("detail").textContent = "double click a frame, or choose one in the table";
  }
  $("view").addEventListener("change", (e) => view(e.target.value));
  $("invert").addEventListener("change", (e) => { state.invert = e.target.checked; compute(); });
  $("by").addEventListener("change", (e) => { state.by = e.target.value; choices(); compute(); });
  $("which").addEventListener("change", (e) => { state.which = e.target.value; compute(); });
  $("search").addEventListener("input", (e) => search(e.target.value));
  $("reset").addEventListener("click", () => zoom(null));
  const help = () => { $("help").hidden = !$("help").hidden; $("help-button").setAttribute("aria-expanded", String(!$("help").hidden)); size(); draw(); };
  $("help-button").addEventListener("click", help);

  function copy() {
    const lines = [];
    each((frames, weight) => { if (weight) lines.push([...frames].reverse().map(nameOf).join(";") + " " + weight); });
    navigator.clipboard?.writeText(lines.join("\n") + "\n");
    $("detail").textContent = `${lines.length} stacks copied as folded text`;
  }
  function move(side, along) { // to the nearest frame in a direction
    const part = parts.find((p) => p.layout.rows.some((row) => row?.includes(state.focus))) ?? parts[0];
    const [x0, w0] = window_();
    const here = state.focus ?? part.layout.rows.find((row) => row?.length)?.[0];
    if (!here) return;
    if (state.focus === null) return focus(here);
    const depth = here.depth + along * (part.up ? -1 : 1);
    const row = part.layout.rows.find((r) => r?.length && r[0].depth === depth);
    if (side === 0 && row) {
      const box = row[first(row, Math.max(here.x, x0) + 1e-12)];
      if (box && box.x < here.x + here.w) focus(box);
      else if (box && along * (part.up ? -1 : 1) < 0) focus(box);
    } else if (side !== 0) {
      const same = part.layout.rows.find((r) => r?.length && r[0].depth === here.depth);
      const next = same[same.indexOf(here) + side];
      if (next && next.x < x0 + w0) focus(next);
    }
  }
  const keys = {
    "/": () => $("search").focus(), i: () => { $("invert").click(); }, "?": help, c: copy,
    s: () => { if (state.focus && state.focus.frame >= 0) between(state.focus.frame); },
    1: () => view("flame"), 2: () => view("icicle"), 3: () => view("sandwich"), 4: () => view("table"),
    ArrowUp: () => move(0, -1), ArrowDown: () => move(0, 1), ArrowLeft: () => move(-1, 0), ArrowRight: () => move(1, 0),
    Enter: () => { if (state.focus) zoom(state.focus); },
    Escape: () => { $("search").value = ""; search(""); zoom(null); },
  };
  addEventListener("keydown", (e) => {
    if (e.target.matches("input[type=search], select") && e.key !== "Escape") return;
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const act = keys[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
  if (compares) $("total").title = "red: more than before; blue: less";
  compute();
  document.body.dataset.ready = "yes";
})();
