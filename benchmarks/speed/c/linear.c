#include "floor.h"

void forward(size_t n, size_t k, size_t m, const double *x, const double *weight, const double *bias, double *out,
             double *work)
{
    (void)work;
    repeat_row(n, m, bias, out);
    product(PLAIN, TRANSPOSED, n, m, k, 1.0, x, weight, 1.0, out);
}

void backward(size_t n, size_t k, size_t m, const double *x, const double *weight, const double *bias,
              const double *grad_output, double *grad_x, double *grad_weight, double *grad_bias, double *work)
{
    (void)bias;
    (void)work;
    product(PLAIN, PLAIN, n, k, m, 1.0, grad_output, weight, 0.0, grad_x);
    product(TRANSPOSED, PLAIN, m, k, n, 1.0, grad_output, x, 0.0, grad_weight);
    add_rows(n, m, grad_output, grad_bias);
}
