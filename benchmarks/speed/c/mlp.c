#include "floor.h"

/* hidden (n, h) and error (n, m) */
static void run(size_t n, size_t k, size_t h, size_t m, const double *x, const double *w1, const double *b1,
                const double *w2, const double *b2, const double *target, double *hidden, double *error)
{
    repeat_row(n, h, b1, hidden);
    product(PLAIN, TRANSPOSED, n, h, k, 1.0, x, w1, 1.0, hidden);
    for (size_t i = 0; i < n * h; ++i) {
        hidden[i] = hidden[i] > 0.0 ? hidden[i] : 0.0;
    }
    repeat_row(n, m, b2, error);
    product(PLAIN, TRANSPOSED, n, m, h, 1.0, hidden, w2, 1.0, error);
    for (size_t i = 0; i < n * m; ++i) {
        error[i] -= target[i];
    }
}

void forward(size_t n, size_t k, size_t h, size_t m, const double *x, const double *w1, const double *b1,
             const double *w2, const double *b2, const double *target, double *out, double *work)
{
    double *hidden = work, *error = hidden + n * h, sum = 0.0;
    run(n, k, h, m, x, w1, b1, w2, b2, target, hidden, error);
    for (size_t i = 0; i < n * m; ++i) {
        sum += error[i] * error[i];
    }
    *out = sum / (double)(n * m);
}

void backward(size_t n, size_t k, size_t h, size_t m, const double *x, const double *w1, const double *b1,
              const double *w2, const double *b2, const double *target, const double *grad_output, double *grad_w1,
              double *grad_b1, double *grad_w2, double *grad_b2, double *work)
{
    double *hidden = work, *error = hidden + n * h, *grad_hidden = error + n * m;
    run(n, k, h, m, x, w1, b1, w2, b2, target, hidden, error);
    for (size_t i = 0; i < n * m; ++i) {
        error[i] *= 2.0 * *grad_output / (double)(n * m);
    }
    product(TRANSPOSED, PLAIN, m, h, n, 1.0, error, hidden, 0.0, grad_w2);
    add_rows(n, m, error, grad_b2);
    product(PLAIN, PLAIN, n, h, m, 1.0, error, w2, 0.0, grad_hidden);
    for (size_t i = 0; i < n * h; ++i) {
        grad_hidden[i] = hidden[i] > 0.0 ? grad_hidden[i] : 0.0;
    }
    product(TRANSPOSED, PLAIN, h, k, n, 1.0, grad_hidden, x, 0.0, grad_w1);
    add_rows(n, h, grad_hidden, grad_b1);
}
