#!/usr/bin/env python3
"""A range of m is tuned, and serves an m that was not: run_ranges.py MMTUNE SOURCE_ROOT STAND_IN

On the CPU of emulation/fake/opencl, in the folder STAND_IN."""
import collections
import subprocess
import sys

from checks import check, end, expect, journal, load, make_home, need_cpu_device, stand_in

MMTUNE, ROOT, STAND_IN = sys.argv[1:4]
folder, environment = make_home()
environment = stand_in(STAND_IN, environment)
path = folder + "/range.json"


def run(*words, said=()):
    return expect(MMTUNE, words, 0, *said, env=environment)


def lines():
    """How often each kernel was timed on the range's m, and verified wholly."""
    return collections.Counter(
        (line["problem"], line["configuration"], "whole" in line) for line in journal(path)
        if line.get("whole") or line.get("calibration") and line["problem"].endswith("x40x24"))


def tune(budget):
    return run("--device", device, "-o", path, "--type", "f32", "--transposes", "nn", "--shape", "1-8x40x24",
               "--template", "naive", "--search", "random", "--budget", budget,
               said=("gemm f32 nn 1-8x40x24: ", "passed every check"))


def check_range(profile):
    """Its kernels serve all m without gap, and were timed and verified at both ends."""
    (found,) = profile["ranges"]
    ends = [segment["m_to"] for segment in found["segments"]]
    times = [time["m"] for time in found["times"]]
    check(found["problem"]["m"] == 1 and ends == sorted(set(ends)) and ends[-1] == 8, f"segments: {ends}")
    check(times == sorted(set(times)) and times[0] == 1 and times[-1] == 8 and len(times) > 5, f"times: {times}")
    check(all(time["us"] >= time["best_us"] for time in found["times"]), f"{found['times']}")
    return ends


def check_served(profile, ends):
    """Each m by the entry of its own, else by its segment; beyond the range by the law of time."""
    tuned = {entry["problem"]["m"] for entry in profile["entries"]}
    check({1, 8} <= tuned and len(tuned) == 3, f"entries: {tuned}")
    for m in range(1, 10):
        number = sum(end < m for end in ends)
        said = "tuned for this very problem" if m in tuned else \
            "by the law of time" if m > 8 else \
            f"tuned for gemm f32 nn 1-8x40x24, kernel {number + 1} of {len(ends)}, m up to {ends[number]}"
        run("show", path, "--explain", f"{m}x40x24", "--type", "f32", said=(said,))
    served = min(set(range(1, 9)) - tuned)
    told = run("bench", "--device", device, "--type", "f32", "--shape", f"{served}x40x24", "--against", "none",
               "--seconds", "0.02", "--profile", path)
    check("naive" in told and "GFLOP/s" in told, f"a plan for m = {served} runs: {told}")


device = need_cpu_device(MMTUNE, environment)
tune("4c")
first, known = load(path), lines()
ends = check_range(first)
whole = {(problem, configuration) for problem, configuration, is_whole in known if is_whole}
for problem in ("1x40x24", "8x40x24"):
    check(any(name.endswith(" " + problem) for name, _ in whole), f"{problem} was verified: {whole}")
check_served(first, ends)
subprocess.run([sys.executable, ROOT + "/tools/check_schema.py", path], check=True)
tune("1c")
after = lines()
check(all(after[key] == known[key] for key in known), f"what was timed was not timed again: {known}, {after}")
check_range(load(path))
end("range of m", folder)
