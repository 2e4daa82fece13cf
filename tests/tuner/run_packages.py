#!/usr/bin/env python3
"""What other build systems find: run_packages.py MESON BUILD SOURCES CC...

Installs into a folder of its own and builds programs of C and C++ by CMake's find_package and by
pkg-config, also --static where the library is; once more where the prefix was moved since."""
import os
import shlex
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
PROGRAM = "#include <mmtune/mmtune.h>\n#include <stdio.h>\nint main(void) { puts(mmt_version()); return 0; }\n"
program = write(top, "program.c", PROGRAM)
write(top, "other.cpp", PROGRAM.replace("mmtune.h>", "mmtune.hpp>"))
write(top, "CMakeLists.txt", "cmake_minimum_required(VERSION 3.13)\nproject(program C CXX)\n"
      "find_package(mmtune 0.1 QUIET)\nif(mmtune_FOUND)\n  message(FATAL_ERROR \"0.1 is another API\")\nendif()\n"
      "find_package(mmtune 0.2 REQUIRED)\nadd_executable(program program.c)\nadd_executable(other other.cpp)\n"
      "target_link_libraries(program mmtune::mmtune)\ntarget_link_libraries(other mmtune::mmtune)\n")


def try_cmake(folder):
    """Returns what the program says its version is."""
    config = find("mmtuneConfig.cmake")
    check(len(config) == 1, f"mmtuneConfig.cmake: {config}")
    run("cmake", "-S", top, "-B", folder, "-DCMAKE_PREFIX_PATH=" + os.path.dirname(config[0]))
    run("cmake", "--build", folder)
    says = {run(folder + "/" + name).strip() for name in ("program", "other")}
    check(len(says) == 1 and min(says).startswith("0.2"), f"the programs say {says}")
    return min(says)


def try_pkg_config(version, *how, **variables):
    for form in ([], ["--static"]):
        flags = run("pkg-config", "--cflags", "--libs", *how, *form, "mmtune",
                    PKG_CONFIG_PATH=os.path.dirname(find("mmtune.pc")[0]), **variables)
        run(*CC, program, "-o", top + "/by-pkg-config", *shlex.split(flags))
        said = run(top + "/by-pkg-config", LD_LIBRARY_PATH=os.path.dirname(find("libmmtune.so")[0]))
        check(said.strip() == version, f"pkg-config {how} {form}: {said!r}")


version = try_cmake(top + "/cmake")
try_pkg_config(version, PKG_CONFIG_SYSROOT_DIR=top + "/root")
moved = os.path.join(top, "root", "moved")
os.rename(find("mmtune.h")[0].removesuffix("/include/mmtune/mmtune.h"), moved)
try_cmake(top + "/cmake-moved")
try_pkg_config(version, f"--define-variable=prefix={moved}")
for name in ("mmtune.bash", "_mmtune", "mmtune.fish"):
    check(len(find(name)) == 1, f"{name} is not installed")
end("packages", top)
