// The browser that tests and measurements look at reports with.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Where the run script has put what npm brings.
const require = createRequire(join(process.env.DUPI_TOOLS, "package.json"));
const { chromium } = require("playwright-core");
const axe = require("axe-core");

const FLAGS = [
  // Tests in containers run as root, where Chromium's own sandbox cannot be set up.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const launch = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

/** Opens a report from disk. What goes wrong there, and what it asks the network for, is in `troubles`. */
export async function open(browser, path, { width = 1440, height = 900, dark = false, at = "" } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  page.setDefaultTimeout(120_000);
  page.troubles = [];
  page.on("console", (message) => page.troubles.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.troubles.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => (page.troubles.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) page.troubles.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(path) + at);
  return page;
}

/** Milliseconds from the start of loading to when the list was drawn. */
export async function drawn(page) {
  await page.waitForFunction(() => performance.getEntriesByName("drawn").length > 0);
  return page.evaluate(() => performance.getEntriesByName("drawn")[0].startTime);
}

/** What keeps people out, by axe: one line for each violation. It is evaluated, since the page lets no script in. */
export async function violations(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n  ")}`);
}
