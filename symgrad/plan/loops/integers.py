"""Integer expressions as polynomials: are two equal, can one be negative."""

from __future__ import annotations

from collections.abc import Sequence, Set

from ...expr import ZERO, Apply, Const, Expr, Index, Ref, const, index, indices, postorder, product

Polynomial = dict[tuple[Expr, ...], int]


def polynomial(root: Expr) -> Polynomial | None:
    """`root` as monomials of its atoms (indices, sizes, elements, quotients) with their coefficients; None if it is
    no polynomial with integer coefficients."""
    done: dict[Expr, Polynomial | None] = {}
    for node in postorder(root):
        if isinstance(node, Const):
            whole = node.value.denominator == 1
            done[node] = ({(): int(node.value)} if node.value else {}) if whole else None
        elif isinstance(node, Apply) and node.op in ("add", "sub", "neg", "mul"):
            parts = [done[a] for a in node.args]
            known = [p for p in parts if p is not None]
            done[node] = _combine(node.op, known) if len(known) == len(parts) else None
        else:
            done[node] = {(node.key,): 1}
    return done[root]


def _combine(op: str, parts: list[Polynomial]) -> Polynomial:
    result: Polynomial = {}
    if op == "mul":
        for m, c in parts[0].items():
            for n, d in parts[1].items():
                atoms = tuple(sorted((*m, *n), key=lambda e: e.serial))
                result[atoms] = result.get(atoms, 0) + c * d
    else:
        signs = {"add": (1, 1), "sub": (1, -1), "neg": (-1,)}[op]
        for sign, part in zip(signs, parts, strict=True):
            for m, c in part.items():
                result[m] = result.get(m, 0) + sign * c
    return {m: c for m, c in result.items() if c}


def equal(a: Expr, b: Expr) -> bool:
    """Whether two integer expressions are the same polynomial."""
    return a.key is b.key or polynomial(a - b) == {}


def sides(root: Expr) -> tuple[Expr, Expr] | None:
    """(p, q) with root = p - q, neither with a minus sign; None if `root` is no polynomial."""
    terms = polynomial(root)
    if terms is None:
        return None
    p: Expr = ZERO
    q: Expr = ZERO
    written: dict[Expr, Expr] = {}
    for node in postorder(root):
        written.setdefault(node.key, node)
    place = {key: number for number, key in enumerate(written)}  # factors stand as `root` names them
    for monomial, c in sorted(terms.items(), key=lambda term: not term[0]):  # the constant last
        atoms = [written[a] for a in sorted(monomial, key=place.__getitem__)]
        term = product(atoms) if abs(c) == 1 and atoms else const(abs(c)) * product(atoms)
        p, q = (p + term, q) if c > 0 else (p, q + term)
    return p, q


def implied(condition: Expr, known: Sequence[Expr], sizes: Set[str]) -> bool:
    """Whether a comparison holds for all sizes, or follows from one of those that are known."""
    if isinstance(condition, Const):
        return bool(condition.value)
    distance = _distance(condition)
    if distance is None:
        return False
    nothing: Polynomial = {}
    for other in (nothing, *(d for d in map(_distance, known) if d is not None)):
        rest = _combine("sub", [distance, other])
        atoms = {a for monomial in rest for a in monomial}
        if all(c > 0 for c in rest.values()) and all(_is_count(a, sizes) for a in atoms):
            return True
    return False


def _is_count(atom: Expr, sizes: Set[str]) -> bool:
    """Whether an atom is a size, or no less than 0 by itself."""
    if isinstance(atom, Apply) and atom.op == "maximum":
        return any(isinstance(a, Const) and a.value >= 0 for a in atom.args)
    return isinstance(atom, Ref) and atom.name in sizes


def _distance(condition: Expr) -> Polynomial | None:
    """What is not negative where the comparison holds."""
    if not isinstance(condition, Apply) or condition.op not in ("le", "lt", "ge", "gt"):
        return None
    a, b = condition.args if condition.op in ("le", "lt") else reversed(condition.args)
    return polynomial(b - a - (1 if condition.op in ("lt", "gt") else 0))


def stride(subscripts: tuple[Expr, ...], i: Index) -> int:
    """How a walk along `i` moves through a row-major array: 2 in place or by one, 1 by a constant step, 0 otherwise."""
    axes = [axis for axis, s in enumerate(subscripts) if i in indices(s)]
    if not axes:
        return 2
    last = subscripts[-1]
    if axes != [len(subscripts) - 1]:
        return 0
    terms = polynomial(last) or {}
    mine = [(atoms, c) for atoms, c in terms.items() if i in indices(*atoms)]
    if len(mine) != 1 or mine[0][0].count(i) != 1:
        return 0
    return 2 if mine == [((i,), mine[0][1])] and abs(mine[0][1]) == 1 else 1


def fresh_index(taken: set[str]) -> Index:
    """An index of one letter that is not in `taken`."""
    letters = (f"{letter}{number}" for number in ("", *range(1, 1000)) for letter in "ijklpqrstuv")
    return index(next(name for name in letters if name not in taken))
