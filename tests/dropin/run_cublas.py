#!/usr/bin/env python3
"""A program of cuBLAS on libmmtune-cublas.so: run_cublas.py LIBRARY CLIENT MAKER FAKES CARD NVTX

CLIENT and MAKER are this folder's client.c and make_verdicts.c, FAKES and CARD the folders of a cuBLAS and
of a card that are not there, NVTX a stand-in of that library. What became of calls stands in the recording,
and in the stand-in's own count of the functions that were called."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import check, end, make_home

LIBRARY, CLIENT, MAKER, FAKES, CARD, NVTX = sys.argv[1:7]
folder, environment = make_home(MMTUNE_NVRTC="")
others = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
environment.update(MMT_FAKE_CARDS=folder + "/cards", MMT_FAKE_CUBLAS_LOG=folder + "/log",
                   XDG_STATE_HOME=folder + "/state",
                   LD_LIBRARY_PATH=":".join([CARD, CARD + "/whole", FAKES, *others]))
environment.pop("LD_PRELOAD", None)
for name in [n for n in environment if n.startswith("MMTUNE_RUN_") or n == "NVIDIA_TF32_OVERRIDE"]:
    del environment[name]
with open(folder + "/cards", "w", encoding="utf-8") as f:
    f.write("0000:01:00.0 40 1500 0\n")

VERSION = "cuBLAS 13.1.0"


def verdict(problem, ours=10, theirs=20, client="cublas", adds=0, workspace=0, configuration="naive",
            library=VERSION, driver="", mode="strict", compute="usual", alignment=0):
    return (f"{client},{problem},{adds},{workspace},{configuration},{library},{driver},{ours},{theirs},{mode},{compute},"
            f"{alignment}")


def learn(*verdicts):
    done = subprocess.run([MAKER, *verdicts], capture_output=True, text=True, env=environment)
    check(done.returncode == 0, f"make_verdicts: {done.stderr}")


def run(*calls, **variables):
    """The fates of all calls by problem, what the stand-in was called by, and what was said."""
    shutil.rmtree(folder + "/state", ignore_errors=True)
    if os.path.exists(folder + "/log"):
        os.remove(folder + "/log")
    said = subprocess.run([CLIENT, *calls], capture_output=True, text=True,
                          env=dict(environment, LD_PRELOAD=LIBRARY, **{"MMTUNE_RUN_WAIT": "86000", **variables}))
    check(said.returncode == 0, f"{calls} {variables}: {said.returncode} {said.stderr}")
    subprocess.run([MAKER, "-c"], env=environment, check=True)
    fates, lines = {}, []
    for path in glob.glob(folder + "/state/mmtune/*.jsonl"):
        with open(path, encoding="utf-8") as f:
            lines += [json.loads(line) for line in f if line.strip()]
    for line in lines:
        at = fates.setdefault((line["client"], line["call"]), {})
        for fate, calls_ in line["fates"].items():
            at[fate] = at.get(fate, 0) + calls_
    with open(folder + "/log", encoding="utf-8") as f:
        counts = dict(line.split() for line in f if " " in line)
    run.lines = lines
    return fates, {name: int(n) for name, n in counts.items()}, said.stderr


def become(*rows, **variables):
    """Each row is a call, its problem, what becomes of it, how often, and by whom; one process makes all calls."""
    expected, products = {}, 0
    for call, problem, fate, *rest in rows:
        times, client = rest[0] if rest else 1, rest[1] if len(rest) > 1 else "cublas"
        at = expected.setdefault((client, "gemm " + problem), {})
        at[fate] = at.get(fate, 0) + times
        products += 0 if fate == "taken" else times
    fates, counts, said = run(*[row[0] for row in rows], **variables)
    for key in sorted({*fates, *expected}):
        check(fates.get(key) == expected.get(key), f"{key} {variables}: {fates.get(key)}, not {expected.get(key)}\n{said}")
    found = sum(n for name, n in counts.items() if re.match("cublas(LtMatmul$|.*[Gg]emm)", name))
    check(found == products, f"{rows}: the library computed {found} products, not {products}: {counts}")


def test_routes():
    """A product of f32, 16 x 12 x 20 by columns, is 12 x 16 x 20 by rows."""
    mine = "f32 nn 12x16x20"
    learn(verdict("gemm " + mine), verdict("gemm f32 nn 13x16x20", 10, 10.1),
          verdict("gemm f32 nn 14x16x20", library="cuBLAS 13.0.9"), verdict("gemm f32 nn 15x16x20", driver="another"),
          verdict("gemm f32 nn 16x16x20", configuration="tiled TILE=32"),
          *[verdict(f"gemm f32 nn {n}x16x20") for n in (18, 19, 20)], verdict("gemm f32 nn 21x16x20", mode="emulated"))
    become(("n=12,count=3", mine, "taken", 3), ("n=12,wide=1", mine, "taken"), ("n=12,ex=1", mine, "taken"),
           ("n=12,ex=1,wide=1", mine, "taken"), ("n=12,alpha=-1.5", mine, "taken"),
           ("n=12,capture=1", mine, "taken"), ("n=12,threads=4,count=25", mine, "taken", 100),
           ("n=13", "f32 nn 13x16x20", "library faster"), ("n=14", "f32 nn 14x16x20", "verdict void"),
           ("n=15", "f32 nn 15x16x20", "verdict void"), ("n=16", "f32 nn 16x16x20", "taken"),
           ("n=17,count=2", "f32 nn 17x16x20", "no verdict", 2), ("n=18,beta=2", "f32 nn 18x16x20", "no verdict"),
           ("n=19,off=8", "f32 nn 19x16x20", "no verdict"), ("n=20,device=1", "f32 nn 20x16x20", "taken"),
           ("n=12,math=3", "tf32 nn 12x16x20", "no verdict"))
    become(("n=21", "f32 nn 21x16x20", "no verdict"))
    become(("n=21", "f32 nn 21x16x20", "taken"), MMTUNE_RUN_F32="emulated")
    become(("n=12,math=3", mine, "taken"), NVIDIA_TF32_OVERRIDE="0")
    become(("n=12", "tf32 nn 12x16x20", "no verdict"), NVIDIA_TF32_OVERRIDE="1")


def test_device_scalars():
    """Scalars in device memory serve where they lie; those that are apart are copied into a workspace."""
    mine, double = "f32 nn 12x16x20", "f64 nn 12x16x20"
    learn(verdict("gemm " + mine), verdict("gemm " + double), verdict("gemm " + mine + " batch=3"),
          verdict("gemm i8 nn 12x16x20"), verdict("gemm bf16 nn 12x16x20"), verdict("gemm f16 nn 12x16x20", compute="16f"),
          verdict("gemm " + mine + " bias=column", client="cublaslt", workspace=4096))
    here = "device=1,alpha=-1.5,beta=3,behind="
    become(*[(f"n=12,{here}{behind},wide={behind}", mine, "taken") for behind in (0, 1)],
           (f"n=12,{here}0,ws=1024,count=2", mine, "taken", 2), (f"batch=3,{here}0", mine + " batch=3", "taken"),
           (f"type=1,compute=70,{here}0", double, "taken"), (f"type=1,compute=70,{here}1", double, "taken"),
           ("type=14,device=1,alpha=0,beta=1", "bf16 nn 12x16x20", "taken"),
           ("type=3,out=10,compute=72,device=1,alpha=3,beta=-2", "i8 nn 12x16x20", "taken"),
           (f"n=12,{here}1,capture=1", mine, "taken"), (f"n=12,{here}0,capture=1", mine, "workspace"),
           (f"n=12,{here}0,capture=1,ws=1024", mine, "taken"),
           ("type=2,compute=64,ex=1,device=1", "f16 nn 12x16x20", "pointer mode"),
           *[(f"lt=1,epilogue=4,{words}", mine + " bias=column", fate, 1, "cublaslt") for words, fate in
             ((here + "1", "taken"), (here + "0", "workspace"), (here + "0,ws=4096", "taken"))])
    _, _, said = run(f"n=12,{here}0", f"n=12,{here}1,count=2", MMTUNE_RUN_CHECK="1")
    check(said.count(": right, ") == 1 and "WRONG" not in said, said)


def test_gaps():
    """While calls are recorded, the least time between the product before and a call is written down, too."""
    run("n=12,count=4,idle=700", "n=13,count=3,idle=300,keep=1", "n=12,count=2,idle=200,keep=1", "n=14,count=4",
        MMTUNE_RUN_RECORD="1")
    gaps = {line["call"].split()[3]: round(line.get("gap_ns", 0) / 1e3) for line in run.lines}
    check(gaps == {"12x16x20": 200, "13x16x20": 300, "14x16x20": 0}, f"{run.lines}")


def test_alignment():
    """Unaligned operands are kinds of their own; `alignment` counts where ours is not faster there."""
    rows = {"n=12": (0, "taken"), "n=12,off=4": (4, "taken"), "n=13,off=8": (8, "taken"), "n=14,off=12": (4, "alignment"),
            "n=15,off=4": (None, "no verdict"), "n=16,off=32": (0, "taken"), "n=17,pad=1,off=4": (4, "taken")}
    simt = "simt TILE_M=32 TILE_N=32 TILE_K=16"
    def problem(call):
        return f"f32 nn {call[2:4]}x16x20" + (" lda=21 ldb=17 ldc=17" if "pad" in call else "")
    learn(*[verdict("gemm " + problem(call), alignment=a, configuration=simt, theirs=5 if fate == "alignment" else 20)
            for call, (a, fate) in rows.items() if a is not None], verdict("gemm f32 nn 15x16x20"),
          *[verdict("gemm bf16 nn 12x16x20", alignment=a) for a in (2, 4, 8)],
          verdict("gemm f64 nn 12x16x20 batch=3", alignment=8), verdict("gemm i8 nn 12x16x20", alignment=1),
          verdict("gemm f32 nn 12x16x20 bias=column", client="cublaslt", alignment=4))
    become(*[(call, problem(call), fate) for call, (_, fate) in rows.items()],
           *[(f"type=14,off={off}", "bf16 nn 12x16x20", "taken") for off in (2, 4, 6, 8)],
           ("type=1,compute=70,batch=3,off=8", "f64 nn 12x16x20 batch=3", "taken"),
           ("type=3,out=10,compute=72,off=3", "i8 nn 12x16x20", "taken"),
           ("lt=1,epilogue=4,off=4", "f32 nn 12x16x20 bias=column", "taken", 1, "cublaslt"))
    fates, counts, _ = run("n=12,off=2")
    check(not fates and counts["cublasSgemm_v2"] == 1, f"elements that are not aligned are the library's: {fates} {counts}")
    run("n=12,off=4", "n=12", MMTUNE_RUN_RECORD="1", MMTUNE_RUN_ID="x")
    check(sorted(line.get("alignment", 0) for line in run.lines) == [0, 4], f"{run.lines}")


def test_not_ready():
    """Without waiting, calls pass until their plans are there; all are right."""
    learn(verdict("gemm f32 nn 12x16x20"))
    fates, counts, _ = run("count=300,until=1", MMTUNE_RUN_WAIT="")
    here = fates[("cublas", "gemm f32 nn 12x16x20")]
    check(set(here) <= {"plan not ready", "taken"} and "taken" in here and sum(here.values()) >= 300, f"{fates}")
    check(counts.get("cublasSgemm_v2", 0) == here.get("plan not ready", 0), f"{fates} {counts}")


KINDS = {"ta=1,m=8,n=12,k=24": "f32 nt 12x8x24", "tb=1,n=9": "f32 tn 9x16x20",
         "pad=4": "f32 nn 12x16x20 lda=24 ldb=20 ldc=20",
         "type=1,compute=70": "f64 nn 12x16x20", "type=1,compute=70,ex=1,n=8,beta=1": "f64 nn 8x16x20",
         "n=7,beta=-1": "f32 nn 7x16x20",
         "type=14": "bf16 nn 12x16x20", "type=14,out=0": "bf16 nn 12x16x20 out=f32",
         "type=2,alpha=0.5": "f16 nn 12x16x20", "type=3,out=10,compute=72,alpha=2": "i8 nn 12x16x20",
         "compute=77": "tf32 nn 12x16x20", "batch=3": "f32 nn 12x16x20 batch=3",
         "type=1,compute=70,batch=2": "f64 nn 12x16x20 batch=2", "type=14,batch=5,ta=1": "bf16 nt 12x16x20 batch=5"}


def test_kinds():
    """Types, transposes, leading dimensions, batches and scalars, each through the names that it has."""
    learn(*[verdict("gemm " + problem, adds=int("beta" in call)) for call, problem in KINDS.items()])
    become(*[(call + f",wide={wide}", problem, "taken") for call, problem in KINDS.items() for wide in (0, 1)])


def test_half():
    """What cuBLAS accumulates in f16 is a kind of its own, with halves for scalars; its own call to Lt passes."""
    problem = "f16 nn 12x16x20"
    learn(verdict("gemm " + problem))
    become(("type=2,compute=64,ex=1", problem, "no verdict"), ("type=2,compute=65", problem, "no verdict"),
           ("type=2,compute=64,lt=1", problem, "no verdict", 1, "cublaslt"), ("type=2", problem, "taken"))
    check(sorted(line.get("compute", "usual") for line in run.lines) == ["16f", "16f", "16f_pedantic", "usual"],
          f"{run.lines}")
    learn(verdict("gemm " + problem, compute="16f"), verdict("gemm " + problem, 20, 10, compute="16f_pedantic"),
          verdict("gemm " + problem + " batch=3", compute="16f"), verdict("gemm " + problem, adds=1, compute="16f"),
          verdict("gemm f16 nn 13x16x20", compute="16f_pedantic"),
          verdict("gemm " + problem + " bias=column", client="cublaslt", compute="16f"))
    fates, counts, said = run(*[f"type=2,{words},compute=64,wide={wide}" for wide in (0, 1) for words in
                                ("alpha=0.5", "ex=1,alpha=-2", "batch=3", "batch=3,ex=1", "beta=-1.5,alpha=3")],
                              "type=2,n=13,compute=65,alpha=0.25", "type=2,lt=1,epilogue=4,compute=64,alpha=2",
                              "type=2,compute=65", "type=2", MMTUNE_RUN_CHECK="1")
    at = fates[("cublas", "gemm " + problem)]
    check(at == {"taken": 6, "library faster": 1, "no verdict": 1}, f"{at}")
    check(fates[("cublas", "gemm f16 nn 13x16x20")] == {"taken": 1} and
          fates[("cublas", "gemm " + problem + " batch=3")] == {"taken": 4} and
          fates[("cublaslt", "gemm " + problem + " bias=column")] == {"taken": 1}, f"{fates}")
    check(said.count(": right, ") == 5 and "WRONG" not in said and counts["cublasHgemm"] > 1, f"{said} {counts}")


def test_features():
    """What we have not passes as it came, and is told where that is asked."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem), verdict(problem, client="cublaslt"))
    fates, counts, said = run("type=14,math=2", "compute=74,ex=1,count=2", "lt=1,beta=1,two=1", "sms=16,count=3",
                              "keep=1", "lt=1,sms=16,count=4", "lt=1", "complex=1", "complex=1,wide=1",
                              MMTUNE_RUN_VERBOSE="1")
    check(fates == {("cublas", problem): {"taken": 3}, ("cublaslt", problem): {"taken": 1}}, f"{fates}")
    names = "cublasGemmEx", "cublasSgemm_v2", "cublasLtMatmul", "cublasCgemm_v2", "cublasCgemm_v2_64"
    check([counts.get(name) for name in names] == [3, 3, 5, 1, 1], f"{counts}")
    for line in (("1 calls", "math mode"), ("2 calls", "compute type"), ("1 calls", "C apart from D"),
                 ("3 calls", "an SM count target"), ("2 calls", "complex numbers"),
                 ("4 calls", "an SM count target, or counters of chunks")):
        check(f"{line[0]} passed, since they have what is not served: {line[1]}\n" in said, said)


def test_pointers():
    """Batches by pointer arrays, whose matrices are aligned as cuBLAS demands: those of 16 bits where k is of whole 8."""
    rows = {"batch=3": ("f32 nn 12x16x20", 4), "batch=1": ("f32 nn 12x16x20", 4), "type=1,compute=70,batch=2,ta=1":
            ("f64 nt 12x16x20", 8), "type=14,batch=4": ("bf16 nn 12x16x20", 2), "type=14,k=24,batch=4": ("bf16 nn 12x16x24", 0),
            "type=2,k=24,batch=2,out=0": ("f16 nn 12x16x24 out=f32", 0), "batch=3,beta=-2,device=1": ("f32 nn 12x16x20", 4),
            "type=2,compute=64,k=24,batch=2": ("f16 nn 12x16x24", 0), "batch=5,n=13,beta=3": ("f32 nn 13x16x20", 4),
            "batch=8,m=16,n=12,k=512": ("f32 nn 12x16x512", 4)}
    def problem(call):
        batch = int(re.search("batch=(.)", call)[1])
        return rows[call][0] + " batch_by=pointers" + (f" batch={batch}" if batch > 1 else "")
    def known(call):
        return verdict("gemm " + problem(call), alignment=rows[call][1], adds=int("beta" in call and "device" not in call),
                       compute="16f" if "=64" in call else "usual", configuration=SPLIT if "512" in call else "naive")
    calls = [(call, lists, wide) for call in rows for lists in (1, 2) for wide in (0, 1)
             if lists == 1 or ("type=2,k" not in call and "=14" not in call)]
    def of(call, lists, wide):
        return f"lists={lists},wide={wide},{call}"
    learn(*[known(call) for call in rows if "device" not in call])
    become(*[(of(*it), problem(it[0]), "taken") for it in calls])
    fates, _, said = run(*[of(*it) for it in calls if "device" not in it[0]], MMTUNE_RUN_CHECK="1")
    check(said.count(": right, ") == len(rows) - 1 and "WRONG" not in said and
          all(set(at) == {"taken"} for at in fates.values()), f"{fates} {said}")
    _, _, said = run("lists=1,count=5,batch=3", MMTUNE_RUN_CHECK="1", MMT_FAKE_CUBLAS="wrong")
    check(said.count(": WRONG, ") == 3, said)
    become(("lists=1,batch=2", "f32 nn 12x16x20 batch_by=pointers batch=2", "no verdict"),
           ("batch=3", "f32 nn 12x16x20 batch=3", "no verdict"))
    learn(verdict("gemm f32 nn 12x16x20 batch_by=pointers batch=3", 20, 10, alignment=4))
    become(("lists=2,batch=3", "f32 nn 12x16x20 batch_by=pointers batch=3", "library faster"))


def test_lt():
    """Epilogues, workspaces and matrices of cublasLtMatmul."""
    plain = "f32 nn 12x16x20"
    rows = {"two=1": plain, "ta=1,type=14,epilogue=4": "bf16 nt 12x16x20 bias=column", "epilogue=4": plain + " bias=column",
            "epilogue=2": plain + " activation=relu", "epilogue=6": plain + " bias=column activation=relu",
            "epilogue=32": plain + " activation=gelu_tanh", "epilogue=36": plain + " bias=column activation=gelu_tanh",
            "n=13,beta=1": "f32 nn 13x16x20"}
    learn(*[verdict("gemm " + problem, client="cublaslt", adds=int("beta" in call)) for call, problem in rows.items()],
          verdict("gemm f32 nn 14x16x20", client="cublaslt"))
    become(*[("lt=1,count=2," + call, problem, "taken", 2, "cublaslt") for call, problem in rows.items()],
           ("lt=1,n=14,device=1,beta=1,behind=1", "f32 nn 14x16x20", "taken", 1, "cublaslt"),
           ("lt=1,batch=2", plain + " batch=2", "no verdict", 1, "cublaslt"))


SPLIT = "simt TILE_M=32 TILE_N=32 TILE_K=16 SPLIT_K=2"


def test_workspaces():
    """A plan with a workspace uses the handle's, or a part of ours; none where a graph is captured."""
    problem, needed = "f32 nn 12x16x512", 2 * 12 * 16 * 4
    rows = {"ws=65536": "taken", "ws=65536,capture=1": "taken", "ws=512": "workspace", "ws=65536,stream=1": "taken",
            "capture=1": "workspace", "ws=512,late=2": "taken", "stream=3": "taken"}
    learn(*[verdict(f"gemm f32 nn {12 + i}x16x512", configuration=SPLIT) for i in range(len(rows))])
    become(*[(f"n={12 + i},m=16,k=512,count=2,{words}", f"f32 nn {12 + i}x16x512", fate, 2)
             for i, (words, fate) in enumerate(rows.items())])
    call = "n=12,m=16,k=512,"
    become((call[:-1], problem, "plan failed"), MMTUNE_RUN_WORKSPACE=str(needed - 1))
    become((call[:-1], problem, "taken"), MMTUNE_RUN_WORKSPACE="4K")
    streams = [f"{call}stream={i},keep={int(i > 1)}" for i in range(1, 12)]
    fates, _, _ = run(*streams, call + "destroy=1,keep=1,count=0", call + "stream=20")
    check(fates == {("cublas", "gemm " + problem): {"taken": 9, "workspace": 3}}, f"eight parts, freed: {fates}")


def test_shared():
    """Threads that share a handle and its workspace: what one of them queues is kept together, whoever computes."""
    call, problem = "n=12,m=16,k=512,ws=65536,share=1,threads=4,count=40", ("cublas", "gemm f32 nn 12x16x512")
    learn(verdict(problem[1], configuration=SPLIT))
    fates, counts, _ = run(call)
    at = fates[problem]
    # A thread without a context has none before its first call, which passes uncounted.
    check(set(at) <= {"taken", "workspace"} and 156 <= sum(at.values()) <= 160 and at.get("taken"), f"{fates}")
    check(counts.get("cublasSgemm_v2", 0) == 160 - at["taken"], f"{fates} {counts}")


def test_destroy():
    """The part of a handle that is destroyed is nobody's until that is over: neither of another handle nor of a
    new one at the same address; then it is the first's that asks."""
    problem, call = "f32 nn 12x16x512", "n=12,m=16,k=512,"
    learn(verdict("gemm " + problem, configuration=SPLIT))
    become((call + "stream=1,destroy=1,within=2", problem, "taken"), (call + "stream=1", problem, "workspace"),
           (call + "stream=2", problem, "workspace"), (call + "stream=3", problem, "taken"),
           (call + "stream=4", problem, "workspace"), MMTUNE_RUN_WORKSPACE="2K")
    become((call + "ws=65536,destroy=1,within=1", problem, "taken"), (call + "count=2", problem, "taken", 2),
           (call[:-1], problem, "workspace"), MMTUNE_RUN_WORKSPACE="2K")


def test_end():
    """The process ends while threads call, those that ours computes and those that pass; what was counted is written."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem))
    for call in "threads=4,count=1000000,leave=1", "n=13,threads=4,count=1000000,leave=1":
        for record in "", "1":
            fates, _, _ = run(call, MMTUNE_RUN_RECORD=record)
            check(len(fates) == 1 and sum(*[at.values() for at in fates.values()]) > 8, f"{call}: {fates}")


def test_slow_compiler():
    """The process ends while a kernel is compiled for it: that is waited for, whatever the compiler has registered."""
    learn(*[verdict(f"gemm f32 nn {12 + i}x16x20", configuration=f"tiled TILE={16 << i}") for i in range(2)])
    for call in "n=12,compiling=1", "n=12,compiling=1,fork=1", "n=12,compiling=1,destroy=1":
        shutil.rmtree(environment["XDG_CACHE_HOME"], ignore_errors=True)
        if os.path.exists(folder + "/begun"):
            os.remove(folder + "/begun")
        fates, _, _ = run(call, MMTUNE_RUN_WAIT="", MMT_FAKE_NVRTC_MS="300", MMT_FAKE_NVRTC_LOG=folder + "/begun")
        check(set(fates) == {("cublas", "gemm f32 nn 12x16x20")}, f"{call}: {fates}")


def test_compiled_first():
    """What is compiled already serves before what is not, wherever its verdict stands; else they are in order."""
    kinds = [f"gemm f32 nn {n}x16x20" for n in (12, 13, 14)]
    made = [verdict(kinds[i], configuration=f"tiled TILE={16 << i}") for i in range(2)] + [verdict(kinds[2])]
    shutil.rmtree(environment["XDG_CACHE_HOME"], ignore_errors=True)
    learn(made[2])
    run("n=14")
    learn(*made)
    for first in ([2, 0, 1], [0, 1, 2]):
        run("n=12", "n=13", "n=14")
        ready = {line["call"]: line["ready_ns"] for line in run.lines}
        check(sorted(kinds, key=ready.get) == [kinds[i] for i in first] and min(ready.values()) > 0, f"{first}: {ready}")


def test_other_compiler():
    """What was compiled by another version of NVRTC, as the tuner's is, serves: nothing is compiled."""
    learn(verdict("gemm f32 nn 12x16x20"))
    for minor, compiles in ("1", True), ("2", False), ("1", False):
        if os.path.exists(folder + "/begun"):
            os.remove(folder + "/begun")
        if compiles:
            shutil.rmtree(environment["XDG_CACHE_HOME"], ignore_errors=True)
        fates, _, _ = run("n=12", MMT_FAKE_NVRTC_MINOR=minor, MMT_FAKE_NVRTC_MS="1", MMT_FAKE_NVRTC_LOG=folder + "/begun")
        check(list(fates.values()) == [{"taken": 1}], f"NVRTC 12.{minor}: {fates}")
        check(os.path.exists(folder + "/begun") == compiles, f"NVRTC 12.{minor} compiles: {not compiles}")


def test_reset():
    """What is computed behind a reset of the device is the library's."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem))
    fates, counts, _ = run("count=2", "reset=1,count=3", "count=4")
    check(fates == {("cublas", problem): {"taken": 2, "other context": 7}} and counts["cublasSgemm_v2"] == 7,
          f"{fates} {counts}")


def test_fork():
    """A child of a process that had not begun is served, one of a process that had passes, and is counted."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem))
    fates, counts, _ = run("fork=1")
    check(fates == {("cublas", problem): {"taken": 1}}, f"a child that begins: {fates} {counts}")
    fates, counts, _ = run("count=2", "fork=1,count=3")
    check(fates == {("cublas", problem): {"taken": 2, "child process": 3}} and counts["cublasSgemm_v2"] == 3,
          f"{fates} {counts}")


def test_context():
    """In a context that is not the device's primary one the library computes."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem))
    fates, _, _ = run("count=1", "foreign=1,count=2,keep=1")
    check(fates == {("cublas", problem): {"taken": 1, "other context": 2}}, f"{fates}")
    fates, counts, _ = run("foreign=1")
    check(not fates and counts["cublasSgemm_v2"] == 1, f"{fates} {counts}")


def test_cards():
    """Each card has plans and a keeper of its own."""
    problem = "gemm f32 nn 12x16x20"
    with open(folder + "/cards", "a", encoding="utf-8") as cards:
        cards.write("0000:02:00.0 40 1500 0\n")
    learn(verdict(problem))
    fates, _, said = run("count=1", "card=1,count=2", "card=0,count=4", MMTUNE_RUN_VERBOSE="1")
    check(fates == {("cublas", problem): {"taken": 7}}, f"{fates} {said}")
    check(all(f"mmtune: cuda:{i}: {problem}" in said for i in range(2)), said)
    fates, counts, _ = run("count=1", "card=1,keep=1,count=2", "card=1")
    check(fates == {("cublas", problem): {"taken": 2, "other context": 2}} and counts["cublasSgemm_v2"] == 2,
          f"a handle of the other card: {fates}")


def test_record():
    """Nothing is taken over; the first ten calls are timed, but for captured ones."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem))
    become(("count=14,ws=4096", problem[5:], "recorded", 14), MMTUNE_RUN_RECORD="1", MMTUNE_RUN_ID="mine",
           MMT_FAKE_CUBLAS_US="300")
    line = run.lines[0]
    check(line["run"] == "mine" and line["workspace"] == 4096 and line["library"] == VERSION and
          os.path.samefile(line["path"], FAKES + "/libcublas.so.13"), f"{line}")
    timed, ns = sum(x.get("timed", 0) for x in run.lines), sum(x.get("ns", 0) for x in run.lines)
    check(timed == 10 and abs(ns - 3e6) < 1e4, f"{run.lines}")
    become(("count=5,capture=1", problem[5:], "recorded", 5), MMTUNE_RUN_RECORD="1")
    check(not any("timed" in line for line in run.lines), f"{run.lines}")
    become(("count=1,ws=4096,destroy=1", problem[5:], "recorded"), ("n=13", "f32 nn 13x16x20", "recorded"),
           MMTUNE_RUN_RECORD="1")
    given = {line["call"]: line.get("workspace") for line in run.lines}
    check(given == {problem: 4096, "gemm f32 nn 13x16x20": None}, f"another handle at that address has none: {given}")


def test_check():
    """The first three calls of a kind are computed by both, and a line tells of the first."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem), verdict(problem, adds=1), verdict("gemm bf16 nn 12x16x20 bias=column", client="cublaslt"))
    for call in ("count=5", "count=5,beta=2", "count=5,lt=1,type=14,epilogue=4"):
        fates, counts, said = run(call, MMTUNE_RUN_CHECK="1")
        check([list(f.values()) for f in fates.values()] == [[5]] and "taken" in list(fates.values())[0], f"{fates}")
        name = "cublasLtMatmul" if "lt" in call else "cublasSgemm_v2"
        check(counts[name] == 3 and said.count("mmtune: check: ") == 1 and ": right, " in said, f"{counts} {said}")
    for call in "count=5", "count=5,lt=1,type=14,epilogue=4":
        _, _, said = run(call, MMTUNE_RUN_CHECK="1", MMT_FAKE_CUBLAS="wrong")
        check(said.count(": WRONG, ") == 3, said)
    fates, counts, said = run("count=2,capture=1", MMTUNE_RUN_CHECK="1")
    check("cublasSgemm_v2" not in counts and "check" not in said, f"{counts} {said}")


def test_words():
    """One line for each kind, and its time saved."""
    problem = "gemm f32 nn 12x16x20"
    learn(verdict(problem, 10, 35))
    _, _, said = run("count=9", MMTUNE_RUN_VERBOSE="1")
    check(said.count(problem + ": naive") == 1 and "3.50 times as fast as " + VERSION in said, said)
    check(sum(line["saved_ns"] for line in run.lines) == 9 * 25000, f"{run.lines}")


def test_ranges():
    """A range of NVTX around each call of ours, by the library of either name; where there is none, one line."""
    names = ["libnvtx3interop.so.1", "libnvToolsExt.so.1"]
    learn(verdict("gemm f32 nn 12x16x20"))
    for there in [*names, None]:
        place = os.path.join(folder, f"nvtx-{there}")
        os.mkdir(place)
        for name in names:
            path = os.path.join(place, name)
            if name == there:
                os.symlink(os.path.abspath(NVTX), path)
            else:  # no library, and none that the loader finds elsewhere
                with open(path, "w", encoding="utf-8"):
                    pass
        _, _, said = run("count=3", "n=13", MMTUNE_RUN_NVTX="1", MMT_FAKE_NVTX=place + "/log",
                         LD_LIBRARY_PATH=place + ":" + environment["LD_LIBRARY_PATH"])
        lines = []
        if there:
            with open(place + "/log", encoding="utf-8") as f:
                lines = f.read().splitlines()
        check(len(lines) == (6 if there else 0) and all(l.startswith("push gemm f32 nn 12x16x20") for l in lines[::2])
              and all(l.startswith("pop") for l in lines[1::2]), f"{there}: {lines}")
        check(said.count("no NVTX ranges") == (0 if there else 1), said)


def test_exports():
    """Nothing but names of cuBLAS is shown, and what tells of a process's end, and no library of CUDA is needed."""
    shown = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in shown.splitlines()]
    own = [n for n in names if not n.startswith("cublas")]
    check(len(names) == 44 and own == ["__cxa_atexit"] and not any("@" in n for n in names), shown)
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    check("NEEDED" in needed and not re.search(r"NEEDED.*(cuda|cublas|nvrtc|mmtune)", needed), needed)


for part in sys.argv[7:] or [n[5:] for n in list(globals()) if n.startswith("test_")]:
    globals()["test_" + part]()
end("cublas", folder)
