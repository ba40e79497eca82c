"""`np.linalg` on Numbers: matrices in mpmath, stacks of them over the leading axes.

LAPACK's algorithms are backward stable: what they return is exact for a matrix that is off by a few n u times its
largest element. So the bound of a result is how far it moves if each element does, by its own error and by that much.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mp
from mpmath.libmp import to_float

from .rounding import FUNCTIONS, total
from .rounding.array import Exact, exact, filled, reduced
from .rounding.number import INF, now, rounded

STABLE = 4.0  # times n u: how far the matrix is off for which LAPACK's result is exact
WORKING = 140  # bits that suffice to see a change of relative size u in double

LinAlgError = np.linalg.LinAlgError
Matrix = Any  # of mpmath
Results = tuple[Matrix, ...]

EighResult = namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
QRResult = namedtuple("QRResult", ["Q", "R"])
SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])


class UnknownName(Exception):
    """A name or an argument of NumPy's that the shim does not have."""


# matrices of mpf


def _inverse(a: Matrix) -> Results:
    return (mp.inverse(a),)


def _solution(a: Matrix, b: Matrix) -> Results:
    columns = [mp.lu_solve(a, b.column(k)) for k in range(b.cols)]
    return (mp.matrix([[c[i] for c in columns] for i in range(a.rows)]),)


def _determinant(a: Matrix) -> Results:
    return (mp.matrix([[mp.det(a)]]),)


def _logarithm(a: Matrix) -> Results:
    found = mp.det(a)
    return mp.matrix([[mp.sign(found)]]), mp.matrix([[mp.log(abs(found)) if found else -mp.inf]])


def _factor(a: Matrix) -> Results:
    """The lower L of A = L L^T; of A, only the lower triangle is read."""
    n = a.rows
    found = mp.zeros(n)
    for j in range(n):
        for i in range(j, n):
            rest = a[i, j] - mp.fsum(found[i, k] * found[j, k] for k in range(j))
            if i == j and not rest > 0:
                raise LinAlgError("Matrix is not positive definite")
            found[i, j] = mp.sqrt(rest) if i == j else rest / found[j, j]
    return (found,)


def _spectrum(a: Matrix) -> Results:
    """Eigenvalues in a column, ascending, and eigenvectors, the largest element of each positive."""
    n = a.rows
    values, vectors = mp.eigsy(mp.matrix([[a[max(i, j), min(i, j)] for j in range(n)] for i in range(n)]))
    for j in range(n):
        if max(vectors.column(j), key=abs) < 0:
            for i in range(n):
                vectors[i, j] = -vectors[i, j]
    return values, vectors


def _singular(a: Matrix) -> Results:
    return (mp.svd_r(a, compute_uv=False),)


def _triangle(a: Matrix) -> Results:
    """Q and R of A = Q R by Householder's reflections, with LAPACK's signs."""
    rows, columns = a.rows, a.cols
    r, q = a.copy(), mp.eye(rows)
    for k in range(min(rows - 1, columns)):
        below = [r[i, k] for i in range(k, rows)]
        if not any(below[1:]):
            continue
        length = mp.sqrt(mp.fsum(v * v for v in below))
        v = [below[0] + (length if below[0] >= 0 else -length), *below[1:]]
        scale = 2 / mp.fsum(e * e for e in v)
        for matrix, across in ((r, False), (q, True)):
            for j in range(matrix.rows if across else matrix.cols):
                line = [(j, k + i) if across else (k + i, j) for i in range(len(v))]
                share = scale * mp.fsum(e * matrix[p] for e, p in zip(v, line, strict=True))
                for e, p in zip(v, line, strict=True):
                    matrix[p] -= share * e
    n = min(rows, columns)
    upper = mp.matrix([[r[i, j] if i <= j else mp.mpf(0) for j in range(columns)] for i in range(n)])
    return q[:, :n], upper


# their errors


def _bounded(function: Callable[..., Results], matrices: Sequence[Any]) -> list[Any]:
    """The results of `function` as arrays of Numbers; the first matrix is the one that is factored."""
    values = [mp.matrix([[e.value for e in row] for row in m.tolist()]) for m in matrices]
    try:
        results = function(*values)
    except ZeroDivisionError as error:
        raise LinAlgError("Singular matrix") from error
    changes = [[0.0] * (r.rows * r.cols) for r in results]
    largest = max((e.size for e in matrices[0].ravel()), default=0.0)
    own = STABLE * max(matrices[0].shape) * largest
    for number, matrix in enumerate(matrices):
        for place, element in np.ndenumerate(matrix):
            err = element.err + (0.0 if number else own)
            if err:
                _add(changes, function, values, number, place, err, results)
    arrays = []
    for r, change in zip(results, changes, strict=True):
        flat = [r[i, j] for i in range(r.rows) for j in range(r.cols)]
        arrays.append(
            filled([rounded(mpmath.mpf(v), c, 2.0) for v, c in zip(flat, change, strict=True)], (r.rows, r.cols))
        )
    return arrays


def _add(
    changes: list[list[float]],
    function: Callable[..., Results],
    values: list[Matrix],
    number: int,
    place: tuple[int, ...],
    err: float,
    results: Results,
) -> None:
    """Add to `changes` how far the results move if one element does."""
    moved: Results | None = None
    if err != INF:
        with mp.workprec(max(WORKING, now.bits + WORKING - 53)):
            given = list(values)
            given[number] = values[number].copy()
            given[number][place] += mpmath.mpf(err) * now.unit
            try:
                moved = function(*given)
            except (ZeroDivisionError, LinAlgError):
                moved = None
    for k, r in enumerate(results):
        position = 0
        for i in range(r.rows):
            for j in range(r.cols):
                change = INF if moved is None else to_float((abs(moved[k][i, j] - r[i, j]) / now.unit)._mpf_)
                changes[k][position] += change
                position += 1


# what NumPy has


def _stacked(function: Callable[..., Results], *arrays: Any, square: bool = True) -> list[Any]:
    """The results of `function` for each matrix of a stack: arrays with the leading axes in front."""
    given = [exact(a) for a in arrays]
    for a in given:
        if a.ndim < 2:
            raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and given[0].shape[-1] != given[0].shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    lead = np.broadcast_shapes(*(a.shape[:-2] for a in given))
    wide = [np.broadcast_to(a.view(np.ndarray), lead + a.shape[-2:]) for a in given]
    found = [_bounded(function, [w[at] for w in wide]) for at in np.ndindex(lead)]
    return [
        np.array([part.view(np.ndarray) for part in parts], dtype=object).reshape(lead + parts[0].shape).view(Exact)
        for parts in zip(*found, strict=True)
    ]


def _inv(a: Any) -> Any:
    return _stacked(_inverse, a)[0]


def _solve(a: Any, b: Any) -> Any:
    right = exact(b)
    if right.ndim == 1:
        return _stacked(_solution, a, right[:, None])[0][..., 0]
    return _stacked(_solution, a, right)[0]


def _det(a: Any) -> Any:
    return _stacked(_determinant, a)[0][..., 0, 0]


def _slogdet(a: Any) -> Any:
    sign, logarithm = _stacked(_logarithm, a)
    return SlogdetResult(sign[..., 0, 0], logarithm[..., 0, 0])


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    if upper:
        raise UnknownName("np.linalg.cholesky with upper=True")
    return _stacked(_factor, a)[0]


def _eigh(a: Any, UPLO: str = "L") -> Any:
    given = exact(a) if UPLO == "L" else np.swapaxes(exact(a), -1, -2)
    values, vectors = _stacked(_spectrum, given)
    return EighResult(values[..., 0], vectors)


def _eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return _eigh(a, UPLO).eigenvalues


def _svdvals(a: Any) -> Any:
    return _stacked(_singular, a, square=False)[0][..., 0]


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if compute_uv:
        raise UnknownName("np.linalg.svd with singular vectors")
    return _svdvals(a)


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "r"):
        raise UnknownName(f"np.linalg.qr with mode={mode!r}")
    q, r = _stacked(_triangle, a, square=False)
    return QRResult(q, r) if mode == "reduced" else r


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = exact(x)
    if ord not in (None, 2) or (ord == 2 and (axis is None) and array.ndim != 1):
        raise UnknownName(f"np.linalg.norm with ord={ord!r}")
    return reduced(lambda row: FUNCTIONS["sqrt"](total([v * v for v in row])), array, axis, keepdims)


LINALG: Mapping[str, Any] = {
    "LinAlgError": LinAlgError,
    "inv": _inv,
    "solve": _solve,
    "det": _det,
    "slogdet": _slogdet,
    "cholesky": _cholesky,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "svd": _svd,
    "svdvals": _svdvals,
    "qr": _qr,
    "norm": _norm,
}
