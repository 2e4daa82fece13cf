#!/usr/bin/env python3
"""Completions have every verb and option that --help has: run_completions.py MMTUNE BASH ZSH FISH"""
import re
import shutil
import subprocess
import sys

from checks import check, end, has_studies

MMTUNE, *FILES = sys.argv[1:]


def ask(*words):
    return subprocess.run([MMTUNE, *words], check=True, capture_output=True, text=True).stdout


def lines_of(text, verb):
    """The lines of a file that are about one verb."""
    return "\n".join(line for line in text.splitlines() if re.search(rf"\b{verb}\b", line))


texts = {path: open(path, encoding="utf-8").read() for path in FILES}
verbs = re.findall(r"^  ([a-z]+) +\S", ask("--help"), re.M)
check(len(verbs) > 10 and "bundle" in verbs, f"verbs: {verbs}")
for verb in verbs if has_studies(MMTUNE) else [verb for verb in verbs if verb != "study"]:
    pages = [ask(verb, "--help")]
    if verb == "study":
        pages += [ask(verb, name, "--help") for name in re.findall(r"^  ([a-z]\S*)  ", pages[0], re.M)]
    options = re.findall(r"^  (?:-\S, |    )--([a-z0-9-]+)", "\n".join(pages), re.M)
    check("help" in options, f"{verb} has no options")
    for path, text in texts.items():
        mine = lines_of(text, verb)
        for option in options:
            name = f"-l {option}" if path.endswith("fish") else f"--{option}"
            check(re.search(re.escape(name) + r"(?![a-z-])", mine), f"{path}: {verb} has no --{option}")
done = subprocess.run(["bash", "-c", f"source {FILES[0]}; COMP_WORDS=(mmtune bundle --ar); COMP_CWORD=2; _mmtune; "
                       "echo ${COMPREPLY[@]}"], capture_output=True, text=True, check=False)
check(done.stdout.strip() == "--arch", f"bash completes --ar with {done.stdout!r} {done.stderr}")
for shell, path in (("zsh", FILES[1]), ("fish", FILES[2])):
    if shutil.which(shell):
        done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
        check(done.returncode == 0 and not done.stderr, f"{shell} reads {path}: {done.stderr}")
if shutil.which("fish"):
    for line, name in (("mmtune --devi", "--device"), ("mmtune bundle -o show --ar", "--arch"), ("mmtune sho", "show")):
        done = subprocess.run(["fish", "-N", "-c", f"source {FILES[2]}; complete -C '{line}'"], capture_output=True,
                              text=True, check=False)
        check(done.stdout.split("\t")[0] == name, f"fish completes {line!r} with {done.stdout!r} {done.stderr}")
end("completions")
