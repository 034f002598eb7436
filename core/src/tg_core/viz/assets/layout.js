"use strict";

// A layered drawing of an acyclic graph: readers below what they read.
// Method: K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical
// System Structures", IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981.

const LAYER_GAP = 34;
const NODE_GAP = 14;
const WAYPOINT_WIDTH = 6;
const SWEEPS = 8;

// boxes: [{id, width, height}] sources first; edges: [[from, to]] ids.
// Returns {width, height, boxes: [{id, x, y, width, height}], edges: [{from, to, points}]}.
function layoutGraph(boxes, edges) {
  const items = new Map(
    boxes.map((box) => [box.id, { ...box, layer: 0, up: [], down: [], real: true }]),
  );
  const readers = new Map(boxes.map((box) => [box.id, []]));
  for (const [from, to] of edges) readers.get(from).push(to);
  // from the last reader up: a source stands right above the deepest of its readers
  for (let i = boxes.length - 1; i >= 0; i--) {
    const item = items.get(boxes[i].id);
    for (const reader of readers.get(item.id)) {
      item.layer = Math.max(item.layer, items.get(reader).layer + 1);
    }
  }
  const count = Math.max(0, ...[...items.values()].map((item) => item.layer)) + 1;
  const layers = Array.from({ length: count }, () => []);
  for (const item of items.values()) {
    item.layer = count - 1 - item.layer;
    layers[item.layer].push(item);
  }
  const routes = edges.map(([from, to]) => addRoute(items.get(from), items.get(to), layers));
  order(layers);
  const size = place(layers);
  return {
    ...size,
    boxes: [...items.values()],
    edges: routes.map((route) => ({
      from: route[0].id,
      to: route[route.length - 1].id,
      points: route.map((item, i) => [
        item.x + item.width / 2,
        item.y + (i === 0 ? item.height : i === route.length - 1 ? 0 : item.height / 2),
      ]),
    })),
  };
}

// An edge over several layers gets a waypoint in each, so that boxes make way for it.
function addRoute(from, to, layers) {
  const route = [from];
  for (let layer = from.layer + 1; layer < to.layer; layer++) {
    const shared = from.waypoints && from.waypoints[layer];
    const waypoint = shared || {
      id: -1, layer, width: WAYPOINT_WIDTH, height: 0, up: [], down: [], real: false,
    };
    if (!shared) {
      // edges from one source run together until they have to part
      (from.waypoints = from.waypoints || {})[layer] = waypoint;
      layers[layer].push(waypoint);
    }
    route.push(waypoint);
  }
  route.push(to);
  for (let i = 1; i < route.length; i++) {
    if (!route[i].up.includes(route[i - 1])) {
      route[i].up.push(route[i - 1]);
      route[i - 1].down.push(route[i]);
    }
  }
  return route;
}

function order(layers) {
  const number = (layer) => layer.forEach((item, i) => { item.position = i; });
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const downwards = sweep % 2 === 0;
    const sequence = downwards ? layers : [...layers].reverse();
    for (const layer of sequence) {
      for (const item of layer) {
        const near = downwards ? item.up : item.down;
        item.wish = near.length
          ? near.reduce((sum, other) => sum + other.position, 0) / near.length
          : item.position;
      }
      layer.sort((a, b) => a.wish - b.wish);
      number(layer);
    }
  }
}

function place(layers) {
  let y = 0;
  for (const layer of layers) {
    let x = 0;
    for (const item of layer) {
      item.x = x;
      item.y = y;
      x += item.width + NODE_GAP;
    }
    y += Math.max(0, ...layer.map((item) => item.height)) + LAYER_GAP;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const downwards = sweep % 2 === 1;
    for (const layer of downwards ? layers : [...layers].reverse()) {
      align(layer, downwards ? (item) => item.up : (item) => item.down);
    }
  }
  const all = layers.flat();
  const left = all.length ? Math.min(...all.map((item) => item.x)) : 0;
  for (const item of all) item.x -= left;
  return {
    width: Math.max(0, ...all.map((item) => item.x + item.width)),
    height: Math.max(0, y - LAYER_GAP),
  };
}

// Move boxes towards their neighbours. Boxes that would overlap move as one block to the mean of
// their wishes, which keeps the order and is the least total movement.
function align(layer, neighbours) {
  const blocks = [];
  let offset = 0;
  for (const item of layer) {
    const near = neighbours(item);
    const centers = near.map((other) => other.x + other.width / 2).sort((a, b) => a - b);
    const middle = centers.length >> 1;
    const median = centers.length % 2
      ? centers[middle]
      : (centers[middle - 1] + centers[middle]) / 2;
    const wish = near.length ? median - item.width / 2 : item.x;
    blocks.push({ items: [item], sum: wish - offset, weight: 1, offsets: [offset] });
    offset += item.width + NODE_GAP;
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1];
      const previous = blocks[blocks.length - 2];
      if (previous.sum / previous.weight <= last.sum / last.weight) break;
      previous.items.push(...last.items);
      previous.offsets.push(...last.offsets);
      previous.sum += last.sum;
      previous.weight += last.weight;
      blocks.pop();
    }
  }
  for (const block of blocks) {
    const start = block.sum / block.weight;
    block.items.forEach((item, i) => { item.x = start + block.offsets[i]; });
  }
}
