"""matmul: numpy.matmul for arrays of any library, with an epilogue, by plans that are kept."""
from __future__ import annotations

import ctypes
from collections.abc import Hashable
from typing import Any, Callable, Optional, TypeVar, Union, overload

from . import _arrays, _library, _plan
from ._arrays import ExportKind, JaxKind, Kind, NumpyKind, _kinds, kind_of, stream_of, type_of
from ._device import Device, cuda_device, device as open_device
from ._errors import ArgumentError, ArgumentTypeError, Error, as_error
from ._layout import Layout, Unfit, View, check_apart, check_distinct, extent, lay_out, row_major
from ._library import BYTES, call
from ._plan import Executor, Problem, check_number, new_call, options_of

PRECISIONS = (None, "emulated", "strict", "tf32")
ACTIVATIONS = (None, *_library.ACTIVATIONS)


Array = TypeVar("Array")
Out = TypeVar("Out")
Device_ = Union[None, int, str, Device]


# For checkers of types: an array of a's class, unless out or out_dtype say another.
@overload
def matmul(a: Array, b: Array, *, out: None = None, alpha: float = 1, beta: float = 0, bias: Any = None,
           activation: Optional[str] = None, out_dtype: None = None, precision: Optional[str] = None,
           stream: Any = None, device: Device_ = None) -> Array: ...
@overload
def matmul(a: Any, b: Any, *, out: Out, alpha: float = 1, beta: float = 0, bias: Any = None,
           activation: Optional[str] = None, out_dtype: Any = None, precision: Optional[str] = None,
           stream: Any = None, device: Device_ = None) -> Out: ...
@overload
def matmul(a: Any, b: Any, *, out: Any = None, alpha: float = 1, beta: float = 0, bias: Any = None,
           activation: Optional[str] = None, out_dtype: Any, precision: Optional[str] = None,
           stream: Any = None, device: Device_ = None) -> Any: ...
def matmul(a: Any, b: Any, *, out: Any = None, alpha: float = 1, beta: float = 0, bias: Any = None,
           activation: Optional[str] = None, out_dtype: Any = None, precision: Optional[str] = None,
           stream: Any = None, device: Device_ = None) -> Any:
    """activation(alpha a b + beta out + bias), with the shapes, batches and broadcasting of numpy.matmul.

    a, b         arrays of one library and of one type: f32, f64, f16, bf16, i8, i32, f8 (e4m3fn, e5m2). NumPy's
                 and others in host memory are copied to `device` and back; those on a CUDA device (PyTorch,
                 CuPy, JAX) are read where they are. Views are not copied: strides become leading dimensions,
                 transposes and batches.
    out          the array to write, of the product's shape; None: a new one. It overlaps neither a nor b. JAX's
                 do not change: None.
    alpha, beta  numbers; with beta other than 0, out is read first
    bias         of out's type: shape (n,), a value for each column, or (m, 1), one for each row
    activation   "relu", "gelu", "gelu_tanh" or "silu"; None
    out_dtype    of a new out: f32 for f16 and bf16; f32, f16 or bf16 for f8; None: a's own, i32 for i8, bf16
                 for f8
    precision    of f32: "emulated" (the default; tensor cores may do it, more exactly than FMAs), "strict"
                 (FMAs alone) or "tf32"
    stream       of the CUDA device: a stream of PyTorch or CuPy, or its address; None: the library's current
                 one. The call returns before the product is there (JAX, and others by DLPack: once it is).
    device       for host memory: a Device, number or id; None: number 0

    The first product of a kind makes a plan, which may compile for seconds; later ones find it, as long as the
    process lives (forget_plans). Threads may call at the same time, with an out of their own.
    Raises ArgumentError (a ValueError), ArgumentTypeError (a TypeError), UnsupportedError and others of Error.
    """
    try:
        kind = _kinds[type(a)]
    except (KeyError, TypeError):
        kind = None
    if kind is None:
        kind = kind_of(a, "a")
        if isinstance(kind, ExportKind):
            return _matmul_exports(kind, {"a": a, "b": b, "out": out, "bias": bias}, stream, alpha=alpha, beta=beta,
                                   activation=activation, out_dtype=out_dtype, precision=precision, device=device)
    try:
        if type(b) is not type(a):
            _check_kind(kind, a, b, "b")
        at_out = at_bias = 0
        key_out = key_bias = None
        if out is not None:
            if type(out) is not type(a):
                _check_kind(kind, a, out, "out")
            at_out, key_out = kind.look(out)
        elif beta:
            raise ArgumentError(f"beta is {beta}, but there is no out to read; give out, or beta = 0", "beta")
        if bias is not None:
            if type(bias) is not type(a):
                _check_kind(kind, a, bias, "bias")
            at_bias, key_bias = kind.look(bias)
        if kind.is_torch and not ((a.requires_grad or b.requires_grad) and kind.grad()):
            # As look does, in one frame and one tuple: a tenth of what a call costs.
            at_a, at_b = a.data_ptr(), b.data_ptr()
            key: Any = (a.shape, b.shape, a.is_contiguous() or a.stride(), b.is_contiguous() or b.stride(), a.dtype,
                        b.dtype, a.get_device(), b.get_device(), key_out, key_bias, activation, out_dtype, precision,
                        device)
        else:
            at_a, key_a = kind.look(a)
            at_b, key_b = kind.look(b)
            key = (key_a, key_b, key_out, key_bias, activation, out_dtype, precision, device)
        try:
            serve = kind.entries[key]
        except KeyError:
            serve = None
        if serve is None:
            serve = kind.entries[key] = _prepare(kind, a, b, out, bias, activation, out_dtype, precision, device)
        return serve(a, b, out, bias, at_a, at_b, at_out, at_bias, alpha, beta, stream)
    except Exception as error:
        # Not by a variable: it would hold its own traceback, whose frames hold what arrays lend.
        raise _explain(error, kind, a, b, out, bias, {"alpha": alpha, "beta": beta}, activation, out_dtype, device)


def _matmul_exports(kind: ExportKind, arrays: dict[str, Any], stream: Any, **options: Any) -> Any:
    """matmul of what the arrays lend, which is given back when no frame has it any more."""
    _check_kinds(kind, arrays)
    at = stream_of(stream) if stream is not None else 0
    lent = {name: None if array is None else kind.export(array, name, at or 1) for name, array in arrays.items()}
    product = matmul(**lent, stream=stream, **options)
    return product if arrays["out"] is None else arrays["out"]


def forget_plans() -> None:
    """Forgets what matmul has prepared. The memory of a plan itself (kilobytes) is kept until the process ends."""
    _arrays.forget()


# ---- checks ----------------------------------------------------------------------------------------------


def _check_kind(kind: Kind, a: Any, other: Any, name: str) -> None:
    if kind_of(other, name) is not kind:
        raise ArgumentTypeError(f"{name} is of {type(other).__module__}.{type(other).__name__}, a of "
                                f"{type(a).__module__}.{type(a).__name__}; arrays of one library are multiplied", name)


def _check_kinds(kind: Kind, arrays: dict[str, Any]) -> None:
    for name, array in arrays.items():
        if array is not None or name in "ab":
            _check_kind(kind, arrays["a"], array, name)


def _check_word(word: Any, words: tuple[Optional[str], ...], name: str) -> None:
    if word not in words:
        raise ArgumentError(f"{name} is {word!r}; it is one of {', '.join(filter(None, words))}", name)


_Views = tuple[View, View, Optional[View], Optional[View]]


def _views(kind: Kind, arrays: dict[str, Any]) -> _Views:
    """The views of a, b, out and bias, which are of one library."""
    _check_kinds(kind, arrays)
    a, b, out, bias = (None if array is None else kind.view(array, name) for name, array in arrays.items())
    return a, b, out, bias  # type: ignore[return-value]


def _explain(error: Exception, kind: Kind, a: Any, b: Any, out: Any, bias: Any, numbers: dict[str, Any],
             activation: Any, out_dtype: Any, device: Any) -> Error:
    """The error that says which argument is wrong; where none is, what failed says so itself."""
    try:
        _views(kind, {"a": a, "b": b, "out": out, "bias": bias})
        for name, number in numbers.items():
            check_number(number, name)
        _check_word(activation, ACTIVATIONS, "activation")
        if out_dtype is not None:
            type_of(out_dtype, "out_dtype")
        if not isinstance(device, Hashable):
            raise ArgumentTypeError(f"device is {device!r}; it is a Device, a number or an id", "device")
    except Error as better:
        better.__cause__ = error.__cause__
        return better
    except Exception:
        pass
    return as_error(error)


def _check_place(kind: Kind, arrays: dict[str, Any]) -> int:
    """The CUDA ordinal of all arrays, or -1."""
    place = kind.device_of(kind.look(arrays["a"])[1])
    for name, array in arrays.items():
        there = place if array is None else kind.device_of(kind.look(array)[1])
        if there != place:
            words = [f"CUDA device {x}" if x >= 0 else "the host" for x in (there, place)]
            raise ArgumentError(f"{name} is on {words[0]}, a on {words[1]}; they must be on one", name)
    return place


def _types(views: _Views, out_dtype: Any, precision: Optional[str]) -> tuple[str, str]:
    """The problem's type, and C's."""
    a, b, out, bias = views
    if a.type != b.type:
        raise ArgumentTypeError(f"a is of {a.type}, b of {b.type}; they must be of one type", "b")
    _check_word(precision, PRECISIONS, "precision")
    code = None if out_dtype is None else type_of(out_dtype, "out_dtype")
    if out is not None and code not in (None, out.type):
        raise ArgumentTypeError(f"out is of {out.type}, out_dtype says {code}; leave out_dtype away", "out_dtype")
    code = out.type if out is not None else code
    kind = "tf32" if precision == "tf32" and a.type == "f32" else a.type
    own = {"tf32": "f32", "i8": "i32", "f8e4m3": "bf16", "f8e5m2": "bf16"}.get(kind, kind)
    allowed = {"bf16": ("bf16", "f32"), "f16": ("f16", "f32"), "f8e4m3": ("bf16", "f16", "f32"),
               "f8e5m2": ("bf16", "f16", "f32")}.get(kind, (own,))
    if code not in (None, *allowed):
        raise ArgumentTypeError(f"out is of {code}; a product of {kind} gives {' or '.join(allowed)}", "out")
    if bias is not None and bias.type != (code or own):
        raise ArgumentTypeError(f"bias is of {bias.type}; it must be of out's type, {code or own}", "bias")
    return kind, code or own


def _executor(device: Device, layout: Layout, kind: str, out: str, activation: Optional[str],
              precision: Optional[str]) -> Executor:
    problem = Problem(layout.m, layout.n, layout.k, kind, layout.trans_a, layout.trans_b, layout.lda, layout.ldb,
                      layout.ldc, layout.batch, layout.stride_a, layout.stride_b, layout.stride_c,
                      out, layout.bias, activation)
    return Executor(device, problem._struct(), device.profile,
                    options_of("strict" if precision == "strict" else None))


def _sizes(views: Any) -> tuple[int, ...]:
    """Bytes from the first to behind the last element of each."""
    return tuple(0 if view is None else extent(view) * BYTES[view.type] for view in views)


def _lists(layout: Layout) -> Any:
    """The offsets as the library takes them."""
    if layout.offsets is None:
        return None
    return tuple((ctypes.c_int64 * len(x))(*x) for x in layout.offsets)


# ---- on the device where the arrays are ------------------------------------------------------------------


def _prepare(kind: Kind, a: Any, b: Any, out: Any, bias: Any, activation: Optional[str], out_dtype: Any,
             precision: Optional[str], device: Any) -> Callable[..., Any]:
    """What serves all products with these signatures."""
    arrays = {"a": a, "b": b, "out": out, "bias": bias}
    views = _views(kind, arrays)
    place = _check_place(kind, arrays)
    if isinstance(kind, NumpyKind) and out is not None and not out.flags.writeable:
        raise ArgumentError("out is an array that may not be written", "out")
    if views[2] is not None:
        check_distinct(views[2])
    _check_word(activation, ACTIVATIONS, "activation")
    types = _types(views, out_dtype, precision)
    if kind.host or place < 0:
        target = open_device(device)
        if kind.exports:
            return _through_numpy(kind, activation, out_dtype, precision, target)
        return _prepare_host(kind, views, types, activation, precision, target)
    if device is not None and open_device(device) is not cuda_device(place):
        raise ArgumentError(f"the arrays are on CUDA device {place}, and are multiplied there; leave device away",
                            "device")
    return _prepare_device(kind, views, types, activation, precision, place, getattr(a, "dtype", None))


def _prepare_device(kind: Kind, views: Any, types: tuple[str, str], activation: Optional[str],
                    precision: Optional[str], place: int, dtype: Any) -> Callable[..., Any]:
    try:
        layout = lay_out(*views)
    except Unfit as unfit:
        raise ArgumentError(f"{unfit}; copy it first, as by {unfit.operand}.contiguous() or "
                            f"ascontiguousarray({unfit.operand})", unfit.operand) from None
    shape, code, current = layout.shape, types[1], kind.stream
    make = kind.maker(shape, code, dtype)
    address = kind.address
    target = cuda_device(place)
    if 0 in shape:
        return lambda a, b, out, *_: make(a) if out is None else out
    views = (*views[:2], views[2] or View(shape, row_major(shape), code), views[3])
    size_a, size_b, size_out, size_bias = _sizes(views)
    executor = _executor(target, layout, *types, activation, precision)
    run, swapped, lists = executor.run, layout.swapped, _lists(layout)
    needed, scratch = executor.workspace, kind.scratch
    waits = kind.waits
    if not (swapped or lists or needed or waits):
        return _serve_plain(executor, views, make, address, current, place)

    def serve(a: Any, b: Any, out: Any, bias: Any, at_a: int, at_b: int, at_out: int, at_bias: int, alpha: float,
              beta: float, stream: Any) -> Any:
        if out is None:
            out = make(a)
            at_out = address(out)
        elif (-size_out < at_out - at_a < size_a or -size_out < at_out - at_b < size_b
              or -size_out < at_out - at_bias < size_bias):
            check_apart(views, (at_a, at_b, at_out, at_bias))
        held, workspace = None, 0
        if stream is None:
            stream = current(place)
            if needed:
                held, workspace = scratch(needed, a)
        else:
            stream = stream_of(stream)
        if swapped:
            at_a, at_b = at_b, at_a
        try:
            if lists is None:
                run(at_a, at_b, at_out, at_bias, alpha, beta, stream, workspace)
            else:
                executor.run_batch(at_a, at_b, at_out, at_bias, alpha, beta, stream, lists, workspace)
        finally:
            if waits:
                target.finish(stream)
        return out

    return serve


def _serve_plain(executor: Executor, views: Any, make: Any, address: Any, current: Any, place: int) -> Callable[..., Any]:
    """The usual case, one execution without a workspace, in one frame: what Executor.run does is spelled out, as a call
    more is a tenth of what matmul costs."""
    size_a, size_b, size_out, size_bias = _sizes(views)
    execute, pack, free = _plan.EXECUTE, _plan.PACK, executor.free

    def serve(a: Any, b: Any, out: Any, bias: Any, at_a: int, at_b: int, at_out: int, at_bias: int, alpha: float,
              beta: float, stream: Any) -> Any:
        if out is None:
            out = make(a)
            at_out = address(out)
        elif (-size_out < at_out - at_a < size_a or -size_out < at_out - at_b < size_b
              or -size_out < at_out - at_bias < size_bias):
            check_apart(views, (at_a, at_b, at_out, at_bias))
        try:
            args, at, err, err_at = held = free.pop()
        except IndexError:
            args, at, err, err_at = held = new_call()
        pack(args, 8, at_a, at_b, at_out, alpha, beta, 0, at_bias)
        if execute(executor.handle, at, current(place) if stream is None else stream_of(stream), err_at):
            executor.fail(err)
        free.append(held)
        return out

    return serve


# ---- host memory, copied to a device and back ------------------------------------------------------------


def _through_numpy(kind: Kind, activation: Optional[str], out_dtype: Any, precision: Optional[str],
                   device: Device) -> Callable[..., Any]:
    """Arrays of JAX and others on the CPU share their memory with NumPy's."""

    def serve(a: Any, b: Any, out: Any, bias: Any, at_a: int, at_b: int, at_out: int, at_bias: int, alpha: float,
              beta: float, stream: Any) -> Any:
        x, y, z, vector = (None if it is None else it.numpy() for it in (a, b, out, bias))
        product = matmul(x, y, out=z, alpha=alpha, beta=beta, bias=vector, activation=activation, out_dtype=out_dtype,
                         precision=precision, stream=stream, device=device)
        return kind.jax.numpy.asarray(product) if isinstance(kind, JaxKind) else product

    return serve


def _fits(view: Optional[View]) -> bool:
    """Whether the memory from the first to the last element is copied rather than the elements: where it is at
    most twice as long, and no stride is negative."""
    if view is None:
        return True
    size = 1
    for length in view.shape:
        size *= length
    return all(step >= 0 for step in view.strides) and extent(view) <= 2 * size


def _without_gaps(view: View) -> View:
    return View(view.shape, row_major(view.shape), view.type)


def _lay_out_host(views: Any) -> tuple[Layout, list[Any], set[str]]:
    """The layout, the views that it is of, and the operands that have to be copied for it on the host. out is
    written as a whole, so that it has no gaps."""
    names = ("a", "b", "out", "bias")
    copied = {name for name, view in zip(names, views) if not _fits(view)}
    if views[2] is not None and extent(views[2]) != extent(_without_gaps(views[2])):
        copied.add("out")
    while True:
        seen = [_without_gaps(view) if name in copied else view for name, view in zip(names, views)]
        try:
            return lay_out(*seen), seen, copied
        except Unfit as unfit:
            if unfit.operand in copied:
                raise ArgumentError(str(unfit), unfit.operand) from None
            copied.add(unfit.operand)


def _prepare_host(kind: Kind, views: Any, types: tuple[str, str], activation: Optional[str],
                  precision: Optional[str], device: Device) -> Callable[..., Any]:
    layout, seen, copied = _lay_out_host(views)
    shape, code = layout.shape, types[1]
    if 0 in shape:
        return lambda a, b, out, *_: kind.empty(shape, code, a) if out is None else out
    executor = _executor(device, layout, *types, activation, precision)
    lists = _lists(layout) or tuple((ctypes.c_int64 * 1)(0) for _ in range(3))
    sizes = _sizes((*seen[:2], seen[2] or View(shape, row_major(shape), code), seen[3]))
    address = kind.address

    def write(name: str, size: int, array: Any, at: int) -> int:
        """The operand's handle in the device's memory, with the array's elements in it, if there is one."""
        slot = device._slot(name, size)
        if array is not None and size:
            kind.view(array, name)  # what a signature does not tell apart, as a meta tensor
            if name in copied:
                array = kind.contiguous(array)
                at = address(array)
            call("mmt_buffer_write", device.handle, slot.operand, at, size)
        return int(slot.operand.handle)

    def serve(a: Any, b: Any, out: Any, bias: Any, at_a: int, at_b: int, at_out: int, at_bias: int, alpha: float,
              beta: float, stream: Any) -> Any:
        if stream not in (None, 0):
            raise ArgumentError("arrays in host memory are multiplied on the device's own queue; leave stream away",
                                "stream")
        product = out
        if out is None or "out" in copied:
            product = kind.empty(shape, code, a)
            at_out = address(product)
        with device._lock:
            left, right = write("a", sizes[0], a, at_a), write("b", sizes[1], b, at_b)
            if layout.swapped:
                left, right = right, left
            place = write("out", sizes[2], out if beta else None, at_out if product is out else 0)
            vector = write("bias", sizes[3], bias, at_bias) if bias is not None else 0
            executor.run_batch(left, right, place, vector, alpha, beta, 0, lists)
            call("mmt_buffer_read", device.handle, at_out, device._slots["out"].operand, sizes[2])
        if product is not out and out is not None:
            kind.assign(out, product)
            product = out
        return product

    return serve
