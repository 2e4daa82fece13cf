"""Devices and memory on them."""
from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Union

from . import _library
from ._arrays import base_of, stream_of
from ._errors import ArgumentError, ArgumentTypeError, DeviceError, NotFoundError
from ._library import Operand, call, lib, whole


@dataclass(frozen=True)
class DeviceInfo:
    """A device of this machine that need not be open: its number and id as in `mmtune devices`."""
    number: int
    id: str
    name: str
    kind: str
    """"gpu" or "cpu"."""


def devices() -> list[DeviceInfo]:
    """The devices of this machine, in the order of their numbers; opens none of them."""
    _check_process()
    found = call("mmt_devices_find")
    try:
        return [DeviceInfo(i, lib.mmt_devices_id(found, i).decode(), lib.mmt_devices_name(found, i).decode(),
                           _library.KINDS[lib.mmt_devices_kind(found, i)])
                for i in range(lib.mmt_devices_count(found))]
    finally:
        lib.mmt_devices_free(found)


class Device:
    """An open device, kept open until the process ends. Threads may share it.

    `name` is its number in `mmtune devices` ("0" or 0) or its id ("cuda:0"). `mmtune.device` gives the same
    object for the same device. After fork a child has no use of it: spawn processes instead.
    """

    def __init__(self, name: Union[int, str], _handle: int = 0) -> None:
        _check_process()
        self._handle: int = _handle or call("mmt_device_open", str(name).encode(errors="replace"))
        ends_at_fork(self)
        self.name: str = lib.mmt_device_name(self.handle).decode()
        """As "NVIDIA H200 (cuda:0)"."""
        self._lock = threading.RLock()
        self._profile: Any = None
        self._profile_known = False
        self._workspaces: dict[int, list[Buffer]] = {}
        self._slots: dict[str, Buffer] = {}

    def __repr__(self) -> str:
        return f"<mmtune.Device {self.name}>"

    @property
    def handle(self) -> int:
        """The mmt_device."""
        if not self._handle:
            _check_process()
        return self._handle

    def end(self) -> None:
        self._handle, self._lock = 0, threading.RLock()

    @property
    def profile(self) -> Any:
        """The profile that plans on this device go by: Profile.find's, or None where there is none."""
        with self._lock:
            if not self._profile_known:
                from ._profile import Profile
                try:
                    self._profile = Profile.find(self)
                except NotFoundError:
                    self._profile = None
                self._profile_known = True
            return self._profile

    @profile.setter
    def profile(self, profile: Any) -> None:
        with self._lock:
            self._profile, self._profile_known = profile, True

    def buffer(self, size: int) -> "Buffer":
        """Device memory of `size` bytes, at least 1, of unknown contents; freed with the object."""
        return Buffer(self, size)

    def finish(self, stream: Any = 0) -> None:
        """Waits until all that was put on the stream or queue is done: a stream of PyTorch or CuPy, or its address;
        0 is the device's own."""
        call("mmt_finish", self.handle, stream_of(stream))

    # A workspace belongs to a stream. A shorter one is kept: a graph that captured it may run again.
    def _workspace(self, stream: int, size: int) -> int:
        with self._lock:
            held = self._workspaces.setdefault(stream, [])
            if not held or held[-1].size < size:
                held.append(Buffer(self, max(size, 2 * held[-1].size if held else 0)))
            return int(held[-1].operand.handle)

    # Memory that is used again by the next product of host arrays; the caller has the lock.
    def _slot(self, name: str, size: int) -> "Buffer":
        held = self._slots.get(name)
        if held is None or held.size < size:
            self._slots.pop(name, None)
            held = self._slots[name] = Buffer(self, max(size, 1))
        return held


class Buffer:
    """Memory of a device, of `size` bytes: an operand for Plan.execute. Freed with the object."""

    def __init__(self, device: Device, size: int) -> None:
        self.operand = Operand()
        self.device = device
        self.size = whole(size, "size", 1)
        self._process = os.getpid()
        call("mmt_buffer_create", device.handle, self.size, ctypes.byref(self.operand))

    def __del__(self) -> None:
        if getattr(self, "_process", 0) == os.getpid() and self.operand.handle:
            lib.mmt_buffer_free(self.device.handle, self.operand)

    def __repr__(self) -> str:
        return f"<mmtune.Buffer of {self.size} bytes on {self.device.name}>"

    def _check(self, size: int) -> None:
        if size > self.size:
            raise ArgumentError(f"{size} bytes are more than the {self.size} bytes of the buffer", "size")

    def write(self, data: Any) -> "Buffer":
        """Copies a C-contiguous array of NumPy, or an object of the buffer protocol (bytes); waits for it."""
        memory, size, _ = _memory(data)
        self._check(size)
        call("mmt_buffer_write", self.device.handle, self.operand, memory, size)
        return self

    def read(self, into: Any) -> Any:
        """Fills such an array or object, and returns it, once the device's own queue is done."""
        memory, size, writable = _memory(into)
        self._check(size)
        if not writable:
            raise ArgumentTypeError(f"into is of the type {type(into).__name__} and may not be written", "into")
        call("mmt_buffer_read", self.device.handle, memory, self.operand, size)
        return into


def _memory(data: Any) -> tuple[Any, int, bool]:
    """What ctypes takes as the address of an object's memory, its bytes, and whether they may be written."""
    base = base_of(data, "numpy", "ndarray")
    if base:
        data = base.view(data, base)  # a subclass may say of itself what it wants
        array = data.__array_interface__
        if not data.flags.c_contiguous:
            raise ArgumentError("the array has gaps or is transposed; numpy.ascontiguousarray makes one that is not")
        if data.dtype.hasobject:
            raise ArgumentTypeError(f"the array has elements of {data.dtype}, which are references of this process")
        return array["data"][0], data.nbytes, not array["data"][1]
    try:
        view = memoryview(data).cast("B")
    except TypeError as error:
        raise ArgumentTypeError(f"{type(data).__name__} has no memory without gaps to copy: {error}; an array of NumPy, "
                                "bytes or a bytearray has") from None
    if view.readonly:
        return bytes(view), view.nbytes, False
    return (ctypes.c_char * view.nbytes).from_buffer(view), view.nbytes, True


_open: dict[Any, Device] = {}
_lock = threading.Lock()

# ---- fork: neither CUDA nor an OpenCL driver survives it ---------------------------------------------------

_living: "weakref.WeakSet[Any]" = weakref.WeakSet()
_forked = False


def ends_at_fork(x: Any) -> None:
    """Has a child of fork call `x.end()`, as there is nothing behind its handle."""
    _living.add(x)


def _end_all() -> None:
    global _forked, _lock
    _forked, _lock = _forked or bool(_living), threading.Lock()
    for x in _living:
        x.end()


def _check_process() -> None:
    if _forked:
        raise DeviceError("this process was forked after mmtune had opened a device, and has no use of devices; start "
                          "processes by spawn, as multiprocessing.set_start_method('spawn') does")


os.register_at_fork(after_in_child=_end_all)


def forget_profiles() -> None:
    """Has devices look for their profile again, as there may be another."""
    with _lock:
        for it in _open.values():
            it._profile_known = False


def device(which: Union[None, int, str, Device] = None) -> Device:
    """The open device of a number or id; None: number 0. Opened once in a process (tenths of a second)."""
    _check_process()
    if isinstance(which, Device):
        return which
    key = str(0 if which is None else which)
    if _is_number(key):
        key = _id_of(key)
    if key.startswith("cuda:") and _is_number(key[5:]):
        return cuda_device(int(key[5:]))
    with _lock:
        if key not in _open:
            made = Device(key)
            _open[key] = next((it for it in _open.values() if it.name == made.name), made)
        return _open[key]


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


@functools.lru_cache(maxsize=None)
def _id_of(number: str) -> str:
    """The id of the device with that number: one device is opened once, whatever it is called."""
    found = devices()
    return found[int(number)].id if int(number) < len(found) else number


def cuda_device(ordinal: int) -> Device:
    """The CUDA device of that ordinal in its primary context, which the array libraries share."""
    key = ("cuda", ordinal)
    with _lock:
        if key not in _open:
            _open[key] = Device("", call("mmt_cuda_device", ordinal, None))
        return _open[key]
