"""A number in front of a gradient that is read with numbers in front of it joins these: 2 * (0.5 * g) is g."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    apply,
    const,
    folded,
    is_double,
    is_exact,
    operators,
    preorder,
    refs,
    signed_total,
    substitute,
    terms_of,
    transform,
    value_of,
)
from ..ir import Equation

UNITS = (1, -1)
Multiple = tuple[Fraction, Expr]  # a number, and what it is a multiple of


def with_numbers_joined(
    equations: Sequence[Equation], own: Collection[str], outputs: Collection[str]
) -> list[Equation]:
    """The equations with fewer products with numbers.

    own      the tensors whose equations may change
    outputs  those of them that are what they are: of others the number may be left to what reads them
    """
    known: dict[Expr, Multiple] = {}
    changing, asked = {*own}, {*outputs}
    found = [_with_one(e, known) if e.target in changing else e for e in equations]
    writers: dict[str, list[int]] = {}
    readers: dict[str, list[int]] = {}
    for k, e in enumerate(found):
        writers.setdefault(e.target, []).append(k)
        for name in {r.name for r in e.reads}:
            readers.setdefault(name, []).append(k)
    for target in (t for t in own if t not in asked):
        (place, *others), mine = writers[target], readers.get(target, [])
        number, rest = _split(found[place].body, known)
        if number in UNITS or others or place in mine or found[place].reduce not in ("none", "sum"):
            continue
        changed = {place: rest} | {k: _joined(found[k].body, target, number, known) for k in mine}
        fewer = sum(_numbers(body, {}) for body in changed.values()) < sum(_numbers(found[k].body, {}) for k in changed)
        if fewer and all(_reads_in_body(found[k], target) for k in mine):
            for k, body in changed.items():
                found[k] = found[k].with_body(body)
    return found


def _with_one(e: Equation, known: dict[Expr, Multiple]) -> Equation:
    """The equation with the numbers of products as one."""
    if e.matrix is not None or e.reduce not in ("none", "sum"):
        return e
    body = _product(*_split(e.body, known))
    e = e.with_body(body) if body is not e.body and _numbers(body, known) < _numbers(e.body, known) else e
    return e.with_body(transform(e.body, _with_one_exponent)) if "pow" in operators(e.body) else e


def _with_one_exponent(node: Expr) -> Expr:
    """x**(k - 2) for x**(k - 1 - 1), the slope of a power whose exponent is a number less than something."""
    terms = terms_of(node.args[1]) if isinstance(node, Apply) and node.op == "pow" else []
    number = sum(value_of(t) * sign for t, sign in terms if is_exact(t))
    others = [(t, sign) for t, sign in terms if not is_exact(t)]
    if len(terms) < len(others) + 2:
        return node
    last = [(const(abs(number)), 1 if number > 0 else -1)] if number else []
    return node.args[0] ** signed_total([*others, *last])


def _reads_in_body(e: Equation, target: str) -> bool:
    """Whether `e` reads a tensor in its body alone, whose elements are not operands of a function of matrices."""
    return e.matrix is None and (e.where is None or all(r.name != target for r in refs(e.where)))


def _joined(body: Expr, target: str, number: Fraction, known: dict[Expr, Multiple]) -> Expr:
    """`body` with `number` in front of what it reads of `target`, as far out as it goes."""
    scaled = {r: const(number) * r for r in refs(body) if r.name == target}
    return _product(*_split(substitute(body, scaled), known))


def _split(root: Expr, known: dict[Expr, Multiple]) -> Multiple:
    """The number that an expression is a multiple of, and what is left: 2 and a + b of 2*a + 2*b."""

    def split(n: Expr) -> Multiple:
        if is_exact(n) and value_of(n):
            return value_of(n), ONE
        if not isinstance(n, Apply) or not (n.op == "select" or n.op in ("neg", "mul", "div", "add", "sub")):
            return Fraction(1), n
        parts = n.args[1:] if n.op == "select" else n.args
        (c, a), (d, b) = known[parts[0]], known[parts[-1]]
        if a is parts[0] and b is parts[-1] and n.op != "neg":
            return Fraction(1), n
        if n.op == "neg":
            return -c, a
        if n.op in ("mul", "div"):
            number = c * d if n.op == "mul" else c / d
            return (number, apply(n.op, a, b)) if is_double(number) else (Fraction(1), n)
        if n.op == "select":
            c, d = (d if a is ZERO else c), (c if b is ZERO else d)
            return (c, apply("select", n.args[0], a, b)) if c == d else (Fraction(1), n)
        if abs(c) == abs(d):
            return c, a + b if c == (d if n.op == "add" else -d) else a - b
        return Fraction(1), n

    return folded(root, known, split)


def _product(number: Fraction, rest: Expr) -> Expr:
    """The number in front of the first factor of a product."""
    if number == 1:
        return rest
    if number == -1:
        return -rest
    others: list[tuple[str, Expr]] = []
    while isinstance(rest, Apply) and rest.op in ("mul", "div"):
        others.append((rest.op, rest.args[1]))
        rest = rest.args[0]
    found: Expr = const(number) * rest
    for op, other in reversed(others):
        found = apply(op, found, other)
    return found


def _numbers(body: Expr, known: Mapping[Expr, Multiple]) -> int:
    """How many products with numbers there are, of which a sign is none; not inside of what is known to stay as it is,
    which long formulas have in common."""

    def below(node: Expr) -> Sequence[Expr]:
        return () if node in known and known[node][1] is node else node.args

    products = (n for n in preorder([body], below) if isinstance(n, Apply) and n.op in ("mul", "div"))
    return sum(any(isinstance(a, Const) and a.value not in UNITS for a in n.args) for n in products)
