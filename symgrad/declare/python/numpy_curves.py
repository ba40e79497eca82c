"""NumPy's functions of sampled curves, polynomials and bins, with NumPy's arguments and defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...errors import DeclarationError
from ...expr import apply, is_exact, value_of
from ...expr.sizes import floor_divide, never_negative, tidy
from . import joining
from .arithmetic import elementwise, reduced
from .graph import Pieces, axes_of, constant, places_of, read, value
from .numpy_axes import along, flip
from .numpy_sums import diff
from .scope import inside
from .subscripts import selected
from .values import Traced, is_condition, traced, written

RISING = {"interp": ("xp", 1), "digitize": ("bins", 1), "searchsorted": ("a", 0)}  # the argument that rises, its place

_add, _sub, _mul, _div, _pow = (partial(elementwise, op) for op in ("add", "sub", "mul", "div", "pow"))


def _behind(x: Traced) -> Traced:
    """`x` with an axis of its own behind, for what is asked of each element."""
    return selected(x, (..., None))


def interp(x: Any, xp: Any, fp: Any) -> Traced:
    """The height of the first point, and of each stretch as much as lies before `x`; a point belongs to the stretch
    behind it, whose slope it has."""
    x, xp, fp = traced(x), traced(xp), traced(fp)
    low, high = along(xp, 0, slice(None, -1)), along(xp, 0, slice(1, None))
    place = _behind(x)
    within = elementwise("select", elementwise("ge", place, low), _sub(place, low), 0)
    inside = elementwise("select", elementwise("ge", place, high), _sub(high, low), within)
    return _add(along(fp, 0, 0), reduced("sum", _mul(_div(diff(fp), diff(xp)), inside), -1))


def polyval(p: Any, x: Any) -> Traced:
    p, x = traced(p), traced(x)
    if p._node.rank != 1:
        raise DeclarationError(f"np.polyval takes a vector of coefficients, not {p!r}.")
    (count,) = p._node.shape
    if is_exact(count):
        found: Any = 0
        for k in range(int(value_of(count))):
            found = _add(_mul(found, x), along(p, 0, k))
        return traced(found)
    return reduced("sum", _mul(p, vander(x, Traced(constant(count)))), -1)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Traced:
    x = traced(x)
    count = read(traced(N)._node, ()) if N is not None else x._node.shape[-1]
    (k,) = axes_of([count])
    powers = Traced(value([count], k if increasing else tidy(count - 1) - k))
    return _pow(_behind(x), powers)


def gradient(f: Any, *varargs: Any, axis: int | None = None, edge_order: int = 1) -> Traced:
    x, step = traced(f), varargs[0] if varargs else 1
    if len(varargs) > 1 or traced(step)._node.rank or edge_order != 1 or (axis is None and x._node.rank != 1):
        raise DeclarationError(
            "np.gradient is traced along one axis, axis=, with one distance and edge_order=1. Of points t it is "
            "np.diff(f)/np.diff(t) between them."
        )
    at = 0 if axis is None else axis
    steps = diff(x, axis=at)
    within = _div(_sub(along(x, at, slice(2, None)), along(x, at, slice(None, -2))), 2)
    ends = along(steps, at, slice(None, 1)), along(steps, at, slice(-1, None))
    return _div(joining.concatenate([ends[0], within, ends[1]], at), step)


def convolve(a: Any, v: Any, mode: str = "full") -> Traced:
    """Of the first, which is the longer one where the sizes do not tell."""
    a, v = traced(a), traced(v)
    if a._node.rank != 1 or v._node.rank != 1 or mode not in ("full", "same", "valid"):
        raise DeclarationError(f"np.convolve is of two vectors, and full, same or valid, not {a!r}, {v!r}, {mode!r}.")
    (n,), (m,) = a._node.shape, v._node.shape
    if is_exact(n) and (not is_exact(m) or value_of(n) < value_of(m)):
        a, v, n, m = v, a, m, n
    i, j = places_of((n, m))
    made = Pieces(shape=(tidy(n + m - 1),), wish="convolved")
    whole = written(made, [i + j], read(a._node, [i]) * read(v._node, [j]), (n, m), [a._node, v._node], adds=True)
    if mode == "full":
        return whole
    if not never_negative(tidy(n - m)):
        inside("np.convolve").draft.require(conditions=[apply("le", m, n)])
    start = tidy(m - 1) if mode == "valid" else floor_divide(tidy(m - 1), 2)
    stop = n if mode == "valid" else tidy(start + n)
    return selected(whole, slice(Traced(constant(start)), Traced(constant(stop))))


def correlate(a: Any, v: Any, mode: str = "valid") -> Traced:
    return convolve(a, flip(v), mode)


def _count(compare: str, x: Any, bins: Any) -> Traced:
    held = elementwise(compare, _behind(traced(x)), bins)
    return reduced("sum", elementwise("select", held, 1, 0), -1)


def digitize(x: Any, bins: Any, right: bool = False) -> Traced:
    """For bins that increase."""
    return _count("gt" if right else "ge", x, bins)


def searchsorted(a: Any, v: Any, side: str = "left") -> Traced:
    return _count("gt" if side == "left" else "ge", v, a)


def piecewise(x: Any, condlist: Sequence[Any], funclist: Sequence[Any]) -> Traced:
    def at(function: Callable[..., Any] | Any) -> Any:
        return function(x) if callable(function) else function

    conditions = [condlist] if is_condition(condlist) else list(condlist)
    found = at(funclist[len(conditions)]) if len(funclist) > len(conditions) else 0
    for condition, function in zip(conditions, funclist, strict=False):
        found = joining.where(condition, at(function), found)
    return traced(found)
