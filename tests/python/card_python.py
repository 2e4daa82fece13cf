#!/usr/bin/env python3
"""The package of Python on a CUDA device, with those of PyTorch, CuPy and JAX that are there:

    python3 tests/python/card_python.py [--seconds 150] [--only torch,overhead] [--place cpu]

Products of all three beside references in double precision (types, transposes, batches, strides, bias, activation,
out, streams, graphs), mmtune.torch with its gradients and under torch.compile, then what a call costs the host beside
a bare ctypes call and torch.matmul. Each section is a process of its own, and each check behind one that failed gets
another, so that it fails alone; what has not ended when the seconds are over is stopped. A table is printed last;
exits 1 where something is not so, 77 where there is no card. `--place cpu` tries the script itself on tensors of the CPU and device 0."""
import argparse
import concurrent.futures
import ctypes
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import mmtune

PLACE = "cuda"
rows = None  # the file that a section's rows go to


def report(what, passed, of, note=""):
    print(json.dumps([what, passed, of, note]), file=rows, flush=True)


class Tally:
    def __init__(self, what):
        self.what, self.passed, self.of, self.worst = what, 0, 0, 0.0

    def check(self, good, words):
        self.of += 1
        self.passed += bool(good)
        if not good and self.of - self.passed <= 4:
            print(f"not so: {self.what}: {words}"[:400], flush=True)

    def near(self, got, want, scale, tolerance, words):
        """`scale`: the size of the sums that the elements are, by which an error is divided."""
        error = float((abs(got - want) / (scale + 1e-30)).max()) if want.size else 0.0
        self.worst = max(self.worst, error / tolerance)
        self.check(got.shape == want.shape and error <= tolerance, f"{words}: error {error:.2g} of {tolerance:.2g}")

    def end(self):
        report(self.what, self.passed, self.of, f"largest error {self.worst:.2f} of what is allowed" if self.worst else "")


def synchronize():
    import torch
    if PLACE == "cuda":
        torch.cuda.synchronize()


# ---- PyTorch --------------------------------------------------------------------------------------------

def made(*shape, dtype=None):
    """A tensor of random f32, rounded to `dtype`."""
    import torch
    return torch.randn(*shape, device=PLACE, dtype=torch.float32).to(dtype or torch.float32)


TOLERANCES = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 1e-2}


def of_torch(x):
    return x.detach().double().cpu().numpy()


def torch_beside(tally, torch, a, b, words, bias=None, activation=None, tolerance=None, **options):
    c = options.get("out")
    before = of_torch(c) if c is not None else 0
    got = mmtune.matmul(a, b, bias=bias, activation=activation, **options)
    synchronize()
    x, y = of_torch(a), of_torch(b)
    want = options.get("alpha", 1) * (x @ y) + options.get("beta", 0) * before + (0 if bias is None else of_torch(bias))
    if activation == "relu":
        want = want.clip(0)
    elif activation:
        f = {"gelu": lambda t: torch.nn.functional.gelu(t), "silu": torch.nn.functional.silu,
             "gelu_tanh": lambda t: torch.nn.functional.gelu(t, approximate="tanh")}[activation]
        want = f(torch.from_numpy(want)).numpy()
    name = str(got.dtype).split(".")[-1]
    limit = tolerance or max(TOLERANCES.get(name, 1e-2), TOLERANCES[str(a.dtype).split(".")[-1]] / 8
                             if name == "float32" and a.dtype.itemsize == 2 else 0)
    tally.near(of_torch(got), want, abs(x) @ abs(y) + 1, limit, words)
    return got


def check_torch():
    import torch

    tally = Tally("torch: types, transposes")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for m, n, k, transposes in ((128, 128, 128, "nn"), (257, 65, 130, "nn nt tn tt"), (1, 512, 333, "nt"),
                                    (512, 1, 64, "nn")):
            for how in transposes.split():
                a = made(k, m, dtype=dtype).t() if how[0] == "t" else made(m, k, dtype=dtype)
                b = made(n, k, dtype=dtype).t() if how[1] == "t" else made(k, n, dtype=dtype)
                torch_beside(tally, torch, a, b, f"{dtype} {m}x{n}x{k} {how}")
    tally.end()


def check_views():
    import torch

    tally = Tally("torch: batches, views, out")
    for a, b in (((7,), (7,)), ((5, 7), (7,)), ((7,), (7, 3)), ((4, 5, 7), (7, 3)), ((4, 5, 7), (4, 7, 3)),
                 ((2, 1, 5, 7), (3, 7, 3)), ((5, 7), (3, 7, 3)), ((6, 1, 64), (64, 48))):
        torch_beside(tally, torch, made(*a), made(*b), f"{a} {b}")
    wide = made(64, 200)
    torch_beside(tally, torch, wide[:, 3:67], made(64, 32), "columns of a wider matrix")
    torch_beside(tally, torch, wide[::2, :64], made(64, 32), "each second row")
    torch_beside(tally, torch, made(8, 4, 16, 32).transpose(1, 2), made(16, 32, 8), "heads between rows")
    torch_beside(tally, torch, made(40).unfold(0, 9, 1), made(9, 5), "sliding windows")
    for out in (made(64, 32), made(32, 64).t(), made(64, 50)[:, 5:37]):
        got = torch_beside(tally, torch, made(64, 48), made(48, 32), "out", out=out, alpha=2, beta=-0.5)
        tally.check(got is out, "out is returned")
    field = torch.zeros(70, 70, device=PLACE)
    mmtune.matmul(made(64, 48), made(48, 32), out=field[3:67, 3:35])
    tally.check(not field[:3].any() and not field[67:].any() and not field[:, 35:].any() and not field[:, :3].any(),
                "nothing is written around out")
    tally.end()


def check_epilogues():
    import torch

    tally = Tally("torch: bias, activation, types of out")
    for dtype, cases in ((torch.float32, ((None, "m"), ("gelu_tanh", "n"))), (torch.float16, (("silu", "n"),)),
                         (torch.bfloat16, ((None, "n"), ("relu", "m"), ("gelu", "n"), ("gelu_tanh", "n"), ("silu", "n")))):
        for activation, axis in cases:
            a, b = made(96, 64, dtype=dtype), made(64, 80, dtype=dtype)
            bias = made(80, dtype=dtype) if axis == "n" else made(96, 1, dtype=dtype)
            torch_beside(tally, torch, a, b, f"{dtype} {activation} {tuple(bias.shape)}", bias, activation)
    got = torch_beside(tally, torch, made(96, 64, dtype=torch.bfloat16), made(64, 80, dtype=torch.bfloat16), "bf16 to f32",
                       out_dtype=torch.float32)
    tally.check(got.dtype == torch.float32, f"bf16 gives f32 where that is asked for: {got.dtype}")
    a8, b8 = (torch.randint(-99, 99, s, device=PLACE, dtype=torch.int8) for s in ((64, 128), (128, 96)))
    got = mmtune.matmul(a8, b8)
    tally.check(got.dtype == torch.int32 and bool((got.cpu() == a8.cpu().int() @ b8.cpu().int()).all()), "i8 gives i32")
    for name in ("float8_e4m3fn", "float8_e5m2"):
        x, y = made(64, 128).to(getattr(torch, name)), made(96, 128).to(getattr(torch, name)).t()
        got = mmtune.matmul(x, y)
        tally.near(of_torch(got), of_torch(x.float()) @ of_torch(y.float()),
                   abs(of_torch(x.float())) @ abs(of_torch(y.float())), 1e-2, name)
    for precision, tolerance in (("strict", 2e-6), ("emulated", 2e-6), ("tf32", 2e-3)):
        torch_beside(tally, torch, made(512, 512), made(512, 512), precision, precision=precision, tolerance=tolerance)
    tally.end()


def check_streams():
    import torch

    tally = Tally("torch: streams, graphs, refusals")
    side = torch.cuda.Stream()
    a, b = made(512, 512), made(512, 512)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for _ in range(3):
            a = mmtune.matmul(a, b) / 30
    side.synchronize()
    tally.check(bool(torch.isfinite(a).all()), "on the current stream")
    torch_beside(tally, torch, made(64, 64), made(64, 64), "a stream given", stream=side)
    x, y, z = made(300, 200, dtype=torch.bfloat16), made(200, 100, dtype=torch.bfloat16), None
    mmtune.matmul(x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = mmtune.matmul(x, y)
    x.copy_(made(300, 200))
    graph.replay()
    torch.cuda.synchronize()
    tally.near(of_torch(z), of_torch(x) @ of_torch(y), abs(of_torch(x)) @ abs(of_torch(y)), 1e-2, "a graph")
    for words, call in (("strides", lambda: mmtune.matmul(made(8, 16)[:, ::2][::2], made(8, 4))),
                        ("one type", lambda: mmtune.matmul(made(4, 4), made(4, 4, dtype=torch.float16))),
                        ("b is on the host", lambda: mmtune.matmul(made(4, 4), torch.ones(4, 4))),
                        ("bias is on the host", lambda: mmtune.matmul(x, x.t(), bias=torch.ones(300, dtype=x.dtype))),
                        ("out overlaps a", lambda: mmtune.matmul(a, b, out=a)),
                        ("out overlaps b", lambda: mmtune.matmul(a[:256], b, out=b[100:356])),
                        ("gradient", lambda: mmtune.matmul(made(4, 4).requires_grad_(), made(4, 4)))):
        try:
            call()
            tally.check(False, f"refused: {words}")
        except mmtune.Error as error:
            tally.check(words in str(error), f"{words!r} is said: {error}")
    tally.end()


class Lender:
    """An array of a library that has DLPack alone."""

    def __init__(self, x):
        self.x, self.__dlpack__, self.__dlpack_device__ = x, x.__dlpack__, x.__dlpack_device__


def check_lenders():
    import torch
    tally = Tally("torch: lent by DLPack")
    for dtype in (torch.float32, torch.bfloat16):
        for stream in (None, torch.cuda.Stream()) if PLACE == "cuda" else (None,):
            a, b = (torch.randn(*shape, device=PLACE).to(dtype) for shape in ((200, 96), (96, 80)))
            out, bias = torch.zeros(200, 80, dtype=dtype, device=PLACE), torch.randn(80, device=PLACE).to(dtype)
            synchronize()
            mmtune.matmul(Lender(a), Lender(b), out=Lender(out), bias=Lender(bias), stream=stream)
            want = of_torch(a) @ of_torch(b) + of_torch(bias)
            tally.near(of_torch(out), want, abs(of_torch(a)) @ abs(of_torch(b)) + 1, 1e-2, f"{dtype} on {stream}")
    tally.end()


def check_operators():
    import torch

    import mmtune.torch
    tally = Tally("torch.ops.mmtune: values, gradients")

    def leaves(*shapes):
        return [torch.randn(*s, device=PLACE, dtype=torch.float64, requires_grad=True) for s in shapes]

    for ours, theirs, inputs in (
            (torch.ops.mmtune.mm, torch.mm, leaves((5, 7), (7, 3))),
            (torch.ops.mmtune.bmm, torch.bmm, leaves((2, 5, 7), (2, 7, 3))),
            (torch.ops.mmtune.addmm, torch.addmm, leaves((3,), (5, 7), (7, 3))),
            (torch.ops.mmtune.addmm, torch.addmm, leaves((5, 3), (5, 7), (7, 3)))):
        got, want = ours(*inputs), theirs(*inputs)
        tally.check(torch.allclose(got, want, rtol=1e-10), f"{ours} as {theirs.__name__}")
        of_ours = torch.autograd.grad(got.sin().sum(), inputs)
        of_theirs = torch.autograd.grad(want.sin().sum(), inputs)
        tally.check(all(torch.allclose(x, y, rtol=1e-8) for x, y in zip(of_ours, of_theirs)), f"gradients of {ours}")
        tally.check(torch.autograd.gradcheck(ours, inputs), f"gradcheck of {ours}")
        torch.library.opcheck(ours, inputs)
    x = torch.randn(5, 7, device=PLACE)
    y, i = torch.randn(7, 3, device=PLACE), torch.randn(5, 3, device=PLACE)
    for beta, alpha in ((1, 1), (0.5, 2), (0, 1)):
        tally.check(torch.allclose(torch.ops.mmtune.addmm(i, x, y, beta, alpha), torch.addmm(i, x, y, beta=beta, alpha=alpha),
                                   rtol=1e-4, atol=1e-5), f"beta {beta}, alpha {alpha}")
    tally.end()


def mmtune_mm_counted(a, b, *, out):
    """What Inductor is given to time: it counts."""
    mmtune_mm_counted.shapes.append(tuple(a.shape))
    return mmtune.torch.mmtune_mm(a, b, out=out)


def check_compile():
    import torch

    import mmtune.torch
    tally = Tally("torch.compile")

    def layers(x, w, v, bias):
        hidden = torch.relu(torch.ops.mmtune.addmm(bias, x, w))
        return torch.ops.mmtune.mm(hidden, v).sum(-1)

    inputs = [torch.randn(*s, device=PLACE, requires_grad=True) for s in ((64, 96), (96, 128), (128, 32), (128,))]
    compiled = torch.compile(layers, fullgraph=True)
    got, want = compiled(*inputs), layers(*inputs)
    tally.check(torch.allclose(got, want, rtol=1e-3, atol=1e-3), "operators in a compiled function")
    of_ours = torch.autograd.grad(got.sum(), inputs)
    of_theirs = torch.autograd.grad(want.sum(), inputs)
    tally.check(all(torch.allclose(x, y, rtol=1e-3, atol=1e-3) for x, y in zip(of_ours, of_theirs)), "and their gradients")
    for m in (33, 65):
        more = torch.randn(m, 96, device=PLACE)
        tally.check(torch.allclose(compiled(more, *inputs[1:]), layers(more, *inputs[1:]), rtol=1e-3, atol=1e-3), f"m {m}")

    torch._dynamo.reset()
    said = mmtune.torch.register_inductor()
    print(f"  register_inductor: {said}")
    if said["torch.ops.mmtune"] == "registered":
        a, b = (torch.randn(257, 257, device=PLACE) for _ in "ab")
        for size in (257, 129):
            tuned = torch.compile(lambda a, b: torch.ops.mmtune.mm(a, b))
            x, y = a[:size, :size].contiguous(), b[:size, :size].contiguous()
            tally.check(torch.allclose(tuned(x, y), x @ y, rtol=1e-3, atol=1e-3), "mmtune.mm or PyTorch's")
    tally.check(said["torch.mm"] == "registered", said["torch.mm"])

    torch._dynamo.reset()
    timed = mmtune_mm_counted.shapes = []
    torch._inductor.config.external_matmul = [mmtune_mm_counted]
    torch._inductor.config.max_autotune_gemm_backends = "ATEN"  # no Triton beside, which takes tens of seconds
    best = torch.compile(lambda a, b: torch.mm(a, b), mode="max-autotune-no-cudagraphs")
    a, b = (torch.randn(513, 513, device=PLACE, dtype=torch.bfloat16) for _ in "ab")
    tally.check(torch.allclose(best(a, b).float(), (a @ b).float(), rtol=2e-2, atol=2e-1), "max-autotune of torch.mm")
    tally.check(len(timed) > 0, "Inductor timed mmtune beside its own")
    before = len(timed)
    best(a, b)
    note = "took it" if len(timed) > before else "took another"
    print(f"  of bf16 513x513x513 Inductor timed mmtune {before} times and {note}")

    tally.end()


# ---- CuPy, JAX ------------------------------------------------------------------------------------------

def check_cupy():
    import cupy
    import numpy

    tally = Tally("cupy")

    def made(*shape, dtype="float32"):
        return cupy.random.standard_normal(shape, dtype=cupy.float32).astype(dtype)

    def beside(a, b, words, tolerance, bias=None, **options):
        got = mmtune.matmul(a, b, bias=bias, **options)
        x, y = (cupy.asnumpy(v).astype(float) for v in (a, b))
        want = x @ y + (0 if bias is None else cupy.asnumpy(bias).astype(float))
        tally.near(cupy.asnumpy(got).astype(float), want, abs(x) @ abs(y) + 1, tolerance, words)
        return got

    for dtype, tolerance in (("float32", 2e-6), ("float64", 1e-14), ("float16", 2e-3)):
        for a, b in (((64, 48), (48, 32)), ((3, 64, 48), (48, 32)), ((2, 1, 5, 7), (3, 7, 3)), ((7,), (7, 3)), ((5, 7), (7,))):
            beside(made(*a, dtype=dtype), made(*b, dtype=dtype), f"{dtype} {a} {b}", tolerance)
    beside(made(48, 64).T, made(32, 48).T, "transposed", 2e-6)
    beside(made(64, 200)[:, 3:51], made(48, 32), "a view", 2e-6, bias=made(32))
    out = cupy.zeros((64, 32), cupy.float32)
    tally.check(beside(made(64, 48), made(48, 32), "out", 2e-6, out=out) is out, "out is returned")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        a = made(512, 512)
        for _ in range(3):
            a = mmtune.matmul(a, a) / 30
        stream.synchronize()
        tally.check(bool(cupy.isfinite(a).all()), "on CuPy's current stream")
    whole = cupy.asarray(numpy.arange(-64, 64, dtype=numpy.int8).reshape(8, 16))
    tally.check(bool((mmtune.matmul(whole, whole.T) == whole.astype("int32") @ whole.T.astype("int32")).all()), "i8")
    tally.end()


def check_jax():
    import jax
    import numpy

    tally = Tally("jax")
    if PLACE == "cuda" and not [d for d in jax.devices() if d.platform in ("gpu", "cuda")]:
        report("jax", 0, 0, "no device of CUDA in this JAX")
        return
    rng = numpy.random.default_rng(1)

    def made(*shape, dtype="float32"):
        return jax.numpy.asarray(rng.standard_normal(shape), dtype=dtype)

    for dtype, tolerance in (("float32", 2e-6), ("float16", 2e-3), ("bfloat16", 1e-2)):
        for a, b in (((64, 48), (48, 32)), ((3, 64, 48), (48, 32)), ((2, 1, 5, 7), (3, 7, 3)), ((7,), (7, 3)), ((5, 7), (7,))):
            x, y = made(*a, dtype=dtype), made(*b, dtype=dtype)
            got = mmtune.matmul(x, y)
            p, q = (numpy.asarray(v.astype("float32")).astype(float) for v in (x, y))
            tally.near(numpy.asarray(got.astype("float32")).astype(float), p @ q, abs(p) @ abs(q) + 1, tolerance,
                       f"{dtype} {a} {b}")
            tally.check(isinstance(got, jax.Array) and got.dtype == x.dtype, "an array of JAX")
    x = made(64, 48)
    y = jax.jit(lambda t: t * 2)(x)
    bias = made(64)
    got = mmtune.matmul(y, x.T, bias=bias, activation="relu")
    p = numpy.asarray(x).astype(float)
    tally.near(numpy.asarray(got).astype(float), numpy.maximum(2 * p @ p.T + numpy.asarray(bias), 0), 2 * abs(p) @ abs(p.T) + 1,
               2e-6, "behind a jitted function")
    for words, call in (("does not change", lambda: mmtune.matmul(x, x.T, out=got)),
                        ("traced by jax.jit", lambda: jax.jit(lambda t: mmtune.matmul(t, t.T))(x))):
        try:
            call()
            tally.check(False, f"refused: {words}")
        except mmtune.ArgumentTypeError as error:
            tally.check(words in str(error), str(error))
    tally.end()


# ---- what a call costs the host ---------------------------------------------------------------------------

def median_us(call, wait, rounds=60, calls=50):
    """The median over rounds of a call's time on the host, microseconds; the queue is emptied between rounds, so that no
    call waits for room in it."""
    times = []
    for _ in range(rounds):
        wait()
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        times.append((time.perf_counter_ns() - start) / calls / 1000)
    wait()
    return statistics.median(times)


def measure_overhead():
    import torch

    import mmtune.torch
    from mmtune import _library
    a, b = (torch.randn(64, 64, device=PLACE, dtype=torch.bfloat16) for _ in "ab")
    out, device = torch.empty_like(a), mmtune.device("cuda:0")
    plan = mmtune.Plan(64, 64, 64, "bf16", device=device)
    args, err = _library.Args(), _library.ErrorStruct()
    _library.lib.mmt_args_init(args, ctypes.sizeof(args))
    args.a.handle, args.b.handle, args.c.handle = a.data_ptr(), b.data_ptr(), out.data_ptr()
    held = plan.device._workspace(0, plan.workspace) if plan.workspace else 0
    args.workspace.handle = held
    bare, handle = _library.lib.mmt_execute, plan._executor.handle
    places = [ctypes.addressof(args), ctypes.addressof(err)]
    pointers = a.data_ptr(), b.data_ptr(), out.data_ptr()
    wait = torch.cuda.synchronize
    stream = torch.cuda.current_stream().cuda_stream
    table = [("a bare ctypes call of mmt_execute", lambda: bare(handle, places[0], 0, places[1])),
             ("Plan.execute, addresses", lambda: plan.execute(*pointers, stream=stream)),
             ("Plan.execute, tensors", lambda: plan.execute(a, b, out)),
             ("mmtune.matmul, out given", lambda: mmtune.matmul(a, b, out=out)),
             ("mmtune.matmul", lambda: mmtune.matmul(a, b)),
             ("torch.matmul, out given", lambda: torch.matmul(a, b, out=out)),
             ("torch.matmul", lambda: torch.matmul(a, b)),
             ("torch.ops.mmtune.mm", lambda: torch.ops.mmtune.mm(a, b))]
    for _, call in table:
        call()
    base = None
    report("what a call costs the host, bf16 64x64x64", 0, 0, "median, and what is over the bare call")
    for name, call in table:
        time_us = median_us(call, wait)
        base = base or time_us
        report("  " + name, 0, 0, f"{time_us:7.2f} us {time_us - base:+7.2f} us")


SECTIONS = {"torch": (check_torch, check_views, check_epilogues, check_lenders, check_streams),
            "operators": (check_operators,), "compile": (check_compile,), "cupy": (check_cupy,), "jax": (check_jax,),
            "overhead": (measure_overhead,)}
"""Processes that run side by side, as most of their time compiles kernels; what is timed runs alone, last."""
LIBRARIES = {"operators": "torch", "compile": "torch", "overhead": "torch"}
TIMED, TIMED_S = "overhead", 25
NEED_A_CARD = (check_streams, measure_overhead, check_cupy)


def run_section(name, first):
    """In a process of its own, from the check of that number on. An exception ends it, as the device may be of no use
    any more; the next check then gets another process."""
    library = __import__(LIBRARIES.get(name, name))
    print(f"{name}: {library.__name__} {library.__version__}")
    for run in SECTIONS[name][first:]:
        print(json.dumps(run.__name__), file=rows, flush=True)
        if PLACE == "cuda" or run not in NEED_A_CARD:
            run()


def start_process(name, first, place, seconds):
    """Runs checks of a section: the names of those that were started, their rows, and how the process ended."""
    command = [sys.executable, os.path.abspath(__file__), "--section", name, "--first", str(first), "--place", place]
    # JAX takes what it needs of the device's memory, and Inductor times what an earlier run has timed.
    environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
        try:
            done = subprocess.run([*command, "--rows", file.name], env=environment, timeout=seconds, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said, ended = done.stdout, f"ended with {done.returncode}" if done.returncode else ""
        except subprocess.TimeoutExpired as late:
            said, ended = late.stdout or b"", f"stopped after {seconds:.0f} s"
        print(said.decode(errors="replace")[-3000:], end="", flush=True)
        lines = [json.loads(line) for line in file.read().splitlines()]
    return [x for x in lines if isinstance(x, str)], [tuple(x) for x in lines if isinstance(x, list)], ended


def run_processes(name, place, last):
    """The rows of a section. `last`: when all must have ended, in seconds of the monotonic clock."""
    if importlib.util.find_spec(LIBRARIES.get(name, name)) is None:
        return [(name, 0, 0, "is not here")]
    table, first, begun = [], 0, time.monotonic()
    while first < len(SECTIONS[name]):
        started, found, ended = start_process(name, first, place, max(last - time.monotonic(), 1))
        table += found
        if ended:
            table.append((started[-1] if started else name, 0, 1, ended))
        first = len(SECTIONS[name]) if not ended or "stopped" in ended or not started else first + len(started)
    return [*table, (name, 0, 0, f"took {time.monotonic() - begun:.0f} s")]


def main():
    parser = argparse.ArgumentParser(description="The package of Python on a CUDA device.")
    parser.add_argument("--seconds", type=float, default=150, help="all that may be taken (%(default)s)")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, by name: %(default)s")
    parser.add_argument("--place", default="cuda", choices=("cuda", "cpu"), help="cpu: to try this script without a card")
    parser.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--rows", help=argparse.SUPPRESS)
    options = parser.parse_args()
    global PLACE, rows
    PLACE = options.place
    if options.section:
        with open(options.rows, "w", encoding="utf-8") as rows:
            run_section(options.section, options.first)
        return 0
    devices = [d for d in mmtune.devices() if d.id.startswith("cuda:") or PLACE == "cpu"]
    if not devices:
        print("skipped: there is no CUDA device")
        return 77
    print(f"mmtune {mmtune.__version__}, {devices[0].name}", flush=True)
    names, last = options.only.split(","), time.monotonic() + options.seconds - 5
    with concurrent.futures.ThreadPoolExecutor(len(SECTIONS)) as pool:
        found = pool.map(lambda name: run_processes(name, PLACE, last - TIMED_S), [name for name in names if name != TIMED])
        table = [row for rows_of_one in found for row in rows_of_one]
    if TIMED in names:
        table += run_processes(TIMED, PLACE, last)
    print()
    for what, passed, of, note in table:
        print(f"{what:42} {f'{passed} of {of}' if of else '':10} {note}"[:140])
    passed, of = (sum(row[i] for row in table) for i in (1, 2))
    print(f"{passed} passed, {of - passed} failed")
    return bool(of - passed)


if __name__ == "__main__":
    sys.exit(main())
