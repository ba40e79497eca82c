"""Points that are looked at before a proof is tried: a domain that has one of them is not empty.

Each symbol has the same small numbers wherever it stands, indices and sizes drawn by their names; what is computed of
sizes is computed of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any
from zlib import crc32

from ..expr import Apply, Const, Expr, Index
from ..expr.polynomials import Polynomial
from ..later import np
from ..ops import OPS
from .atoms import EQ, GE, Affine
from .facts import Facts, fixed

COUNT = 512  # points; of a box of six indices with limits, some lie in most domains that are not empty
LARGE = 2**20  # no coefficient of a form that is asked at points is larger: products are exact


def has_point(atoms: Iterable[Affine], facts: Facts) -> bool:
    """Whether one of the points meets all of these. False: none of them does, which says nothing of others."""
    left = np.ones(COUNT, dtype=bool)
    for form, relation in ((a.form, a.relation) for a in (*atoms, *map(Affine, facts.more))):
        values = _of_form(form, facts)
        if values is None:
            return False
        left = left & (values >= 0 if relation == GE else values == 0 if relation == EQ else values != 0)
        if not left.any():
            return False
    return True


def _of_form(form: Polynomial, facts: Facts) -> Any:
    """The values of a polynomial at the points; None where they cannot be told."""
    if form not in facts.at_points:
        parts = {s: _of_symbol(s, facts) for s in form.symbols}
        known = all(v is not None for v in parts.values()) and all(abs(c) < LARGE for c in form.terms.values())
        terms = ((c, [parts[s] for s in m]) for m, c in form.terms.items()) if known else ()
        zero = np.zeros(COUNT, dtype=np.int64)
        facts.at_points[form] = sum((prod(m, start=c) for c, m in terms), zero) if known else None
    return facts.at_points[form]


def _of_symbol(s: Expr, facts: Facts) -> Any:
    if s not in facts.at_points:
        facts.at_points[s] = _computed(s, facts) if isinstance(s, Apply) else _drawn(s, facts)
    return facts.at_points[s]


def _drawn(s: Expr, facts: Facts) -> Any:
    if isinstance(s, Const):
        return int(s.value) if s.value.denominator == 1 and abs(s.value) < LARGE else None
    rng = np.random.default_rng(crc32(str(s).encode()))
    if isinstance(s, Index):
        return rng.geometric(0.4, COUNT) - 1
    least = facts.least_of(s)
    return rng.integers(0, 9, COUNT) + least if fixed(s) and least is not None else rng.integers(-2, 7, COUNT)


def _computed(s: Apply, facts: Facts) -> Any:
    args = [_of_symbol(a, facts) for a in s.args]
    row = OPS[s.op]
    if not row.of_integers or any(a is None for a in args):
        return None
    each = [np.broadcast_to(a, COUNT) for a in args]
    if row.kind == "arithmetic" or row.kind == "integer" and row.arity == 2 and each[1].all():
        return row.value(*each)  # Python's operators, as NumPy has them
    try:
        return np.frompyfunc(row.value, len(args), 1)(*(a.astype(object) for a in each)).astype(np.int64)
    except (ZeroDivisionError, ValueError):
        return None
