"""mmtune: matrix multiplication by kernels that were tuned on the device at hand.

    c = mmtune.matmul(a, b)                    arrays of NumPy, PyTorch, CuPy or JAX
    mmtune.tune([(4096, 4096, 4096)])          what makes it fast on your device
    import mmtune.torch                        torch.ops.mmtune.mm, addmm, bmm

Everything is C's libmmtune, which this package opens; errors are its sentences. Matrices are row-major.
"""
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
