#!/usr/bin/env python3
"""Times of kernels on shapes for tests/bench/replay_selection.c, from journals or `mmtune regret --json`:

    record_times.py --type f32 --transposes nn --device "NVIDIA H200" JOURNAL... > times.txt

Kernels are those that were timed on at least 20 shapes, or on 6 of a calibration (some serve few
shapes), shapes those on which two of them were; of several times of a kernel on a shape the first counts. One line names each kernel, one gives
the times of all of them on a shape, in microseconds, - where there is none."""
import argparse
import collections
import json

LEAST_SHAPES, LEAST_CALIBRATED, LEAST_KERNELS = 20, 6, 2


def read(paths, kind):
    times, calibrated = {}, set()
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if not line.endswith("\n"):
                    break
                record = json.loads(line)
                problem = record.get("problem", "")
                if "seconds" in record and problem.startswith(kind):
                    key = problem[len("gemm "):], record["configuration"]
                    times.setdefault(key, record["seconds"])
                    if record.get("calibration"):
                        calibrated.add(key)
    return times, calibrated


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--type", default="f32")
    parser.add_argument("--transposes", default="nn")
    parser.add_argument("--device", required=True)
    parser.add_argument("journals", nargs="+")
    options = parser.parse_args()

    times, calibrated = read(options.journals, f"gemm {options.type} {options.transposes} ")
    shapes_of = collections.Counter(kernel for _, kernel in times)
    calibrated_of = collections.Counter(kernel for _, kernel in calibrated)
    kernels = [k for k, count in shapes_of.items()
               if count >= LEAST_SHAPES or calibrated_of[k] >= LEAST_CALIBRATED]
    shapes = [s for s in dict.fromkeys(shape for shape, _ in times)
              if sum((s, k) in times for k in kernels) >= LEAST_KERNELS]
    print(f"# {options.device}, microseconds")
    for kernel in kernels:
        print("kernel", kernel)
    for shape in shapes:
        row = [f"{times[shape, k] * 1e6:.4g}" if (shape, k) in times else "-" for k in kernels]
        print("times", shape, *row)


if __name__ == "__main__":
    main()
