// Workspaces to report on, made up for the tests, and the reports on them.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

const folders = [];

/** A folder that goes when the tests are over. */
export function temporary() {
  const folder = mkdtempSync(join(tmpdir(), "dupi-report-"));
  folders.push(folder);
  return folder;
}

export const cleanUp = () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true }));

export function write(root, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Runs the binary on a folder; its index is its own. */
export function dupi(root, ...args) {
  try {
    return execFileSync(process.env.DUPI_LSP, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 30 });
  } catch (error) {
    // A check that finds something ends with 1.
    if (error.status === 1) return error.stdout;
    throw error;
  }
}

/** Writes the report on a folder beside it, and tells where. */
export function report(root, ...args) {
  const page = join(temporary(), "report.html");
  dupi(root, "report", "--no-index", "-o", page, ...args);
  return page;
}

/** What a page knows of files and classes. */
export function columns(page) {
  const [, packed] = readFileSync(page, "utf8").match(/id="columns">([^<]*)</);
  return JSON.parse(gunzipSync(Buffer.from(packed, "base64")));
}

/** A function of 13 lines in Go; `list` and `limit` are names in it. */
export const sum = (name, list = "values", limit = "limit") =>
  `func ${name}(${list} []int, ${limit} int) (int, error) {
	total := 0
	// Larger values are refused.
	for i, v := range ${list} {
		if v > ${limit} {
			return 0, fmt.Errorf("value %d at %d is over %d", v, i, ${limit})
		}
		total += v * i
	}
	if total == 0 {
		return 0, nil
	}
	return total, nil
}
`;

const loop = (name) =>
  `def ${name}(rows, width):
    seen = {}
    for row in rows:
        key = tuple(sorted(row[:width]))
        if key in seen:
            seen[key].append(row)
        else:
            seen[key] = [row]
    best = None
    for key, found in seen.items():
        if best is None or len(found) > len(seen[best]):
            best = key
    return seen.get(best, [])
`;

/** Three folders that share code: twice in Go, once in Python. */
export const small = () =>
  write(temporary(), {
    "net/http/a.go": `package http\n\nimport "fmt"\n\n${sum("Sum")}`,
    "net/rpc/b.go": `package rpc\n\nimport "fmt"\n\nvar x = 1\n\n${sum("Total", "numbers", "most")}`,
    "tools/c.go": `package tools\n\nimport "fmt"\n\n${sum("Sum")}`,
    "tools/count.py": loop("count"),
    "lib/deep/er/group.py": loop("count"),
    "lib/clean.py": "def double(x):\n    return 2 * x\n",
  });

/** Names and texts that a careless page would run, follow or be confused by. */
export const HOSTILE = {
  names: [
    '<img src=x onerror="alert(1)">.go',
    '" onmouseover="alert(2)" x=".go',
    "javascript:alert(3).go",
    "a\u202egnp.og.go",
    "esc\u001b]0;title\u0007.go",
    "line\nbreak.go",
    "&lt;b&gt; %3Cscript%3E #class=x&q=y.go",
    "__proto__/constructor.go",
  ],
  comment: "// </script><script>alert(4)</script> <!-- ]]> \u202e\u001b[31m \"' javascript:alert(5)",
  string: '"</script><img src=x onerror=alert(6)>${alert(7)}"',
};

export function hostile() {
  const body = sum("Sum").replace("// Larger values are refused.", HOSTILE.comment);
  const text = body.replace('"value %d at %d is over %d"', HOSTILE.string);
  return write(
    temporary(),
    Object.fromEntries(HOSTILE.names.map((name) => [`<b>folder</b>/${name}`, `package a\n\n${text}`])),
  );
}

/** Numbers that are the same each time. */
function random(seed) {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
}

const STATEMENTS = [
  (n) => `${n()} := ${n()}(${n()}, ${n()})`,
  (n) => `if ${n()} > ${n()} { return ${n()} }`,
  (n) => `for ${n()} := range ${n()} { ${n()}++ }`,
  (n) => `${n()}[${n()}] = ${n()} + ${n()}`,
  (n) => `${n()}.${n()}(${n()})`,
  (n) => `${n()} = append(${n()}, ${n()}...)`,
  (n) => `if ${n()} == nil { ${n()}(${n()}) } else { ${n()}() }`,
  (n) => `go func() { ${n()} <- ${n()} }()`,
];

/** So many functions of random structure, each of which stands in two places, so that each is a class. */
export function large(nClasses) {
  const below = random(47);
  const name = () => `n${below(5000)}`;
  const functions = Array.from({ length: nClasses }, (_, i) => {
    const steps = Array.from({ length: 10 }, () => `\t${STATEMENTS[below(STATEMENTS.length)](name)}`);
    return `func f${i}(${name()} int) int {\n${steps.join("\n")}\n\treturn ${name()}\n}\n`;
  });
  const shuffled = [...functions];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
  }
  const root = temporary();
  // Many of them are near each other.
  write(root, { "dupi.toml": 'kind = ["exact", "renamed"]\n' });
  for (const [folder, all] of [
    ["first", functions],
    ["second", shuffled],
  ]) {
    for (let i = 0; i < all.length; i += 50) {
      const path = `${folder}/part${Math.floor(i / 1000)}/file${i / 50}.go`;
      write(root, { [path]: `package p\n\n${all.slice(i, i + 50).join("\n")}` });
    }
  }
  return root;
}
