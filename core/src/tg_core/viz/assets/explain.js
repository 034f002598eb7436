
const DRAWN = 260; // nodes; more are no picture any more
const FIRINGS = 400; // shown of one rule at once
const AROUND = 3; // unchanged lines shown around changed ones
const data = JSON.parse(document.getElementById("data").textContent);
const texts = data.texts;
const nodes = data.nodes.map(([op, type, argument, sources]) => ({
  op: texts[op], type: texts[type], argument: texts[argument], sources,
}));
const pages = []; // what the list on the left leads to, in its order
let current = -1;

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function makeSvg(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const plural = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
const isChanged = (stage) => stage.after !== stage.before;

// ---- the list on the left

function buildList() {
  const nav = document.getElementById("nav");
  const filter = make("input", {
    type: "search", placeholder: "stage, rule or kernel", "aria-label": "filter", oninput: filterList,
  });
  const only = make("input", { type: "checkbox", id: "only", onchange: filterList });
  nav.append(
    make("h1", {}, data.title),
    make("p", { class: "summary" }, summary()),
    make("div", { class: "tools" }, filter,
      make("label", {}, only, " only stages that changed something")),
  );
  if (data.problem) {
    nav.append(make("p", { class: "problem" }, `The program did not end well: ${data.problem}`));
  }
  data.sections.forEach((section, number) => nav.append(sectionEntry(section, number)));
}

function summary() {
  const fired = data.stages.reduce((sum, stage) => sum + stage.firings.length, 0);
  const kinds = (kind) => data.sections.filter((section) => section.kind === kind).length;
  return `${plural(kinds("schedule"), "schedule")}, ${plural(kinds("kernel"), "kernel")}, ` +
    `${plural(data.stages.length, "stage")}, ${plural(fired, "rewrite")} ` +
    `by ${plural(data.rules.length, "rule")}`;
}

function sectionEntry(section, number) {
  const stages = data.stages.filter((stage) => stage.section === number);
  const changed = stages.filter(isChanged).length;
  const list = make("div", { class: "stages" });
  const box = make("details", { class: `section ${section.kind}` },
    make("summary", { title: section.title }, make("span", { class: "title" }, section.title),
      make("span", { class: "count" }, `${changed} of ${stages.length}`)),
    list);
  for (const stage of stages) {
    list.append(entry(stage.name, isChanged(stage) ? "changed" : "same", stage.depth,
      () => showStage(stage, section), box, searchText(stage, section), badge(stage)));
  }
  for (const [title, text] of [["source", section.source], ["assembly", section.assembly]]) {
    if (!text) continue;
    list.append(entry(title, "code", 0, () => showCode(title, text, section), box,
      `${title} ${section.title}`, ""));
  }
  return box;
}

function badge(stage) {
  if (stage.after === null) return "failed";
  return stage.firings.length ? `×${stage.firings.length}` : "";
}

function searchText(stage, section) {
  const rules = stage.rules.map(([rule]) => data.rules[rule].join(" "));
  return [stage.name, section.title, ...rules].join(" ");
}

function entry(title, kind, depth, show, box, search, count) {
  const number = pages.length;
  const link = make("a", { href: `#${number}`, class: kind, style: `--depth: ${depth}` },
    make("span", {}, title), make("span", { class: "count" }, count));
  pages.push({ link, show, box, search: search.toLowerCase(), kind });
  return link;
}

function filterList() {
  const wanted = document.querySelector("nav input[type=search]").value.toLowerCase();
  const only = document.getElementById("only").checked;
  const boxes = new Map();
  for (const page of pages) {
    const shown = page.search.includes(wanted) && !(only && page.kind === "same");
    page.link.hidden = !shown;
    boxes.set(page.box, boxes.get(page.box) || shown);
  }
  for (const [box, shown] of boxes) {
    box.hidden = !shown;
    if (wanted && shown) box.open = true;
  }
}

function open(number) {
  const page = pages[number];
  if (!page) return;
  if (pages[current]) pages[current].link.classList.remove("current");
  current = number;
  page.box.open = true;
  page.link.classList.add("current");
  page.link.scrollIntoView({ block: "nearest" });
  page.show();
  document.getElementById("main").scrollTop = 0;
}

function move(step) {
  let number = current + step;
  while (pages[number] && pages[number].link.hidden) number += step;
  if (pages[number]) location.hash = `#${number}`;
}

// ---- a stage

function showStage(stage, section) {
  const [before, after] = stage.counts;
  const what = stage.after === null
    ? `failed on a graph of ${plural(before, "node")}`
    : isChanged(stage)
      ? `${before} → ${plural(after, "node")}: ${stage.new.length} new, ` +
        `${stage.rebuilt.length} rebuilt on changed sources, ${stage.gone.length} gone`
      : `changed nothing, ${plural(before, "node")}`;
  show(
    make("header", {}, make("p", { class: "where" }, section.title), make("h2", {}, stage.name),
      make("p", {}, what)),
    ruleBlock(stage), graphBlock(stage), textBlock(stage),
  );
}

function show(...blocks) {
  document.getElementById("main").replaceChildren(...blocks.filter(Boolean));
}

function ruleBlock(stage) {
  if (!stage.rules.length) {
    const why = isChanged(stage) ? "No rule fired here: this pass builds its result directly, or " +
      "its rules are in the stages inside." : "";
    return why ? make("p", { class: "note" }, why) : null;
  }
  const block = make("section", { class: "rules" }, make("h3", {}, "Rules that fired"));
  for (const [rule, count] of stage.rules) {
    const [name, place] = data.rules[rule];
    const box = make("details", {}, make("summary", {}, make("b", {}, name), " ",
      make("code", {}, place), make("span", { class: "count" }, `×${count}`)));
    // a big stage has thousands of firings; those of a rule are built when it is opened
    box.addEventListener("toggle", () => fillFirings(box, stage, rule), { once: true });
    if (stage.rules.length <= 4) box.open = true;
    block.append(box);
  }
  return block;
}

function fillFirings(box, stage, rule) {
  const fired = stage.firings.filter((firing) => firing[0] === rule);
  for (const [, before, after] of fired.slice(0, FIRINGS)) {
    box.append(make("div", { class: "firing" },
      make("code", { class: "gone" }, texts[before]), make("span", {}, "→"),
      make("code", { class: "new" }, texts[after])));
  }
  if (fired.length > FIRINGS) {
    box.append(make("p", { class: "note" }, `and ${fired.length - FIRINGS} more`));
  }
}

// ---- the graph

function reach(root) {
  const found = new Set();
  const stack = [root];
  while (stack.length) {
    const id = stack.pop();
    if (found.has(id)) continue;
    found.add(id);
    stack.push(...nodes[id].sources);
  }
  return found;
}

function constantOf(id) {
  const node = nodes[id];
  if (node.op === "CONST") return node.argument;
  return node.op === "CAST" && nodes[node.sources[0]].op === "CONST"
    ? nodes[node.sources[0]].argument : null;
}

// Constants are written into their readers, and a LINEAR, which reads everything, is left out.
function drawable(root) {
  const drawn = [...reach(root)].filter((id) => constantOf(id) === null || id === root);
  return drawn.filter((id) => nodes[id].op !== "LINEAR").sort((a, b) => a - b);
}

function graphBlock(stage) {
  const root = stage.after === null ? stage.before : stage.after;
  const block = make("section", { class: "graph" });
  const choose = (which, label) => make("button", {
    type: "button",
    onclick: (event) => {
      for (const button of block.querySelectorAll(".tabs button")) button.classList.remove("on");
      event.target.classList.add("on");
      fill(which);
    },
  }, label);
  const holder = make("div", {});
  const fill = (which) => holder.replaceChildren(
    ...drawing(which === "before" ? stage.before : root, stage, which));
  const tabs = make("div", { class: "tabs" }, make("h3", {}, "Graph"));
  const after = choose("after", "after");
  if (isChanged(stage) && stage.after !== null) tabs.append(choose("before", "before"), after);
  after.classList.add("on");
  tabs.append(legend(stage));
  block.append(tabs, holder);
  fill("after");
  return block;
}

function legend(stage) {
  if (!isChanged(stage) || stage.after === null) return "";
  return make("span", { class: "legend" }, make("i", { class: "new" }), "new",
    make("i", { class: "rebuilt" }), "rebuilt on changed sources",
    make("i", { class: "gone" }), "gone (before)");
}

function drawing(root, stage, which) {
  const marks = new Map();
  if (which === "before") for (const id of stage.gone) marks.set(id, "gone");
  else {
    for (const id of stage.rebuilt) marks.set(id, "rebuilt");
    for (const id of stage.new) marks.set(id, "new");
  }
  const all = drawable(root);
  if (all.length <= DRAWN) return [canvas(all, marks)];
  const note = `This graph has ${all.length} nodes, too many to draw at once (the limit is ${DRAWN}).`;
  const core = all.filter((id) => marks.has(id) && marks.get(id) !== "rebuilt");
  const near = around(core, all);
  if (core.length && near.length <= DRAWN) {
    const text = `${note} Drawn is what changed with its sources and readers; the text below has all.`;
    return [make("p", { class: "note" }, text), canvas(near, marks)];
  }
  return [make("p", { class: "note" }, `${note} The text below has all of it.`)];
}

function around(core, all) {
  const wanted = new Set(core);
  const inner = new Set(core);
  for (const id of all) {
    for (const source of nodes[id].sources) {
      if (inner.has(id) && constantOf(source) === null) wanted.add(source);
      if (inner.has(source)) wanted.add(id);
    }
  }
  return all.filter((id) => wanted.has(id));
}

function labels(id) {
  const node = nodes[id];
  const shown = node.sources.map((source) => constantOf(source));
  const operands = shown.some((text) => text !== null)
    ? `(${shown.map((text) => (text === null ? "·" : text)).join(", ")})` : "";
  const top = cut(`${node.op}${operands}`, 30);
  return [top, cut([node.argument, node.type].filter((text) => text && text !== "void").join("  "), 34)];
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function canvas(ids, marks) {
  const drawn = new Set(ids);
  const written = new Map(ids.map((id) => [id, labels(id)]));
  const boxes = ids.map((id) => {
    const [top, bottom] = written.get(id);
    const width = Math.max(44, 7 * top.length + 16, 6 * bottom.length + 16);
    return { id, width, height: bottom ? 36 : 22 };
  });
  const edges = ids.flatMap((id) =>
    [...new Set(nodes[id].sources)].filter((s) => drawn.has(s)).map((s) => [s, id]));
  const plan = layoutGraph(boxes, edges);
  const margin = 10;
  const svg = makeSvg("svg", {
    viewBox: `${-margin} ${-margin} ${plan.width + 2 * margin} ${plan.height + 2 * margin}`,
    role: "img", "aria-label": `graph of ${plural(ids.length, "node")}`,
  });
  for (const edge of plan.edges) svg.append(drawEdge(edge, marks));
  for (const box of plan.boxes) svg.append(drawBox(box, written.get(box.id), marks));
  svg.addEventListener("mouseover", (event) => emphasize(svg, event));
  const size = { width: plan.width + 2 * margin, height: plan.height + 2 * margin };
  return zoomable(svg, size);
}

function drawEdge(edge, marks) {
  const [first, ...rest] = edge.points;
  let path = `M${first[0]},${first[1]}`;
  let [x, y] = first;
  for (const [nextX, nextY] of rest) {
    const middle = (y + nextY) / 2;
    path += ` C${x},${middle} ${nextX},${middle} ${nextX},${nextY}`;
    [x, y] = [nextX, nextY];
  }
  const line = makeSvg("path", { d: path, class: `edge ${marks.get(edge.to) || ""}` });
  line.dataset.from = edge.from;
  line.dataset.to = edge.to;
  return line;
}

function drawBox(box, [top, bottom], marks) {
  const group = makeSvg("g", {
    class: `node ${marks.get(box.id) || ""}`, transform: `translate(${box.x},${box.y})`,
  });
  group.dataset.id = box.id;
  const node = nodes[box.id];
  group.append(makeSvg("title", {}, `${node.op} ${node.argument}\n${node.type}`),
    makeSvg("rect", { width: box.width, height: box.height, rx: 4 }),
    makeSvg("text", { x: box.width / 2, y: 15, class: "op" }, top));
  if (bottom) group.append(makeSvg("text", { x: box.width / 2, y: 29 }, bottom));
  return group;
}

function emphasize(svg, event) {
  const group = event.target.closest(".node");
  for (const line of svg.querySelectorAll(".edge")) {
    const near = group && [line.dataset.from, line.dataset.to].includes(group.dataset.id);
    line.classList.toggle("near", Boolean(near));
  }
}

function zoomable(svg, size) {
  const frame = make("div", { class: "frame" }, svg);
  let scale = 1;
  const zoom = (value) => {
    scale = Math.min(3, Math.max(0.1, value));
    svg.setAttribute("width", size.width * scale);
    svg.setAttribute("height", size.height * scale);
  };
  const fit = () => {
    const width = (frame.clientWidth || 900) - 4;
    zoom(Math.min(1, width / size.width, Math.max(0.6, (0.62 * innerHeight) / size.height)));
  };
  const button = (label, title, act) =>
    make("button", { type: "button", title, onclick: act }, label);
  requestAnimationFrame(fit);
  zoom(1);
  return make("div", { class: "canvas" }, frame, make("div", { class: "zoom" },
    button("−", "smaller", () => zoom(scale / 1.25)), button("fit", "whole graph", fit),
    button("1:1", "full size", () => zoom(1)), button("+", "larger", () => zoom(scale * 1.25))));
}

// ---- text

function textBlock(stage) {
  const changed = stage.marks !== "";
  const block = make("section", { class: "text" }, make("h3", {}, changed ? "Before and after" : "Text"));
  const listing = make("div", { class: "listing" });
  block.append(listing);
  const line = (i) => {
    const mark = changed ? stage.marks[i] : " ";
    const kind = { "+": "new", "-": "gone" }[mark] || "";
    return make("div", { class: kind }, make("span", { class: "mark" }, mark), texts[stage.lines[i]]);
  };
  let i = 0;
  while (i < stage.lines.length) {
    let end = i;
    while (changed && end < stage.lines.length && stage.marks[end] === " ") end++;
    const head = i === 0 ? 0 : AROUND;
    const tail = end === stage.lines.length ? 0 : AROUND;
    if (end - i > head + tail + 2) {
      for (let k = i; k < i + head; k++) listing.append(line(k));
      const first = i + head;
      const last = end - tail;
      const fold = make("button", { type: "button", class: "fold" },
        `${last - first} unchanged lines`);
      fold.addEventListener("click", () => fold.replaceWith(
        ...Array.from({ length: last - first }, (_, k) => line(first + k))));
      listing.append(fold);
      i = last;
    }
    for (; i < Math.max(end, 1); i++) if (i < stage.lines.length) listing.append(line(i));
    if (i < stage.lines.length && i >= end) listing.append(line(i++));
  }
  if (isChanged(stage) && stage.after !== null && !changed) {
    block.append(make("p", { class: "note" },
      "The text is the same: what changed are widths of constants or other things it leaves out."));
  }
  return block;
}

function showCode(title, text, section) {
  show(make("header", {}, make("p", { class: "where" }, section.title), make("h2", {}, title)),
    make("pre", { class: "code" }, text));
}

buildList();
const first = Math.max(0, pages.findIndex((page) => page.kind === "changed"));
const go = () => open(location.hash ? Number(location.hash.slice(1)) : first);
addEventListener("hashchange", go);
addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step) {
    event.preventDefault();
    move(step);
  }
});
if (pages.length) go();
else show(make("p", { class: "note" }, "Nothing was rewritten: the program computed nothing."));
