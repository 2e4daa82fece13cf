"""matmul: numpy.matmul for arrays of any library, with an epilogue, by plans that are kept."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional

from . import _arrays
from ._arrays import DlpackKind, JaxKind, Kind, NumpyKind, _kinds, kind_of, stream_of, type_of
from ._device import Device, cuda_device, device as open_device
from ._errors import ArgumentError, ArgumentTypeError
from ._layout import Layout, Unfit, View, extent, lay_out, row_major
from ._library import BYTES, call
from ._plan import Executor, Problem, options_of

PRECISIONS = (None, "emulated", "strict", "tf32")


def matmul(a: Any, b: Any, *, out: Any = None, alpha: float = 1, beta: float = 0, bias: Any = None,
           activation: Optional[str] = None, out_dtype: Any = None, precision: Optional[str] = None,
           stream: Any = None, device: Any = None) -> Any:
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
                 one. The call returns before the product is there (JAX: once it is).
    device       for host memory: a Device, number or id; None: number 0

    The first product of a kind makes a plan, which may compile for seconds; later ones find it, as long as the
    process lives (forget_plans). Threads may call at the same time, with an out of their own.
    Raises ArgumentError (a ValueError), ArgumentTypeError (a TypeError), UnsupportedError and others of Error.
    """
    kind = _kinds.get(a.__class__) or kind_of(a)
    if b.__class__ is not a.__class__ and kind_of(b) is not kind:
        _refuse_kinds(a, b, "b")
    look = kind.look
    at_a, key_a = look(a)
    at_b, key_b = look(b)
    at_out, key_out = (0, None) if out is None else look(out)
    at_bias, key_bias = (0, None) if bias is None else look(bias)
    key = (key_a, key_b, key_out, key_bias, activation, out_dtype, precision, device)
    entry = kind.entries.get(key)
    if entry is None:
        entry = _prepare(kind, a, b, out, bias, activation, out_dtype, precision, device)
        kind.entries[key] = entry
    if beta and out is None:
        raise ArgumentError(f"beta is {beta}, but there is no out to read; give out, or beta = 0", "beta")
    return entry(a, b, out, bias, at_a, at_b, at_out, at_bias, alpha, beta, stream)


def forget_plans() -> None:
    """Forgets what matmul has prepared. The memory of a plan itself (kilobytes) is kept until the process ends."""
    _arrays.forget()


def _refuse_kinds(a: Any, other: Any, name: str) -> None:
    raise ArgumentTypeError(f"{name} is of {type(other).__module__}.{type(other).__name__}, a of "
                            f"{type(a).__module__}.{type(a).__name__}; arrays of one library are multiplied", name)


# ---- checks ----------------------------------------------------------------------------------------------


def _check_kinds(kind: Kind, a: Any, others: dict[str, Any]) -> int:
    """The CUDA ordinal of all arrays, or -1."""
    place = kind.device_of(kind.look(a)[1])
    for name, array in others.items():
        if array is None:
            continue
        if kind_of(array) is not kind:
            _refuse_kinds(a, array, name)
        there = kind.device_of(kind.look(array)[1])
        if there != place:
            words = [f"CUDA device {x}" if x >= 0 else "the host" for x in (there, place)]
            raise ArgumentError(f"{name} is on {words[0]}, a on {words[1]}; they must be on one", name)
    return place


def _types(a: View, b: View, out: Optional[View], bias: Optional[View], out_dtype: Any,
           precision: Optional[str]) -> tuple[str, str]:
    """The problem's type, and C's."""
    if a.type != b.type:
        raise ArgumentTypeError(f"a is of {a.type}, b of {b.type}; they must be of one type", "b")
    if precision not in PRECISIONS:
        raise ArgumentError(f"precision is {precision!r}; it is emulated, strict or tf32", "precision")
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
                      out if kind not in ("f32", "f64", "i32", "tf32", "i8") else None, layout.bias, activation)
    return Executor(device, problem._struct(), device.profile,
                    options_of("strict" if precision == "strict" else None))


def _lists(layout: Layout) -> Any:
    """The offsets as the library takes them."""
    if layout.offsets is None:
        return None
    return tuple((ctypes.c_int64 * len(x))(*x) for x in layout.offsets)


# ---- on the device where the arrays are ------------------------------------------------------------------


def _prepare(kind: Kind, a: Any, b: Any, out: Any, bias: Any, activation: Optional[str], out_dtype: Any,
             precision: Optional[str], device: Any) -> Callable[..., Any]:
    """What serves all products with these signatures."""
    place = _check_kinds(kind, a, {"b": b, "out": out, "bias": bias})
    if isinstance(kind, JaxKind) and out is not None:
        raise ArgumentTypeError("out is an array of JAX, which does not change; leave out away", "out")
    if isinstance(kind, NumpyKind) and out is not None and not out.flags.writeable:
        raise ArgumentError("out is an array that may not be written", "out")
    views = (kind.view(a), kind.view(b), None if out is None else kind.view(out),
             None if bias is None else kind.view(bias))
    types = _types(*views, out_dtype, precision)
    if kind.host or place < 0:
        target = open_device(device)
        if isinstance(kind, DlpackKind):
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
    executor = _executor(target, layout, *types, activation, precision)
    run, swapped, lists = executor.run, layout.swapped, _lists(layout)
    needed, scratch = executor.workspace, kind.scratch
    waits = isinstance(kind, JaxKind)

    def serve(a: Any, b: Any, out: Any, bias: Any, at_a: int, at_b: int, at_out: int, at_bias: int, alpha: float,
              beta: float, stream: Any) -> Any:
        if out is None:
            out = make(a)
            at_out = address(out)
        held, workspace = None, 0
        if stream is None:
            stream = current(place)
            if needed:
                held, workspace = scratch(needed, a)
        elif stream.__class__ is not int:
            stream = stream_of(stream)
        if swapped:
            at_a, at_b = at_b, at_a
        if lists is None:
            run(at_a, at_b, at_out, at_bias, alpha, beta, stream, workspace)
        else:
            executor.run_batch(at_a, at_b, at_out, at_bias, alpha, beta, stream, lists, workspace)
        if waits:
            target.finish(stream)
        return out

    return serve


# ---- host memory, copied to a device and back ------------------------------------------------------------


def _through_numpy(kind: Kind, activation: Optional[str], out_dtype: Any, precision: Optional[str],
                   device: Device) -> Callable[..., Any]:
    """Arrays of JAX and others on the CPU share their memory with NumPy's."""
    import numpy

    def of_jax(x: Any) -> Any:
        return kind.jax.numpy.asarray(x) if isinstance(kind, JaxKind) else x

    def serve(a: Any, b: Any, out: Any, bias: Any, *rest: Any) -> Any:
        alpha, beta, _ = rest[4:]
        a, b, out, bias = (None if x is None else numpy.asarray(x) if isinstance(kind, JaxKind)
                           else numpy.from_dlpack(x) for x in (a, b, out, bias))
        return of_jax(matmul(a, b, out=out, alpha=alpha, beta=beta, bias=bias, activation=activation,
                             out_dtype=out_dtype, precision=precision, device=device))

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
    sizes = [0 if view is None else extent(view) * BYTES[view.type] for view in seen]
    sizes[2] = extent(seen[2] or View(shape, row_major(shape), code)) * BYTES[code]
    address = kind.address

    def write(name: str, size: int, array: Any, at: int) -> int:
        """The operand's handle in the device's memory, with the array's elements in it, if there is one."""
        slot = device._slot(name, size)
        if array is not None and size:
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
