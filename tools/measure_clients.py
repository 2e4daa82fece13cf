#!/usr/bin/env python3
"""Programs of PyTorch with and without `mmtune run`, on a card: measure_clients.py [OPTION...] [CASE...]

    tools/measure_clients.py --limit 540 decode-1 decode-16 decode-64

Each variant is one process of tools/client_models.py:

    record    mmtune run --record -- PROGRAM    writes down what is multiplied
    tune      mmtune --recorded                 measures ours and the library's kernels
    measure   PROGRAM; mmtune run -- PROGRAM; PROGRAM

The table has the median step without (A), with (B) and without again (A'), the speed-up of B over the mean of
both A, how far these two are apart, and how far B's output is from A's, as a part of its root mean square;
two runs of A differ by nothing there. Records and the profile are kept in the folder --state, so that the
steps can be calls of their own (--steps), each of which ends within --limit. Needs PyTorch and a CUDA device."""
import argparse
import json
import math
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "client_models.py")
STEPS = ("record", "tune", "measure")
STARTING = 25  # seconds that a process may take until its first case


def say(text):
    print(text, file=sys.stderr, flush=True)


class Measuring:
    """What all steps share."""

    def __init__(self, options):
        self.options, self.end = options, time.time() + options.limit
        state = os.path.abspath(options.state)
        self.environment = dict(os.environ, XDG_STATE_HOME=state + "/state", XDG_DATA_HOME=state + "/data",
                                XDG_CACHE_HOME=state + "/cache")
        self.f32 = ["--f32", "emulated"] if options.emulated else []

    def left(self):
        return self.end - time.time()

    def program(self, seconds, until, *before):
        """The lines of one process by case; {} where it failed."""
        words = [*before, sys.executable, MODELS, "--seconds", str(seconds), "--until", str(until), *self.options.cases]
        say("+ " + " ".join(words))
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=self.environment) as run:
            lines = [json.loads(line) for line in run.stdout]
        if run.returncode:
            say(f"ends with {run.returncode}")
        return {line["case"]: line for line in lines}

    def run(self, *words):
        return [self.options.mmtune, "run", *words, *self.f32, "--"]

    def record(self):
        done = self.program(0, self.end - STARTING, *self.run("--record"))
        return [case for case in self.options.cases if case not in done]

    def tune(self):
        budget = min(self.options.budget, max(10, self.left() - STARTING))
        words = [self.options.mmtune, "--device", self.options.device, "--recorded", *self.f32, "--budget",
                 f"{budget:.0f}s"]
        say("+ " + " ".join(words))
        return subprocess.run(words, env=self.environment, check=False).returncode

    def measure(self):
        """A, B, A: each has the same part of what is left."""
        results = []
        for i, before in enumerate(([], self.run("--wait", "60s"), [])):
            until = time.time() + self.left() / (3 - i)
            results.append(self.program(self.options.seconds, until, *before))
        return results


# ---- the table -------------------------------------------------------------------------------------

def difference(a, b):
    """The greatest difference of two outputs over the first one's root mean square."""
    size = math.sqrt(sum(x * x for x in a) / len(a))
    return max(abs(x - y) for x, y in zip(a, b)) / size if size else 0.0


def compare(first, ours, again):
    """A row for each case that all three have."""
    rows = []
    for case in (c for c in first if c in ours and c in again):
        a, b, c = first[case], ours[case], again[case]
        without = (a["ms"] + c["ms"]) / 2
        rows.append({"case": case, "without_ms": a["ms"], "with_ms": b["ms"], "again_ms": c["ms"],
                     "speedup": without / b["ms"], "apart": abs(a["ms"] - c["ms"]) / without,
                     "output": difference(a["output"], b["output"])})
    return rows


def print_table(rows):
    print(f"| {'case':16} | A, ms | B, ms | A', ms | speed-up | A and A' apart | output |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['case']:16} | {row['without_ms']:.4f} | {row['with_ms']:.4f} | {row['again_ms']:.4f} | "
              f"**{row['speedup']:.3f}** | {100 * row['apart']:.1f} % | {row['output']:.1e} |")


def self_check():
    """Whether the table's figures are what they are called."""
    line = {"output": [3.0, 4.0]}
    rows = compare({"x": {**line, "ms": 2.0}, "y": {**line, "ms": 1.0}}, {"x": {"ms": 1.0, "output": [3.0, 4.5]}},
                   {"x": {**line, "ms": 2.2}})
    right = len(rows) == 1 and abs(rows[0]["speedup"] - 2.1) < 1e-9 and abs(rows[0]["apart"] - 0.2 / 2.1) < 1e-9
    return right and abs(rows[0]["output"] - 0.5 / math.sqrt(12.5)) < 1e-9


def list_cases():
    done = subprocess.run([sys.executable, MODELS, "--list"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def read_options():
    cases = list_cases()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(cases)}; default: all")
    parser.add_argument("--mmtune", default=os.path.join(os.path.dirname(HERE), "build/tuner/mmtune"),
                        help="the program; default: that of the folder build")
    parser.add_argument("--device", default="cuda:0", help="default: cuda:0")
    parser.add_argument("--steps", default=",".join(STEPS), help=f"a list of {', '.join(STEPS)}; default: all")
    parser.add_argument("--limit", type=float, default=540, help="seconds that all of it takes; default: 540 s")
    parser.add_argument("--budget", type=float, default=240, help="seconds of tuning at most; default: 240 s")
    parser.add_argument("--seconds", type=float, default=3, help="of steps of each case; default: 3 s")
    parser.add_argument("--emulated", action="store_true", help="with --f32 emulated")
    parser.add_argument("--state", default="clients", help="folder of records and the profile; default: clients")
    parser.add_argument("--output", help="also write the rows there, as JSON")
    parser.add_argument("--self-check", action="store_true", help="check the table's arithmetic")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in cases]
    wrong = [step for step in options.steps.split(",") if step not in STEPS]
    if unknown:
        parser.error(f"there is no case {unknown[0]}; there are {', '.join(cases)}")
    if wrong:
        parser.error(f"there is no step {wrong[0]}; there are {', '.join(STEPS)}")
    options.cases = options.cases or cases
    return options


def main():
    options = read_options()
    if options.self_check:
        return 0 if self_check() else 1
    it, steps, failed = Measuring(options), options.steps.split(","), False
    if "record" in steps:
        missing = it.record()
        failed = bool(missing)
        if missing:
            say(f"not recorded: {', '.join(missing)}")
    if "tune" in steps:
        failed |= it.tune() not in (0, 130)
    if "measure" in steps:
        rows = compare(*it.measure())
        print_table(rows)
        failed |= len(rows) < len(options.cases)
        if options.output:
            with open(options.output, "w", encoding="utf-8") as f:
                json.dump(rows, f, indent=2)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
