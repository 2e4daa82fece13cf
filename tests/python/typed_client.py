"""A client that checkers of types read, and nobody runs: run_types.py."""
from __future__ import annotations

import numpy as np
import numpy.typing as npt

import mmtune

F32 = npt.NDArray[np.float32]


def layer(x: F32, w: F32, bias: F32) -> F32:
    hidden = mmtune.matmul(x, w, bias=bias, activation="relu", device=0)
    return mmtune.matmul(hidden, w)


def into(x: npt.NDArray[np.int8], out: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return mmtune.matmul(x, x.T, out=out, alpha=2)


def wide(x: npt.NDArray[np.float16]) -> F32:
    y: F32 = mmtune.matmul(x, x, out_dtype=np.float32)
    return y


def tuned() -> list[float]:
    try:
        profile = mmtune.tune([(64, 64, 64), "1-64x64x64"], budget="4c", types=["f32"])
    except mmtune.Error as error:
        print(error.status, error.argument, error.native)
        return []
    return [float(row["gflops"]) for row in profile.table()]


def planned(device: mmtune.Device) -> bytes:
    problem = mmtune.Problem(64, 64, 64, "bf16", trans_b=True, bias="n")
    plan = mmtune.Plan(problem, device=device, effort="measure", seconds=0.1)
    a, b, out = (device.buffer(64 * 64 * 2) for _ in range(3))
    plan.execute(a.write(b"\0" * 8192), b, out, alpha=1.0)
    device.finish()
    print(plan.describe(), plan.workspace, [d.id for d in mmtune.devices()], mmtune.__version__)
    return bytes(out.read(bytearray(8192)))
