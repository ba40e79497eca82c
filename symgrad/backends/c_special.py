"""Special functions that C99 lacks, as functions of a printed file: written out for the numbers of double precision.

Each names the formula that it computes; DLMF is the Digital Library of Mathematical Functions of NIST. How exact they
are says `symgrad.verify.approximations`, which executes their text and compares it with mpmath. A file of floats has
them in double precision, too, and calls them by a function that rounds.
"""

from __future__ import annotations

_HURWITZ = """\
/* The sum of 1/(x + k)**s over k = 0, 1, 2, ...: the first terms, and of the others the integral
 * with the corrections of Euler and Maclaurin (DLMF 2.10.1). Where x is negative and s an
 * integer, the sum over all integers without those below x; the two next to x come first, as they
 * may cancel. */
static double $hurwitz(double s, double x)
{
    if (!(s > 1.0)) {
        return NAN;
    }
    if (x <= 0.0) {
        const double odd = fmod(s, 2.0);
        if (odd != 0.0 && odd != 1.0) {
            return NAN;
        }
        const double near = x - rint(x);
        const double two = pow(near, -s) + pow(near < 0.0 ? near + 1.0 : near - 1.0, -s);
        const double right = $hurwitz(s, near < 0.0 ? 2.0 + near : 1.0 + near);
        const double left = $hurwitz(s, near < 0.0 ? 1.0 - near : 2.0 - near);
        const double below = left - $hurwitz(s, 1.0 - x);
        return two + (odd == 0.0 ? right + below : right - below);
    }
    static const double c[10] = { /* B(2j)/(2j)! */
        1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0, -1.0 / 1209600.0, 1.0 / 47900160.0,
        -691.0 / 1307674368000.0, 1.0 / 74724249600.0, -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0, -174611.0 / 802857662698291200000.0
    };
    double sum = 0.0;
    double term = pow(x, -s);
    for (; x < 10.0 + s; term = pow(x, -s)) {
        if (term < 1e-19 * sum) {
            return sum;
        }
        sum += term;
        x += 1.0;
    }
    sum += pow(x, 1.0 - s) / (s - 1.0) + 0.5 * term;
    double factor = term * s / x;
    for (int j = 0; j < 10; ++j) {
        sum += c[j] * factor;
        factor *= (s + 2.0 * j + 1.0) / x * ((s + 2.0 * j + 2.0) / x);
    }
    return sum;
}"""
_ERFC_INVERSE = """\
/* The number with erfc(t) = q, for q from 0 to 1: Newton's steps for log(erfc(t)), beginning from
 * the formula of Winitzki (2008), which is off by 1/500. */
static double $erfc_inverse(double q)
{
    if (q == 0.0) {
        return INFINITY;
    }
    const double logarithm = log(q * (2.0 - q));
    const double middle = 2.0 / (0.147 * $pi) + 0.5 * logarithm;
    const double rest = -logarithm / 0.147;
    double t = sqrt(rest / (middle + sqrt(middle * middle + rest)));
    for (int step = 0; step < 4; ++step) {
        const double tail = erfc(t);
        t += log(tail / q) * (tail * exp(t * t)) * 0.886226925452758;
    }
    return t;
}"""
_ERFINV = """\
/* The number with erf(y) = x: up to 1/2 by steps of Halley, which begin from the first two terms
 * of the series (DLMF 7.17.2). */
static double $erfinv(double x)
{
    const double size = fabs(x);
    if (!(size <= 0.5)) {
        return copysign($erfc_inverse(1.0 - size), x);
    }
    double y = 0.886226925452758 * x * (1.0 + 0.2617993877991494 * (x * x));
    for (int step = 0; step < 2; ++step) {
        const double r = (erf(y) - x) * exp(y * y) * 0.886226925452758;
        y -= r / (1.0 + y * r);
    }
    return y;
}"""
_NDTRI = """\
/* The number below which the normal distribution has the part p. */
static double $ndtri(double p)
{
    return sqrt(2.0) * (p < 0.25 ? -$erfc_inverse(2.0 * p) : $erfinv(2.0 * p - 1.0));
}"""
_SCALED_BESSEL_I = """\
/* exp(-abs(x)) I(x) of order n, for x >= 0: by the power series (DLMF 10.25.2), from 20 on by the
 * asymptotic series (DLMF 10.40.1). No term of the first is negative. */
static double $scaled_bessel_i(int n, double x)
{
    double term = 1.0;
    double sum = 1.0;
    if (x >= 20.0) {
        for (int k = 1; fabs(term) > 1e-17; ++k) {
            const double odd = 2.0 * k - 1.0;
            term *= (odd * odd - 4.0 * n * n) / (8.0 * k * x);
            sum += term;
        }
        return sum / sqrt(2.0 * $pi * x);
    }
    for (int k = 1; term > 1e-17 * sum; ++k) {
        term *= 0.25 * x * x / ((double)k * (k + n));
        sum += term;
    }
    return exp(-x) * sum * (n ? 0.5 * x : 1.0);
}"""
_BESSEL = """\
/* The Bessel function J(x) of order n, 0 or 1, for x >= 0; Y(x) if it is the second. From 25 on by
 * the asymptotic series of Hankel (DLMF 10.17.3); before, all J(x) by their recurrence backwards
 * (Miller's algorithm), and Y(x) as a sum of them (DLMF 10.23.15 and the lines above). */
static double $bessel(int n, int second, double x)
{
    const double pi = $pi;
    if (isinf(x)) {
        return 0.0;
    }
    if (x >= 25.0) {
        double even = 0.0;
        double odd = 0.0;
        double term = 1.0;
        for (int k = 0; fabs(term) > 1e-17; ++k) {
            const double signed_term = k & 2 ? -term : term;
            even += k & 1 ? 0.0 : signed_term;
            odd += k & 1 ? signed_term : 0.0;
            term *= (4.0 * n * n - (2.0 * k + 1.0) * (2.0 * k + 1.0)) / (8.0 * (k + 1.0) * x);
        }
        const double sum = sin(x) + cos(x);
        const double apart = sin(x) - cos(x);
        const double cosine = n ? apart : sum; /* of x - (n/2 + 1/4)*pi, times the root of 2 */
        const double sine = n ? -sum : apart;
        const double found = second ? even * sine + odd * cosine : even * cosine - odd * sine;
        return found / sqrt(pi * x);
    }
    const double logarithm = log(x) - 0.11593151565841245; /* log(x/2) + Euler's constant */
    if (x < 1e-8) {
        const double first = n ? -2.0 / (pi * x) : 2.0 / pi * logarithm;
        return second ? first : n ? 0.5 * x : 1.0;
    }
    const int order = 20 + 2 * (int)x;
    double above = 0.0;
    double here = 1e-280;
    double all = 0.0;
    double sum = 0.0; /* of what Y(x) is made of */
    for (int k = order; k > 0; --k) {
        const int half = k / 2;
        const double signed_here = half & 1 ? -here : here;
        all += k & 1 ? 0.0 : 2.0 * here;
        if (n && k & 1 && k > 1) {
            sum += k / (double)(half * (half + 1)) * signed_here;
        }
        if (!n && !(k & 1)) {
            sum += 2.0 / half * signed_here;
        }
        const double below = 2.0 * k / x * here - above;
        above = here;
        here = below;
    }
    all += here; /* of order 0, and above of order 1 */
    if (!second) {
        return (n ? above : here) / all;
    }
    const double first = n ? (logarithm - 1.0) * above - here / x : logarithm * here;
    return 2.0 / pi * ((first - sum) / all);
}"""
_BESSEL_J = """\
/* The Bessel function J(x) of order $order. */
static double $name(double x)
{
    return $value;
}"""
_BESSEL_Y = """\
/* The Bessel function Y(x) of order $order. */
static double $name(double x)
{
    return x > 0.0 ? $bessel($order, 1, x) : x == 0.0 ? -1.0 / fabs(x) : (double)NAN;
}"""
_SCALED_BESSEL_K = """\
/* exp(x) K(x) of order n, 0 or 1, for x > 0: from 1 on the integral of
 * exp(x - x*cosh(t)) * cosh(n*t) over t from 0 to infinity (DLMF 10.32.9) by the trapezoidal rule,
 * which converges as an exponential and cancels nowhere; before, the series (DLMF 10.31.1). */
static double $scaled_bessel_k(int n, double x)
{
    double sum = 0.0;
    if (x >= 1.0) {
        const double step = fmin(0.2, 0.5 / sqrt(x));
        double term = 0.5;
        for (int k = 1; term > 1e-18; ++k) {
            sum += term;
            const double t = k * step;
            const double root = sinh(0.5 * t);
            term = exp(-2.0 * x * root * root) * (n ? cosh(t) : 1.0);
        }
        return step * sum;
    }
    const double logarithm = log(x) - 0.11593151565841245; /* log(x/2) + Euler's constant */
    double term = 1.0;
    double harmonic = n ? 0.5 : 0.0; /* half of 1 + 1/2 + ... of k and of k + n */
    for (int k = 1; term > 1e-18; ++k) {
        sum += term * (n ? 2.0 * (logarithm - harmonic) : harmonic - logarithm);
        term *= 0.25 * x * x / ((double)k * (k + n));
        harmonic += n ? 0.5 / k + 0.5 / (k + 1.0) : 1.0 / k;
    }
    return exp(x) * (n ? 1.0 / x + 0.25 * x * sum : sum);
}"""
_BESSEL_K = """\
/* $about. */
static double $name(double x)
{
    if (!(x > 0.0)) {
        return x == 0.0 ? (double)INFINITY : (double)NAN;
    }
    return $value;
}"""
_GAMMA_PREFACTOR = """\
/* x**a * exp(-x) / gamma(a + 1). From 30 on by the deviance a*(u - log(1 + u)), u = (x - a)/a, and
 * the series of Stirling (DLMF 5.11.1): nothing large cancels (Loader 2000). */
static double $gamma_prefactor(double a, double x)
{
    if (a < 30.0) {
        const double half = exp(-0.5 * x);
        return half > 0.0 ? half * (half * pow(x, a) / tgamma(a + 1.0)) : 0.0;
    }
    const double u = (x - a) / a;
    double apart = u - log(x / a);
    if (fabs(u) < 0.5) { /* by s = u/(2 + u): log(1 + u) is 2*(s + s**3/3 + ...) */
        const double s = u / (2.0 + u);
        double power = 2.0 * s * s * s;
        apart = s * u;
        for (int k = 3; fabs(power) > 1e-19 * fabs(apart); k += 2) {
            apart -= power / k;
            power *= s * s;
        }
    }
    const double square = 1.0 / (a * a);
    double rest = 1.0 / 1188.0 - 691.0 / 360360.0 * square;
    rest = 1.0 / 1680.0 - square * rest;
    rest = 1.0 / 1260.0 - square * rest;
    rest = 1.0 / 360.0 - square * rest;
    rest = (1.0 / 12.0 - square * rest) / a;
    return exp(-a * apart - rest) / sqrt(6.283185307179586 * a);
}"""
_INCOMPLETE_GAMMA = """\
/* The lower regularized incomplete gamma function, the upper one if asked for: by the series
 * (DLMF 8.11.4), where x is large by the continued fraction (DLMF 8.9.2). */
static double $incomplete_gamma(int upper, double a, double x)
{
    if (!(a > 0.0) || !(x >= 0.0)) {
        return NAN;
    }
    if (x == 0.0 || isinf(x)) {
        return (x == 0.0) == upper ? 1.0 : 0.0;
    }
    const double factor = $gamma_prefactor(a, x);
    if (x < fmax(a, 1.0)) {
        double sum = 1.0;
        double term = 1.0;
        for (double k = 1.0; term > 1e-17 * sum; k += 1.0) {
            term *= x / (a + k);
            sum += term;
        }
        return upper ? 1.0 - factor * sum : factor * sum;
    }
    double b = x + 1.0 - a; /* by the algorithm of Lentz */
    double c = 1e300;
    double d = 1.0 / b;
    double fraction = d;
    double change = 0.0;
    for (double k = 1.0; fabs(change - 1.0) > 1e-16 && k < 1e7; k += 1.0) {
        b += 2.0;
        d = 1.0 / (k * (a - k) * d + b);
        c = b + k * (a - k) / c;
        change = c * d;
        fraction *= change;
    }
    return upper ? factor * a * fraction : 1.0 - factor * a * fraction;
}"""
_GAMMAINC = """\
/* The $which regularized incomplete gamma function. */
static double $name(double a, double x)
{
    return $incomplete_gamma($upper, a, x);
}"""
_LAMBERTW = """\
/* The number w >= -1 with w*exp(w) = x. Near the branch point by steps of Newton for w + 1, where
 * e*x + 1 is the sum of (w + 1)**k * (k - 1)/k! from k = 2 on; from -1/4 on by steps of Halley
 * (Corless and others, 1996). */
static double $lambertw(double x)
{
    const double above = x + 0.36787944117144233 - 1.2428753672788363e-17; /* x + 1/e */
    if (!(above > 0.0) || isinf(x)) {
        return above > 0.0 ? x : (double)NAN;
    }
    if (x < -0.25) {
        const double power = 2.718281828459045 * above;
        const double root = sqrt(2.0 * power);
        double v = root * (1.0 - root * (1.0 / 3.0 - root * (11.0 / 72.0)));
        for (int step = 0; step < 4; ++step) {
            double sum = 0.0;
            double term = v;
            for (int k = 2; k < 24; ++k) {
                term *= v / k;
                sum += (k - 1.0) * term;
            }
            v -= (sum - power) * exp(-v) / v;
        }
        return v - 1.0;
    }
    const double logarithm = log1p(x);
    double w = logarithm * (1.0 - log1p(logarithm) / (2.0 + logarithm));
    for (int step = 0; step < 4; ++step) {
        const double apart = w - x * exp(-w);
        w -= apart / (w + 1.0 - 0.5 * (w + 2.0) * apart / (w + 1.0));
    }
    return w;
}"""
_SCALED = """\
/* exp(-abs(x)) I(x) of order $order. */
static double $name(double x)
{
    return $value;
}"""
_BESSEL_I = """\
/* The modified Bessel function I(x) of order $order. */
static double $name(double x)
{
    const double half = exp(0.5 * fabs(x));
    const double scaled = $scaled;
    return fabs(x) < 1400.0 ? half * (half * scaled) : $end;
}"""


def _of_order(text: str, **words: str) -> str:
    for word, value in words.items():
        text = text.replace(f"${word}", value)
    return text


_ODD = "copysign($scaled_bessel_i(1, fabs(x)), x)"
TEXTS: dict[str, str] = {  # each after those that it calls
    "hurwitz": _HURWITZ,
    "erfc_inverse": _ERFC_INVERSE,
    "erfinv": _ERFINV,
    "ndtri": _NDTRI,
    "scaled_bessel_i": _SCALED_BESSEL_I,
    "bessel_i0e": _of_order(_SCALED, order="0", name="$bessel_i0e", value="$scaled_bessel_i(0, fabs(x))"),
    "bessel_i1e": _of_order(_SCALED, order="1", name="$bessel_i1e", value=_ODD),
    "bessel": _BESSEL,
    "bessel_j0": _of_order(_BESSEL_J, order="0", name="$bessel_j0", value="$bessel(0, 0, fabs(x))"),
    "bessel_j1": _of_order(_BESSEL_J, order="1", name="$bessel_j1", value="copysign(1.0, x) * $bessel(1, 0, fabs(x))"),
    "bessel_y0": _of_order(_BESSEL_Y, order="0", name="$bessel_y0"),
    "bessel_y1": _of_order(_BESSEL_Y, order="1", name="$bessel_y1"),
    "scaled_bessel_k": _SCALED_BESSEL_K,
    **{
        f"bessel_k{n}{end}": _of_order(
            _BESSEL_K,
            about=f"{about} of order {n}",
            name=f"$bessel_k{n}{end}",
            value=f"{factor}$scaled_bessel_k({n}, x)",
        )
        for n in (0, 1)
        for end, about, factor in (
            ("", "The modified Bessel function K(x)", "exp(-x) * "),
            ("e", "exp(x) K(x)", ""),
        )
    },
    "gamma_prefactor": _GAMMA_PREFACTOR,
    "incomplete_gamma": _INCOMPLETE_GAMMA,
    "gammainc": _of_order(_GAMMAINC, which="lower", name="$gammainc", upper="0"),
    "gammaincc": _of_order(_GAMMAINC, which="upper", name="$gammaincc", upper="1"),
    "lambertw": _LAMBERTW,
    "bessel_i0": _of_order(_BESSEL_I, order="0", name="$bessel_i0", scaled="$scaled_bessel_i(0, fabs(x))", end="half"),
    "bessel_i1": _of_order(_BESSEL_I, order="1", name="$bessel_i1", scaled=_ODD, end="copysign(half, x)"),
}


def rounded(name: str, double: str, arity: int) -> str:
    """The function for floats that calls the one for doubles."""
    names = ("x", "y", "z")[:arity]
    given, cast = (", ".join(f"{kind}{n}" for n in names) for kind in ("float ", "(double)"))
    return f"/* The same, rounded. */\nstatic float {name}({given})\n{{\n    return (float){double}({cast});\n}}"
