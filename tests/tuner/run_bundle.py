#!/usr/bin/env python3
"""Bundles from outside: run_bundle.py MMTUNE USE_BUNDLE SOURCES LIBRARY CARD CC...

MMTUNE makes a bundle for a card of CUDA whose driver and NVRTC are the libraries in CARD.
USE_BUNDLE then executes it with the driver alone: no NVRTC, no home, in folders that
nobody may write. LIBRARY is the shared library, with which CC builds a program that has
the bundle compiled in."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

from checks import check, end


def run(words, environment, cwd):
    done = subprocess.run(words, env=environment, cwd=cwd, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def files_below(folder):
    return sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)


def lock(folder):
    """Nobody may write it; root may everywhere, so what it holds is compared, too."""
    for path, _, _ in os.walk(folder):
        os.chmod(path, stat.S_IRUSR | stat.S_IXUSR)


def unlock(folder):
    for path, _, _ in os.walk(folder):
        os.chmod(path, stat.S_IRWXU)


def main(mmtune, use, sources, library, card, *compiler):
    top = tempfile.mkdtemp()
    mmtune, use, library = (os.path.abspath(path) for path in (mmtune, use, library))
    making = dict(os.environ, HOME=top, XDG_CACHE_HOME=top + "/cache", XDG_DATA_HOME=top + "/data",
                  LD_LIBRARY_PATH=card, MMTUNE_NVRTC="", MMT_FAKE_CARDS=sources + "/tests/data/one_card.txt")
    root = top + "/root"
    os.makedirs(root + "/driver")
    os.makedirs(root + "/home")
    shutil.copy(card + "/libcuda.so.1", root + "/driver")
    bundle = root + "/app.mmb"

    code, said = run([mmtune, "bundle", "--device", "cuda:0", "--shape", "48x40x32", "-o", bundle,
                      "--c", top + "/app.c"], making, top)
    check(code == 0, f"mmtune bundle: {said}")
    code, said = run([mmtune, "show", bundle], making, top)
    check(code == 0 and "gemm f32 nn 48x40x32" in said and "KiB" in said and "compute_75" in said, said)
    check("SPLIT_K=1 " in said and "SPLIT_K=2" not in said, f"knobs of the launch are left out: {said}")
    tuning = ["--device", "cuda:0", "--type", "f32", "--shape", "8x8x8", "--budget", "1c", "-o"]
    for words in (["show", bundle, "--explain", "8x8x8"], ["diff", bundle, top + "/app.c"], [*tuning, bundle],
                  ["--with", bundle, *tuning, top + "/mine.json"]):
        code, said = run([mmtune, *words], making, top)
        check(code == 1 and f"'{bundle}' is a bundle" in said, f"{words}: {said}")

    # Where it runs there is a driver, and nothing else; PATH and MMT_FAKE_OBJECTS are the stand-in driver's own.
    bare = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": root + "/driver",
            "MMTUNE_NVRTC": "/nowhere/libnvrtc.so", "XDG_CACHE_HOME": root + "/home",
            "XDG_DATA_HOME": root + "/home", "MMT_FAKE_CARDS": making["MMT_FAKE_CARDS"]}
    for name in ("MMT_FAKE_OBJECTS", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            bare[name] = os.environ[name]
    lock(root)
    before = files_below(root)
    for shape in (["48", "40", "32"], ["33", "17", "65"], ["1", "70", "20"]):
        code, said = run([use, "cuda:0", bundle, *shape], bare, root)
        check(code == 0 and "0 of" in said, f"{shape}: {said}")
    code, said = run([use, "cuda:0", "/nowhere.mmb", "8", "8", "8"], bare, root)
    check(code == 3 and "'/nowhere.mmb'" in said, said)
    code, said = run([use, "null", bundle, "8", "8", "8"], bare, root)
    check(code == 3 and "the bundle was made for" in said and "and this one is Null device" in said, said)
    check(files_below(root) == before, f"files came: {files_below(root)}")

    # Without the bundle nothing can be planned, in words.
    code, said = run([use, "cuda:0", "none", "8", "8", "8"], bare, root)
    check(code == 3 and "MMTUNE_NVRTC should name NVRTC's library" in said, said)

    # Compiled in.
    program = top + "/program"
    folder = os.path.dirname(library)
    code, said = run([*compiler, "-DEMBEDDED", sources + "/tests/tuner/use_bundle.c", top + "/app.c", "-I",
                      sources + "/include", library, f"-Wl,-rpath,{folder}", "-o", program], dict(os.environ), top)
    check(code == 0, said)
    if code == 0:
        code, said = run([program, "cuda:0", "app", "48", "40", "32"], bare, root)
        check(code == 0 and "0 of" in said, said)

    # Damaged: refused, or another kernel serves, never a wrong result.
    unlock(root)
    with open(bundle, "rb") as f:
        whole = f.read()
    for at in range(5, len(whole), len(whole) // 11):
        with open(bundle, "wb") as f:
            f.write(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1:])
        code, said = run([use, "cuda:0", bundle, "48", "40", "32"], bare, root)
        check(code in (0, 3), f"damaged at {at}: {code}: {said}")
        code, said = run([mmtune, "show", bundle], making, top)
        check(code == 1 and "damaged" in said and bundle in said or code == 0 or "cannot be used" in said, f"{at}: {said}")
    end("bundle outside", top)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
