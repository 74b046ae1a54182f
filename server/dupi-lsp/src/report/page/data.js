// What the report knows, unpacked: columns of files, classes and copies, and the folders that the files make.

/** Columns as they were written; and what follows from them. Set once, by `load`. */
let data;

async function unpack(element) {
  const packed = atob(element.textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

async function load() {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack it");
  data = await unpack(byId("columns"));
  data.nClasses = data.classes.id.length;
  data.nFiles = data.files.path.length;
  // Copies of class c are at firstCopy[c] … firstCopy[c + 1].
  data.firstCopy = new Uint32Array(data.nClasses + 1);
  data.classes.copies.forEach((n, i) => (data.firstCopy[i + 1] = data.firstCopy[i] + n));
  data.classById = new Map(data.classes.id.map((id, i) => [id, i]));
  data.root = folders();
}

/** What a person is to know of one class. */
function classAt(i) {
  const { classes, kindNames, zoneNames, languageNames } = data;
  return {
    rank: i,
    id: classes.id[i],
    kind: kindNames[classes.kind[i]],
    zone: zoneNames[classes.zone[i]],
    language: languageNames[classes.language[i]],
    tokens: classes.tokens[i],
    lines: classes.lines[i],
    similarity: classes.similarity[i],
    nCopies: classes.copies[i],
    first: data.firstCopy[i],
  };
}

function copyAt(i) {
  const { file, start, end } = data.copies;
  return { file: file[i], path: data.files.path[file[i]], start: start[i], end: end[i] };
}

const lineRange = ({ start, end }) => (start === end ? `${start}` : `${start}–${end}`);

/** How alike, in words. */
const likeness = ({ kind, similarity }) => (kind === "exact" ? kind : `${kind} ${similarity} %`);

/**
 * The tree of folders. Files are in the order of their paths, so those of a folder are next to each other: `first` and
 * `last` tell whether a file is in it without looking at its path.
 */
function folders() {
  const { path, lines, duplicated } = data.files;
  const root = folder("", data.name, null);
  const known = new Map([["", root]]);
  path.forEach((name, i) => {
    const node = folderOf(name.slice(0, Math.max(name.lastIndexOf("/"), 0)), known);
    node.files.push(i);
    for (let at = node; at; at = at.parent) {
      at.lines += lines[i];
      at.duplicated += duplicated[i];
      at.first = Math.min(at.first, i);
      at.last = Math.max(at.last, i);
    }
  });
  data.folders = known;
  return root;
}

function folder(path, name, parent) {
  return { path, name, parent, folders: [], files: [], lines: 0, duplicated: 0, first: Infinity, last: -1 };
}

function folderOf(path, known) {
  const found = known.get(path);
  if (found) return found;
  const slash = path.lastIndexOf("/");
  const parent = folderOf(path.slice(0, Math.max(slash, 0)), known);
  const node = folder(path, path.slice(slash + 1), parent);
  parent.folders.push(node);
  known.set(path, node);
  return node;
}

/** Past folders that hold nothing but one folder: nobody wants to click through src/main/java. */
function inner(node) {
  while (node.files.length === 0 && node.folders.length === 1) node = node.folders[0];
  return node;
}

// A place is a folder or a file by its path, the files right in a folder, or all that is outside of one. Paths are
// relative and have no part `.`, so the marks of the last two are never part of one.
const ownFiles = (path) => (path ? `${path}/.` : ".");
const outsideOf = (path) => `/${path}`;

/** Calls `visit` with each file of a place; of one that the report does not know, with none. */
function filesIn(place, visit) {
  const range = (from, to) => {
    for (let file = from; file < to; file++) visit(file);
  };
  const node = data.folders.get(place);
  if (node) return range(node.first, node.last + 1);
  const own = place === "." ? data.root : place.endsWith("/.") && data.folders.get(place.slice(0, -2));
  if (own) return own.files.forEach(visit);
  const outside = place.startsWith("/") && data.folders.get(place.slice(1));
  if (outside) return (range(0, outside.first), range(outside.last + 1, data.nFiles));
  const file = data.files.path.indexOf(place);
  if (file >= 0) visit(file);
}

function placeWords(place) {
  if (place.startsWith("/")) return `outside of ${place.slice(1)}`;
  if (place === ".") return "right at the top";
  return place.endsWith("/.") ? `right in ${place.slice(0, -2)}` : `in ${place}`;
}

const share = ({ duplicated, lines }) => (lines === 0 ? 0 : (100 * duplicated) / lines);

/** The texts of a class's copies, or null if the page has none: `[text, spans]` each. */
async function textsOf(rank) {
  const { first, end } = data.texts;
  if (rank >= end) return null;
  // The texts stand last in the page, which may still be on its way.
  if (document.readyState === "loading") {
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  }
  let chunk = first.length - 1;
  while (first[chunk] > rank) chunk -= 1;
  const texts = (await unpack(byId(`texts-${chunk}`)))[rank - first[chunk]];
  return texts.map((text) => (typeof text === "number" ? texts[text] : text));
}
