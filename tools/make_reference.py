#!/usr/bin/env python3
"""Make the API reference from the public headers: make_reference.py OUTPUT HEADER...

Writes one page: of each header its opening comment, then each section, comment and declaration in
the order of the header. A comment documents the declarations up to the next blank line. Says which
MMT_API functions have none, and ends with 1 where there are any.

make_reference.py --self-check plants such a header and exits 1 unless it is found."""
import os
import re
import sys
import tempfile

SECTION = re.compile(r"^/\* -{4,} (.*?) -+\s*(?:\*/)?$")
FUNCTION = re.compile(r"\bMMT_API\b[^;(]*?\b(mmt_\w+)\(")
HIDDEN = re.compile(r'^(#|extern "C"|struct \w+;$)')


def groups_of(text):
    """Paragraphs of a header as (comment, declarations). Braces keep a paragraph together."""
    comment, code, depth, inside = [], [], 0, False
    for line in text.splitlines() + [""]:
        if inside or (line.startswith("/*") and not depth):
            if code and not inside:
                yield comment, code
                comment, code = [], []
            comment = [line] if not inside else comment + [line]
            inside = "*/" not in line
        elif line.strip() or depth:
            if not HIDDEN.match(line):
                code.append(line)
                depth = max(0, depth + line.count("{") - line.count("}"))
        elif comment or code:
            yield comment, code
            comment, code = [], []


def prose(comment):
    """A comment's text; indented lines, which are drawings and tables, stay as they are."""
    text = "\n".join(comment).removeprefix("/*").rstrip().removesuffix("*/")
    lines = [re.sub(r"^ ?\* ?", "", line, count=1).rstrip() for line in text.splitlines()]
    lines = [line if line.startswith("  ") else line.strip() for line in lines]
    return "\n".join("    " + line if line.startswith("  ") else line for line in lines).strip("\n")


def page_of(path):
    """A header's part of the page, and the functions that no comment tells of."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    lines, naked = [f"# mmtune/{os.path.basename(path)}"], []
    for comment, code in groups_of(text):
        section = comment and SECTION.match(comment[0])
        if section:
            lines.append(f"## {section[1]}")
        elif comment and "clang-format o" in comment[0]:
            pass
        elif comment:
            lines.append(prose(comment))
        else:
            naked += FUNCTION.findall("\n".join(code))
        if code and code != ["}"]:  # which ends extern "C"
            lines.append("```c\n" + "\n".join(code) + "\n```")
    return "\n\n".join(lines) + "\n", naked


def make(output, headers):
    pages = [page_of(path) for path in headers]
    with open(output, "w", encoding="utf-8") as f:
        f.write("\n".join(page for page, _ in pages))
    return [f"{name} has no comment in its header" for _, naked in pages for name in naked]


PLANTED = """/* Opening. */
#ifndef X
extern "C" {

/* ---- things ---- */

/* Told: a and b. */
MMT_API int mmt_told(int a,
                     int b);
MMT_API int mmt_told_too(void);

MMT_API void mmt_naked(void);
"""


def self_check():
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/x.h", "w", encoding="utf-8") as f:
            f.write(PLANTED)
        found = make(folder + "/api.md", [folder + "/x.h"])
        with open(folder + "/api.md", encoding="utf-8") as f:
            page = f.read()
    wrong = [] if found == ["mmt_naked has no comment in its header"] else [f"found: {found}"]
    return wrong + [f"the page lacks {text!r}" for text in
                    ("# mmtune/x.h", "## things", "Told: a and b.", "mmt_told(int a,\n", "mmt_told_too")
                    if text not in page]


if len(sys.argv) < 2 or (sys.argv[1] != "--self-check" and len(sys.argv) < 3):
    print(__doc__, file=sys.stderr)
    sys.exit(2)
complaints = self_check() if sys.argv[1] == "--self-check" else make(sys.argv[1], sys.argv[2:])
for complaint in complaints:
    print(complaint)
sys.exit(1 if complaints else 0)
