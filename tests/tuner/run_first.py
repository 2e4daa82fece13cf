#!/usr/bin/env python3
"""What a new user sees first: run_first.py MMTUNE ROOT

Machines without devices or without OpenCL's loader, words of other programs, lists of shapes, what
every --json is, and a run in a terminal of 80 columns. What needs a device is left out where
there is none; oclgrind is not one."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

from checks import check, end, expect, has_studies, write

MMTUNE, ROOT = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="mmtune-first-")
environment = dict(os.environ, XDG_DATA_HOME=folder + "/data")


def run(words, status, *said, **variables):
    return expect(MMTUNE, words, status, *said, env=dict(environment, **variables))


# ---- no device, no loader -----------------------------------------------------------------------

def has_cuda():
    done = subprocess.run([MMTUNE, "devices", "--json"], capture_output=True, text=True,
                          env=environment)
    return any(device["backend"] == "cuda" for device in json.loads(done.stdout or "[]"))


def test_without_device():
    install = "sudo apt-get install pocl-opencl-icd"
    empty = {"OCL_ICD_VENDORS": folder + "/none"}
    run(["devices"], 1, install, **empty)
    check(json.loads(run(["devices", "--json"], 1, install, **empty)) == [], "a list without devices")

    # A file that is no library stands for the loader that is not there.
    os.mkdir(folder + "/loader")
    write(folder, "loader/libOpenCL.so.1", "")
    none = {"LD_LIBRARY_PATH": folder + "/loader"}
    run(["devices"], 1, "OpenCL's loader cannot be opened", "ocl-icd-libopencl1", install, **none)
    run(["--device", "opencl:0"], 1, "there is no opencl:0: OpenCL's loader cannot be opened", **none)
    run(["suites"], 0, "squares", **none)


# ---- words ----------------------------------------------------------------------------------------

TYPES = {"fp16": "F16", "HALF": "F16", "float": "F32", "fp32": "F32", "double": "F64", "int8": "I8",
         "bfloat16": "BF16", "e4m3": "F8E4M3", "F64": "F64"}


def test_words():
    for word, name in TYPES.items():
        run(["emit", "naive", "--type", word], 0, f"#define TYPE_{name} 1\n")
    check(run(["emit", "tiled", "--transposes", "NT"], 0) == run(["emit", "tiled", "--transposes", "nt"], 0),
          "NT is nt")


def test_shapes():
    profile = os.path.join(ROOT, "tests/data/profiles/good/small.json")
    path = write(folder, "shapes", "# a list\n64x64x64  # the first\n\n  32x48x64,16x16x16\r\n")
    said = run(["show", profile, "--explain", f"8x8x8,@{path}"], 0)
    found = re.findall(r"gemm f32 nn (\d+x\d+x\d+)", said)
    check(list(dict.fromkeys(found)) == ["8x8x8", "64x64x64", "32x48x64", "16x16x16"],
          f"the shapes of a list and a file, in their order: {found}")
    run(["show", profile, "--explain", "@" + write(folder, "wrong", "64x64x64\n64by64\n")], 2,
        "'64by64' is no shape")


# ---- --json -----------------------------------------------------------------------------------------

def is_document(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def is_lines(text):
    lines = text.splitlines()
    return len(lines) > 1 and all(is_document(line) for line in lines)


def says_lines(verb):
    """Whether a verb's help says that --json prints lines; else it must say, one document."""
    says = run([verb, *(["ladder"] if verb == "study" else []), "--help"], 0)
    lines, document = "JSON lines" in says, "one JSON document" in says
    check(lines != document, f"{verb} --help says which JSON it prints:\n{says}")
    return lines


def check_json(words, text):
    lines = says_lines(words[0])
    check(is_lines(text) if lines else is_document(text),
          f"mmtune {' '.join(words)} prints {'JSON lines' if lines else 'one document'}:\n{text[:2000]}")


def test_json(device):
    profile = os.path.join(ROOT, "tests/data/profiles/good/small.json")
    papers = [os.path.join(ROOT, "profiles/papers", name + ".json")
              for name in ("geforce-gtx-1060", "quadro-k5000")]
    verbs = [["suites"], ["templates", "tiled"], ["show", profile], ["diff", *papers]]
    if device:
        verbs += [["devices"],
                  ["bench", "--device", device, "--against", "none", "--shape", "24x24x24,16x16x16",
                   "--seconds", "0.05"]]
    if device and has_studies(MMTUNE):
        verbs += [["study", "ladder", "--device", device, "--sizes", "32", "--repetitions", "1",
                   "--cpu-seconds", "1", "--paper", "zatolokin", "--type", "f32", "--out", folder + "/study"]]
    for words in verbs:
        check_json(words, run([*words, "--json"], 0))
    # Their lines are read by tests of their own.
    check(says_lines("tune") and says_lines("regret"), "tune and regret print lines")


# ---- a run --------------------------------------------------------------------------------------------

def in_terminal(words, columns):
    """What the program writes into a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([MMTUNE, *words], stdin=theirs, stdout=theirs, stderr=theirs,
                               env=environment)
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(ours)
    check(process.wait() == 0, f"mmtune {' '.join(words)} in a terminal: {process.returncode}")
    return b"".join(pieces).decode()


def test_run(device):
    path = folder + "/p.json"
    command = ["--device", device, "-o", path, "--type", "f32", "--template", "naive", "--shape"]
    said = in_terminal([*command, "96x80x64x2", "--ld", "odd", "--transposes", "NT", "--budget", "3c"], 80)
    busy = r"(?:(?:\r\033\[K)?load .*: times will be doubtful.*\r?\n)?"
    check(re.match(busy + r"preparing .*roofline\r?\n", said), f"a first line says what is done first: {said[:300]}")
    status = [line.split("\r\n")[0] for line in re.findall(r"\r\x1b\[K(\[[^\r]*)", said)]
    check(status and all(len(line) < 80 and re.search(r"\d tries left", line) for line in status),
          f"the time that is left is seen at 80 columns: {status}")


device = None
test_without_device()
if not has_cuda():
    for one in json.loads(run(["devices", "--json"], 0)):
        device = one["id"] if one["kind"] == "cpu" else device
test_words()
test_shapes()
test_json(device)
if device:
    test_run(device)
end("first screen", folder)
