// Marks beside copies: in the gutter, and beside the scroll bar.
import * as vscode from 'vscode';
import type { Copies } from './copies';

export class Marks implements vscode.Disposable {
  private readonly disposables: vscode.Disposable[];
  private readonly gutter: vscode.TextEditorDecorationType;
  private readonly ruler: vscode.TextEditorDecorationType;

  constructor(
    context: vscode.ExtensionContext,
    private readonly copies: Copies,
  ) {
    const icon = (theme: string) => ({ gutterIconPath: context.asAbsolutePath(`media/copy-${theme}.svg`) });
    this.gutter = vscode.window.createTextEditorDecorationType({
      light: icon('light'),
      dark: icon('dark'),
      gutterIconSize: 'contain',
    });
    this.ruler = vscode.window.createTextEditorDecorationType({
      overviewRulerColor: new vscode.ThemeColor('dupi.copyMark'),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    });
    this.disposables = [
      this.gutter,
      this.ruler,
      copies.onDidChange(() => this.draw()),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('dupi.marks') && this.draw()),
    ];
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const shown = vscode.workspace.getConfiguration('dupi.marks', editor.document);
      const ranges = (this.copies.of(editor.document)?.copies ?? []).map(
        ({ range: { start, end } }) => new vscode.Range(start.line, start.character, end.line, end.character),
      );
      editor.setDecorations(this.gutter, shown.get('gutter') ? ranges : []);
      editor.setDecorations(this.ruler, shown.get('overviewRuler') ? ranges : []);
    }
  }

  dispose(): void {
    vscode.Disposable.from(...this.disposables).dispose();
  }
}
