#!/usr/bin/env python3
"""Makes a profile's journal of times that tools/candidate_times.py took, so that what corrects the law of time can be
fitted to them:

    tools/journal_of_times.py MMTUNE PROFILE.json < times.tsv
    mmtune merge PROFILE.json PROFILE.json --fit -o NEW.json

MMTUNE is the program, which says of each template which text it has. The journal, PROFILE.json.journal, must not be there
yet; its times are of shapes that are no goals, and of kernels that candidate_times.py found right."""
import json
import os
import subprocess
import sys
import time


def templates(program):
    said = subprocess.run([program, "templates", "--json"], capture_output=True, text=True, check=True).stdout
    return {it["name"]: it["hash"] for it in json.loads(said)}


def lines(source):
    """Problem, configuration and seconds of what was timed, each once."""
    seen = set()
    for line in source:
        problem, _, us, _, said = line.rstrip("\n").split("\t")
        configuration = said.split("): ", 1)[-1].split("; ", 1)[0]
        if us != "-" and (problem, configuration) not in seen:
            seen.add((problem, configuration))
            yield problem, configuration, float(us) * 1e-6


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: tools/journal_of_times.py MMTUNE PROFILE.json < times.tsv")
    program, path = sys.argv[1:]
    hashes = templates(program)
    with open(path, encoding="utf-8") as file:
        device = json.load(file)["device"]
    journal = path + ".journal"
    if os.path.exists(journal):
        sys.exit(f"{journal} is there already, and may have times that nobody else has")
    with open(journal, "w", encoding="utf-8") as out:
        header = {"format": "mmtune journal 1", "backend": device["backend"], "device": device["name"],
                  "architecture": device["architecture"], "compiler": device["compiler"], "version": "0.2.0",
                  "at": time.time()}
        print(json.dumps(header, separators=(",", ":")), file=out)
        for problem, configuration, seconds in lines(sys.stdin):
            record = {"at": time.time(), "problem": problem, "configuration": configuration,
                      "template_hash": hashes[configuration.split()[0]], "status": "timed", "calibration": True,
                      "seconds": seconds, "spread": 0.0, "samples": 7}
            print(json.dumps(record, separators=(",", ":")), file=out)


main()
