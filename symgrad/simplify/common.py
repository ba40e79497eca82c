"""Products that several gradients have in common, each computed once: what the chain rule hands on.

    grad_a = grad_output * x * cos(a*x + b)        grad_times_cos_a = grad_output * cos(a*x + b)
    grad_b = grad_output * cos(a*x + b)            grad_a = grad_times_cos_a * x;  grad_b = grad_times_cos_a
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import combinations

from ..expr import (
    ONE,
    Apply,
    Expr,
    Ref,
    base_of,
    folded,
    fraction,
    indices,
    is_exact,
    operator,
    postorder,
    ref,
    signed_factors,
    signed_total,
    terms_of,
    value_of,
    without_sign,
)
from ..expr.names import Names
from ..ir import Equation, Function, Role, by_target, names_of, recurrent
from ..ops import OPS, calls
from ..ops.naming import scaled_name
from ..records import dataclass, replace
from .products import work
from .reuse import MANY


@dataclass(frozen=True, slots=True)
class _Product:
    """A product, its sign, and its factors above and below the line."""

    body: Expr
    sign: int
    above: tuple[Expr, ...]
    below: tuple[Expr, ...]

    @classmethod
    def of(cls, node: Expr, sign: int = 1) -> _Product:
        above, below, own = signed_factors(node)
        return cls(without_sign(node)[0], sign * own, tuple(above), tuple(below))

    def common(self, other: _Product) -> _Product:
        """The factors of both, in this order."""
        above, below = _both(self.above, other.above), _both(self.below, other.below)
        return _Product(fraction(above, below), 1, above, below)

    def holds(self, part: _Product) -> bool:
        return not (_less(part.above, self.above) or _less(part.below, self.below))

    def is_first(self, part: _Product) -> bool:
        """Whether the part is computed before all others."""
        node = self.body
        while node is not part.body and operator(node) in ("mul", "div"):
            node = node.args[0]
        return node is part.body

    def without(self, part: _Product) -> _Product:
        above, below = _less(self.above, part.above), _less(self.below, part.below)
        return _Product(fraction(above, below), self.sign, above, below)

    def with_value(self, part: _Product, value: Expr) -> Expr:
        """`value` in place of the first of the factors that it is the product of, without the others; what is left is
        computed in its order, which may have been chosen to stay in the range."""
        left, placed = (list(part.above), list(part.below)), False

        def rest(node: Expr, turned: bool) -> Expr | None:
            nonlocal placed
            if node in left[turned]:
                left[turned].remove(node)
                if turned or placed:
                    return None
                placed = True
                return value
            if operator(node) not in ("mul", "div"):
                return node
            a, b = rest(node.args[0], turned), rest(node.args[1], turned != (operator(node) == "div"))
            if operator(node) == "mul":
                return b if a is None else a if b is None else a * b
            return a if b is None else (ONE if a is None else a) / b

        found = rest(self.body, False)
        assert found is not None
        return found


def _both(some: Sequence[Expr], others: Sequence[Expr]) -> tuple[Expr, ...]:
    """Those of `some` that `others` have, too."""
    return _less(some, _less(some, others))


def _less(some: Sequence[Expr], others: Sequence[Expr]) -> tuple[Expr, ...]:
    """Those of `some` that are left when `others` are taken away."""
    left = list(some)
    for f in others:
        if f in left:
            left.remove(f)
    return tuple(left)


def products_once(function: Function, own: Collection[str]) -> Function:
    """The function with such products computed before those of `own` that have them: gradients that do not share long
    formulas already, of which a part would be computed twice."""
    search = _Search(function, own)
    while search.found():
        pass
    if search.statements == [*function.statements]:
        return function
    return replace(function, tensors=tuple(search.table.values()), statements=tuple(search.statements))


@dataclass(frozen=True, slots=True)
class _Found:
    """A product in common: what it spares, the statements that have it, and one of them that is nothing else."""

    spared: int
    part: _Product
    places: tuple[int, ...]
    alone: int | None


class _Search:
    """The equations of a function, and what those of gradients have in common."""

    def __init__(self, function: Function, own: Collection[str]) -> None:
        self.table, self.statements = dict(function.table), list(function.statements)
        self._names, self._loops = Names(names_of(function)), recurrent(function.statements)
        self._mine = {*own} - self._loops
        self._writers = by_target(function.statements)
        self._bounds: dict[Expr, bool] = {}  # whether the value of a node is never large

    @cached_property
    def _bounded(self) -> set[str]:
        """The tensors whose elements are never large; a cotangent is taken to be about 1."""
        found = self.__dict__["_bounded"] = {t.name for t in self.table.values() if t.role == Role.SEED}
        for e in self.statements:
            alone = e.target not in self._loops and len(self._writers[e.target]) == 1
            if alone and e.reduce == "none" and self._is_bounded(e.body):
                found.add(e.target)
        return found

    def found(self) -> bool:
        """Whether something has been found; it is taken then: what spares most first, each equation changed once."""
        changed: set[int] = set()
        before: dict[int, list[Equation]] = {}
        new: list[Equation | None] = [*self.statements]
        for f in sorted(self._candidates(), key=lambda f: -f.spared):
            if changed.isdisjoint(f.places):
                changed |= {*f.places}
                first = min(k for k in f.places if k != f.alone)
                e, element = self._computed(f, first)
                for k in f.places:
                    o = self.statements[k]
                    new[k] = o.with_body(_with_value(o.body, f.part, element))
                if f.alone is not None:
                    new[f.alone] = None
                    first = min(first, f.alone)
                before.setdefault(first, []).append(e)
        rows = enumerate(new)
        self.statements = [e for k, own in rows for e in (*before.get(k, ()), *([] if own is None else [own]))]
        return bool(changed)

    def _computed(self, found: _Found, first: int) -> tuple[Equation, Expr]:
        """The equation of the product, and its element."""
        if found.alone is not None:
            e = self.statements[found.alone]
            return e, ref(e.target, *e.subscripts)
        name = self._names.new(scaled_name(found.part.above, found.part.below))
        self.table[name], e, element = self.statements[first].part(name, found.part.body)
        self._mine.add(name)
        self._writers[name] = [e]
        if self._is_bounded(e.body):
            self._bounded.add(name)
        return e, element

    def _candidates(self) -> list[_Found]:
        """What is worth its line: what all have in common that have two factors in common."""
        mine = [k for k, e in enumerate(self.statements) if e.target in self._mine and _is_open(e)]
        groups: dict[object, list[tuple[int, _Product]]] = {}
        for k in mine:
            for p in _products(self.statements[k].body):
                sides = [(f, 1) for f in dict.fromkeys(p.above)] + [(f, -1) for f in dict.fromkeys(p.below)]
                for pair in combinations(sides, 2):
                    groups.setdefault(frozenset(pair), []).append((k, p))
        found: dict[Expr, tuple[_Product, Sequence[tuple[int, _Product]]]] = {}
        for group in groups.values():
            if len({k for k, _ in group}) > 1:
                part = reduce(_Product.common, (p for _, p in group))
                if part.above and part.body not in found and self._is_fit(part, group):
                    found[part.body] = part, group
        readers = self._readers(mine) if found else Counter()
        worth = (self._worth(part, group, readers) for part, group in found.values())
        return [f for f in worth if f.spared > 0]

    def _readers(self, mine: Sequence[int]) -> Counter[Expr]:
        """How many equations call each function; two for what others than `mine` call."""
        others = postorder(*(e.body for k, e in enumerate(self.statements) if k not in {*mine}))
        found = Counter({f: 2 for f in others if calls(f)})
        for k in mine:
            found.update({f for f in postorder(self.statements[k].body) if calls(f)})
        return found

    def _is_fit(self, part: _Product, group: Sequence[tuple[int, _Product]]) -> bool:
        """Whether it may be computed first: it stays in the range of numbers, and is no array of its own that one loop
        writes and others read, as those must that add up along other axes."""
        inside = {*indices(part.body)}
        boxes = [e for k, _ in group if (e := self.statements[k]).box]
        moved = {frozenset(i for i, _ in e.reduced) & inside for e in boxes} - {frozenset()}
        if len(moved) > 1 or boxes and not inside:
            return False
        if not any(rest.above or rest.below for rest in (p.without(part) for _, p in group)):
            return False  # gradients that are equal have been named
        return all(self._stays(part, p) for _, p in group)

    def _stays(self, part: _Product, whole: _Product) -> bool:
        """Whether a product stays in the range when `part` of it is computed first: it is so anyway; or of what may
        have any size, the part has one factor, and the rest no more than one, whatever its power; or it has none."""
        if whole.is_first(part):
            return True
        large = self._unbounded(part)
        return not large or len(large) == 1 and len({*self._unbounded(whole.without(part))}) < 2

    def _unbounded(self, some: _Product) -> list[Expr]:
        """The factors that may have any size; of a power the base, twice."""
        above = [f for f in some.above if not self._is_bounded(f)]
        below = [f for f in some.below if not self._is_number(f)]
        parts = map(base_of, (*above, *below))
        return [b for base, exponent in parts for b in ([base] if exponent is ONE else [base, base])]

    def _is_number(self, node: Expr) -> bool:
        """Whether it is a number, a size or an option."""
        return is_exact(node) or isinstance(node, Ref) and node.name not in self.table

    def _is_bounded(self, node: Expr) -> bool:
        """Whether its value is never large, whatever is read."""
        return folded(node, self._bounds, self._bound)

    def _bound(self, node: Expr) -> bool:
        """The same, where what it is computed from is known."""
        if isinstance(node, Ref):
            return self._is_number(node) or node.name in self._bounded
        if not isinstance(node, Apply):
            return True
        known = [self._bounds[a] for a in node.args]
        if node.op == "div":
            return known[0] and self._is_number(node.args[1])
        if OPS[node.op].kind == "power":
            return known[0] and is_exact(node.args[1]) and value_of(node.args[1]) > 0
        if OPS[node.op].arithmetic or node.op == "select":
            return all(known[node.op == "select" :])
        return OPS[node.op].bounded

    def _worth(self, part: _Product, group: Sequence[tuple[int, _Product]], readers: Mapping[Expr, int]) -> _Found:
        """What it spares: operations, and lines that are longer or shorter."""
        places = tuple(dict.fromkeys(k for k, _ in group))
        element = ref("#", *indices(part.body))
        before = [self.statements[k].body for k in places]
        after = [_with_value(b, part, element) for b in before]
        less = sum(map(work, before)) - sum(map(work, after)) - work(part.body)
        alone = next((k for k, p in group if self._is_alone(k, p.without(part))), None)
        left = [{*postorder(b)} for b in after]
        named = [f for f in {*part.above, *part.below} if calls(f) and readers[f] > 1]
        gone = [f for f in named if readers[f] == len(places) and not any(f in nodes for nodes in left)]
        return _Found(less - MANY * ((alone is None) - len(gone)), part, places, alone)

    def _is_alone(self, k: int, rest: _Product) -> bool:
        """Whether a statement is nothing else than the product, of which `rest` is left."""
        e, tensor = self.statements[k], self.table[self.statements[k].target]
        own = tensor.role == Role.LOCAL and e.fills(tensor) and len(self._writers[e.target]) == 1
        return own and e.reduce == "none" and not (rest.above or rest.below) and terms_of(e.body) == [(e.body, 1)]


def _is_open(e: Equation) -> bool:
    """Whether it is computed at all points of its box, whatever is asked."""
    return e.plain and e.reduce in ("none", "sum") and e.matrix is None and not (e.conditions or e.when or e.guarded)


def _products(body: Expr) -> list[_Product]:
    """The terms, and those of a sum that is multiplied one by one."""
    return [p for closed, opened in _terms(body) for p in (closed, *opened)]


def _terms(body: Expr) -> Iterator[tuple[_Product, list[_Product]]]:
    """The terms; and of each with a sum of products in it, that multiplied out: no term of the sum is exact, which
    would lose digits where terms cancel."""
    for term, sign in terms_of(body):
        closed = _Product.of(term, sign)
        sums = [f for f in closed.above if operator(f) in ("add", "sub")]
        inner = terms_of(sums[0]) if len(sums) == 1 else []
        factors = [_Product.of(t) for t, _ in inner]
        if any(sum(not is_exact(f) for f in (*p.above, *p.below)) < 2 for p in factors):
            inner = []
        whole = [_Product(sums[0], 1, (sums[0],), ())] if inner else []
        yield closed, [_Product.of(closed.with_value(w, t), closed.sign * s) for w in whole for t, s in inner]


def _with_value(body: Expr, part: _Product, value: Expr) -> Expr:
    """`body` with `value` for the product, in each term that has its factors."""
    found, changed = list[tuple[Expr, int]](), False
    for closed, opened in _terms(body):
        rows = opened if not closed.holds(part) and any(p.holds(part) for p in opened) else [closed]
        changed = changed or any(p.holds(part) for p in rows)
        found += [(p.with_value(part, value) if p.holds(part) else p.body, p.sign) for p in rows]
    return signed_total(found) if changed else body
