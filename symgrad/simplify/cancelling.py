"""Gradients whose terms cancel, over a common denominator: 1/(k + s) - s/(k + s)**2 is k/(k + s)**2.

The quotient rule writes differences of quotients that are nearly equal where a function saturates. Over the common
denominator, with the numerator multiplied out, what cancels is gone. SymPy proposes that form; it is taken where
computing both in floating point, at points drawn once for all, shows that it loses fewer bits.

A `where` is looked into: a branch is judged at the points at which it is used. A guard, where(d == 0, 1, d) below the
line, is left out while a form is looked for, and stands again in the form that is taken, around each divisor that is 0
where a guard held. Only forms that have the value of the original there are taken.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
import sympy
from mpmath import mp

from ..expr import (
    ONE,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    factors,
    is_exact,
    postorder,
    product,
    refs,
    size,
    substitute,
    total,
    transform,
    value_of,
)
from ..ir import Derivative, Equation, Function, Role
from ..ops import OPS
from ..ops.row import nonzero
from ..sampling import bits_lost, in_doubles, value_of_formula, values
from .products import one_fraction
from .reuse import operator, with_reuse
from .singular import filled_sums
from .table import balanced, by_lengths, unguarded_divisor

LARGE = 60  # operations; longer formulas stay as they are
MANY = 300  # terms of a polynomial that is not multiplied out
POINTS = 30
SMALLEST, LARGEST = -20, 9  # binary exponents of the points
DIGITS = (300, 2500)  # bits in which the truth is computed
EXTREME = (-900, -500, 400, 600, 1000)  # binary exponents of numbers whose squares and cubes leave the range
MANY_LEAVES = 6  # variables of a formula with guards, which are looked for where some of them are 0
MILD = (0, 1, 2, 3)
SATURATED = (40, 300, 720, 1000)  # where exponentials leave 1 behind, their squares overflow, and they do
BAD = 0.7  # bits, on average, from which another form is looked for
GAIN = 0.6  # bits that it must save
LONGER = 4  # operations that it may have more


def with_cancelled(derivative: Derivative, function: Function) -> Function:
    """`function`, the simplified joint equations of `derivative`, with the gradients in the form that loses less.

    Only those that are computed from inputs, number by number: what a reduction gives is as wrong as it is anyway, and
    the components of a vector belong together as they are written.
    """
    forward = {e.target for e in derivative.primal.statements}
    locals_ = {n: e for n, e in function.elementwise.items() if function.table[n].role != Role.INPUT}
    mild = frozenset([*(s for _, s in derivative.seeds), *(d.name for d in function.dims)])
    mild |= {o.name for o in function.options}
    numbers = {d.name for d in function.dims} | {o.name for o in function.options}
    statements, changed = [], False
    for e in function.statements:
        if e.target not in forward and e.matrix is None and _suspect(e.body):
            body = _inlined(e.body, locals_)
            own = [n for n in values(body) if isinstance(n, Ref) and n.name not in mild]
            of_inputs = all(n.name in function.inputs for n in own)
            other = filled_sums(e.body, numbers)
            if other is None and of_inputs:
                other = filled_sums(body, numbers)
            if other is None and of_inputs and not any(isinstance(s, Const) for n in own for s in n.subscripts):
                other = better(body, mild)
            e = e if other is None else replace(e, body=other)
            changed = changed or other is not None
        statements.append(e)
    if not changed:
        return function
    first = [e for e in statements if e.target in forward]
    gradient = with_reuse(first, [e for e in statements if e.target not in forward], function)
    return replace(function, statements=(*first, *gradient))


def _suspect(body: Expr) -> bool:
    """Whether there is a sum, whose terms may cancel, an exponential, which may overflow, or a quotient of lengths or
    of three factors, which may on its way to a number that does not."""
    for n in postorder(body):
        if isinstance(n, Apply) and n.op in ("add", "sub", "exp", "expm1"):
            return True
        if isinstance(n, Apply) and n.op == "div":
            above, below = (_unrolled(side) for side in factors(_without_guards(n)))
            if any(isinstance(d, Apply) and d.op == "hypot" for d in below) and (len(below) > 1 or len(above) > 2):
                return True
    return False


def _inlined(body: Expr, known: Mapping[str, Equation]) -> Expr:
    """`body` in terms of what is given: the point at which it is computed is known, its rounded parts are not."""
    while size(body) <= LARGE:
        found: dict[Expr, Expr] = {}
        for r in refs(body):
            e = known.get(r.name)
            if e is not None and not e.reduced:
                found[r] = substitute(e.body, dict(zip(e.subscripts, r.args, strict=True)))
        if not found:
            return body
        body = substitute(body, found)
    return body


@lru_cache(maxsize=16384)
def better(body: Expr, mild: frozenset[str] = frozenset(), given: tuple[tuple[Expr, bool], ...] = ()) -> Expr | None:
    """Another form of `body` that loses fewer bits and is hardly longer; None if there is none.

    mild   the names of cotangents, sizes and options, which are neither huge nor tiny
    given  conditions, and whether they hold where the value is used
    """
    chosen = [n for n in values(body) if operator(n) == "select" and unguarded_divisor(n) is None]
    if chosen:
        condition = chosen[0].args[0]
        branches = [_chosen(body, condition, holds) for holds in (True, False)]
        found = [
            better(b, mild, (*given, (condition, holds))) for b, holds in zip(branches, (True, False), strict=True)
        ]
        kept = [b if f is None else f for b, f in zip(branches, found, strict=True)]
        whole = apply("select", condition, *kept)
        return None if found == [None, None] or size(whole) > size(body) + 2 * LONGER else whole
    bare = _without_guards(body)
    nodes = values(bare)
    if len(nodes) > LARGE or any(isinstance(n, Index) or isinstance(n, Apply) and not OPS[n.op].sampled for n in nodes):
        return None
    leaves = [n for n in nodes if isinstance(n, Ref)]
    truths = _truths(bare, leaves, mild, given)
    if not truths or (loss := bits(one_fraction(bare), truths)) < BAD:
        return None
    there = _at_guards(body, leaves)
    if there is None:
        return None
    forms = [f for f in (bare, *(together(bare, words) for words in ("", "ratios", "exponentials"))) if f is not None]
    forms += [transform(f, balanced) for f in forms]
    forms += [transform(f, by_lengths) for f in forms]
    forms += [transform(f, _paired) for f in forms]
    forms = [f for f in dict.fromkeys(forms[1:]) if f is not bare and size(f) <= size(bare) + LONGER]
    guarded = [f for f in (_with_guards(f, there) for f in forms) if _agrees(f, there)]
    losses = [loss, *(bits(one_fraction(_without_guards(f)), truths) for f in guarded)]
    best = next(k for k, lost in enumerate(losses) if lost <= min(losses) + GAIN)
    return guarded[best - 1] if best else None


def _chosen(body: Expr, condition: Expr, holds: bool) -> Expr:
    """`body` where the condition holds, or does not."""

    def choose(node: Expr) -> Expr:
        mine = isinstance(node, Apply) and node.op == "select" and node.args[0].key is condition.key
        return node.args[1 if holds else 2] if mine else node

    return transform(body, choose)


def _used(at: Mapping[Ref, Any], given: tuple[tuple[Expr, bool], ...]) -> bool:
    """Whether the conditions are met at a point, as far as it tells."""
    return all(
        bool(value_of_formula(condition, at)) == holds
        for condition, holds in given
        if all(n in at if isinstance(n, Ref) else not isinstance(n, Index) for n in values(condition))
    )


def _without_guards(body: Expr) -> Expr:
    return transform(body, lambda n: n if (bare := unguarded_divisor(n)) is None else bare)


def _at_guards(body: Expr, leaves: Sequence[Ref]) -> Truths | None:
    """Points at which the guards in `body` hold, and its values there; None if there is a guard that holds at no point
    where some of the leaves are 0 or two of them equal, where guards are looked for."""
    guards = [d for n in values(body) if (d := unguarded_divisor(n)) is not None]
    if not guards:
        return []
    if len(leaves) > MANY_LEAVES:
        return None
    start = points(tuple(leaves), frozenset())[0]
    special = [
        {k: mpmath.mpf(0) if k in zero else v for k, v in start.items()}
        for n in range(1, len(leaves) + 1)
        for zero in itertools.combinations(leaves, n)
    ]
    special += [{**start, a: start[b]} for a, b in itertools.combinations(leaves, 2)]
    found, reached = [], set()
    with mp.workprec(DIGITS[0]):
        for at in special:
            here = [d for d in guards if value_of_formula(d, at) == 0]
            if here:
                reached.update(here)
                found.append((at, value_of_formula(body, at)))
    return found if reached.issuperset(guards) else None


def _with_guards(form: Expr, there: Truths) -> Expr:
    """`form` with a guard around each divisor that is 0 where a guard held."""

    def vanishes(d: Expr) -> bool:
        with mp.workprec(DIGITS[0]):
            return any(value_of_formula(d, at) == 0 for at, _ in there if all(r in at for r in refs(d)))

    def guard(node: Expr) -> Expr:
        if not isinstance(node, Apply) or node.op != "div":
            return node
        found = []
        for d in factors(node.args[1])[0]:
            base, k = d.args if isinstance(d, Apply) and d.op == "pow" else (d, ONE)
            found.append(nonzero(base) ** k if vanishes(base) else d)
        return node.args[0] / product(found)

    return transform(form, guard) if there else form


def _agrees(form: Expr, there: Truths) -> bool:
    """Whether it has the values of the original where guards hold."""
    with mp.workprec(DIGITS[0]):
        found = [(value_of_formula(form, at), value) for at, value in there]
    return all(a == b or abs(a - b) <= mpmath.ldexp(abs(b), -60) for a, b in found if mp.isfinite(b))


Truths = list[tuple[dict[Ref, Any], Any]]


def _truths(
    body: Expr, leaves: Sequence[Ref], mild: frozenset[str], given: tuple[tuple[Expr, bool], ...] = ()
) -> Truths:
    """The points at which `body` is a number that is used, and what it is there, as two precisions agree."""
    found = []
    for at in points(tuple(leaves), mild):
        if not _used(at, given):
            continue
        values = []
        for precision in DIGITS:
            with mp.workprec(precision):
                values.append(value_of_formula(body, at))
        first, second = values
        if mp.isfinite(second) and abs(first - second) <= mpmath.ldexp(abs(second), -60):
            found.append((at, second))
    return found


def bits(body: Expr, truths: Truths) -> float:
    """The bits that `body` loses on average."""
    return sum(bits_lost(in_doubles(body, at), truth) for at, truth in truths) / len(truths)


@lru_cache(maxsize=1024)
def points(leaves: tuple[Ref, ...], mild: frozenset[str]) -> list[dict[Ref, Any]]:
    """Numbers of both signs and all sizes, without a function of the platform's."""
    draw = random.Random(20)

    def number(leaf: Ref, exponents: Sequence[int] = range(SMALLEST, LARGEST + 1)) -> Any:
        exponent = draw.choice(MILD if leaf.name in mild else exponents)
        return mpmath.ldexp(2**20 + draw.getrandbits(20), exponent - 20) * draw.choice((1, -1))

    found = [{leaf: number(leaf) for leaf in leaves} for _ in range(POINTS)]
    for far, leaf in itertools.product(SATURATED, [leaf for leaf in leaves if leaf.name not in mild]):
        found += [{**{other: number(other) for other in leaves}, leaf: mpmath.mpf(sign * far)} for sign in (1, -1)]
    found += [{leaf: number(leaf, EXTREME) for leaf in leaves} for _ in range(POINTS // 3)]
    return [*found, *({k: abs(v) for k, v in at.items()} for at in found)]


def _paired(node: Expr) -> Expr:
    """A quotient as a product of quotients, none of which overflows before the whole does: x / r / r for x/r**2."""
    if not isinstance(node, Apply) or node.op != "div":
        return node
    above, below = (_unrolled(side) for side in factors(node))
    numbers, below = ([f for f in below if isinstance(f, Const) == alike] for alike in (True, False))
    if len(below) < 2 and len(above) < 3:
        return node
    mine = set(refs(*below))
    constants, moving = ([f for f in above if mine.isdisjoint(refs(f)) == apart] for apart in (True, False))
    found = product(constants) / product(numbers)
    for f in moving:
        found = found * (f / below.pop(0)) if below else found * f
    for d in below:
        found = found / d
    return found


def _unrolled(side: Sequence[Expr]) -> list[Expr]:
    """Squares and cubes as their factors."""
    found: list[Expr] = []
    for f in side:
        base, exponent = f.args if isinstance(f, Apply) and f.op == "pow" else (f, ONE)
        k = value_of(exponent) if is_exact(exponent) else 0
        found += [base] * int(k) if k in (2, 3) else [f]
    return found


# the form over a common denominator


class _Atoms:
    """What SymPy sees: symbols for whatever is not arithmetic, and the relations between them.

    words  "ratios": quotients of which a power is taken are symbols too, (s/r)**12 stays a power; "exponentials":
           expm1(u) is exp(u) - 1, and sums are written in powers of exp(u)
    """

    def __init__(self, words: str) -> None:
        self.words = words
        self.symbols: dict[Expr, sympy.Symbol] = {}
        self.nodes: dict[sympy.Symbol, Expr] = {}  # as first met
        self.squares: list[tuple[sympy.Symbol, sympy.Expr]] = []  # (r, D) with r**2 = D
        self.sums: dict[sympy.Expr, Expr] = {}  # how the sums below the line were written

    def symbol(self, node: Expr) -> sympy.Symbol:
        if node.key not in self.symbols:
            self.symbols[node.key] = sympy.Symbol(f"a{len(self.symbols)}")
            self.nodes[self.symbols[node.key]] = node
        return self.symbols[node.key]

    def read(self, root: Expr) -> sympy.Expr:
        done: dict[Expr, sympy.Expr] = {}
        for node in values(root):
            done[node] = self.symbol(node) if isinstance(node, Ref) else self._read(node, [done[a] for a in node.args])
        return done[root]

    def _read(self, node: Expr, args: list[sympy.Expr]) -> sympy.Expr:
        if isinstance(node, Const):
            return self.symbol(node) if node.text is not None else sympy.Rational(*node.value.as_integer_ratio())
        if not isinstance(node, Apply):
            return self.symbol(node)
        match node.op:
            case "add":
                return args[0] + args[1]
            case "sub":
                return args[0] - args[1]
            case "mul":
                return args[0] * args[1]
            case "div":
                self._remember(node.args[1], args[1])
                return args[0] / args[1]
            case "neg":
                return -args[0]
            case "pow" if isinstance(node.args[1], Const) and node.args[1].text is None:
                exponent = node.args[1].value
                if exponent.denominator == 1:
                    whole = self.words == "ratios" and operator(node.args[0]) == "div"
                    return (self.symbol(node.args[0]) if whole else args[0]) ** int(exponent)
                if exponent.denominator == 2:
                    return self._root(apply("sqrt", node.args[0]), args[0]) ** exponent.numerator
            case "sqrt":
                return self._root(node, args[0])
            case "hypot":
                return self._root(node, args[0] ** 2 + args[1] ** 2)
            case "abs":
                return self._root(node, args[0] ** 2)
            case "sign":
                return self._root(apply("abs", node.args[0]), args[0] ** 2) / args[0]
            case "exp":
                return self._power_of_e(node.args[0])
            case "expm1" if self.words == "exponentials":
                return self._power_of_e(node.args[0]) - 1
        return self.symbol(node)

    def _remember(self, node: Expr, value: sympy.Expr) -> None:
        for factor, f in zip(sympy.Mul.make_args(value), factors(node)[0], strict=False):
            base, plain = (
                (factor.base, f.args[0]) if factor.is_Pow and isinstance(f, Apply) and f.op == "pow" else (factor, f)
            )
            if base.is_Add:
                self.sums[sympy.expand(base)] = plain
                self.sums[sympy.expand(-base)] = -plain

    def _root(self, node: Expr, square: sympy.Expr) -> sympy.Symbol:
        new = node.key not in self.symbols
        symbol = self.symbol(node)
        if new:
            self.squares.append((symbol, square))
        return symbol

    def _power_of_e(self, exponent: Expr) -> sympy.Expr:
        """exp(u) as a power of an exponential that is there already: exp(-t) is 1/exp(t)."""
        for node, symbol in self.symbols.items():
            if isinstance(node, Apply) and node.op == "exp":
                ratio = _ratio(exponent, node.args[0])
                if ratio is not None:
                    return symbol**ratio
        return self.symbol(apply("exp", exponent))

    def write(self, found: sympy.Poly) -> Expr:
        """A polynomial as an expression, its terms in the order in which the symbols were met."""
        known = self.sums.get(found.as_expr())
        if known is not None:
            return known
        for symbol in found.gens if self.words == "exponentials" else ():
            if operator(self.nodes[symbol]) == "exp" and found.degree(symbol) and len(found.gens) > 1:
                others = [g for g in found.gens if g != symbol]
                parts = [
                    (self.write(sympy.Poly(part, *others)), self.nodes[symbol] ** int(power))
                    for (power,), part in sympy.Poly(found.as_expr(), symbol).terms()
                ]
                return total(part * power for part, power in parts)
        terms = []
        for powers, number in found.terms():
            factors = [self.nodes[g] ** int(p) for g, p in zip(found.gens, powers, strict=True) if p]
            value = const(Fraction(int(number.p), int(number.q)))
            terms.append(value * product(factors) if value is not ONE else product(factors))
        positive = [t for t in terms if not (isinstance(t, Apply) and t.op == "neg")]
        return total([*positive, *(t for t in terms if t not in positive)])


def _ratio(u: Expr, v: Expr) -> int | None:
    """k in u = k v."""
    if u.key is v.key:
        return 1
    return -1 if (-u).key is v.key or (-v).key is u.key else None


def _terms(body: Expr) -> int:
    """About how many terms the numerator and the denominator have when they are multiplied out."""
    done: dict[Expr, tuple[int, int]] = {}
    for node in values(body):
        args = [done[a] for a in node.args] if isinstance(node, Apply) else []
        found = (1, 1)
        if isinstance(node, Apply) and node.op in ("add", "sub"):
            (a, b), (c, d) = args
            found = (a * d + c * b, b * d)
        elif isinstance(node, Apply) and node.op in ("mul", "div"):
            (a, b), (c, d) = args
            found = (a * c, b * d) if node.op == "mul" else (a * d, b * c)
        elif isinstance(node, Apply) and node.op == "pow" and is_exact(node.args[1]):
            k = int(abs(value_of(node.args[1]))) + 1
            found = (min(args[0][0] ** k, MANY), min(args[0][1] ** k, MANY))
        elif isinstance(node, Apply) and node.op == "neg":
            found = args[0]
        done[node] = (min(found[0], MANY), min(found[1], MANY))
    return sum(done[body])


_ASKED: dict[str, Callable[[Expr], bool]] = {
    "": lambda n: True,
    "ratios": lambda n: operator(n) == "pow" and operator(n.args[0]) == "div",
    "exponentials": lambda n: operator(n) == "expm1",
}


def together(body: Expr, words: str = "") -> Expr | None:
    """`body` over a common denominator, in factors; None if it is too long, or has nothing for the `words` to say."""
    if _terms(body) >= MANY or not any(map(_ASKED[words], values(body))):
        return None
    atoms = _Atoms(words)
    whole = sympy.together(atoms.read(body))
    gens = list(atoms.symbols.values())
    if not gens or not whole.free_symbols:
        return None
    try:
        above, below = (sympy.Poly(part, *gens) for part in sympy.fraction(whole))
        for symbol, square in reversed(atoms.squares):
            if not square.is_polynomial(*gens):
                return None
            reduced = sympy.rem(above.as_expr(), symbol**2 - square, symbol)
            above = sympy.Poly(sympy.expand(reduced), *gens)
        common = sympy.gcd(above, below)
        above, below = sympy.quo(above, common), sympy.quo(below, common)
        return _signed(_factored(above, atoms, [n.key for n in postorder(body)]), _factored(below, atoms))
    except (sympy.PolynomialError, sympy.polys.polyerrors.BasePolynomialError):
        return None


def _signed(above: Expr, below: Expr) -> Expr:
    """A quotient; -1/(x*(x - 1)) as 1/(x*(1 - x))."""
    sides = [n.args[0] if isinstance(n, Apply) and n.op == "neg" else n for n in (above, below)]
    if (sides[0] is above) == (sides[1] is below):
        return sides[0] / sides[1]
    found = factors(sides[1])[0]
    for k, f in enumerate(found):
        if isinstance(f, Apply) and f.op == "sub":
            return sides[0] / product([*found[:k], -f, *found[k + 1 :]])
    return -(sides[0] / sides[1])


def _factored(poly: sympy.Poly, atoms: _Atoms, order: Sequence[Expr] = ()) -> Expr:
    """A product: first the numbers, in the order given or else in that in which they were met, then the sums."""
    number, found = sympy.factor_list(poly)
    value = const(Fraction(int(number.p), int(number.q)))

    def place(pair: tuple[sympy.Poly, int]) -> tuple[int, int, list[int]]:
        terms, written = len(pair[0].terms()), atoms.write(pair[0]).key
        there = order.index(written) if terms == 1 and written in order else len(order)
        return terms, there, [-x for x in pair[0].LM(order="lex").exponents]

    return value * product(_power(atoms.write(f), int(k)) for f, k in sorted(found, key=place))


def _power(base: Expr, k: int) -> Expr:
    return (-base if isinstance(base, Apply) and base.op == "neg" and k % 2 == 0 else base) ** k
