/* A formula of one point (FORMULA) for who calls it: at a point, or at columns of points (BATCH). */
#include "point.h"
#include FORMULA

#ifndef BATCH
void run_forward(const double *x, double *y) { forward(x, y); }
void run_backward(const double *x, const double *v, double *g) { backward(x, v, g); }
#ifdef HAS_JACOBIAN
void run_jacobian(const double *x, double *y, double *g) { jacobian(x, y, g); }
#endif
#else
static inline void load(size_t n, size_t first, int count, const double *columns, real *x)
{
    for (int k = 0; k < count; ++k) {
        memcpy(&x[k], columns + (size_t)k * n + first, sizeof *x);
    }
}

static inline void store(size_t n, size_t first, int count, const real *y, double *columns)
{
    for (int k = 0; k < count; ++k) {
        memcpy(columns + (size_t)k * n + first, &y[k], sizeof *y);
    }
}

/* n is a multiple of LANES */
void batch_forward(size_t n, const double *x, double *y)
{
    for (size_t first = 0; first < n; first += LANES) {
        real in[INPUTS], out[OUTPUTS];
        load(n, first, INPUTS, x, in);
        forward(in, out);
        store(n, first, OUTPUTS, out, y);
    }
}

void batch_backward(size_t n, const double *x, const double *v, double *g)
{
    for (size_t first = 0; first < n; first += LANES) {
        real in[INPUTS], seed[OUTPUTS], out[GRADIENTS];
        load(n, first, INPUTS, x, in);
        load(n, first, OUTPUTS, v, seed);
        backward(in, seed, out);
        store(n, first, GRADIENTS, out, g);
    }
}
#endif
