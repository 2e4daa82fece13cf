#!/usr/bin/env python3
"""What `mmtune share` sends, and what tools/add_profile.py makes of it: run_share.py MMTUNE SOURCE_ROOT STAND_IN

On the CPU of emulation/fake/opencl, in the folder STAND_IN."""
import os
import sys

from checks import check, end, expect, load, make_home, need_cpu_device, read, save, stand_in, tried, write

MMTUNE, ROOT, STAND_IN = sys.argv[1:4]
folder, environment = make_home(MMTUNE_KEEP_TIMES="1")
environment = stand_in(STAND_IN, environment)
DEVICE = need_cpu_device(MMTUNE, environment)
OWN, SENT, INTO = folder + "/own.json", folder + "/sent", folder + "/into"


def add(path, status, *said):
    done = tried(sys.executable, [ROOT + "/tools/add_profile.py", "--mmtune", MMTUNE, "--into", INTO, path], status, *said,
                 env=environment)
    return done.stdout


def share(name, change):
    """The file that a changed profile is shared as."""
    profile = load(OWN)
    change(profile)
    expect(MMTUNE, ["share", save(folder, name + ".json", profile), "-o", f"{folder}/{name}"], 0, env=environment)
    return f"{folder}/{name}"


def test_right():
    profile = load(OWN)
    profile["device"]["uuid"] = "12345678"
    save("", OWN, profile)
    expect(MMTUNE, ["share", OWN, "-o", SENT], 0, "2 problems", env=environment)
    check("12345678" not in read(SENT) and folder not in read(SENT) and os.uname().nodename not in read(SENT),
          "no card, path or host is named")
    add(SENT, 0, "right, 2 problems")
    (name,) = os.listdir(INTO)
    check(len(load(f"{INTO}/{name}")["entries"]) == 2, f"{name} has both")
    add(SENT, 0, "right, 2 problems")
    check(os.listdir(INTO) == [name] and len(load(f"{INTO}/{name}")["entries"]) == 2, "what is there is merged with")


def test_wrong():
    before = {name: read(f"{INTO}/{name}") for name in os.listdir(INTO)}
    text = read(SENT)
    add(write(folder, "cut", text[:-20]), 1, "it was changed on its way")
    add(write(folder, "changed", text.replace('"median_us": ', '"median_us": 1', 1)), 1, "it was changed on its way")
    add(OWN, 1, "it is not made by `mmtune share`")

    def faster(profile):
        profile["roofline"]["peak_gflops"]["f32"] = profile["entries"][0]["gflops"] / 2

    def beside(profile):
        profile["entries"][0]["gflops"] *= 2

    add(share("faster", faster), 1, "and the device reaches")
    add(share("beside", beside), 1, "but its time says")
    add(share("older", lambda profile: profile["made"].update(version="0.0.1")), 1, "it is made by mmtune 0.0.1")
    add(share("path", lambda profile: profile["device"].update(vendor="from /home/somebody")), 1, "names a path or a person")
    add(share("stale", lambda profile: profile["entries"][0].update(template_hash=32 * "0")), 1, "have changed since")
    expect(MMTUNE, ["share", OWN], 2, "it must be PROFILE.json and -o FILE", env=environment)
    check({name: read(f"{INTO}/{name}") for name in os.listdir(INTO)} == before, "what is wrong changes nothing")


os.mkdir(INTO)
expect(MMTUNE, ["--device", DEVICE, "-o", OWN, "--type", "f32", "--shape", "96x80x64,80x96x64", "--template", "tiled",
                "--search", "random", "--budget", "6c"], 0, env=environment)
test_right()
test_wrong()
end("share", folder)
