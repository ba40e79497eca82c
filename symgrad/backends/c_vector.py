"""Functions of math.h for loops in C: without calls and branches, so that a compiler makes vectors of the loops.

A call of the C library in a loop is made once for each element, unless the user asks for -ffast-math. These compute
several elements at once with `-O3 -fopenmp-simd`; they are as exact as a C library (the check executes their text:
symgrad.verify.approximations), and their values do not depend on -O0 to -O3 and -march by more than a rounding.
-ffast-math reorders what they are made of, and takes half of their digits near 0 and at large arguments.

exp(x) is 2**k exp(r) with k an integer and abs(r) at most log(2)/2. There exp(r) - 1 is r + r**2 p(r), with p the
polynomial that is off the least, relative to exp: 4e-18 in double precision, 4e-9 in single precision. The logarithm of
2 is taken in two parts of which the first, times k, is exact. What is beyond the range of the format is so by
arithmetic: 2**k in two factors, one of them large or small, overflows to infinity, or becomes small gradually. tanh
takes the steps of exp(-abs(2 x)) one by one, so that a compiler finds them equal where its slope has that exponential.

sin and cos of x = k pi/2 + r are polynomials in r**2, of least error relative to the function, 4e-18 and 4e-9, where
pi/2 is taken in four parts, so short that k times each of the first three is exact. That holds up to an angle, `REACH`:
a loop over a batch counts those beyond it, and after it the points are computed one by one, if there are any.

log of x = 2**n (1 + f) is n log(2) + f - f**2/2 + s (f**2/2 + s**2 p(s**2)), where s is f/(2 + f), with p of least
error relative to log, 1e-18 and 5e-12; log1p adds what was rounded off of 1 + x. erfc is exp(-x**2) times the
polynomial of erfcx, ndtr is half of erfc with exp(-x**2/2): a compiler finds that one in a slope, too. The exponent
-x**2 is a sum of two numbers: -coarse**2 is exact, as coarse has few digits, and the rest is small. What their sum is
rounded by is so small, too, that its exponential is 1 + lost.

A choice is one of two numbers that are there, such as x and copysign(746, x), not of two operations: those a compiler
computes only where they are chosen, or one of them for a constant, and makes no vector of what depends on that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ops import OPS, Polynomial

LOOPS, BATCHES = "c loops", "c batches"  # where the row of an operator says what it is called in them
PREFIX = "vector_"  # of what a function of the file is called that calls one of these
INCLUDES = ("math.h", "stdint.h", "string.h")
_REACH = {False: 10**6, True: 6000}  # in double and in single precision
REACH = {"vector_sin": _REACH, "vector_cos": _REACH}
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
/* the integer next to x, in the last bits of a large sum */
static inline $bits $nearest_integer($real x)
{
    const $real sum = x + $integers;
    $bits bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}"""
_NUMBER = """\
/* the integer in those bits, as a number */
static inline $real $as_number($bits k)
{
    const $bits bits = (k & $last_bits) | $first_bits;
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
    const $real part = x < $zero ? $low_part : $high_part;
    const $bits rest = k + (x < $zero ? $part : $minus_part); /* 2**k is part * 2**rest */
    return ($one + $expm1_near_0(r)) * part * $power_of_2(rest);
}"""
_EXP_OF_SUM = """\
/* exp(a + b), where b is no larger than a, with the digits that the sum loses */
static inline $real $exp_of_sum($real a, $real b)
{
    const $real sum = a + b;
    const $real lost = b - (sum - a);
    return $vector_exp(sum) * ($one + lost);
}"""
_TANH = """\
/* tanh(x) by exp(-abs(2 x)) - 1, without branches: a loop over it becomes vectors */
static inline $real $vector_tanh($real x)
{
    const $real z = -$fabs($two * x);
    const $real y = $fabs(z) > $most ? $copysign($most, z) : z;
    const $bits k = $nearest_integer(y * $per_log_2);
    const $real n = $as_number(k);
    const $real r = y - n * $log_2 - n * $rest_of_log_2;
    const $real part = z < $zero ? $low_part : $high_part;
    const $bits rest = k + (z < $zero ? $part : $minus_part); /* as exp(z) is, for a slope */
    const $real power = part * $power_of_2(rest);
    const $real expm1_z = power * $expm1_near_0(r) + (power - $one);
    return $copysign(expm1_z / ($two + expm1_z), x);
}"""
_EXPM1_VECTOR = """\
/* exp(x) - 1, without branches: a loop over it becomes vectors */
static inline $real $vector_expm1($real x)
{
    const $real y = $fabs(x) > $most ? $copysign($most, x) : x;
    const $bits k = $nearest_integer(y * $per_log_2);
    const $real n = $as_number(k);
    const $real r = y - n * $log_2 - n * $rest_of_log_2;
    const $real part = x < $one ? $low_part : $high_part;
    const $real inverse = x < $one ? $high_part : $low_part;
    const $bits rest = k + (x < $one ? $part : $minus_part); /* 2**k is part * 2**rest */
    const $real power = $power_of_2(rest);
    return x == $zero ? x : (power * $expm1_near_0(r) + (power - inverse)) * part;
}"""
_EXPONENT = """\
/* 2**$sign + k, where x is 2**k times a number from sqrt(1/2) to sqrt(2) */
static inline $bits $binary_exponent($real x)
{
    $bits bits;
    memcpy(&bits, &x, sizeof bits);
    return ((bits + $up_to_one) >> $mantissa) + $exponent_offset;
}"""
_SIGNIFICAND = """\
/* that number */
static inline $real $binary_significand($real x)
{
    $bits bits;
    memcpy(&bits, &x, sizeof bits);
    bits = ((bits + $up_to_one) & $last_bits) + $root_of_half;
    $real number;
    memcpy(&number, &bits, sizeof number);
    return number;
}"""
_LOG_NEAR_1 = """\
/* log(2**n * (1 + f)) + c, where 1 + f is from sqrt(1/2) to sqrt(2) */
static inline $real $log_of_parts($real n, $real f, $real c)
{
    const $real s = f / ($two + f);
    const $real square = s * s;
$logarithm
    const $real half = $half * f * f;
    const $real rest = s * (half + square * p) + (n * $rest_of_log_2 + c);
    return n * $log_2 + (f - (half - rest));
}"""
_LOG = """\
/* log(x), without branches: a loop over it becomes vectors */
static inline $real $vector_log($real x)
{
    const int small = x < $smallest;
    const $real y = small ? x * $scale : x;
    const $real n = $as_number($binary_exponent(y)) - (small ? $scaled : $zero);
    const $real value = $log_of_parts(n, $binary_significand(y) - $one, $zero);
    const $real end = x == $zero ? -INFINITY : NAN;
    return x > $zero ? (x == ($real)INFINITY ? x : value) : end;
}"""
_LOG1P = """\
/* log(1 + x), without branches: a loop over it becomes vectors */
static inline $real $vector_log1p($real x)
{
    const $real y = $one + x;
    const $real rest = x > $one ? $one - (y - x) : x - (y - $one); /* 1 + x - y */
    const $real n = $as_number($binary_exponent(y));
    const $real value = $log_of_parts(n, $binary_significand(y) - $one, rest / y);
    const $real end = y == $zero ? -INFINITY : NAN;
    const $real inside = x == $zero || x == ($real)INFINITY ? x : value;
    return y > $zero ? inside : end;
}"""
_LEADING = """\
/* x with half of its digits: its square is exact */
static inline $real $leading_digits($real x)
{
    $bits bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= $leading_bits;
    $real leading;
    memcpy(&leading, &bits, sizeof leading);
    return leading;
}"""
_BELL = """\
/* $about, without branches: a loop over it becomes vectors */
static inline $real $function($real x)
{
    const $real y = $fabs(x) > $most_of_it ? $copysign($most_of_it, x) : x;
    const $real coarse = $leading_digits(y);
    const $real rest = (coarse - y) * (coarse + y);
    return $exp_of_sum(-$times coarse * coarse, $times rest);
}"""
_TAIL = """\
    const $real y = $fabs(x) > $most_of_it ? $copysign($most_of_it, x) : x;
    const $real right = y * $copysign($times, x);
    const $real slope = $one + $slope * right;
    const $real share = $one / (slope * (right + $middle)); /* of two quotients */
    const $real t = $one - $seven * (slope * share);
$tail"""
_ERFC = f"""\
/* erfc(x) = exp(-x**2) * erfcx(x), without branches: a loop over it becomes vectors */
static inline $real $vector_erfc($real x)
{{
{_TAIL}
    const $real value = $vector_bell(x) * (p * ((right + $middle) * share));
    const $real part = x < $zero ? -value : value;
    return (x < $zero ? $two : $zero) + part;
}}""".replace("$most_of_it", "$no_tail").replace("$times", "$one")
_NDTR = f"""\
/* erfc(-x/sqrt(2))/2, without branches: a loop over it becomes vectors */
static inline $real $vector_ndtr($real x)
{{
{_TAIL}
    const $real value = $half * $vector_normal_bell(x) * (p * ((right + $middle) * share));
    const $real part = x < $zero ? value : -value;
    return (x < $zero ? $zero : $one) + part;
}}""".replace("$most_of_it", "$no_normal_tail").replace("$times", "$root_of_half_itself")
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
TEXTS: dict[str, str] = {  # each after those that it calls
    "power_of_2": _POWER,
    "nearest_integer": _NEAREST,
    "as_number": _NUMBER,
    "expm1_near_0": _EXPM1,
    "vector_exp": _EXP,
    "vector_tanh": _TANH,
    "vector_expm1": _EXPM1_VECTOR,
    "exp_of_sum": _EXP_OF_SUM,
    "leading_digits": _LEADING,
    "vector_bell": _BELL.replace("$about", "exp(-x**2)")
    .replace("$function", "$vector_bell")
    .replace("$most_of_it", "$no_tail")
    .replace("$times ", ""),
    "vector_normal_bell": _BELL.replace("$about", "exp(-x**2/2)")
    .replace("$function", "$vector_normal_bell")
    .replace("$most_of_it", "$no_normal_tail")
    .replace("$times", "$half *"),
    "vector_erfc": _ERFC,
    "vector_ndtr": _NDTR,
    "binary_exponent": _EXPONENT,
    "binary_significand": _SIGNIFICAND,
    "log_of_parts": _LOG_NEAR_1,
    "vector_log": _LOG,
    "vector_log1p": _LOG1P,
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
_LOGARITHM = {
    False: (
        0.14795506303593056, 0.15314095882663276, 0.18183562514151796, 0.22222198608811355, 0.285714287420335,
        0.39999999999416297, 0.6666666666666734,
    ),
    True: (0.23581500449254122, 0.2853734557129502, 0.4000033455489012, 0.6666666564856424),
}  # fmt: skip
_WORDS: Mapping[bool, Mapping[str, str]] = {  # of single or double precision
    False: {
        "fabs": "fabs", "copysign": "copysign", "zero": "0.0", "one": "1.0", "two": "2.0", "half": "0.5",
        "bits": "uint64_t", "last_bits": "0xfffffffffffff", "first_bits": "0x4330000000000000", "bias": "1023",
        "mantissa": "52", "sign": "51", "integers": "6755399441055744.0", "part": "512",
        "minus_part": "3584", "low_part": "7.458340731200207e-155", "high_part": "1.3407807929942597e154",
        "most": "746.0", "per_log_2": "1.4426950408889634", "log_2": "0.6931471803691238",
        "rest_of_log_2": "1.9082149292705877e-10",
        "up_to_one": "0x95f619980c433", "root_of_half": "0x3fe6a09e667f3bcd", "exponent_offset": "0x7fffffffffc01",
        "smallest": "2.2250738585072014e-308", "scale": "18014398509481984.0", "scaled": "54.0",
        "no_tail": "28.0", "no_normal_tail": "39.0", "seven": "7.0", "middle": "3.5", "slope": "1.125",
        "leading_bits": "0xfffffffff8000000", "root_of_half_itself": "0.7071067811865476",
        "per_quarter": "0.6366197723675814", "quarter_1": "1.5707963267341256", "quarter_2": "6.077100506303966e-11",
        "quarter_3": "2.0222662487111665e-21", "quarter_4": "8.4784276603689e-32",
    },
    True: {
        "fabs": "fabsf", "copysign": "copysignf", "zero": "0.0f", "one": "1.0f", "two": "2.0f", "half": "0.5f",
        "bits": "uint32_t", "last_bits": "0x7fffff", "first_bits": "0x4b000000", "bias": "127",
        "mantissa": "23", "sign": "22", "integers": "12582912.0f",
        "part": "64", "minus_part": "4032", "low_part": "5.42101086e-20f", "high_part": "1.84467441e19f",
        "most": "104.0f", "per_log_2": "1.44269504f", "log_2": "0.693145752f",
        "rest_of_log_2": "1.42860677e-6f",
        "up_to_one": "0x4afb0d", "root_of_half": "0x3f3504f3", "exponent_offset": "0x3fff81",
        "smallest": "1.17549435e-38f", "scale": "33554432.0f", "scaled": "25.0f",
        "no_tail": "11.0f", "no_normal_tail": "15.0f", "seven": "7.0f", "middle": "3.5f",
        "slope": "1.125f", "leading_bits": "0xfffff000", "root_of_half_itself": "0.707106769f",
        "per_quarter": "0.636619747f", "quarter_1": "1.5703125f", "quarter_2": "0.0004837513f",
        "quarter_3": "7.5495336e-08f", "quarter_4": "2.563344e-12f",
    },
}  # fmt: skip


def words(single: bool) -> Mapping[str, str]:
    """What the texts leave open, but for names."""
    return {
        **_WORDS[single],
        "reach": str(_REACH[single]),
        "polynomial": _horner("p", "r", _SINGLE if single else _DOUBLE, single),
        "sine": _horner("s", "square", _SINE[single], single),
        "logarithm": _horner("p", "square", _LOGARITHM[single], single),
        "tail": _horner("p", "t", _tail(single), single),
        "cosine": _horner("c", "square", _COSINE[single], single),
    }


def _tail(single: bool) -> Sequence[float]:
    """The polynomial of erfcx, as its row has it."""
    helper = OPS["erfcx"].helper
    assert helper is not None
    (found,) = (e for _, e in helper.lines if isinstance(e, Polynomial))
    return found.single if single else found.coefficients


def _horner(name: str, of: str, coefficients: Sequence[float], single: bool) -> str:
    """The lines that compute a polynomial by Horner's rule."""
    real, end = ("float", "f") if single else ("double", "")
    first, *others = coefficients
    steps = [f"    {name} = {name} * {of} {'-' if c < 0 else '+'} {abs(c)!r}{end};" for c in others]
    return "\n".join([f"    {real} {name} = {first!r}{end};", *steps])
