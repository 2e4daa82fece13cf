"""Products of arrays on a device, by their addresses, where a device that executes nothing stands in for a card:
run_addresses.py. What is checked before a launch; values are in card_python.py."""
import mmtune
from stand_in import device
from checks import check, end, raises


class Array:
    """As Numba's: f32 at an address, with strides in elements."""

    def __init__(self, shape, at, strides=None, **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (at, False), "version": 3,
                                         "strides": strides and tuple(4 * s for s in strides), **more}


class Stream:
    def __init__(self, address):
        self.cuda_stream = address


A, B, OUT = 1 << 20, 2 << 20, 3 << 20
a, b, out = Array((64, 48), A), Array((48, 32), B), Array((64, 32), OUT)
for _ in range(2):  # with the plan that is made, and with the one that is found
    for options in ({}, {"alpha": 2, "beta": 1}, {"bias": Array((32,), 4 << 20)}, {"stream": 0}, {"stream": Stream(0)}):
        check(mmtune.matmul(a, b, out=out, **options) is out, f"out is returned: {options}")
    for name, x, at in (("a", a, A), ("b", b, B)):
        for place in (at - 4, at, at + 4, at - 4 * 64 * 32 + 4):
            raises(mmtune.ArgumentError, f"out overlaps {name} in memory",
                   lambda: mmtune.matmul(a, b, out=Array((64, 32), place)))  # pylint: disable=cell-var-from-loop
    raises(mmtune.ArgumentError, "out overlaps bias", lambda: mmtune.matmul(a, b, out=out, bias=Array((32,), OUT + 40)))
    wide = Array((64, 48), A, (80, 1))
    check(mmtune.matmul(wide, b, out=Array((64, 32), A + 4 * 48, (80, 1))), "columns beside a's are no overlap")
    raises(mmtune.ArgumentError, "there is no out to read", lambda: mmtune.matmul(a, b, beta=1))
    raises(mmtune.ArgumentError, "give out", lambda: mmtune.matmul(a, b))
    for name in ("alpha", "beta"):
        raises(TypeError, f"{name} is 'x'", lambda: mmtune.matmul(a, b, out=out, **{name: "x"}))  # pylint: disable=cell-var-from-loop
    raises(TypeError, "stream is 'x'", lambda: mmtune.matmul(a, b, out=out, stream="x"))
    raises(ValueError, "stream is -1", lambda: mmtune.matmul(a, b, out=out, stream=-1))
    raises(ValueError, "device away", lambda: mmtune.matmul(a, b, out=out, device="null:sm_80"))
    raises(ValueError, "copy it first, as by a.contiguous()",
           lambda: mmtune.matmul(Array((64, 48), A, (200, 2)), b, out=out))
    raises(TypeError, "b has elements of the type '<c8'", lambda: mmtune.matmul(a, Array((48, 32), B, typestr="<c8"), out=out))
    raises(TypeError, "a has a mask", lambda: mmtune.matmul(Array((64, 48), A, mask=a), b, out=out))
plan = mmtune.Plan(64, 32, 48, device=device)
check(plan.execute(a, b, out) is out and plan.execute(A, B, OUT) == OUT, "a plan takes arrays and addresses")
raises(TypeError, "out is of the type NoneType", lambda: plan.execute(A, B, None))
end("python addresses")
