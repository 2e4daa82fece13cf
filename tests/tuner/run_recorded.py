#!/usr/bin/env python3
"""What programs computed, tuned and judged: run_recorded.py PART MMTUNE FAKES CARD|STAND_IN

  card   beside a stand-in cuBLAS, on a card that is not there: CARD is the folder of tests/emulation/fake/card
  cpu    what this library's own callers computed, on the CPU of emulation/fake/opencl, in STAND_IN

FAKES is the folder of the stand-in libraries (tests/emulation/fake)."""
import json
import os
import shutil
import sys

from checks import check, end, expect, load, make_home, need_cpu_device, read, stand_in, write

PART, MMTUNE, FAKES = sys.argv[1:4]
CARD = sys.argv[4] if PART == "card" else None
STAND_IN = sys.argv[4]
folder, environment = make_home(MMTUNE_NVRTC="")
environment.update(MMT_FAKE_CARDS=folder + "/cards", XDG_STATE_HOME=folder + "/state")
if CARD:
    environment["LD_LIBRARY_PATH"] = ":".join((CARD, CARD + "/whole", FAKES))
else:
    environment = stand_in(STAND_IN, environment)


def line(problem, client, calls, us=0.0, version="13.1.0", path="libcublas.so.13", **more):
    """One of a recording, as programs append it."""
    library = {} if client == "mmtune" else {"library": "cuBLAS " + version, "path": path}
    timed = {"timed": 2, "ns": round(2000 * us)} if us else {}
    return json.dumps({"call": problem, "client": client, **library, "run": "7",
                       "fates": {"no verdict" if client == "mmtune" else "recorded": calls}, **timed, **more}) + "\n"


def tune(recording, device, budget, *words, **variables):
    """The events of a run, by their name, and the profile."""
    path = folder + "/profile.json"
    said = expect(MMTUNE, ["--json", "--device", device, "--recorded", recording, "--template", "naive", "--budget",
                           budget, "--limit", "900", "-o", path, *words], 0, env=dict(environment, **variables))
    events = {}
    for text in said.splitlines():
        event = json.loads(text)
        events.setdefault(event["event"], []).append(event)
    return events, load(path)


def near(a, b):
    return abs(a - b) <= 1e-3 * abs(b)


def verdicts_of(profile):
    return {(v["client"], v["problem"]["m"], v["library"]): v for v in profile.get("verdicts", [])}


# ---- a card that is not there ---------------------------------------------------------------------

OWN = os.path.join(FAKES, "libcublas.so.13")
OWN_LT = os.path.join(FAKES, "libcublasLt.so.13")


def recorded(*words):
    """What `mmtune recorded --json` says of the calls, by client and problem, and in sum."""
    said = expect(MMTUNE, ["recorded", "--device", "cuda:0", "--json", *words], 0,
                  env=dict(environment, MMTUNE_PROFILE_PATH=folder + "/site"))
    told = json.loads(said)
    return {(c["client"], c["problem"]): c for c in told["calls"]}, told["sum"]


def test_verdicts(recording):
    """Ours takes a millisecond there, the library two: with the program's beta, bias and workspace."""
    events, profile = tune(recording, "cuda:0", "3c", MMT_FAKE_CUBLAS_US="2000")
    check(events["start"][0]["problems"][0] == "gemm f32 nn 16x12x12", f"the most time first: {events['start']}")
    first, again = events["verdict"][:3], events["verdict"][3:]
    check(first[0]["problem"] == "gemm f32 nn 16x12x12" and len({(v["client"], v["problem"]) for v in first}) == 3,
          f"each before the goals, by a kernel that promises most: {first}")
    check([v["problem"] for v in again] == ["gemm f32 nn 16x12x12"] and
          again[0]["configuration"] != first[0]["configuration"], f"the goal's anew, by its winner: {again}")
    made = verdicts_of(profile)
    check(set(made) == {(c, m, "cuBLAS 13.1.0") for c, m in (("cublas", 16), ("cublas", 12), ("cublaslt", 20))},
          f"{made.keys()}")
    for it in made.values():
        check(near(it["ours_us"], 1000) and near(it["library_us"], 2000) and it["f32_mode"] == "strict" and
              "ours_joules" not in it, f"{it}")
    lt = made.get(("cublaslt", 20, "cuBLAS 13.1.0"), {})
    check(lt.get("adds") and lt.get("workspace_bytes") == 1 << 20 and lt["problem"]["activation"] == "relu", f"{lt}")
    check("workspace_bytes" not in made["cublas", 12, "cuBLAS 13.1.0"], "where the program gave none")
    told = events["verdicts"][0]
    check(told["kinds"] == told["ours"] == 3 and told["library"] == 0 and told["calls"] == told["our_calls"] == 130 and
          near(told["saved"], told["seconds"] / 2), f"{told}")
    check(any(e["problem"]["m"] == 16 for e in profile["entries"]), "the goal has an entry")


def test_again(recording):
    """What is known of this library is not measured again; programs find its kernels compiled all the same."""
    shutil.rmtree(environment["XDG_CACHE_HOME"])
    events, profile = tune(recording, "cuda:0", "1c", MMT_FAKE_CUBLAS_US="500")
    check("verdict" not in events and events["verdicts"][0]["ours"] == 3, f"{events.keys()}")
    texts = b""
    for name in os.listdir(environment["XDG_CACHE_HOME"] + "/mmtune"):
        with open(f"{environment['XDG_CACHE_HOME']}/mmtune/{name}", "rb") as f:
            texts += f.read()
    check(b"bias=column activation=relu" in texts, "the kernel of a verdict that was not made in this run")
    check([v["problem"]["m"] for v in profile["verdicts"]] == [16, 20, 12], f"the most time first: {profile['verdicts']}")


def test_order(recording):
    """Of a program that spends its time otherwise, the verdicts stand in another order."""
    other = write(folder, "others", line("gemm f32 nn 12x12x12", "cublas", 900, 2000, path=OWN) +
                  line("gemm f32 nn 16x12x12", "cublas", 1, 2000, path=OWN))
    _, profile = tune(other, "cuda:0", "1c", MMT_FAKE_CUBLAS_US="2000")
    check([v["problem"]["m"] for v in profile["verdicts"]] == [12, 16, 20], f"{profile['verdicts']}")
    tune(recording, "cuda:0", "1c", MMT_FAKE_CUBLAS_US="2000")


def test_other_version(recording):
    """Another version is another library, and is faster here; the first one's verdicts stay."""
    events, profile = tune(recording, "cuda:0", "1c", MMT_FAKE_CUBLAS_US="500", MMT_FAKE_CUBLAS_VERSION="130101")
    made = verdicts_of(profile)
    check(len(made) == 6 and all(near(v["library_us"], 500 if "13.1.1" in key[2] else 2000)
                                 for key, v in made.items()), f"{made}")
    check(events["verdicts"][0]["ours"] == 0 and events["verdicts"][0]["library"] == 3, f"{events['verdicts']}")


def test_kinds_of_one(problem="gemm f16 nn 12x12x12"):
    """What accumulates in f16 is called so, with the most workspace that it was given; what is usual, as ever."""
    path = write(folder, "kinds", line(problem, "cublas", 10, 2000, path=OWN, workspace=4096) +
                 line(problem, "cublas", 10, 2000, path=OWN, compute="16f", workspace=4096) +
                 line(problem, "cublas", 10, 2000, path=OWN, compute="16f", workspace=1 << 20))
    _, profile = tune(path, "cuda:0", "1c", MMT_FAKE_CUBLAS_US="2000", MMT_FAKE_CUBLAS_LARGE="65536")
    made = {v.get("compute", "usual"): v for v in profile["verdicts"]}
    check({name: round(it["library_us"]) for name, it in made.items()} ==
          {"usual": 2000, "16f": 500}, f"{made}")
    check([made["16f"].get(key) for key in ("workspace_bytes", "most_workspace_bytes")] == [4096, 1 << 20] and
          "most_workspace_bytes" not in made["usual"], f"{made}")
    os.remove(folder + "/profile.json")


def test_captured(problem="gemm f32 nn 12x12x12"):
    """Both are timed in graphs, where ours takes half as long here; on a queue where the card has none, or a sample is one call."""
    path = write(folder, "captured", line(problem, "cublas", 10, 2000, path=OWN))
    for part, library, ours in (("0.5", 2000, 500), ("0", 2000, 1000), ("0.5", 100000, 1000)):
        _, profile = tune(path, "cuda:0", "1c", MMT_FAKE_CUBLAS_US=str(library), MMT_FAKE_CAPTURED=part)
        times = [(v["ours_us"], v["library_us"]) for v in profile["verdicts"]]
        check(len(times) == 1 and near(times[0][0], ours) and near(times[0][1], library), f"{part}: {times}")
        os.remove(folder + "/profile.json")


def test_alignment(problem="gemm f32 nn 16x24x20"):
    """What begins at less than 16 bytes has a verdict of its own, for the kernel that asks no more."""
    path = write(folder, "aligned", line(problem, "cublas", 10, 2000, path=OWN) +
                 line(problem, "cublas", 90, 2000, path=OWN, alignment=4))
    events, profile = tune(path, "cuda:0", "1c", MMT_FAKE_CUBLAS_US="2000")
    check(events["start"][0]["problems"][0] == problem + " lda=21 ldb=25 ldc=25", f"{events['start']}")
    check([v.get("alignment_bytes", 0) for v in profile["verdicts"]] == [4, 0], f"{profile['verdicts']}")
    check(all(near(v["ours_us"], 1000) for v in profile["verdicts"]), f"{profile['verdicts']}")
    os.remove(folder + "/profile.json")


def test_energy(problem="gemm f32 nn 12x12x12"):
    """Both take as long: then what needs less energy computes it, where the card tells that. The watts are told."""
    path = write(folder, "energy", line(problem, "cublas", 10, 1005, path=OWN))
    site = folder + "/data/mmtune/cuda-card-that-is-not-there.json"
    os.makedirs(os.path.dirname(site), exist_ok=True)
    for watts, is_ours in (("200 400", True), ("400 200", False)):
        _, profile = tune(path, "cuda:0", "1c", MMT_FAKE_CUBLAS_US="1005", MMT_FAKE_WATTS=watts)
        os.rename(folder + "/profile.json", site)
        it, told = profile["verdicts"][0], recorded("--file", path)[0]["cublas", problem]
        check(near(it["ours_us"], 1000) and near(it["library_us"], 1005), f"{it}")
        check(told["verdict"] == ("ours" if is_ours else "library faster"), f"{told}")
        for key, watt in zip(("ours_joules", "library_joules"), watts.split()):
            check(0.7 < it[key] / (int(watt) * 1e-3) < 1.4 and near(told[key], it[key]), f"{watts}: {it}, {told}")
        shown = json.loads(expect(MMTUNE, ["show", site, "--json"], 0, env=environment))["verdicts"][0]
        check(near(shown["ours_joules"], it["ours_joules"]), f"{shown}")
        said = expect(MMTUNE, ["show", site], 0, env=environment)
        check(is_ours == ("1 as fast with less energy" in said), said)
        said = expect(MMTUNE, ["recorded", "--device", "cuda:0", "--file", path], 0, env=environment)
        check(is_ours == (" 1.005, " in said and " mJ " in said), said)
        os.remove(site)


def test_pointers(problem="gemm f32 nn 16x24x20", by=" batch_by=pointers batch=3"):
    """A batch by pointers is a kind of its own; `verify` finds a kernel that reads arrays at the wrong place."""
    path = write(folder, "pointers", line(problem + " batch=3", "cublas", 10, 2000, path=OWN) +
                 line(problem + by, "cublas", 90, 2000, path=OWN, alignment=4) +
                 line("gemm f16 nn 16x24x24" + by, "cublas", 50, 2000, path=OWN))
    events, profile = tune(path, "cuda:0", "2c", MMT_FAKE_CUBLAS_US="2000")
    made = {(v["problem"]["type"], v["problem"].get("batch_by", "stride")): v for v in profile["verdicts"]}
    check(set(made) == {("f32", "stride"), ("f32", "pointers"), ("f16", "pointers")} and
          all(near(v["ours_us"], 1000) and near(v["library_us"], 2000) for v in made.values()), f"{made}")
    check(made["f32", "pointers"].get("alignment_bytes") == 4 and events["verdicts"][0]["ours"] == 3, f"{events['verdicts']}")
    os.remove(folder + "/profile.json")
    kernels = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../templates/kernels")
    words = ["verify", "--device", "cuda:0", "--batch-by", "pointers", "--type", "f32", "--transposes", "nt", "--shape",
             "20x30x40x3", "naive"]
    for operand in ("", "a", "b", "c"):
        shutil.copytree(kernels, folder + "/kernels", dirs_exist_ok=True)
        text = read(kernels + "/naive.cl").replace(f"FIND_MATRIX({operand}, BLOCK_Z)", f"FIND_MATRIX({operand}, 0)")
        write(folder + "/kernels", "naive.cl", text)
        said = expect(MMTUNE, words, 1 if operand else 0, env=dict(environment, MMTUNE_TEMPLATE_DIR=folder + "/kernels"))
        check(("1 wrong" if operand else "1 right") in said, f"{operand}: {said}")


def test_recorded(recording):
    """What is told of calls is by their own library's verdict; by no other's."""
    os.makedirs(folder + "/data/mmtune", exist_ok=True)
    os.rename(folder + "/profile.json", folder + "/data/mmtune/cuda-card-that-is-not-there.json")
    calls, total = recorded("--file", recording)
    it = calls["cublas", "gemm f32 nn 16x12x12"]
    check(it["verdict"] == "ours" and near(it["speedup"], 2) and it["calls"] == 100, f"{it}")
    check(calls["mmtune", "gemm f32 nn 7x7x7"]["verdict"] == "no verdict" and total["calls"] == 133 and
          total["untimed"] == 3 and near(total["given_us"], 130 * 1000), f"{total}")
    check(near(total["faster_us"], 130 * 1000) and 0 < total["bytes_us"] <= total["roofline_us"] < 130 * 1000 and
          total["gaps_us"] == 0, f"{total}")
    for version, verdict in (("13.1.1", "library faster"), ("13.9.9", "verdict void")):
        path = write(folder, "other", line("gemm f32 nn 16x12x12", "cublas", 1, 9, version=version))
        check(recorded("--file", path)[0]["cublas", "gemm f32 nn 16x12x12"]["verdict"] == verdict, version)
    check(not recorded("--file", recording, "--run", "8")[0], "another run")
    own = write(folder, "other", line("gemm f32 nn 16x12x12", "mmtune", 1) + line("gemm f32 nn 9x9x9", "mmtune", 1))
    tuned = {problem: c["tuned"] for (_, problem), c in recorded("--file", own)[0].items()}
    check(tuned == {"gemm f32 nn 16x12x12": True, "gemm f32 nn 9x9x9": False}, f"own callers have an entry: {tuned}")
    said = expect(MMTUNE, ["recorded", "--device", "cuda:0", "--file", recording], 0, "2.000", "not tuned",
                  "133 calls, ", "3 of unknown time", "verdicts for ours would save 130.0", "where it goes: 130.000 ms by the faster of both; ",
                  " above that", env=environment)
    said_gaps = write(folder, "gaps", line("gemm f32 nn 16x12x12", "cublas", 1000, 100, path=OWN, gap_ns=2000))
    expect(MMTUNE, ["recorded", "--device", "cuda:0", "--file", said_gaps], 0, "between products: 2.000 ms at least",
           env=environment)
    check(said.index("16x12x12") < said.index("12x12x12  (") < said.index("7x7x7"), said)


def test_missing():
    """A program's file that is gone: another one is timed, and that is said."""
    gone = write(folder, "gone", line("gemm f32 nn 8x8x8", "cublas", 1, 9, path="/nowhere/libcublas.so.13"))
    events, profile = tune(gone, "cuda:0", "1c")
    check(any("'/nowhere/libcublas.so.13' does not open" in e["text"] for e in events["note"]), f"{events['note']}")
    check(("cublas", 8, "cuBLAS 13.1.0") in verdicts_of(profile), "it has a verdict")


def test_prune():
    """What makes no difference is dropped, from the usual place; a device without a recording says so."""
    command = ["recorded", "--device", "cuda:0"]
    expect(MMTUNE, command, 1, "`mmtune run --record -- PROGRAM` makes one", env=environment)
    os.makedirs(folder + "/state/mmtune")
    path = folder + "/state/mmtune/cuda-card-that-is-not-there.jsonl"
    write(folder, path, line("gemm f32 nn 16x12x12", "cublas", 1000, 100) * 3 + "torn" +
          line("gemm f32 nn 8x8x8", "cublas", 1, 1) + line("gemm f32 nn 9x9x9", "cublas", 1, 1))
    expect(MMTUNE, [*command, "--prune"], 0, "1 of 2 kinds of calls are kept", "line 4 is passed over", env=environment)
    kept = [json.loads(text) for text in read(path).splitlines()]
    check(len(kept) == 1 and kept[0]["fates"] == {"recorded": 3000} and kept[0]["timed"] == 6, f"{kept}")
    expect(MMTUNE, [*command, "--prune", "--run", "7"], 2, "--prune is of all runs", env=environment)


def test_options():
    for words, said in ((["--f32", "strict"], "--f32 goes with --recorded"),
                        (["--recorded", "--shape", "8x8x8"], "--recorded says which problems are tuned"),
                        (["a-file"], "'a-file' is one word too many"),
                        (["--recorded", "--f32", "exact"], "there are strict and emulated")):
        expect(MMTUNE, ["tune", *words], 2, said, env=environment)
    expect(MMTUNE, ["tune", "--device", "cuda:0", "--recorded", "/nowhere/x"], 1, "/nowhere/x", env=environment)


# ---- a CPU ----------------------------------------------------------------------------------------

def test_own_callers(device):
    """They have entries, and no verdicts: nobody else would compute it."""
    path = write(folder, "own", line("gemm f32 nt 24x16x40 ldb=48 bias=row", "mmtune", 9) +
                 line("gemm f64 nn 8x8x8", "mmtune", 1) + "{}\n")
    events, profile = tune(path, device, "3c")
    check(len(events["start"][0]["problems"]) == 1 and "verdict" not in events and "verdicts" not in events,
          f"{events.keys()}")
    problem = profile["entries"][0]["problem"]
    check(problem["ldb"] == 48 and problem["bias"] == "row" and problem["trans_b"] and "verdicts" not in profile,
          f"{profile['entries']}")
    check(any("line 3 is passed over" in e["text"] for e in events["note"]), f"{events['note']}")


if PART == "card":
    write(folder, "cards", "0000:65:00.0 50 2000 0\n")
    whole = write(folder, "recording", line("gemm f32 nn 12x12x12", "cublas", 10, 2000, path=OWN) +
                  line("gemm f32 nn 16x12x12", "cublas", 100, 2000, path=OWN) +
                  line("gemm f32 nn 20x12x12 bias=column activation=relu", "cublaslt", 20, 2000, path=OWN_LT,
                       adds=True, workspace=1 << 20) +
                  line("gemm f32 nn 7x7x7", "mmtune", 3))
    test_kinds_of_one()
    test_captured()
    test_alignment()
    test_energy()
    test_pointers()
    test_verdicts(whole)
    test_again(whole)
    test_order(whole)
    test_other_version(whole)
    test_missing()
    test_recorded(whole)
    test_prune()
    test_options()
else:
    test_own_callers(need_cpu_device(MMTUNE, environment))
end("recorded " + PART, folder)
