// Where the reader is: all of it stands in the address, so that Back works and a view can be sent to somebody.

/** What the address says: `class` or `file` is what is looked at, the rest are filters. */
const route = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

/** The address with some of it changed. Always a fragment, whatever the names in it. */
function address(changes) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...route(), ...changes })) if (value) query.set(key, value);
  return `#${query}`;
}

const toClass = (id) => address({ class: id, file: "", left: "", right: "" });
const toFile = (path) => address({ class: "", file: path, left: "", right: "" });
const toFolder = (path) => address({ class: "", file: "", folder: path, a: "", b: "" });
const toOverview = () => address({ class: "", file: "", left: "", right: "" });

function go(href) {
  location.hash = href;
}

/** Changes the address without a step to go back to: for what changes with every key that is pressed. */
function adjust(changes) {
  history.replaceState(null, "", address(changes));
  render();
}
