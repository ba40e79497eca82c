#include "floor.h"

static inline void moments(size_t d, const double *x, double *mean, double *scale)
{
    double sum = 0.0, squares = 0.0;
    for (size_t j = 0; j < d; ++j) {
        sum += x[j];
    }
    *mean = sum / (double)d;
    for (size_t j = 0; j < d; ++j) {
        squares += (x[j] - *mean) * (x[j] - *mean);
    }
    *scale = 1.0 / sqrt(squares / (double)d + 1e-5);
}

void forward(size_t n, size_t d, const double *x, const double *weight, const double *bias, double *out, double *work)
{
    (void)work;
    for (size_t i = 0; i < n; ++i, x += d, out += d) {
        double mean, scale;
        moments(d, x, &mean, &scale);
        for (size_t j = 0; j < d; ++j) {
            out[j] = (x[j] - mean) * scale * weight[j] + bias[j];
        }
    }
}

void backward(size_t n, size_t d, const double *x, const double *weight, const double *bias, const double *grad_output,
              double *grad_x, double *restrict grad_weight, double *restrict grad_bias, double *work)
{
    (void)bias;
    (void)work;
    memset(grad_weight, 0, d * sizeof *grad_weight);
    memset(grad_bias, 0, d * sizeof *grad_bias);
    for (size_t i = 0; i < n; ++i, x += d, grad_output += d, grad_x += d) {
        double mean, scale, sum = 0.0, along = 0.0;
        moments(d, x, &mean, &scale);
        for (size_t j = 0; j < d; ++j) {
            double xhat = (x[j] - mean) * scale, grad = grad_output[j] * weight[j];
            sum += grad;
            along += grad * xhat;
            grad_weight[j] += grad_output[j] * xhat;
            grad_bias[j] += grad_output[j];
        }
        sum /= (double)d;
        along /= (double)d;
        for (size_t j = 0; j < d; ++j) {
            grad_x[j] = scale * (grad_output[j] * weight[j] - sum - (x[j] - mean) * scale * along);
        }
    }
}
