"""The piece that a `where` has under an equality of data, and the piece beside it: x**2 and x**3 in
where(x == 1, x**2, x**3).

The equality holds nowhere beside the points at which it holds, so the piece says nothing of slopes. Where the two have
one value wherever the equality holds, the function is the other piece, and so is its slope; where they do not, it
jumps, and the slope is declared to be that of the piece. Which of the two it is, values at random points tell.

Where the other piece has no value, or no slope, but a limit, which is the value of the first one, its series at the
equality stands there: t*exp(-b*t) + (a - b)*(-t**2/2*exp(-b*t)) in where(a == b, ..., (exp(-a*t) - exp(-b*t))/(b - a)).
Else the first one stays: where(p == 0, 0, p*log(q)) is for its derivative where((p == 0) & (q <= 0), 0, p*log(q)).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, reduce

from ..declare.text import read_formula
from ..errors import SymgradError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    apply,
    conjunction,
    indices,
    is_exact,
    operators,
    postorder,
    ref,
    refs,
    renewed,
    select,
    substitute,
    value_of,
)
from ..expr.names import Names
from ..expr.nodes import OPPOSITE
from ..ir import Equation, Function, Tensor, evaluated, names_of, negation
from ..later import mp
from ..ops import OPS
from ..records import dataclass, replace
from .expansion import first_terms
from .points import ZEROS, Point, Slopes, same
from .spelling import TERMS, Spelling, is_equality, is_thin

BITS = 300
POINTS = 12  # at which the pieces are compared
MISSED = 3  # points in a row from which none is found: each costs all the steps, at 300 bits

PLACES = tuple(ref(f"#{k}") for k in range(4))  # what an operator is applied to, and its result


def with_neighbours(function: Function, slopes: Slopes) -> Function:
    """The function whose derivative is that of `function`, and so is its value, with rounding errors: each piece under
    an equality of data that has the value of its neighbour is the neighbour.

    slopes  the derivative of an expression in what it reads

    Where a slope takes sums that the function has not, locals of their own compute them.
    """
    if not any(_choices(e, function) for e in function.statements):
        return function
    names = Names(names_of(function))
    tensors, statements = list(function.tensors), list[Equation]()
    for e in function.statements:
        spelling = Spelling(function, e, names)
        new = _rewritten(e, spelling, slopes) if _choices(e, function) else e
        added = spelling.equations()
        tensors += (Tensor(own.target, tuple(extent for _, extent in own.shown)) for own in added)
        statements += (*added, new)
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _choices(e: Equation, function: Function) -> bool:
    return "select" in operators(e.body) and any(is_choice_by_equality(n, function) for n in postorder(e.body))


def _rewritten(e: Equation, spelling: Spelling, slopes: Slopes) -> Equation:
    under = evaluated([(e.body, ())], cases=1)
    done: dict[Expr, Expr] = {}
    for node in postorder(e.body):
        new = renewed(node, done)
        if isinstance(new, Apply) and is_choice_by_equality(new, spelling.function):
            (conditions,) = under[node]
            new = _Pieces(new, spelling, slopes, conditions).joined()
        done[node] = new
    return e.with_body(done[e.body])


def is_choice_by_equality(node: Expr, function: Function) -> bool:
    """Whether it is a `where` that asks whether data is equal, among other things."""
    if not (isinstance(node, Apply) and node.op == "select"):
        return False
    return any(is_equality(n, function) for n in postorder(node.args[0]))


@dataclass(frozen=True, slots=True)
class _Pieces:
    """One `where` in the body of an equation, and the conditions under which it is evaluated."""

    node: Apply
    spelling: Spelling
    slopes: Slopes
    under: Sequence[Expr]

    @property
    def function(self) -> Function:
        return self.spelling.function

    def joined(self) -> Expr:
        """The neighbour where it has a value, if it has that of the piece under the equality; else the `where`."""
        condition, *pieces = self.node.args
        for holds, (thin, other) in ((True, pieces), (False, pieces[::-1])):
            if is_thin(condition, holds, self.function):
                tie = condition if holds else _opposite(condition)
                ties = self._ties(condition, holds)
                needed = self._lacking(condition, holds, thin, other, ties)
                own = {i for i, _ in self.spelling.reader.box}
                if needed is None or not {i for c in needed for i in indices(c)} <= own:
                    series = self._series(tie, thin, other, ties)
                    return self._in_parts(tie, thin, other) if series is None else select(tie, series, other)
                if not needed:
                    return other
                lost = apply("and", tie, reduce(lambda a, b: apply("or", a, b), needed))
                series = self._series(lost, thin, other, ties)
                return select(lost, thin if series is None else series, other)
        return self.node

    def _in_parts(self, tie: Expr, thin: Expr, other: Expr) -> Expr:
        """The `where`, of which the piece under the equality may be a choice: one branch may be the neighbour's value,
        and the other one not."""
        if not (isinstance(thin, Apply) and thin.op == "select"):
            return self.node
        asked, *branches = thin.args
        sides = zip((asked, _opposite(asked)), branches, strict=True)
        ways = [select(apply("and", tie, side), branch, other) for side, branch in sides]
        found = [replace(self, node=way).joined() if isinstance(way, Apply) else way for way in ways]
        return found[1] if found[0] is other else found[0] if found[1] is other else self.node

    def _ties(self, condition: Expr, holds: bool) -> list[tuple[list[Expr], list[Expr]]]:
        """The ways in which a condition holds: what is 0 then, and what else must hold."""
        op, args = (condition.op, condition.args) if isinstance(condition, Apply) else ("", ())
        if op == "not":
            return self._ties(args[0], not holds)
        if op in ("and", "or"):
            one, two = (self._ties(a, holds) for a in args)
            if (op == "or") == holds:
                return [*one, *two]
            return [([*a, *b], [*c, *d]) for (a, c), (b, d) in itertools.product(one, two)]
        if is_equality(condition, self.function) and (op == "eq") == holds:
            return [([args[0] - args[1]], [])]
        return [([], [condition if holds else negation(condition)])]

    def _lacking(
        self, condition: Expr, holds: bool, thin: Expr, other: Expr, ties: Sequence[tuple[list[Expr], list[Expr]]]
    ) -> list[Expr] | None:
        """The conditions under which the neighbour has no value, or no slope, at some points of the equality where the
        piece has one; None where it has another value than the piece."""
        asked, one, two = map(self.spelling.terms, (condition, thin, other))
        under = [*map(self.spelling.terms, self.under)]
        own = _undefined(two)
        if own is None:
            return None
        failing: dict[Expr, None] = {}
        with mp.workprec(BITS):
            if any(bool(Point(k, self.function).value(asked)) == holds for k in range(POINTS) if k % ZEROS):
                return None  # an equality that holds everywhere, or a test of something else
            for tied, _ in ties:
                zeros, equals, missed = [self.spelling.terms(d) for d in tied], 0, 0
                for point in (Point(k, self.function) for k in range(POINTS)):
                    if not point.moved_to(zeros, self.slopes):
                        missed += 1
                        if missed == MISSED and not equals:
                            return None
                        continue
                    a = point.value(one)
                    if bool(point.value(asked)) != holds or mp.isnan(a) or not all(map(point.value, under)):
                        continue
                    lost = [c for c in own if point.value(c)]
                    failing.update(dict.fromkeys(lost))
                    if not lost:
                        b = point.value(two)
                        if not mp.isfinite(b) or not same(a, b):
                            return None
                        equals += 1
                if not equals:
                    return None
        return [c for c in own if c in failing]

    def _series(
        self, holds: Expr, thin: Expr, other: Expr, ties: Sequence[tuple[list[Expr], list[Expr]]]
    ) -> Expr | None:
        """The neighbour's first two terms beside an equality, where the condition holds; None if they have no value at
        a point at which the piece has one, or another, or nothing tells."""
        if len(ties) != 1 or len(ties[0][0]) != 1:
            return None
        (difference,) = ties[0][0]
        zero, body = map(self.spelling.elementwise, (difference, other))
        free = [(r, scale) for r, scale in self.slopes(zero) if isinstance(scale, Const)]
        if not free or any(r.name in self.function.writers for r in refs(zero)):
            return None
        of, scale = free[0]
        sums = self.spelling.moving(body, of)
        if sums is None:
            return None
        with mp.workprec(BITS):
            found = first_terms(body, of, -substitute(zero, {of: ZERO}) / scale, 2, self._number, sums)
            if found is None or not self._agree(holds, thin, found, zero):
                return None
        self.spelling.ask(holds, found)
        return found[0] + found[1] / scale * difference

    def _agree(self, holds: Expr, thin: Expr, found: Sequence[Expr], zero: Expr) -> bool:
        """Whether a series has the value of the piece, and a slope, at points of an equality."""
        holds, thin, *terms = map(self.spelling.terms, (holds, thin, *found))
        equals = 0
        for point in (Point(k, self.function) for k in range(POINTS)):
            if point.moved_to([zero], self.slopes) and point.value(holds):
                value, slope = map(point.value, terms)
                a = point.value(thin)
                if mp.isnan(a):
                    continue
                if not mp.isfinite(slope) or not same(a, value):
                    return False
                equals += 1
        return equals > 0

    def _number(self, node: Expr) -> Fraction | float | None:
        """The whole number that an expression is at all points at which it has a value, whatever sizes are, if it is
        one; NaN if it has hardly any."""
        under = [*map(self.spelling.terms, self.under)]
        points = [p for p in (Point(k, self.function) for k in range(POINTS)) if all(map(p.value, under))]
        whole = None
        for count in (TERMS, TERMS + 1) if self.spelling.counts(node) else (TERMS,):
            terms = self.spelling.terms(node, count)
            found = [v for p in points if mp.isfinite(v := p.value(terms))]
            if len(found) < MISSED:
                return math.nan
            whole = mp.nint(found[0]) if whole is None else whole
            if not all(same(v, whole) for v in found):
                return None
        return Fraction(int(whole or 0))


def _opposite(condition: Expr) -> Expr:
    """What holds where a condition of numbers does not."""
    other = OPPOSITE.get(condition.op) if isinstance(condition, Apply) else None
    return negation(condition) if other is None else apply(other, *condition.args)


def _undefined(root: Expr) -> list[Expr] | None:
    """The conditions under which an expression, or its slope, has no value; None if that is not known."""
    found: dict[Expr, None] = {}
    for node, (under,) in evaluated([(root, ())], cases=1).items():
        if isinstance(node, Apply):
            conditions = needed(node)
            if conditions is None:
                return None
            found.update(dict.fromkeys(conjunction([*under, _opposite(c)]) for c in conditions))
    return list(found)


def needed(node: Apply) -> list[Expr] | None:
    """The conditions for an operation to have a value, and a slope."""
    row, args = OPS[node.op], node.args
    if row.total:
        put = dict(zip(PLACES, (*args, node), strict=False))
        return [substitute(c, put) for c in _sloping(node.op)]
    if row.name == "pow" and is_exact(args[1]):
        power = value_of(args[1])
        if power.denominator != 1:
            return [apply("gt", args[0], 0)]
        return [apply("ne", args[0], 0)] if power < 0 else []
    conditions = conditions_of(row.domain.removesuffix(", or y an integer"))  # whether it is one is not known
    if conditions is None:
        return None
    found = []
    for c in conditions:
        put = {r: a for r in refs(c) for name, a in zip("xyz", args, strict=False) if r.name == name}
        found.append(substitute(c, put))
    return [c for c in found if c is not ONE]


@lru_cache(maxsize=256)
def _sloping(op: str) -> list[Expr]:
    """Where a function of every real number has a slope, that none is declared for: cbrt(x) != 0."""
    row = OPS[op]
    if row.derivative is None or row.kinks or row.arity >= len(PLACES):
        return []
    partials = row.derivative(*PLACES[: row.arity], PLACES[row.arity])
    nodes = {n: None for p in partials if p is not None for n in postorder(p) if isinstance(n, Apply)}
    below = [n.args[1] for n in nodes if n.op == "div"]
    below += [n.args[0] for n in nodes if n.op == "pow" and is_exact(n.args[1]) and value_of(n.args[1]) < 0]
    return [c for c in (apply("ne", b, 0) for b in below) if c is not ONE]


@lru_cache(maxsize=64)
def conditions_of(words: str) -> list[Expr] | None:
    """The domain of an operator of x, y and z as conditions, without its ends; None where it is said in words."""
    if words == OPS["exp"].domain:
        return []
    a, *more = re.split(r"\s*(<=|>=|<|>|!=)\s*", words)
    found = []
    for sign, b in zip(more[::2], more[1::2], strict=True):
        try:
            strict = sign.rstrip("=") if sign != "!=" else sign
            (e,) = read_formula(f"f(x, y, z) = where({a} {strict} {b}, 1, 0)").statements
        except SymgradError:
            return None
        found.append(e.body.args[0])
        a = b
    return found or None
