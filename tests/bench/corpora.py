"""Gets the source trees that the tools are measured on.

Owns `$CACHE/corpora`: one folder per corpus that holds nothing but the source files of one language, so that every
tool sees the same files whatever its rules about ignore files, links and other languages. Beside each
folder lies `NAME.json`, written last: a folder without it is a broken attempt and is made again.
"""

import glob
import json
import os
import re
import shutil
from collections import namedtuple

from steps import Missing, progress, run

Corpus = namedtuple("Corpus", "name title folder language origin files bytes")

LANGUAGES = {"go": (".go",), "rust": (".rs",), "c": (".c", ".h")}

PREFERRED_GO = "golang-1.19-src"
"""What the committed tables were measured on; the newest one that Debian has where this one is gone."""

GENERATED_PACKAGES = re.compile(r"^(windows|winapi|windows[-_].*|winapi-.*|web-sys|js-sys|linux-raw-sys)(-\d.*)?$")
"""Packages that consist of machine-written bindings: over a third of all bytes, and nobody's duplicated code."""

CRATES_LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "crates.txt")


class Corpora:
    """Makes corpora on demand, in one cache folder."""

    def __init__(self, cache, go_source=None, linux_source=None):
        self.cache = cache
        self.root = os.path.join(cache, "corpora")
        self.go_source = go_source
        self.linux_source = linux_source
        os.makedirs(self.root, exist_ok=True)

    def get(self, name):
        """`go`, `crates`, `linux`, or a share: `linux-8` is every 8th file of `linux`, in sorted order."""
        return self.stored(name) or self.make(name)

    def make(self, name):
        progress(f"making corpus {name}")
        if name == "go":
            source, origin = self.find_go()
            return self.store(name, "Go standard library", "go", origin, source, sources(source, "go"))
        if name == "crates":
            source, origin = self.find_crates()
            return self.store(name, "Popular crates", "rust", origin, source, sources(source, "rust"))
        if name == "linux":
            source, origin = self.find_linux()
            return self.store(name, "Linux", "c", origin, source, sources(source, "c"))
        share = re.fullmatch(r"(go|crates|linux)-([1-9]\d*)", name)
        if share:
            whole, every = self.get(share[1]), int(share[2])
            picked = sources(whole.folder, whole.language)[::every]
            return self.store(name, f"{whole.title}, 1/{every}", whole.language, whole.origin, whole.folder, picked)
        raise Missing(f"there is no corpus `{name}`: choose from go, crates, linux, or a share of one, such as linux-8")

    def stored(self, name):
        try:
            with open(os.path.join(self.root, name + ".json")) as file:
                fields = json.load(file)
        except FileNotFoundError:
            return None
        return Corpus(name=name, folder=os.path.join(self.root, name), **fields)

    def store(self, name, title, language, origin, source, paths):
        if not paths:
            raise Missing(f"no {language} files under {source}: give another folder")
        folder = os.path.join(self.root, name)
        shutil.rmtree(folder, ignore_errors=True)
        size = 0
        for path in paths:
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            link(os.path.join(source, path), target)
            size += os.path.getsize(target)
        fields = dict(title=title, language=language, origin=origin, files=len(paths), bytes=size)
        with open(folder + ".json", "w") as file:
            json.dump(fields, file)
        return self.stored(name)

    def find_go(self):
        if self.go_source:
            return self.go_source, "a given folder"
        installed = newest(glob.glob("/usr/share/go-*/src"))
        if installed:
            package = "golang-" + re.search(r"go-([\d.]+)", installed)[1] + "-src"
            return installed, f"{package} {installed_version(package)}"
        names = re.findall(r"^(golang-[\d.]+-src) ", apt_names(r"^golang-[0-9.]+-src$"), re.M)
        package = PREFERRED_GO if PREFERRED_GO in names else newest(names)
        if not package:
            raise Missing("no golang-*-src package is known to apt: give the folder with --go-source")
        unpacked, version = self.unpack(package)
        return newest(glob.glob(unpacked + "/usr/share/go-*/src")), f"{package} {version}"

    def find_linux(self):
        if self.linux_source and os.path.isdir(self.linux_source):
            return self.linux_source, "a given folder"
        archive = self.linux_source or newest(glob.glob("/usr/src/linux-source-*.tar.xz"))
        if archive:
            package = os.path.basename(archive).replace(".tar.xz", "")
            origin = f"{package} {installed_version(package)}"
        else:
            names = re.findall(r"^(linux-source-[\d.]+) ", apt_names(r"^linux-source-[0-9.]+$"), re.M)
            package = newest(names)
            if not package:
                raise Missing("no linux-source-* package is known to apt: give folder or .tar.xz with --linux-source")
            unpacked, version = self.unpack(package)
            archive = newest(glob.glob(unpacked + "/usr/src/linux-source-*.tar.xz"))
            origin = f"{package} {version}"
        progress(f"unpacking {os.path.basename(archive)}")
        target = os.path.join(self.cache, "sources", "linux")
        os.makedirs(target, exist_ok=True)
        run(
            ["tar", "-xf", archive, "-C", target, "--strip-components=1", "--wildcards", "*.c", "*.h"],
            "unpack the Linux source",
        )
        return target, origin

    def find_crates(self):
        """Vendors the listed crates with all they depend on."""
        project = os.path.join(self.cache, "sources", "crates")
        os.makedirs(os.path.join(project, "src"), exist_ok=True)
        with open(CRATES_LIST) as file:
            wanted = [line.split() for line in file if line.strip() and not line.startswith("#")]
        with open(os.path.join(project, "Cargo.toml"), "w") as file:
            file.write('[package]\nname = "pile"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n[dependencies]\n')
            file.writelines(f'{name} = "={version}"\n' for name, version in wanted)
        open(os.path.join(project, "src", "lib.rs"), "w").close()
        progress(f"vendoring {len(wanted)} crates and what they depend on")
        run(["cargo", "vendor", "--versioned-dirs", "vendor"], "vendor the crates", cwd=project)
        vendored = os.path.join(project, "vendor")
        for package in os.listdir(vendored):
            if GENERATED_PACKAGES.match(package):
                shutil.rmtree(os.path.join(vendored, package))
        return vendored, f"`cargo vendor` of {len(wanted)} crates = {len(os.listdir(vendored))} packages"

    def unpack(self, package):
        """Downloads a Debian package and unpacks it without installing it: no root needed."""
        target = os.path.join(self.cache, "sources", package)
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        progress(f"downloading {package}")
        # As root, apt would hand the download to a user who may not write here.
        run(["apt-get", "-o", "APT::Sandbox::User=root", "download", package], f"download {package}", cwd=target)
        archive = glob.glob(os.path.join(target, "*.deb"))[0]
        version = run(["dpkg-deb", "-f", archive, "Version"], f"read {package}").strip()
        run(["dpkg", "-x", archive, target], f"unpack {package}")
        os.remove(archive)
        return target, version


def sources(folder, language):
    """The regular files of a language below a folder, relative, in one order on every machine."""
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if name.endswith(LANGUAGES[language]) and not os.path.islink(path):
                found.append(os.path.relpath(path, folder))
    return sorted(found)


def link(source, target):
    try:
        os.link(source, target)
    except OSError:  # Another file system, or a file that is not ours.
        shutil.copyfile(source, target)


def newest(names):
    """The name with the highest version number in it."""
    return max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], default=None)


def installed_version(package):
    try:
        return run(["dpkg-query", "-W", "-f", "${Version}", package], f"ask for {package}")
    except Missing:
        return "(not installed as a package)"


def apt_names(pattern):
    found = run(["apt-cache", "search", "--names-only", pattern], "ask apt for packages")
    if not found and os.geteuid() == 0:
        run(["apt-get", "update"], "update the lists of apt")  # A fresh container has none.
        found = run(["apt-cache", "search", "--names-only", pattern], "ask apt for packages")
    return found
