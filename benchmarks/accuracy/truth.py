"""The points, and the value and the gradient at each of them, rounded to the nearest double.

The truth is that of the formula itself at exactly these doubles: its text is evaluated in mpmath on numbers that carry
their derivative, by the rules of calculus written below. Nothing of symgrad and nothing of SymPy is used. Two
precisions, the second twice the first, must agree to 70 bits; where they do not, the precision is doubled once more,
and what is then undecided is left out and counted. At some points of each formula, central differences of the formula
must agree too.
"""

from __future__ import annotations

import ast
import math
import zlib
from typing import Any

import mpmath
import numpy as np
from formulas import Formula
from mpmath import mp, mpf

SAMPLES = {  # |x| from, to; bits of precision; the type of every number
    "practical": (1e-8, 1e3, 1300, np.float64),
    "full": (1e-300, 1e300, 4500, np.float64),
    "float32": (1e-8, 1e3, 1300, np.float32),
}
AGREE = 70  # bits
INVISIBLE = -1080  # as a power of 2: rounds to 0
WITNESSED = 8  # points of a formula at which differences are taken


# the points


def points(formula: Formula, sample: str, count: int) -> np.ndarray[Any, Any]:
    """Rows of arguments, the same in every run."""
    low, high, _, dtype = SAMPLES[sample]
    rng = np.random.default_rng(zlib.crc32(f"{formula.text} {sample}".encode()))
    columns = [_argument(domain, low, high, count, rng) for domain in formula.arguments.values()]
    return np.array(columns).T.astype(dtype)


def _argument(domain: str, low: float, high: float, count: int, rng: np.random.Generator) -> Any:
    top = {"real": high, "positive": high, "above": high, "angle": math.pi, "latitude": math.pi / 2}.get(domain, 1.0)
    magnitude = np.exp(rng.uniform(math.log(low), math.log(top), count))
    signs = rng.choice([-1.0, 1.0], count)
    small = np.exp(rng.uniform(math.log(max(low, 1e-15)), 0, count))  # distance to the end of an interval
    near = np.where(rng.random(count) < 0.5, 1 - small, magnitude)
    if domain == "positive":
        return magnitude
    if domain == "unit":
        return np.clip(near, low, 1 - 2.0**-53)
    if domain == "signed":
        return signs * np.clip(near, low, 1 - 2.0**-53)
    if domain == "large":
        return 1 + magnitude
    if ".." in domain:
        return _between(*domain.split(".."), low, high, count, rng)
    if domain == "above":
        return np.where(signs > 0, magnitude, -np.clip(np.where(magnitude < 1, magnitude, 1 - small), 0, 1 - 2.0**-53))
    return signs * magnitude


def _between(least: str, most: str, low: float, high: float, count: int, rng: np.random.Generator) -> Any:
    """Between two numbers, the magnitude log-uniform within what they and the sample have in common."""
    a, b = float(least or -math.inf), float(most or math.inf)
    if a >= 0 or b <= 0:
        near, far = sorted((abs(a), abs(b)))
        near, far = max(near, min(low, far)), min(far, max(high, near))
        return np.exp(rng.uniform(math.log(near), math.log(far), count)) * (1 if a >= 0 else -1)
    ends = np.where(rng.random(count) < 0.5, min(b, high), max(a, -high))
    return np.sign(ends) * np.exp(rng.uniform(math.log(low), np.log(np.abs(ends))))


# numbers that carry their derivative


class Dual:
    """A value and its derivatives, by the rules of calculus."""

    def __init__(self, value: Any, slopes: tuple[Any, ...]) -> None:
        self.value, self.slopes = value, slopes

    def _through(self, value: Any, slope: Any) -> Dual:
        return Dual(value, tuple(slope * s if s else s for s in self.slopes))

    def _with(self, other: Any, value: Any, mine: Any, theirs: Any) -> Dual:
        if not isinstance(other, Dual):
            return self._through(value, mine)
        return Dual(value, tuple(mine * a + theirs * b for a, b in zip(self.slopes, other.slopes, strict=True)))

    def __add__(self, other: Any) -> Dual:
        return self._with(other, self.value + _value(other), 1, 1)

    def __sub__(self, other: Any) -> Dual:
        return self._with(other, self.value - _value(other), 1, -1)

    def __mul__(self, other: Any) -> Dual:
        return self._with(other, self.value * _value(other), _value(other), self.value)

    def __truediv__(self, other: Any) -> Dual:
        below = mpf(_value(other))
        return self._with(other, self.value / below, 1 / below, -self.value / below**2)

    def __pow__(self, other: Any) -> Dual:
        if isinstance(other, int):
            return self._through(self.value**other, other * self.value ** (other - 1))
        return exp(log(self) * other)

    def __neg__(self) -> Dual:
        return self._through(-self.value, -1)

    def __abs__(self) -> Dual:
        return self._through(abs(self.value), mp.sign(self.value))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _value(other))

    def __radd__(self, other: Any) -> Dual:
        return self + other

    def __rmul__(self, other: Any) -> Dual:
        return self * other

    def __rsub__(self, other: Any) -> Dual:
        return -self + other

    def __rtruediv__(self, other: Any) -> Dual:
        return self._through(other / self.value, -other / self.value**2)


def _value(number: Any) -> Any:
    return number.value if isinstance(number, Dual) else number


def _function(value: Any, slope: Any) -> Any:
    """`slope(x, y)` is the derivative at x, where the value is y."""

    def apply(x: Any) -> Any:
        if not isinstance(x, Dual):
            return value(mpf(x))
        y = value(x.value)
        if isinstance(y, mpmath.mpc):
            raise ValueError("not real")
        return x._through(y, slope(x.value, y))

    return apply


exp = _function(mp.exp, lambda x, y: y)
log = _function(mp.log, lambda x, y: 1 / x)


def atan2(y: Dual, x: Dual) -> Dual:
    square = x.value**2 + y.value**2
    return y._with(x, mp.atan2(y.value, x.value), x.value / square, -y.value / square)


FUNCTIONS = {
    "exp": exp,
    "log": log,
    "sqrt": _function(mp.sqrt, lambda x, y: 1 / (2 * y)),
    "sin": _function(mp.sin, lambda x, y: mp.cos(x)),
    "cos": _function(mp.cos, lambda x, y: -mp.sin(x)),
    "tan": _function(mp.tan, lambda x, y: 1 + y**2),
    "sinh": _function(mp.sinh, lambda x, y: mp.cosh(x)),
    "cosh": _function(mp.cosh, lambda x, y: mp.sinh(x)),
    "tanh": _function(mp.tanh, lambda x, y: 1 / mp.cosh(x) ** 2),
    "erf": _function(mp.erf, lambda x, y: 2 * mp.exp(-(x**2)) / mp.sqrt(mp.pi)),
    "erfc": _function(mp.erfc, lambda x, y: -2 * mp.exp(-(x**2)) / mp.sqrt(mp.pi)),
    "asin": _function(mp.asin, lambda x, y: 1 / mp.sqrt(1 - x**2)),
    "acos": _function(mp.acos, lambda x, y: -1 / mp.sqrt(1 - x**2)),
    "atan": _function(mp.atan, lambda x, y: 1 / (1 + x**2)),
    "asinh": _function(mp.asinh, lambda x, y: 1 / mp.sqrt(1 + x**2)),
    "acosh": _function(mp.acosh, lambda x, y: 1 / mp.sqrt(x**2 - 1)),
    "atanh": _function(mp.atanh, lambda x, y: 1 / (1 - x**2)),
    "expm1": _function(mp.expm1, lambda x, y: y + 1),
    "log1p": _function(mp.log1p, lambda x, y: 1 / (1 + x)),
    "hypot": lambda x, y: FUNCTIONS["sqrt"](x * x + y * y),
    "abs": abs,
    "atan2": atan2,
}


def _evaluate(node: ast.expr, at: dict[str, Any]) -> Any:
    """The few forms of expression that formulas have; of a `where`, only the branch that is selected."""
    match node:
        case ast.Constant(value):
            return mpf(value) if isinstance(value, float) else value
        case ast.Name(name):
            return at[name] if name in at else mp.pi + 0
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluate(operand, at)
        case ast.Call(ast.Name("where"), [condition, then, otherwise]):
            return _evaluate(then if _evaluate(condition, at) else otherwise, at)
        case ast.Call(ast.Name(name), arguments):
            return FUNCTIONS[name](*(_evaluate(a, at) for a in arguments))
        case ast.Compare(left, [ast.Gt()], [right]):
            return _evaluate(left, at) > _evaluate(right, at)
        case ast.BinOp(left, op, right):
            a, b = _evaluate(left, at), _evaluate(right, at)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b if isinstance(b, Dual) else a / mpf(b)
                case ast.Pow():
                    return a**b if isinstance(a, Dual) or not isinstance(b, Dual) else exp(mp.log(a) * b)
    raise ValueError(f"there is no truth of {ast.unparse(node)}: a case here, or a row of FUNCTIONS, says what it is")


def _numbers(tree: ast.expr, names: tuple[str, ...], row: Any, bits: int) -> list[Any] | None:
    """The value and the derivatives, None where the formula has no real value."""
    with mp.workprec(bits):
        count = len(names)
        at = {
            n: Dual(mpf(float(v)), tuple(mpf(k == i) for k in range(count)))
            for i, (n, v) in enumerate(zip(names, row, strict=True))
        }
        try:
            found = _evaluate(tree, at)
        except (ZeroDivisionError, ValueError):
            return None
        return [found.value, *found.slopes]


def _differences(tree: ast.expr, names: tuple[str, ...], row: Any, bits: int) -> list[tuple[Any, Any]]:
    """Central differences of the formula, at a relative step of a third of the precision, and what these are off by
    where it hardly depends on an argument."""
    with mp.workprec(bits):
        slopes = []
        for place in range(len(names)):
            step = abs(mpf(float(row[place]))) * mpf(2) ** (-bits // 3)
            ends = []
            for sign in (1, -1):
                at = {n: Dual(mpf(float(v)), ()) for n, v in zip(names, row, strict=True)}
                at[names[place]].value += sign * step
                ends.append(_evaluate(tree, at).value)
            slopes.append(((ends[0] - ends[1]) / (2 * step), mpmath.ldexp(abs(ends[0]), 20 - bits) / step))
        return slopes


def _agree(a: Any, b: Any, bits: int = AGREE) -> bool:
    return bool(abs(a - b) <= mpmath.ldexp(abs(b), -bits)) or max(abs(a), abs(b)) < mpmath.ldexp(1, INVISIBLE)


def truths(formula: Formula, sample: str, count: int) -> tuple[Any, Any, int]:
    """(points, values and gradients, points left out): rows of doubles; what is beyond the doubles is infinite."""
    tree = ast.parse(formula.body, mode="eval").body
    names = tuple(formula.arguments)
    _, _, low, dtype = SAMPLES[sample]
    rows, numbers, undecided, witnessed = [], [], 0, 0
    for row in points(formula, sample, 2 * count):
        if len(rows) == count:
            break
        before = _numbers(tree, names, row, low)
        if before is None:
            continue  # outside of the domain, as where a discriminant is negative
        for bits in (2 * low, 4 * low):
            after = _numbers(tree, names, row, bits)
            if after is not None and before is not None and all(map(_agree, before, after)):
                break
            before = after
        else:
            undecided += 1
            continue
        if witnessed < WITNESSED:
            witnessed += 1
            found = _differences(tree, names, row, 6 * low)
            pairs = zip(found, after[1:], strict=True)
            if not all(_agree(a, b, 60) or abs(a - b) <= off for (a, off), b in pairs):
                raise AssertionError(f"{formula.text} at {row}: {after}, by differences {found}")
        rows.append(row)
        numbers.append([nearest(n, dtype) for n in after])
    return np.array(rows), np.array(numbers, dtype), undecided


def nearest(value: Any, dtype: Any) -> Any:
    """The nearest number of that type."""
    digits, tiny, least = (53, -1022, 1074) if dtype is np.float64 else (24, -126, 149)
    if mp.isfinite(value) and abs(value) < mpmath.ldexp(1, tiny):
        with mp.workprec(2000):
            return dtype(math.ldexp(int(mp.nint(mpmath.ldexp(value, least))), -least))
    with mp.workprec(digits), np.errstate(over="ignore"):
        return dtype(float(+value))
