#!/usr/bin/env python3
"""The program from outside: run_tuner.py MMTUNE SOURCE_ROOT PART [STAND_IN]

  usage      command lines that are wrong, and what is said of them
  journal    going on, cut anywhere, of another device, on a full disk
  learned    shapes and types that are tuned later start from what earlier ones learned
  seeds      two seeds end as fast as each other
  killed     kill -9 and Ctrl-C in mid-search, and the same command again
  planted    kernels that hang, crash, do not compile, compute wrongly
  whole      a kernel that is wrong at depths that were not timed enters no profile

All but `usage` and `seeds` tune the CPU of emulation/fake/opencl, in the folder STAND_IN; `planted` verifies
on every device beside. `seeds` exits 77 where there is no OpenCL device of the CPU kind."""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from checks import (add_model, check, check_tried_once, cpu_device, devices, end, expect, failures, is_candidate,
                    journal, load, make_home, name_of, need_cpu_device, no_stand_in, plant_templates, save, skip,
                    stand_in, write_journal)

MMTUNE, ROOT, PART, *STAND_IN = sys.argv[1:]
folder, environment = make_home()
if PART == "killed":  # of caches that a run makes and removes
    environment.pop("POCL_CACHE_DIR", None)
real = environment
if STAND_IN:
    real, environment = no_stand_in(STAND_IN[0], real), stand_in(STAND_IN[0], real)


@contextlib.contextmanager
def on_real_devices():
    global environment
    before, environment = environment, real
    yield
    environment = before


def run(words, status, *said, inside=()):
    return expect(MMTUNE, words, status, *said, env=environment, inside=inside)


def start(words, **streams):
    return subprocess.Popen([MMTUNE, *words, "--json"], stdout=subprocess.PIPE, text=True,
                            env=environment, start_new_session=True, **streams)


# ---- reading what was written ---------------------------------------------------------------

def results(path):
    """What counts: the lines behind the last header, which another compiler adds, and behind what --fresh forgot."""
    lines = journal(path)
    return lines[max((i for i, line in enumerate(lines) if "format" in line or "forget" in line), default=-1) + 1:]


def candidates(path):
    return [line for line in results(path) if is_candidate(line)]


def wholes(path):
    """What was verified before it enters a profile, once each."""
    found = [line for line in results(path) if line.get("whole")]
    seen = collections.Counter((line["problem"], line["configuration"]) for line in found)
    check(max(seen.values(), default=1) == 1, f"verified twice: {seen}")
    return found


def calibrations(path):
    return [line for line in results(path) if line.get("calibration")]


def check_unique(path):
    check_tried_once(candidates(path) + calibrations(path))


def check_profile(path, problems):
    run(["show", path], 0)
    profile = load(path)
    found = [entry["problem"] for entry in profile["entries"]]
    check(len(found) == problems, f"{path} has {len(found)} entries, should have {problems}")
    return profile


# ---- usage ------------------------------------------------------------------------------------

USAGE = [
    (["--nonsense"], 2, "--nonsense"),
    (["nonsense"], 2, "no verb 'nonsense'", "tune", "diff"),
    (["tune", "extra"], 2, "'extra' is one word too many"),
    (["tune", "--type"], 2, "--type needs a value"),
    (["tune", "--json=yes"], 2, "takes no value"),
    (["tune", "--type", "f31"], 2, "no type 'f31'", "f8e5m2 and i8"),
    (["tune", "--type", ""], 2, "--type is empty"),
    (["tune", "--shape", "12x"], 2, "'12x' is no shape", "MxNxK"),
    (["tune", "--shape", "0x4x4"], 2, "'0x4x4' is no shape"),
    (["tune", "--shape", ""], 2, "'' is no shape"),
    (["tune", "--shape", "-1x4x4"], 2, "'-1x4x4' is no shape"),
    (["tune", "--shape", "4x4x99999999999"], 2, "2147418112"),
    (["tune", "--shape", "4x4x4x"], 2, "'4x4x4x' is no shape"),
    (["tune", "--shape", "8192-1x4x4"], 2, "'8192-1x4x4': the range ends before it begins", "1-8192"),
    (["tune", "--shape", "7-7x4x4"], 2, "the range has one m; 7 alone names it"),
    (["tune", "--shape", "1-x4x4"], 2, "'1-x4x4' is no shape"),
    (["tune", "--shape", "4x1-8x4"], 2, "'4x1-8x4' is no shape"),
    (["tune", "--op", "dot", "--shape", "1-8x4"], 2, "dot takes none, gemm alone does"),
    (["tune", "--shape", "1-8x4x4", "--ld", "odd"], 2, "--ld odd goes with single shapes"),
    (["bench", "--shape", "1-8x4x4"], 2, "is a range of m", "must be one m, such as 8x4x4"),
    (["verify", "--shape", "1-8x4x4"], 2, "is a range of m"),
    (["show", "--explain", "1-8x4x4"], 2, "is a range of m"),
    (["tune", "--op", "axpy"], 2, "--op does not know 'axpy' (did you mean 'axpby'?)", "gemm, axpby, dot"),
    (["tune", "--op", "axpby", "--shape", "4x4x4x4"], 2, "no shape of axpby; one is MxN"),
    (["tune", "--shape", "4x4x4", "--op", "dot", "--shape", "0"], 2, "'0' is no shape of dot"),
    (["tune", "--op", "heat2d", "--shape", "100"], 2, "no shape of heat2d"),
    (["tune", "--op", "jacobi3d", "--shape", "2x9x9"], 2, "m is 2", "at least 3"),
    (["tune", "--op", "dot", "--suite", "squares"], 2, "of products"),
    (["tune", "--op", "dot", "--template", "tiled"], 2, "computes gemm, but --op is dot"),
    (["verify", "--op", "dot", "--shape", "4x4x4x4"], 2, "no shape of dot"),
    (["emit", "heat2d", "--type", "bf16"], 2, "heat2d has f32, f64 and i32"),
    (["emit", "axpby", "--transposes", "nt"], 2, "trans_b is 1; axpby has none"),
    (["tune", "--suite", "cubes"], 2, "no suite 'cubes'", "squares", "default"),
    (["tune", "--ld", "even"], 2, "--ld does not know 'even'"),
    (["tune", "--op", "dot", "--ld", "odd"], 2, "no leading dimensions"),
    (["tune", "--suite", "squares,cubes"], 2, "no suite 'cubes'", "squares", "default"),
    (["tune", "--transposes", "nx"], 2, "no transposes 'nx'", "nn, nt, tn and tt"),
    (["tune", "--template", "tilted"], 2, "no template 'tilted'", "tiled"),
    (["tune", "--search", "magic"], 2, "--search does not know 'magic'", "random"),
    (["tune", "--budget", "soon"], 2, "--budget is 'soon'", "90s"),
    (["tune", "--budget", "-5s"], 2, "--budget is '-5s'"),
    (["tune", "--budget", "0"], 2, "--budget is '0'"),
    (["tune", "--budget", "30"], 2, "--budget is '30'", "Seconds are 30s, candidates 30c"),
    (["tune", "--budget", "1.5c"], 2, "--budget is '1.5c'", "200c"),
    (["tune", "--type", "fp8"], 2, "'fp8' is two types: f8e4m3 and f8e5m2"),
    (["tune", "--shape", "4x4x4,12x"], 2, "'12x' is no shape"),
    (["tune", "--shape", "@/proc/none"], 2, "cannot open the list '/proc/none'"),
    (["bench", "--shape", "@/dev/null"], 2, "'/dev/null' names nothing"),
    (["verify", "--shape", "4x4x4,12x"], 2, "'12x' is no shape"),
    (["show", "--explain", "4x4x4,12x"], 2, "'12x' is no shape"),
    (["regret", "--budget", "30s"], 2, "budget is '30s'"),
    (["tune", "--seed", "x"], 2, "--seed is 'x'", "whole number"),
    (["tune", "--limit", "0"], 2, "--limit is '0'"),
    (["--device", "99"], 1, "99"),
    (["--device", "vulkan:0"], 1, "vulkan"),
    (["templates", "tilted"], 2, "no template 'tilted'"),
    (["templates", "--device", "99"], 1, "99"),
    (["devices", "--all"], 2, "--all"),
    (["suites", "squares"], 2, "one word too many"),
    (["emit"], 2, "which configuration?"),
    (["emit", "tilted"], 2, "tilted", "tiled"),
    (["emit", "tiled TILE=17"], 2, "TILE", "17", "16"),
    (["emit", "tiled TILES=16"], 2, "TILES"),
    (["emit", "tiled", "--dialect", "hip"], 2, "--dialect does not know 'hip'", "cuda and opencl"),
    (["emit", "tiled", "--type", "f17"], 2, "no type 'f17'"),
    (["emit", "simt TILE_K=4 K_UNROLL=8"], 1, "no GPU can run simt COPY=registers TILE_M=", "TILE_K must be a multiple of K_UNROLL"),
    (["emit", "tiled", "--type", "bf16"], 1, "tiled does not serve the type bf16"),
    (["emit", "tiled", "--bias", "row"], 1, "tiled serves neither bias nor activation"),
    (["emit", "naive", "--bias", "both"], 2, "--bias does not know 'both'", "none, row and column"),
    (["emit", "naive", "--activation", "tanh"], 2, "--activation does not know 'tanh'", "gelu_tanh"),
    (["emit", "naive", "--type", "bf16", "--out", "f16"], 2, "a product of bf16"),
    (["emit", "naive", "--type", "i8", "--activation", "gelu"], 2, "relu alone"),
    (["tune", "--type", "bf16", "--out", "f31"], 2, "no type 'f31'"),
    (["verify", "--activation", "tanh"], 2, "does not know 'tanh'"),
    (["bench", "--out", "f31"], 2, "no type 'f31'"),
    (["emit", "tiled", "--transposes", "nn,tt"], 2, "one pair"),
    (["emit", "tiled", "-o", "/proc/none/x.cl"], 1, "/proc/none"),
]

RIGHT = [
    (["--help"], "usage:"), (["--version"], "mmtune "), (["suites"], "skinny:"),
    (["suites", "--json"], "\"4096x4096x64\""), (["templates"], "TILE_M"),
    (["tune", "--help"], "--budget"),
    (["emit", "tiled TILE=32", "--dialect", "cuda"], "__global__"),
    (["emit", "naive", "--type", "f8e4m3", "--out", "f16", "--bias", "row"],
     "#define TYPE_F8E4M3 1\n#define OUT_F16 1\n#define BIAS 1\n"),
    (["emit", "tiled", "TILE=32", "--dialect", "opencl"], "__kernel"),
]


def test_usage():
    for words, status, *said in USAGE:
        run(words, status, *said)
    for words, said in RIGHT:
        run(words, 0, said)
    for verb in "tune devices suites templates emit verify show diff".split():
        run([verb, "--help"], 0, f"usage: mmtune {'[tune]' if verb == 'tune' else verb}")
    device = cpu_device(MMTUNE, environment)
    if not device:
        return
    run(["templates", "--device", device, "--why", "tiled"], 0, "configurations are legal")
    run(["--device", device, "-o", "/proc/none/p.json"], 1, "/proc/none")
    run(["--device", device, "-o", folder], 1, folder)
    run(["--device", device, "-o", save(folder, "other.json", {"format": 99})], 1, "other.json", "--fresh")
    run(["--device", device, "--with", folder + "/none.json"], 1, "none.json")


# ---- journal ------------------------------------------------------------------------------------

SMALL = ["--type", "f32", "--shape", "96x80x64", "--template", "tiled"]


def test_journal():
    device, path = need_cpu_device(MMTUNE, environment), folder + "/p.json"
    command = ["--device", device, "-o", path, *SMALL, "--budget"]
    run(command + ["5c"], 0, "gemm f32 nn 96x80x64", "tiled TILE=", "pkg-config")
    check(len(candidates(path)) == 5, "five candidates were asked for")
    first = check_profile(path, 1)
    check(not calibrations(path), f"a template that is not ranked is not timed on others: {calibrations(path)}")
    check(first["made"]["tried"] == 5, "the profile counts five tries")

    # Finalists are timed beside each other; the winner and the runner-up once more. On a busy
    # machine a winner may turn out slower than the next ones are known for, and meets these, too.
    finals = collections.Counter(line["configuration"] for line in journal(path) if line.get("final"))
    winner = name_of(first["entries"][0])
    again = [name for name, rounds in finals.items() if rounds >= 2]
    check(winner in again and len(again) >= 2 if len(finals) > 1 else finals[winner] == 1,
          f"the winner, {winner}, was confirmed against another: {finals}")

    run(command + ["3c"], 0, "going on from")
    check(len(candidates(path)) == 8, "a second run goes on")
    check_unique(path)

    # Cut anywhere, it goes on from the last whole line.
    with open(path + ".journal", "rb") as f:
        whole = f.read()
    for length in (len(whole) - 1, whole.index(b"\n") + 40, 25):
        with open(path + ".journal", "wb") as f:
            f.write(whole[:length])
        left = max(whole[:length].count(b"\n") - 1, 0)
        run(command + ["1c"], 0)
        check(journal(path)[:left] == [json.loads(line) for line in whole.split(b"\n")[1:left + 1]],
              f"cut at {length}, what stands before the cut is kept")
        check_unique(path)
        check_profile(path, 1)

    # Of another device or format it is refused, and --fresh starts anew.
    with open(path + ".journal", "rb") as f:
        header, rest = f.read().split(b"\n", 1)
    for key, value, words in (("device", "Riva 128", "another device"),
                              ("format", "diary", "is no journal")):
        changed = dict(json.loads(header), **{key: value})
        with open(path + ".journal", "wb") as f:
            f.write(json.dumps(changed).encode() + b"\n" + rest)
        run(command + ["1c"], 1, words, "--fresh")
    run(command + ["2c", "--fresh"], 0)
    check(len(candidates(path)) == 2, "--fresh forgets")

    # Another compiler than before: what it made is left out, and the run goes on.
    with open(path + ".journal", "rb") as f:
        header, rest = f.read().split(b"\n", 1)
    with open(path + ".journal", "wb") as f:
        f.write(json.dumps(dict(json.loads(header), compiler="tcc")).encode() + b"\n" + rest)
    run(command + ["1c"], 0, "were made with another compiler")
    check(len(candidates(path)) == 1, "one candidate by this compiler")
    run(command + ["1c"], 0)
    check(len(candidates(path)) == 2, "which the next run knows")

    # Events, in their order, with what a program that watches goes by.
    said = run(command + ["2c", "--json"], 0)
    events = [json.loads(line) for line in said.splitlines()]
    names = [e["event"] for e in events if e["event"] not in ("calibration", "note", "verified")]
    check(names == ["start", "problem", "result", "result", "winner", "yardstick", "library", "end"],
          f"events: {names}")
    elapsed = [e["elapsed"] for e in events if "elapsed" in e]
    check(elapsed == sorted(elapsed) and len(elapsed) >= 5, f"elapsed goes up: {elapsed}")
    problem = next(e["problem"] for e in events if e["event"] == "problem")
    check(events[0]["problems"] == [problem] and events[0]["candidates"] == 2,
          f"what will be done: {events[0]}")
    results = [e for e in events if e["event"] == "result"]
    check(all("seconds" in e or "reason" in e for e in results), f"times or reasons: {results}")

    # Eight blocks of 512 bytes: the disk is full in mid-search.
    full = folder + "/full.json"
    run(["--device", device, "-o", full, *SMALL, "--budget", "60c"], 1,
        "even the naive kernel fails now", "cannot be written: File too large",
        inside=["sh", "-c", 'ulimit -f 8; exec "$@"', "sh"])
    check(not [line for line in candidates(full) if line["status"] != "timed"],
          "what failed for want of space is no candidate's fault")
    run(["--device", device, "-o", full, *SMALL, "--budget", "1c"], 0)
    check_unique(full)
    check_profile(full, 1)


# ---- learned ------------------------------------------------------------------------------------

def make_best(path, problem):
    """Halves, in the journal, the best time of the problem, and gives it to the second of the
    template's that was tried: which one is the best is not for noise to say."""
    second = [line["configuration"] for line in candidates(path)
              if line["problem"] == problem and line["configuration"].startswith("tiled ")][1]
    least = min(line["seconds"] for line in candidates(path) if line["problem"] == problem)
    lines = journal(path)
    for line in lines:
        if line.get("problem") == problem and line["configuration"] == second and "seconds" in line:
            line["seconds"] = least / 2
    write_journal(path, lines)
    return second


def test_learned():
    device, path = need_cpu_device(MMTUNE, environment), folder + "/p.json"
    words = ["--device", device, "-o", path, "--template", "tiled", "--search", "random"]
    run([*words, "--type", "f32", "--shape", "96x80x64", "--budget", "6c"], 0)
    best = make_best(path, "gemm f32 nn 96x80x64")
    goals = ["gemm f32 nn 120x100x80", "gemm i32 nn 120x100x80"]
    run([*words, "--type", "f32,i32", "--shape", "120x100x80", "--budget", "18c"], 0)
    check_profile(path, 3)
    tried = collections.defaultdict(list)
    for line in candidates(path):
        tried[line["problem"]].append(line["configuration"])
    check(list(tried)[1:] == goals, f"the goals in their order: {list(tried)}")
    check(best == tried[goals[0]][0], f"{goals[0]} begins with {best}: {tried[goals[0]]}")
    first = min((line for line in candidates(path)
                 if line["problem"] == goals[0] and line["status"] == "timed"),
                key=lambda line: line["seconds"])["configuration"]
    # The estimate may expect others to be twice as fast, which come before.
    check({best, first} & set(tried[goals[1]]), f"another type begins with {best} or {first}: {tried[goals[1]]}")
    before = len(candidates(path))
    run([*words[:-3], "panel", "--type", "f32", "--shape", "120x100x80", "--budget", "8c"], 0)
    other = calibrations(path)
    check(0 < len(other) <= 2 * (len(candidates(path)) - before) and
          all(line["configuration"].startswith("panel ") and line["problem"].startswith("gemm f32 ") and
              "120x100x80" not in line["problem"] for line in other),
          f"at most twice as many timings on other shapes, of what is ranked: {other}")
    profile = check_profile(path, 3)
    timed = collections.defaultdict(set)
    for line in results(path):
        if line["status"] == "timed":
            timed[line["problem"].split()[1]].add(line["problem"])
    check({model["family"]: model["shapes"] for model in profile["models"]} ==
          {kind: len(problems) for kind, problems in timed.items()},
          f"each family's model rests on all that was timed: {profile['models']}, {timed}")
    check_fit(path, profile)


def check_fit(path, profile):
    """A profile that lost its models gets them again from a journal."""
    bare, lost = (save(folder, name + ".json", dict(profile, models=[])) for name in ("bare", "lost"))
    merged = folder + "/merged.json"
    run(["merge", bare, bare, "--fit", "-o", merged], 1, "beside none of the 2 profiles is a journal")
    check(not os.path.exists(merged), "what cannot be fitted is not written")
    shutil.copy(path + ".journal", lost + ".journal")
    run(["merge", lost, bare, "--fit", "-o", merged], 0)
    check(profile["models"] and load(merged)["models"] == profile["models"], "the same times teach the same")


# ---- seeds --------------------------------------------------------------------------------------

def find_winner(words):
    """Tunes until there is a winner, or to the end, where that is sooner; what is said. What kernels cost
    on other shapes, which would be learned behind that and takes as long again, nobody asks here."""
    process, said = start(words), ""
    for line in process.stdout:
        said += line
        if json.loads(line)["event"] == "winner":
            process.send_signal(signal.SIGINT)
    check(process.wait() in (0, 130), f"{words}: exit status 130, is {process.returncode}")
    return said


def time_beside(problem, device_profile, name, configurations):
    """Seconds and spread of each configuration, timed in one run of their own."""
    last = f"{folder}/{name}.json"
    find_winner(problem + ["-o", last, "--with", device_profile, "--budget", "3c"])
    timed = {line["configuration"]: line for line in journal(last)
             if not line.get("calibration") and not line.get("whole") and line["status"] == "timed"}
    check(all(c in timed for c in configurations), f"{configurations} in {list(timed)}")
    return [timed[c] for c in configurations]


QUIET = 0.15   # more noise than that, and winners cannot be told apart


def compare_seeds(device, attempt):
    """How far the winners of two seeds are apart, and how noisy the machine is: how far the least
    of three times scatters, and the samples within them. A machine that is busy is slow, never
    fast."""
    problem = ["--device", device, "--type", "f32", "--shape", "256x256x256"]
    profiles = []
    for seed in 1, 2:
        path = f"{folder}/{attempt}-{seed}.json"
        find_winner(problem + ["-o", path, "--seed", str(seed), "--budget", "24c"])
        profiles.append(check_profile(path, 1))
    winners = [name_of(profile["entries"][0]) for profile in profiles]
    if winners[0] == winners[1]:
        print(f"two seeds end with the same kernel, {winners[0]}", flush=True)
        return 0, 0
    profiles[0]["entries"] += profiles[1]["entries"]
    both = save(folder, "both.json", profiles[0])
    rounds = [time_beside(problem, both, f"round{attempt}-{i}", winners)
              for i in range(3)]
    seconds = [[r[w]["seconds"] for r in rounds] for w in range(2)]
    spreads = [min(r[w]["spread"] / r[w]["seconds"] for r in rounds) for w in range(2)]
    noise = sum(spreads) + sum(sorted(s)[1] / min(s) - 1 for s in seconds)
    apart = abs(min(seconds[0]) / min(seconds[1]) - 1)
    print(f"the winners of two seeds are {100 * apart:.1f} % apart; noise {100 * noise:.1f} %",
          flush=True)
    return apart, noise


def test_seeds():
    """Within 2 % and the noise of the machine, up to QUIET. Noise while a seed is tuned makes it choose
    otherwise, so there are three attempts; a machine that is never quiet cannot tell, and says so."""
    device = need_cpu_device(MMTUNE, environment)
    told = []
    for attempt in range(3):
        told.append(compare_seeds(device, attempt))
        if told[-1][0] <= 0.02 + min(told[-1][1], QUIET):
            return
    quiet = [apart for apart, noise in told if noise <= QUIET]
    check(not quiet, f"two seeds end {quiet} apart on a machine that is quiet")
    if not quiet and not failures:
        shutil.rmtree(folder, ignore_errors=True)
        skip("this machine is too noisy to tell two winners apart")


# ---- killed -------------------------------------------------------------------------------------

def wait_for_results(process, count, event="result"):
    for line in process.stdout:
        count -= json.loads(line)["event"] == event
        if count == 0:
            return True
    return check(False, "the run ended before it was killed")


def check_interrupted(path, device, budget, count, event):
    """After so many events Ctrl-C ends the run; it tells how many results it has added to the journal."""
    tried, lines = (len(read(path)) if os.path.exists(path + ".journal") else 0 for read in (candidates, results))
    process = start(["--device", device, "-o", path, *SMALL, "--budget", budget], stderr=subprocess.PIPE)
    wait_for_results(process, count, event)
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate()
    tried, lines = len(candidates(path)) - tried, len(results(path)) - lines
    last = json.loads(rest.splitlines()[-1])
    check(process.returncode == 130, f"exit status 130, is {process.returncode}")
    check(last["event"] == "end" and last["interrupted"] and last["tried"] == tried, f"{tried} were tried: {last}")
    check(tried < lines or event == "result", f"finals are results, too: {tried} of {lines}")
    check(f"; {lines} results of this run are saved in '{path}.journal'" in said, f"{lines} lines: {said}")
    check_profile(path, 1)


def state_and_parent(pid):
    """None where there is no such process any more."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            state, parent = f.read().rsplit(")", 1)[1].split()[:2]
            return state, int(parent)
    except OSError:
        return None


def workers_of(process):
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if (state_and_parent(pid) or (0, 0))[1] == process.pid]


def alive(pid):
    found = state_and_parent(pid)
    return found is not None and found[0] != "Z"


def test_killed():
    device, path = need_cpu_device(MMTUNE, environment), folder + "/p.json"
    command = ["--device", device, "-o", path, "--type", "f32,i32", "--shape", "96x80x64",
               "--template", "tiled"]
    before = 0
    for count in (1, 4):
        process = start(command + ["--budget", "1h"])
        wait_for_results(process, count)
        workers = workers_of(process)
        process.kill()
        process.wait()
        check(len(workers) >= 2, f"it had workers: {workers}")
        while any(map(alive, workers)):  # they die with it
            time.sleep(0.05)
        check(len(candidates(path)) >= before + count, "nothing that was measured is lost")
        before = len(candidates(path))
    run(command + ["--budget", "4c"], 0, "going on from")
    check_unique(path)
    check_profile(path, 2)
    left = [name for name in os.listdir(folder + "/cache/mmtune") if name.startswith("pocl-")]
    check(not left, f"caches of killed runs are swept away: {left}")

    # Ctrl-C: the candidate at hand is finished, what was found is written.
    other = folder + "/q.json"
    check_interrupted(other, device, "1h", 3, "result")
    check_interrupted(other, device, "3c", 1, "winner")
    process = start(["--device", device, "-o", other, *SMALL, "--budget", "1h"])
    wait_for_results(process, 1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    check(process.wait() == 130, f"exit status 130, is {process.returncode}")
    check_unique(other)
    check_profile(other, 1)

    # verify, too, says what it has, though a million are left.
    with subprocess.Popen([MMTUNE, "verify", "--device", device, "--template", "tiled", "--type", "f32",
                           "--sample", "1000000"], text=True, stdout=subprocess.PIPE, env=environment) as process:
        check(process.stdout.readline().startswith("right"), "the first candidate is right")
        process.send_signal(signal.SIGINT)
        last = process.stdout.read().splitlines()[-1]
    check(process.returncode == 130, f"exit status 130, is {process.returncode}")
    check(re.match(r"interrupted: [1-9]\d* right, 0 wrong", last), f"what verify has: {last}")

    # Kernels that the usual shape is not for are verified on one that they serve.
    said = subprocess.run([MMTUNE, "verify", "--device", device, "--type", "i32", "--transposes", "nn",
                           "skinny SHORT=columns THREAD_TILE_LONG=1"], text=True, capture_output=True, env=environment)
    check(said.returncode == 0 and said.stdout.splitlines()[-1].startswith("1 right, 0 wrong"),
          f"few columns are verified: {said.stdout}{said.stderr}")


# ---- planted --------------------------------------------------------------------------------------

# After the opening brace of tiled.cl's kernel; each value of a knob is wrong in its way. Few hang, and
# of these one block alone, as each takes all of the limit on a core. The one that outgrows the stack
# goes down it, as a stack grows: what it meets first is the end of the stack, not what lies far below
# and belongs to others.
PLANTED = """
// stand-in: TILE=8 refuse planted: does not compile
// stand-in: TILE=16 crash
// stand-in: WORK=8 hang
// stand-in: WORK=1 crash
// stand-in: WORK_ALONG=1 wrong
#if TILE == 8
#error "planted: does not compile"
#elif TILE == 16
    volatile char all[1 << 30];
    for (int at = (1 << 30) - 1024; at >= 0; at -= 1024) all[at] = (char) m;
    if (all[k]) return;
#elif WORK == 8
    volatile GLOBAL real *spot = c + c_start;
    while (BLOCK_X + BLOCK_Y == 0 && (*spot == *spot || *spot != *spot))
        ;
#elif WORK == 1
    *(volatile GLOBAL int *) (size_t) (8 + m - m) = 1;
#elif WORK_ALONG == 1
    alpha += 1;
#endif
"""
# What becomes of a configuration, and why: where a kernel runs in the worker itself, its
# faults end the process; a GPU's driver reports them.
EXPECTED = {
    "TILE=8 ": {"all": ("failed", "planted: does not compile")},
    "TILE=16 ": {"cpu": ("crashed", "died of it"), "gpu": ("failed", "")},
    "WORK=8 ": {"all": ("hung", "killed after")},
    "WORK=1 ": {"cpu": ("crashed", "died of it"), "gpu": ("failed", "")},
    "WORK_ALONG=columns": {"all": ("wrong", "should be")},
}


# Seconds until a candidate counts as hung; compiling one takes a fraction of one.
LIMIT = "3"


def fate_of(configuration, kind):
    for knob, fates in EXPECTED.items():
        if knob in configuration + " ":
            return fates.get(kind) or fates["all"]
    return "timed", ""


def plant(fault, *names):
    """A fault in the kernels that are named, of tiled.cl's form."""
    templates = plant_templates(ROOT, folder, fault, *names)
    for there in (environment, real):
        there["MMTUNE_TEMPLATE_DIR"] = templates


def tune_planted(device, kind):
    path = f"{folder}/{device.replace(':', '-')}.json"
    find_winner(["--device", device, "-o", path, *SMALL, "--budget", "13c", "--limit", LIMIT, "--search", "random"])
    found = collections.Counter()
    for line in candidates(path):
        if not line["configuration"].startswith("tiled"):
            continue
        wanted, reason = fate_of(line["configuration"], kind)
        found[wanted] += 1
        check(line["status"] == wanted and reason in line.get("reason", ""),
              f"on {device}, should be {wanted} ({reason}): {line}")
    for status in ("hung", "failed", "wrong", "timed") + ("crashed",) * (kind == "cpu"):
        check(found[status], f"one candidate on {device} should be {status}: {found}")
    check_unique(path)
    entry = check_profile(path, 1)["entries"][0]
    winner = name_of(entry)
    check(entry["template"] == "naive" or fate_of(winner, kind)[0] == "timed",
          f"the winner on {device} is one that is right: {winner}")
    # What failed, hung or crashed may be tried once more.
    known = len(candidates(path))
    run(["--device", device, "-o", path, *SMALL, "--budget", "1c", "--limit", LIMIT], 0, "tried once more")
    check(len(candidates(path)) == known + 1, "one more candidate")
    check_unique(path)


def verify_planted(device, kind):
    """Each fault ends a candidate alone; the last one is verified after them all."""
    knobs = ["TILE=8 WORK=2 UNROLL_K=8", "TILE=32 WORK=8", "TILE=32 WORK=1", "TILE=16 WORK=2",
             "TILE=32 WORK=4 WORK_ALONG=columns", "TILE=32 WORK=4"]
    shape = ["--type", "f32", "--transposes", "nn", "--shape", "96x80x64", "--limit", LIMIT]
    said = run(["verify", "--device", device, *shape, *(w for k in knobs for w in ("tiled", *k.split()))],
               1, "1 right, 1 wrong, 4 failed").split("\n")
    lines = [at for at, line in enumerate(said) if line.startswith(("right", "WRONG", "failed"))]
    check(len(lines) == len(knobs), f"each is told on {device}: {said}")
    for at, end, knob in zip(lines, [*lines[1:], len(said)], knobs):
        wanted, reason = fate_of("tiled " + knob, kind)
        word = {"timed": "right", "wrong": "WRONG"}.get(wanted, "failed")
        more = "" if wanted == "timed" else "\n".join(said[at + 1:end])
        named = wanted in more or wanted not in ("hung", "crashed")
        check(said[at].startswith(word) and reason in more and named,
              f"{knob} on {device}, should be {wanted} ({reason}): {said[at]} {more}")


def regret_planted(device):
    """Regrets are measured although kernels that are ranked hang; the shape is small, of two rows."""
    path = folder + "/regret.json"
    find_winner(["--device", device, "-o", path, *SMALL, "--budget", "2c"])
    add_model(path)
    plant("    // stand-in: THREAD_TILE_M=6 hang\n", "panel")
    said = run(["regret", "--device", device, "--profile", path, "--shapes", "1", "--seed", "5", "--budget", "0",
                "--limit", "1", "--json"], 0)
    events = [json.loads(line) for line in said.splitlines()]
    compared = sum(e["compared"] for e in events if e["event"] == "shape")
    timed = [e["configuration"] for e in events if e["event"] == "time"]
    check(0 < len(timed) < compared and not any(" THREAD_TILE_M=6 " in name for name in timed),
          f"of {compared} all but those that hang are timed: {timed}")
    check([e["shapes"] for e in events if e["event"] == "regret"] == [1], f"a loss is told: {said}")


# A sum of 100,000 terms: too deep for clang's stack, and clang runs in the worker itself.
DEEP = "".join(f"#define T{i}(x) {' + '.join([f'T{i - 1}(x)'] * 10)}\n" for i in range(1, 6))
DEEP = f"""
// stand-in: UNROLL_K<5 die
#if UNROLL_K <= 4
#define T0(x) x
{DEEP}    int deep = m;
    deep = T5(deep);
    if (deep == 17)
        return;
#endif
"""


def tune_deep(device):
    """A compiler that crashes ends its candidate alone."""
    path = folder + "/deep.json"
    find_winner(["--device", device, "-o", path, *SMALL, "--budget", "10c", "--search", "random"])
    ends = collections.Counter()
    for line in candidates(path):
        deep = re.search(r"UNROLL_K=(\d+)", line["configuration"])
        if not deep:
            continue
        crashes = int(deep[1]) <= 4
        ends[line["status"]] += 1
        check(line["status"] == ("crashed" if crashes else "timed"), f"compiling: {line}")
        check(not crashes or "(phase compile)" in line["reason"], f"while compiling: {line}")
    check(ends["crashed"] and ends["timed"], f"some compilers crashed, some did not: {ends}")
    check_unique(path)
    check_profile(path, 1)


BROKEN = """
// stand-in: refuse planted: does not compile
#error "planted: does not compile"
"""


def tune_hopeless(device):
    """Where not even the naive kernel works, the run says why, and blames no candidate."""
    path = folder + "/hopeless.json"
    run(["--device", device, "-o", path, *SMALL, "--budget", "30c"], 1,
        "even the naive kernel fails now", "planted: does not compile")
    check(not candidates(path), f"none is journalled: {candidates(path)}")


def tune_alike(device):
    """Ten that fail alike, where the naive kernel works, are at fault themselves."""
    path = folder + "/alike.json"
    said = find_winner(["--device", device, "-o", path, *SMALL, "--budget", "12c", "--search", "random"])
    check("to see whether the machine is at fault" in said, f"it is tried: {said}")
    failed = [line for line in candidates(path) if line["status"] == "failed"]
    check(len(failed) == 11, f"each is journalled: {candidates(path)}")
    entry = check_profile(path, 1)["entries"][0]
    check(entry["template"] == "naive", f"the naive kernel remains: {entry}")


def verify_deep(device):
    knobs = "tiled TILE=32 SHARED_LAYOUT=pad WORK=4 WORK_ALONG=rows UNROLL_K=".split()
    words = [*knobs[:-1], knobs[-1] + "4", *knobs[:-1], knobs[-1] + "8"]
    run(["verify", "--device", device, "--type", "f32", "--transposes", "nn", "--shape", "96x80x64", *words],
        1, "1 right, 0 wrong, 1 failed", "(phase compile)")


def test_planted():
    device = need_cpu_device(MMTUNE, environment)
    plant(PLANTED, "tiled")
    tune_planted(device, "cpu")
    verify_planted(device, "cpu")
    with on_real_devices():
        for found in devices(MMTUNE, environment):
            verify_planted(found["id"], found["kind"])
            if found["kind"] == "gpu":
                tune_planted(found["id"], found["kind"])
    plant(DEEP, "tiled")
    tune_deep(device)
    with on_real_devices():
        if cpu_device(MMTUNE, environment):
            verify_deep(cpu_device(MMTUNE, environment))
    regret_planted(device)
    plant(BROKEN, "tiled")
    tune_alike(device)
    plant(BROKEN, "tiled", "naive")
    tune_hopeless(device)


# ---- whole -------------------------------------------------------------------------------------

def check_whole(path, right):
    """The winner was found right, and what was found wrong the profile has not."""
    profile = check_profile(path, 1)
    found = {(line["problem"], line["configuration"]): line["status"] for line in wholes(path)}
    winner = name_of(profile["entries"][0])
    check(found.get(("gemm f32 nn 256x256x256", winner)) == "timed", f"{winner} was verified: {found}")
    check({status for (_, of), status in found.items() if of == winner} == {"timed"},
          f"{winner} was not found wrong: {found}")
    check(winner.startswith("panel") == right, f"panels are right, {right}: {winner}")
    return found


def test_whole():
    """Blocks of k are not begun anew at 256: a kernel that is wrong behind its first one is found at
    once, whatever is tuned. One that is wrong for scalars that no quick check has is found before
    it enters the profile."""
    device = need_cpu_device(MMTUNE, environment)
    command = ["--device", device, "--type", "f32", "--shape", "256x256x256", "--template", "panel",
               "--search", "random"]
    path = f"{folder}/deep.json"
    plant("    // stand-in: wrong k BLOCK_K\n    if (k > BLOCK_K) alpha += 1;\n", "panel")
    run([*command, "-o", path, "--budget", "4c"], 0)
    of_panel = [line for line in candidates(path) if line["configuration"].startswith("panel")]
    check({line["status"] for line in of_panel} == {"wrong"}, f"deep k is quick: {of_panel}")
    fault = "    // stand-in: wrong alpha -1.4 -1.2\n    if (alpha < -1.2f && alpha > -1.4f) alpha = -1;\n"
    for planted, right in (fault, False), ("", True):
        path = f"{folder}/{'right' if right else 'wrong'}.json"
        plant(planted, "panel")
        said = run([*command, "-o", path, "--budget", "16c" if right else "8c"], 0)
        found = check_whole(path, right)
        check(right or "wrong: panel" in said, f"what is wrong is told: {said}")
        check(right or "wrong" in found.values(), f"and noted: {found}")
        run([*command, "-o", path, "--budget", "1c"], 0)
        again = check_whole(path, right)
        check(found.items() <= again.items(), f"what was verified stays: {found}, {again}")
    path = f"{folder}/none.json"
    plant(fault, "panel", "naive")
    run([*command, "-o", path, "--budget", "3c"], 1, "3 wrong")
    check({line["status"] for line in wholes(path)} == {"wrong"}, f"all were entered, and wrong: {wholes(path)}")
    check_profile(path, 0)


{"usage": test_usage, "journal": test_journal, "learned": test_learned, "seeds": test_seeds, "killed": test_killed,
 "planted": test_planted, "whole": test_whole}[PART]()
end(f"tuner, {PART}", folder)
