#include "floor.h"

/* weights (n, n): softmax of the rows of q * k^T / sqrt(d) */
static void weigh(size_t n, size_t d, const double *q, const double *k, double *weights)
{
    product(PLAIN, TRANSPOSED, n, n, d, 1.0 / sqrt((double)d), q, k, 0.0, weights);
    for (size_t i = 0; i < n; ++i) {
        double *row = weights + i * n, most = largest(n, row), sum = 0.0;
        for (size_t j = 0; j < n; ++j) {
            row[j] = exp(row[j] - most);
            sum += row[j];
        }
        for (size_t j = 0; j < n; ++j) {
            row[j] *= 1.0 / sum;
        }
    }
}

void forward(size_t heads, size_t n, size_t d, const double *q, const double *k, const double *v, double *out,
             double *work)
{
    for (size_t place = 0; place < heads * n * d; place += n * d) {
        weigh(n, d, q + place, k + place, work);
        product(PLAIN, PLAIN, n, d, n, 1.0, work, v + place, 0.0, out + place);
    }
}

void backward(size_t heads, size_t n, size_t d, const double *q, const double *k, const double *v,
              const double *grad_output, double *grad_q, double *grad_k, double *grad_v, double *work)
{
    double *weights = work, *grad = work + n * n, scale = 1.0 / sqrt((double)d);
    for (size_t place = 0; place < heads * n * d; place += n * d) {
        weigh(n, d, q + place, k + place, weights);
        product(TRANSPOSED, PLAIN, n, d, n, 1.0, weights, grad_output + place, 0.0, grad_v + place);
        product(PLAIN, TRANSPOSED, n, n, d, 1.0, grad_output + place, v + place, 0.0, grad);
        for (size_t i = 0; i < n; ++i) {
            double along = 0.0;
            for (size_t j = 0; j < n; ++j) {
                along += grad[i * n + j] * weights[i * n + j];
            }
            for (size_t j = 0; j < n; ++j) {
                grad[i * n + j] = weights[i * n + j] * (grad[i * n + j] - along);
            }
        }
        product(PLAIN, PLAIN, n, d, n, scale, grad, k + place, 0.0, grad_q + place);
        product(TRANSPOSED, PLAIN, n, d, n, scale, grad, q + place, 0.0, grad_k + place);
    }
}
