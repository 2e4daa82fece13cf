#!/usr/bin/env python3
"""`mmtune run` and the auditor: run_programs.py MMTUNE AUDIT PROGRAMS FAKES CARD

A copy of MMTUNE with a small library in the place of libmmtune-cublas.so runs programs of others:
shells, and PROGRAMS' clients of the cuBLAS that is in FAKES, on the card that is in CARD. What reaches
the library, signals and exit statuses, the environment, and the report of lines that a program
wrote."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from os.path import abspath, dirname
sys.path.insert(0, dirname(dirname(dirname(abspath(__file__)))) + "/tuner")
from checks import check, end, make_home, write  # noqa: E402

MMTUNE, AUDIT, PROGRAMS, FAKES, CARD = sys.argv[1:6]
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup no shell below could trap it
folder, environment = make_home()
environment.update(XDG_STATE_HOME=folder + "/state", MMT_FAKE_CARDS=write(folder, "cards", "0000:65:00.0 50 2000 0\n"),
                   MMT_FAKE_CUBLAS_US="10")
for name in [n for n in environment if n.startswith("MMTUNE_") or n in ("LD_PRELOAD", "LD_AUDIT")]:
    del environment[name]
# A build may have put the folder of the fakes on the path already.
others = [f for f in environment.get("LD_LIBRARY_PATH", "").split(":")
          if f and not (os.path.exists(f) and os.path.samefile(f, FAKES))]
environment["LD_LIBRARY_PATH"] = ":".join([CARD, CARD + "/whole", FAKES, *others])


def install(root):
    """A tree as a build has it; the program in it."""
    for path, source in (("tuner/mmtune", MMTUNE), ("dropin/audit/libmmtune-audit.so", AUDIT),
                         ("dropin/cublas/libmmtune-cublas.so", PROGRAMS + "/libmmtune-cublas.so")):
        os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
        shutil.copy(source, f"{root}/{path}")
    return root + "/tuner/mmtune"


tree = folder + "/tree"
program = install(tree)


def run(*words, env=None, **variables):
    return subprocess.run([program, "run", *words], capture_output=True, text=True,
                          env=dict(environment if env is None else env, **variables))


def status(expected, *words, said=(), **variables):
    done = run(*words, **variables)
    missing = [text for text in said if text not in done.stderr]
    check(done.returncode == expected and not missing,
          f"run {' '.join(words)}: {done.returncode}, should be {expected}; does not say {missing}\n{done.stderr}")
    return done


# ---- how a program starts and ends ----------------------------------------------------------------

def test_statuses():
    status(0, "--", "true")
    status(7, "sh", "-c", "exit 7", said=["no call of cuBLAS arrived"])
    status(128 + signal.SIGKILL, "sh", "-c", "kill -9 $$")
    status(127, "--", "no-such-program", said=["there is no program 'no-such-program' in any folder of PATH"])
    status(127, folder + "/nothing", said=[f"there is no program '{folder}/nothing';"])
    status(126, write(folder, "text", "text\n"), said=["cannot be started: Permission denied"])
    script = write(folder, "script", "#! /no/such/shell -e\n")
    os.chmod(script, 0o755)
    status(126, script, said=[f"'{script}' cannot be started: its interpreter '/no/such/shell' is missing"])
    status(2, said=["no program is named"])
    status(2, "--f32", "fast", "true", said=["--f32", "strict and emulated"])
    # Behind the program all words are the program's.
    check(run("sh", "-c", 'echo "$@"', "x", "--record", "-h").stdout == "--record -h\n", "the program's own options")


def test_library_missing():
    os.rename(tree + "/dropin/cublas", tree + "/away")
    status(1, "true", said=["libmmtune-cublas.so, is in none of", tree + "/dropin/cublas/", "mmtune/"])
    os.rename(tree + "/away", tree + "/dropin/cublas")
    for place, code, said in (("a b", 0, "sgemm arrived"), ("a:b", 1, "a colon parts the paths")):
        done = subprocess.run([install(folder + "/" + place), "run", "--", *CLIENTS["dlsym"]], capture_output=True,
                              text=True, env=environment)
        check(done.returncode == code and said in done.stderr, f"{place}: {done.returncode} {done.stderr}")


def test_signals():
    """What reaches mmtune alone is passed on, and the program decides."""
    script = 'trap "echo got; exit 5" {0}; echo ready; while :; do sleep 0.05; done'
    for name in ("TERM", "INT", "HUP", "USR1", "TSTP", "CONT"):
        with subprocess.Popen([program, "run", "sh", "-c", script.format(name)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env=environment) as it:
            ready = it.stdout.readline()
            it.send_signal(getattr(signal, "SIG" + name))
            rest = it.stdout.readline()
            while it.poll() is None:  # what is stopped with its program goes on
                it.send_signal(signal.SIGCONT)
                time.sleep(0.01)
        check(ready == "ready\n" and rest == "got\n" and it.returncode == 5, f"{name}: {rest!r}, {it.returncode}")
    with subprocess.Popen([program, "run", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as it:
        it.stdout.readline()
        it.terminate()
        it.wait()
    check(it.returncode == 128 + signal.SIGTERM, f"killed by TERM: {it.returncode}")


# ---- what the program finds -------------------------------------------------------------------------

def variables_of(*words, **variables):
    out = run(*words, "--", sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))", **variables)
    return json.loads(out.stdout)


def test_environment():
    plain = variables_of()
    library, audit = tree + "/dropin/cublas/libmmtune-cublas.so", tree + "/dropin/audit/libmmtune-audit.so"
    settings = {name: value for name, value in plain.items() if name.startswith("MMTUNE_R")}
    check(plain["LD_PRELOAD"] == library and plain["LD_AUDIT"] == audit and
          set(settings) == {"MMTUNE_RUN_ID", "MMTUNE_RUN_COUNTS"}, f"{plain}")
    check(variables_of()["MMTUNE_RUN_ID"] != plain["MMTUNE_RUN_ID"], "each run has a name of its own")

    asked = variables_of("--record", "--check", "--verbose", "--nvtx", "--f32", "emulated", "--workspace", "64M",
                         "--wait", "1m", "--no-audit", LD_PRELOAD=tree + "/dropin/audit/libmmtune-audit.so")
    check(asked["LD_PRELOAD"] == f"{library}:{audit}" and "LD_AUDIT" not in asked, f"{asked}")
    expected = {"MMTUNE_RUN_RECORD": "1", "MMTUNE_RUN_CHECK": "1", "MMTUNE_RUN_VERBOSE": "1", "MMTUNE_RUN_NVTX": "1",
                "MMTUNE_RUN_F32": "emulated", "MMTUNE_RUN_WORKSPACE": str(64 << 20), "MMTUNE_RUN_WAIT": "60",
                "MMTUNE_RECORD": "1"}
    check(expected.items() <= asked.items(), f"{asked}")
    def sizes(*words, **variables):
        it = variables_of(*words, **variables)
        return [it.get(name) for name in ("CUBLASLT_WORKSPACE_SIZE", "TORCH_CUBLASLT_UNIFIED_WORKSPACE",
                                          "CUBLAS_WORKSPACE_CONFIG")]
    check(sizes() == ["32768", "0", None], f"room to pack factors, in KiB: {sizes()}")
    slices = sizes("--f32", "emulated")
    check(slices == ["524288", None, ":524288:1"], f"room for slices: {slices}")
    slices = sizes("--f32", "emulated", "--workspace", "64M")
    check(slices == ["65536", None, ":65536:1"], f"as much as is asked for: {slices}")
    own = sizes(CUBLASLT_WORKSPACE_SIZE="2") + sizes("--f32", "emulated", CUBLAS_WORKSPACE_CONFIG=":16:8")[2:]
    check(own == ["2", None, None, ":16:8"], f"what the user says stays: {own}")
    inner = variables_of(MMTUNE_RUN_RECORD="1", MMTUNE_RUN_F32="emulated")
    check("MMTUNE_RUN_RECORD" not in inner and "MMTUNE_RUN_F32" not in inner, "nothing of a run around it")
    inner = variables_of(MMTUNE_RUN_RECORD="1", MMTUNE_RUN_ID="outer")
    check(inner["MMTUNE_RUN_RECORD"] == "1" and inner["MMTUNE_RUN_ID"] != "outer", "an outer one that records")


# ---- what reaches the library -----------------------------------------------------------------------

CLIENTS = {
    "linked": [PROGRAMS + "/products"],
    "dlsym": [PROGRAMS + "/products_dlsym"],
    "extension": [PROGRAMS + "/host", PROGRAMS + "/extension.so"],
}


def test_clients():
    """A preloaded library is passed by where a program uses dlsym, unless the auditor is there."""
    for name, words in CLIENTS.items():
        alone = subprocess.run(words, capture_output=True, text=True, env=environment)
        check(alone.returncode == 0 and "sgemm tn 0 " in alone.stdout, f"{name}: {alone}")
        for options in ([], ["--no-audit"]):
            done = run(*options, *words)
            arrived = done.stderr.count("sgemm arrived\n")
            check(done.returncode == 0 and done.stdout == alone.stdout, f"{name} prints the same: {done}")
            check(arrived == (0 if name == "dlsym" and options else 1), f"{name} {options}: {arrived} calls arrived")
    outs = {subprocess.run(words, capture_output=True, text=True, env=environment).stdout for words in CLIENTS.values()}
    check(len(outs) == 1, f"all clients compute the same: {outs}")


def test_unreached():
    plain = shutil.copy(PROGRAMS + "/host", folder + "/plain")
    status(3, plain, said=["no call of cuBLAS arrived: the program multiplied nothing"])
    os.chmod(plain, 0o4755)
    status(3, plain, said=["no call of cuBLAS arrived: it is setuid"])
    status(3, "--no-audit", PROGRAMS + "/host", said=["leave out --no-audit"])
    if os.path.exists(PROGRAMS + "/static"):
        status(0, PROGRAMS + "/static", said=["no call of cuBLAS arrived: it is linked statically"])


# ---- the report -------------------------------------------------------------------------------------

def line(run_id, problem, fates, ns=None, saved=None):
    it = {"call": problem, "client": "cublas", "library": "cuBLAS 13.1.0", "path": "", "run": run_id, "fates": fates}
    if ns:
        it.update(timed=sum(fates.values()), ns=ns)
    if saved:
        it.update(saved_ns=saved)
    return json.dumps(it, separators=(",", ":")) + "\n"


def recorded(lines, *options):
    """The report of a program that wrote these lines of its run."""
    script = ("import os, sys; folder = os.environ['XDG_STATE_HOME'] + '/mmtune'; os.makedirs(folder, exist_ok=True)\n"
              "open(folder + '/cuda-card-that-is-not-there.jsonl', 'a').write(sys.argv[1].replace('THIS', os.environ['MMTUNE_RUN_ID']))")
    return run(*options, "--", sys.executable, "-c", script, "".join(lines)).stderr


def test_report():
    """Lines of several processes of the run add up; another run's are not counted."""
    lines = [line("THIS", "gemm f32 nn 64x64x64", {"recorded": 6}, 6000000),
             line("THIS", "gemm f32 nn 64x64x64", {"recorded": 4}, 4000000),
             line("THIS", "gemm f32 nt 1x512x512", {"recorded": 30}, 30000000),
             line("another", "gemm f32 nt 1x512x512", {"recorded": 1000})]
    said = recorded(lines, "--record")
    check("recorded 40 calls of 2 kinds on cuda-card-that-is-not-there; next: mmtune --device 0 --recorded\n" in said and
          "\n40 calls, 40.000 ms in the library\n" in said, said)
    rows = [row.split() for row in said.splitlines() if "gemm f32" in row]
    check([(row[0], row[4]) for row in rows] == [("75.0", "30"), ("25.0", "10")], said)

    lines = [line("THIS", "gemm f32 nn 64x64x64", {"taken": 75, "no verdict": 5}, saved=2000000),
             line("THIS", "gemm f32 nt 1x512x512", {"library faster": 20})]
    said = recorded(lines)
    check("took over 75 of 100 calls on cuda-card-that-is-not-there (75.0 %), which saved 2.000 ms" in said and
          "passed on: 5 no verdict, 20 library faster" in said, said)


test_statuses()
test_library_missing()
test_signals()
test_environment()
test_clients()
test_unreached()
test_report()
end("run of programs", folder)
