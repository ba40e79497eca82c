"""exp, tanh, sin and cos in C for loops: without calls and branches, so that a compiler makes vectors of the loops.

A call of the C library in a loop is made once for each element, unless the user asks for -ffast-math. These compute
several elements at once with `-O3 -fopenmp-simd`; they are as exact as a C library (the check executes their text:
symgrad.verify.approximations), and their values do not depend on the compiler's flags by more than a rounding.

exp(x) is 2**k exp(r) with k an integer and abs(r) at most log(2)/2. There exp(r) - 1 is r + r**2 p(r), with p the
polynomial that is off the least, relative to exp: 4e-18 in double precision, 4e-9 in single precision. The logarithm of
2 is taken in two parts of which the first, times k, is exact. What is beyond the range of the format is so by
arithmetic: 2**k in two factors overflows to infinity, or becomes small gradually.

sin and cos of x = k pi/2 + r are polynomials in r**2, of least error relative to the function, 4e-18 and 4e-9, where
pi/2 is taken in four parts, so short that k times each of the first three is exact. That holds up to an angle, `REACH`:
a loop over a batch counts those beyond it, and after it the points are computed one by one, if there are any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

LOOPS, BATCHES = "c loops", "c batches"  # where the row of an operator says what it is called in them
PREFIX = "vector_"  # of what a function of the file is called that calls one of these
INCLUDES = ("math.h", "stdint.h", "string.h")
NEEDS: Mapping[str, tuple[str, ...]] = {  # each after those that it calls
    "power_of_2": (),
    "nearest_integer": (),
    "as_number": (),
    "expm1_near_0": (),
    "vector_exp": ("power_of_2", "nearest_integer", "as_number", "expm1_near_0"),
    "vector_tanh": ("power_of_2", "nearest_integer", "as_number", "expm1_near_0"),
    "sin_in_quadrant": (),
    "vector_sin": ("nearest_integer", "as_number", "sin_in_quadrant"),
    "vector_cos": ("nearest_integer", "as_number", "sin_in_quadrant"),
}
REACH = {False: 10**6, True: 6000}  # of vector_sin and vector_cos in double and in single precision
_POWER = """\
/* 2**k, in the range of normal numbers; k modulo 4096 */
static inline $real $power_of_2($bits k)
{
    const $bits bits = (k + $bias) << $mantissa; /* the exponent comes first */
    $real power;
    memcpy(&power, &bits, sizeof power);
    return power;
}"""
_NEAREST = """\
/* the integer next to x, plus 2**$sign: the last bits of so large a sum */
static inline $bits $nearest_integer($real x)
{
    const $real sum = x + $integers;
    $bits bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits & $last_bits;
}"""
_NUMBER = """\
/* the integer that is k - 2**$sign */
static inline $real $as_number($bits k)
{
    const $bits bits = k | $first_bits;
    $real sum;
    memcpy(&sum, &bits, sizeof sum);
    return sum - $integers;
}"""
_EXPM1 = """\
/* exp(r) - 1 for abs(r) <= log(2)/2 */
static inline $real $expm1_near_0($real r)
{
$polynomial
    return r + r * r * p;
}"""
_EXP = """\
/* exp(x), without branches: a loop over it becomes vectors */
static inline $real $vector_exp($real x)
{
    const $real y = $fabs(x) > $most ? $copysign($most, x) : x;
    const $bits k = $nearest_integer(y * $per_log_2);
    const $real n = $as_number(k);
    const $real r = y - n * $log_2 - n * $rest_of_log_2;
    const $bits above = (k + 2048) & 4095; /* 2**k is taken in two factors */
    const $bits half = above / 2;
    const $real power = $power_of_2(half + 3072);
    return ($one + $expm1_near_0(r)) * power * $power_of_2(above - half + 3072);
}"""
_TANH = """\
/* tanh(x) by exp(-2 abs(x)) - 1, without branches: a loop over it becomes vectors */
static inline $real $vector_tanh($real x)
{
    const $real y = -$two * ($fabs(x) > $flat ? $flat : $fabs(x));
    const $bits k = $nearest_integer(y * $per_log_2);
    const $real n = $as_number(k);
    const $real r = y - n * $log_2 - n * $rest_of_log_2;
    const $real power = $power_of_2(k);
    const $real expm1_y = power * $expm1_near_0(r) + (power - $one);
    return $copysign(expm1_y / ($two + expm1_y), x);
}"""
_QUADRANT = """\
/* sin(r + k*pi/2) for abs(r) <= pi/4 */
static inline $real $sin_in_quadrant($real r, $bits k)
{
    const $real square = r * r;
$sine
$cosine
    const $real even = $one - square * ($half - square * c);
    const $real value = k & 1 ? even : r + r * square * s;
    return k & 2 ? -value : value;
}"""
_SIN = """\
/* $about(x) for abs(x) <= $reach, without branches: a loop over it becomes vectors */
static inline $real $function($real x)
{
    const $bits k = $nearest_integer(x * $per_quarter);
    const $real n = $as_number(k);
    const $real near = x - n * $quarter_1 - n * $quarter_2;
    const $real r = near - n * $quarter_3 - n * $quarter_4;
    return $sin_in_quadrant(r, $quadrant);
}"""
TEXTS: Mapping[str, str] = {
    "power_of_2": _POWER,
    "nearest_integer": _NEAREST,
    "as_number": _NUMBER,
    "expm1_near_0": _EXPM1,
    "vector_exp": _EXP,
    "vector_tanh": _TANH,
    "sin_in_quadrant": _QUADRANT,
    "vector_sin": _SIN.replace("$about", "sin").replace("$function", "$vector_sin").replace("$quadrant", "k"),
    "vector_cos": _SIN.replace("$about", "cos").replace("$function", "$vector_cos").replace("$quadrant", "k + 1"),
}
_DOUBLE = (
    2.511768168452415e-08, 2.763127597722752e-07, 2.7557216850752995e-06, 2.480148995563175e-05,
    0.00019841269916793565, 0.0013888888947002423, 0.008333333333307463, 0.041666666666515466, 0.166666666666667,
    0.5000000000000012,
)  # fmt: skip
_SINGLE = (0.0013950500454447928, 0.008368889311382584, 0.04166620566933433, 0.16666518840359235, 0.500000009521056)
_SINE = {
    False: (
        1.5896229838752536e-10, -2.5050747757540395e-08, 2.755731362135302e-06, -0.0001984126982958945,
        0.008333333333322118, -0.1666666666666663,
    ),
    True: (-0.00019515282503153314, 0.008332160756803497, -0.16666654609468035),
}  # fmt: skip
_COSINE = {
    False: (
        -1.1358536278934828e-11, 2.0875700837376007e-09, -2.755731417926353e-07, 2.4801587288851592e-05,
        -0.0013888888888873056, 0.041666666666666595,
    ),
    True: (2.443315631641456e-05, -0.001388731624799297, 0.041666645682847184),
}  # fmt: skip
_WORDS: Mapping[bool, Mapping[str, str]] = {  # of single or double precision
    False: {
        "bits": "uint64_t", "last_bits": "0xfffffffffffff", "first_bits": "0x4330000000000000", "bias": "1023",
        "mantissa": "52", "sign": "51", "integers": "6755399441055744.0",
        "most": "746.0", "flat": "20.0", "per_log_2": "1.4426950408889634", "log_2": "0.6931471803691238",
        "rest_of_log_2": "1.9082149292705877e-10", "one": "1.0", "two": "2.0", "half": "0.5", "fabs": "fabs",
        "copysign": "copysign",
        "per_quarter": "0.6366197723675814", "quarter_1": "1.5707963267341256", "quarter_2": "6.077100506303966e-11",
        "quarter_3": "2.0222662487111665e-21", "quarter_4": "8.4784276603689e-32",
    },
    True: {
        "bits": "uint32_t", "last_bits": "0x7fffff", "first_bits": "0x4b000000", "bias": "127", "mantissa": "23",
        "sign": "22", "integers": "12582912.0f", "most": "104.0f", "flat": "10.0f", "per_log_2": "1.44269504f",
        "log_2": "0.693145752f", "rest_of_log_2": "1.42860677e-6f", "one": "1.0f",
        "two": "2.0f", "half": "0.5f", "fabs": "fabsf", "copysign": "copysignf", "per_quarter": "0.636619747f",
        "quarter_1": "1.5703125f", "quarter_2": "0.0004837513f", "quarter_3": "7.5495336e-08f",
        "quarter_4": "2.563344e-12f",
    },
}  # fmt: skip


def words(single: bool) -> Mapping[str, str]:
    """What the texts leave open, but for names."""
    return {
        **_WORDS[single],
        "reach": str(REACH[single]),
        "polynomial": _horner("p", "r", _SINGLE if single else _DOUBLE, single),
        "sine": _horner("s", "square", _SINE[single], single),
        "cosine": _horner("c", "square", _COSINE[single], single),
    }


def _horner(name: str, of: str, coefficients: Sequence[float], single: bool) -> str:
    """The lines that compute a polynomial by Horner's rule."""
    real, end = ("float", "f") if single else ("double", "")
    first, *others = coefficients
    steps = [f"    {name} = {name} * {of} {'-' if c < 0 else '+'} {abs(c)!r}{end};" for c in others]
    return "\n".join([f"    {real} {name} = {first!r}{end};", *steps])


def needed(called: Iterable[str]) -> list[str]:
    """Those of the functions that are called, and those that they call, each after those that it calls itself."""
    called = set(called)
    called |= {other for word in called for other in NEEDS.get(word, ())}
    return [word for word in TEXTS if word in called]
