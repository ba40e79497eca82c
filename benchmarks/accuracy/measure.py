"""The error of a number in units in the last place, and what is said of many of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WORST = 64.0  # bits that a NaN loses, or an infinity where the truth is finite


@dataclass(frozen=True, slots=True)
class Measured:
    """One formula in one system over one sample; arrays have one element per partial derivative."""

    bits: Any  # mean over the points
    ulps: Any  # the largest error, 2**64 for NaN
    worst: Any  # the point of the largest error
    got: Any  # what came out there
    want: Any
    lost: Any  # at how many points NaN, or infinite where the truth is finite
    said: str  # why there is no code at all

    @property
    def mean(self) -> float:
        return float(np.mean(self.bits))

    @property
    def most(self) -> float:
        return float(np.max(self.ulps))


def measure(x: Any, true: Any, found: Any, said: str = "") -> Measured:
    ulps = distance(found, true)
    lost = ~np.isfinite(found) & np.isfinite(true)
    ulps[lost] = 2.0**WORST
    place = np.argmax(ulps, axis=0)
    across = range(true.shape[1])
    return Measured(
        np.log2(ulps + 1).mean(axis=0),
        ulps.max(axis=0),
        [tuple(map(float, x[place[k]])) for k in across],
        [float(found[place[k], k]) for k in across],
        [float(true[place[k], k]) for k in across],
        lost.sum(axis=0),
        said,
    )


def distance(a: Any, b: Any) -> Any:
    """How many numbers of the type of b lie between; both zeros are one."""
    dtype = np.asarray(b).dtype
    with np.errstate(over="ignore"):
        a, b = (_ordinal(np.ascontiguousarray(v, dtype)) for v in (a, b))
    exact = np.abs(a.astype(object) - b.astype(object))
    return exact.astype(np.float64)


def _ordinal(values: Any) -> Any:
    bits = values.view(np.int64 if values.dtype == np.float64 else np.int32).astype(np.int64)
    least = -(2**63) if values.dtype == np.float64 else -(2**31)
    return np.where(bits < 0, np.int64(least) - bits, bits)
