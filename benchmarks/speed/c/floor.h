/* What the functions of arrays share.
 *
 * Each file has forward(sizes, inputs, out, work) and backward(sizes, inputs, grad_output, gradients, work); all but
 * sizes are memory. `work` is as long as tensors.py says. Matrices are by rows.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum { PLAIN = 111, TRANSPOSED = 112 } Form;

#ifdef DGEMM /* OpenBLAS's cblas_dgemm, by the name it has there */
void DGEMM(int order, Form a_form, Form b_form, int m, int n, int k, double alpha, const double *a, int a_row,
           const double *b, int b_row, double beta, double *c, int c_row);

/* c (m, n) = alpha * a (m, k) * b (k, n) + beta * c, a or b transposed where its form says so */
static inline void product(Form a_form, Form b_form, size_t m, size_t n, size_t k, double alpha, const double *a,
                           const double *b, double beta, double *c)
{
    int a_row = (int)(a_form == PLAIN ? k : m), b_row = (int)(b_form == PLAIN ? n : k);
    DGEMM(101, a_form, b_form, (int)m, (int)n, (int)k, alpha, a, a_row, b, b_row, beta, c, (int)n);
}
#else
static inline void product(Form a_form, Form b_form, size_t m, size_t n, size_t k, double alpha, const double *a,
                           const double *b, double beta, double *c)
{
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
            c[i * n + j] = beta == 0.0 ? 0.0 : beta * c[i * n + j];
        }
        for (size_t l = 0; l < k; ++l) {
            double factor = alpha * (a_form == PLAIN ? a[i * k + l] : a[l * m + i]);
            for (size_t j = 0; j < n; ++j) {
                c[i * n + j] += factor * (b_form == PLAIN ? b[l * n + j] : b[j * k + l]);
            }
        }
    }
}
#endif

static inline void add_rows(size_t n, size_t m, const double *a, double *sum)
{
    memset(sum, 0, m * sizeof *sum);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) {
            sum[j] += a[i * m + j];
        }
    }
}

static inline void repeat_row(size_t n, size_t m, const double *row, double *a)
{
    for (size_t i = 0; i < n; ++i) {
        memcpy(a + i * m, row, m * sizeof *row);
    }
}

static inline double largest(size_t n, const double *a)
{
    double found = a[0];
    for (size_t j = 0; j < n; ++j) {
        found = a[j] > found ? a[j] : found;
    }
    return found;
}
