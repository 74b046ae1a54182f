// What this extension asks the server for, beside what every editor does. The server's documentation says what it means.
import type { CancellationToken } from 'vscode';
import type { LanguageClient, Location, Range, TextDocumentIdentifier } from 'vscode-languageclient/node';

/** A copy in a document. */
export interface Copy {
  class: string;
  kind: string;
  zone: string;
  range: Range;
  title: string;
  others: Location[];
}

export interface CopiesOfDocument {
  lines: number;
  duplicatedLines: number;
  percent: number;
  copies: Copy[];
}

/** A class of copies, with the places of the first of them. */
export interface Class {
  id: string;
  kind: string;
  zone: string;
  title: string;
  nCopies: number;
  copies: Location[];
}

export interface Classes {
  total: number;
  classes: Class[];
}

export interface ClassesParams {
  limit: number;
  zones: string[];
  kinds: string[];
}

export interface Status {
  state: 'idle' | 'busy';
  files: number;
  classes: number | null;
}

export const STATUS = 'dupi/status';

export function requestCopies(
  client: LanguageClient,
  textDocument: TextDocumentIdentifier,
): Promise<CopiesOfDocument | null> {
  return client.sendRequest('dupi/copies', { textDocument });
}

export function requestClasses(
  client: LanguageClient,
  params: ClassesParams,
  token: CancellationToken,
): Promise<Classes> {
  return client.sendRequest('dupi/classes', params, token);
}
