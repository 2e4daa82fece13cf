"""mmtune with PyTorch's tensors of the CPU on the first OpenCL CPU device: run_torch.py; skipped without PyTorch

mmtune.matmul beside torch.matmul and what it refuses; torch.ops.mmtune: values, gradients of first and second order,
fakes, autocast, torch.compile. What needs a card is in card_python.py."""
import importlib.util
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tuner"))
from checks import check, end, make_home, need_cpu_device, raises, skip  # noqa: E402

if importlib.util.find_spec("torch") is None:
    skip("PyTorch is not here")
home, environment = make_home()
os.environ.update(environment, XDG_CACHE_HOME=os.environ["XDG_CACHE_HOME"])
DEVICE = need_cpu_device(os.environ["MMTUNE_PROGRAM"])

import torch  # noqa: E402

import mmtune  # noqa: E402
import mmtune.torch  # noqa: E402

ops = torch.ops.mmtune
torch.manual_seed(1)
warnings.simplefilter("ignore")


def made(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def leaves(*shapes):
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def near(got, want, what, tolerance=1e-4):
    good = got.shape == want.shape and torch.allclose(got.double(), want.double(), rtol=tolerance, atol=tolerance)
    check(good, f"{what}: {got}, should be {want}")


def test_matmul():
    a, b = made(5, 7), made(7, 3)
    for x, y in ((a, b), (a.t().contiguous().t(), b), (a[:1].expand(5, 7), b), (made(2, 5, 7), b), (a[0], b), (a[0], a[1])):
        near(mmtune.matmul(x, y), x @ y, f"{tuple(x.shape)} {x.stride()}")
    for dtype, own in ((torch.bfloat16, torch.bfloat16), (torch.int8, torch.int32), (torch.float8_e4m3fn, torch.bfloat16)):
        got = mmtune.matmul((a * 4).to(dtype), (b * 4).to(dtype))
        check(got.dtype == own, f"{dtype} gives {got.dtype}")
        near(got, (a * 4).to(dtype).float() @ (b * 4).to(dtype).float(), f"{dtype}", 2e-1)
    with torch.no_grad():
        near(mmtune.matmul(torch.nn.Parameter(a), b, bias=torch.nn.Parameter(b[0])), a @ b + b[0], "parameters, bias")
    # Two tensors of one shape whose strides say nothing of their elements' places are one signature.
    for column in (made(7, 1), made(1, 7).t(), made(7, 4)[:, :1]):
        near(mmtune.matmul(a, column), a @ column, f"a column with strides {column.stride()}")


def test_refusals():
    a, b, wrong = made(5, 7), made(7, 3), mmtune.Error
    for words, call in (("b is of numpy.ndarray", lambda: mmtune.matmul(a, b.numpy())),
                        ("out is of numpy.ndarray", lambda: mmtune.matmul(a, b, out=made(5, 3).numpy())),
                        ("bias is of the type float", lambda: mmtune.matmul(a, b, bias=1.0)),
                        ("requires its gradient", lambda: mmtune.matmul(torch.nn.Parameter(a), b)),
                        ("requires its gradient", lambda: mmtune.matmul(a, b, bias=torch.nn.Parameter(b[0]))),
                        ("a is on meta", lambda: mmtune.matmul(a.to("meta"), b)),
                        ("b has the layout torch.sparse_coo", lambda: mmtune.matmul(a, b.to_sparse())),
                        ("resolve_neg()", lambda: mmtune.matmul(torch._neg_view(a), b)),
                        ("a has elements of torch.complex64", lambda: mmtune.matmul(a + 0j, b + 0j)),
                        ("some overlap", lambda: mmtune.matmul(a, b, out=made(1, 3).expand(5, 3))),
                        ("inside of torch.vmap", lambda: torch.vmap(mmtune.matmul)(made(2, 5, 7), made(2, 7, 3)))):
        mmtune.matmul(a, b)  # a plan for these very signatures is there
        raises(wrong, words, call)
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        raises(wrong, "is a FakeTensor", lambda: mmtune.matmul(torch.ones(5, 7), torch.ones(7, 3)))
    for words, call in (("a has the shape (7,)", lambda: ops.mm(a[0], b)), ("has 7 columns", lambda: ops.mm(a, a)),
                        ("of one type", lambda: ops.mm(a, b.double())),
                        ("a has 1 matrices", lambda: ops.bmm(made(1, 5, 7), made(3, 7, 3))),
                        ("not broadcast", lambda: ops.addmm(made(4), a, b)),
                        ("input is of torch.float64", lambda: ops.addmm(made(3).double(), a, b)),
                        ("layout", lambda: ops.mm(a.to_sparse(), b))):
        raises(RuntimeError, words, call)


def test_gradients():
    for op, inputs in ((ops.mm, leaves((3, 4), (4, 2))), (ops.bmm, leaves((2, 3, 4), (2, 4, 2))),
                       (ops.addmm, leaves((2,), (3, 4), (4, 2))), (ops.addmm, leaves((3, 1), (3, 4), (4, 2)))):
        check(torch.autograd.gradcheck(op, inputs), f"gradients of {op}")
        check(torch.autograd.gradgradcheck(op, inputs), f"gradients of gradients of {op}")
        said = torch.library.opcheck(op, inputs)
        check(set(said.values()) == {"SUCCESS"}, f"opcheck of {op}: {said}")
    (x, y) = leaves((1, 4), (4, 2))
    check(torch.autograd.gradcheck(lambda x, y: ops.mm(x.expand(3, 4), y), (x, y)), "of an expanded operand")
    for only in range(3):
        inputs = [x.detach().requires_grad_(i == only) for i, x in enumerate(leaves((2,), (3, 4), (4, 2)))]
        check(torch.autograd.gradcheck(lambda *t: ops.addmm(*t, 0.5, 2.0), inputs), f"of operand {only} alone")
    a, b = (x.detach().bfloat16().requires_grad_() for x in leaves((3, 4), (4, 2)))
    c = ops.mm(a, b, torch.float32)
    c.sum().backward()
    check(c.dtype == torch.float32 and a.grad.dtype == torch.bfloat16, "out_dtype, and the gradient in the operand's type")
    near(a.grad, b.detach().float().sum(1).expand(3, 4), "a gradient of a product with out_dtype", 2e-2)


def test_types():
    for dtype, out_dtype, own in ((torch.int8, None, torch.int32), (torch.float8_e5m2, None, torch.bfloat16),
                                  (torch.float8_e5m2, torch.float16, torch.float16), (torch.bfloat16, torch.float32, torch.float32)):
        a, b = made(5, 7).to(dtype), made(7, 3).to(dtype)
        check(ops.mm(a, b, out_dtype).dtype == own, f"{dtype} gives {own}")
        torch.library.opcheck(ops.mm, (a, b, out_dtype), test_utils=("test_faketensor",))
    a, b, input = made(5, 7), made(7, 3), made(3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for got, want in ((ops.mm(a, b), torch.mm(a, b)), (ops.addmm(input, a, b.bfloat16()), torch.addmm(input, a, b)),
                          (ops.bmm(a[None], b[None]), torch.bmm(a[None], b[None])),
                          (ops.mm(a.double(), b.double()), torch.mm(a.double(), b.double()))):
            check(got.dtype == want.dtype, f"in autocast {got.dtype}, as PyTorch's {want.dtype}")
            near(got, want, "in autocast", 5e-2)
    near(ops.addmm(torch.full((3,), torch.nan), a, b, 0.0, 2.0), 2 * (a @ b), "with beta 0, input is not read")


def test_compile():
    def layer(x, w, bias):
        return torch.relu(ops.addmm(bias, x, w)).sum(-1)

    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=True)
    for m in (4, 6):
        inputs = [made(*shape).requires_grad_() for shape in ((m, 7), (7, 3), (3,))]
        got, want = compiled(*inputs), layer(*inputs)
        near(got, want, "a compiled function")
        for ours, its in zip(torch.autograd.grad(got.sum(), inputs), torch.autograd.grad(want.sum(), inputs)):
            near(ours, its, "its gradients")
    a, b = made(5, 7), made(7, 3)
    around = torch.compile(lambda x, y: mmtune.matmul(x, y) + 1, backend="eager")
    near(around(a, b), a @ b + 1, "mmtune.matmul, which breaks the graph")


test_matmul()
test_refusals()
test_gradients()
test_types()
test_compile()
end("python torch", home)
