"""Functions for vectors as printed for loops, compiled: in all of the range, and what is no ordinary number."""

from __future__ import annotations

import re
import subprocess
from functools import cache

import mpmath
import numpy as np
import pytest
from mathematics import COMPILER

import symgrad as sg
from symgrad.backends.c_compile import NATIVE, TUNED, find_compiler
from symgrad.backends.c_helpers import _BY_HAND, _calls
from symgrad.ops import OPS
from symgrad.verify.approximations import APPROXIMATED

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

GRANTED = {name.removeprefix("vector_"): row.ulps for name, row in APPROXIMATED.items() if "vector_" in name}
FLAGS = {
    "strict": "-std=c99 -O2",
    "vectors": "-O3 -march=native -fopenmp-simd",
    "plain": "-O0",
    "loaded": " ".join((*TUNED, *NATIVE)),
}
ENDS = {  # an argument, and the value in double and in single precision
    "exp": (
        (0.0, 1, 1), (-0.0, 1, 1), (np.inf, np.inf, np.inf), (-np.inf, 0, 0), (1e300, np.inf, np.inf),
        (-1e300, 0, 0), (89.0, np.exp(89.0), np.inf), (-104.0, np.exp(-104.0), 0), (710.0, np.inf, np.inf),
        (-746.0, 0, 0), (-745.0, 5e-324, 0), (np.nan, np.nan, np.nan),
    ),
    "tanh": (
        (0.0, 0, 0), (-0.0, -0.0, -0.0), (np.inf, 1, 1), (-np.inf, -1, -1), (25.0, 1, 1), (-1e300, -1, -1),
        (1e-300, 1e-300, 0), (np.nan, np.nan, np.nan),
    ),
    "sin": (
        (0.0, 0, 0), (-0.0, -0.0, -0.0), (np.inf, np.nan, np.nan), (-np.inf, np.nan, np.nan), (1e-300, 1e-300, 0),
        (1e22, -0.8522008497671888, np.sin(float(np.float32(1e22)))), (np.nan, np.nan, np.nan),
        (np.pi, 1.2246467991473532e-16, -8.742278e-08),
    ),
    "cos": (
        (0.0, 1, 1), (-0.0, 1, 1), (np.inf, np.nan, np.nan), (1e22, np.cos(1e22), np.cos(float(np.float32(1e22)))),
        (np.pi / 2, 6.123233995736766e-17, -4.371139e-08), (np.nan, np.nan, np.nan),
    ),
    "log": (
        (0.0, -np.inf, -np.inf), (-0.0, -np.inf, -np.inf), (1.0, 0, 0), (np.inf, np.inf, np.inf),
        (-1.0, np.nan, np.nan), (-np.inf, np.nan, np.nan), (1e-310, np.log(1e-310), -np.inf),
        (1e300, np.log(1e300), np.inf), (np.nan, np.nan, np.nan),
    ),
    "log1p": (
        (0.0, 0, 0), (-0.0, -0.0, -0.0), (-1.0, -np.inf, -np.inf), (-2.0, np.nan, np.nan), (np.inf, np.inf, np.inf),
        (1e-300, 1e-300, 0), (1e300, np.log(1e300), np.inf), (np.nan, np.nan, np.nan),
    ),
    "expm1": (
        (0.0, 0, 0), (-0.0, -0.0, -0.0), (np.inf, np.inf, np.inf), (-np.inf, -1, -1), (-50.0, -1, -1),
        (1e-300, 1e-300, 0), (709.7, np.expm1(709.7), np.inf), (710.0, np.inf, np.inf), (np.nan, np.nan, np.nan),
    ),
    "erfc": (
        (0.0, 1, 1), (-0.0, 1, 1), (np.inf, 0, 0), (-np.inf, 2, 2), (1e300, 0, 0), (26.0, 5.663192408856143e-296, 0),
        (-9.0, 2, 2), (np.nan, np.nan, np.nan),
    ),
    "ndtr": (
        (0.0, 0.5, 0.5), (-0.0, 0.5, 0.5), (np.inf, 1, 1), (-np.inf, 0, 0), (1e300, 1, 1), (9.0, 1, 1),
        (-37.0, 5.725571222524577e-300, 0), (np.nan, np.nan, np.nan),
    ),
    "bell": (
        (0.0, 1, 1), (-0.0, 1, 1), (np.inf, 0, 0), (-np.inf, 0, 0), (1e300, 0, 0), (-1e160, 0, 0),
        (-26.0, np.exp(-676.0), 0), (np.nan, np.nan, np.nan),
    ),
    "normal_bell": (
        (0.0, 1, 1), (-0.0, 1, 1), (np.inf, 0, 0), (-np.inf, 0, 0), (1e300, 0, 0), (-1e160, 0, 0),
        (-36.0, np.exp(-648.0), 0), (np.nan, np.nan, np.nan),
    ),
}
BATCHES = {"sin", "cos", "log", "log1p", "expm1", "erfc", "ndtr", "bell", "normal_bell"}  # vectors for points alone


@cache
def loaded(function, flags, dtype):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("symgrad.backends.c.c_compile.TUNED", (*FLAGS[flags].split(), "-fPIC", "-shared"))
        patch.setattr("symgrad.backends.c_compile.NATIVE", ())
        batch = "(x)" if function in BATCHES else "(x[n])[i]"
        return sg.load(sg.parse(f"f{batch} = {function}(x{batch[6:]})"), "c", check=False, dtype=dtype)


def points(function, real):
    double = real == np.float64
    most = {
        "exp": (-708, 709) if double else (-87, 88), "tanh": (-25, 25), "erfc": (-30, 26) if double else (-10, 9),
        "ndtr": (-37, 42) if double else (-12.5, 15),
        "bell": (-26.5, 26.5) if double else (-9.25, 9.25), "normal_bell": (-37.5, 37.5) if double else (-13, 13),
        "expm1": (-745, 709) if double else (-100, 88), "log": (0, 1e300 if double else 1e37),
        "log1p": (-0.999, 1e300 if double else 1e37),
    }.get(function, (-5990, 5990))  # fmt: skip
    rng = np.random.default_rng(2)
    near = 10 ** rng.uniform(-30 if function == "exp" else -300 if double else -37, 0, 2000)
    x = np.concatenate([rng.uniform(*most, 4000), rng.uniform(-1, 1, 2000), 1 + near, near, -near]).astype(real)
    return x[(x > most[0]) & (x < most[1])]


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("function", GRANTED)
@pytest.mark.in_turn
def test_values(function, flags, dtype):
    real = np.dtype(np.float32 if dtype == "float" else np.float64)
    x = points(function, real)
    found, _ = loaded(function, flags, dtype).forward(x)
    with mpmath.workprec(120):
        truth = [OPS[function].value(mpmath.mpf(float(a))) for a in x]
        units = [float(np.spacing(real.type(float(abs(t))))) for t in truth]
        off = [abs(mpmath.mpf(float(a)) - t) / unit for a, t, unit in zip(found, truth, units, strict=True)]
    assert max(off) < GRANTED[function], x[int(np.argmax([float(o) for o in off]))]


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("function", GRANTED)
def test_ends_of_the_range(function, flags, dtype):
    real = np.dtype(np.float32 if dtype == "float" else np.float64)
    with np.errstate(over="ignore", under="ignore"):
        x = np.array([row[0] for row in ENDS[function]]).astype(real)
        wanted = np.array([row[2 if dtype == "float" else 1] for row in ENDS[function]]).astype(real)
    found, _ = loaded(function, flags, dtype).forward(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=np.finfo(real).smallest_subnormal)
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()


def test_a_function_stands_after_those_that_it_calls():
    order = list(_BY_HAND)
    assert all(order.index(word) <= order.index(caller) for caller in order for word in _calls(caller, _BY_HAND))


def test_a_function_of_numbers_calls_the_library():
    text = sg.generate(sg.parse("f(x) = exp(x)"), to="c", check=False)["f.c"]
    assert "*out = exp(x);" in text and "out[b] = vector_exp(x[b]);" in text


@pytest.mark.parametrize("far", [0.0, 2e6, 1e300])
def test_one_angle_beyond_the_reach(far):
    """Then the library computes every point."""
    x = np.linspace(-3, 3, 1000)
    x[123] = far
    found, _ = loaded("sin", "vectors", "double").forward(x)
    np.testing.assert_allclose(found, np.sin(x), rtol=5e-16, atol=0)


def tuned_for_intel(*rest, text=""):
    """What GCC says of a text in C, for a processor of Intel's with AVX-512."""
    command = [*find_compiler("f"), "-O3", "-march=skylake-avx512", "-fopenmp-simd", "-w", "-xc", "-", *rest]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "wide", "narrow"),
    [
        ("f(x[n])[i] = x[i]**2", ("f_forward", "f_backward"), ()),
        ("f(x[n]) = sum[i](x[i]**2)", ("f_forward", "f_backward"), ()),
        ("f(x[n,k])[i] = sum[j](exp(x[i,j]))", ("f_forward", "f_backward"), ()),
        ("f(x, y) = (x - y)**2", ("f_forward_batch", "f_backward_batch"), ("f_forward", "f_backward")),
        (
            "f(a, b, c, d, e, g, h, i) = (2*a, 2*b, 2*c, 2*d, 2*e, 2*g, 2*h, 2*i)",  # would be one vector
            ("f_forward_batch",),
            ("f_forward", "f_backward"),
        ),
    ],
)
def test_loops_are_in_the_widest_vectors(text, wide, narrow):
    """GCC, tuned for Intel, takes half of what there is: in loops that costs a quarter of the time. Vectors of
    neighbouring numbers, where there is no loop, are left to it."""
    macros = tuned_for_intel("-E", "-dM")
    known = dict(re.findall(r"#define (__\w+__) (\d+)", macros.stdout))
    if macros.returncode or int(known.get("__GNUC__", 0)) < 8:
        pytest.skip("no GCC for such a processor")
    files = sg.generate(sg.parse(text), to="c", check=False)
    source = files["f.c"].replace('#include "f.h"', files["f.h"])
    made = tuned_for_intel("-S", "-o", "-", text=source).stdout
    bodies = dict(re.findall(r"(?ms)^(\w+):\n(.*?)\.cfi_endproc", made))
    assert {name: "zmm" in bodies[name] for name in (*wide, *narrow)} == {
        **dict.fromkeys(wide, True),
        **dict.fromkeys(narrow, False),
    }
