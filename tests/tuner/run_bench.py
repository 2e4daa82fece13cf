#!/usr/bin/env python3
"""mmtune bench on an OpenCL CPU, with tiny shapes: run_bench.py MMTUNE FAKES STAND_IN

FAKES is the folder of a wrong OpenBLAS, which must be found out. The CPU is the one of emulation/fake/opencl,
in the folder STAND_IN; CLBlast is beside a real one."""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time

from checks import check, cpu_device, end, enter, expect, need_cpu_device, no_stand_in, save, stand_in, write

program, fakes, folder_of_stand_in = sys.argv[1:]


def bench(*words, fake=False, data=None):
    """A build may have put the folder of the fakes on the path already."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders = [fakes] * fake + [f for f in folders if f and not os.path.samefile(f, fakes)]
    return subprocess.run([program, "bench", *words], capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=":".join(folders),
                                   **({"XDG_DATA_HOME": data} if data else {})))


def check_usage():
    for words, told in ((["--shape", "3x3"], "no shape"), (["--against", "mkl"], "mkl"),
                        (["--suite", "round"], "round"), (["--ld", "even"], "even"),
                        (["--seconds", "0"], "--seconds"), (["word"], "word")):
        done = bench(*words)
        check(done.returncode == 2 and told in done.stderr, "%s is refused: %s"
              % (words, done.stderr))
    check(bench("--help").returncode == 0, "--help")


def check_ratios(result):
    for problem in result["problems"]:
        ours = problem["times"][0]["seconds"]["median"]
        for time in problem["times"][1:]:
            if "ratio" in time:
                check(math.isclose(time["ratio"], time["seconds"]["median"] / ours,
                                   rel_tol=1e-9), "the ratio of %s" % time["name"])


def check_means(result):
    for mean in result["means"]:
        ratios = [time["ratio"] for problem in result["problems"]
                  if problem["problem"].split()[1] == mean["type"]
                  for time in problem["times"]
                  if time["name"] == mean["against"] and "ratio" in time]
        check(ratios and len(ratios) == len(mean["problems"]), "problems of a mean")
        product = math.exp(sum(map(math.log, ratios)) / len(ratios))
        check(math.isclose(product, mean["geometric_mean"], rel_tol=1e-9), "a mean")
        check(mean["worst"] == min(ratios) and mean["best"] == max(ratios), "worst, best")


def check_csv(path, result):
    with open(path, newline="") as f:
        lines = list(csv.DictReader(f))
    times = [time for problem in result["problems"] for time in problem["times"]]
    check(len(lines) == len(times), "%d lines of CSV" % len(lines))
    for line, time in zip(lines, times):
        check(line["library"] == time["name"], "the library of a line")
        if "seconds" in time:
            check(math.isclose(float(line["median"]), time["seconds"]["median"],
                               rel_tol=1e-6), "the median of a line")
        else:
            check(line["median"] == "" and line["what"] == time["reason"], "a reason")


def check_libraries(device, folder, problems, *words):
    """Every library that is there."""
    path = os.path.join(folder, "bench.csv")
    done = bench("--device", device, "--seconds", "0.001", "--json", "--csv", path, *words)
    check(done.returncode == 0, "bench succeeds: %s" % done.stderr)
    result = json.loads(done.stdout)
    check(len(result["problems"]) == problems, "%d problems" % len(result["problems"]))
    opened = [r["name"] for r in result["references"] if r["opened"]]
    for problem in result["problems"]:
        whole = " i32 " in problem["problem"]
        check([t["name"] for t in problem["times"]] == ["mmtune"] + opened, "contestants")
        for time in problem["times"]:
            told = "%s on %s: %s" % (time["name"], problem["problem"], time.get("reason"))
            check(not time["wrong"], told)
            check(("seconds" in time) == (not whole or time["name"] == "mmtune"), told)
    check_ratios(result)
    check_means(result)
    check_csv(path, result)
    return result["references"]


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def check_killed(device, folder):
    """What was measured before is in the CSV, each problem as a whole."""
    path = os.path.join(folder, "killed.csv")
    shapes = ["--shape=%dx16x16" % m for m in range(16, 32)]
    running = subprocess.Popen([program, "bench", "--device", device, "--against", "none",
                                "--seconds", "0.001", "--csv", path, *shapes],
                               stdout=subprocess.DEVNULL)
    while len(lines_of(path)) < 3 and running.poll() is None:
        time.sleep(0.01)
    running.kill()
    running.wait()
    sizes = [int(line["m"]) for line in lines_of(path)]
    check(3 <= len(sizes) <= 16 and sizes == list(range(16, 16 + len(sizes))), "rows %s" % sizes)


def check_unwritable(device, folder):
    path = os.path.join(folder, "killed.csv", "bench.csv")   # below a file
    done = bench("--device", device, "--against", "none", "--shape", "8x8x8", "--csv", path)
    check(done.returncode != 0 and "killed.csv" in done.stderr and "8x8x8" not in done.stdout,
          "a CSV that cannot be written is told of first: %s" % done.stderr)


def check_missing(device):
    done = bench("--device", device, "--against", "cublas", "--shape", "8x8x8",
                 "--seconds", "0.001")
    check(done.returncode == 1 and "cuBLAS runs on CUDA devices" in done.stdout,
          "a library that was asked for and cannot be: %s" % done.stdout)


def check_profiles(device, folder):
    """The device's own profile is taken, that of a file, or none, as --profile says."""
    file, own = os.path.join(folder, "made.json"), os.path.join(folder, "own")
    for words in (["-o", file], []):
        expect(program, ["--device", device, "--type", "f32", "--shape", "48x40x32", "--template", "naive", "--budget",
                         "1c", *words], 0, env=dict(os.environ, XDG_DATA_HOME=own))
    for words, taken in (([], True), (["--profile", "none"], False),
                         (["--profile", file], True),
                         (["--profile", "none", "--profile", file], True)):
        done = bench("--device", device, "--against", "none", "--shape", "48x40x32",
                     "--seconds", "0.001", "--json", *words, data=own)
        check(done.returncode == 0 and json.loads(done.stdout)["profile"] == taken,
              "%s: a profile is taken or not: %s" % (words, done.stderr))


def tuned(device, folder):
    done = bench("--device", device, "--against", "clblast", "--clblast-tuned", folder,
                 "--shape", "64x64x64", "--seconds", "0.001", "--json")
    return done.returncode, json.loads(done.stdout)["references"][0]["what"]


def check_tuned(device, folder):
    """What CLBlast's own tuner would write; the slower of two finds is of no use."""
    if "not installed" in tuned(device, folder)[1]:
        print("skipped: CLBlast is not installed")
        return
    check("clblast_tuner_xgemm" in tuned(device, folder)[1], "an empty folder is told of")

    best = {"best_kernel": "Xgemm", "precision": "32", "best_time": "1.5",
            "best_parameters": "GEMMK=0 KREG=1 KWG=32 KWI=2 MDIMA=8 MDIMC=8 MWG=64 NDIMB=8 "
            "NDIMC=8 NWG=64 PRECISION=32 SA=1 SB=1 STRM=0 STRN=0 VWM=4 VWN=4"}
    slow = dict(best, best_time="2.5", best_parameters="NONSENSE")
    for name, value in (("1", best), ("2", slow)):
        save(folder, "clblast_xgemm_%s_32.json" % name, value)
    code, what = tuned(device, folder)
    check(code == 0 and folder in what, "tuned parameters are taken: %s" % what)

    for text, told in (("{", "line 1"), ("{}", "best_kernel"),
                       (json.dumps(dict(best, best_time="0.5", best_parameters="MWG=x")),
                        "NAME=NUMBER")):
        write(folder, "clblast_xgemm_3_32.json", text)
        code, what = tuned(device, folder)
        check(code == 1 and told in what, "refused with its file: %s" % what)


def check_wrong(device):
    done = bench("--device", device, "--against", "openblas", "--shape", "33x17x65",
                 "--seconds", "0.001", "--json", fake=True)
    result = json.loads(done.stdout)
    ours, theirs = result["problems"][0]["times"]
    check("OpenBLAS 9.9.9" in result["references"][0]["what"], "the fake one is found")
    check(not ours["wrong"] and "seconds" in ours, "ours is right")
    check(theirs["wrong"] and "seconds" not in theirs, "a wrong library has no time")
    check(done.returncode == 1 and not result["means"], "and no mean")


real = no_stand_in(folder_of_stand_in)
enter(stand_in(folder_of_stand_in))
device = need_cpu_device(program)
check_usage()
with tempfile.TemporaryDirectory() as temporary:
    check_libraries(device, temporary, 8, "--shape", "33x17x65", "--transposes", "nn,nt,tn,tt",
                    "--ld", "packed,odd")
    check_libraries(device, temporary, 4, "--shape", "24x40x16x3", "--type", "f64,i32",
                    "--transposes", "nt,tn")
with tempfile.TemporaryDirectory() as temporary:
    check_killed(device, temporary)
    check_unwritable(device, temporary)
    check_profiles(device, temporary)
check_missing(device)
check_wrong(device)
enter(real)
device = cpu_device(program)
if device:
    with tempfile.TemporaryDirectory() as temporary:
        for library in check_libraries(device, temporary, 2, "--shape", "33x17x65", "--transposes", "nt",
                                       "--ld", "packed,odd"):
            print("%s: %s" % (library["name"], library["what"]))
        check_tuned(device, temporary)
end("bench")
