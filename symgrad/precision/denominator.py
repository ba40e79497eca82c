"""Formulas over a common denominator, with the numerator multiplied out and in factors; SymPy finds the form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from ..expr import (
    ONE,
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
from ..later import sympy
from ..ops import OPS

MANY = 300  # terms of a polynomial that is not multiplied out
ROOTS = frozenset({"pow", "sqrt", "hypot", "root_of_sum", "abs", "sign"})  # whose squares are known
POWERS_OF_E = frozenset({"exp", "expm1"})  # one of them may tell another
LOGARITHMS = frozenset({"log", "log_ratio"})  # of which an exponential is known


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
        self.asked: set[Expr] = set()  # exponents of which it is being asked whether another exponential tells them

    def symbol(self, node: Expr) -> sympy.Symbol:
        if node.key not in self.symbols:
            self.symbols[node.key] = sympy.Symbol(f"a{len(self.symbols)}")
            self.nodes[self.symbols[node.key]] = node
        return self.symbols[node.key]

    def read(self, root: Expr) -> sympy.Expr:
        done: dict[Expr, sympy.Expr] = {}
        nodes = values(root)
        if not self.nodes:  # of exponentials, the simplest first
            for node in sorted((n for n in nodes if operator(n) == "exp"), key=size):
                self._power_of_e(node.args[0])
        for node in nodes:
            done[node] = self.symbol(node) if isinstance(node, Ref) else self._read(node, done)
        return done[root]

    def _read(self, node: Expr, done: Mapping[Expr, sympy.Expr]) -> sympy.Expr:
        args = [done[a] for a in node.args]
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
                self._remember(node.args[1], done)
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
            case "root_of_sum":
                return self._root(node, args[0] ** 2 + args[1] * args[2])
            case "abs":
                return self._root(node, args[0] ** 2)
            case "sign":
                return self._root(apply("abs", node.args[0]), args[0] ** 2) / args[0]
            case "exp":
                return self._power_of_e(node.args[0])
            case "expm1" if self.words == "exponentials":
                return self._power_of_e(node.args[0]) - 1
        return self.symbol(node)

    def _remember(self, node: Expr, done: Mapping[Expr, sympy.Expr]) -> None:
        for factor in factors(node)[0]:
            plain, _ = base_of(factor)
            if done[plain].is_Add:
                self.sums[sympy.expand(done[plain])] = plain
                self.sums[sympy.expand(-done[plain])] = -plain

    def _root(self, node: Expr, square: sympy.Expr) -> sympy.Symbol:
        new = node.key not in self.symbols
        symbol = self.symbol(node)
        if new:
            self.squares.append((symbol, square))
        return symbol

    def _power_of_e(self, exponent: Expr) -> sympy.Expr:
        """exp(u) as a power of an exponential that is there already: exp(-t) is 1/exp(t); times what is told by the
        logarithms in u: exp(v - log(k)) is exp(v)/k."""
        there = [(n, s) for n, s in self.symbols.items() if isinstance(n, Apply) and n.op == "exp"]
        for node, symbol in there:
            ratio = _ratio(exponent, node.args[0])
            if ratio is not None:
                return symbol**ratio
        if exponent not in self.asked:  # it is, where the other one's exponent speaks of exp(exponent)
            self.asked.add(exponent)
            ways = ((s, self._exponential(self.read(exponent) - self.read(n.args[0]))) for n, s in there)
            found = next((symbol * told for symbol, told in ways if told is not None), None)
            self.asked.remove(exponent)
            if found is not None:
                return found
        return self.symbol(apply("exp", exponent))

    def _exponential(self, difference: sympy.Expr) -> sympy.Expr | None:
        """exp of a sum of logarithms, each so many times as a whole number says, and of what exp is there of."""
        logarithms = {s: _inside(n) for s, n in self.nodes.items() if operator(n) in LOGARITHMS}
        if logarithms.keys().isdisjoint(difference.free_symbols):
            return None
        parts = sympy.fraction(sympy.together(difference))
        for symbol, square in reversed(self.squares):
            parts = tuple(sympy.rem(sympy.expand(part), symbol**2 - square, symbol) for part in parts)
        found = sympy.expand(sympy.cancel(parts[0] / parts[1]))
        told, rest = sympy.Integer(1), sympy.Integer(0)
        for term in sympy.Add.make_args(found):
            times, symbol = term.as_coeff_Mul()
            if times.is_Integer and symbol in logarithms:
                told *= self.read(logarithms[symbol]) ** times
            else:
                rest += term
        if rest == 0:
            return told
        for node, symbol in self.symbols.items():
            if isinstance(node, Apply) and node.op == "exp":
                times = sympy.cancel(rest / self.read(node.args[0]))
                if times in (1, -1):
                    return told * symbol**times
        return None

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
        return total(sorted(terms, key=lambda t: operator(t) == "neg"))


def _inside(logarithm: Expr) -> Expr:
    """What it is the logarithm of."""
    above, *below = logarithm.args
    return above / product(below)


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


def symbols(body: Expr, known: Collection[str] = ROOTS | POWERS_OF_E) -> dict[Expr, int]:
    """What stands in `body` that is no arithmetic and no `known` operator, and so is a symbol for SymPy: how often each
    would stand there if `body` were written out."""
    times = dict.fromkeys(values(body), 0) | {body: 1}
    found: dict[Expr, int] = {}
    for node in reversed(times):
        args: tuple[Expr, ...] = ()
        if isinstance(node, Apply) and node.op == "pow":
            exponent = node.args[1]
            whole = isinstance(exponent, Const) and exponent.text is None and exponent.value.denominator <= 2
            args = node.args[:1] if whole else ()
        elif isinstance(node, Apply) and (OPS[node.op].arithmetic or node.op in known):
            args = node.args
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
    if not _says(body, words):
        return None
    atoms = _Atoms(words)
    return _fraction(atoms.read(body), atoms, body)


def _says(body: Expr, words: str = "") -> bool:
    """Whether there is something in `body` for the words to say, and not too much."""
    return any(map(_ASKED[words], values(body))) and _terms(body) < MANY


def in_lowest_terms(body: Expr) -> Expr | None:
    """`body` as a quotient without common factors; roots are symbols, whatever their squares are."""
    if not _says(body):
        return None
    atoms = _Atoms("")
    whole = atoms.read(body)
    return _fraction(whole, atoms, body, [root for root, _ in atoms.squares])


def by_roots(body: Expr) -> Iterator[Expr]:
    """`body` in terms of the roots in it, over a common denominator: of r = sqrt(b**2 - 4*a*c), without c or without a,
    (b**2 - r**2)/(4*a) in the place of c. What is left factors where r is part of the factors."""
    if not any(operator(n) in ROOTS for n in values(body)) or not _says(body):
        return
    atoms = _Atoms("")
    whole = atoms.read(body)
    for root, square in atoms.squares:
        for other in sorted(square.free_symbols - {root}, key=list(atoms.nodes).index):
            if square.is_polynomial(other) and sympy.degree(square, other) == 1:
                times = sympy.diff(square, other)
                found = whole.subs(other, (root**2 - square.subs(other, 0)) / times)
                if (form := _fraction(found, atoms, body, [root])) is not None:
                    yield form


def _fraction(found: sympy.Expr, atoms: _Atoms, body: Expr, kept: Sequence[sympy.Symbol] = ()) -> Expr | None:
    """kept  the roots whose powers stay"""
    if found.has(sympy.zoo, sympy.nan):  # a quotient by what is 0 everywhere, as the sign of y - y
        return None
    whole = sympy.together(found)
    used = set(whole.free_symbols)
    for symbol, square in reversed(atoms.squares):
        used |= square.free_symbols if symbol in used else set()
    gens = [symbol for symbol in atoms.symbols.values() if symbol in used]  # SymPy nests a list for each
    if not gens:
        return None
    try:
        above, below = (sympy.Poly(part, *gens) for part in sympy.fraction(whole))
        for symbol, square in reversed(atoms.squares):
            if symbol in kept or symbol not in used:
                continue
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
    (above, minus), (below, other) = map(without_sign, (above, below))
    if minus == other:
        return above / below
    found = factors(below)[0]
    for k, f in enumerate(found):
        if operator(f) == "sub":
            return above / product([*found[:k], -f, *found[k + 1 :]])
    return -(above / below)


def _factored(poly: sympy.Poly, atoms: _Atoms, order: Sequence[Expr] = ()) -> Expr:
    """A product: first the numbers, in the order given or else in that in which they were met, then the sums."""
    number, found = _irreducible(poly)
    value = const(Fraction(int(number.p), int(number.q)))

    def place(pair: tuple[sympy.Poly, int]) -> tuple[int, int, list[int]]:
        terms, written = len(pair[0].terms()), atoms.write(pair[0]).key
        there = order.index(written) if terms == 1 and written in order else len(order)
        return terms, there, [-x for x in pair[0].LM().exponents]

    return value * product(_power(atoms.write(f), int(k)) for f, k in sorted(found, key=place))


def _irreducible(poly: sympy.Poly) -> tuple[sympy.Rational, list[tuple[sympy.Poly, int]]]:
    """A number, and the irreducible factors with their powers. What is linear in a symbol, a*x + b, has one that holds
    it, and those of the common divisor of a and b: SymPy's search in many symbols may take minutes, by chance."""
    linear = [g for g in poly.gens if poly.degree(g) == 1]
    if not linear or len(poly.terms()) == 1:
        number, found = sympy.factor_list(poly)
        return number, found
    parts = (sympy.Poly(poly.as_expr().coeff(g), *poly.gens) for g in linear)
    symbol, above = min(zip(linear, parts, strict=True), key=lambda pair: len(pair[1].terms()))
    common = sympy.gcd(above, poly.eval(symbol, 0).as_poly(*poly.gens))
    number, found = _irreducible(common)
    rest = sympy.quo(poly, common)
    content, whole = rest.clear_denoms(convert=True)[1].primitive()
    below = rest.LC() / (content * whole.LC())
    sign = -1 if whole.LC() < 0 else 1
    return number * content * below * sign, [(whole * sign, 1), *found]


def _power(base: Expr, k: int) -> Expr:
    return (-base if operator(base) == "neg" and k % 2 == 0 else base) ** k
