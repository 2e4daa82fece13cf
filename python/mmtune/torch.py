"""PyTorch's operators torch.ops.mmtune.mm, addmm and bmm, with gradients and under torch.compile.

    import mmtune.torch
    c = torch.ops.mmtune.mm(a, b)                      # as torch.mm; a third argument is out_dtype
    c = torch.ops.mmtune.addmm(bias, a, b)             # as torch.addmm: one kernel, bias in its epilogue
    c = torch.ops.mmtune.bmm(a, b)                     # as torch.bmm

Nothing of PyTorch's own is replaced: torch.mm stays what it is. After register_inductor(), torch.compile times
mmtune beside its own kernels for torch.mm, too.

f32 is multiplied at least as exactly as by FMAs of f32, whatever PyTorch's float32 matmul precision is.
"""
import inspect
from typing import Any, Optional

try:
    import torch
    from torch import Tensor
    if not hasattr(torch.library, "custom_op"):
        raise ImportError(f"PyTorch {torch.__version__} has no torch.library.custom_op")
except ImportError as error:
    raise ImportError(f"mmtune.torch needs PyTorch 2.4 or newer: {error}") from error

from ._matmul import matmul

# ---- what is taken, and what comes of it: with numbers and without ------------------------------------------


def _type_of_product(a: Tensor, out_dtype: Optional[torch.dtype]) -> torch.dtype:
    if a.dtype == torch.int8:
        return torch.int32
    return out_dtype or (torch.bfloat16 if _is_float8(a.dtype) else a.dtype)


def _is_float8(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point and dtype.itemsize == 1


def _check(a: Tensor, b: Tensor, dimensions: int) -> None:
    for name, x in (("a", a), ("b", b)):
        torch._check(x.dim() == dimensions, lambda: f"{name} has the shape {tuple(x.shape)}; {dimensions} dimensions are needed")
        torch._check(x.layout == torch.strided, lambda: f"{name} has the layout {x.layout}; a strided tensor is needed")
    torch._check(a.device == b.device, lambda: f"a is on {a.device}, b on {b.device}; they must be on one device")
    torch._check(a.dtype == b.dtype, lambda: f"a is of {a.dtype}, b of {b.dtype}; they must be of one type")
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"a of the shape {tuple(a.shape)} has {a.shape[-1]} columns, b of the "
                 f"shape {tuple(b.shape)} has {b.shape[-2]} rows; they must be as many")
    if dimensions == 3:
        torch._check(a.shape[0] == b.shape[0],
                     lambda: f"a has {a.shape[0]} matrices, b has {b.shape[0]}; they must be as many")


def _check_input(input: Tensor, a: Tensor, b: Tensor, dtype: torch.dtype) -> None:
    torch._check(input.dtype == dtype, lambda: f"input is of {input.dtype}; it must be of the product's type, {dtype}")
    fits = input.dim() <= 2 and all(size == 1 or size == full for size, full
                                    in zip(reversed(input.shape), (b.shape[1], a.shape[0])))
    torch._check(fits, lambda: f"input has the shape {tuple(input.shape)}, which is not broadcast to the product's, "
                               f"{(a.shape[0], b.shape[1])}")


# ---- what is computed --------------------------------------------------------------------------------------


def _plain(x: Tensor) -> Tensor:
    """The tensor, copied where its last two strides are neither those of rows nor of columns: gradients may be
    one number that is repeated."""
    x = x.resolve_neg()
    row, column = x.stride()[-2:]
    return x if (column == 1 and row >= 1) or (row == 1 and column >= 1) else x.contiguous()


def _product(a: Tensor, b: Tensor, **options: Any) -> Tensor:
    with torch.no_grad():
        product: Tensor = matmul(_plain(a), _plain(b), **options)
    return product


@torch.library.custom_op("mmtune::mm", mutates_args=())
def mm(a: Tensor, b: Tensor, out_dtype: Optional[torch.dtype] = None) -> Tensor:
    """a b of an m x k and a k x n matrix: m x n, of their type (int32 of int8, bfloat16 of float8) or of out_dtype:
    float32 of float16 and bfloat16; float32 or float16 of float8."""
    _check(a, b, 2)
    return _product(a, b, out_dtype=out_dtype)


@torch.library.custom_op("mmtune::bmm", mutates_args=())
def bmm(a: Tensor, b: Tensor, out_dtype: Optional[torch.dtype] = None) -> Tensor:
    """The products of as many matrices: batch x m x k and batch x k x n, to batch x m x n; types as mm has them."""
    _check(a, b, 3)
    return _product(a, b, out_dtype=out_dtype)


@torch.library.custom_op("mmtune::addmm", mutates_args=())
def addmm(input: Tensor, a: Tensor, b: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta input + alpha a b, m x n; input, of the product's type, is broadcast. One of n values is added in the
    epilogue. With beta 0, input is not read."""
    _check(a, b, 2)
    m, n, dtype = a.shape[0], b.shape[1], _type_of_product(a, None)
    _check_input(input, a, b, dtype)
    if beta == 0:
        return _product(a, b, alpha=alpha)
    if input.shape in ((n,), (1, n)):
        vector = (input if beta == 1 else input * beta).reshape(n).contiguous()
        return _product(a, b, bias=vector.detach(), alpha=alpha)
    out = torch.empty((m, n), dtype=dtype, device=a.device)
    with torch.no_grad():
        out.copy_(input.expand(m, n))
    _product(a, b, out=out, alpha=alpha, beta=beta)
    return out


@mm.register_fake
def _(a: Tensor, b: Tensor, out_dtype: Optional[torch.dtype] = None) -> Tensor:
    _check(a, b, 2)
    return a.new_empty((a.shape[0], b.shape[1]), dtype=_type_of_product(a, out_dtype))


@bmm.register_fake
def _(a: Tensor, b: Tensor, out_dtype: Optional[torch.dtype] = None) -> Tensor:
    _check(a, b, 3)
    return a.new_empty((a.shape[0], a.shape[1], b.shape[2]), dtype=_type_of_product(a, out_dtype))


@addmm.register_fake
def _(input: Tensor, a: Tensor, b: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    _check(a, b, 2)
    dtype = _type_of_product(a, None)
    _check_input(input, a, b, dtype)
    return a.new_empty((a.shape[0], b.shape[1]), dtype=dtype)


# ---- gradients ---------------------------------------------------------------------------------------------


def _gradient(x: Tensor, y: Tensor, operand: Tensor, multiply: Any) -> Tensor:
    """x y, of which one is what came back and one an operand, in the operand's type; float8 in that of what came."""
    grad = y if x is operand else x
    work = grad.dtype if _is_float8(operand.dtype) else operand.dtype
    product: Tensor = multiply(x.to(work), y.to(work))
    return product.to(operand.dtype)


def _gradients(needs: Any, operands: tuple[Tensor, Tensor], grad: Tensor, multiply: Any) -> tuple[Any, Any]:
    """Those of a and of b, where they are asked for."""
    a, b = operands
    right, left = b.transpose(-1, -2), a.transpose(-1, -2)
    return (_gradient(grad, right, right, multiply) if needs[0] else None,
            _gradient(left, grad, left, multiply) if needs[1] else None)


def _keep_operands(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])


mm.register_autograd(lambda ctx, grad: (*_gradients(ctx.needs_input_grad, ctx.saved_tensors, grad, mm), None),
                     setup_context=_keep_operands)
bmm.register_autograd(lambda ctx, grad: (*_gradients(ctx.needs_input_grad, ctx.saved_tensors, grad, bmm), None),
                      setup_context=_keep_operands)


def _keep_addmm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    input, a, b, beta, alpha = inputs
    ctx.save_for_backward(a, b)
    ctx.shape, ctx.beta, ctx.alpha = input.shape, beta, alpha


def _addmm_gradients(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    needs = ctx.needs_input_grad
    scaled = grad if ctx.alpha == 1 else grad * ctx.alpha
    of_input = (grad if ctx.beta == 1 else grad * ctx.beta).sum_to_size(ctx.shape) if needs[0] else None
    return of_input, *_gradients(needs[1:], ctx.saved_tensors, scaled, mm), None, None


addmm.register_autograd(_addmm_gradients, setup_context=_keep_addmm)

# ---- autocast: the types that PyTorch's own mm, bmm and addmm take inside of torch.autocast ----------------

_autocasts = torch.library.Library("mmtune", "IMPL")


def _register_autocast(name: str, device: str, key: str) -> None:
    op = getattr(torch.ops.mmtune, name)

    def is_cast(x: Any) -> bool:
        return (isinstance(x, Tensor) and x.is_floating_point() and x.device.type == device
                and x.dtype != torch.float64 and not _is_float8(x.dtype))

    def cast(*arguments: Any) -> Tensor:
        dtype = torch.get_autocast_dtype(device)
        with torch.autocast(device, enabled=False):
            product: Tensor = op(*(x.to(dtype) if is_cast(x) else x for x in arguments))
        return product

    _autocasts.impl(name, cast, key)


for _name in ("mm", "bmm", "addmm"):
    _register_autocast(_name, "cuda", "AutocastCUDA")
    _register_autocast(_name, "cpu", "AutocastCPU")

# ---- torch.compile ----------------------------------------------------------------------------------------


def mmtune_mm(a: Tensor, b: Tensor, *, out: Tensor) -> Tensor:
    """What Inductor times beside its own kernels for torch.mm, and calls where it is fastest."""
    return _product(a, b, out=out)


def _aten_mm(a: Tensor, b: Tensor, out_dtype: Optional[torch.dtype] = None) -> Tensor:
    return torch.mm(a, b) if out_dtype is None else torch.mm(a, b, out_dtype)


def _aten_bmm(a: Tensor, b: Tensor, out_dtype: Optional[torch.dtype] = None) -> Tensor:
    return torch.bmm(a, b) if out_dtype is None else torch.bmm(a, b, out_dtype)


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
