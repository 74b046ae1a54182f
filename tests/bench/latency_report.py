"""Writes the part about the language server: how long an editor waits, and what the server takes meanwhile.

Knows nothing of how the figures were obtained.
"""

import math
import statistics
from collections import namedtuple

from report import corpus_line, table

Waits = namedtuple("Waits", "diagnostics hover lens")
"""Seconds from an edit to its diagnostics, and to the answers that were asked for right behind it."""

Figures = namedtuple("Figures", "index restarts typing memory busy busy_memory small jscpd")
"""`index`: seconds and files of the first one. `restarts`: seconds from start to first diagnostics.

`typing` and `busy` are waits, `memory` and `busy_memory` the most anonymous bytes then; busy is while another root is
indexed for the first time. `small` are the waits for diagnostics on the folder that jscpd could do, `jscpd` is what it
did there.
"""

Jscpd = namedtuple("Jscpd", "version files scan edits memory")

# From the edit, in milliseconds; memory in MB, which is what people compare.
BARS = dict(p50=10, p99=50, asked=20, busy=100, memory=300, restart=1000)


def percentile(values, share):
    """The nearest rank: one of the values, never a mean of two."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def milliseconds(values, share):
    return 1000 * percentile(values, share)


def bars(figures):
    """What was asked for, what was measured, and the limit: rows of a table, and whether all were kept."""
    rows, kept = [], True

    def row(what, value, limit, unit):
        nonlocal kept
        kept &= value <= limit
        rows.append((what, f"{value:,.1f} {unit}", f"{limit:,} {unit}", "yes" if value <= limit else "NO"))

    typing, busy = figures.typing, figures.busy
    row("diagnostics, p50", milliseconds(typing.diagnostics, 0.5), BARS["p50"], "ms")
    row("diagnostics, p99", milliseconds(typing.diagnostics, 0.99), BARS["p99"], "ms")
    row("hover, p99", milliseconds(typing.hover, 0.99), BARS["asked"], "ms")
    row("code lenses, p99", milliseconds(typing.lens, 0.99), BARS["asked"], "ms")
    for what, waits in busy._asdict().items():
        row(f"{what}, p99, while another root is indexed", milliseconds(waits, 0.99), BARS["busy"], "ms")
    row("anonymous memory", figures.memory / 1e6, BARS["memory"], "MB")
    row("restart to first diagnostics", 1000 * statistics.median(figures.restarts), BARS["restart"], "ms")
    return rows, kept


def render(machine, corpus, settings, figures):
    rows, _ = bars(figures)
    index_seconds, index_files = figures.index
    lines = [
        "# Results of the language server",
        "",
        f"Machine: {machine}.",
        f"The index of all of {corpus.title} is open ({corpus_line(corpus).rstrip('.')}), and somebody types in"
        f" `{settings['file']}` ({settings['lines']:,} lines), {settings['rate']} keystrokes a second for"
        f" {settings['seconds']:.0f} seconds.",
        "The real binary is driven over standard input and output. A wait is from didChange to the diagnostics of that"
        " version; there is no debounce. In the second half a hover and the code lenses are asked for right behind each"
        " edit, so that they must see it.",
        f"Then another root, a copy of the same tree, is opened and indexed for the first time (on its own, that took"
        f" {index_seconds:.0f} s for {index_files:,} files), and typing goes on until that is done.",
        "",
        "Repeat it with `tests/bench/latency`.",
        "",
        *table(["", ">measured", ">at most", "kept"], rows),
        "",
        *table(
            ["wait", ">n", ">p50", ">p90", ">p99", ">max"],
            [wait(what, values) for what, values in figures.typing._asdict().items()]
            + [wait(f"{what}, another root being indexed", values) for what, values in figures.busy._asdict().items()],
        ),
        "",
        f"Anonymous memory while the other root was indexed: {figures.busy_memory / 1e6:,.0f} MB at most."
        f" Restarts: {', '.join(f'{1000 * seconds:.0f} ms' for seconds in figures.restarts)}.",
    ]
    if figures.jscpd:
        lines += beside(settings, figures)
    return "\n".join(lines) + "\n"


def wait(what, values):
    shares = (milliseconds(values, share) for share in (0.5, 0.9, 0.99, 1))
    return (what, f"{len(values):,}", *(f"{value:.1f} ms" for value in shares))


def beside(settings, figures):
    jscpd = figures.jscpd
    ours, theirs = milliseconds(figures.small, 0.5), milliseconds(jscpd.edits, 0.5)
    return [
        "",
        "## Beside jscpd",
        "",
        f"jscpd {jscpd.version} has no language server: `--lsp` is no option of it.",
        "The nearest is `--mcp`, which scans a folder once and then tells of a text whether it is in there; after each"
        " edit it is asked for the whole text of the file.",
        f"In `{settings['small']}` ({jscpd.files:,} files), since its memory and time grow with the folder and not with"
        " the edit; the same edits in the same run.",
        "",
        *table(
            ["", ">edits", ">p50", ">max", ">÷ dupi-lsp", ">anonymous memory"],
            [
                (name, len(edits), *(f"{milliseconds(edits, share):.1f} ms" for share in (0.5, 1)), ratio, memory)
                for name, edits, ratio, memory in (
                    ("dupi-lsp", figures.small, "1.0", "–"),
                    ("jscpd `--mcp`", jscpd.edits, f"{theirs / ours:.1f}", f"{jscpd.memory / 1e6:,.0f} MB"),
                )
            ],
        ),
        "",
        f"jscpd's scan took {jscpd.scan:.1f} s; it compares with the files as they were then.",
    ]
