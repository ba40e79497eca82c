#include "floor.h"

void forward(size_t n, const double *x, const double *a, const double *b, const double *c, double *out, double *work)
{
    double scale = *a, shift = *b, rate = *c;
    (void)work;
#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        out[i] = tanh(scale * x[i] + shift) / (1.0 + exp(-rate * x[i]));
    }
}

void backward(size_t n, const double *x, const double *a, const double *b, const double *c, const double *grad_output,
              double *grad_x, double *grad_a, double *grad_b, double *grad_c, double *work)
{
    double scale = *a, shift = *b, rate = *c, of_scale = 0.0, of_shift = 0.0, of_rate = 0.0;
    (void)work;
#pragma omp simd reduction(+ : of_scale, of_shift, of_rate)
    for (size_t i = 0; i < n; ++i) {
        double tangent = tanh(scale * x[i] + shift), sigmoid = 1.0 / (1.0 + exp(-rate * x[i]));
        double inner = grad_output[i] * sigmoid * (1.0 - tangent * tangent);
        double outer = grad_output[i] * tangent * sigmoid * (1.0 - sigmoid);
        grad_x[i] = scale * inner + rate * outer;
        of_scale += inner * x[i];
        of_shift += inner;
        of_rate += outer * x[i];
    }
    *grad_a = of_scale;
    *grad_b = of_shift;
    *grad_c = of_rate;
}
