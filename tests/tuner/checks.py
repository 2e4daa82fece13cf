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


def tried(program, words, status, *said, quiet=(), env=None, cwd=None, inside=()):
    """Runs the program, behind the words of `inside`; checks its exit status, that it says all that and nothing of
    `quiet`. Returns what has ended."""
    done = subprocess.run([*inside, program, *words], capture_output=True, text=True, env=env, cwd=cwd,
                          stdin=subprocess.DEVNULL)
    both = done.stdout + done.stderr
    wrong = [f"does not say {text!r}" for text in said if text not in both]
    wrong += [f"says {text!r}" for text in quiet if text in both]
    if done.returncode != status:
        wrong.append(f"exit status is {done.returncode}, should be {status}")
    check(not wrong, f"{os.path.basename(program)} {' '.join(words)}: {'; '.join(wrong)}\n{both[:20000]}")
    return done


def expect(*call, **more):
    """The same; returns what was printed."""
    return tried(*call, **more).stdout


def has_studies(program):
    """Whether mmtune-study is there, which Meson's -Dstudies=false leaves out."""
    return subprocess.run([program, "study"], capture_output=True, check=False).returncode == 0


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(folder, name, text):
    """Writes a file; returns its path."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def load(path):
    return json.loads(read(path))


def save(folder, name, value):
    """Writes a file of JSON; returns its path."""
    return write(folder, name, json.dumps(value))


def journal(path):
    """The lines of a profile's journal behind its header, each of which is whole."""
    header, *lines, rest = read(path + ".journal").split("\n")
    check(json.loads(header) and not rest, f"{path}.journal ends with a whole line")
    return [json.loads(line) for line in lines]


def write_journal(path, lines):
    """The same header, and those lines."""
    header = read(path + ".journal").split("\n")[0]
    write("", path + ".journal", "".join(line + "\n" for line in [header, *map(json.dumps, lines)]))


def is_candidate(line):
    """Whether a run tried that, rather than confirm or learn something."""
    return not any(line.get(word) for word in ("final", "calibration", "whole"))


def check_tried_once(lines):
    """Only what failed, hung or crashed is tried twice, and what was killed from outside."""
    seen = {}
    for line in lines:
        key = line["problem"], line["configuration"], bool(line.get("whole"))
        last = seen.get(key)
        again = last and (last["status"] == "killed" or last.get("attempt", 1) == 1 and
                          last["status"] in ("failed", "hung", "crashed"))
        attempt = "whole" in line or line.get("attempt") == (last or {}).get("attempt", 1) + 1
        check(not last or again and attempt, f"tried twice: {last}, {line}")
        seen[key] = line


def name_of(entry):
    """The configuration of an entry of a profile, as journals have it."""
    return " ".join([entry["template"], *(f"{knob}={value}" for knob, value in entry["knobs"].items())])


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
        text, planted = re.subn(r"(\nvoid mmt_\w+\([^)]*\)\n\{\n)", lambda m: m[1] + fault,
                                read(f"{templates}/{name}.cl"))
        check(planted == 1, f"{name}.cl has one kernel to plant into")
        write(templates, name + ".cl", text)
    return templates


def add_model(path):
    """Adds a model of the first entry's family: runs of a few candidates learn too little for one."""
    profile = load(path)
    kind = profile["entries"][0]["problem"]["type"]
    names = {"features": "m n k batch law blocks fullness grid steps bytes workspace launches tile_m tile_n filling "
                         "threads shared fit alignment trans_a trans_b type template stages splits cluster",
             "types": "f32 f64", "templates": "naive panel"}
    profile["models"] = [{"family": kind, "law": 2, "shapes": 24, "residual": 0.1, "heeded": 0.7, **names, "trees": []}]
    save("", path, profile)
