"""Functions that a user has, for the tests of primitives: in Python, and in C beside it in data/aero.c."""

from __future__ import annotations

from typing import Any

import numpy as np

MACH = np.array([0.0, 0.3, 0.7, 1.1, 2.0, 5.0])
DRAG = np.array([0.2, 0.22, 0.3, 0.6, 0.45, 0.4])


def lookup_drag(mach: Any) -> Any:
    """Linear between the entries of a table, constant beyond its ends."""
    return np.interp(mach, MACH, DRAG)


def lookup_drag_slope(mach: Any) -> Any:
    """Its slope, at an entry that to the right."""
    slopes = np.diff(DRAG) / np.diff(MACH)
    place = np.clip(np.searchsorted(MACH, mach, side="right") - 1, 0, len(slopes) - 1)
    return np.where((mach < MACH[0]) | (mach >= MACH[-1]), 0.0, slopes[place])


def thrust(v: Any, h: Any) -> Any:
    """Of two arguments."""
    return 3.0 * np.exp(-h / 8.0) / (1.0 + v * v)


def logistic(x: Any) -> Any:
    """Its derivative is a formula of itself."""
    return 0.5 * (1.0 + np.tanh(x / 2.0))


def sway(a: Any, c: Any) -> Any:
    """At large c no number of double precision is near another one's value."""
    return a * np.sin(c)
