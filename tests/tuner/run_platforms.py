#!/usr/bin/env python3
"""OpenCL platforms beside PoCL, where they are installed: run_platforms.py PART MMTUNE MULTIPLY

  ids       the id of a device is the same whichever other platforms are there
  rusticl   Mesa's Rusticl on llvmpipe (Debian's mesa-opencl-icd): verifies, tunes, multiplies

MULTIPLY is examples/01_multiply."""
import os
import subprocess
import sys
import tempfile

import checks
from checks import check, end, journal, load, read, skip, write

PART, MMTUNE, MULTIPLY = sys.argv[1:4]
VENDORS = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
OCLGRIND = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
CANDIDATES = "8c"
folder = tempfile.mkdtemp(prefix="mmtune-test-")
environment = dict(os.environ, XDG_DATA_HOME=folder + "/data", RUSTICL_ENABLE="llvmpipe")


def libraries():
    """The library of each platform, by the name of its file without .icd."""
    found = {}
    if os.path.isdir(VENDORS):
        for name in sorted(os.listdir(VENDORS)):
            if name.endswith(".icd"):
                found[name[:-4]] = read(os.path.join(VENDORS, name)).strip()
    if os.path.exists(OCLGRIND):
        found["oclgrind"] = OCLGRIND
    return found


def only(*platforms):
    """The environment in which these libraries are all that there is, in this order."""
    vendors = tempfile.mkdtemp(dir=folder)
    for i, library in enumerate(platforms):
        write(vendors, "%d.icd" % i, library + "\n")
    return dict(environment, OCL_ICD_VENDORS=vendors)


def run(env, *words):
    return subprocess.run(words, capture_output=True, text=True, env=env)


def devices(env):
    return checks.devices(MMTUNE, env)


# ---- ids ---------------------------------------------------------------------------------------------


def try_ids():
    """Each device is called alike alone, behind the other platforms, and before them."""
    alone = {name: [d["id"] for d in devices(only(library))]
             for name, library in libraries().items()}
    alone = {name: ids for name, ids in alone.items() if ids}
    if len(alone) < 2:
        skip("there are OpenCL devices of %s alone" % (", ".join(alone) or "no platform"))
    here = libraries()
    for names in (sorted(alone), sorted(alone, reverse=True)):
        env = only(*(here[name] for name in names))
        listed = [d["id"] for d in devices(env)]
        for name in names:
            for device in alone[name]:
                check(device in listed, "%s of %s among %s: %s" % (device, name, names, listed))
        check(len(set(listed)) == len(listed), "ids differ: %s" % listed)
        for device in listed:
            done = run(env, MMTUNE, "templates", "naive", "--device", device)
            check(done.returncode == 0, "%s opens: %s" % (device, done.stderr))
    print("the same with %s" % ", ".join("%s: %s" % (n, " ".join(i)) for n, i in alone.items()))


# ---- a platform --------------------------------------------------------------------------------------

# Configurations and types: of each operation the usual starting point on a CPU, and a product in
# registers that llvmpipe's 32 KiB of local memory hold.
TRIED = [
    ("naive", "f32,bf16,f8e4m3,i8"),
    ("tiled TILE=16", "f32,i32"),
    ("simt TILE_M=32 TILE_N=32 TILE_K=32 THREAD_TILE_M=4 THREAD_TILE_N=4 WARP_M=4 WARP_N=8", "f32"),
    ("axpby THREADS=256 VECTOR=16 WORK=4", "f32"),
    ("dot THREADS=1 ROWS=1 VECTOR=8 WORK=4 PARTS=64", "f32"),
    ("heat2d THREADS_M=1 THREADS_N=64 THREAD_TILE_M=8 VECTOR=16 SIDES=memory", "f32"),
    ("jacobi3d THREADS_N=8 THREADS_K=1 VECTOR=16 THREAD_TILE_M=8 UNROLL_M=1 SIDES=memory", "f32"),
]


def try_verify(env, device):
    for name, types in TRIED:
        done = run(env, MMTUNE, "verify", "--device", device, name, "--type", types,
                   "--transposes", "nn", "--limit", "600")
        last = (done.stdout.strip().split("\n") or [""])[-1]
        right = last.split(" ")[0]
        check(done.returncode == 0 and right == str(types.count(",") + 1)
              and ", 0 wrong, 0 failed" in last,
              "verify %s ends with %d: %s %s" % (name, done.returncode, done.stdout, done.stderr))
        print("%s: %s" % (name, last))


def try_tuning(env, device):
    path = folder + "/tuned.json"
    done = run(env, MMTUNE, "--device", device, "--type", "f32", "--shape", "96x96x96", "--budget",
               CANDIDATES, "-o", path)
    if not check(done.returncode == 0, "tuning ends with %d: %s" % (done.returncode, done.stderr)):
        return
    entries, results = load(path)["entries"], journal(path)
    check(len(entries) == 1, "one problem was tuned: %s" % entries)
    times = [r["seconds"] for r in results if r.get("seconds")]
    check(times and min(times) > 1e-7, "times are not 0: %s" % times)
    print("%d of %d results are times, the least %.1f us" % (len(times), len(results),
                                                            1e6 * min(times or [0])))


def try_multiply(env, device):
    done = run(env, MULTIPLY, device)
    check(done.returncode == 0 and "largest error" in done.stdout,
          "01_multiply ends with %d: %s%s" % (done.returncode, done.stdout, done.stderr))
    print(done.stdout.strip())


def try_rusticl():
    library = libraries().get("rusticl")
    if not library:
        skip("Rusticl is not installed; Debian's mesa-opencl-icd has it")
    env = only(library)
    listed = devices(env)
    if not listed:
        skip("Rusticl has no device here, not even llvmpipe")
    check(all(d["id"].startswith("opencl:mesa-") for d in listed), "ids: %s" % listed)
    try_verify(env, listed[0]["id"])
    try_tuning(env, listed[0]["id"])
    try_multiply(env, listed[0]["id"])


{"ids": try_ids, "rusticl": try_rusticl}[PART]()
end(f"platforms, {PART}", folder)
