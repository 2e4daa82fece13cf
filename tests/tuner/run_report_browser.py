#!/usr/bin/env python3
"""What a browser makes of the page of `mmtune report`: run_report_browser.py MMTUNE SOURCE_ROOT STAND_IN

The run that it tells of is on the CPU of emulation/fake/opencl, in the folder STAND_IN. Skipped where no
Chromium is."""
import json
import os
import re
import shutil
import subprocess
import sys

from checks import check, end, expect, make_home, need_cpu_device, read, skip, stand_in, write

MMTUNE, ROOT, STAND_IN = map(os.path.abspath, sys.argv[1:4])
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if not BROWSER:
    skip("no Chromium is on the path")
folder, environment = make_home()
environment = stand_in(STAND_IN, environment)

# Runs before the page's own script, and after it.
BEFORE = """<script>window.wrong = []; onerror = (message) => { wrong.push(message) };
console.error = console.warn = (...words) => { wrong.push(words.join(" ")) }</script>"""
AFTER = """<script>
const plots = Array.from(document.querySelectorAll("figure[data-plot]"), (figure) => ({
  name: figure.dataset.plot, errors: [],
  labels: Array.from(figure.querySelectorAll("svg:first-of-type .label"), (text) => text.textContent),
  ticks: figure.querySelectorAll("svg .axis .tick text").length,
  unplaced: Array.from(figure.querySelectorAll("circle, rect, path"), (mark) => mark.outerHTML)
    .filter((text) => text.includes("NaN")) }));
const figure = document.querySelector("figure[data-plot=roofline]"), section = figure.parentNode;
const column = (name) => {
  const heads = Array.from(section.querySelectorAll("tr:first-child th"), (th) => th.textContent);
  return Array.from(section.querySelectorAll("tr"), (row) => row.hidden ? null : row.cells[heads.indexOf(name)].textContent)
    .filter((text) => text !== null && !isNaN(parseFloat(text))).map(parseFloat);
};
const marks = () => figure.querySelectorAll("svg circle[class^=t]").length;
const result = { plots, all: marks(), unsorted: column("time") };
const button = Array.from(section.querySelectorAll("th button")).find((it) => it.textContent === "time");
button.click(); result.up = column("time"); result.said = button.parentNode.getAttribute("aria-sort");
button.click(); result.down = column("time");
const input = section.querySelector("input");
const filter = (words) => { input.value = words; input.dispatchEvent(new Event("input")); return marks(); };
result.filtered = filter("48x48x48"); result.none = filter("no such row"); result.again = filter("");
const svg = figure.querySelector("svg");
svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
result.told = figure.querySelector(".told").textContent;
const mark = figure.querySelector("circle[class^=t]").getBoundingClientRect();
const at = { clientX: mark.x + mark.width / 2, clientY: mark.y + mark.height / 2, bubbles: true };
svg.dispatchEvent(new MouseEvent("mousemove", at)); svg.dispatchEvent(new MouseEvent("click", at));
result.chosen = section.querySelectorAll("tr.chosen").length; result.open = section.querySelector("details").open;
HTMLAnchorElement.prototype.click = function () { result.file = decodeURIComponent(this.href); result.name = this.download; };
Array.from(figure.querySelectorAll("button")).find((it) => it.textContent === "Save as SVG").click();
result.parses = !new DOMParser().parseFromString(result.file.slice(result.file.indexOf("<")), "image/svg+xml")
  .querySelector("parsererror");
result.wide = document.documentElement.scrollWidth - innerWidth;
result.wrong = wrong;
document.body.textContent = ""; document.body.appendChild(document.createElement("pre")).textContent = JSON.stringify(result);
</script></body>"""


def browse(words, width):
    """What the scripts find on a page."""
    path = folder + "/page.html"
    expect(MMTUNE, ["report", *words, "-o", path], 0, env=environment)
    page = read(path)
    write(folder, "tried.html", page.replace("<body>", "<body>" + BEFORE, 1).replace("</body>", AFTER))
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
                           f"--user-data-dir={folder}/browser", "--virtual-time-budget=2000", "--dump-dom",
                           f"file://{folder}/tried.html"], capture_output=True, text=True, check=False)
    found = re.search(r"<pre>(\{.*\})</pre>", done.stdout, re.S)
    if not check(found, f"the page was tried: {done.stdout[-2000:]}{done.stderr[-2000:]}"):
        end("report in a browser", folder)
    return json.loads(re.sub("&lt;", "<", re.sub("&gt;", ">", found[1])).replace("&amp;", "&"))


def check_plots(result):
    check(not result["wrong"], f"nothing is wrong by the console: {result['wrong']}")
    check(result["wide"] <= 0, f"the page is not wider than the window, by {result['wide']} pixels")
    for plot in result["plots"]:
        check(len(plot["labels"]) == 2 and all(plot["labels"]) and plot["ticks"] > 1,
              f"{plot['name']} has axes, which say what they are of: {plot}")
        check(not plot["unplaced"], f"{plot['name']} places each mark: {plot['unplaced'][:3]}")


def check_use(result, problems):
    check(result["all"] == problems and sorted(result["unsorted"]) == result["up"] == result["down"][::-1] and
          result["said"] == "ascending", f"a click on a head sorts: {result}")
    check((result["filtered"], result["none"], result["again"]) == (1, 0, problems), f"a filter leaves its marks: {result}")
    check("GFLOP/s" in result["told"] and "gemm" in result["told"], f"an arrow key tells a mark: {result['told']}")
    check(result["chosen"] == 1 and result["open"], "a click shows the mark's row")
    check(result["parses"] and result["name"] == "roofline.svg" and "var(--ink)" not in result["file"],
          "a plot is saved as an SVG of its own")


def test_run():
    device = need_cpu_device(MMTUNE, environment)
    profile = folder + "/cpu.json"
    expect(MMTUNE, ["tune", "--device", device, "--type", "f32", "--shape", "32x32x32,48x48x48,64x64x64",
                    "--template", "tiled", "--budget", "24c", "-o", profile], 0, env=environment)
    for width in (1280, 400):
        result = browse([profile], width)
        check_plots(result)
        check_use(result, 3)
        check({"roofline", "search", "knobs", "kernels", "results"} <= {plot["name"] for plot in result["plots"]},
              f"plots of a run: {[plot['name'] for plot in result['plots']]}")


def test_cards():
    """Shipped and published profiles, and a recorded program."""
    cards = [ROOT + "/profiles/" + name for name in
             ("papers/geforce-gtx-1060.json", "papers/quadro-k5000.json", "cuda-nvidia-h200.json")]
    check_plots(browse(cards, 1280))
    line = {"call": "gemm f16 nn 4096x4096x4096", "client": "cublas", "timed": 10, "ns": 2 * 10**7,
            "library": "cuBLAS 13.1.0", "fates": {"recorded": 30}}
    for width in (1280, 400):
        result = browse([cards[2], "--file", write(folder, "calls.jsonl", json.dumps(line) + "\n")], width)
        check_plots(result)
        check({"speedup", "step"} <= {plot["name"] for plot in result["plots"]}, "the library and the program are drawn")


test_run()
test_cards()
end("report in a browser", folder)
