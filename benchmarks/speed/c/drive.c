/* Point after point through a pointer, as a solver calls: x (n, inputs), v and y (n, outputs), g (n, gradients). */
#include <stddef.h>

void drive_forward(void (*f)(const double *, double *), size_t n, const double *x, size_t inputs, double *y,
                   size_t outputs)
{
    for (size_t i = 0; i < n; ++i) {
        f(x + i * inputs, y + i * outputs);
    }
}

void drive_backward(void (*f)(const double *, const double *, double *), size_t n, const double *x, size_t inputs,
                    const double *v, size_t outputs, double *g, size_t gradients)
{
    for (size_t i = 0; i < n; ++i) {
        f(x + i * inputs, v + i * outputs, g + i * gradients);
    }
}

void drive_jacobian(void (*f)(const double *, double *, double *), size_t n, const double *x, size_t inputs, double *y,
                    size_t outputs, double *g, size_t gradients)
{
    for (size_t i = 0; i < n; ++i) {
        f(x + i * inputs, y + i * outputs, g + i * outputs * gradients);
    }
}
