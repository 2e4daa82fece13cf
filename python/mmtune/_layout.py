"""From the shapes and strides of arrays to one problem, and where its matrices begin.

Strides become leading dimensions, transposes and batch strides; nothing is copied. What no problem can
describe raises Unfit, which names the operand: the caller copies it or refuses it.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Optional

from ._errors import ArgumentError
from ._library import BYTES


class View(NamedTuple):
    """An array without its elements: shape, strides in elements, and mmtune's name of their type."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    type: str


class Unfit(Exception):
    """An operand, "a", "b", "out" or "bias", whose strides no problem has."""

    def __init__(self, operand: str, why: str) -> None:
        super().__init__(f"{operand} has strides that no leading dimension and no transpose describe: {why}")
        self.operand = operand


@dataclass(frozen=True)
class Layout:
    """What mmt_problem has, row-major. `swapped`: A is the caller's b, and B its a."""
    m: int
    n: int
    k: int
    trans_a: bool = False
    trans_b: bool = False
    lda: int = 0
    ldb: int = 0
    ldc: int = 0
    batch: int = 1
    stride_a: int = 0
    stride_b: int = 0
    stride_c: int = 0
    bias: str = "none"
    swapped: bool = False
    offsets: Optional[tuple[list[int], list[int], list[int]]] = None
    """Of A, B and C in elements, one of each for an execution; None: one execution at the start."""
    shape: tuple[int, ...] = field(default=())
    """Of the product, as numpy.matmul has it."""


class _Matrix(NamedTuple):
    rows: int
    columns: int
    row: int
    column: int

    def transposed(self) -> "_Matrix":
        return _Matrix(self.columns, self.rows, self.column, self.row)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array without gaps."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def extent(view: View) -> int:
    """How many elements lie between the first and behind the last one; strides are not negative."""
    if 0 in view.shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(view.shape, view.strides))


def _repeats(view: View) -> bool:
    """Whether elements overlap: a stride is shorter than what the shorter strides span. (Those that are
    woven into one another without meeting count, too.)"""
    span = 1
    for stride, size in sorted((abs(stride), size) for size, stride in zip(view.shape, view.strides) if size > 1):
        if stride < span:
            return True
        span += (size - 1) * stride
    return False


def check_distinct(out: View) -> None:
    """Refuses an out whose elements overlap."""
    if _repeats(out):
        raise ArgumentError(f"out has the shape {out.shape} and strides of {out.strides} elements, so that some "
                            "overlap; each needs memory of its own", "out")


def _meet(x: View, at_x: int, y: View, at_y: int) -> bool:
    """Whether two views share a byte. Each is taken for rows that repeat at the common divisor of all longer
    strides: views that meet in none of those, as columns side by side of one matrix, do not meet."""
    rows, step = [], 0
    for view, at in ((x, at_x), (y, at_y)):
        width = 1 + sum(size - 1 for size, stride in zip(view.shape, view.strides) if stride == 1)
        step = math.gcd(step, *(stride * BYTES[view.type] for size, stride in zip(view.shape, view.strides)
                                if size > 1 and stride != 1))
        rows.append((at, width * BYTES[view.type], extent(view) * BYTES[view.type]))
    (at, width, size), (other, its_width, its_size) = rows
    if at + size <= other or other + its_size <= at:
        return False
    apart = (other - at) % step if step else 0
    return not step or apart < width or step - apart < its_width


def check_apart(views: tuple[View, View, View, Optional[View]], places: tuple[int, int, int, int]) -> None:
    """Refuses an out that shares memory with what is read for it. Places: addresses of a, b, out and bias, bytes."""
    for name, view, at in zip(("a", "b", "", "bias"), views, places):
        if name and view is not None and 0 not in view.shape and _meet(views[2], places[2], view, at):
            raise ArgumentError(f"out overlaps {name} in memory, of which elements would be read after they were "
                                f"written; give another out, or a copy of {name}", "out")


def _ld(operand: str, x: _Matrix) -> tuple[bool, int]:
    """Whether it is stored transposed, and its leading dimension; 0 where there is one row, or nothing."""
    if not x.rows or not x.columns:
        return False, 0
    if (x.column == 1 or x.columns == 1) and (x.row >= 1 or x.rows == 1):
        return False, x.row if x.rows > 1 else 0
    if (x.row == 1 or x.rows == 1) and (x.column >= 1 or x.columns == 1):
        return True, x.column if x.columns > 1 else 0
    raise Unfit(operand, f"rows are {x.row} elements apart and columns {x.column}; one of them must be 1, "
                         "the other at least 1")


def _matrix_of(operand: str, view: View) -> _Matrix:
    """The last two dimensions; a vector a is one row, a vector b one column."""
    if len(view.shape) > 1:
        return _Matrix(*view.shape[-2:], *view.strides[-2:])
    vector = _Matrix(1, view.shape[0], 0, view.strides[0])
    return vector if operand == "a" else vector.transposed()


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two shapes of batches have together."""
    length = max(len(a), len(b))
    pairs = list(zip((1,) * (length - len(a)) + a, (1,) * (length - len(b)) + b))
    if any(x != y and 1 not in (x, y) for x, y in pairs):
        raise ArgumentError(f"the batches of a and b, {a} and {b}, cannot be broadcast together", "batch")
    return tuple(y if x == 1 else x for x, y in pairs)


def _steps(view: View, batch: tuple[int, ...]) -> list[int]:
    """The stride of each dimension of the batch; 0 where all share one matrix."""
    own = list(zip(view.shape[:-2], view.strides[:-2]))
    missing = len(batch) - len(own)
    return [0] * missing + [0 if size == 1 else stride for size, stride in own]


_MOST_LAUNCHES = 1 << 22
_Dim = tuple[int, ...]  # four: matrices, and what they are apart in A, B and C


def _merge(dims: list[_Dim]) -> list[_Dim]:
    """Joins each dimension with the one inside it where all strides go on from one to the other."""
    merged: list[_Dim] = []
    for size, *steps in reversed(dims):
        if size == 1:
            continue
        if merged and all(outer == merged[-1][0] * inner for outer, inner in zip(steps, merged[-1][1:])):
            merged[-1] = (size * merged[-1][0], *merged[-1][1:])
        else:
            merged.append((size, *steps))
    return merged


def _offsets(dims: list[_Dim]) -> Optional[tuple[list[int], list[int], list[int]]]:
    if not dims:
        return None
    count = math.prod(size for size, *_ in dims)
    if count > _MOST_LAUNCHES:
        raise ArgumentError(f"the batch is of {count} products that no stride goes over, each a launch of its own; "
                            f"there are {_MOST_LAUNCHES} at most", "batch")
    places = [(0, 0, 0)]
    for size, *steps in dims:
        places = [tuple(at + i * step for at, step in zip(place, steps))  # type: ignore[misc]
                  for i in range(size) for place in places]
    return tuple(list(x) for x in zip(*places))  # type: ignore[return-value]


def _fold(layout: Layout) -> Layout:
    """A batch that shares B and whose rows go on from matrix to matrix is one product with more rows."""
    lda = layout.lda if layout.m > 1 else layout.stride_a
    ldc = layout.ldc if layout.m > 1 else layout.stride_c
    if (layout.batch == 1 or layout.stride_b or layout.trans_a or layout.bias == "m"
            or layout.stride_a != layout.m * lda or layout.stride_c != layout.m * ldc or lda < 1 or ldc < layout.n):
        return layout
    return replace(layout, m=layout.m * layout.batch, lda=lda, ldc=ldc, batch=1, stride_a=0, stride_c=0)


def _bias_of(bias: Optional[View], shape: tuple[int, ...], rows_are_last: bool) -> str:
    """The axis along which a bias runs: it has the shape (n,), or (m, 1) for one value for each row."""
    if bias is None:
        return "none"
    n = shape[-1] if shape else 1
    if bias.shape in ((n,), (1, n)):
        axis, step, size = "m" if rows_are_last else "n", bias.strides[-1], n
    elif len(shape) > 1 and not rows_are_last and bias.shape == (shape[-2], 1):
        axis, step, size = "m", bias.strides[0], shape[-2]
    else:
        raise ArgumentError(f"bias has the shape {bias.shape}; a product of the shape {shape} takes ({n},)"
                            + (f" or ({shape[-2]}, 1)" if len(shape) > 1 and not rows_are_last else ""), "bias")
    if step != 1 and size > 1:
        raise Unfit("bias", f"its values are {step} elements apart")
    return axis


def _shapes(a: View, b: View) -> tuple[_Matrix, _Matrix, tuple[int, ...]]:
    """op(A), op(B), and the shape of the batch, as numpy.matmul reads them."""
    for name, view in (("a", a), ("b", b)):
        if not view.shape:
            raise ArgumentError(f"{name} is a scalar; matmul needs at least one dimension", name)
    left, right = _matrix_of("a", a), _matrix_of("b", b)
    if left.columns != right.rows:
        raise ArgumentError(f"a of the shape {a.shape} has {left.columns} columns, b of the shape {b.shape} has "
                            f"{right.rows} rows; they must be as many", "k")
    return left, right, broadcast(a.shape[:-2], b.shape[:-2])


def _place_out(out: Optional[View], shape: tuple[int, ...], a: View, b: View, m: int,
               n: int) -> tuple[_Matrix, View]:
    """C as a matrix, and with its batch."""
    if out is None:
        out = View(shape, row_major(shape), "")
    elif out.shape != shape:
        raise ArgumentError(f"out has the shape {out.shape}; the product has {shape}", "out")
    batch = out.strides[:len(shape) - (len(a.shape) > 1) - (len(b.shape) > 1)]
    steps = list(out.strides[len(batch):])
    row = steps.pop(0) if len(a.shape) > 1 else 0
    column = steps.pop(0) if len(b.shape) > 1 else 0
    return _Matrix(m, n, row, column), View(shape[:len(batch)] + (m, n), batch + (row, column), out.type)


def lay_out(a: View, b: View, out: Optional[View] = None, bias: Optional[View] = None) -> Layout:
    """The problem that numpy.matmul(a, b, out) is. Unfit where an operand has to be copied for it."""
    left, right, batch = _shapes(a, b)
    m, n, k = left.rows, right.columns, left.columns
    shape = batch + ((m,) if len(a.shape) > 1 else ()) + ((n,) if len(b.shape) > 1 else ())
    matrix, c = _place_out(out, shape, a, b, m, n)
    axis = _bias_of(bias, shape, rows_are_last=len(a.shape) > 1 and len(b.shape) == 1)
    if 0 in shape:
        return Layout(m, n, k, bias=axis, shape=shape)

    dims = _merge(list(zip(batch, _steps(a, batch), _steps(b, batch), _steps(c, batch))))
    for name, at in (("a", 1), ("b", 2), ("out", 3)):
        if any(dim[at] < 0 for dim in dims):
            raise Unfit(name, "its batch goes backwards")
    swapped, ldc = _ld("out", matrix)
    if swapped:
        left, right, matrix = right.transposed(), left.transposed(), matrix.transposed()
        dims = [(size, b_step, a_step, c_step) for size, a_step, b_step, c_step in dims]
        axis = {"m": "n", "n": "m"}.get(axis, axis)
    first, second = ("b", "a") if swapped else ("a", "b")
    (trans_a, lda), (trans_b, ldb) = _ld(first, left), _ld(second, right)
    if ldc and ldc < matrix.columns or any(dim[3] == 0 for dim in dims):
        raise Unfit("out", "elements overlap")

    dims.sort(key=lambda dim: dim[0])
    count, of_a, of_b, of_c = dims.pop() if dims else (1, 0, 0, 0)
    layout = Layout(matrix.rows, matrix.columns, k, trans_a, trans_b, lda, ldb, ldc, count, of_a, of_b, of_c,
                    bias=axis, swapped=swapped, offsets=_offsets(dims), shape=shape)
    return _fold(layout)
