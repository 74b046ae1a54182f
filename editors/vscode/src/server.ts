// The server's process and the connection to it: which program it is, and when it is started.
import { existsSync, mkdirSync } from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { LanguageClient, ServerCapabilities } from 'vscode-languageclient/node';
import { STATUS } from './protocol';
import type { Status } from './protocol';

/** A server that ends so often within that time is not started again. */
const MAX_ENDS = 4;
const PERIOD_MS = 3 * 60_000;

export class Server implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel('dupi', { log: true });
  /** How far it is; undefined while it does not run. */
  status: Status | undefined;
  private readonly statusChanged = new vscode.EventEmitter<void>();
  readonly onDidChangeStatus = this.statusChanged.event;
  private client: LanguageClient | undefined;
  private starting: Promise<void> | undefined;

  constructor(private readonly context: vscode.ExtensionContext) {}

  /** The program: the user's own, else the one that came with the extension, else whatever the path has. */
  get program(): string {
    // Never from a workspace's settings: a repository that somebody else wrote must not choose what is run.
    const own = vscode.workspace.getConfiguration('dupi').inspect<string>('server.path')?.globalValue;
    if (own) {
      return own;
    }
    const name = process.platform === 'win32' ? 'dupi-lsp.exe' : 'dupi-lsp';
    const bundled = this.context.asAbsolutePath(path.join('bin', name));
    return existsSync(bundled) ? bundled : name;
  }

  /** A folder of the extension's own. Programs start there, since some systems look into that folder for them first. */
  get folder(): string {
    const folder = this.context.globalStorageUri.fsPath;
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Starts it, unless it was; says so if it cannot be. */
  start(): Promise<void> {
    this.starting ??= this.launch();
    return this.starting;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** The connection, or undefined while there is none. */
  async connected(): Promise<LanguageClient | undefined> {
    await this.start();
    return this.client?.isRunning() ? this.client : undefined;
  }

  dispose(): Promise<void> {
    return this.stop();
  }

  private async launch(): Promise<void> {
    // Most of the time that it takes to wake up would go into this, so it comes after that.
    const { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn, State } = await import(
      'vscode-languageclient/node'
    );
    const { program } = this;
    const ends: number[] = [];
    const client = new LanguageClient(
      'dupi',
      'dupi',
      { command: program, options: { cwd: this.folder } },
      {
        documentSelector: languages(this.context).flatMap((language) => [
          { scheme: 'file', language },
          { scheme: 'untitled', language },
        ]),
        outputChannel: this.log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        initializationFailedHandler: () => false,
        errorHandler: {
          // The log has it; what comes of it is told once, when the connection is closed.
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => {
            const now = Date.now();
            ends.push(now);
            // Who starts it tells that it never did.
            const hasStarted = this.status !== undefined;
            const isHopeless = !hasStarted || ends.filter((end) => end > now - PERIOD_MS).length > MAX_ENDS;
            if (isHopeless && hasStarted) {
              void this.offerHelp(`${program} has ended, and is not started again`);
            }
            return { action: isHopeless ? CloseAction.DoNotRestart : CloseAction.Restart, handled: true };
          },
        },
        middleware: {
          async provideCodeLenses(document, token, next) {
            const lenses = await next(document, token);
            for (const { command } of lenses ?? []) {
              // Not every font has that sign; the editor's own icons are always there.
              command && (command.title = command.title.replace('⧉', '$(copy)'));
            }
            return lenses;
          },
        },
      },
    );
    client.registerFeature({
      preInitialize: ownWay,
      initialize() {},
      fillClientCapabilities() {},
      getState: () => ({ kind: 'static' }),
      clear() {},
    });
    client.onNotification(STATUS, (status: Status) => this.tell(status));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped) {
        this.tell(undefined);
      }
    });
    this.client = client;
    try {
      await client.start();
      if (this.client !== client) {
        await client.dispose();
      }
    } catch (error) {
      if (this.client !== client) {
        return;
      }
      this.log.error(`${program}: ${String(error)}`);
      void this.offerHelp(`${program} could not be started: ${error instanceof Error ? error.message : error}`);
    }
  }

  private async offerHelp(message: string): Promise<void> {
    const choice = await vscode.window.showErrorMessage(`dupi: ${message}`, 'Open Settings', 'Show Log');
    if (choice === 'Open Settings') {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'dupi.server.path');
    } else if (choice === 'Show Log') {
      this.log.show();
    }
  }

  private async stop(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    this.starting = undefined;
    this.tell(undefined);
    // One that is only starting may do so for ever, and cannot be stopped before it has.
    if (client?.isRunning()) {
      await client.dispose();
    }
  }

  private tell(status: Status | undefined): void {
    this.status = status;
    this.statusChanged.fire();
  }
}

/** The languages that the extension wakes up for are those that the server knows. */
function languages(context: vscode.ExtensionContext): string[] {
  const { activationEvents } = context.extension.packageJSON as { activationEvents: string[] };
  return activationEvents.flatMap((event) =>
    event.startsWith('onLanguage:') ? [event.slice('onLanguage:'.length)] : [],
  );
}

/** Takes away what the server offers and this extension does in its own way. */
function ownWay(capabilities: ServerCapabilities): void {
  // Its commands are there before the server is, and whether or not it is.
  delete capabilities.executeCommandProvider;
  // Files that are not open are in the view: a large workspace has too many copies for a list of problems.
  if (capabilities.diagnosticProvider) {
    capabilities.diagnosticProvider.workspaceDiagnostics = false;
  }
}
