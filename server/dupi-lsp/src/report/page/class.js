// One class: where its copies are, and two of them side by side.

/** Differences that are named in words; the rest is marked in the text anyway. */
const MOST_NAMED = 12;
/** Rows that are drawn at once: more would hold up the browser, and are a button away. */
const MOST_ROWS = 800;

/** The class that is open: choosing other copies of it must neither unpack its texts again nor lose the focus. */
const opened = { id: null, body: null, texts: null };

async function drawClass(at, isCurrent) {
  const rank = data.classById.get(at.class);
  if (rank === undefined) return drawUnknown(`This report has no class ${at.class}`);
  const found = classAt(rank);
  if (opened.id !== found.id || !opened.body.isConnected) {
    const body = drawClassHead(found);
    const texts = await textsOf(rank).catch((error) => error);
    if (!isCurrent()) return;
    Object.assign(opened, { id: found.id, body, texts });
  }
  const copies = Array.from({ length: found.nCopies }, (_, i) => copyAt(found.first + i));
  const focus = opened.body.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
  drawCopies(opened.body, copies, opened.texts, at);
  const same = (element) => focus && element.getAttribute("aria-label") === focus;
  [...opened.body.querySelectorAll("[aria-label]")].find(same)?.focus();
}

/** What is there before the texts are; gives the element for the rest. */
function drawClassHead(found) {
  const facts = [`${grouped(found.tokens)} tokens each`, found.zone, found.language, `id ${found.id}`];
  const body = el("div", { class: "comparison" }, el("p", { class: "quiet" }, "Unpacking …"));
  replace(
    byId("detail"),
    classSteps(found.rank),
    el("h2", { tabindex: "-1" }, `${count(found.lines, "line", "lines")} in ${grouped(found.nCopies)} places`),
    el(
      "p",
      { class: "facts" },
      el("span", { class: `badge ${found.kind}` }, likeness(found)),
      ` · ${facts.join(" · ")}`,
    ),
    body,
  );
  return body;
}

/** Back, and to the neighbours in the list as it is filtered. */
function classSteps(rank) {
  const i = list.ranks.indexOf(rank);
  const link = (to, words) =>
    list.ranks[to] === undefined || i < 0 ? null : el("a", { href: toClass(data.classes.id[list.ranks[to]]) }, words);
  return el(
    "nav",
    { class: "steps", "aria-label": "Classes" },
    el("a", { href: toOverview(), class: "back" }, "← All classes"),
    el("span", {}, link(i - 1, "Previous"), link(i + 1, "Next")),
  );
}

function drawCopies(body, copies, texts, at) {
  const why = !texts
    ? "The page has the texts of the worst classes only, and this is not one of them: a larger --text-limit has."
    : texts instanceof Error
      ? "The texts of this class cannot be unpacked: the file is damaged. Write it again."
      : null;
  const withText = why ? [] : copies.map((_, i) => i).filter((i) => texts[i]);
  if (withText.length === 0) {
    replace(
      body,
      el(
        "p",
        { class: "note" },
        why ?? "The files have changed since they were compared, so there is no text to show. Write the report again.",
      ),
      copyList(copies, []),
    );
    return;
  }
  const chosen = (name, otherwise) => (withText.includes(Number(at[name]) - 1) ? Number(at[name]) - 1 : otherwise);
  const left = chosen("left", withText[0]);
  const right = chosen("right", withText.find((i) => i !== left) ?? left);
  const lines = (i) => linesOf(texts[i], copies[i].start);
  const [ours, theirs] = [lines(left), lines(right)];
  const { differing, pairs } = compare(ours, theirs);
  const pick = (side, current) =>
    el(
      "select",
      { "aria-label": `Copy on the ${side}`, on: { change: (event) => adjust({ [side]: event.target.value }) } },
      withText.map((i) =>
        el("option", { value: i + 1, selected: i === current }, `${i + 1}. ${copies[i].path}:${lineRange(copies[i])}`),
      ),
    );
  const cutShort = [left, right].some((i) => lines(i).length < copies[i].end - copies[i].start + 1);
  replace(
    body,
    copies.length > 2 && copyList(copies, withText, right),
    differenceWords(differing.size, pairs),
    panes(
      [
        { head: pick("left", left), file: copies[left].path },
        { head: pick("right", right), file: copies[right].path },
      ],
      align(ours, theirs),
      differing,
    ),
    cutShort && el("p", { class: "note" }, "These copies are so long that the page has only their beginning."),
  );
}

/** All places; a click on "compare" puts one to the right. */
function copyList(copies, withText, right) {
  const entry = (copy, i) =>
    el(
      "li",
      {},
      el("a", { href: toFile(copy.path) }, el("bdi", {}, copy.path), `:${lineRange(copy)}`),
      withText.includes(i) &&
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(i === right),
            "aria-label": `Compare copy ${i + 1}`,
            on: { click: () => adjust({ right: String(i + 1) }) },
          },
          "compare",
        ),
    );
  const missing = withText.length > 0 && copies.length > withText.length;
  return el(
    "div",
    {},
    el("ol", { class: "copies", tabindex: "0", "aria-label": "Copies" }, copies.map(entry)),
    missing && el("p", { class: "quiet" }, `The page has the texts of ${withText.length} of them.`),
  );
}

function differenceWords(n, pairs) {
  if (n === 0) return el("p", { class: "differences" }, "No difference, blanks and comments aside.");
  const clip = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
  const named = pairs
    .slice(0, MOST_NAMED)
    .map(([ours, theirs, times]) =>
      el(
        "li",
        {},
        !ours ? "only right: " : !theirs && "only left: ",
        ours && el("code", {}, clip(ours)),
        ours && theirs && " → ",
        theirs && el("code", {}, clip(theirs)),
        times > 1 && ` ×${times}`,
      ),
    );
  const more = pairs.length - named.length;
  return el(
    "div",
    { class: "differences" },
    el("p", {}, `${count(n, "token differs", "tokens differ")}:`),
    el("ul", {}, named, more > 0 && el("li", { class: "quiet" }, `and ${grouped(more)} more`)),
  );
}

/** Two columns of lines, with gaps where only the other has one, so that what belongs together is level. */
function panes(sides, rows, differing) {
  const codes = sides.map(() => el("div", { class: "code", tabindex: "0", role: "group" }));
  const heads = sides.map(({ head, file }) =>
    el("div", { class: "pane-head" }, head, el("a", { href: toFile(file) }, "file")),
  );
  codes.forEach((code, i) => code.setAttribute("aria-label", i === 0 ? "Left copy" : "Right copy"));
  const more = el("button", { type: "button", on: { click: () => draw(rows.length) } }, "Show all lines");
  let drawn = 0;
  const draw = (end) => {
    for (const row of rows.slice(drawn, end))
      codes.forEach((code, side) => code.append(codeLine(row[side], differing)));
    drawn = Math.max(drawn, end);
    more.hidden = drawn >= rows.length;
  };
  draw(MOST_ROWS);
  // What is far to the right is far to the right on both sides.
  codes.forEach((code, i) =>
    code.addEventListener("scroll", () => (codes[1 - i].scrollLeft = code.scrollLeft), { passive: true }),
  );
  return el(
    "div",
    {},
    el(
      "div",
      { class: "panes" },
      sides.map((_, i) => el("div", { class: "pane" }, heads[i], codes[i])),
    ),
    more,
  );
}

const COLOURS = {
  k: "keyword",
  n: "name",
  s: "string",
  d: "number-literal",
  c: "comment",
  t: "text",
  p: "punctuation",
};

function codeLine(line, differing) {
  if (!line) return el("div", { class: "line gap" }, "\u00a0");
  const changed = line.pieces.some(({ token }) => token !== null && differing.has(token));
  return el(
    "div",
    { class: changed ? "line changed" : "line" },
    el("span", { class: "line-number" }, line.number),
    line.pieces.map(({ kind, text, token }) => {
      if (kind === "b") return text;
      return el(token !== null && differing.has(token) ? "mark" : "span", { class: COLOURS[kind] }, text);
    }),
  );
}

function drawUnknown(words) {
  replace(
    byId("detail"),
    el("nav", { class: "steps" }, el("a", { href: toOverview(), class: "back" }, "← All classes")),
    el("h2", { tabindex: "-1" }, words),
  );
}
