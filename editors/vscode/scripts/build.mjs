// Bundles the extension into two files: what it wakes up with, and the protocol's client, which is needed a moment later.
import { build } from 'esbuild';

const CLIENT = 'vscode-languageclient/node';

await build({
  entryPoints: { extension: 'src/extension.ts', client: CLIENT },
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  // What the oldest VS Code in package.json runs on.
  target: 'node20',
  external: ['vscode'],
  // An import would not find the names in the other file, which `require` has.
  supported: { 'dynamic-import': false },
  minify: true,
  legalComments: 'none',
  plugins: [
    {
      name: 'client apart',
      setup({ onResolve }) {
        onResolve({ filter: new RegExp(`^${CLIENT}$`) }, ({ kind }) =>
          kind === 'dynamic-import' ? { path: './client.js', external: true } : undefined,
        );
      },
    },
  ],
});
