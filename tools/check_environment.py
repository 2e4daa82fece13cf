#!/usr/bin/env python3
"""Hold docs/reference/environment.md to the sources: check_environment.py ROOT

Every variable that the library or the program reads has a row in the table, and every row is read
somewhere. Each is read with secure_getenv, which finds nothing in a setuid program, and is named
where it is read: as a string, or in an array of strings of the same file. Prints what is not so,
and exits 1.

check_environment.py --self-check plants what is wrong in a temporary tree and exits 1 unless each
of it, and nothing else, is found."""
import os
import re
import sys
import tempfile

from check_includes import MODULES, blank_comments

TABLE = "docs/reference/environment.md"
READ = re.compile(r"(?<!\w)(secure_)?getenv\s*\(\s*([^)]*)\)")
ROW = re.compile(r"^\| `([A-Z][A-Z0-9_]*)` \|", re.M)


def names_of(argument, text):
    """What an argument of secure_getenv names, or None."""
    literal = re.fullmatch(r'"([A-Z][A-Z0-9_]*)"', argument)
    if literal:
        return [literal[1]]
    array = re.fullmatch(r"(\w+)\[\w+\]", argument)
    found = array and re.search(rf"\b{array[1]}\[\]\s*=\s*{{([^}}]*)}}", text)
    return re.findall(r'"([^"]*)"', found[1]) if found else None


def check(root):
    complaints, read = [], {}
    for module in MODULES:
        for folder, _, files in os.walk(os.path.join(root, module)):
            for file in sorted(f for f in files if f.endswith((".c", ".h"))):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as f:
                    text = blank_comments(f.read())
                for match in READ.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    where = f"{os.path.relpath(path, root)}:{line}"
                    if not match[1]:
                        complaints.append(f"{where}: getenv; secure_getenv is needed")
                    names = names_of(match[2].strip(), text)
                    if names is None:
                        complaints.append(f"{where}: '{match[2]}' does not tell which variable is read")
                    for name in names or []:
                        read.setdefault(name, where)
    with open(os.path.join(root, TABLE), encoding="utf-8") as f:
        rows = ROW.findall(f.read())
    complaints += [f"{read[name]}: {name} has no row in {TABLE}" for name in read if name not in rows]
    complaints += [f"{TABLE}: nothing reads {name}" for name in rows if name not in read]
    complaints += [f"{TABLE}: {name} has two rows" for name in set(rows) if rows.count(name) > 1]
    if not read:
        complaints.append(f"{root}: nothing reads any variable; is this the root of the sources?")
    return complaints


PLANTED = {
    "base/good.c": 'x = secure_getenv("GOOD"); // getenv("COMMENT")\n',
    "device/list.c": 'static const char *const all[] = { "ONE",\n "TWO" };\n y = secure_getenv(all[i]);\n',
    "tuner/cli/plain.c": 'x = getenv("PLAIN");\n',
    "tuner/cli/dark.c": "x = secure_getenv(name);\n",
    TABLE: "| `GOOD` | a |\n| `ONE` | a |\n| `PLAIN` | a |\n| `GONE` | a |\n| `ONE` | b |\n",
}
FOUND = ["tuner/cli/plain.c:1: getenv; secure_getenv is needed",
         "tuner/cli/dark.c:1: 'name' does not tell which variable is read",
         f"device/list.c:3: TWO has no row in {TABLE}",
         f"{TABLE}: nothing reads GONE", f"{TABLE}: ONE has two rows"]


def self_check():
    with tempfile.TemporaryDirectory() as root:
        for name, text in PLANTED.items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                f.write(text)
        found = check(root)
    wrong = [f"not found: {c}" for c in FOUND if c not in found]
    return wrong + [f"found, but was not planted: {c}" for c in found if c not in FOUND]


complaints = self_check() if sys.argv[1:] == ["--self-check"] else check(*sys.argv[1:])
for complaint in complaints:
    print(complaint)
sys.exit(1 if complaints else 0)
