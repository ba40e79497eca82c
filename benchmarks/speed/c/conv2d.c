#include "floor.h"

/* 3x3, padding 1: the image is unfolded, columns (c*9, h*w), and multiplied */

static void unfold(size_t c, size_t h, size_t w, const double *x, double *columns)
{
    for (size_t tap = 0; tap < c * 9; ++tap, columns += h * w) {
        size_t up = tap % 9 / 3, left = tap % 3;
        const double *image = x + tap / 9 * h * w;
        for (size_t i = 0; i < h; ++i) {
            double *row = columns + i * w;
            if (i + up < 1 || i + up > h) {
                memset(row, 0, w * sizeof *row);
                continue;
            }
            const double *from = image + (i + up - 1) * w;
            size_t first = left == 0, end = left == 2 ? w - 1 : w;
            memcpy(row + first, from + (left == 2), (end - first) * sizeof *row);
            if (left == 0) {
                row[0] = 0.0;
            } else if (left == 2) {
                row[w - 1] = 0.0;
            }
        }
    }
}

static void fold(size_t c, size_t h, size_t w, const double *columns, double *x)
{
    memset(x, 0, c * h * w * sizeof *x);
    for (size_t tap = 0; tap < c * 9; ++tap, columns += h * w) {
        size_t up = tap % 9 / 3, left = tap % 3;
        double *image = x + tap / 9 * h * w;
        for (size_t i = up == 0; i < (up == 2 ? h - 1 : h); ++i) {
            size_t first = left == 0, end = left == 2 ? w - 1 : w;
            const double *row = columns + i * w + first;
            double *to = image + (i + up - 1) * w + (left == 2);
            for (size_t j = 0; j < end - first; ++j) {
                to[j] += row[j];
            }
        }
    }
}

void forward(size_t b, size_t c, size_t h, size_t w, size_t f, const double *x, const double *weight,
             const double *bias, double *out, double *work)
{
    for (size_t n = 0; n < b; ++n, x += c * h * w, out += f * h * w) {
        unfold(c, h, w, x, work);
        for (size_t i = 0; i < f * h * w; ++i) {
            out[i] = bias[i / (h * w)];
        }
        product(PLAIN, PLAIN, f, h * w, 9 * c, 1.0, weight, work, 1.0, out);
    }
}

void backward(size_t b, size_t c, size_t h, size_t w, size_t f, const double *x, const double *weight,
              const double *bias, const double *grad_output, double *grad_x, double *grad_weight, double *grad_bias,
              double *work)
{
    double *columns = work, *grad_columns = work + 9 * c * h * w;
    (void)bias;
    memset(grad_bias, 0, f * sizeof *grad_bias);
    for (size_t n = 0; n < b; ++n, x += c * h * w, grad_x += c * h * w, grad_output += f * h * w) {
        unfold(c, h, w, x, columns);
        product(PLAIN, TRANSPOSED, f, 9 * c, h * w, 1.0, grad_output, columns, n ? 1.0 : 0.0, grad_weight);
        product(TRANSPOSED, PLAIN, 9 * c, h * w, f, 1.0, weight, grad_output, 0.0, grad_columns);
        fold(c, h, w, grad_columns, grad_x);
        for (size_t k = 0; k < f; ++k) {
            double sum = 0.0;
            for (size_t i = 0; i < h * w; ++i) {
                sum += grad_output[k * h * w + i];
            }
            grad_bias[k] += sum;
        }
    }
}
