#!/usr/bin/env python3
"""tools/slurm on a cluster of its own on this machine: run_slurm.py MMTUNE SOURCE_ROOT STAND_IN

Two nodes, whose cards are the CPU of tests/emulation/fake/opencl, in the folder STAND_IN, or PoCL where that is empty.
Needs slurmctld, slurmd and munge (Debian: slurmctld slurmd slurm-client munge); exits 77 without them."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

from checks import check, check_tried_once, end, journal, load, make_home, need_cpu_device, read, skip, stand_in

MMTUNE, ROOT, STAND_IN = sys.argv[1:4]
os.environ["PATH"] += ":/usr/sbin:/sbin"
for program in ("slurmctld", "slurmd", "sbatch", "munged", "mungekey", "flock"):
    if not shutil.which(program):
        skip(f"there is no {program}; slurmctld, slurmd, slurm-client and munge are Debian's packages")
folder, environment = make_home(MMTUNE=MMTUNE, MMTUNE_KEEP_TIMES="1")
environment = stand_in(STAND_IN, environment)
DEVICE = need_cpu_device(MMTUNE, environment)
CLUSTER, TOOLS = folder + "/cluster", ROOT + "/tools/slurm/"
SHAPES = [f"{m}x80x64" for m in (16, 32, 48, 64, 80, 96, 112, 128)]


def slurm(*words):
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    check(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def submit(name, shapes, budget, *more):
    return slurm("sbatch", "--parsable", "--cpus-per-task=1", f"--output={folder}/{name}-%a.log", *more,
                 TOOLS + "tune.sbatch", f"{folder}/{name}", "--device", DEVICE, "--type", "f32", "--template", "tiled",
                 "--search", "random", "--shape", ",".join(shapes), "--budget", budget)


def state(job):
    return slurm("squeue", "-h", "-j", job, "-t", "all", "-o", "%T").split()


def wait_until(what, happens, seconds=240):
    """Slurm polls, and so do we."""
    for _ in range(10 * seconds):
        if happens():
            return True
        time.sleep(0.1)
    return check(False, f"{what} does not happen")


def has_ended(job):
    return all(s in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL") for s in state(job))


def lines_of(path):
    return read(path + ".journal").count("\n") if os.path.exists(path + ".journal") else 0


def begin(name, *more):
    """A job of one shard that is in the middle of its work; its number and its profile."""
    job, path = submit(name, SHAPES[:2], "400c", "--array=1-1", *more), f"{folder}/{name}/shard-1.json"
    wait_until(f"{name} measures", lambda: lines_of(path) > 5)
    return job, path


def end_whole(name, job, path, times):
    """It ends well, after so many starts, and nothing was measured twice."""
    wait_until(f"{name} ends", lambda: has_ended(job))
    said = read(f"{folder}/{name}-1.log")
    check(set(state(job)) == {"COMPLETED"} and f"for the {times}. time" in said, f"{name}: {state(job)}\n{said}")
    check_tried_once([line for line in journal(path) if not line.get("final") and not line.get("calibration")])
    check(len(load(path)["entries"]) == 2, f"{name}: no result is lost: {load(path)['entries']}")


def test_array():
    job = submit("array", SHAPES, "6c", "--array=1-4")
    merge = slurm("sbatch", "--parsable", f"--output={folder}/merge.log", f"--dependency=afterok:{job}",
                  TOOLS + "merge.sbatch", folder + "/array", folder + "/all.json")
    wait_until("merging", lambda: has_ended(merge))
    logs = "".join(read(log) for log in glob.glob(folder + "/array-*.log") + glob.glob(folder + "/merge.log"))
    check(state(merge) == ["COMPLETED"], f"{state(job)}, {state(merge)}\n{logs}")
    found = sorted(e["problem"]["m"] for e in load(folder + "/all.json")["entries"])
    check(found == [int(shape.split("x")[0]) for shape in SHAPES], f"{found}")
    shards = [[line["problem"] for line in journal(path)] for path in glob.glob(folder + "/array/shard-*.json")]
    check(len(shards) == 4, f"{shards}")


def test_requeue():
    job, path = begin("requeue")
    slurm("scontrol", "requeue", job + "_1")
    end_whole("requeue", job, path, 2)


def test_lost_node():
    """The node's old processes live on beside the copy that is started elsewhere."""
    job, path = begin("lost")
    node = slurm("squeue", "-h", "-j", job, "-o", "%N")
    os.kill(int(read(f"{CLUSTER}/slurmd.{node}.pid")), signal.SIGKILL)
    slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=killed")
    end_whole("lost", job, path, 2)
    subprocess.run(["slurmd", "-f", CLUSTER + "/slurm.conf", "-N", node], env=environment, check=True)
    wait_until("the node's return", lambda: slurm("sinfo", "-h", "-N", "-p", "debug", "-o", "%T").split() == 2 * ["idle"])


def test_cancelled():
    job, path = begin("cancelled")
    slurm("scancel", job)
    wait_until("cancelling", lambda: has_ended(job))
    before = lines_of(path)
    check(journal(path), "the journal is whole")
    job = submit("cancelled", SHAPES[:2], "400c", "--array=1-1")
    end_whole("cancelled", job, path, 1)
    check(lines_of(path) > before, "and another job goes on from it")


def test_preempted():
    job, path = begin("preempted")
    other = slurm("sbatch", "--parsable", "--partition=high", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap",
                  "sleep 1")
    wait_until("preempting", lambda: has_ended(other))
    end_whole("preempted", job, path, 2)


try:
    up = subprocess.run([TOOLS + "up.sh", CLUSTER], capture_output=True, text=True, env=environment)
    if up.returncode:
        skip(f"the cluster does not start: {up.stderr[-2000:]}")
    environment["SLURM_CONF"] = CLUSTER + "/slurm.conf"
    for test in (test_array, test_requeue, test_lost_node, test_cancelled, test_preempted):
        print(test.__name__, flush=True)
        test()
finally:
    subprocess.run([TOOLS + "down.sh", CLUSTER], env=environment)
end("slurm", folder)
