#!/usr/bin/env python3
"""Launches that begin early: run_waits.py MMTUNE

A kernel that may begin while the launch before it is at work must not touch memory before it
has waited for that one, and must read nothing through the cache of what never changes. A host
cannot see either go wrong, so this reads the PTX that NVRTC makes of the kernels. Exits with
77 where there is no NVRTC."""
import re
import subprocess
import sys

from nvrtc_ptx import compile_ptx

MMTUNE = sys.argv[1]
KERNELS = [
    ("f32", "nn", "simt"), ("f32", "tt", "simt SPLIT_K=4"), ("f64", "nn", "simt TILE_SCHEDULER=stream_k"),
    ("f32", "nn", "simt COPY=cp_async"), ("f32", "tn", "simt COPY=cp_async SPLIT_K=2"),
    ("f64", "nn", "simt COPY=tma"), ("f32", "tn", "simt COPY=tma TILE_SCHEDULER=stream_k"), ("f64", "nt", "simt COPY=tma SPLIT_K=2"),
    ("f64", "nn", "dmma"), ("f64", "nt", "dmma SPLIT_K=2"),
    ("bf16", "nn", "mma"), ("tf32", "nn", "mma SPLIT_K=2"),
    ("f32", "nn", "small_k"), ("f32", "nn", "skinny"), ("f32", "nt", "skinny SPLIT_K=4"), ("f32", "nn", "small"),
    ("bf16", "nn", "wgmma"), ("bf16", "nn", "wgmma EPILOGUE_STAGES=0 CLUSTER=1x1 SPLIT_K=4"),
    ("tf32", "nn", "wgmma EPILOGUE_STAGES=0"), ("tf32", "tt", "wgmma EPILOGUE_STAGES=0"),
    ("bf16", "nn", "wgmma PACK_A=1 PACK_B=1 EPILOGUE_STAGES=0"),
    ("f16", "nn", "wgmma PACK_A=0 PACK_B=1 EPILOGUE_STAGES=0"),
]
TOUCHES = re.compile(r"(ld|st|red|atom|cp\.async)\.(?!param|shared|local|const)\S*")
failures, kernels = [], 0


def entries(ptx):
    """(name, instructions) of each kernel."""
    for part in re.split(r"\.visible \.entry ", ptx)[1:]:
        yield part[:part.index("(")], [line.strip() for line in part.splitlines()]


def faults_of(lines):
    waits = [i for i, line in enumerate(lines) if line.startswith("griddepcontrol.wait")]
    if not waits:
        return ["never waits"]
    if not any(line.startswith("griddepcontrol.launch_dependents") for line in lines):
        return ["never lets the next one begin"]
    touches = [i for i, line in enumerate(lines)
               if TOUCHES.match(re.sub(r"^@!?%p\d+\s+", "", line).lstrip("{ "))]
    if not touches:
        return ["touches no memory, this test says"]
    faults = ["reads as what never changes: " + lines[i] for i in touches
              if ".nc" in lines[i].split()[0]]
    if touches[0] < waits[0]:
        faults.append("before it has waited: " + lines[touches[0]])
    return faults


def faults_in(source):
    found = dict(entries(compile_ptx(source)))
    return len(found), [f"{name} {fault}" for name, lines in found.items()
                        for fault in faults_of(lines)]


for kind, transposes, configuration in KERNELS:
    source = subprocess.run([MMTUNE, "emit", "--type", kind, "--dialect", "cuda",
                             "--transposes", transposes, configuration], check=True,
                            capture_output=True, text=True).stdout
    count, faults = faults_in(source)
    kernels += count
    failures += [f"{configuration} {kind} {transposes}: {fault}" for fault in faults]
    if not faults_in(source.replace("PDL_WAIT();", ";"))[1]:
        failures.append(f"{configuration} {kind} {transposes}: nothing is found without waits")
for failure in failures:
    print("not so:", failure)
print(f"waits: {kernels} kernels, {len(failures)} failed")
sys.exit(bool(failures))
