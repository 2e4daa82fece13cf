"""What the tests of the program from outside share: a count of checks, and how a test ends."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

failures, count = [], 0


def check(held, what):
    """Counts a check; says at once what does not hold."""
    global count
    count += 1
    if not held:
        failures.append(what)
        print("not so:", what, file=sys.stderr, flush=True)
    return held


def raises(kind, words, call):
    """Checks that a call raises that kind of exception, which says so."""
    try:
        call()
        check(False, f"refused: {words}")
    except kind as error:
        check(words in str(error), f"{words!r} is said: {type(error).__name__} {error}")


def wait_for_handler(process):
    """Until Ctrl-C no longer ends the process unheard, or it has ended."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as f:
            caught = re.search(r"^SigCgt:\s*(\w+)$", f.read(), re.M)
        if caught and int(caught[1], 16) & 1 << signal.SIGINT - 1:
            return
        time.sleep(0.01)


def expect(program, words, status, *said, env=None):
    """Runs the program, checks its exit status and that it says all that; returns its stdout."""
    done = subprocess.run([program, *words], capture_output=True, text=True, env=env)
    both = done.stdout + done.stderr
    wrong = [f"does not say {text!r}" for text in said if text not in both]
    if done.returncode != status:
        wrong.append(f"exit status is {done.returncode}, should be {status}")
    check(not wrong, f"{os.path.basename(program)} {' '.join(words)}: {'; '.join(wrong)}\n{both}")
    return done.stdout


def has_studies(program):
    """Whether mmtune-study is there, which Meson's -Dstudies=false leaves out."""
    return subprocess.run([program, "study"], capture_output=True, check=False).returncode == 0


def write(folder, name, text):
    """Writes a file; returns its path."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def end(name, folder=None):
    """Says how many checks there were, and leaves: 0 where all held and there was one."""
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{name}: {count} checks, {len(failures)} failed")
    sys.exit(1 if failures or not count else 0)


def make_home(**variables):
    """A folder of the test's own, and an environment in which nothing else is known of any device."""
    folder = tempfile.mkdtemp(prefix="mmtune-test-")
    environment = dict(os.environ, XDG_CACHE_HOME=folder + "/cache", XDG_DATA_HOME=folder + "/data",
                       XDG_DATA_DIRS=folder + "/none", **variables)
    for name in ("MMTUNE_TEMPLATE_DIR", "MMTUNE_PROFILE_PATH"):
        environment.pop(name, None)
    return folder, environment


def no_stand_in(folder, environment=os.environ):
    """The environment with the machine's own OpenCL devices: Meson puts on the path what a test depends on."""
    folders = [at for at in environment.get("LD_LIBRARY_PATH", "").split(":") if at and at != folder]
    return dict(environment, LD_LIBRARY_PATH=":".join(folders))


def stand_in(folder, environment=os.environ):
    """The environment with the CPU of emulation/fake/opencl as its one OpenCL device, whose kernels are not
    compiled. Without a folder, and where it was not built, the machine's own."""
    there = no_stand_in(folder, environment)
    if folder:
        there["LD_LIBRARY_PATH"] = f"{folder}:{there['LD_LIBRARY_PATH']}".rstrip(":")
        there.pop("POCL_CACHE_DIR", None)
    return there


def enter(environment):
    """What is started from here on has that environment, unless another is given."""
    os.environ.clear()
    os.environ.update(environment)


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def devices(mmtune, environment=None):
    done = subprocess.run([mmtune, "devices", "--json"], capture_output=True, text=True, env=environment)
    return json.loads(done.stdout or "[]")


def cpu_device(mmtune, environment=None):
    """The id of the first OpenCL device that is a CPU, or None."""
    for device in devices(mmtune, environment):
        if device["backend"] == "opencl" and device["kind"] == "cpu":
            return device["id"]
    return None


def need_cpu_device(mmtune, environment=None):
    return cpu_device(mmtune, environment) or skip("there is no OpenCL CPU device; pocl-opencl-icd is one")


def plant_templates(root, folder, fault, *names):
    """A new folder of templates, with a fault at the beginning of the kernels that are named."""
    templates = tempfile.mkdtemp(prefix="templates-", dir=folder)
    shutil.copytree(root + "/templates/kernels", templates, dirs_exist_ok=True)
    for name in names:
        with open(f"{templates}/{name}.cl", encoding="utf-8") as f:
            text = f.read()
        text, planted = re.subn(r"(\nvoid mmt_\w+\([^)]*\)\n\{\n)", lambda m: m[1] + fault, text)
        check(planted == 1, f"{name}.cl has one kernel to plant into")
        with open(f"{templates}/{name}.cl", "w", encoding="utf-8") as f:
            f.write(text)
    return templates


def add_model(path):
    """Adds a model of the first entry's family: runs of a few candidates learn too little for one."""
    with open(path, encoding="utf-8") as f:
        profile = json.load(f)
    kind = profile["entries"][0]["problem"]["type"]
    names = {"features": "m n k batch law blocks fullness grid steps bytes workspace launches tile_m tile_n filling "
                         "threads shared fit alignment trans_a trans_b type template stages splits cluster",
             "types": "f32 f64", "templates": "naive panel"}
    profile["models"] = [{"family": kind, "law": 2, "shapes": 24, "residual": 0.1, "heeded": 0.7, **names, "trees": []}]
    with open(path, "w", encoding="utf-8") as f:
        json.dump(profile, f)
