#!/usr/bin/env python3
"""Refuse circles between the files of a module: check_circles.py ROOT [--ties MODULE]

A file is above another of its module where it names a function mmt_*, not static, that the
other one defines. Prints the files of each chain that leads back to its beginning, and what
ties them, and exits 1.

--ties MODULE prints all ties of a module, and its floors, the lowest first.
check_circles.py --self-check plants circles in a temporary tree and exits 1 unless each of
them, and nothing else, is found."""
import os
import re
import sys
import tempfile

from check_includes import MODULES, blank_comments, module_of, plant, sources

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[A-Za-z_]\w*|[^\w\s]')
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
DEFINE = re.compile(r"\s*#\s*define\b")


def tokens_of(text):
    """Those of the code, and those of its macros."""
    text = blank_comments(text)
    macros = " ".join(m for m in DIRECTIVE.findall(text) if DEFINE.match(m))
    return TOKEN.findall(DIRECTIVE.sub("", text)), TOKEN.findall(macros)


def defined_in(tokens):
    """The functions mmt_* that a file defines for others."""
    names, depth, start, name = set(), 0, 0, None
    for i, token in enumerate(tokens):
        if token in ("(", "{"):
            if depth == 0 and token == "(" and name is None and i > 0 \
                    and tokens[i - 1].startswith("mmt_"):
                name = tokens[i - 1]
            if depth == 0 and token == "{" and name and tokens[i - 1] == ")" \
                    and "static" not in tokens[start:i]:
                names.add(name)
            depth += 1
        elif token in (")", "}"):
            depth -= 1
        if depth == 0 and token in (";", "}"):
            start, name = i + 1, None
    return names


def used_in(tokens):
    """All names mmt_* but those of types."""
    return {name for before, name in zip([""] + tokens, tokens)
            if name.startswith("mmt_") and before not in ("struct", "enum", "union")}


def ties_of(root, module):
    """Who uses what of whom: {file: {other file: names}}."""
    defined, used = {}, {}
    for path in sources(root, module):
        if not path.endswith(".c") or module_of(path) != module:
            continue
        with open(os.path.join(root, path), encoding="utf-8") as f:
            code, macros = tokens_of(f.read())
        used[path] = used_in(code) | used_in(macros)
        for name in defined_in(code):
            defined.setdefault(name, []).append(path)
    ties = {path: {} for path in used}
    for path, names in used.items():
        for name in sorted(names & set(defined)):
            if path not in defined[name]:
                for other in defined[name]:
                    ties[path].setdefault(other, []).append(name)
    return ties


def reach(ties, path):
    """All files that chains from one lead to."""
    found, left = set(), [path]
    while left:
        for other in ties[left.pop()]:
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def circles_in(ties):
    """Sets of files, each of which leads to all of its set."""
    reached = {path: reach(ties, path) for path in ties}
    return {frozenset(other for other in reached[path] if path in reached[other])
            for path in ties if path in reached[path]}


def complaints(module, ties):
    for circle in sorted(circles_in(ties), key=sorted):
        yield "%s: a circle of %d files" % (module, len(circle))
        for path in sorted(circle):
            for other in sorted(circle & set(ties[path])):
                yield "  %s uses %s: %s" % (path, other, ", ".join(ties[path][other]))


def check(root):
    """All complaints, and how many files were read."""
    found, files = [], 0
    for module in MODULES:
        ties = ties_of(root, module)
        files += len(ties)
        found += complaints(module, ties)
    return found, files


def print_ties(root, module):
    ties = ties_of(root, module)
    for path in sorted(ties):
        for other in sorted(ties[path]):
            print("%s uses %s: %s" % (path, other, ", ".join(ties[path][other])))
    left, below = set(ties), set()
    while left:
        floor = {path for path in left if set(ties[path]) <= below}
        if not floor:
            break
        print("floor: " + " ".join(sorted(floor)))
        below |= floor
        left -= floor
    for circle in circles_in(ties):
        print("circle: " + " ".join(sorted(circle)))


A, B = "base/a.c", "base/b.c"
RIGHT = {
    A: "int mmt_a(void);\nint mmt_a(void)\n{\n    return mmt_b();\n}\n",
    B: "/* mmt_a() uses this */\nint mmt_b(void)\n{\n    puts(\"mmt_a\");\n    return x.y;\n}\n",
    "base/own.c": "static int mmt_own(void)\n{\n    return mmt_d();\n}\n",
    "base/type.c": "void mmt_d(struct mmt_a *p, int (*f)(void))\n{\n    mmt_own = f;\n}\n",
    "tuner/cli/up.c": "int mmt_up(void)\n{\n    return mmt_a();\n}\n",
}
WRONG = [  # files that are planted over the right ones, and those of the circle
    ({B: "int mmt_b(void)\n{\n    return mmt_a();\n}\n"}, [A, B]),
    ({B: "int mmt_b(void)\n{\n    call(mmt_a);\n}\n"}, [A, B]),
    ({B: "#define X mmt_a()\nstruct s\nmmt_b(int a, int b)\n{\n    X;\n}\n"}, [A, B]),
    ({B: "int mmt_b(void)\n{\n    return mmt_c();\n}\n",
      "base/c.c": "static int f(void)\n{\n    return '\"' + mmt_a();\n}\n\n"
                  "const struct s *mmt_c(int (*p)(int))\n{\n    return f();\n}\n"},
     [A, B, "base/c.c"]),
    ({"tuner/cli/down.c": "int mmt_down(void)\n{\n    return mmt_up();\n}\n",
      "tuner/cli/up.c": "int mmt_up(void)\n{\n    return mmt_down();\n}\n"},
     ["tuner/cli/down.c", "tuner/cli/up.c"]),
]


def circled(found):
    """The files that complaints name as those of a circle."""
    return {line.split()[0] for line in found if line.startswith("  ")}


def self_check():
    failures = []
    for planted, circle in [({}, [])] + WRONG:
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**RIGHT, **planted}.items():
                plant(root, path, text)
            found, _ = check(root)
            if circled(found) != set(circle) or bool(found) != bool(circle):
                failures.append("%s was planted, found: %s" % (circle, found))
    print("\n".join(failures + ["%d circles planted, %d failures"
                                % (len(WRONG), len(failures))]))
    return bool(failures)


def main(arguments):
    if arguments == ["--self-check"]:
        return self_check()
    if len(arguments) == 3 and arguments[1] == "--ties":
        return print_ties(arguments[0], arguments[2])
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found, files = check(arguments[0])
    print("\n".join(found + ["%d files, %d circles"
                             % (files, sum(not line.startswith("  ") for line in found))]))
    return bool(found) or files == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
