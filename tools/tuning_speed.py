#!/usr/bin/env python3
"""How fast a search finds something good: best so far against seconds, from journals.

    tools/tuning_speed.py -o docs/lab/tuning-speed-h200 --title "H200, f32 4096x4096x4096" \\
        [--problem "gemm f32 nn 4096x4096x4096"] [--best MICROSECONDS] NAME=JOURNAL...

Writes OUT.csv (run, seconds since the journal was begun, best so far in microseconds, and
its percentage of the best known) and, with gnuplot, OUT.svg. The best known is the best of
all the journals, or --best where other runs found better. Also prints, for each run, what
it had after 10, 30, 60 and 90 seconds, and how many candidates it timed.

    tools/tuning_speed.py --all NAME=JOURNAL...

prints instead, for each run and type, the geometric mean over its problems of the best
known (of all the journals) over what it found, and the worst of them: how much a run was
short of what others, or more time, find."""
import argparse
import csv
import json
import math
import shutil
import subprocess
import sys
import tempfile

MARKS = (10, 30, 60, 90)

PLOT = """
set terminal svg size 760,440 font "sans,13" background rgb "white"
set output "{svg}"
set title "{title}"
set xlabel "seconds"
set ylabel "% of the best known"
set key bottom right
set grid
set logscale x
set xrange [1:*]
set yrange [{low}:101]
plot {curves}
"""


def read(path, problem):
    """(seconds, time of the candidate) for each that was timed; the problem's name."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    began = lines[0].get("at")
    if began is None:
        sys.exit(f"{path} does not say when it was begun: an older mmtune made it")
    found = []
    for line in lines[1:]:
        if line["status"] != "timed" or line.get("final") or line.get("calibration") or line.get("whole"):
            continue
        problem = problem or line["problem"]
        if line["problem"] == problem:
            found.append((line["at"] - began, line["seconds"]))
    if not found:
        sys.exit(f"{path} has no time for {problem or 'any problem'}")
    return found, problem


def curve(found):
    """Where the best so far falls, and the end."""
    points, best = [], float("inf")
    for at, seconds in found:
        if seconds < best:
            best = seconds
            points.append((at, best))
    points.append((found[-1][0], best))
    return points


def write_csv(path, runs, best):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["run", "seconds", "best_us", "percent_of_best_known"])
        for name, found in runs.items():
            for at, seconds in curve(found):
                out.writerow([name, f"{at:.2f}", f"{seconds * 1e6:.3f}",
                              f"{100 * best / seconds:.2f}"])


def draw(svg, title, runs, best):
    if not shutil.which("gnuplot"):
        sys.exit("the picture needs gnuplot; the data are written")
    low = min(100 * best / curve(found)[0][1] for found in runs.values())
    with tempfile.TemporaryDirectory() as folder:
        curves = []
        for i, (name, found) in enumerate(runs.items()):
            data = f"{folder}/{i}"
            with open(data, "w", encoding="utf-8") as file:
                for at, seconds in curve(found):
                    file.write(f"{max(at, 1):.2f} {100 * best / seconds:.3f}\n")
            curves.append(f'"{data}" with steps linewidth 2 title "{name}"')
        text = PLOT.format(svg=svg, title=title, low=max(0, 5 * int(low / 5) - 5),
                           curves=", ".join(curves))
        subprocess.run(["gnuplot"], input=text, text=True, check=True)


def report(name, found, best):
    had = []
    for mark in MARKS:
        times = [seconds for at, seconds in found if at <= mark]
        had.append(f"{100 * best / min(times):.1f} %" if times else "nothing")
    after = ", ".join(f"{text} after {mark} s" for text, mark in zip(had, MARKS))
    print(f"{name}: {after}; {len(found)} candidates timed in {found[-1][0]:.0f} s")


def read_all(path):
    """The best time of each problem, and the seconds until the last of them."""
    best, last = {}, 0
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    for line in lines[1:]:
        if "seconds" in line and not line.get("calibration"):
            problem = line["problem"]
            best[problem] = min(best.get(problem, float("inf")), line["seconds"])
            last = line["at"] - lines[0]["at"]
    return best, last


def report_all(journals):
    """Problems that no other journal has say nothing, and are left out."""
    runs = {name: read_all(path) for name, path in journals.items()}
    for name, (found, last) in runs.items():
        others = [best for other, (best, _) in runs.items() if other != name]
        shared = [p for p in found if any(p in best for best in others)]
        for kind in sorted({p.split()[1] for p in shared}):
            parts = {p: min([found[p]] + [best[p] for best in others if p in best]) / found[p]
                     for p in shared if p.split()[1] == kind}
            mean = math.exp(sum(map(math.log, parts.values())) / len(parts))
            worst = min(parts, key=parts.get)
            print(f"{name}: {kind}, {len(parts)} problems in {last:.0f} s: "
                  f"{100 * mean:.1f} % of the best known, worst {100 * parts[worst]:.1f} % ({worst})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--out", help="path without .csv and .svg")
    parser.add_argument("--all", action="store_true", help="all problems, as a mean; no picture")
    parser.add_argument("--title", default="")
    parser.add_argument("--problem", help="default: the first of the first journal")
    parser.add_argument("--best", type=float, help="microseconds, of the best known")
    parser.add_argument("journals", nargs="+", metavar="NAME=JOURNAL")
    args = parser.parse_args()
    journals = {}
    for word in args.journals:
        name, _, path = word.rpartition("=")
        journals[name or path] = path
    if args.all:
        report_all(journals)
        return
    if not args.out:
        parser.error("-o says where data and picture go")
    runs, problem = {}, args.problem
    for name, path in journals.items():
        runs[name], problem = read(path, problem)
    best = min(seconds for found in runs.values() for _, seconds in found)
    if args.best:
        best = min(best, args.best * 1e-6)
    write_csv(args.out + ".csv", runs, best)
    for name, found in runs.items():
        report(name, found, best)
    print(f"the best known: {best * 1e6:.2f} us")
    draw(args.out + ".svg", args.title or problem, runs, best)


if __name__ == "__main__":
    main()
