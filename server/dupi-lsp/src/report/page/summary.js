// The figures: how much, of what, and whether it gets better.

function drawHead() {
  document.title = visible(`Duplicated code in ${data.name || "a workspace"}`);
  replace(byId("title"), "Duplicated code", data.name && [" in ", el("bdi", {}, data.name)]);
  const written = new Date(data.written * 1000).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  const skipped = data.nSkipped ? ` (${grouped(data.nSkipped)} skipped)` : "";
  const scanned = `${count(data.nFiles, "file", "files")}${skipped}, ${count(data.lines, "line", "lines")}`;
  replace(byId("subtitle"), `${scanned} · written ${written} by ${data.tool}`);
}

function drawSummary() {
  const figure = (value, label, main) =>
    el("div", { class: main ? "figure main" : "figure" }, el("dt", {}, label), el("dd", {}, value));
  replace(
    byId("summary"),
    el(
      "dl",
      { class: "figures" },
      figure(percent(data.percent), "of all lines are duplicated", true),
      figure(grouped(data.duplicatedLines), "duplicated lines"),
      figure(grouped(data.nClasses), data.nClasses === 1 ? "class" : "classes"),
      figure(grouped(data.copies.file.length), "copies"),
    ),
  );
}

/** Per language and per zone; rows of nothing are left out. */
function drawTables() {
  const languages = data.languageNames.map((name) => ({ name, files: 0, lines: 0, duplicated: 0, classes: 0 }));
  data.files.language.forEach((language, i) => {
    languages[language].files += 1;
    languages[language].lines += data.files.lines[i];
    languages[language].duplicated += data.files.duplicated[i];
  });
  data.classes.language.forEach((language) => (languages[language].classes += 1));
  const zones = data.zoneNames.map((name, i) => ({ name, classes: 0, copies: 0, lines: data.zoneLines[i] }));
  data.classes.zone.forEach((zone, i) => {
    zones[zone].classes += 1;
    zones[zone].copies += data.classes.copies[i];
  });
  const byLines = (a, b) => b.lines - a.lines;
  replace(
    byId("tables"),
    table(
      "By language",
      ["Language", "Files", "Lines", "Classes", "Duplicated"],
      languages.sort(byLines).map((row) => [row.name, row.files, row.lines, row.classes, meter(share(row))]),
    ),
    data.nClasses > 0 &&
      table(
        "By zone",
        ["Zone", "Classes", "Copies", "Duplicated lines"],
        zones.filter((row) => row.classes > 0).map((row) => [row.name, row.classes, row.copies, row.lines]),
      ),
  );
}

/** Figures are put to the right, columns named in `words` to the left. */
function table(title, heads, rows, words = []) {
  const side = (i) => ({ class: words.includes(heads[i]) ? "words" : null });
  const cell = (value, i) => {
    if (i === 0) return el("th", { scope: "row" }, value);
    return el("td", side(i), typeof value === "number" ? grouped(value) : value);
  };
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "plain" },
      el("caption", {}, title),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((head, i) => el("th", { scope: "col", ...side(i) }, head)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", {}, row.map(cell))),
      ),
    ),
  );
}

/** A share as a bar, with its figure beside it: the bar alone would say nothing to who cannot see it. */
function meter(value) {
  const bar = el("span", { class: "bar", style: { width: `${Math.min(value, 100)}%` } });
  return el("span", { class: "meter" }, el("span", { class: "track", "aria-hidden": "true" }, bar), percent(value));
}

/** Share over time, if there are earlier runs; the last point is this one. */
function drawTrend() {
  if (data.history.length === 0) return;
  const { percent: now, nClasses, lines, duplicatedLines } = data;
  const runs = [...data.history, { label: "this report", percent: now, classes: nClasses, lines, duplicatedLines }];
  const change = now - runs[runs.length - 2].percent;
  const words =
    Math.abs(change) < 0.05 ? "as before" : `${change > 0 ? "up" : "down"} ${Math.abs(change).toFixed(1)} points`;
  const section = byId("trend");
  section.hidden = false;
  replace(
    section,
    el("h2", { id: "trend-title" }, "Trend"),
    el("p", { class: "quiet" }, `${percent(now)} duplicated, ${words} since ${runs[runs.length - 2].label}`),
    chart(runs),
    el(
      "details",
      {},
      el("summary", {}, "As a table"),
      table(
        "Runs",
        ["Run", "Lines", "Classes", "Duplicated lines", "Share"],
        runs.map((run) => [run.label, run.lines, run.classes, run.duplicatedLines, percent(run.percent)]),
      ),
    ),
  );
}

const CHART = { height: 150, left: 56, right: 16, top: 14, bottom: 26 };

function chart(runs) {
  const { height, left, right, top, bottom } = CHART;
  // As wide as there is room, since letters are not to be scaled.
  const width = Math.max(byId("trend").clientWidth - 32, 280);
  const most = Math.max(...runs.map((run) => run.percent), 1) * 1.1;
  const x = (i) => left + ((width - left - right) * i) / (runs.length - 1);
  const y = (value) => height - bottom - ((height - top - bottom) * value) / most;
  const points = runs.map((run, i) => `${x(i).toFixed(1)},${y(run.percent).toFixed(1)}`).join(" ");
  const label = (i, anchor) =>
    svg("text", { x: x(i), y: height - 6, "text-anchor": anchor }, runs[i].label.slice(0, 40));
  const words = `Duplicated share of ${runs.length} runs, from ${percent(runs[0].percent)} to ${percent(data.percent)}`;
  return svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    [0, most / 2, most]
      .map((value) => [
        svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, percent(value)),
      ])
      .flat(),
    svg("polyline", { class: "line", points }),
    runs.map((run, i) =>
      svg(
        "circle",
        { class: "point", cx: x(i), cy: y(run.percent), r: i === runs.length - 1 ? 5 : 3.5 },
        svg("title", {}, `${run.label}: ${percent(run.percent)}, ${count(run.classes, "class", "classes")}`),
      ),
    ),
    label(0, "start"),
    label(runs.length - 1, "end"),
  );
}

/** The files with the most duplicated lines in the folder that is looked at. */
const MOST_FILES = 12;

function drawFiles(node) {
  const { path, duplicated, lines } = data.files;
  const inside = [];
  for (let i = node.first; i <= node.last; i++) if (duplicated[i] > 0) inside.push(i);
  inside.sort((a, b) => duplicated[b] - duplicated[a] || a - b);
  const section = byId("files");
  section.hidden = inside.length === 0;
  const cut = node.path ? node.path.length + 1 : 0;
  replace(
    section,
    el("h2", { id: "files-title" }, "Files with the most duplicated lines"),
    el(
      "ol",
      { class: "files" },
      inside
        .slice(0, MOST_FILES)
        .map((i) =>
          el(
            "li",
            {},
            el("a", { href: toFile(path[i]), title: path[i] }, pathParts(path[i].slice(cut))),
            el("span", { class: "number" }, count(duplicated[i], "line", "lines")),
            meter((100 * duplicated[i]) / Math.max(lines[i], 1)),
          ),
        ),
    ),
    inside.length > MOST_FILES &&
      el("p", { class: "quiet" }, `… and ${grouped(inside.length - MOST_FILES)} more files; the map leads to each`),
  );
}
