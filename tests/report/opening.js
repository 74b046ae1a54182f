// Prints, as JSON, what a reader waits for: `node tests/report/opening.js PAGE`, with the environment of `run`.
// Milliseconds: from the start of loading to when the list is drawn; to open the first class; to search for a letter.

import { drawn, launch, open } from "./browser.js";

const browser = await launch();
const page = await open(browser, process.argv[2]);
const toList = await drawn(page);

/** How long it takes from a change of the address to when something is in the page. */
const timed = (address, selector) =>
  page.evaluate(
    async ([address, selector]) => {
      const start = performance.now();
      location.hash = address;
      while (!document.querySelector(selector)) await new Promise((done) => requestAnimationFrame(done));
      return performance.now() - start;
    },
    [address, selector],
  );

const first = await page.locator("#rows a").first().getAttribute("href");
const toClass = await timed(first, ".pane .line");
const search = await page.evaluate(async () => {
  location.hash = "";
  await new Promise((done) => setTimeout(done, 200));
  const input = document.getElementById("filter-q");
  const start = performance.now();
  input.value = "a";
  input.dispatchEvent(new Event("input"));
  return performance.now() - start;
});
console.log(JSON.stringify({ toList, toClass, search, troubles: page.troubles }));
await browser.close();
