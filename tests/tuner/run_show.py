#!/usr/bin/env python3
"""What `mmtune show` and `merge` print: run_show.py MMTUNE SOURCE_ROOT BAD_PROFILES"""
import json
import os
import sys
import tempfile

from checks import check, end, expect, load, save

MMTUNE, ROOT, BAD = sys.argv[1:4]
GTX = os.path.join(ROOT, "profiles/papers/geforce-gtx-1060.json")
QUADRO = os.path.join(ROOT, "profiles/papers/quadro-k5000.json")
OWN = os.path.join(ROOT, "tests/data/profiles/good/small.json")


def run(words, status, *said, **more):
    return expect(MMTUNE, words, status, *said, **more)


run(["show", OWN], 0, "Testing", "sm_90a", "seed 18446744073709551615", "1 tried",
    "gemm f32 nt 64x48x32", "2.50 us +-0.25 us", "78.6 GFLOP/s",
    "gemm f32 nt 1-100x48x32: at 3 m, 95 % are within 22.5 % of the best",
    "         16       0.0 %  naive ORDER=columns", "        100      12.5 %  tiled TILE=16",
    "50.0 % of the roofline", "2 times as fast as naive",
    "  speed-up over cuBLAS 1.100, over its best 0.800\n",
    "speed-up over cuBLAS 12.8.4: geometric mean 1.100, worst 1.100 (gemm f32 nt 64x48x32), "
    "slower on 0 of 1 problem\n", "tiled TILE=16 SHARED_LAYOUT=pad",
    "f32     tuned nt 2; ranges nt 1; other shapes within 5 % by the law of time, learned from 24\n",
    "bf16    none tuned; nothing learned for other shapes: 0 were timed, of 16\n", quiet=["portfolio"])
run(["show", QUADRO], 0, "published figures", "Semenenko", "extra column *", "268.4 GFLOP/s",
    "exactly one 1 ms timer tick", "Table 1.4")
run(["show", BAD + "/knob_range.json"], 0, "knobs.TILE is 17", "gemm f32 nt 64x48x32")
run(["show", BAD + "/format_newer.json"], 1, "its format is 2; this mmtune reads format 1")
run(["show", "/nowhere/p.json"], 1, "/nowhere/p.json", "No such file")
run(["show", OWN, "--device", "0"], 2, "one of them")
run(["show", OWN, QUADRO], 2, "one word too many")
run(["show", "--frob"], 2, "--frob")
run(["show", "--help"], 0, "usage: mmtune show")

shown = json.loads(run(["show", "--json", OWN], 0))
check(shown["made"]["seed"] == "18446744073709551615", "the seed is whole")
check([p["problem"] for p in shown["problems"]] == ["gemm f32 nt 64x48x32"],
      "show --json has the problem once")
check([(p["type"], p.get("model")) for p in shown["products"]] ==
      [("f32", {"shapes": 24, "residual": 0.05, "heeded": 0.7}),
       *((kind, {"shapes": 0, "residual": 0.0, "heeded": 0.7}) for kind in ("bf16", "f16"))],
      f"show --json has the models: {shown['products']}")
check("portfolio" not in shown and not any("portfolio" in p for p in shown["products"]), "and no portfolios")
check(shown["problems"][0]["best"]["time_us"] == 2.5, "show --json has the time")
check([(k["library"], k["speedup_over_library"], k["speedup_over_library_best"])
       for k in shown["problems"][0]["kernels"] if "library" in k] ==
      [("cuBLAS 12.8.4", 1.1, 0.8)], "and what the library takes beside one kernel")

ranges = shown["ranges"]
check([r["problems"] for r in ranges] == ["gemm f32 nt 1-100x48x32"], "show --json has the range")
check([s["m_to"] for s in ranges[0]["segments"]] == [16, 100], "and its segments")
check(ranges[0]["times"][1] == {"m": 33, "time_us": 2.5, "best_us": 2.0}, "and its times")
own = load(OWN)
first, *others = own["entries"]
with tempfile.TemporaryDirectory() as folder:
    faster, foreign, out = (os.path.join(folder, name) for name in ("faster", "foreign", "out"))
    longer = dict(first, problem=dict(first["problem"], m=65))
    later = dict(first["yardstick"], date="2026-01-03T00:00:00Z", first_us=9.0)
    quicker = dict(first, time=dict(first["time"], median_us=2.0), yardstick=later)
    f32, bf16 = own["models"]
    more = dict(f32, shapes=f32["shapes"] + 1, residual=0.5)
    same = dict(bf16, residual=0.5)
    (ours,) = own["ranges"]
    theirs = dict(ours, segments=ours["segments"][1:],
                  times=[dict(ours["times"][0], us=1.0), dict(ours["times"][1], us=2.6)])
    wider = dict(ours, problem=dict(ours["problem"], n=49, ldb=32, ldc=49))
    save("", faster, dict(own, entries=[quicker, longer], models=[more, same], ranges=[wider, theirs]))
    save("", foreign, dict(own, device=dict(own["device"], name="Another")))

    save("", out, dict(own, models=[dict(f32, heeded=0)]))
    run(["show", out], 0, "; other shapes by the law of time alone: what 24 taught chose no better\n")

    run(["merge", OWN, faster, "--out", out], 0)
    merged = load(out)
    times = {(e["problem"]["m"], e["template"], e["source"]): e["time"]["median_us"]
             for e in merged["entries"]}
    check(times[64, first["template"], ""] == 2.0, "the faster entry stays")
    check(times[65, first["template"], ""] == 2.5, "an entry of the second profile alone is there")
    check(len(merged["entries"]) == len(own["entries"]) + 1, "no entry is there twice")
    check({m["family"]: m["residual"] for m in merged["models"]} == {"f32": 0.5, "bf16": 0.0},
          "of each family the model of more shapes stays, of as many the first")
    check(merged["ranges"] == [theirs, wider], "the faster kernels of a range stay, others come in")
    check(json.loads(run(["merge", faster, OWN], 0))["ranges"] == [wider, theirs], "in any order")
    check(merged["made"]["tried"] == 2 * own["made"]["tried"], "what was tried is added up")
    check(json.loads(run(["merge", faster, OWN], 0))["entries"][0]["time"]["median_us"] == 2.0,
          "the order does not matter to entries, and standard output gets it")
    run(["merge", OWN, faster, "--out", OWN + "/nowhere"], 1, "Not a directory")
    run(["merge", OWN, foreign, "--out", out], 1, "foreign", "'Another'", "Testing")
    check(load(out) == merged, "what cannot be merged leaves the file as it is")

    # What another card or driver is told of; another number of multiprocessors is refused.
    def of(path, **device):
        save("", path, dict(own, device=dict(own["device"], **device)))

    limits = own["device"]["limits"]
    for key, value, said in (("sms", limits["sms"] + 7, "multiprocessors, and this one has"),
                             ("memory_bytes", 2 * limits["memory_bytes"], "GiB of memory, and this one has")):
        of(foreign, limits=dict(limits, **{key: value}))
        run(["merge", OWN, foreign], 1, foreign, said)
    of(faster, uuid="0123")
    of(foreign, uuid="4567", driver="1.2.3")
    run(["merge", faster, foreign, "--out", out], 0,
        f"{foreign}: measured on another card of this kind, UUID 4567",
        f"{foreign}: measured under driver 1.2.3, the profile before it under {own['device']['driver']}")
    run(["show", out], 0, f"  {out}: measured on several cards of this kind")
    run(["merge", faster, faster, "--out", out], 0, quiet=["measured on", "measured under"])
    run(["show", out], 0, quiet=["measured on"])

    def merged_record(a, b):
        for path, entry in ((faster, a), (foreign, b)):
            save("", path, dict(own, entries=[entry]))
        entry, = json.loads(run(["merge", faster, foreign], 0))["entries"]
        return entry.get("yardstick")

    newer = dict(first, yardstick=later)
    check(merged_record(first, newer) == later == merged_record(newer, first),
          "of two records the newest stays")
    without = {key: value for key, value in quicker.items() if key != "yardstick"}
    check(merged_record(first, without) == first["yardstick"], "a record stays beside its kernel")
    another = dict(without, knobs=dict(first["knobs"], UNROLL_K=8))
    check(merged_record(first, another) is None, "and goes with it")
run(["merge", GTX, QUADRO], 1, "published figures")
run(["merge", OWN], 2, "1 file is named")
run(["merge", "--help"], 0, "usage: mmtune merge")
end("show and merge")
