"""Writes the table: ratios first, then what they were made of.

Knows nothing of how the figures were obtained.
"""

import math
import re
import statistics
from collections import namedtuple

Row = namedtuple("Row", "tool runs end files clones remark")
"""`runs` are pairs of seconds and peak bytes; `end` is `done`, `timeout`, `memory` or `failed`.

Only the figures of a row that is done are those of the whole work.
"""

Section = namedtuple("Section", "corpus rows")

Point = namedtuple("Point", "corpus row")
"""One size of the scaling measurement."""


def median_seconds(row):
    return statistics.median(seconds for seconds, _ in row.runs)


def median_peak(row):
    return statistics.median(peak for _, peak in row.runs)


def exponent(sizes, values):
    """The slope of the least squares line through the logarithms: 1 is linear, 2 is quadratic."""
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in values]
    mean_x, mean_y = statistics.mean(xs), statistics.mean(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)


def ratio(row, base, value, timeout=None):
    """How many times the base; nothing where one of the two has not done its work."""
    if base is None or base.end != "done":
        return "–"
    if row.end == "timeout" and timeout:
        return f"> {timeout / value(base):.1f}"
    return f"{value(row) / value(base):.2f}" if row.end == "done" else "–"


def seconds_cell(row, timeout):
    if row.end == "timeout":
        return f"> {timeout:.0f} s"
    if row.end == "memory":
        return "out of memory"
    if row.end == "failed":
        return "failed"
    times = [seconds for seconds, _ in row.runs]
    return f"{median_seconds(row):.2f} s ({min(times):.2f}–{max(times):.2f})"


def peak_cell(row):
    if row.end == "failed":
        return "–"
    # A tool that was stopped held at least this much.
    return ("" if row.end == "done" else "> ") + f"{median_peak(row) / 2**20:,.0f} MiB"


def table(header, rows):
    """A Markdown table; a column is aligned right if its title begins with `>`."""
    titles = [title.lstrip(">") for title in header]
    rule = ["---:" if title.startswith(">") else "---" for title in header]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in (titles, rule, *rows)]


def number(value):
    return "–" if value is None else f"{value:,}"


def corpus_line(corpus):
    return f"{corpus.origin}: {corpus.files:,} files, {corpus.bytes / 1e6:,.1f} MB."


def put(path, part):
    """Puts a part of the results in the place of the one with the same title, else behind the others.

    A part starts with a heading of the first level and has no other: each program writes its own, and leaves the others.
    """
    try:
        with open(path) as file:
            parts = [old.strip("\n") for old in re.split(r"(?m)^(?=# )", file.read()) if old.strip()]
    except FileNotFoundError:
        parts = []
    part = part.strip("\n")
    title = part.split("\n", 1)[0]
    titles = [old.split("\n", 1)[0] for old in parts]
    if title in titles:
        parts[titles.index(title)] = part
    else:
        parts.append(part)
    with open(path, "w") as file:
        file.write("\n\n".join(parts) + "\n")


def render(machine, settings, tools, sections, points, commands):
    """The whole file. `sections` and `points` may be incomplete: it is written after each corpus."""
    timeout, max_rss = settings["timeout"], settings["max_rss"]
    lines = [
        "# Benchmark results",
        "",
        f"Machine: {machine}.",
        f"Median of {settings['rounds']} rounds; in each round every tool runs once, one after the other,"
        f" on {settings['threads']} cores, with a warm page cache and no index from before.",
        f"At least {settings['min_tokens']} tokens and {settings['min_lines']} lines for everyone.",
        f"Stopped after {timeout:.0f} s or above {max_rss / 2**30:.0f} GiB of resident memory.",
        "A ratio is the tool's figure divided by that of dupi-lsp in the same run: above 1, dupi-lsp needs less.",
        "The absolute figures are worth only as much as the machine was quiet.",
        "",
        "Repeat it with `tests/bench/run`.",
        "",
        "## Tools",
        "",
        *table(
            ["tool", "version", "one clone is one of its", "remarks"],
            [(tool.name, tool.version, tool.clones_are, "; ".join(tool.remarks) or "–") for tool in tools],
        ),
    ]
    for section in sections:
        by_name = {row.tool: row for row in section.rows}
        bases = [by_name.get("dupi-lsp"), by_name.get("dupi-lsp, everything")]
        lines += ["", f"## {section.corpus.title}", "", corpus_line(section.corpus), ""]
        lines += table(
            [
                "tool",
                ">time ÷ dupi-lsp",
                ">time ÷ everything",
                ">memory ÷ dupi-lsp",
                ">memory ÷ everything",
                ">time (range)",
                ">peak memory",
                ">files",
                ">clones",
            ],
            [
                (
                    row.tool,
                    *(ratio(row, base, median_seconds, timeout) for base in bases),
                    *(ratio(row, base, median_peak) for base in bases),
                    seconds_cell(row, timeout),
                    peak_cell(row),
                    number(row.files),
                    number(row.clones),
                )
                for row in section.rows
            ],
        )
        remarks = [f"- {row.tool}: {row.remark}." for row in section.rows if row.remark]
        lines += ["", *remarks] if remarks else []
    if points:
        lines += scaling(points, timeout)
    lines += ["", "## Commands", "", "`$CACHE` is the folder given with `--cache`, `$REPORT` an empty one.", ""]
    lines += ["```sh", *commands, "```", ""]
    return "\n".join(lines)


def scaling(points, timeout):
    lines = ["", "## How time and memory grow", ""]
    lines += ["dupi-lsp alone on every 8th, 4th, 2nd and every file of Linux.", ""]
    lines += table(
        ["tool", "corpus", ">files", ">MB", ">time (range)", ">peak memory", ">clones"],
        [
            (
                point.row.tool,
                point.corpus.title,
                number(point.corpus.files),
                f"{point.corpus.bytes / 1e6:,.0f}",
                seconds_cell(point.row, timeout),
                peak_cell(point.row),
                number(point.row.clones),
            )
            for point in points
        ],
    )
    lines += ["", "Exponent of growth with the bytes of source (least squares over the logarithms; 1 is linear):", ""]
    for name in dict.fromkeys(point.row.tool for point in points):
        done = [point for point in points if point.row.tool == name and point.row.end == "done"]
        if len(done) < 2:
            lines.append(f"- {name}: not enough sizes were finished.")
            continue
        sizes = [point.corpus.bytes for point in done]
        time = exponent(sizes, [median_seconds(point.row) for point in done])
        memory = exponent(sizes, [median_peak(point.row) for point in done])
        lines.append(f"- {name}: time **{time:.2f}**, memory **{memory:.2f}**, over {len(done)} sizes.")
    return lines
