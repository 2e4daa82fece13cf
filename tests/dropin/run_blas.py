#!/usr/bin/env python3
"""A program of BLAS on libmmtune-blas.so: run_blas.py MMTUNE LIBRARY CLIENT MAKER BLAS FLEXIBLAS

CLIENT and MAKER are this folder's blas_client.c and make_verdicts.c, BLAS and FLEXIBLAS what stand_in_blas.c
makes of itself. A product is computed by an OpenCL CPU, or by the stand-in, which counts."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import check, end, make_home, need_cpu_device

MMTUNE, LIBRARY, CLIENT, MAKER, BLAS, FLEXIBLAS = sys.argv[1:7]
folder, environment = make_home()
device = need_cpu_device(MMTUNE, environment)
environment.update(XDG_STATE_HOME=folder + "/state", MMT_STAND_IN_LOG=folder + "/log", MMTUNE_BLAS_DEVICE=device)
for name in [n for n in environment if n.startswith("MMTUNE_RUN_") or n == "LD_PRELOAD"]:
    del environment[name]


def lines():
    """The recording, which begins anew."""
    found = []
    subprocess.run([MAKER, "-c"], env=environment, check=True)
    for path in glob.glob(folder + "/state/mmtune/*.jsonl"):
        with open(path, encoding="utf-8") as f:
            found += [json.loads(line) for line in f if line.strip()]
        os.remove(path)
    return found


def run(*calls, preload=True, **variables):
    """The recording's lines, how often the stand-in was called, and what was said."""
    variables = {"MMTUNE_BLAS_THRESHOLD": "1000", "MMTUNE_RUN_WAIT": "86000", **variables}
    if preload:
        variables["LD_PRELOAD"] = LIBRARY
    if os.path.exists(folder + "/log"):
        os.remove(folder + "/log")
    done = subprocess.run([CLIENT, *calls], capture_output=True, text=True,
                          env=dict(environment, **variables))
    check(done.returncode == 0, f"{calls} {variables}: exit status {done.returncode}: {done.stderr}")
    counts = {}
    with open(folder + "/log", encoding="utf-8") as f:
        for name, count in (line.split() for line in f):
            counts[name] = counts.get(name, 0) + int(count)
    return lines(), counts, done.stderr


def fates(found):
    total = {}
    for line in found:
        for fate, count in line["fates"].items():
            total[fate] = total.get(fate, 0) + count
    return total


def verdict(line, library=None, ours=10, theirs=20):
    return (f"{line['client']},{line['call']},{int(line.get('adds', False))},0,naive,"
            f"{library or line['library']},,{ours},{theirs}")


def learn(*verdicts):
    done = subprocess.run([MAKER, "-d", device, *verdicts], capture_output=True, text=True,
                          env=environment)
    check(done.returncode == 0, f"make_verdicts: {done.stderr}")


# 16 x 12 x 20 has 3840 multiplications; by columns it is 12 x 16 x 20 by rows.
KINDS = ["", "f64=1", "ta=T,gap=3", "tb=T,f64=1,gap=4,beta=-2,alpha=-3", "ta=T,tb=T,beta=1", "cblas=101,m=18",
         "cblas=102,m=19,f64=1"]


def test_recording():
    found, counts, said = run(*KINDS, "m=5,n=4,k=3", "alpha=0", MMTUNE_RUN_RECORD="1")
    check(fates(found) == {"recorded": len(KINDS)}, f"recorded: {found} {said}")
    check(sum(counts.values()) == len(KINDS) + 2 + 2, f"recorded: the library was called {counts}")
    check(all(line["timed"] == 1 and line["ns"] > 0 for line in found), f"timed: {found}")
    adding = [line.get("adds", False) for line in found].count(True)
    check(adding == sum("beta" in kind for kind in KINDS), f"what is added to C: {found}")
    calls = {line["call"] for line in found}
    for name in ("gemm f32 nn 12x16x20", "gemm f64 nn 12x16x20", "gemm f32 nt 12x16x20 lda=23 ldb=23 ldc=19",
                 "gemm f32 nn 18x12x20", "gemm f64 nn 12x19x20"):
        check(name in calls, f"{name} is not among {calls}")
    check(found[0]["library"].startswith(os.path.basename(BLAS)), f"library: {found[0]}")
    check(os.path.realpath(BLAS) == found[0]["path"], f"path: {found[0]}")
    return found


def test_threshold():
    found, counts, _ = run("", MMTUNE_RUN_RECORD="1", MMTUNE_BLAS_THRESHOLD="3841")
    check(not found and counts["sgemm"] == 1, f"below the threshold: {found} {counts}")
    found, counts, _ = run("", MMTUNE_RUN_RECORD="1", MMTUNE_BLAS_THRESHOLD="3840")
    check(len(found) == 1, f"at the threshold: {found}")
    _, _, said = run("", MMTUNE_RUN_RECORD="1", MMTUNE_BLAS_THRESHOLD="64^3")
    check('MMTUNE_BLAS_THRESHOLD is "64^3"; it must be a number' in said, f"a wrong threshold: {said}")


def test_taken(recorded):
    learn(*[verdict(line) for line in recorded])
    found, counts, said = run(*KINDS, "threads=4,count=8", MMTUNE_RUN_VERBOSE="1", MMTUNE_RUN_CHECK="1")
    check(fates(found) == {"taken": len(KINDS) + 32}, f"taken: {found} {said}")
    check(said.count("is right: 1000 elements") == len(KINDS) + 2, f"checked: {said}")
    check(re.search("gemm f64 nn 12x19x20: naive .*, 2.00 times as fast as lib", said), f"named: {said}")
    _, counts, _ = run(*KINDS, "threads=4,count=8")
    check(not sum(counts.values()), f"taken: the library was called {counts}")
    found, counts, _ = run("shift=1", "shift=4", "", "count=3,fork=1")
    check(fates(found) == {"alignment": 1, "taken": 2, "child process": 3} and counts["sgemm"] == 1,
          f"starts and a child: {found} {counts}")
    found, counts, _ = run("fork=2", "count=2")
    check(fates(found) == {"taken": 3}, f"a child of a process that had not begun: {found}")


def test_passed(recorded):
    plain = next(line for line in recorded if line["call"] == "gemm f32 nn 12x16x20")
    for other, fate in ((verdict(plain, theirs=10.1), "library faster"), (verdict(plain, "another"), "verdict void"),
                        (verdict(plain).replace("12x16", "12x17"), "no verdict")):
        learn(other)
        found, counts, _ = run("count=2")
        check(fates(found) == {fate: 2} and counts["sgemm"] == 2, f"{fate}: {found} {counts}")


def test_all():
    """Without a verdict, also below the threshold and where operands are not aligned."""
    learn()
    found, counts, said = run(*KINDS, "shift=1", "shift=4", "threads=4,count=8", MMTUNE_BLAS="all",
                              MMTUNE_RUN_VERBOSE="1")
    check(fates(found) == {"taken": len(KINDS) + 34} and not sum(counts.values()), f"all: {found} {counts} {said}")
    check("gemm f64 nn 12x19x20 on " in said, f"named: {said}")
    _, _, said = run("", MMTUNE_BLAS="every")
    check('MMTUNE_BLAS is "every"; the only value is all' in said, f"a wrong value: {said}")


def test_hook():
    call = f"hook={LIBRARY},flexiblas={FLEXIBLAS},count=2"
    found, counts, said = run(call, preload=False, MMTUNE_RUN_RECORD="1")
    check([line["library"] for line in found] == ["FlexiBLAS STANDIN"], f"hook: {found} {said}")
    check(fates(found) == {"recorded": 2} and counts["sgemm"] == 2, f"hook: {found} {counts}")
    learn(verdict(found[0]))
    found, counts, said = run(call, preload=False)
    check(fates(found) == {"taken": 2} and not counts["sgemm"], f"hook: {found} {counts} {said}")


def test_alone():
    """`mmtune run --blas` of an installation that has nothing for cuBLAS."""
    program, library = os.path.join(folder, "alone/tuner/mmtune"), os.path.join(folder, "alone/dropin/blas/libmmtune-blas.so")
    for copy, of in ((program, MMTUNE), (library, LIBRARY)):
        os.makedirs(os.path.dirname(copy))
        shutil.copy(of, copy)
    done = subprocess.run([program, "run", "--blas", "--record", "--", CLIENT, *KINDS], capture_output=True, text=True,
                          env=dict(environment, MMTUNE_BLAS_THRESHOLD="1000"))
    check(done.returncode == 0 and "libmmtune-cublas" not in done.stderr, f"alone: exit status {done.returncode}: {done.stderr}")
    check(fates(lines()) == {"recorded": len(KINDS)}, f"alone: {done.stderr}")
    check(f"{len(KINDS)} calls" in done.stderr, f"alone, no report: {done.stderr}")


test_threshold()
seen = test_recording()
test_taken(seen)
test_passed(seen)
test_all()
test_hook()
test_alone()
end("dropin blas", folder)
