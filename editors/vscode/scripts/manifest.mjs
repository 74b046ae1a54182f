// Holds package.json to the server: its settings and languages are the server's own tables, and are never edited here.
// node scripts/manifest.mjs SERVER [--check]
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/** Languages that VS Code has no name for until somebody brings it along. */
const UNNAMED = ['kotlin', 'scala'];
/** Settings of the extension's own. */
const OWN = {
  'dupi.server.path': {
    type: 'string',
    default: '',
    // A workspace cannot set it.
    scope: 'machine',
    description: 'The program to use in place of the one that comes with the extension.',
  },
  'dupi.marks.gutter': {
    type: 'boolean',
    default: true,
    scope: 'language-overridable',
    description: 'Mark copies in the gutter.',
  },
  'dupi.marks.overviewRuler': {
    type: 'boolean',
    default: true,
    scope: 'language-overridable',
    description: 'Mark copies beside the scroll bar.',
  },
};

const [server, flag] = process.argv.slice(2);
if (!server) {
  throw new Error('name the server: node scripts/manifest.mjs target/debug/dupi-lsp [--check]');
}
const ask = (...args) => JSON.parse(execFileSync(server, args, { encoding: 'utf8' }));
const file = new URL('../package.json', import.meta.url);
const before = readFileSync(file, 'utf8');
const manifest = JSON.parse(before);

const settings = ask('settings', '--format', 'schema').properties;
for (const setting of Object.values(settings)) {
  // Backticks are shown as such in plain descriptions.
  if (setting.description.includes('`')) {
    setting.markdownDescription = setting.description;
    delete setting.description;
  }
  setting.scope = 'window';
}
manifest.contributes.configuration = { title: 'Duplicated code', properties: { ...OWN, ...settings } };

const languages = ask('languages', '--format', 'json');
manifest.activationEvents = languages
  .flatMap(({ editorNames }) => editorNames.map((name) => `onLanguage:${name}`))
  .sort();
manifest.contributes.languages = languages
  .filter(({ name }) => UNNAMED.includes(name))
  .map(({ name, extensions }) => ({ id: name, extensions: extensions.map((extension) => `.${extension}`) }));

const after = `${JSON.stringify(manifest, null, 2)}\n`;
if (flag !== '--check') {
  writeFileSync(file, after);
} else if (after !== before) {
  console.error(`package.json is not what the server says: node scripts/manifest.mjs ${server}`);
  process.exit(1);
}
