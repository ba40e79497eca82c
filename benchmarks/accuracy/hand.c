/* The gradients of formulas.py as they are written by hand: C99 over libm, one function per partial derivative.
 *
 * Compiled once in double, and once with -DSINGLE in float: <tgmath.h> takes expf where a number is a float, and
 * constants are integers or named, so that nothing is promoted. The means are those of the trade: expm1, log1p, hypot;
 * a series where a singularity is removed; a small correction to a number that is exact, so that the last addition
 * rounds and little else does; products in an order that neither overflows nor underflows; powers of 2 taken out; and
 * the part of an argument of exp that rounding lost, put back by exp(x + r) = exp(x) + exp(x) r. No variable is
 * carried in two words; four constants are, where the last addition shows it.
 */

#include <stddef.h>
#include <string.h>
#include <tgmath.h>

#ifdef SINGLE
typedef float real;
#define LOG_MIN ((real)-87)
#define FAR ((real)18)
#else
typedef double real;
#define LOG_MIN ((real)-708) /* exp of less is subnormal */
#define FAR ((real)40)       /* 1 + exp(-FAR) is 1 */
#endif
#define ONE ((real)1)

/* Constants, and of some what their rounding lost. */
#define INV_E 0.367879441171442321595523770161460867L
#define SQRT_TWO_OVER_PI 0.797884560802865355879892119868763737L
static const real inv_e = (real)INV_E, inv_e_rest = (real)(INV_E - (real)INV_E);
static const real sqrt_two_over_pi = (real)SQRT_TWO_OVER_PI;
static const real sqrt_two_over_pi_rest = (real)(SQRT_TWO_OVER_PI - (real)SQRT_TWO_OVER_PI);
static const real three_fifths = (real)0.6L, three_fifths_rest = (real)(0.6L - (real)0.6L);
static const real third = (real)(1 / 3.0L), third_rest = (real)(1 / 3.0L - (real)(1 / 3.0L));
static const real sqrt_half = (real)0.707106781186547524400844362104849039L;
static const real two_over_sqrt_pi = (real)1.12837916709551257389615890312154517L;
static const real inv_sqrt_two_pi = (real)0.398942280401432677939946059934381868L;

/* scale * exp(x): exp is subnormal where the product is not, or overflows. */
static real times_exp(real scale, real x)
{
    if (fabs(x) < -LOG_MIN) {
        return scale * exp(x);
    }
    real root = exp(x / 2);
    return root == 0 ? 0 : scale * root * root;
}

/* exp(x - y) for x < y. */
static real exp_difference(real x, real y)
{
    real d = x - y, e = exp(d);
    real lost = fabs(x) > fabs(y) ? (x - d) - y : x - (y + d);
    return e + e * lost;
}

/* exp(x / a) for x < 0 < a. */
static real exp_quotient(real x, real a)
{
    real q = x / a, e = exp(q);
    return e == 0 ? 0 : e + e * (fma(-q, a, x) / a);
}

/* scale * exp(-x^2 / by), by = 1 or 2. */
static real gaussian(real scale, real x, int by)
{
    real square = x * x;
    if (square / by > -3 * LOG_MIN) {
        return 0;
    }
    real g = times_exp(scale, -square / by);
    return g - g * fma(x, x, -square) / by;
}

/* tanh, the continued fraction being a correction. */
static real hyperbolic_tangent(real x)
{
    real y = x * x, c = 0;
    if (y > 1) {
        return copysign(1 - 2 / (exp(2 * fabs(x)) + 1), x);
    }
    for (int k = 23; k > 1; k -= 2) {
        c = y / (k + c);
    }
    return x - x * (c / (1 + c));
}

/* 1/(1 + exp(-x)), where e = exp(-|x|). */
static real rise(real x, real e)
{
    if (fabs(x) < 1) {
        return (1 + hyperbolic_tangent(x / 2)) / 2;
    }
    real rest = e / (1 + e);
    return x > 0 ? 1 - rest : e - e * rest;
}

/* exp(-x)/(1 + exp(-x))^2, where e = exp(-|x|). */
static real bump(real x, real e)
{
    if (fabs(x) < 1) {
        real t = hyperbolic_tangent(x / 2);
        return (1 - t * t) / 4;
    }
    real square = e * (2 + e); /* (1 + e)^2 - 1 */
    return e - e * (square / (1 + square));
}

/* (exp(p) - 1 - p)/p^2 for 0 <= p < 3. */
static real second_remainder(real p)
{
    real s = 0;
    for (int k = 26; k > 2; --k) {
        s = p / k * (1 + s);
    }
    return (1 + s) / 2;
}

/* The three series with removed singularities at 0, of which this is the part behind the 1:
 * (sum of (-1)^k 2k t^(2k - 1)/(2k + m - 1)!) = -t/c (1 - remainder), for |t| < 3. */
static real remainder_of(real t, int m)
{
    real y = t * t, d = 0;
    for (int k = 16; k > 0; --k) {
        d = y * (k + 1) / (k * (2 * k + m) * (2 * k + m + 1)) * (1 - d);
    }
    return d;
}

/* x/sqrt(x^2 + y^2). */
static real leg(real x, real y)
{
    real h = hypot(x, y);
    if (fabs(x) > fabs(y)) {
        return copysign(1 - fabs(y) / h * (fabs(y) / (h + fabs(x))), x);
    }
    return h == 0 ? 0 : x / h;
}

/* The density of the normal distribution over its cdf. */
static real hazard(real x)
{
    if (x < -5) { /* the continued fraction of Mills' ratio */
        real r = -x;
        for (int k = 40; k > 0; --k) {
            r = k / r - x;
        }
        return r;
    }
    real z = x * sqrt_half;
    if (fabs(x) < 1) {
        real e = erf(z);
        return sqrt_two_over_pi - (sqrt_two_over_pi * ((e - expm1(-z * z)) / (1 + e)) - sqrt_two_over_pi_rest);
    }
    if (x > 0) {
        return gaussian(sqrt_two_over_pi, x, 2) / (1 + erf(z));
    }
    return gaussian(sqrt_two_over_pi, z, 1) / erfc(-z); /* both at the z that rounding gave */
}


/* saturation and overflow of exp */

static real sigmoid(real x)
{
    return bump(x, exp(-fabs(x)));
}

static real softplus(real x)
{
    return rise(x, exp(-fabs(x)));
}

static real log_sigmoid(real x)
{
    return rise(-x, exp(-fabs(x)));
}

static real silu(real x)
{
    if (fabs(x) < 1) {
        real t = hyperbolic_tangent(x / 2);
        return (1 + (t + x * (1 - t * t) / 2)) / 2;
    }
    real e = exp(-fabs(x)), square = (1 + e) * (1 + e);
    if (x > 0) {
        return e == 0 ? 1 : 1 + e * (x - 1 - e) / square;
    }
    return x < -FAR ? times_exp(1 + x, x) : e * ((1 + x) + e) / square;
}

static real mish(real x)
{
    if (fabs(x) < 1) { /* with m = exp(x) - 1 and u = m (4 + m), the tanh is (3 + u)/(5 + u) */
        real m = expm1(x), u = m * (4 + m), d = 5 + u;
        return three_fifths + ((2 * u / 5 + 4 * x * (1 + m) * (2 + m) / d) / d + three_fifths_rest);
    }
    real e = exp(-fabs(x));
    if (x > 0) { /* 1 - 2 e^2/d */
        real d = 1 + 2 * e * (1 + e);
        return e == 0 ? 1 : 1 + 2 * e * (e * (2 * x * (1 + e) - d) / (d * d));
    }
    if (x < -FAR) {
        return times_exp(1 + x, x);
    }
    real n = e * (2 + e), d = 2 + n; /* n/d */
    return e * ((2 + e) * d + 4 * x * (1 + e)) / (d * d);
}

static real tanh_(real x)
{
    if (fabs(x) < 1) {
        real t = hyperbolic_tangent(x);
        return 1 - t * t;
    }
    return 4 * bump(2 * x, exp(-2 * fabs(x)));
}

static real log_cosh(real x)
{
    return hyperbolic_tangent(x);
}

static real logsumexp2_x(real x, real y)
{
    return rise(x - y, x < y ? exp_difference(x, y) : exp_difference(y, x));
}

static real logsumexp2_y(real x, real y)
{
    return logsumexp2_x(y, x);
}

/* 1/(1 + exp(y - x) + exp(z - x)) */
static real logsumexp3_x(real x, real y, real z)
{
    real most = fmax(fmax(x, y), z), rest = 0;
    real base = most - x < ONE / 2 ? x : most;
    int ones = 0;
    real others[] = {x, y, z};
    for (int k = 0; k < 3; ++k) {
        real d = others[k] - base;
        if (fabs(d) < ONE / 2) {
            ++ones;
            rest += expm1(d);
        } else {
            rest += d > 0 ? exp(d) : exp_difference(others[k], base);
        }
    }
    real p = rest / (ones + rest);
    if (base == x) {
        return ones == 1 ? 1 - p : 1 / (ones + rest);
    }
    real e = exp_difference(x, base);
    return ones == 1 ? e - e * p : e / (ones + rest);
}

static real logsumexp3_y(real x, real y, real z)
{
    return logsumexp3_x(y, x, z);
}

static real logsumexp3_z(real x, real y, real z)
{
    return logsumexp3_x(z, x, y);
}

static real softmax_x(real x, real y)
{
    return bump(x - y, x < y ? exp_difference(x, y) : exp_difference(y, x));
}

static real softmax_y(real x, real y)
{
    return -softmax_x(x, y);
}

static real cross_entropy_x(real x, real t)
{
    real e = exp(-fabs(x)), rest = e / (1 + e);
    if (fabs(x) < 1) { /* the smaller two first */
        real h = hyperbolic_tangent(x / 2) / 2;
        return 4 * t < 1 ? ONE / 2 + (h - t) : (ONE / 2 - t) + h;
    }
    if (x > 0) {
        return 2 * t < 1 ? 1 - (rest + t) : (1 - t) - rest;
    }
    return (e - e * rest) - t;
}

static real cross_entropy_t(real x, real t)
{
    (void)t;
    return -x;
}

/* scale * factor * exp(-t)/(a + (1 - a) exp(-t))^2, by g = exp(-|t|); d is the denominator, over exp(-t) if t < 0. */
static real growth(real t, real a, real scale, real factor)
{
    real g = exp(-fabs(t)), m = expm1(-fabs(t)), d;
    if (2 * g > 1) {
        real shift = t > 0 ? (1 - a) * m : a * m, square = shift * (2 + shift);
        if (fabs(shift) < ONE / 4) {
            return scale * (1 - (square - m) / (1 + square)) * factor;
        }
        d = t > 0 ? 1 + shift : fma(a, m, ONE);
    } else {
        d = t > 0 ? fma(a, -m, g) : fma(a, g, 1 - a);
    }
    if (fabs(t) < -LOG_MIN) {
        return scale / d * (g / d) * factor;
    }
    real root = exp(-fabs(t) / 2);
    return scale / d * root * (factor / d * root);
}

static real logistic_growth_t(real t, real a)
{
    return a < (real)1e10 ? growth(t, a, fma(-a, a, a), 1) : growth(t, a, a, 1 - a);
}

static real logistic_growth_a(real t, real a)
{
    return growth(t, a, 1, 1);
}

static real log_one_minus_exp(real x)
{
    return x > FAR ? exp(-x) : 1 / expm1(x);
}

static real celu_x(real x, real a)
{
    return x > 0 ? 1 : exp_quotient(x, a);
}

static real celu_a(real x, real a)
{
    real p = -x / a, s = 0;
    if (x > 0) {
        return 0;
    }
    if (p > 3) {
        return p > 2 * FAR ? -1 : (1 + p) * exp(-p) - 1;
    }
    real square = fma(p, p, 2 * p * (fma(-p, a, -x) / a)); /* of the quotient before it was rounded */
    if (p > ONE / 2) {
        return -square * (exp(-p) * second_remainder(p));
    }
    for (int k = 16; k > 1; --k) { /* p^2/2 - p^3/3 + p^4/8 - ... */
        s = p * k / ((k - 1) * (k + 1)) * (1 - s);
    }
    return (square * s - square) / 2;
}

static real gelu(real x)
{
    if (x < -1) {
        return gaussian(inv_sqrt_two_pi * (x + 1 / hazard(x)), x, 2);
    }
    real steep = x * gaussian(inv_sqrt_two_pi, x, 2);
    if (x < 1) {
        return ONE / 2 + (erf(x * sqrt_half) / 2 + steep);
    }
    return 1 - (erfc(x * sqrt_half) / 2 - steep);
}

static real log_normal_cdf(real x)
{
    return hazard(x);
}

static real x_erfc(real x)
{
    real steep = gaussian(two_over_sqrt_pi * x, x, 1);
    if (fabs(x) < ONE / 2) {
        return 1 - (erf(x) + steep);
    }
    return erfc(x) - steep;
}


/* removable singularities */

static real sinc(real x)
{
    if (fabs(x) < 2) {
        return x / 3 * remainder_of(x, 2) - x / 3;
    }
    return (cos(x) - sin(x) / x) / x;
}

/* (sin u/u)^2/2 at u = t/2 */
static real versed(real t)
{
    if (fabs(t) < 2) {
        return t / 12 * remainder_of(t, 3) - t / 12;
    }
    return sin(t / 2) / t * sinc(t / 2);
}

static real sine_remainder(real t)
{
    if (fabs(t) < 3) {
        return t / 60 * remainder_of(t, 4) - t / 60;
    }
    return (3 * sin(t) / t - (2 + cos(t))) / t / t / t;
}

static real relative_exp(real x)
{
    if (x > FAR) {
        return times_exp((x - 1) / x / x, x);
    }
    if (x > 1) {
        return (1 + (x - 1) * exp(x)) / x / x;
    }
    if (x > -ONE / 2) { /* 1/2 + x/3 + x^2/8 + ... */
        real s = 0;
        for (int k = 18; k > 0; --k) {
            s = x * (k + 1) / (k * (k + 2)) * (1 + s);
        }
        return (1 + s) / 2;
    }
    return x > -3 ? exp(x) * second_remainder(-x) : (1 - (1 - x) * exp(x)) / x / x;
}

static real relative_log(real x)
{
    if (x < -ONE / 2 || x > 1) {
        return (x / (1 + x) - log1p(x)) / x / x;
    }
    /* log1p(x) = 2 atanh(s) */
    real s = x / (2 + x), y = s * s, u = x * (3 + x), a = 0;
    for (int k = 37; k > 1; k -= 2) {
        a = ONE / k + y * a;
    }
    return (u / (2 + u) / 2 - 2 * s / (2 + x) * a / (2 + x)) - ONE / 2;
}

static real planck(real x)
{
    real y = x * x;
    if (x > FAR) {
        return times_exp(y * (3 - x), -x);
    }
    if (8 * x < 1) {
        return 2 * x - y * ((real)3 / 2 - x * (ONE / 3 - y * (ONE / 120 - y * (ONE / 3780 - y / 120960))));
    }
    real b = x / expm1(x);
    return x * b * ((3 - x) - b);
}

static real bose_einstein(real x)
{
    real y = x * x;
    if (4 * x < 1) { /* without its pole */
        return ONE / 12 - y * (ONE / 240 - y * (ONE / 6048 - y * (ONE / 172800 - y / 5322240))) - 1 / y;
    }
    if (x > FAR) {
        return -exp(-x);
    }
    real e = expm1(x);
    return x > 2 ? ONE / 2 / (1 - cosh(x)) : -exp(x) / (e * e);
}

static real langevin(real x)
{
    real y = x * x, c = 0;
    if (fabs(x) > 2) {
        return fabs(x) > FAR ? 1 / x / x : 1 / y - 1 / (sinh(x) * sinh(x));
    }
    for (int k = 25; k > 3; k -= 2) { /* coth(x) = 1/x + x/(3 + c), and its slope is 1 - coth(x)^2 */
        c = y / (k + c);
    }
    return third - ((y - 2 * c - 2 * c * c / 3) / ((3 + c) * (3 + c)) - third_rest);
}

static real quaternion_log(real w)
{
    if (2 * w > 1) { /* asin(r)/(r sqrt(1 - r^2)) at r^2 = (1 - w)/2 */
        real z = (1 - w) / 2, s = 0;
        for (int k = 40; k > 0; --k) {
            s = z * (2 * k + 2) / (2 * k + 3) * ((real)(k + 1) / k) * (1 + s);
        }
        return -(1 + s) * 2 / 3;
    }
    real square = fma(-w, w, ONE);
    return 2 * (w * acos(w) / sqrt(square) - 1) / square;
}


/* differences that factor */

static real sqrt_difference(real x)
{
    real product = fma(x, x, x), square = 2 * x + 1 + 2 * sqrt(product); /* (sqrt(x) + sqrt(x + 1))^2 */
    return isfinite(product * square) ? -sqrt(1 / (product * square)) / 2 : -sqrt(1 / x) / x / 4;
}

static real reciprocal_difference(real x)
{
    if (10 * x < 1) {
        return 1 / (x * x) - 1 / ((x + 1) * (x + 1));
    }
    return (1 / x + 1 / (x + 1)) / fma(x, x, x);
}

/* (b^2 - 4 a c)/4^power, by Kahan's discriminant of numbers near 1. */
static real discriminant(real a, real b, real c, int *power)
{
    int of_a, of_b, of_c;
    real m = frexp(a, &of_a), n = frexp(c, &of_c);
    frexp(b, &of_b);
    int both = of_a + of_c, half = both >= 0 ? (both + 1) / 2 : both / 2;
    *power = of_b > half ? of_b : half;
    real p = scalbn(b, -*power), q = scalbn(n, both - 2 * *power), w = 4 * m * q;
    return fma(p, p, -w) + fma(-4 * m, q, w);
}

static real quadratic_sqrt(real a, real b, real c)
{
    int power;
    real root = sqrt(discriminant(a, b, c, &power));
    return scalbn(root, power);
}

static real quadratic_c(real a, real b, real c)
{
    int power;
    real root = sqrt(1 / discriminant(a, b, c, &power));
    return -scalbn(root, -power);
}

static real quadratic_b(real a, real b, real c)
{
    real s = quadratic_sqrt(a, b, c);
    return 2 * b > s ? 2 * c / (b + s) / s : -(1 - b / s) / (2 * a);
}

static real quadratic_a(real a, real b, real c)
{
    real s = quadratic_sqrt(a, b, c);
    real root = b > 0 ? -2 * c / (b + s) : (s - b) / (2 * a);
    if (4 * fabs(b) < s) { /* a root^2 = -b root - c */
        return fma(b, root, c) / s / a;
    }
    return root * quadratic_b(a, b, c);
}

/* a - b cos(t) */
static real cosine_leg(real a, real b, real t)
{
    real h = sin(t / 2);
    return fabs(t) < 1 && 2 * a > b ? fma(2 * b * h, h, a - b) : fma(-b, cos(t), a);
}

static real law_of_cosines_a(real a, real b, real t)
{
    return leg(cosine_leg(a, b, t), b * sin(t));
}

static real law_of_cosines_b(real a, real b, real t)
{
    return law_of_cosines_a(b, a, t);
}

static real law_of_cosines_t(real a, real b, real t)
{
    real small = fmin(a, b), large = fmax(a, b), side = small * sin(t);
    real h = hypot(cosine_leg(large, small, t), side);
    if (4 * small < large) {
        return side + side * (small / h * ((2 * large * cos(t) - small) / (large + h)));
    }
    return side * (large / h);
}

/* cos(a) sin(b) - sin(a) cos(b) cos(d) */
static real circle_leg(real a, real b, real d)
{
    real first = cos(a) * sin(b), second = sin(a) * cos(b), c = cos(d);
    real ratio = first / (second * c);
    if (!(2 * ratio > 1 && ratio < 2 && 2 * fabs(c) > 1)) {
        return fma(-second, c, first);
    }
    if (c > 0) {
        return fma(2 * second * sin(d / 2), sin(d / 2), sin(b - a));
    }
    return fma(-2 * second * cos(d / 2), cos(d / 2), sin(a + b));
}

static real great_circle_a(real a, real b, real d)
{
    return -leg(circle_leg(a, b, d), cos(b) * sin(d));
}

static real great_circle_b(real a, real b, real d)
{
    return great_circle_a(b, a, d);
}

static real great_circle_d(real a, real b, real d)
{
    return cos(a) * leg(cos(b) * sin(d), circle_leg(a, b, d));
}

static real acos_(real x)
{
    return -sqrt(1 / fma(-x, x, ONE));
}

static real logit(real p)
{
    return 1 / fma(-p, p, p);
}

static real coin_entropy(real p)
{
    if (4 * p > 1 && 4 * p < 3) { /* 1 - 2 p is exact */
        return 2 * p < 1 ? log1p((1 - 2 * p) / p) : -log1p((2 * p - 1) / (1 - p));
    }
    return log((1 - p) / p);
}

static real coins_p(real p, real q)
{
    real ratio = p / q * ((1 - q) / (1 - p));
    if (2 * ratio > 1 && ratio < 2) {
        return log1p((p - q) / (q * (1 - p)));
    }
    return isnormal(ratio) ? log(ratio) : log(p / q) - log((1 - p) / (1 - q));
}

static real coins_q(real p, real q)
{
    return (q - p) / q / (1 - q);
}


/* norms, angles and quotients */

static real hypot_x(real x, real y)
{
    return leg(x, y);
}

static real hypot_y(real x, real y)
{
    return leg(y, x);
}

static real norm3_x(real x, real y, real z)
{
    return leg(x, hypot(y, z));
}

static real norm3_y(real x, real y, real z)
{
    return leg(y, hypot(x, z));
}

static real norm3_z(real x, real y, real z)
{
    return leg(z, hypot(x, y));
}

/* scale/(1 + q^2)^(3/2) for |q| <= 1 */
static real over_cube(real scale, real q)
{
    return scale + scale * expm1(-3 * log1p(q * q) / 2);
}

static real unit_vector_x(real x, real y)
{
    if (fabs(x) < fabs(y)) {
        return over_cube(1 / fabs(y), x / y);
    }
    int power;
    real m = frexp(fabs(x), &power), n = scalbn(y, -power);
    return over_cube(scalbn(n / (m * m * m), -power) * n, y / x);
}

static real unit_vector_y(real x, real y)
{
    real q = fabs(x) < fabs(y) ? x / y : y / x;
    return over_cube(-q / fmax(fabs(x), fabs(y)), q);
}

/* a/(a^2 + b^2) */
static real over_square(real a, real b)
{
    return fabs(a) > fabs(b) ? 1 / (a + b * (b / a)) : a / b / (b + a * (a / b));
}

static real angle_y(real y, real x)
{
    return over_square(x, y);
}

static real angle_x(real y, real x)
{
    return -over_square(y, x);
}

/* y (u y - v x)/(5 (x^2 + y^2)^(3/2)), where the difference is rounded once. */
static real similarity(real x, real y, int u, int v, real difference)
{
    real q = fabs(x) < fabs(y) ? x / y : y / x;
    real slope = fabs(x) < fabs(y) ? u - v * q : q * (u * q - v);
    if (fabs(difference) < fmax(fabs(x), fabs(y))) {
        slope = fabs(x) < fabs(y) ? difference / y : difference / x * q;
    }
    return over_cube(slope / (5 * fmax(fabs(x), fabs(y))), q);
}

static real cosine_similarity_x(real x, real y)
{
    return similarity(x, y, 3, 4, fma((real)3, y, -4 * x));
}

static real cosine_similarity_y(real x, real y)
{
    return similarity(y, x, 4, 3, fma((real)-3, y, 4 * x));
}

static real softsign(real x)
{
    real a = fabs(x), more = a * (2 + a); /* (1 + a)^2 - 1 */
    if (a > 1) {
        return isfinite(more) ? 1 / fma(a, a, 2 * a + 1) : 1 / a / a;
    }
    return 1 - more / (1 + more);
}

static real x_log_x(real x)
{
    real d = (x - inv_e) - inv_e_rest;
    return 8 * fabs(d) < 1 ? log1p(d / inv_e) : log(x) + 1;
}

/* scale * x^n/(1 + x^n)^2 / by */
static real hill(real x, real n, real scale, real by)
{
    real t = n * log(x), down = t > 0 ? -n : n;
    if (fabs(t) < 1) {
        return scale * bump(t, 1) / by;
    }
    if (fabs(t) < -LOG_MIN) {
        return scale * bump(t, pow(x, down)) / by;
    }
    real root = pow(x, down / 2);
    return root == 0 ? 0 : scale * root / by * root;
}

static real hill_x(real x, real n)
{
    return hill(x, n, n, x);
}

static real hill_n(real x, real n)
{
    return hill(x, n, log(x), 1);
}

/* a/(a + b)^2 */
static real over_sum_square(real a, real b)
{
    return a > b ? 1 / (a + b * (2 + b / a)) : a / b / (b + a * (2 + a / b));
}

static real michaelis_menten_s(real s, real k)
{
    return over_sum_square(k, s);
}

static real michaelis_menten_k(real s, real k)
{
    return -over_sum_square(s, k);
}

static real log_ratio(real s, real k)
{
    real q = s / k;
    if (2 * q > 1 && q < 2) {
        return log1p((s - k) / k);
    }
    return isnormal(q) ? log(q) : log(s) - log(k);
}

/* scale * exp(-(log(s/k)/v)^2/2 - v^2/8)/sqrt(2 pi): the density at d1 with scale sqrt(k/s), at d2 with sqrt(s/k). */
static real lognormal(real scale, real s, real k, real v)
{
    real ratio = s / k, l = log(ratio), lost = fma(-ratio, k, s) / s;
    if (!isnormal(ratio)) {
        l = log(s) - log(k);
        lost = 0;
    }
    real q = l / v, g = gaussian(gaussian(scale * inv_sqrt_two_pi, v / 2, 2), q, 2);
    return g == 0 ? 0 : g - g * (q * ((fma(-q, v, l) + lost) / v));
}

static real black_scholes_s(real s, real k, real v)
{
    real d = log_ratio(s, k) / v + v / 2;
    return d > -1 ? erfc(-d * sqrt_half) / 2 : lognormal(sqrt(k) / sqrt(s), s, k, v) / hazard(d);
}

static real black_scholes_k(real s, real k, real v)
{
    real d = log_ratio(s, k) / v - v / 2;
    return -(d > -1 ? erfc(-d * sqrt_half) / 2 : lognormal(sqrt(s) / sqrt(k), s, k, v) / hazard(d));
}

static real black_scholes_v(real s, real k, real v)
{
    return lognormal(sqrt(s) * sqrt(k), s, k, v);
}

/* 24 (2 u^12 - u^6) s^i/r^j at u = s/r, powers of 2 apart. */
static real lennard_jones(real s, real r, int i, int j)
{
    int of_s, of_r;
    real m = frexp(s, &of_s), n = frexp(r, &of_r), u = pow(m, (real)6) / pow(n, (real)6);
    int six = 6 * (of_s - of_r), rest = i * of_s - j * of_r;
    if (s < r) {
        real slope = 24 * pow(m, (real)(6 + i)) / pow(n, (real)(6 + j));
        return scalbn(slope, six + rest) * (2 * scalbn(u, six) - 1);
    }
    real slope = 24 * (2 - scalbn(1 / u, -six)) * pow(m, (real)(12 + i)) / pow(n, (real)(12 + j));
    return scalbn(slope, 2 * six + rest);
}

static real lennard_jones_r(real r, real s)
{
    return -lennard_jones(s, r, 0, 1);
}

static real lennard_jones_s(real r, real s)
{
    return lennard_jones(s, r, -1, 0);
}


static const struct {
    const char *name;
    real (*of_1)(real);
    real (*of_2[2])(real, real);
    real (*of_3[3])(real, real, real);
} table[] = {
    {"sigmoid", .of_1 = sigmoid},
    {"softplus", .of_1 = softplus},
    {"log sigmoid", .of_1 = log_sigmoid},
    {"silu", .of_1 = silu},
    {"mish", .of_1 = mish},
    {"tanh", .of_1 = tanh_},
    {"log cosh", .of_1 = log_cosh},
    {"logsumexp of 2", .of_2 = {logsumexp2_x, logsumexp2_y}},
    {"logsumexp of 3", .of_3 = {logsumexp3_x, logsumexp3_y, logsumexp3_z}},
    {"softmax of 2", .of_2 = {softmax_x, softmax_y}},
    {"cross entropy of logits", .of_2 = {cross_entropy_x, cross_entropy_t}},
    {"logistic growth", .of_2 = {logistic_growth_t, logistic_growth_a}},
    {"log(1 - exp(-x))", .of_1 = log_one_minus_exp},
    {"celu", .of_2 = {celu_x, celu_a}},
    {"gelu", .of_1 = gelu},
    {"log of the normal cdf", .of_1 = log_normal_cdf},
    {"x erfc(x)", .of_1 = x_erfc},
    {"sinc", .of_1 = sinc},
    {"(1 - cos t)/t^2", .of_1 = versed},
    {"(t - sin t)/t^3", .of_1 = sine_remainder},
    {"(e^x - 1)/x", .of_1 = relative_exp},
    {"log(1 + x)/x", .of_1 = relative_log},
    {"Planck's law", .of_1 = planck},
    {"Bose-Einstein", .of_1 = bose_einstein},
    {"Langevin", .of_1 = langevin},
    {"quaternion log", .of_1 = quaternion_log},
    {"sqrt(x + 1) - sqrt(x)", .of_1 = sqrt_difference},
    {"1/(x + 1) - 1/x", .of_1 = reciprocal_difference},
    {"quadratic root", .of_3 = {quadratic_a, quadratic_b, quadratic_c}},
    {"law of cosines", .of_3 = {law_of_cosines_a, law_of_cosines_b, law_of_cosines_t}},
    {"great circle", .of_3 = {great_circle_a, great_circle_b, great_circle_d}},
    {"acos", .of_1 = acos_},
    {"logit", .of_1 = logit},
    {"entropy of a coin", .of_1 = coin_entropy},
    {"KL of two coins", .of_2 = {coins_p, coins_q}},
    {"hypot", .of_2 = {hypot_x, hypot_y}},
    {"norm of 3", .of_3 = {norm3_x, norm3_y, norm3_z}},
    {"unit vector", .of_2 = {unit_vector_x, unit_vector_y}},
    {"angle", .of_2 = {angle_y, angle_x}},
    {"cosine similarity", .of_2 = {cosine_similarity_x, cosine_similarity_y}},
    {"softsign", .of_1 = softsign},
    {"x log x", .of_1 = x_log_x},
    {"hill", .of_2 = {hill_x, hill_n}},
    {"Michaelis-Menten", .of_2 = {michaelis_menten_s, michaelis_menten_k}},
    {"Black-Scholes call", .of_3 = {black_scholes_s, black_scholes_k, black_scholes_v}},
    {"Lennard-Jones", .of_2 = {lennard_jones_r, lennard_jones_s}},
};

/* x and out have a row per point, a column per argument. Returns 0, or 1 if there is no such formula. */
int gradient(const char *name, size_t points, const real *x, real *out)
{
    for (size_t row = 0; row < sizeof table / sizeof *table; ++row) {
        if (strcmp(table[row].name, name)) {
            continue;
        }
        for (size_t i = 0; i < points; ++i) {
            if (table[row].of_1) {
                out[i] = table[row].of_1(x[i]);
            } else if (table[row].of_2[0]) {
                for (int k = 0; k < 2; ++k) {
                    out[2 * i + k] = table[row].of_2[k](x[2 * i], x[2 * i + 1]);
                }
            } else {
                for (int k = 0; k < 3; ++k) {
                    out[3 * i + k] = table[row].of_3[k](x[3 * i], x[3 * i + 1], x[3 * i + 2]);
                }
            }
        }
        return 0;
    }
    return 1;
}
