"""Arrays of other libraries: where their elements are, of which shape, strides and type, on which device.

Each library is a Kind. What a product needs to know of an array in order to be planned is its signature, a
tuple that can be a key: one attribute more costs each call some 50 ns.
"""
from __future__ import annotations

import ctypes
import errno
import functools
import math
import mmap
import operator
import sys
from typing import Any, Callable, Optional

from ._dlpack import Lent, borrow
from ._errors import ArgumentError, ArgumentTypeError, Error, as_error
from ._layout import View, row_major
from ._library import BYTES

NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int32": "i32",
         "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
DTYPES = {code: name for name, code in NAMES.items()}


ALL_NAMES = ", ".join(NAMES)


def _code_of(dtype: Any) -> Optional[str]:
    text = str(getattr(dtype, "__name__", None) or dtype).rsplit(".", 1)[-1]
    return NAMES.get(text) or (text if text in DTYPES else None)


def type_of(dtype: Any, what: str = "dtype") -> str:
    """mmtune's name of an element's type, for that of any library, or for its name."""
    code = _code_of(dtype)
    if code is None:
        raise ArgumentTypeError(f"{what} is {dtype!r}; it is one of {ALL_NAMES}, of any library or by name", what)
    return code


def _type_of_elements(dtype: Any, name: str) -> str:
    """The same for an array, of which errors speak by its name."""
    code = _code_of(dtype)
    if code is None:
        swapped = getattr(dtype, "isnative", True) is False
        raise ArgumentTypeError(f"{name} has elements of {dtype}; mmtune multiplies {ALL_NAMES}"
                                + (", in this machine's byte order: .astype(dtype.newbyteorder('='))" if swapped
                                   else ""), name)
    return code


class Kind:
    """How one library's arrays are read and made."""
    host = False
    """Whether its elements may be copied on the host; then the device is the caller's to choose."""
    is_torch = False
    exports: Optional[type] = None
    """The class of what stands for its arrays; None: they are looked at themselves."""
    waits = False
    """Whether the call waits for a product on a device."""

    def __init__(self) -> None:
        self.entries: dict[Any, Callable[..., Any]] = {}
        """What serves a product, by the signatures of its arrays; _matmul fills it."""

    def grad(self) -> bool:
        """Whether the library keeps what gradients need."""
        return False

    def look(self, array: Any) -> tuple[int, Any]:
        """Its address and its signature. What fails here for an array that `view` takes is the library's failure."""
        raise NotImplementedError

    def address(self, array: Any) -> int:
        return self.look(array)[0]

    def view(self, array: Any, name: str) -> View:
        """Its shape, strides and type; an error, which speaks of it by its name, where it is not to be multiplied."""
        raise NotImplementedError

    def device_of(self, signature: Any) -> int:
        """The CUDA ordinal; -1: host memory."""
        return -1

    def stream(self, ordinal: int) -> int:
        """The address of the library's current stream."""
        return 0

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        raise ArgumentError("this kind of array cannot be made here; give out", "out")

    def maker(self, shape: tuple[int, ...], code: str, dtype: Any) -> Callable[[Any], Any]:
        """What makes such an array beside another, whose elements are of `dtype`."""
        return lambda like: self.empty(shape, code, like)

    def scratch(self, size: int, like: Any) -> tuple[Any, int]:
        """Memory of the library's own for work on its current stream, and its address; 0: it has none to lend.
        What is freed serves later work on that stream alone, in a graph that is captured, too."""
        return None, 0

    def contiguous(self, array: Any) -> Any:
        raise NotImplementedError

    def assign(self, to: Any, array: Any) -> None:
        raise NotImplementedError


# ---- NumPy ------------------------------------------------------------------------------------------


def numpy_dtype(code: str) -> Any:
    import numpy
    name = DTYPES[code]
    if not hasattr(numpy, name):
        try:
            import ml_dtypes
        except ImportError:
            raise ArgumentTypeError(f"NumPy has no {name}; the package ml_dtypes adds it", "dtype") from None
        return numpy.dtype(getattr(ml_dtypes, name))
    return numpy.dtype(name)


def _in_elements(strides: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Of strides in bytes. What is no whole number of them, as of a record's member, is negative: no layout has it."""
    return tuple(step // size if step % size == 0 else -max(abs(step) // size, 1) for step in strides)


class NumpyKind(Kind):
    host = True

    def look(self, array: Any) -> tuple[int, Any]:
        return (array.__array_interface__["data"][0],
                (array.shape, array.strides, array.dtype, array.flags.writeable))

    def view(self, array: Any, name: str) -> View:
        return View(array.shape, _in_elements(array.strides, array.itemsize), _type_of_elements(array.dtype, name))

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        import numpy
        return numpy.empty(shape, numpy_dtype(code))

    def contiguous(self, array: Any) -> Any:
        import numpy
        return numpy.ascontiguousarray(array)

    def assign(self, to: Any, array: Any) -> None:
        to[...] = array


# ---- PyTorch ----------------------------------------------------------------------------------------


_NEEDS_GRADIENT = ("a tensor requires its gradient, which mmtune.matmul does not keep; use torch.ops.mmtune (import "
                   "mmtune.torch), torch.no_grad() or detach()")


def _has_storage(tensor: Any) -> bool:
    try:
        tensor.data_ptr()
    except RuntimeError:
        return False
    return True


class TorchKind(Kind):
    is_torch = True

    def __init__(self) -> None:
        super().__init__()
        import torch
        self.torch = torch
        self.grad = torch.is_grad_enabled  # type: ignore[method-assign]
        self.address = torch.Tensor.data_ptr  # type: ignore[assignment,method-assign]
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.stream = raw or (lambda ordinal: torch.cuda.current_stream(ordinal).cuda_stream)  # type: ignore

    def look(self, array: Any) -> tuple[int, Any]:
        if array.requires_grad and self.grad():
            raise ArgumentError(_NEEDS_GRADIENT)
        return array.data_ptr(), (array.shape, array.is_contiguous() or array.stride(), array.dtype, array.get_device())

    def view(self, array: Any, name: str) -> View:
        device = array.device.type
        if device != "cpu" and (device != "cuda" or self.torch.version.cuda is None):
            raise ArgumentError(f"{name} is on {array.device}; mmtune takes tensors of CUDA and of the CPU", name)
        if array.layout is not self.torch.strided:
            raise ArgumentTypeError(f"{name} has the layout {array.layout}; strided tensors are multiplied: "
                                    f"{name}.to_dense()", name)
        if array.is_neg():
            raise ArgumentError(f"{name} is a view that PyTorch negates when it reads it; {name}.resolve_neg() is a "
                                "tensor of its own", name)
        if not _has_storage(array):
            raise ArgumentTypeError(f"{name} is a tensor inside of torch.vmap or another transform, whose elements "
                                    "have no storage; torch.ops.mmtune (import mmtune.torch) takes it", name)
        return View(tuple(array.shape), tuple(array.stride()), _type_of_elements(array.dtype, name))

    def device_of(self, signature: Any) -> int:
        return int(signature[3])

    def dtype(self, code: str) -> Any:
        return getattr(self.torch, DTYPES[code])

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        return self.torch.empty(shape, dtype=self.dtype(code), device=like.device)

    def maker(self, shape: tuple[int, ...], code: str, dtype: Any) -> Callable[[Any], Any]:
        # Sizes one by one: a tuple takes PyTorch nearly a microsecond more.
        own = self.dtype(code)
        sizes: tuple[Any, ...] = shape or ((),)
        if own is dtype:
            return lambda like: like.new_empty(*sizes)
        return lambda like: like.new_empty(*sizes, dtype=own)

    def scratch(self, size: int, like: Any) -> tuple[Any, int]:
        held = self.torch.empty(size, dtype=self.torch.uint8, device=like.device)
        return held, held.data_ptr()

    def contiguous(self, array: Any) -> Any:
        return array.contiguous()

    def assign(self, to: Any, array: Any) -> None:
        to.copy_(array)


# ---- CuPy -------------------------------------------------------------------------------------------


class CupyKind(Kind):
    def __init__(self) -> None:
        super().__init__()
        import cupy
        self.cupy = cupy
        self.current = cupy.cuda.get_current_stream

    def look(self, array: Any) -> tuple[int, Any]:
        data = array.data
        return data.ptr, (array.shape, array.strides, array.dtype, data.device_id)

    def view(self, array: Any, name: str) -> View:
        return View(array.shape, _in_elements(array.strides, array.itemsize), _type_of_elements(array.dtype, name))

    def device_of(self, signature: Any) -> int:
        return int(signature[3])

    def stream(self, ordinal: int) -> int:
        return int(self.current().ptr)

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        with self.cupy.cuda.Device(like.data.device_id):
            return self.cupy.empty(shape, numpy_dtype(code))

    def scratch(self, size: int, like: Any) -> tuple[Any, int]:
        with self.cupy.cuda.Device(like.data.device_id):
            held = self.cupy.empty(size, "uint8")
        return held, held.data.ptr


# ---- memory that other libraries lend ---------------------------------------------------------------


_MOST_DIMENSIONS = 64


def _view(name: str, shape: Any, strides: Any, code: str) -> View:
    """What another library says, where an array can have that. Strides in elements; None: no gaps."""
    shape = tuple(map(operator.index, shape))
    if len(shape) > _MOST_DIMENSIONS or min(shape, default=0) < 0:
        raise ArgumentError(f"{name} has {len(shape)} dimensions of {shape} elements; there are {_MOST_DIMENSIONS} at "
                            "most, and no length is negative", name)
    strides = row_major(shape) if strides is None or 0 in shape else tuple(map(operator.index, strides))
    if len(strides) != len(shape):
        raise ArgumentError(f"{name} has {len(shape)} dimensions and {len(strides)} strides; each has one", name)
    return View(shape, tuple(step if size > 1 else 0 for size, step in zip(shape, strides)), code)


def _check_memory(name: str, address: int, view: View, on_host: bool) -> None:
    """Refuses memory that no process has, and such on the host as this one has not."""
    if 0 in view.shape:
        return
    size = BYTES[view.type]
    spans = [(length - 1) * step * size for length, step in zip(view.shape, view.strides)]
    first, last = address + sum(x for x in spans if x < 0), address + sum(x for x in spans if x > 0) + size
    if not 0 < first < last < 1 << 63 or math.prod(view.shape) >= 1 << 60 or on_host and not _is_mapped(first, last):
        raise ArgumentError(f"{name} has the shape {view.shape} and strides of {view.strides} elements of {size} bytes "
                            f"at the address {address:#x}, where there is no such memory", name)


_msync = ctypes.CDLL(None, use_errno=True).msync
_msync.argtypes, _MS_ASYNC = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], 1


def _is_mapped(first: int, last: int) -> bool:
    """Whether all pages from one address to another are there, as far as the system tells; it does nothing else."""
    start = first - first % mmap.PAGESIZE
    return not _msync(start, last - start, _MS_ASYNC) or ctypes.get_errno() != errno.ENOMEM


def _check_said(name: str, array: Any, view: View) -> None:
    """Refuses an array that says another thing of itself than of its memory, where it says anything."""
    count = math.prod(view.shape) * BYTES[view.type]
    shape, dtype, size = (getattr(array, what, None) for what in ("shape", "dtype", "nbytes"))
    if (isinstance(shape, (tuple, list)) and tuple(shape) != view.shape or _code_of(dtype) not in (None, view.type)
            or isinstance(size, int) and size < count):
        raise ArgumentError(f"{name} says that it has the shape {shape}, elements of {dtype} and {size} bytes, but "
                            f"lends {view.shape} of {view.type} and {count} bytes", name)


class Export:
    """An array's memory, shape and type, asked for once: what is checked is what is used.

    array    the array itself
    address  of its first element
    view     its shape, strides and type
    place    the CUDA ordinal; -1: host memory
    lent     DLPack's tensor, whose memory stays as long as this object; None: the array itself must stay
    """
    __slots__ = ("array", "address", "view", "place", "lent")

    def __init__(self, array: Any, address: int, view: View, place: int, lent: Any = None) -> None:
        self.array, self.address, self.view, self.place, self.lent = array, address, view, place, lent

    @property
    def __array_interface__(self) -> dict[str, Any]:
        size = BYTES[self.view.type]
        return {"version": 3, "data": (self.address, False), "shape": self.view.shape, "typestr": f"|V{size}",
                "strides": tuple(step * size for step in self.view.strides)}

    def numpy(self) -> Any:
        """NumPy's array of this host memory, which keeps it."""
        import numpy
        dtype = numpy_dtype(self.view.type)
        if 0 in self.view.shape:
            return numpy.empty(self.view.shape, dtype)
        return numpy.asarray(self).view(dtype)


class ExportKind(Kind):
    """Arrays that are multiplied by an Export of theirs, of the class `exports`; the methods of a Kind take these."""

    exports: type[Export]

    def __init__(self) -> None:
        super().__init__()
        self.exports = type("Export", (Export,), {"__slots__": ()})
        _kinds[self.exports] = self

    def export(self, array: Any, name: str, stream: int) -> Export:
        """The array's memory for work on that CUDA stream, where it is on a device; errors speak of it by its name.
        It is written where the name is "out"."""
        try:
            export = self._export(array, name, stream)
            _check_memory(name, export.address, export.view, export.place < 0)
            _check_said(name, array, export.view)
            return export
        except Error:
            raise
        except Exception as error:
            raise ArgumentError(f"{name} does not export its memory: {type(error).__name__}: {error}", name) from error

    def _export(self, array: Any, name: str, stream: int) -> Export:
        raise NotImplementedError

    def look(self, array: Export) -> tuple[int, Any]:
        return array.address, (array.view, array.place)

    def view(self, array: Export, name: str) -> View:
        return array.view

    def device_of(self, signature: Any) -> int:
        return int(signature[1])


_CUDA = (2, 13)  # memory of a device, and such that CUDA moves
_HOST = (1, 3)  # memory of the CPU, and such that CUDA pinned
_DL_TYPES = {(0, 8): "i8", (0, 32): "i32", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16",
             (10, 8): "f8e4m3", (12, 8): "f8e5m2"}


def _place_of(kind: int, ordinal: int, name: str) -> int:
    """The CUDA ordinal of a device of DLPack; -1: host memory."""
    if kind in _HOST:
        return -1
    if kind not in _CUDA or ordinal < 0:
        raise ArgumentError(f"{name} is on a device of DLPack's type {kind}, number {ordinal}; mmtune takes those of "
                            "CUDA (2, 13) and of the CPU (1, 3)", name)
    return ordinal


class DlpackKind(ExportKind):
    """Any library whose arrays have __dlpack__; it cannot make some.

    A product is waited for: until then the memory is lent, and no library is told when another's work is done."""
    waits = True

    def _export(self, array: Any, name: str, stream: int) -> Export:
        place = _place_of(*map(operator.index, array.__dlpack_device__()), name)
        at = None if place < 0 else stream
        lent = borrow(array, at, name == "out")
        tensor = lent.tensor
        if name == "out":
            self._check_written(array, lent, at)
        code = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
        if code is None:
            raise ArgumentTypeError(f"{name} has elements of DLPack's type {tensor.code} with {tensor.bits} bits and "
                                    f"{tensor.lanes} lanes; mmtune multiplies {ALL_NAMES}", name)
        if not 0 <= tensor.ndim <= _MOST_DIMENSIONS or tensor.ndim and not tensor.shape:
            raise ArgumentError(f"{name} has {tensor.ndim} dimensions and {'a' if tensor.shape else 'no'} shape; there "
                                f"are {_MOST_DIMENSIONS} dimensions at most", name)
        # A slice of a pointer that is null is a list of nulls, which crashes whoever reads it.
        view = _view(name, tensor.shape[:tensor.ndim] if tensor.ndim else (),
                     tensor.strides[:tensor.ndim] if tensor.strides else None, code)
        address = tensor.data + tensor.byte_offset if tensor.data else 0
        if place != _place_of(tensor.device_type, tensor.device_id, name):
            raise ArgumentError(f"{name} says that it is on the device {array.__dlpack_device__()}, its memory that it "
                                f"is on {(tensor.device_type, tensor.device_id)}", name)
        return self.exports(array, address, view, place, lent)

    def _check_written(self, array: Any, lent: Lent, stream: Optional[int]) -> None:
        """Refuses memory that is not to be written, and a copy. A capsule of DLPack 0 has no flags: there two exports
        at different addresses tell."""
        if lent.read_only:
            raise ArgumentError("out lends memory that may not be written; give another out", "out")
        if lent.is_copy or not lent.versioned and lent.tensor.data != borrow(array, stream, True).tensor.data:
            raise ArgumentError("out lends a copy of its elements, so that it would stay as it is; give an array that "
                                "shares its memory by __dlpack__(copy=False)", "out")


class JaxKind(DlpackKind):
    """Arrays that do not change: the product is a new one, written before anybody else has it."""

    def __init__(self) -> None:
        super().__init__()
        import jax
        self.jax = jax

    def _export(self, array: Any, name: str, stream: int) -> Export:
        if name == "out":
            raise ArgumentTypeError("out is an array of JAX, which does not change; leave out away", name)
        if isinstance(array, getattr(self.jax.core, "Tracer", ())):
            raise ArgumentTypeError(f"{name} is traced by jax.jit, jax.grad or another transform, and has no elements "
                                    "yet; call mmtune.matmul outside of them", name)
        if array.is_deleted():
            raise ArgumentError(f"{name} was deleted or donated", name)
        array.block_until_ready()
        return super()._export(array, name, stream)

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        dtype = numpy_dtype(code)
        made = self.jax.device_put(self.jax.numpy.zeros(shape, dtype), next(iter(like.array.devices())))
        return made.block_until_ready()

    def address(self, array: Any) -> int:
        return self.export(array, "the product", _DEFAULT_STREAM).address


_DEFAULT_STREAM = 1
_TYPESTRS = {"<f4": "f32", "<f8": "f64", "<f2": "f16", "<i4": "i32", "|i1": "i8"}


class CudaInterfaceKind(ExportKind):
    """Arrays that have __cuda_array_interface__ alone, as Numba's."""

    def _export(self, array: Any, name: str, stream: int) -> Export:
        about = array.__cuda_array_interface__
        if about.get("mask") is not None:
            raise ArgumentTypeError(f"{name} has a mask, which mmtune does not know", name)
        if about.get("stream") not in (None, stream):
            _wait_for(check_address(about["stream"], "stream"))
        code, (address, fixed) = _TYPESTRS.get(about["typestr"]), about["data"]
        if code is None:
            raise ArgumentTypeError(f"{name} has elements of the type {about['typestr']!r}; those of an interface are "
                                    f"one of {', '.join(_TYPESTRS)}", name)
        if fixed and name == "out":
            raise ArgumentError("out lends memory that may not be written; give another out", "out")
        strides = about.get("strides")
        view = _view(name, about["shape"], strides and _in_elements(strides, BYTES[code]), code)
        return self.exports(array, operator.index(address or 0), view, _ordinal_of_context())


@functools.lru_cache(maxsize=None)
def _driver() -> Any:
    """libcuda, or None."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _wait_for(stream: int) -> None:
    """Until what a library has put on its stream is done, as its interface asks for."""
    if _driver():
        _driver().cuStreamSynchronize(ctypes.c_void_p(stream))


def _ordinal_of_context() -> int:
    """The device of the thread's current context: the interface does not say where an array is."""
    ordinal = ctypes.c_int(0)
    if _driver():
        _driver().cuCtxGetDevice(ctypes.byref(ordinal))
    return ordinal.value


# ---- which one --------------------------------------------------------------------------------------

_kinds: dict[type, Kind] = {}
"""By classes whose objects a product looks at as they are."""
_lenders: dict[type, Kind] = {}
"""By classes whose objects are exported first."""
_made: dict[type, Kind] = {}


_OWN = frozenset(("__array_ufunc__", "__array_function__", "__matmul__", "__mul__", "__getattribute__",
                  "__array_interface__", "shape", "strides", "dtype", "itemsize", "flags", "data", "data_ptr", "stride",
                  "is_contiguous", "get_device", "requires_grad"))
"""What a subclass that is multiplied leaves as it is: what operators do, and what is asked here."""


def base_of(array: Any, module: str, name: str) -> Optional[type]:
    """The class of a library that has been imported, if the array is of it; by its type, as __class__ may be another.
    What JAX traces is of its Array by isinstance alone."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and (issubclass(type(array), found) or module == "jax"
                                                 and isinstance(array, found)) else None


def _class_of(array: Any) -> tuple[Optional[type], Any]:
    """Its Kind, and the library's class whose subclasses others write; JAX's are its own."""
    for module, name, which in (("numpy", "ndarray", NumpyKind), ("torch", "Tensor", TorchKind),
                                ("cupy", "ndarray", CupyKind), ("jax", "Array", JaxKind)):
        base = base_of(array, module, name)
        if base:
            return which, base if which is not JaxKind else None
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return DlpackKind, None
    return CudaInterfaceKind if hasattr(array, "__cuda_array_interface__") else None, None


def _refuse_class(array: Any, base: Any, name: str) -> None:
    """Classes whose elements are not, or not all, where their library's own class says, or mean something else."""
    made = type(array)
    if base_of(array, "numpy.ma", "MaskedArray"):
        raise ArgumentTypeError(f"{name} has a mask, which mmtune does not know; {name}.filled() has none", name)
    if base_of(array, "torch", "Tensor") and made.__torch_dispatch__ is not base.__torch_dispatch__:
        raise ArgumentTypeError(f"{name} is a {made.__name__}, which has its elements elsewhere; plain "
                                "tensors are multiplied. torch.ops.mmtune (import mmtune.torch) goes by "
                                "PyTorch's dispatcher", name)
    inside = made.__mro__[:made.__mro__.index(base)] if base in made.__mro__ else ()
    own = _OWN.intersection(*[[x for part in inside for x in vars(part)]])
    if not base and getattr(made, "__array_ufunc__", None) is not None:
        own = {"__array_ufunc__"}
    if own:
        raise ArgumentTypeError(f"{name} is a {made.__name__}, which has {', '.join(sorted(own))} of its own, as "
                                "arrays with units have; a product would lose what that means. Give a plain array of "
                                "its elements", name)


def kind_of(array: Any, name: str = "the array") -> Kind:
    """The kind of an array; one object for all arrays of a library. Errors speak of it by its name."""
    try:
        found = _kinds.get(type(array)) or _lenders.get(type(array))
        which, base = (None, None) if found or isinstance(array, type) else _class_of(array)
    except Exception as error:
        raise as_error(error)
    if found is None:
        if which is None:
            raise ArgumentTypeError(f"{name} is of the type {type(array).__name__}, which is no array; one of NumPy, "
                                    "PyTorch, CuPy or JAX is needed, or another with __dlpack__ or "
                                    "__cuda_array_interface__", name)
        _refuse_class(array, base, name)
        found = _made.get(which) or _made.setdefault(which, which())
        (_lenders if found.exports else _kinds)[type(array)] = found
    return found


def check_address(x: int, name: str) -> int:
    if not issubclass(type(x), int) or not 0 <= x < 1 << 64:
        raise ArgumentError(f"{name} is {x}; an address has 64 bits and no sign", name)
    return x


def look_at(kind: Kind, array: Any, name: str) -> tuple[int, Any]:
    """kind.look, with what `view` says where that fails."""
    try:
        return kind.look(array)
    except Exception as error:
        kind.view(array, name)
        raise as_error(error)


def device_pointer(array: Any, name: str, stream: int, held: list[Any]) -> int:
    """The address of an array on a CUDA device. `held` gets what must stay until the work on the stream is done."""
    kind = kind_of(array, name)
    if isinstance(kind, ExportKind):
        array = kind.export(array, name, stream or _DEFAULT_STREAM)
        held += [array] * kind.waits
    if not kind.host:
        pointer, signature = look_at(kind, array, name)
        if kind.device_of(signature) >= 0:
            return pointer
    raise ArgumentTypeError(f"{name} is an array in host memory; a plan executes on device memory: a Buffer, or an "
                            "array of a CUDA device", name)


def stream_of(x: Any) -> int:
    """The address of a stream: an int, or an object of PyTorch, CuPy or cuda.core."""
    if isinstance(x, int):
        return check_address(x, "stream")
    try:
        for name in ("cuda_stream", "ptr"):
            if hasattr(x, name):
                return check_address(int(getattr(x, name)), "stream")
        if hasattr(x, "__cuda_stream__"):
            return check_address(int(x.__cuda_stream__()[1]), "stream")
    except Exception as error:
        raise as_error(error)
    raise ArgumentTypeError(f"stream is {x!r}; it is an address as an int, or a stream of PyTorch, CuPy or cuda.core",
                            "stream")


def forget() -> None:
    """Forgets the plans of all kinds."""
    for kind in _made.values():
        kind.entries.clear()
