"""Tuning, by the program."""
from __future__ import annotations

import os
import subprocess
import tempfile
from typing import Iterable, Optional, Sequence, Union

from . import _program
from ._device import Device, forget_profiles
from ._errors import ArgumentError, ArgumentTypeError, Error
from ._library import whole
from ._matmul import forget_plans
from ._profile import Profile

Shape = Union[str, Sequence[int]]


def _shape(shape: Shape) -> str:
    if isinstance(shape, str) and shape and "," not in shape:
        return shape
    sizes = tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else ()
    if len(sizes) not in (3, 4):
        raise ArgumentError(f"a shape is {shape!r}; it is (m, n, k), (m, n, k, batch) or a text as '1-64x4096x4096'",
                            "shapes")
    return "x".join(str(whole(size, "a size of shapes", 1)) for size in sizes)


def _shapes(shapes: Union[str, Iterable[Shape]]) -> str:
    texts = [_shape(shape) for shape in ([shapes] if isinstance(shapes, str) else shapes)]
    if not texts:
        raise ArgumentError("shapes has none; leave it away for the default suite", "shapes")
    return ",".join(texts)


def tune(shapes: Union[None, str, Iterable[Shape]] = None, *, device: Union[int, str] = 0, budget: str = "5m",
         types: Union[str, Iterable[str]] = ("f32",), transposes: Union[str, Iterable[str]] = ("nn",),
         out: Optional[str] = None, output: Union[None, str, "os.PathLike[str]"] = None,
         options: Sequence[str] = (), quiet: bool = False) -> Profile:
    """Tunes a device for shapes and returns its profile: what `mmtune --device … --shape …` does.

    shapes      each (m, n, k) or (m, n, k, batch), or a text as the program takes it; None: its default suite
    device      a number or id of `mmtune.devices()`
    budget      a time, "90s" or "5m", or candidates, "200c"
    types       "f32", "bf16" …; transposes: "nn", "nt", "tn", "tt", A first
    out         C's type, where a type has a choice
    output      the profile's file; None: where programs look, so that later plans of any process use it
    options     more words for the program, such as ("--seed", "2")
    quiet       leave away what the program says while it runs

    It runs in a process of its own and goes on from the journal beside the file. KeyboardInterrupt ends it as
    Ctrl-C ends the program: what was measured is written. Without `output`, matmul and plans that are made later
    go by the new profile; a Plan stays what it is. Error with the program's last sentences where it fails.
    """
    if isinstance(device, Device):
        raise ArgumentError("device is an open device; tune takes a number or an id", "device")
    if not isinstance(budget, str):
        raise ArgumentTypeError(f"budget is {budget!r}; it is a text with a unit, as \"90s\", \"5m\" or \"200c\"", "budget")
    command = [_program.path(), "tune", "--device", str(device), "--budget", budget]
    command += ["--type", types if isinstance(types, str) else ",".join(types)]
    command += ["--transposes", transposes if isinstance(transposes, str) else ",".join(transposes)]
    if shapes is not None:
        command += ["--shape", _shapes(shapes)]
    if out is not None:
        command += ["--out", out]
    if output is not None:
        command += ["--output", os.fspath(output)]
    _run(command + list(options), quiet)
    if output is not None:
        return Profile.load(output)
    forget_profiles()
    forget_plans()
    return Profile.find(device)


def _run(command: list[str], quiet: bool) -> None:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL if quiet else None, stderr=said)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise
        said.seek(0)
        text = said.read().strip()
    if code:
        raise Error(f"mmtune ended with status {code}: {text[-2000:]}")
