// The report of a folder: the server's program writes a page, which is shown beside the editors.
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import type { Server } from './server';

export async function openReport(server: Server): Promise<void> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const folder = folders.length > 1 ? await vscode.window.showWorkspaceFolderPick() : folders[0];
  if (!folder) {
    return;
  }
  const file = path.join(server.folder, 'report.html');
  try {
    const progress = { location: vscode.ProgressLocation.Notification, title: 'dupi: writing the report' };
    const html = await vscode.window.withProgress(progress, async () => {
      await rm(file, { force: true });
      const run = promisify(execFile)(server.program, ['report', folder.uri.fsPath, '-o', file], {
        cwd: server.folder,
      });
      // An exit code may only mean that something is duplicated; whether there is a page tells whether it went well.
      const said = await run.then(
        () => '',
        (error: { stderr?: string; message: string }) => error.stderr || error.message,
      );
      return readFile(file, 'utf8').catch(() => Promise.reject(new Error(said.trim() || 'there is no page')));
    });
    const panel = vscode.window.createWebviewPanel(
      'dupi.report',
      `Duplicated code: ${folder.name}`,
      vscode.ViewColumn.Active,
      {
        enableScripts: true,
        enableFindWidget: true,
        localResourceRoots: [],
      },
    );
    panel.webview.html = html;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    server.log.error(message);
    void vscode.window.showErrorMessage(`dupi: the report could not be written: ${message}`);
  }
}
