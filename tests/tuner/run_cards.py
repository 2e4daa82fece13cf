#!/usr/bin/env python3
"""Several cards beneath one command, and shards: run_cards.py MMTUNE FAKES STAND_IN

FAKES holds a CUDA driver whose kernels run on the host (tests/emulation/fake/card), STAND_IN an OpenCL CPU that is not
there (tests/emulation/fake/opencl)."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

from checks import check, cpu_device, end, expect, is_candidate, journal, load, make_home, stand_in, write

MMTUNE, FAKES, STAND_IN = sys.argv[1:4]
folder, plain = make_home(MMTUNE_NVRTC="")
environment = dict(plain, LD_LIBRARY_PATH=FAKES, MMT_FAKE_CARDS=folder + "/cards", MMT_FAKE_UUIDS="1")
write(folder, "cards", "0000:65:00.0 50 2000 0\n0000:66:00.0 50 2000 0\n")
SHAPES = ["24x40", "40x24", "32x48", "48x32"]


def command(*words, budget="12c"):
    return [MMTUNE, "--op", "heat2d", "--type", "f32", "--shape", ",".join(SHAPES), "--budget", budget,
            "--limit", "900", "--json", *words]


def tuner_of(parent, card):
    """The process whose measuring worker has the card."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, encoding="utf-8") as f:
                words = f.read().split("\0")
            with open(path.replace("cmdline", "stat"), encoding="utf-8") as f:
                above = int(f.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{above}/stat", encoding="utf-8") as f:
                top = int(f.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[1:4] == ["--worker", "measure", card] and top == parent:
            return above
    return None


def run(words, on_event=lambda event, process: None, env=environment):
    """The exit status and the events of a run; `on_event` sees each as it comes."""
    events = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        for line in process.stdout:
            events.append(json.loads(line))
            on_event(events[-1], process)
    return process.returncode, events


def parts(path):
    return sorted(glob.glob(path + ".cards/*.json"))


def tried(part):
    return [(line["problem"], line["configuration"]) for line in journal(part) if is_candidate(line)]


def shapes_of(profile):
    return sorted(f'{e["problem"]["m"]}x{e["problem"]["n"]}' for e in load(profile)["entries"])


def winners(events):
    return [event["problem"].split()[-1] for event in events if event["event"] == "winner"]


def check_apart(path, cards=2):
    """Each card tried what no other did; together all problems."""
    each = [tried(part) for part in parts(path)]
    check(len(each) == cards and all(each), f"{path}: each card has a journal with results: {each}")
    check(len(set(sum(each, []))) == len(sum(each, [])), f"{path}: nothing is measured twice: {each}")
    check(shapes_of(path) == sorted(SHAPES), f"{path}: {shapes_of(path)}")


def test_shared():
    """Two cards share the problems, and make one profile; the same command goes on."""
    path = folder + "/shared.json"
    code, events = run(command("--device", "all", "-o", path))
    check(code == 0 and sorted(winners(events)) == sorted(SHAPES), f"{code}, {events}")
    check({e["card"] for e in events if e["event"] == "winner"} == {"cuda:0", "cuda:1"}, f"both won some: {events}")
    check_apart(path)
    check(load(path)["device"]["uuid"] == "several cards", "the profile is of both")
    first = load(path)["made"]
    check(first["tried"] == 12, f"{first}")
    before = {part: tried(part) for part in parts(path)}
    code, events = run(command("--device", "cuda:0,cuda:1", "-o", path))
    check(code == 0 and all(tried(part)[:len(had)] == had for part, had in before.items()), f"it goes on: {events}")
    check_apart(path)
    check(load(path)["made"]["tried"] == 24, f"and counts nothing twice: {load(path)['made']}")


def test_lost():
    """A card whose tuner is killed ends alone."""
    path, killed = folder + "/lost.json", []

    def kill(event, process):
        if event["event"] == "problem" and event["card"] == "cuda:1" and not killed:
            killed.append(tuner_of(process.pid, "cuda:1"))
            os.kill(killed[0], signal.SIGKILL)

    code, events = run(command("--device", "all", "-o", path), kill)
    check(code == 0 and sorted(set(winners(events))) == sorted(SHAPES), f"{code}, {events}")
    check(any("has ended by signal 9" in e.get("text", "") and e["card"] == "cuda:1" for e in events), f"{events}")
    check(shapes_of(path) == sorted(SHAPES), f"the other has all: {shapes_of(path)}")


def test_interrupted():
    """Ctrl-C ends all, once what they are at is done, and what was found is in the profile."""
    path, at = folder + "/interrupted.json", []

    def stop(event, process):
        if event["event"] == "winner" and not at:
            at.append(event["problem"])
            process.send_signal(signal.SIGINT)

    code, events = run(command("--device", "all", "-o", path, budget="24c"), stop)
    check(code == 130 and at, f"{code}, {events}")
    check(shapes_of(path) and len(shapes_of(path)) < len(SHAPES), f"{shapes_of(path)}")
    check(not tuner_of(1, "cuda:0") and not tuner_of(1, "cuda:1"), "no tuner is left behind")


def test_kinds():
    """Cards of two kinds do all problems each, and have a profile each."""
    env = dict(environment, MMT_FAKE_ODD_NAME="Other card")
    code, events = run(command("--device", "all"), env=env)
    check(code == 0 and sorted(winners(events)) == sorted(2 * SHAPES), f"{code}, {events}")
    for name in ("card-that-is-not-there", "other-card"):
        path = f"{folder}/data/mmtune/cuda-{name}.json"
        check(shapes_of(path) == sorted(SHAPES), f"{path}: {shapes_of(path)}")
    site = folder + "/site"
    os.mkdir(site)
    shutil.copy(f"{folder}/data/mmtune/cuda-other-card.json", site)
    write(site, "cuda-broken.json", "{")
    os.chmod(site, 0o500)
    env["MMTUNE_PROFILE_PATH"] = site
    listed = {os.path.relpath(f["path"], folder): f for f in json.loads(expect(MMTUNE, ["profiles", "--json"], 0, env=env))
              if f["path"].startswith(folder)}
    used = {path: [(use["device"], use["layer"], use["as"]) for use in f["used"]] for path, f in listed.items()}
    check(used == {"data/mmtune/cuda-card-that-is-not-there.json": [("cuda:0", 1, "measured on this very device")],
                   "data/mmtune/cuda-other-card.json": [("cuda:1", 1, "measured on this very device")],
                   "site/cuda-other-card.json": [("cuda:1", 2, "measured on this very device")],
                   "site/cuda-broken.json": []}, f"{used}")
    check("unusable" in listed["site/cuda-broken.json"] and all(f["date"] > "2026" for f in listed.values() if f["used"]),
          f"{listed}")
    expect(MMTUNE, ["profiles"], 0, "site/cuda-other-card.json\n  Other card (cuda, compute_75), 2 multiprocessors",
           "used for cuda:1, layer 2", env=env)
    expect(MMTUNE, command("--device", "all", "-o", folder + "/one.json")[1:], 2, "are of two kinds", env=env)
    expect(MMTUNE, ["--device", "0,7"], 2, "there is no device '7'", env=env)
    expect(MMTUNE, ["--recorded", "--device", "all"], 2, "name one --device, and no --shard", env=env)


def test_shards():
    """Shards have all problems, each once; a range counts as one."""
    env = stand_in(STAND_IN, plain)
    device = cpu_device(MMTUNE, env)
    seen, whole = [], None
    for shard in ("1/1", "1/3", "2/3", "3/3"):
        words = [MMTUNE, "--device", device, "--type", "f32", "--template", "naive", "--budget", "8c", "--json", "--shape",
                 "96x80x64,1-64x32x32,64x64x64,80x96x64", "--shard", shard, "-o", f"{folder}/shard{shard[0]}-{shard[2]}.json"]
        code, events = run(words, env=env)
        check(code == 0, f"{shard}: {events}")
        start = next(e for e in events if e["event"] == "start")
        if shard == "1/1":
            whole = start
        else:
            seen += start["problems"]
            check(start["units"] == 2 - (shard != "1/3"), f"{shard}: {start}")
    check(whole["units"] == 4 and sorted(seen) == sorted(whole["problems"]), f"{seen}, {whole}")
    code, events = run([*words[:-3], "7/8", "-o", folder + "/none.json"], env=env)
    check(code == 0 and not winners(events), f"a shard without problems is no failure: {events}")
    for wrong in ("0/2", "3/2", "1", "1/2x"):
        expect(MMTUNE, ["--shard", wrong], 2, f"--shard is '{wrong}'", env=env)


def test_compiled():
    """What is compiled apart a run finds by its hash."""
    kinds = ["--op", "heat2d", "--type", "f32", "--shape", "24x40,40x24", "--budget", "8c"]

    def binaries(cache):
        return {os.path.basename(path) for path in glob.glob(f"{folder}/{cache}/mmtune/*.bin")}

    def words_in(cache, *words):
        expect(MMTUNE, [*words, *kinds], 0, env=dict(environment, XDG_CACHE_HOME=f"{folder}/{cache}"))
        return binaries(cache)

    path = folder + "/apart.json"
    needed = words_in("whole", "--device", "cuda:0", "-o", path)
    before = words_in("apart", "compile", "--for", "null:compute_75")
    check(before and before <= needed, f"each is one that the run compiles itself: {before - needed}")
    words_in("apart", "--device", "cuda:0", "-o", folder + "/other.json")
    check(binaries("apart") == needed, f"the run adds what is left: {binaries('apart') ^ needed}")
    check(words_in("third", "compile", "--for", path) == before, "a profile of the card serves as well")
    expect(MMTUNE, ["compile", *kinds], 2, "--for must name a card", env=environment)
    expect(MMTUNE, ["compile", "--for", "null:sm_90", "--budget", "5m"], 2, "--budget must count candidates", env=environment)


test_compiled()
test_shards()
test_shared()
test_lost()
test_interrupted()
test_kinds()
end("cards", folder)
