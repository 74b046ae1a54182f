// The view of all classes: worst first, by folder, by file or in one list. Asks for as many as are looked at.
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { LanguageClient, Location } from 'vscode-languageclient/node';
import { requestClasses } from './protocol';
import type { Class, Classes } from './protocol';
import type { Server } from './server';

export const VIEW = 'dupi.classes';
/** Classes that are asked for at a time. */
const PAGE = 200;
/** What is typed changes the view once nobody has typed for so long. */
const QUIET_MS = 700;
const ZONES = ['code', 'test', 'data', 'imports', 'generated'];
const KINDS = ['exact', 'renamed', 'near'];
const GROUPINGS = { folder: 'By folder', file: 'By file', list: 'In one list' };

type Grouping = keyof typeof GROUPINGS;
export type Node =
  | { type: 'group'; name: string; classes: Class[] }
  | { type: 'class'; class: Class; group: string }
  | { type: 'copy'; class: Class; at: Location; group: string }
  | { type: 'more'; n: number };

/** What a user has chosen for this workspace. */
interface Choice {
  grouping: Grouping;
  zones: string[];
  kinds: string[];
}

export class View implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly tree: vscode.TreeView<Node>;
  private readonly disposables: vscode.Disposable[];
  private client: LanguageClient | undefined;
  private answer: Classes = { total: 0, classes: [] };
  private choice: Choice;
  private limit = PAGE;
  private isStale = true;
  private timer: NodeJS.Timeout | undefined;
  private asking: vscode.CancellationTokenSource | undefined;

  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {
    this.choice = { grouping: 'folder', zones: [], kinds: [], ...memory.get<Partial<Choice>>(VIEW) };
    this.tree = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
    this.describe();
    this.disposables = [
      this.tree,
      this.changed,
      this.tree.onDidChangeVisibility(() => this.isStale && this.refreshIn(0)),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && ['file', 'untitled'].includes(document.uri.scheme)) {
          this.refreshIn(QUIET_MS);
        }
      }),
      server.onDidChangeStatus(() => server.status?.state === 'idle' && this.refreshIn(0)),
    ];
  }

  /** Asks again, if anybody looks; else as soon as somebody does. */
  private refreshIn(delay: number): void {
    this.isStale = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tree.visible && void this.refresh(), delay);
  }

  private async refresh(): Promise<void> {
    this.isStale = false;
    this.asking?.cancel();
    const asking = (this.asking = new vscode.CancellationTokenSource());
    const { limit } = this;
    const { zones, kinds } = this.choice;
    const ask = async () => {
      this.client = await this.server.connected();
      return this.client && requestClasses(this.client, { limit, zones, kinds }, asking.token);
    };
    try {
      const answer = await vscode.window.withProgress({ location: { viewId: VIEW } }, ask);
      if (asking.token.isCancellationRequested || !answer) {
        return;
      }
      const isNew = JSON.stringify(answer) !== JSON.stringify(this.answer);
      this.answer = answer;
      const isFiltered = zones.length + kinds.length > 0;
      const none = isFiltered ? 'No duplicated code of these zones and kinds.' : 'No duplicated code.';
      this.tree.message = answer.total > 0 ? '' : none;
      if (isNew) {
        this.changed.fire();
      }
    } catch (error) {
      if (!asking.token.isCancellationRequested) {
        this.tree.message = `The classes could not be found: ${error instanceof Error ? error.message : error}`;
      }
    }
  }

  // ---- what a user can choose

  more(): void {
    this.limit += PAGE;
    this.refreshIn(0);
  }

  async filter(): Promise<void> {
    const item = (chosen: string[]) => (label: string) => ({
      label,
      picked: chosen.length === 0 || chosen.includes(label),
    });
    const separator = (label: string) => ({ label, kind: vscode.QuickPickItemKind.Separator });
    const items = [
      separator('zones'),
      ...ZONES.map(item(this.choice.zones)),
      separator('kinds'),
      ...KINDS.map(item(this.choice.kinds)),
    ];
    const picked = await vscode.window.showQuickPick<vscode.QuickPickItem>(items, {
      canPickMany: true,
      title: 'Show duplicated code of these zones and kinds',
    });
    if (picked) {
      const labels = picked.map(({ label }) => label);
      // All of them, or none, is no filter.
      const chosen = (all: string[]) => {
        const some = all.filter((name) => labels.includes(name));
        return some.length < all.length ? some : [];
      };
      await this.choose({ zones: chosen(ZONES), kinds: chosen(KINDS) });
    }
  }

  async group(): Promise<void> {
    const items = Object.entries(GROUPINGS).map(([grouping, label]) => ({
      label,
      grouping: grouping as Grouping,
      ...(grouping === this.choice.grouping && { description: 'as it is now' }),
    }));
    const picked = await vscode.window.showQuickPick(items, { title: 'Show duplicated code' });
    if (picked) {
      await this.choose({ grouping: picked.grouping });
    }
  }

  private async choose(choice: Partial<Choice>): Promise<void> {
    this.choice = { ...this.choice, ...choice };
    this.limit = PAGE;
    this.describe();
    this.changed.fire();
    this.refreshIn(0);
    await this.memory.update(VIEW, this.choice);
  }

  private describe(): void {
    this.tree.description = [...this.choice.zones, ...this.choice.kinds].join(', ');
  }

  // ---- the tree

  getChildren(node?: Node): Node[] {
    switch (node?.type) {
      case undefined:
        return this.roots();
      case 'group':
        return node.classes.map((of) => ({ type: 'class', class: of, group: node.name }));
      case 'class': {
        const { class: of, group } = node;
        const copies: Node[] = of.copies.map((at) => ({ type: 'copy', class: of, at, group }));
        const more = of.nCopies - of.copies.length;
        return more > 0 ? [...copies, { type: 'more', n: more }] : copies;
      }
      default:
        return [];
    }
  }

  private roots(): Node[] {
    const { total, classes } = this.answer;
    const groups = new Map<string, Class[]>();
    for (const of of classes) {
      for (const name of this.groupsOf(of)) {
        groups.set(name, [...(groups.get(name) ?? []), of]);
      }
    }
    const roots: Node[] =
      this.choice.grouping === 'list'
        ? classes.map((of) => ({ type: 'class', class: of, group: '' }))
        : [...groups].map(([name, of]) => ({ type: 'group', name, classes: of }));
    return total > classes.length ? [...roots, { type: 'more', n: total - classes.length }] : roots;
  }

  /** The folder that all copies have in common, or each file that has one. */
  private groupsOf(of: Class): string[] {
    const paths = of.copies.map((at) => this.relative(at));
    switch (this.choice.grouping) {
      case 'file':
        return [...new Set(paths)];
      case 'folder':
        return [paths.map((name) => path.posix.dirname(name)).reduce(commonFolder)];
      case 'list':
        return [];
    }
  }

  private relative(at: Location): string {
    return vscode.workspace.asRelativePath(this.uri(at));
  }

  private uri(at: Location): vscode.Uri {
    return this.client?.protocol2CodeConverter.asUri(at.uri) ?? vscode.Uri.parse(at.uri, true);
  }

  location(at: Location): vscode.Location {
    const { start, end } = at.range;
    return new vscode.Location(this.uri(at), new vscode.Range(start.line, start.character, end.line, end.character));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
    switch (node.type) {
      case 'group': {
        const item = new vscode.TreeItem(
          node.name === '.' ? (vscode.workspace.name ?? node.name) : node.name,
          Expanded,
        );
        item.id = node.name;
        item.iconPath = this.choice.grouping === 'file' ? vscode.ThemeIcon.File : vscode.ThemeIcon.Folder;
        item.description = `${node.classes.length}`;
        return item;
      }
      case 'class': {
        const { class: of, group } = node;
        const item = new vscode.TreeItem(of.title, Collapsed);
        item.id = `${group}\0${of.id}`;
        item.description = of.zone === 'code' ? '' : of.zone;
        item.tooltip = `${of.title} · ${of.zone} · ${of.id}`;
        item.iconPath = new vscode.ThemeIcon('copy');
        item.contextValue = 'class';
        return item;
      }
      case 'copy': {
        const { uri, range } = this.location(node.at);
        const name = this.relative(node.at);
        const item = new vscode.TreeItem(
          `${path.posix.basename(name)}:${range.start.line + 1}-${range.end.line}`,
          None,
        );
        const folder = path.posix.dirname(name);
        item.description = folder === '.' ? '' : folder;
        item.tooltip = uri.fsPath;
        item.iconPath = vscode.ThemeIcon.File;
        item.resourceUri = uri;
        item.contextValue = 'copy';
        const options: vscode.TextDocumentShowOptions = { selection: new vscode.Range(range.start, range.start) };
        item.command = { command: 'vscode.open', title: 'Open', arguments: [uri, options] };
        return item;
      }
      case 'more': {
        const item = new vscode.TreeItem(`${node.n.toLocaleString()} more`, None);
        item.iconPath = new vscode.ThemeIcon('ellipsis');
        if (this.answer.classes.length < this.answer.total) {
          item.command = { command: 'dupi.moreClasses', title: 'Show more' };
        }
        return item;
      }
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.asking?.cancel();
    vscode.Disposable.from(...this.disposables).dispose();
  }
}

function commonFolder(one: string, other: string): string {
  const [parts, others] = [one.split('/'), other.split('/')];
  const n = parts.findIndex((part, i) => part !== others[i]);
  return (n < 0 ? parts : parts.slice(0, n)).join('/') || '.';
}
