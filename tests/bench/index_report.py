"""Writes the part about the index: how large, how fast after a change, how fast after an edit.

Knows nothing of how the figures were obtained.
"""

import statistics
from collections import namedtuple

from report import corpus_line, median_peak, median_seconds, number, peak_cell, ratio, seconds_cell, table

MIB = 2**20

Steps = namedtuple("Steps", "first second one hundred without built")
"""Rows by what was done before the check; `built` has one for each limit on memory, in MiB."""

Measured = namedtuple("Measured", "corpus steps told")
"""A corpus with its rows, and what the program `edits` told in each round."""

TITLES = dict(
    first="first check, no index yet",
    second="second check, nothing changed",
    one="one file changed",
    hundred="100 files changed",
    without="`--no-index`",
)

PARTS = dict(
    streams="documents",
    dictionary="names that many documents use",
    posts="posts",
    table="table of files",
    answers="classes found",
    other="manifest and lock",
)


def built_title(limit):
    return f"index built with `--memory {limit}`"


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "–"


def milliseconds(told, column, at):
    """The median over all rounds of a percentile."""
    return statistics.median(one["edits"][column][at] for one in told) / 1000


def anonymous(told, key):
    return max(one["edits"][key] for one in told)


def kept_below(row, limit):
    """Whether all runs stayed below their limit on memory."""
    if row.end != "done":
        return "–"
    return ("" if max(peak for _, peak in row.runs) <= limit * MIB else "ABOVE: ") + peak_cell(row)


def render(machine, settings, measured, commands):
    """The whole part. `measured` may be incomplete: it is written after each corpus."""
    limits = settings["memory"]
    lines = [
        "# Results of the index",
        "",
        f"Machine: {machine}.",
        f"Median of {settings['rounds']} round{'s' if settings['rounds'] > 1 else ''}, on {settings['threads']} cores, with a warm page cache;"
        " in each round one corpus goes through all steps, one after the other, starting without an index.",
        "A ratio is a step's time divided by that of the first check in the same run.",
        "Size is all that lies in the folder of the index, in percent of the source bytes that are indexed:"
        " files that are left out, such as generated ones, do not count.",
        f"An edit changes one line of a file that is open in the editor; {settings['edits']:,} files, spread evenly.",
        "Its time is from the new text to the classes of the file. Before that the file is opened, and its classes are"
        " asked for: nobody has done so before, so nothing is remembered.",
        "Anonymous memory is the most that the process had then.",
        "In each round the JSON report of the second check is that of the first, byte for byte, and the one after 100"
        " changes is that of `--no-index`; what is not so is said.",
        "",
        "Repeat it with `tests/bench/index`.",
        "",
        *table(
            ["corpus", ">size", ">second ÷ first", ">one file ÷ first", ">100 files ÷ first", ">edit p50", ">edit p99"]
            + [">open p50", ">open p99", ">anonymous memory", *(f">peak, `--memory {limit}`" for limit in limits)],
            [summary(one, limits) for one in measured],
        ),
    ]
    for one in measured:
        lines += details(one, settings["timeout"])
    lines += ["", "## Commands of the index", ""]
    lines += ["`$CACHE` is the folder given with `--cache`; `$INDEX` is an empty folder at the beginning of a round.", ""]
    lines += ["```sh", *commands, "```", ""]
    return "\n".join(lines)


def summary(one, limits):
    steps, told = one.steps, one.told
    cells = [one.corpus.title]
    cells.append(percent(told[0]["index"]["bytes"], told[0]["index"]["sourceBytes"]) if told else "–")
    cells += [ratio(row, steps.first, median_seconds) for row in (steps.second, steps.one, steps.hundred)]
    for column in ("total", "open"):
        cells += [f"{milliseconds(told, column, at):.2f} ms" if told else "–" for at in ("p50", "p99")]
    cells.append(f"{anonymous(told, 'anonymousPeak') / MIB:,.0f} MiB" if told else "–")
    cells += [kept_below(steps.built[limit], limit) for limit in limits]
    return cells


def details(one, timeout):
    steps = one.steps
    rows = [(TITLES[name], getattr(steps, name)) for name in TITLES]
    rows += [(built_title(limit), row) for limit, row in steps.built.items()]
    lines = ["", f"## Index of: {one.corpus.title}", "", corpus_line(one.corpus), ""]
    lines += table(
        ["step", ">time ÷ first", ">memory ÷ first", ">time (range)", ">peak memory", ">classes"],
        [
            (
                title,
                ratio(row, steps.first, median_seconds),
                ratio(row, steps.first, median_peak),
                seconds_cell(row, timeout),
                peak_cell(row),
                number(row.clones),
            )
            for title, row in rows
        ],
    )
    remarks = [f"- {title}: {row.remark}." for title, row in rows if row.remark]
    lines += ["", *remarks] if remarks else []
    if one.told:
        lines += sizes(one.told[0]["index"]) + edits(one.told)
    return lines


def sizes(index):
    source = index["sourceBytes"]
    lines = [
        "",
        f"{index['documents']:,} documents, {index['tokens']:,} tokens, {index['posts']:,} posts,"
        f" {source / 1e6:,.1f} MB of source indexed; segments: {index['segments']:,}.",
        "",
    ]
    rows = [(PARTS.get(name, name), bytes) for name, bytes in index["parts"].items()]
    rows.sort(key=lambda row: -row[1])
    rows.append(("**all**", index["bytes"]))
    return lines + table(
        ["part of the index", ">% of source", ">bytes"],
        [(name, percent(bytes, source), number(bytes)) for name, bytes in rows],
    )


def edits(told):
    columns = dict(
        total="edit of a file",
        setBuffer="… reading the new text",
        clonesOf="… finding its classes",
        open="opening a file",
    )
    lines = [""]
    lines += table(
        ["", *(f">{at}" for at in ("p50", "p90", "p99", "max"))],
        [
            (title, *(f"{milliseconds(told, column, at):.2f} ms" for at in ("p50", "p90", "p99", "max")))
            for column, title in columns.items()
        ],
    )
    one = told[0]["edits"]
    opened = max(round["anonymousAfterOpening"] for round in told)
    lines += [
        "",
        f"{one['count']:,} edits, {one['withClasses']:,} of them in files with classes, after {one['warmUp']} that do"
        f" not count; seed {one['seed']}.",
        f"Anonymous memory: {opened / MIB:,.1f} MiB after opening,"
        f" {anonymous(told, 'anonymousPeak') / MIB:,.1f} MiB at most during the edits.",
        "The slowest: "
        + ", ".join(f"`{slow['path']}` {slow['total'] / 1000:.1f} ms" for slow in one["slowest"][:3])
        + ".",
    ]
    return lines
