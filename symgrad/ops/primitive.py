"""Operators that a user adds: a function of numbers that stands in the user's own files.

A `Primitive` is an operator with its row, as those of formulas with a limit are: two of one name are two operators, and
nothing of one is taken for the other's. Of the function nothing is known but what was declared: its value, which the
check asks for, its derivative, and where it is defined.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from ..errors import UnsupportedError
from ..expr import Apply, Const, Expr, Operator, Ref, apply, operators, postorder, ref, substitute
from ..later import mp, mpmath, np, sympy
from ..records import dataclass
from . import OPS
from .row import Op

RESULT = ref("?result")  # of the formulas of derivatives and domains, as the arguments: nothing that a user can write
LANGUAGES = ("c", "numpy", "torch", "jax")
MODULES = LANGUAGES[1:]  # where it is imported from a module
ASSUMED = "module_of_the_check"  # where a primitive is that has no place
_assumed: ContextVar[str] = ContextVar("assumed", default="")
_numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))


def argument(name: str) -> Ref:
    """What stands for an argument in those formulas."""
    return ref(f"?argument {name}")


@dataclass(frozen=True, slots=True)
class Described:
    """What is said of a function of the user's.

    name, result, arguments  what it, its value and its arguments are called
    python   its value, as a Python function of floats; of numbers of mpmath if `exact`
    places   of each language that has it, where: "module:name", and in C its name
    sources  what C is linked with: files of the user's
    folder   where modules and sources are, beside where else Python finds them
    domain   conditions on the arguments
    inside   an argument each, at which it is defined
    words    the domain as a row has it
    cost     about how many additions it takes
    ulps     how many units roundoff its implementations differ by
    """

    name: str
    arguments: tuple[str, ...]
    result: str
    python: Callable[..., Any] | None
    exact: bool
    places: Mapping[str, str]
    sources: tuple[str, ...]
    folder: str
    domain: tuple[Expr, ...]
    inside: tuple[float, ...]
    words: str
    cost: int
    ulps: float


class Primitive(Operator):
    """The operator.

    about     what was said of it
    partials  its derivative in each argument, a formula of these and of RESULT; None where none is declared
    """

    about: Described
    partials: tuple[Expr | None, ...]

    def __new__(cls, about: Described) -> Primitive:
        name = f"{about.name} ({next(_numbers[about.name])})"  # no name of a row, and no other's
        row = Op(
            name,
            len(about.arguments),
            lambda *args: self.value(*args),
            lambda *args: self._derivative(*args),
            lambda *args: self.twin()(*args),
            spell=dict.fromkeys(about.places, about.name),
            domain=about.words,
            inside=about.inside,
            series=False,
            cost=about.cost,
        )
        self = super().__new__(cls, name, row, about.name, noun=about.result)
        self.about, self.partials = about, (None,) * len(about.arguments)
        return self

    # what it is

    def value(self, *args: Any) -> Any:
        """Its value in mpmath; NaN outside of its domain.

        A function of floats has one at floats. Beside one its value goes on with the declared slope, as far as that is
        known: to be off by half a unit in the last place of an argument is no error of who calls it.
        """
        if not all(mp.isfinite(a) for a in args):
            return mp.nan
        given = [mpmath.mpf(a) for a in args]
        if not holds(self.about.domain, self._places(given)):
            return mp.nan
        if self.about.exact:
            return self._called(given)
        try:
            near = [float(a) for a in given]
        except OverflowError:
            return mp.nan
        found = self._called(near)
        for k, (a, b) in enumerate(zip(given, near, strict=True)):
            if a != b and mp.isfinite(found) and self.partials[k] is not None:
                slope = self.slope(k, [mpmath.mpf(n) for n in near])
                found += slope * (a - b) if mp.isfinite(slope) else 0
        return found

    def _called(self, args: Sequence[Any]) -> Any:
        python, name = self.about.python, self.about.name
        if python is None:
            return mp.nan
        try:
            with np.errstate(all="ignore"):
                found = python(*args)
            if isinstance(found, (complex, mpmath.mpc)):
                return mp.nan
            return mpmath.mpf(found if self.about.exact else float(found))
        except (ArithmeticError, ValueError, LookupError):  # as of a root of a negative number; outside of a table
            return mp.nan
        except Exception as error:
            shown = ", ".join(f"{n} = {mp.nstr(a, 17)}" for n, a in zip(self.about.arguments, args, strict=True))
            raise UnsupportedError(f"the value of {name} raises {type(error).__name__} at {shown}: {error}") from error

    def slope(self, which: int, args: Sequence[Any]) -> Any:
        """The declared derivative in one argument at a point, in mpmath."""
        formula = self.formula_of(which)
        at = self._places(args)
        return _at(formula, {**at, RESULT: self.value(*args)} if RESULT in postorder(formula) else at)

    def _places(self, args: Iterable[Any]) -> dict[Expr, Any]:
        return {argument(n): a for n, a in zip(self.about.arguments, args, strict=True)}

    def formula_of(self, which: int) -> Expr:
        """The declared derivative in one argument. Raises UnsupportedError if there is none."""
        formula, name = self.partials[which], self.about.name
        if formula is None:
            of = f" in {self.about.arguments[which]}" if len(self.partials) > 1 else ""
            raise UnsupportedError(
                f"no derivative is declared for {name}{of}. Say it: sg.primitive({name!r}, ..., derivative=...), a "
                f"formula of {', '.join(self.about.arguments)} or another primitive."
            )
        return formula

    def _derivative(self, *args: Expr) -> tuple[Expr, ...]:
        """The partial derivatives, of the arguments and of the result; what stands for one that is not declared is
        refused where it is left in an equation."""
        *given, result = args
        put = {**self._places(given), RESULT: result}
        return tuple(
            apply(Undeclared(self, k), *given) if p is None else substitute(p, put) for k, p in enumerate(self.partials)
        )

    @cache  # noqa: B019  # as long as the operator, of which there are few
    def twin(self) -> Any:
        """The function in SymPy, which differentiates it as declared; its arguments count from 1 there."""

        def fdiff(call: Any, argindex: int = 1) -> Any:
            formula = self.formula_of(argindex - 1)
            return twin(formula, {**self._places(call.args), RESULT: call})

        members = {"nargs": len(self.partials), "fdiff": fdiff, "primitive": self, "is_real": True}
        return type(self.about.name, (sympy.Function,), members)

    def place(self, language: str) -> str:
        """Where it is; empty if it is nowhere there."""
        assumed = f"{ASSUMED}:{self.about.name}" if language == _assumed.get() else ""
        return self.about.places.get(language, assumed)

    def word_in(self, language: str) -> str:
        """What it is called there, if it is anywhere."""
        name = self.about.name
        if not self.place(language):
            what = f'{language}="module:{name}"' if language in MODULES else f'{language}="{name}"'
            raise UnsupportedError(
                f"{name} is a primitive without a place in {language}. Say where it is: "
                f'sg.primitive("{name}", ..., {what}).'
            )
        return name


class Undeclared(Operator):
    """Stands for a derivative that is not declared, in one argument of a primitive."""

    of: tuple[Primitive, int]

    def __new__(cls, primitive: Primitive, which: int) -> Undeclared:
        arity, name = len(primitive.partials), f"no derivative of {primitive} in {which}"
        row = Op(name, arity, lambda *args: mp.nan, None, "nan", series=False)
        self = super().__new__(cls, name, row)
        self.of = primitive, which
        return self


def refuse_undeclared(bodies: Iterable[Expr]) -> None:
    """Raise UnsupportedError if a derivative that is not declared is asked for."""
    for op in operators(*bodies):
        if isinstance(op, Undeclared):
            primitive, which = op.of
            primitive.formula_of(which)


def refuse_valueless(own: Iterable[Primitive]) -> None:
    """Raise UnsupportedError where a check would have nothing to ask for."""
    for op in own:
        if op.about.python is None:
            raise UnsupportedError(
                f"{op.about.name} has no value: give sg.primitive(..., value=...) a Python function of floats, which "
                f"the check asks for, or print without a check (--no-check, check=False)."
            )


def holds(conditions: Iterable[Expr], known: Mapping[Expr, Any]) -> bool:
    """Whether conditions of arguments hold at a point."""
    return all(_at(condition, known) for condition in conditions)


def _at(root: Expr, known: Mapping[Expr, Any]) -> Any:
    """The value of a formula of arguments."""
    done = dict(known)
    for node in postorder(root):
        if isinstance(node, Const):
            done[node] = mpmath.mpf(node.value.numerator) / node.value.denominator
        elif isinstance(node, Apply):
            done[node] = OPS[node.op].value(*(done[a] for a in node.args))
    return done[root]


def twin(root: Expr, known: Mapping[Expr, Any]) -> Any:
    """A formula in SymPy, of what is known there."""
    done = dict(known)
    for node in postorder(root):
        if isinstance(node, Const):
            done[node] = sympy.Rational(node.value.numerator, node.value.denominator)
        elif isinstance(node, Apply):
            done[node] = OPS[node.op].twin(*(done[a] for a in node.args))
    return done[root]


def primitives(*roots: Expr) -> tuple[Primitive, ...]:
    """The primitives that formulas speak of, and those that are in the derivatives of these, by name. Raises
    UnsupportedError where two different ones have one name."""
    found: dict[Primitive, None] = {}
    waiting = list(roots)
    while waiting:
        for op in operators(waiting.pop()):
            if isinstance(op, Primitive) and op not in found:
                found[op] = None
                waiting += [p for p in op.partials if p is not None]
    named: dict[str, Primitive] = {}
    for op in found:
        if named.setdefault(op.about.name, op) is not op:
            raise UnsupportedError(
                f"two primitives are called {op.about.name}, and are declared in different ways: in one file they "
                f"would be one function. Give one of them another name."
            )
    return tuple(named[name] for name in sorted(named))


@contextmanager
def assumed_in(language: str) -> Iterator[None]:
    """While this lasts, every primitive has a place in a language: its text is executed, and none of its modules."""
    token = _assumed.set(language)
    try:
        yield
    finally:
        _assumed.reset(token)


# what text calls by name

_declared: dict[str, dict[str, Primitive]] = {}


def declare(op: Primitive, where: str) -> None:
    """From now on formula text may call it by its name; what a file declares again takes the place of its own."""
    _declared.setdefault(op.about.name, {})[where] = op


def declared(name: str) -> Primitive | None:
    """The primitive of that name. Raises UnsupportedError if several files declare one, in different ways."""
    found = _declared.get(name, {})
    if len(found) > 1:
        files = " and ".join(sorted(found))
        raise UnsupportedError(
            f"{name} is declared in {files}; text cannot say which is meant. Rename one, or say which: "
            f"sg.parse(..., primitives=[...])."
        )
    return next(iter(found.values()), None)


def declared_names() -> list[str]:
    """All such names."""
    return sorted(_declared)
