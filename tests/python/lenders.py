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
                 numbers=()):
        self.device, self.flags, self.version, self.named, self.deletes = device, flags, version, named, deletes
        strides = row_major(shape) if strides is None else strides
        self.numbers = {"data": at, "ndim": len(shape), "code": 2, "bits": 32, "lanes": 1, "shape": shape,
                        "strides": strides, **dict(numbers)}
        if "device_type" not in numbers:
            self.numbers["device_type"], self.numbers["device_id"] = device
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
                held.append((c_int64 * 72)(*value))  # longer than said: what lies about ndim is read, too
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


class Saying(Lender):
    """Says of itself what a lie gives, or raises that class."""

    def __init__(self, *arguments, said, **options):
        super().__init__(*arguments, **options)
        self.said = said

    def __getattr__(self, name):
        value = self.__dict__.get("said", {}).get(name, AttributeError)
        if isinstance(value, type):
            raise value(name)
        return value


HUGE = (1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1)
SIZES = (-1, 0, 1, 2, 48, *HUGE)
STEPS = (-48, -1, 0, 1, 3, *HUGE, *(-x for x in HUGE))
LIES = {"ndim": (-1 << 31, -1, 0, 1, 3, 64, 65, (1 << 31) - 1), "shape": (None,),
        "data": (None, 1, 2, (1 << 63) - 4, (1 << 64) - 4),
        "byte_offset": (1, 4, 1 << 40, (1 << 63) - 1, (1 << 64) - 1), "code": range(20), "bits": (0, 1, 8, 16, 64, 128),
        "lanes": (0, 2, 65535), "device_type": range(-1, 20), "device_id": (-1, 1, 1 << 30)}
SAID = {"shape": ((5,), (64, 48, 1), [64, 49], "x", RuntimeError), "dtype": ("float64", "complex64", 5, None),
        "nbytes": (0, 1, -1, 1 << 70, "x")}
DEVICES = (None, "x", (), (2,), (2, 0, 0), (2.0, 0), ("x", "y"), (1 << 70, 0), (2, -1), (1, 0), (2, 7), (8, 0))


def liar(rng, shape, at, device):
    """A lender that says what is not so in one to three ways."""
    numbers = {"shape": list(shape), "strides": row_major(shape), "device_type": device[0], "device_id": device[1]}
    options, said = {"device": device}, {}
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.randrange(7)
        name = rng.choice(("shape", "strides") if kind < 2 else list(SAID) if kind == 5 else list(LIES))
        if kind == 6:
            options.update(rng.choice(({"version": (rng.randrange(9), 0)}, {"named": b"tensor"},
                                       {"flags": rng.randrange(1 << 16)}, {"device": rng.choice(DEVICES)})))
        elif kind == 5:
            said[name] = rng.choice(SAID[name])
        elif kind >= 2:
            numbers[name] = rng.choice(LIES[name])
        elif numbers[name]:
            numbers[name][rng.randrange(len(shape))] = rng.choice(SIZES if name == "shape" else STEPS)
    return Saying(shape, at, said=said, numbers=numbers, **options)
