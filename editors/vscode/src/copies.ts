// The copies in the documents that can be seen, kept up to date: what the marks and the status bar show.
import * as vscode from 'vscode';
import { requestCopies } from './protocol';
import type { CopiesOfDocument, Copy } from './protocol';
import type { Server } from './server';

/** Who types fast is not asked for with each key. */
const QUIET_MS = 200;

export class Copies implements vscode.Disposable {
  private readonly known = new Map<string, CopiesOfDocument>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private readonly disposables: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly server: Server) {
    this.disposables = [
      vscode.window.onDidChangeVisibleTextEditors(() => this.askSoon()),
      // A copy that is made or removed in one document is one more or less in others.
      vscode.workspace.onDidChangeTextDocument(({ contentChanges }) => contentChanges.length && this.askSoon()),
      server.onDidChangeStatus(() => this.askSoon()),
      this.changed,
    ];
  }

  /** What was last told of a document. */
  of(document: vscode.TextDocument): CopiesOfDocument | undefined {
    return this.known.get(document.uri.toString());
  }

  /** What is so now. */
  async ask(document: vscode.TextDocument): Promise<CopiesOfDocument | undefined> {
    const client = await this.server.connected();
    const copies =
      client && (await requestCopies(client, client.code2ProtocolConverter.asTextDocumentIdentifier(document)));
    return copies ?? undefined;
  }

  /** The smallest copy around the cursor. */
  async atCursor(editor: vscode.TextEditor): Promise<Copy | undefined> {
    const line = editor.selection.active.line;
    const copies = (await this.ask(editor.document))?.copies ?? [];
    const around = copies.filter(({ range }) => range.start.line <= line && line <= range.end.line);
    return around.sort((a, b) => length(a) - length(b))[0];
  }

  private askSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.askAll(), QUIET_MS);
  }

  private async askAll(): Promise<void> {
    const documents = new Set(vscode.window.visibleTextEditors.map((editor) => editor.document));
    const told = await Promise.all(
      [...documents].map(
        async (document) => [document.uri.toString(), await this.ask(document).catch(() => undefined)] as const,
      ),
    );
    this.known.clear();
    for (const [uri, copies] of told) {
      if (copies) {
        this.known.set(uri, copies);
      }
    }
    this.changed.fire();
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.disposables).dispose();
  }
}

function length({ range }: Copy): number {
  return range.end.line - range.start.line;
}
