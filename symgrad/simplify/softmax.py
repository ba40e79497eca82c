"""Quotients and logarithms of sums of exponentials, in a form that does not overflow.

With S the sum of exp(u), and L the logsumexp of u:

    exp(u) / S           is exp(u - L)
    sum(exp(u) v) / S    is sum(exp(u - L) v)
    log(S)               is L

also where the sum is over the places that a condition selects: where(c, exp(u), 0), or exp(u) times a comparison.

Where the exponentials have weights w, S is the sum of exp(u) w. With M any number, and T the sum of exp(u - M) w:

    exp(u) w / S         is exp(u - M) w / T

M is the floor of the largest u whose weight is not 0; where that is infinite, u - M would be no number, and M is 0. Its
derivative is 0, as that of M must be.
"""

from __future__ import annotations

from functools import partial, reduce

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    factors,
    fraction,
    indices,
    postorder,
    product,
    ref,
    refs,
    substitute,
    transform,
)
from ..expr.names import Names
from ..ir import Dtype, Equation, Function, Tensor, dtype_of_part, ordered
from ..ops.limits import INFINITY
from ..records import dataclass, replace
from .match import match


@dataclass(frozen=True, slots=True)
class Exponential:
    """exp(u) weight where the condition holds, else 0."""

    u: Expr
    condition: Expr = ONE
    weight: Expr = ONE


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of exponentials as a reader sees it: S = sum exp(u) weight, over the `reduced` indices, is exp(shift) times
    the product of `rest` over that of `below`; u has a name where infinities stand in it."""

    u: Expr
    name: Expr
    shift: Expr
    rest: list[Expr]
    below: list[Expr]
    reduced: frozenset[Expr]

    @property
    def log(self) -> Expr:
        """The logarithm of S, where it has one."""
        found = self.shift
        if self.rest:
            return found + apply("log", fraction(self.rest, self.below))
        return found - apply("log", product(self.below)) if self.below else found


def softmax(function: Function) -> Function:
    """The function with such quotients and logarithms in stable form."""
    return _Softmax(function).rewritten()


class _Softmax:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.elementwise = {**function.elementwise}  # with what is rewritten of them so far
        self.sums = {
            name: equations[0]
            for name, equations in function.writers.items()
            if len(equations) == 1 and equations[0].reduce == "sum" and equations[0].fills(function.table[name])
        }
        self.added: dict[str, list[tuple[Tensor, Equation]]] = {}  # what stands behind the equation of a sum
        self.masked: dict[Expr, Expr] = {}  # exponents with infinite elements, and their names
        self.before: list[tuple[Tensor, Equation]] = []  # what stands before the equation that is being rewritten
        self.names = Names(function.table)

    def rewritten(self) -> Function:
        """The function with its equations rewritten, and those that they need."""
        function = self.function
        statements: list[Equation] = []
        new: list[tuple[Tensor, Equation]] = []
        for e in function.statements:
            self.before = []
            changed = e.with_body(transform(e.body, self._node))
            for known in (self.elementwise, self.sums):
                if known.get(e.target) is e:
                    known[e.target] = changed
            new += self.before
            statements += [*(x for _, x in self.before), changed]
        if not self.added and not new:
            return function
        used = {r.name for e in statements for r in e.reads}
        result: list[Equation] = []
        for e in statements:
            result += [e, *(x for _, x in self.added.get(e.target, ()))]
        new += [pair for pairs in self.added.values() for pair in pairs]
        used |= {r.name for e in result for r in e.reads}
        unused = {t.name for t, _ in new if t.name not in used}
        return replace(
            function,
            tensors=(*function.tensors, *(t for t, _ in new if t.name not in unused)),
            statements=ordered([e for e in result if e.target not in unused]),
        )

    def _node(self, node: Expr) -> Expr:
        if not isinstance(node, Apply) or node.op not in ("div", "log"):
            return node
        below = node.args[-1]
        found = self._total(below) if isinstance(below, Ref) else None
        if found is None:
            return node
        if node.op == "log":
            return found.log
        above = self._above(node.args[0], found)
        return node if above is None else fraction([above, *found.below], found.rest)

    def _above(self, node: Expr, total: Total) -> Expr | None:
        """What stands above the line times exp(-shift)."""
        mine = self._exponential(node)
        if mine is not None and (found := match(total.u, mine.u, total.reduced)) is not None:
            return _shifted(replace(mine, u=substitute(total.name, found)), total.shift)
        parts, under = factors(node)
        for place, part in enumerate(parts):
            summed = self._summed(part, total) if isinstance(part, Ref) else None
            if summed is not None:
                return fraction([*parts[:place], summed, *parts[place + 1 :]], under)
        return None

    def _summed(self, node: Ref, total: Total) -> Expr | None:
        """The sum of exp(u) v, times exp(-shift), as an equation of its own."""
        e = self.sums.get(node.name)
        mine = None if e is None or e.when else self._exponential(e.body)
        places = set(node.subscripts)
        if e is None or mine is None or len(places) < len(node.subscripts) or set(indices(*places)) != places:
            return None
        here: dict[Expr, Expr] = dict(zip(node.subscripts, e.subscripts, strict=True))
        if not set(indices(total.shift)) <= places:
            return None  # it would have to be summed for more indices
        found = match(substitute(total.u, here), mine.u, total.reduced)
        if found is None:
            return None
        mine = replace(mine, u=substitute(substitute(total.name, here), found))
        shift = substitute(total.shift, here)
        body = _shifted(mine, shift)
        if e.where is None:
            body = product([self._share(e, _shifted(replace(mine, weight=ONE), shift)), mine.weight])
        name = self.names.new(f"weighted_{node.name}" if self.function.table[node.name].named else node.name)
        self.before.append((Tensor(name, self.function.table[node.name].shape), replace(e, target=name, body=body)))
        return ref(name, *node.subscripts)

    def _share(self, e: Equation, body: Expr) -> Ref:
        """A part of the body of `e` by a name of its own: a product of matrices stays one."""
        return self._part(e, _name("share", body), body)

    def _part(self, e: Equation, wish: str, body: Expr) -> Ref:
        tensor, equation, element = e.part(self.names.new(wish), body)
        self.before.append((tensor, equation))
        return element

    def _total(self, total: Ref) -> Total | None:
        e = self.sums.get(total.name)
        mine = None if e is None else self._exponential(e.body)
        if e is None or mine is None:
            return None
        at = dict(zip(e.subscripts, total.subscripts, strict=True))
        reduced = {i for i, _ in e.reduced}
        moving, shift = _split_invariant(mine.u, reduced)
        above, below = ([x for x in part if not set(indices(x)) & reduced] for part in factors(mine.weight))
        weight = fraction(*([x for x in part if set(indices(x)) & reduced] for part in factors(mine.weight)))
        if weight is not ONE and not set(indices(moving)) & reduced:
            return None
        named = self._masked(e, moving)
        u, moving = substitute(mine.u, {moving: named}), named
        if e.target not in self.added:
            self.added[e.target] = self._stable(e, Exponential(moving, mine.condition, weight))
        own, *totals = (ref(t.name, *total.subscripts) for t, _ in self.added[e.target][-2:])
        rest = [*totals, *(substitute(x, at) for x in above if x is not ONE)]
        below = [substitute(x, at) for x in below]
        beside = substitute(shift, at)
        if any(self._is_log(r, moving) for r in refs(beside)):  # of exp(u - L) the sum is 1, but of nothing
            return None
        shift = own + beside
        return Total(substitute(mine.u, at), substitute(u, at), shift, rest, below, frozenset[Expr](reduced))

    def _is_log(self, element: Ref, u: Expr) -> bool:
        """Whether it is an element of the logsumexp of u."""
        added = (e for pairs in self.added.values() for _, e in pairs if e.target == element.name)
        logs = (e.body for e in added if e.reduce == "logsumexp")
        return any(match(body, u, frozenset(indices(body))) is not None for body in logs)

    def _masked(self, e: Equation, u: Expr) -> Expr:
        """The exponent u, by a name if some of its elements are infinite: a maximum, a sum and a quotient read it."""
        if INFINITY not in postorder(u) or e.where is not None or e.when:
            return u
        if u in self.masked:
            return self.masked[u]
        branches = [n.args[k] for n in postorder(u) if isinstance(n, Apply) and n.op == "select" for k in (1, 2)]
        return self.masked.setdefault(u, self._part(e, _name("masked", product(branches)), u))

    def _stable(self, e: Equation, mine: Exponential) -> list[tuple[Tensor, Equation]]:
        """The logsumexp of u; with weights the largest u, its floor, and the sum of exp(u - floor) weight."""
        shape = self.function.table[e.target].shape
        condition = mine.condition if e.where is None else apply("and", e.where, mine.condition)
        if mine.weight is ONE:
            name = self.names.new(_name("logsumexp", mine.u))
            where = None if condition is ONE else condition
            return [(Tensor(name, shape), replace(e, target=name, reduce="logsumexp", body=mine.u, where=where))]
        largest, floor, rest = (self.names.new(_name(word, mine.u)) for word in ("largest", "shift", "total"))
        where = apply("and", condition, apply("ne", mine.weight, ZERO))
        shift = ref(floor, *e.subscripts)
        box = tuple(pair for pair in e.box if pair not in e.reduced)
        top = ref(largest, *e.subscripts)
        finite = apply("lt", apply("abs", top), INFINITY)
        body = apply("select", finite, apply("floor", top), ZERO)
        floored = Equation(floor, e.subscripts, "none", body, box, None, e.when)
        return [
            (Tensor(largest, shape), replace(e, target=largest, reduce="max", body=mine.u, where=where)),
            (Tensor(floor, shape), floored),
            (Tensor(rest, shape), replace(e, target=rest, body=_shifted(mine, shift))),
        ]

    def _exponential(self, node: Expr) -> Exponential | None:
        """`node` as an exponential under a condition, with a weight, also through named values; None if it is none."""
        node = self._written_out(node)
        if isinstance(node, Apply) and node.op == "exp":
            return Exponential(node.args[0])
        if isinstance(node, Apply) and node.op == "select" and ZERO in node.args[1:]:
            asked, then, otherwise = node.args
            mine = self._exponential(then if otherwise is ZERO else otherwise)
            condition = asked if otherwise is ZERO else apply("not", asked)
            return None if mine is None else replace(mine, condition=apply("and", mine.condition, condition))
        if isinstance(node, Apply) and node.op in ("mul", "div"):
            above, below = factors(node)
            for place, part in enumerate(above):
                mine = self._exponential(part)
                if mine is None:
                    continue
                others = [*above[:place], *above[place + 1 :]]
                masks = [x for x in others if self._is_condition(x)]
                weights = [x for x in others if x not in masks]
                condition = reduce(partial(apply, "and"), masks, mine.condition)
                return Exponential(mine.u, condition, fraction([mine.weight, *weights], below))
        return None

    def _written_out(self, node: Expr) -> Expr:
        while isinstance(node, Ref) and node.name in self.elementwise:
            e = self.elementwise[node.name]
            node = substitute(e.body, dict(zip(e.subscripts, node.subscripts, strict=True)))
        return node

    def _is_condition(self, node: Expr) -> bool:
        if isinstance(node, Ref):
            return self.function.table[node.name].dtype == Dtype.BOOL if node.name in self.function.table else False
        return dtype_of_part(node) == Dtype.BOOL


def _name(word: str, body: Expr) -> str:
    names = list(dict.fromkeys(r.name for r in refs(body) if r.subscripts))
    return f"{word}_{names[0]}" if len(names) == 1 else word


def _shifted(mine: Exponential, shift: Expr) -> Expr:
    """exp(u - shift) weight where the condition holds."""
    body = product([apply("exp", _cancelled(mine.u, shift)), mine.weight])
    return apply("select", mine.condition, body, ZERO)


def _split_invariant(u: Expr, reduced: set[Index]) -> tuple[Expr, Expr]:
    """u = moving + shift, where the shift does not depend on the reduced indices: lse(u - c) is lse(u) - c."""
    if isinstance(u, Apply) and u.op in ("add", "sub"):
        a, b = u.args
        if not set(indices(b)) & reduced:
            moving, shift = _split_invariant(a, reduced)
            return moving, shift + b if u.op == "add" else shift - b
        if u.op == "add" and not set(indices(a)) & reduced:
            moving, shift = _split_invariant(b, reduced)
            return moving, a + shift
    return u, ZERO


def _cancelled(u: Expr, total: Expr) -> Expr:
    """u - total, where a shift that stands in both has gone."""
    if isinstance(u, Apply) and isinstance(total, Apply) and u.op == "sub" and total.op == "sub":
        if u.args[1].key is total.args[1].key:
            return u.args[0] - total.args[0]
    return u - total
