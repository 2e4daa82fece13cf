"""The man pages: run_man.py MMTUNE PAGE...

Each page has its sections, all options and commands of --help, and, where groff is installed, is
printed without a warning."""
import os
import re
import shutil
import subprocess
import sys

from checks import check, end, has_studies

MMTUNE, PAGES = sys.argv[1], sys.argv[2:]


def help_of(page):
    verb = os.path.basename(page)[:-len(".1")].split("-")[1:]
    return subprocess.run([MMTUNE, *verb, "--help"], capture_output=True, text=True, check=True).stdout


def check_page(page):
    name = os.path.basename(page)[:-len(".1")]
    with open(page, encoding="utf-8") as f:
        text = f.read()
    said = help_of(page)
    plain = text.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
    options = re.findall(r"^  (?:(-\w), |    )(--[a-z0-9-]+)", said, re.M)
    check(text.startswith(f'.TH "{name.upper()}"'.replace("-", "\\-")), f"{name} begins with .TH")
    listed = "OPTIONS" if options else "COMMANDS"
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", listed):
        check(f"\n.SH {section}\n" in text, f"{name} has {section}")
    for letter, option in options:
        check(re.search(rf"^\.B {letter + ', ' if letter else ''}{option}\b", plain, re.M),
              f"{name} tells of {option}")
    words = re.findall(r"\S+", re.sub(r"^usage: ", "", said))
    missing = [word for word in words if word not in plain]
    check(not missing, f"{name} has all words of --help: {missing}")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True)
        check(done.returncode == 0 and not done.stderr, f"groff prints {name}: {done.stderr}")


names = {os.path.basename(page) for page in PAGES}
verbs = re.findall(r"^  (\w+)  ", subprocess.run([MMTUNE, "--help"], capture_output=True, text=True).stdout, re.M)
check(names == {"mmtune.1", *(f"mmtune-{verb}.1" for verb in verbs if verb != "study" or has_studies(MMTUNE))}, f"each verb has a page: {names}")
for page in PAGES:
    check_page(page)
end("man pages")
