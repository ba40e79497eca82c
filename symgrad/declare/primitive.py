"""`sg.primitive`: functions that the user has, as operators of declarations."""

from __future__ import annotations

import itertools
import keyword
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Union

from ..errors import DeclarationError, SymgradError
from ..expr import Apply, Const, Expr, Ref, apply, const, postorder, substitute, transform
from ..later import mpmath
from ..ops import NAMES
from ..ops.primitive import LANGUAGES, MODULES, RESULT, Described, argument, declare, holds
from ..ops.primitive import Primitive as Operator
from ..ops.row import EVERYWHERE
from .matrix_functions import MATRIX_FUNCTIONS
from .names import check_name
from .python.arithmetic import elementwise
from .python.arrays import Array, as_array
from .text import read_formula
from .text.names import CONSTANTS, REDUCTIONS

Derivative = Union[str, float, "Primitive", None]

_SIGNATURE = re.compile(r"\s*(?:(\w+)\s*\(([^()]*)\)|([^()]*))\s*")
_PLACE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_COMPARISON = re.compile(r"\s*(<=|>=|<|>|!=)\s*")
_TRIED = (1.0, 0.5, 2.0, 0.0, -1.0)  # arguments at which a function may be defined
MOST = 100_000  # points that are tried
COST = 100  # about so many additions, if nothing is said: ten functions of a library


class Primitive:
    """A function of the user's, which declarations call: `drag(v / 340)` inside of an sg.function, and by its name in
    formula text and in SymPy."""

    def __init__(self, op: Operator) -> None:
        self.op = op
        self.__name__ = op.about.name

    def __call__(self, *args: Any) -> Array:
        about = self.op.about
        if len(args) != len(about.arguments):
            takes = f"{', '.join(about.arguments)}"
            raise DeclarationError(f"{about.name} takes {len(about.arguments)} arguments ({takes}), not {len(args)}.")
        return as_array(elementwise(self.op, *args))

    def __repr__(self) -> str:
        return f"sg.primitive({self.op.about.name!r}, {', '.join(self.op.about.arguments)!r})"


def primitive(
    name: str,
    signature: str,
    *,
    value: Callable[..., Any] | None = None,
    derivative: Derivative | Sequence[Derivative] = None,
    module: str = "",
    c: str = "",
    numpy: str = "",
    torch: str = "",
    jax: str = "",
    sources: str | Path | Sequence[str | Path] = (),
    domain: str | Sequence[str] = (),
    cost: int = COST,
    ulps: float = 16.0,
    exact: bool = False,
) -> Primitive:
    """Declare a function that you have: printed code calls it by its name, of every element.

    It must be a pure function: equal calls are shared, and none is made whose value nobody reads. Nothing else is
    assumed of it but what is said here.

    signature   its arguments, real numbers, and what its value is called: "cd(mach)", or "mach"
    value       the function in Python, of floats; what the check compares with. Of a function of mpmath's numbers, to
                all their digits, say `exact`
    derivative  formula text of the arguments, of the value by its name, and of primitives, this one included; or
                another primitive of the same arguments; of several arguments a tuple of such, None where there is
                none. What has none may be called where nothing is differentiated through it
    module      the module from which printed Python imports it; `numpy`, `torch` and `jax` say "module:name" of one
                language. It is called with that language's arrays
    c           its name in C, if that is another: `double name(double, ...)`, and with an f behind the name for float
    sources     C files, objects and libraries, or flags such as "-laero", that it is linked with where C is run
                from here
    domain      where it is defined, as formula text: "0 <= mach < 5", or several such conditions
    cost        about how many additions a call takes
    ulps        units roundoff by which its implementations may differ
    """
    where = sys._getframe(1).f_code.co_filename
    if value is not None and not callable(value):
        raise DeclarationError(f"{name}: the value is {type(value).__name__}, and no Python function of floats.")
    arguments, result = _signature(name, signature)
    conditions = [domain] if isinstance(domain, str) else list(domain)
    folder = Path(where).resolve().parent if Path(where).is_file() else Path.cwd()
    given = [sources] if isinstance(sources, (str, Path)) else list(sources)
    places = _places(name, module, {"c": c, "numpy": numpy, "torch": torch, "jax": jax})
    parts = tuple(part for text in conditions for part in _conditions(name, arguments, text))
    about = Described(
        name=name,
        arguments=arguments,
        result=result,
        python=value,
        exact=exact,
        places=places,
        sources=tuple(str(path) if str(path).startswith("-") else str(folder / path) for path in given),
        folder=str(folder),
        domain=parts,
        inside=_inside(name, arguments, parts) if parts else (),
        words=_words(arguments, conditions),
        cost=cost,
        ulps=ulps,
    )
    op = Operator(about)
    op.partials = _partials(op, derivative)
    declare(op, where)
    return Primitive(op)


def operators(given: Sequence[Primitive]) -> dict[str, Operator]:
    """The operators of primitives, by name."""
    return {p.op.about.name: p.op for p in given}


def _signature(name: str, signature: str) -> tuple[tuple[str, ...], str]:
    """The arguments, and what the value is called; empty if nothing is said."""
    check_name(name, "primitive")
    if name in NAMES or name in REDUCTIONS or name in MATRIX_FUNCTIONS or name in CONSTANTS:
        raise DeclarationError(f"primitive {name!r} is a function of symgrad already. Choose another name.")
    found = _SIGNATURE.fullmatch(signature)
    text = (found[2] if found[1] else found[3]) if found else ""
    arguments = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    if not arguments:
        raise DeclarationError(
            f"{name}: the signature {signature!r} names no arguments. Write one such as 'cd(mach)', the value and what "
            f"it is a function of."
        )
    result = found[1] or "" if found else ""
    for own in (name, *arguments, *filter(None, [result])):
        check_name(own, "argument")
        if keyword.iskeyword(own):
            raise DeclarationError(f"{name}: {own!r} is a keyword of Python. Choose another name.")
    if len({*arguments, result}) <= len(arguments):
        raise DeclarationError(f"{name}: the signature {signature!r} has one name for two things.")
    return arguments, result


def _places(name: str, module: str, own: Mapping[str, str]) -> dict[str, str]:
    """Where the function is, in each language that has it; C links it by its name."""
    found = {"c": own["c"] or name}
    check_name(found["c"], "function of C")
    for language in MODULES:
        place = own[language] or (f"{module}:{name}" if module else "")
        if place and not _PLACE.fullmatch(place):
            raise DeclarationError(f"{name}: {language}={place!r} is no place. Write 'module:function'.")
        if place:
            found[language] = place
    return {language: found[language] for language in LANGUAGES if language in found}


def _partials(op: Operator, derivative: Any) -> tuple[Expr | None, ...]:
    arguments, name = op.about.arguments, op.about.name
    given = list(derivative) if isinstance(derivative, (tuple, list)) else [derivative]
    if derivative is None:
        given *= len(arguments)
    if len(given) != len(arguments):
        raise DeclarationError(
            f"{name} has {len(arguments)} argument{'s' * (len(arguments) > 1)} ({', '.join(arguments)}) and "
            f"{len(given)} derivative{'s' * (len(given) > 1)}. Give a tuple of one for each, None where there is none."
        )
    return tuple(_partial(op, d) for d in given)


def _partial(op: Operator, derivative: Derivative) -> Expr | None:
    """A derivative as a formula of the arguments and of the value."""
    arguments, name = op.about.arguments, op.about.name
    if derivative is None:
        return None
    if isinstance(derivative, Primitive):
        others = derivative.op.about.arguments
        if len(others) != len(arguments):
            raise DeclarationError(
                f"{name} has the arguments {', '.join(arguments)}, and its derivative {derivative.__name__} has "
                f"{', '.join(others)}. Write it as a formula: derivative='{derivative.__name__}(...)'."
            )
        return apply(derivative.op, *map(argument, arguments))
    if isinstance(derivative, Real):
        return const(derivative if isinstance(derivative, int) else float(derivative))
    if not isinstance(derivative, str):
        raise DeclarationError(
            f"{name}: the derivative is {type(derivative).__name__}. Write formula text of {', '.join(arguments)}, or "
            f"give another primitive."
        )
    found = _read(name, arguments, op.about.result, derivative, "derivative", [op])
    return substitute(found, {apply(op, *map(argument, arguments)): RESULT})


def _read(
    name: str, arguments: Sequence[str], result: str, text: str, what: str, own: Sequence[Operator] = ()
) -> Expr:
    """A formula of the arguments, and of the value where that has a name."""
    names = [*arguments, *filter(None, [result])]
    try:
        function = read_formula(f"value({', '.join(names)}) = {text}", [Primitive(op) for op in own])
    except SymgradError as error:
        raise DeclarationError(f"the {what} of {name}: {error}") from error
    (*_, last) = function.statements
    if len(function.statements) > 1 or last.reduce != "none" or last.where is not None:
        raise DeclarationError(f"the {what} of {name}: {text} is no formula of {', '.join(names)} alone.")
    places = {**{a: argument(a) for a in arguments}, result: RESULT}

    def placed(node: Expr) -> Expr:
        return places[node.name] if isinstance(node, Ref) else node

    return transform(last.body, placed)


def _conditions(name: str, arguments: Sequence[str], text: str) -> list[Expr]:
    """What a chain of comparisons says."""
    first, *more = _COMPARISON.split(text)
    if not more:
        raise DeclarationError(f"{name}: the domain {text!r} is no comparison. Write one, such as 0 <= {arguments[0]}.")
    found = []
    for sign, second in zip(more[::2], more[1::2], strict=True):
        body = _read(name, arguments, "", f"where({first} {sign} {second}, 1, 0)", "domain")
        assert isinstance(body, Apply)
        found.append(body.args[0])
        first = second
    return found


def _words(arguments: Sequence[str], conditions: Sequence[str]) -> str:
    """The domain as rows have it, of x, y and z, where there are no more arguments and it is one chain."""
    text = ", ".join(conditions)
    letters = dict(zip(arguments, "xyz", strict=False))
    return re.sub(r"[A-Za-z_]\w*", lambda m: letters.get(m[0], m[0]), text) or EVERYWHERE


def _inside(name: str, arguments: Sequence[str], conditions: Sequence[Expr]) -> tuple[float, ...]:
    """A point at which the conditions hold: arrays are kept there where a `where` does not ask for the value."""
    ends = sorted({float(n.value) for c in conditions for n in postorder(c) if isinstance(n, Const)})
    middle = [(a + b) / 2 for a, b in itertools.combinations(ends, 2)]
    tried = [*dict.fromkeys((*_TRIED, *middle, *(e + 1 for e in ends), *(e - 1 for e in ends)))]
    for point in itertools.islice(itertools.product(tried, repeat=len(arguments)), MOST):
        if holds(conditions, dict(zip(map(argument, arguments), map(mpmath.mpf, point), strict=True))):
            return point
    raise DeclarationError(f"{name}: no point was found where its domain holds. Say it in simpler comparisons.")
