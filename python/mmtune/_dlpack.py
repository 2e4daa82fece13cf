"""DLPack, as a consumer sees it: memory that another library lends until its deleter is called."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Optional

VERSION = (1, 1)
"""What is read: that of the types of float8. Minor versions add types and flags alone."""
_READ_ONLY, _IS_COPIED = 1, 2


class _DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(Structure):
    """DLManagedTensor, which has neither a version nor flags."""
    _fields_ = [("tensor", _DLTensor), ("context", c_void_p), ("deleter", c_void_p)]
    major, flags = VERSION[0], 0


class _ManagedVersioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", _DLTensor)]


def _api(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """An object of our own: attributes of pythonapi are every package's, and so are the types that one gives them."""
    function = ctypes.pythonapi[name]
    function.restype, function.argtypes = result, arguments
    return function


_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer_of = _api("PyCapsule_GetPointer", c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_DELETER = ctypes.PYFUNCTYPE(None, c_void_p)  # with the interpreter's lock, as a capsule's destructor calls it

_NAMES = ((b"dltensor_versioned", b"used_dltensor_versioned", _ManagedVersioned),
          (b"dltensor", b"used_dltensor", _Managed))
for _name in _NAMES:
    _api("Py_IncRef", None, ctypes.py_object)(_name[1])  # a capsule points to its name, and may outlive this module


class Lent:
    """A tensor out of a capsule: its memory stays as long as this object. Its numbers are the lender's word."""
    __slots__ = ("_at", "_managed", "versioned")

    def __init__(self, at: int, managed: Any) -> None:
        self._at, self._managed = at, managed.from_address(at)
        self.versioned = managed is _ManagedVersioned

    def __del__(self, deleter_of: Any = _DELETER) -> None:
        if self._managed.deleter:
            deleter_of(self._managed.deleter)(self._at)

    @property
    def tensor(self) -> Any:
        """The DLTensor, which has this object in its turn; TypeError where another version says where it is."""
        if self._managed.major != VERSION[0]:
            raise TypeError(f"the tensor is of DLPack {self._managed.major}; mmtune reads DLPack {VERSION[0]}")
        tensor = self._managed.tensor
        tensor.lent = self  # what is read of it is there
        return tensor

    @property
    def read_only(self) -> bool:
        return bool(self._managed.flags & _READ_ONLY)

    @property
    def is_copy(self) -> bool:
        return bool(self._managed.flags & _IS_COPIED)


def _take(capsule: Any) -> Lent:
    """What is in a capsule, which is then used: its destructor leaves the tensor alone."""
    for name, used, managed in _NAMES:
        if _is_valid(capsule, name):
            at = _pointer_of(capsule, name)
            _rename(capsule, used)
            return Lent(at, managed)
    raise TypeError(f"the answer is {capsule!r}, which is no capsule with a tensor that nobody has taken")


def _words(stream: Optional[int], writes: bool) -> list[dict[str, Any]]:
    """Keywords of __dlpack__, the newest first: not every library knows all of them."""
    own = {} if stream is None else {"stream": stream}
    newer = {**own, "max_version": VERSION}
    return [{**newer, "copy": False}] * writes + [newer, own]


def borrow(array: Any, stream: Optional[int], writes: bool) -> Lent:
    """Memory that the array lends for work on that CUDA stream; None: on the host. With `writes` a library that can
    tell shares its own memory or raises BufferError. Raises what the library does."""
    *newer, oldest = _words(stream, writes)
    for words in newer:
        try:
            capsule = array.__dlpack__(**words)
        except TypeError:
            continue
        return _take(capsule)
    return _take(array.__dlpack__(**oldest))
