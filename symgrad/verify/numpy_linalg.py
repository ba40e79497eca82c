"""`np.linalg` and `scipy.linalg` on Numbers: their names and signatures; `rounding.matrices` has the numbers."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from .rounding import FUNCTIONS, total
from .rounding.array import Exact, exact, reduced
from .rounding.matrices import LinAlgError, whole

EighResult = namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
QRResult = namedtuple("QRResult", ["Q", "R"])
SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])
SVDResult = namedtuple("SVDResult", ["U", "S", "Vh"])


class UnknownName(Exception):
    """A name or an argument of NumPy's that the shim does not have."""


def _solved(kind: str, a: Any, b: Any) -> Any:
    """A solution: `b` is a vector if it has one axis, else its columns are right-hand sides."""
    right = exact(b)
    if right.ndim == 1:
        return whole(kind, a, right)
    found = whole(kind, exact(a)[..., None, :, :], right.view(np.ndarray).swapaxes(-1, -2).view(Exact))
    return found.view(np.ndarray).swapaxes(-1, -2).view(Exact)


def _solve_triangular(a: Any, b: Any, *, lower: bool = False) -> Any:
    return _solved("solve_lower" if lower else "solve_upper", a, b)


def _slogdet(a: Any) -> Any:
    return SlogdetResult(whole("slogdet_sign", a), whole("slogdet_log", a))


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    if upper:
        raise UnknownName("np.linalg.cholesky with upper=True")
    return whole("cholesky", a)


def _eigh(a: Any, UPLO: str = "L") -> Any:
    if UPLO != "L":
        raise UnknownName(f"np.linalg.eigh with UPLO={UPLO!r}")
    return EighResult(whole("eigh_values", a), whole("eigh_vectors", a))


def _eigvalsh(a: Any) -> Any:
    return whole("eigh_values", a)


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return whole("svd_values", a)
    if full_matrices:
        raise UnknownName("np.linalg.svd with full_matrices=True")
    return SVDResult(whole("svd_u", a), whole("svd_values", a), whole("svd_vh", a))


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "r"):
        raise UnknownName(f"np.linalg.qr with mode={mode!r}")
    return whole("qr_r", a) if mode == "r" else QRResult(whole("qr_q", a), whole("qr_r", a))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = exact(x)
    if ord not in (None, 2) or (ord == 2 and (axis is None) and array.ndim != 1):
        raise UnknownName(f"np.linalg.norm with ord={ord!r}")
    return reduced(lambda row: FUNCTIONS["sqrt"](total([v * v for v in row])), array, axis, keepdims)


LINALG: Mapping[str, Any] = {
    "LinAlgError": LinAlgError,
    "inv": lambda a: whole("inv", a),
    "solve": lambda a, b: _solved("solve", a, b),
    "det": lambda a: whole("det", a),
    "slogdet": _slogdet,
    "cholesky": _cholesky,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "svd": _svd,
    "svdvals": lambda a: whole("svd_values", a),
    "pinv": lambda a: whole("pinv", a),
    "qr": _qr,
    "norm": _norm,
}
SCIPY: Mapping[str, Any] = {"solve_triangular": _solve_triangular, "expm": lambda a: whole("expm", a)}
