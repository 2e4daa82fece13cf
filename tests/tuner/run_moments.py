#!/usr/bin/env python3
"""Bad moments of the machine, from outside: run_moments.py MMTUNE STAND_IN PART [OPTION...]

  kills LIBRARY [N [SEED]]
                 kill -9 at N random instants of all phases, half of them on workers; default: 6. LIBRARY is a BLAS,
                 that verdicts are beside
  full LIBRARY N a disk that is full at N places of a run, and under the cache alone; the
                 library is emulation/fake/full_disk.c
  spaces         two PID namespaces share a cache and its folders; root alone can make them
  finals         workers that die in the finals
  words          Ctrl-C is answered by every verb; journals that are deleted

All but a part of `words` tune the CPU of emulation/fake/opencl, in the folder STAND_IN; where that is empty, an
OpenCL device of the machine, and exit 77 where there is none of the CPU kind. `full` has a place on one, too."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from checks import (add_model, check, check_tried_once, cpu_device, end, expect, has_studies, is_candidate, load,
                    name_of, need_cpu_device, no_stand_in, skip, stand_in, wait_for_handler, write)

MMTUNE, STAND_IN, PART, *OPTIONS = os.path.abspath(sys.argv[1]), *sys.argv[2:]
folder = tempfile.mkdtemp(prefix="mmtune-moments-")
real = no_stand_in(STAND_IN, dict(os.environ, XDG_CACHE_HOME=folder + "/cache", XDG_DATA_HOME=folder + "/data"))


def without_cache(there):
    """Of caches that a run makes and removes."""
    return {name: value for name, value in there.items() if name != "POCL_CACHE_DIR"}


with_cache = stand_in(STAND_IN, real)
environment = without_cache(with_cache) if PART in ("kills", "full", "spaces") else with_cache
SHAPES = ["96x80x64", "80x96x64", "64x96x80", "72x72x72", "48x96x96", "88x64x96", "96x96x96", "56x88x72"]


def tune_words(device, path, shape, budget, *more):
    return ["--device", device, "-o", path, "--type", "f32", "--shape", shape, "--template", "tiled",
            "--search", "random", "--budget", budget, "--json", *more]


def start(words, **more):
    return subprocess.Popen([MMTUNE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment, start_new_session=True, **more)


# ---- what was written -----------------------------------------------------------------------

def lines_of(path):
    """The whole lines of a journal, as bytes; what a crash cut is no line."""
    try:
        with open(path + ".journal", "rb") as f:
            return f.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def records(path):
    return [json.loads(line) for line in lines_of(path)[1:]]


def check_journal(path, before):
    """Nothing is lost, and nothing is repeated but what may be."""
    now = lines_of(path)
    check(now[:len(before)] == before, f"{path}: {len(before)} lines stood there, and {len(now)} do now")
    check_tried_once(line for line in records(path) if not line.get("final"))
    return now


def check_profile(path, problems=None):
    expect(MMTUNE, ["show", path], 0, env=environment)
    entries = load(path)["entries"]
    timed = {(line["problem"].split()[-1], line["configuration"]) for line in records(path)
             if line["status"] == "timed"}
    for entry in entries:
        name = name_of(entry)
        shape = "x".join(str(entry["problem"][size]) for size in "mnk")
        check((shape, name) in timed, f"the winner {name} of {shape} was timed: {timed}")
    check(problems is None or len(entries) == problems, f"{path} has {len(entries)} entries")
    return entries


def finish(device, path, shape, env=None):
    expect(MMTUNE, tune_words(device, path, shape, "2c"), 0, env=env or environment)


# ---- kills ----------------------------------------------------------------------------------

def workers_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def role_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")[2].decode()
    except (OSError, IndexError):
        return ""


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def record_words(device, path, recording):
    """All that a run may do: verdicts of a program's calls, a search, finals, fits."""
    return ["--device", device, "-o", path, "--recorded", recording, "--template", "tiled", "--search", "random",
            "--budget", "3c", "--json"]


def kill_in_phase(words, dice, most):
    """A run in which a worker, or the tuner, is killed at some time behind one of its events. Returns whom it met, and
    the event; nobody where the run was over."""
    process = start(words)
    wanted, event = dice.randrange(most), "start"
    for number, line in enumerate(process.stdout):
        event = json.loads(line)["event"]
        if number == wanted:
            break
    time.sleep(dice.expovariate(3))
    mine = workers_of(process.pid)
    met = None
    if dice.random() < 0.5:
        met = "worker" if mine and kill(dice.choice(mine)) else None
    elif process.poll() is None:
        process.kill()
        met = "tuner"
    said = process.communicate()[1]
    check(process.returncode in (0, -signal.SIGKILL), f"ended with {process.returncode}: {said}")
    return met, event


def test_kills():
    library, count = os.path.abspath(OPTIONS[0]), int(OPTIONS[1]) if len(OPTIONS) > 1 else 6
    device, dice = need_cpu_device(MMTUNE, environment), random.Random(int(OPTIONS[2]) if len(OPTIONS) > 2 else 1)
    met, kept = {}, {}
    runs = 0
    while sum(met.values()) < count:
        shape = SHAPES[runs // 40 % len(SHAPES)]
        path = f"{folder}/{shape}.json"
        recording = folder + "/calls.jsonl"
        write("", recording, json.dumps({"call": "gemm f32 nn " + shape, "client": "blas", "timed": 10, "ns": 10**9,
                                         "library": os.path.basename(library), "path": library,
                                         "fates": {"recorded": 10}}) + "\n")
        words = record_words(device, path, recording)
        whom, event = kill_in_phase(words, dice, 12)
        if whom:
            met[whom, event] = met.get((whom, event), 0) + 1
        runs += 1
        kept[path] = check_journal(path, kept.get(path, []))
    for path, before in kept.items():
        finish(device, path, os.path.basename(path)[:-len(".json")])
        check_journal(path, before)
        check_profile(path, 1)
        bad = [line for line in records(path) if line["status"] in ("failed", "crashed", "hung")]
        check(not bad, f"a kill from outside is no kernel's fault: {bad}")
    left = os.listdir(folder + "/cache/mmtune")
    check(not [name for name in left if not name.endswith((".bin", ".tmp")) and name != "compiling"],
          f"folders are swept away: {left}")
    for (whom, event), times in sorted(met.items()):
        print(f"{times} times the {whom} behind {event}")
    print(f"{sum(met.values())} kills in {runs} runs; {sum(len(lines) - 1 for lines in kept.values())} results stand")


# ---- full disks -----------------------------------------------------------------------------

def with_full_disk(library, on, after):
    counter = folder + "/counter"
    with open(counter, "wb") as f:
        f.write(bytes(8))
    return dict(environment, LD_PRELOAD=library, FULL_FOLDER=on, FULL_AFTER=str(after), FULL_COUNTER=counter)


def calls():
    with open(folder + "/counter", "rb") as f:
        return int.from_bytes(f.read(), sys.byteorder)


def fill(device, library, name, on, after):
    """A run on a disk that is full after so many calls; then the same with room."""
    path = f"{folder}/{name}/p.json"
    os.makedirs(os.path.dirname(path))
    os.makedirs(on, exist_ok=True)
    there = dict(with_full_disk(library, on, after), XDG_CACHE_HOME=f"{folder}/{name}/cache")
    done = subprocess.run([MMTUNE, *tune_words(device, path, SHAPES[0], "3c")], capture_output=True, text=True,
                          env=there)
    before = lines_of(path)
    return path, done, before


def gone(device):
    """The folder of compilers is removed while they are at work."""
    path = folder + "/gone.json"
    process = subprocess.Popen([MMTUNE, *tune_words(device, path, SHAPES[0], "60c")], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    for line in process.stdout:
        if '"result"' in line:
            break
    before = lines_of(path)
    for name in os.listdir(folder + "/cache/mmtune"):
        if name.startswith("pocl-"):
            os.rename(f"{folder}/cache/mmtune/{name}", folder + "/gone")  # at once, whatever is written there
    out, said = process.communicate()
    check(process.returncode == 1 and "cannot be written: No such file or directory" in said,
          f"a folder that is gone is told: {process.returncode}, {out[-3000:]}, {said}")
    check({line["status"] for line in records(path)} == {"timed"}, f"no kernel is blamed: {records(path)}")
    finish(device, path, SHAPES[0], with_cache)
    check_journal(path, before)
    print(f"a folder that is gone: {said.strip()}", flush=True)


def test_full():
    global environment, with_cache
    device, library = need_cpu_device(MMTUNE, environment), os.path.abspath(OPTIONS[0])
    _, done, _ = fill(device, library, "dry", folder + "/dry", 1 << 40)
    total = calls()
    check(done.returncode == 0 and total > 50, f"with room it ends well: {done.returncode}, {total} calls")
    gone(device)
    # All on one disk, at instants of the run up to two thirds of its calls.
    count = int(OPTIONS[1])
    places = [(f"at-{i}", "", i * total * 2 // (3 * count)) for i in range(count)]
    # The cache alone: the compilers are the first to fail, the journal has room.
    for name, under, after in [*places, ("compilers", "/cache", total // 4)]:
        fill_and_go_on(device, library, name, under, after)
    if STAND_IN and cpu_device(MMTUNE, real):
        with_cache, environment = real, without_cache(real)
        fill_and_go_on(cpu_device(MMTUNE, real), library, "pocl", "/cache", 60)


def fill_and_go_on(device, library, name, under, after):
    path, done, before = fill(device, library, name, f"{folder}/{name}{under}", after)
    said = done.stdout + done.stderr
    check(done.returncode == 1, f"{name}, full after {after}: ends with {done.returncode}: {said}")
    check("No space left on device" in done.stderr, f"{name}, full after {after}: says {said}")
    check(all(json.loads(line)["status"] not in ("failed", "crashed") for line in before[1:]),
          f"{name}, full after {after}: blames kernels: {before}")
    shutil.rmtree(f"{folder}/{name}/cache", ignore_errors=True)
    finish(device, path, SHAPES[0], with_cache)
    check_journal(path, before)
    check_profile(path, 1)
    print(f"{name}, full after {after} calls: {done.stderr.strip()}", flush=True)


# ---- two PID namespaces ----------------------------------------------------------------------

def folders():
    """Of compilers that are at work."""
    path = folder + "/cache/mmtune"
    return [name for name in (os.listdir(path) if os.path.exists(path) else []) if name.startswith("pocl-")]


def test_spaces():
    device = need_cpu_device(MMTUNE, environment)
    alone = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        skip("PID namespaces cannot be made here; root can")
    processes = []
    for shape, forks in zip(SHAPES, (30, 0)):  # no process of the second one has the first one's number
        path = f"{folder}/{shape}.json"
        shell = ["sh", "-c", "(:);" * forks + '"$@"; exit $?', "sh"]
        processes.append(subprocess.Popen(
            [*alone, *shell, MMTUNE, *tune_words(device, path, shape, "4c", "--limit", "60")], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=environment))
        while not folders() and processes[-1].poll() is None:  # the second makes its own while the first is at work
            time.sleep(0.01)
    for shape, process in zip(SHAPES, processes):
        path = f"{folder}/{shape}.json"
        said = process.communicate()[0]
        check(process.returncode == 0, f"both runs end well: {process.returncode}, {said[-2000:]}")
        statuses = [line["status"] for line in records(path)]
        check(set(statuses) == {"timed"}, f"no kernel fails: {statuses}")
        check_profile(path, 1)
    check(not folders(), f"both have cleared up: {folders()}")


# ---- the finals ------------------------------------------------------------------------------

def test_finals():
    """Every worker that measures is killed as soon as the search is over: in one run of several, where
    the finals are over before they are seen."""
    device, kills = need_cpu_device(MMTUNE, environment), 0
    while not kills:
        path = tempfile.mkdtemp(dir=folder) + "/p.json"
        kills = kill_in_finals(device, path)
    check_profile(path, 1)
    before = lines_of(path)
    check(not [line for line in records(path) if line["status"] != "timed"], "no kernel is blamed")
    finish(device, path, SHAPES[0])
    check_journal(path, before)


def kill_in_finals(device, path):
    with (open(folder + "/events", "w", encoding="utf-8") as out,
          open(folder + "/events", encoding="utf-8") as told):
        process = subprocess.Popen([MMTUNE, *tune_words(device, path, SHAPES[0], "4c")], stdout=out,
                                   stderr=subprocess.PIPE, text=True, env=environment)
        events, kills = "", 0
        while process.poll() is None and '"winner"' not in events:
            events += told.read()
            for pid in workers_of(process.pid) if events.count('"result"') == 4 else []:
                if role_of(pid) == "measure":
                    kills += kill(pid)
            time.sleep(0.05)
        said = process.communicate()[1]
        events += told.read()
    check('"winner"' in events, f"there is a winner after {kills} kills: {events}")
    print(f"{kills} kills; {said.strip()}", flush=True)
    return kills


# ---- words -----------------------------------------------------------------------------------

def interrupt(words, wait_for=None):
    """Sends Ctrl-C once the program hears it, or has said something; its end and its words."""
    process = subprocess.Popen([MMTUNE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment, cwd=folder)
    if wait_for:
        for line in process.stdout:
            if wait_for in line:
                break
    else:
        wait_for_handler(process)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate()
    return process.returncode, out + said


def interrupt_while_writing(words):
    """Of verbs that are done at once: what they write into is a pipe that is full, which nobody reads."""
    pipe = folder + "/pipe"
    os.mkfifo(pipe)
    both = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        while os.write(both, bytes(1)):
            pass
    except BlockingIOError:
        os.set_blocking(both, True)
    process = subprocess.Popen([MMTUNE, *[pipe if word == "PIPE" else word for word in words]], stdout=both,
                               stderr=subprocess.PIPE, text=True, env=environment)
    wait_for_handler(process)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    os.close(both)
    os.remove(pipe)
    return process.returncode, said


def test_words():
    root = os.path.join(os.path.dirname(__file__), "../..")
    cards = [f"{root}/profiles/papers/{name}.json" for name in ("geforce-gtx-1060", "quadro-k5000")]
    profile = root + "/tests/data/profiles/good/small.json"
    for words in (["show", profile], ["diff", *cards], ["merge", profile, profile, "-o", "PIPE"]):
        code, said = interrupt_while_writing(words)
        check(code == 130 and f"mmtune {words[0]}: interrupted; " in said, f"{words} is answered: {code}, {said}")
    device, path = need_cpu_device(MMTUNE, environment), folder + "/p.json"
    tune = tune_words(device, path, SHAPES[0], "1h")
    for words, wait_for in ((tune, '"result"'), (["verify", "--device", device, "--template", "tiled", "--type", "f32",
                                           "--sample", "100000"], "right"),
                            (["bench", "--device", device, "--type", "f32", "--against", "none", "--suite",
                              "squares"], "f32")):
        code, said = interrupt(words, wait_for=wait_for)
        check(code == 130 and "interrupted" in said, f"{words} is answered: {code}, {said}")
    check_profile(path, 1)
    add_model(path)
    code, said = interrupt(["regret", "--device", device, "--profile", path, "--budget", "1"])
    check(code == 130 and "mmtune regret: interrupted; " in said, f"regret is answered: {code}, {said}")
    if has_studies(MMTUNE):
        code, said = interrupt(["study", "addition", "--device", device])
        check(code == 130 and "mmtune study: interrupted; " in said, f"study is answered: {code}, {said}")
    deleted(device)


def deleted(device):
    """While a run goes on, and between two runs."""
    path = folder + "/q.json"
    process = subprocess.Popen([MMTUNE, *tune_words(device, path, SHAPES[0], "3c")], stdout=subprocess.PIPE,
                               text=True, env=environment)
    said, before = "", []
    for line in process.stdout:
        said += line
        if '"result"' in line and not before:
            before = lines_of(path)
            os.remove(path + ".journal")
    check(process.wait() == 0 and "was deleted meanwhile; it is written anew" in said, f"a deletion is told: {said}")
    if not check(os.path.exists(path + ".journal"), "the journal is there again"):
        return
    now = check_journal(path, before)
    check(len([line for line in records(path) if is_candidate(line)]) == 3, f"all are there: {now}")
    os.remove(path + ".journal")
    expect(MMTUNE, tune_words(device, path, SHAPES[0], "1c"), 0, "is missing", env=environment)


{"kills": test_kills, "full": test_full, "spaces": test_spaces, "finals": test_finals, "words": test_words}[PART]()
end(f"moments, {PART}", folder)
