#!/usr/bin/env python3
"""The options of the program: run_options.py MMTUNE ROOT

Names and letters of all verbs beside each other, what was probably meant, units, lists and files
of them. What runs a kernel is left out where there is no OpenCL device of the CPU kind."""
import os
import re
import subprocess
import sys

from checks import check, cpu_device, end, expect, has_studies, make_home, write

MMTUNE, ROOT = sys.argv[1:3]
folder, environment = make_home()


def run(words, status, *said):
    return expect(MMTUNE, words, status, *said, env=environment)


# ---- names and letters --------------------------------------------------------------------------

VERBS = "tune compile devices suites templates emit verify regret show report profiles diff merge share bundle bench recorded run".split()
STUDIES = ["study " + name for name in "ladder addition cards longvector pyramid cg crossover".split()
           if has_studies(MMTUNE)]
OPTION = re.compile(r"  (?:-(\w), |    )(--[a-z0-9-]+)( [A-Z]+)?  +(?=\S)")


def options_of(verb):
    """What a verb's help lists: (letter, name, whether it takes a value). Checks how that is laid out."""
    said = run([*verb.split(), "--help"], 0)
    listed = said[re.search(r"\n  (-|    --)", said).start():].splitlines()[1:]
    listed = listed[:listed.index("")] if "" in listed else listed
    found = [OPTION.match(line) for line in listed]
    columns = {match.end() if match else len(line) - len(line.lstrip()) for match, line in zip(found, listed)}
    check(len(columns) == 1, f"{verb} --help is aligned: {columns}\n{said}")
    check(max(map(len, said.splitlines())) <= 90, f"{verb} --help has 90 columns:\n{said}")
    return [(match[1], match[2], bool(match[3])) for match in found if match]


def test_options():
    verbs = {verb: options_of(verb) for verb in VERBS + STUDIES}
    letters, names = {}, {}
    for verb, options in verbs.items():
        check(("h", "--help", False) in options, f"{verb} --help lists itself: {options}")
        for letter, name, valued in options:
            check(names.setdefault(name, (letter, valued)) == (letter, valued),
                  f"{name} of {verb} has the letter {letter}, elsewhere {names[name]}")
            check(not letter or letters.setdefault(letter, name) == name,
                  f"-{letter} of {verb} is {name}, elsewhere {letters.get(letter)}")
    check(len(names) > 35, f"options were found: {sorted(names)}")
    for name in names:
        takers = {verb.split()[0] for verb, options in verbs.items() if name in [option[1] for option in options]}
        stranger = next((verb for verb in VERBS if verb not in takers), None)
        if stranger:
            done = subprocess.run([MMTUNE, stranger, name], capture_output=True, text=True, env=environment)
            told = re.search(r"is for ([a-z, ]+);", done.stderr)
            without = set() if STUDIES else {"study"}
            check(told and set(told[1].split(", ")) - without == takers, f"{name} is for {takers}: {done.stderr}")


# ---- lists ------------------------------------------------------------------------------------------

def test_lists():
    profile = os.path.join(ROOT, "tests/data/profiles/good/small.json")
    types = write(folder, "types", "f64  # the first\n\nhalf,i32\n")
    pairs = write(folder, "pairs", "# A first\nnt\nTT\n")
    said = run(["show", profile, "--explain", "8x8x8", "--type", "@" + types, "--transposes", f"nn,@{pairs}"], 0)
    found = set(re.findall(r"gemm (\w+) (\w\w) 8x8x8", said))
    check(found == {(kind, pair) for kind in ("f64", "f16", "i32") for pair in ("nn", "nt", "tt")},
          f"lists of types and of transposes in files: {found}")
    said = run(["templates", "@" + write(folder, "names", "tiled\nnaive,simt # three\n"), "dot"], 0)
    check(re.findall(r"^(\w+)(?: COPY=\w+, or \w+)?: ", said, re.M) == ["tiled", "naive", "simt", "simt", "simt", "dot"], f"templates of a list:\n{said}")

    wrong = "@" + write(folder, "wrong-words", "nothing-of-the-kind\n")
    for words in (["tune", "--type"], ["tune", "--suite"], ["tune", "--ld"], ["tune", "--transposes"],
                  ["bench", "--suite"], ["bench", "--against"], ["verify", "--op"],
                  *([["study", "ladder", "--sizes"]] if STUDIES else []), ["templates"], ["verify"]):
        run([*words, wrong], 2, "'nothing-of-the-kind'")
        run([*words, "@/nowhere/list"], 2, "cannot open the list '/nowhere/list'")
    if STUDIES:
        run(["study", "ladder", "--device", "@" + write(folder, "five", "0\n1\n2\n3\n4\n")], 2, "--device '4' is one too many")


def test_configurations(device):
    path = write(folder, "configurations", "tiled TILE=16  # one\nnaive,tiled TILE=16 UNROLL_K=8\n")
    said = run(["verify", "@" + path, "--device", device, "--type", "f32", "--transposes", "nn",
                "--shape", "24x20x28"], 0, "3 right")
    check(said.count("right  f32 nn  tiled TILE=16 ") == 2 and "right  f32 nn  naive" in said,
          f"configurations of a list:\n{said}")
    # The first starting point of simt is no CPU's.
    run(["verify", "simt", "--device", device, "--type", "f32", "--transposes", "nn", "--shape", "24x20x28"], 0,
        "1 right, 0 wrong, 0 failed")
    run(["verify", "panel PACK_B=0", "--device", device, "--type", "i8", "--transposes", "nn", "--shape", "24x20x28"], 1,
        "cannot run: elements of B are converted while they are packed", "1 failed")


# ---- what was meant, and units ------------------------------------------------------------------

MEANT = [
    (["tnue"], 2, "no verb 'tnue' (did you mean 'tune'?)", "there are tune, compile, devices"),
    (["tune", "--buget", "5m"], 2, "no option --buget (did you mean '--budget'?)", "there are --device, "),
    (["tune", "--buget=5m"], 2, "no option --buget (did you mean '--budget'?)"),
    (["--devise", "0"], 2, "did you mean '--device'?"),
    (["tune", "-q"], 2, "no option -q; there are --device"),
    (["tune", "--t", "f32"], 2, "--t stands for several: --type, --transposes, --template"),
    (["tune", "--type", "f23"], 2, "no type 'f23' (did you mean 'f32'?); there are f32, f64"),
    (["bench", "--suite", "squars"], 2, "(did you mean 'squares'?)", "llm, batched and default"),
    (["tune", "--suite", "def"], 2, "(did you mean 'default'?)"),
    (["tune", "--transposes", "tnt"], 2, "(did you mean 'nt'?)", "nn, nt, tn and tt"),
    (["tune", "--search", "ranom"], 2, "(did you mean 'random'?)"),
    (["bench", "--effort", "mesure"], 2, "(did you mean 'measure'?); there are estimate and measure"),
    (["bench", "--against", "cublast"], 2, "(did you mean 'cublas'?)"),
    (["emit", "naive", "--activation", "rellu"], 2, "(did you mean 'relu'?)"),
    (["emit", "tiled TYLE=16"], 2, "no knob 'TYLE' (did you mean 'TILE'?)"),
    (["emit", "tiled SHARED_LAYOUT=pat"], 2, "(did you mean 'pad'?)"),
    (["templates", "simd"], 2, "(did you mean 'simt'?)"),
    (["study", "lader"], 2, "no study 'lader' (did you mean 'ladder'?)"),
    (["study", "ladder", "--paper", "gts"], 2, "(did you mean 'gts250'?)"),
]

OTHERS = [
    (["bench", "--budget", "5m"], 2, "option --budget is for tune, compile, regret; there are --device"),
    (["suites", "-d", "0"], 2, "option -d is for tune, templates, verify"),
    (["study", "cards", "--sizes", "8"], 2, "option --sizes is not for study cards"),
]

# A device that is not there is missed once the options are read.
UNITS = [
    (["tune", "--limit", "2m", "--budget", "20ms", "--device", "99"], 1, "99"),
    (["verify", "--limit", "90", "--device", "99"], 1, "99"),
    (["verify", "--limit", "1.5h", "--device", "99"], 1, "99"),
    (["regret", "--limit", "90", "--device", "99"], 1, "99"),
    (["tune", "--limit", "20ms"], 2, "--limit is '20ms'", "from 1 s to 86400 s"),
    (["tune", "--limit", "5x"], 2, "--limit is '5x'", "20ms"),
    (["tune", "--limit", "m"], 2, "--limit is 'm'"),
    (["tune", "--limit", "nan"], 2, "--limit is 'nan'"),
    (["bench", "--seconds", "20ms", "--device", "99"], 1, "99"),
    (["bench", "--seconds", "0s"], 2, "more than 0 s"),
    (["study", "ladder", "--cpu-seconds", "1m", "--seconds", "90s", "--device", "99"], 1, "99"),
    (["study", "pyramid", "--memory", "2GiB", "--device", "99"], 1, "99"),
    (["study", "pyramid", "--memory", "256M", "--device", "99"], 1, "99"),
    (["study", "pyramid", "--memory", "2Gi"], 2, "--memory is '2Gi'", "2GiB"),
    (["study", "pyramid", "--memory", "0"], 2, "--memory is '0'"),
]

ABBREVIATED = [["emit", "tiled", "--dia", "opencl"], ["emit", "tiled", "--typ", "f64"], ["suites", "--js"]]


test_options()
test_lists()
for words, status, *told in MEANT + OTHERS + UNITS:
    if STUDIES or words[0] != "study":
        run(words, status, *told)
for words in ABBREVIATED:
    run(words, 0)
cpu = cpu_device(MMTUNE, environment)
if cpu:
    test_configurations(cpu)
end("options", folder)
