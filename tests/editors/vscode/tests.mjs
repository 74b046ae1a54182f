// The extension in a real VS Code, as a person sees it. One workbench for all: each test leaves the files as they were.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { until, Workbench } from './workbench.mjs';

const { INSTALLED, VSIX, WORKSPACE, OUT, IMAGES } = process.env;
const LENS = '.codelens-decoration a';
const SQUIGGLE = '.editor-group-container.active .squiggly-info';
const MARK = '.editor-group-container.active .glyph-margin-widgets .cgmr';
const ROWS = '.tree-explorer-viewlet-tree-view .monaco-list-row';
const STATUS = '.statusbar-item[id="dupi.dupi.dupi.status"], .statusbar-item[id="dupi.dupi"]';

const SCENE_MS = 600_000;

let vscode;
let hasFailed = false;
const file = (name) => path.join(vscode.folder, name);
/** Labels and descriptions stand beside each other, with or without a blank. */
const tight = (texts) => texts.map((text) => text.replaceAll(' ', ''));

before(async () => {
  vscode = await Workbench.start({ installed: INSTALLED, vsix: VSIX, workspace: WORKSPACE, out: OUT });
});
after(() => vscode?.stop());

/** A page that hangs answers nothing, not even that it is late. */
function within(ms, work) {
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`not done in ${ms} ms`)), ms)));
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** A test, with a picture of how it looked when it failed. */
function scene(name, run) {
  test(name, async (t) => {
    if (hasFailed) {
      // It would only be in the way of what it starts from.
      t.skip('another has failed');
      return;
    }
    try {
      await within(SCENE_MS, run());
    } catch (error) {
      hasFailed = true;
      await within(10_000, vscode.screenshot(`failed ${name}`)).catch(() => undefined);
      throw error;
    }
  });
}

/** Pictures of how it looks now for the documentation, if they are asked for. */
async function pictures(name) {
  if (!IMAGES) {
    return;
  }
  for (const [theme, look] of [
    ['light', 'vs'],
    ['dark', 'vs-dark'],
  ]) {
    await vscode.command('Preferences: Toggle between Light/Dark Themes');
    await vscode.find(`.monaco-workbench.${look}`).waitFor();
    await vscode.screenshot(`${name}-${theme}`);
  }
}

scene('an open file shows that it has copies: a lens, a squiggle, marks, and how much of it they are', async () => {
  await vscode.open('auth/session.go');
  await vscode.texts(LENS, 'a lens', (texts) => texts.join() === '2 copies · 21 lines · renamed');
  await vscode.find(SQUIGGLE).first().waitFor();
  await vscode.find(MARK).first().waitFor();
  await vscode.texts(STATUS, 'the status bar', (texts) => texts.join() === '49 %');
});

scene('the list of problems has the copy, with links to the others', async () => {
  await vscode.command('Problems: Focus on Problems View');
  const rows = await vscode.texts('.markers-panel .monaco-list-row', 'links', (texts) => texts.length >= 4);
  assert.match(
    rows[1],
    /^21 lines duplicated in 2 other places: billing\/invoice\.go:18, billing\/refund\.go:15 dupi renamed/,
  );
  assert.match(rows[2], /invoice\.go.*billing\/invoice\.go:18/);
  await vscode.find('.markers-panel .monaco-list-row', 'refund.go').last().dblclick();
  await vscode.find('.tab.active', 'refund.go').waitFor();
  // All of it is selected, from line 15.
  await vscode.find('.statusbar-item', 'Ln 36, Col 1 (').waitFor();
  await vscode.command('View: Toggle Panel Visibility');
});

scene('a click on a lens shows all copies', async () => {
  await vscode.open('auth/session.go');
  await vscode.find(LENS).first().click();
  const rows = await vscode.texts(
    '.reference-zone-widget .monaco-list-row',
    'the copies',
    (texts) => texts.length >= 4,
  );
  assert.deepEqual(
    rows.filter((row) => row.includes('.go')).map((row) => row.split('.go')[0]),
    ['session', 'invoice', 'refund'],
  );
  await pictures('peek');
  await vscode.page.keyboard.press('Escape');
  await vscode.gone('.reference-zone-widget');
});

scene('an action compares a copy with another, side by side', async () => {
  await vscode.goTo(18);
  await action('Compare with copy 1: billing/invoice.go:18');
  await vscode.find('.tab.active', 'session.go:18-38 ↔ invoice.go:18-38').waitFor();
  const side = (name) => `.monaco-diff-editor .editor.${name} .view-line`;
  await vscode.texts(side('original'), 'the left', (lines) => lines[0]?.includes('fetchSession('));
  await vscode.texts(side('modified'), 'the right', (lines) => lines[0]?.includes('fetchInvoice('));
  // Each side is coloured as what it is, and the differences are marked.
  await vscode.find('.monaco-diff-editor .modified .char-insert').first().waitFor();
  await until(
    'colours',
    async () =>
      (await vscode
        .find(`${side('modified')} span[class^=mtk]`)
        .evaluateAll((spans) => new Set(spans.map((span) => span.className)).size)) > 3,
  );
  await pictures('compare');
  await vscode.find(side('modified')).first().click();
  await vscode.page.keyboard.type('x');
  await vscode.find('.monaco-editor-overlaymessage', 'read-only').waitFor();
  await vscode.closeAll();
});

scene('commands go from copy to copy, and work anywhere within one', async () => {
  await vscode.open('billing/invoice.go');
  await vscode.find(LENS).first().waitFor();
  await vscode.command('dupi: Next Duplicate');
  await vscode.find('.statusbar-item', 'Ln 18, Col 1').waitFor();
  await vscode.goTo(30);
  await vscode.command('dupi: Compare with Copy');
  await vscode.find('.quick-input-widget .monaco-list-row', 'auth/session.go:18').click();
  await vscode.find('.tab.active', 'invoice.go:18-38 ↔ session.go:18-38').waitFor();
  await vscode.closeAll();
});

scene('the view has all classes, worst first, and opens what is clicked', async () => {
  await vscode.open('auth/session.go');
  await vscode.find(STATUS).first().click();
  const worst = [
    'shop 1',
    '21 lines in 3 places · renamed',
    'billing 1',
    '20 lines in 2 places · renamed test',
    'web 1',
    '14 lines in 2 places · exact',
  ];
  await vscode.texts(ROWS, 'the classes', (texts) => tight(texts).join() === tight(worst).join());
  await vscode.find(ROWS, '21 lines').click();
  await vscode.texts(ROWS, 'its copies', (texts) => tight(texts)[4] === 'refund.go:15-35billing');
  await vscode.find(ROWS, 'refund.go:15-35').click();
  await vscode.find('.tab.active', 'refund.go').waitFor();
  await vscode.find('.statusbar-item', 'Ln 15, Col 1').waitFor();
  await pictures('view');
  await vscode.find(ROWS, 'refund.go:15-35').hover();
  await vscode.find(`${ROWS} a[aria-label="Compare with the First Copy"]:visible`).click();
  await vscode.find('.tab.active', 'session.go:18-38 ↔ refund.go:15-35').waitFor();
});

scene('the view is filtered by zone and kind, and grouped by file or not at all', async () => {
  await vscode.command('dupi: Group Duplicates');
  await vscode.find('.quick-input-widget .monaco-list-row', 'In one list').click();
  await vscode.texts(
    ROWS,
    'one list',
    (texts) => texts.filter((text) => /^\d+ lines/.test(text)).length === 3 && texts[0].startsWith('21 lines'),
  );
  await vscode.command('dupi: Filter Duplicates');
  for (const name of ['test', 'renamed']) {
    await vscode.find('.quick-input-widget .monaco-list-row', name).click();
  }
  await vscode.find('.quick-input-widget .monaco-button', 'OK').click();
  await vscode.texts(ROWS, 'what is left', (texts) => texts.join() === '14 lines in 2 places · exact');
  await vscode.command('dupi: Group Duplicates');
  await vscode.find('.quick-input-widget .monaco-list-row', 'By file').click();
  await vscode.texts(
    ROWS,
    'files',
    (texts) => tight(texts)[0] === 'web/cart.ts1' && tight(texts).includes('web/wishlist.ts1'),
  );
  await vscode.closeAll();
});

scene('a copy that is typed appears everywhere, and goes when the other is deleted', async () => {
  await vscode.open('web/api.ts');
  await vscode.texts(STATUS, 'no copies', (texts) => texts.join() === '0 %');
  assert.equal(await vscode.find(SQUIGGLE).count(), 0);
  await vscode.page.keyboard.press('Control+End');
  await vscode.page.keyboard.insertText(readFileSync(file('web/stock.ts'), 'utf8').split('\n').slice(2).join('\n'));
  await vscode.find(SQUIGGLE).first().waitFor();
  await vscode.texts(LENS, 'a lens', (texts) => texts.join() === '1 copy · 10 lines · exact');
  await vscode.texts(ROWS, 'the view', (texts) => tight(texts).includes('web/stock.ts1'));
  await vscode.open('web/stock.ts');
  await vscode.find(SQUIGGLE).first().waitFor();
  await vscode.page.keyboard.press('Control+A');
  await vscode.page.keyboard.press('Delete');
  await vscode.texts(ROWS, 'the view', (texts) => texts.length > 0 && !tight(texts).includes('web/stock.ts1'));
  await vscode.open('web/api.ts');
  await vscode.gone(SQUIGGLE);
  await vscode.texts(STATUS, 'no copies', (texts) => texts.join() === '0 %');
  await vscode.closeAll();
});

scene('a file that changes on disk is noticed', async () => {
  await vscode.open('web/stock.ts');
  await vscode.texts(STATUS, 'no copies', (texts) => texts.join() === '0 %');
  writeFileSync(file('web/again.ts'), readFileSync(file('web/stock.ts')));
  await vscode.find(SQUIGGLE).first().waitFor();
  rmSync(file('web/again.ts'));
  await vscode.gone(SQUIGGLE);
});

scene('a copy that is ignored by an action has no squiggle any more', async () => {
  await vscode.open('web/cart.ts');
  await vscode.find(SQUIGGLE).first().waitFor();
  await vscode.goTo(4);
  await action('Ignore this copy');
  await vscode.find('.view-line', '// dupi:ignore').waitFor();
  await vscode.gone(SQUIGGLE);
  await vscode.texts(STATUS, 'no copies', (texts) => texts.join() === '0 %');
  await vscode.closeAll();
});

scene('a class that is ignored stands in dupi.toml, and is shown nowhere any more', async () => {
  await vscode.open('web/wishlist.ts');
  await vscode.find(SQUIGGLE).first().waitFor();
  await vscode.goTo(15);
  await vscode.command('dupi: Ignore All Copies of This Class');
  await until(
    'dupi.toml',
    () => existsSync(file('dupi.toml')) && readFileSync(file('dupi.toml'), 'utf8').includes('class = "'),
  );
  await vscode.gone(SQUIGGLE);
  await vscode
    .find('.tree-explorer-viewlet-tree-view .message', 'No duplicated code of these zones and kinds')
    .waitFor();
  rmSync(file('dupi.toml'));
  await vscode.find(SQUIGGLE).first().waitFor();
});

scene('marks go when they are switched off', async () => {
  await vscode.find(MARK).first().waitFor();
  vscode.set({ 'dupi.marks.gutter': false });
  await vscode.gone(MARK);
  vscode.set({});
  await vscode.find(MARK).first().waitFor();
});

scene('a workspace cannot say which server is run', async () => {
  const marker = path.join(vscode.run, 'was-run');
  mkdirSync(file('.vscode'));
  writeFileSync(file('server'), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
  writeFileSync(
    file('.vscode/settings.json'),
    JSON.stringify({ 'dupi.server.path': file('server'), 'dupi.minLines': 15 }),
  );
  // The other setting of the same file counts.
  await vscode.gone(SQUIGGLE);
  assert.ok(!existsSync(marker));
  rmSync(file('.vscode'), { recursive: true });
  await vscode.find(SQUIGGLE).first().waitFor();
  // What a user says does count, and a server that is none is told of.
  vscode.set({ 'dupi.server.path': file('server') });
  await until('the other server', () => existsSync(marker));
  for (const server of [file('server'), '/no/such/server']) {
    vscode.set({ 'dupi.server.path': server });
    await vscode.find('.notification-list-item', server).first().waitFor();
    await vscode.command('Notifications: Clear All Notifications');
    await vscode.gone('.notifications-toasts .notification-list-item');
  }
  vscode.set({});
  await vscode.find(SQUIGGLE).first().waitFor();
});

scene('the report is a page beside the editors', async () => {
  await vscode.command('dupi: Open Report');
  await vscode.find('.tab.active', 'Duplicated code: shop').waitFor();
  const shows = async (frame) => (await frame.locator('body').innerText({ timeout: 1_000 })).includes('of all lines are duplicated');
  const look = () => Promise.any(vscode.page.frames().map(async (frame) => (await shows(frame)) || Promise.reject()));
  await until('the report', () => look().catch(() => false));
  await vscode.closeAll();
});

scene('the doctor is a text in an editor, to paste into an issue', async () => {
  await vscode.command('dupi: Doctor');
  const lines = '.editor-group-container.active .monaco-editor .view-line';
  await vscode.texts(lines, 'the text', (texts) => {
    const text = texts.join('\n');
    return /version \d/.test(text) && /workspace .*shop/.test(text) && text.includes('watching by the editor');
  });
  await vscode.closeAll();
});

scene('it starts fast, as VS Code measures it', async () => {
  await vscode.command('Developer: Show Running Extensions');
  const row = vscode.find('.runtime-extensions-editor .monaco-list-row', 'dupi');
  await vscode.find('.runtime-extensions-editor .monaco-list-row').first().hover();
  const text = await until('a time', async () => {
    // The slowest stand first, and only those that can be seen are there.
    if ((await row.count()) === 0) {
      await vscode.page.mouse.wheel(0, 200);
    }
    return /Activation: (\d+)ms/.exec(await row.innerText({ timeout: 1_000 }));
  });
  // A machine that is busy is slow: this is to be read.
  console.log(`activation: ${text[1]} ms`);
});

/** Takes an entry of the menu of what can be done here. */
async function action(title) {
  const entry = vscode.find('.action-widget .monaco-list-row', title);
  await until(`an action "${title}"`, async () => {
    await vscode.page.keyboard.press('Control+.');
    await entry.waitFor({ timeout: 5_000 });
    await entry.click({ timeout: 5_000 });
    return true;
  });
}
