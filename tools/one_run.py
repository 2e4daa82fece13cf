#!/usr/bin/env python3
"""What one run gives: the tuner as a user starts it, then shapes that it never saw.

    tools/one_run.py --device cuda:0 --before --output one-run

Runs `mmtune --device DEVICE` once, from an empty user folder. Then times the lists of shapes in
tools/one_run/ beside the vendor's library, and says for each list, type and transposes how much
faster ours is: geometric mean, 10th percentile and worst. A speed-up is the library's time over
ours, medians of one run of `mmtune bench`: above 1 ours is faster.

With --before, the same shapes are timed with the installed profiles alone and with none, in turn
with what the run left. A shape that is more than 3 % slower after the run than with the installed
profiles is timed once more, longer, and counts where it is again. A shape that has the same kernel
as before does not count: what differs there is the clock.

OUTPUT gets one_run.md, the table, and one_run.csv, every shape. Ctrl-C ends it, and writes what
was measured. The exit status is 0 where all went well; 1 where a shape is slower, an answer is
wrong or nothing was timed; 2 for wrong usage; 130 after Ctrl-C. Missed aims do not change it."""
import argparse
import csv
import datetime
import json
import math
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SHAPES = os.path.join(HERE, "one_run")

# What each list of shapes is measured with, where --types and --transposes say nothing.
LISTS = {
    "llm": (("bf16", "f16", "f8e4m3", "i8"), ("nt",)),
    "train": (("bf16", "f16"), ("nt", "nn", "tn")),
    "general": (("f32", "tf32", "f64", "bf16", "f16", "f8e4m3", "i8"), ("nn", "nt", "tn")),
    "cpu": (("f32", "f64", "i32"), ("nn", "nt", "tn")),
}
OTHER_LIST = (("f32",), ("nn",))
TYPES = ("f32", "f64", "i32", "bf16", "f16", "tf32", "f8e4m3", "f8e5m2", "i8")
LIBRARIES = ("cublas", "clblast", "openblas")

# Geometric mean and worst that are asked beside cuBLAS of shapes that were never tuned.
AIMS = {
    ("train", "bf16"): (1.00, 0.90), ("train", "f16"): (1.00, 0.90),
    ("general", "f32"): (1.70, 0.90), ("general", "tf32"): (1.08, 0.85),
    ("general", "bf16"): (1.03, 0.80), ("general", "f16"): (1.03, 0.80),
    ("llm", "f8e4m3"): (1.00, 0.80), ("llm", "i8"): (1.00, 0.80),
}
OTHER_AIM = (1.00, 0.85)

DEFAULTS, INSTALLED, AFTER = "none", "installed", "one run"
MOST_SLOWER = 1.03    # a shape's time after the run over that before
LEAST_AGAIN = 0.5     # seconds for a shape that is timed once more
PROGRESS_EVERY = 10.0 # seconds


class Line(NamedTuple):
    """One line of the table."""
    list: str
    type: str
    transposes: str

    def __str__(self):
        return " ".join(self)


class Stop(Exception):
    """Nothing can be measured."""


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- programs that Ctrl-C ends in their own way --------------------------------------------------

class Children:
    """One program at a time, in a session of its own: Ctrl-C reaches it once, through us."""

    def __init__(self):
        self.now, self.stopped = None, False

    def listen(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.stop)

    def stop(self, *_):
        if not self.stopped:
            say("interrupted: what is being timed ends, and what was measured is written")
        self.stopped = True
        if self.now and self.now.poll() is None:
            self.now.send_signal(signal.SIGINT)

    def start(self, words, environment, errors):
        self.now = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=errors, text=True, env=environment,
                                    start_new_session=True)
        if self.stopped:
            self.now.send_signal(signal.SIGINT)
        return self.now

    def json(self, words, environment, given=""):
        """The document that a program prints, or None; and the last line of its errors."""
        with tempfile.TemporaryFile("w+") as errors:
            out, _ = self.start(words, environment, errors).communicate(given)
            errors.seek(0)
            told = errors.read().strip().splitlines() or ["it prints nothing"]
        try:
            return json.loads(out), told[-1]
        except ValueError:
            return None, told[-1]


# ---- shapes ---------------------------------------------------------------------------------------

def read_list(path):
    """The shapes of a file, one MxNxK or MxNxKxBATCH a line, without what is behind '#'."""
    with open(path, encoding="utf-8") as file:
        shapes = [line.split("#")[0].strip() for line in file]
    shapes = [shape for shape in shapes if shape]
    for shape in shapes:
        if len(extents(shape)) != 4:
            raise Stop(f"{path}: '{shape}' is no shape; one is MxNxK or MxNxKxBATCH")
    return shapes


def extents(shape):
    """m, n, k and the batch, or nothing where it is no shape."""
    words = shape.split("x")
    if len(words) not in (3, 4) or not all(word.isdigit() and int(word) for word in words):
        return ()
    return tuple(map(int, words + ["1"] * (4 - len(words))))


def path_of_list(name):
    return os.path.join(SHAPES, name + ".txt") if name in LISTS else name


def lines_of(options):
    """Lines of the table, each with its shapes."""
    lines = {}
    for name in options.lists:
        shapes = read_list(path_of_list(name))
        label = os.path.splitext(os.path.basename(name))[0]
        types, transposes = LISTS.get(name, OTHER_LIST)
        for kind in options.types or types:
            for pair in options.transposes or transposes:
                lines[Line(label, kind, pair)] = shapes
    return lines


# ---- what bench found -----------------------------------------------------------------------------

class Row(NamedTuple):
    """One shape, with one profile."""
    shape: str
    kernel: str
    us: float      # 0: it has no time
    reason: str    # why not
    theirs: dict   # for each library: (microseconds or 0, why none)
    wrong: list    # who computed wrongly
    throttled: str    # what throttled the device


def row_of(shape, problem):
    """A row from what `mmtune bench --json` says of a problem."""
    times = problem["times"] or [{"name": "mmtune", "reason": problem.get("reason", "not timed")}]
    us = [time["seconds"]["median"] * 1e6 if "seconds" in time else 0 for time in times]
    health = problem.get("health", {})
    return Row(shape, times[0].get("what", ""), us[0], times[0].get("reason", ""),
               {t["name"]: (u, t.get("reason", "")) for t, u in zip(times[1:], us[1:])},
               [t["name"] for t in times if t.get("wrong")],
               health.get("why", "") if health.get("throttled") else "")


class Summary(NamedTuple):
    """Speed-ups of a line beside one library; without a shape there is a reason alone."""
    count: int
    of: int
    mean: float
    low: float     # the 10th percentile
    worst: float
    at: str
    reason: str


def percentile(values, part):
    """Between the two nearest, as far as `part` is from each."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def most_common(reasons):
    reasons = [reason for reason in reasons if reason]
    return statistics.mode(reasons) if reasons else ""


def summarise(rows, name):
    ratios = {row.shape: row.theirs[name][0] / row.us for row in rows
              if row.us and name in row.theirs and row.theirs[name][0]}
    reason = most_common(row.reason or row.theirs.get(name, (0, "it was not timed"))[1]
                         for row in rows if row.shape not in ratios)
    if not ratios:
        return Summary(0, len(rows), 0, 0, 0, "", reason or "nothing was timed")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    at = min(ratios, key=ratios.get)
    return Summary(len(ratios), len(rows), mean, percentile(ratios.values(), 0.1), ratios[at], at,
                   reason)


def names_of(rows):
    """The libraries beside which rows were timed, in order."""
    return list(dict.fromkeys(name for row in rows for name in row.theirs))


def slower(before, after):
    """Shapes with another kernel that takes over 3 % more, with both times."""
    old = {row.shape: row for row in before}
    return {row.shape: (old[row.shape].us, row.us) for row in after
            if row.shape in old and old[row.shape].us and row.us
            and row.kernel != old[row.shape].kernel
            and row.us > MOST_SLOWER * old[row.shape].us}


def timed_twice(before, after):
    return {row.shape for row in before if row.us} & {row.shape for row in after if row.us}


def aim_of(line, name, given):
    if given:
        return given
    return AIMS.get((line.list, line.type), OTHER_AIM) if name.startswith("cublas") else OTHER_AIM


# ---- a device -------------------------------------------------------------------------------------

def find_device(devices, wanted):
    """By number, by id, or as the first, second… of a backend: opencl:0."""
    met = {}
    for device in devices:
        backend = device["backend"]
        position = met[backend] = met.get(backend, -1) + 1
        if wanted in (str(device["number"]), device["id"], f"{backend}:{position}"):
            return device, position
    ids = ", ".join(device["id"] for device in devices) or "none"
    raise Stop(f"there is no device '{wanted}'; there are: {ids}")


def usual_library(device):
    if device["backend"] == "cuda":
        return "cublas"
    return "openblas" if device["kind"] == "cpu" else "clblast"


class Bench:
    """All that is timed, and what was learned on the way."""

    def __init__(self, options, folder, children):
        self.options, self.folder, self.children = options, folder, children
        listed, why = children.json([options.mmtune, "devices", "--json"], self.environment(DEFAULTS))
        if listed is None:
            raise Stop(f"mmtune devices: {why}")
        self.device, self.position = find_device(listed, options.device)
        self.beside = options.beside or [usual_library(self.device)]
        self.version, self.libraries = "", {}
        self.budget, self.tuned, self.tuned_types, self.outcome = "", set(), set(), {}
        self.probes = {}
        os.makedirs(os.path.join(folder, "empty"), exist_ok=True)

    def environment(self, state):
        """XDG_DATA_HOME is the run's, or empty; the cache is the run's own in any case."""
        data = "data" if state == AFTER else "empty"
        found = dict(os.environ, XDG_DATA_HOME=os.path.join(self.folder, data),
                     XDG_CACHE_HOME=os.path.join(self.folder, "cache"))
        found.pop("MMTUNE_PROFILE_PATH", None)
        if self.options.profiles != "none":
            found["MMTUNE_PROFILE_PATH"] = os.path.abspath(self.options.profiles)
        return found

    # -- the run

    def command(self):
        words = [self.options.mmtune, "--device", self.device["id"]]
        return words + (["--budget", self.options.budget] if self.options.budget else [])

    def tune(self):
        """One run; its events stay in the folder for --no-run."""
        path, began, told = os.path.join(self.folder, "run.jsonl"), time.monotonic(), 0
        say("running " + shlex.join(["mmtune"] + self.command()[1:]))
        with open(path, "w", encoding="utf-8") as log, tempfile.TemporaryFile("w+") as errors:
            child = self.children.start(self.command() + ["--json"], self.environment(AFTER),
                                        errors)
            child.stdin.close()
            for text in child.stdout:
                log.write(text)
                event = self.learn(text)
                now = time.monotonic() - began
                if "problem" in event and now > told + PROGRESS_EVERY:
                    told = now
                    say(f"  {now:4.0f} s: {event['problem']}")
            code = child.wait()
            errors.seek(0)
            why = errors.read().strip()
        if self.children.stopped:
            raise Stop("the run was interrupted before anything was timed")
        if code:
            raise Stop(f"mmtune ends with status {code}: {why}")

    def read_run(self):
        path = os.path.join(self.folder, "run.jsonl")
        if not os.path.exists(path):
            raise Stop(f"{self.folder} has no run.jsonl: no run was made there")
        with open(path, encoding="utf-8") as file:
            for text in file:
                self.learn(text)

    def learn(self, text):
        """An event, as a line. Shapes that the run searched are tuned; those that it calibrates
        by are not."""
        if not text.endswith("\n"):
            return {}
        event = json.loads(text)
        if event["event"] == "start":
            self.budget = f"{event['seconds']:g} s" if event["seconds"] else f"{event['candidates']} candidates"
            self.tuned.update(event["problems"])
            self.tuned_types = {problem.split()[1] for problem in event["problems"]}
        elif event["event"] in ("problem", "practice"):
            self.tuned.add(event["problem"])
        elif event["event"] == "end":
            self.outcome = event
        return event

    # -- shapes

    def ask(self, line, shapes, state, seconds, libraries):
        """What bench says of shapes, or a reason."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(shapes) + "\n")
            file.flush()
            words = [self.options.mmtune, "bench", "--device", self.device["id"], "--type", line.type,
                     "--transposes", line.transposes, "--shape", "@" + file.name,
                     "--seconds", f"{seconds:g}", "--against", ",".join(libraries) or "none",
                     "--json"] + (["--profile", "none"] if state == DEFAULTS else [])
            found, why = self.children.json(words, self.environment(state))
        if found is None:
            raise Stop(f"mmtune bench: {why}")
        self.version = found["version"]
        for library in found["references"]:
            if not library["opened"]:
                raise Stop(f"{library['name']}: {library['what']}")
            self.libraries[library["name"]] = library["what"]
        return found

    def check_beside(self):
        """A library that is missing is told of before the run, which takes minutes."""
        line = Line("", "f32", "nn")
        self.ask(line, ["64x64x64"], DEFAULTS, 0.001, self.theirs())
        if "torch" in self.beside:
            us, why = self.measure_torch(line, ["64x64x64"])[0]
            if not us:
                raise Stop(why)

    def theirs(self):
        return [name for name in self.beside if name != "torch"]

    def refusal(self, line):
        """Why a line cannot be measured at all, asked with one small shape; or nothing."""
        if self.tuned_types and line.type not in self.tuned_types:
            return f"a run on this device tunes {', '.join(sorted(self.tuned_types))}"
        key = line.type, line.transposes
        if key not in self.probes:
            found = self.ask(line, ["64x64x64"], AFTER, 0.001, self.theirs())
            row = row_of("64x64x64", found["problems"][0])
            reasons = [why for us, why in row.theirs.values() if not us]
            missing = len(reasons) == len(row.theirs) and "torch" not in self.beside
            self.probes[key] = row.reason or (reasons[0] if missing and reasons else "")
        return self.probes[key]

    def measure(self, line, shapes, state, seconds=None, alone=False):
        """A row for each shape that was timed, and whether there is a profile."""
        found = self.ask(line, shapes, state, seconds or self.options.seconds,
                         [] if alone else self.theirs())
        rows = [row_of(shape, problem) for shape, problem in zip(shapes, found["problems"])]
        return rows, found["profile"]

    def measure_torch(self, line, shapes):
        """PyTorch's times of the shapes, or a reason for each."""
        device = f"cuda:{self.position}" if self.device["backend"] == "cuda" else "cpu"
        job = {"device": device, "type": line.type, "transposes": line.transposes,
               "shapes": [extents(shape) for shape in shapes], "seconds": self.options.seconds,
               "cache": self.device["cache"]}
        words = [sys.executable, os.path.abspath(__file__), "--torch-worker"]
        found, why = self.children.json(words, dict(os.environ), json.dumps(job))
        if found is None:
            return [(0, f"PyTorch: {why}")] * len(shapes)
        self.libraries["torch"] = found["what"]
        times = [(entry.get("us", 0), entry.get("reason", "")) for entry in found["times"]]
        return times + [(0, "interrupted")] * (len(shapes) - len(times))


# ---- PyTorch, in a process of its own ---------------------------------------------------------------

def torch_worker():
    """Reads a job, prints times. On CUDA products stand in a graph, as bench does not wait for
    the host between launches either; operands are rotated past the cache."""
    import torch  # pylint: disable=import-outside-toplevel,import-error
    job, found = json.load(sys.stdin), []
    kinds = {"f32": torch.float32, "tf32": torch.float32, "f64": torch.float64,
             "bf16": torch.bfloat16, "f16": torch.float16}
    what = f"PyTorch {torch.__version__}"
    if job["device"] != "cpu":
        what += f", CUDA {torch.version.cuda}"
        torch.cuda.set_device(job["device"])
    else:
        torch.set_num_threads(len(os.sched_getaffinity(0)))   # as bench runs OpenBLAS
        what += f", {torch.get_num_threads()} threads"
    torch.backends.cuda.matmul.allow_tf32 = job["type"] == "tf32"
    try:
        for shape in job["shapes"]:
            if job["type"] not in kinds:
                found.append({"reason": f"PyTorch's matmul is not asked for {job['type']}"})
                continue
            try:
                found.append({"us": 1e6 * time_torch(torch, job, kinds[job["type"]], shape)})
            except RuntimeError as error:
                found.append({"reason": f"PyTorch: {str(error).splitlines()[0]}"})
    except KeyboardInterrupt:
        pass
    print(json.dumps({"what": what, "times": found}))


def time_torch(torch, job, kind, shape):
    m, n, k, batch = shape
    most = 2 * job["cache"] // (batch * (m * k + k * n + m * n) * torch.finfo(kind).bits // 8) + 1
    copies = max(1, min(most, 2048))

    def operand(rows, columns, turned):
        stored = (columns, rows) if turned else (rows, columns)
        filled = torch.empty((copies, batch) + stored, dtype=kind, device=job["device"])
        filled.uniform_(-1, 1)
        filled = filled.transpose(2, 3) if turned else filled
        return filled[:, 0] if batch == 1 else filled

    a, b = (operand(m, k, job["transposes"][0] == "t"), operand(k, n, job["transposes"][1] == "t"))
    c = operand(m, n, False)

    def multiply(count, first=0):
        for i in range(first, first + count):
            torch.matmul(a[i % copies], b[i % copies], out=c[i % copies])

    sample = sample_cuda if job["device"] != "cpu" else sample_cpu
    return sample(torch, multiply, job["seconds"])


def sample_all(run, seconds):
    """Medians of samples of 10 ms or more: seven at least, and as many as there is time for."""
    times, spent = [], 0
    while len(times) < 7 or spent < seconds and len(times) < 200:
        times.append(run())
        spent += times[-1]
    return statistics.median(times)


def sample_cpu(_, multiply, seconds):
    def run(count):
        began = time.perf_counter()
        multiply(count)
        return time.perf_counter() - began

    run(1)
    count = max(1, min(8192, math.ceil(0.011 / max(run(1), 1e-7))))
    return sample_all(lambda: run(count), seconds) / count


def sample_cuda(torch, multiply, seconds):
    def run(work):
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        ends[0].record()
        work()
        ends[1].record()
        torch.cuda.synchronize()
        return ends[0].elapsed_time(ends[1]) * 1e-3

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        multiply(3)   # the library makes its workspace outside the graph
    torch.cuda.synchronize()
    count = max(1, min(2048, math.ceil(0.011 / max(run(lambda: multiply(3)) / 3, 1e-7))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        multiply(count)
    run(graph.replay)
    return sample_all(lambda: run(graph.replay), seconds) / count


# ---- the walk ---------------------------------------------------------------------------------------

class Table:
    """What was measured: rows of each line and state, lines left out, shapes that are slower."""

    def __init__(self):
        self.rows = {}      # (line, state) -> rows
        self.same = set()   # lines whose installed profiles are none
        self.left_out = {}  # line -> reason
        self.slower = []    # (line, shape, before in us, after in us)
        self.compared = self.changed = self.unsure = 0

    def wrong(self):
        return sorted({f"{name} on {line} {row.shape}" for (line, _), rows in self.rows.items()
                       for row in rows for name in row.wrong})

    def compare(self, line):
        """Shapes to be timed once more."""
        before, after = self.rows[line, INSTALLED], self.rows[line, AFTER]
        old = {row.shape: row.kernel for row in before if row.us}
        both = [row for row in after if row.us and row.shape in old]
        self.compared += len(both)
        self.changed += sum(row.kernel != old[row.shape] for row in both)
        return list(slower(before, after))


def left_of(done, steps, began):
    left = (time.monotonic() - began) / done * (steps - done) if done else 0
    return f", some {left / 60:.0f} min left" if left > 60 else f", some {left:.0f} s left" if left else ""


def measure_line(bench, table, line, shapes, states):
    for state in states:
        if state == DEFAULTS and line in table.same:
            table.rows[line, state] = table.rows[line, INSTALLED]
            continue
        rows, profile = bench.measure(line, shapes, state)
        table.rows[line, state] = rows
        if state == INSTALLED and not profile:
            table.same.add(line)
        if bench.children.stopped:
            break
    if "torch" in bench.beside and not bench.children.stopped:
        times = bench.measure_torch(line, shapes)
        for state in states:
            for row, told in zip(table.rows[line, state], times):
                row.theirs["torch"] = told
    if INSTALLED in states and not bench.children.stopped:
        time_again(bench, table, line)


def time_again(bench, table, line):
    """A shape that seems slower is timed once more, longer: one reading may meet a bad moment."""
    shapes = table.compare(line)
    if not shapes:
        return
    seconds = max(LEAST_AGAIN, 3 * bench.options.seconds)
    say(f"    {len(shapes)} may be slower than before: timed once more, {seconds:g} s each")
    before, _ = bench.measure(line, shapes, INSTALLED, seconds, alone=True)
    after, _ = bench.measure(line, shapes, AFTER, seconds, alone=True)
    for shape, (old, new) in slower(before, after).items():
        table.slower.append((line, shape, old, new))
    table.unsure += len(shapes) - len(timed_twice(before, after))


def walk(bench, table, lines):
    states = [INSTALLED, DEFAULTS, AFTER] if bench.options.before else [AFTER]
    began, done = time.monotonic(), 0
    for number, (line, shapes) in enumerate(lines.items()):
        tuned = {shape for shape in shapes
                 if f"gemm {line.type} {line.transposes} {shape}" in bench.tuned}
        shapes = [shape for shape in shapes if shape not in tuned]
        try:
            reason = bench.refusal(line) if shapes else "the run tuned all of its shapes"
            if not reason:
                say(f"[{number + 1} of {len(lines)}] {line}: {len(shapes)} shapes"
                    + left_of(done, done + len(lines) - number, began))
                measure_line(bench, table, line, shapes, states)
                done += 1
        except Stop as stop:
            reason = str(stop)
        if bench.children.stopped:
            return
        if reason:
            say(f"[{number + 1} of {len(lines)}] {line}: left out: {reason}")
            table.left_out[line] = reason
        write(bench, table)


# ---- what came out ------------------------------------------------------------------------------------

def commit():
    """Of the tree that this script stands in, where that is a git checkout."""
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def head(bench):
    device, outcome = bench.device, bench.outcome
    told = [f"Date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
            f"Device: {device['name']} ({device['backend']}, {device['multiprocessors']} "
            f"multiprocessors, {device['memory'] / 2**30:.0f} GiB)",
            f"Driver: {device['driver']}; compiler: {device['compiler']}",
            "Version: mmtune " + bench.version + (f", commit {commit()}" if commit() else ""),
            *(f"Beside {name}: {what}" for name, what in bench.libraries.items()),
            "Command: `tools/one_run.py " + shlex.join(sys.argv[1:]) + "`"]
    if outcome:
        told.append(f"The run: `mmtune --device {device['id']}`, a budget of {bench.budget}, from an empty user "
                    f"folder; it took {outcome['elapsed']:.0f} s: {outcome['tried']} candidates tried, "
                    f"{outcome['wrong']} wrong, {outcome['failed']} failed, "
                    f"{outcome['throttled']} taken while the device was throttled")
    told.append("Installed profiles: those of " + ("the installation alone" if bench.options.profiles == "none"
                                                    else "the source tree and of the installation"))
    return told


def table_lines(bench, table):
    titles = ("list", "type", "transposes", "speed-up over", "profile", "shapes", "geometric mean",
              "10th percentile", "worst", "worst at", "aim: mean, worst", "reached")
    yield "| " + " | ".join(titles) + " |"
    yield "|" + "---|" * len(titles)
    for (line, state), rows in table.rows.items():
        for name in names_of(rows):
            s, aim = summarise(rows, name), aim_of(line, name, bench.options.aim)
            label = "installed: there is none" if state == INSTALLED and line in table.same else state
            start = (*line, name, label, f"{s.count} of {s.of}")
            if not s.count:
                yield "| " + " | ".join(start) + f" | left out: {s.reason} |" + " |" * 5
                continue
            reached = "yes" if s.mean >= aim[0] and s.worst >= aim[1] else "no"
            yield "| " + " | ".join((*start, f"{s.mean:.2f}×", f"{s.low:.2f}×", f"{s.worst:.2f}×", s.at,
                                     f"{aim[0]:.2f}×, {aim[1]:.2f}×", reached)) + " |"


def notes(bench, table):
    yield "A speed-up is mmtune's over the library, by medians: above 1× mmtune is faster."
    for line, reason in table.left_out.items():
        yield f"Left out: {line}: {reason}."
    for (line, state), rows in table.rows.items():
        throttled = [row for row in rows if row.throttled]
        if throttled:
            yield f"{line}, {state}: {len(throttled)} shapes were timed while the device was throttled ({throttled[0].throttled})."
        for name in names_of(rows):
            s = summarise(rows, name)
            if 0 < s.count < s.of and s.reason:
                yield f"{line}, {state}, {name}: {s.of - s.count} of {s.of} shapes have no speed-up: {s.reason}."
    yield from (f"**Wrong**: {who}." for who in table.wrong())
    if bench.options.before and table.compared:
        found = f"**{len(table.slower)}**" if table.slower else "none"
        yield (f"Slower by more than {100 * (MOST_SLOWER - 1):.0f} % after the run than before: {found} of "
               f"{table.compared} shapes, of which {table.changed} have another kernel than before.")
        if table.unsure:
            yield f"{table.unsure} more seemed slower, and were not timed once more."
        for line, shape, old, new in table.slower:
            yield f"{line} {shape}: {old:.2f} us before, {new:.2f} us after, {100 * (new / old - 1):.1f} % slower."
    if bench.children.stopped:
        yield "**Interrupted**: what is missing was not timed."


def markdown(bench, table):
    parts = ["# What one run gives", *(f"* {text}" for text in head(bench)), "",
             *table_lines(bench, table), "", *(f"* {text}" for text in notes(bench, table))]
    parts.insert(1, "")
    return "\n".join(parts) + "\n"


def csv_rows(table):
    yield ("list", "type", "transposes", "shape", "profile", "beside", "ours_us", "theirs_us",
           "speed_up_ratio", "kernel", "note")
    for (line, state), rows in table.rows.items():
        for row in rows:
            for name, (theirs, why) in row.theirs.items():
                both = row.us and theirs
                yield (*line, row.shape, state, name, f"{row.us:.3f}" if row.us else "",
                       f"{theirs:.3f}" if theirs else "", f"{theirs / row.us:.4f}" if both else "",
                       row.kernel, row.reason or why or row.throttled)


def replace(path, text):
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(path + ".part", path)


def write(bench, table):
    """Both files are whole after each line."""
    class Lines(list):
        write = list.append
    lines = Lines()
    csv.writer(lines, lineterminator="\n").writerows(csv_rows(table))
    replace(os.path.join(bench.options.output, "one_run.csv"), "".join(lines))
    replace(os.path.join(bench.options.output, "one_run.md"), markdown(bench, table))


# ---- self-check -----------------------------------------------------------------------------------------

def made_up(ours, kernel="a", **theirs):
    """A problem as bench prints it; a string is a reason."""
    def entry(name, value):
        if isinstance(value, str):
            return {"name": name, "wrong": value.startswith("computes wrongly"), "reason": value}
        return {"name": name, "wrong": False, "what": kernel, "seconds": {"median": value * 1e-6}}
    return {"times": [entry("mmtune", ours)] + [entry(n, v) for n, v in theirs.items()]}


def rows_of(*problems):
    return [row_of(f"{i + 1}x1x1", problem) for i, problem in enumerate(problems)]


def self_check():
    failed = []

    def check(held, what):
        if not held:
            failed.append(what)

    rows = rows_of(*(made_up(10.0, cublas=10.0 * 2.0 ** i) for i in range(-1, 3)),
                   made_up(10.0, cublas="cuBLAS refuses"), made_up("no room", cublas=5.0),
                   {"times": [], "reason": "no memory"})
    s = summarise(rows, "cublas")
    check((s.count, s.of) == (4, 7), f"shapes that have both times count: {s}")
    check(math.isclose(s.mean, math.sqrt(2)), f"the geometric mean of 1/2, 1, 2, 4: {s.mean}")
    check(math.isclose(s.worst, 0.5) and s.at == "1x1x1", f"the worst and its shape: {s}")
    check(math.isclose(s.low, 0.65), f"the 10th percentile of 1/2, 1, 2, 4: {s.low}")
    check(s.reason in ("cuBLAS refuses", "no room", "no memory"), f"why shapes are missing: {s}")
    check(math.isclose(percentile([3.0], 0.1), 3.0), "the percentile of one")
    s = summarise(rows_of(made_up(1.0, cublas="not in f8"), made_up(1.0, cublas="not in f8")), "cublas")
    check(s.count == 0 and s.reason == "not in f8", f"a line that is left out: {s}")
    check(summarise([], "cublas").reason, "nothing timed has a reason")
    check(rows_of(made_up(1.0, cublas="computes wrongly: C(0, 0)"))[0].wrong == ["cublas"], "a wrong answer")

    before = rows_of(*(made_up(100.0) for _ in range(5)))
    after = rows_of(made_up(102.9, "b"), made_up(103.1, "b"), made_up(150.0, "a"), made_up(90.0, "b"),
                    made_up("failed", "b"))
    found = slower(before, after)
    check(list(found) == ["2x1x1"], f"over 3 % with another kernel is slower, nothing else: {found}")
    check(len(timed_twice(before, after)) == 4, "shapes that have both times")
    check(slower([], after) == {}, "what was not timed before is not slower")

    f32 = Line("general", "f32", "nn")
    check(aim_of(f32, "cublas best", None) == (1.70, 0.90), "the aim beside cuBLAS")
    check(aim_of(f32, "openblas", None) == OTHER_AIM, "the aim beside others")
    check(aim_of(f32, "cublas best", (2.0, 1.0)) == (2.0, 1.0), "an aim that is given")

    devices = [{"number": 0, "id": "cuda:0", "backend": "cuda"}, {"number": 1, "id": "opencl:p-1", "backend": "opencl"}]
    check([find_device(devices, w)[0]["number"] for w in ("0", "cuda:0", "opencl:0", "opencl:p-1")] == [0, 0, 1, 1],
          "devices by number, id and position")

    for name in LISTS:
        shapes = read_list(path_of_list(name))
        check(20 <= len(shapes) <= 30, f"{name} has {len(shapes)} shapes, not 20 to 30")
        check(len(set(shapes)) == len(shapes), f"{name} has a shape twice")
        check(name != "cpu" or max(max(extents(s)[:3]) for s in shapes) <= 2048, "cpu has sizes up to 2048")
    check(not extents("1x2") and not extents("0x1x1") and extents("2x3x4") == (2, 3, 4, 1), "what a shape is")
    for text in failed:
        print("not so:", text)
    return 1 if failed else 0


# ---- options ----------------------------------------------------------------------------------------------

def words_of(allowed):
    def read(text):
        words = text.split(",")
        for word in words:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(allowed)}")
        return words
    return read


def lists_of(text):
    for word in text.split(","):
        if word not in LISTS and not os.path.isfile(word):
            raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(LISTS)}, and no file")
    return text.split(",")


def aim(text):
    try:
        mean, worst = map(float, text.split(","))
        return mean, worst
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no MEAN,WORST, such as 1.00,0.85") from None


def above_zero(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("it must be above 0")
    return value


def read_options():
    built = os.path.join(ROOT, "build", "tuner", "mmtune")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-d", "--device", default="0", help="number or id of `mmtune devices`; default: 0")
    parser.add_argument("-o", "--output", default="one-run", help="folder of table and CSV; default: one-run")
    parser.add_argument("--budget", help="of the run, as `mmtune --budget` takes it: 90s, 5m; default: mmtune's own, 5m")
    parser.add_argument("--before", action="store_true",
                        help="time the installed profiles and no profile, too, and look for shapes that are slower after the run")
    parser.add_argument("--beside", type=words_of(LIBRARIES + ("torch",)), metavar="LIST",
                        help="of cublas,clblast,openblas,torch; default: cublas with CUDA, openblas for an OpenCL CPU, else clblast. "
                        "torch is PyTorch's matmul, in CUDA graphs on a GPU, after each line's shapes")
    parser.add_argument("--lists", type=lists_of, metavar="LIST",
                        help="of llm,train,general,cpu, or files with one MxNxK a line; default: cpu for a CPU, else the others")
    parser.add_argument("--types", type=words_of(TYPES), metavar="LIST", help="default: those of each list")
    parser.add_argument("--transposes", type=words_of(("nn", "nt", "tn", "tt")), metavar="LIST",
                        help="default: those of each list")
    parser.add_argument("--seconds", type=above_zero, default=0.1, help="for each library and shape; default: 0.1")
    parser.add_argument("--aim", type=aim, metavar="MEAN,WORST",
                        help="speed-ups that are asked; default: by type, as docs/lab/measurements.md has them")
    parser.add_argument("--mmtune", default=built if os.path.exists(built) else "mmtune", metavar="PROGRAM",
                        help="default: build/tuner/mmtune of this tree, or else the one on the path")
    parser.add_argument("--profiles", default=os.path.join(ROOT, "profiles"), metavar="FOLDER",
                        help="installed profiles; none: those of the installation alone; default: this tree's")
    parser.add_argument("--folder", help="the run's user folder, which must be empty, and stays; default: a temporary one")
    parser.add_argument("--no-run", action="store_true", help="measure what an earlier run left in --folder")
    parser.add_argument("--self-check", action="store_true", help="check the summarising with made-up times, and end")
    parser.add_argument("--torch-worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.no_run and not options.folder:
        parser.error("--no-run needs the --folder of a run")
    if options.folder and not options.no_run and os.path.isdir(options.folder) and os.listdir(options.folder):
        parser.error(f"--folder {options.folder} is not empty; --no-run measures what a run left there")
    if options.profiles != "none" and not os.path.isdir(options.profiles):
        parser.error(f"--profiles {options.profiles} is no folder")
    return options


def measure(options, folder, children):
    table, bench = Table(), Bench(options, folder, children)
    options.lists = options.lists or (["cpu"] if bench.device["kind"] == "cpu" else ["llm", "train", "general"])
    lines = lines_of(options)
    os.makedirs(options.output, exist_ok=True)
    bench.check_beside()
    if options.no_run:
        bench.read_run()
    else:
        bench.tune()
    walk(bench, table, lines)
    write(bench, table)
    print(markdown(bench, table), end="")
    say(f"written: {options.output}/one_run.md and one_run.csv")
    if children.stopped:
        return 130
    timed = any(row.us for rows in table.rows.values() for row in rows)
    return 1 if table.slower or table.wrong() or not timed else 0


def main():
    options = read_options()
    if options.self_check:
        return self_check()
    if options.torch_worker:
        return torch_worker()
    children = Children()
    children.listen()
    folder = os.path.abspath(options.folder) if options.folder else tempfile.mkdtemp(prefix="one-run-")
    try:
        return measure(options, folder, children)
    except (Stop, OSError) as error:
        say(f"one_run.py: {error}")
        return 130 if children.stopped else 1
    finally:
        if not options.folder:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
