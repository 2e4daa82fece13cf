#!/usr/bin/env python3
"""Bundles where nothing else is: run_bare.py MMTUNE USE_BUNDLE SOURCES CC [CARD]

USE_BUNDLE executes a bundle in a root that tools/run_bare.sh makes: no compiler, no shell, no home, and a
disk that nobody may write. With CARD, the folder of a stand-in driver, it is a bundle for a card of CUDA,
else one for PoCL, which links kernels by `ld` and keeps them in memory."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

from checks import check, end, skip

SHAPES = "48 40 32 33 17 65 1 70 20".split()
# What PoCL's linker asks for.
LINKED = ["libm.so", "libc.so", "libc_nonshared.a", "libmvec.so.1", "libgcc.a", "libgcc_s.so", "crti.o", "crtn.o",
          "crtbegin.o", "crtbeginS.o", "crtendS.o"]


def run(words, **variables):
    done = subprocess.run(words, env=dict(os.environ, **variables), capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def find_loaded(name):
    """The paths of a library that the loader finds, by its own name and by what that links to."""
    _, table = run(["/sbin/ldconfig", "-p"])
    paths = [line.split()[-1] for line in table.splitlines() if line.strip().startswith(name)]
    return [paths[0], os.path.realpath(paths[0])] if paths else []


def find_pocl(mmtune, cc):
    """The id of PoCL's device and the files that it consists of."""
    _, devices = run([mmtune, "devices"])
    ids = [word for word in devices.split() if word.startswith("opencl:pocl")]
    icd, shared = "/etc/OpenCL/vendors/pocl.icd", "/usr/share/pocl"
    loader, pocl = find_loaded("libOpenCL.so.1"), find_loaded("libpocl.so.2")
    if not ids or not loader or not pocl or not os.path.exists(icd) or not shutil.which("ld"):
        skip("PoCL is not installed as Debian installs it")
    linked = [os.path.normpath(run([cc, "-print-file-name=" + name])[1].strip()) for name in LINKED]
    files = [icd, shared, *loader, *pocl, os.path.dirname(pocl[0]) + "/pocl", shutil.which("ld"), *linked]
    return ids[0], [name for name in files if os.path.exists(name)]


def check_refusals(words, use, bundle):
    code, said = run([*words, use, "null", bundle, "8", "8", "8"])
    check(code == 3 and "the bundle was made for" in said, f"another device: {said}")
    code, said = run([*words, use, "cuda:0", "none", "48", "40", "31"])
    check(code == 3 and "NVRTC" in said, f"without a bundle: {said}")


def check_root(words, folder):
    """It is as bare as it should be."""
    shell = os.path.realpath("/bin/sh")
    _, said = run([*words, "--file", shell, shell, "-c", f"echo >/a; echo >{folder}/a; cc; gcc; id"])
    check(said.count("Read-only file system") == 2 and said.count("not found") == 3, f"the root: {said}")


def main(mmtune, use, sources, cc, card=None):
    top = tempfile.mkdtemp()
    os.chmod(top, 0o755)
    mmtune, use = os.path.abspath(mmtune), os.path.abspath(use)
    tool, bundle, settings = sources + "/tools/run_bare.sh", top + "/app.mmb", {}
    if card:
        # The stand-in's own, which a card has in its silicon: its cards, and what it makes of kernels.
        settings = {"MMT_FAKE_CARDS": sources + "/tests/data/one_card.txt", "MMT_FAKE_OBJECTS": top + "/objects"}
        os.mkdir(top + "/objects")
        device, files = "cuda:0", [card + "/libcuda.so.1", *settings.values()]
    else:
        device, files = find_pocl(mmtune, cc)
        settings = {"PATH": "/usr/bin", "POCL_CACHE_DIR": "/scratch"}
    home = {"HOME": top, "XDG_CACHE_HOME": top + "/cache", "XDG_DATA_HOME": top + "/data"}
    if card:
        home.update(settings, LD_LIBRARY_PATH=card, MMTUNE_NVRTC="")

    code, said = run([mmtune, "bundle", "--device", device, "--shape", "48x40x32", "-o", bundle], **home)
    check(code == 0, f"mmtune bundle: {said}")
    os.chmod(bundle, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    if card:
        code, said = run([use, device, bundle, *SHAPES], **home)
        check(code == 0, f"outside: {said}")

    words = [tool]
    for name in [bundle, *files]:
        words += ["--file", name]
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    if not card:
        words += ["--writable", "/scratch"]
    code, said = run([*words, use, device, bundle, *SHAPES])
    if code == 77:
        skip(said.strip())
    check(code == 0 and said.count("\n0 of") == 3, f"{code}: {said}")
    if card:
        check_refusals(words, use, bundle)
        check_root(words, os.path.dirname(bundle))
    end("bundle " + ("on a bare card" if card else "on bare PoCL"), top)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
