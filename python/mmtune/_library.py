"""libmmtune by ctypes: its structs as include/mmtune/mmtune.h has them, its functions, its errors."""
from __future__ import annotations

import ctypes
import operator
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, NoReturn

from . import _errors

SONAME = "libmmtune.so.0.2"

OPS = ("gemm", "axpby", "dot", "heat2d", "jacobi3d", "syrk")
TYPES = ("f32", "f64", "i32", "bf16", "f16", "tf32", "f8e4m3", "f8e5m2", "i8")
BIASES = ("none", "m", "n")
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu")
F32_MODES = ("emulated", "strict")
EFFORTS = ("estimate", "measure")
KINDS = ("", "gpu", "cpu")
BYTES = {"f32": 4, "f64": 8, "i32": 4, "bf16": 2, "f16": 2, "tf32": 4, "f8e4m3": 1, "f8e5m2": 1, "i8": 1}


class ErrorStruct(Structure):
    _fields_ = [("status", c_int), ("native", c_int), ("text", ctypes.c_char * 1020), ("argument", c_int)]


class Operand(Structure):
    _fields_ = [("handle", c_uint64), ("offset", c_size_t)]


class ProblemStruct(Structure):
    _fields_ = [("size", c_size_t), ("op", c_int), ("type", c_int), ("trans_a", c_int), ("trans_b", c_int),
                ("m", c_int64), ("n", c_int64), ("k", c_int64), ("lda", c_int64), ("ldb", c_int64),
                ("ldc", c_int64), ("batch", c_int64), ("stride_a", c_int64), ("stride_b", c_int64),
                ("stride_c", c_int64), ("out", c_int), ("bias", c_int), ("activation", c_int),
                ("batch_by", c_int)]


class PlanOptions(Structure):
    _fields_ = [("size", c_size_t), ("max_workspace", c_size_t), ("configuration", c_char_p),
                ("foreign_profile", c_int), ("aligned_only", c_int), ("f32_mode", c_int), ("effort", c_int),
                ("measure_seconds", c_double), ("measure_bytes", c_size_t), ("queue", c_void_p),
                ("own_workspace", c_int)]


class Args(Structure):
    _fields_ = [("size", c_size_t), ("a", Operand), ("b", Operand), ("c", Operand), ("alpha", c_double),
                ("beta", c_double), ("scalars", Operand), ("workspace", Operand), ("bias", Operand)]


# The structs by their names in the header; a test compares sizes and offsets.
STRUCTS = {"mmt_error": ErrorStruct, "mmt_operand": Operand, "mmt_problem": ProblemStruct,
           "mmt_plan_options": PlanOptions, "mmt_args": Args}

_ERR = POINTER(ErrorStruct)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "mmt_version": (c_char_p, []),
    "mmt_argument_name": (c_char_p, [c_int]),
    "mmt_problem_init": (None, [POINTER(ProblemStruct), c_size_t, c_int, c_int, c_int64, c_int64, c_int64]),
    "mmt_plan_options_init": (None, [POINTER(PlanOptions), c_size_t]),
    "mmt_args_init": (None, [POINTER(Args), c_size_t]),
    "mmt_devices_find": (c_void_p, [_ERR]),
    "mmt_devices_count": (c_size_t, [c_void_p]),
    "mmt_devices_id": (c_char_p, [c_void_p, c_size_t]),
    "mmt_devices_name": (c_char_p, [c_void_p, c_size_t]),
    "mmt_devices_kind": (c_int, [c_void_p, c_size_t]),
    "mmt_devices_notes": (c_char_p, [c_void_p]),
    "mmt_devices_free": (None, [c_void_p]),
    "mmt_device_open": (c_void_p, [c_char_p, _ERR]),
    "mmt_cuda_device": (c_void_p, [c_int, c_void_p, _ERR]),
    "mmt_device_name": (c_char_p, [c_void_p]),
    "mmt_buffer_create": (c_int, [c_void_p, c_size_t, POINTER(Operand), _ERR]),
    "mmt_buffer_free": (None, [c_void_p, Operand]),
    "mmt_buffer_write": (c_int, [c_void_p, Operand, c_void_p, c_size_t, _ERR]),
    "mmt_buffer_read": (c_int, [c_void_p, c_void_p, Operand, c_size_t, _ERR]),
    "mmt_finish": (c_int, [c_void_p, c_void_p, _ERR]),
    "mmt_profile_load": (c_void_p, [c_char_p, _ERR]),
    "mmt_profile_find": (c_void_p, [c_void_p, _ERR]),
    "mmt_profile_store": (c_int, [c_void_p, c_void_p, _ERR]),
    "mmt_profile_warnings": (c_char_p, [c_void_p]),
    "mmt_profile_files": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "mmt_profile_free": (None, [c_void_p]),
    "mmt_plan_create": (c_void_p, [c_void_p, c_void_p, POINTER(ProblemStruct), POINTER(PlanOptions), _ERR]),
    "mmt_plan_workspace": (c_size_t, [c_void_p]),
    "mmt_plan_describe": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "mmt_plan_free": (None, [c_void_p]),
    "mmt_execute": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "mmt_execute_batch": (c_int, [c_void_p, c_void_p, c_int64] + [c_void_p] * 7),
}


def _path() -> str:
    """MMTUNE_LIBRARY, else the library in this package, else the loader's."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "libmmtune.so")
    return os.environ.get("MMTUNE_LIBRARY") or (inside if os.path.exists(inside) else SONAME)


def _open() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_path())
    except OSError as error:
        raise ImportError(f"libmmtune cannot be opened: {error}; install the library, or name its file in "
                          "MMTUNE_LIBRARY") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


lib = _open()
version: str = lib.mmt_version().decode()


def raise_error(err: ErrorStruct) -> NoReturn:
    """Raises what the library put into `err`."""
    kind = _errors.BY_STATUS[err.status - 1] if 0 < err.status <= len(_errors.BY_STATUS) else _errors.Error
    raise kind(err.text.decode(errors="replace"), lib.mmt_argument_name(err.argument).decode(), err.native)


def call(name: str, *arguments: Any) -> Any:
    """Calls a function that takes an mmt_error last; what it returns, or an exception."""
    err = ErrorStruct()
    function = getattr(lib, name)
    answer = function(*arguments, ctypes.byref(err))
    if (function.restype is c_int and answer) or (function.restype is c_void_p and not answer):
        raise_error(err)
    return answer


def text_of(name: str, handle: int) -> str:
    """The text that a function writes into a buffer of its caller's."""
    function = getattr(lib, name)
    buffer = ctypes.create_string_buffer(function(handle, None, 0) + 1)
    function(handle, buffer, len(buffer))
    return buffer.value.decode(errors="replace")


def whole(x: Any, what: str, least: int = -1 << 63) -> int:
    """A size as int64_t has it."""
    try:
        number = operator.index(x)
    except TypeError:
        raise _errors.ArgumentTypeError(f"{what} is {x!r}; it is a whole number, as an int", what) from None
    if not least <= number < 1 << 63:
        raise _errors.ArgumentError(f"{what} is {x}; it is from {least} to {(1 << 63) - 1}", what)
    return number


def number_of(names: tuple[str, ...], name: str, what: str) -> int:
    """The value of an enum by its name."""
    if name not in names:
        raise _errors.ArgumentError(f"{what} is {name!r}; it is one of {', '.join(names)}", what)
    return names.index(name)
