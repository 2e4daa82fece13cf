"""Arrays of other libraries: where their elements are, of which shape, strides and type, on which device.

Each library is a Kind. What a product needs to know of an array in order to be planned is its signature, a
tuple that can be a key: one attribute more costs each call some 50 ns.
"""
from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, Callable, Optional

from ._errors import ArgumentError, ArgumentTypeError
from ._layout import View, row_major

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


def _strides(array: Any) -> tuple[int, ...]:
    """In elements. What is no whole number of them, as of a record's member, is negative: no layout has that."""
    size = array.itemsize
    return tuple(step // size if step % size == 0 else -(abs(step) // size) for step in array.strides)


class NumpyKind(Kind):
    host = True

    def look(self, array: Any) -> tuple[int, Any]:
        return (array.__array_interface__["data"][0],
                (array.shape, array.strides, array.dtype, array.flags.writeable))

    def view(self, array: Any, name: str) -> View:
        return View(array.shape, _strides(array), _type_of_elements(array.dtype, name))

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
        return View(array.shape, _strides(array), _type_of_elements(array.dtype, name))

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
                                f"multiplies {ALL_NAMES}", "dtype")
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

    def view(self, array: Any, name: str) -> View:
        if hasattr(array, "dtype"):
            _type_of_elements(array.dtype, name)
        try:
            view: View = self.look(array)[1][0]
        except BufferError as error:
            raise ArgumentError(f"{name} cannot be exported by __dlpack__: {error}", name) from None
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

    def view(self, array: Any, name: str) -> View:
        if isinstance(array, getattr(self.jax.core, "Tracer", ())):
            raise ArgumentTypeError(f"{name} is traced by jax.jit, jax.grad or another transform, and has no elements "
                                    "yet; call mmtune.matmul outside of them", name)
        if array.is_deleted():
            raise ArgumentError(f"{name} was deleted or donated", name)
        return super().view(array, name)

    def empty(self, shape: tuple[int, ...], code: str, like: Any) -> Any:
        dtype = numpy_dtype(code)
        made = self.jax.device_put(self.jax.numpy.zeros(shape, dtype), next(iter(like.devices())))
        return made.block_until_ready()


_DEFAULT_STREAM = 1


class CudaInterfaceKind(Kind):
    """Arrays that have __cuda_array_interface__ alone, as Numba's."""

    def look(self, array: Any) -> tuple[int, Any]:
        about = array.__cuda_array_interface__
        if about.get("mask") is not None:
            raise ArgumentTypeError("an array has a mask, which mmtune does not know")
        if about.get("stream") not in (None, _DEFAULT_STREAM):
            _wait_for(about["stream"])
        return about["data"][0], (about["shape"], about.get("strides"), about["typestr"])

    def view(self, array: Any, name: str) -> View:
        if array.__cuda_array_interface__.get("mask") is not None:
            raise ArgumentTypeError(f"{name} has a mask, which mmtune does not know", name)
        shape, strides, code = self.look(array)[1]
        names = {"<f4": "f32", "<f8": "f64", "<f2": "f16", "<i4": "i32", "|i1": "i8"}
        if code not in names:
            raise ArgumentTypeError(f"{name} has elements of the type {code!r}; those of an interface are one of "
                                    f"{', '.join(names)}", name)
        size = int(code[2:])
        return View(shape, tuple(s // size for s in strides) if strides else row_major(shape), names[code])

    def device_of(self, signature: Any) -> int:
        return 0 if not signature else _ordinal_of_context()


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
_made: dict[type, Kind] = {}


def _is_of(array: Any, module: str, name: str) -> bool:
    """By the library that has been imported: none is imported here."""
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and isinstance(array, found)


def _class_of(array: Any) -> Optional[type]:
    for module, name, which in (("numpy", "ndarray", NumpyKind), ("torch", "Tensor", TorchKind),
                                ("cupy", "ndarray", CupyKind), ("jax", "Array", JaxKind)):
        if _is_of(array, module, name):
            return which
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return DlpackKind
    return CudaInterfaceKind if hasattr(array, "__cuda_array_interface__") else None


def _refuse_class(array: Any, name: str) -> None:
    """Subclasses whose elements are not, or not all, where the class that they are of says."""
    if _is_of(array, "numpy.ma", "MaskedArray"):
        raise ArgumentTypeError(f"{name} has a mask, which mmtune does not know; {name}.filled() has none", name)
    if _is_of(array, "torch", "Tensor"):
        own = sys.modules["torch"].Tensor.__torch_dispatch__
        if type(array).__torch_dispatch__ is not own:
            raise ArgumentTypeError(f"{name} is a {type(array).__name__}, which has its elements elsewhere; plain "
                                    "tensors are multiplied. torch.ops.mmtune (import mmtune.torch) goes by "
                                    "PyTorch's dispatcher", name)


def kind_of(array: Any, name: str = "the array") -> Kind:
    """The kind of an array; one object for all arrays of a library. Errors speak of it by its name."""
    found = _kinds.get(type(array))
    if found is None:
        which = None if isinstance(array, type) else _class_of(array)
        if which is None:
            raise ArgumentTypeError(f"{name} is of the type {type(array).__name__}, which is no array; one of NumPy, "
                                    "PyTorch, CuPy or JAX is needed, or another with __dlpack__ or "
                                    "__cuda_array_interface__", name)
        _refuse_class(array, name)
        found = _kinds[type(array)] = _made.setdefault(which, which())
    return found


def check_address(x: int, name: str) -> int:
    if not 0 <= x < 1 << 64:
        raise ArgumentError(f"{name} is {x}; an address has 64 bits and no sign", name)
    return x


def device_pointer(array: Any, name: str) -> int:
    """The address of an array on a CUDA device."""
    kind = kind_of(array, name)
    if not kind.host:
        pointer, signature = kind.look(array)
        if kind.device_of(signature) >= 0:
            return pointer
    raise ArgumentTypeError(f"{name} is an array in host memory; a plan executes on device memory: a Buffer, or an "
                            "array of a CUDA device", name)


def stream_of(x: Any) -> int:
    """The address of a stream: an int, or an object of PyTorch, CuPy or cuda.core."""
    if isinstance(x, int):
        return check_address(x, "stream")
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
