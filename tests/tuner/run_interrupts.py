#!/usr/bin/env python3
"""Ctrl-C while a verb is at a step that takes long, from outside: run_interrupts.py MMTUNE ROOT

The step is a kernel that spins for half a minute of the processor, or a program that draws as long.
Each verb ends with 130 and its words, without what the step would have given and without going on, and
no process of its session lives on. Files into which nobody writes are read as well."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from checks import add_model, check, end, expect, has_studies, make_home, need_cpu_device, plant_templates, write

MMTUNE, ROOT = map(os.path.abspath, sys.argv[1:3])
folder, environment = make_home()
signal.signal(signal.SIGINT, signal.default_int_handler)  # children hear it, also of a script's background
TICK = os.sysconf("SC_CLK_TCK")

# One thread of a large problem, half a minute or more. `ROWS` is an expression of the kernel's.
SLOW = """
    if (ROWS > 400 && BLOCK_X + BLOCK_Y + THREAD_X + THREAD_Y == 0)
        for (volatile wide left = 200000000000; left > 0; left--)
            ;
"""
DRAWING = """#!%s
import time
while time.process_time() < 30:
    pass
"""


# ---- processes ---------------------------------------------------------------------------------

def used_by(session):
    """Seconds of the processor of each process of the session that has not ended."""
    used = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:  # it has ended
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                used[int(name)] = sum(map(int, fields[11:13])) / TICK
    return used


def sleeps(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "S"


def lives_on(session):
    """Whether one still computes; each is given a second of the processor to end."""
    first = used_by(session)
    while left := used_by(session):
        for pid, used in left.items():
            if used > first.get(pid, 0) + 1:
                os.kill(pid, signal.SIGKILL)
                return True
        time.sleep(0.02)
    return False


def used_by_ended():
    return sum(os.times()[2:4])


def start(words):
    process = subprocess.Popen([MMTUNE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment, cwd=folder, start_new_session=True)
    process.before = used_by_ended()
    return process


def wait_until(process, holds):
    while process.poll() is None and not holds():
        time.sleep(0.02)


def wait_for_work(process, seconds):
    """Until the session has used so many seconds of the processor from now on."""
    until = sum(used_by(process.pid).values()) + seconds
    wait_until(process, lambda: sum(used_by(process.pid).values()) > until)


def interrupt(process, number, words):
    """Ends it by one signal, within five seconds of the processor; what it printed."""
    before = process.before + sum(used_by(process.pid).values())
    process.send_signal(number)
    out, said = process.communicate()
    check(used_by_ended() - before < 5, f"{process.args[1:]} goes on for {used_by_ended() - before} s")
    check(process.returncode == 130 and words in out + said,
          f"{signal.Signals(number).name} ends {process.args[1:]}: {process.returncode}, {out}{said}")
    check(not lives_on(process.pid), f"{process.args[1:]} leaves no process")
    return out


# ---- steps that take long ------------------------------------------------------------------------

def slow(rows, *names):
    environment["MMTUNE_TEMPLATE_DIR"] = plant_templates(ROOT, folder, SLOW.replace("ROWS", rows), *names)


def test_verify(device):
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(["verify", "--device", device, "--type", "f32", "--transposes", "nn", "--limit", "20",
                         "--shape", "512x64x64", "naive"])
        wait_for_work(process, 4)
        out = interrupt(process, number, "interrupted: 0 right, 0 wrong, 0 failed")
        check("hung" not in out, f"the product is not waited for: {out}")


def test_bench(device):
    """What was measured before is told, as JSON too."""
    table = folder + "/bench.csv"
    process = start(["bench", "--device", device, "--type", "f32", "--against", "none", "--configuration", "naive",
                     "--shape", "96x64x64,512x64x64", "--seconds", "0.1", "--json", "--csv", table])
    wait_until(process, lambda: os.path.exists(table) and len(open(table, encoding="utf-8").readlines()) == 2)
    wait_for_work(process, 4)
    out = interrupt(process, signal.SIGINT, "mmtune bench: interrupted; ")
    rows = [row["problem"] for row in json.loads(out or '{"problems": []}')["problems"]]
    check(rows == ["gemm f32 nn 96x64x64"], f"the row before is told, that at hand is not waited for: {rows}")


def test_study(device):
    """A kernel; then one core, which looks itself; then who draws."""
    study = ["study", "addition", "--device", device, "--type", "f32", "--repetitions", "1", "--sizes"]
    process = start([*study, "1000000"])
    wait_for_work(process, 4)
    interrupt(process, signal.SIGTERM, "mmtune study: interrupted; tables that were saved are whole")
    del environment["MMTUNE_TEMPLATE_DIR"]
    process = start(["study", "ladder", "--device", device, "--type", "f64", "--paper", "semenenko", "--sizes",
                     "16,2000", "--cpu-seconds", "1000", "-o", "ladder"])
    for line in process.stdout:
        if "n = 2000" in line:
            break
    wait_for_work(process, 4)
    out = interrupt(process, signal.SIGINT, "mmtune study: interrupted; tables have what was measured until then")
    check("-> ladder/" in out, f"and they are saved: {out}")
    os.mkdir(folder + "/bin")
    write(folder, "bin/gnuplot", DRAWING % sys.executable)
    os.chmod(folder + "/bin/gnuplot", 0o755)
    environment["PATH"] = folder + "/bin:" + environment["PATH"]
    process = start([*study, "1000"])
    wait_until(process, lambda: len(used_by(process.pid)) > 1)
    interrupt(process, signal.SIGINT, "mmtune study: interrupted; tables that were saved are whole")


def test_regret(device):
    path = folder + "/p.json"
    environment.pop("MMTUNE_TEMPLATE_DIR", None)
    expect(MMTUNE, ["--device", device, "-o", path, "--type", "f32", "--shape", "96x80x64", "--template", "tiled",
                    "--budget", "2c"], 0, env=environment)
    add_model(path)
    slow("m + 500", "naive", "panel", "skinny")
    process = start(["regret", "--device", device, "--profile", path, "--budget", "0", "--limit", "20"])
    wait_for_work(process, 6)
    interrupt(process, signal.SIGINT, "mmtune regret: interrupted; ")


# ---- files into which nobody writes ---------------------------------------------------------------

def test_lists():
    """Also in the background of a script, where SIGINT is ignored. The second is opened, not written."""
    pipe, tables = folder + "/pipe", tempfile.mkdtemp(dir=folder)
    os.mkfifo(pipe)
    os.mkfifo(tables + "/addition.json")
    lists = [[*words, "--shape", "@" + pipe] for words in (["bench"], ["verify"], ["bundle", "-o", "none"], ["tune"])]
    for words in (*lists, *([["study", "cards", tables, tables]] if has_studies(MMTUNE) else [])):
        for number, ignored in ((signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True)):
            before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL)
            process = start(words)
            signal.signal(signal.SIGINT, before)
            wait_until(process, lambda pid=process.pid: sleeps(pid))
            writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK) if ignored else None
            interrupt(process, number, f"mmtune {words[0]}: interrupted; ")
            if ignored:
                os.close(writer)


test_lists()
cpu = need_cpu_device(MMTUNE, environment)
slow("(m > n ? m : n)", "naive", "axpby")
test_verify(cpu)
test_bench(cpu)
if has_studies(MMTUNE):
    test_study(cpu)
test_regret(cpu)
end("interrupts", folder)
