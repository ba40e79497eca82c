"""`np.linalg` and `scipy.linalg` on Numbers: their names and signatures; `rounding.matrices` has the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..ops.matrices import MATRICES
from .rounding.array import Exact, exact
from .rounding.matrices import LinAlgError, whole


class UnknownName(Exception):
    """A name or an argument of NumPy's that the shim does not have."""


def solved(kind: str, a: Any, b: Any) -> Any:
    """A solution: `b` is a vector if it has one axis, else its columns are right-hand sides."""
    right = exact(b)
    if right.ndim == 1:
        return whole(kind, a, right)
    found = whole(kind, exact(a)[..., None, :, :], right.view(np.ndarray).swapaxes(-1, -2).view(Exact))
    return found.view(np.ndarray).swapaxes(-1, -2).view(Exact)


def _solve_triangular(a: Any, b: Any, *, lower: bool = False) -> Any:
    return solved("solve_lower" if lower else "solve_upper", a, b)


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if full_matrices and compute_uv:
        raise UnknownName("np.linalg.svd with full_matrices=True")
    return tuple(whole(kind, a) for kind in KINDS["svd"]) if compute_uv else whole("svd_values", a)


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "r"):
        raise UnknownName(f"np.linalg.qr with mode={mode!r}")
    return whole("qr_r", a) if mode == "r" else tuple(whole(kind, a) for kind in KINDS["qr"])


def _called(kinds: list[str]) -> Callable[[Any], Any]:
    """A function of one matrix: its result, or all of them."""
    return lambda a: whole(kinds[0], a) if len(kinds) == 1 else tuple(whole(kind, a) for kind in kinds)


KINDS: Mapping[str, list[str]] = {  # of each function, in the order of its results
    row.function: [r.name for r in MATRICES.values() if r.function == row.function] for row in MATRICES.values()
}
LINALG: Mapping[str, Any] = {
    **{name: _called(kinds) for name, kinds in KINDS.items() if hasattr(np.linalg, name)},
    "LinAlgError": LinAlgError,
    "solve": lambda a, b: solved("solve", a, b),
    "eigvalsh": lambda a: whole("eigh_values", a),
    "svd": _svd,
    "svdvals": lambda a: whole("svd_values", a),
    "qr": _qr,
}
SCIPY: Mapping[str, Any] = {"solve_triangular": _solve_triangular, "expm": lambda a: whole("expm", a)}
