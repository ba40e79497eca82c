#include "floor.h"

enum { POINTS = 64 }; /* at a time: the innermost loops run over them */

/* Per component, exp(scale) on the diagonal and `factor` below it; z = lower * (x - mean) and the likelihood of 64
 * points, apart (d, 64), z (d, 64) and like (k, 64). */
static void likelihood(size_t d, size_t a, const double *alpha, const double *mean, const double *scale,
                       const double *factor, const double *diagonal, const double *x, double *apart, double *z,
                       double *like)
{
    double constant = alpha[a];
    for (size_t p = 0; p < POINTS; ++p) {
        like[p] = 0.0;
    }
    for (size_t i = 0; i < d; ++i) {
        constant += scale[a * d + i];
        for (size_t p = 0; p < POINTS; ++p) {
            apart[i * POINTS + p] = x[i * POINTS + p] - mean[a * d + i];
            z[i * POINTS + p] = diagonal[a * d + i] * apart[i * POINTS + p];
        }
        for (size_t j = 0; j < i; ++j) {
            double entry = factor[(a * d + i) * d + j];
            for (size_t p = 0; p < POINTS; ++p) {
                z[i * POINTS + p] += entry * apart[j * POINTS + p];
            }
        }
        for (size_t p = 0; p < POINTS; ++p) {
            like[p] += z[i * POINTS + p] * z[i * POINTS + p];
        }
    }
    for (size_t p = 0; p < POINTS; ++p) {
        like[p] = constant - 0.5 * like[p];
    }
}

/* x (d, 64) of the points from `first` on, 0 behind the last */
static void gather(size_t d, size_t n, size_t first, const double *points, double *x)
{
    for (size_t i = 0; i < d; ++i) {
        for (size_t p = 0; p < POINTS; ++p) {
            x[i * POINTS + p] = first + p < n ? points[(first + p) * d + i] : 0.0;
        }
    }
}

/* like (k, 64) becomes exp(like - most); the sums over k, and most */
static void exponentials(size_t k, double *like, double *sum, double *most)
{
    for (size_t p = 0; p < POINTS; ++p) {
        most[p] = like[p];
        sum[p] = 0.0;
    }
    for (size_t a = 1; a < k; ++a) {
        for (size_t p = 0; p < POINTS; ++p) {
            most[p] = like[a * POINTS + p] > most[p] ? like[a * POINTS + p] : most[p];
        }
    }
    for (size_t a = 0; a < k; ++a) {
        for (size_t p = 0; p < POINTS; ++p) {
            like[a * POINTS + p] = exp(like[a * POINTS + p] - most[p]);
            sum[p] += like[a * POINTS + p];
        }
    }
}

static double sum_exp(size_t k, const double *alpha, double most)
{
    double sum = 0.0;
    for (size_t a = 0; a < k; ++a) {
        sum += exp(alpha[a] - most);
    }
    return sum;
}

void forward(size_t d, size_t k, size_t n, const double *alpha, const double *mean, const double *scale,
             const double *factor, const double *points, double *out, double *work)
{
    double *diagonal = work, *x = diagonal + k * d, *apart = x + d * POINTS, *z = apart + d * POINTS;
    double *like = z + d * POINTS, *sum = like + k * POINTS, *most = sum + POINTS;
    double total = 0.0, prior = 0.0, most_alpha = largest(k, alpha);
    for (size_t i = 0; i < k * d; ++i) {
        diagonal[i] = exp(scale[i]);
        prior += diagonal[i] * diagonal[i];
        for (size_t j = 0; j < i % d; ++j) {
            prior += factor[i * d + j] * factor[i * d + j];
        }
    }
    for (size_t first = 0; first < n; first += POINTS) {
        gather(d, n, first, points, x);
        for (size_t a = 0; a < k; ++a) {
            likelihood(d, a, alpha, mean, scale, factor, diagonal, x, apart, z, like + a * POINTS);
        }
        exponentials(k, like, sum, most);
        for (size_t p = 0; p < POINTS; ++p) {
            sum[p] = log(sum[p]) + most[p];
        }
        for (size_t p = 0; p < POINTS && first + p < n; ++p) {
            total += sum[p];
        }
    }
    *out = total - (double)n * (log(sum_exp(k, alpha, most_alpha)) + most_alpha) + 0.5 * prior;
}

void backward(size_t d, size_t k, size_t n, const double *alpha, const double *mean, const double *scale,
              const double *factor, const double *points, const double *grad_output, double *grad_alpha,
              double *grad_mean, double *grad_scale, double *grad_factor, double *work)
{
    double *diagonal = work, *x = diagonal + k * d, *apart = x + d * POINTS, *z = apart + d * POINTS;
    double *like = z + d * POINTS, *sum = like + k * POINTS, *most = sum + POINTS;
    double grad = *grad_output, most_alpha = largest(k, alpha), sum_alpha = sum_exp(k, alpha, most_alpha);
    for (size_t a = 0; a < k; ++a) {
        grad_alpha[a] = -grad * (double)n * exp(alpha[a] - most_alpha) / sum_alpha;
    }
    for (size_t i = 0; i < k * d; ++i) {
        diagonal[i] = exp(scale[i]);
        grad_scale[i] = grad * diagonal[i] * diagonal[i];
        grad_mean[i] = 0.0;
        for (size_t j = 0; j < d; ++j) {
            grad_factor[i * d + j] = j < i % d ? grad * factor[i * d + j] : 0.0;
        }
    }
    for (size_t first = 0; first < n; first += POINTS) {
        gather(d, n, first, points, x);
        for (size_t a = 0; a < k; ++a) {
            likelihood(d, a, alpha, mean, scale, factor, diagonal, x, apart, z, like + a * POINTS);
        }
        exponentials(k, like, sum, most);
        for (size_t p = 0; p < POINTS; ++p) {
            sum[p] = first + p < n ? grad / sum[p] : 0.0;
        }
        for (size_t a = 0; a < k; ++a) {
            double *share = like + a * POINTS, all = 0.0;
            likelihood(d, a, alpha, mean, scale, factor, diagonal, x, apart, z, most); /* z and apart again */
            for (size_t p = 0; p < POINTS; ++p) {
                share[p] *= sum[p];
                all += share[p];
            }
            grad_alpha[a] += all;
            for (size_t i = 0; i < d; ++i) {
                double *of_z = z + i * POINTS, total = 0.0, own = 0.0;
                for (size_t p = 0; p < POINTS; ++p) {
                    of_z[p] *= share[p];
                    total += of_z[p];
                    own += of_z[p] * apart[i * POINTS + p];
                }
                grad_scale[a * d + i] += all - diagonal[a * d + i] * own;
                grad_mean[a * d + i] += diagonal[a * d + i] * total;
                for (size_t j = 0; j < i; ++j) {
                    double entry = 0.0;
                    for (size_t p = 0; p < POINTS; ++p) {
                        entry += of_z[p] * apart[j * POINTS + p];
                    }
                    grad_factor[(a * d + i) * d + j] -= entry;
                    grad_mean[a * d + j] += factor[(a * d + i) * d + j] * total;
                }
            }
        }
    }
}
