#!/usr/bin/env python3
"""The OpenCL text of kernels that hold PTX: run_opencl_ptx.py MMTUNE

NVIDIA's OpenCL takes such text and no other platform does, so clang compiles it to PTX here, as
for sm_75 and for newer cards. What the instructions compute, `emulate` tells of the CUDA text,
which differs in the prelude alone. Exits with 77 where there is no clang for NVIDIA's cards."""
import itertools
import shutil
import subprocess
import sys

MMTUNE = sys.argv[1]
CLANG = next((name for version in ("", *(f"-{v}" for v in range(21, 13, -1)))
              if (name := shutil.which(f"clang{version}"))), None)
TILE = "TILE_M=32 TILE_N=64 TILE_K_BYTES=64 WARPS_M=1 WARPS_N=2 STAGES=3 REGISTER_STAGES=1"
KERNELS = [(f"mma {TILE} SPLIT_K=2{promote}", of_type, arch) for of_type, promote, archs in
           (("f16", "", (75, 80)), ("i8", "", (75, 80)), ("bf16", "", (80,)), ("tf32", "", (80,)),
            ("f8e4m3", " PROMOTE=4", (90,)), ("f8e5m2", " PROMOTE=4", (90,))) for arch in archs]
KERNELS += [(f"mma_bf16x3 {TILE} SPLIT_K=2", "f32", 80)]
SKINNY = ("skinny THREAD_TILE_SHORT=2 THREAD_TILE_LONG=4 THREAD_TILE_K=4 THREADS_LONG=8 THREADS_K=8 TILE_K=64 "
          "SUBGROUP=32 VECTOR=")

HALVES = """float vload_half(size_t, const half *);
void vstore_half_rte(float, size_t, half *);
"""  # which clang's own header lacks for this target


def ptx_of(text, arch):
    """What clang makes of it; None where it cannot."""
    return subprocess.run(
        [CLANG, "-x", "cl", "-cl-std=CL1.2", "-D__OPENCL_VERSION__=300", f"-D__CUDA_ARCH__={arch}0",
         "-target", "nvptx64-nvidia-nvcl", "-Xclang", "-finclude-default-header", "-Xclang",
         "-target-cpu", "-Xclang", f"sm_{min(arch, 80)}", "-Xclang", "-target-feature", "-Xclang",
         "+ptx70", "-Wno-constant-logical-operand", "-Werror", "-O1", "-S", "-o", "-", "-"],
        input=HALVES + text, capture_output=True, text=True)


def emitted(kernel, of_type, pair, *options):
    return subprocess.run([MMTUNE, "emit", kernel, "-t", of_type, "-x", pair, "--dialect", "opencl",
                           *options], check=True, capture_output=True, text=True).stdout


def compiled(name, text, arch):
    made = ptx_of(text, arch)
    if made.returncode:
        sys.exit(f"{name}: {made.stderr}")
    return made.stdout


if not CLANG or ptx_of("__kernel void f(__global int *x) { x[0] = 1; }", 75).returncode:
    print("skipped: there is no clang here that compiles OpenCL for NVIDIA's cards")
    sys.exit(77)
checked = 0
for (kernel, of_type, arch), pair, unaligned in itertools.product(
        KERNELS, ("nn", "tt"), ([], ["--unaligned"])):
    name = f"{kernel} {of_type} {pair} sm_{arch} {' '.join(unaligned)}"
    ptx = compiled(name, emitted(kernel, of_type, pair, "--bias", "row", "--activation", "relu",
                                 *unaligned), arch)
    copies = "cp.async" in ptx
    if "mma.sync" not in ptx or (copies if arch < 80 else not copies and not unaligned):
        sys.exit(f"{name}: the PTX has other instructions than it should")
    checked += 1
for of_type, pair, arch in itertools.product(("f32", "f64", "i8"), ("nn", "nt"), (60, 75)):
    name = f"skinny {of_type} {pair} sm_{arch}"
    kernel = SKINNY + ("2" if of_type == "f64" else "4")
    ptx = compiled(name, emitted(kernel, of_type, pair, "--kind", "gpu"), arch)
    fours = of_type == "i8" and pair == "nt" and arch > 60
    if "shfl.sync.bfly" not in ptx or ("dp4a" in ptx) != fours:
        sys.exit(f"{name}: the PTX has other instructions than it should")
    checked += 1
print(f"{checked} texts compile")
