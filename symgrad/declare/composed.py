"""Functions of one element that are other operators by another name, NumPy's or SymPy's, or a short formula of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

from ..errors import DeclarationError
from ..expr import ONE, ZERO, Expr, apply, const, show

# NumPy's word for an operator that formula text writes as a sign, or by another word
WORDS: Mapping[str, str] = {
    **{"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg"},
    **{"absolute": "abs", "fabs": "abs", "floor_divide": "floordiv", "float_power": "pow", "fmax": "maximum"},
    **{"fmin": "minimum"},
}
_PI = apply("pi")
_HALF_TURN = const(180)


def _reciprocal(op: str) -> Callable[[Expr], Expr]:
    return lambda x: ONE / apply(op, x)


def _of_reciprocal(op: str) -> Callable[[Expr], Expr]:
    return lambda x: apply(op, ONE / x)


def _bessel(letter: str) -> Callable[[Expr, Expr], Expr]:
    def function(order: Expr, x: Expr) -> Expr:
        if order is not ZERO and order is not ONE:
            raise DeclarationError(f"bessel{letter}(n, x) is known of the orders 0 and 1, not {show(order)}.")
        return apply(f"bessel_{letter}{show(order)}", x)

    return function


def _beta(a: Expr, b: Expr) -> Expr:
    return apply("exp", apply("lgamma", a) + apply("lgamma", b) - apply("lgamma", a + b))


RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan", "sech": "cosh", "csch": "sinh", "coth": "tanh"}  # 1/cos, ...
OF_RECIPROCAL = {  # acot(x) = atan(1/x), ...
    "acot": "atan", "acsc": "asin", "asec": "acos", "acoth": "atanh", "acsch": "asinh", "asech": "acosh"
}  # fmt: skip
COMPOSED: Mapping[str, Callable[..., Expr]] = {
    "square": lambda x: x**2,
    "reciprocal": lambda x: ONE / x,
    "positive": lambda x: x,
    **dict.fromkeys(("deg2rad", "radians"), lambda x: x * _PI / _HALF_TURN),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: x * _HALF_TURN / _PI),
    **{name: _reciprocal(op) for name, op in RECIPROCALS.items()},
    **{name: _of_reciprocal(op) for name, op in OF_RECIPROCAL.items()},
    **{"gamma": partial(apply, "tgamma"), "factorial": lambda x: apply("tgamma", x + 1)},
    **{"trigamma": lambda x: apply("polygamma", ONE, x), "frac": lambda x: x - apply("floor", x), "beta": _beta},
    **{"root": lambda x, n: x ** (ONE / n), "signbit": lambda x: apply("lt", x, ZERO)},
    **{f"bessel{letter}": _bessel(letter) for letter in "ijky"},
    **dict.fromkeys(("Xor", "logical_xor"), lambda x, y: apply("ne", apply("ne", x, ZERO), apply("ne", y, ZERO))),
    **{"Pow": lambda x, y: x**y, "Rational": lambda p, q: p / q},
    **{"Add": lambda *x: reduce(partial(apply, "add"), x), "Mul": lambda *x: reduce(partial(apply, "mul"), x)},
    **{name: partial(apply, op) for name, op in WORDS.items()},
}
