"""A product of matrices in C, by strides: nothing is allocated or copied in full, and no library is called, unless
CBLAS may be.

The columns of `right` are packed into a panel on the stack, side by side in vectors; rows of `left` pass over it, a few
at a time, with their sums in registers: a block of them, which a cache keeps until the next panel. Where they are
columns in memory, each term is elsewhere, and asked for before it is needed. A panel may hold several groups of terms,
each elsewhere in memory. Vectors are an extension that GCC and Clang have; elsewhere they are numbers. In the text,
$real stands for the type of real numbers.
"""

from __future__ import annotations

NAME, GROUPS, BLAS = "contract", "contract_groups", "blas_contract"
INCLUDES = {NAME: ("string.h",), BLAS: ("cblas.h",)}
_FUSED = """\
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("fp-contract=fast"))) /* a * b + c at once, with -std=c99 too */
#endif
"""
_VECTORS = """\
#if !defined(__GNUC__)
    typedef $real vector;
#elif defined(__AVX512F__)
    typedef $real vector __attribute__((vector_size(64)));
#elif defined(__AVX__)
    typedef $real vector __attribute__((vector_size(32)));
#else
    typedef $real vector __attribute__((vector_size(16)));
#endif
    enum { HEIGHT = sizeof(vector) == 64 ? 8 : 4, DEPTH = 256, BLOCK = 256, AHEAD = 8 };
    enum { WIDTH = 2 * sizeof(vector) / sizeof($real) };
"""
_CONTRACT = (
    """\
/* element[i, j] += scale * (sum over q of left[i, q] * right[q, j]), all by strides */
"""
    + _FUSED
    + """\
static void $contract(size_t rows, size_t columns, size_t terms, $real scale,
                     const $real *restrict left, size_t left_row, size_t left_term,
                     const $real *restrict right, size_t right_term,
                     size_t right_column, $real *restrict element,
                     size_t element_row, size_t element_column)
{
"""
    + _VECTORS
    + """\
    union { vector pair[2]; $real at[WIDTH]; } panel[DEPTH], total;

    if (terms == 0 || (rows < HEIGHT && right_term == 1)) { /* few, or contiguous */
        for (size_t i = 0; i < rows; ++i) {
            for (size_t j = 0; j < columns; ++j) {
                $real sum = $zero;
                #pragma omp simd reduction(+:sum)
                for (size_t q = 0; q < terms; ++q) {
                    sum += left[i * left_row + q * left_term]
                        * right[q * right_term + j * right_column];
                }
                element[i * element_row + j * element_column] += scale * sum;
            }
        }
        return;
    }
    for (size_t q0 = 0; q0 < terms; q0 += DEPTH) {
        const size_t depth = terms - q0 < DEPTH ? terms - q0 : DEPTH;
        for (size_t first = 0; first < rows; first += BLOCK) { /* as a cache keeps */
            const size_t end = rows - first < BLOCK ? rows : first + BLOCK;
            for (size_t j0 = 0; j0 < columns; j0 += WIDTH) {
                const size_t width = columns - j0 < WIDTH ? columns - j0 : WIDTH;
                for (size_t q = 0; q < depth; ++q) {
                    const $real *from =
                        right + (q0 + q) * right_term + j0 * right_column;
                    if (right_column == 1 && width == WIDTH) {
                        memcpy(panel[q].at, from, sizeof panel[q].at);
                        continue;
                    }
                    for (size_t j = 0; j < WIDTH; ++j) {
                        panel[q].at[j] = j < width ? from[j * right_column] : $zero;
                    }
                }
                for (size_t i0 = first; i0 < end; i0 += HEIGHT) {
                    const $real *row[HEIGHT];
                    vector sum[HEIGHT][2];
                    #pragma GCC unroll 8
                    for (size_t r = 0; r < HEIGHT; ++r) { /* the last again beyond it */
                        const size_t i = i0 + r < rows ? i0 + r : rows - 1;
                        row[r] = left + i * left_row + q0 * left_term;
                        sum[r][0] = sum[r][1] = (vector){0};
                    }
                    for (size_t q = 0; q < depth; ++q) {
#if defined(__GNUC__)
                        if (left_term >= AHEAD && q + AHEAD < depth) {
                            const size_t later = (q + AHEAD) * left_term;
                            __builtin_prefetch(row[HEIGHT - 1] + later);
                        }
#endif
                        #pragma GCC unroll 8
                        for (size_t r = 0; r < HEIGHT; ++r) {
                            sum[r][0] += row[r][q * left_term] * panel[q].pair[0];
                            sum[r][1] += row[r][q * left_term] * panel[q].pair[1];
                        }
                    }
                    #pragma GCC unroll 8
                    for (size_t r = 0; r < HEIGHT; ++r) {
                        const size_t i = i0 + r;
                        $real *to = element + i * element_row + j0 * element_column;
                        if (i >= rows) {
                            break;
                        }
                        total.pair[0] = scale * sum[r][0];
                        total.pair[1] = scale * sum[r][1];
                        if (element_column == 1 && width == WIDTH) {
                            for (size_t j = 0; j < WIDTH; ++j) {
                                to[j] += total.at[j];
                            }
                            continue;
                        }
                        for (size_t j = 0; j < width; ++j) {
                            to[j * element_column] += total.at[j];
                        }
                    }
                }
            }
        }
    }
}"""
)
_GROUPS = (
    """\
/* element[i, j] += scale * (sum over g, q of left[g, i, q] * right[g, q, j]), all by
   strides: the terms come in groups, such as the lines of an image */
"""
    + _FUSED
    + """\
static void $contract_groups(size_t groups, size_t rows, size_t columns, size_t terms,
                            $real scale, const $real *restrict left,
                            size_t left_group, size_t left_row, size_t left_term,
                            const $real *restrict right, size_t right_group,
                            size_t right_term, size_t right_column,
                            $real *restrict element, size_t element_row,
                            size_t element_column)
{
"""
    + _VECTORS
    + """\
    union { vector pair[2]; $real at[WIDTH]; } panel[DEPTH], total;
    size_t in_left[DEPTH];
    size_t group = 0;
    size_t term = 0;

    while (terms > 0 && group < groups) {
        const size_t first_group = group;
        const size_t first_term = term;
        size_t depth = 0;
        for (; depth < DEPTH && group < groups; ++depth) {
            in_left[depth] = group * left_group + term * left_term;
            term = term + 1 < terms ? term + 1 : 0;
            group += term == 0;
        }
        for (size_t j0 = 0; j0 < columns; j0 += WIDTH) {
            const size_t width = columns - j0 < WIDTH ? columns - j0 : WIDTH;
            group = first_group;
            term = first_term;
            for (size_t q = 0; q < depth; ++q) {
                const $real *from = right + group * right_group + term * right_term;
                for (size_t j = 0; j < WIDTH; ++j) {
                    panel[q].at[j] = j < width ? from[(j0 + j) * right_column] : $zero;
                }
                term = term + 1 < terms ? term + 1 : 0;
                group += term == 0;
            }
            for (size_t i0 = 0; i0 < rows; i0 += HEIGHT) {
                const $real *row[HEIGHT];
                vector sum[HEIGHT][2];
                #pragma GCC unroll 8
                for (size_t r = 0; r < HEIGHT; ++r) { /* the last again beyond it */
                    row[r] = left + (i0 + r < rows ? i0 + r : rows - 1) * left_row;
                    sum[r][0] = sum[r][1] = (vector){0};
                }
                for (size_t q = 0; q < depth; ++q) {
                    #pragma GCC unroll 8
                    for (size_t r = 0; r < HEIGHT; ++r) {
                        sum[r][0] += row[r][in_left[q]] * panel[q].pair[0];
                        sum[r][1] += row[r][in_left[q]] * panel[q].pair[1];
                    }
                }
                #pragma GCC unroll 8
                for (size_t r = 0; r < HEIGHT; ++r) {
                    const size_t i = i0 + r;
                    $real *to = element + i * element_row + j0 * element_column;
                    if (i >= rows) {
                        break;
                    }
                    total.pair[0] = scale * sum[r][0];
                    total.pair[1] = scale * sum[r][1];
                    for (size_t j = 0; j < width; ++j) {
                        to[j * element_column] += total.at[j];
                    }
                }
            }
        }
    }
}"""
)

_BLAS = """\
/* element[i, j] += scale * (sum over q of left[i, q] * right[q, j]), by CBLAS: one of
   the strides of left and of right is 1, and so is that of the columns of element */
static void $blas_contract(size_t rows, size_t columns, size_t terms, $real scale,
                          const $real *left, size_t left_row, size_t left_term,
                          const $real *right, size_t right_term, size_t right_column,
                          $real *element, size_t element_row)
{
    if (terms == 0 || scale == $zero) { /* CBLAS leaves out what may be no number */
        for (size_t i = 0; i < rows; ++i) {
            for (size_t j = 0; j < columns; ++j) {
                $real sum = $zero;
                for (size_t q = 0; q < terms; ++q) {
                    sum += left[i * left_row + q * left_term]
                        * right[q * right_term + j * right_column];
                }
                element[i * element_row + j] += scale * sum;
            }
        }
    } else if (rows > 0 && columns > 0) {
        const size_t left_wide = left_row < terms ? terms : left_row;
        const size_t right_wide = right_term < columns ? columns : right_term;
        const size_t wide = element_row < columns ? columns : element_row;
        cblas_${kind}gemm(CblasRowMajor, left_term == 1 ? CblasNoTrans : CblasTrans,
                    right_column == 1 ? CblasNoTrans : CblasTrans, (int)rows,
                    (int)columns, (int)terms, scale, left,
                    (int)(left_term == 1 ? left_wide : left_term), right,
                    (int)(right_column == 1 ? right_wide : right_column), $one, element,
                    (int)wide);
    }
}"""
TEXTS = {NAME: _CONTRACT, GROUPS: _GROUPS, BLAS: _BLAS}
