#!/usr/bin/env python3
"""What a call from Python costs the host, beside a bare ctypes call of mmt_execute: overhead.py [DEVICE]

The median of rounds of fifty calls, in turn, in microseconds. DEVICE: null:sm_90 by default, which executes nothing, so that
no driver's time is in it; or one of `mmtune devices`. With PyTorch, on any machine, mmtune.matmul is timed as well:
on tensors of the CPU that are taken for tensors of the device, which then must be one that executes nothing."""
import ctypes
import statistics
import sys
import time

import mmtune
from mmtune import _arrays, _device, _library

NAME = sys.argv[1] if len(sys.argv) > 1 else "null:sm_90"
CALLS, ROUNDS, SIZE = 50, 200, 64


def medians_us(calls, wait):
    """Of each call; they take turns, so that what else the machine does slows all of them alike."""
    times = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, took in zip(calls, times):
            wait()
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            took.append((time.perf_counter_ns() - start) / CALLS / 1000)
    wait()
    return [statistics.median(took) for took in times]


def bare_call(plan, handles):
    """mmt_execute with arguments that were prepared once."""
    args, err = _library.Args(), _library.ErrorStruct()
    _library.lib.mmt_args_init(args, ctypes.sizeof(args))
    args.a.handle, args.b.handle, args.c.handle = handles
    args.workspace.handle = plan.device._workspace(0, plan.workspace) if plan.workspace else 0
    execute, handle, places = _library.lib.mmt_execute, plan._executor.handle, (ctypes.addressof(args), ctypes.addressof(err))
    return lambda _keep=(args, err): execute(handle, places[0], 0, places[1])


def torch_calls(device):
    """mmtune.matmul on tensors that are taken for the device's."""
    import torch
    kind = _arrays.kind_of(torch.empty(1))
    kind.device_of, kind.stream = (lambda signature: 0), (lambda ordinal: 0)
    _device._open[("cuda", 0)] = device
    a, b, out = (torch.empty(SIZE, SIZE) for _ in range(3))
    return [("mmtune.matmul of tensors, out given", lambda: mmtune.matmul(a, b, out=out)),
            ("mmtune.matmul of tensors", lambda: mmtune.matmul(a, b)),
            ("Tensor.new_empty, which is in it", lambda: a.new_empty(SIZE, SIZE))]


def main():
    device = mmtune.device(NAME)
    plan = mmtune.Plan(SIZE, SIZE, SIZE, device=device)
    buffers = [device.buffer(4 * SIZE * SIZE) for _ in range(3)]
    handles = [buffer.operand.handle for buffer in buffers]
    calls = [("a bare ctypes call of mmt_execute", bare_call(plan, handles)),
             ("Plan.execute of addresses", lambda: plan.execute(*handles)),
             ("Plan.execute of buffers", lambda: plan.execute(*buffers))]
    if NAME.startswith("null"):
        try:
            calls += torch_calls(device)
        except ImportError:
            print("PyTorch is not here: mmtune.matmul is not timed")
    for _, call in calls:
        call()
    print(f"{device.name}, f32 {SIZE}x{SIZE}x{SIZE}: median of {ROUNDS} rounds of {CALLS} calls")
    took = medians_us([call for _, call in calls], device.finish)
    for (name, _), each in zip(calls, took):
        print(f"  {name:38} {each:7.2f} us, {each - took[0]:+6.2f} us")


if __name__ == "__main__":
    main()
