"""What numbers make of a formula: points of all kinds, what it is there, and how many bits a form of it loses.

The truth is in balls (Arb, by python-flint): numbers with a bound of their error, computed with more digits until
enough are certain. Forms are computed in doubles as processors do: arithmetic and roots are NumPy's, each function is
the double nearest to it, so that no library and no processor decides what is printed.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

from ..expr import (
    ARGUMENT,
    Apply,
    Const,
    Expr,
    Operator,
    Ref,
    bound_of,
    folded,
    is_double,
    is_exact,
    operator,
    postorder,
    terms_of,
    values,
)
from ..expr.nodes import COMPARE, OPPOSITE
from ..later import flint, mp, mpmath, np
from ..ops import OPS

DIGITS = (128, 512, 2048, 8192)  # bits, until CERTAIN of them are
CERTAIN = 60
SMALLEST = -1090  # as a power of 2: it rounds to 0
NOTHING = 6400  # hundredths of bits lost where there is no number, or one with hardly a digit right
NORMAL = 2.0**-1022  # smaller numbers have fewer digits, and are no points of a sample
TURNED = 2.0**53  # doubles beyond it are more than 1 apart, as angles by turns
HARDLY = 4500  # a wrong number is no better than none
TABLE = 1024  # units in the last place, from which on whole bits are counted
PRACTICAL, FULL = range(-27, 10), range(-996, 996)  # binary exponents of points
SCALED = range(4)  # those of cotangents, sizes and options
NEAR = range(-40, -3)  # of how far apart two arguments are, or one from 1
MANY_LEAVES = 6  # variables of a formula that is looked at where some of them are 0
ZEROS = "zeros"  # a kind at which bits are not counted: a form is to be a number where what was written is one
KINDS = {"practical": 64, "full": 40, "near": 32, "unit": 48, "edges": 12, "saturated": 16}
WHOLE = ("practical", "unit", "edges", "saturated")  # kinds that people have: each counts as much as another
SATURATED = (40, 300, 720, 1000)  # where exponentials leave 1 behind, their squares overflow, and they do
UNIT = range(-40, 0)  # of how far a number of the unit interval is from its ends
TRIED = 4  # times as many points are drawn
SMALL = (-1.0, 0.0, 0.5, 1.0, 2.0)  # where people look first
FEW_LEAVES = 3  # variables of a formula that is looked at at all of them


Point = dict[Expr, float]
Points = Mapping[Expr, Any]  # of each leaf an array


@cache
def in_balls(op: str) -> Callable[..., Any] | None:
    return OPS[op].in_balls


@lru_cache(4096)
def known(root: Expr) -> bool:
    """Whether there are balls of a formula."""
    stack, seen = [(root, False)], set[tuple[Expr, bool]]()
    while stack:
        node, asked = pair = stack.pop()
        if pair in seen:
            continue
        seen.add(pair)
        if not isinstance(node, Apply):
            if asked or not isinstance(node, (Ref, Const)):
                return False
        elif asked:
            logic = OPS[node.op].kind == "logic"
            if not logic and node.op not in COMPARE:
                return False
            stack += ((a, logic) for a in node.args)
        elif node.op != "select" and in_balls(node.op) is None:
            return False
        else:
            stack += ((a, k == 0 and node.op == "select") for k, a in enumerate(node.args))
    return True


@lru_cache(4096)
def _line(root: Expr) -> tuple[tuple[Expr, Callable[..., Any] | None, tuple[Expr, ...]], ...]:
    """What is computed for `root`, each after its arguments, and how; nothing below a `where`, which is computed by no
    function."""
    found: list[tuple[Expr, Callable[..., Any] | None, tuple[Expr, ...]]] = []
    for node in values(root, closed=lambda n: operator(n) == "select"):
        if isinstance(node, Const):
            found.append((node, partial(_exact, node), ()))
        elif isinstance(node, Apply):
            choice = node.op == "select"
            found.append((node, None if choice else in_balls(node.op), () if choice else node.args))
    return tuple(found)


def ball(root: Expr, done: dict[Expr, Any]) -> Any:
    """The value at the working precision, where `done` has balls of the leaves, and gets those of what `root` is made
    of; of a `where` what is chosen. None where that is not certain, or there is none."""
    for node, compute, args in () if root in done else _line(root):
        if node in done:
            continue
        if compute is not None:
            done[node] = compute(*[done[a] for a in args])
            continue
        condition, *sides = node.args
        holds = _holds(condition, done)
        if holds is None:
            return None
        taken = sides[0 if holds else 1]
        ball(taken, done)
        if taken not in done:
            return None
        done[node] = done[taken]
    found = done[root]
    return found if found.is_finite() else None


def _holds(condition: Expr, done: dict[Expr, Any]) -> bool | None:
    """Whether it does; None where that is not certain."""
    assert isinstance(condition, Apply)  # of what is `known`
    if OPS[condition.op].kind == "logic":
        parts = (_holds(a, done) for a in condition.args)
        if condition.op == "not":
            (part,) = parts
            return None if part is None else not part
        decides, seen = condition.op == "or", list[bool | None]()
        for part in parts:
            if part is decides:
                return decides
            seen.append(part)
        return None if None in seen else not decides
    numbers = [ball(a, done) for a in condition.args]
    if None in numbers:
        return None
    holds, fails = COMPARE[condition.op](*numbers), COMPARE[OPPOSITE[condition.op]](*numbers)
    return None if holds == fails else bool(holds)


def _exact(node: Const) -> Any:
    return _quotient(*node.value.as_integer_ratio(), flint.ctx.prec)


@lru_cache(4096)
def _quotient(above: int, below: int, digits: int) -> Any:
    """At a working precision."""
    return flint.arb(above) / below if below > 1 else flint.arb(above)


class Balls:
    """Formulas at one point; what was computed for one is not computed again for another."""

    __slots__ = ("_done", "at")

    def __init__(self, at: Mapping[Expr, float]) -> None:
        self.at = at
        self._done: dict[int, dict[Expr, Any]] = {}  # by the working precision

    def of(self, root: Expr, digits: int) -> Any:
        """Its ball, as `ball` says."""
        with flint.ctx.workprec(digits):
            return ball(root, self.known(digits))

    def known(self, digits: int) -> dict[Expr, Any]:
        """What was computed at a precision."""
        done = self._done.get(digits)
        if done is None:
            done = self._done[digits] = {leaf: flint.arb(number) for leaf, number in self.at.items()}
        return done

    def nearest(self, root: Expr, rounded: float | None = None) -> float:
        """The double nearest to the value; NaN where there is no real number, or it is not known. What doubles make of
        it is `rounded`, where that is known."""
        for digits in DIGITS:
            value = self.of(root, digits)
            if value is None:
                if digits == DIGITS[1] and math.isnan(value_at(root, self.at) if rounded is None else rounded):
                    return math.nan
                continue
            if _certain(value):
                return _double(value)
        return math.nan

    def turned(self, angle: Expr) -> bool:
        """Whether it is so large that rounding moves it by more than a turn."""
        number = self.nearest(angle)
        return abs(number) > TURNED and bool(self.of(angle, DIGITS[1]) != number)


@cache
def _power_of_two(exponent: int) -> Any:
    return flint.arb(2) ** exponent


def _certain(value: Any) -> bool:
    """Whether a ball tells the double."""
    certain: bool = value.rel_accuracy_bits() > CERTAIN or value.is_exact() or abs(value) < _power_of_two(SMALLEST)
    return certain


def value_at(root: Expr, at: Mapping[Expr, float]) -> float:
    """What doubles make of it at one point."""
    with np.errstate(all="ignore"):
        return float(Doubles({leaf: np.float64(number) for leaf, number in at.items()}).of(root))


def _values(root: Expr, points: Sequence[Point]) -> list[float]:
    """The same at several points."""
    with np.errstate(all="ignore"):
        found = Doubles({leaf: np.array([at[leaf] for at in points]) for leaf in points[0]}).of(root)
    values: list[float] = np.broadcast_to(found, len(points)).tolist()
    return values


def _double(value: Any) -> float:
    if abs(value) < _power_of_two(1024):
        return float(value.mid())
    return math.inf if value > 0 else -math.inf


class Doubles:
    """Formulas in doubles, at many points at once; what was computed for one is not computed again for another."""

    def __init__(self, at: Points) -> None:
        self.at = at
        self._done: dict[Expr, Any] = dict(at)

    def of(self, root: Expr) -> Any:
        return folded(root, self._done, self._computed)

    def _computed(self, node: Expr) -> Any:
        if not isinstance(node, Apply):
            assert isinstance(node, Const)
            try:
                return np.float64(node.value.numerator / node.value.denominator)
            except OverflowError:  # as it is printed
                return np.float64(np.inf if node.value > 0 else -np.inf)
        row, args = OPS[node.op], [self._done[a] for a in node.args]
        if node.op == "select":
            return np.where(*args)
        if row.result == "bool":
            if row.kind == "logic":
                return getattr(np, f"logical_{node.op}")(*args)
            return COMPARE[node.op](*args) if node.op in COMPARE else _by_points(node.op, *args)
        if row.arithmetic and row.arity:
            return row.in_balls(*args) if row.in_balls else None  # the operation's sign: one of doubles, too
        if node.op == "sqrt":
            return np.sqrt(args[0])
        if node.op == "pow" and isinstance(node.args[1], Const) and node.args[1].value == 2:
            return args[0] * args[0]
        return _by_points(node.op, *args)


def _by_points(op: str, *args: Any) -> Any:
    """A function at many points."""
    if not any(map(np.ndim, args)):
        return np.float64(_function(op, *map(_number, args)))
    columns = (np.asarray(a, np.float64).tolist() for a in np.broadcast_arrays(*args))
    columns = ([x if x == x else math.nan for x in column] for column in columns)  # as in `_number`
    return np.array([_function(op, *numbers) for numbers in zip(*columns, strict=True)])


def _number(x: float) -> float:
    """A number; of all that are none the same one, so that what a function is of it is known."""
    return float(x) if x == x else math.nan


@lru_cache(2**17)
def _function(op: str, *args: float) -> float:
    """The double nearest to what a function is of doubles; infinite and NaN arguments as in mathematics' limits."""
    if not all(map(math.isfinite, args)):
        return _by_row(op, *args)
    compute = in_balls(op)
    for digits in DIGITS if compute else ():
        with flint.ctx.workprec(digits):
            value: Any = compute(*map(flint.arb, args)) if compute else None
            if value.is_finite() and _certain(value):
                return _double(value)
    found = _by_row(op, *args)
    if math.isnan(found) and isinstance(op, Operator) and op.formula is not None:  # so far out that digits do not do
        return value_at(op.formula, {ARGUMENT: args[0]})
    return found


def _by_row(op: str, *args: float) -> float:
    """What the row of the operator says, where a limit, or nothing, is the answer, or there is no ball; of a power of 0
    what processors say, as a quotient by 0 is theirs."""
    if op == "pow" and args[0] == 0:
        return float(np.float64(args[0]) ** args[1])
    with mp.workprec(53):
        try:
            return float(OPS[op].value(*map(mpmath.mpf, args)))
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, NotImplementedError):
            return math.nan


# the points


@lru_cache(32)  # for all forms of a few formulas: each has thousands of numbers
def drawn(leaves: tuple[Ref, ...], well_scaled: frozenset[str], seed: int) -> tuple[tuple[str, Point], ...]:
    """Points of all kinds: of both signs and, every third, positive ones alone. The same on every machine."""
    draw = random.Random(seed)
    moving = [leaf for leaf in leaves if leaf.name not in well_scaled]

    def number(exponents: range, positive: bool) -> float:
        size = math.ldexp(1 + draw.getrandbits(40) / 2**40, exponents[draw.randrange(len(exponents))])
        return size if positive or draw.getrandbits(1) else -size

    def beside(value: float) -> float:
        return value * (1 + draw.choice((1, -1)) * math.ldexp(1 + draw.random(), draw.choice(NEAR)))

    found = []
    for kind, count in KINDS.items():
        if kind == "near" and len(moving) < 2 or not moving:
            continue
        for place in range(TRIED * count):
            positive = place % 3 == 0
            at: Point = {
                leaf: number(SCALED if leaf.name in well_scaled else FULL if kind == "full" else PRACTICAL, positive)
                for leaf in leaves
            }
            if kind == "near":
                first, *others = draw.sample(moving, len(moving))
                at |= {other: beside(at[first]) for other in others[: 1 + draw.randrange(len(others))]}
            if kind == "edges":  # zeros, and arguments that are equal
                first, *others = draw.sample(moving, len(moving))
                at |= {first: 0.0 if place % 2 or not others else at[others[0]]}
                at |= dict.fromkeys(others[1 : 1 + draw.randrange(len(others))], at[first]) if others else {}
            if kind == "saturated":
                leaf = moving[place // (2 * len(SATURATED)) % len(moving)]  # each, at each of the numbers
                at[leaf] = float(SATURATED[place // 2 % len(SATURATED)] * (1 if place % 2 else -1))
            if kind == "unit":
                for leaf in moving if place % 2 else draw.sample(moving, 1 + draw.randrange(len(moving))):
                    end = math.ldexp(1 + draw.random(), draw.choice(UNIT)) / 2
                    at[leaf] = draw.choice((end, 1 - end, end, 1 - end, 1 + end, end - 1))
            found.append((kind, at))
    return tuple(found)


Given = tuple[tuple[Expr, bool], ...]  # conditions, and whether they hold


def zeros(leaves: Sequence[Expr], moving: Sequence[Expr]) -> Iterator[Point]:
    """Points where some of those that move are 0, or one is 0 and another 1, as 0**(1 - 1) is 1, or two are equal."""
    start: Point = {leaf: 1.25 + k / 8 for k, leaf in enumerate(leaves)}
    for count in range(1, len(moving) + 1):
        for some in itertools.combinations(moving, count):
            yield {**start, **dict.fromkeys(some, 0.0)}
    for a, b in itertools.combinations(moving, 2):
        yield {**start, a: start[b]}
    for a, b in itertools.permutations(moving, 2):
        yield {**start, a: 0.0, b: 1.0}


def has_values(form: Expr, other: Expr) -> bool:
    """Whether a form is a number wherever another one is, of the points where some of the leaves are 0, or equal."""
    leaves = [*dict.fromkeys(n for f in (other, form) for n in values(f) if isinstance(n, Ref))]
    points = [*zeros(leaves, leaves)] if len(leaves) <= MANY_LEAVES else []
    doubles = Doubles({leaf: np.array([at[leaf] for at in points]) for leaf in leaves})
    with np.errstate(all="ignore"):
        return bool(np.all(np.isfinite(doubles.of(form)) | ~np.isfinite(doubles.of(other))))


def roots_of_bases(body: Expr, leaves: Sequence[Expr]) -> list[Point]:
    """Points of small numbers where a base is 0 whose exponent is no number."""
    bases = {n.args[0] for n in values(body) if isinstance(n, Apply) and n.op == "pow" and not is_exact(n.args[1])}
    if not bases or len(leaves) > FEW_LEAVES:
        return []
    points = (dict(zip(leaves, some, strict=True)) for some in itertools.product(SMALL, repeat=len(leaves)))
    return [at for at in points if any(value_at(base, at) == 0 for base in bases)]


def _moved(points: Sequence[tuple[str, Point]], told: Given) -> Sequence[tuple[str, Point]]:
    """The points that have numbers outside of the bounds that are told of them, with numbers that are as far inside as
    these are large: few have a Reynolds number by chance."""
    low: dict[Expr, float] = {}
    high: dict[Expr, float] = {}
    for leaf, op, number in filter(None, (bound_of(*known) for known in told)):
        if isinstance(leaf, Ref):
            x = float(number.value)
            if op in ("gt", "ge"):
                low[leaf] = max(low.get(leaf, x), x)
            else:
                high[leaf] = min(high.get(leaf, x), x)

    def inside(leaf: Expr, x: float) -> float:
        least, most = low.get(leaf, -math.inf), high.get(leaf, math.inf)
        if least <= x <= most:
            return x
        if math.isinf(most):
            return least + abs(x)
        return most - abs(x) if math.isinf(least) else least + (most - least) * (abs(x) / (1 + abs(x)))

    bounded = {*low, *high}
    if not bounded:
        return []
    moved = ((kind, at, {leaf: inside(leaf, at[leaf]) for leaf in bounded & at.keys()}) for kind, at in points)
    return [(kind, at | new) for kind, at, new in moved if new.items() - at.items()]


def _there(points: Sequence[tuple[str, Point]], leaves: Sequence[Ref], told: Given) -> Sequence[tuple[str, Point]]:
    """The points at which what is known holds."""
    if not told or not points:
        return points
    doubles = Doubles({leaf: np.array([at[leaf] for _, at in points]) for leaf in leaves})
    kept = np.ones(len(points), bool)
    with np.errstate(all="ignore"):
        for condition, holds in told:
            kept &= np.not_equal(doubles.of(condition), 0) == holds
    return [point for point, there in zip(points, kept.tolist(), strict=True) if there]


class Sample:
    """Points at which a formula is a real number, and the doubles nearest to it.

    given   what is known where it is used; a condition on others than `leaves` tells nothing
    seed    of another sample
    guards  divisors that are 1 where they are 0: there are points of that, too; `reached` says whether of each

    Where an angle, or a term of one, is rounded by more than a turn, no form has a digit, and there is no point.

    The points `at_zero` are those where a guard held and the formula is a number, or, without guards, those where some
    of the leaves are 0, or equal. No bits are counted at the latter.
    """

    def __init__(
        self,
        body: Expr,
        leaves: tuple[Ref, ...],
        well_scaled: frozenset[str],
        given: Given = (),
        seed: int = 1,
        guards: Sequence[Expr] = (),
    ) -> None:
        self._balls: list[Balls] = []
        there, guarded = list[Point](), list[Point]()
        kinds, truth = list[str](), list[float]()
        told = tuple((c, h) for c, h in given if all(n in leaves or isinstance(n, (Apply, Const)) for n in values(c)))
        self.given, self.guards = told, bool(guards)
        if guards and len(leaves) <= MANY_LEAVES:
            there = [at for at in zeros(leaves, leaves) if any(value_at(d, at) == 0 for d in guards)]
            guarded = [at for at in there if math.isfinite(value_at(body, at))]
        extra = [("edges", at) for at in (*guarded, *roots_of_bases(body, leaves))]
        moving = [leaf for leaf in leaves if leaf.name not in well_scaled]
        origin = [(ZEROS, at) for at in zeros(leaves, moving)] if len(moving) <= MANY_LEAVES and not guards else []
        turned = (n.args[0] for n in values(body) if isinstance(n, Apply) and OPS[n.op].oscillates)
        angles = {term: None for angle in turned for term, _ in terms_of(angle)}
        zero = {id(at) for at in (*guarded, *(at for _, at in origin))}
        most = {**KINDS, "edges": KINDS["edges"] + len(extra), ZEROS: len(origin)}
        counts = dict.fromkeys(most, 0)
        at_random = drawn(leaves, well_scaled, seed)
        points = _there((*extra, *at_random, *_moved(at_random, told), *origin), leaves, told)
        for kind, alike in itertools.groupby(points, lambda point: point[0]):
            waiting = [at for _, at in alike]
            while waiting and (missing := most[kind] - counts[kind]):
                some, waiting = waiting[:missing], waiting[missing:]
                for at, rounded in zip(some, _values(body, some), strict=True):
                    balls = Balls(at)
                    value = balls.nearest(body, rounded)
                    if not math.isnan(value) and not 0 < abs(value) < NORMAL and not any(map(balls.turned, angles)):
                        counts[kind] += 1
                        kinds.append(kind)
                        truth.append(value)
                        self._balls.append(balls)
        self.truth = np.array(truth)
        named = np.array(kinds)
        self.kinds = [kind for kind in KINDS if counts[kind]]
        self.whole, self.asked = np.isin(named, WHOLE), np.isin(named, (*WHOLE, ZEROS))
        self.members = np.array([named == kind for kind in self.kinds], np.int64)
        self.at_zero = np.array([id(balls.at) in zero for balls in self._balls])
        held = [balls.at for balls in self._balls if id(balls.at) in zero]
        # one that is 0 where the formula is no number alone guards nothing
        vanishing = [{d for d in guards if any(value_at(d, at) == 0 for at in some)} for some in (there, guarded, held)]
        self.reached = vanishing[0] == {*guards} and vanishing[1] == vanishing[2]
        self.counted = self.members.any(axis=0)
        self._hundreds = 100 * self.members.sum(axis=-1)
        self._lost: dict[Expr, Any] = {}
        self.doubles = Doubles({leaf: np.array([balls.at[leaf] for balls in self._balls]) for leaf in leaves})

    def lost(self, form: Expr) -> Any:
        """What a form loses at each of the points, in hundredths of bits."""
        if form not in self._lost:
            self._lost[form] = bits(self.doubles.of(form), self.truth)
        return self._lost[form]

    def nearest(self, part: Expr) -> Any:
        """The doubles nearest to what a part of the formula is at each of the points."""
        return np.array([balls.nearest(part) for balls in self._balls])

    def means(self, lost: Any) -> Mapping[str, float]:
        """That of each kind of points, in bits."""
        return dict(zip(self.kinds, (self.members @ lost / self._hundreds).tolist(), strict=True))

    def lost_where(self, chosen: Any, lost: Any, weights: Mapping[str, float]) -> Any:
        """What each of several forms loses at the points that are chosen, in bits: kinds count by their weights, and
        those that count whole are one together."""
        sums = lost @ (self.members * chosen).T  # of whole numbers: no library and no order decides
        whole = sum(weights[kind] == 1 for kind in self.kinds)
        each = [weights[kind] / (max(whole, 1) if weights[kind] == 1 else 1) for kind in self.kinds]
        return sum(each[k] * sums[:, k] / self._hundreds[k] for k in range(len(each)))

    def equal(self, form: Expr, body: Expr, every: int = 1) -> bool:
        """Whether balls say nothing against it being the same number at (every so many of) the points, and there are
        doubles for the numbers in it."""
        if not all(is_double(n.value) for n in postorder(form) if isinstance(n, Const)):
            return False
        with flint.ctx.workprec(DIGITS[1]):
            for balls in self._balls[::every]:
                done = balls.known(DIGITS[1])
                a = ball(body, done)
                b = None if a is None else ball(form, done)
                if b is not None and not a.overlaps(b):
                    return False
        return True


def _ordinal(numbers: Any) -> Any:
    whole = np.ascontiguousarray(numbers, np.float64).view(np.int64)
    return np.where(whole < 0, -(whole & 0x7FFFFFFFFFFFFFFF), whole)


def bits(found: Any, truth: Any) -> Any:
    """100 log2(1 + the doubles between), whole numbers, so that no library and no order of a sum decides; 6400 where it
    is no number, or has hardly a digit right."""
    found = np.broadcast_to(found, truth.shape)
    a, b = _ordinal(found), _ordinal(truth)
    apart = np.where((a < 0) == (b < 0), np.abs(a - b), 2**62) + 1
    few, table = apart < TABLE, _logarithms()
    lost = np.where(few, table[np.where(few, apart, 1)], 100 * (np.frexp(apart.astype(np.float64))[1] - 1))
    nothing = np.isnan(found) | (np.isinf(found) & np.isfinite(truth)) | (lost > HARDLY)
    return np.where(nothing, NOTHING, lost).astype(np.int64)


@cache
def _logarithms() -> Any:
    return np.array([0, *(round(100 * math.log2(n)) for n in range(1, TABLE))])
