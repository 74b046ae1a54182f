// Elements and words. Whatever comes from a workspace gets into the page by `el`, as text and never as HTML.

/** Characters that steer, reorder or hide text: they are shown by their number, since no reader would see them. */
const STEERING =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const visible = (text) => String(text).replace(STEERING, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

const byId = (id) => document.getElementById(id);

/** An element. `on` has listeners, `style` goes through the object model (the policy forbids the attribute). */
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") Object.entries(value).forEach(([event, listener]) => element.addEventListener(event, listener));
    else if (name === "style") Object.entries(value).forEach(([key, part]) => element.style.setProperty(key, part));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, visible(value));
  }
  // Links and values are no text: a fragment must stay as it was encoded.
  for (const name of ["href", "value"]) if (attributes?.[name] != null) element.setAttribute(name, attributes[name]);
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat()) {
    if (child != null && child !== false) element.append(child instanceof Node ? child : visible(child));
  }
}

function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** A path in two parts, of which the folder is the one to be cut where there is no room: names tell more. */
function pathParts(path, after = "") {
  const slash = path.lastIndexOf("/") + 1;
  return [
    slash > 0 && el("bdi", { class: "folder" }, path.slice(0, slash)),
    el("bdi", { class: "base" }, path.slice(slash) + after),
  ];
}

/** 1234567 as 1 234 567, with a blank that does not break. */
const grouped = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const count = (n, one, many) => `${grouped(n)} ${n === 1 ? one : many}`;
const percent = (share) => `${share.toFixed(1)} %`;
/** 12 345 as 12k: what fits into a cell. */
const short = (n) => (n < 1000 ? String(n) : n < 1e6 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`);

/**
 * Arrows move among the links in `container`, and only one of them is reached by Tab: a map of a hundred tiles must not
 * cost a hundred keystrokes to get past.
 */
function rove(container) {
  const links = [...container.querySelectorAll("a")];
  links.forEach((link, i) => (link.tabIndex = i === 0 ? 0 : -1));
  container.onkeydown = (event) => {
    const at = links.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const to = { Home: 0, End: links.length - 1 }[event.key] ?? (step && at + step);
    if (at < 0 || to === undefined || !links[to]) return;
    event.preventDefault();
    links[at].tabIndex = -1;
    links[to].tabIndex = 0;
    links[to].focus();
  };
}
