#!/usr/bin/env python3
"""Files from outside: run_files.py MMTUNE SOURCE_ROOT STAND_IN

Pipes and links in the way, folders that others may write, a cache that is full. The CPU is
the one of emulation/fake/opencl, in the folder STAND_IN, but on the disk that is full. What needs a
device, or a small file system, says where it is left out."""
import json
import os
import shutil
import stat
import subprocess
import sys

from checks import check, cpu_device, end, make_home, no_stand_in, read, stand_in, tried, write

MMTUNE, ROOT, STAND_IN = sys.argv[1:4]
folder, environment = make_home()
data, cache = folder + "/data", folder + "/cache"
environment.pop("MMTUNE_CACHE_LIMIT", None)
real, environment = no_stand_in(STAND_IN, environment), stand_in(STAND_IN, environment)
PAPERS = ROOT + "/profiles/papers/"
SMALL = ["--type", "f32", "--shape", "64x64x64", "--template", "tiled", "--budget", "1c"]
# In a namespace of its own, so that nothing stays mounted; as a plain user where that may be.
MOUNTING = [["unshare", "-m"], ["unshare", "-rm"]]


def run(words, status, *said, before="", inside=(), **variables):
    """Runs the program, in a shell that does `before`; checks its exit status and words. A variable
    that is None is not set."""
    there = {k: v for k, v in dict(environment, **variables).items() if v is not None}
    done = tried(MMTUNE, words, status, *said, env=there, inside=[*inside, "sh", "-c", before + '\nexec "$@"', "sh"])
    return done.stdout, done.stderr


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_pipes():
    pipe = folder + "/pipe"
    os.mkfifo(pipe)
    run(["show", pipe], 1, "is a pipe; a regular file is needed")
    run(["diff", PAPERS + "geforce-gtx-1060.json", pipe], 1, "is a pipe")
    run(["emit", "naive", "-o", pipe], 1, "it is a pipe that nobody reads")
    check(stat.S_ISFIFO(os.lstat(pipe).st_mode), "the pipe is left")


def test_named_links():
    """What a user names may be a link."""
    link, target = folder + "/link.json", folder + "/target.json"
    shutil.copy(PAPERS + "quadro-k5000.json", target)
    os.symlink("target.json", link)
    run(["show", link], 0, "K5000")
    run(["diff", link, PAPERS + "geforce-gtx-1060.json"], 0)
    os.remove(target)
    run(["emit", "naive", "-o", target], 0)
    check(mode(target) == 0o600, f"emit -o makes mode {mode(target):o}")
    run(["emit", "tiled", "-o", link], 0)
    check("tiled" in read(target) and os.path.islink(link), "-o writes through a user's link")


def test_limit():
    for verb in (["suites"], ["devices"]):
        run(verb, 2, "MMTUNE_CACHE_LIMIT is '10MB'; it must be", "such as 512M",
            MMTUNE_CACHE_LIMIT="10MB")
    run(["suites"], 0, MMTUNE_CACHE_LIMIT="10M")


def test_tuning(device):
    """A profile, its journal and the cache under umask 002, and what stands in their way."""
    tune = ["--device", device, *SMALL]
    run(tune, 0, before="umask 002")
    made = [os.path.join(at, name) for top in (data, cache)
            for at, folders, names in os.walk(top) if "/pocl" not in at for name in names]
    check(any(p.endswith(".journal") for p in made) and any(p.endswith(".bin") for p in made),
          f"a journal and kernels were made: {made}")
    for path in made:
        check(mode(path) == 0o600, f"{path} has mode {mode(path):o}")
    for path in (data, data + "/mmtune", cache, cache + "/mmtune"):
        check(mode(path) == 0o700, f"{path} has mode {mode(path):o}")

    # Into a folder that others may write only where -o says so.
    os.chmod(data + "/mmtune", 0o775)
    run(tune, 1, "may be written by others (mode 0775)", "-o names another place")
    os.mkdir(folder + "/open")
    os.chmod(folder + "/open", 0o777)
    own = folder + "/open/own.json"
    run([*tune, "-o", own], 0)
    run(["show", own], 0)
    os.chmod(data + "/mmtune", 0o700)

    # A link beside the profile leads nowhere; a pipe is not waited for.
    victim = write(folder, "victim", "precious")
    os.symlink(victim, folder + "/open/led.json.journal")
    run([*tune, "-o", folder + "/open/led.json"], 1, "is a symbolic link")
    check(read(victim) == "precious", "a link beside the profile is not written through")
    pipe = folder + "/pipe"
    for words in (["-o", pipe], ["-o", pipe, "--fresh"]):
        run([*tune, *words], 1, "is a pipe; a regular file is needed")
    os.mkfifo(folder + "/open/piped.json.journal")
    run([*tune, "-o", folder + "/open/piped.json"], 1, "is a pipe; a regular")

    if os.geteuid() == 0:
        os.symlink(victim, folder + "/open/planted.json")
        os.lchown(folder + "/open/planted.json", 65534, 65534)
        run([*tune, "--fresh", "-o", folder + "/open/planted.json"], 1,
            "is a symbolic link of user 65534, which is not followed")


def test_unwritable_cache(device):
    """A folder stands where a kernel is tried to be stored: told once, and the run goes on."""
    tune = ["--device", device, *SMALL]
    blocked = cache + "/mmtune/" + 32 * "0" + ".bin"
    os.makedirs(blocked)
    words = "compiled kernels are not stored"
    out, err = run([*tune, "-o", folder + "/told.json"], 0, words, "Is a directory")
    check(err.count(words) == 1 and words not in out, f"told once, on standard error:\n{out}{err}")
    out, err = run([*tune, "-o", folder + "/events.json", "--json"], 0)
    events = [json.loads(line) for line in out.splitlines()]
    told = [e for e in events if e["event"] == "cache"]
    check(len(told) == 1 and words in told[0]["text"] and words not in err, f"one event: {told}")
    os.rmdir(blocked)
    out, err = run([*tune, "-o", folder + "/well.json"], 0)
    check(words not in out + err, f"nothing is told where all is well: {err}")

    # What only a worker meets, behind the start.
    with subprocess.Popen([MMTUNE, *tune, "--budget", "6c", "-o", folder + "/later.json", "--json"],
                          stdout=subprocess.PIPE, text=True, env=environment) as running:
        first = json.loads(running.stdout.readline())
        os.chmod(cache + "/mmtune", 0o770)
        rest = [json.loads(line) for line in running.stdout]
    told = [e for e in rest if e["event"] == "cache"]
    check(first["event"] == "start" and running.returncode == 0, f"the run goes on: {first}")
    check(len(told) == 1 and "mode 0770" in told[0]["text"], f"one event of a worker's: {told}")

    run([*tune, "-o", folder + "/others.json"], 1, "may be written by others (mode 0770)",
        POCL_CACHE_DIR=None)
    os.chmod(cache + "/mmtune", 0o700)


def test_full_disk(device):
    small = folder + "/small"
    os.mkdir(small)
    inside = next((way for way in MOUNTING if shutil.which("unshare") and not subprocess.run(
        [*way, "mount", "-t", "tmpfs", "none", small], capture_output=True).returncode), None)
    if not inside:
        print("left out, as no small file system can be mounted here: a full disk")
        return
    before = f"mount -t tmpfs -o size=2m none {small} && "
    fill = f"{{ head -c 4m /dev/zero >{small}/ballast; true; }} 2>/dev/null"
    path = folder + "/full.json"
    run(["--device", device, *SMALL, "-o", path], 1, "no room left in", "No space left",
        "the driver of a CPU compiles through files there", inside=inside, before=before + fill,
        XDG_CACHE_HOME=small, POCL_CACHE_DIR=None)
    check(not os.path.exists(path + ".journal") or '"failed"' not in open(path + ".journal").read(),
          "no candidate is said to have failed")
    run(["verify", "--device", device, "naive"], 1, "the driver could not build a kernel",
        "no room left in", inside=inside, before=before + fill, XDG_CACHE_HOME=small,
        POCL_CACHE_DIR=None)


test_pipes()
test_named_links()
test_limit()
device = cpu_device(MMTUNE, environment)
if device:
    test_tuning(device)
    test_unwritable_cache(device)
else:
    print("left out: there is no OpenCL CPU device")
environment = real
device = cpu_device(MMTUNE, environment)
if device:
    test_full_disk(device)
else:
    print("left out: there is no OpenCL CPU device; pocl-opencl-icd is one")
end("files from outside", folder)
