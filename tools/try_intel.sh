#!/usr/bin/env bash
# mmtune on Intel's OpenCL runtime for CPUs, whose wheels are on PyPI:
#
#   tools/try_intel.sh BUILD [FOLDER]
#
# Puts the runtime into FOLDER (default: BUILD/intel), some 700 MB, where it is not there yet;
# nothing else of the machine changes, and no other OpenCL platform is seen. Then it verifies a
# configuration of each operation, tunes for 30 seconds and multiplies. The runtime's licence is
# Intel's own. Ends with 0 where all of it went well.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
build=$(realpath "$1")
folder=$(realpath -m "${2:-$build/intel}")
program=$build/tuner/mmtune

say() { printf '== %s\n' "$*"; }

# The wheels' libraries in one folder, without their loader of OpenCL, and an .icd for them.
fetch() {
    say "fetching intel-opencl-rt into $folder"
    mkdir -p "$folder/wheels" "$folder/lib" "$folder/vendors"
    # intel-cmplr-lib-rt has the mathematics that the runtime links.
    pip download -q -d "$folder/wheels" intel-opencl-rt intel-cmplr-lib-rt
    python3 - "$folder" <<'PYTHON'
import glob, os, sys, zipfile
folder = sys.argv[1]
for wheel in glob.glob(folder + "/wheels/*.whl"):
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            base = os.path.basename(name)
            if ".data/data/lib/" in name and base and not base.startswith("libOpenCL"):
                with open(os.path.join(folder, "lib", base), "wb") as f:
                    f.write(z.read(name))
PYTHON
    echo "$folder/lib/libintelocl.so" >"$folder/vendors/intel.icd"
    rm -r "$folder/wheels"
}

[ -f "$folder/vendors/intel.icd" ] || fetch
export LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OCL_ICD_VENDORS=$folder/vendors XDG_DATA_HOME=$folder/data

say "devices"
"$program" devices
say "verifying"
configurations=(panel naive 'tiled TILE=16'
    'simt TILE_M=32 TILE_N=32 TILE_K=32 THREAD_TILE_M=4 THREAD_TILE_N=4 WARP_M=4 WARP_N=8'
    'skinny THREAD_TILE_SHORT=2 THREAD_TILE_LONG=4 THREADS_LONG=8 THREADS_K=8 SUBGROUP=16'
    'axpby THREADS=256 VECTOR=16 WORK=4' 'dot THREADS=1 ROWS=1 VECTOR=8 WORK=4 PARTS=64'
    'heat2d THREADS_M=1 THREADS_N=64 THREAD_TILE_M=8 VECTOR=16 SIDES=memory'
    'jacobi3d THREADS_N=8 THREADS_K=1 VECTOR=16 THREAD_TILE_M=8 UNROLL_M=1 SIDES=memory')
"$program" verify --device opencl:0 --type f32 --transposes nn "${configurations[@]}"
say "tuning for 30 seconds"
"$program" --device opencl:0 --type f32 --shape 512x512x512 --budget 30s
say "multiplying"
"$build/examples/01_multiply" opencl:0
say "done"
