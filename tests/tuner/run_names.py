#!/usr/bin/env python3
"""A card whose driver tells a name of any bytes: run_names.py MMTUNE FAKES

FAKES holds a CUDA driver whose kernels run on the host, and NVRTC (tests/emulation/fake/card)."""
import json
import os
import subprocess
import sys

from checks import check, end, load, make_home, read, write

MMTUNE, FAKES = map(os.path.abspath, sys.argv[1:3])
folder, environment = make_home(LD_LIBRARY_PATH=FAKES, MMTUNE_NVRTC="")
NAME = "Karte ?? \u20ac ?[1m"


def run(*words):
    """What it prints, which must be UTF-8."""
    told = {os.fsencode(key): os.fsencode(value) for key, value in environment.items()}
    told[b"MMT_FAKE_NAME"] = b"Karte \xe9\xff \xe2\x82\xac \x1b[1m"
    done = subprocess.run([MMTUNE, *words], capture_output=True, env=told)
    check(done.returncode == 0, f"{words} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.decode("utf-8")


environment["MMT_FAKE_CARDS"] = write(folder, "cards", "0000:65:00.0 50 2000 0\n")

listed = json.loads(run("devices", "--json") or "[]")
check([device["name"] for device in listed if device["id"] == "cuda:0"] == [NAME], f"the name is valid: {listed}")
events = run("--json", "--device", "cuda:0", "--op", "heat2d", "--type", "f32", "--shape", "24x40", "--budget", "2c",
             "--limit", "900")
check(all(map(json.loads, events.splitlines())), f"events are JSON: {events}")
path = folder + "/data/mmtune/cuda-karte-1m.json"
if check(os.path.exists(path), f"the path is plain: {os.listdir(folder + '/data/mmtune')}"):
    check(load(path)["device"]["name"] == NAME, "the profile has it")
    check(NAME in json.loads(read(path + ".journal").split("\n")[0])["device"], "and so has the journal")
    shown = run("show", "--device", "cuda:0")
    check(NAME in shown and "gemm" not in shown and "heat2d" in shown, f"it is found again: {shown}")
    again = json.loads(run("show", "--json", "--device", "cuda:0"))
    check(again["device"]["name"] == NAME, f"as JSON, too: {again['device']}")
end("names", folder)
