"""Functions of whole matrices and vectors in Python: inv, solve, eigh, sort and the like, with NumPy's conventions.

The last two axes are the matrix, all before them a batch; `...` is always a batch. What NumPy leaves open is fixed: the
first component of an eigenvector (of a left singular vector) is not negative, so that it is a function of its matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, ZERO, Expr, apply, const, is_exact, ref, show, value_of
from ...expr.sizes import equal
from ...ops.matrices import MATRICES, sizes
from .arithmetic import broadcast, elementwise, front_of, kept, matmul, reduced, shared
from .graph import axes_of, bound, packs_in, read, value
from .numpy_axes import diagonal, take_along_axis
from .reshaping import permuted, swapaxes
from .values import PackTooShort, Traced, axis_of, reread, size_of, traced

# the node of one function


def _element(x: Traced, subscripts: Sequence[Expr], what: str) -> Expr:
    """The element of an array as a whole: an axis of length 1 has an index too."""
    node = x._node
    if node.free:
        raise DeclarationError(
            f"sg.{what} takes an array, not a term with the index {node.free[0].name}. Make it one: "
            f"sg.tensor[{', '.join(i.name for i in node.free)}](...)."
        )
    return ref(node.declared or node.key, *subscripts)


def _own(x: Any, what: str, least: int) -> Traced:
    """An array, so many of whose last axes are those of a vector or matrix.

    Raises ShapeError where there are fewer, PackTooShort where a pack holds that of a vector.
    """
    array = traced(x)
    shape, rank = array._node.shape, array._node.rank
    missing = packs_in(shape) + least - rank
    if missing > 0:
        kind = "a matrix" if least == 2 else "a vector"
        said = f"sg.{what} takes {kind} or a stack of them, not {array!r}."
        held = packs_in(shape) and least == 1
        raise PackTooShort(said, show(shape[0]), missing) if held else ShapeError(said)
    return Traced(array._node, min(array._lead, rank - least))


def _along(x: Any, what: str, axis: int) -> tuple[Traced, int]:
    """An array with an axis at least, and the one that is meant, counted from the end."""
    return _own(x, what, 1), axis_of(traced(x), axis) - traced(x)._node.rank


def _applied(kind: str, *operands: Traced, columns: bool = False, what: str = "") -> Traced:
    """The function `kind` of its operands; with `columns` the last one has an axis of right-hand sides behind."""
    row = MATRICES[kind]
    what = what or row.function
    own = [len(places) + (columns and n > 0) for n, places in enumerate(row.operands)]
    nodes = [x._node for x in operands]
    front, lead = broadcast([front_of(x, x._node.rank - k) for x, k in zip(operands, own, strict=True)], f"sg.{what}")
    extents = nodes[0].shape[nodes[0].rank - own[0] :]
    letters: dict[str, Expr] = {}
    for letter, extent in zip(row.axes.split(), extents, strict=True):
        if not equal(letters.setdefault(letter, extent), extent):
            raise ShapeError(f"sg.{what} takes square matrices, not {show(letters[letter])} by {show(extent)}.")
    if row.function == "qr" and all(map(is_exact, extents)) and value_of(extents[0]) < value_of(extents[1]):
        raise ShapeError(f"sg.qr takes at least as many rows as columns, not {operands[0]!r}.")
    for n, k in list(zip(nodes, own, strict=True))[1:]:
        rows = n.shape[n.rank - k]
        if not equal(rows, extents[0]):
            raise ShapeError(
                f"sg.{what} of {show(extents[0])} equations with {show(rows)} right-hand sides. "
                f"Give both axes one name."
            )
    found = sizes(row, extents)
    behind = nodes[-1].shape[-1:] if columns else ()
    shape = (*front, *(found[letter] for letter in row.result.split()), *behind)
    axes = axes_of(shape)
    over = {bound(k + 1): extent for k, extent in enumerate(extents)}
    reducing = tuple(over)
    elements = []
    for number, (x, n, k) in enumerate(zip(operands, nodes, own, strict=True)):
        first = len(front) - (n.rank - k)
        batch = [
            ZERO if extent is ONE and wide is not ONE else i
            for i, extent, wide in zip(axes[first:], n.shape, front[first:], strict=False)
        ]
        at = [reducing[p] for p in row.operands[number]]
        elements.append(_element(x, [*batch, *at, *(axes[-1:] if columns and number else ())], what))
    body = elements[0] if len(elements) == 1 else apply("pair", *elements)
    return Traced(shared(kind, over, shape, body, nodes), lead)


# linear algebra


def _of_a_matrix(name: str, about: str, *kinds: str) -> Callable[[Any], Any]:
    def function(a: Any) -> Any:
        found = tuple(_applied(kind, _own(a, name, 2), what=name) for kind in kinds)
        return found if len(found) > 1 else found[0]

    function.__name__, function.__doc__ = name, about
    return function


inv = _of_a_matrix("inv", "The inverse of a matrix.", "inv")
det = _of_a_matrix("det", "The determinant.", "det")
logdet = _of_a_matrix("logdet", "The logarithm of the magnitude of the determinant.", "slogdet_log")
slogdet = _of_a_matrix(
    "slogdet", "The sign of the determinant, and the logarithm of its magnitude.", "slogdet_sign", "slogdet_log"
)
cholesky = _of_a_matrix(
    "cholesky", "The lower triangular L with L @ L.T = a, for a symmetric positive definite matrix.", "cholesky"
)
qr = _of_a_matrix(
    "qr", "Q with orthonormal columns and the upper triangular R with Q @ R = a, for a matrix that is not wide.",
    "qr_q", "qr_r",
)  # fmt: skip
eigvalsh = _of_a_matrix("eigvalsh", "The eigenvalues of a symmetric matrix from the smallest.", "eigh_values")
svdvals = _of_a_matrix("svdvals", "The singular values from the largest.", "svd_values")
pinv = _of_a_matrix("pinv", "The pseudoinverse of a matrix of full rank.", "pinv")
expm = _of_a_matrix("expm", "The exponential of a matrix.", "expm")


def solve(a: Any, b: Any) -> Traced:
    """x with a @ x = b. `b` is a vector, or a matrix whose columns are right-hand sides; with one axis less than `a` it
    is a stack of vectors."""
    return _solved("solve", a, b, "solve")


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Traced:
    """x with a @ x = b, where only the upper (or the lower) triangle of `a` is read."""
    return _solved("solve_lower" if lower else "solve_upper", a, b, "solve_triangular")


def _solved(kind: str, a: Any, b: Any, what: str) -> Traced:
    a, b = _own(a, what, 2), _own(b, what, 1)
    mine = b._node.rank - b._lead
    vector = mine == 1 or (b._lead == a._lead and b._node.rank == a._node.rank - 1)
    return _applied(kind, a, b, columns=not vector, what=what)


def eigh(a: Any) -> tuple[Traced, Traced]:
    """The eigenvalues of a symmetric matrix from the smallest, and its eigenvectors as columns, their first components
    not negative. The gradient is symmetric; that of the vectors needs distinct eigenvalues."""
    a = _own(a, "eigh", 2)
    vectors = _applied("eigh_vectors", a)
    return _applied("eigh_values", a), _signed(vectors, vectors, rows=True)


def svd(a: Any) -> tuple[Traced, Traced, Traced]:
    """U, the singular values from the largest, and V^T, as many as the smaller side; U's first row is not negative."""
    a = _own(a, "svd", 2)
    u, s, vh = (_applied(kind, a) for kind in ("svd_u", "svd_values", "svd_vh"))
    return _signed(u, u, rows=True), s, _signed(vh, u, rows=False)


def _signed(x: Traced, by: Traced, rows: bool) -> Traced:
    """`x` with the signs of vectors that make the first row of `by` not negative; the vectors are columns or rows."""
    shape = x._node.shape
    *batch, i, j = axes_of(shape)
    first = read(by._node, [*batch, ZERO, j if rows else i])
    element = read(x._node, [*batch, i, j])
    body = element * apply("select", apply("lt", first, ZERO), -ONE, ONE)
    return Traced(value(shape, body, [x._node, by._node]), x._lead)


def matrix_power(a: Any, n: int) -> Traced:
    """The product of `n` factors `a`; of inverses where n is negative."""
    a = _own(a, "matrix_power", 2)
    if not isinstance(n, int) or isinstance(n, bool):
        raise DeclarationError(f"the exponent of sg.matrix_power is a plain int, not {n!r}.")
    if not equal(*a._node.shape[-2:]):
        raise ShapeError(f"sg.matrix_power takes square matrices, not {a!r}.")
    if n < 0:
        return matrix_power(inv(a), -n)
    if n == 0:
        return _identity(a._node.shape, a._lead)
    if n == 1:
        return traced(a)
    rest = matrix_power(matmul(a, a), n // 2)
    return matmul(a, rest) if n % 2 else rest


def eye(n: Any) -> Traced:
    """The identity matrix with `n` rows: an int or a size, such as `x.shape[0]`."""
    size = size_of(n, "the number of rows of sg.eye")
    return _identity((size, size), 0)


def _identity(shape: Sequence[Expr], lead: int) -> Traced:
    *_, i, j = axes_of(shape)
    return Traced(value(shape, apply("select", apply("eq", i, j), ONE, ZERO)), lead)


def trace(a: Any) -> Traced:
    """The sum of the diagonal."""
    a = _own(a, "trace", 2)
    return reduced("sum", diagonal(a, axis1=-2, axis2=-1), -1)


def norm(x: Any, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Traced:
    """The norm of a vector or a matrix: 2 for vectors and "fro" for matrices, or `ord`.

    vectors   1, 2, inf, or any other number p
    matrices  "fro", "nuc" (the sum of the singular values), 1 (the largest column), inf (the largest row), 2 (the
              largest singular value)

    Without `axis` a vector or a matrix, whichever `x` is behind its pack.
    """
    given, x = traced(x), _own(x, "norm", 1)
    mine = x._node.rank - x._lead
    if axis is None and mine > 2:
        raise ShapeError(f"sg.norm of {x!r}: say over which axes, axis=-1 or axis=(-2, -1).")
    axes = list(range(x._lead, x._node.rank))
    if axis is not None:
        axes = [axis_of(given, a) for a in ([axis] if isinstance(axis, int) else axis)]
    infinite = isinstance(ord, float) and ord == float("inf")
    back: Any = tuple(a - x._node.rank for a in axes)
    size = elementwise("abs", x)
    if len(axes) == 1 or ord in (None, "fro"):
        if ord in (None, 2, "fro"):
            return elementwise("sqrt", reduced("sum", elementwise("pow", x, 2), back, keepdims))
        if infinite:
            return reduced("max", size, back, keepdims)
        if ord == 1:
            return reduced("sum", size, back, keepdims)
        powers = reduced("sum", elementwise("pow", size, ord), back, keepdims)
        return elementwise("pow", powers, elementwise("div", 1, ord))
    if len(axes) != 2 or not (infinite or ord in (1, 2, "nuc")):
        raise DeclarationError(
            f"sg.norm knows the orders 1, 2, inf and p of vectors, and 'fro', 'nuc', 1, 2 and inf of matrices, "
            f"not {ord!r} over {len(axes)} axes."
        )
    if ord == 1 or infinite:
        inner = reduced("sum", size, back[0] if ord == 1 else back[1], True)
        return reduced("max", inner, back, keepdims)
    if keepdims or back != (-2, -1):
        raise DeclarationError(f"sg.norm with {ord!r} is over the last two axes, without keepdims.")
    return reduced("sum" if ord == "nuc" else "max", svdvals(x), -1)


# order


def argsort(x: Any, axis: int = -1, descending: bool = False) -> Traced:
    """The positions of the elements from the smallest (or the largest); of equal ones the first comes first."""
    x, axis = _along(x, "argsort", axis)
    return _turned(_order(_turned(x, axis), descending), axis)


def sort(x: Any, axis: int = -1, descending: bool = False) -> Traced:
    """The elements from the smallest (or the largest)."""
    x, axis = _along(x, "sort", axis)
    turned = _turned(x, axis)
    return _turned(take_along_axis(turned, _order(turned, descending)), axis)


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Traced, Traced]:
    """The `k` largest (or smallest) elements from the most extreme one, and their positions."""
    x, axis = _along(x, "topk", axis)
    if not isinstance(k, int) or isinstance(k, bool) or k < 0:
        raise DeclarationError(f"sg.topk takes a plain int of elements, not {k!r}.")
    turned = _turned(x, axis)
    whole = _order(turned, largest)
    shape = (*whole._node.shape[:-1], const(k))
    order = reread(whole, shape, axes_of(shape))
    return _turned(take_along_axis(turned, order), axis), _turned(order, axis)


def median(x: Any, axis: int | None = None, keepdims: bool = False) -> Traced:
    """The element in the middle, or the mean of the two there; over all axes if none is said."""
    if axis is None and traced(x)._node.rank + packs_in(traced(x)._node.shape) > 1:
        raise DeclarationError(f"sg.median over all axes of {traced(x)!r}: say over which one.")
    x, axis = _along(x, "median", -1 if axis is None else axis)
    at = axis_of(x, axis)
    turned = permuted(x, [*(k for k in range(x._node.rank) if k != at), at], x._lead)
    *front, n = turned._node.shape
    ordered = take_along_axis(turned, _order(turned))
    places = apply("floordiv", n - 1, const(2)), apply("floordiv", n, const(2))
    middle = [reread(ordered, front, [*axes_of(front), place]) for place in places]
    result = elementwise("div", elementwise("add", *middle), 2)
    return kept(result, x._node.shape, {at}, x._lead) if keepdims else result


def _order(x: Traced, descending: bool = False) -> Traced:
    return _applied("argsort", elementwise("neg", x) if descending else x)


def _turned(x: Traced, axis: int) -> Traced:
    """`x` with an axis and its last one swapped."""
    return x if axis_of(x, axis) == x._node.rank - 1 else swapaxes(x, axis, -1)
