// What the extension is made of, and which command does what.
import * as vscode from 'vscode';
import type { CodeAction, Location, Position } from 'vscode-languageclient/node';
import { Compare } from './compare';
import { Copies } from './copies';
import { showDoctor } from './doctor';
import { Marks } from './marks';
import type { Copy } from './protocol';
import { openReport } from './report';
import { Server } from './server';
import { StatusBar } from './statusBar';
import { View, VIEW } from './view';
import type { Node } from './view';

export function activate(context: vscode.ExtensionContext): void {
  const server = new Server(context);
  const copies = new Copies(server);
  const compare = new Compare();
  const view = new View(server, context.workspaceState);
  context.subscriptions.push(
    server.log,
    server,
    copies,
    compare,
    view,
    new Marks(context, copies),
    new StatusBar(server, copies),
    vscode.workspace.onDidChangeConfiguration(
      (event) => event.affectsConfiguration('dupi.server.path') && void server.restart(),
    ),
  );

  const commands: Record<string, (...args: never[]) => unknown> = {
    // Of a lens or an action, which bring what they mean along; else of the cursor.
    'dupi.showCopies': async (uri?: string, position?: Position, locations?: Location[]) => {
      if (uri && position && locations) {
        return showCopies(server, uri, position, locations);
      }
      return atCursor(copies, (editor, copy) => {
        const own = { uri: editor.document.uri.toString(), range: copy.range };
        return showCopies(server, own.uri, copy.range.start, [own, ...copy.others]);
      });
    },
    'dupi.compare': async (own?: Location, other?: Location) => {
      if (own && other) {
        return compare.show(view.location(own), view.location(other));
      }
      return atCursor(copies, async (editor, copy) => {
        const location = await pick(copy.others.map((other) => view.location(other)));
        return (
          location && compare.show(view.location({ uri: editor.document.uri.toString(), range: copy.range }), location)
        );
      });
    },
    'dupi.compareWithFirst': (node: Node) => {
      const first = node.type === 'copy' ? node.class.copies.find((at) => at !== node.at) : undefined;
      return node.type === 'copy' && first && compare.show(view.location(first), view.location(node.at));
    },
    'dupi.next': () => step(copies, (lines, line) => lines.find((at) => at > line) ?? lines[0]),
    'dupi.previous': () => step(copies, (lines, line) => lines.findLast((at) => at < line) ?? lines.at(-1)),
    'dupi.ignoreCopy': () => ignore(server, copies, 'quickfix.dupi.ignore.copy'),
    'dupi.ignoreClass': () => ignore(server, copies, 'quickfix.dupi.ignore.class'),
    'dupi.reindex': async () =>
      (await server.connected())?.sendRequest('workspace/executeCommand', { command: 'dupi.reindex' }),
    'dupi.openReport': () => openReport(server),
    'dupi.showLog': () => server.log.show(),
    'dupi.doctor': () => showDoctor(server),
    'dupi.showView': () => vscode.commands.executeCommand(`${VIEW}.focus`),
    'dupi.filterView': () => view.filter(),
    'dupi.groupView': () => view.group(),
    'dupi.moreClasses': () => view.more(),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  }
  // Nobody waits for it, and nothing of it is done here: an editor that starts has better things to do.
  setImmediate(() => void server.start());
}

/** Does something with the copy around the cursor, or says that there is none. */
async function atCursor<T>(
  copies: Copies,
  then: (editor: vscode.TextEditor, copy: Copy) => T | Promise<T>,
): Promise<T | undefined> {
  const editor = vscode.window.activeTextEditor;
  const copy = editor && (await copies.atCursor(editor));
  if (editor && copy) {
    return then(editor, copy);
  }
  void vscode.window.setStatusBarMessage('$(copy) Nothing here is duplicated', 4000);
  return undefined;
}

async function showCopies(server: Server, uri: string, position: Position, locations: Location[]): Promise<void> {
  const convert = (await server.connected())?.protocol2CodeConverter;
  if (!convert) {
    return;
  }
  const places = locations.map((location) => convert.asLocation(location));
  const [only] = places;
  if (only && places.length === 1) {
    await vscode.window.showTextDocument(only.uri, { selection: new vscode.Range(only.range.start, only.range.start) });
    return;
  }
  await vscode.commands.executeCommand(
    'editor.action.showReferences',
    convert.asUri(uri),
    convert.asPosition(position),
    places,
  );
}

/** The other copy that is meant: the only one, or the one that the user picks. */
async function pick(others: vscode.Location[]): Promise<vscode.Location | undefined> {
  if (others.length < 2) {
    return others[0];
  }
  const items = others.map((location) => ({
    label: `${vscode.workspace.asRelativePath(location.uri)}:${location.range.start.line + 1}`,
    location,
  }));
  return (await vscode.window.showQuickPick(items, { title: 'Compare with copy' }))?.location;
}

/** Moves the cursor to the first line of another copy. */
async function step(copies: Copies, choose: (lines: number[], line: number) => number | undefined): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const found = editor && (await copies.ask(editor.document))?.copies;
  const lines = [...new Set(found?.map((copy) => copy.range.start.line))];
  const line = editor && choose(lines, editor.selection.active.line);
  if (editor && line !== undefined) {
    const start = new vscode.Position(line, 0);
    editor.selection = new vscode.Selection(start, start);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}

/** Runs the server's action of a kind on the copy around the cursor. */
async function ignore(server: Server, copies: Copies, kind: string): Promise<void> {
  await atCursor(copies, async (editor, copy) => {
    const client = await server.connected();
    const actions = await client?.sendRequest<CodeAction[] | null>('textDocument/codeAction', {
      textDocument: { uri: editor.document.uri.toString() },
      range: { start: copy.range.start, end: copy.range.start },
      context: { diagnostics: [], only: [kind] },
    });
    const edit = await client?.protocol2CodeConverter.asWorkspaceEdit(actions?.[0]?.edit);
    if (!edit) {
      return;
    }
    await vscode.workspace.applyEdit(edit);
    // The server reads the project's file from disk.
    for (const [uri] of edit.entries()) {
      if (uri.toString() !== editor.document.uri.toString()) {
        await (await vscode.workspace.openTextDocument(uri)).save();
      }
    }
  });
}
