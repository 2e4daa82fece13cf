"""mmtune: matrix multiplication by kernels that were tuned on the device at hand.

    c = mmtune.matmul(a, b)                    arrays of NumPy, PyTorch, CuPy or JAX
    mmtune.tune([(4096, 4096, 4096)])          what makes it fast on your device
    import mmtune.torch                        torch.ops.mmtune.mm, addmm, bmm
    mmtune.Plan(mmtune.Problem(64, 64, 64))    one problem bound to a kernel, for memory of a device
    mmtune.devices(), mmtune.device(0)         what is there, and one of it, open

Everything is C's libmmtune, which this package opens; errors are exceptions with its sentences, all of mmtune.Error.
Matrices are row-major. Shapes are those of numpy.matmul, sizes are bytes, times say their unit.
"""
import dataclasses

from ._device import Buffer, Device, DeviceInfo, device, devices
from ._errors import (ArgumentError, ArgumentTypeError, CompileError, DeviceError, Error, FileError, FormatError,
                      NotFoundError, OutOfMemoryError, UnsupportedError)
from ._library import version as __version__
from ._matmul import forget_plans, matmul
from ._plan import Plan, Problem
from ._profile import Profile
from ._tune import tune

__all__ = ["ArgumentError", "ArgumentTypeError", "Buffer", "CompileError", "Device", "DeviceError", "DeviceInfo",
           "Error", "FileError", "FormatError", "NotFoundError", "OutOfMemoryError", "Plan", "Problem", "Profile",
           "UnsupportedError", "__version__", "device", "devices", "forget_plans", "matmul", "tune"]

for _public in (globals()[_name] for _name in __all__):
    # The annotations of dataclasses are read in the module that they name.
    if callable(_public) and not dataclasses.is_dataclass(_public):
        _public.__module__ = "mmtune"  # what help and errors call it
