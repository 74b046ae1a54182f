// Which folders share code with which: a matrix of the parts of the folder that is looked at. A cell filters the list.

/** Rows that still fit beside the list and can be read. */
const MOST_PARTS = 12;
/** A class in more parts than this is counted for the first of them: pairs must not grow with the square. */
const MOST_PAIRED = 16;

function drawSharing(node) {
  const section = byId("sharing");
  const { parts, lines, classes, totals } = shared(node);
  const worst = parts.map((_, i) => i).filter((i) => totals[i] > 0);
  worst.sort((a, b) => totals[b] - totals[a]);
  const shown = worst.slice(0, MOST_PARTS);
  section.hidden = shown.length === 0;
  if (section.hidden) return;
  const most = Math.max(...shown.flatMap((i) => shown.map((j) => lines.get(key(i, j)) ?? 0)));
  const cell = (i, j) => {
    const n = lines.get(key(i, j));
    if (!n) return el("td", {}, el("span", { class: "none", "aria-hidden": "true" }, "·"));
    const where = i === j ? `within ${parts[i].name}` : `shared by ${parts[i].name} and ${parts[j].name}`;
    const words = `${count(n, "line", "lines")} in ${count(classes.get(key(i, j)), "class", "classes")} ${where}`;
    const href = address({ a: parts[i].path, b: parts[j].path });
    return el(
      "td",
      {},
      el(
        "a",
        { class: `cell m${depth(n, most)}`, href, title: words },
        el("span", { "aria-hidden": "true" }, short(n)),
        el("span", { class: "hidden" }, words),
      ),
    );
  };
  const name = (i) => el("bdi", { title: placeWords(parts[i].path) }, parts[i].name);
  const body = el(
    "tbody",
    {},
    // Below the diagonal only: above it would be the same.
    shown.map((i, at) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, name(i)),
        shown.slice(0, at + 1).map((j) => cell(i, j)),
      ),
    ),
  );
  const heads = el(
    "tr",
    {},
    el("td", {}),
    shown.map((i) => el("th", { scope: "col" }, el("span", {}, name(i)))),
  );
  replace(
    section,
    el("h2", { id: "sharing-title" }, "Shared code"),
    el("p", { class: "quiet" }, sharingWords(node, worst.length, shown.length)),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { class: "matrix" },
        el("caption", { class: "hidden" }, "Lines that parts of the folder share"),
        el("thead", {}, heads),
        body,
      ),
    ),
  );
  rove(body);
}

function sharingWords(node, n, nShown) {
  const which = n > nShown ? `the ${nShown} of ${n} parts` : "the parts";
  const outside = node.path ? ", or share with others" : "";
  return `Lines that ${which} of ${node.path || data.name} have in common${outside}; a cell shows their classes`;
}

const key = (i, j) => (i < j ? i * 1048576 + j : j * 1048576 + i);

/** 1 to 5 by orders of magnitude: a few folders share most. */
const depth = (n, most) => Math.max(1, Math.ceil((5 * Math.log(n + 1)) / Math.log(most + 1)));

/** What a folder is made of, for the matrix; outside of it is a part, too, that shares with those inside. */
function partsOf(node) {
  const inside = tiles(node, Infinity);
  const folders = inside.filter((item) => item.node).map((item) => ({ path: item.node.path, name: item.name }));
  const files = inside.filter((item) => item.file !== undefined);
  // Beside folders, single files would be rows of one cell each.
  const own =
    folders.length === 0
      ? files.map((item) => ({ path: data.files.path[item.file], name: item.name }))
      : files.length > 0
        ? [{ path: ownFiles(node.path), name: "files here" }]
        : [];
  const elsewhere = node.path ? [{ path: outsideOf(node.path), name: "elsewhere", isOutside: true }] : [];
  return [...folders, ...own, ...elsewhere];
}

/** The lines and the classes that each two parts of a folder share, and of each part all lines that it shares. */
function shared(node) {
  const parts = partsOf(node);
  const partOf = new Int32Array(data.nFiles).fill(-1);
  parts.forEach((part, i) => filesIn(part.path, (file) => (partOf[file] = i)));
  const [lines, classes, totals] = [new Map(), new Map(), parts.map(() => 0)];
  const add = (a, b, n) => {
    lines.set(key(a, b), (lines.get(key(a, b)) ?? 0) + n);
    classes.set(key(a, b), (classes.get(key(a, b)) ?? 0) + 1);
    totals[a] += n;
    if (a !== b) totals[b] += n;
  };
  for (let c = 0; c < data.nClasses; c++) {
    const copies = new Map();
    for (let i = data.firstCopy[c]; i < data.firstCopy[c + 1]; i++) {
      const part = partOf[data.copies.file[i]];
      if (part >= 0) copies.set(part, (copies.get(part) ?? 0) + 1);
    }
    const own = [...copies.keys()].slice(0, MOST_PAIRED);
    own.forEach((a, i) => {
      if (copies.get(a) > 1 && !parts[a].isOutside) add(a, a, data.classes.lines[c] * (copies.get(a) - 1));
      own.slice(i + 1).forEach((b) => add(a, b, data.classes.lines[c]));
    });
  }
  return { parts, lines, classes, totals };
}
