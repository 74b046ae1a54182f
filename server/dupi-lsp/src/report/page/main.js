// Puts the page together, and follows the address.

/** What was drawn last, so that only what has changed is drawn again. */
const drawn = { folder: null, width: 0, view: null };
let turn = 0;

async function render() {
  const at = route();
  const view = at.class ? `class ${at.class}` : at.file ? `file ${at.file}` : "";
  const isNew = view !== drawn.view;
  const hadView = drawn.view;
  drawn.view = view;
  byId("overview").hidden = view !== "";
  byId("detail").hidden = view === "";
  filterClasses(at);
  if (!view) {
    drawFolder(at.folder ?? "");
    if (isNew && hadView) returnToList();
    return;
  }
  const now = ++turn;
  if (at.class) await drawClass(at, () => now === turn);
  else drawFile(at);
  if (isNew && now === turn) {
    window.scrollTo(0, 0);
    byId("detail").querySelector("h2").focus({ preventScroll: true });
  }
}

/** Map, matrix and files of a folder. */
function drawFolder(path) {
  const width = byId("story").clientWidth;
  if (drawn.folder === path && drawn.width === width) return;
  const hadFocus = byId("map").contains(document.activeElement);
  Object.assign(drawn, { folder: path, width });
  const node = inner(data.folders.get(path) ?? data.root);
  drawTrend();
  drawMap(node);
  drawSharing(node);
  drawFiles(node);
  // Who went into a folder by key goes on from there.
  if (hadFocus) byId("map").querySelector(".treemap a, .crumbs a")?.focus();
}

/** Who comes back finds the list as it was left. */
function returnToList() {
  if (data.nClasses > 0 && list.ranks.length > 0) focusRow(list.current);
}

const THEMES = ["auto", "light", "dark"];

/** What the system says, until somebody wants it otherwise; remembered where the browser allows it. */
function setUpTheme() {
  const button = byId("theme");
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    replace(button, `Colours: ${theme}`);
  };
  const stored = (change) => {
    try {
      return change(localStorage);
    } catch {
      return null;
    }
  };
  const remembered = stored((storage) => storage.getItem("dupi-theme"));
  show(THEMES.includes(remembered) ? remembered : "auto");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
    show(next);
    stored((storage) => storage.setItem("dupi-theme", next));
  });
  button.hidden = false;
}

function setUpKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !typing && byId("filter-q")) {
      event.preventDefault();
      if (drawn.view) go(toOverview());
      requestAnimationFrame(() => byId("filter-q").focus());
    }
    if (event.key === "Escape" && !typing && drawn.view) go(toOverview());
  });
  byId("skip").addEventListener("click", (event) => {
    // The address is taken: a fragment says where the reader is.
    event.preventDefault();
    (list.rows.get(list.current)?.firstChild ?? byId("classes")).focus();
  });
}

async function main() {
  setUpTheme();
  try {
    await load();
  } catch (error) {
    replace(
      byId("main"),
      el(
        "p",
        { class: "alert", role: "alert" },
        `This report cannot be opened: ${error.message}. It may be damaged, or cut off on its way.`,
      ),
    );
    return;
  }
  drawHead();
  drawSummary();
  drawTables();
  drawClasses();
  byId("loading").remove();
  byId("main").removeAttribute("aria-busy");
  render();
  setUpKeys();
  window.addEventListener("hashchange", render);
  window.addEventListener("beforeprint", drawRowsForPrint);
  window.addEventListener("afterprint", drawRows);
  window.addEventListener("resize", () => !drawn.view && drawFolder(drawn.folder));
  performance.mark("drawn");
}

main();
