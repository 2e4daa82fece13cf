#!/usr/bin/env python3
"""Check the pages: check_links.py ROOT

Every relative link and anchor of a *.md file leads somewhere, and no line outside docs/lab has more
than 140 characters. Prints what is not so, and exits 1.

check_links.py --self-check plants what is wrong in a temporary tree and exits 1 unless each of it,
and nothing else, is found."""
import os
import re
import sys
import tempfile
import urllib.parse

LIMIT, LAB = 140, os.path.join("docs", "lab", "")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"(?:\]\(|^\[[^]\n]+\]: +)([^)\s]+)", re.M)
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.M)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def anchors(text):
    """The names of the headings, as GitHub makes them."""
    found = set()
    for heading in HEADING.findall(FENCE.sub(blank, text)):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        number = 0
        while (name if not number else f"{name}-{number}") in found:
            number += 1
        found.add(name if not number else f"{name}-{number}")
    return found


def read_pages(root):
    """The text of each page by its path. Folders that are built, hidden, or of others are not looked into."""
    pages = {}
    for folder, inner, files in os.walk(root):
        inner[:] = [d for d in inner if not d.startswith(".") and d != "subprojects"
                    and not os.path.exists(os.path.join(folder, d, "build.ninja"))]
        for file in (f for f in files if f.endswith(".md")):
            path = os.path.relpath(os.path.join(folder, file), root)
            with open(os.path.join(root, path), encoding="utf-8") as f:
                pages[path] = f.read()
    return pages


def complaint_of(root, path, target, pages):
    """What is wrong with a link, or None."""
    name, _, anchor = urllib.parse.unquote(target).partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if not os.path.exists(os.path.join(root, there)):
        return f"there is no {there}"
    if anchor and there in pages and anchor not in anchors(pages[there]):
        return f"{there} has no heading #{anchor}"
    return None


def check(root):
    pages, complaints = read_pages(root), []
    for path, text in sorted(pages.items()):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LIMIT and not path.startswith(LAB):
                complaints.append(f"{path}:{number}: {len(line)} characters; {LIMIT} are the most")
        prose = CODE.sub(blank, FENCE.sub(blank, text))
        for link in LINK.finditer(prose):
            wrong = None if re.match(r"[a-z]+:", link[1]) else complaint_of(root, path, link[1], pages)
            if wrong:
                complaints.append(f"{path}:{text.count(chr(10), 0, link.start()) + 1}: {wrong}")
    return complaints if pages else [f"{root}: there are no pages; is this the root of the sources?"]


PLANTED = {
    "README.md": "# A `word`: here\n[good](docs/b.md#two-1) [own](#a-word-here) [web](https://x/y)\n"
                 "`[code](no.md)`\n```\n[fenced](no.md)\n# No heading\n```\n"
                 "[gone](docs/gone.md)\n[anchor](docs/b.md#three)\n[fence](#no-heading)\n"
                 "[by name]: docs/none.md\n",
    "docs/b.md": "# Two\n## Two\n" + "x" * 141 + "\n" + "x" * 140 + "\n",
    "docs/lab/c.md": "x" * 200 + "[up](../../README.md)\n[no](README.md)\n",
    "build/d.md": "[built](no.md)\n", "build/build.ninja": "",
}
FOUND = ["README.md:8: there is no docs/gone.md", "README.md:9: docs/b.md has no heading #three",
         "README.md:10: README.md has no heading #no-heading",
         "README.md:11: there is no docs/none.md", "docs/b.md:3: 141 characters; 140 are the most",
         "docs/lab/c.md:2: there is no docs/lab/README.md"]


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
