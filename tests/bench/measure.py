"""Runs one command and says how long it took and how much memory it held.

Owns the clock, the memory gauge and the two limits. Knows nothing of the tools it runs.

It is a program of its own, started afresh for every measurement, because Linux counts the memory of a
process that forks into the peak of the child: a harness that has just read a report of a gigabyte would lend
that gigabyte to the next tool.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

POLL_SECONDS = 0.1
"""Between two looks at the memory of the process tree: rare enough not to take a share of the cores."""


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        pass  # The process ended while we looked.
    return found


def tree_rss(pid):
    """Resident bytes of the process and all its descendants."""
    total = 0
    try:
        with open(f"/proc/{pid}/statm") as file:
            total = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    return total + sum(tree_rss(child) for child in children(pid))


def measure(command, stdout, stderr, timeout, max_rss, cores):
    """Returns seconds, peak bytes, and the end: `exit`, `timeout` or `memory`, with the exit code.

    The limit is on resident memory and not on address space (`ulimit -v`): a JVM and a program that maps its
    files reserve far more than they ever use.
    """
    # All tools get the same cores, also those which have no option for the number of threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    with open(stdout, "wb") as out, open(stderr, "wb") as err:
        start = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        ended = threading.Event()
        seen = {"peak": 0, "end": "exit"}

        def watch():
            while not ended.wait(POLL_SECONDS):
                seen["peak"] = max(seen["peak"], tree_rss(process.pid))
                if seen["peak"] > max_rss:
                    seen["end"] = "memory"
                elif time.monotonic() - start > timeout:
                    seen["end"] = "timeout"
                else:
                    continue
                os.killpg(process.pid, signal.SIGKILL)
                return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        ended.set()
        watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    # The kernel's peak is exact but of one process; the polled one is of the tree. The larger is nearer the truth.
    return {
        "seconds": seconds,
        "peak": max(usage.ru_maxrss * 1024, seen["peak"]),
        "end": seen["end"],
        "code": process.returncode,
    }


def main():
    parser = argparse.ArgumentParser(description="Measure one command; prints JSON.")
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--max-rss", type=int, required=True)
    parser.add_argument("--cores", type=int, required=True)
    parser.add_argument("--stdout", required=True)
    parser.add_argument("--stderr", required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    json.dump(
        measure(command, args.stdout, args.stderr, args.timeout, args.max_rss, args.cores), sys.stdout
    )


if __name__ == "__main__":
    main()
