"""Layouts of products, executed element by element in Python: run_layouts.py

Views of random shapes and strides are laid out; the layout's problem, done by its words alone, must write what
numpy.matmul would, and nothing else. No device and no NumPy is needed."""
import itertools
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import check, end  # noqa: E402

from mmtune._errors import ArgumentError  # noqa: E402
from mmtune._layout import (Layout, Unfit, View, check_apart, check_distinct, extent, lay_out,  # noqa: E402
                            row_major)


def at(view, index):
    return sum(i * step for i, step in zip(index, view.strides))


def places(shape):
    return itertools.product(*map(range, shape))


def shared(index, shape):
    """An index of the batch in an operand whose shape is broadcast to it."""
    return tuple(0 if size == 1 else i for i, size in zip(index[len(index) - len(shape):], shape))


def wanted(a, b, x, y, shape):
    """What numpy.matmul gives, by index of the product."""
    rows, columns = len(a.shape) > 1, len(b.shape) > 1
    product = {}
    for index in places(shape):
        batch = index[:len(index) - rows - columns]
        row = index[len(batch):len(batch) + 1] if rows else ()
        column = index[len(index) - 1:] if columns else ()
        of_a, of_b = shared(batch, a.shape[:-2]), shared(batch, b.shape[:-2])
        product[index] = sum(x[at(a, of_a + row + (p,))] * y[at(b, of_b + (p,) + column)] for p in range(a.shape[-1]))
    return product


def execute(layout: Layout, x, y, z, bias):
    """The problem of a layout by mmtune.h: writes z."""
    if layout.swapped:
        x, y = y, x
    it = layout
    lda, ldb, ldc = it.lda or (it.m if it.trans_a else it.k), it.ldb or (it.k if it.trans_b else it.n), it.ldc or it.n
    for base_a, base_b, base_c in zip(*(it.offsets or ([0], [0], [0]))):
        for e, i, j in places((it.batch, it.m, it.n)):
            a, b, c = base_a + e * it.stride_a, base_b + e * it.stride_b, base_c + e * it.stride_c + i * ldc + j
            total = sum(x[a + (p * lda + i if it.trans_a else i * lda + p)]
                        * y[b + (j * ldb + p if it.trans_b else p * ldb + j)] for p in range(it.k))
            check(c not in z, f"no element is written twice: {it}")
            z[c] = total + (bias[i] if it.bias == "m" else bias[j] if it.bias == "n" else 0)


def random_view(shape, rng):
    """Strides of an array whose dimensions were put in another order, with gaps."""
    strides, step = [0] * len(shape), 1
    order = list(range(len(shape)))
    if rng.random() < 0.6:
        rng.shuffle(order)
    for dimension in reversed(order):
        strides[dimension] = 0 if rng.random() < 0.04 else step
        step = step * max(shape[dimension], 1) + (rng.randrange(3) if rng.random() < 0.3 else 0)
    return View(tuple(shape), tuple(strides), "f32")


def random_case(rng):
    m, n, k = (rng.choice((1, 1, 2, 3, 4)) for _ in "mnk")
    batch = [rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 0, 1, 2, 3)))]
    of_a = [size if rng.random() < 0.7 else 1 for size in batch[rng.choice((0, 0, len(batch))):]]
    of_b = [size if rng.random() < 0.7 else 1 for size in batch[rng.choice((0, 0, len(batch))):]]
    a = of_a + [m, k] if rng.random() < 0.9 else [k]
    b = of_b + [k, n] if rng.random() < 0.9 else [k]
    return random_view(a, rng), random_view(b, rng)


def shape_of(a, b):
    return lay_out(View(a.shape, row_major(a.shape), "f32"), View(b.shape, row_major(b.shape), "f32")).shape


rng = random.Random(1)
done = refused = folded = listed = 0
for _ in range(4000):
    a, b = random_case(rng)
    shape = shape_of(a, b)
    out = random_view(shape, rng) if rng.random() < 0.5 else None
    bias = View(shape[-1:], (1,), "f32") if shape and rng.random() < 0.3 else None
    x, y = [rng.randrange(-9, 9) for _ in range(extent(a))], [rng.randrange(-9, 9) for _ in range(extent(b))]
    values = [rng.randrange(9) for _ in range(shape[-1] if shape else 1)]
    try:
        layout = lay_out(a, b, out, bias)
    except Unfit as unfit:
        refused += 1
        views = {"a": a, "b": b, "out": out}
        check(views[unfit.operand] is not None, f"{unfit.operand} is refused, which can be copied")
        continue
    done += 1
    folded += layout.batch == 1 and layout.offsets is None and len(shape) > 2
    listed += layout.offsets is not None
    view = out or View(shape, row_major(shape), "f32")
    z = {}
    execute(layout, x, y, z, values)
    want = {at(view, index): value + (values[index[-1]] if bias else 0)
            for index, value in wanted(a, b, x, y, shape).items()}
    check(z == want, f"{a} {b} {out} {bias}: {layout}")
check(done > 2500 and refused > 100 and folded > 50 and listed > 50,
      f"the cases are of all kinds: {done} done, {refused} refused, {folded} folded, {listed} by lists")


def fails(words, *views):
    try:
        lay_out(*views)
        check(False, f"refused: {words}")
    except ArgumentError as error:
        check(words in str(error), f"{words!r} is said: {error}")


def plain(*shape):
    return View(shape, row_major(shape), "f32")


fails("a is a scalar", plain(), plain(2, 2))
fails("has 3 columns", plain(2, 3), plain(2, 3))
fails("cannot be broadcast together", plain(2, 2, 2), plain(3, 2, 2))
fails("the product has (2, 4)", plain(2, 3), plain(3, 4), plain(2, 5))
fails("each a launch of its own", View((4096, 4096, 4096, 2, 2), (3, 1 << 40, 1 << 20, 2, 1), "f32"), plain(2, 2))
fails("takes (4,) or (2, 1)", plain(2, 3), plain(3, 4), None, plain(3))


def bytes_of(view, start):
    """The bytes that an f32 view covers."""
    return {start + 4 * at(view, index) + i for index in places(view.shape) for i in range(4)}


# ---- an out that shares memory with what is read: never missed, and not seen where rows lie side by side ----
met = missed = 0
for _ in range(1500):
    first, second = (random_view([rng.choice((1, 2, 3, 4)) for _ in range(rng.choice((1, 2, 3)))], rng) for _ in "ab")
    start = 4 * rng.randrange(-12, 30)
    shares = bool(bytes_of(first, 0) & bytes_of(second, start))
    try:
        check_apart((first, plain(0, 0), second, None), (4000, 0, 4000 + start, 0))
        refused = False
    except ArgumentError as error:
        refused = "out overlaps a" in str(error)
    check(refused or not shares, f"{first} and {second} {start} bytes on share memory")
    met, missed = met + shares, missed + (refused and not shares)
check(met > 400 and missed < 250, f"{met} share memory, {missed} are taken for such")
field = 8 * 4  # bytes from row to row of a matrix of 8 columns
for name, first, second, start in (("columns", View((6, 3), (8, 1), "f32"), View((6, 5), (8, 1), "f32"), 12),
                                   ("rows in turn", View((3, 8), (16, 1), "f32"), View((3, 8), (16, 1), "f32"), field)):
    check_apart((first, plain(0, 0), second, None), (4000, 0, 4000 + start, 0))
    check(True, f"{name} of one matrix are apart")
for view in (View((5, 3), (0, 1), "f32"), View((5, 3), (1, 1), "f32"), View((2, 2, 3), (3, 3, 1), "f32")):
    try:
        check_distinct(view)
        check(False, f"refused: {view}")
    except ArgumentError as error:
        check("some overlap" in str(error), str(error))
for view in (plain(2, 3), View((5, 3), (-3, 1), "f32"), View((3, 1, 4), (1, 0, 3), "f32"), plain(), plain(0, 3)):
    check_distinct(view)
    check(True, f"{view} has a place for each element")

check(lay_out(plain(6, 5, 7), plain(7, 3)).m == 30, "a batch that shares b is one product")
check(lay_out(plain(2, 3), plain(3, 4), View((2, 4), (1, 2), "f32")).swapped, "a transposed out swaps a and b")
end("python layouts")
