"""PyTorch's operators torch.ops.mmtune.mm, addmm and bmm, with gradients and under torch.compile.

    import mmtune.torch
    c = torch.ops.mmtune.mm(a, b)                      # as torch.mm
    c = torch.ops.mmtune.addmm(bias, a, b)             # as torch.addmm: one kernel, bias in its epilogue
    c = torch.ops.mmtune.bmm(a, b)                     # as torch.bmm

Nothing of PyTorch's own is replaced: torch.mm stays what it is. After register_inductor(), torch.compile times
mmtune beside its own kernels for torch.mm, too.

f32 is multiplied at least as exactly as by FMAs of f32, whatever PyTorch's float32 matmul precision is.
"""
import inspect
from typing import Any

try:
    import torch
    from torch import Tensor
    if not hasattr(torch.library, "custom_op"):
        raise ImportError(f"PyTorch {torch.__version__} has no torch.library.custom_op")
except ImportError as error:
    raise ImportError(f"mmtune.torch needs PyTorch 2.4 or newer: {error}") from error

from ._matmul import matmul

# ---- what is computed ------------------------------------------------------------------------------------


def _plain(x: Tensor) -> Tensor:
    """The tensor, copied where its last two strides are neither those of rows nor of columns: gradients may be
    one number that is repeated."""
    row, column = x.stride()[-2:]
    return x if (column == 1 and row >= 1) or (row == 1 and column >= 1) else x.contiguous()


def _product(a: Tensor, b: Tensor, **options: Any) -> Tensor:
    with torch.no_grad():
        product: Tensor = matmul(_plain(a), _plain(b), **options)
    return product


@torch.library.custom_op("mmtune::mm", mutates_args=())
def mm(a: Tensor, b: Tensor) -> Tensor:
    """a b of an m x k and a k x n matrix: m x n, of their type."""
    return _product(a, b)


@torch.library.custom_op("mmtune::bmm", mutates_args=())
def bmm(a: Tensor, b: Tensor) -> Tensor:
    """The products of as many matrices: batch x m x k and batch x k x n, to batch x m x n."""
    return _product(a, b)


@torch.library.custom_op("mmtune::addmm", mutates_args=())
def addmm(input: Tensor, a: Tensor, b: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta input + alpha a b, m x n; input is broadcast. One of n values is added in the epilogue."""
    m, n = a.shape[0], b.shape[1]
    if input.shape in ((n,), (1, n)) and input.dtype == a.dtype and beta != 0:
        vector = (input if beta == 1 else input * beta).reshape(n).contiguous()
        return _product(a, b, bias=vector.detach(), alpha=alpha)
    if beta == 0:
        return _product(a, b, alpha=alpha)
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    with torch.no_grad():
        out.copy_(input.expand(m, n))
    _product(a, b, out=out, alpha=alpha, beta=beta)
    return out


# ---- shapes without numbers, and gradients ----------------------------------------------------------------


def _check(a: Tensor, b: Tensor, dimensions: int) -> None:
    torch._check(a.dim() == dimensions and b.dim() == dimensions,
                 lambda: f"a has {a.dim()} dimensions and b {b.dim()}; both must have {dimensions}")
    torch._check(a.dtype == b.dtype, lambda: f"a is of {a.dtype}, b of {b.dtype}; they must be of one type")
    torch._check(a.shape[-1] == b.shape[-2],
                 lambda: f"a has {a.shape[-1]} columns, b has {b.shape[-2]} rows; they must be as many")


@mm.register_fake
def _(a: Tensor, b: Tensor) -> Tensor:
    _check(a, b, 2)
    return a.new_empty((a.shape[0], b.shape[1]))


@bmm.register_fake
def _(a: Tensor, b: Tensor) -> Tensor:
    _check(a, b, 3)
    torch._check(a.shape[0] == b.shape[0], lambda: f"a has {a.shape[0]} matrices, b {b.shape[0]}")
    return a.new_empty((a.shape[0], a.shape[1], b.shape[2]))


@addmm.register_fake
def _(input: Tensor, a: Tensor, b: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    _check(a, b, 2)
    return a.new_empty((a.shape[0], b.shape[1]))


def _keep_operands(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[-2], inputs[-1])


def _gradients(ctx: Any, grad: Tensor, multiply: Any) -> tuple[Any, Any]:
    """Those of a and of b, where they are asked for."""
    a, b = ctx.saved_tensors
    of_a = multiply(grad, b.transpose(-1, -2)) if ctx.needs_input_grad[-2] else None
    return of_a, multiply(a.transpose(-1, -2), grad) if ctx.needs_input_grad[-1] else None


mm.register_autograd(lambda ctx, grad: _gradients(ctx, grad, mm), setup_context=_keep_operands)
bmm.register_autograd(lambda ctx, grad: _gradients(ctx, grad, bmm), setup_context=_keep_operands)


def _keep_addmm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    input, a, b, beta, alpha = inputs
    ctx.save_for_backward(a, b)
    ctx.shape, ctx.beta, ctx.alpha = input.shape, beta, alpha


def _addmm_gradients(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    a, b = ctx.saved_tensors
    needs = ctx.needs_input_grad
    scaled = grad if ctx.alpha == 1 else grad * ctx.alpha
    of_input = (grad if ctx.beta == 1 else grad * ctx.beta).sum_to_size(ctx.shape) if needs[0] else None
    of_a = mm(scaled, b.t()) if needs[1] else None
    return of_input, of_a, mm(a.t(), scaled) if needs[2] else None, None, None


addmm.register_autograd(_addmm_gradients, setup_context=_keep_addmm)

# ---- torch.compile ----------------------------------------------------------------------------------------


def mmtune_mm(a: Tensor, b: Tensor, *, out: Tensor) -> Tensor:
    """What Inductor times beside its own kernels for torch.mm, and calls where it is fastest."""
    return _product(a, b, out=out)


def _aten_mm(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a, b)


def _aten_bmm(a: Tensor, b: Tensor) -> Tensor:
    return torch.bmm(a, b)


def _register_external_matmul() -> str:
    """The kernel has its name in Inductor before a graph that an earlier process compiled calls it by that name."""
    try:
        from torch._inductor import config
        from torch._inductor.kernel.mm import lazy_register_extern_choice
        lazy_register_extern_choice(mmtune_mm)
        if mmtune_mm not in config.external_matmul:
            config.external_matmul = [*config.external_matmul, mmtune_mm]
    except (ImportError, AttributeError, TypeError) as error:
        return f"not registered: {error}"
    return "registered"


def _register_autotuning(min_speedup_threshold: float) -> str:
    """PyTorch 2.11 fails where it times an operator for a second graph. addmm is not among them: that Inductor also
    loses beta and alpha where it keeps the operator."""
    try:
        from torch._inductor.kernel.custom_op import CustomOpConfig, register_custom_op_autotuning
        if "min_speedup_threshold" not in inspect.signature(register_custom_op_autotuning).parameters:
            return f"not registered: the Inductor of PyTorch {torch.__version__} times an operator for one graph alone"
        for op, own in ((mm, _aten_mm), (bmm, _aten_bmm)):
            register_custom_op_autotuning(op, configs=[CustomOpConfig(own)], name=own.__name__[1:] + "_or_mmtune",
                                          min_speedup_threshold=min_speedup_threshold)
    except (ImportError, AttributeError, TypeError) as error:
        return f"not registered: {error}"
    return "registered"


def register_inductor(min_speedup_threshold: float = 1.0) -> dict[str, str]:
    """Lets Inductor time mmtune beside its own kernels. Call it before torch.compile, in each process.

    "torch.mm"          with mode="max-autotune" mmtune is one of those that are timed, and taken if it is fastest
    "torch.ops.mmtune"  mm and bmm become PyTorch's own where these are faster by that factor

    Returns "registered" for each, or why not: Inductor does not promise to keep what this rests on, and nothing
    fails without it. Importing Inductor takes seconds.
    """
    return {"torch.mm": _register_external_matmul(), "torch.ops.mmtune": _register_autotuning(min_speedup_threshold)}


__all__ = ["addmm", "bmm", "mm", "register_inductor"]
