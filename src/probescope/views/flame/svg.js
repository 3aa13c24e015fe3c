// Zoom and search of a flame graph. The frames' first places and sizes are the whole truth; a zoom maps them anew.
"use strict";
(() => {
  const svg = document.documentElement;
  const margin = Number(svg.dataset.margin);
  const inner = svg.viewBox.baseVal.width - 2 * margin;
  const byId = (id) => document.getElementById(id);
  const frames = [...document.querySelectorAll("g.f")].map((g) => {
    const [title, rect, text] = g.children;
    const number = (name) => Number(rect.getAttribute(name));
    const told = title.textContent;
    return { g, rect, text, told, name: told.replace(/ \([^()]*\)$/, ""), x: number("x"), w: number("width"), y: number("y") };
  });
  const rootY = frames.length ? frames[0].y : 0;
  const outward = (a, b) => Math.abs(a.y - rootY) - Math.abs(b.y - rootY); // < 0: a is nearer to the root

  const label = (frame, width) => {
    const fits = Math.floor((width - 6) / 7.1);
    if (frame.name.length <= fits) return frame.name;
    return fits > 2 ? frame.name.slice(0, fits - 2) + ".." : "";
  };
  const write = (f, x, words) => { // narrow frames come without a text
    if (!f.text && words) {
      f.text = f.g.appendChild(document.createElementNS(svg.namespaceURI, "text"));
      f.text.setAttribute("y", f.y + 11);
    }
    f.text?.setAttribute("x", x + 3);
    if (f.text) f.text.textContent = words;
  };
  const zoom = (to) => {
    const scale = inner / to.w;
    const slack = 0.01;
    for (const f of frames) {
      const holds = f.x <= to.x + slack && f.x + f.w >= to.x + to.w - slack && outward(f, to) < 0;
      const within = f.x >= to.x - slack && f.x + f.w <= to.x + to.w + slack && outward(f, to) >= 0;
      const x = holds ? margin : margin + (f.x - to.x) * scale;
      const w = holds ? inner : f.w * scale;
      f.g.classList.toggle("h", !holds && !within);
      f.g.classList.toggle("o", holds);
      f.rect.setAttribute("x", x);
      f.rect.setAttribute("width", Math.max(0, w));
      write(f, x, label(f, w));
    }
    byId("reset").classList.toggle("h", to === frames[0]);
  };
  const search = (wanted) => {
    let pattern = null;
    try {
      pattern = wanted ? new RegExp(wanted) : null;
    } catch {
      byId("matched").textContent = "not a regular expression: " + wanted;
      return;
    }
    const spans = [];
    for (const f of frames) {
      const hit = pattern !== null && pattern.test(f.name);
      f.g.classList.toggle("m", hit);
      if (hit) spans.push([f.x, f.x + f.w]);
    }
    spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    let covered = 0;
    let end = -1;
    for (const [from, to] of spans) { // frames within frames count once
      if (to <= end) continue;
      covered += to - Math.max(from, end);
      end = to;
    }
    byId("search").textContent = pattern ? "Reset search" : "Search";
    byId("matched").textContent = pattern ? "Matched: " + ((100 * covered) / inner).toFixed(1) + "%" : " ";
  };
  const ask = () => search(byId("search").textContent === "Search" ? prompt("Search for (regular expression):", "") : "");

  const of = (e) => frames.find((f) => f.g === e.target.closest("g.f"));
  byId("frames").addEventListener("click", (e) => { const f = of(e); if (f) zoom(f); });
  byId("frames").addEventListener("mouseover", (e) => { const f = of(e); byId("detail").textContent = f ? f.told : " "; });
  byId("frames").addEventListener("mouseout", () => { byId("detail").textContent = " "; });
  byId("reset").addEventListener("click", () => zoom(frames[0]));
  byId("search").addEventListener("click", ask);
  window.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key === "f") { e.preventDefault(); ask(); }
    if (e.key === "Escape") { zoom(frames[0]); search(""); }
  });
})();
