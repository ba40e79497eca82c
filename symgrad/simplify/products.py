"""Products in common, each computed once: `grad_xhat = grad_output * gain`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..expr import (
    Apply,
    Const,
    Expr,
    Ref,
    factors,
    folded,
    fraction,
    operator,
    product,
    ref,
    signed_factors,
    signed_total,
    substitute,
    terms_of,
    transform,
)
from ..ops import OPS
from ..records import dataclass
from .normal import Monomial, Normal, Poly, Sum, constant, inverse, merge, plus
from .normal import times as product_of


@dataclass
class Product:
    """Replaces a monomial by an element of the tensor that holds it, and counts the places."""

    normal: Normal
    target: str
    subscripts: tuple[Expr, ...]
    monomial: Monomial
    pivot: Ref
    places: int = 0

    def within(self, poly: Poly) -> Poly:
        result: Poly = {}
        for monomial, coefficient in poly.items():
            term = constant(coefficient)
            rest = set(monomial)
            for atom, exponent in self.normal.ordered(monomial):
                if isinstance(atom, Sum):
                    inner = self.within(self.normal.terms(atom))
                    changed = self.normal.power(self.normal.sum_again(atom, inner), exponent)
                    if changed is not None:
                        rest.discard((atom, exponent))
                        term = product_of(term, changed)
            plain = frozenset(rest)
            result = plus(result, product_of(term, {self._replaced(plain): 1}))
        return result

    def _replaced(self, monomial: Monomial) -> Monomial:
        for atom, exponent in self.normal.ordered(monomial):
            if exponent == 1 and isinstance(atom, Ref) and atom.name == self.pivot.name:
                names = dict(zip(self.pivot.subscripts, atom.subscripts, strict=True))
                ((wanted, _),) = self.normal.rename({self.monomial: 1}, names).items()
                domain = frozenset((a, 1) for a in self.normal.guards(wanted))  # stays with the reader
                left = merge(monomial, inverse(wanted - domain))
                if domain <= monomial and all(dict(left).get(a, 0) >= 0 for a, _ in wanted):
                    self.places += 1
                    ((mine, _),) = self.normal.atom(
                        ref(self.target, *(substitute(s, names) for s in self.subscripts))
                    ).items()
                    return merge(left, mine)
        return monomial


def work(body: Expr) -> int:
    """The arithmetic outside of functions and powers, about in additions; what stands there twice is done twice."""
    done: dict[Expr, int] = {}

    def rule(node: Expr) -> int:
        if not (isinstance(node, Apply) and OPS[node.op].arithmetic):
            return 0
        return OPS[node.op].cost + sum(done[a] for a in node.args)

    return folded(body, done, rule)


def apart(node: Expr) -> Expr:
    """(2*r*s*p + v*q) / (2*s) as r*p + v*q/(2*s): a sum over what a term of it has as a factor, where that is less to
    do."""
    above, below = factors(node) if operator(node) in ("mul", "div") else ([], [])
    sums = [k for k, f in enumerate(above) if operator(f) in ("add", "sub")]
    if len(sums) != 1:
        return node
    (place,) = sums
    rows = [(*signed_factors(t), sign) for t, sign in terms_of(above[place])]
    for d in [*dict.fromkeys(below)]:
        if not any(d in a for a, _, _, _ in rows):
            continue
        new = [(_without(a, d), b, s, t) if d in a else (a, [*b, d], s, t) for a, b, s, t in rows]
        left = _without(below, d)
        inner = signed_total((fraction(a, b), s * t) for a, b, s, t in new)
        whole = fraction([*above[:place], inner, *above[place + 1 :]], left)
        if work(whole) < work(node):
            node, rows, below = whole, new, left
    return node


def _without(some: Sequence[Expr], f: Expr) -> list[Expr]:
    place = [*some].index(f)
    return [*some[:place], *some[place + 1 :]]


def shared_in_front(
    form: Expr, only: Collection[Expr] | None = None, of: Callable[[Expr], bool] = lambda node: True
) -> Expr:
    """g*exp(y)*a - g*exp(y)*b as g*exp(y)*(a - b): a number where exp(y) has overflowed; `only` these factors, if they
    are told, and `of` these sums. What it stands in a product of goes on with it."""
    made = set[Expr]()

    def rewrite(node: Expr) -> Expr:
        if operator(node) in ("mul", "div") and not made.isdisjoint(node.args[:2]):
            above, below = factors(node)
            handed = [f for a in node.args[:2] if a in made for f in factors(a)[0]]
            whole = fraction(sorted(above, key=lambda f: (_rank(f), f not in handed)), below)
        else:
            whole = _shared_in_front(node, only) if of(node) else node
        if whole is not node:
            made.add(whole)
        return whole

    return transform(form, rewrite)


def _rank(factor: Expr) -> int:
    """Numbers first, and sums last."""
    return 0 if isinstance(factor, Const) else 2 if operator(factor) in ("add", "sub") else 1


def _shared_in_front(node: Expr, only: Collection[Expr] | None) -> Expr:
    terms = [(factors(t), sign) for t, sign in terms_of(node)] if operator(node) in ("add", "sub") else []
    sides = [above for (above, _), _ in terms]
    shared = list[Expr]()
    for f in list(sides[0]) if sides else []:
        if (only is None or f in only) and all(f in above for above in sides):
            shared.append(f)
            for above in sides:
                above.remove(f)
    if not shared:
        return node
    rest = sorted(((fraction(*sides), sign) for sides, sign in terms), key=lambda term: -term[1])  # b - a for -a + b
    return product([*shared, signed_total(rest)])
