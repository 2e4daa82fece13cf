#!/usr/bin/env python3
"""mmtune study on an OpenCL CPU, with small sizes: run_study.py PART MMTUNE PAPERS [STAND_IN [LAYER]]

PART is quick (few kernels are built), papers (blocks of 256, what is printed, two cards) or
whole, for the others: most of these on the CPU of emulation/fake/opencl, in the folder
STAND_IN. PAPERS is the folder of the papers' profiles, LAYER an OpenCL layer that hides double
precision."""
import csv
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check, cpu_device, end, enter, no_stand_in, stand_in

part, program, papers = sys.argv[1:4]
folder_of_stand_in, layer = [*sys.argv[4:6], None, None][:2]


def study(*words, env=None):
    return subprocess.run([program, "study", *words], capture_output=True, text=True,
                          env=env)


def devices(env=None):
    done = subprocess.run([program, "devices", "--json"], capture_output=True, text=True,
                          env=env)
    return {device["id"]: device for device in json.loads(done.stdout or "[]")}


def cpu():
    for name, device in devices().items():
        if device["kind"] == "cpu":
            return name
    print("skipped: there is no OpenCL CPU device")
    sys.exit(77)


def rows(folder, name):
    """The rows of a table, which must stand alike in its CSV and its JSON."""
    with open(os.path.join(folder, name + ".json")) as file:
        table = json.load(file)
    with open(os.path.join(folder, name + ".csv"), newline="") as file:
        lines = list(csv.reader(file))
    heads = ["%s (%s)" % (c["name"], c["unit"]) if c["unit"] else c["name"]
             for c in table["columns"]]
    check(lines[0] == heads, "%s: the heads of the CSV" % name)
    check(len(lines) == len(table["rows"]) + 1, "%s: as many lines as rows" % name)
    for line, row in zip(lines[1:], table["rows"]):
        for text, value in zip(line, row.values()):
            check(text == ("" if value is None else value) if not isinstance(value, float)
                  else abs(float(text) - value) <= 1e-6 * abs(value),
                  "%s: '%s' is %s" % (name, text, value))
    return table["rows"]


def run(name, device, folder, *words):
    out = os.path.join(folder, name)
    done = study(name, "--device", device, "--out", out, *words)
    check(done.returncode == 0, "%s: %s" % (name, done.stderr))
    return out, done.stdout


def check_usage(device):
    for words, told in ((["ladders"], "no study"), (["ladder", "--sizes", "0"], "--sizes"),
                        (["ladder", "--paper", "knuth"], "zatolokin"),
                        (["addition", "--memory", "1G"], "is not for study addition"),
                        (["ladder", "--memory", "9K", "--device", device], "139264 bytes"),
                        (["ladder", "--type", "bf16", "--device", device], "bf16"),
                        (["addition", "--device", "null"], "executes nothing"),
                        (["cards", "one.json"], "two profiles"),
                        (["cg", "one.json"], "one word too many"),
                        (["pyramid", "--memory", "much"], "256M"),
                        (["pyramid", "--device", device, "--sizes", "32", "--memory", "9K"],
                         "a pyramid of height 1 needs 3 planes"),
                        (["pyramid", "--device", device, "--sizes", "32", "--memory", "1G"],
                         "holds the whole grid"),
                        (["longvector", "--device", device, "--type", "i32"], "f32 or f64")):
        with tempfile.TemporaryDirectory() as folder:
            done = study(*words, "--out", folder)
        check(done.returncode == 2 and told in done.stderr,
              "%s is refused: %s" % (words, done.stderr))
    check(study().returncode == 0 and study("ladder", "--help").returncode == 0, "help")


def check_places():
    """mmtune-study beside the program, or on PATH; where it is nowhere, what is missing."""
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(program, folder)
        own = os.path.join(os.path.dirname(os.path.realpath(program)), "..", "studies", "mmtune-study")

        def call(path):
            return subprocess.run([alone, "study", "cards"], capture_output=True, text=True, env={"PATH": path})

        done = call("")
        check(done.returncode == 1 and f"mmtune-study is neither in {folder} nor on PATH" in done.stderr
              and "-Dstudies=true" in done.stderr, f"mmtune alone: {done}")
        os.mkdir(folder + "/bin")
        os.symlink(os.path.realpath(own), folder + "/bin/mmtune-study")
        check("two profiles" in call(folder + "/bin").stderr, "mmtune-study on PATH")
        os.rename(folder + "/bin/mmtune-study", folder + "/mmtune-study")
        check("two profiles" in call("").stderr, "mmtune-study beside mmtune")


def check_sum(row, kernel):
    """What is not allocating adds up to the total, all by the host's clock."""
    parts = row["host to device"] + row[kernel] + row["device to host"]
    check(abs(parts - row["total"]) <= 1e-6 * row["total"],
          "the phases add up to the total: %s" % row)


def check_ladder(device, folder):
    out, _ = run("ladder", device, folder, "--sizes", "64,128", "--repetitions", "2",
                 "--memory", "1M")
    for paper in ("zatolokin", "semenenko", "gts250", "ustyuzhanin"):
        for row in rows(out, "ladder-" + paper):
            check(not row["left out"], "%s: %s" % (row["kernel"], row["left out"]))
            check_sum(row, "kernel, host clock")
            check(row["kernel, device clock"] > 0, "no time is 0")
    check_claims(out, "ladder-zatolokin-claims", (
        ("the largest block", None, "n = 128, f32"), ("21 times", None, "n = 128"),
        ("OpenCL takes as long", "not measured", "--device cuda:0,opencl:0"),
        ("P of tiles falls", "not measured", "--sizes 1024,2048")))
    check_claims(out, "ladder-semenenko-claims", (
        ("4 results a thread are the best", None, "n = 128"),
        ("gain most in int", None, "f32"), ("cannot be processed", "not measured", "4096"),
        ("on the other card", "not measured", "study cards")))
    check_claims(out, "ladder-gts250-claims", (
        ("2N reads", "holds", "256 and 16 reads, n = 128, tiles of 16"),
        ("double is sharply", "not measured", "--type f32,f64"),
        ("28.03", "not measured", "3072"), ("A*B^T is the fastest", None, "128")))
    check_claims(out, "ladder-ustyuzhanin-claims", (
        ("near the limit of memory", "not measured", "is a CPU"),))
    check_judgement(out)
    check_questions(out)
    check_limit(out)
    turns = {(r["kernel"], r["type"]): r["bank turns"]
             for r in rows(out, "ladder-semenenko")}
    for kernel, least in (("tiles with bank conflicts", 32), ("an extra column", 1), ("an extra column, of A too", 1),
                          ("16 extra bytes", 4), ("exclusive or", 1), ("indices exchanged", 1)):
        check(turns[kernel, "f32"] == least, "%s: %s turns" % (kernel, turns[kernel, "f32"]))
    layouts = {r["layout"] for r in rows(out, "ladder-gts250-cpu")}
    check(layouts == {"A*B", "A^T*B", "A*B^T", "buffered"}, "one core's layouts")
    check({r["block"] for r in rows(out, "ladder-zatolokin")} ==
          {"32x32", "16x16", "8x8", "32x8", "64", "128", ""}, "blocks of all sizes")
    kernels = {r["kernel"] for r in rows(out, "ladder-semenenko")}
    check({"ILP %d%s" % (work, layout) for work in (2, 4) for layout in ("", ", indices exchanged")} |
          {"ILP 4, 16 extra bytes", "ILP 8, indices exchanged", "4x4 in registers"} <= kernels, "%s" % kernels)


def check_claims(folder, name, wanted):
    """What was measured has a figure, what was not a reason; `wanted`: verdicts by words of
    the claim."""
    table = rows(folder, name)
    for row in table:
        measured = row["verdict"] in ("holds", "does not hold", "within the noise")
        check(measured or row["verdict"] == "not measured", "a verdict: %s" % row)
        check(bool(row["figure here"]) == measured and bool(row["reason"]) != measured,
              "a figure or a reason: %s" % row)
    for words, verdict, told in wanted:
        found = [r for r in table if words in r["claim"]]
        check(found and all(not verdict or r["verdict"] == verdict for r in found) and
              all(told in r["figure here"] + r["reason"] for r in found),
              "%s, '%s': %s" % (name, words, found))


def check_limit(folder):
    """Near the limit of memory: A is n x 256, B 256 x n, and all three take 1 MiB at most."""
    table = rows(folder, "ladder-ustyuzhanin-limit")
    check(len(table) == 5, "every kernel: %s" % table)
    for row in table:
        check(not row["left out"] and row["n"] == 160 and row["k"] == 256 and
              round(row["A, B, C"] * 2 ** 30) == 8 * 160 * (160 + 2 * 256), "%s" % row)
        rate = 2 * 160 * 160 * 256 / row["computing"] * 1e-6
        check(abs(row["P"] - rate) < 1e-6 * rate, "P by the time: %s" % row)
    split = [round(r["workspace"] * 2 ** 30) for r in table if "split" in r["kernel"]]
    check(split == [4 * 8 * 160 * 160], "four parts of C: %s" % split)


def check_judgement(folder):
    """A claim's figure is what the ladder's own table says; so are its noise and its verdict."""
    def t(paper, kernel, n, column="total", kind="f32"):
        return [r[column] for r in rows(folder, "ladder-" + paper)
                if (r["kernel"], r["n"], r["type"]) == (kernel, n, kind)][0]

    def claim(paper, words, manner="with copying"):
        return [r for r in rows(folder, "ladder-%s-claims" % paper)
                if words in r["claim"] and manner in r["figure here"]][0]

    def check_versus(words, slow, fast, least):
        for manner, column, spread in (("with copying", "total", "spread of total"),
                                       ("computing", "kernel, device clock", "spread of kernel, device clock")):
            (above, *_), (below, *_) = pair = [
                [t("zatolokin", kernel, 128, c) for c in (column, spread, "repetitions")] for kernel in (slow, fast)]
            ratio, noise = above / below, math.hypot(*(2 * s / r ** 0.5 for _, s, r in pair))
            off = ratio * noise / 100
            found = claim("zatolokin", words, manner)
            told = " +- %.3g %%" % noise if noise else ""
            check(found["figure here"] == "%.3g times%s, n = 128, f32, %s" % (ratio, told, manner) and
                  found["verdict"] == ("holds" if ratio - off >= least else "within the noise" if ratio + off >= least
                                       else "does not hold"), "%s and %s: %s" % (ratio, noise, found))

    check_versus("21 times", "naive, threads along rows, as printed", "square tiles, 4 results a thread", 20.6)
    check_versus("over tiles of 8", "square tiles of 8", "square tiles", 1)
    with_allocating = t("gts250", "square tiles", 128, "with allocating")
    computing = 100 * t("gts250", "square tiles", 128, "kernel, host clock") / with_allocating
    found = claim("gts250", "80 %", "")
    check(found["figure here"].startswith("%.2g %% at the largest" % computing) and
          found["verdict"] == ("holds" if 75 <= computing <= 85 else "does not hold"),
          "%s: %s" % (computing, found))
    gains = [t("gts250", "square tiles", n, "one core") * 1e3 /
             t("gts250", "square tiles", n, "with allocating") for n in (64, 128)]
    check(claim("gts250", "order of magnitude")["figure here"] ==
          "%.4g to %.4g times, f32, with copying" % (min(gains), max(gains)), "over one core: %s" % gains)


def check_blocks(device, folder):
    """A device with small blocks climbs every rung, with the largest block that it may have;
    what is unlike the paper is said; one that can have none measures nothing, and fails."""
    env = dict(os.environ, POCL_MAX_WORK_GROUP_SIZE="256")
    out = os.path.join(folder, "blocks")
    words = ["ladder", "--device", device, "--sizes", "64,300", "--repetitions", "1",
             "--cpu-seconds", "0.1", "--out", out]
    if "PoCL" not in devices()[device]["compiler"]:
        print("no device with small blocks: %s is not PoCL's" % device)
        return
    done = study(*words, env=env)
    check(done.returncode == 0, "blocks of 256: %s" % done.stderr)
    for paper, blocks in (("zatolokin", {"16x16", "8x8", "32x8", "64", "256", ""}),
                          ("semenenko", {"16x16", "16x8", "32x8", "32x4", "64x4", ""}),
                          ("gts250", {"16x16", ""})):
        table = rows(out, "ladder-" + paper)
        check(not any(r["left out"] for r in table), "%s: all rungs" % paper)
        check({r["block"] for r in table} == blocks, "%s: %s" % (paper, table))
        for row in table:
            smaller = row["kernel"].startswith("naive") and paper != "gts250"
            check(not smaller or row["unlike the paper"] ==
                  "blocks of 16x16 threads, the most of this device", "%s" % row)
            chunks = "of " in row["kernel"] and "shared" in row["kernel"] and row["n"] == 300
            check(not chunks or row["unlike the paper"].startswith("in chunks of 256"),
                  "%s" % row)
    check_claims(out, "ladder-zatolokin-claims", (
        ("over tiles of 16", "not measured", "the largest block of this device"),
        ("over tiles of 8", None, "n = 300")))
    done = study("addition", "--device", device, "--sizes", "512", "--repetitions", "1", "--out",
                 out, env=env)
    check(done.returncode == 0 and len(rows(out, "addition")) == 3, "additions: %s" % done.stderr)
    form = rows(out, "ladder-semenenko-f32-%s" % table[0]["device"].replace(":", "-"))
    check("16x16" in form[0]["note"], "in the paper's table, too: %s" % form[0])


def check_published(device, folder):
    """At a size that the papers have, their figures stand beside ours, doubts and all."""
    out, told = run("ladder", device, os.path.join(folder, "published"), "--sizes", "512",
                    "--repetitions", "1", "--paper", "zatolokin", "--cpu-seconds", "0")
    found = {r["kernel"]: r for r in rows(out, "ladder-zatolokin")}
    naive = found["naive, threads along rows, as printed"]
    check(naive["paper P"] == 7.9, "Table 1, OpenCL, 512: %s" % naive["paper P"])
    column = found["a column of B in shared memory"]
    check("0.36 s would be 0.746" in column["because"] and column["paper P"] == 7.5
          and column["paper's figure is"] == "impossible", "Table 2, OpenCL, 512")
    check("impossible in the paper, and compared with nothing: 0.36 s would be 0.746" in told
          and "read it as: 0.036 s" in told, "which is said where people read")
    form = {r["whose"]: r for r in rows(out, "ladder-zatolokin-table-2-f32")}
    check(form["paper"]["note"] == "impossible: t " + device, "the paper's own table: %s" % form)
    faster = form["times faster here"]
    check(faster["t " + device] is None and abs(
        faster["P " + device] - form["here"]["P " + device] / 7.5) < 1e-6,
        "the time is compared with nothing, the rate stays right: %s" % faster)
    form = {r["whose"]: r for r in rows(out, "ladder-zatolokin-table-1-f32")}
    ratio = form["paper"]["P %s : one core" % device]
    check(abs(ratio - 7.9 / 0.43) < 1e-6, "P over one core as printed: %s" % ratio)
    check(abs(form["times faster here"]["P " + device]
              - form["here"]["P " + device] / 7.9) < 1e-6, "times faster")


def check_gts250(device, folder):
    """The speed-up that the paper prints is over its own other kernel: beside ours it stands
    as such, and the speed-up over one core is another column."""
    out, told = run("ladder", device, os.path.join(folder, "gts250"), "--sizes", "64,512",
                    "--repetitions", "1", "--paper", "gts250", "--type", "f32",
                    "--cpu-seconds", "0.01")
    name = "ladder-gts250-tables-3-4-5-" + device.replace(":", "-")
    form = {(r["n"], r["whose"]): r for r in rows(out, name)}
    printed = form[512, "paper"]
    check(abs(printed["T classical : T tiled"] - 5.228571429) < 1e-6 and
          "T classical : T tiled" in printed["note"], "Table 4: %s" % printed)
    check(abs(printed["S, over one core"] - 1.031 / 0.035) < 1e-6, "S by the paper's times")
    check(form[512, "here"]["note"] == "S, over one core as n^3 from 64", "what is extended")
    core = {(r["n"], r["layout"]): r for r in rows(out, "ladder-gts250-cpu")}
    small, large = core[64, "A*B"], core[512, "A*B"]
    check(small["runs"] >= 1 and large["as n^3 from"] == 64 and not large["runs"],
          "what takes one core too long is extended: %s" % large)
    check(abs(large["t"] / small["t"] / 512 - 1) < 1e-6, "as n^3")


def check_memory(device, folder):
    """What no memory holds is left out, or refused, with its size."""
    out = os.path.join(folder, "large")
    done = study("ladder", "--sizes", "500000", "--paper", "zatolokin", "--repetitions", "1",
                 "--device", device, "--out", out)
    check(done.returncode == 1 and "nothing was measured" in done.stderr and
          "left out on" in done.stdout and "GiB" in done.stdout and
          "->" not in done.stdout, "the ladder measured nothing: %s" % done)
    for words in (["addition", "--sizes", "2000000000000", "--type", "f32"],
                  ["addition", "--sizes", "2147418112", "--type", "f64"],
                  ["longvector", "--sizes", "30000", "--type", "f64"],
                  ["pyramid", "--sizes", "2048"]):
        done = study(*words, "--device", device, "--out", out)
        check(done.returncode and done.stderr.startswith("mmtune study") and
              "Traceback" not in done.stderr,
              "%s: %d %s" % (words, done.returncode, done.stderr))


def check_no_double(device, folder):
    """Without double precision what needs it is left out or refused, in words."""
    env = dict(os.environ, OPENCL_LAYERS=layer or "")
    if not layer or devices(env).get(device, {"f64": True})["f64"]:
        print("no device without double: this OpenCL loader has no layers")
        return
    for words, code in ((["ladder", "--paper", "ustyuzhanin", "--sizes", "64"], 1),
                        (["addition", "--sizes", "512"], 0),
                        (["addition", "--sizes", "512", "--type", "f64"], 1),
                        (["longvector", "--sizes", "10", "--type", "f64"], 1),
                        (["pyramid", "--sizes", "32", "--type", "f64"], 1),
                        (["cg", "--sizes", "5"], 1)):
        done = study(*words, "--device", device, "--out", folder, env=env)
        told = done.stdout + done.stderr
        check(done.returncode == code and "no double precision" in told,
              "without double, %s: %d %s" % (words, done.returncode, told))


def check_addition(device, folder):
    out, told = run("addition", device, folder, "--sizes", "4096,512,512", "--repetitions", "2")
    table = rows(out, "addition")
    check(len(table) == 6, "three types, two sizes")
    check(all(r["runs"] == 2 for r in table), "repetitions as told")
    for row in table:
        check_sum(row, "compute")
    check(not any(r["our figure is in doubt"] for r in table), "no doubts: %s" % table)
    check(len(re.findall("with copying: ", told)) == 3, "crossovers are told")
    check_claims(out, "addition-claims", (("double never pays", None, "to 4096"),
                                          ("hardly any", None, "%"), ("float and int", None, "")))


def check_crossover(device, folder):
    """Small products beside OpenBLAS, whose answers are the device's; or that it is not installed."""
    out = os.path.join(folder, "crossover")
    done = study("crossover", "--device", device, "--sizes", "16,40", "--repetitions", "2", "--out", out)
    if "OpenBLAS is not installed" in done.stderr:
        check(done.returncode == 1, "%s" % done)
        return
    check(done.returncode == 0, "crossover: %s" % done.stderr)
    table = rows(out, "crossover")
    check([(r["type"], r["n"]) for r in table] == [(t, n) for t in ("f32", "f64") for n in (16, 40)], "%s" % table)
    check(all(r["OpenBLAS, one core"] > 0 and r["device, with copying"] > 0 for r in table), "%s" % table)
    for core, column in (("one core", "OpenBLAS, one core"), ("all cores", "OpenBLAS, all cores")):
        behind = table[1]["device, with copying"] > table[1][column]
        said = re.search("f32, with copying: faster than OpenBLAS on %s (not|from)" % core, done.stdout)
        check(said and (said[1] == "not") == behind, "at the greatest order: %s" % done.stdout)


def check_questions(folder):
    """Rates of copies, and the order from which computing takes longer than these, by the ladder's table."""
    table = rows(folder, "ladder-semenenko")
    for asked in rows(folder, "ladder-semenenko-questions"):
        found = {r["n"]: r for r in table if (r["kernel"], r["type"]) == (asked["kernel"], asked["type"])}
        last = found[asked["n"]]
        bytes_moved = 3 * asked["n"] ** 2 * (8 if asked["type"] == "f64" else 4)
        copies = last["host to device"] + last["device to host"]
        check(asked["n"] == 128 and abs(asked["copies"] * copies * 1e6 / bytes_moved - 1) < 1e-5, "%s" % asked)
        spare = last["one core"] * 1e3 - last["kernel, host clock"]
        check(asked["pays over one core from"] is None if spare <= 0 else
              abs(asked["pays over one core from"] * spare * 1e6 / bytes_moved - 1) < 1e-5, "%s: %s" % (spare, asked))
        more = {n: r["kernel, host clock"] > r["total"] - r["kernel, host clock"] for n, r in found.items()}
        half = asked["half of t is computing from"]
        check(half is None if not more[128] else half == 0 if more[64] else 64 <= half <= 128, "%s: %s" % (more, asked))


def check_cards(folder):
    out = os.path.join(folder, "cards")
    done = study("cards", os.path.join(papers, "geforce-gtx-1060.json"),
                 os.path.join(papers, "quadro-k5000.json"), "--out", out, "--json")
    check(done.returncode == 0 and len(done.stdout.splitlines()) == 2, "cards --json")
    for row in rows(out, "cards"):
        check(abs(row["T1"] - row["T2"] - row["T1 - T2"]) < 1e-6 * row["T1"], "T1 - T2")
        check(row["T1 : T2"] > 0, "%s" % row)
        if row["kernel of the first"] == "extra column":
            check(row["faster"] == ("nothing: a figure is suspect" if "512x" in row["problem"]
                                    else "the second"),
                  "one tick proves nothing, what surprises does: %s" % row)


def check_cards_width(folder):
    """Two profiles within 100 columns; a paper's figures are none of a kernel alone."""
    shipped = [os.path.join(papers, "..", "cuda-nvidia-%s.json" % name) for name in ("h100-80gb-hbm3", "h200")]
    paper = os.path.join(papers, "geforce-gtx-1060.json")
    for pair in (shipped, [paper, os.path.join(papers, "quadro-k5000.json")]):
        done = study("cards", *pair, "--out", os.path.join(folder, "width"))
        table = done.stdout.split("semenenko, Table 1.3")[0].splitlines()
        check(done.returncode == 0 and len(table) > 10 and all(len(line) <= 100 for line in table),
              "%s: %s" % (pair, [line for line in table if len(line) > 100] or done))
    done = study("cards", paper, shipped[1], "--out", os.path.join(folder, "width"))
    check(done.returncode == 1 and "timed alike" in done.stderr, "%s" % done)


def check_cards_of_runs(device, folder):
    """Two folders of studies, as two cards have them."""
    runs = [os.path.join(folder, name) for name in ("one", "two")]
    for at, name in enumerate(runs):
        for words in (["addition", "--sizes", "512,4096"],
                      ["ladder", "--paper", "semenenko", "--sizes", "64", "--cpu-seconds", "0"]):
            out = os.path.join(name, words[0]) if at else name
            if at and words[0] == "ladder":
                out = os.path.join(name, "ladder-semenenko")
            done = study(*words, "--device", device, "--repetitions", "3", "--out", out)
            check(done.returncode == 0, "%s: %s" % (words, done.stderr))
    out = os.path.join(folder, "cards-of-runs")
    done = study("cards", *runs, "--out", out)
    check(done.returncode == 0 and "T1 of one %s" % device in done.stdout, "%s" % done)
    sums, products = rows(out, "cards-additions"), rows(out, "cards-products")
    check(len(sums) == 6 and len(products) == 48, "%d, %d" % (len(sums), len(products)))
    first = rows(runs[0], "ladder-semenenko")
    for row in products:
        total = [r["total"] for r in first if r["kernel"] == row["kernel"]
                 and r["type"] == row["type"]]
        check(total == [row["T1"]] and row["noise"] > 0 and
              abs(row["T1"] - row["T2"] - row["T1 - T2"]) < 1e-6 * row["T1"], "%s" % row)
        check(("neither" in row["faster"]) == (abs(row["T1 - T2"]) <= row["noise"]), "%s" % row)
    printed = {(r["type"], r["n"]): r["printed T1 - T2"] for r in sums}
    check(abs(printed["f32", 512] - 0.093) < 1e-9, "Table 1.3 as printed: %s" % printed)
    check_claims(out, "cards-claims", (("2.4 times", "not measured", "--sizes 2048"),
                                       ("0.002 s", "not measured", "--type f64"),
                                       ("0.009 s", "not measured", "51200000")))
    os.mkdir(os.path.join(folder, "bare"))
    done = study("cards", runs[0], os.path.join(folder, "bare"), "--out", out)
    check(done.returncode == 1 and "no size in common" in done.stderr, "bare: %s" % done)
    done = study("cards", runs[0], os.path.join(papers, "quadro-k5000.json"), "--out", out)
    check(done.returncode == 2 and "one is a folder" in done.stderr, "mixed: %s" % done)
    with open(os.path.join(folder, "bare", "addition.json"), "w") as file:
        file.write("{")
    done = study("cards", runs[0], os.path.join(folder, "bare"), "--out", out)
    check(done.returncode == 1 and "addition.json: line 1" in done.stderr, "broken: %s" % done)


def check_longvector(device, folder):
    out, told = run("longvector", device, folder, "--sizes", "10,30")
    series = {r["series"] for r in rows(out, "longvector")}
    check(series == {"measured", "model of the paper", "model with levels"}, "its series")
    check(len(re.findall("from the host's plain steps", told)) == 5, "several N: %s" % told)
    check("grows to" in told and told.count("delta over 2 sizes") == 2, "it says: %s" % told)
    check("cuBLAS's axpy is not beside ours" in told, "what is not there is said: %s" % told)
    verdicts = check_paper(out, "longvector-claims", "vorotnikova", 6)
    check(verdicts["the same algorithm takes longer in MATLAB's toolbox"] == "not measured",
          "verdicts: %s" % verdicts)
    with open(os.path.join(out, "longvector.gp")) as file:
        check("set xlabel 'n, nodes'" in file.read(), "the axis of Fig. 1")
    knots = {r["N"] for r in rows(out, "longvector-levels")}
    check(len(knots) > 4 and not knots & {10, 30} and min(knots) < 10 and max(knots) > 30,
          "what is predicted is not what was learnt from: %s" % sorted(knots))
    check("the time" not in told, "without a limit all is measured: %s" % told)
    out, told = run("longvector", device, os.path.join(folder, "limited"), "--sizes",
                    "10,20,30,40", "--seconds", "0.001")
    measured = [r for r in rows(out, "longvector") if r["series"] == "measured"]
    check(measured and all(r["runs"] >= 1 for r in measured), "some sizes: %s" % measured)
    check(rows(out, "longvector-levels") and len(rows(out, "longvector-costs")) == 7,
          "all tables in whatever time")
    check(re.search(r"over: 24 of \d+ lengths", told) and "whole rounds of 5" in told and
          "nan" not in told, "what was left out is told: %s" % told)


def check_pyramid(device, folder):
    out, told = run("pyramid", device, folder, "--sizes", "48")
    check("the bits of plain sweeps" in told, "bits: %s" % told)
    ends = re.search(r"(\d+) passes of 3 sweeps, and plain sweeps need (\d+)", told)
    check(ends and ends[1] == ends[2] and int(ends[1]) > 10, "the stop test: %s" % told)
    heights = {r["h"] for r in rows(out, "pyramid")}
    check(heights >= {1, 3}, "heights %s" % heights)
    check(heights == {1, 3, 4, 5}, "some beyond N / 10: %s" % heights)
    check("t_send" in told and "at equal heights" in told, "both ways: %s" % told)
    built = re.search(r"buildPyramids\((\d+) bytes, N = 48\): (\d+) blocks of 12 planes, h = (\d+)", told)
    check(built and int(built[1]) == 12 * 3 * 4 * 48 * 48 and int(built[3]) in (1, 3, 4) and
          int(built[2]) == -(-(48 - 2 * int(built[3])) // (12 - 2 * int(built[3]))),
          "what a program would be told: %s" % told)
    check_paper(out, "pyramid-claims", "vorotnikova", 6)
    series = {r["series"] for r in rows(out, "pyramid")}
    check(series == {"measured", "overlapped", "model of the paper", "model with both ways"},
          "its series")
    out, told = run("pyramid", device, os.path.join(folder, "limited"), "--sizes", "96",
                    "--seconds", "0.001")
    table = rows(out, "pyramid")
    check({r["runs"] for r in table if r["series"] == "measured"} == {1} and
          re.search(r"over: 4 of \d+ heights were measured, in at least 1 of 3", told),
          "fewer heights in little time: %s" % told)


def check_paper(folder, name, paper, least):
    """Each claim of a paper has its place, and a figure of today or a reason."""
    table = rows(folder, name)
    check(len(table) >= least, "%s: %d claims" % (name, len(table)))
    for row in table:
        check(row["paper"] == paper and row["place"] and row["claim"], "%s: %s" % (name, row))
        measured = row["verdict"] in ("holds", "does not hold")
        check(measured or row["verdict"] == "not measured", "%s: %s" % (name, row))
        check(bool(row["figure here"]) == measured and bool(row["reason"]) != measured,
              "%s: %s" % (name, row))
    return {row["claim"]: row["verdict"] for row in table}


def check_cg(device, folder):
    out, told = run("cg", device, folder, "--sizes", "1,2,31,90")
    for row in rows(out, "cg"):
        check(row["end"] == "solved" and row["error of x"] < 1e-6, "%s" % row)
        if row["steps"]:
            check(row["steps"] <= row["n"] + 10, "steps %s" % row)
    check("not symmetric: A(1, 0)" in told and "not positive definite" in told, "guards")
    check("Cramer's rule: singular; by elimination: singular" in told, "singular: %s" % told)
    check("20 steps one by one" in told, "the same iterates")
    methods = {r["method"] for r in rows(out, "cg")}
    check(len(methods) == 4, "methods %s" % methods)
    sums = {(r["sum"], r["n"]) for r in rows(out, "cg-sums")}
    check(len(sums) == 16 and ("one core", 31) in sums, "four curves, four orders: %s" % sums)
    limits = [(r["in the paper"], r["by its rule"], r["today"]) for r in rows(out, "cg-limits")]
    check(limits[:2] == [(1482880, 1482880, 2097120), (40960, 40960, 2097120)] and
          limits[2][1] == 23170 and limits[2][2] > 0, "the greatest orders: %s" % limits)
    verdicts = check_paper(out, "cg-claims", "ustyuzhanin", 10)
    check(verdicts["elimination and Cramer's rule suit orders up to 20"] == "does not hold" and
          verdicts["memory limits the order of matrices, not the grid"] == "holds",
          "verdicts: %s" % verdicts)
    with open(os.path.join(out, "cg-linear.gp")) as file:
        check("logscale" not in file.read(), "Fig. 8 has linear axes")
    done = study("cg", "--device", device, "--sizes", "30001", "--out", out)
    check(done.returncode == 2 and "at most 30000" in done.stderr, "an order too large")
    done = study("cg", "--device", device, "--condition", "0.5", "--out", out)
    check(done.returncode == 2 and "--condition" in done.stderr, "no condition number")


def check_cg_steps(device, folder):
    """The paper's n - 1 steps leave a residual, the greater the worse the condition is."""
    def residuals(name, *words):
        out, _ = run("cg", device, os.path.join(folder, name), "--sizes", "2,40",
                     "--all-steps", *words)
        check_paper(out, "cg-claims", "ustyuzhanin", 10)
        table = [r for r in rows(out, "cg") if r["steps"] is not None]
        for row in table:
            check(row["end"] == "all steps" and row["steps"] == row["n"] - 1, "%s" % row)
        check(len(table) == 4, "both ways: %s" % table)
        return {(r["method"], r["n"]): r["residual"] for r in table}

    well, ill = residuals("well"), residuals("ill", "--condition", "1000000")
    check(all(ill["CG on one core", n] > 10 * well["CG on one core", n] for n in (40,)),
          "well %s, ill %s" % (well, ill))


FEW_THREADS = (["longvector", "--sizes", "10,30"], ["pyramid", "--sizes", "32"], ["cg", "--sizes", "5,40"])


def check_few_threads(device, folder, studies=FEW_THREADS):
    """Grids and solvers where a block may have no more than 256, 128 or 64 threads."""
    for words, threads in itertools.product(studies, ("256", "128", "64")):
        done = study(*words, "--device", device, "--out", os.path.join(folder, "few"),
                     env=dict(os.environ, POCL_MAX_WORK_GROUP_SIZE=threads))
        check(done.returncode == 0, "%s threads, %s: %s" % (threads, words, done.stderr))


def check_pictures(folder):
    found = {name for _, _, names in os.walk(folder) for name in names
             if name.endswith((".gp", ".svg"))}
    scripts = {name[:-3] for name in found if name.endswith(".gp")}
    short = {re.sub("-opencl-.*", "", name) for name in scripts}
    check(short >= {"ladder-gts250-fig-2", "ladder-gts250-fig-3", "ladder-semenenko-fig-1-2",
                    "ladder-semenenko-fig-1-3", "addition-f32", "ladder-zatolokin-f32"},
          "the papers' figures: %s" % short)
    pictures = {name[:-4] for name in found if name.endswith(".svg")}
    if pictures:
        check(pictures == scripts, "every script makes its picture")
        for where, _, names in os.walk(folder):
            for name in (n for n in names if n.endswith(".svg")):
                with open(os.path.join(where, name), encoding="utf-8") as file:
                    check("<title>Gnuplot" not in file.read(), "%s has a title" % name)
    else:
        print("no pictures: gnuplot is not installed")


def check_script(device, folder):
    """All studies by one command: what fails is told, and the others are done."""
    script = os.path.join(papers, "..", "..", "tools", "run_studies.sh")
    small = dict(os.environ, STUDIES="ladder-z* cards cg-*", LADDER="64", CG="1,5,20")

    def call(out, *devices):
        return subprocess.run([script, program, os.path.join(folder, out), "60", *devices],
                              env=small, capture_output=True, text=True)

    done = call("all", device)
    check(done.returncode == 0 and "3 studies done" in done.stdout, "%s" % done)
    found = {name for _, _, names in os.walk(os.path.join(folder, "all")) for name in names}
    check({"run.txt", "cards.csv", "cards.txt", "cg.csv", "ladder-zatolokin.csv"} <= found,
          "%s" % found)
    unwanted = (".json", ".gp") if shutil.which("gnuplot") else (".json",)  # scripts that were not drawn stay
    check(not any(name.endswith(unwanted) for name in found), "%s" % found)
    done = call("part", device, "opencl:99")
    check(done.returncode == 1 and "there is no opencl:99" in done.stdout and
          "failed: ladder-zatolokin cg-opencl-99" in done.stdout, "%s" % done)
    check(os.path.exists(os.path.join(folder, "part", "cards", "cards.csv")), "the others")
    check(call("none").returncode == 2, "usage")


if part == "quick":
    device = cpu()
    check_places()
    check_usage(device)
    with tempfile.TemporaryDirectory() as temporary:
        check_memory(device, temporary)
        check_cards(temporary)
        check_cards_width(temporary)
    end("study quick")
if part == "papers":
    device = cpu()
    with tempfile.TemporaryDirectory() as temporary:
        check_blocks(device, temporary)
        check_published(device, temporary)
        check_gts250(device, temporary)
        check_cards_of_runs(device, temporary)
    end("study papers")
real = no_stand_in(folder_of_stand_in)
enter(dict(stand_in(folder_of_stand_in), MMT_FAKE_WAITS="1"))
device = cpu()
with tempfile.TemporaryDirectory() as temporary:
    check_ladder(device, temporary)
    check_addition(device, temporary)
    check_crossover(device, temporary)
    check_longvector(device, temporary)
    check_pyramid(device, temporary)
    check_cg(device, temporary)
    check_cg_steps(device, temporary)
    check_few_threads(device, temporary)
    check_pictures(temporary)
with tempfile.TemporaryDirectory() as temporary:
    check_script(device, temporary)
enter(real)
device = cpu_device(program)
if device:
    with tempfile.TemporaryDirectory() as temporary:
        check_no_double(device, temporary)
        check_few_threads(device, temporary, [["cg", "--sizes", "5"]])
end("study")
