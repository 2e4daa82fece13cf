#!/usr/bin/env python3
"""What other build systems find: run_packages.py MESON BUILD SOURCES CC...

Installs into a folder of its own and builds a program by CMake's find_package and by
pkg-config, also --static where the library is."""
import os
import shutil
import subprocess
import sys
import tempfile

from checks import check, end, skip, write

MESON, BUILD, SOURCES, *CC = sys.argv[1:]
top = tempfile.mkdtemp(prefix="mmtune-test-")


def run(*words, cwd=top, **variables):
    done = subprocess.run(words, cwd=cwd, env=dict(os.environ, **variables), capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def find(name):
    return [os.path.join(path, name) for path, _, names in os.walk(top + "/root") if name in names]


if not shutil.which("cmake"):
    skip("there is no cmake")
run(MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", top + "/root")
program = write(top, "program.c", '#include <mmtune/mmtune.h>\n#include <stdio.h>\n'
                'int main(void) { puts(mmt_version()); return 0; }\n')
config = find("mmtuneConfig.cmake")
check(len(config) == 1, f"mmtuneConfig.cmake: {config}")
write(top, "CMakeLists.txt", "cmake_minimum_required(VERSION 3.13)\nproject(program C)\n"
      "find_package(mmtune 0.1 QUIET)\nif(mmtune_FOUND)\n  message(FATAL_ERROR \"0.1 is another API\")\nendif()\n"
      "find_package(mmtune 0.2 REQUIRED)\nadd_executable(program program.c)\n"
      "target_link_libraries(program mmtune::mmtune)\n")
run("cmake", "-S", top, "-B", top + "/cmake", "-DCMAKE_PREFIX_PATH=" + os.path.dirname(config[0]))
run("cmake", "--build", top + "/cmake")
version = run(top + "/cmake/program").strip()
check(version.startswith("0.2"), f"the program says {version!r}")

for form in ([], ["--static"]):
    flags = run("pkg-config", "--cflags", "--libs", *form, "mmtune", PKG_CONFIG_SYSROOT_DIR=top + "/root",
                PKG_CONFIG_PATH=os.path.dirname(find("mmtune.pc")[0])).split()
    run(*CC, program, "-o", top + "/by-pkg-config", *flags)
    said = run(top + "/by-pkg-config", LD_LIBRARY_PATH=os.path.dirname(find("libmmtune.so")[0]))
    check(said.strip() == version, f"pkg-config {form}: {said!r}")
for name in ("mmtune.bash", "_mmtune", "mmtune.fish"):
    check(len(find(name)) == 1, f"{name} is not installed")
end("packages", top)
