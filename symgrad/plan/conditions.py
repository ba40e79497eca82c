"""Conditions: what must hold together, what a comparison of subscripts says, one branch of a `where`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import TypeGuard

from ..domain import Domain
from ..expr import ONE, ZERO, Apply, Expr, Index, apply, conjunction, indices, postorder, refs
from ..ir import Equation, Function, Signs, Tensor, has_domain, unconditional
from ..ops import OPS
from ..records import replace
from .exponents import distance

Precondition = tuple[object, ...]  # an operator, and what it asks to be in its domain


def all_of(atoms: Iterable[Expr]) -> Expr | None:
    """The condition that all of these hold; None of none."""
    kept = list(atoms)
    return conjunction(kept) if kept else None


def literal_bounds(subscripts: Iterable[Expr], shape: Iterable[Expr], data: Container[str]) -> list[Expr]:
    """What sizes must meet for the subscripts without an index to be inside; `data` in them is checked before."""
    found: list[Expr] = []
    for s, size in zip(subscripts, shape, strict=True):
        if not indices(s) and not any(r.name in data for r in refs(s)):
            found += [apply("ge", s, ZERO), apply("gt", size, s)]
    return found


def divisible(root: Expr, domain: Domain) -> bool:
    """Whether what divides whole numbers in `root` is at least 1."""
    divisors = [n.args[1] for n in postorder(root) if isinstance(n, Apply) and n.op in ("floordiv", "mod")]
    return all(domain.holds(apply("ge", d, ONE)) for d in divisors)


def may_leave(root: Expr, domain: Domain, shapes: Mapping[str, tuple[Expr, ...]]) -> bool:
    """Whether `root` may leave a loop in `domain` that has no turn: what it reads in a branch, which nothing has asked
    for on entry, is at no element without an index that needs a turn to exist, and no size that may be 0 divides."""
    if not divisible(root, domain):
        return False
    certain = unconditional(root)
    guarded = [r for r in refs(root) if r.subscripts and r not in certain]
    return all(domain.holds(c) for r in guarded for c in literal_bounds(r.subscripts, shapes[r.name], shapes))


def asked(body: Expr) -> list[Expr]:
    """The conditions of every `where` in an expression, outer ones first."""
    return [n.args[0] for n in reversed(list(postorder(body))) if isinstance(n, Apply) and n.op == "select"]


def precondition(node: Expr) -> Precondition | None:
    """What is asked of, where `node` is evaluated: a division asks of what it divides by alone."""
    if not isinstance(node, Apply) or not OPS[node.op].inside:
        return None
    return (node.op, *node.args[OPS[node.op].asked :])


class Divisors:
    """Tells which divisors need no guard: a number that is at least another one above 0, and what divides on every
    path of forward."""

    def __init__(
        self, function: Function, tensors: Iterable[Tensor], forward: Sequence[Equation], backward: Sequence[Equation]
    ) -> None:
        statements = tuple(dict.fromkeys((*forward, *backward)))
        known = {t.name: t for t in tensors}
        for e in statements:
            if len(e.subscripts) < len(known[e.target].shape):  # in the turns of a loop it has no axis for these
                extents = dict(e.box)
                here = tuple(extents.get(s, s) if isinstance(s, Index) else s for s in e.subscripts)
                known[e.target] = replace(known[e.target], shape=here)
        self._signs = Signs(replace(function, tensors=tuple(known.values()), statements=statements))
        always = [e.body for e in forward if e.where is None and not e.when and e.matrix is None]
        quotients = [n for n in unconditional(*always) if isinstance(n, Apply) and n.op == "div"]
        self._divide = {n.args[1] for n in quotients if not indices(n.args[1])}

    def __call__(self, divisor: Expr) -> bool:
        least = self._signs(divisor).least
        return bool(least and least > 0) or all(f in self._divide for f in _bases(divisor))


def _bases(u: Expr) -> list[Expr]:
    """The factors of a product, without their powers."""
    if isinstance(u, Apply) and u.op in ("mul", "pow"):
        return [b for a in (u.args if u.op == "mul" else u.args[:1]) for b in _bases(a)]
    return [u]


def restricted(node: Expr, tensors: Collection[str], harmless: Callable[[Expr], bool]) -> TypeGuard[Apply]:
    """Whether a function may have no value, or none that stays in the range, where its `where` does not select it;
    `harmless` divisors are none to guard."""
    counts = isinstance(node, Apply) and OPS[node.op].divides
    if counts and indices(node.args[-1]):  # 7 % (i - 2), which one place of an array is enough to refuse
        return not harmless(node.args[-1])
    if not has_domain(node, tensors):
        return False
    if node.op == "exp":
        return distance(node.args[0]) is None
    return not (node.op == "div" or counts) or not harmless(node.args[-1])


def exclusive(equations: list[Equation]) -> list[list[Equation]]:
    """The equations one by one, but those together of which exactly one counts: with and without an optional input."""
    parts: list[list[Equation]] = []
    rest = list(equations)
    while rest:
        names = {name for name, _ in rest[0].when}
        many = 2 ** len(names)
        part = rest[:many]
        presences = {frozenset(e.when) for e in part}
        if not all({n for n, _ in e.when} == names for e in part) or len(presences) != many:
            part = rest[:1]
        parts.append(part)
        rest = rest[len(part) :]
    return parts
