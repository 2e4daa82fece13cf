#!/usr/bin/env python3
"""However a program of BLAS ends under `mmtune run --blas`, it ends as it does alone, and all that it multiplied is
counted: run_ends.py MMTUNE LIBRARY ENDS MAKER BLAS

ENDS is ends.c, BLAS what stand_in_blas.c makes of itself."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import check, end, make_home, need_cpu_device

MMTUNE, LIBRARY, ENDS, MAKER, BLAS = sys.argv[1:6]
folder, environment = make_home()
device = need_cpu_device(MMTUNE, environment)
environment.update(XDG_STATE_HOME=folder + "/state", MMTUNE_BLAS_DEVICE=device, MMTUNE_BLAS_THRESHOLD="1000",
                   MMT_ENDS_BLAS=os.path.abspath(BLAS))
for name in [n for n in environment if n.startswith("MMTUNE_RUN_") or n == "LD_PRELOAD"]:
    del environment[name]

# In a tree of its own, without a library for cuBLAS.
PROGRAM, PRELOADED = folder + "/tree/tuner/mmtune", folder + "/tree/dropin/blas/libmmtune-blas.so"
for copy, of in ((PROGRAM, MMTUNE), (PRELOADED, LIBRARY)):
    os.makedirs(os.path.dirname(copy))
    shutil.copy(of, copy)

# Each way, and how many times COUNT it multiplies; None: that is not known.
WAYS = {"return": 1, "exit": 1, "_exit": 1, "quick_exit": 1, "abort": 1, "term": 1, "kill": 1, "segv": 1, "fpe": 1, "bus": 1,
        "hup": 1, "divide": 1, "exec": 2, "pthread_exit": 1, "last_thread": 2, "threads": None, "handler": None,
        "dlclose": 2, "children": 4}
COUNT = 5


def run(*words, **variables):
    return subprocess.run(words, capture_output=True, text=True, env=dict(environment, **variables))


def status_of(done):
    """As a shell has it."""
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def under(way, *options, **variables):
    """The program, run by mmtune, with the calls that the report tells."""
    done = run(PROGRAM, "run", "--blas", "--no-audit", "--wait", "23h", *options, "--", ENDS, way, str(COUNT), **variables)
    found = re.search(r"recorded (\d+) call|took over (\d+) of (\d+) call", done.stderr)
    numbers = [int(n) for n in found.groups() if n] if found else [0]
    return done, numbers


def learn(faster):
    call = "gemm f32 nn 32x32x32"
    it = run(MAKER, "-d", device, f"blas,{call},0,0,naive,{NAME},,{10 if faster else 20},{20 if faster else 10}")
    check(it.returncode == 0, f"make_verdicts: {it.stderr}")


def name_of_blas():
    """As recordings have it."""
    under("return", "--record")
    with open(glob.glob(folder + "/state/mmtune/*.jsonl")[0], encoding="utf-8") as f:
        return re.search('"library":"([^"]*)"', f.read())[1]


def check_end(way, alone, done):
    check(status_of(done) == status_of(alone) and done.stdout == alone.stdout,
          f"{way}: it ends with {done.returncode}, alone with {alone.returncode}: {done.stdout} {done.stderr}")
    left = os.listdir(folder + "/state/mmtune/counts")
    check(not left, f"{way}: counts are left: {left}")


def test_ways():
    for way, times in WAYS.items():
        alone = run(ENDS, way, str(COUNT))
        done, recorded = under(way, "--record")
        check_end(way, alone, done)
        check(recorded == [times * COUNT] if times else recorded[0] > COUNT, f"{way}: {recorded} recorded: {done.stderr}")
        done, served = under(way)
        check_end(way, alone, done)
        if times:
            # A child of a process that was served passes all.
            taken = COUNT if way == "children" else times * COUNT
            check(served == [taken, times * COUNT], f"{way}: {served} taken over and counted: {done.stderr}")


def test_cold():
    """The process ends while its plans are made: nothing is compiled yet."""
    for way in ("return", "threads", "pthread_exit"):
        shutil.rmtree(environment["XDG_CACHE_HOME"], ignore_errors=True)
        cold = os.path.join(folder, "cold-" + way)
        done = run(PROGRAM, "run", "--blas", "--no-audit", "--", ENDS, way, str(COUNT), POCL_CACHE_DIR=cold)
        check(done.returncode == 0, f"{way}, cold: {done.returncode} {done.stderr}")


def test_state():
    for options in ([], ["--record"]):
        done, _ = under("state", *options)
        before, after = done.stdout.split("--\n")
        changed = sorted(set(before.splitlines()) ^ set(after.splitlines()))
        check(before == after, f"{options}: the process is another: {changed}")


def test_alone():
    """Without `mmtune run`, a process adds up what it has counted."""
    shutil.rmtree(folder + "/state", ignore_errors=True)
    for way, times in (("return", 1), ("quick_exit", 1), ("kill", 1)):
        run(ENDS, way, str(COUNT), LD_PRELOAD=PRELOADED, MMTUNE_RUN_RECORD="1")
    said = run(PROGRAM, "recorded", "--device", device, "--json").stdout
    check('"recorded":15' in said.replace(" ", ""), f"alone: {said}")


NAME = name_of_blas()
learn(True)
test_ways()
test_state()
test_cold()
test_alone()
end("ends", folder)
