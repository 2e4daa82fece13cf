"""The package of Python with NumPy on the first OpenCL CPU device: run_numpy.py LIBDIR

Products as numpy.matmul has them, epilogues, types, what is refused; plans on device memory, from several
threads; tuning and profiles; and a prefix that was moved, LIBDIR in it."""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import check, end, failures, make_home, need_cpu_device, skip  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
home, environment = make_home()
cache = os.environ["XDG_CACHE_HOME"]
os.environ.update(environment, XDG_CACHE_HOME=cache)
DEVICE = need_cpu_device(os.environ["MMTUNE_PROGRAM"])
if shutil.which("ld") is None:
    skip("PoCL needs ld, of binutils")

import numpy as np  # noqa: E402

from lenders import FLAGS, Lender, OldLender, liar, unraised  # noqa: E402

import mmtune  # noqa: E402

rng = np.random.default_rng(1)
ORDINARY = mmtune.device(DEVICE)


def made(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def near(got, want, what, tolerance=1e-4):
    good = got.shape == want.shape and np.allclose(got.astype(float), want, rtol=tolerance, atol=tolerance)
    check(good, f"{what}: {got}, should be {want}")


def product(a, b, tolerance=1e-4, **options):
    """Beside numpy.matmul in double precision."""
    got = mmtune.matmul(a, b, device=DEVICE, **options)
    near(got, np.matmul(a.astype(float), b.astype(float)), f"{a.shape} {a.strides} {b.shape} {b.strides} {options}",
         tolerance)
    return got


def test_shapes():
    for a, b in (((7,), (7,)), ((7,), (7, 3)), ((5, 7), (7,)), ((4, 5, 7), (7,)), ((7,), (4, 7, 3)), ((5, 7), (7, 3)),
                 ((4, 5, 7), (7, 3)), ((2, 1, 5, 7), (3, 7, 3)), ((5, 7), (3, 7, 3)), ((4, 1, 7), (7, 3)),
                 ((0, 7), (7, 3)), ((5, 0), (0, 3)), ((0, 5, 7), (7, 3))):
        product(made(*a), made(*b))


def test_views():
    square = made(5, 7), made(7, 3)
    for a, b in ((made(7, 5).T, made(3, 7).T), (made(10, 14)[::2, ::2], square[1]), (made(5, 30)[:, 3:10], square[1]),
                 (square[0][::-1], square[1][:, ::-1]), (np.broadcast_to(made(7), (5, 7)), square[1]),
                 (np.lib.stride_tricks.sliding_window_view(made(11), 7), square[1]),
                 (made(7, 2, 5).transpose(1, 2, 0), made(2, 7, 3)), (made(5, 2, 7).swapaxes(0, 1), square[1]),
                 (np.lib.stride_tricks.as_strided(np.ones(99, np.float32), (3, 5, 7), (2, 28, 4)), square[1])):
        product(a, b)


def test_out():
    a, b = made(5, 7), made(7, 3)
    field = np.zeros((9, 9), np.float32)
    for out in (np.zeros((5, 3), np.float32), np.zeros((3, 5), np.float32).T, np.zeros((5, 6), np.float32)[:, ::2],
                field[2:7, 1:4]):
        check(product(a, b, out=out) is out, "out is returned")
        before = out.copy()
        mmtune.matmul(a, b, out=out, alpha=2, beta=-0.5, device=DEVICE)
        near(out, 2 * (a @ b) - 0.5 * before, "alpha and beta")
        for bias in (made(3), made(5, 1)):
            got = mmtune.matmul(a, b, out=out, bias=bias, activation="relu", device=DEVICE)
            near(got, np.maximum(a @ b + bias, 0), f"a bias of {bias.shape} and relu")
    check(np.count_nonzero(field) <= 15 and not field[:2].any() and not field[:, 4:].any(), "nothing else is written")


def test_types():
    a, b = made(5, 7), made(7, 3)
    product(a.astype(np.float64), b.astype(np.float64), 1e-12)
    product(a.astype(np.float16), b.astype(np.float16), 5e-3)
    check(product(a.astype(np.float16), b.astype(np.float16), out_dtype=np.float32).dtype == np.float32, "f16 to f32")
    whole = rng.integers(-9, 9, (5, 7))
    check(product(whole.astype(np.int8), whole.T.astype(np.int8)).dtype == np.int32, "i8 gives i32")
    product(whole.astype(np.int32), whole.T.astype(np.int32))
    for precision, tolerance in (("strict", 1e-5), ("tf32", 1e-2)):
        product(a, b, tolerance, precision=precision)


def refused(kind, words, *arguments, **options):
    raises(kind, words, lambda: mmtune.matmul(*arguments, device=DEVICE, **options))


def raises(kind, words, call):
    try:
        call()
        check(False, f"refused: {words}")
    except mmtune.Error as error:
        check(isinstance(error, kind) and words in str(error), f"{words!r} is said: {type(error).__name__} {error}")


def test_refusals():
    a, b = made(5, 7), made(7, 3)
    refused(ValueError, "a of the shape (5, 7) has 7 columns", a, a)
    refused(TypeError, "a is of f32, b of f64", a, b.astype(np.float64))
    refused(TypeError, "a has elements of complex64", a.astype(np.complex64), b.astype(np.complex64))
    refused(TypeError, "b has elements of object", a, b.astype(object))
    refused(TypeError, "in this machine's byte order", a, b.astype(b.dtype.newbyteorder()))
    for name in ("a", "b", "out", "bias"):
        refused(TypeError, f"{name} is of the type list", **{"a": a, "b": b, name: [[1]]})
    refused(TypeError, "a has a mask", np.ma.masked_array(a), b)
    refused(ValueError, "a is a scalar", np.ones((), np.float32), b)
    for name, value in (("alpha", "2"), ("alpha", 2j), ("alpha", np.ones(2)), ("beta", "x"), ("beta", np.ones(2))):
        refused(TypeError, f"{name} is {value!r}; it is a real number", a, b, **{"out": np.zeros((5, 3), np.float32), name: value})
    refused(TypeError, "out_dtype is [1]", a, b, out_dtype=[1])
    refused(ValueError, "activation is ['relu']", a, b, activation=["relu"])
    refused(ValueError, "activation is 'tanh'", a, b[:, :0], activation="tanh")
    for strides in ((0, 4), (4, 4)):
        out = np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (5, 3), strides)
        refused(ValueError, "some overlap", a, b, out=out)
    refused(ValueError, "takes (3,) or (5, 1)", a, b, bias=made(4))
    refused(ValueError, "there is no out to read", a, b, beta=1)
    refused(ValueError, "out has the shape (5, 4)", a, b, out=np.zeros((5, 4), np.float32))
    refused(TypeError, "gives f32", a, b, out_dtype="f64")
    refused(ValueError, "activation is 'tanh'", a, b, activation="tanh")
    refused(ValueError, "leave stream away", a, b, stream=7)
    refused(MemoryError, "Unable to allocate", np.broadcast_to(a[0, 0], (1 << 20, 1 << 15, 1)),
            np.broadcast_to(a[0, 0], (1 << 20, 1, 1 << 15)))
    fixed = np.zeros((5, 3), np.float32)
    fixed.flags.writeable = False
    refused(ValueError, "may not be written", a, b, out=fixed)
    try:
        mmtune.device("cuda:999")
        check(False, "there are no 1000 cards")
    except mmtune.Error as error:
        check(str(error), "a device that is not there is refused in words")


def test_numbers_and_overlaps():
    """What is right though it looks odd: NumPy's numbers, an out that is an input, arrays that may not be written."""
    a, b = made(5, 7), made(7, 3)
    for alpha in (np.float32(2), np.array(2.0), np.int64(2), True + 1):
        near(mmtune.matmul(a, b, alpha=alpha, device=DEVICE), 2 * (a @ b), f"alpha is {alpha!r}")
    square = made(5, 5)
    want = square @ square
    near(mmtune.matmul(square, square, out=square, device=DEVICE), want, "out is both inputs, in host memory")
    record = np.zeros((5, 3), [("x", "f4"), ("y", "i1")])
    near(mmtune.matmul(a, b, out=record["x"], device=DEVICE), a @ b, "out is a record's member")
    a.flags.writeable = False
    product(a, b)


class Metres(np.ndarray):
    def __array_ufunc__(self, *arguments, **options):
        return NotImplemented


class Liar(np.ndarray):
    """Says that it has more elements than it has."""
    shape = property(lambda self: (5000, 7000))


class Disguised:
    """Says that it is NumPy's, and that its elements are at an address of its own."""
    __class__ = np.ndarray
    shape, strides, dtype, itemsize, flags = (5, 7), (28, 4), np.dtype("f4"), 4, np.zeros(1).flags
    __array_interface__ = {"data": (4096, False)}


class Named(np.ndarray):
    """What it adds is no meaning."""
    name = "a name"


def test_classes():
    """Subclasses keep what they mean, or are refused, also where there is a plan for arrays of their shapes."""
    plain = {"a": made(5, 7), "b": made(7, 3), "out": np.zeros((5, 3), np.float32), "bias": made(5, 1)}
    mmtune.matmul(**plain, device=DEVICE)
    before = plain["out"].copy()
    for name, x in plain.items():
        for other, words in ((np.ma.masked_array(x, x > 0), "has a mask"), (np.asmatrix(x), "matrix, which has __"),
                             (x.view(Metres), "Metres, which has __array_ufunc__"),
                             (x.view(Liar), "Liar, which has shape"), (Disguised(), "Disguised")):
            refused(TypeError, words, **{**plain, name: other})
        mmtune.matmul(**{**plain, name: x.view(Named)}, device=DEVICE)
    near(plain["out"], before, "a refused out stays as it is")
    file = np.memmap(os.path.join(home, "elements"), np.float32, "w+", shape=(7, 3))
    file[...] = plain["b"]
    product(plain["a"], file)


class HostLender(Lender):
    """Lends NumPy's memory, and spoils it when it is given back, where it is `spoiled`."""

    def __init__(self, x, spoiled=False, **options):
        super().__init__(x.shape, x.ctypes.data, (1, 0), [step // x.itemsize for step in x.strides], **options)
        self.x, self.spoiled = x, spoiled

    def end(self):
        super().end()
        if self.spoiled:
            self.x[...] = np.nan


class OldHostLender(HostLender):
    keywords = OldLender.keywords


class WithUnits(HostLender):
    __array_ufunc__ = Metres.__array_ufunc__


class Apart(HostLender):
    __array_ufunc__ = None


def test_lenders():
    """Arrays of other libraries in host memory, by DLPack."""
    for kind in (HostLender, OldHostLender):
        for x, y in ((made(5, 7), made(7, 3)), (made(5, 7)[::-1, ::-1], made(7, 3)[::-1]),
                     (made(10, 14)[::2, ::2], made(7, 3))):
            lenders, want = [kind(x, spoiled=True), kind(y, spoiled=True)], x @ y
            near(mmtune.matmul(*lenders, device=DEVICE), want, f"arrays of {kind.__name__}")
            check(all(lender.made == 1 and lender.deleted == 1 for lender in lenders), "asked once, and given back")
        a, b, out = made(5, 7), made(7, 3), np.zeros((3, 5), np.float32).T
        lender = kind(out)
        near(mmtune.matmul(kind(a, flags=FLAGS["read only"]), kind(b), out=lender, bias=kind(b[0]), device=DEVICE).x,
             a @ b + b[0], f"out of {kind.__name__} is written")
        mmtune.matmul(kind(a), kind(b), out=lender, beta=-1, device=DEVICE)
        near(out, np.broadcast_to(-b[0], (5, 3)), "and read", 1e-3)
    before = out.copy()
    for flag in FLAGS.values():
        refused(ValueError, "out lends", HostLender(a), HostLender(b), out=HostLender(out, flags=flag))
    check(np.array_equal(out, before) and not unraised, f"what is refused stays as it is: {unraised}")
    refused(TypeError, "b is a WithUnits, which has __array_ufunc__", HostLender(a), WithUnits(b))
    near(mmtune.matmul(HostLender(a), Apart(b), device=DEVICE), a @ b, "a class that no ufunc takes")


def test_lies():
    """Lies about host memory are refused, or come true inside of what is there: none of them leads out of 1 MiB but far
    away."""
    memory, chance = np.zeros(1 << 20, np.uint8), random.Random(2)
    places = {"a": ((5, 7), 400), "b": ((7, 3), 500), "out": ((5, 3), 600), "bias": ((3,), 700)}
    refusals = 0
    for _ in range(400):
        lied = chance.choice(list(places))
        at = {name: (shape, memory.ctypes.data + (k << 10)) for name, (shape, k) in places.items()}
        arrays = {name: Lender(*place, (1, 0)) for name, place in at.items()}
        lender = arrays[lied] = liar(chance, *at[lied], (1, 0))
        try:
            mmtune.matmul(**arrays, device=DEVICE)
        except mmtune.Error:
            refusals += 1
        check(lender.named or not lender.living, f"{lied} with {lender.numbers} that says {lender.said} is given back")
    check(200 < refusals < 390, f"{refusals} are refused")


def test_words():
    """Errors of plans, buffers and tune name the argument and its value."""
    plan, buffer = mmtune.Plan(4, 4, 4, device=ORDINARY), ORDINARY.buffer(64)
    held = [buffer] * 3
    for kind, words, call in (
            (TypeError, "m is 4.0", lambda: mmtune.Plan(4.0, 4, 4)),
            (ValueError, f"k is {1 << 70}", lambda: mmtune.Plan(4, 4, 1 << 70)),
            (ValueError, "trans_a is 'n'", lambda: mmtune.Plan(4, 4, 4, trans_a="n")),
            (TypeError, "profile is 'x'", lambda: mmtune.Plan(4, 4, 4, profile="x", device=ORDINARY)),
            (ValueError, "max_workspace is -1", lambda: mmtune.Plan(4, 4, 4, max_workspace=-1, device=ORDINARY)),
            (ValueError, "a product of f32 gives f32", lambda: mmtune.Plan(4, 4, 4, out="f64", device=ORDINARY)),
            (ValueError, "seconds is -1", lambda: mmtune.Plan(4, 4, 4, seconds=-1, device=ORDINARY)),
            (TypeError, "size is 1.5", lambda: ORDINARY.buffer(1.5)),
            (ValueError, "size is 0", lambda: ORDINARY.buffer(0)),
            (TypeError, "stream is 'x'", lambda: ORDINARY.finish("x")),
            (TypeError, "list has no memory", lambda: buffer.write([1])),
            (TypeError, "references of this process", lambda: buffer.write(np.ones(2, object))),
            (TypeError, "may not be written", lambda: buffer.read(b"x" * 64)),
            (ValueError, "a is -1", lambda: plan.execute(-1, buffer, buffer)),
            (TypeError, "b is an array in host memory", lambda: plan.execute(buffer, made(4, 4), buffer)),
            (TypeError, "alpha is 'x'", lambda: plan.execute(*held, alpha="x")),
            (ValueError, "a shape is 64", lambda: mmtune.tune((64, 64, 64))),
            (ValueError, "a shape is (4.5,", lambda: mmtune.tune([(4.5,)])),
            (TypeError, "budget is 5", lambda: mmtune.tune("4x4x4", budget=5))):
        raises(kind, words, call)
    first = next(d.id for d in mmtune.devices() if d.id.startswith("opencl:"))
    check(mmtune.device("opencl:0") is mmtune.device(first), "a device of two names is one object")
    plan.close()
    raises(ValueError, "the plan was closed", lambda: plan.execute(*held))


def test_fork():
    """A child has sentences for what it must not touch, and does not hang."""
    a = made(4, 4)
    plan, buffer = mmtune.Plan(4, 4, 4, device=ORDINARY), ORDINARY.buffer(64)
    mmtune.matmul(a, a, device=ORDINARY)
    failed, child = len(failures), os.fork()
    if not child:
        for words, call in (("spawn", lambda: mmtune.matmul(a, a, device=ORDINARY)), ("spawn", mmtune.devices),
                            ("before this process was forked", lambda: plan.execute(buffer, buffer, buffer)),
                            ("spawn", lambda: buffer.write(a)), ("spawn", lambda: mmtune.device(DEVICE))):
            raises(mmtune.Error, words, call)
        os._exit(len(failures) > failed)
    check(os.waitpid(child, 0)[1] == 0, "a child of fork is told what it must not do")
    product(a, a)


def test_plans():
    a, b = made(64, 48), made(48, 32)
    on_device = [ORDINARY.buffer(x.nbytes).write(x) for x in (a, b)]
    plan = mmtune.Plan(64, 32, 48, device=ORDINARY)
    check("gemm f32 nn 64x32x48" in plan.describe() and plan.workspace >= 0, plan.describe())
    wrong = []

    def run():
        out, got = ORDINARY.buffer(64 * 32 * 4), np.empty((64, 32), np.float32)
        for alpha in range(1, 9):
            out.read(got) if plan.execute(*on_device, out, alpha=alpha) is out else None
            if not np.allclose(got, alpha * (a @ b), rtol=1e-3, atol=1e-3):
                wrong.append(alpha)

    threads = [threading.Thread(target=run) for _ in range(3)] if not plan.workspace else []
    run()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not wrong, f"a plan gives the product to all threads: {wrong}")
    try:
        plan.execute(*on_device, ORDINARY.buffer(16))
        check(False, "a short buffer is refused")
    except mmtune.ArgumentError as error:
        check(error.argument == "C" and "its buffer has 16" in str(error), f"a short buffer: {error.argument}: {error}")
    plan.close()


def test_profiles():
    path = pathlib.Path(home, "mine.json")
    profile = mmtune.tune(np.array([[96, 80, 64]]), device=DEVICE, budget="4c", output=path, quiet=True,
                          options=["--limit", "60s"])
    rows = profile.table()
    check([(row["m"], row["n"], row["k"], row["type"]) for row in rows] == [(96, 80, 64, "f32")], f"{rows}")
    check(rows[0]["median_us"] > 0 and 0 < rows[0]["gflops"] and rows[0]["layer"] == str(path), f"times: {rows}")
    check(all(value is not None for name, value in rows[0].items() if name != "out"), f"each column is there: {rows}")
    check(profile.layers == [str(path)] and not profile.warnings and profile.device["backend"] == "opencl", "a file")
    plan = mmtune.Plan(96, 80, 64, device=DEVICE, profile=profile)
    check("tuned for this very problem" in plan.describe(), plan.describe())
    try:
        mmtune.tune([(8, 8, 8)], device=DEVICE, budget="4", quiet=True)
        check(False, "a budget without a unit is refused")
    except mmtune.Error as error:
        check("--budget is '4'" in str(error), f"the program's sentence: {error}")
    return path


def test_moved(profile):
    """The library finds what was installed with it, below wherever its prefix is now."""
    prefix = pathlib.Path(home, "moved")
    library, profiles = prefix / sys.argv[1], prefix / "share/mmtune/profiles"
    library.mkdir(parents=True)
    profiles.mkdir(parents=True)
    shutil.copy(os.environ["MMTUNE_LIBRARY"], library / "libmmtune.so")
    device = json.loads(profile.read_text(encoding="utf-8"))["device"]
    stem = "".join(c if c.isalnum() else "-" for c in f"{device['backend']}-{device['name']}".lower())
    while "--" in stem:
        stem = stem.replace("--", "-")
    shutil.copy(profile, profiles / (stem.strip("-") + ".json"))
    ask = "import mmtune, sys; print(mmtune.Profile.find(sys.argv[1]).layers)"
    there = dict(os.environ, MMTUNE_LIBRARY=str(library / "libmmtune.so"))
    done = subprocess.run([sys.executable, "-c", ask, DEVICE], capture_output=True, text=True, env=there)
    check(str(profiles) in done.stdout, f"a moved prefix: {done.stdout}{done.stderr}{os.listdir(profiles)}")


def test_pages():
    """The first lines of Python in README and in the manual run as they stand there."""
    for page in ("README.md", "docs/manual/python.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        names = {}
        exec(re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)[1], names)  # pylint: disable=exec-used
        check(np.isfinite(names["c"]).all(), f"{page} gives a product")


test_shapes()
test_views()
test_out()
test_types()
test_refusals()
test_numbers_and_overlaps()
test_classes()
test_lenders()
test_lies()
test_words()
test_plans()
test_fork()
test_moved(test_profiles())
test_pages()
end("python", home)
