#!/usr/bin/env python3
"""The vendor's library beside a run's winners: run_yardstick.py PART MMTUNE FAKES [CARD]

  card   cuBLAS on a card that is not there: CARD is the folder of tests/emulation/fake/card
  cpu    OpenBLAS on an OpenCL device of the CPU kind

FAKES is the folder of a fake cuBLASLt and of a wrong OpenBLAS (tests/emulation/fake)."""
import json
import os
import signal
import subprocess
import sys

from checks import check, devices, end, expect, load, make_home, need_cpu_device, read, skip, write

PART, MMTUNE, FAKES = sys.argv[1:4]
CARD = sys.argv[4] if PART == "card" else None
folder, environment = make_home(MMTUNE_NVRTC="")
environment.update(MMT_FAKE_CARDS=folder + "/cards", MMT_FAKE_CUBLAS_LOG=folder + "/log")


def paths(*folders):
    """A build may have put the folder of the fakes on the path already."""
    others = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":")
              if f and not (os.path.exists(f) and os.path.samefile(f, FAKES))]
    return dict(LD_LIBRARY_PATH=":".join([*folders, *others]))


def mmtune(*words, **variables):
    return expect(MMTUNE, words, 0, env=dict(environment, **variables))


def tune(name, device, goals, *words, **variables):
    """Interrupted behind the last goal, before other shapes are looked at: the event that tells of the
    library, and the profile's records by type and m."""
    path, asked, events = f"{folder}/{name}.json", 0, []
    command = [MMTUNE, "--json", "--device", device, "--template", "naive", "--budget", f"{2 * goals}c",
               "--limit", "900", "-o", path, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(environment, **variables)) as run:
        for line in run.stdout:
            events.append(json.loads(line))
            asked += events[-1]["event"] == "yardstick"
            if asked == goals:
                run.send_signal(signal.SIGINT)
                asked = 0
    told = [e for e in events if e["event"] == "library"]
    check(run.returncode == 130 and len(told) == 1 and events[-2] == told[0],
          f"{name}: ends with {run.returncode}, {events}")
    return told[-1], {(e["problem"]["type"], e["problem"]["m"]): e.get("yardstick") for e in load(path)["entries"]}


def near(a, b):
    return abs(a - b) <= 1e-3 * abs(b)


# ---- a card that is not there ---------------------------------------------------------------------

def on_card(*shapes, **variables):
    return tune("card", "cuda:0", len(shapes), "--type", "f32", "--shape", ",".join(shapes),
                **paths(CARD, CARD + "/whole", FAKES), **variables)


def test_record():
    """Ours takes a millisecond there, the library's first choice two and its best a half."""
    told, records = on_card("12x12x12")
    it = records["f32", 12]
    check(it and it["library"] == "cuBLAS 13.1.0" and it["driver"] and it["date"].endswith("Z") and
          near(it["ours_us"], 1000) and near(it["first_us"], 2000) and near(it["best_us"], 500), f"{it}")
    check(told["library"] == "cuBLAS 13.1.0" and told["problems"] == 1 and told["slower"] == 0 and
          near(told["speedup"], 2) and near(told["worst"], 2) and "12x12x12" in told["worst_problem"], f"{told}")
    said = mmtune("show", folder + "/card.json")
    check("speed-up over cuBLAS 2.000, over its best 0.500" in said and
          "speed-up over cuBLAS 13.1.0: geometric mean 2.000, worst 2.000 (gemm f32 nn 12x12x12), "
          "slower on 0 of 1 problem\n" in said, said)


def test_other_version():
    """A record of another version is measured anew."""
    told, records = on_card("12x12x12", MMT_FAKE_CUBLAS_VERSION="130101", MMT_FAKE_CUBLAS_US="500")
    check(records["f32", 12]["library"] == "cuBLAS 13.1.1" and near(records["f32", 12]["first_us"], 500), f"{records}")
    check(told["slower"] == 1 and near(told["speedup"], 0.5), f"{told}")


def test_crash():
    """What the profile has is not measured again. A library that crashes takes the record along that it was
    asked for, and is left alone then."""
    told, records = on_card("12x12x12", "16x12x12", "20x12x12", MMT_FAKE_CUBLAS="dies",
                            MMT_FAKE_CUBLAS_VERSION="130101")
    check(near(records["f32", 12]["first_us"], 500) and records["f32", 16] is None and records["f32", 20] is None,
          f"{records}")
    check(told["problems"] == 1 and "Aborted (phase yardstick)" in told["reason"] and not told["missing"], f"{told}")
    check(read(folder + "/log").split().count("dies") == 1, "it is asked once")


def test_bench():
    """`bench` lists the five worst problems on which ours is slower than the first choice, and counts the rest."""
    shapes = ",".join(f"{12 + i}x12x12" for i in range(6))
    listed = ("slower than cublas first on 6 problems:\n  0.500  gemm f32 nn 12x12x12\n", "\n  and 1 more\n")
    for us, words in (("500", listed), ("2000", ())):
        said = mmtune("bench", "--device", "cuda:0", "--configuration", "naive", "--against", "cublas", "--seconds",
                      "0.01", "--shape", shapes, MMT_FAKE_CUBLAS_US=us, **paths(CARD, CARD + "/whole", FAKES))
        check(all(word in said for word in words) and bool(words) == ("slower than" in said), said)


def test_missing():
    """One that is not there is told of; files that are no libraries stand for that."""
    if any(os.path.exists(f"/usr/local/cuda/lib64/libcublasLt.so.{v}") for v in (12, 13)):
        print("left out: a cuBLAS is installed where it is looked for")
        return
    os.mkdir(folder + "/empty")
    for version in (11, 12, 13):
        write(folder, f"empty/libcublasLt.so.{version}", "")
    told, records = tune("card", "cuda:0", 1, "--type", "f32", "--shape", "12x12x12",
                         **paths(CARD, CARD + "/whole", folder + "/empty"))
    check(told["library"] == "cuBLAS" and told["missing"] and told["problems"] == 0, f"{told}")


# ---- a CPU ----------------------------------------------------------------------------------------

def test_wrong(device):
    """What a library computes wrongly is no record."""
    told, records = tune("wrong", device, 1, "--type", "f32", "--shape", "33x17x65", **paths(FAKES))
    check(told["library"] == "OpenBLAS 9.9.9" and told["problems"] == 0 and records == {("f32", 33): None},
          f"{told}, {records}")


def test_cpu(device):
    """OpenBLAS has one way, and computes no whole numbers."""
    told, records = tune("cpu", device, 2, "--type", "f32,i32", "--shape", "33x17x65", **paths())
    check(records["i32", 33] is None, f"{records}")
    if told.get("missing"):
        check(told["library"] == "OpenBLAS" and "not installed" in told["reason"], f"{told}")
        skip("OpenBLAS is not installed")
    it = records["f32", 33]
    driver = next(d["driver"] for d in devices(MMTUNE) if d["id"] == device)
    check(it and it["library"].startswith("OpenBLAS ") and "," not in it["library"] and
          it["driver"] == driver and it["ours_us"] > 0 and it["first_us"] > 0 and "best_us" not in it, f"{it}")
    check(told["problems"] == 1 and told["library"] == it["library"], f"{told}")


if PART == "card":
    write(folder, "cards", "0000:65:00.0 50 2000 0\n")
    test_record()
    test_other_version()
    test_crash()
    test_bench()
    test_missing()
else:
    cpu = need_cpu_device(MMTUNE)
    test_wrong(cpu)
    test_cpu(cpu)
end("yardstick " + PART, folder)
