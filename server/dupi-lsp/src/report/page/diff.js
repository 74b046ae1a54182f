// What differs between two copies: they are compared token by token, and blanks, comments and line breaks never count.
// Exact and renamed copies have the same tokens one by one, but for names and literals; near copies are aligned first.

const PIECE = /([a-z])(\d*)/g;

/** A text as lines of pieces; each piece that is a token knows the how many-th it is. */
function linesOf([text, spans], firstLine) {
  const lines = [{ number: firstLine, pieces: [], token: null }];
  let [at, token] = [0, 0];
  for (const [, kind, length] of spans.matchAll(PIECE)) {
    const piece = text.slice(at, (at += Number(length || 1)));
    const isToken = kind !== "b" && kind !== "c";
    if (isToken) lines.at(-1).token ??= token;
    piece.split(/\r?\n/).forEach((part, i) => {
      if (i > 0) lines.push({ number: lines.at(-1).number + 1, pieces: [], token: null });
      if (part) lines.at(-1).pieces.push({ kind, text: part, token: isToken ? token : null });
    });
    if (isToken) token += 1;
  }
  return dedent(lines);
}

/** Without the indent that all lines share. */
function dedent(lines) {
  const indent = (line) =>
    line.pieces[0]?.kind === "b" && line.pieces.length > 1 ? line.pieces[0].text : line.pieces.length ? "" : null;
  const indents = lines.map(indent).filter((each) => each !== null);
  let common = indents[0] ?? "";
  for (const each of indents) while (!each.startsWith(common)) common = common.slice(0, -1);
  for (const { pieces } of lines) if (pieces[0]?.kind === "b") pieces[0].text = pieces[0].text.slice(common.length);
  return lines;
}

/** A text for each token; one that goes over several lines has those of all. */
function tokensOf(lines, withPiece = (before, { text }) => before + text) {
  const tokens = [];
  for (const { pieces } of lines)
    for (const piece of pieces)
      if (piece.token !== null) tokens[piece.token] = withPiece(tokens[piece.token] ?? "", piece);
  return tokens;
}

/** What two tokens must have in common to stand in each other's place: names and literals their kind, others the text. */
function shapesOf(lines) {
  return tokensOf(lines, (before, { kind, text }) => ("nsdt".includes(kind) ? kind : before + text));
}

/** Tables larger than this are not filled: what they would align is shown as different. */
const MOST_CELLS = 30_000_000;

/**
 * The pairs of tokens that correspond, in order: as many of equal text as can be, then as many of equal shape.
 * Both sides are lists of [text, shape].
 */
function corresponding(ours, theirs) {
  const [n, m] = [ours.length, theirs.length];
  const width = m + 1;
  if ((n + 1) * width > MOST_CELLS) return [];
  const score = new Uint32Array((n + 1) * width);
  const gain = (i, j) => (ours[i][0] === theirs[j][0] ? 3 : ours[i][1] === theirs[j][1] ? 1 : 0);
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--) {
      const g = gain(i, j);
      const skip = Math.max(score[(i + 1) * width + j], score[i * width + j + 1]);
      score[i * width + j] = g > 0 ? Math.max(skip, score[(i + 1) * width + j + 1] + g) : skip;
    }
  const pairs = [];
  for (let [i, j] = [0, 0]; i < n && j < m;) {
    const g = gain(i, j);
    const best = score[i * width + j];
    if (g > 0 && best === score[(i + 1) * width + j + 1] + g) pairs.push([i++, j++]);
    else if (best === score[(i + 1) * width + j]) i++;
    else j++;
  }
  return pairs;
}

/**
 * Numbers the tokens of both sides on one scale, so that those that correspond have the same number. Says which numbers
 * differ, and how often one text stands in the place of the other, most often first.
 */
function compare(left, right) {
  const [ours, theirs] = [left, right].map((lines) => {
    const shapes = shapesOf(lines);
    return tokensOf(lines).map((text, i) => [text, shapes[i]]);
  });
  const alike = ours.length === theirs.length && ours.every(([, shape], i) => shape === theirs[i][1]);
  const same = alike ? ours.map((_, i) => [i, i]) : corresponding(ours, theirs);
  const [differing, pairs, numbers] = [new Set(), new Map(), [[], []]];
  const note = (from, to) => {
    const pair = JSON.stringify([from.map(([text]) => text).join(" "), to.map(([text]) => text).join(" ")]);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  };
  let [number, i, j] = [0, 0, 0];
  for (const [x, y] of [...same, [ours.length, theirs.length]]) {
    if (i < x || j < y) note(ours.slice(i, x), theirs.slice(j, y));
    for (; i < x; i++) differing.add((numbers[0][i] = number++));
    for (; j < y; j++) differing.add((numbers[1][j] = number++));
    if (x === ours.length || y === theirs.length) continue;
    if (ours[x][0] !== theirs[y][0]) {
      differing.add(number);
      note([ours[x]], [theirs[y]]);
    }
    numbers[0][i++] = numbers[1][j++] = number++;
  }
  [left, right].forEach((lines, side) => {
    const renumber = (token) => (token === null ? null : numbers[side][token]);
    for (const line of lines) {
      line.token = renumber(line.token);
      for (const piece of line.pieces) piece.token = renumber(piece.token);
    }
  });
  return { differing, pairs: [...pairs].map(([pair, n]) => [...JSON.parse(pair), n]).sort((a, b) => b[2] - a[2]) };
}

/** Lines side by side: those that start with the same token, or with none, are opposite each other. */
function align(left, right) {
  const rows = [];
  for (let [i, j] = [0, 0]; i < left.length || j < right.length;) {
    const [a, b] = [left[i], right[j]];
    const both = a && b && a.token === b.token;
    // A line of its own (a comment, a break elsewhere) stands alone, before what the other side goes on with.
    const alone = !a || !b ? a : a.token === null || (b.token !== null && a.token < b.token) ? a : null;
    if (both) rows.push([left[i++], right[j++]]);
    else if (alone) rows.push([left[i++], null]);
    else rows.push([null, right[j++]]);
  }
  return rows;
}
