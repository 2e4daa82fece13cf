"""Programs of older and newer headers run with this library: run_headers.py SOURCE LIBRARY COMPILER...

Older: the structs end earlier, as they did once, and an error's text is all of what follows its numbers.
Newer: each has a member more at its end."""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from checks import check, end

SOURCE, LIBRARY, *COMPILER = sys.argv[1:]
HEADER = pathlib.Path(SOURCE, "include/mmtune/mmtune.h").read_text(encoding="utf-8")
LATER = {"mmt_problem": "mmt_bias bias;", "mmt_plan_options": "int foreign_profile;",
         "mmt_args": "mmt_operand bias;"}


def older():
    text = HEADER
    for name, first in LATER.items():
        body = re.search(r"typedef struct " + name + r" \{.*?^\} " + name + ";", text, re.DOTALL | re.MULTILINE)
        kept = body[0][:body[0].index(first)] + "} " + name + ";"
        text = text.replace(body[0], kept)
    return re.sub(r"    char text\[\d+\];(.*?)    mmt_argument argument;", r"    char text[1024];\1", text, flags=re.DOTALL)


def newer():
    text = HEADER
    for name in LATER:
        text = re.sub(r"^\} " + name + ";", "    int64_t added;\n} " + name + ";", text, flags=re.MULTILINE)
    return text


def build(folder, name, text, *more):
    place = pathlib.Path(folder, name, "mmtune")
    place.mkdir(parents=True)
    (place / "mmtune.h").write_text(text, encoding="utf-8")
    program = str(place.parent / "program")
    subprocess.run([*COMPILER, "-std=c99", "-Wall", "-Werror", "-I" + str(place.parent), *more,
                    SOURCE + "/tests/tuner/headers.c", LIBRARY, "-Wl,-rpath," + os.path.dirname(os.path.abspath(LIBRARY)),
                    "-o", program], check=True)
    return program


def check_by_value():
    """Who reads no header gets structs of the layout that never changes."""
    library = ctypes.CDLL(os.path.abspath(LIBRARY))
    for name, size in (("mmt_gemm_problem", 120), ("mmt_plan_defaults", 40), ("mmt_args_defaults", 120)):
        class Frozen(ctypes.Structure):
            _fields_ = [("size", ctypes.c_size_t), ("rest", ctypes.c_char * (size - 8))]
        function = getattr(library, name)
        function.restype = Frozen
        check(function().size == size, f"{name} returns {size} bytes: {function().size}")


def main():
    with tempfile.TemporaryDirectory(prefix="mmtune-test-") as folder:
        programs = {name: build(folder, name, text, *more) for name, text, more in
                    (("older", older(), ("-DOLDER",)), ("this", HEADER, ()), ("newer", newer(), ("-DADDED",)))}
        for name, program in programs.items():
            done = subprocess.run([program], capture_output=True, text=True)
            if done.returncode == 77:
                print(done.stdout)
                return 77
            check(done.returncode == 0, f"a program of the {name} header runs: {done.stdout}{done.stderr}")
    check_by_value()
    return end("headers")


sys.exit(main())
