#!/usr/bin/env python3
"""When a run writes its profile, and what it takes from it: run_profiles.py MMTUNE SOURCE_ROOT STAND_IN

On the CPU of emulation/fake/opencl, in the folder STAND_IN."""
import os
import shutil
import sys

from checks import add_model, check, end, expect, load, make_home, need_cpu_device, read, save, stand_in

MMTUNE, ROOT, STAND_IN = sys.argv[1:4]
folder, environment = make_home()
environment = stand_in(STAND_IN, environment)


def run(*words, status=0, said=()):
    return expect(MMTUNE, words, status, *said, env=environment)


def count_lines(path):
    return len(read(path).split("\n")) if os.path.exists(path) else 0


def tune(path, type_, shape, template, budget, **more):
    return run("--device", device, "-o", path, "--type", type_, "--shape", shape, "--template", template,
               "--search", "random", "--budget", budget, **more)


def shapes_of(profile):
    return sorted((e["problem"]["type"], e["problem"]["m"]) for e in profile["entries"])


def models(profile, family):
    return [model for model in profile.get("models", []) if model["family"] == family]


def test_nothing_learned():
    """A run that times nothing makes no profile; one that tries nothing leaves it as it is."""
    templates = folder + "/templates"
    shutil.copytree(ROOT + "/templates/kernels", templates)
    for name in ("tiled", "naive"):
        with open(f"{templates}/{name}.cl", "a", encoding="utf-8") as f:
            f.write("// stand-in: refuse planted\n")
    environment["MMTUNE_TEMPLATE_DIR"] = templates
    path = folder + "/nothing.json"
    tune(path, "f32", "96x80x64", "tiled", "2c", status=1)
    check(not os.path.exists(path), "nothing was timed, so there is no profile")
    del environment["MMTUNE_TEMPLATE_DIR"]

    path = folder + "/timed.json"
    tune(path, "f32", "96x80x64", "naive", "1c")
    before = read(path)
    said = tune(path, "f32", "96x80x64", "naive", "0.001s")
    check("0 tried" in said and read(path) == before, f"a run that tried nothing left the profile alone: {said}")


def test_lost_journal():
    """The model of other shapes that it taught stays."""
    path = folder + "/lost.json"
    tune(path, "f32", "96x80x64", "tiled", "2c")
    add_model(path)
    before = load(path)
    os.remove(path + ".journal")
    tune(path, "f64", "96x80x64", "tiled", "2c")
    after = load(path)
    check(models(before, "f32") and models(after, "f32") == models(before, "f32"),
          f"it stays without the journal: {models(after, 'f32')}")
    check(shapes_of(after) == sorted(shapes_of(before) + [("f64", 96)]), "and so are entries")


def test_fresh():
    """What is about to be measured is forgotten, and the old file stands beside until the run ends."""
    path = folder + "/fresh.json"
    tune(path, "f64", "96x80x64", "tiled", "2c")
    add_model(path)
    tune(path, "f32", "96x80x64,80x96x64", "tiled", "4c")
    before = load(path)
    check(models(before, "f64"), "f64 has a model")
    count = count_lines(path + ".journal")
    run("--device", device, "-o", path, "--type", "f32", "--shape", "64x80x96", "--template", "tiled",
        "--search", "random", "--budget", "2c", "--fresh")
    after = load(path)
    check(shapes_of(after) == [("f32", 64), ("f64", 96)], f"f32 was forgotten, f64 was not: {shapes_of(after)}")
    check(models(after, "f64") == models(before, "f64"), "nor was its model")
    check(not os.path.exists(path + ".before"), "the run ended, so that the old file is gone")
    lines = count_lines(path + ".journal")
    check(lines > count, f"the journal was added to: {count} lines, then {lines}")
    tune(path, "f64", "96x80x64", "tiled", "1c")
    check(shapes_of(load(path)) == [("f32", 64), ("f64", 96)], "what was forgotten stays so")

    run("--device", device, "-o", path, "--type", "f64", "--shape", "96x80x64", "--template", "naive",
        "--budget", "1c", "--fresh")
    check(any(e["problem"]["type"] == "f64" for e in load(path)["entries"]),
          "of another template nothing was forgotten")

    environment["MMTUNE_TEMPLATE_DIR"] = folder + "/templates"
    old = read(path)
    run("--device", device, "-o", path, "--type", "f32", "--shape", "64x80x96", "--template", "tiled",
        "--budget", "2c", "--fresh", status=1)
    del environment["MMTUNE_TEMPLATE_DIR"]
    check(read(path + ".before") == old, "where a run fails, the old file stands beside")


def test_other_device():
    """A home that another machine has as well, whose device has more cores."""
    os.makedirs(folder + "/data/mmtune", mode=0o700)
    profile = load(folder + "/timed.json")
    run("--device", device, "--type", "f32", "--shape", "96x80x64", "--template", "naive", "--budget", "1c")
    (name,) = [n for n in os.listdir(folder + "/data/mmtune") if n.endswith(".json")]
    profile["device"]["limits"]["sms"] += 62
    save(folder + "/data/mmtune", name, profile)
    os.remove(f"{folder}/data/mmtune/{name}.journal")
    there = read(f"{folder}/data/mmtune/{name}")
    run("--device", device, "--type", "f32", "--shape", "96x80x64", "--template", "naive", "--budget", "1c")
    check(read(f"{folder}/data/mmtune/{name}") == there, "the other's profile is left alone")
    check(len([n for n in os.listdir(folder + "/data/mmtune") if n.endswith(".json")]) == 2, "and ours stands beside")
    said = run("show", "--device", device, "--explain", "96x80x64", "--type", "f32")
    check("naive" in said, f"ours is found: {said}")


device = need_cpu_device(MMTUNE, environment)
test_nothing_learned()
test_lost_journal()
test_fresh()
test_other_device()
end("profiles", folder)
