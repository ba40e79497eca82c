"""What operators and reductions do to symbolic arrays, and the rules of broadcasting."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, ZERO, Expr, apply, product, show
from ...expr.names import is_pack
from ...expr.sizes import equal
from ...ops import NAMES, OPS
from .graph import Node, Value, axes_of, bound, constant, read, value
from .scope import current
from .values import Absent, Axis, Operand, Traced, is_condition, reduced_axes, reread, traced


def broadcast(arrays: Sequence[Traced], what: str) -> tuple[tuple[Expr, ...], int]:
    """The shape that the arrays have together by NumPy's rules, and how many leading axes are a pack.

    Raises ShapeError where two extents differ; a literal 1 stretches, two names never do.
    """
    shapes = {shape for a in arrays if (shape := a._node.shape)}
    shape = _met(arrays, what) if len(shapes) > 1 else next(iter(shapes), ())
    own = [a._node.rank - a._lead for a in arrays]
    return shape, max(0, len(shape) - max(own)) if any(a._lead for a in arrays) else 0


def _met(arrays: Sequence[Traced], what: str) -> tuple[Expr, ...]:
    """The shape of arrays of several."""
    rank = max(a._node.rank for a in arrays)
    shape: list[Expr] = [ONE] * rank
    widest: list[Traced | None] = [None] * rank
    for a in arrays:
        offset = rank - a._node.rank
        for axis, extent in enumerate(a._node.shape, offset):
            other = widest[axis]
            if is_pack(extent) and axis > 0:
                raise _mismatch(what, arrays, extent, shape[axis], "")
            if other is None:
                shape[axis], widest[axis] = extent, a
            elif not equal(extent, shape[axis]):
                packs = is_pack(extent) or is_pack(shape[axis])
                if packs or extent is not ONE and shape[axis] is not ONE:
                    raise _mismatch(what, (other, a), shape[axis], extent, "")
                if shape[axis] is ONE:
                    shape[axis], widest[axis] = extent, a
    return tuple(shape)


def _mismatch(what: str, arrays: Sequence[Traced], a: Expr, b: Expr, advice: str) -> ShapeError:
    scope = current()
    lines = []
    for x in arrays:
        name = scope.describe(x._node) if scope else "a value"
        place = scope.declared if scope and x._node.declared else ""
        shape = ", ".join(show(e) for e in x._node.shape) + ("," if x._node.rank == 1 else "")
        lines.append((name, f"({shape})", place))
    wide = [max(len(row[k]) for row in lines) for k in range(2)]
    table = "\n".join(f"    {n:<{wide[0]}}   {s:<{wide[1]}}   {p}".rstrip() for n, s, p in lines)
    packs = [e for e in (a, b) if is_pack(e)]
    if not advice and packs:
        advice = (
            f"{show(packs[0])} is one shape that is not known; it does not stretch. Give the axes names, or literal 1; "
            f'one number, and no array of any shape, is sg.Tensor[""].'
        )
    if not advice:
        advice = f"{what} needs {show(a)} and {show(b)} to be equal. Give both axes one name, or a literal 1."
    return ShapeError(f"{show(a)} and {show(b)} meet in one axis\n{table}\n  {advice}")


_NOT_OF_CONDITIONS = {
    "add": "the sum of two conditions is a condition in NumPy, their `|`",
    "sub": "NumPy refuses the difference of two conditions",
    "neg": "NumPy refuses the negative of a condition",
}


def elementwise(op: str, *args: Any) -> Traced:
    """The operator `op` of `symgrad.ops` on every element."""
    if any(isinstance(a, Absent) for a in args):
        return _without(op, args)
    if op in _NOT_OF_CONDITIONS and all(map(is_condition, args)):
        raise DeclarationError(
            f"{_NOT_OF_CONDITIONS[op]}. "
            f"np.where(x > 0, 1, 0) is a number; the words between conditions are `&`, `|` and `~`."
        )
    return mapped(partial(apply, op), *args, what=f"The {OPS[op].noun}" if OPS[op].noun else op)


def mapped(formula: Callable[..., Expr], *args: Any, what: str = "a function") -> Traced:
    """The formula of every element."""
    arrays = [traced(a) for a in args]
    shape, lead = broadcast(arrays, what)
    body = formula(*(expand(a, shape) for a in arrays))
    return Traced(value(shape, body, [a._node for a in arrays]) if arrays else constant(body), lead)


def combined(op: str, *args: Any) -> Traced:
    """`&`, `|` or `~` of conditions, for what else NumPy works on the bits of integers."""
    if not all(is_condition(a) or op != "not" and _is_known(a) for a in args):
        sign = {"and": "&", "or": "|", "not": "~"}[op]
        raise DeclarationError(
            f"`{sign}` is of conditions; of integers it is one of their bits in NumPy. "
            f"Write a comparison, such as t % 2 == 1."
        )
    return elementwise(op, *args)


def _is_known(x: Any) -> bool:
    """Whether it is 0 or 1, as a comparison of numbers is."""
    return isinstance(x, Traced) and isinstance(x._node, Value) and x._node.body in (ZERO, ONE)


def _without(op: str, args: Sequence[Any]) -> Traced:
    absent = [isinstance(a, Absent) for a in args]
    if op in ("add", "mul") and sum(absent) == 1:
        return traced(args[absent.index(False)])
    if op in ("sub", "div") and absent == [False, True]:
        return traced(args[0])
    if op == "sub" and absent == [True, False]:
        return elementwise("neg", args[1])
    gone = args[absent.index(True)]
    assert isinstance(gone, Absent)
    raise gone._missing()


def function_of(name: str) -> Callable[..., Traced]:
    """The elementwise function of that name; an associative row folds further arguments."""
    row = OPS[NAMES[name]]
    folds = row.associative

    def function(*args: Operand) -> Traced:
        if len(args) != row.arity and not (folds and len(args) > row.arity):
            raise DeclarationError(f"{name} takes {row.arity} arguments, not {len(args)}.")
        first = elementwise(row.name, *args[: row.arity])
        return reduce(partial(elementwise, row.name), args[row.arity :], first)

    function.__name__ = function.__qualname__ = name
    letters = [inspect.Parameter(letter, inspect.Parameter.POSITIONAL_ONLY) for letter in "xyzabc"[: row.arity]]
    more = [inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL)] if folds else []
    setattr(function, "__signature__", inspect.Signature([*letters, *more]))  # noqa: B010, of a function at run time
    function.__doc__ = f"{name} of every element; defined for {row.domain}."
    return function


def reduced(kind: str, x: Any, axis: Axis = None, keepdims: bool = False) -> Traced:
    """`kind` over the axes of `x`, as NumPy's function of that name."""
    x = traced(x)
    node = x._node
    gone = reduced_axes(x, axis)
    shape = [e for a, e in enumerate(node.shape) if a not in gone]
    axes = iter(axes_of(shape))
    over: dict[Any, Expr | None] = {}
    subscripts: list[Expr] = []
    for a, extent in enumerate(node.shape):
        if a not in gone:
            subscripts.append(next(axes))
        elif extent is ONE:
            subscripts.append(ZERO)
        else:
            i = axes_of(node.shape)[a] if is_pack(extent) else bound(len(over) + 1)
            over[i] = extent
            subscripts.append(i)
    lead = 0 if axis is None else x._lead - sum(a < x._lead for a in gone)
    if over:
        result = Traced(shared(kind, over, shape, read(node, subscripts), [node]), lead)
    else:
        result = reread(x, shape, subscripts, lead)
        result = elementwise("mul", result, 0) if kind == "argmax" else result
    if not keepdims:
        return result
    if any(is_pack(node.shape[a]) for a in gone) and len(shape) + len(gone) > 1:
        raise DeclarationError("keepdims over `...` leaves an unknown number of axes.")
    return kept(result, node.shape, gone, x._lead)


def var(x: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> Traced:
    """The mean square of the distance from the mean over `axis`; the count is lessened by `ddof` (`correction`)."""
    x = traced(x)
    less = ddof if correction is None else correction
    squares = elementwise("pow", elementwise("sub", x, reduced("mean", x, axis, axis is not None)), 2)
    if not isinstance(less, Traced) and not less:
        return reduced("mean", squares, axis, keepdims)
    count = product(x._node.shape[a] for a in sorted(reduced_axes(x, axis)))
    less_one = elementwise("sub", Traced(constant(count)), less)
    return reduced("sum", elementwise("div", squares, less_one), axis, keepdims)


def std(x: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> Traced:
    """The square root of `var`."""
    return elementwise("sqrt", var(x, axis, ddof, keepdims, correction))


def shared(
    kind: str, over: Mapping[Any, Expr | None], shape: Sequence[Expr], body: Expr, nodes: Sequence[Node]
) -> Node:
    """The reduction; the one that the declaration has already, if it is the same."""
    scope = current()
    made = value(shape, body, nodes, kind=kind, over=over)
    return made if scope is None else scope.closed.setdefault((kind, tuple(over), body, tuple(shape)), made)


def kept(x: Traced, shape: tuple[Expr, ...], gone: set[int], lead: int) -> Traced:
    """`x` with an axis of extent 1 where `shape` has lost one."""
    full = [ONE if a in gone else e for a, e in enumerate(shape)]
    there = [i for a, i in enumerate(axes_of(full)) if a not in gone]
    return reread(x, full, there, lead)


def matmul(a: Any, b: Any) -> Traced:
    """The matrix product of NumPy's `@`: vectors, matrices, and batches of them; of conditions, whether any holds."""
    a, b = traced(a), traced(b)
    if is_condition(a) and is_condition(b):
        return elementwise("gt", matmul(elementwise("select", a, 1, 0), b), 0)
    left, right = _matrix(a), _matrix(b)
    if 0 in (left, right):
        raise ShapeError(f"@ needs an axis to sum over; {(a if not left else b)!r} has none.")
    p, q = a._node, b._node
    if left == 1 and p.rank > 1 and q.rank > right or right == 1 and q.rank > 1:
        raise ShapeError(f"@ of {a!r} and {b!r} is ambiguous: `...` may or may not hold its rows.")
    k, other = p.shape[-1], q.shape[-right]
    if not equal(k, other):
        advice = f"The product sums over {show(k)} and {show(other)}. Give both axes one name, or transpose one."
        raise _mismatch("@", (a, b), k, other, advice)
    rows, columns = "i"[: left - 1], "k"[: right - 1]
    return contracted([f"{rows}j", f"j{columns}"], rows + columns, a, b)


def contracted(terms: Sequence[Sequence[Hashable]], shown: Sequence[Hashable], *operands: Any) -> Traced:
    """The sum of products over the letters that are not shown; each term names the last axes of an operand, and what
    stands before them is a batch."""
    arrays = [traced(x) for x in operands]
    ranks = [x._node.rank - len(term) for x, term in zip(arrays, terms, strict=True)]
    if any(rank < 0 for rank in ranks):
        raise ShapeError("an operand of the product has fewer axes than its term has letters.")
    front, lead = broadcast([front_of(x, k) for x, k in zip(arrays, ranks, strict=True)], "The product")
    extents: dict[Hashable, Expr] = {}
    for x, term, k in zip(arrays, terms, ranks, strict=True):
        for letter, e in zip(term, x._node.shape[k:], strict=True):
            known = extents.setdefault(letter, e)
            if known is ONE:
                extents[letter] = e
            elif e is not ONE and not equal(known, e):
                raise _mismatch("The product", arrays, known, e, "")
    shape = (*front, *(extents[letter] for letter in shown))
    axes = axes_of(shape)
    places: dict[Hashable, Expr] = dict(zip(shown, axes[len(front) :], strict=True))
    reducing = {letter: bound(k + 1) for k, letter in enumerate(c for c in extents if c not in places)}
    places |= reducing
    batch = axes[: len(front)]
    body = product(
        read(x._node, [*batch[len(front) - k :], *(places[letter] for letter in term)])
        for x, term, k in zip(arrays, terms, ranks, strict=True)
    )
    over = {i: extents[letter] for letter, i in reducing.items() if extents[letter] is not ONE}
    nodes = [x._node for x in arrays]
    return Traced(value(shape, body, nodes, kind="sum", over=over, matmul=len(nodes) > 1), lead)


def _matrix(x: Traced) -> int:
    """How many of the last axes take part in a matrix product."""
    return min(2, x._node.rank - x._lead)


def front_of(x: Traced, rank: int) -> Traced:
    """An array of the first axes of `x`, for what they have together with others."""
    return Traced(value(x._node.shape[:rank], ZERO), min(x._lead, rank))


def fitted(x: Traced, shape: Sequence[Expr], lead: int, what: str) -> Expr:
    """The element of `x` at the canonical indices of `shape`; raises ShapeError where it is not broadcast to that."""
    found, _ = broadcast([Traced(value(shape, ZERO), lead), x], what)
    if len(found) != len(shape) or not all(map(equal, found, shape)):
        raise ShapeError(f"{x!r} does not fit into the shape ({', '.join(map(show, shape))}).")
    return expand(x, shape)


def expand(x: Traced, shape: Sequence[Expr]) -> Expr:
    """The element of `x` at the canonical indices of `shape`, to which it is broadcast."""
    axes = axes_of(shape)
    return read(x._node, axes[len(axes) - x._node.rank :])
