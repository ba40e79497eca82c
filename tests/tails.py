"""Logarithms of tails of the normal distribution, and quotients by them: formulas, and what they are in mpmath."""

from __future__ import annotations

import numpy as np
from mpmath import mp, mpf

import symgrad as sg

POINTS = (-1e300, -1e10, -40.0, -10.0, -1.0, -1e-8, 0.0, 1e-8, 1.0, 10.0, 30.0, 1e10)
FLOATS = (-1e30, -1e10, -40.0, -10.0, -1.0, -1e-6, 0.0, 1e-6, 1.0, 5.0, 10.0, 1e10)


def hazard(u):
    """2/sqrt(pi) exp(-u**2)/erfc(u)."""
    if u > 1e6:
        return 2 * u + 1 / u
    return 2 * mp.exp(-u * u) / mp.erfc(u) / mp.sqrt(mp.pi) if u > -1e4 else mpf(0)


def log_erfc(u):
    return -u * u - mp.log(u * mp.sqrt(mp.pi)) if u > 1e6 else mp.log1p(-mp.erf(u)) if u > -1e4 else mp.log(2)


def log_half(u):
    """log(erfc(u)/2)."""
    return log_erfc(u) - mp.log(2) if u > 0 else mp.log1p(-mp.erfc(-u) / 2) if u > -1e4 else mpf(0)


def _normal(sign=1):
    return lambda x: log_half(-sign * x / mp.sqrt(2)), lambda x: sign * hazard(-sign * x / mp.sqrt(2)) / mp.sqrt(2)


LOGARITHMS = {
    "log(erfc(-x/sqrt(2))/2)": _normal(),
    "log((1 + erf(x/sqrt(2)))/2)": _normal(),
    "log(1/2 + erf(x*sqrt(0.5))/2)": _normal(),
    "log(1 - erfc(x/2**0.5)/2)": _normal(),
    "log(ndtr(x))": _normal(),
    "log_ndtr(x)": _normal(),
    "log(1 - ndtr(x))": _normal(-1),
    "log(erfc(x))": (log_erfc, lambda x: -hazard(x)),
    "log(1 - erf(x))": (log_erfc, lambda x: -hazard(x)),
    "log(1 + erf(x))": (lambda x: log_erfc(-x), lambda x: hazard(-x)),
    "log(3*erfc(x))": (lambda x: log_erfc(x) + mp.log(3), lambda x: -hazard(x)),
}
QUOTIENTS = {
    "exp(-x**2)/erfc(x)": lambda x: hazard(x) * mp.sqrt(mp.pi) / 2,
    "x*exp(-x*x)/(1 - erf(x))": lambda x: x * hazard(x) * mp.sqrt(mp.pi) / 2,
    "exp(-x**2/2)/sqrt(2*pi)/ndtr(x)": lambda x: hazard(-x / mp.sqrt(2)) / mp.sqrt(2),
    "exp(-x**2/2)/sqrt(2*pi)/(1 - ndtr(x))": lambda x: hazard(x / mp.sqrt(2)) / mp.sqrt(2),
    "exp(-x**2/2)/erfc(-x/sqrt(2))": lambda x: hazard(-x / mp.sqrt(2)) * mp.sqrt(mp.pi) / 2,
}


def computed(text, points, to, **options):
    """The values and slopes that the printed code gives."""
    code = sg.load(sg.parse(f"f(x) = {text}"), to=to, check=False, **options)
    with np.errstate(all="ignore"):
        x = np.array(points, np.float32 if points is FLOATS else np.float64)
        out, saved = code.forward(x)
        (grad,) = code.backward(saved, np.ones_like(x))
    return np.asarray(out), np.asarray(grad)


def off(found, points, truth):
    """The largest error in units in the last place, and where; a subnormal number may count as 0, as in XLA."""
    worst = (0.0, None)
    with mp.workprec(2400), np.errstate(over="ignore"):
        for value, point in zip(found, np.asarray(points, found.dtype), strict=True):
            exact = truth(mpf(float(point)))
            near = np.array(float(exact)).astype(found.dtype)
            if near == value or (not value and abs(near) < np.finfo(found.dtype).tiny):
                continue
            error = abs(mpf(float(value)) - exact) / mpf(float(np.spacing(abs(near))))
            worst = max(worst, (float(error) if mp.isfinite(error) else np.inf, float(point)))
    return worst
