"""Problems and plans."""
from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import Any, NoReturn, Optional, Union

from . import _library
from ._arrays import check_address, device_pointer, kind_of, look_at, stream_of
from ._device import Buffer, Device, device as open_device, ends_at_fork
from ._errors import ArgumentError, ArgumentTypeError
from ._library import Args, ErrorStruct, PlanOptions, ProblemStruct, call, lib, number_of, raise_error, whole
from ._profile import Profile

# mmt_args behind its size, from byte 8 on, as one pack writes it: the handles of a, b and c, alpha, beta, no scalars, the
# handles of workspace and bias; offsets are 0.
PACK = struct.Struct("=Q8xQ8xQ8xdd16xQ8xQ8x").pack_into
EXECUTE = lib.mmt_execute

_ONLY_OUT = {"f32": "f32", "f64": "f64", "i32": "i32", "tf32": "f32", "i8": "i32"}
"""C's type, of those that have no choice."""


@dataclass
class Problem:
    """One problem, row-major: C = activation(alpha op(A) op(B) + beta C + bias), op(A) m x k, op(B) k x n.

    type        of A and B: "f32", "f64", "i32", "bf16", "f16", "tf32", "f8e4m3", "f8e5m2" or "i8"
    trans_a     A is stored k x m; trans_b: B is stored n x k
    lda …       elements from row to row as stored; 0: no gap
    batch       matrices; stride_a …: elements from one to the next, 0: all share one (C: no gap)
    out         C's type, where the type has a choice; None: its own (bf16 for f8)
    bias        "m", a value for each row, or "n", one for each column; of C's type
    activation  "relu", "gelu", "gelu_tanh" or "silu"
    op          "gemm", or another of mmtune.h
    """
    m: int
    n: int
    k: int
    type: str = "f32"
    trans_a: bool = False
    trans_b: bool = False
    lda: int = 0
    ldb: int = 0
    ldc: int = 0
    batch: int = 1
    stride_a: int = 0
    stride_b: int = 0
    stride_c: int = 0
    out: Optional[str] = None
    bias: Optional[str] = None
    activation: Optional[str] = None
    op: str = "gemm"

    def _struct(self) -> ProblemStruct:
        it = ProblemStruct()
        lib.mmt_problem_init(it, ctypes.sizeof(it), number_of(_library.OPS, self.op, "op"),
                             number_of(_library.TYPES, self.type, "type"),
                             *(whole(getattr(self, name), name) for name in "mnk"))
        for name in ("trans_a", "trans_b"):
            if getattr(self, name) not in (False, True):
                raise ArgumentError(f"{name} is {getattr(self, name)!r}; it is True or False", name)
            setattr(it, name, bool(getattr(self, name)))
        for name in ("lda", "ldb", "ldc", "batch", "stride_a", "stride_b", "stride_c"):
            setattr(it, name, whole(getattr(self, name), name))
        if self.out is not None:
            it.out = number_of(_library.TYPES, self.out, "out")
            if self.out != _ONLY_OUT.get(self.type, self.out):
                raise ArgumentError(f"out is {self.out!r}; a product of {self.type} gives {_ONLY_OUT[self.type]}", "out")
        it.bias = number_of(_library.BIASES, self.bias or "none", "bias")
        it.activation = number_of(_library.ACTIVATIONS, self.activation or "none", "activation")
        return it


def new_call() -> tuple[Any, ...]:
    """An mmt_args and an mmt_error, and where they are."""
    args, err = Args(), ErrorStruct()
    lib.mmt_args_init(args, ctypes.sizeof(args))
    return args, ctypes.addressof(args), err, ctypes.addressof(err)


class Executor:
    """A plan of the library with prepared arguments, which threads take turns with. Lives as long as the process:
    executions may be in flight when the last reference goes."""
    __slots__ = ("device", "handle", "workspace", "gone", "free", "__weakref__")

    def __init__(self, device: Device, problem: ProblemStruct, profile: Any, options: PlanOptions) -> None:
        self.device = device
        self.handle = call("mmt_plan_create", device.handle, profile.handle if profile else None, problem, options)
        self.workspace: int = lib.mmt_plan_workspace(self.handle)
        self.gone = ""
        """Why there is no handle any more."""
        self.free: list[tuple[Any, ...]] = []
        """Calls that nobody is in."""
        ends_at_fork(self)

    def run(self, a: int, b: int, c: int, bias: int, alpha: float, beta: float, stream: int,
            workspace: int = 0) -> None:
        """Puts an execution on the stream; operands are handles: a device pointer, a cl_mem. 0 for a workspace that
        is needed: the stream's own."""
        if self.workspace and not workspace:
            workspace = self.device._workspace(stream, self.workspace)
        try:
            args, at, err, err_at = held = self.free.pop()
        except IndexError:
            args, at, err, err_at = held = new_call()
        try:
            PACK(args, 8, a, b, c, alpha, beta, workspace, bias)
        except struct.error:
            self._refuse({"a": a, "b": b, "out": c, "bias": bias}, {"alpha": alpha, "beta": beta})
        if EXECUTE(self.handle, at, stream, err_at):
            self.fail(err)
        self.free.append(held)

    def run_batch(self, a: int, b: int, c: int, bias: int, alpha: float, beta: float, stream: int,
                  offsets: tuple[Any, Any, Any], workspace: int = 0) -> None:
        """The same at each of the offsets, lists of c_int64 in elements."""
        if self.workspace and not workspace:
            workspace = self.device._workspace(stream, self.workspace)
        args, at, err, err_at = new_call()
        PACK(args, 8, a, b, c, alpha, beta, workspace, bias)
        if lib.mmt_execute_batch(self.handle, at, len(offsets[0]), *offsets, None, None, stream, err_at):
            self.fail(err)

    def _refuse(self, addresses: dict[str, int], numbers: dict[str, Any]) -> NoReturn:
        """Says which value is none that mmt_args has."""
        for name, address in addresses.items():
            check_address(address, name)
        for name, number in numbers.items():
            check_number(number, name)
        raise ArgumentError(f"an execution has {addresses} and {numbers}; these are addresses and numbers")

    def fail(self, err: ErrorStruct) -> NoReturn:
        if not self.handle:
            raise ArgumentError(f"the plan was {self.gone}; make another", "plan")
        raise_error(err)

    def close(self) -> None:
        handle, self.handle, self.gone = self.handle, None, self.gone or "closed"
        lib.mmt_plan_free(handle)

    def end(self) -> None:
        self.handle, self.gone = None, "made before this process was forked, which no device survives"


def check_number(x: Any, name: str) -> None:
    """Refuses what is no float and becomes none."""
    try:
        struct.pack("d", x)
    except (struct.error, TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(f"{name} is {x!r}; it is a real number, as a float or what becomes one", name) from None


def options_of(precision: Optional[str] = None, effort: str = "estimate", configuration: Optional[str] = None,
               max_workspace: Optional[int] = None, seconds: float = 0.0) -> PlanOptions:
    it = PlanOptions()
    lib.mmt_plan_options_init(it, ctypes.sizeof(it))
    it.f32_mode = number_of(_library.F32_MODES, precision or "emulated", "precision")
    it.effort = number_of(_library.EFFORTS, effort, "effort")
    check_number(seconds, "seconds")
    if not 0 <= seconds <= 86400:
        raise ArgumentError(f"seconds is {seconds}; it is from 0 to 86400", "seconds")
    it.measure_seconds = seconds
    if configuration is not None:
        if not isinstance(configuration, str):
            raise ArgumentTypeError(f"configuration is {configuration!r}; it is a text, as \"mma TILE_M=128\"",
                                    "configuration")
        it.configuration = configuration.encode()
    if max_workspace is not None:
        it.max_workspace = whole(max_workspace, "max_workspace", 0)
    return it


class Plan:
    """A problem bound to one kernel of one device, to be executed any number of times, by any threads.

    Making one may compile for seconds, where the kernel is not in the cache on disk; `execute` never does.

        plan = mmtune.Plan(mmtune.Problem(4096, 4096, 4096, "bf16", trans_b=True), device="cuda:0")
        plan.execute(a, b, c)

    problem        a Problem; or m, n, k as the first three arguments, and further members of a Problem by name
    device         a Device, number or id; None: number 0
    profile        a Profile; None: the device's own; False: none, so that defaults serve
    precision      of f32: "emulated" (the default: tensor cores may do it, more exactly than FMAs) or "strict"
    effort         "measure" times the few kernels that promise most where the profile has not this problem,
                   for `seconds` at most (0: 0.05 s), building apart
    configuration  this kernel, as the program prints it
    max_workspace  bytes; None: no cap

    A plan that is no longer needed is kept until the process ends, or until `close`.
    """

    def __init__(self, problem: Union[Problem, int], n: Optional[int] = None, k: Optional[int] = None,
                 type: str = "f32", *, device: Any = None, profile: Any = None, precision: Optional[str] = None,
                 effort: str = "estimate", seconds: float = 0.0, configuration: Optional[str] = None,
                 max_workspace: Optional[int] = None, **members: Any) -> None:
        if not isinstance(problem, Problem):
            if n is None or k is None:
                raise ArgumentError("Plan needs a Problem, or m, n and k", "problem")
            problem = Problem(problem, n, k, type, **members)
        elif n is not None or k is not None or members:
            raise ArgumentError("what a Problem says is not said again beside it", "problem")
        self.problem = problem
        self.device: Device = open_device(device)
        chosen = self.device.profile if profile is None else profile
        if chosen and not isinstance(chosen, Profile):
            raise ArgumentTypeError(f"profile is {profile!r}; it is a Profile, None for the device's own, or False",
                                    "profile")
        self._executor = Executor(self.device, problem._struct(), chosen,
                                  options_of(precision, effort, configuration, max_workspace, seconds))
        self._run = self._executor.run

    @property
    def workspace(self) -> int:
        """Bytes of device memory that an execution needs; mmtune holds them, once for each stream."""
        return self._executor.workspace

    def describe(self) -> str:
        """The configuration, why it was selected, and what the driver refused, for people."""
        return _library.text_of("mmt_plan_describe", self._executor.handle)

    def execute(self, a: Any, b: Any, out: Any, *, alpha: float = 1.0, beta: float = 0.0, bias: Any = None,
                stream: Any = None) -> Any:
        """Puts one execution on the stream and returns `out`.

        a, b, out, bias  device memory laid out as the problem says, which is not checked: a Buffer, an array of
                         PyTorch, CuPy or another library on a CUDA device, or an address as an int
        alpha, beta      host numbers; with beta 0, C is not read
        stream           a stream of PyTorch or CuPy, or an address as an int; None: the current stream of the
                         library whose array `out` is, else the device's own queue

        C overlaps neither A nor B. Where it is done, stream order says; with arrays that lend their memory by
        __dlpack__ the call waits.
        """
        held: list[Any] = []
        if stream is None:
            stream = 0 if type(out) is Buffer else _current_stream(out)
        elif stream.__class__ is not int:
            stream = stream_of(stream)
        try:
            self._run(a.operand.handle if type(a) is Buffer else _pointer(a, "a", stream, held),
                      b.operand.handle if type(b) is Buffer else _pointer(b, "b", stream, held),
                      out.operand.handle if type(out) is Buffer else _pointer(out, "out", stream, held),
                      0 if bias is None else _pointer(bias, "bias", stream, held), alpha, beta, stream)
        finally:
            if held:
                self.device.finish(stream)
        return out

    def close(self) -> None:
        """Frees the plan, whose executions must be finished."""
        self._executor.close()

    def __repr__(self) -> str:
        return f"<mmtune.Plan {self.describe().splitlines()[0] if self._executor.handle else self._executor.gone}>"


def _pointer(x: Any, name: str, stream: int, held: list[Any]) -> int:
    if issubclass(type(x), int):  # isinstance goes by __class__, which may be anything
        return int(x)
    if issubclass(type(x), Buffer):
        return int(x.operand.handle)
    return device_pointer(x, name, stream, held)


def _current_stream(x: Any) -> int:
    if type(x) is int:
        return 0
    kind = kind_of(x, "out")
    return 0 if kind.exports else kind.stream(kind.device_of(look_at(kind, x, "out")[1]))
