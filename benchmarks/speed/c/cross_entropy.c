#include "floor.h"

void forward(size_t n, size_t c, const double *logits, const int64_t *target, double *out, double *work)
{
    double loss = 0.0;
    (void)work;
    for (size_t i = 0; i < n; ++i) {
        const double *row = logits + i * c;
        double most = largest(c, row), sum = 0.0;
        for (size_t j = 0; j < c; ++j) {
            sum += exp(row[j] - most);
        }
        loss += log(sum) + most - row[target[i]];
    }
    *out = loss / (double)n;
}

void backward(size_t n, size_t c, const double *logits, const int64_t *target, const double *grad_output,
              double *grad_logits, double *work)
{
    double scale = *grad_output / (double)n;
    (void)work;
    for (size_t i = 0; i < n; ++i) {
        const double *row = logits + i * c;
        double *grad = grad_logits + i * c;
        double most = largest(c, row), sum = 0.0;
        for (size_t j = 0; j < c; ++j) {
            grad[j] = exp(row[j] - most);
            sum += grad[j];
        }
        for (size_t j = 0; j < c; ++j) {
            grad[j] *= scale / sum;
        }
        grad[target[i]] -= scale;
    }
}
