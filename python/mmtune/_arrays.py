"""Arrays of other libraries: where their elements are, of which shape, strides and type, on which device.

Each library is a Kind. What a product needs to know of an array in order to be planned is its signature, a
tuple that can be a key: one attribute more costs each call some 50 ns.
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable, Optional

from ._errors import ArgumentError, ArgumentTypeError
from ._layout import View, row_major

NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int32": "i32",
         "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
DTYPES = {code: name for name, code in NAMES.items()}


def type_of(dtype: Any, what: str = "dtype") -> str:
    """mmtune's name of an element's type, for that of any library, or for its name."""
    text = getattr(dtype, "__name__", None) or str(dtype)
    text = text.rsplit(".", 1)[-1]
    if text in NAMES:
        return NAMES[text]
    if text in DTYPES:
        return text
    raise ArgumentTypeError(f"{what} is {dtype}; mmtune multiplies {', '.join(sorted(NAMES))}", what)


class Kind:
    """How one library's arrays are read and made."""
    host = False
    """Whether its elements may be copied on the host; then the device is the caller's to choose."""

    def __init__(self) -> None:
        self.entries: dict[Any, Callable[..., Any]] = {}
        """What serves a product, by the signatures of its arrays; _matmul fills it."""

    def look(self, array: Any) -> tuple[int, Any]:
        """Its address and its signature."""
        raise NotImplementedError

    def address(self, array: Any) -> int:
        return self.look(array)[0]

    def view(self, array: Any) -> View:
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


class NumpyKind(Kind):
    host = True

    def look(self, array: Any) -> tuple[int, Any]:
        return (array.__array_interface__["data"][0],
                (array.shape, array.strides, array.dtype, array.flags.writeable))

    def view(self, array: Any) -> View:
        size = array.itemsize
        strides = tuple(step // size if step % size == 0 else -1 for step in array.strides)
        return View(array.shape, strides, type_of(array.dtype))

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        import numpy
        return numpy.empty(shape, numpy_dtype(code))

    def contiguous(self, array: Any) -> Any:
        import numpy
        return numpy.ascontiguousarray(array)

    def assign(self, to: Any, array: Any) -> None:
        to[...] = array


# ---- PyTorch ----------------------------------------------------------------------------------------


class TorchKind(Kind):
    def __init__(self) -> None:
        super().__init__()
        import torch
        self.torch = torch
        self.grad = torch.is_grad_enabled
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.stream = raw or (lambda ordinal: torch.cuda.current_stream(ordinal).cuda_stream)  # type: ignore

    def look(self, array: Any) -> tuple[int, Any]:
        if array.requires_grad and self.grad():
            raise ArgumentError("a tensor requires its gradient, which mmtune.matmul does not keep; use "
                                "torch.ops.mmtune (import mmtune.torch), torch.no_grad() or detach()")
        return array.data_ptr(), (array.shape, array.stride(), array.dtype, array.get_device())

    def address(self, array: Any) -> int:
        return array.data_ptr()  # type: ignore[no-any-return]

    def view(self, array: Any) -> View:
        device = array.device.type
        if device != "cpu" and (device != "cuda" or self.torch.version.cuda is None):
            raise ArgumentError(f"a tensor is on {array.device}; mmtune takes those of CUDA and of the CPU", "device")
        if array.layout is not self.torch.strided:
            raise ArgumentTypeError(f"a tensor has the layout {array.layout}; strided ones are multiplied")
        return View(tuple(array.shape), tuple(array.stride()), type_of(array.dtype))

    def device_of(self, signature: Any) -> int:
        return int(signature[3])

    def dtype(self, code: str) -> Any:
        return getattr(self.torch, DTYPES[code])

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        return self.torch.empty(shape, dtype=self.dtype(code), device=like.device)

    def maker(self, shape: tuple[int, ...], code: str, dtype: Any) -> Callable[[Any], Any]:
        own = self.dtype(code)
        if own is dtype:
            return lambda like: like.new_empty(shape)
        return lambda like: like.new_empty(shape, dtype=own)

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

    def view(self, array: Any) -> View:
        strides = tuple(step // array.itemsize for step in array.strides)
        return View(array.shape, strides, type_of(array.dtype))

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


# ---- DLPack -----------------------------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    """DLTensor of DLPack 0.8 and, behind no version, of 1.0."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_CUDA, _CUDA_MANAGED = 2, 13
_HOST = (1, 3)  # memory of the CPU, and such that CUDA pinned
_DL_TYPES = {(0, 8): "i8", (0, 32): "i32", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16",
             (10, 8): "f8e4m3", (12, 8): "f8e5m2"}


def _read_capsule(capsule: Any) -> tuple[int, View, tuple[int, int]]:
    """Address, view and (device type, ordinal) of a capsule, which stays its maker's."""
    it = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    code = _DL_TYPES.get((it.code, it.bits)) if it.lanes == 1 else None
    if code is None:
        raise ArgumentTypeError(f"an array has elements of DLPack's type {it.code} with {it.bits} bits; mmtune "
                                f"multiplies {', '.join(sorted(NAMES))}", "dtype")
    shape = tuple(it.shape[:it.ndim])
    strides = tuple(it.strides[:it.ndim]) if it.strides else row_major(shape)
    return (it.data or 0) + it.byte_offset, View(shape, strides, code), (it.device_type, it.device_id)


class DlpackKind(Kind):
    """Any library whose arrays have __dlpack__; it cannot make some."""

    def look(self, array: Any) -> tuple[int, Any]:
        kind, _ = array.__dlpack_device__()
        # The stream that the work will be on, so that the array is ready there: the default stream is 1.
        capsule = array.__dlpack__(stream=1) if kind in (_CUDA, _CUDA_MANAGED) else array.__dlpack__()
        address, view, device = _read_capsule(capsule)
        return address, (view, device)

    def view(self, array: Any) -> View:
        view: View = self.look(array)[1][0]
        return view

    def device_of(self, signature: Any) -> int:
        kind, ordinal = signature[1]
        if kind in _HOST:
            return -1
        if kind not in (_CUDA, _CUDA_MANAGED):
            raise ArgumentError(f"an array is on a device of DLPack's type {kind}; mmtune takes CUDA's (2, 13) and "
                                "the CPU's (1, 3)", "device")
        return int(ordinal)


class JaxKind(DlpackKind):
    """Arrays that do not change: the product is a new one, written before anybody else has it."""

    def __init__(self) -> None:
        super().__init__()
        import jax
        self.jax = jax

    def look(self, array: Any) -> tuple[int, Any]:
        array.block_until_ready()
        return super().look(array)

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        dtype = numpy_dtype(code)
        made = self.jax.device_put(self.jax.numpy.zeros(shape, dtype), next(iter(like.devices())))
        return made.block_until_ready()


class CudaInterfaceKind(Kind):
    """Arrays that have __cuda_array_interface__ alone, as Numba's."""

    def look(self, array: Any) -> tuple[int, Any]:
        about = array.__cuda_array_interface__
        if about.get("mask") is not None:
            raise ArgumentTypeError("an array has a mask, which mmtune does not know")
        return (about["data"][0],
                (about["shape"], about.get("strides"), about["typestr"], about.get("stream") or 0))

    def view(self, array: Any) -> View:
        shape, strides, code, _ = self.look(array)[1]
        names = {"<f4": "f32", "<f8": "f64", "<f2": "f16", "<i4": "i32", "|i1": "i8"}
        if code not in names:
            raise ArgumentTypeError(f"an array has elements of the type {code!r}; those of an interface are one of "
                                    f"{', '.join(names)}", "dtype")
        size = int(code[2:])
        return View(shape, tuple(s // size for s in strides) if strides else row_major(shape), names[code])

    def device_of(self, signature: Any) -> int:
        return 0 if not signature else _ordinal_of_context()


def _ordinal_of_context() -> int:
    """The device of the thread's current context: the interface does not say where an array is."""
    ordinal = ctypes.c_int(0)
    try:
        ctypes.CDLL("libcuda.so.1").cuCtxGetDevice(ctypes.byref(ordinal))
    except OSError:
        pass
    return ordinal.value


# ---- which one --------------------------------------------------------------------------------------

_kinds: dict[type, Kind] = {}
_made: dict[type, Kind] = {}


def _class_of(array: Any) -> Optional[type]:
    """By the library that has been imported: none is imported here."""
    def is_of(module: str, name: str) -> bool:
        found = getattr(sys.modules.get(module), name, None)
        return isinstance(found, type) and isinstance(array, found)
    if is_of("numpy.ma", "MaskedArray"):
        raise ArgumentTypeError("an array has a mask, which mmtune does not know")
    if is_of("numpy", "ndarray"):
        return NumpyKind
    if is_of("torch", "Tensor"):
        return TorchKind
    if is_of("cupy", "ndarray"):
        return CupyKind
    if is_of("jax", "Array"):
        return JaxKind
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return DlpackKind
    return CudaInterfaceKind if hasattr(array, "__cuda_array_interface__") else None


def kind_of(array: Any) -> Kind:
    """The kind of an array; one object for all arrays of a library."""
    found = _kinds.get(type(array))
    if found is None:
        which = _class_of(array)
        if which is None:
            raise ArgumentTypeError(f"{type(array).__name__} is no array: one of NumPy, PyTorch, CuPy or JAX is needed, "
                                    "or another with __dlpack__ or __cuda_array_interface__")
        found = _kinds[type(array)] = _made.setdefault(which, which())
    return found


def device_pointer(array: Any) -> int:
    """The address of an array on a CUDA device."""
    kind = kind_of(array)
    pointer, signature = kind.look(array)
    if kind.host or kind.device_of(signature) < 0:
        raise ArgumentTypeError("the array is in host memory; a plan executes on device memory: a Buffer, or an array "
                                "of a CUDA device")
    return pointer


def stream_of(x: Any) -> int:
    """The address of a stream: an int, or an object of PyTorch, CuPy or cuda.core."""
    if isinstance(x, int):
        return x
    for name in ("cuda_stream", "ptr"):
        if hasattr(x, name):
            return int(getattr(x, name))
    if hasattr(x, "__cuda_stream__"):
        return int(x.__cuda_stream__()[1])
    raise ArgumentTypeError(f"stream is {x!r}; it is an address as an int, or a stream of PyTorch, CuPy or cuda.core",
                            "stream")


def forget() -> None:
    """Forgets the plans of all kinds."""
    for kind in _made.values():
        kind.entries.clear()
