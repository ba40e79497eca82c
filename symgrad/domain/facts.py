"""What is known of sizes and options, and so the signs of polynomials of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import lru_cache
from math import isqrt
from typing import Any

from ..expr import Apply, Const, Expr, Index, Ref, conjuncts, indices, operator, preorder, ref, refs
from ..expr.polynomials import Monomial, Polynomial, polynomial
from ..ops import OPS
from ..records import dataclass

Least = int | None  # a lower bound; None where there is none
Terms = frozenset[tuple[Monomial, int]]


@dataclass(frozen=True)
class Facts:
    """What holds wherever a function runs.

    least     lower bounds of sizes and options: 0 for a size, 1 for a stride that must be positive
    integers  the names of what holds integers: sizes, options, tensors; comparisons of anything else are opaque
    more      further polynomials of sizes and options that are not negative
    """

    least: frozenset[tuple[Expr, int]] = frozenset()
    integers: frozenset[str] = frozenset()
    more: tuple[Polynomial, ...] = ()
    _integer: dict[Expr, bool] = field(default_factory=dict, compare=False, repr=False)
    _least: dict[Expr, Least] = field(default_factory=dict, compare=False, repr=False)
    _unbounded: dict[Polynomial, Terms] = field(default_factory=dict, compare=False, repr=False)
    at_points: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)  # what `points` has computed

    @classmethod
    def of(cls, sizes: Iterable[str], integers: Iterable[str] = (), constraints: Iterable[Expr] = ()) -> Facts:
        """Facts of a function: its sizes, which are not negative; its other names of integers (options, tensors); and
        the conditions on both that are tested before anything runs."""
        least: dict[Expr, int] = {ref(n): 0 for n in sizes}
        known = cls(integers=frozenset((*(r.name for r in least if isinstance(r, Ref)), *integers)))
        more: dict[Polynomial, None] = {}
        for condition in (c for constraint in constraints for c in conjuncts(constraint)):
            for form in known.margins(condition):
                (single, *others) = form.symbols or (None,)
                if single is not None and not others and form.terms.get((single,)) == 1 and isinstance(single, Ref):
                    least[single] = max(least.get(single, -form.terms.get((), 0)), -form.terms.get((), 0))
                else:
                    more[form] = None
        return cls(frozenset(least.items()), known.integers, tuple(more))

    def raised(self, least: frozenset[tuple[Expr, int]]) -> Facts:
        """With these lower bounds where they say more; itself where they do not."""
        known = dict(self.least)
        more = {s: low for s, low in least if s not in known or known[s] < low}
        return _raised(self, frozenset(more.items())) if more else self

    def margins(self, condition: Expr) -> list[Polynomial]:
        """What is not negative where a comparison of integers holds; empty for anything else, `!=` among it."""
        if not isinstance(condition, Apply) or condition.op not in ("lt", "le", "gt", "ge", "eq"):
            return []
        if not all(self.integer(a) for a in condition.args):
            return []
        a, b = (polynomial(a) for a in condition.args)
        if a is None or b is None:
            return []
        margin = a - b if condition.op in ("ge", "gt", "eq") else b - a
        if condition.op == "eq":
            return [margin, -margin]
        return [margin - 1 if condition.op in ("lt", "gt") else margin]

    def integer(self, s: Expr) -> bool:
        """Whether an expression has integer values only."""
        if s not in self._integer:
            self._integer[s] = all(map(self._is_integer, preorder([s], _of_value)))
        return self._integer[s]

    def _is_integer(self, node: Expr) -> bool:
        match node:
            case Const(value=value):
                return value.denominator == 1
            case Ref(name=name):
                return name in self.integers
            case Apply(op=op):
                row = OPS.get(op)
                return row is not None and row.of_integers
            case _:
                return isinstance(node, Index)

    def lower(self, p: Polynomial, sign: int = 1) -> int | None:
        """A lower bound, of -p for the sign -1: in the distances of its symbols from their least values no coefficient
        is negative."""
        bound, falls, mixed = 0, False, False
        for m, c in p.terms.items():
            c *= sign
            product, several = c, m[1:] != ()
            for s in m:
                low = self._least[s] if s in self._least else self.least_of(s)
                if low is None:
                    return None
                product *= low
                falls = falls or c < 0 or several and low < 0
                mixed = mixed or several and low != 0  # a product of such distances has further terms
            bound += product
        return bound if not falls else self._lower(p * sign) if mixed else None

    def _lower(self, p: Polynomial) -> int | None:
        moved: dict[Monomial, int] = {}  # in the distances
        for m, c in p.terms.items():
            parts: list[tuple[Monomial, int]] = [((), c)]
            for s in m:
                low = self.least_of(s)
                parts = [*(((*n, s), d) for n, d in parts), *((n, low * d) for n, d in parts if low)]
            for n, d in parts:
                moved[n] = moved.get(n, 0) + d
        return moved.get((), 0) if all(c >= 0 for m, c in moved.items() if m) else None

    def least_of(self, s: Expr) -> int | None:
        """A lower bound of a symbol."""
        if s not in self._least:
            self._least[s] = self._least_of(s)
        return self._least[s]

    def _least_of(self, s: Expr) -> int | None:
        found = [low for low in (dict(self.least).get(s), self._of_parts(s)) if low is not None]
        return max(found, default=None)

    def _of_parts(self, s: Expr) -> int | None:
        if not isinstance(s, Apply):
            return None
        parts = [None if p is None else self.lower(p) for p in map(polynomial, s.args)]
        known = [p for p in parts if p is not None]
        if s.op == "maximum":
            return max(known, default=None)
        if s.op == "minimum" and len(known) == len(parts):
            return min(known)
        if s.op in ("floordiv", "mod") and len(known) == 2 and known[1] >= 1:
            return 0 if s.op == "mod" or known[0] >= 0 else None
        if s.op == "mod" and known and parts[1] is not None and parts[1] >= 1:
            return 0
        if s.op == "isqrt" and known and known[0] >= 0:
            return isqrt(known[0])
        return 0 if OPS[s.op].nonnegative else None

    def unbounded(self, p: Polynomial) -> Terms:
        """The terms with a symbol that has no least value: `p >= q` can only be told where they are the same."""
        known = self._unbounded.get(p)
        if known is None:
            found = ((m, c) for m, c in p.terms.items() if any(self.least_of(s) is None for s in m))
            known = self._unbounded[p] = frozenset(found)
        return known

    def nonnegative(self, p: Polynomial) -> bool:
        """Whether `p >= 0` follows. False: not proved."""
        low = self.lower(p)
        return low is not None and low >= 0

    def negative(self, p: Polynomial) -> bool:
        """Whether `p < 0` follows. False: not proved."""
        high = self.lower(p, -1)
        return high is not None and high >= 1

    def sign(self, p: Polynomial, least: int = 1) -> int | None:
        """1 or -1 where that is certain, 0 of nothing; None where it is not known."""
        if not p.symbols:
            number = p.terms.get((), 0)
            return (number > 0) - (number < 0)
        for sign in (1, -1):
            low = self.lower(p, sign)
            if low is not None and low >= least:
                return sign
        return None

    def direction(self, p: Polynomial) -> int | None:
        """As `sign`, but 1 or -1 also where it may be 0 besides."""
        return self.sign(p, least=0)


def _of_value(node: Expr) -> Sequence[Expr]:
    """What a value is one of: a condition only chooses, a subscript too."""
    return node.args[operator(node) == "select" :] if isinstance(node, Apply) else ()


NOTHING = Facts()


@lru_cache(maxsize=2**10)
def _raised(facts: Facts, more: frozenset[tuple[Expr, int]]) -> Facts:
    return Facts(frozenset((dict(facts.least) | dict(more)).items()), facts.integers, facts.more)


@lru_cache(maxsize=2**13)
def fixed(s: Expr) -> bool:
    """Whether a symbol is one number for the whole function: it mentions no index, and no element of a tensor."""
    return not indices(s) and not any(r.subscripts for r in refs(s))
