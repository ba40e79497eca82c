/* A number, or the numbers of as many points as a vector has places (BATCH). */
#include <math.h>
#include <stddef.h>
#include <string.h>

#ifndef BATCH
typedef double real;
#define LANES 1
#define SIN sin
#define COS cos
#define SQRT sqrt
#else
#ifdef __AVX512F__
#define LANES 8
#define OF_VECTORS(f) _ZGVeN8v_##f /* glibc's functions for vectors, by the names of their ABI */
#elif defined __AVX2__
#define LANES 4
#define OF_VECTORS(f) _ZGVdN4v_##f
#elif defined __x86_64__
#define LANES 2
#define OF_VECTORS(f) _ZGVbN2v_##f
#else
#define LANES 2
#endif
typedef double real __attribute__((vector_size(8 * LANES)));
#ifdef OF_VECTORS
real OF_VECTORS(sin)(real);
real OF_VECTORS(cos)(real);
#define SIN OF_VECTORS(sin)
#define COS OF_VECTORS(cos)
#else
static inline real SIN(real x)
{
    for (int k = 0; k < LANES; ++k) { x[k] = sin(x[k]); }
    return x;
}
static inline real COS(real x)
{
    for (int k = 0; k < LANES; ++k) { x[k] = cos(x[k]); }
    return x;
}
#endif
static inline real SQRT(real x)
{
    for (int k = 0; k < LANES; ++k) { x[k] = sqrt(x[k]); }
    return x;
}
#endif

static inline real dot(const real *a, const real *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void cross(const real *a, const real *b, real *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
