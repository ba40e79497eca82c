"""Formulas over a common denominator, with the numerator multiplied out and in factors; FLINT finds the form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Ref,
    apply,
    base_of,
    const,
    factors,
    is_exact,
    operator,
    postorder,
    product,
    size,
    total,
    value_of,
    values,
    without_sign,
)
from ..ops import OPS
from .quotients import Polynomial, Quotient, by_power, of_used, ring, with_square

MANY = 300  # terms of a polynomial that is not multiplied out
ROOTS = frozenset({"pow", "sqrt", "hypot", "root_of_sum", "abs", "sign"})  # whose squares are known
POWERS_OF_E = frozenset({"exp", "expm1"})  # one of them may tell another
LOGARITHMS = frozenset({"log", "log_ratio"})  # of which an exponential is known


class _Atoms:
    """What FLINT sees: symbols for whatever is not arithmetic, and the relations between them.

    words  "ratios": quotients of which a power is taken are symbols too, (s/r)**12 stays a power; "exponentials":
           expm1(u) is exp(u) - 1, and sums are written in powers of exp(u)
    """

    def __init__(self, body: Expr, words: str) -> None:
        self.body, self.words = body, words
        nodes = values(body)
        self.ring = ring([f"a{k}" for k in range(2 * len(nodes))])  # each node, and a root or an exponential of it
        self.symbols: dict[Expr, int] = {}
        self.nodes: list[Expr] = []  # as first met
        self.squares: list[tuple[int, Quotient]] = []  # (r, D) with r**2 = D
        self.sums: dict[str, tuple[Expr, Polynomial]] = {}  # how those below the line were written, and over what
        self.asked: set[Expr] = set()  # exponents of which it is being asked whether another exponential tells them
        self.done: dict[Expr, Quotient] = {}
        for node in sorted((n for n in nodes if operator(n) == "exp"), key=size):  # the simplest first
            self._power_of_e(node.args[0])
        self.whole = self.read(body)

    def symbol(self, node: Expr) -> Quotient:
        if node.key not in self.symbols:
            self.symbols[node.key] = len(self.nodes)
            self.nodes.append(node)
        return Quotient(self.ring.gen(self.symbols[node.key]))

    def number(self, value: Fraction | int) -> Quotient:
        return Quotient(self.ring.constant(1) * value.numerator / value.denominator)

    def read(self, root: Expr) -> Quotient:
        read = {*values(root, closed=self._closed)} - self.done.keys()
        for node in values(root):
            if node in read:
                self.done[node] = self._read(node)
            elif isinstance(node, Ref):
                self.symbol(node)
        return self.done[root]

    def _closed(self, node: Expr) -> bool:
        return not _inside(node, ROOTS) or self._is_ratio(node)

    def _is_ratio(self, node: Expr) -> bool:
        """Whether it is a power of a quotient that is a symbol."""
        if self.words != "ratios" or operator(node) != "pow" or operator(node.args[0]) != "div":
            return False
        return is_exact(node.args[1]) and value_of(node.args[1]).denominator == 1

    def _read(self, node: Expr) -> Quotient:
        if is_exact(node):
            return self.number(value_of(node))
        if not isinstance(node, Apply):
            return self.symbol(node)
        if self._is_ratio(node):
            return self.symbol(node.args[0]) ** value_of(node.args[1]).numerator
        args = [] if self._closed(node) else [self.done[a] for a in node.args]
        match node.op:
            case "add":
                return args[0] + args[1]
            case "sub":
                return args[0] - args[1]
            case "mul":
                return args[0] * args[1]
            case "div":
                self._remember(node.args[1])
                return args[0] / args[1]
            case "neg":
                return -args[0]
            case "pow" if args:
                exponent = value_of(node.args[1])
                whole = exponent.denominator == 1
                base = args[0] if whole else self._root(apply("sqrt", node.args[0]), args[0])
                return base**exponent.numerator
            case "sqrt":
                return self._root(node, args[0])
            case "hypot":
                return self._root(node, args[0] ** 2 + args[1] ** 2)
            case "root_of_sum":
                return self._root(node, args[0] ** 2 + args[1] * args[2])
            case "abs":
                return self._root(node, args[0] ** 2)
            case "sign":
                return self._root(apply("abs", node.args[0]), args[0] ** 2) / args[0]
            case "exp":
                return self._power_of_e(node.args[0])
            case "expm1" if self.words == "exponentials":
                return self._power_of_e(node.args[0]) - self.number(1)
        return self.symbol(node)

    def _remember(self, node: Expr) -> None:
        for factor in factors(node)[0]:
            plain, _ = base_of(factor)
            found = self.done.get(plain)
            if found is not None and not found.above.is_constant():
                self.sums.setdefault(str(found.above), (plain, found.below))
                self.sums.setdefault(str(-found.above), (-plain, found.below))

    def _root(self, node: Expr, square: Quotient) -> Quotient:
        new = node.key not in self.symbols
        root = self.symbol(node)
        if new:
            self.squares.append((self.symbols[node.key], square))
        return root

    def _power_of_e(self, exponent: Expr) -> Quotient:
        """exp(u) as a power of an exponential that is there already: exp(-t) is 1/exp(t); times what is told by the
        logarithms in u: exp(v - log(k)) is exp(v)/k."""
        there = [n for n in self.symbols if operator(n) == "exp"]
        for node in there:
            ratio = _ratio(exponent, node.args[0])
            if ratio is not None:
                return self.symbol(node) ** ratio
        if exponent not in self.asked:  # it is, where the other one's exponent speaks of exp(exponent)
            self.asked.add(exponent)
            ways = ((n, self._exponential(exponent, n.args[0])) for n in there)
            found = next((self.symbol(n) * told for n, told in ways if told is not None), None)
            self.asked.remove(exponent)
            if found is not None:
                return found
        return self.symbol(apply("exp", exponent))

    def _exponential(self, exponent: Expr, other: Expr) -> Quotient | None:
        """exp(exponent - other), of a sum of logarithms, each so many times as a whole number says, and of what exp is
        there of."""
        if max(_terms(exponent), _terms(other)) >= MANY:
            return None
        difference, told = self.read(exponent) - self.read(other), self.number(1)
        for symbol, square in reversed(self.squares):
            difference = with_square(difference.above, symbol, square) / with_square(difference.below, symbol, square)
        logarithms = [k for k in difference.symbols() if operator(self.nodes[k]) in LOGARITHMS]
        for k in logarithms:
            times = Quotient(dict(by_power(difference.above, k)).get(1, self.ring.constant(0)), difference.below)
            if (whole := _whole(times)) is not None:
                above, *below = self.nodes[k].args
                inside = self.read(above)
                for node in below:
                    inside = inside / self.read(node)
                told = told * inside**whole
                difference = difference - times * self.symbol(self.nodes[k])
        if difference.above.is_zero():
            return told
        if not logarithms:
            return None
        for node in list(self.symbols):
            if operator(node) == "exp" and _terms(node.args[0]) < MANY:
                ratio = _whole(difference / self.read(node.args[0]))
                if ratio in (1, -1):
                    return told * self.symbol(node) ** ratio
        return None

    def write(self, found: Polynomial) -> Expr:
        """A polynomial as an expression, its terms in the order in which the symbols were met."""
        known = self.sums.get(str(found))
        if known is not None:
            plain, below = known
            return plain if below.is_one() else plain * self.write(below)
        names = found.context().names()
        nodes = {k: self.nodes[int(names[k][1:])] for k, degree in enumerate(found.degrees()) if degree}
        for k in nodes if self.words == "exponentials" and len(nodes) > 1 else ():
            if operator(nodes[k]) == "exp":
                return total(self.write(part) * nodes[k] ** power for power, part in by_power(found, k))
        terms = []
        for powers, number in found.terms():
            term = product([node ** int(powers[k]) for k, node in nodes.items() if powers[k]])
            value = const(_fraction(number))
            terms.append(value * term if value is not ONE else term)
        return total(sorted(terms, key=lambda t: operator(t) == "neg"))


def _fraction(number: Any) -> Fraction:
    """A number of FLINT's."""
    return Fraction(int(number.p), int(number.q))


def _whole(found: Quotient) -> int | None:
    """The whole number that it is."""
    if not found.below.is_one() or not found.above.is_constant():
        return None
    number = found.above.leading_coefficient() if not found.above.is_zero() else 0
    return int(number) if number == int(number) else None


def _inside(node: Expr, known: Collection[str]) -> tuple[Expr, ...]:
    """What it is arithmetic on, or a `known` operator of."""
    if operator(node) == "pow":
        exponent = node.args[1]
        return node.args[:1] if is_exact(exponent) and value_of(exponent).denominator <= 2 else ()
    return node.args if isinstance(node, Apply) and (OPS[node.op].arithmetic or node.op in known) else ()


def _ratio(u: Expr, v: Expr) -> int | None:
    """k in u = k v."""
    if u.key is v.key:
        return 1
    return -1 if (-u).key is v.key or (-v).key is u.key else None


def _terms(body: Expr) -> int:
    """About how many terms the numerator and the denominator have when they are multiplied out."""
    done: dict[Expr, tuple[int, Counter[Expr]]] = {}  # terms of the numerator, factors of the denominator

    def times(some: Counter[Expr]) -> int:
        return reduce(lambda count, f: min(count * done[f][0] ** some[f], MANY), some, 1)

    for node in values(body):
        args = [done[a] for a in node.args] if isinstance(node, Apply) else []
        count, below = 1, Counter[Expr]()
        match operator(node):
            case "add" | "sub":
                below = args[0][1] | args[1][1]
                count = sum(above * times(below - mine) for above, mine in args)
            case "mul":
                count, below = args[0][0] * args[1][0], args[0][1] + args[1][1]
            case "div":
                count = args[0][0] * times(args[1][1])
                below = args[0][1] + Counter({node.args[1]: 1} if args[1][0] > 1 else {})
            case "pow" if is_exact(node.args[1]):
                k = int(abs(value_of(node.args[1])))
                count, below = args[0][0] ** (min(k, MANY) + 1), Counter({f: k * m for f, m in args[0][1].items()})
            case "neg":
                count, below = args[0]
        done[node] = min(count, MANY), below
    count, below = done[body]
    return count + times(below)


def symbols(body: Expr, known: Collection[str] = ROOTS | POWERS_OF_E) -> dict[Expr, int]:
    """What stands in `body` that is no arithmetic and no `known` operator, and so is a symbol for FLINT: how often each
    would stand there if `body` were written out."""
    times = dict.fromkeys(values(body), 0) | {body: 1}
    found: dict[Expr, int] = {}
    for node in reversed(times):
        args = _inside(node, known)
        for a in args:
            times[a] += times[node]
        if times[node] and not args and not is_exact(node):
            found[node] = times[node]
    return found


def least(body: Expr) -> int:
    """So many operations are in whatever `together` may find for `body`: what is a symbol that stands at one place, and
    that no other one tells, stands there too, and is put together by one operation less."""
    related = [n for n in values(body) if operator(n) in ROOTS | POWERS_OF_E | LOGARITHMS]
    if len(related) > 1 or any(operator(n) in ROOTS for n in related):
        return 0
    alone = [node for node, times in symbols(body, ()).items() if times == 1]
    inside = {n for node in alone for n in values(node) if n is not node}
    return size(*(n for n in alone if isinstance(n, Apply))) + sum(n not in inside for n in alone) - 1


_ASKED: dict[str, Callable[[Expr], bool]] = {
    "": lambda n: isinstance(n, Apply) and OPS[n.op].arithmetic,
    "ratios": lambda n: operator(n) == "pow" and operator(n.args[0]) == "div",
    "exponentials": lambda n: operator(n) == "expm1",
}
WORDS = tuple(_ASKED)


def may_shrink(body: Expr) -> bool:
    """Whether what `together` finds for a body with sums may have half the operations."""
    return any(operator(n) in ("add", "sub") for n in values(body)) and 2 * max(_alone(body) - 1, least(body)) <= size(
        body
    )


def _alone(body: Expr) -> int:
    """How many elements and decimals stand in `body`, written out, at one place: so many stand in whatever it is equal
    to, and are put together by one operation less."""
    times = dict.fromkeys(values(body), 0) | {body: 1}
    for node in reversed(times):
        for a in node.args if isinstance(node, Apply) else ():
            times[a] += times[node]
    symbols = [n for n in times if isinstance(n, Ref) or isinstance(n, Const) and n.text is not None]
    return sum(times[n] == 1 for n in symbols)


@lru_cache(1024)
def together(body: Expr, words: str = "") -> Expr | None:
    """`body` over a common denominator, in factors; None if it is too long, or has nothing for the `words` to say."""
    atoms = _read(body, words)
    return None if atoms is None else _written(atoms.whole, atoms)


def in_lowest_terms(body: Expr) -> Expr | None:
    """`body` as a quotient without common factors; roots are symbols, whatever their squares are."""
    atoms = _read(body)
    return None if atoms is None else _written(atoms.whole, atoms, [root for root, _ in atoms.squares])


def by_roots(body: Expr) -> Iterator[Expr]:
    """`body` in terms of the roots in it, over a common denominator: of r = sqrt(b**2 - 4*a*c), without c or without a,
    (b**2 - r**2)/(4*a) in the place of c. What is left factors where r is part of the factors."""
    if not any(operator(n) in ROOTS for n in values(body)) or (atoms := _read(body)) is None:
        return
    for root, square in atoms.squares:
        for other in square.symbols():
            above = dict(by_power(square.above, other))
            if other != root and max(above) == 1 and not square.below.degrees()[other]:
                times, rest = (Quotient(above.get(k, square.above * 0), square.below) for k in (1, 0))
                try:
                    found = atoms.whole.with_symbol(other, (atoms.symbol(atoms.nodes[root]) ** 2 - rest) / times)
                except ZeroDivisionError:  # what is divided by is 0 everywhere
                    continue
                yield _written(found, atoms, [root])


def _read(body: Expr, words: str = "") -> _Atoms | None:
    """None if there is nothing in `body` for the words to say, or too much, or a quotient by what is 0 everywhere."""
    if not any(map(_ASKED[words], values(body))) or _terms(body) >= MANY:
        return None
    try:
        return _Atoms(body, words)
    except ZeroDivisionError:  # the sign of y - y
        return None


def _written(found: Quotient, atoms: _Atoms, kept: Collection[int] = ()) -> Expr:
    """In factors, the numbers first, then what is one term, in the order of the formula, then the sums.

    kept  the roots whose powers stay
    """
    for symbol, square in reversed(atoms.squares):
        if symbol not in kept:
            found = with_square(found.above, symbol, square) / Quotient(found.below)
    if found.above.is_zero():
        return ZERO
    above, below = of_used(found.above, found.below)
    (first, others), (last, rest) = above.factor(), below.factor()
    number = abs(_fraction(first) / _fraction(last))
    numerator, denominator = (const(Fraction(k)) for k in number.as_integer_ratio())
    order = [n.key for n in postorder(atoms.body)]
    others, rest = _joined(others), _joined(rest)
    above, below = numerator * _product(others, atoms, order), denominator * _product(rest, atoms)
    return _signed(above if first > 0 else -above, below if last > 0 else -below)


def _joined(found: Sequence[tuple[Polynomial, int]]) -> list[tuple[Polynomial, int]]:
    """Powers of irreducible polynomials, two of them as one where that has no more terms than either and none cancels:
    x**4 + x**2 + 1 for (x**2 - x + 1)*(x**2 + x + 1)."""
    joined: list[tuple[Polynomial, int]] = []
    for f, k in found:
        for place, (other, times) in enumerate(joined):
            both = f * other
            if times == k and 1 < len(both) <= min(len(f), len(other)) and _never_cancels(both):
                joined[place] = both, k
                break
        else:
            joined.append((f, k))
    return joined


def _never_cancels(u: Polynomial) -> bool:
    """Whether it is a sum of squares, each times a number that is above 0."""
    return all(c > 0 for c in u.coeffs()) and all(k % 2 == 0 for monom in u.monoms() for k in monom)


def _signed(above: Expr, below: Expr) -> Expr:
    """A quotient; -1/(x*(x - 1)) as 1/(x*(1 - x))."""
    (above, minus), (below, other) = map(without_sign, (above, below))
    if minus == other:
        return above / below
    found = factors(below)[0]
    for k, f in enumerate(found):
        if operator(f) == "sub":
            return above / product([*found[:k], -f, *found[k + 1 :]])
    return -(above / below)


def _product(found: Sequence[tuple[Polynomial, int]], atoms: _Atoms, order: Sequence[Expr] = ()) -> Expr:
    """Of powers of irreducible polynomials: in the order given, or else in that in which their symbols were met."""

    def place(pair: tuple[Polynomial, int]) -> tuple[int, int, list[int]]:
        terms, written = len(pair[0]), atoms.write(pair[0]).key
        there = order.index(written) if terms == 1 and written in order else len(order)
        return terms, there, [-x for x in pair[0].monoms()[0]]

    return product(_power(atoms.write(f), k) for f, k in sorted(found, key=place))


def _power(base: Expr, k: int) -> Expr:
    return (-base if operator(base) == "neg" and k % 2 == 0 else base) ** k
