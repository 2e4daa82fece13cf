#!/usr/bin/env python3
"""README's commands, as they stand there: run_readme.py SOURCE_ROOT MMTUNE [BUILD]

With BUILD nothing is compiled: what is built there is run and installed; the commands that need another
build are left out.

Takes the fenced commands out of README.md and runs them in a scratch folder where the source is
linked to. They are adapted by the environment alone: sudo runs its command as it is, apt-get
checks that the packages are installed, ldconfig does nothing, DESTDIR receives what is
installed, compilers do not optimise, HOME is in the scratch folder. Tuning is interrupted once
it has begun. Of ./quickstart all is done but the compiling, whose list of targets is looked
at, and the program is a stand-in there; `./quickstart test` is what runs this. MMTUNE is asked for devices: without one this ends with 77."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from checks import check, end, failures

SOURCE, MMTUNE, *BUILD = map(os.path.abspath, sys.argv[1:])
scratch = tempfile.mkdtemp(prefix="mmtune-readme-")
tree, shims, root, home = (os.path.join(scratch, name) for name in ("tree", "shims", "root", "home"))


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o755)


def shim(name, body):
    write(os.path.join(shims, name), "#!/bin/sh\n" + body + "\n")


def shim_meson():
    """Of the build that is there."""
    shim("meson", f'if [ "$1" = install ]; then exec {shutil.which("meson")} install -C {BUILD[0]} --no-rebuild; fi\n'
         f'mkdir -p build/tuner && ln -sf {MMTUNE} build/tuner/mmtune')


def prepare():
    for folder in (tree, shims, root, home):
        os.mkdir(folder)
    for name in os.listdir(SOURCE):
        if name != ".git" and not os.path.exists(os.path.join(SOURCE, name, "build.ninja")):
            os.symlink(os.path.join(SOURCE, name), os.path.join(tree, name))
    shim("sudo", 'exec "$@"')
    shim("ldconfig", f'echo "$@" >>{scratch}/ldconfig')
    shim("apt-get", f'[ "$1" = install ] || exit 2; shift; echo "$@" >{scratch}/packages\n'
         'command -v dpkg-query >/dev/null || exit 0\n'
         'dpkg-query -W "$@" >/dev/null')
    if BUILD:
        shim_meson()
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("MESON", "NINJA", "MMTUNE_", "DESTDIR", "LD_LIBRARY", "PKG_CONFIG"))}
    return dict(clean, PATH=shims + ":" + os.environ["PATH"], HOME=home, XDG_DATA_HOME=home + "/data",
                CFLAGS="-O0 -g0 -fno-lto", LDFLAGS="-fno-lto", DESTDIR=root)


# ---- reading README ---------------------------------------------------------------------------

def blocks(kind):
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
        return re.findall(rf"^```{kind}\n(.*?)^```$", f.read(), re.M | re.S)


def only(found, what):
    if not check(len(found) == 1, f"README has one block of {what}, not {len(found)}"):
        end("readme", scratch)
    return found[0]


def told():
    """What README says that its program prints."""
    return only([block for block in blocks("text") if "cards" not in block and "K5000" not in block], "output")


def block_with(words):
    return only([block for block in blocks("sh") if words in block], f"commands with '{words}'")


# ---- running ------------------------------------------------------------------------------------

def run(script, environment, status=0, folder=tree):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment,
                          capture_output=True, text=True)
    check(done.returncode == status, f"{script.strip()}\n  ends with {done.returncode}, should be {status}:\n"
          f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def run_tuning(line, environment):
    """Until it is at its first problem; Ctrl-C then ends it as the program says."""
    process = subprocess.Popen(["bash", "-c", "exec " + line], cwd=tree, env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = ""
    for text in process.stdout:
        said += text
        if text.startswith("[1/"):
            process.send_signal(signal.SIGINT)
            break
    said += process.stdout.read()
    check(process.wait() in (0, 130), f"{line}\n  ends with {process.returncode}:\n{said}")


def test_by_hand(environment):
    text = block_with("meson setup build").replace("\\\n", " ")
    for line in text.splitlines():
        if " --budget " in line:
            run_tuning(line, environment)
        else:
            run(line, environment)
    with open(scratch + "/packages", encoding="utf-8") as f:
        packages = f.read().split()
    with open(os.path.join(SOURCE, "quickstart"), encoding="utf-8") as f:
        listed = re.search(r"^packages=\((.*)\)$", f.read(), re.M).group(1).split()
    check(packages == listed, f"quickstart and README install the same: {listed}, {packages}")
    check(os.path.exists(scratch + "/ldconfig"), "the loader is told of the library")


def installed(name, under):
    found = [os.path.join(folder, name) for folder, _, names in os.walk(under) if name in names]
    return found[0] if check(len(found) == 1, f"{name} is installed once below {under}: {found}") else under


def test_program(environment):
    """The program that README names, linked and run by README's lines."""
    write(tree + "/program.c", only(blocks("c"), "C"))
    libraries = os.path.dirname(installed("mmtune.pc", root))
    there = dict(environment, PKG_CONFIG_PATH=libraries, PKG_CONFIG_SYSROOT_DIR=root,
                 LD_LIBRARY_PATH=os.path.dirname(libraries))
    said = run(only([b for b in blocks("sh") if b.startswith("cc program.c")], "a program"), there)
    check(said == told(), f"the program prints what README says: {said}")
    run("cc -Wall -Werror -o strict program.c $(pkg-config --cflags --libs mmtune)", there)


def test_installed(environment):
    """The program starts by itself, finds what it preloads, and needs no library of a device."""
    (program,) = glob.glob(root + "/**/bin/mmtune", recursive=True)
    run(f"{program} --version", environment)
    run(f"{program} run true", environment)
    needed = run(f"readelf -d {program} $(find {root} -name 'libmmtune.so.*.*.*')", environment)
    libraries = set(re.findall(r"\(NEEDED\).*\[(.*)\]", needed))
    check(any(name.startswith("libc.so") for name in libraries) and
          not any(name.startswith(("libOpenCL", "libcuda", "libnvrtc")) for name in libraries),
          f"devices' libraries are opened at run time: {libraries}")
    run(block_with("mmtune diff"), dict(environment, PATH=os.path.dirname(program) + ":" + environment["PATH"]))


def test_home(environment):
    plain = {key: value for key, value in environment.items() if key != "DESTDIR"}
    said = run(block_with("--prefix"), plain)
    check(said.endswith("\n" + told()), f"installed at home, the program multiplies: {said}")


def test_static(environment):
    """What README says of Jansson: both libraries static, and no Jansson is needed."""
    run("meson configure build -Djansson=static -Ddefault_library=static && meson install -C build",
        dict(environment, DESTDIR=root + "-static"))
    libraries = os.path.dirname(installed("mmtune.pc", root + "-static"))
    run("cc program.c $(pkg-config --cflags --libs mmtune) && ./a.out",
        dict(environment, PKG_CONFIG_PATH=libraries, PKG_CONFIG_SYSROOT_DIR=root + "-static"))
    needed = run("readelf -d build/tuner/mmtune", environment)
    check("libc.so" in needed and "jansson" not in needed, f"Jansson is linked in: {needed}")


def test_quickstart(environment):
    if BUILD:
        os.remove(shims + "/meson")
    meson = shutil.which("meson")
    write(scratch + "/called", f'#!/bin/sh\necho "$@" >>{scratch}/calls\n')
    shim("meson", f'[ "$1" = compile ] || exec {meson} "$@"\n'
         f'ninja -C "$3" -n >{scratch}/targets; mkdir -p "$3/tuner"; cp {scratch}/called "$3/tuner/mmtune"')
    text = only([b for b in blocks("sh") if b.startswith("./quickstart ")], "./quickstart")
    run(text.splitlines()[0], dict(environment, MMTUNE_BUILD=scratch + "/quick"))
    os.remove(shims + "/meson")
    with open(scratch + "/targets", encoding="utf-8") as f:
        targets = f.read()
    with open(scratch + "/calls", encoding="utf-8") as f:
        calls = f.read().splitlines()
    check(len(calls) == 2 and calls[0] == "devices" and "--device 0" in calls[1],
          f"devices are listed, one is tuned: {calls}")
    check("tuner/mmtune" in targets and "libmmtune.so" in targets, "the program and the library are built")
    check("tests/" not in targets and "examples/" not in targets, f"and nothing else: {targets[-2000:]}")


if subprocess.run([MMTUNE, "devices"], stdout=subprocess.DEVNULL).returncode:
    print("skipped: there is no device")
    sys.exit(77)
environment = prepare()
for test in (test_by_hand, test_program, test_installed, test_quickstart, *(() if BUILD else (test_home, test_static))):
    test(environment)
    if failures:
        break
    print(test.__name__, flush=True)
end("readme", scratch)
