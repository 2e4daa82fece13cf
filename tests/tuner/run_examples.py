#!/usr/bin/env python3
"""The example programs on an OpenCL CPU: run_examples.py MMTUNE HEAT CG PYRAMID DENSE DENSE_CG

Each is right at small sizes, also where a block may have 256 threads alone, tells its kernels,
and refuses wrong arguments with exit status 2, the value and what would be right."""
import os
import re
import sys

from checks import check, end, expect, need_cpu_device

mmtune, heat, cg, pyramid, dense, dense_cg = sys.argv[1:7]
device = need_cpu_device(mmtune)
few = dict(os.environ, POCL_MAX_WORK_GROUP_SIZE="256")

RIGHT = [
    (heat, ["33", "50"], "heat2d f32 33x33 on", "33 x 33 nodes, 50 steps"),
    (cg, ["40"], "gemm f64 nn 40x1x40 on", "dot f64 2x40 on", "axpby f64 1x40 on", "order 40,"),
    (pyramid, ["5"], "jacobi3d f32 3x5x5 on", "the bits of plain sweeps"),
    (pyramid, ["40", "300K"], "blocks of 16 planes", "the bits of plain sweeps"),
    (pyramid, ["40", "300K", "5"], "5 sweeps in 5 blocks of 16 planes", "the bits of plain sweeps"),
    (pyramid, ["24", "64M"], "in 1 blocks of 24 planes", "the bits of plain sweeps"),
    (dense, ["7"], "gemm f64 nn 7x7x7 on", "1482880, here 1482880", "40960, here 40960", "2097120"),
    (dense_cg, ["1"], "order 1: ", "0 matrices are left"),
    (dense_cg, ["33"], "gemm f64 nn 33x1x33 on", "0 matrices are left"),
]

WRONG = [
    (heat, ["64", "99999999999"], "STEPS is '99999999999'", "from 1 to 1000000"),
    (heat, ["64x"], "SIDE is '64x'", "from 3 to 40000, in nodes"),
    (heat, ["64", "5", "6"], "'6' is one argument too many"),
    (cg, ["0"], "ORDER is '0'", "from 1 to 30000"),
    (pyramid, ["4"], "SIDE is '4'", "from 5 to 1200"),
    (pyramid, ["8", "2304", "4"], "HEIGHT is '4'", "from 1 to 1"),
    (pyramid, ["40", "lots"], "MEMORY is 'lots'", "64M", "57600 bytes"),
    (pyramid, ["40", "57599"], "MEMORY is '57599'", "at least 57600 bytes"),
    (pyramid, ["40", "64MB"], "MEMORY is '64MB'"),
    (dense, ["5", "1e9"], "MIB is '1e9'"),
    (dense_cg, ["20000"], "ORDER is '20000'", "from 1 to 10000"),
]

for program, words, *said in RIGHT:
    for environment in (None, few):
        told = expect(program, [device, *words], 0, *said, env=environment)
        check("WRONG" not in told, told)
for program, words, *said in WRONG:
    expect(program, [device, *words], 2, *said)
for program in (heat, cg, pyramid, dense, dense_cg):
    expect(program, ["99"], 77, "there is no device 99")

# What is more than the device has is no wrong answer.
told = expect(dense, [device, "5", "1000000000"], 1, "MIB is more than this device gives")
check("WRONG" not in told, told)

# (numBlocks, h) = buildPyramids(memory, N): the walk has as many blocks as the function says.
told = expect(pyramid, [device, "40", "300K"], 0)
built = re.search(r"buildPyramids\(307200 bytes, N = 40\): (\d+) blocks, h = (\d+)", told)
check(built and f"{built[2]} sweeps in {built[1]} blocks" in told, told)
end("examples")
