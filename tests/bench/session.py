"""What all measurements of a session share: the machine, the limits, and one measured run in an empty home.

Knows nothing of what is run.
"""

import json
import os
import platform
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GIB = 2**30


def add_arguments(parser):
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dupi-bench")
    parser.add_argument("--cache", default=cache, metavar="DIR", help="corpora, peers, reports (default: %(default)s)")
    parser.add_argument("--binary", metavar="PATH", help="this dupi-lsp, instead of building the checkout's")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each (default: %(default)s)")
    parser.add_argument(
        "--timeout", type=float, default=900, metavar="S", help="stop a run after S seconds (default: %(default)s)"
    )
    parser.add_argument(
        "--max-memory",
        type=float,
        default=20,
        metavar="GIB",
        help="stop a run that holds more; never above 85 %% of the machine's memory (default: %(default)s)",
    )
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="cores for each run (default: %(default)s)")
    parser.add_argument("--go-source", metavar="DIR", help="use this source tree of Go's standard library")
    parser.add_argument("--linux-source", metavar="PATH", help="use this source tree of Linux, folder or .tar.xz")
    parser.add_argument(
        "--output", default=os.path.join(HERE, "RESULTS.md"), metavar="FILE", help="default: %(default)s"
    )


def parse(parser):
    """The arguments of above with whole paths, and the limit on memory as `max_rss`; `--corpora` as a list."""
    args = parser.parse_args()
    args.cache = os.path.abspath(args.cache)
    args.corpora = [name for name in args.corpora.split(",") if name]
    for name in ("go_source", "linux_source", "binary"):
        if getattr(args, name):
            setattr(args, name, os.path.abspath(getattr(args, name)))
    args.max_rss = int(min(args.max_memory * GIB, 0.85 * memory()))
    return args


def memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores, {memory() / GIB:.0f} GiB of memory, {model}"


def warm(folder):
    """Reads all files, for a tool that filled the memory may have pushed them out of the page cache."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                while file.read(1 << 20):
                    pass


def measured(args, command, work, environment=None):
    """One run in the folder `work`: what measure.py says of it. Its outputs are `work/stdout` and `work/stderr`."""
    home = os.path.join(work, "home")
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    limits = ["--timeout", str(args.timeout), "--max-rss", str(args.max_rss), "--cores", str(args.threads)]
    outputs = ["--stdout", os.path.join(work, "stdout"), "--stderr", os.path.join(work, "stderr")]
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "measure.py"), *limits, *outputs, "--", *command],
        # An empty home: no settings of the user, and no index that an earlier run left there.
        env={**os.environ, **(environment or {}), "HOME": home, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home},
        cwd=work,
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout)


def tail(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 4096))
        return file.read().decode(errors="replace").strip()


def last_words(path):
    """The last line that a run wrote there."""
    said = tail(path)
    return said.splitlines()[-1][:200] if said else "it said nothing"
