// Two copies side by side in the editor's own diff: each is a document that cannot be edited, named by file and lines.
import * as path from 'node:path';
import * as vscode from 'vscode';

const SCHEME = 'dupi';

export class Compare implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  async show(left: vscode.Location, right: vscode.Location): Promise<void> {
    const uris = [fragment(left), fragment(right)] as const;
    // Its name ends with lines, so its language has to be told.
    const speak = async (uri: vscode.Uri, source: vscode.Uri) => {
      const { languageId } = await vscode.workspace.openTextDocument(source);
      await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(uri), languageId);
    };
    await Promise.all([speak(uris[0], left.uri), speak(uris[1], right.uri)]);
    const title = uris.map((uri) => path.posix.basename(uri.path)).join(' ↔ ');
    await vscode.commands.executeCommand('vscode.diff', ...uris, title);
  }

  /** The lines as they are now, saved or not. */
  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { source, from, to } = JSON.parse(uri.query) as { source: string; from: number; to: number };
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(source, true));
    return document.getText(new vscode.Range(from, 0, to - 1, Number.MAX_SAFE_INTEGER));
  }

  dispose(): void {
    this.registration.dispose();
  }
}

/** The document of a copy: whole lines, so that both sides keep their indent. */
function fragment({ uri, range: { start, end } }: vscode.Location): vscode.Uri {
  const to = end.character > 0 ? end.line + 1 : end.line;
  return vscode.Uri.from({
    scheme: SCHEME,
    path: `/${vscode.workspace.asRelativePath(uri)}:${start.line + 1}-${to}`.replace('//', '/'),
    query: JSON.stringify({ source: uri.toString(), from: start.line, to }),
  });
}
