// What differs between two copies. Copies of a class have the same tokens one by one, but for names and literals; so
// they are compared token by token, and blanks, comments and line breaks never count.

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

/** The texts of the tokens; one that goes over several lines has them all. */
function tokensOf(lines) {
  const tokens = [];
  for (const { pieces } of lines)
    for (const { token, text } of pieces) if (token !== null) tokens[token] = (tokens[token] ?? "") + text;
  return tokens;
}

/** The tokens that differ, and how often one stands in the place of the other, most often first. */
function compare(left, right) {
  const [ours, theirs] = [tokensOf(left), tokensOf(right)];
  const differing = new Set();
  const pairs = new Map();
  for (let i = 0; i < Math.min(ours.length, theirs.length); i++) {
    if (ours[i] === theirs[i]) continue;
    differing.add(i);
    const pair = JSON.stringify([ours[i], theirs[i]]);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
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
