"""Functions of whole matrices and vectors: one row each.

An equation with such a kind reduces its operands as a sum reduces its terms, but to a matrix (a vector, a number):

    inverse[b,i,j] = inv{ A[b,k,l] : k,l }           box (b, i, j, k, l)
    x[b,i]         = solve{ pair(A[b,k,l], B[b,k]) : k,l }

The reduced indices, in the order of the box, are the axes of the first operand: its rows k and its columns l. The
indices that the target shows and the body does not mention are the axes of the result (the last ones, as many as the
row says); all others are a batch, the columns of several right-hand sides too: x[b,i,c] with B[b,k,c]. A second operand
stands in the body beside the first, `pair(first, second)`, an operator that has no value of its own; `operands` says by
which of the reduced indices each operand is read. A transposed operand has its subscripts swapped. Such an equation is
the only one of its target, and has no `where`.

A function with several results is several kinds of one `call`: eigh_values and eigh_vectors, printed as one call.

`value` is the truth: nested lists of mpmath numbers at its precision of the moment; ValueError where there is none, or
where it is not differentiable, such as eigenvectors of equal eigenvalues.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from operator import add, mul
from typing import Any

from ..expr import Expr, apply
from ..expr.sizes import as_integer
from ..later import mp, mpmath
from ..records import dataclass

Rows = list[list[Any]]

APART = 2.0**-60  # of the largest: eigenvalues that are nearer are equal, and so have no eigenvectors of their own


@dataclass(frozen=True, slots=True)
class Matrix:
    """One function of a matrix, or one result of it.

    name       the reduction kind
    axes       the sizes of the reduced indices, a letter each: "n n" is a square matrix
    result     the sizes of the axes of the result; "k" is the smaller one of m and n
    value      operands as nested lists -> nested lists, a list or a number
    domain     where it is defined and differentiable, in words
    word       what a tensor is called that holds the result
    call       the function that gives it; several kinds may share one
    place      which of the results of the call it is; None for a call with one
    operands   for each operand, which of the reduced indices it is read by
    symmetric  the argument is symmetric: its gradient is so too, and either triangle tells it
    integer    the result is whole numbers, and has no gradient
    siblings   the kinds of the same call that the gradient speaks of
    signs      the kind by whose vectors the signs of these are settled where text calls it, if they are open
    """

    name: str
    axes: str
    result: str
    value: Callable[..., Any]
    domain: str
    word: str
    call: str = ""
    place: int | None = None
    operands: tuple[tuple[int, ...], ...] = ((0, 1),)
    symmetric: bool = False
    integer: bool = False
    siblings: tuple[str, ...] = ()
    signs: str = ""

    @property
    def function(self) -> str:
        """The name of the call."""
        return self.call or self.name

    @property
    def rank(self) -> int:
        """How many axes the result has."""
        return len(self.result.split())


# the values


def _copy(a: Rows) -> Rows:
    return [list(row) for row in a]


def _transposed(a: Rows) -> Rows:
    return [list(column) for column in zip(*a, strict=True)]


def _product(a: Rows, b: Rows) -> Rows:
    columns = _transposed(b) if b else []
    return [[mp.fdot(zip(row, column, strict=True)) for column in columns] for row in a]


def _eliminated(a: Rows, right: Rows) -> tuple[Any, Rows]:
    """The determinant of `a`, and `a` inverse times `right`: Gauss's elimination with partial pivoting."""
    a, right, n = _copy(a), _copy(right), len(a)
    det = mpmath.mpf(1)
    for c in range(n):
        pivot = max(range(c, n), key=lambda r: abs(a[r][c]))
        if not mp.isfinite(a[pivot][c]):
            raise ValueError("not a number")
        if a[pivot][c] == 0:
            return mpmath.mpf(0), []
        if pivot != c:
            a[c], a[pivot], right[c], right[pivot] = a[pivot], a[c], right[pivot], right[c]
            det = -det
        det *= a[c][c]
        for r in range(c + 1, n):
            factor = a[r][c] / a[c][c]
            if factor:
                a[r] = [x - factor * y for x, y in zip(a[r], a[c], strict=True)]
                right[r] = [x - factor * y for x, y in zip(right[r], right[c], strict=True)]
    for c in reversed(range(n)):
        right[c] = [x / a[c][c] for x in right[c]]
        for r in range(c):
            right[r] = [x - a[r][c] * y for x, y in zip(right[r], right[c], strict=True)]
    return det, right


def _regular(a: Rows, right: Rows) -> Rows:
    det, result = _eliminated(a, right)
    if det == 0:
        raise ValueError("the matrix is singular")
    return result


def _eye(n: int) -> Rows:
    return [[mpmath.mpf(int(i == j)) for j in range(n)] for i in range(n)]


def _inv(a: Rows) -> Rows:
    return _regular(a, _eye(len(a)))


def _solve(a: Rows, b: list[Any]) -> list[Any]:
    return [row[0] for row in _regular(a, [[x] for x in b])]


def _solve_lower(a: Rows, b: list[Any]) -> list[Any]:
    x: list[Any] = []
    for r, row in enumerate(a):
        if row[r] == 0:
            raise ValueError("the matrix is singular")
        x.append((b[r] - mp.fdot(zip(row[:r], x, strict=True))) / row[r])
    return x


def _solve_upper(a: Rows, b: list[Any]) -> list[Any]:
    return _solve_lower([row[::-1] for row in a[::-1]], b[::-1])[::-1]


def _det(a: Rows) -> Any:
    det = _eliminated(a, [[] for _ in a])[0]
    if det == 0:
        raise ValueError("the matrix is singular")
    return det


def _mean_of_both(a: Rows) -> Rows:
    """The symmetric matrix that a symmetric one is, whichever triangle is read."""
    n = len(a)
    return [[(a[i][j] + a[j][i]) / 2 for j in range(n)] for i in range(n)]


def _finite(a: Rows) -> Any:
    """A matrix of mpmath's."""
    if not all(mp.isfinite(x) for row in a for x in row):
        raise ValueError("not a number")
    return mp.matrix(a)


def _cholesky(a: Rows) -> Rows:
    return mp.cholesky(_finite(_mean_of_both(a))).tolist() if a else []


def _qr(a: Rows) -> tuple[Rows, Rows]:
    """With LAPACK's signs: a column that Householder's reflection changes becomes -sign(its first element) its norm."""
    if not a or not a[0]:
        return [[] for _ in a], []
    most = len(a)  # columns beyond are combinations of those before
    q, r = (x.tolist() for x in mp.qr(_finite([row[:most] for row in a]), mode="skinny"))
    beyond = _product(_transposed(q), [row[most:] for row in a])
    r = [[*own, *more] for own, more in zip(r, beyond, strict=True)] if len(a[0]) > most else r
    if not all(row[k] for k, row in enumerate(r)):
        raise ValueError("the columns are not independent")
    return q, r


def _oriented(vector: list[Any]) -> int:
    """A sign for the direction of a vector, the same for all vectors near to it: that of a generic sum."""
    return 1 if mp.fdot((x, mp.sqrt(2 + 3 * k)) for k, x in enumerate(vector)) >= 0 else -1


def _refuse_equal(values: Sequence[Any]) -> None:
    """Refuse values, in order, of which two are equal."""
    most = max((abs(v) for v in values), default=0)
    for a, b in itertools.pairwise(values):
        if abs(a - b) <= APART * most:
            raise ValueError("two eigenvalues or singular values are equal")


def _eigh(a: Rows) -> tuple[list[Any], Rows]:
    if not a:
        return [], []
    found, vectors = mp.eigsy(_finite(_mean_of_both(a)))
    rows = _transposed(vectors.tolist())
    order = sorted(range(len(a)), key=lambda k: found[k])
    values = [found[k] for k in order]
    _refuse_equal(values)
    return values, _transposed([[x * _oriented(rows[k]) for x in rows[k]] for k in order])


def _svd(a: Rows) -> tuple[Rows, list[Any], Rows]:
    """U, the singular values from the largest, and V^T, reduced to the smaller side."""
    if not a or not a[0]:
        return [[] for _ in a], [], []
    if len(a) < len(a[0]):
        u, values, vh = _svd(_transposed(a))
        return _transposed(vh), values, _transposed(u)
    left, found, right = (x.tolist() if isinstance(x, mp.matrix) else x for x in mp.svd_r(_finite(a)))
    columns = _transposed(left)
    s = [x for (x,) in found]
    order = sorted(range(len(s)), key=lambda k: -s[k])
    values = [s[k] for k in order]
    _refuse_equal([*values, mpmath.mpf(0)])
    signs = [_oriented(right[k]) for k in order]
    u, vh = ([[x * sign for x in side[k]] for k, sign in zip(order, signs, strict=True)] for side in (columns, right))
    return _transposed(u), values, vh


def _pinv(a: Rows) -> Rows:
    """By the normal equations, where the rank is full."""
    if not a or not a[0]:
        return [[mpmath.mpf(0)] * len(a) for _ in range(len(a[0]) if a else 0)]
    if len(a) < len(a[0]):
        return _transposed(_pinv(_transposed(a)))
    t = _transposed(a)
    with mp.extraprec(mp.prec):  # the condition of the normal equations is the square of that of the matrix
        return _regular(_product(t, a), t)


def _norm(a: Rows) -> Any:
    return max(sum(abs(x) for x in row) for row in a)


def _expm(a: Rows) -> Rows:
    if not a:
        return []
    n = len(a)
    most = _norm(a)
    power = a
    for _ in range(4 if mp.isfinite(most) else 0):
        power = _product(power, power)
    if not _norm(power) < mp.mpf(10_000) ** 16:  # the norm itself may be large where no eigenvalue is
        raise ValueError("the exponential overflows")
    halvings = max(0, int(mp.mag(most + 1))) + 4
    with mp.extraprec(2 * halvings + 20):
        bits = mp.prec + 10
        small = [[int(mp.ldexp(x, bits - halvings)) for x in row] for row in a]  # whole numbers, of 2**-bits
        term = [[(i == j) << bits for j in range(n)] for i in range(n)]
        total, k = term, 0
        while any(any(row) for row in term):
            k += 1
            columns = list(zip(*small, strict=True))
            term = [[(sum(map(mul, row, c)) >> bits) // k for c in columns] for row in term]
            term = [[x if x != -1 else 0 for x in row] for row in term]  # a negative number is never 0 by shifting
            total = [list(map(add, p, q)) for p, q in zip(total, term, strict=True)]
        result = [[mp.ldexp(mpmath.mpf(x), -bits) for x in row] for row in total]
        for _ in range(halvings):
            result = _product(result, result)
    return [[+x for x in row] for row in result]


def _argsort(x: list[Any]) -> list[int]:
    return sorted(range(len(x)), key=lambda k: x[k])


_DISTINCT = "symmetric matrices with distinct eigenvalues"
_SINGULAR = "matrices of full rank with distinct singular values"
_VECTOR = ((0, 1), (0,))
_SVD = ("svd_u", "svd_values", "svd_vh")

ROWS: tuple[Matrix, ...] = (
    Matrix("inv", "n n", "n n", _inv, "regular matrices", "inverse"),
    Matrix("solve", "n n", "n", _solve, "regular matrices", "solution", operands=_VECTOR),
    Matrix("solve_lower", "n n", "n", _solve_lower, "lower triangles with no 0 in the diagonal; the rest is not read",
           "solution", operands=_VECTOR),
    Matrix("solve_upper", "n n", "n", _solve_upper, "upper triangles with no 0 in the diagonal; the rest is not read",
           "solution", operands=_VECTOR),
    Matrix("det", "n n", "", _det, "regular matrices", "determinant"),
    Matrix("slogdet_sign", "n n", "", lambda a: mp.sign(_det(a)), "regular matrices", "sign_det", "slogdet", 0),
    Matrix("slogdet_log", "n n", "", lambda a: mp.log(abs(_det(a))), "regular matrices", "log_det",
           "slogdet", 1),
    Matrix("cholesky", "n n", "n n", _cholesky, "symmetric positive definite matrices", "factor", symmetric=True),
    Matrix("qr_q", "m n", "m k", lambda a: _qr(a)[0], "m >= n, and independent columns", "orthonormal", "qr", 0,
           siblings=("qr_q", "qr_r")),
    Matrix("qr_r", "m n", "k n", lambda a: _qr(a)[1], "m >= n, and independent columns", "triangular", "qr", 1,
           siblings=("qr_q", "qr_r")),
    Matrix("eigh_values", "n n", "n", lambda a: _eigh(a)[0], _DISTINCT, "eigenvalues", "eigh", 0, symmetric=True,
           siblings=("eigh_values", "eigh_vectors")),
    Matrix("eigh_vectors", "n n", "n n", lambda a: _eigh(a)[1], _DISTINCT + "; their signs are open", "eigenvectors",
           "eigh", 1, symmetric=True, siblings=("eigh_values", "eigh_vectors"), signs="eigh_vectors"),
    Matrix("svd_u", "m n", "m k", lambda a: _svd(a)[0], _SINGULAR + "; the signs of pairs are open", "left_vectors",
           "svd", 0, siblings=_SVD, signs="svd_u"),
    Matrix("svd_values", "m n", "k", lambda a: _svd(a)[1], _SINGULAR, "singular_values", "svd", 1, siblings=_SVD),
    Matrix("svd_vh", "m n", "k n", lambda a: _svd(a)[2], _SINGULAR + "; the signs of pairs are open", "right_vectors",
           "svd", 2, siblings=_SVD, signs="svd_u"),
    Matrix("pinv", "m n", "n m", _pinv, "matrices of full rank", "pseudoinverse"),
    Matrix("expm", "n n", "n n", _expm, "square matrices", "exponential"),
    Matrix("argsort", "n", "n", _argsort, "vectors; of equal elements the first comes first", "order", operands=((0,),),
           integer=True),
)  # fmt: skip


def sizes(row: Matrix, extents: Sequence[Expr]) -> dict[str, Expr]:
    """The extent of each letter of a row, where those of the reduced indices are `extents`."""
    found = dict(zip(row.axes.split(), extents, strict=True))
    if "m" in found:
        found["k"] = found["n"] if row.function == "qr" else _smaller(found["m"], found["n"])
    return found


def _smaller(m: Expr, n: Expr) -> Expr:
    difference = as_integer(m - n)
    if difference is None:
        return apply("minimum", m, n)
    return n if difference >= 0 else m


MATRICES: Mapping[str, Matrix] = {row.name: row for row in ROWS}
