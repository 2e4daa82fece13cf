"""Arrays that speak DLPack without any library: their capsules are made here, and their numbers may be lies."""
import ctypes
import sys
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

FLAGS = {"read only": 1, "copy": 2}



class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Managed(Structure):
    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class ManagedVersioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", Tensor)]


_new, _name_of, _pointer_of = (ctypes.pythonapi[f"PyCapsule_{name}"] for name in ("New", "GetName", "GetPointer"))
_new.restype, _new.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [c_void_p]
_pointer_of.restype, _pointer_of.argtypes = c_void_p, [c_void_p, ctypes.c_char_p]
_kept = {}  # what C points to, by a managed tensor's address, until its deleter is called
_owners, _makers = {}, {}  # lenders, by the addresses of tensors and of capsules
unraised = []
"""Exceptions out of deleters: a tensor was deleted twice."""
sys.unraisablehook = unraised.append


@ctypes.PYFUNCTYPE(None, c_void_p)
def _delete(at):
    _kept.pop(at)
    _owners.pop(at).end()


@ctypes.PYFUNCTYPE(None, c_void_p)
def _destroy(capsule):
    """By its address, as nobody may have it again: a tensor that was not taken goes with its capsule."""
    name = _makers.pop(capsule).name = _name_of(capsule)
    if name in (b"dltensor", b"dltensor_versioned"):
        _delete(_pointer_of(capsule, name))


def row_major(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


class Lender:
    """An array of f32 at an address, whose capsules are of DLPack 1 where its caller asks for that.

    `numbers` replace members of the DLTensor; `flags` and `version` are the capsule's. How many capsules were made and
    how many tensors deleted is counted; `asked` are the keywords of the last call, `name` is the last capsule's at its
    end."""

    keywords = ("max_version", "copy", "stream")
    """Those that __dlpack__ knows: of DLPack 0 `stream` alone."""

    def __init__(self, shape, at, device=(2, 0), strides=None, flags=0, version=(1, 1), named=None, deletes=True,
                 **numbers):
        self.device, self.flags, self.version, self.named, self.deletes = device, flags, version, named, deletes
        strides = row_major(shape) if strides is None else strides
        self.numbers = {"data": at, "device_type": device[0], "device_id": device[1], "ndim": len(shape), "code": 2,
                        "bits": 32, "lanes": 1, "shape": shape, "strides": strides, **numbers}
        self.made, self.deleted, self.asked, self.name = 0, 0, {}, None

    def end(self):
        """A tensor of this lender is deleted."""
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        unknown = set(asked) - set(self.keywords)
        if unknown:
            raise TypeError(f"__dlpack__() got an unexpected keyword argument '{unknown.pop()}'")
        self.asked = asked
        return self.capsule(asked.get("max_version", (0, 0))[0] > 0)

    def capsule(self, versioned):
        managed = (ManagedVersioned if versioned else Managed)()
        held = [managed]
        for name, value in self.numbers.items():
            if name in ("shape", "strides") and value is not None:
                held.append((c_int64 * max(len(value), 1))(*value))
                value = ctypes.cast(held[-1], POINTER(c_int64))
            setattr(managed.tensor, name, value)
        if versioned:
            (managed.major, managed.minor), managed.flags = self.version, self.flags
        if self.deletes:
            managed.deleter = ctypes.cast(_delete, c_void_p)
        at = ctypes.addressof(managed)
        _kept[at], _owners[at] = held, self
        self.made += 1
        capsule = _new(at, self.named or (b"dltensor_versioned" if versioned else b"dltensor"),
                       ctypes.cast(_destroy, c_void_p))
        _makers[id(capsule)] = self
        return capsule

    @property
    def living(self):
        return self.made - self.deleted


class OldLender(Lender):
    keywords = ("stream",)


class HalfLender(Lender):
    keywords = ("stream", "max_version")
