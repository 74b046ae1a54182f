"""Makes a git repository of a folder of Go sources, with commits that edit, copy and move code."""

import os
import random
import subprocess
import sys
from pathlib import Path

WHO = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "A. Writer"), ("EMAIL", "writer@example.org"))}


def git(folder, *arguments):
    environment = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", "-C", folder, *arguments], check=True, env=environment)


def functions(text):
    """The functions at the top level of a Go file, as gofmt writes them."""
    lines, found, start = text.splitlines(keepends=True), [], None
    for i, line in enumerate(lines):
        if line.startswith("func ") and line.rstrip().endswith("{"):
            start = i
        elif line.rstrip() == "}" and start is not None:
            found.append((start, i + 1))
            start = None
    return lines, found


def edit(files, rng):
    """One change of one file."""
    lines, own = functions(rng.choice(files).read_text())
    target = rng.choice(files)
    text, there = functions(target.read_text())
    what = rng.randrange(4)
    if what == 0 and own:
        start, end = rng.choice(own)
        text += ["\n", *lines[start:end]]
    elif what == 1 and there:
        start, end = rng.choice(there)
        del text[start:end]
    elif what == 2 and there:
        start, _ = rng.choice(there)
        text.insert(start + 1, "\tprintln(\"edited\")\n")
    else:
        moved = target.with_name("moved_" + target.name)
        target.rename(moved)
        files[files.index(target)] = moved
        return
    target.write_text("".join(text))


def main(folder, n):
    rng = random.Random(6)
    files = sorted(path for path in Path(folder).rglob("*.go") if path.is_file() and "testdata" not in path.parts)
    files = [path for path in files if path.read_bytes().isascii()]
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", "start")
    for i in range(n):
        for _ in range(rng.randrange(1, 6)):
            edit(files, rng)
        git(folder, "add", "--all", "--force")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", f"change {i}")


main(sys.argv[1], int(sys.argv[2]))
