// The map of the workspace: one tile for each folder or file, as large as its lines, the darker the more of it is
// duplicated. A tile of a folder goes in, a tile of a file opens its page.

/** Smaller tiles could neither be read nor hit; all of them together are one. */
const MOST_TILES = 90;
/** What is seen of a folder from outside. */
const MOST_PARTS_IN_TILE = 60;
/** From here on a folder shows what is in it. */
const NESTED = { width: 90, height: 64, head: 22 };
/** Steps of the scale, in percent; below the first a tile counts as clean. */
const STEPS = [1, 3, 6, 12, 25];

const step = (value) => STEPS.filter((least) => value >= least).length;

function drawMap(node) {
  const section = byId("map");
  replace(
    section,
    el("h2", { id: "map-title" }, "Map"),
    crumbs(node),
    el("nav", { class: "treemap", "aria-label": `Folders and files of ${node.path || data.name}` }),
    legend(),
  );
  const area = section.querySelector(".treemap");
  const { clientWidth: width, clientHeight: height } = area;
  for (const { item, x, y, w, h } of squarify(tiles(node, MOST_TILES), width, height))
    area.append(tile(item, x, y, w, h));
  rove(area);
}

/** What is directly in a folder, largest first; what is too small for a tile is put together. */
function tiles(node, most) {
  const { path, lines, duplicated } = data.files;
  const inside = [
    ...node.folders.map((each) => ({ node: inner(each), lines: each.lines, duplicated: each.duplicated })),
    ...node.files.map((file) => ({
      file,
      name: path[file].slice(path[file].lastIndexOf("/") + 1),
      lines: lines[file],
      duplicated: duplicated[file],
    })),
  ];
  const cut = node.path ? node.path.length + 1 : 0;
  for (const item of inside) item.name ??= item.node.path.slice(cut);
  inside.sort((a, b) => b.lines - a.lines);
  const rest = inside.splice(most);
  if (rest.length > 0) {
    const sum = (key) => rest.reduce((n, item) => n + item[key], 0);
    inside.push({ name: `${grouped(rest.length)} more`, lines: sum("lines"), duplicated: sum("duplicated") });
    inside.sort((a, b) => b.lines - a.lines);
  }
  return inside.filter((item) => item.lines > 0);
}

function tile(item, x, y, w, h) {
  const value = share(item);
  const name = item.node ? `${item.name}/` : item.name;
  const words = `: ${count(item.lines, "line", "lines")}, ${percent(value)} duplicated`;
  const attributes = { class: `tile s${step(value)}`, style: box(x, y, w - 2, h - 2), title: name + words };
  const labelled = w > 44 && h > 20;
  const nests = item.node && w > NESTED.width && h > NESTED.height;
  const inside = [
    labelled &&
      el(
        "span",
        { class: "label" },
        el("bdi", {}, name),
        w > 110 && el("span", { "aria-hidden": "true" }, percent(value)),
      ),
    el("span", { class: "hidden" }, labelled ? words : name + words),
    nests && texture(item.node, w - 8, h - NESTED.head - 5),
  ];
  if (item.node) return el("a", { ...attributes, href: toFolder(item.node.path) }, inside);
  if (item.file !== undefined) return el("a", { ...attributes, href: toFile(data.files.path[item.file]) }, inside);
  return el("span", attributes, inside);
}

const box = (x, y, w, h) => ({
  left: `${x}px`,
  top: `${y}px`,
  width: `${Math.max(w, 1)}px`,
  height: `${Math.max(h, 1)}px`,
});

/** A look into a folder: only to be seen, since the folder itself is what can be clicked. */
function texture(node, width, height) {
  const parts = squarify(tiles(node, MOST_PARTS_IN_TILE), width, height).filter(({ w, h }) => w > 3 && h > 3);
  const part = ({ item, x, y, w, h }) =>
    el(
      "span",
      {
        class: `part s${step(share(item))}`,
        style: { left: `${x}px`, top: `${y}px`, width: `${w - 1}px`, height: `${h - 1}px` },
      },
      w > 50 && h > 18 && el("bdi", {}, item.name),
    );
  return el("span", { class: "texture", "aria-hidden": "true" }, parts.map(part));
}

/** The way back. */
function crumbs(node) {
  const way = [];
  for (let at = node; at; at = at.parent) way.unshift(at);
  const crumb = (at, i) =>
    el(
      "li",
      {},
      i === way.length - 1
        ? el("span", { "aria-current": "location" }, el("bdi", {}, at.name || "/"))
        : el("a", { href: toFolder(at.path) }, el("bdi", {}, at.name || "/")),
    );
  return el("nav", { "aria-label": "Where the map is" }, el("ol", { class: "crumbs" }, way.map(crumb)));
}

function legend() {
  const names = [
    `under ${STEPS[0]} %`,
    ...STEPS.map((least, i) => (i + 1 < STEPS.length ? `${least}–${STEPS[i + 1]} %` : `${least} % and more`)),
  ];
  return el(
    "p",
    { class: "legend" },
    "Duplicated:",
    names.map((name, i) => el("span", {}, el("span", { class: `swatch s${i}`, "aria-hidden": "true" }), name)),
  );
}

/**
 * Rectangles for items in order of size, as square as can be (Bruls, Huizing and van Wijk, 2000): a row along the
 * shorter side takes items for as long as its worst rectangle gets better.
 */
function squarify(items, width, height) {
  const total = items.reduce((n, item) => n + item.lines, 0);
  const scale = (width * height) / Math.max(total, 1);
  const placed = [];
  let [x, y, w, h] = [0, 0, width, height];
  for (let i = 0; i < items.length;) {
    const side = Math.min(w, h);
    let [sum, end, best] = [0, i, Infinity];
    while (end < items.length) {
      const next = sum + items[end].lines * scale;
      const ratio = worst(items[i].lines * scale, items[end].lines * scale, next, side);
      if (ratio > best) break;
      [sum, end, best] = [next, end + 1, ratio];
    }
    const depth = side > 0 ? sum / side : 0;
    let along = 0;
    for (const item of items.slice(i, end)) {
      const length = depth > 0 ? (item.lines * scale) / depth : 0;
      placed.push(
        w >= h ? { item, x, y: y + along, w: depth, h: length } : { item, x: x + along, y, w: length, h: depth },
      );
      along += length;
    }
    [x, y, w, h] = w >= h ? [x + depth, y, w - depth, h] : [x, y + depth, w, h - depth];
    i = end;
  }
  return placed;
}

/** How far from a square the worst rectangle of a row is: that of its largest or of its smallest item. */
function worst(largest, smallest, sum, side) {
  const square = side * side;
  return Math.max((square * largest) / (sum * sum), (sum * sum) / (square * smallest));
}
