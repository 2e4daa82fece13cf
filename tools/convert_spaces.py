#!/usr/bin/env python3
"""Convert recorded search spaces to the compact form that the tests replay.

    convert_spaces.py OUT_FOLDER SPACE.json.gz...

A recorded space is the cache of an exhaustive run as the Auto-Tuning Association's benchmark
hub publishes it (MIT licence). The compact form is text: a line that names the device, a line
for each knob that has more than one value (name, values), and a line for each configuration
(the index of each knob's value as one digit, the time in microseconds).
"""
import gzip
import json
import os
import sys


def compact(space):
    knobs = [k for k in space["tune_params_keys"] if len(space["tune_params"][k]) > 1]
    values = space["tune_params"]
    yield "space %s" % space["device_name"].replace(" ", "_")
    for knob in knobs:
        yield "knob %s %s" % (knob, " ".join(map(str, values[knob])))
    for configuration in space["cache"].values():
        index = "".join(str(values[k].index(configuration[k])) for k in knobs)
        yield "%s %.1f" % (index, configuration["time"] * 1000)


def main(out, paths):
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as source:
            lines = list(compact(json.load(source)))
        name = os.path.basename(path).replace(".json.gz", ".txt").lower()
        with open(os.path.join(out, name), "w", encoding="utf-8") as target:
            target.write("\n".join(lines) + "\n")


main(sys.argv[1], sys.argv[2:])
