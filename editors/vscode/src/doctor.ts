// How the server, its indexes and the workspace are doing, as one text to paste into an issue.
import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import type { Server } from './server';

export async function showDoctor(server: Server): Promise<void> {
  try {
    const client = await server.connected();
    const content = client
      ? (await client.sendRequest<{ text: string }>('workspace/executeCommand', { command: 'dupi.doctor' })).text
      : await withoutServer(server);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: 'plaintext' }));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    server.log.error(message);
    void vscode.window.showErrorMessage(`dupi: the doctor has no answer: ${message}`);
  }
}

/** A server that does not run is a reason to ask: then its program tells what it can. */
function withoutServer(server: Server): Promise<string> {
  const folders = (vscode.workspace.workspaceFolders ?? []).slice(0, 1).map((folder) => folder.uri.fsPath);
  return new Promise((resolve, reject) => {
    execFile(server.program, ['doctor', ...folders], { cwd: server.folder }, (error, stdout, stderr) => {
      // The exit code only says whether something needs attention; the text says it, too.
      if (stdout) {
        resolve(`the server does not run\n${stdout}`);
      } else {
        reject(new Error(stderr.trim() || error?.message || 'there is no text'));
      }
    });
  });
}
