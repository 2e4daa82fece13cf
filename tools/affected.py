#!/usr/bin/env python3
"""The tests that a change can reach: affected.py BASE [BUILD] [--run] [--all]

The change is what the working tree has other than the commit BASE; BUILD is a folder that was built. A file reaches
a test that is built from it, by ninja's graph and the headers that the compilers found; whose command line, script
or own sources name it, its folder, or its suffix in quotes (".md"); and of whose folder it is the meson.build.
Names come one a line, the fastest of the last run first. Left out are the tiers slow and card, and, of what reaches
most tests, the tier full but for tests that something else reaches: --all has them. --run runs them."""
import argparse
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def output(*words):
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@functools.lru_cache(None)
def read(*path):
    try:
        return pathlib.Path(*path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_edges(graph, deps):
    """What each path is made from, of `ninja -t graph` and `-t deps`; rules are nodes between."""
    edges, product = {}, None
    labels = dict(re.findall(r'^"(\w+)" \[label="([^"]*)"\]$', graph, re.M))
    for source, made in re.findall(r'^"(\w+)" -> "(\w+)"', graph, re.M):
        edges.setdefault(labels.get(made, made), set()).add(labels.get(source, source))
    for line in deps.splitlines():
        product = product if line.startswith(" ") else line.partition(": ")[0]
        edges.setdefault(product, set()).add(line.strip())
    return edges


class Test:
    """`files` are what it is built from, named with and imports, below the root; `text` what it says itself."""

    def __init__(self, about, products, edges, root, place):
        self.name, self.tiers = about["name"], {suite.rpartition(":")[2] for suite in about["suite"]}
        left, built = [path for it in about["depends"] for path in products[it]], set()
        while left:
            built.add(path := left.pop())
            left.extend(edges.get(path, set()) - built)
        scripts = {place(word) for word in about["cmd"]} - {"."}
        self.files = {place(path) for path in built} | scripts
        own = [path for path in self.files if path.startswith(("tests/", "studies/tests/"))
               or path in scripts and path.endswith((".py", ".sh"))]
        self.text = "".join(read(root, path) for path in own)
        imports = re.findall(r"^\s*(?:from|import) (\w+)", self.text, re.M)
        self.files.update(f"{folder}/{module}" for module in imports for folder in ("python", *map(os.path.dirname, scripts)))
        self.files.update(f"tests/tuner/{module}.py" for module in imports)

    def is_built_from(self, path):
        folder, name = os.path.split(path)
        if name == "meson.build":
            return not folder or any(file.startswith(folder + "/") for file in self.files)
        return any(path == file or path.startswith(file + "/") for file in self.files)

    def names(self, path, built):
        """Its folder, too, where it is data: an #include names those of sources."""
        folder, name = path.split("/")[-2:] if "/" in path else ("", path)
        words = [name if "." in name or not folder else f"{folder}/{name}", f'"{os.path.splitext(name)[1]}"']
        words += [] if built or name.endswith((".py", ".sh")) else [folder + "/"]
        return any(len(word) > 2 and word in self.text and re.search(rf"(?<![\w-]){re.escape(word)}", self.text) for word in words)


def affected(changed, root, build, edges, everything):
    """The tests that changed files reach, the fastest first, and the files that reach most of them."""
    place = functools.lru_cache(None)(lambda path: os.path.relpath(os.path.join(build, path), root))
    tests, targets = (json.loads(read(build, f"meson-info/intro-{it}.json")) for it in ("tests", "targets"))
    products = {it["id"]: [os.path.relpath(path, build) for path in it["filename"]] for it in targets}
    tests = [test for test in (Test(it, products, edges, root, place) for it in tests)
             if everything or test.tiers & {"fast", "full"}]
    chosen, core = set(), []
    for path in changed:
        built = [test for test in tests if test.is_built_from(path)]
        reached = built + [test for test in tests if test not in built and test.names(path, built)]
        core += [path] if 2 * len(reached) > len(tests) else []
        chosen.update(test.name for test in reached if everything or path not in core or "fast" in test.tiers)
    rows = map(json.loads, read(build, "meson-logs/testlog.json").splitlines())
    seconds = {row["name"].rpartition(" / ")[2]: row["duration"] for row in rows}
    return sorted(chosen, key=lambda name: (seconds.get(name, 1e9), name)), core


def self_check(root):
    """A library below three programs, a text that is embedded in one, a script, a page, and a folder of data."""
    test = lambda name, tier, *cmd: {"name": name, "suite": tier, "cmd": cmd, "depends": [] if len(cmd) > 1 else [name]}
    tests = [test("one", ["p:fast", "p:sanitize"], "one"), test("two", ["p:full"], "two"), test("three", ["p:full"], "three"),
             test("script", ["p:fast"], "/python3", "../tests/tuner/run.py"),
             test("late", ["p:slow"], "/python3", "../tests/tuner/run.py")]
    targets = [{"id": name, "filename": [f"{root}/build/{name}"]} for name in ("one", "two", "three")]
    for path, text in (("build/meson-info/intro-tests.json", json.dumps(tests)), ("tests/two.c", 'open("golden/" NAME)'),
                       ("build/meson-info/intro-targets.json", json.dumps(targets)),
                       ("build/meson-logs/testlog.json", '{"name": "p:fast / script", "duration": 1}\n'),
                       ("tests/tuner/run.py", 'from checks import end\nnames.endswith(".md")\n')):
        os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
        pathlib.Path(root, path).write_text(text, encoding="utf-8")
    pairs = [pair.split(">") for pair in "../base/a.c>a.o a.o>LINKER LINKER>one LINKER>two a.o>three ../texts/k.cl>EMBED "
             "EMBED>k.c k.c>three ../tests/two.c>two".split()]
    graph = "".join(f'"{it.encode().hex()}" [label="{it}"{", shape=ellipse" * it.isupper()}]\n' for pair in pairs for it in pair)
    graph += "".join(f'"{a.encode().hex()}" -> "{b.encode().hex()}" [label=" rule"]\n' for a, b in pairs)
    edges, wrong = read_edges(graph, "a.o: #deps 2, deps mtime 1 (VALID)\n    ../base/a.c\n    ../base/a.h\n\n"), False
    for changed, everything, expected in (
            ("base/a.h", False, "one"), ("base/a.c texts/k.cl", False, "one three"), ("base/a.h", True, "one three two"),
            ("texts/k.cl", False, "three"), ("docs/p.md", False, "script"), ("docs/p.md", True, "script late"),
            ("tests/tuner/checks.py tests/golden/x.txt", False, "script two"), ("texts/meson.build", False, "three"),
            ("meson.build", False, "script one"), ("other/x.txt", False, "")):
        found, _ = affected(changed.split(), root, root + "/build", edges, everything)
        if found != expected.split():
            wrong = print(f"{changed}, everything {everything}: {found}, not {expected}") or True
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", help="a commit, such as HEAD or main")
    parser.add_argument("build", nargs="?", default="build")
    for name in ("--run", "--all", "--self-check"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    if options.self_check:
        with tempfile.TemporaryDirectory() as root:
            sys.exit(self_check(root))
    if not options.base:
        parser.error("BASE is missing: the commit to compare with")
    build = os.path.realpath(options.build)
    changed = (output("git", "diff", "--name-only", options.base) + output("git", "ls-files", "-o", "--exclude-standard")).split("\n")
    edges = read_edges(output("ninja", "-C", build, "-t", "graph"), output("ninja", "-C", build, "-t", "deps"))
    names, core = affected([path for path in changed if path], ROOT, build, edges, options.all)
    if core and not options.all:
        print(f"{', '.join(core)}: most tests are reached; the tier fast stands for them", file=sys.stderr)
    print("\n".join(names) or "no test is reached", file=sys.stdout if names else sys.stderr, flush=True)
    if options.run and names:
        tiers = [f"--suite={tier}" for tier in ("fast", "full", *(["slow", "card"] if options.all else []))]
        sys.exit(subprocess.call(["meson", "test", "-C", build, *tiers, *names]))


if __name__ == "__main__":
    main()
