#!/usr/bin/env python3
"""Programs of cuBLAS under `mmtune run`, recorded and then served: run_recorded.py MMTUNE PROGRAMS MAKER FAKES CARD

PROGRAMS is the folder of the clients, MAKER makes a profile with verdicts, FAKES and CARD are the folders of a
cuBLAS and of a card that are not there. Their results are exact, so that all that a client prints is the same
whoever computes it; the stand-in tells how often each of its functions was called."""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from os.path import abspath, dirname
sys.path.insert(0, dirname(dirname(dirname(abspath(__file__)))) + "/tuner")
from checks import check, end, make_home, write  # noqa: E402

MMTUNE, PROGRAMS, MAKER, FAKES, CARD = sys.argv[1:6]
folder, environment = make_home(MMTUNE_NVRTC="")
environment.update(XDG_STATE_HOME=folder + "/state", MMT_FAKE_CARDS=write(folder, "cards", "0000:65:00.0 50 2000 0\n"),
                   MMT_FAKE_CUBLAS_US="100", MMT_FAKE_CUBLAS_LOG=folder + "/log")
for name in [n for n in environment if n.startswith("MMTUNE_R") or n in ("LD_PRELOAD", "LD_AUDIT")]:
    del environment[name]
# A build may have put the folder of the fakes on the path already.
others = [f for f in environment.get("LD_LIBRARY_PATH", "").split(":")
          if f and not (os.path.exists(f) and os.path.samefile(f, FAKES))]
environment["LD_LIBRARY_PATH"] = ":".join([CARD, CARD + "/whole", FAKES, *others])

CLIENTS = {
    "linked": [PROGRAMS + "/products"],
    "dlsym": [PROGRAMS + "/products_dlsym"],
    "extension": [PROGRAMS + "/host", PROGRAMS + "/extension.so"],
}
ROUNDS = 3
# What a client multiplies, as the report lists it, and by whom cuBLAS computes it.
PRODUCTS = {
    "gemm f32 nt 20x24x28": "cublasSgemm_v2",
    "gemm f32 tn 20x24x28": "cublasSgemm_v2_64",
    "gemm f32 nn 20x24x28": "cublasGemmEx",
    "gemm f32 nn 20x24x28 batch=3": "cublasSgemmStridedBatched",
    "gemm f64 nn 20x24x28": "cublasDgemm_v2",
    "gemm f32 nn 20x24x28 bias=column activation=relu": "cublasLtMatmul",
}


def run(*words):
    """What is printed, how often the stand-in computed by each function, and what is told on stderr."""
    if os.path.exists(folder + "/log"):
        os.remove(folder + "/log")
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    check(done.returncode == 0, f"{words} ends with {done.returncode}: {done.stderr}")
    counts = dict.fromkeys(PRODUCTS.values(), 0)
    with open(folder + "/log", encoding="utf-8") as f:
        for name, calls in (line.split() for line in f):
            if name in counts:
                counts[name] += int(calls)
    return done.stdout, counts, done.stderr


def listed(said):
    """The calls of each product in the report's table."""
    found = re.findall(r" (\d+) +\S+(?: us| ms| s)?  [^(]*?  (gemm .*?)  \(", said)
    return {problem: int(calls) for calls, problem in found}


def test_record(name, words, processes):
    """Recording changes nothing, whichever way a client reaches cuBLAS, and lists all products."""
    out, counts, _ = run(*words)
    recorded, reached, said = run(MMTUNE, "run", "--record", "--", *words)
    calls = processes * ROUNDS
    check(recorded == out and reached == counts, f"{name}: the same is computed by the same: {reached}, {counts}")
    check(set(counts.values()) == {calls}, f"{name}: {counts}")
    check(f"recorded {calls * len(PRODUCTS)} calls of {len(PRODUCTS)} kinds on cuda-card-that-is-not-there; "
          "next: mmtune --device 0 --recorded\n" in said, f"{name}: {said}")
    check(listed(said) == dict.fromkeys(PRODUCTS, calls), f"{name}: {listed(said)}\n{said}")
    check(listed(tell_again(said)) == listed(said), f"{name}: {tell_again(said)}\n{said}")


def tell_again(said):
    """What `mmtune recorded` says of a run, by the words that its report ends with."""
    again = re.search(r"\n  these calls again: mmtune (recorded --run \S+)\n$", said)
    return subprocess.run([MMTUNE, *(again[1].split() if again else [])], capture_output=True, text=True,
                          env=environment, check=False).stdout


def test_serve():
    """What ours is faster at is taken over; the rest passes, and the report says why."""
    faster = ["gemm f32 nt 20x24x28", "gemm f32 nn 20x24x28", "gemm f32 nn 20x24x28 batch=3",
              "gemm f32 nn 20x24x28 bias=column activation=relu"]
    verdicts = [f"{'cublaslt' if 'bias' in problem else 'cublas'},{problem},0,0,naive,cuBLAS 13.1.0,,10,20"
                for problem in faster]
    verdicts.append("cublas,gemm f32 tn 20x24x28,0,0,naive,cuBLAS 13.1.0,,20,10")
    subprocess.run([MAKER, *verdicts], check=True, env=environment)
    for name, words in CLIENTS.items():
        out, _, _ = run(*words, str(ROUNDS))
        served, reached, said = run(MMTUNE, "run", "--wait", "23h", "--", *words, str(ROUNDS))
        check(served == out, f"{name} prints the same:\n{served}\n{out}")
        check({problem for problem, function in PRODUCTS.items() if not reached[function]} == set(faster),
              f"{name}: what reached cuBLAS: {reached}\n{said}")
        taken, calls = ROUNDS * len(faster), ROUNDS * len(PRODUCTS)
        check(f"took over {taken} of {calls} calls on cuda-card-that-is-not-there" in said and
              f"which saved {10 * taken}.00 us" in said, f"{name}: {said}")
        check(f"passed on: {ROUNDS} no verdict, {ROUNDS} library faster\n" in said, f"{name}: {said}")


def test_build():
    """What is not compiled yet is compiled beside the program, as its processes look it up."""
    begun, cache = folder + "/begun", environment["XDG_CACHE_HOME"]
    environment.update(MMT_FAKE_NVRTC_MS="1", MMT_FAKE_NVRTC_LOG=begun)
    shutil.rmtree(cache)
    waits = f"until [ $(ls {cache}/mmtune 2>/dev/null | grep -c 'bin$') -ge 6 ]; do sleep 0.05; done"
    done = subprocess.run([MMTUNE, "run", "--", "sh", "-c", waits], capture_output=True, text=True, env=environment,
                          check=False)
    check(done.returncode == 0 and os.path.exists(begun), f"{done.returncode} {done.stderr}")
    os.remove(begun)
    _, _, said = run(MMTUNE, "run", "--wait", "23h", "--", *CLIENTS["linked"], str(ROUNDS))
    check(not os.path.exists(begun), "nothing is compiled again")
    check(re.search(r"\n  kernels for 4 kinds of calls were ready \d+\.\d+ m?s after the first handle\n", said), said)
    del environment["MMT_FAKE_NVRTC_MS"], environment["MMT_FAKE_NVRTC_LOG"]


def tune():
    """`mmtune --recorded` until it has judged what was recorded; that verdict."""
    words = [MMTUNE, "--json", "--device", "0", "--recorded", "--template", "naive", "--budget", "2c"]
    verdicts = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as it:
        for event in map(json.loads, it.stdout):
            if event["event"] == "verdict":
                verdicts.append(event)
                it.send_signal(signal.SIGINT)
    check(it.returncode in (0, 130) and len(verdicts) == 1, f"tuning ends with {it.returncode}: {verdicts}")
    return verdicts[0]


def test_commands():
    """Record, tune, run: by the card's clock ours takes a millisecond, and the library two."""
    words = [PROGRAMS + "/products", str(ROUNDS), "one"]
    shutil.rmtree(folder + "/state", ignore_errors=True)
    shutil.rmtree(folder + "/data")
    environment["MMT_FAKE_CUBLAS_US"] = "2000"
    out, _, said = run(MMTUNE, "run", "--record", "--", *words)
    check(f"recorded {ROUNDS} calls of 1 kind on" in said, said)
    tune()
    served, reached, said = run(MMTUNE, "run", "--wait", "23h", "--", *words)
    check(served == out and not any(reached.values()), f"all is taken over, and is the same: {reached}")
    check(f"took over {ROUNDS} of {ROUNDS} calls" in said and f"which saved {ROUNDS}.000 ms" in said, said)
    check(f"{ROUNDS} taken" in tell_again(said), said)


# ---- what stands in the way of a recording ---------------------------------------------------------------

STATE, STEM = folder + "/state/mmtune", "cuda-card-that-is-not-there"
FILE = f"{STATE}/{STEM}.jsonl"
locks = []


def lock():
    locks.append(open(FILE, "a", encoding="utf-8"))  # pylint: disable=consider-using-with
    fcntl.flock(locks[-1], fcntl.LOCK_EX)


def mount(*options):
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "none", STATE], capture_output=True, check=False)
    return None if done.returncode else lambda: subprocess.run(["umount", "-l", STATE], check=True)


def fill(place):
    with open(place + "/filler", "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError:
            pass


def full():
    undo = mount("-o", "size=256k,mode=700")
    if undo:
        fill(STATE)
    return undo


def another_user(path):
    os.chown(path, 12345, -1)


# Of the file: the counts stay, and are added when nothing stands in the way any more.
OF_THE_FILE = {"a folder": lambda: os.mkdir(FILE), "a pipe": lambda: os.mkfifo(FILE), "locked": lock,
               "a link": lambda: os.symlink(folder + "/elsewhere", FILE),
               "a link that leads nowhere": lambda: os.symlink("/nowhere/at/all", FILE)}
# Of its folder: nothing can be kept.
OF_THE_FOLDER = {"a file": lambda: (os.rmdir(STATE), write(folder + "/state", "mmtune", "")),
                 "a link into nowhere": lambda: (os.rmdir(STATE), os.symlink("/nowhere/at/all", STATE)),
                 "for others to write": lambda: os.chmod(STATE, 0o777)}
if os.geteuid() == 0:
    OF_THE_FILE["of another user"] = lambda: (write(STATE, STEM + ".jsonl", ""), another_user(FILE))
    OF_THE_FOLDER.update({"a folder of another user": lambda: another_user(STATE), "read-only": lambda: mount("-o", "ro"),
                          "full": full})


def clear():
    for it in locks:
        it.close()
    locks.clear()
    for path in FILE, STATE:
        if os.path.islink(path) or (os.path.exists(path) and not os.path.isdir(path)):
            os.remove(path)
    if os.path.isdir(FILE):
        os.rmdir(FILE)


def test_obstacles():
    words = [PROGRAMS + "/products", str(ROUNDS), "one"]
    for what, put in [*OF_THE_FILE.items(), *OF_THE_FOLDER.items()]:
        shutil.rmtree(folder + "/state", ignore_errors=True)
        os.makedirs(STATE, 0o700)
        undo = put()
        if undo is None and what in ("read-only", "full"):
            continue  # no file system may be mounted here
        _, _, said = run(MMTUNE, "run", "--record", "--", *words)
        check(f"recorded {ROUNDS} calls of 1 kind on {STEM}" in said, f"{what}: {said}")
        check(said.count(STATE) >= 2 and "not in the recording: " in said and "no call" not in said, f"{what}: {said}")
        if callable(undo):
            undo()
        clear()
        if what in OF_THE_FILE:
            again = subprocess.run([MMTUNE, "recorded"], capture_output=True, text=True, env=environment, check=False)
            check(f"{ROUNDS} recorded" in again.stdout, f"{what}, gone: {again}")
            check(not os.listdir(STATE + "/counts"), f"{what}: counts are left")
    shutil.rmtree(folder + "/state", ignore_errors=True)


for client, command in CLIENTS.items():
    test_record(client, [*command, str(ROUNDS)], 1)
test_record("fork", [*CLIENTS["linked"], str(ROUNDS), "fork"], 2)
test_record("several at once", ["sh", "-c", f"for i in 1 2 3 4; do {CLIENTS['dlsym'][0]} {ROUNDS} & done; wait"], 4)
test_serve()
test_build()
test_obstacles()
test_commands()
end("programs recorded and served", folder)
