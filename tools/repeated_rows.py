#!/usr/bin/env python3
"""Rows of ladders that were measured more than once, and contradict each other.

    tools/repeated_rows.py FOLDER...

A FOLDER is what tools/run_studies.sh filled with KEEP=1, or `mmtune study ladder`: all of its
ladder-*.json are read, also of several papers, which share kernels. Rows are one row again where
device, type, n and configuration agree. Two contradict each other where their times, the kernel's by the
device's clock or both copies with it, lie further apart than both noises, two standard errors
each. Prints these, and how many pairs there are; exit status 1 where there is no pair."""
import collections
import itertools
import json
import math
import pathlib
import sys

TIMES = (("computing", "kernel, device clock", "spread of kernel, device clock"),
         ("with copying", "total", "spread of total"))


def ladders(folder):
    names = ("zatolokin", "semenenko", "gts250", "ustyuzhanin")
    return sorted(path for path in pathlib.Path(folder).rglob("ladder-*.json") if path.stem[7:] in names)


def noise_of(row, time, spread):
    return 2 * row[time] * row[spread] / 100 / math.sqrt(row["repetitions"]) if row[spread] is not None else math.nan


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    repeated, pairs, against = collections.defaultdict(list), 0, 0
    for path in (path for folder in sys.argv[1:] for path in ladders(folder)):
        for row in json.loads(path.read_text())["rows"]:
            if not row["left out"] and row["configuration"]:
                repeated[row["device"], row["type"], row["n"], row["configuration"]].append((path, row))
    for key, rows in repeated.items():
        for (one, a), (two, b) in itertools.combinations(rows, 2):
            if all(a[column] == b[column] for column in ("total", "kernel, device clock")):
                continue    # one row under two names
            pairs += 1
            for manner, time, spread in TIMES:
                noise = math.hypot(noise_of(a, time, spread), noise_of(b, time, spread))
                if abs(a[time] - b[time]) > noise:
                    against += 1
                    print("%s %s n = %d, %s, %s: %.4g and %.4g ms, +- %.2g: %s, %s" %
                          (*key, manner, a[time], b[time], noise, one, two))
    print(f"{against} contradictions in {pairs} pairs of rows")
    sys.exit(not pairs)


if __name__ == "__main__":
    main()
