#!/usr/bin/env python3
"""Words that the tensor cores read from registers: run_words.py MMTUNE

wgmma reads its left operand from registers after the instruction was issued, until it has
been waited for. A host that does it at once cannot see a register overwritten too early, so
this looks for such writes in the PTX that NVRTC makes of kernels that turn their operand
on its way to registers (TURN). Exits with 77 where there is no NVRTC."""
import re
import subprocess
import sys

from nvrtc_ptx import compile_ptx

MMTUNE = sys.argv[1]
KERNELS = [
    ("nn", "SWAP=1 STORE_SLOTS=0 TILE_M=128 TILE_N=128 STAGES=5"),
    ("nn", "SWAP=1 STORE_SLOTS=0 TILE_M=128 TILE_N=256 STAGES=4 CLUSTER=2x1"),
    ("nn", "SWAP=1 STORE_SLOTS=0 TILE_M=256 TILE_N=64 STAGES=3 DEPTH=2 CLUSTER=1x1"),
    ("nn", "SWAP=1 STORE_SLOTS=0 TILE_M=128 TILE_N=128 STAGES=6 SCHEDULE=pingpong"),
    ("nn", "SWAP=1 STORE_SLOTS=0 TILE_M=64 TILE_N=16 STAGES=12 CONSUMERS=1"),
    ("tt", "TILE_M=128 TILE_N=128 STAGES=5 DEAL=runs CLUSTER=1x1"),
]
WAIT = "    AWAIT_WGMMA(1);\n    settle_words(next);\n"
failures = []


def early_writes(ptx):
    """Instructions that write what an instruction under way reads, line after line; and how
    many instructions read registers. Loops are gone through once: two sets of words take
    turns in one round, so that the second set's part of it tells what the next round would."""
    groups, open_group, readers, found = [], set(), 0, []
    for line in ptx.splitlines():
        line = re.sub(r"^@!?%p\d+\s+", "", line.strip())
        left = re.match(r"wgmma\.mma_async\S*\s*\{[^}]*\},\s*\{([^}]*)\}", line)
        if left:
            readers += 1
            open_group |= set(re.findall(r"%r\d+", left.group(1)))
        elif line.startswith("wgmma.commit_group"):
            groups.append(open_group)
            open_group = set()
        elif line.startswith("wgmma.wait_group"):
            behind = int(re.search(r"(\d+);", line).group(1))
            groups = groups[len(groups) - behind:] if behind else []
        else:
            target = re.match(r"[a-z][\w.:]*\s+(%r\d+),", line)
            if target and any(target.group(1) in g for g in groups + [open_group]):
                found.append(line)
    return found, readers


for transposes, knobs in KERNELS:
    source = subprocess.run([MMTUNE, "emit", "--type", "tf32", "--transposes", transposes,
                             "wgmma TURN=1 IN_FLIGHT=1 " + knobs], check=True,
                            capture_output=True, text=True).stdout
    writes, readers = early_writes(compile_ptx(source))
    if not readers:
        failures.append(f"{knobs}: no instruction reads registers")
    if writes:
        failures.append(f"{knobs}: {len(writes)} early writes, the first: {writes[0]}")
    if WAIT not in source:
        failures.append(f"{knobs}: the wait that the test takes away is not there")
    elif not early_writes(compile_ptx(source.replace(WAIT, "")))[0]:
        failures.append(f"{knobs}: without its wait no early write is found")
for failure in failures:
    print("not so:", failure)
print(f"words: {len(KERNELS)} kernels, {len(failures)} failed")
sys.exit(bool(failures))
