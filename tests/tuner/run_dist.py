#!/usr/bin/env python3
"""The sources as others get them: run_dist.py wrap|tarball MESON SOURCES BUILD

wrap     A project of Meson finds mmtune by a wrap; its configuration alone, of the tree as it is.
tarball  `meson dist` makes an archive of what is committed. The same project has it as its wrap's archive,
         builds and runs a program; unpacked in a fresh folder it builds, and passes the tier fast."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check, end, skip, write

BUILD_FILE = """project('mine', 'c')
mmtune = dependency('mmtune', version: '>= 0.2')
executable('mine', 'mine.c', dependencies: mmtune)
"""
PROGRAM = """#include <mmtune/mmtune.h>
#include <stdio.h>
int main(void) { puts(mmt_version()); return 0; }
"""
PLAIN = ["-Dmmtune:tests=false", "-Dmmtune:examples=false"]


def run(*words, cwd=None):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    both = done.stdout + done.stderr
    return check(done.returncode == 0, f"{' '.join(words)}: {both[-3000:]}"), both


def make_project(top, name, wrap):
    """A project that has the wrap of docs/manual/find.md; returns its folder."""
    folder = os.path.join(top, name)
    os.makedirs(folder + "/subprojects/packagefiles")
    write(folder, "meson.build", BUILD_FILE)
    write(folder, "mine.c", PROGRAM)
    write(folder + "/subprojects", "mmtune.wrap", f"[wrap-file]\n{wrap}\n[provide]\ndependency_names = mmtune\n")
    return folder


def configure(meson, project):
    done, said = run(meson, "setup", "build", "--force-fallback-for=mmtune", *PLAIN, cwd=project)
    check(re.search(r"Dependency mmtune .*found: YES [0-9.]+", said), f"the wrap: {said[-2000:]}")
    return done


def try_wrap(meson, sources, top):
    project = make_project(top, "project", "directory = mmtune")
    os.symlink(sources, project + "/subprojects/mmtune")
    configure(meson, project)


def try_tarball(meson, build, top):
    if not run(meson, "dist", "-C", build, "--no-tests", "--allow-dirty")[0]:
        return
    archive = max(glob.glob(build + "/meson-dist/mmtune-*.tar.xz"), key=os.path.getmtime)
    name = os.path.basename(archive)
    with open(archive, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    project = make_project(top, "project", f"directory = {name[:-len('.tar.xz')]}\n"
                           f"source_filename = {name}\nsource_hash = {digest}")
    shutil.copy(archive, project + "/subprojects/packagefiles")
    if configure(meson, project) and run("ninja", "-C", "build", "mine", cwd=project)[0]:
        said = run(project + "/build/mine")[1]
        check(name == f"mmtune-{said.strip()}.tar.xz", f"the program says {said!r}, the archive is {name}")
    shutil.unpack_archive(archive, top)
    tree = os.path.join(top, name[:-len(".tar.xz")])
    if run(meson, "setup", "build", "-Dexamples=false", cwd=tree)[0]:
        run("ninja", "-C", "build", cwd=tree)
        run(meson, "test", "-C", "build", "--suite", "fast", cwd=tree)


def main(what, meson, sources, build):
    if what == "tarball" and not os.path.exists(os.path.join(sources, ".git")):
        skip("this is no git checkout")
    top = tempfile.mkdtemp(prefix="mmtune-test-")
    if what == "wrap":
        try_wrap(meson, sources, top)
    else:
        try_tarball(meson, build, top)
    end("dist, " + what, top)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
