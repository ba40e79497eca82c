"""What a row of the operators says, and the words that rows are made of.

A row says how the operator is evaluated (in mpmath), differentiated, written in SymPy and in the languages symgrad
prints, and what its derivative is declared to be where it has none (its kinks). `derivative` gets the arguments and
the result `y` of the operator and returns one partial derivative per argument (None for one that is not
differentiated); what it mentions is what backward will save, so tanh mentions `y`.

The values at kinks are torch's where those are subgradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from ..expr import COMMUTATIVE, ONE, ZERO, Expr, apply, operator, postorder, ref, select, transform
from ..later import flint, mp, mpmath
from ..later import sympy as sympy_module
from ..records import dataclass

LARGE = 64  # bits before the point from which on mpmath multiplies for seconds, or more: exp(-1e308), 2.5**1e200
CALL = 10  # the cost of a function: about that of a call of a library's
EVERYWHERE = "every real number"

Partials = tuple[Expr | None, ...]


@dataclass(frozen=True, slots=True)
class Kink:
    """Where an operator has no derivative, and the values it is declared to have there, one per argument."""

    at: str
    holds: Callable[..., bool]
    values: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial of what has a name in the lines before, by Horner's rule.

    coefficients  for real numbers of 53 bits, from the highest power on
    single        the same for those of 24 bits
    """

    variable: Expr
    coefficients: tuple[float, ...]
    single: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Helper:
    """How an operator is computed where a language has no word for it: a function of the printed file.

    about      what it computes, and how
    lines      names, with expressions of the arguments and of the names before; the last is the result. Over the reals
               they are the operator itself, or approximate it by a polynomial: then `symgrad.verify.approximations`
               grants how closely
    arguments  what the lines call the arguments
    """

    about: str
    lines: tuple[tuple[str, Expr | Polynomial], ...]
    arguments: tuple[str, ...] = ("x",)


@dataclass(frozen=True)
class Op:
    """One operator.

    name        in the expression, and the first of the names that formula text accepts
    arity       how many arguments it takes
    value       its value in mpmath (exact integers come as int); NaN where it is not a real number
    derivative  (arguments..., result) -> partial derivatives; None: the derivative is zero wherever it exists
    sympy       the same function in SymPy, or its name there
    names       further names that formula text and declarations accept
    spell       how a language calls it, where that is not its name: "np.arcsin", "asin", in languages of arrays also a
                template of calls, numbers and its arguments: "np.logaddexp(0, {})"; JAX calls it as NumPy does where
                nothing else is said ("": it has none), Pallas as JAX does, of those that triton has; "c loops" in C's
                loops over arrays and points, "c batches" in those over the points of a batch alone
    expand      the same in terms of other operators, for languages that have no such function
    finer       the same where the arguments are arithmetic on inputs; of values that are rounded more, it would save
                nothing
    beside      the same by functions of its argument, for languages of loops, where these are computed anyway
    helper      the same as a function of the printed file, for languages that `spell` it "_name" ("name" in C)
    result      "real", "int" (of integers), or "bool"
    domain      where it is defined: as formula text in x, y and z ("0 < x < 1"), which tells `differentiate` where a
                formula has neighbours, or in words where that has none
    inside      what each argument may be replaced by where the value is not used, None of one that may stay: languages
                that evaluate both branches of a `where` stay inside of the domain by it. Empty where no argument need
                be replaced: the value is finite, or infinite without a word (tan), or its argument is a literal
    steep       it has a value, but no finite slope, at a point inside of its domain
    kinks       where it has no derivative, and the value declared there
    kind        "number", "arithmetic", "power", "integer", "comparison", "logic", "choice" or "function"
    noun        what its value is called in words; empty where that is its name
    between     what is read between its arguments; empty where nothing is
    cost        about how many additions it takes
    integral    its value is an integer, exactly, where its arguments are integers
    of_logs     its arguments may be logarithms, and -oo, that of 0: it is checked there, too
    associative it takes any number of arguments: f(x, y, z) is f(f(x, y), z)
    scans       languages of arrays have its running value: cumsum, cummax
    reduction   what it is over an index: sum, max
    nonnegative its value is at least 0
    bounded     its value is at most 1000 in size, whatever its arguments are
    inverse     the function that undoes it, wherever both have values
    monotone    1 where it rises with its one argument wherever it is defined, -1 where it falls
    grows       where it does as an exponential, and leaves the range of numbers: "right" at large arguments, "both" at
                those below 0, too
    oscillates  it has zeros without end: where its argument is computed, and large, nothing of the value is left
    series      formulas of it may be printed by their Taylor series; not where it is analytic in parts only, is slow in
                mpmath, or is nothing that a formula is written in
    single      torch.autocast computes it in float32, and that is what it returns
    ball        its value in balls of python-flint, numbers with a bound of their error, where these have no method of
                that name
    """

    name: str
    arity: int
    value: Callable[..., Any]
    derivative: Callable[..., Partials] | None
    sympy: Callable[..., Any] | str
    names: tuple[str, ...] = ()
    spell: Mapping[str, str] = field(default_factory=dict)
    expand: Callable[..., Expr] | None = None
    finer: Callable[..., Expr] | None = None
    beside: Callable[..., Expr] | None = None
    helper: Helper | None = None
    result: str = "real"
    domain: str = EVERYWHERE
    inside: tuple[float | None, ...] = ()
    steep: bool = False
    kinks: tuple[Kink, ...] = ()
    kind: str = "function"
    noun: str = ""
    between: str = ""
    cost: int = CALL
    integral: bool = False
    of_logs: bool = False
    associative: bool = False
    scans: bool = False
    reduction: str = ""
    nonnegative: bool = False
    bounded: bool = False
    inverse: str = ""
    monotone: int = 0
    grows: str = ""
    oscillates: bool = False
    series: bool = True
    single: bool = False
    ball: Callable[..., Any] | None = None

    @cached_property
    def twin(self) -> Any:
        """The same function in SymPy."""
        return getattr(sympy_module, self.sympy) if isinstance(self.sympy, str) else self.sympy

    @cached_property
    def in_balls(self) -> Callable[..., Any] | None:
        """Its value in balls; None of an operator that has none."""
        return self.ball or getattr(flint.arb, self.name, None)

    @cached_property
    def commutative(self) -> bool:
        """Whether its arguments may change places: nodes are interned by it."""
        return self.name in COMMUTATIVE

    @cached_property
    def arithmetic(self) -> bool:
        """Whether it is +, -, *, / or a number."""
        return self.kind in ("arithmetic", "number")

    @cached_property
    def algebraic(self) -> bool:
        """Whether formulas of it and its like are arithmetic, powers and roots."""
        return self.arithmetic or self.kind == "power" or self.name == "sqrt"

    @cached_property
    def called(self) -> bool:
        """Whether it is a function of its arguments, neither arithmetic on them nor a power."""
        return not (self.arithmetic or self.kind == "power")

    @cached_property
    def cheap(self) -> bool:
        """Whether it is rather computed twice than kept."""
        return self.cost < CALL

    @cached_property
    def lazy(self) -> bool:
        """Whether its first argument decides which of the others are evaluated."""
        return self.kind == "choice" or (self.kind == "logic" and self.arity == 2)

    @cached_property
    def of_integers(self) -> bool:
        """Whether of integers it is an integer."""
        return self.integral or self.result == "int"

    @cached_property
    def divides(self) -> bool:
        """Whether it divides an integer by another, which must not be 0."""
        return self.kind == "integer" and self.arity == 2

    @cached_property
    def asked(self) -> int:
        """The first argument that its domain asks of, if it has one: of a quotient, the divisor."""
        return next((k for k, value in enumerate(self.inside) if value is not None), 0)

    @cached_property
    def exact(self) -> bool:
        """Whether it rounds once, or not at all: an argument, a sum or a product of two, an integer."""
        return self.derivative is None or self.integral

    @cached_property
    def total(self) -> bool:
        """Whether it has a finite value, quietly, wherever its arguments have, but for sums and products that leave the
        range."""
        return not self.inside and self.domain == EVERYWHERE

    @cached_property
    def guarded(self) -> bool:
        """Whether its partial derivatives ask whether its value is 0."""
        arguments = [ref(f"?{k}") for k in range(self.arity)]
        value = apply(self.name, *arguments)
        found = () if self.derivative is None else self.derivative(*arguments, value)
        return any(nonzero(value) in postorder(p) for p in found if p is not None)

    @cached_property
    def smooth(self) -> bool:
        """Whether it is analytic where it is defined, and formulas of it may be printed by series."""
        return self.series and (self.derivative is not None or not self.arity) and not self.kinks

    def word(self, language: str) -> str | None:
        """How `language` calls it, if that is not its name."""
        if language == "jax" and language not in self.spell:
            word = self.spell.get("numpy")
            return None if word is None else word.replace("np.", "jnp.")
        if language == "pallas" and language not in self.spell:  # kernels have what those of triton have
            spelled_out = "triton" not in self.spell or self.spell.get("jax") == ""
            return None if spelled_out else self.word("jax") or f"jnp.{self.name}"
        return self.spell.get(language) or None


def real(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with NaN for what is not a real number."""

    def value(*args: Any) -> Any:
        try:
            result = function(*(mpmath.mpf(a) if isinstance(a, int) else a for a in args))
        except (ZeroDivisionError, ValueError, OverflowError):
            return mp.nan
        return mp.nan if isinstance(result, mpmath.mpc) else result

    return value


def function(
    name: str,
    slope: Callable[[Expr, Expr], Expr] | None,
    sympy: Callable[..., Any] | str = "",
    value: Callable[..., Any] | None = None,
    **columns: Any,
) -> Op:
    """A row of a function of one real number, with the derivative `slope` of its argument and of its result.

    sympy, value  by default, what SymPy and mpmath have by that name; a value that is not real becomes NaN
    columns       the others of `Op`
    """
    partials = None if slope is None else (lambda x, y: (slope(x, y),))
    value = value or (lambda x: getattr(mp, name)(x))
    return Op(name, 1, real(value), partials, sympy or name, **columns)


def _moderate(x: Any) -> bool:
    return not mp.isfinite(x) or bool(mp.mag(x) <= LARGE)


def exponential(x: Any) -> Any:
    """exp(x), also where that is no number that mpmath computes in milliseconds."""
    if _moderate(x):
        return mp.exp(x)
    with mp.workprec(mp.prec + mp.mag(x) + 20):
        doublings = mp.floor(x / mp.ln2)
        rest = x - doublings * mp.ln2
    return mp.ldexp(mp.exp(rest), int(doublings))


def expm1(x: Any) -> Any:
    """exp(x) - 1, of any number as above."""
    return mp.expm1(x) if _moderate(x) else exponential(x) - 1


def sinh(x: Any) -> Any:
    """The same for the hyperbolic sine."""
    return mp.sinh(x) if _moderate(x) else (exponential(x) - exponential(-x)) / 2


def cosh(x: Any) -> Any:
    """The same for the hyperbolic cosine."""
    return mp.cosh(x) if _moderate(x) else (exponential(x) + exponential(-x)) / 2


def log(x: Any) -> Any:
    """The logarithm, -oo at 0."""
    return -mp.inf if x == 0 else mp.log(x)


def nonzero(x: Expr) -> Expr:
    """`x`, or 1 where x is 0: a denominator whose numerator is then 0."""
    return select(apply("eq", x, 0), ONE, x)


def unguarded_divisor(node: Expr) -> Expr | None:
    """x, where `node` is `nonzero(x)`."""
    if operator(node) != "select":
        return None
    condition, then, otherwise = node.args
    return otherwise if then is ONE and operator(condition) == "eq" and condition.args == (otherwise, ZERO) else None


@lru_cache(maxsize=4096)
def unguarded(root: Expr) -> Expr:
    """`root` with x in place of each `nonzero(x)`."""

    def bare(node: Expr) -> Expr:
        return node if (divisor := unguarded_divisor(node)) is None else divisor

    return transform(root, bare, only={"select"})


def origin(at: str) -> tuple[Kink, ...]:
    """A kink where both arguments are 0, with the derivatives 0."""
    return (Kink(at, lambda x, y: bool(x == 0 and y == 0), (Fraction(0), Fraction(0))),)


def jump(at: str, holds: Callable[..., bool], *values: Fraction | int) -> tuple[Kink, ...]:
    """A kink with these derivatives."""
    return (Kink(at, holds, tuple(map(Fraction, values))),)


def step(at: str) -> tuple[Kink, ...]:
    """A kink where the argument is an integer, with the derivative 0."""
    return jump(at, lambda x: bool(x == mp.floor(x)), 0)


def special(name: str) -> dict[str, str]:
    """The spelling of what SciPy and torch have among their special functions."""
    return {"numpy": f"special.{name}", "torch": f"torch.special.{name}"}


def everywhere(name: str) -> dict[str, str]:
    """The spelling of what no language has."""
    return {"c": name, **dict.fromkeys(("numpy", "torch", "jax", "triton", "pallas"), f"_{name}")}
