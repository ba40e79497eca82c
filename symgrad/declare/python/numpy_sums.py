"""NumPy's functions that are sums and products of others, with NumPy's arguments and defaults."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, ZERO, Expr, apply, const
from ...expr.sizes import equal
from ...later import of_numpy
from . import joining, matrices
from .arithmetic import contracted, elementwise, reduced
from .graph import Pieces, axes_of, constant, places_of, read
from .numpy_axes import along, expand_dims, flat, sized
from .subscripts import selected
from .values import Axis, Traced, axis_of, is_condition, traced, written

_add, _sub, _mul, _div = (partial(elementwise, op) for op in ("add", "sub", "mul", "div"))


# sums and products so far


def running(op: str, neutral: Expr | None, a: Any, axis: int | None = 0) -> Traced:
    """Along an axis, the elements up to each combined by `op`; all of them, where the axis is None."""
    x: Traced = flat(a) if axis is None else traced(a)
    at, shape = axis_of(x, axis or 0), x._node.shape
    if shape[at] is ONE:
        return x
    made = Pieces(shape=shape, wish="running")
    places = list(places_of(shape))
    i, term = places[at], read(x._node, axes_of(shape))
    before = read(made, [*places[:at], i - 1, *places[at + 1 :]])
    if neutral is None:
        body = apply("select", apply("gt", i, ZERO), apply(op, before, term), term)
    else:
        body = apply(op, apply("select", apply("gt", i, ZERO), before, neutral), term)
    return written(made, places, body, shape, [made, x._node], x._lead)


def diff(a: Any, n: int = 1, axis: int = -1) -> Traced:
    x: Traced = traced(a)
    for _ in range(n):
        x = _sub(along(x, axis, slice(1, None)), along(x, axis, slice(None, -1)))
    return x


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Traced:
    y = traced(y)
    if x is not None:
        x = traced(x)
        dx = diff(x, axis=axis) if x._node.rank > 1 else _spread(diff(x), y, axis)
    middle = _div(_add(along(y, axis, slice(1, None)), along(y, axis, slice(None, -1))), 2.0)
    return reduced("sum", _mul(dx, middle), axis)


def _spread(w: Traced, x: Traced, axis: int) -> Traced:
    """A vector along an axis of `x`."""
    behind = x._node.rank - 1 - axis_of(x, axis)
    return selected(w, (slice(None), *[None] * behind))


# reductions


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Traced:
    a = traced(a)
    if weights is None:
        return reduced("mean", a, axis, keepdims)
    w = traced(weights)
    total = reduced("sum", w, axis, keepdims) if w._node.rank == a._node.rank else reduced("sum", w)
    if w._node.rank < a._node.rank:
        w = _spread(w, a, axis)
    return _div(reduced("sum", _mul(a, w), axis, keepdims), total)


def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Traced:
    return _sub(reduced("max", a, axis, keepdims), reduced("min", a, axis, keepdims))


def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Traced:
    held = a if is_condition(a) else elementwise("ne", a, 0)
    return reduced("sum", elementwise("select", held, 1, 0), axis, keepdims)


def any_of(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Traced:
    return elementwise("gt", count_nonzero(a, axis, keepdims=keepdims), 0)


def all_of(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Traced:
    return elementwise("eq", count_nonzero(elementwise("eq", a, 0), axis, keepdims=keepdims), 0)


def quantile(a: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Traced:
    if isinstance(q, (list, tuple)) or of_numpy(q) and q.ndim == 1:
        return joining.stack([quantile(a, one, axis, keepdims) for one in q], 0)
    if not isinstance(q, (int, float)) or not 0 <= q <= 1:
        raise DeclarationError(f"np.quantile takes plain numbers between 0 and 1, not {q!r}.")
    a = flat(a) if axis is None and not keepdims else traced(a)
    ordered = matrices.sort(a, -1 if axis is None else axis)
    at, shape = axis_of(a, -1 if axis is None else axis), a._node.shape
    part = Fraction(str(q))
    above = (shape[at] - 1) * part.numerator
    places = [apply("floordiv", above + k, const(part.denominator)) for k in (0, part.denominator - 1)]
    low, high = (along(ordered, at - a._node.rank, Traced(constant(p))) for p in places)
    between = _div(Traced(constant(apply("mod", above, const(part.denominator)))), part.denominator)
    found = _add(low, _mul(_sub(high, low), between))
    return expand_dims(found, at - a._node.rank) if keepdims else found


# products


def einsum(subscripts: str, *operands: Any, optimize: Any = False) -> Traced:
    text = subscripts.replace(" ", "") if isinstance(subscripts, str) else ""
    left, arrow, shown = text.partition("->")
    terms = left.split(",")
    letters = "".join(terms).replace("...", "")
    if not arrow:
        shown = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    dots = [t for t in terms if "..." in t]
    wrong = any(not t.startswith("...") for t in (*dots, *([shown] if arrow and dots else [])))
    shown = shown.removeprefix("...")
    if wrong or not (letters + shown + "a").isalpha() or len(set(shown)) < len(shown) or set(shown) - set(letters):
        raise DeclarationError(f"np.einsum is traced for 'ij,...j->...i' and the like, not {subscripts!r}.")
    if len(terms) != len(operands):
        raise DeclarationError(f"np.einsum({subscripts!r}) takes {len(terms)} operands.")
    for x, term in zip(operands, terms, strict=True):
        if "..." not in term and traced(x)._node.rank != len(term):
            raise ShapeError(f"{term!r} of np.einsum does not name the axes of {x!r}.")
    return contracted([list(t.removeprefix("...")) for t in terms], list(shown), *operands)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Traced:
    a, b = traced(a), traced(b)
    p, q = a._node.rank, b._node.rank
    if a._lead or b._lead:
        raise DeclarationError("`...` is any number of axes. Say which are summed: np.einsum('...i,i->...', a, b).")
    if isinstance(axes, int):
        axes = (range(p - axes, p), range(axes))
    mine, theirs = ([k] if isinstance(k, int) else list(k) for k in axes)
    left = list(range(p))
    right = list(range(p, p + q))
    for i, j in zip(mine, theirs, strict=True):
        right[axis_of(b, j)] = left[axis_of(a, i)]
    shown = [c for c in (*left, *right) if (*left, *right).count(c) == 1]
    return contracted([left, right], shown, a, b)


def inner(a: Any, b: Any) -> Traced:
    a, b = traced(a), traced(b)
    return tensordot(a, b, (-1, -1)) if a._node.rank and b._node.rank else _mul(a, b)


def kron(a: Any, b: Any) -> Traced:
    a, b = traced(a), traced(b)
    rank = a._node.rank
    if rank != b._node.rank:
        raise ShapeError("np.kron is traced for arrays with one number of axes.")
    wide = _mul(selected(a, (slice(None), None) * rank), selected(b, (None, slice(None)) * rank))
    return sized(wide, [m * n for m, n in zip(a._node.shape, b._node.shape, strict=True)])


def cross(a: Any, b: Any) -> Traced:
    a, b = traced(a), traced(b)
    if any(not x._node.rank or not equal(x._node.shape[-1], const(3)) for x in (a, b)):
        raise ShapeError("np.cross is traced for vectors of 3 numbers along the last axis.")
    (a0, a1, a2), (b0, b1, b2) = ([along(x, -1, k) for k in range(3)] for x in (a, b))
    parts = ((a1, b2, a2, b1), (a2, b0, a0, b2), (a0, b1, a1, b0))
    return joining.stack([_sub(_mul(p, q), _mul(r, s)) for p, q, r, s in parts])
