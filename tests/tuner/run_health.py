#!/usr/bin/env python3
"""Whole runs on a card that is not there and that is throttled: run_health.py MMTUNE FAKES LIBRARIES

FAKES holds a CUDA driver whose kernels run on the host, NVRTC, and NVML in a folder of its
own (tests/emulation/fake/card); LIBRARIES a cuBLASLt that does without a card, too (tests/emulation/fake)."""
import json
import os
import shutil
import signal
import subprocess
import sys

from checks import add_model, check, end, expect, journal, load, make_home, name_of, read, write, write_journal

MMTUNE, FAKES, LIBRARIES = sys.argv[1:4]
folder, environment = make_home(MMTUNE_NVRTC="")
CARDS = environment["MMT_FAKE_CARDS"] = folder + "/cards"
COOL, HOT = "0000:65:00.0 50 2000 0", "0000:65:00.0 92 1000 0x20"


def deal(line):
    """How the card fares from now on."""
    os.replace(write("", CARDS + ".next", line + "\n"), CARDS)


def libraries(nvml):
    return dict(environment, LD_LIBRARY_PATH=FAKES + (f":{FAKES}/whole" if nvml else "") + ":" + LIBRARIES)


def tune(name, budget, nvml=True, hot_after=None, shapes=("24x40",)):
    """Tunes with the card cool, and hot after so many candidates: the events, the journal's
    results, the profile, and what is said of it."""
    path = f"{folder}/{name}.json"
    deal(COOL)
    events = []
    command = [MMTUNE, "--json", "--device", "cuda:0", "--op", "heat2d", "--type", "f32",
               "--budget", budget, "--limit", "900", "-o", path]
    for shape in shapes:
        command += ["--shape", shape]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=libraries(nvml)) as run:
        for line in run.stdout:
            events.append(json.loads(line))
            if hot_after and sum(e["event"] == "result" for e in events) == hot_after:
                deal(HOT)
    check(run.returncode == 0, f"{name} ends with {run.returncode}")
    results = [line for line in journal(path) if not line.get("whole")]
    return events, results, load(path), expect(MMTUNE, ["show", path], 0, env=environment)


# ---- what a journal says, and the card does not -----------------------------------------------------

SLOW = "VECTOR=1"  # kernels that take 3 ms here, while the others take 1


def lie(path, name, seconds):
    """Writes into the journal that a slow kernel was fast, and nothing of finals: its
    configuration."""
    lines = [line for line in journal(path) if not line.get("final")]
    slow = [line for line in lines if SLOW in line["configuration"]]
    check(slow and all(2.9e-3 < line["seconds"] < 3.1e-3 for line in slow), f"some are slow: {lines}")
    slow[0]["seconds"] = seconds
    other = f"{folder}/{name}.json"
    shutil.copy(path + ".journal", other + ".journal")
    write_journal(other, lines)
    return other, slow[0]["configuration"]


def go_on(path, budget="1c", stop_at=None, **faults):
    """Another run from that journal, interrupted once at an event's first appearance: the
    events, and the entry of the profile."""
    command = [MMTUNE, "--json", "--device", "cuda:0", "--op", "heat2d", "--type", "f32", "--shape",
               "24x40", "--budget", budget, "--limit", "900", "-o", path]
    events = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          env=dict(libraries(True), **faults)) as run:
        for line in run.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] == stop_at:
                run.send_signal(signal.SIGINT)
                stop_at = None
    return events, name_of(load(path)["entries"][0])


def test_disproved():
    """A time in the journal that no kernel can take is passed over, with a sentence. One that the
    finals disprove, alone in them as it is, loses to the next: where it is slower, where it
    crashes there, and where a later run that knows of these finals is interrupted."""
    fault = {"MMT_FAKE_SLOW": "#define VECTOR 1\n"}
    environment.update(fault)
    tune("truth", "8c")
    truth = folder + "/truth.json"

    path, liar = lie(truth, "impossible", 1e-9)
    events, winner = go_on(path)
    said = [e["text"] for e in events if e["event"] == "note" and "passed over" in e["text"]]
    check(len(said) == 1 and "0.001 us is faster than the device can be" in said[0], f"said: {said}")
    check(winner != liar and SLOW not in winner, f"{winner} wins, not {liar}")

    path, liar = lie(truth, "lie", 0.3e-3)
    events, winner = go_on(path)
    check(winner != liar and SLOW not in winner, f"{winner} wins, not {liar}")
    events, winner = go_on(path, "1h", stop_at="problem")
    check(winner != liar and SLOW not in winner, f"{winner} stays when interrupted, not {liar}")
    os.remove(path)
    events, winner = go_on(path, "1h", stop_at="problem")
    check(winner != liar and SLOW not in winner, f"{winner} wins when interrupted, not {liar}")

    path, liar = lie(truth, "deadly", 0.3e-3)
    events, winner = go_on(path, MMT_FAKE_DEADLY=fault["MMT_FAKE_SLOW"])
    check(winner != liar and SLOW not in winner, f"{winner} wins, not {liar}, which crashes")
    for key in fault:
        del environment[key]


def mmtune(*arguments):
    return subprocess.run([MMTUNE, *arguments], capture_output=True, text=True,
                          env=dict(libraries(True), MMT_FAKE_LAUNCHES=folder + "/launches"))


def notes(events):
    return [e["text"] for e in events if e["event"] == "note" and "throttled" in e["text"]]


def test_throttled():
    events, results, profile, said = tune("hot", "6c", hot_after=2)
    timed = [r for r in results if r["status"] == "timed"]
    tried = [r for r in timed if not r.get("final") and not r.get("calibration")]
    finals = [r for r in timed if r.get("final")]
    marked = [r for r in timed if "throttled" in r]
    check(len(tried) >= 5 and finals, f"candidates are timed: {results}")
    for r in tried[:2]:  # the next one may be under way
        check("throttled" not in r and r["clock_mhz"] == 2000 and r["celsius"] == 50, f"cool: {r}")
    for r in tried[3:] + finals:
        check(r.get("throttled") == "thermal" and r["clock_mhz"] == 1000 and r["celsius"] == 92
              and 1.9e-3 < r["seconds"] < 2.1e-3, f"hot: {r}")
    said_at_once = notes(events)
    check(len(said_at_once) == 1 and "thermal; 1000 MHz, 92 degrees" in said_at_once[0],
          f"it is said once: {said_at_once}")
    check(any(e.get("throttled") == "thermal" for e in events if e["event"] == "result") and
          all(e["throttled"] == "thermal" for e in events if e["event"] == "winner") and
          events[-1]["throttled"] == len(marked), f"events: {events}")
    check(profile["made"]["health"] == {"hottest_celsius": 92, "slowest_mhz": 1000,
                                        "fastest_mhz": 2000, "throttled": len(marked),
                                        "throttled_by": "thermal"},
          f"profile: {profile['made']}")
    check("while tuning 1000 to 2000 MHz, at most 92 degrees Celsius" in said and
          f"throttled while {len(marked)} results were taken: thermal" in said, said)


def test_cool():
    events, results, profile, said = tune("cool", "2c")
    check(results and not any("throttled" in r for r in results) and
          all(r["clock_mhz"] == 2000 for r in results if r["status"] == "timed"), f"{results}")
    check(not notes(events) and events[-1]["throttled"] == 0 and
          not any("throttled" in e for e in events[:-1]), f"{events}")
    check(profile["made"]["health"]["throttled"] == 0, f"{profile['made']}")
    check("2000 to 2000 MHz" in said and "throttled" not in said, said)


def test_several():
    """While one problem ends, compilers begin with the next: each has its own results and one
    winner, and nothing is tried twice."""
    shapes = ("24x40", "40x24", "32x48")
    events, results, profile, said = tune("several", "9c", shapes=shapes)
    tried = [(r["problem"], r["configuration"]) for r in results if not r.get("final")]
    check(len(set(tried)) == len(tried), f"twice: {tried}")
    for shape in shapes:
        check(sum(shape in problem for problem, _ in tried) >= 2, f"{shape}: {tried}")
    check(sum(e["event"] == "winner" for e in events) == 3 and len(profile["entries"]) == 3, f"{events}")


def test_untold():
    """Without NVML nothing is known, and nothing is said."""
    events, results, profile, said = tune("untold", "2c", nvml=False)
    check(any(r["status"] == "timed" for r in results) and
          not any(key in r for r in results for key in ("throttled", "clock_mhz", "celsius")),
          f"{results}")
    check(not notes(events) and "health" not in profile["made"], f"{profile['made']}")
    check("MHz, at most" not in said and "throttled" not in said, said)


def test_bench():
    """`bench` says it beside the problem, and has each contestant run alone for a while: seven
    samples of a tenth of a second, and as long before each, at 2 ms a launch."""
    for line, said, least, most in [(HOT, "  (throttled: thermal, 1000 MHz)\n", 700, 900),
                                    (COOL, "gemm f32 nn 20x12x16\n", 70, 200)]:
        deal(line)
        done = mmtune("bench", "--device", "cuda:0", "--shape", "20x12x16", "--configuration", "naive",
                      "--against", "none")
        check(done.returncode == 0 and said in done.stdout, done.stdout + done.stderr)
        launches = int(read(folder + "/launches"))
        check(least <= launches <= most, f"{launches} launches, {least} to {most} are right")


def test_regret():
    """`regret` says it once, as an event among its own. Types that are named need no model."""
    path = folder + "/regret.json"
    deal(COOL)
    done = mmtune("--device", "cuda:0", "--type", "f32", "--shape", "12x12x12", "--template", "naive", "--budget", "2c",
                  "--limit", "900", "-o", path)
    check(done.returncode == 0, done.stdout + done.stderr)
    words = ["regret", "--json", "--device", "cuda:0", "--profile", path, "--shapes", "2", "--seed", "2151",
             "--budget", "0"]
    done = mmtune(*words)
    check(done.returncode == 1 and "has a model of no type; `mmtune --device cuda:0` makes one" in done.stderr,
          done.stdout + done.stderr)
    for state, said, more in [(COOL, 0, ["--type", "f32"]), (COOL, 0, []), (HOT, 1, [])]:
        if not more:
            add_model(path)
        deal(state)
        done = mmtune(*words, *more)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        check(done.returncode == 0 and sum(e["event"] == "shape" for e in events) == 2 and
              len(notes(events)) == said, done.stdout + done.stderr)


def test_alone():
    """CUDA serves where OpenCL's loader cannot be opened; a file that is no library stands for that."""
    deal(COOL)
    os.mkdir(folder + "/loader")
    write(folder, "loader/libOpenCL.so.1", "")
    done = subprocess.run([MMTUNE, "devices"], capture_output=True, text=True,
                          env=dict(environment, LD_LIBRARY_PATH=f"{folder}/loader:{FAKES}"))
    check(done.returncode == 0 and "cuda:0" in done.stdout and "opencl:" not in done.stdout and
          "OpenCL's loader cannot be opened" in done.stderr, done.stdout + done.stderr)


test_alone()
test_throttled()
test_cool()
test_several()
test_untold()
test_bench()
test_regret()
test_disproved()
end("health", folder)
