#!/usr/bin/env python3
"""What `mmtune diff` says of two cards: run_diff.py MMTUNE SOURCE_ROOT BAD_PROFILES

The two cards of a paper, whose figures are known; the profiles of an H100 and an H200 that are
shipped, and one of an H200 that is slower by known factors."""
import copy
import json
import os
import re
import shlex
import shutil
import sys
import xml.etree.ElementTree as xml

from checks import check, end, expect, load, make_home, read, save, write

MMTUNE, ROOT, BAD = map(os.path.abspath, sys.argv[1:4])
GTX, QUADRO = (f"{ROOT}/profiles/papers/{name}.json" for name in ("geforce-gtx-1060", "quadro-k5000"))
H100, H200 = (f"{ROOT}/profiles/cuda-nvidia-{name}.json" for name in ("h100-80gb-hbm3", "h200"))
OWN = os.path.join(ROOT, "tests/data/profiles/good/small.json")
folder, environment = make_home()


def run(words, status, *said, quiet=()):
    """Runs diff; checks its status, what is said on either stream, and how wide; returns stdout."""
    said = expect(MMTUNE, ["diff", *words], status, *said, quiet=quiet, cwd=ROOT, env=environment)
    if "--json" not in words and status == 0:
        wide = [line for line in said.splitlines() if len(line) > 100]
        check(not wide, f"mmtune diff {' '.join(words)} is wider than 100 columns: {wide}")
    return said


def told(*words):
    return json.loads(run([*words, "--json"], 0) or "{}")


# ---- the two cards of a paper -------------------------------------------------------------------

LINES = """\
K5000 (B) is 4.4 times as fast as GTX 1060 (A), the geometric mean of 2 problems of f32.
From 4.4 times as fast (f32 nn 2048x2048x2048) to 4.4 times (f32 nn 1024x1024x1024).
By SHARED_LAYOUT, GTX 1060 prefers swap (index swap) on 3 of 3, K5000 pad (extra column) on 3 of 3.
The other's choice takes 1.93 times as long on GTX 1060 (2 of 3), 2.25 times on K5000 (2 of 3).
In doubt: 1 of 3 rest on suspect figures (*), 0 are within the noise, 3 have no known noise.
"""


def test_papers():
    said = run([GTX, QUADRO], 0,
               "index swap wins on A, NVIDIA GeForce GTX 1060 6 GB: 3 of 3\n",
               "extra column wins on B, NVIDIA Quadro K5000 4 GB: 3 of 3 (1 of them *)",
               "SHARED_LAYOUT swap | pad", "(best on A) index swap",
               "on B, the best of A takes 2.28 times as long as its own best\n",
               "on A, the best of B takes 1.94 times as long as its own best\n", "3 problems only in A",
               "* B, Table 1.4, extra column:")
    check(said.startswith(LINES), f"the first five lines:\n{said[:600]}")
    check(told(GTX, QUADRO)["lines"] == LINES.splitlines(), "--json has the five lines")
    order = re.findall(r"^  f32 nn (\d+)x.* B ([\d.]+) times(?: \*)? +SHARED_LAYOUT swap\|pad$", said, re.M)
    check(order == [("512", "7.99"), ("1024", "4.4"), ("2048", "4.4")], f"the largest difference is first: {order}")
    check(re.search(r"^  SHARED_LAYOUT +3 of 3 +swap \(3\) +pad \(3\) +1.94 times \(3\) +2.49 times \(3\)$", said, re.M),
          f"what the other's value costs:\n{said}")


def rows_of(document, side):
    """All (problem, kernel, microseconds) of a side."""
    groups = [(problem["problem"], problem[side]["kernels"]) for problem in document["problems"]]
    groups += [(problem["problem"], problem["kernels"]) for problem in document["only_in_" + side]]
    return sorted((problem, kernel["kernel"], kernel["time_us"]) for problem, kernels in groups for kernel in kernels)


def published(path):
    return sorted((f"gemm {p['problem']['type']} nn {'x'.join(str(p['problem'][d]) for d in 'mnk')}", p["kernel"],
                   p["time_us"]) for p in load(path)["published"])


def test_rows():
    document, said = told(GTX, QUADRO), run([GTX, QUADRO], 0)
    for side, path, count in (("a", GTX, 24), ("b", QUADRO, 9)):
        check(len(published(path)) == count and rows_of(document, side) == published(path),
              f"--json has each row of {path}: {rows_of(document, side)}")
        for _, kernel, micros in published(path):
            check(f"{micros / 1000:.3f} ms" in said, f"{kernel} of {micros} us is in the text")
    for problem in document["problems"]:
        check(problem["a"]["best"]["kernel"] == "index swap", "swap is best on A")
        check(problem["b"]["best"]["kernel"] == "extra column", "padding is best on B")
        check(problem["suspect"] == ("512x" in problem["problem"]) and not problem["tie"],
              "one tick of a clock is suspect, what surprises is not: %s" % problem["problem"])
    check(document["wins_on_b"] == [{"kernel": "extra column", "problems": 3, "suspect": 1}], "wins on B")
    check(document["gaps"] == [], "published figures have no gaps that can be filled")


# ---- filters --------------------------------------------------------------------------------------

def test_filters():
    f64 = told(GTX, QUADRO, "--type", "f64")
    check(not f64["problems"] and len(f64["only_in_a"]) == 3, "--type f64")
    f32 = told(GTX, QUADRO, "--type", "fp32", "--op", "gemm")
    check(len(f32["problems"]) == 3 and not f32["only_in_a"], "--type fp32 --op gemm")
    common = told(GTX, QUADRO, "--common")
    check(len(common["problems"]) == 3 and not common["only_in_a"], "--common")
    run([GTX, QUADRO, "--common"], 0, quiet=["only in", "f64 nn", "\n  f64"])
    run([GTX, QUADRO, "--type", "f23"], 2, "no type 'f23' (did you mean 'f32'?)")
    run([GTX, QUADRO, "--op", "gem"], 2, "'gem' (did you mean 'gemm'?)")
    run([GTX, QUADRO, "--comon"], 2, "(did you mean '--common'?)")
    run([GTX, QUADRO, "--type", "i8"], 1, "no problem is left by --type", "A has problems of f32 and f64, B of f32")
    run([GTX, QUADRO, "--op", "axpby"], 1, "no problem is left")


# ---- large profiles -------------------------------------------------------------------------------

FACTORS = {"f32": 1.25, "bf16": 2.0}


def slower():
    """The H200's profile as of a card that is slower by those factors, and lacks what is i8."""
    profile = copy.deepcopy(load(H200))
    profile["device"]["name"] = "NVIDIA Slow <b>&\"1\"</b>"
    profile["entries"] = [entry for entry in profile["entries"] if entry["problem"]["type"] != "i8"]
    for entry in profile["entries"]:
        for key in ("median_us", "spread_us"):
            entry["time"][key] *= FACTORS.get(entry["problem"]["type"], 1.5)
        entry.pop("yardstick", None)
    return save(folder, "slow.json", profile)


def test_large(slow):
    said = run([slow, H200], 0, "H200 is 1.6 times as fast as Slow <b>&\"1\"</b>, the geometric mean of 326 problems of 7 types.", "--all prints them",
               "the other's choice costs nothing".capitalize())
    check(len(said.splitlines()) < 100, f"two large profiles take no hundred lines: {len(said.splitlines())}")
    check("not timed" not in said, "nothing is said to be not timed dozens of times")
    means = {kind: mean for kind, mean in re.findall(r"^  (\w+) +\d+ +([\d.]+) times ", said, re.M)}
    check(means.get("f32") == "1.25" and means.get("bf16") == "2" and means.get("f64") == "1.5",
          f"geometric means by type: {means}")
    first = re.findall(r"^  (\w+) n\w \S+ .* B (\S+) times", said, re.M)
    check(len(first) >= 15 and set(first) == {("bf16", "2")}, f"what differs most is first: {first}")
    whole = run([slow, H200, "--all"], 0)
    for entry in load(H200)["entries"]:
        problem = entry["problem"]
        trans = "".join("t" if problem[key] else "n" for key in ("trans_a", "trans_b"))
        shape = "x".join(str(problem[key]) for key in "mnk")
        check(f"gemm {problem['type']} {trans} {shape}" in whole, f"--all has {problem}")


def test_covers():
    """Nothing is said of a time with copying beside a kernel's alone."""
    said = run([GTX, H200, "--common"], 0, "GTX 1060 (A) and H200 (B) have 6 problems in common, and nothing to compare.",
               "One's times include copying, or may; the other's are of the kernel alone.",
               "6 problems in both left out", quiet=["times as fast"])
    facts = " ".join(said.split())
    check("size 132 multiprocessors, 1.98 GHz; memory 139.8 GiB, 4272 GB/s measured; at most f32 178" in facts,
          f"facts in the text:\n{said}")
    check(told(GTX, H200)["left_out_for_copying"] == 6, "--json counts them")


def test_rates():
    """Shares of the roofline, and what rooflines expect of the ratio."""
    said = run([H100, H200, "--common"], 0)
    found = re.search(r"^  f32 nn 1x4096x4096 +1374 +92 % +memory +1861 +87 % +memory +1.35 +1.43$", said, re.M)
    check(found, f"GFLOP/s of both:\n{said}")
    check(re.search(r"^  f32 nn 8192x8192x8192 .* peak .* peak +0.908 +1$", said, re.M), "bound by the peak")
    said = run([GTX, QUADRO], 0, "memory 192 GB/s by its vendor; at most f32 4.37 TFLOP/s", "memory 173 GB/s by its vendor")
    check(re.search(r"^  f32 nn 2048x2048x2048 +35.2 +1 % +peak +155 +7 % +peak +4.4 +0.496$", said, re.M), f"published:\n{said}")


def test_many():
    """Means of each pair of cards, and what one configuration reaches on all."""
    said = run([GTX, QUADRO, H100, H200], 0, "A: NVIDIA GeForce GTX 1060 6 GB", "No configuration was timed on all cards")
    rows = re.findall(r"^  ([A-D]) +(.*)$", said, re.M)
    check([re.split(r" {2,}", row) for _, row in rows] ==
          [["1", "0.227 (2)", "-", "-"], ["4.4 (2)", "1", "-", "-"], ["-", "-", "1", "0.963 (27)"],
           ["-", "-", "1.04 (27)", "1"]], f"the matrix:\n{said}")
    third = copy.deepcopy(load(QUADRO))
    third["device"]["name"] = "NVIDIA Third"
    for figure in third["published"]:
        figure["time_us"] *= 2 if figure["kernel"] == "index swap" else 1
    said = run([GTX, QUADRO, save(folder, "third.json", third)], 0)
    times = {(path, f["kernel"], f["problem"]["n"]): f["time_us"] for path, profile in enumerate(
        (load(GTX), load(QUADRO), third)) for f in profile["published"] if f["problem"]["type"] == "f32"}
    for kernel in ("index swap", "extra column", "shared"):
        each = []
        for n in (512, 1024, 2048):
            best = [min(t for (p, _, m), t in times.items() if (p, m) == (path, n)) for path in range(3)]
            each.append(3 / sum(times[path, kernel, n] / best[path] for path in range(3)))
        check(re.search(rf"^ +{sum(each) / 3:.3g} +3  {kernel}$", said, re.M), f"{kernel}: {each}\n{said}")


def test_cards():
    said = run([H100, H200], 0, "Neither card timed the other's choice", "370 problems only in B")
    check(re.search(r"^By \w+, H100 80GB HBM3 prefers \S+ on \d+ of \d+, H200 \S+ on \d+ of \d+\.$", said, re.M),
          f"what each prefers:\n{said[:500]}")
    run([H100, H200, "--all"], 0)


# ---- gaps -----------------------------------------------------------------------------------------

def asked_by(command):
    """What a command tunes: (type, transposes, shape)."""
    words = shlex.split(command)
    check(words[:3] == ["mmtune", "--device", "0"], f"a command: {command}")
    values = {word: words[i + 1] for i, word in enumerate(words[:-1])}
    shapes = [shape for word in words if word.startswith("--shape=") for shape in word[8:].split(",")]
    return [(values["--type"], values.get("-x", "nn"), "--out" in words, "--ld" in words, shape) for shape in shapes]


def name_of(entry):
    p = entry["problem"]
    shape = "x".join(str(p[key]) for key in "mnk") + (f"x{p['batch']}" if p["batch"] > 1 else "")
    trans = "".join("t" if p[key] else "n" for key in ("trans_a", "trans_b"))
    return p["type"], trans, shape


def test_gaps(slow):
    gaps = told(slow, H200)["gaps"]
    check({gap["on"] for gap in gaps} == {"a"}, f"the slower card alone lacks something: {gaps}")
    asked = [asked for gap in gaps for asked in asked_by(gap["command"])]
    missing = [name_of(entry) for entry in load(H200)["entries"] if entry["problem"]["type"] == "i8"]
    check(sorted((kind, trans, shape) for kind, trans, *_, shape in asked) == sorted(missing),
          f"commands ask for what is missing: {asked}")
    check(all(f" --with {H200} -o {slow}" in gap["command"] for gap in gaps), f"and for both files: {gaps}")
    check(sum(gap["problems"] for gap in gaps) == len(missing), "and tell how many")
    check(not told(slow, H200, "--common")["gaps"], "--common leaves no gap")
    spaced = os.path.join(folder, "it's here.json")
    shutil.copy(slow, spaced)
    check(asked_by(told(spaced, H200)["gaps"][0]["command"]), "a path with a blank and a quote is one word")
    said = run([slow, H200, "--all"], 0, "To fill the gaps of A: 71 problems lack B's best; run, on its machine,")
    joined = said[said.index("To fill"):].replace(" \\\n", " ")
    check(re.search(r"^    mmtune --device 0 --type i8 -x nt +--shape=\S+( +--shape=\S+)* +--with +\S+ +-o +\S+$", joined,
                    re.M), f"the text has the commands:\n{joined[:1500]}")


# ---- the manual -----------------------------------------------------------------------------------

def test_manual():
    """What the manual's and README's commands print is what stands below them."""
    for name, least in (("docs/manual/compare.md", 6), ("README.md", 1)):
        blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", read(os.path.join(ROOT, name)), re.M | re.S)
        said, compared = None, 0
        for kind, text in blocks:
            if kind == "sh":
                words = shlex.split(text.replace("\\\n", " "))
                diff = text.startswith("mmtune diff profiles/")
                words = words[2:words.index("--html") if "--html" in words else None]
                said = run(words, 0) if diff else None
            elif said is not None:
                compared += 1
                check(text in said, f"{name} has what the command prints:\n{text}\nbut:\n{said}")
        check(compared >= least, f"{name} shows what commands print: {compared}")


# ---- bad input, and small profiles ---------------------------------------------------------------

def test_bad(slow):
    run([OWN], 2, "1 file is named")
    run([], 2, "0 files are named")
    run([OWN, GTX, QUADRO, "--html", "page.html"], 2, "are for two profiles; 3 are named")
    run([OWN, BAD + "/truncated.json"], 1, "truncated.json")
    run([OWN, "/nowhere/p.json"], 1, "cannot open '/nowhere/p.json': No such file")
    run([OWN, ROOT + "/profiles/schema.json"], 1, "it is no profile")
    link = os.path.join(folder, "link.json")
    os.symlink(OWN, link)
    run([OWN, OWN], 2, "are one file; it must be two profiles")
    run([OWN, link], 2, "are one file; it must be two profiles")
    run(["--help"], 0, "usage: mmtune diff")
    write("", slow + ".journal",
          '{"format":"mmtune journal 1","backend":"cuda","device":"Another","architecture":"sm_90a"}\n')
    run([slow, H200, "--common"], 0, "left out, as it cannot be used: the journal", "is of another device, Another")
    os.remove(slow + ".journal")


def test_small():
    same = os.path.join(folder, "same.json")
    shutil.copy(OWN, same)
    run([OWN, same], 0, "tie, 1 times", "(best on both)", "gemm f32 nt 1-100x48x32\n",
        "on A, m up to 16        naive ORDER=columns", "on B, m up to 100       tiled TILE=16",
        "m 33               2.50 us       2.50 us  both are as fast", "card A (A)", quiet=["only in", "differ ("])
    check(told(OWN, same)["ranges"][0]["ratio"] == 1.0, "--json compares ranges")
    run([OWN, QUADRO], 0, "only in A", "only in B", "there is nothing to compare")
    own = load(OWN)
    (ours,) = own["ranges"]
    theirs = dict(ours, segments=ours["segments"][1:],
                  times=[dict(ours["times"][0], us=1.0), dict(ours["times"][1], us=2.6)])
    other = save(folder, "other.json", dict(own, ranges=[theirs]))
    run([OWN, other], 0, "m 1                2.00 us       1.00 us  B is 2 times as fast",
        "on B, m up to 100       tiled", quiet=["on B, m up to 16", "m 100  "])


# ---- the page -------------------------------------------------------------------------------------

def page_of(a, b):
    """The page as XML, and its text."""
    path = os.path.join(folder, "page.html")
    run([a, b, "--html", path], 0)
    text = read(path)
    root = xml.fromstring(text.removeprefix("<!DOCTYPE html>"))
    words = re.findall(r"""(?:src|href|url)\W+http|<script|@import|<link""", text)
    check(not words, f"the page needs nothing from elsewhere: {words}")
    return root, "\n".join("".join(element.itertext()) for element in root.iter())


def circles(root):
    return [each for each in root.iter() if each.tag.endswith("circle") and len(each)]


def test_page(slow):
    root, text = page_of(GTX, QUADRO)
    check([element.text for element in root.find("body/div").iter("p")] == LINES.splitlines(), "the five lines")
    check([each.get("class") for each in circles(root)] == ["t0 suspect", "t0", "t0"], "a hollow point where a figure is suspect")
    for path in (GTX, QUADRO):
        for _, kernel, micros in published(path):
            check(f"{micros / 1000:.3f} ms" in text and kernel in text, f"the page has {kernel} of {micros} us")
    heat = next(each for each in root.iter("table") if each.get("class") == "heat")
    check(["".join(row.itertext()) for row in heat.iter("tr")] ==
          ["shapef32 nn", "512x512x5127.99 *", "1024x1024x10244.4", "2048x2048x20484.4"], "types and shapes")
    bars = [each for each in root.iter("div") if (each.get("class") or "").startswith("bar")]
    check(len(bars) == 18, f"a bar for each of three kernels on both cards: {len(bars)}")
    widths = {(each.get("class"), each.tail): each.get("style") for each in bars}
    check(widths.get(("bar a", "947.400 ms")) == "width:100%" and widths.get(("bar a", "488.100 ms")) == "width:52%" and
          widths.get(("bar b", "111.000 ms")) == "width:12%", f"as long as their times: {widths}")
    check("1.94 times (3)" in text and "2.49 times (3)" in text, "what the other's value costs")
    check("architecture" in text and "sm_61" in text and "sm_30" in text, "facts of both cards")

    root, text = page_of(slow, H200)
    check("Slow <b>&\"1\"</b> (A) and H200 (B)" == root.find("body/h1").text, "a name is text, whatever it has")
    check(not list(root.iter("b")), "and no element")
    check(len(circles(root)) == 326, f"a point for each problem: {len(circles(root))}")
    check("mmtune --device 0 --type i8 -x nt --shape=" in text, "the page has the commands")
    page_of(OWN, QUADRO)
    run([GTX, QUADRO, "--html", "/proc/none/page.html"], 1, "/proc/none")


test_papers()
test_rows()
test_filters()
slow_profile = slower()
test_large(slow_profile)
test_covers()
test_rates()
test_many()
test_cards()
test_gaps(slow_profile)
test_bad(slow_profile)
test_small()
test_manual()
test_page(slow_profile)
end("diff", folder)
