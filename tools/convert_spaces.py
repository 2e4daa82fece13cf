#!/usr/bin/env python3
"""Convert recorded search spaces to the compact form that the tests replay.

    convert_spaces.py OUT_FOLDER SPACE.json.gz...

A recorded space is the cache of an exhaustive run as the Auto-Tuning Association's benchmark
hub publishes it (MIT licence). The compact form is text: a line that names the device, a line
for each knob that has more than one value (name, values), and a line for all configurations
that have the same values of the first knobs: the index of each as one digit, then the times in
microseconds of all values of the other knobs, the last knob's fastest. -N stands for N
configurations that do not exist.
"""
import gzip
import itertools
import json
import os
import sys

FIRST = 5   # knobs that a line's configurations share


def row(times, indices):
    """The times at these indices; gaps as their negative length."""
    missing = 0
    for index in indices:
        if index not in times:
            missing += 1
            continue
        if missing:
            yield "-%d" % missing
            missing = 0
        yield "%.1f" % times[index]


def table(times, sizes):
    """A line for each beginning that there is."""
    digits = [[str(value) for value in range(size)] for size in sizes]
    ends = ["".join(end) for end in itertools.product(*digits[FIRST:])]
    for begin in itertools.product(*digits[:FIRST]):
        words = list(row(times, ["".join(begin) + end for end in ends]))
        if words:
            yield " ".join(["".join(begin), *words])


def compact(space):
    values = space["tune_params"]
    knobs = [k for k in space["tune_params_keys"] if len(values[k]) > 1]
    yield "space %s" % space["device_name"].replace(" ", "_")
    for knob in knobs:
        yield "knob %s %s" % (knob, " ".join(map(str, values[knob])))
    times = {"".join(str(values[k].index(configuration[k])) for k in knobs): configuration["time"] * 1000
             for configuration in space["cache"].values()}
    yield from table(times, [len(values[k]) for k in knobs])


def main(out, paths):
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as source:
            lines = list(compact(json.load(source)))
        name = os.path.basename(path).replace(".json.gz", ".txt").lower()
        with open(os.path.join(out, name), "w", encoding="utf-8") as target:
            target.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
