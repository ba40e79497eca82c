"""Functions of whole matrices in C: static functions that call LAPACKE, each printed where it is used.

They take the sizes, the operands and then the results, row-major; a result that is NULL is not wanted. They return 0,
or what LAPACK says: a positive number where the matrix is singular, not positive definite or the iteration has not
ended, a negative one where an argument holds NaN or there is no memory. In the texts, $real and the like stand for what
depends on the type of real numbers, and a dollar before what the file calls otherwise where the name is taken.
"""

from __future__ import annotations

from collections.abc import Mapping

_INV = """\
static int $lapack_inv(size_t n, const $real *a, $real *inverse)
{
    const lapack_int size = (lapack_int)n;
    lapack_int *pivots = malloc((n + 1) * sizeof *pivots);
    lapack_int status = LAPACK_WORK_MEMORY_ERROR;
    if (pivots && n > 0) {
        memcpy(inverse, a, n * n * sizeof *a);
        status = LAPACKE_${kind}getrf(LAPACK_ROW_MAJOR, size, size, inverse, size, pivots);
        if (status == 0) {
            status = LAPACKE_${kind}getri(LAPACK_ROW_MAJOR, size, inverse, size, pivots);
        }
    }
    free(pivots);
    return n > 0 ? (int)status : 0;
}"""

_SOLVE = """\
static int $lapack_solve(size_t n, size_t columns, const $real *a, const $real *b,
                        $real *x)
{
    const lapack_int size = (lapack_int)n;
    const lapack_int width = (lapack_int)columns;
    lapack_int *pivots = malloc((n + 1) * sizeof *pivots);
    $real *factors = malloc((n * n + 1) * sizeof *factors);
    lapack_int status = LAPACK_WORK_MEMORY_ERROR;
    if (pivots && factors && n * columns > 0) {
        memcpy(factors, a, n * n * sizeof *a);
        memcpy(x, b, n * columns * sizeof *b);
        status = LAPACKE_${kind}gesv(LAPACK_ROW_MAJOR, size, width, factors, size, pivots, x,
                               width);
    }
    free(pivots);
    free(factors);
    return n * columns > 0 ? (int)status : 0;
}"""

_TRIANGULAR = """\
static int ${lapack_solve_SIDE}(size_t n, size_t columns, const $real *a,
                              const $real *b, $real *x)
{
    const lapack_int size = (lapack_int)n;
    const lapack_int width = (lapack_int)columns;
    if (n * columns == 0) {
        return 0;
    }
    memcpy(x, b, n * columns * sizeof *b);
    return (int)LAPACKE_${kind}trtrs(LAPACK_ROW_MAJOR, 'LETTER', 'N', 'N', size, width, a,
                               size, x, width);
}"""

_SLOGDET = """\
static int $lapack_slogdet(size_t n, const $real *a, $real *sign, $real *logarithm)
{
    const lapack_int size = (lapack_int)n;
    lapack_int *pivots = malloc((n + 1) * sizeof *pivots);
    $real *factors = malloc((n * n + 1) * sizeof *factors);
    lapack_int status = LAPACK_WORK_MEMORY_ERROR;
    if (pivots && factors) {
        $real turned = $one;
        $real total = $zero;
        status = 0;
        if (n > 0) {
            memcpy(factors, a, n * n * sizeof *a);
            status = LAPACKE_${kind}getrf(LAPACK_ROW_MAJOR, size, size, factors, size,
                                    pivots);
        }
        for (size_t i = 0; status >= 0 && i < n; ++i) {
            const $real pivot = factors[i * n + i];
            const int moved = pivots[i] != (lapack_int)i + 1;
            turned = moved == (pivot < $zero) ? turned : -turned;
            total += $log($fabs(pivot));
        }
        if (sign) {
            *sign = status > 0 ? $zero : turned;
        }
        if (logarithm) {
            *logarithm = total;
        }
        status = status > 0 ? 0 : status;
    }
    free(pivots);
    free(factors);
    return (int)status;
}"""

_DET = """\
static int $lapack_det(size_t n, const $real *a, $real *determinant)
{
    const lapack_int size = (lapack_int)n;
    lapack_int *pivots = malloc((n + 1) * sizeof *pivots);
    $real *factors = malloc((n * n + 1) * sizeof *factors);
    lapack_int status = LAPACK_WORK_MEMORY_ERROR;
    if (pivots && factors) {
        *determinant = $one;
        status = 0;
        if (n > 0) {
            memcpy(factors, a, n * n * sizeof *a);
            status = LAPACKE_${kind}getrf(LAPACK_ROW_MAJOR, size, size, factors, size,
                                    pivots);
        }
        for (size_t i = 0; status >= 0 && i < n; ++i) {
            const $real pivot = factors[i * n + i];
            *determinant *= pivots[i] == (lapack_int)i + 1 ? pivot : -pivot;
        }
        status = status > 0 ? 0 : status;
    }
    free(pivots);
    free(factors);
    return (int)status;
}"""

_CHOLESKY = """\
static int $lapack_cholesky(size_t n, const $real *a, $real *factor)
{
    const lapack_int size = (lapack_int)n;
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
            factor[i * n + j] = j <= i ? a[i * n + j] : $zero;
        }
    }
    return n > 0 ? (int)LAPACKE_${kind}potrf(LAPACK_ROW_MAJOR, 'L', size, factor, size) : 0;
}"""

_QR = """\
static int $lapack_qr(size_t m, size_t n, const $real *a, $real *q, $real *r)
{
    const lapack_int rows = (lapack_int)m;
    const lapack_int columns = (lapack_int)n;
    $real *factors = malloc((m * n + n + 1) * sizeof *factors);
    lapack_int status = LAPACK_WORK_MEMORY_ERROR;
    if (factors && n > 0) {
        $real *const tau = factors + m * n;
        memcpy(factors, a, m * n * sizeof *a);
        status = m < n ? -2
            : LAPACKE_${kind}geqrf(LAPACK_ROW_MAJOR, rows, columns, factors, columns, tau);
        for (size_t k = 0; r && status == 0 && k < n * n; ++k) {
            r[k] = k % n < k / n ? $zero : factors[k];
        }
        if (q && status == 0) {
            status = LAPACKE_${kind}orgqr(LAPACK_ROW_MAJOR, rows, columns, columns, factors,
                                    columns, tau);
            memcpy(q, factors, m * n * sizeof *q);
        }
    }
    free(factors);
    return n > 0 ? (int)status : 0;
}"""

_EIGH = """\
static int $lapack_eigh(size_t n, const $real *a, $real *values, $real *vectors)
{
    const lapack_int size = (lapack_int)n;
    $real *memory = malloc((n * n + n + 1) * sizeof *memory);
    lapack_int status = LAPACK_WORK_MEMORY_ERROR;
    if (memory && n > 0) {
        $real *const found = values ? values : memory + n * n;
        $real *const matrix = vectors ? vectors : memory;
        memcpy(matrix, a, n * n * sizeof *a);
        status = LAPACKE_${kind}syevd(LAPACK_ROW_MAJOR, vectors ? 'V' : 'N', 'L', size,
                                matrix, size, found);
    }
    free(memory);
    return n > 0 ? (int)status : 0;
}"""

_SVD = """\
static int $lapack_svd(size_t m, size_t n, const $real *a, $real *u, $real *values,
                      $real *vh)
{
    const size_t k = m < n ? m : n;
    const lapack_int rows = (lapack_int)m;
    const lapack_int columns = (lapack_int)n;
    $real *memory = malloc((m * n + (m + n + 1) * k + 1) * sizeof *memory);
    lapack_int status = LAPACK_WORK_MEMORY_ERROR;
    if (memory && k > 0) {
        $real *const left = u ? u : memory + m * n;
        $real *const found = values ? values : memory + m * n + m * k;
        $real *const right = vh ? vh : memory + m * n + m * k + k;
        memcpy(memory, a, m * n * sizeof *a);
        status = LAPACKE_${kind}gesdd(LAPACK_ROW_MAJOR, 'S', rows, columns, memory, columns,
                                found, left, (lapack_int)k, right, columns);
    }
    free(memory);
    return k > 0 ? (int)status : 0;
}"""

_PINV = """\
static int $lapack_pinv(size_t m, size_t n, const $real *a, $real *inverse)
{
    const size_t k = m < n ? m : n;
    $real *memory = malloc(((m + n + 1) * k + 1) * sizeof *memory);
    int status = (int)LAPACK_WORK_MEMORY_ERROR;
    if (memory) {
        $real *const u = memory;
        $real *const values = u + m * k;
        $real *const vh = values + k;
        status = $lapack_svd(m, n, a, u, values, vh);
        for (size_t i = 0; i < n * m; ++i) {
            inverse[i] = $zero;
        }
        for (size_t p = 0; status == 0 && p < k && values[p] > $tiny * values[0]; ++p) {
            for (size_t i = 0; i < n; ++i) {
                for (size_t j = 0; j < m; ++j) {
                    inverse[i * m + j] += vh[p * n + i] * u[j * k + p] / values[p];
                }
            }
        }
    }
    free(memory);
    return status;
}"""

PREFIX = "lapack_"
_TEXTS: Mapping[str, str] = {
    "inv": _INV,
    "solve": _SOLVE,
    "solve_lower": _TRIANGULAR.replace("SIDE", "lower").replace("LETTER", "L"),
    "solve_upper": _TRIANGULAR.replace("SIDE", "upper").replace("LETTER", "U"),
    "det": _DET,
    "slogdet": _SLOGDET,
    "cholesky": _CHOLESKY,
    "qr": _QR,
    "eigh": _EIGH,
    "svd": _SVD,
    "pinv": _PINV,
}
FUNCTIONS = tuple(_TEXTS)
OF_MATH = ("lapack_slogdet",)  # calls log and fabs


def name_of(function: str) -> str:
    """The C function that a function of matrices is."""
    return f"{PREFIX}{function}"


TEXTS = {name_of(function): text for function, text in _TEXTS.items()}
