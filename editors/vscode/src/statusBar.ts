// The item in the status bar: how much of the current file is duplicated, or that the server is at work.
import * as vscode from 'vscode';
import type { Copies } from './copies';
import type { Server } from './server';

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('dupi.status', vscode.StatusBarAlignment.Right, 90);
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly copies: Copies,
  ) {
    this.item.name = 'Duplicated code';
    this.item.command = 'dupi.showView';
    this.disposables = [
      this.item,
      vscode.window.onDidChangeActiveTextEditor(() => this.show()),
      copies.onDidChange(() => this.show()),
      server.onDidChangeStatus(() => this.show()),
    ];
  }

  private show(): void {
    const { status } = this.server;
    const document = vscode.window.activeTextEditor?.document;
    const copies = document && this.copies.of(document);
    const icon = status?.state === 'busy' ? '$(sync~spin)' : '$(copy)';
    if (status && copies) {
      const { lines, duplicatedLines, percent, copies: found } = copies;
      this.item.text = `${icon} ${Math.round(percent)} %`;
      const here = `${plural(duplicatedLines, 'line')} of ${lines} duplicated in this file, in ${plural(found.length, 'copy', 'copies')}`;
      const all = status.classes === null ? '' : ` with ${plural(status.classes, 'class', 'classes')} of copies`;
      this.item.tooltip = `${here}\n${plural(status.files, 'file')} in the workspace${all}`;
    } else if (status?.state === 'busy') {
      this.item.text = `${icon} dupi`;
      this.item.tooltip = 'Looking for duplicated code';
    } else {
      this.item.hide();
      return;
    }
    this.item.accessibilityInformation = { label: `Duplicated code: ${this.item.tooltip}` };
    this.item.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.disposables).dispose();
  }
}

function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}
