"""Identities over the reals, as data: `before -> after`, true wherever both sides are real numbers.

a to e stand for anything; a sum or product of n terms is met inside of one of more, which keeps the rest, and a
sum in any multiple of it. `tidy(u)` is u on one line of fraction where that is shorter; `group(u)` is computed by
itself, whatever it stands beside. What stands in brackets must hold of names: one is symbolic, which is no number, a
fraction, which is none of halves, or large, a whole number beyond those whose differences of powers are written out;
two are distinct.

tests/precision/test_rules.py proves each in balls, at random points of its domain.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache

from ..expr import apply
from ..expr import ref as name_of
from ..records import dataclass
from .terms import (
    GROUP,
    MANY,
    MINUS_ONE,
    ONE,
    STRUCTURE,
    Rational,
    Term,
    add,
    base,
    built,
    coefficient,
    expanded,
    exponent,
    factored,
    function,
    functions_in,
    leaf,
    multiply,
    negative,
    number,
    parts_of,
    power,
    quotient,
    ratio,
    replaced,
    tidied,
    together,
)

RULES = """
# exp and log near 1
exp(a) - 1 -> expm1(a)
log(1 + a) -> log1p(a)
log1p(a - 1) -> log(a)
log(a) -> log1p(a - 1)
log(a/b) -> log(a) - log(b)
log(a/b) -> log_ratio(a, b)
log(a*b) -> log(a) + log(b)
log(a) - log(b) -> log1p(tidy((a - b)/b))
log(a) - log(b) -> log(tidy(a/b))
log(a) + log(b) -> log(a*b)
log(a/b) -> log1p(tidy((a - b)/b))
log(a/b) -> -log(b/a)
log(a/b) -> -log1p(tidy((b - a)/a))
log(1/a) -> -log(a)
log(a**b) -> b*log(abs(a))
log(abs(a)) -> log(a)
a*sign(a) -> abs(a)
log((1 + a)/(1 - a)) -> 2*atanh(a)
log1p(a) - log1p(-a) -> 2*atanh(a)
log(a + sqrt(a**2 + 1)) -> asinh(a)
log(a + sqrt(a**2 - 1)) -> acosh(a)
log(1/a + sqrt(1 - a**2)/a) -> acosh(1/a)
log1p(a) - log1p(b) -> log1p((a - b)/(1 + b))
log1p(a) - log(b) -> log1p(tidy((1 + a - b)/b))
a*log(a/b) - a + b -> bd0(a, b)
log1p(a) - a -> log1pmx(a)
log1p(a) + a*log1p(a) - a -> (1 + a)*log1pmx(a) + a**2
log1p(a) - a/(1 + a) -> log1pmx(a) + a**2/(1 + a)
a*log(a/b) + (1 - a)*log((1 - a)/(1 - b)) -> bd0(a, b) + bd0(1 - a, 1 - b)

# exponentials
exp(a)*exp(b) -> exp(a + b)
exp(a)/exp(b) -> exp(a - b)
exp(a + b) -> exp(a)*exp(b)
exp(a)**b -> exp(a*b)
exp(a) - exp(b) -> exp(b)*expm1(a - b)
exp(a) - exp(-a) -> 2*sinh(a)
b*exp(a) - b*exp(-a) -> 2*b*sinh(a)
b*exp(a) + (c - b)*exp(-a) -> 2*b*sinh(a) + c*exp(-a)
exp(a) + exp(-a) -> 2*cosh(a)
exp(a) + exp(-a) - 2 -> 2*coshm1(a)
exp(a)/(b + exp(a)) -> 1/(1 + b*exp(-a))
exp(a)/(b + exp(a))**2 -> 1/(b*exp(-a/2) + exp(a/2))**2
exp(a)/(b + c*exp(a))**2 -> 1/(b*exp(-a/2) + c*exp(a/2))**2
exp(a)/(b + c*exp(a)**2) -> 1/(b*exp(-a) + c*exp(a))
a**2*exp(b)/(1 + exp(b))**2 -> group(a/cosh(b/2))**2/4
exp(2*a)/(b + exp(a))**2 -> 1/(1 + b*exp(-a))**2
exp(a)/(b + exp(c)) -> 1/(b*exp(-a) + exp(c - a))
exp(a)/(b + exp(c))**2 -> 1/(b*exp(-a/2) + exp(c - a/2))**2
exp(a)/(exp(b) + exp(c)) -> 1/(exp(b - a) + exp(c - a))
exp(a)/hypot(exp(a), b) -> 1/hypot(1, b*exp(-a))
b + (c - b)*exp(a) -> c*exp(a) - b*expm1(a)
c - b + b*exp(a) -> c + b*expm1(a)
1/(b + c*exp(a)) -> exp(-a)/(c + b*exp(-a))
exp(a)/expm1(a) -> -1/expm1(-a)
exp(a)/expm1(a)**2 -> 1/(4*sinh(a/2)**2)
exp(a)*expm1(b) -> exp(a + b) - exp(a)
expm1(2*a)*exp(-a) -> 2*sinh(a)
expm1(2*a)/expm1(a) -> exp(a) + 1
expm1(a + b)/(expm1(a)*expm1(b)) -> (1/tanh(a/2) + 1/tanh(b/2))/2
expm1((a + b)*c)/(expm1(a*c)*expm1(b*c)) -> (1/tanh(a*c/2) + 1/tanh(b*c/2))/2
sqrt(expm1(a)) -> exp(a/2)*sqrt(-expm1(-a))
expm1(a) + 1 -> exp(a)
1 + expm1(a)/b -> (b + expm1(a))/b
exp(b*log(a)) -> a**b
a**b -> exp(b*log(a)) [symbolic b]
(1 + a)**b -> compound(a, b) [symbolic b]
compound(a, b) -> tidy(1 + a)**b
compound(a, b) - 1 -> compoundm1(a, b)
(1 + a)**b - 1 -> compoundm1(a, b) [fraction b]
a**b - 1 -> powm1(a, b) [fraction b]
a**b - 1 -> powm1(a, b) [symbolic b]
a**b - 1 -> compoundm1(tidy(a - 1), b) [symbolic b]
a**b - 1 -> compoundm1(a - 1, b) [large b]
a**b - 1 -> compoundm1((a - 1)*(a + 1), b/2) [even b]
a**b*c**(-b) - 1 -> compoundm1(tidy((a - c)/c), b) [large b]
a**b - c**b -> c**b*compoundm1(tidy((a - c)/c), b) [symbolic b]
a**b - c**b -> -a**b*compoundm1(tidy((c - a)/a), b) [symbolic b]
a**b - c**b -> c**b*compoundm1((a - c)/c, b) [large b]
a**b - c**b -> c**b*compoundm1(group((a - c)/c)*group((a + c)/c), b/2) [even b]
c*a**b - e*d**b -> d**b*(c*compoundm1(tidy((a - d)/d), b) + group(c - e)) [symbolic b]
a**b*a**c -> a**(b + c)
a**b/a**c -> a**(b - c)
a**b/(c + a**d) -> 1/(a**(d - b) + c*a**(-b))
a**b/(c**b + a**b) -> 1/(1 + (c/a)**b) [symbolic b]

# logistic
1/(1 + exp(a)) -> sigmoid(-a)
exp(a)/(1 + exp(a)) -> sigmoid(a)
1/(1 + b*exp(a)) -> sigmoid(-a - log(b))
exp(a)/(1 + exp(a))**2 -> sigmoid_slope(a)
sigmoid(a)*sigmoid(-a) -> sigmoid_slope(a)
exp(a)/(exp(a) + exp(b)) -> sigmoid(a - b)
1 - sigmoid(a) -> sigmoid(-a)
2*sigmoid(a) - 1 -> tanh(a/2)
sigmoid(a) - sigmoid(-a) -> tanh(a/2)
b*sigmoid(a) - b*sigmoid(-a) -> b*tanh(a/2)
exp(-a)*sigmoid(a) -> sigmoid(-a)
a**b/(1 + a**b) -> sigmoid(b*log(a)) [symbolic b]
1/(1 + a**b) -> sigmoid(-b*log(a)) [symbolic b]
log(exp(a) + exp(b)) -> logaddexp(a, b)
log(exp(a) + b) -> logaddexp(a, log(b))
log(exp(a) + exp(b) + exp(c)) -> logaddexp(logaddexp(a, b), c)
log(1 + exp(a)) -> softplus(a)
log1p(exp(a)) -> softplus(a)
log(1 + b*exp(a)) -> softplus(a + log(b))
log1p(b*exp(a)) -> softplus(a + log(b))
log(sigmoid(a)) -> -softplus(-a)
softplus(a) - a -> softplus(-a)
softplus(a) -> a + softplus(-a)
log(1 - exp(a)) -> log1mexp(-a)
log1p(-exp(a)) -> log1mexp(-a)
log(-expm1(a)) -> log1mexp(-a)
log(expm1(a)) -> a + log1mexp(a)
exp(-softplus(a)) -> sigmoid(-a)

# hyperbolic
(exp(a) - exp(-a))/(exp(a) + exp(-a)) -> tanh(a)
expm1(a)/(exp(a) + 1) -> tanh(a/2)
expm1(a)*sigmoid(-a) -> tanh(a/2)
sinh(a)/cosh(a) -> tanh(a)
1/tanh(a) -> cosh(a)/sinh(a)
cosh(a)/sinh(a) -> 1/tanh(a)
cosh(a) - 1 -> coshm1(a)
coshm1(a) -> 2*sinh(a/2)**2
coshm1(a) -> sinh(a)*tanh(a/2)
1 - tanh(a)**2 -> sech2(a)
1/cosh(a)**2 -> sech2(a)
1 - 1/tanh(a)**2 -> -1/sinh(a)**2
sech2(a)/4 -> sigmoid_slope(2*a)
sigmoid(a)/(1 + exp(a)) -> sigmoid_slope(a)
1 - tanh(a) -> 2*sigmoid(-2*a)
1 + tanh(a) -> 2*sigmoid(2*a)
cosh(a)**2 - sinh(a)**2 -> 1
1 + sinh(a)**2 -> cosh(a)**2
sinh(a) - sinh(b) -> 2*sinh((a - b)/2)*cosh((a + b)/2)
cosh(a) - cosh(b) -> 2*sinh((a - b)/2)*sinh((a + b)/2)
sinh(a)*cosh(b) - cosh(a)*sinh(b) -> sinh(a - b)
cosh(a)*cosh(b) - sinh(a)*sinh(b) -> cosh(a - b)
cosh(a)**2 - 1 -> sinh(a)**2
log(cosh(a)) -> log_cosh(a)
log(sinh(a)) -> a + log1mexp(2*a) - log(2)
sinh(a) -> expm1(2*a)/(2*exp(a))
cosh(a)/cosh(b) -> cosh_by_cosh(a, b) [distinct a b]
sinh(a)/cosh(b) -> sinh_by_cosh(a, b) [distinct a b]
cosh(a)/sinh(b) -> cosh_by_sinh(a, b) [distinct a b]
sinh(a)/sinh(b) -> sinh_by_sinh(a, b) [distinct a b]

# trigonometry
1 - cos(a) -> versin(a)
versin(a) -> 2*sin(a/2)**2
sin(a)**2 + cos(a)**2 -> 1
1 - cos(a)**2 -> sin(a)**2
1 - sin(a)**2 -> cos(a)**2
1 + cos(a) -> 2*cos(a/2)**2
sin(a) - sin(b) -> 2*sin((a - b)/2)*cos((a + b)/2)
cos(a) - cos(b) -> -2*sin((a - b)/2)*sin((a + b)/2)
sin(a + b) - sin(a) -> cos(a)*sin(b) - sin(a)*versin(b)
cos(a + b) - cos(a) -> -sin(a)*sin(b) - cos(a)*versin(b)
tan(a) - tan(b) -> sin(a - b)/(cos(a)*cos(b))
atan(a) - atan(b) -> atan2(a - b, 1 + a*b)
versin(a)/sin(a) -> tan(a/2)
sin(a/2)/cos(a/2) -> tan(a/2)
sin(a)/(1 + cos(a)) -> tan(a/2)
sin(a)/cos(a) -> tan(a)
sin(a + b) - sin(a)*cos(b) -> cos(a)*sin(b)
sin(a)*cos(b) - cos(a)*sin(b) -> sin(a - b)
sin(a)*cos(b) + cos(a)*sin(b) -> sin(a + b)
cos(a)*cos(b) + sin(a)*sin(b) -> cos(a - b)
cos(a)*cos(b) - sin(a)*sin(b) -> cos(a + b)
cos(a)**2 - sin(a)**2 -> cos(2*a)
1 - tan(a)**2 -> cos(2*a)/cos(a)**2
1 + tan(a)**2 -> 1/cos(a)**2
2*sin(a)*cos(a) -> sin(2*a)
sin(a) -> 2*sin(a/2)*cos(a/2)
acos(1 - a) -> 2*asin(sqrt(a/2))
acos(a) -> atan2(sqrt((1 - a)*(1 + a)), a)
acos(a) -> 2*atan2(sqrt(1 - a), sqrt(1 + a))
atan(sqrt((1 - a)/(1 + a))) -> acos(a)/2
acos(sin(a)*sin(b) + cos(a)*cos(b)*cos(c)) -> 2*asin(sqrt(sin((a - b)/2)**2 + cos(a)*cos(b)*sin(c/2)**2))
a**2 + b**2 - 2*a*b*cos(c) -> (a - b)**2 + 4*a*b*sin(c/2)**2

# parts of a turn
sin(a + pi/2) -> cos(a)
cos(a + pi/2) -> -sin(a)
sin(a + pi) -> -sin(a)
cos(a + pi) -> -cos(a)
pi/2 - acos(a) -> asin(a)
pi/2 - asin(a) -> acos(a)
pi/2 - atan(a) -> atan2(1, a)
log(tan(a + pi/4)) -> asinh(tan(2*a))
(1 + tan(a + pi/4)**2)/tan(a + pi/4) -> 2/cos(2*a)

# roots and powers
sqrt(a) - sqrt(b) -> (a - b)/(sqrt(a) + sqrt(b))
sqrt(a) - b -> (a - b**2)/(sqrt(a) + b)
sqrt(a) + b -> (a - b**2)/(sqrt(a) - b)
hypot(a, b) - c -> (a**2 + b**2 - c**2)/(hypot(a, b) + c)
hypot(a, b) + c -> (a**2 + b**2 - c**2)/(hypot(a, b) - c)
root_of_sum(a, b, c) - d -> (a**2 + b*c - d**2)/(root_of_sum(a, b, c) + d)
root_of_sum(a, b, c) + d -> (a**2 + b*c - d**2)/(root_of_sum(a, b, c) - d)
log(a + hypot(a, 1)) -> asinh(a)
a**(1/3) - b**(1/3) -> (a - b)/(a**(2/3) + a**(1/3)*b**(1/3) + b**(2/3))
sqrt(a**2 + b**2) -> hypot(a, b)
sqrt(a**2 + b**2 + c**2) -> hypot(hypot(a, b), c)
sqrt(a**2 + 1) -> hypot(a, 1)
sqrt(exp(a) + 1) -> hypot(exp(a/2), 1)
sqrt(a**2 + b*c) -> root_of_sum(a, b, c)
sqrt(a**2 + b*c**2) -> root_of_sum(a, b*c, c)
sqrt((a - b)**2 + 4*a*b*c**2) -> root_of_sum(a - b, 2*a*c, 2*b*c)
sqrt(a**2 + b) -> hypot(a, sqrt(b))
a**2 + b**2 -> hypot(a, b)**2
log(hypot(a, b)) -> log(abs(a)) + log1p((b/a)**2)/2
a**2 - b**2 -> (a - b)*(a + b)
a**2 - 1 -> (a - 1)*(a + 1)
1 - a**2 -> (1 - a)*(1 + a)
a**4 - b**4 -> (a - b)*(a + b)*(a**2 + b**2)
a**2 + 2*a*b + b**2 -> (a + b)**2
a**c - b**c -> -a**c*expm1(c*log1p(tidy((b - a)/a))) [fraction c]
a**3 - b**3 -> (a - b)*(a**2 + a*b + b**2)
sqrt(a*b) -> sqrt(a)*sqrt(b)
sqrt(a/b) -> sqrt(a)/sqrt(b)
sqrt(a)*sqrt(b) -> sqrt(a*b)
sqrt(a)/sqrt(b) -> sqrt(a/b)
sqrt(a**2 + b) -> abs(a)*sqrt(1 + b/a**2)
sqrt(a**2*b) -> abs(a)*sqrt(b)
sqrt(a**2 - b**2) -> sqrt(abs(a - b))*sqrt(abs(a + b))

# quotients
1/a - 1/b -> (b - a)/(a*b)
a/(a + b) -> 1/(1 + b/a)
a/(a**2 + b) -> 1/(a + b/a)
a/(a**2 + b**2) -> inversion(a, b) [symbolic b]
a/hypot(a, b)**2 -> inversion(a, b) [symbolic b]
a**2/(b + a**2) -> 1/(1 + b/a**2)
a/(b + c) -> 1/(b/a + c/a) [single a]
(a*b + c)/a -> b + c/a
1/(a*b) -> (1/a)*group(1/b)
a/b -> group(a/b)
a**2/b**2 -> group(a/b)**2
a**b*c**(-b) -> group(a/c)**b [large b]
a**2/b -> a*group(a/b)
a**4/b -> a**2*group(a**2/b)
a*b + a*c -> a*(b + c)
a/c + b/c -> (a + b)/c
a/b - 1 -> (a - b)/b

# the error function
1 - erf(a) -> erfc(a)
1 + erf(a) -> erfc(-a)
erfc(a) -> exp(-a**2)*erfcx(a)
log(erfc(a)) -> log_erfc(a)
exp(-a**2)/erfc(a) -> 1/erfcx(a)
"""

TIDY = "?tidy"  # an operator of rules alone


def _is_single(factor: Term) -> bool:
    """Whether it is 0 with a variable alone, where samples have points: log(x) is at 1, and x + y anywhere."""
    inside, _ = base(factor)
    return not inside.parts or inside.op == "exp"


CONDITIONS: Mapping[str, Callable[..., bool]] = {  # of terms
    "symbolic": lambda t: t.op != "number",
    "single": lambda t: all(map(_is_single, t.args if t.op == "*" else (t,))),
    "fraction": lambda t: t.op != "number" or t.args[0].denominator > 2,
    "large": lambda t: t.op == "number" and t.args[0].denominator == 1 and t.args[0] > 4,
    "even": lambda t: t.op == "number" and t.args[0] % 2 == 0 and t.args[0] > 4,
    "distinct": lambda t, other: t is not other,
}
FOUND = 12  # ways in which a rule is met at one place, at most

Binding = Mapping[Term, Term]


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of RULES; `conditions` are words and the names that they are said of, `functions` what `before` calls."""

    text: str
    before: Term
    after: Term
    conditions: tuple[tuple[str, tuple[Term, ...]], ...]
    functions: frozenset[str]

    def holds(self, found: Binding) -> bool:
        return all(CONDITIONS[word](*map(found.__getitem__, names)) for word, names in self.conditions)

    def result(self, found: Binding) -> Term:
        """What stands for `before` where its names are these."""
        done: dict[Term, Term] = dict(found)
        for node in parts_of(self.after):
            if node not in done:
                args = [done[a] for a in node.parts]
                done[node] = tidied(args[0]) if node.op == TIDY else built(node.op, args) if args else node
        return done[self.after]


NAMES = tuple(map(leaf, map(name_of, "abcde")))


def _read(node: ast.expr) -> Term:
    """One side of a row, which Python's parser has taken apart."""
    match node:
        case ast.Constant(int() as value):
            return number(value)
        case ast.Name("pi"):
            return leaf(apply("pi"))
        case ast.Name(name):
            return leaf(name_of(name))
        case ast.UnaryOp(ast.USub(), operand):
            return negative(_read(operand))
        case ast.Call(ast.Name(name), arguments):
            return function({"tidy": TIDY, "group": GROUP}.get(name, name), *map(_read, arguments))
        case ast.BinOp(left, operator, right):
            a, b = _read(left), _read(right)
            match operator:
                case ast.Add():
                    return add(a, b)
                case ast.Sub():
                    return add(a, negative(b))
                case ast.Mult():
                    return multiply(a, b)
                case ast.Div():
                    return quotient(a, b)
                case ast.Pow():
                    return power(a, b)
    raise ValueError(f"a rule has {ast.unparse(node)}")


@cache
def rules() -> Mapping[str, tuple[Rule, ...]]:
    """The rows, by the operator that they are met at."""
    found: dict[str, list[Rule]] = {}
    for line in RULES.splitlines():
        if line and not line.startswith("#"):
            text, _, said = line.rstrip("]").partition(" [")
            before, after = (_read(ast.parse(side, mode="eval").body) for side in text.split(" -> "))
            words = [c.split() for c in said.split(", ") if c]
            conditions = tuple((word, tuple(leaf(name_of(n)) for n in names)) for word, *names in words)
            found.setdefault(before.op, []).append(Rule(text, before, after, conditions, functions_in(before)))
    return {op: tuple(some) for op, some in found.items()}


# matching


def matches(pattern: Term, t: Term, found: Binding) -> Iterator[Binding]:
    """What the names of a pattern stand for so that it is `t`."""
    if pattern in NAMES:
        known = found.get(pattern)
        if known is None:
            yield {**found, pattern: t}
        elif known is t:
            yield found
    elif pattern.op in ("number", "leaf"):
        if pattern is t:
            yield found
    elif pattern.op in ("+", "*"):
        factor, rest = coefficient(pattern)
        if pattern.op == "*" and (factor == -1 or factor != 1 and rest in NAMES):  # 2*a is met in anything
            yield from matches(rest, multiply(number(ratio(1, factor)), t), found)
        elif pattern.op == t.op:
            yield from (other for other, left in _some(pattern, t, found) if not left)
    elif pattern.op == "**" and pattern.args[1].op == "number":
        yield from _roots(pattern, t, found)
    elif pattern.op == t.op and len(pattern.args) == len(t.args):
        ways = [found]
        for p, a in zip(pattern.args, t.args, strict=True):
            ways = [other for way in ways for other in matches(p, a, way)]
        yield from ways


def _roots(pattern: Term, t: Term, found: Binding) -> Iterator[Binding]:
    """A pattern's power of a number, as a**2, in another, as x**4 or x**2*y**2."""
    inner, wanted = pattern.args[0], pattern.args[1].args[0]
    k = exponent(t)
    if t.op == "*":
        whole = wanted.denominator == 1 and all((p := exponent(f)) is not None and not p % wanted for f in t.args)
        if whole and not any(f.op == "number" for f in t.args):
            root = power(t, number(ratio(1, wanted))) if wanted > 0 else _inverse_root(t, wanted)
            yield from matches(inner, root, found)
    elif k is not None and (k == wanted or wanted > 1 and not k % wanted):
        yield from matches(inner, power(base(t)[0], number(ratio(k, wanted))), found)


def _inverse_root(t: Term, wanted: Rational) -> Term:
    return multiply(*(power(base(f)[0], number(ratio(exponent(f) or 1, wanted))) for f in t.args))


def _some(pattern: Term, t: Term, found: Binding) -> Iterator[tuple[Binding, list[Term]]]:
    """Where the parts of a sum or product stand among those of `t`, and what is left over."""
    join = add if pattern.op == "+" else multiply

    def go(parts: list[Term], left: list[Term], found: Binding) -> Iterator[tuple[Binding, list[Term]]]:
        if not parts:
            yield found, left
            return
        first, *others = parts
        if first in NAMES:
            known = found.get(first)
            if known is None and not others and len(left) > 1:
                yield {**found, first: join(*left)}, []
            elif known is not None and known.op == pattern.op and all(a in left for a in known.args):
                yield from go(others, [a for a in left if a not in known.args], found)
        for k, part in enumerate(left):
            rest = left[:k] + left[k + 1 :]
            if pattern.op == "*" and part.op == "**" and (more := _more(first, part)) is not None:
                for way in matches(base(first)[0], base(part)[0], found):
                    yield from go(others, [*rest, more], way)
            known = found.get(first) if pattern.op == "*" and part.op == "+" else None  # y - x beside (x - y)**2
            if known is not None and known.op == "+" and {*part.args} == {*map(negative, known.args)}:
                yield from go(others, [*rest, MINUS_ONE], found)
            if first.op in STRUCTURE or first.op == part.op:  # a function is met by itself alone
                for way in matches(first, part, found):
                    yield from go(others, rest, way)

    yield from go(_largest_first(pattern), list(t.args), found)


@lru_cache(MANY)
def _largest_first(pattern: Term) -> list[Term]:
    return sorted(pattern.args, key=lambda a: -a.size)


def _more(asked: Term, part: Term) -> Term | None:
    """What a power has more than is asked for: x**2 of x**3 leaves x."""
    k, wanted = exponent(part), exponent(asked)
    if k is None or wanted is None or wanted * k <= 0 or k * k <= wanted * wanted:
        return None
    whole = k.denominator == wanted.denominator == 1
    return power(base(part)[0], number(k - wanted)) if whole else None


@lru_cache(MANY)
def rewrites(t: Term) -> tuple[tuple[str, Term], ...]:
    """What `t` becomes by each rule that is met at its top, with the rule's text."""
    return tuple(dict.fromkeys((text, new) for text, new in _rewrites(t) if new is not t))


def _multiples(t: Term) -> Iterator[tuple[Term, Term]]:
    """`t` as a number times another; a sum by each of its coefficients, so that one of its terms has 1."""
    if t.op != "+":
        yield ONE, t
        return
    scales: dict[Rational, None] = {}
    for a in t.args:
        c = coefficient(a)[0]
        scales |= {c if c > 0 else -c: None, -c if c > 0 else c: None}
    for c in scales:
        yield number(c), add(*(multiply(number(ratio(1, c)), a) for a in t.args))


def _by_rules(t: Term) -> Iterator[tuple[str, Term]]:
    called, multiples = functions_in(t), list(_multiples(t))
    for rule in rules().get(t.op, ()):
        before, outer, forms = rule.before, ONE, multiples
        if not rule.functions <= called or t.op == "+" and len(before.args) > len(t.args):
            continue
        if t.op == "**" and before.op == "**":
            mine, wanted = exponent(t), exponent(before)
            if mine is not None and wanted is not None:  # 1/sqrt(a) is met as sqrt(a)
                if ratio(mine, wanted).denominator != 1:
                    continue
                outer, forms = number(ratio(mine, wanted)), [(ONE, power(t.args[0], number(wanted)))]
        for scale, form in forms:
            ways: Iterator[tuple[Binding, list[Term]]]
            if form.op in ("+", "*") and form.op == before.op:
                ways = _some(before, form, {})
            else:
                ways = ((found, []) for found in matches(before, form, {}))
            for found, left in itertools.islice(ways, FOUND):
                if rule.holds(found):
                    new, join = rule.result(found), add if form.op == "+" else multiply
                    new = join(new, join(*left)) if left else new
                    yield rule.text, multiply(scale, power(new, outer))


def _rewrites(t: Term) -> Iterator[tuple[str, Term]]:
    yield from _by_rules(t)
    if t.op == "+":
        yield "over one denominator", together(t)
        yield "multiplied out", expanded(t)
        yield from _factored(t)
    elif t.op in ("*", "**"):
        yield "multiplied out", expanded(t)


def _factored(t: Term) -> Iterator[tuple[str, Term]]:
    """A sum with what its terms share in front, and what then becomes of the sum that is left: to take out a factor
    alone saves nothing, so that no search would come further."""
    whole = factored(t)
    yield "factored", whole
    for rest in whole.args if whole.op == "*" else ():
        if rest.op == "+":
            yield from ((text, replaced(whole, {rest: new})) for text, new in _by_rules(rest))
