"""Turns a table of times into the format of tests/data/times.

    times_of_csv.py TYPE CONFIGURATIONS.json TIMES.csv[.gz] > TIMES.txt

CONFIGURATIONS: {"0": "wgmma TILE_M=128 …", …}. TIMES: lines of configuration, transposes, m, n, k,
us; rows of other configurations than those, as of another library, are left out. A time of a
problem that a configuration was not timed on becomes 0."""
import csv
import gzip
import json
import sys


def main():
    kind, names, times = sys.argv[1:]
    with open(names, encoding="utf-8") as file:
        configurations = json.load(file)
    opened = gzip.open(times, "rt") if times.endswith(".gz") else open(times, encoding="utf-8")
    problems = {}
    with opened as file:
        for row in csv.DictReader(file):
            if row["configuration"] in configurations:
                problem = f"{row['transposes']} {row['m']}x{row['n']}x{row['k']}"
                problems.setdefault(problem, {})[row["configuration"]] = float(row["us"])
    for name in configurations.values():
        print("kernel", name)
    for problem, known in problems.items():
        print("times", kind, problem, *(f"{known.get(name, 0):g}" for name in configurations))


main()
