#!/usr/bin/env python3
"""Check a profile that `mmtune share` made, and add it to profiles/.

    tools/add_profile.py --mmtune build/tuner/mmtune [--into profiles] [--check] FILE

Looks at the hash, the schema, the version, that it names no host, path or person, and whether times are plausible:
none is faster than the device's roofline, and rates are what times say. A sample of the kernels is emitted again.
A profile of that card which is there already is merged with it. With --check nothing is written."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from check_schema import HERE, Checker, load, refuse_constant, refuse_twice

MARGIN = 1.05  # of the roofline: its clock may have been lower than the kernel's
SAMPLE = 8


def hash_of(data):
    """FNV-1a of 128 bits, as base/hash.h has it."""
    value = 0x6C62272E07BB014262B821756295C58D
    for byte in data:
        value = (value ^ byte) * 0x0000000001000000000000000000013B & (1 << 128) - 1
    return f"{value:032x}"


def read_shared(path):
    """The profile's text; refuses what is cut off or changed."""
    with open(path, "rb") as file:
        head, _, body = file.read().partition(b"\n")
    try:
        head = json.loads(head)
        right = head["mmtune_share"] == 1
    except (ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise ValueError("it is not made by `mmtune share`")
    body = body.replace(b"\r\n", b"\n")
    if len(body) != head["bytes"] or hash_of(body) != head["check"]:
        raise ValueError(f"it was changed on its way: {len(body)} bytes, hash {hash_of(body)}; its first line says "
                         f"{head['bytes']} and {head['check']}")
    return body.decode("utf-8")


def strings_of(value):
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings_of(item)


def bytes_of(kind):
    """A type's name has its bits."""
    return int(re.search(r"\d+", kind)[0]) // 8


def name_of(problem):
    return " ".join(str(problem[key]) for key in ("op", "type", "m", "n", "k"))


def check_private(profile):
    if "uuid" in profile["device"] or profile.get("verdicts"):
        yield "it has a UUID or verdicts, which hold for one card alone"
    for text in set(strings_of(profile)):
        if re.search(r"(^|\s)[/~]\w|@\w+\.", text):
            yield f"it names a path or a person: {text!r}"


def check_times(profile):
    """What a product's entry says of itself, and beside the roofline."""
    peaks, bandwidth = profile["roofline"]["peak_gflops"], profile["roofline"]["bandwidth_gbs"]
    cache = profile["device"]["limits"]["cache_bytes"]
    for entry in profile["entries"]:
        problem, seconds = entry["problem"], entry["time"]["median_us"] * 1e-6
        if problem["op"] != "gemm":
            continue
        m, n, k, batch, kind = (problem[key] for key in ("m", "n", "k", "batch", "type"))
        rate = 2 * m * n * k * batch / seconds / 1e9
        if abs(rate - entry["gflops"]) > 0.01 * rate:
            yield f"{name_of(problem)}: {entry['gflops']:.1f} GFLOP/s, but its time says {rate:.1f}"
        if 0 < peaks.get(kind, 0) * MARGIN < rate:
            yield f"{name_of(problem)}: {rate:.1f} GFLOP/s, and the device reaches {peaks[kind]:.1f} at most"
        moved = batch * (m * k + k * n + m * n) * bytes_of(kind)
        if bandwidth and moved > 4 * cache > 0 and moved / seconds / 1e9 > bandwidth * MARGIN + cache / seconds / 1e9:
            yield f"{name_of(problem)}: {moved / seconds / 1e9:.0f} GB/s, and memory has {bandwidth:.0f}"


def run(mmtune, *words):
    done = subprocess.run([mmtune, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def check_kernels(profile, path, mmtune):
    """mmtune reads all of it, and its texts are as when they were timed; of a sample they are emitted."""
    code, said, errors = run(mmtune, "show", path)
    if code or "left out" in said + errors:
        yield f"mmtune does not take all of it: {errors or said[:300]}"
    elif "have changed since" in said + errors:
        yield "some of its templates have changed since it was made: tune again"
    entries = profile["entries"]
    for entry in entries[::max(1, len(entries) // SAMPLE)]:
        words = [entry["template"], *(f"{knob}={value}" for knob, value in entry["knobs"].items())]
        pair = "".join("t" if entry["problem"][side] else "n" for side in ("trans_a", "trans_b"))
        kind = [] if entry["problem"]["op"] != "gemm" else ["--transposes", pair]
        code, said, errors = run(mmtune, "emit", " ".join(words), "--type", entry["problem"]["type"], *kind)
        if code or not said:
            yield f"{name_of(entry['problem'])}: {' '.join(words)} is not emitted: {errors.strip()[:300]}"


def check_all(text, path, mmtune):
    profile = json.loads(text, object_pairs_hook=refuse_twice, parse_constant=refuse_constant)
    wrong = Checker(load(os.path.join(HERE, "../profiles/schema.json"))).check(
        profile, load(os.path.join(HERE, "../profiles/schema.json")))
    if wrong or "citation" in profile:
        return profile, wrong or ["it is a paper's profile"]
    version = run(mmtune, "--version")[1].split()[-1]
    if profile["made"]["version"] != version:
        wrong.append(f"it is made by mmtune {profile['made']['version']}; it must be {version}")
    return profile, [*wrong, *check_private(profile), *check_times(profile), *check_kernels(profile, path, mmtune)]


def place_of(profile, folder):
    """As profiles are named: letters made small, '-' for what a file's name cannot hold."""
    device = profile["device"]
    stem = re.sub(r"[^a-z0-9]+", "-", f"{device['backend']}-{device['name']}".lower()).strip("-")
    return os.path.join(folder, stem + ".json")


def main():
    parser = argparse.ArgumentParser(description="Check a profile that mmtune share made, and add it.")
    parser.add_argument("--mmtune", required=True)
    parser.add_argument("--into", default=os.path.join(HERE, "../profiles"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("file", metavar="FILE")
    args = parser.parse_args()
    try:
        text = read_shared(args.file)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            profile, wrong = check_all(text, path, args.mmtune)
            place = place_of(profile, args.into)
            if not wrong and not args.check and os.path.exists(place):
                code, _, errors = run(args.mmtune, "merge", place, path, "-o", place)
                wrong += [errors] if code else []
            elif not wrong and not args.check:
                with open(place, "w", encoding="utf-8") as file:
                    file.write(text)
    except (OSError, ValueError, KeyError) as error:
        wrong = [str(error)]
    print("\n".join(f"{args.file}: {sentence}" for sentence in wrong) or
          f"{args.file}: right, {len(profile['entries'])} problems" + ("" if args.check else f"; now in {place}"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
