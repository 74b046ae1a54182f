// The report as its readers meet it, in headless Chromium.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { drawn, launch, open, violations } from "./browser.js";
import { HOSTILE, cleanUp, columns, dupi, hostile, large, report, small, sum, temporary, write } from "./workspaces.js";

const N_MANY = 20_000;

let browser, pages;

before(async () => {
  browser = await launch();
  const root = small();
  const runs = write(
    temporary(),
    Object.fromEntries([70, 60].map((percent, i) => [`run-${i}.json`, earlier(percent)])),
  );
  pages = {
    root,
    small: report(root, "--history", join(runs, "run-0.json"), join(runs, "run-1.json")),
    // A few more, since by chance some are copies of each other.
    large: report(large(N_MANY + 100)),
  };
});

after(async () => {
  await browser?.close();
  cleanUp();
});

const earlier = (percent) =>
  JSON.stringify({
    scanned: { files: 6, lines: 70 },
    summary: { classes: 3, copies: 7, duplicatedLines: 50, percent },
    classes: [],
  });

/** Opens a page that must be fine to the end. */
async function good(path, options) {
  const page = await open(browser, path, options);
  await drawn(page);
  return page;
}

async function close(page) {
  assert.deepEqual(page.troubles, []);
  await page.close();
}

/** What follows from a click or a key is shown a moment later: looks again until it is. */
async function soon(check) {
  for (const end = Date.now() + 120_000; ; ) {
    try {
      return await check();
    } catch (trouble) {
      if (Date.now() > end) throw trouble;
      await new Promise((then) => setTimeout(then, 20));
    }
  }
}

const texts = (page, selector) => page.locator(selector).allTextContents();
const focused = (page) => page.evaluate(() => document.activeElement.textContent);

test("the page says what the check says", () => {
  const json = JSON.parse(dupi(pages.root, "--check", "--no-index", "--format", "json"));
  const { classes, copies, files, ...rest } = columns(pages.small);
  const told = json.classes.flatMap(({ id, lines, copies }) =>
    copies.map(({ path, startLine, endLine }) => [id, lines, path, startLine, endLine]),
  );
  const ids = classes.id.flatMap((id, i) => Array(classes.copies[i]).fill([id, classes.lines[i]]));
  const shown = ids.map((id, i) => [...id, files.path[copies.file[i]], copies.start[i], copies.end[i]]);
  assert.deepEqual(shown, told);
  assert.equal(rest.duplicatedLines, json.summary.duplicatedLines);
  assert.equal(rest.percent.toFixed(2), json.summary.percent.toFixed(2));
});

test("it opens from a file, with figures, map, matrix and list, and asks nobody for anything", async () => {
  const page = await good(pages.small);
  await soon(async () => assert.match(await page.title(), /^Duplicated code in dupi-report-/));
  assert.deepEqual(await texts(page, "#summary dt"), [
    "of all lines are duplicated",
    "duplicated lines",
    "classes",
    "copies",
  ]);
  await soon(async () => assert.deepEqual((await texts(page, "#summary dd")).slice(2), ["2", "5"]));
  await soon(async () => assert.equal(await page.locator("#rows li").count(), 2));
  await soon(async () => assert.deepEqual((await texts(page, ".tile .label bdi")).sort(), ["lib/", "net/", "tools/"]));
  await soon(async () => assert.deepEqual(await texts(page, "#tables tbody th"), ["go", "python", "code"]));
  await soon(async () => assert.match(await page.locator("#trend p").textContent(), /since run-1$/));
  await soon(async () => assert.equal(await page.locator("#trend circle").count(), 3));
  await close(page);
});

test("the map goes in and out, and the list goes with it", async () => {
  const page = await good(pages.small);
  await page.locator(".tile", { hasText: "lib/" }).click();
  await soon(async () => assert.equal(await page.locator("#rows li").count(), 1));
  await soon(async () => assert.deepEqual(await texts(page, "#chips bdi"), ["in lib"]));
  await page.locator(".tile", { hasText: "deep/er/" }).click();
  await soon(async () => assert.deepEqual((await texts(page, ".crumbs bdi")).slice(1), ["lib", "deep", "er"]));
  await page.locator(".tile", { hasText: "group.py" }).click();
  await soon(async () => assert.equal(await page.locator("#detail h2").textContent(), "group.py"));
  await soon(async () => assert.equal(await page.locator("#detail tbody tr").count(), 1));
  await page.goBack();
  await page.locator(".crumbs a").first().click();
  await soon(async () => assert.equal(await page.locator("#rows li").count(), 2));
  await soon(async () => assert.equal(await page.locator("#chips button").count(), 0));
  await close(page);
});

test("a cell of the matrix shows what two folders share", async () => {
  const page = await good(pages.small);
  await page.getByRole("link", { name: /^14 lines in 1 class shared by (net and tools|tools and net)$/ }).click();
  await soon(async () => assert.equal(await page.locator("#rows li").count(), 1));
  await soon(async () => assert.match(await page.locator("#rows .where").textContent(), /a\.go/));
  await page.locator("#chips button").click();
  await soon(async () => assert.equal(await page.locator("#rows li").count(), 2));
  // Within a folder, what it shares with all that is outside of it is there, too.
  await page.locator(".tile", { hasText: "lib/" }).click();
  await page.getByRole("link", { name: "13 lines in 1 class shared by elsewhere and deep/er" }).click();
  await soon(async () => assert.deepEqual(await texts(page, "#chips bdi"), ["in lib", "outside of lib and in lib/deep/er"]));
  await soon(async () => assert.equal(await page.locator("#rows li").count(), 1));
  await close(page);
});

test("filters narrow the list, and the address remembers them", async () => {
  const page = await good(pages.small);
  const shown = () => texts(page, "#rows .where");
  await page.getByLabel("Search").fill("GROUP.py");
  await soon(async () => assert.equal((await shown()).length, 1));
  await soon(async () => assert.equal(await page.locator("#n-shown").textContent(), "1 of 2"));
  await page.reload();
  await drawn(page);
  await soon(async () => assert.equal(await page.getByLabel("Search").inputValue(), "GROUP.py"));
  await soon(async () => assert.equal((await shown()).length, 1));
  await page.getByLabel("Search").fill("");
  await page.getByLabel("Kind").selectOption("renamed");
  await soon(async () => assert.match((await shown()).join(), /a\.go/));
  await page.locator("#filter-lang").selectOption("python");
  await soon(async () => assert.ok(await page.getByText("No class fits these filters.").isVisible()));
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await soon(async () => assert.equal((await shown()).length, 2));
  await page.getByLabel("Lines, at least").fill("14");
  await soon(async () => assert.equal((await shown()).length, 1));
  await page.getByLabel("Tokens, at least").fill("1000");
  await soon(async () => assert.equal((await shown()).length, 0));
  await close(page);
});

test("copies stand side by side, with what differs marked and all tokens in their colours", async () => {
  const page = await good(pages.small);
  await page.locator("#rows a", { hasText: "a.go" }).click();
  await soon(async () => assert.equal(await page.locator("#detail h2").textContent(), "14 lines in 3 places"));
  const marks = (side) => texts(page, `.pane:nth-child(${side}) mark`);
  await page.getByLabel("Copy on the right").selectOption("2");
  await soon(async () => assert.deepEqual(await marks(1), ["Sum", "values", "limit", "values", "limit", "limit"]));
  await soon(async () => assert.deepEqual(await marks(2), ["Total", "numbers", "most", "numbers", "most", "most"]));
  await soon(async () => assert.deepEqual(await texts(page, ".differences li"), ["limit → most ×3", "values → numbers ×2", "Sum → Total"]));
  const first = page.locator(".pane").first();
  assert.deepEqual(await first.locator(".keyword").allTextContents(), [
    "func",
    "for",
    "range",
    "if",
    "return",
    "if",
    "return",
    "return",
  ]);
  await soon(async () => assert.deepEqual(await first.locator(".comment").allTextContents(), ["// Larger values are refused."]));
  await soon(async () => assert.deepEqual(await first.locator(".string").allTextContents(), ['"value %d at %d is over %d"']));
  await soon(async () => assert.equal(await first.locator(".line-number").first().textContent(), "5"));
  const lines = await first
    .locator(".line")
    .evaluateAll((all) => all.map((line) => line.textContent.replace(/^\d+/, "")));
  assert.equal(`${lines.join("\n")}\n`, sum("Sum"));
  await page.getByLabel("Compare copy 3").click();
  await soon(async () => assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Compare copy 3"));
  await soon(async () => assert.deepEqual(await marks(2), []));
  await soon(async () => assert.ok(await page.getByText("No difference, blanks and comments aside.").isVisible()));
  await close(page);
});

test("lines that are broken or commented otherwise stay level", async () => {
  const other = sum("Sum")
    .replace("total := 0\n", "total :=\n\t\t0\n")
    .replace("\t// Larger", "\t// One\n\n\t// Larger");
  const root = write(temporary(), { "a.go": `package a\n\n${sum("Sum")}`, "b.go": `package b\n\n${other}` });
  const page = await good(report(root));
  await page.locator("#rows a").click();
  // Texts are unpacked when somebody opens a class.
  await page.locator(".code").nth(1).waitFor();
  const sides = await page
    .locator(".code")
    .evaluateAll((codes) =>
      codes.map((code) => [...code.children].map((line) => line.textContent.replace(/^\d+/, "").trim())),
    );
  assert.equal(sides[0].length, sides[1].length);
  const at = (side, text) => sides[side].indexOf(text);
  for (const text of ["total += v * i", "return total, nil", "for i, v := range values {"])
    assert.equal(at(0, text), at(1, text), text);
  await close(page);
});

test("a file shows which of its lines are copies, and of what", async () => {
  const page = await good(pages.small, { at: "#file=net%2Frpc%2Fb.go" });
  await soon(async () => assert.deepEqual(await texts(page, "#detail tbody th"), ["7–20"]));
  await soon(async () => assert.deepEqual(await texts(page, ".also a"), ["net/http/a.go:5–18", "tools/c.go:5–18"]));
  await soon(async () => assert.equal(await page.locator(".strip .range").count(), 1));
  await page.locator(".also a").first().click();
  await soon(async () => assert.equal(await page.locator("#detail h2").textContent(), "a.go"));
  await close(page);
});

test("everything can be done by keyboard", async () => {
  const page = await good(pages.small);
  await page.keyboard.press("Tab");
  await soon(async () => assert.equal(await focused(page), "Skip to the classes"));
  await page.keyboard.press("Enter");
  await soon(async () => assert.match(await focused(page), /^1/));
  await page.keyboard.press("ArrowDown");
  await soon(async () => assert.match(await focused(page), /^2/));
  await page.keyboard.press("Enter");
  await page.locator("#detail h2").waitFor();
  await soon(async () => assert.match(await focused(page), /places$/));
  await page.keyboard.press("Escape");
  await soon(async () => assert.match(await focused(page), /^2/));
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement.id === "filter-q");
  await page.keyboard.type("python nowhere");
  await soon(async () => assert.equal(await page.locator("#n-shown").textContent(), "0 of 2"));
  // One stop for the whole map; arrows within it.
  await page.locator(".treemap a").first().focus();
  await page.keyboard.press("ArrowRight");
  const name = await page.evaluate(() => document.activeElement.getAttribute("href"));
  await page.keyboard.press("Enter");
  const folder = new URLSearchParams(name.slice(1)).get("folder");
  await page.waitForFunction((it) => new URLSearchParams(location.hash.slice(1)).get("folder") === it, folder);
  await page.waitForFunction(() => document.getElementById("map").contains(document.activeElement));
  await soon(async () => assert.equal(await page.locator('.treemap a[tabindex="0"]').count(), 1));
  await close(page);
});

test(`${N_MANY} classes are there at once, and each of them can be reached`, async () => {
  const page = await good(pages.large);
  const milliseconds = await drawn(page);
  console.log(`# ${N_MANY} classes: drawn after ${Math.round(milliseconds)} ms`);
  const total = columns(pages.large).classes.id.length;
  assert.ok(total >= N_MANY, `${total} classes`);
  const rank = () =>
    page
      .locator("#rows li:last-child .rank")
      .textContent()
      .then((text) => Number(text.replace(/\D/g, "")));
  await page.locator("#rows a").first().focus();
  await page.keyboard.press("End");
  await soon(async () => assert.equal(await rank(), total));
  await soon(async () => assert.ok((await page.locator("#rows li").count()) < 60, "only what is in sight is in the page"));
  await page.keyboard.press("PageUp");
  await soon(async () => assert.ok((await rank()) >= total - 40));
  // A long way down by the wheel: every row that is in sight is drawn, and in its place.
  for (const share of [0.1, 0.5, 0.93]) {
    await page
      .locator("#scroller")
      .evaluate((scroller, share) => (scroller.scrollTop = scroller.scrollHeight * share), share);
    await page.waitForFunction(() => {
      const box = document.getElementById("scroller").getBoundingClientRect();
      const rows = [...document.querySelectorAll("#rows li")].map((row) => row.getBoundingClientRect());
      const covered = rows.filter((row) => row.bottom > box.top && row.top < box.bottom);
      return (
        Math.min(...covered.map((row) => row.top)) <= box.top &&
        Math.max(...covered.map((row) => row.bottom)) >= box.bottom
      );
    });
  }
  await page.getByLabel("Search").fill("second/part3/file61.go");
  const some = `50 of ${total.toString().replace(/(\d{3})$/, "\u202f$1")}`;
  await soon(async () => assert.equal(await page.locator("#n-shown").textContent(), some));
  await close(page);
});

test("where the page has no room for a text, it says so", async () => {
  const page = await good(report(pages.root, "--text-limit", "0"));
  await page.locator("#rows a").first().click();
  await soon(async () => assert.match(await page.locator(".note").textContent(), /--text-limit/));
  await soon(async () => assert.equal(await page.locator(".copies li").count(), 3));
  await close(page);
});

test("names and texts of a hostile workspace are text", async () => {
  const path = report(hostile());
  const source = readFileSync(path, "utf8");
  for (const word of ["onerror", "alert(", "onmouseover"]) assert.ok(!source.includes(word), word);
  const page = await good(path);
  await page.locator("#rows a").first().click();
  await page.locator(".pane").first().waitFor();
  await page.locator(".code").first().waitFor();
  const shown = await page.locator("#detail").textContent();
  assert.ok(shown.includes("</script><script>alert(4)</script> <!-- ]]> \\u{202e}\\u{1b}[31m"), shown);
  assert.ok(shown.includes(HOSTILE.string));
  const hrefs = await page.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.deepEqual(
    hrefs.filter((href) => !href.startsWith("#")),
    [],
  );
  const listed = await texts(page, ".copies a");
  assert.equal(listed.length, HOSTILE.names.length);
  const steering = /[\u0000-\u001f\u202a-\u202e]/;
  assert.deepEqual(
    (await texts(page, "body")).filter((text) => /[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/.test(text)),
    [],
  );
  for (let i = 0; i < listed.length; i++) {
    await page.locator(".copies a").nth(i).click();
    await soon(async () => {
      const name = await page.locator("#detail h2").textContent();
      assert.ok(listed[i].includes(name) && !steering.test(name), name);
    });
    await page.goBack();
    await page.locator(".copies").waitFor();
  }
  await soon(async () => assert.equal(await page.locator("img, iframe, script[src], b").count(), 0));
  await close(page);
});

test("addresses of nothing, and of something hostile, lead to a page that says so", async () => {
  for (const at of [
    "#class=0123",
    "#file=../../etc/passwd",
    "#class=<img src=x onerror=alert(1)>",
    "#folder=nowhere&kind=none&sort=__proto__",
    "#%",
  ]) {
    const page = await good(pages.small, { at });
    await soon(async () => assert.ok((await page.locator("#detail h2:visible, #nothing:visible, #rows li:visible").count()) > 0, at));
    await close(page);
  }
});

test("nothing duplicated is a page, too", async () => {
  const page = await good(report(write(temporary(), { "a.py": "x = 1\n", "b/c.py": "y = 2\n" })));
  await soon(async () => assert.ok(await page.getByText("Nothing is duplicated here.").isVisible()));
  await soon(async () => assert.deepEqual(await violations(page), []));
  await page.screenshot({ path: picture("empty") });
  await close(page);
});

test("a damaged page says so instead of staying empty", async () => {
  const path = join(temporary(), "cut.html");
  const source = readFileSync(pages.small, "utf8");
  const at = source.indexOf('id="columns">') + 40;
  writeFileSync(path, source.slice(0, at) + source.slice(at + 40));
  const page = await open(browser, path);
  await page.getByRole("alert").waitFor();
  await soon(async () => assert.match(await page.getByRole("alert").textContent(), /cannot be opened/));
  await page.close();
});

const picture = (name) => join(process.env.DUPI_TOOLS, `${name}.png`);

for (const dark of [false, true]) {
  for (const width of dark ? [1440, 420] : [1440, 1024, 420]) {
    const name = `${dark ? "dark" : "light"}, ${width} pixels wide`;
    test(`axe finds nothing: ${name}`, async () => {
      const { classes } = columns(pages.small);
      const views = {
        overview: "",
        filtered: "#folder=lib&q=nowhere",
        class: `#class=${classes.id[0]}`,
        file: "#file=tools%2Fc.go",
      };
      for (const [view, at] of Object.entries(views)) {
        const page = await good(pages.small, { width, dark, at });
        if (view === "class") await page.locator(".pane").first().waitFor();
        await page.screenshot({ path: picture(`${view}-${dark ? "dark" : "light"}-${width}`) });
        await soon(async () => assert.deepEqual(await violations(page), [], view));
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(wide <= 0, `${view} is wider than the window`);
        await close(page);
      }
    });
  }
}

test("colours follow the system until somebody chooses", async () => {
  const page = await good(pages.small, { dark: true });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.getByRole("button", { name: "Colours: auto" }).click();
  const light = await ground();
  assert.notEqual(light, dark);
  await page.getByRole("button", { name: "Colours: light" }).click();
  await soon(async () => assert.equal(await ground(), dark));
  await close(page);
});

test("it prints: light, without what can only be clicked, and with the worst classes", async () => {
  const page = await good(pages.large, { dark: true });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await soon(async () => assert.equal(await page.locator(".filters").isVisible(), false));
  await soon(async () => assert.equal(await page.locator("#rows li").first().isVisible(), true));
  await soon(async () => assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "light"));
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await soon(async () => assert.equal(await page.locator("#rows li").count(), 100));
  await page.pdf({ path: join(process.env.DUPI_TOOLS, "print.pdf") });
  await close(page);
});
