"""Steps of the preparation: each is told as it starts, and fails with one line.

Knows neither corpora nor tools.
"""

import subprocess
import sys


class Missing(Exception):
    """Something that only the person at the keyboard can provide: one line that says what, and what to do."""


def progress(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def run(command, what, **options):
    """Runs a command of the preparation; its failure becomes one line with the last thing it said."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    except FileNotFoundError:
        raise Missing(f"cannot {what}: the program `{command[0]}` is not installed") from None
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise Missing(f"cannot {what}: `{command[0]}` failed: {said[-1].strip() if said else done.returncode}")
    return done.stdout
