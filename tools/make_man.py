#!/usr/bin/env python3
"""Make man pages from the program's own help: make_man.py MMTUNE FOLDER VERB...

Writes mmtune.1 and, for each verb, mmtune-VERB.1, in man(7). A page has NAME, SYNOPSIS, DESCRIPTION,
OPTIONS (or COMMANDS) and, where more is said, NOTES. The verbs must be those that
`mmtune --help` lists; `study`, a program of its own, may be left out."""
import os
import re
import subprocess
import sys

ITEM = re.compile(r"^  (?:    )?(?P<term>\S.*?)(?:  +(?P<text>\S.*))?$")
FOLLOWING = re.compile(r"^ {8,}(?=\S)")


def escape(text):
    """Text as man(7) prints it: no escapes, no hyphens that are dashes, no requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def split_help(text):
    """Usage, prose, items (term, text) and what stands behind them, of one --help."""
    usage, _, rest = text.partition("\n\n")
    prose, items, behind = [], [], []
    for line in rest.splitlines():
        item = ITEM.match(line)
        if behind or not line.startswith(" "):
            (behind if items and (line or behind) else prose).append(line)
        elif items and FOLLOWING.match(line):
            items[-1][1].append(line.strip())
        else:
            items.append((item["term"], [item["text"] or ""]))
    return usage.removeprefix("usage: "), prose, items, behind


def paragraphs(lines):
    text = "\n".join(lines).strip()
    return ["\n".join(map(escape, part.splitlines())) for part in re.split(r"\n\s*\n", text) if part]


def page(name, version, text):
    usage, prose, items, behind = split_help(text)
    parts = paragraphs(prose)
    first = re.split(r"[.:](?:\s|$)", " ".join(prose).strip(), maxsplit=1)[0]
    title = name.upper().replace("-", "\\-")
    lines = [f'.TH "{title}" 1 "" "mmtune {version}" "User Commands"', ".SH NAME",
             f"{escape(name)} \\- {escape(first)}", ".SH SYNOPSIS", ".nf", escape(usage), ".fi",
             ".SH DESCRIPTION", "\n.PP\n".join(parts)]
    lines.append(".SH OPTIONS" if any(term.startswith("-") for term, _ in items) else ".SH COMMANDS")
    for term, said in items:
        lines += [".TP", f".B {escape(term)}", escape(" ".join(said).strip())]
    if behind:
        lines += [".SH NOTES", "\n.PP\n".join(paragraphs(behind))]
    return "\n".join(lines) + "\n"


def ask(mmtune, *words):
    return subprocess.run([mmtune, *words], check=True, capture_output=True, text=True).stdout


def main(mmtune, folder, *verbs):
    version = ask(mmtune, "--version").split()[1]
    whole = ask(mmtune, "--help")
    listed = [term for term, _ in split_help(whole)[2]]
    if [verb for verb in listed if verb in verbs or verb != "study"] != list(verbs):
        sys.exit(f"mmtune --help lists {', '.join(listed)}; pages are asked for {', '.join(verbs)}: "
                 "name the same verbs in tuner/meson.build")
    for name, text in [("mmtune", whole)] + [(f"mmtune-{v}", ask(mmtune, v, "--help")) for v in verbs]:
        with open(os.path.join(folder, name + ".1"), "w", encoding="utf-8") as f:
            f.write(page(name, version, text))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
