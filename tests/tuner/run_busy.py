#!/usr/bin/env python3
"""Tuning a CPU that has other work: run_busy.py MMTUNE STAND_IN

A budget that is over at once still ends with the default kernel, timed and entered. Nothing is
killed for waiting, times are marked, and a run on a quiet machine takes them anew."""
import os
import subprocess
import sys

from checks import check, end, expect, journal, load, make_home, need_cpu_device, stand_in, write_journal

MMTUNE, STAND_IN = sys.argv[1:3]
folder, environment = make_home()
environment = dict(stand_in(STAND_IN, environment), MMT_FAKE_WORKS="0.001")
environment.pop("MMTUNE_KEEP_TIMES", None)
device, path = need_cpu_device(MMTUNE, environment), folder + "/p.json"
TUNE = ["--device", device, "-o", path, "--type", "f32", "--shape", "96x80x64"]


def tune(*words):
    return expect(MMTUNE, [*TUNE, *words], 0, env=environment)


def entries():
    return load(path)["entries"]


# Beside two processes for each processor, which make launches wait.
others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
try:
    said = tune("--budget", "0.01s", "--limit", "3")
finally:
    for other in others:
        other.kill()
check("processor" in said and "times will be doubtful" in said, f"a busy machine is told at the start: {said}")
check("timing first what programs get" in said, f"the default is timed first: {said}")
check("no other kernel was tried: the budget of 0.01 s went into" in said and "would try about ten" in said,
      f"a budget that tried nothing else is told: {said}")
check({line["status"] for line in journal(path)} == {"timed"}, f"none is killed for waiting: {journal(path)}")
check([line.get("throttled") for line in journal(path) if not line.get("whole")].count("busy machine") > 0,
      f"times are marked: {journal(path)}")
check(len(entries()) == 1, f"the default is entered: {entries()}")
default = journal(path)[0]["configuration"]

# What was marked is taken anew where the machine is quiet, which the test cannot make it be.
write_journal(path, [dict(line, throttled="busy machine") for line in journal(path)])
before = len(journal(path))
said = tune("--budget", "1c", "--template", default.split()[0])
quiet = "times will be doubtful" not in said
anew = [line["configuration"] for line in journal(path)[before:] if not line.get("whole") and not line.get("final")]
check(("timed on a busy machine" in said) == quiet, f"that they are passed over is told: {said}")
check((default in anew) == quiet, f"the default is timed anew, {quiet}: {anew}")
check(len(entries()) == 1, f"one entry: {entries()}")
end("busy", folder)
