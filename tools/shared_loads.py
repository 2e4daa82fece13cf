#!/usr/bin/env python3
"""How a kernel's inner loop reads shared memory: loads by their width, counted from machine code.

    tools/shared_loads.py PROGRAM ARCHITECTURE TYPE CONFIGURATION...
    tools/shared_loads.py PROGRAM ARCHITECTURE LADDER.json...

    tools/shared_loads.py build/tuner/mmtune sm_90a f32 'tiled TILE=32 WORK=1 UNROLL_K=32'

PROGRAM is mmtune. NVRTC compiles for ARCHITECTURE what PROGRAM emits as CUDA, and nvdisasm lists
it; no card is asked. LADDER.json is what `mmtune study ladder` wrote: all of its kernels that
load from shared memory. Prints CSV: loads, and bytes of each load, for an FMA of one
thread. An environment variable NVRTC names the library."""
import argparse
import csv
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

from register_reads import busiest_loop, disassemble

HEADS = ["type", "configuration", "FMAs", "LDS.128", "LDS.64", "LDS.32", "loads per FMA",
         "bytes per load"]


def open_nvrtc():
    for name in filter(None, (os.environ.get("NVRTC"), "libnvrtc.so.13", "libnvrtc.so.12")):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    sys.exit("there is no NVRTC here; NVRTC=/path/libnvrtc.so.12 names one")


def compile_cubin(nvrtc, source, architecture):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    option = (ctypes.c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, 1, option):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"NVRTC refuses the kernel: {log.value.decode()}")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin.raw


def count_loads(program, nvrtc, architecture, kind, configuration):
    """The row of a kernel; None where its inner loop loads nothing from shared memory."""
    source = subprocess.run([program, "emit", configuration, "--type", kind, "--dialect", "cuda", "--transposes", "nn"],
                            capture_output=True, text=True)
    if source.returncode:
        sys.exit(f"{configuration}: {source.stderr.strip()}")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compile_cubin(nvrtc, source.stdout, architecture))
        file.flush()
        body = busiest_loop(*disassemble(file.name))
    widths = {128: 0, 64: 0, 32: 0}
    for instruction in body:
        load = re.match(r"LDS(?:\.(?:[A-Z]\.)?(64|128))?$", instruction.op)
        if load:
            widths[int(load.group(1) or 32)] += 1
    loads, fmas = sum(widths.values()), sum(instruction.multiplies for instruction in body)
    if not loads or not fmas:
        return None
    size = sum(width // 8 * count for width, count in widths.items()) / loads
    return [kind, configuration, fmas, *widths.values(), f"{loads / fmas:.3g}", f"{size:.3g}"]


def of_ladder(path):
    with open(path) as file:
        rows = json.load(file)["rows"]
    return sorted({(row["type"], row["configuration"]) for row in rows if row["configuration"]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for word in ("program", "architecture"):
        parser.add_argument(word)
    parser.add_argument("what", nargs="+")
    words = parser.parse_args()
    kernels = ([kernel for path in words.what for kernel in of_ladder(path)] if words.what[0].endswith(".json")
               else [(words.what[0], configuration) for configuration in words.what[1:]])
    table, nvrtc = csv.writer(sys.stdout, lineterminator="\n"), open_nvrtc()
    table.writerow(HEADS)
    for kind, configuration in kernels:
        row = count_loads(words.program, nvrtc, words.architecture, kind, configuration)
        if row:
            table.writerow(row)


if __name__ == "__main__":
    main()
