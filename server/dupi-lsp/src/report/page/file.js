// One file: which of its lines are copies, and of what.

/** Places of other copies that are named for each range. */
const MOST_OTHERS = 3;

function drawFile(at) {
  const { path, lines, duplicated, language } = data.files;
  const file = path.indexOf(at.file);
  if (file < 0) return drawUnknown(`This report has no file ${at.file}`);
  const ranges = rangesOf(file);
  const slash = path[file].lastIndexOf("/");
  const folder = path[file].slice(0, Math.max(slash, 0));
  const facts = [
    data.languageNames[language[file]],
    count(lines[file], "line", "lines"),
    `${grouped(duplicated[file])} duplicated`,
    percent((100 * duplicated[file]) / Math.max(lines[file], 1)),
  ];
  replace(
    byId("detail"),
    el(
      "nav",
      { class: "steps", "aria-label": "Report" },
      el("a", { href: toOverview(), class: "back" }, "← All classes"),
      folder && el("a", { href: toFolder(folder) }, el("bdi", {}, `${folder}/`)),
    ),
    el("h2", { tabindex: "-1" }, el("bdi", {}, path[file].slice(slash + 1))),
    el("p", { class: "facts" }, facts.join(" · ")),
    strip(ranges, lines[file]),
    ranges.length === 0 ? el("p", { class: "empty" }, "No line of this file is a copy.") : rangeTable(ranges),
  );
}

/** The copies in a file, in the order of their lines. */
function rangesOf(file) {
  const ranges = [];
  for (let c = 0; c < data.nClasses; c++) {
    for (let i = data.firstCopy[c]; i < data.firstCopy[c + 1]; i++) {
      if (data.copies.file[i] === file) ranges.push({ copy: copyAt(i), at: i, class: classAt(c) });
    }
  }
  return ranges.sort((a, b) => a.copy.start - b.copy.start || b.copy.end - a.copy.end);
}

/** The file from its first to its last line, with what is duplicated filled in. */
function strip(ranges, nLines) {
  const share = (line) => `${(100 * line) / Math.max(nLines, 1)}%`;
  const mark = ({ copy }) =>
    el("span", { class: "range", style: { left: share(copy.start - 1), width: share(copy.end - copy.start + 1) } });
  const words = `${count(ranges.length, "copy", "copies")} between line 1 and line ${nLines}`;
  return el(
    "div",
    { class: "strip-box" },
    el("div", { class: "strip", role: "img", "aria-label": words }, ranges.map(mark)),
    el(
      "p",
      { class: "ends", "aria-hidden": "true" },
      el("span", {}, "line 1"),
      el("span", {}, `line ${grouped(nLines)}`),
    ),
  );
}

function rangeTable(ranges) {
  return table(
    "Duplicated lines",
    ["Lines", "Copies", "Kind", "Also in"],
    ranges.map(({ copy, at, class: found }) => [
      el(
        "a",
        { href: toClass(found.id), "aria-label": `Lines ${lineRange(copy)}: compare the copies` },
        lineRange(copy),
      ),
      found.nCopies,
      el("span", { class: `badge ${found.kind}` }, likeness(found)),
      el("span", { class: "also" }, others(found, at)),
    ]),
    ["Kind", "Also in"],
  );
}

function others(found, own) {
  const places = [];
  for (let i = found.first; i < found.first + found.nCopies && places.length < MOST_OTHERS; i++)
    if (i !== own) places.push(copyAt(i));
  const more = found.nCopies - 1 - places.length;
  return [
    places.map((copy) => el("a", { href: toFile(copy.path) }, el("bdi", {}, copy.path), `:${lineRange(copy)}`)),
    more > 0 && el("span", { class: "quiet" }, `and ${grouped(more)} more`),
  ].flat();
}
