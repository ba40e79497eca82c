"""exp and tanh in C for loops over arrays: without calls and branches, so that a compiler makes vectors of the loops.

A call of the C library in a loop is made once for each element, unless the user asks for -ffast-math. These compute
several elements at once with `-O3 -fopenmp-simd`; they are as exact as a C library (the check executes their text:
symgrad.verify.approximations), and their values do not depend on the compiler's flags by more than a rounding.

exp(x) is 2**k exp(r) with k an integer and abs(r) at most log(2)/2. There exp(r) - 1 is r + r**2 p(r), with p the
polynomial that is off the least, relative to exp: 4e-18 in double precision, 4e-9 in single precision. The logarithm of
2 is taken in two parts of which the first, times k, is exact. What is beyond the range of the format is so by
arithmetic: 2**k in two factors overflows to infinity, or becomes small gradually.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SPELLING = "c loops"  # where the row of an operator says what it is called here
INCLUDES = ("math.h", "stdint.h", "string.h")
NEEDS: Mapping[str, tuple[str, ...]] = {  # each after those that it calls
    "power_of_2": (),
    "nearest_integer": (),
    "expm1_near_0": (),
    "vector_exp": ("power_of_2", "nearest_integer", "expm1_near_0"),
    "vector_tanh": ("power_of_2", "nearest_integer", "expm1_near_0"),
}
_POWER = """\
/* 2**k, in the range of normal numbers */
static inline $real $power_of_2(int k)
{
    const $bits bits = (($bits)k + $bias) << $mantissa; /* the exponent comes first */
    $real power;
    memcpy(&power, &bits, sizeof power);
    return power;
}"""
_NEAREST = """\
/* the integer next to x: the last bits of a sum so large that its last bit is 1 */
static inline int $nearest_integer($real x)
{
    const $real sum = x + $integers;
    $bits bits;
    memcpy(&bits, &sum, sizeof bits);
    return (int32_t)$last_bits;
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
    const int k = $nearest_integer(y * $per_log_2);
    const $real n = ($real)k;
    const $real r = y - n * $log_2 - n * $rest_of_log_2;
    return ($one + $expm1_near_0(r)) * $power_of_2(k / 2) * $power_of_2(k - k / 2);
}"""
_TANH = """\
/* tanh(x) by exp(-2 abs(x)) - 1, without branches: a loop over it becomes vectors */
static inline $real $vector_tanh($real x)
{
    const $real y = -$two * ($fabs(x) > $flat ? $flat : $fabs(x));
    const int k = $nearest_integer(y * $per_log_2);
    const $real n = ($real)k;
    const $real r = y - n * $log_2 - n * $rest_of_log_2;
    const $real power = $power_of_2(k);
    const $real expm1_y = power * $expm1_near_0(r) + (power - $one);
    return $copysign(expm1_y / ($two + expm1_y), x);
}"""
TEXTS: Mapping[str, str] = {
    "power_of_2": _POWER,
    "nearest_integer": _NEAREST,
    "expm1_near_0": _EXPM1,
    "vector_exp": _EXP,
    "vector_tanh": _TANH,
}
_DOUBLE = (
    2.511768168452415e-08, 2.763127597722752e-07, 2.7557216850752995e-06, 2.480148995563175e-05,
    0.00019841269916793565, 0.0013888888947002423, 0.008333333333307463, 0.041666666666515466, 0.166666666666667,
    0.5000000000000012,
)  # fmt: skip
_SINGLE = (0.0013950500454447928, 0.008368889311382584, 0.04166620566933433, 0.16666518840359235, 0.500000009521056)
_WORDS: Mapping[bool, Mapping[str, str]] = {  # of single or double precision
    False: {
        "bits": "uint64_t", "last_bits": "bits", "bias": "1023", "mantissa": "52", "integers": "6755399441055744.0",
        "most": "746.0", "flat": "20.0", "per_log_2": "1.4426950408889634", "log_2": "0.6931471803691238",
        "rest_of_log_2": "1.9082149292705877e-10", "one": "1.0", "two": "2.0", "fabs": "fabs", "copysign": "copysign",
    },
    True: {
        "bits": "uint32_t", "last_bits": "(bits - 0x4b400000)", "bias": "127", "mantissa": "23",
        "integers": "12582912.0f", "most": "104.0f", "flat": "10.0f", "per_log_2": "1.44269504f",
        "log_2": "0.693145752f", "rest_of_log_2": "1.42860677e-6f", "one": "1.0f",
        "two": "2.0f", "fabs": "fabsf", "copysign": "copysignf",
    },
}  # fmt: skip


def words(single: bool) -> Mapping[str, str]:
    """What the texts leave open, but for names."""
    first, *others = (f"{c!r}f" if single else repr(c) for c in (_SINGLE if single else _DOUBLE))
    real = "float" if single else "double"
    steps = [f"    {real} p = {first};", *(f"    p = p * r + {c};" for c in others)]
    return {**_WORDS[single], "polynomial": "\n".join(steps)}


def needed(called: Iterable[str]) -> list[str]:
    """Those of the functions that are called, and those that they call, each after those that it calls itself."""
    called = set(called)
    called |= {other for word in called for other in NEEDS.get(word, ())}
    return [word for word in TEXTS if word in called]
