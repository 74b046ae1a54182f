// The classes, worst first: filters, and a list that keeps only the rows in sight in the page.

const ROW = 64;
/** Rows above and below what is in sight, so that fast scrolling meets no gap. */
const SPARE = 8;

const SORTS = {
  "": { name: "Worst first", key: null },
  lines: { name: "Longest first", key: (i) => data.classes.lines[i] },
  copies: { name: "Most copies first", key: (i) => data.classes.copies[i] },
  alike: { name: "Most alike first", key: (i) => (data.classes.kind[i] === 0 ? 101 : data.classes.similarity[i]) },
};

/** What the list shows at the moment: ranks of classes, and which of them is reached by Tab. */
const list = { ranks: [], rows: new Map(), current: 0, filters: null };

function drawClasses() {
  const section = byId("classes");
  if (data.nClasses === 0) {
    replace(
      section,
      el("h2", { id: "classes-title" }, "Classes"),
      el(
        "div",
        { class: "empty" },
        el("p", { class: "big" }, "Nothing is duplicated here."),
        el(
          "p",
          { class: "quiet" },
          `${count(data.nFiles, "file", "files")} with ${count(data.lines, "line", "lines")} were compared.`,
        ),
      ),
    );
    return;
  }
  const used = (column, names) => names.filter((_, i) => column.includes(i));
  const { kind, zone, language } = data.classes;
  replace(
    section,
    el(
      "div",
      { class: "bar-head" },
      el("h2", { id: "classes-title" }, "Classes"),
      el("p", { id: "n-shown", class: "quiet", role: "status" }),
    ),
    el(
      "form",
      {
        class: "filters",
        role: "search",
        "aria-label": "Filter the classes",
        on: { submit: (event) => event.preventDefault() },
      },
      field(
        "q",
        "Search",
        el("input", { type: "search", placeholder: "path or id", autocomplete: "off", spellcheck: "false" }),
      ),
      field(
        "sort",
        "Order",
        el(
          "select",
          {},
          Object.entries(SORTS).map(([key, { name }]) => el("option", { value: key }, name)),
        ),
      ),
      choice("kind", "Kind", used(kind, data.kindNames)),
      choice("zone", "Zone", used(zone, data.zoneNames)),
      choice("lang", "Language", used(language, data.languageNames)),
      field("lines", "Lines, at least", el("input", { type: "number", min: "0", inputmode: "numeric" })),
      field("tokens", "Tokens, at least", el("input", { type: "number", min: "0", inputmode: "numeric" })),
    ),
    el("div", { id: "chips" }),
    el("div", { id: "scroller" }, el("ol", { id: "rows", "aria-label": "Classes" })),
    el(
      "div",
      { id: "nothing", class: "empty", hidden: true },
      el("p", {}, "No class fits these filters."),
      el("button", { type: "button", on: { click: clearFilters } }, "Clear the filters"),
    ),
  );
  const scroller = byId("scroller");
  scroller.addEventListener("scroll", drawRows, { passive: true });
  scroller.addEventListener("keydown", moveInList);
  new ResizeObserver(drawRows).observe(scroller);
}

function field(key, label, input) {
  input.id = `filter-${key}`;
  input.addEventListener(input.tagName === "SELECT" ? "change" : "input", () => adjust({ [key]: input.value.trim() }));
  return el("label", { class: `field ${key}` }, el("span", {}, label), input);
}

/** A choice of one or all; pointless where there is only one. */
function choice(key, label, names) {
  if (names.length < 2) return null;
  return field(
    key,
    label,
    el(
      "select",
      {},
      el("option", { value: "" }, "all"),
      names.map((name) => el("option", { value: name }, name)),
    ),
  );
}

const FILTERS = ["q", "kind", "zone", "lang", "lines", "tokens", "sort", "folder", "a", "b"];

function clearFilters() {
  adjust(Object.fromEntries(FILTERS.map((name) => [name, ""])));
  byId("filter-q").focus();
}

/** Applies what the address says, if it says something new. */
function filterClasses(at) {
  if (data.nClasses === 0) return;
  const filters = JSON.stringify(FILTERS.map((name) => at[name] ?? ""));
  if (filters === list.filters) return drawRows();
  list.filters = filters;
  for (const name of FILTERS) {
    const input = byId(`filter-${name}`);
    if (input && document.activeElement !== input) input.value = at[name] ?? "";
  }
  list.ranks = matching(at);
  list.current = 0;
  byId("scroller").scrollTop = 0;
  drawChips(at);
  const n = list.ranks.length;
  const all = n === data.nClasses;
  replace(byId("n-shown"), all ? grouped(n) : `${grouped(n)} of ${grouped(data.nClasses)}`);
  byId("nothing").hidden = n > 0;
  byId("scroller").hidden = n === 0;
  list.rows.forEach((row) => row.remove());
  list.rows.clear();
  byId("rows").style.height = `${n * ROW}px`;
  drawRows();
}

/** The ranks of the classes that pass all filters, in the order that is asked for. */
function matching(at) {
  const { kind, zone, language, lines, tokens } = data.classes;
  const is = (column, names, name) => {
    const wanted = names.indexOf(name);
    return name ? (i) => column[i] === wanted : null;
  };
  const least = (column, text) => (Number(text) > 0 ? (i) => column[i] >= Number(text) : null);
  const tests = [
    is(kind, data.kindNames, at.kind),
    is(zone, data.zoneNames, at.zone),
    is(language, data.languageNames, at.lang),
    least(lines, at.lines),
    least(tokens, at.tokens),
    at.folder ? hasCopies(at.folder, 1) : null,
    at.a ? hasCopies(at.a, at.a === at.b ? 2 : 1) : null,
    at.b && at.a !== at.b ? hasCopies(at.b, 1) : null,
    at.q ? mentions(at.q) : null,
  ].filter(Boolean);
  const ranks = [];
  for (let i = 0; i < data.nClasses; i++) if (tests.every((test) => test(i))) ranks.push(i);
  const by = SORTS[at.sort ?? ""]?.key;
  return by ? ranks.sort((i, j) => by(j) - by(i) || i - j) : ranks;
}

/** Does a class have so many copies in a place? */
function hasCopies(place, atLeast) {
  const inside = new Uint8Array(data.nFiles);
  filesIn(place, (file) => (inside[file] = 1));
  return countsCopies(inside, atLeast);
}

function countsCopies(files, atLeast) {
  return (c) => {
    let n = 0;
    for (let i = data.firstCopy[c]; i < data.firstCopy[c + 1] && n < atLeast; i++) n += files[data.copies.file[i]];
    return n >= atLeast;
  };
}

/** Is a text part of the id, or of the path of a copy? Each path is looked at once. */
function mentions(text) {
  const wanted = text.toLowerCase();
  const files = Uint8Array.from(data.files.path, (path) => (path.toLowerCase().includes(wanted) ? 1 : 0));
  const inPath = countsCopies(files, 1);
  return (c) => data.classes.id[c].startsWith(wanted) || inPath(c);
}

/** Filters that come from the map and the matrix, each with a way out of it. */
function drawChips(at) {
  const chip = (words, changes) =>
    el(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-label": `Remove the filter: ${words}`,
        on: { click: () => go(address(changes)) },
      },
      el("bdi", {}, words),
      el("span", { "aria-hidden": "true" }, " ×"),
    );
  replace(
    byId("chips"),
    at.folder && chip(placeWords(at.folder), { folder: "" }),
    at.a && at.b && chip(pairWords(at), { a: "", b: "" }),
  );
}

const pairWords = ({ a, b }) => (a === b ? `twice ${placeWords(a)}` : `${placeWords(a)} and ${placeWords(b)}`);

/** Puts the rows in sight into the page and takes the others out; the one that has the focus stays. */
function drawRows() {
  const scroller = byId("scroller");
  // On paper the list is as long as its rows: what is in sight would grow with what is drawn.
  if (!scroller || scroller.hidden || matchMedia("print").matches) return;
  const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - SPARE);
  const last = Math.min(list.ranks.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + SPARE);
  for (const [i, row] of list.rows) {
    if ((i < first || i >= last) && i !== list.current) {
      row.remove();
      list.rows.delete(i);
    }
  }
  for (let i = first; i < last; i++) if (!list.rows.has(i)) addRow(i);
  if (list.ranks.length > 0 && !list.rows.has(list.current)) addRow(list.current);
}

/** Paper does not scroll: it gets the worst classes, on a few pages. */
const PRINTED = 100;

function drawRowsForPrint() {
  for (let i = 0; i < Math.min(PRINTED, list.ranks.length); i++) if (!list.rows.has(i)) addRow(i);
}

function addRow(i) {
  const row = rowOf(i);
  // Screen readers follow the order of elements.
  const next = [...list.rows]
    .filter(([j]) => j > i)
    .reduce((best, each) => (best && best[0] < each[0] ? best : each), null);
  byId("rows").insertBefore(row, next?.[1] ?? null);
  list.rows.set(i, row);
}

function rowOf(i) {
  const found = classAt(list.ranks[i]);
  const where = copyAt(found.first);
  const others = found.nCopies - 1;
  return el(
    "li",
    { "aria-posinset": i + 1, "aria-setsize": list.ranks.length, style: { transform: `translateY(${i * ROW}px)` } },
    el(
      "a",
      {
        href: toClass(found.id),
        class: "row",
        tabindex: i === list.current ? 0 : -1,
        on: { focus: () => setCurrent(i) },
      },
      el("span", { class: "rank" }, grouped(found.rank + 1)),
      el(
        "span",
        { class: "what" },
        el(
          "span",
          { class: "head" },
          el("strong", {}, count(found.lines, "line", "lines")),
          ` in ${grouped(found.nCopies)} places `,
          el("span", { class: `badge ${found.kind}` }, likeness(found)),
          found.zone !== "code" && [" ", el("span", { class: "badge" }, found.zone)],
        ),
        el(
          "span",
          { class: "where" },
          pathParts(where.path, `:${where.start}`),
          el("span", { class: "others" }, others > 0 && ` and ${grouped(others)} more`),
        ),
      ),
      el("span", { class: "number" }, grouped(found.tokens * others), el("span", { class: "unit" }, "tokens to save")),
    ),
  );
}

function setCurrent(i) {
  const before = list.rows.get(list.current)?.firstChild;
  if (before) before.tabIndex = -1;
  list.current = i;
  const now = list.rows.get(i)?.firstChild;
  if (now) now.tabIndex = 0;
}

function moveInList(event) {
  const page = Math.max(1, Math.floor(byId("scroller").clientHeight / ROW) - 1);
  const last = list.ranks.length - 1;
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  if (!(event.key in steps)) return;
  event.preventDefault();
  focusRow(Math.min(last, Math.max(0, list.current + steps[event.key])));
}

/** Scrolls to a row, so that it is in the page, and gives it the focus. */
function focusRow(i) {
  const scroller = byId("scroller");
  const [top, bottom] = [i * ROW, (i + 1) * ROW];
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
  setCurrent(i);
  drawRows();
  list.rows.get(i)?.firstChild.focus({ preventScroll: true });
}
