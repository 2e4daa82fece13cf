#!/usr/bin/env python3
"""What the page of `mmtune report` tells, without a browser: run_report.py MMTUNE SOURCE_ROOT"""
import csv
import html
import json
import os
import re
import sys

from checks import check, end, expect, load, make_home, read, save, write

MMTUNE, ROOT = map(os.path.abspath, sys.argv[1:3])
GTX, QUADRO = (f"{ROOT}/profiles/papers/{name}.json" for name in ("geforce-gtx-1060", "quadro-k5000"))
H200, OWN = ROOT + "/profiles/cuda-nvidia-h200.json", ROOT + "/tests/data/profiles/good/small.json"
SECTIONS = ["roofline", "speedup", "step", "search", "knobs", "kernels", "regret", "health", "results", "device"]
folder, environment = make_home()


def report(*words):
    """The page, which is whole and needs nothing from outside."""
    path = folder + "/page.html"
    expect(MMTUNE, ["report", *words, "-o", path], 0, env=environment)
    page = read(path)
    check(os.path.getsize(path) < 10**6, f"{words}: the page is smaller than 1 MB: {os.path.getsize(path)}")
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    check(not re.search(r"\b(src|href)=\"(?!#)", own) and "@import" not in own and "url(" not in own,
          f"{words}: the page loads nothing")
    check(page.endswith("</body></html>\n") and "Redistributions" in page, f"{words}: the page ends, with D3's licence")
    return page


def part(page, name):
    found = re.search(rf'<section id="{name}">(.*?)</section>', page, re.S)
    return html.unescape(found[1]) if check(found, f"there is a section {name}") else ""


def cells(section):
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", section)]


def test_own():
    page = report(OWN)
    check(re.findall(r'<section id="([a-z]+)">', page) == SECTIONS, "each section once, in order")
    rows = cells(part(page, "roofline"))
    check(rows[0][:4] == ["problem", "type", "intensity", "speed"] and rows[1][2:4] == ["FLOP/byte", "GFLOP/s"],
          f"columns have units: {rows[:2]}")
    check(rows[2][0] == "gemm f32 nt 64x48x32" and rows[2][6] == "2.500", f"the time of the profile: {rows[2]}")
    check(["gemm f32 nt 64x48x32", "f32", "nt", "64", "48", "32", "1.100", "0.8000", "cuBLAS 12.8.4"]
          in cells(part(page, "speedup")), "the speed-up over the library, as `show` has it")
    check([row[1:3] for row in cells(part(page, "regret"))[2:]] == [["1", "0"], ["33", "25.0"], ["100", "0"]],
          f"how far a range's kernels are behind: {cells(part(page, 'regret'))}")
    for name, words in (("step", "No recording was read"), ("search", "no journal"), ("knobs", "no journal")):
        check(words in part(page, name) and "<table" not in part(page, name), f"{name} says what is not there")


def test_strange_name():
    profile = load(OWN)
    profile["device"]["name"] = "</script><script>alert(1)</script>"
    page = report(save(folder, "strange.json", profile))
    check("alert(1)</script>" not in page and "&lt;script&gt;alert(1)" in page, "a device's name is text")


def test_data():
    report(H200, "--data", folder + "/tables")
    with open(folder + "/tables/roofline.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    entries = load(H200)["entries"]
    problems = {json.dumps(entry["problem"], sort_keys=True) for entry in entries}
    check(len(rows) == len(problems), f"a row for each problem: {len(rows)} of {len(problems)}")
    best = min(entry["time"]["median_us"] for entry in entries)
    check(abs(min(float(row["time (us)"]) for row in rows) / best - 1) < 1e-6, "times are whole in the CSV")
    check(not os.path.exists(folder + "/tables/search.csv"), "no file of a table without rows")


def test_recording():
    """A call of 2 ms whose verdict is unknown: its share, and what copying its bytes would take."""
    line = {"call": "gemm f16 nn 4096x4096x4096", "client": "cublas", "timed": 10, "ns": 20 * 10**6,
            "library": "cuBLAS 13.1.0", "fates": {"recorded": 30}}
    page = report(H200, "--file", write(folder, "calls.jsonl", json.dumps(line) + "\n"))
    rows = cells(part(page, "step"))
    bandwidth = load(H200)["roofline"]["bandwidth_gbs"] * 1e9
    copy = 30 * 3 * 2 * 4096**2 / bandwidth * 1e3
    check(rows[2][1:4] == ["30", "100", "60.00"] and abs(float(rows[2][6]) / copy - 1) < 1e-3,
          f"calls, share, milliseconds and the copy's {copy}: {rows[2]}")


def test_several():
    page = report(GTX, QUADRO, H200)
    matrix = cells(re.search(r'<section id="comparison">.*?</table>', page, re.S)[0])
    check(matrix[1][2] == "4.399 (2)" and matrix[2][1] == "0.2273 (2)", f"means of times, both ways: {matrix}")
    said = expect(MMTUNE, ["diff", GTX, QUADRO], 0, env=environment).splitlines()[:4]
    check(all(f"<p>{line}</p>" in html.unescape(page) for line in said), f"each pair as `diff` has it: {said}")
    ids = re.findall(r'\bid="([^"]+)"', re.sub(r"<script>.*?</script>", "", page, flags=re.S))
    check(len(ids) == len(set(ids)) and {"1-roofline", "3-device"} <= set(ids), f"each id once: {ids}")


def test_refusals():
    for words, status, said in (([OWN, "--device", "0"], 2, "it must be one of them"),
                                ([OWN, GTX, "--file", "x"], 2, "--file x is of one device, but 2 profiles are named"),
                                (["/nowhere/p.json"], 1, "/nowhere/p.json"),
                                ([OWN, "--file", "/nowhere/x"], 1, "/nowhere/x"),
                                ([OWN, "-o", OWN + "/page.html"], 1, "small.json': Not a directory")):
        expect(MMTUNE, ["report", *words], status, said, env=environment)


test_own()
test_strange_name()
test_data()
test_recording()
test_several()
test_refusals()
end("report", folder)
