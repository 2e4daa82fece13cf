#!/usr/bin/env python3
"""Times kernels that somebody names beside PyTorch on a CUDA device, for fitting a cost law or judging one:

    tools/candidate_times.py --seconds 300 < candidates.tsv > times.tsv

A line of candidates: a problem as `mmtune` spells it (gemm, one product), a tab, any words, a tab, a configuration, or
`profile` or `none` for what the device's profile or no profile selects. A line of times: problem, words, microseconds
(- where it failed), PyTorch's microseconds (- where it multiplies no such type), configuration or the reason. All are
timed in CUDA graphs, with random data and buffers in turn; medians. What is not right (by norm, against PyTorch in f64)
has no time. The library is MMTUNE_LIBRARY's."""
import argparse
import collections
import concurrent.futures
import functools
import statistics
import sys
import time

import torch

import mmtune

DTYPES = {"f32": torch.float32, "tf32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16,
          "f16": torch.float16, "i8": torch.int8, "i32": torch.int32, "f8e4m3": torch.float8_e4m3fn,
          "f8e5m2": torch.float8_e5m2}
OUT = {"f8e4m3": torch.bfloat16, "f8e5m2": torch.bfloat16, "i8": torch.int32}
TOLERANCE = {"bf16": 2e-2, "f16": 3e-3, "tf32": 2e-3, "f8e4m3": 2e-2, "f8e5m2": 2e-2}
CACHED = 150e6   # bytes that buffers in turn exceed
GRAPH = 2.0      # milliseconds of a graph, about


@functools.cache
def generator():
    """Of its own: PyTorch's is unusable after a capture that failed."""
    return torch.Generator("cuda").manual_seed(1)


class Operands:
    """Random operands of a problem, some sets of them."""

    def __init__(self, kind, transposes, m, n, k):
        self.kind, self.sizes = kind, (m, n, k)
        self.trans_a, self.trans_b = transposes[0] == "t", transposes[1] == "t"
        one = torch.empty((), dtype=DTYPES[kind]).element_size() * (m * k + k * n)
        self.copies = max(1, min(8, int(CACHED / one) + 1))
        shape_a, shape_b = ((k, m) if self.trans_a else (m, k)), ((n, k) if self.trans_b else (k, n))
        self.a = [self.draw(shape_a) for _ in range(self.copies)]
        self.b = [self.draw(shape_b) for _ in range(self.copies)]
        self.c = [torch.empty(m, n, device="cuda", dtype=OUT.get(kind, DTYPES[kind])) for _ in range(self.copies)]

    def draw(self, shape):
        dtype = DTYPES[self.kind]
        if not dtype.is_floating_point:
            return torch.randint(-8, 9, shape, device="cuda", dtype=dtype, generator=generator())
        return torch.randn(shape, device="cuda", generator=generator()).to(dtype)

    def pair(self, i):
        a, b = self.a[i % self.copies], self.b[i % self.copies]
        return (a.t() if self.trans_a else a), (b.t() if self.trans_b else b)

    def truth(self):
        rows = torch.arange(0, self.sizes[0], max(1, self.sizes[0] // 64), device="cuda")
        a, b = self.pair(0)
        return rows, a[rows].double() @ b.double()


def other_of(operands):
    """PyTorch's call, or None."""
    if operands.kind == "i8":
        return lambda i: torch._int_mm(*operands.pair(i))
    if operands.kind.startswith("f8"):
        one = torch.ones((), device="cuda")
        return lambda i: torch._scaled_mm(*operands.pair(i), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    if operands.kind == "i32":
        return None
    torch.backends.cuda.matmul.allow_tf32 = operands.kind == "tf32"
    return lambda i: torch.matmul(*operands.pair(i), out=operands.c[i % operands.copies])


def median_us(call, samples=7):
    """Of a call in CUDA graphs of some calls each."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call(0), call(1)
    torch.cuda.current_stream().wait_stream(side)

    def graph(count):
        it = torch.cuda.CUDAGraph()
        with torch.cuda.graph(it, capture_error_mode="thread_local"):  # others may free kernels meanwhile
            for i in range(count):
                call(i)
        return it

    def sample(it, count):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        it.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / count

    few = graph(8)
    sample(few, 8)
    count = max(8, min(200, int(GRAPH / max(sample(few, 8), 1e-3)))) // 8 * 8
    many = few if count == 8 else graph(count)
    sample(many, count)
    return 1e3 * statistics.median(sample(many, count) for _ in range(samples))


def plan_of(problem, wanted):
    kind, transposes, m, n, k = problem
    members = {"trans_a": transposes[0] == "t", "trans_b": transposes[1] == "t"}
    named = wanted not in ("profile", "none")
    return mmtune.Plan(m, n, k, kind, profile=None if wanted == "profile" else False,
                       configuration=wanted if named else None, **members)


def time_one(operands, plan, rows, truth):
    for c in operands.c[:1]:
        c.fill_(99)

    def call(i):
        at = i % operands.copies
        plan.execute(operands.a[at], operands.b[at], operands.c[at])

    call(0)
    error = ((operands.c[0][rows].double() - truth).norm() / truth.norm()).item()
    if not error <= TOLERANCE.get(operands.kind, 1e-5):
        raise ValueError(f"wrong by {error:.1e}")
    return median_us(call)


def time_again(operands, plan, rows, truth):
    """Once more where a capture failed: another thread may have freed what it had."""
    try:
        return time_one(operands, plan, rows, truth)
    except RuntimeError as why:
        print(f"again: {why.__context__ or why}", file=sys.stderr)
        torch.cuda.synchronize()
        return time_one(operands, plan, rows, truth)


def parse(problem):
    words = problem.split()
    if len(words) != 4 or words[0] != "gemm":
        raise SystemExit(f"'{problem}' is no plain product; right would be: gemm bf16 nt 300x4096x4096")
    return (words[1], words[2], *map(int, words[3].split("x")))


def time_problem(problem, lines, plans):
    operands = Operands(*parse(problem))
    rows, truth = operands.truth()
    other = other_of(operands)
    try:
        theirs = f"{median_us(other):.3f}" if other else "-"
    except RuntimeError:
        theirs = "-"
    for words, wanted in lines:
        try:
            plan = plans[wanted].result()
            us, what = f"{time_again(operands, plan, rows, truth):.3f}", plan.describe().splitlines()[0]
        except (RuntimeError, ValueError) as why:
            us, what = "-", f"{wanted}: {why}; {why.__context__}".replace("\n", " ")
        print(problem, words, us, theirs, what, sep="\t", flush=True)
    for it in plans.values():
        if not it.exception():
            it.result().close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no problem after so many")
    parser.add_argument("--workers", type=int, default=16, help="plans made at once")
    options = parser.parse_args()
    wanted = collections.OrderedDict()
    for line in sys.stdin:
        problem, words, configuration = line.rstrip("\n").split("\t")
        wanted.setdefault(problem, []).append((words, configuration))
    began = time.monotonic()
    torch.zeros(1, device="cuda")
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        plans = {problem: {c: pool.submit(plan_of, parse(problem), c) for _, c in lines}
                 for problem, lines in wanted.items()}
        concurrent.futures.wait([it for some in plans.values() for it in some.values()],
                                timeout=options.seconds / 2)
        print(f"plans after {time.monotonic() - began:.0f} s", file=sys.stderr)
        for problem, lines in wanted.items():
            if time.monotonic() - began > options.seconds:
                break
            time_problem(problem, lines, plans[problem])
        pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main()
