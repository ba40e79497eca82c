"""A number in front of a gradient that is read with numbers in front of it joins these: 2 * (0.5 * g) is g."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
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
    postorder,
    preorder,
    refs,
    signed_total,
    substitute,
    terms_of,
    transform,
    value_of,
    with_args,
)
from ..ir import Equation

UNITS = (1, -1)
PRODUCTS = ("mul", "div")
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
    shared = _shared(e.body for e in equations)
    found = [_with_one(e, known, shared) if e.target in changing else e for e in equations]
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


def _shared(bodies: Iterable[Expr]) -> set[Expr]:
    """Products that several expressions are computed from."""
    nodes = postorder(*bodies)
    read = Counter(a for n in nodes for a in n.args if isinstance(a, Apply) and a.op in PRODUCTS)
    return {n for n, count in read.items() if count > 1}


def _with_one(e: Equation, known: dict[Expr, Multiple], shared: Container[Expr]) -> Equation:
    """The equation with the numbers of products as one."""
    if e.matrix is not None or e.reduce not in ("none", "sum"):
        return e
    body = _product(*_split(e.body, known, shared))
    e = e.with_body(body) if body is not e.body and _numbers(body, known) < _numbers(e.body, known) else e
    for op, rule in (("pow", _with_one_exponent), ("sqrt", _with_one_root)):
        e = e.with_body(transform(e.body, rule)) if op in operators(e.body) else e
    return e


def _with_one_root(node: Expr) -> Expr:
    """x / sqrt(2*pi) for x / sqrt(2) / sqrt(pi): roots of numbers in a product are one."""
    if not (isinstance(node, Apply) and node.op in PRODUCTS and _is_root_of_number(node.args[1])):
        return node
    rest, others = node.args[0], list[tuple[str, Expr]]()
    while isinstance(rest, Apply) and rest.op in PRODUCTS and not _is_root_of_number(rest.args[1]):
        others.append((rest.op, rest.args[1]))
        rest = rest.args[0]
    if _is_root_of_number(rest):
        op, root, rest = "mul", rest, ONE
    elif isinstance(rest, Apply) and rest.op in PRODUCTS:
        op, root, rest = rest.op, rest.args[1], rest.args[0]
    else:
        return node
    (inside,), (other,) = root.args, node.args[1].args
    inside = inside / other if op != node.op else other * inside if isinstance(other, Const) else inside * other
    found = apply(op, rest, apply("sqrt", inside))
    for op, other in reversed(others):
        found = apply(op, found, other)
    return found


def _is_root_of_number(node: Expr) -> bool:
    return isinstance(node, Apply) and node.op == "sqrt" and not refs(node)


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


def _split(root: Expr, known: dict[Expr, Multiple], shared: Container[Expr] = ()) -> Multiple:
    """The number that an expression is a multiple of, and what is left: 2 and a + b of 2*a + 2*b. In a term of a sum
    numbers become one, unless what has them is `shared`."""

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
        if n.op in PRODUCTS:
            number = c * d if n.op == "mul" else c / d
            return (number, apply(n.op, a, b)) if is_double(number) else (Fraction(1), n)
        if n.op == "select":
            c, d = (d if a is ZERO else c), (c if b is ZERO else d)
            return (c, apply("select", n.args[0], a, b)) if c == d else (Fraction(1), n)
        if abs(c) == abs(d):
            return c, a + b if c == (d if n.op == "add" else -d) else a - b
        return Fraction(1), with_args(n, (joined(n.args[0]), joined(n.args[1])))

    def joined(term: Expr) -> Expr:
        number, rest = known[term]
        if number == 1:
            return rest
        inner = preorder([term], lambda n: n.args if isinstance(n, Apply) and n.op in PRODUCTS else ())
        if any(n in shared for n in inner if n is not term):
            return term
        body = _product(number, rest)
        return body if _numbers(body, known) < _numbers(term, known) else term

    return folded(root, known, split)


def _product(number: Fraction, rest: Expr) -> Expr:
    """The number in front of the first factor of a product."""
    if number == 1:
        return rest
    if number == -1:
        return -rest
    others: list[tuple[str, Expr]] = []
    while isinstance(rest, Apply) and rest.op in PRODUCTS:
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

    products = (n for n in preorder([body], below) if isinstance(n, Apply) and n.op in PRODUCTS)
    return sum(any(isinstance(a, Const) and a.value not in UNITS for a in n.args) for n in products)
