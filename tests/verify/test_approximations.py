"""A printed function that approximates another is executed in its own arithmetic: what is wrong with it is seen."""

from __future__ import annotations

import re

import pytest

import symgrad as sg
from symgrad.backends import c_special
from symgrad.backends.c_vector import BATCHES, LOOPS
from symgrad.derivatives import as_function
from symgrad.ops import OPS, ROWS, Polynomial
from symgrad.pipeline import printed
from symgrad.verify.approximations import APPROXIMATED
from symgrad.verify.c_text import CText
from symgrad.verify.text import Fault

TEXT = sg.parse("f(x) = erfcx(x)")
PRINTED = {dtype: printed(TEXT, "c", {"dtype": dtype}) for dtype in ("double", "float")}
FILES = {dtype: dict(result.files) for dtype, result in PRINTED.items()}
(FILE,) = (path for path in FILES["double"] if path.endswith(".c"))
NUMBER = re.compile(r"-?\d\.\d+(?:e[-+]?\d+)?(?=f?,)")


def numbers(dtype):
    """The coefficients in the text."""
    return NUMBER.findall(FILES[dtype][FILE])


def read(dtype, files):
    """The text, as it is called."""
    result = PRINTED[dtype]
    return CText(as_function(TEXT), files, result.backend.heads(result.program))


def wrong(dtype, old, new):
    """The file with one change."""
    text = FILES[dtype][FILE]
    assert text.count(old) == 1
    return {**FILES[dtype], FILE: text.replace(old, new)}


@pytest.mark.parametrize("dtype", FILES)
def test_what_is_printed_is_approved(dtype):
    read(dtype, FILES[dtype])


@pytest.mark.parametrize("dtype, place", [("double", k) for k in range(24)] + [("float", k) for k in range(12)])
def test_a_wrong_coefficient_is_seen(dtype, place):
    found = numbers(dtype)[place]
    mantissa, e, exponent = found.partition("e")
    digits = f"{float(mantissa) * 1.05:.12f}"
    with pytest.raises(Fault, match="units in the last place off, 4 are granted"):
        read(dtype, wrong(dtype, found, digits + e + exponent))


@pytest.mark.parametrize(
    "old, new",
    [
        ("7.0 / (right + 3.5)", "7.0 / (right + 3.0)"),
        ("1.125 * right", "1.25 * right"),
        ("- y : y", "+ y : y"),
        ("k < 24", "k < 23"),
        ("rint(16.0", "rint(15.0"),
        ("2.0 * exp", "exp"),
        ("fabs(x)", "x"),
    ],
)
def test_another_mistake_is_seen(old, new):
    with pytest.raises(Fault, match="erfcx"):
        read("double", wrong("double", old, new))


_SCALED = "    const double part = x <"  # of exp, as tanh has the same lines
CHANGES = {
    "f(x[n])[i] = exp(x[i])*tanh(x[i])": [
        ("0.041666666666515466", "0.041666666"),
        ("double p = 2.511768168452415e-08", "double p = 2.6e-08"),
        (" - n * 1.9082149292705877e-10;\n" + _SCALED, ";\n" + _SCALED),
        ("r + r * r * p", "r + r * p"),
        ("* part * power_of_2(rest)", "* part * power_of_2(rest + 1)"),
        ("(x < 0.0 ? 512 : 3584)", "(x < 0.0 ? 512 : 512)"),
        ("fabs(x) > 746.0 ?", "fabs(x) > 74.0 ?"),
        ("power - 1.0", "power"),
        ("-fabs(2.0 * x)", "-fabs(1.0 * x)"),
        ("fabs(z) > 746.0 ?", "fabs(z) > 2.0 ?"),
    ],
    "f(x) = sin(x)*cos(x)": [
        ("0.008333333333322118", "0.0083333"),
        ("0.0013888888888873056", "0.00138888888"),
        ("k & 1", "k & 2"),
        ("k & 2", "k & 4"),
        ("k + 1);", "k);"),
        ("0.5 - square * c", "0.5 + square * c"),
    ],
    "f(x) = log(x)*log1p(x)": [
        ("0.285714287420335", "0.2857"),
        ("half + square * p", "half + p"),
        ("0.5 * f * f", "f * f"),
        ("binary_significand(y) - 1.0, rest / y", "binary_significand(y) - 1.0, rest"),
        ("x - (y - 1.0)", "0.0 * x"),
    ],
    "f(x) = bell(x) + normal_bell(x)": [
        ("(-coarse * coarse, rest)", "(-y * y, 0.0)"),
        ("-0.5 * coarse * coarse", "-0.5 * y * y"),
        ("> 39.0", "> 19.0"),
    ],
    "f(x) = ndtr(x)": [
        ("0.7071067811865476", "0.7071"),
        ("0.5 * vector", "0.25 * vector"),
        ("? 0.0 : 1.0", "? 0.0 : 0.0"),
    ],
    "f(x, y) = expm1(x)*erfc(y)": [
        ("(power - inverse)", "(power - 1.0)"),
        ("* part;", "* power;"),
        ("(coarse - y) * (coarse + y)", "0.0"),
        ("(1.0 + lost)", "(1.0 - lost)"),
        ("b - (sum - a)", "0.0 * b"),
        ("? 2.0 : 0.0) + part", "? 1.0 : 0.0) + part"),
        ("1.125 * right", "right"),
        ("(slope * share)", "(right * share)"),
    ],
    "f(x) = lgamma(x)": [
        ("0.4006759907006548", "0.4006759907"),
        ("3.7006601859126265e-07", "3.7e-07"),
        ("right + 0.5", "right + 1.0"),
        ("? 0.0 : 1.0 / size", "? 0.0 : -1.0 / size"),
        ("? 1.0 / size : 0.0", "? -1.0 / size : 0.0"),
        ("size - rint(size)", "size - floor(size) - 0.001"),
    ],
    "f(x) = polygamma(1, x)": [
        ("1.0 / 30240.0", "1.0 / 30239.0"),
        ("0.5 * term", "term"),
        ("x < 10.0 + s", "x < 3.0 + s"),
        ("1e-19", "1e-3"),
    ],
    "f(x) = ndtri(x)": [
        ("step < 4", "step < 1"),
        ("p < 0.25", "p < 0.75"),
        ("step < 2", "step < 1"),
        ("1.0 + y * r", "1.0"),
    ],
    "f(x) = bessel_j0(x)*bessel_y0(x)": [
        ("8.0 * (k + 1.0) * x", "8.0 * (k + 2.0) * x"),
        ("2.0 * k / x * here", "k / x * here"),
        ("0.11593151565841245", "0.1159315"),
        ("2.0 / half * signed_here", "1.0 / half * signed_here"),
    ],
    "f(x) = gammainc(2.5, x)": [
        ("x / (a + k)", "x / (a + k + 1.0)"),
        ("b = x + 1.0 - a", "b = x + 2.0 - a"),
        ("tgamma(a + 1.0)", "tgamma(a)"),
    ],
    "f(x) = expi(x)": [
        ("1.0 - 28.0 /", "1.0 - 28.5 /"),
        ("(x - 0.37250739336013794)", "(x - 0.372507393)"),
        ("0.987498346645341", "0.9874983"),
    ],
    "f(x) = lambertw(x)": [
        ("1.2428753672788363e-17", "1.2428753672788363e-9"),
        ("step < 4; ++step) {\n        const double apart", "step < 1; ++step) {\n        const double apart"),
        ("(k - 1.0) * term", "k * term"),
    ],
    "f(x) = bessel_i1(x)": [
        ("0.25 * x * x", "0.2 * x * x"),
        ("(k + n)", "k"),
        ("odd * odd - 4.0", "odd * odd - 2.0"),
        ("(n ? 0.5 * x : 1.0)", "(n ? x : 1.0)"),
    ],
}
MISTAKES = [(formula, old, new) for formula, rows in CHANGES.items() for old, new in rows]


@pytest.mark.parametrize("formula, old, new", MISTAKES, ids=[f"{old!r}-{new!r}" for _, old, new in MISTAKES])
@pytest.mark.in_turn
def test_a_mistake_in_a_function_by_hand_is_seen(formula, old, new):
    declared = sg.parse(formula)
    result = printed(declared, "c")
    text = result.files["f.c"]
    assert text.count(old) == 1
    files = {**result.files, "f.c": text.replace(old, new)}
    with pytest.raises(Fault, match="units in the last place off"):
        CText(as_function(declared), files, result.backend.heads(result.program))


def test_every_polynomial_is_checked():
    """A row that prints an approximation says in the check how good it is."""
    rows = {r.name for r in ROWS if r.helper is not None and any(isinstance(v, Polynomial) for _, v in r.helper.lines)}
    rows |= {r.spell[key] for r in ROWS for key in (LOOPS, BATCHES) if key in r.spell}
    assert rows | (c_special.TEXTS.keys() & OPS.keys()) == set(APPROXIMATED)
