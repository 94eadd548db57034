"use strict";
// The flame graph: nodes stand in one list, parents before children, so that what is below a node is the stretch of the list behind it.
(() => {
  const data = JSON.parse(document.getElementById("flame-data").textContent);
  const graph = document.getElementById("flame"), tip = document.getElementById("tip"), find = document.getElementById("find");
  const whole = document.getElementById("whole"), chosen = document.getElementById("chosen");
  const count = data.frame.length, ROW = 20, NARROWEST = 1.5;
  const start = new Array(count), end = new Array(count), parent = new Array(count);
  let top = 0, current = 0, wanted = "", shown = new Map();

  (function place() {
    const path = [], used = [];
    for (let node = 0; node < count; node++) {
      const depth = data.depth[node];
      while (path.length > depth) end[path.pop()] = node;
      parent[node] = depth ? path[depth - 1] : -1;
      start[node] = depth ? used[depth - 1] : 0;
      if (depth) used[depth - 1] += data.seconds[node];
      used[depth] = start[node];
      path.push(node);
    }
    while (path.length) end[path.pop()] = count;
  })();

  const name = node => data.frames[data.frame[node]][0];
  const file = node => data.frames[data.frame[node]][1];
  const label = node => name(node).replaceAll("<locals>.", "").split(".").slice(-2).join(".");
  const where = node => node ? `${file(node)}:${data.frames[data.frame[node]][2]}` : "";
  const phase = node => data.phase[node] < 0 ? "several phases" : data.phases[data.phase[node]];
  const matches = node => `${name(node)} ${file(node)}`.toLowerCase().includes(wanted);
  const percent = (part, of) => `${(100 * part / of).toFixed(1)} %`;
  const time = seconds => seconds >= 1 ? `${seconds.toFixed(2)} s` : `${(1000 * seconds).toFixed(seconds < .01 ? 2 : 0)} ms`;
  const amount = node => `${time(data.seconds[node])}, ${percent(data.seconds[node], data.seconds[0])}`;

  function draw() {
    const width = graph.clientWidth || 1000, least = data.seconds[top] * NARROWEST / width, parts = document.createDocumentFragment();
    let deepest = 0;
    shown = new Map();
    for (let node = top; node >= 0; node = parent[node]) parts.prepend(box(node, 0, 1));
    for (let node = top + 1; node < end[top]; node++) {
      if (data.seconds[node] < least) { node = end[node] - 1; continue; }
      parts.append(box(node, (start[node] - start[top]) / data.seconds[top], data.seconds[node] / data.seconds[top]));
    }
    for (const node of shown.keys()) deepest = Math.max(deepest, data.depth[node]);
    graph.style.height = `${(deepest + 1) * ROW}px`;
    graph.replaceChildren(parts);
    if (!shown.has(current)) current = top;
    shown.get(current).tabIndex = 0;
    whole.hidden = top === 0;
    mark();
  }

  function box(node, left, width) {
    const element = document.createElement("div"), pixels = width * (graph.clientWidth || 1000);
    element.className = data.phase[node] < 0 ? "several" : phase(node);
    element.classList.toggle("above", data.depth[node] < data.depth[top]);
    element.classList.toggle("narrow", pixels < 24);
    element.style.cssText = `left:${(100 * left).toFixed(4)}%;width:${(100 * width).toFixed(4)}%;top:${data.depth[node] * ROW}px`;
    element.textContent = pixels < 24 ? "" : label(node);
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", data.depth[node] + 1);
    element.setAttribute("aria-label", `${name(node)}, ${amount(node)}, ${phase(node)}`);
    element.tabIndex = -1;
    element.node = node;
    shown.set(node, element);
    return element;
  }

  function mark() {
    let found = 0;
    for (let node = 0; wanted && node < count; node++) {
      if (node && matches(node)) { found += data.seconds[node]; node = end[node] - 1; }  // what is below a match is in it already
    }
    graph.classList.toggle("searching", wanted !== "");
    for (const [node, element] of shown) element.classList.toggle("found", wanted !== "" && node > 0 && matches(node));
    chosen.textContent = wanted ? `${time(found)}, ${percent(found, data.seconds[0])} in what was found` : top ? `${name(top)}: ${amount(top)}` : "";
  }

  function zoom(node) {
    top = current = node;
    draw();
    hide();
  }

  function focus(node) {
    if (node === undefined || !shown.has(node)) return;
    shown.get(current).tabIndex = -1;
    current = node;
    shown.get(node).tabIndex = 0;
    shown.get(node).focus();
  }

  function siblings(node) {
    return [...shown.keys()].filter(other => parent[other] === parent[node]).sort((a, b) => a - b);
  }

  function tell(node, x, y) {
    const lines = [["b", name(node)], ["span", where(node)], ["span", `${amount(node)} of all, ${phase(node)}`]];
    if (top && node >= top) lines.push(["span", `${percent(data.seconds[node], data.seconds[top])} of what is shown`]);
    if (data.own[node] > 0) lines.push(["span", `${time(data.own[node])} in itself`]);
    tip.replaceChildren(...lines.filter(([, words]) => words).map(([kind, words]) => {
      const line = document.createElement(kind);
      line.textContent = words;
      return line;
    }));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > innerHeight ? Math.max(8, y - height - 12) : y + 18}px`;
  }

  function hide() { tip.hidden = true; }

  graph.addEventListener("click", event => { if (event.target.node !== undefined) zoom(event.target.node); });
  graph.addEventListener("pointermove", event => { if (event.target.node !== undefined) tell(event.target.node, event.clientX, event.clientY); else hide(); });
  graph.addEventListener("pointerleave", hide);
  graph.addEventListener("focusout", hide);
  graph.addEventListener("focusin", event => {
    if (event.target.node === undefined || !event.target.matches(":focus-visible")) return;
    const { left, bottom } = event.target.getBoundingClientRect();
    tell(event.target.node, left, bottom - 14);
  });
  graph.addEventListener("keydown", event => {
    const beside = siblings(current), place = beside.indexOf(current);
    const moves = {
      ArrowUp: () => focus(parent[current]),
      ArrowDown: () => focus([...shown.keys()].filter(node => parent[node] === current).sort((a, b) => a - b)[0]),
      ArrowLeft: () => focus(beside[place - 1]),
      ArrowRight: () => focus(beside[place + 1]),
      Home: () => focus(0),
      Enter: () => { zoom(current); focus(current); },
      " ": () => { zoom(current); focus(current); },
      Escape: () => { zoom(0); focus(0); },
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  });
  find.addEventListener("input", () => { wanted = find.value.trim().toLowerCase(); mark(); });
  whole.addEventListener("click", () => zoom(0));
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });

  document.getElementById("flame-legend").append(...data.phases.map(each => {
    const label = document.createElement("span"), dot = document.createElement("i");
    dot.className = `dot ${each}`;
    label.append(dot, each);
    return label;
  }));
  draw();
})();
