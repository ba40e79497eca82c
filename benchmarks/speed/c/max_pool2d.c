#include "floor.h"

/* windows of 2x2, which do not overlap: the first of the largest has the gradient */

void forward(size_t b, size_t c, size_t h, size_t w, const double *x, double *out, double *work)
{
    (void)work;
    for (size_t i = 0; i < b * c * (h / 2); ++i, x += 2 * w, out += w / 2) {
        for (size_t j = 0; j < w / 2; ++j) {
            double top = x[2 * j] > x[2 * j + 1] ? x[2 * j] : x[2 * j + 1];
            double low = x[w + 2 * j] > x[w + 2 * j + 1] ? x[w + 2 * j] : x[w + 2 * j + 1];
            out[j] = top > low ? top : low;
        }
    }
}

void backward(size_t b, size_t c, size_t h, size_t w, const double *x, const double *grad_output, double *grad_x,
              double *work)
{
    (void)work;
    for (size_t i = 0; i < b * c * (h / 2); ++i, x += 2 * w, grad_x += 2 * w, grad_output += w / 2) {
        for (size_t j = 0; j < w / 2; ++j) {
            const double *upper = x + 2 * j, *lower = upper + w;
            double top = upper[0] >= upper[1] ? upper[0] : upper[1], low = lower[0] >= lower[1] ? lower[0] : lower[1];
            double of_top = top >= low ? grad_output[j] : 0.0, of_low = top >= low ? 0.0 : grad_output[j];
            grad_x[2 * j] = upper[0] >= upper[1] ? of_top : 0.0;
            grad_x[2 * j + 1] = upper[0] >= upper[1] ? 0.0 : of_top;
            grad_x[w + 2 * j] = lower[0] >= lower[1] ? of_low : 0.0;
            grad_x[w + 2 * j + 1] = lower[0] >= lower[1] ? 0.0 : of_low;
        }
    }
}
