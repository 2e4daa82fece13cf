#!/usr/bin/env python3
"""Words that the tensor cores read from registers: run_words.py MMTUNE

wgmma reads its left operand from registers after the instruction was issued, until it has
been waited for. A host that does it at once cannot see a register overwritten too early, so
this looks for such writes in the PTX that NVRTC makes of kernels that turn their operand
on its way to registers (TRANSPOSE_IN_REGISTERS). Exits with 77 where there is no NVRTC."""
import re
import subprocess
import sys

from nvrtc_ptx import compile_ptx

MMTUNE = sys.argv[1]
KERNELS = [
    ("tf32 nn", "SWAP=1 EPILOGUE_STAGES=0 TILE_M=128 TILE_N=128 STAGES=5"),
    ("tf32 nn", "SWAP=1 EPILOGUE_STAGES=0 TILE_M=128 TILE_N=256 STAGES=4 CLUSTER=2x1"),
    ("tf32 nn", "SWAP=1 EPILOGUE_STAGES=0 TILE_M=256 TILE_N=64 STAGES=3 TILE_K_BYTES=256 CLUSTER=1x1"),
    ("tf32 nn", "SWAP=1 EPILOGUE_STAGES=0 TILE_M=64 TILE_N=16 STAGES=12 CONSUMERS=1"),
    ("tf32 tt", "TILE_M=128 TILE_N=128 STAGES=5 TILE_SCHEDULER=stream_k CLUSTER=1x1"),
    ("i8 nn", "SWAP=1 EPILOGUE_STAGES=0 TILE_M=256 TILE_N=128 STAGES=4 CLUSTER=2x1"),
    ("i8 nn", "SWAP=1 EPILOGUE_STAGES=0 TILE_M=128 TILE_N=128 STAGES=6 SCHEDULE=pingpong"),
    ("f8e4m3 nn", "SWAP=1 EPILOGUE_STAGES=0 TILE_M=256 TILE_N=64 STAGES=4 PROMOTE=1"),
]
WAITS = [f"        AWAIT_WGMMA(1);\n        fence_words({half});\n" for half in ("back", "front")]
failures = []


def early_writes(ptx):
    """Instructions that write what an instruction under way reads, line after line; and how
    many instructions read registers. Loops are gone through twice, as what is under way where
    a round ends is met in the next."""
    groups, open_group, readers, found = [], set(), 0, []
    lines, labels, at = ptx.splitlines(), {}, 0
    while at < len(lines):
        line = re.sub(r"^@!?%p\d+\s+", "", lines[at].strip())
        at += 1
        if re.match(r"\$\w+:", line):
            labels.setdefault(line.rstrip(":"), at)
        back = re.match(r"bra\S*\s+(\$\w+);", line)
        if back and back.group(1) in labels:
            at = labels.pop(back.group(1))
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


for kind, knobs in KERNELS:
    number, transposes = kind.split()
    source = subprocess.run([MMTUNE, "emit", "--type", number, "--transposes", transposes,
                             "wgmma TRANSPOSE_IN_REGISTERS=1 WGMMA_PENDING=1 " + knobs], check=True,
                            capture_output=True, text=True).stdout
    writes, readers = early_writes(compile_ptx(source))
    if not readers:
        failures.append(f"{knobs}: no instruction reads registers")
    if writes:
        failures.append(f"{knobs}: {len(writes)} early writes, the first: {writes[0]}")
    # Where sums are promoted, nothing is under way where a stage begins.
    for wait in WAITS["PROMOTE" in knobs:]:
        if wait not in source:
            failures.append(f"{knobs}: a wait that the test takes away is not there")
        elif not early_writes(compile_ptx(source.replace(wait, "")))[0]:
            failures.append(f"{knobs}: without a wait no early write is found")
for failure in failures:
    print("not so:", failure)
print(f"words: {len(KERNELS)} kernels, {len(failures)} failed")
sys.exit(bool(failures))
