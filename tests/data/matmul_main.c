#include <stdio.h>

#include "matmul.h"

int main(void)
{
    const double x[2 * 3] = {1, 1, 1, 1, 1, 1};
    const double a[3 * 4] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const double grad_output[2 * 4] = {1, 2, 3, 4, 5, 6, 7, 8};
    double grad_x[2 * 3];

    matmul_backward(2, 3, 4, x, a, grad_output, grad_x, NULL);
    printf("%g %g\n", grad_x[0], grad_x[5]);
    return 0;
}
