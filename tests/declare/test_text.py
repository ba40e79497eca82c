"""Formula text: what it means, what it refuses, and that what is shown reads back."""

from __future__ import annotations

import contextlib
import time
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from formulas import FORMULAS
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mathematics import interpret

from symgrad import library
from symgrad.declare.draft import Draft
from symgrad.declare.dtypes import check_numbers, dtype_of
from symgrad.declare.text import declare_inputs
from symgrad.derivatives import as_function
from symgrad.errors import DeclarationError, FormulaError, ShapeError, SymgradError, UnsupportedError
from symgrad.expr import Apply, Const, Expr, apply, const, index, indices, postorder, ref, show
from symgrad.expr.sizes import terms
from symgrad.formulas import parse
from symgrad.ir import Dtype, Function
from symgrad.ops import OPS
from symgrad.records import replace

PI = float(mpmath.pi)


def run(function: Function, inputs: dict[str, Any], options: dict[str, Any] | None = None) -> list[Any]:
    """The outputs as nested lists of floats."""
    values = interpret(function, inputs, options)
    return [np.array(values[name], dtype=float).tolist() for name in function.outputs]


SCALARS = [
    ("f(x) = x**2", {"x": 3}, 9),
    ("f(x) = x^2", {"x": 3}, 9),
    ("f(x) = -x**2", {"x": 3}, -9),
    ("f(x) = (-x)**2", {"x": 3}, 9),
    ("f(x) = 2**-x", {"x": 2}, 0.25),
    ("f(x) = x**-x**2", {"x": 2}, 1 / 16),
    ("f(x) = 2**x**2", {"x": 3}, 512),
    ("f(x) = (2**x)**2", {"x": 3}, 64),
    ("f(x, y) = x - y - 1", {"x": 5, "y": 2}, 2),
    ("f(x, y) = x - (y - 1)", {"x": 5, "y": 2}, 4),
    ("f(x, y) = x/y/2", {"x": 12, "y": 3}, 2),
    ("f(x, y) = x/(y/2)", {"x": 12, "y": 3}, 8),
    ("f(x) = 2/3*x", {"x": 6}, 4),
    ("f(x) = -2/x*3", {"x": 6}, -1),
    ("f(x) = --x + +x", {"x": 6}, 12),
    ("f(x) = 3*-x*2", {"x": 6}, -36),
    ("f(x: int) = -x//2", {"x": 7}, -4),
    ("f(x: int) = -(x//2)", {"x": 7}, -3),
    ("f(x: int) = -x % 5", {"x": 7}, 3),
    ("f(x: int) = -2*x//3", {"x": 4}, -3),
    ("f(x: int) = Mod(x, 5)", {"x": 7}, 2),
    ("f(x) = .5*x + 1e-1 + 2.", {"x": 2}, 3.1),
    ("f(x) = 2*pi*x", {"x": 2}, 4 * PI),
    ("f(x) = Abs(x) + abs(x)", {"x": -2}, 4),
    ("f(x, y) = Max(x, y, 3) + Min(x, y, 3) + maximum(x, y)", {"x": 5, "y": 2}, 12),
    ("f(x, y) = arctan2(x, y) - atan2(x, y) + ln(exp(x))", {"x": 5, "y": 2}, 5),
    ("f(x) = where(x > 0, x, 2*x)", {"x": -1}, -2),
    ("f(x) = where(x > 0, log(x), 7)", {"x": -1}, 7),
    ("f(x) = Piecewise((x**2, x < 1), (2*x, x < 3), (5, True))", {"x": 2}, 4),
    ("f(x) = Piecewise((x**2, x < 1), (2*x, x < 3), (5, True))", {"x": 8}, 5),
    ("f(x, y) = where(x < 1 & y < 1 | x == y, 1, 0)", {"x": 4, "y": 4}, 1),
    ("f(x, y) = where(0 < x < 5 & 1 <= y == 1, 1, 0)", {"x": 4, "y": 1}, 1),
    ("f(x, y) = where(0 < x < 4 | 1 <= y < 1, 1, 0)", {"x": 4, "y": 1}, 0),
    ("f(x, y) = where(not x < 1 and y < 1 or False, 1, 0)", {"x": 4, "y": 0}, 1),
    ("f(x, y) = where(~(x < 1) & ~~(y != 1), 1, 0)", {"x": 4, "y": 0}, 1),
    ("f(x, y) = where(And(x > 0, y > 0, x > y), Eq(x, 4), 0)", {"x": 4, "y": 1}, 1),
    ("f(x; slope=0.5, k=3) = slope*x + k", {"x": 4}, 5),
    ("f(x): r = x*x; out = r**2 + r", {"x": 2}, 20),
    ("f(x) -> out: out = r**2; r = x*x", {"x": 2}, 16),
    ("f(x): a = x; a += 2*x; a += 1", {"x": 2}, 7),
    ("x**2*sin(y)", {"x": 3, "y": PI / 2}, 9),
    ("f() = 3", {}, 3),
    ("1/2 + 1", {}, 1.5),
    ("f(x) = 3", {"x": 8}, 3),
    ("f(x) = sum[i:3](x*i)", {"x": 2}, 6),
    ("f(x[]) = x + 1", {"x": 2}, 3),
    ("f(x) = 10**40/10**39*x", {"x": 2}, 20),
]


@pytest.mark.parametrize(("text", "inputs", "expected"), SCALARS, ids=[s[0] for s in SCALARS])
def test_formulas_of_scalars_have_their_value(text: str, inputs: dict[str, float], expected: float) -> None:
    function = parse(text)
    (value,) = run(function, inputs)
    assert np.ravel(value) == pytest.approx(expected, rel=1e-15)


X23 = [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]

ARRAYS = [
    ("squares(x, y) = x**2, x*y, y**2", {"x": 3, "y": 2}, [9, 6, 4]),
    ("squares(x, y) = (x**2, x*y)", {"x": 3, "y": 2}, [9, 6]),
    ("x**2, x*y", {"x": 3, "y": 2}, [9, 6]),
    ("f(x, y) = x*y", {"x": [1, 2], "y": [3, 4]}, [[3, 8]]),
    ("f(x, y) = [x, y, x*y]", {"x": [1, 2], "y": [3, 4]}, [[[1, 3, 3], [2, 4, 8]]]),
    ("f(x, y) = [[x, y], [y, x]], x", {"x": 1, "y": 2}, [[[[1, 2], [2, 1]]], [1]]),
    ("f(x): y[0] = x; y[1] = 2*x; out = y[0]*y[1]", {"x": 3}, [18]),
    ("f(p[2]): x = p[0]; y = p[1]; out = [x**2, x*y, y**2]", {"p": [3, 2]}, [[9, 6, 4]]),
    ("f(p[...,2])[...] = [p[...,0]**2, p[...,1]]", {"p": [[3, 2], [1, 4]]}, [[[9, 2], [1, 4]]]),
    ("f(x[...,n])[...] = max[i](x[...,i])", {"x": X23}, [[3, 7]]),
    ("f(x[*batch,n])[*batch] = sum[i](x[*batch,i])", {"x": X23}, [[6, 16]]),
    ("f(x[n,m])[j,i] = x[i,j]", {"x": X23}, [[[1, 4], [2, 5], [3, 7]]]),
    ("f(x[n,m])[i] = sum[j](x[i,j]), max[j](x[i,j])", {"x": X23}, [[6, 16], [3, 7]]),
    ("f(x[n,m])[j] = min[i](x[i,j]) + prod[i](x[i,j])", {"x": X23}, [[5, 12, 24]]),
    ("f(x[n,m]) = mean[i,j](x[i,j]), argmax[i,j](x[i,j])", {"x": X23}, [22 / 6, 5]),
    ("f(x[n,m])[i] = x[i,0]/sum[j](x[i,j])", {"x": X23}, [[1 / 6, 0.25]]),
    (
        "linear(x[n,k], weight[m,k], bias[m]?)[i,j] = sum[l](x[i,l] * weight[j,l]) + bias[j]",
        {"x": X23, "weight": [[1, 0, 1]], "bias": [10]},
        [[[14], [21]]],
    ),
    (
        "linear(x[n,k], weight[m,k], bias[m]?)[i,j] = sum[l](x[i,l] * weight[j,l]) + bias[j]",
        {"x": X23, "weight": [[1, 0, 1]], "bias": None},
        [[[4], [11]]],
    ),
    ("f(x[n], w[p]; s=2)[i] = sum[r](x[s*i+r]*w[r])", {"x": [1, 2, 3, 4, 5], "w": [1, 10]}, [[21, 43]]),
    ("f(x[n])[i:n-1] = x[i+1] - x[i]", {"x": [1, 4, 9]}, [[3, 5]]),
    ("f(x[n])[i] = sum[r:2](x[2*i+r])", {"x": [1, 4, 9, 2]}, [[5, 11]]),
    ("f(x[n])[i] = x[n-1-i]", {"x": [1, 4, 9]}, [[9, 4, 1]]),
    ("f(x[n])[i] = i*x[i]/n", {"x": [3, 3, 3]}, [[0, 1, 2]]),
    ("f(x[n], s)[i] = s*x[i]", {"x": [1, 2], "s": 3}, [[3, 6]]),
    ("f(table[v,d], t[n]: int)[i,j] = table[t[i],j]", {"table": X23, "t": [1, 0, 1]}, [[X23[1], X23[0], X23[1]]]),
    ("f(x[n], t[n]: int): y[k:3] = 0; y[t[i]] += x[i]", {"x": [1, 2, 4], "t": [2, 0, 2]}, [[2, 0, 5]]),
    ("f(x[n], m[n]: bool)[i] = where(m[i], x[i], -1)", {"x": [1, 2], "m": [1, 0]}, [[1, -1]]),
    ("f(a[n], b[m]): y[i] = a[i]; y[n+i] = b[i]", {"a": [1, 2], "b": [3]}, [[1, 2, 3]]),
    ("f(x[n,m])[(i j)] = x[i,j]", {"x": X23}, [[1, 2, 3, 4, 5, 7]]),
    ("f(x[n]; h=2)[i:h,j] = x[(i j)]", {"x": [1, 2, 3, 4, 5, 6]}, [[[1, 2, 3], [4, 5, 6]]]),
    ("f(x[n])[i,j:3] = x[(i j)]", {"x": [1, 2, 3, 4, 5, 6]}, [[[1, 2, 3], [4, 5, 6]]]),
    ("f(x[n,m]) -> low, high: high = max[i,j](x[i,j]); low = min[i,j](x[i,j])", {"x": X23}, [1, 7]),
    ("f(x[n])[i:n] = max[r:3](where(i + r > 0 & i + r <= n, x[i+r-1], -oo))", {"x": [-1, -4]}, [[-1, -1]]),
    ("f(x[n,n])[i] = logsumexp[j](where(j > i, -oo, x[i,j]))", {"x": [[0, 9], [0, 0]]}, [[0, float(mpmath.log(2))]]),
    ("f(x[n,m])[i:n] = where(i > 0, sum[j](x[i-1,j]), 0)", {"x": X23}, [[0, 6]]),
    ("f(x[n,m])[i:n] = Piecewise((sum[j](x[i-1,j]), i > 0), (0, True))", {"x": X23}, [[0, 6]]),
    ("f(x[n], m[n]?)[i] = given(m, exp(m[i])*x[i], -x[i])", {"x": [1, 2], "m": None}, [[-1, -2]]),
    ("f(x[n], m[n]?): y[i] = x[i]*m[i] when m is given; y[i] = -x[i] when m is absent", {"x": [1, 2]}, [[-1, -2]]),
    (
        "f(x[n], m[n]?, k[n]?): y[i] = x[i]; y[i] += x[i]*m[i] when m is given and k is absent",
        {"x": [1, 2], "m": [3, 4]},
        [[4, 10]],
    ),
    ("f(x[n], m[n]?): y[i] = 1 + x[i]; y[i] += x[i]*m[i] when m is given", {"x": [1, 2], "m": [3, 4]}, [[5, 11]]),
    ("f(x[n]): y[i] = x[i] where i < 1; y[i] = 2*x[i] where 1 <= i < n", {"x": [1, 2, 3]}, [[1, 4, 6]]),
    ("f(x[n]): y[i:n] = max[r:2](x[i+r]) where i + r < n", {"x": [1, 3, 2]}, [[3, 3, 2]]),
    ("f(x[n]; times=2)[(r:times)*n + i] = x[i]", {"x": [1, 2]}, [[1, 2, 1, 2]]),
    ("f(x[...]) = sum[...](x[...]/size(...))", {"x": X23}, [22 / 6]),
    ("f(x[n]): require(n >= 2, n % 2 == 0); y[i] = x[i]", {"x": [1, 2]}, [[1, 2]]),
    ("f(A[n,n], b[n]): y[i] = solve[k:n,l:n](A[l,k], b[k])[i]", {"A": [[1, 2], [0, 1]], "b": [1, 4]}, [[1, 2]]),
    ("f(A[n,n])[i] = inv(A)[i,0]", {"A": [[2, 0], [0, 4]]}, [[0.5, 0]]),
    ("f(x[n], m[n]?)[i] = given(m, sum[j](exp(m[j])*x[j]), 0) + x[i]", {"x": [1, 2], "m": [0, 0]}, [[4, 5]]),
    ("f(x[n], m[n]?)[i] = given(m, sum[j](exp(m[j])*x[j]), 0) + x[i]", {"x": [1, 2], "m": None}, [[1, 2]]),
    ("f(w[n]) -> o: o[i:n-1] = w[i]; o[n-1+k] = 10*w[k]", {"w": [1, 2, 3]}, [[1, 2, 10, 20, 30]]),
    ("f(x[n,3]): y[i,k] = x[i,k]**2; out[i,c:2] = y[i,c]", {"x": X23}, [[[1, 4], [16, 25]]]),
    ("f(x[n]): y[i] = x[i]**2; out[i:n-1] = y[i+1] - y[i]", {"x": [1, 2, 4]}, [[3, 12]]),
    ("f(x[n]): y[i] = 3; out[i:n] = y[i]*x[i]", {"x": [1, 2, 4]}, [[3, 6, 12]]),
    ("f(x[n])[i:n] = sum[j:i+1](x[j])", {"x": [1, 2, 4]}, [[1, 3, 7]]),
    ("f(x[n,n])[i] = max[j:n-i](x[i,j])", {"x": [[1, 5], [2, 9]]}, [[5, 2]]),
    ("f(x[n])[i:n] = mean[j:i+1](x[j]) + sum[j:i](1)", {"x": [1, 2, 6]}, [[1, 2.5, 5]]),
    ("f(x[n,n])[i:n,j:i+1] = x[i,j]", {"x": [[1, 5], [2, 9]]}, [[[1, 0], [2, 9]]]),
    # an index that the body does not mention repeats it
    ("f(w[2]) = prod[q:2](prod[s:2](w[s]))", {"w": [2, 3]}, [36]),
    ("f(x[n], y)[i:n] = sum[r:4](x[i]), mean[r:4](y)", {"x": [1, 2], "y": 3}, [[4, 8], [3, 3]]),
    ("f(x[n], y)[i:n] = max[r:4](y), prod[r:n](y)", {"x": [1, 2], "y": 3}, [[3, 3], [9, 9]]),
    ("f(x[n], y) = sum[j,r:4](x[j]), mean[j,r:4](x[j])", {"x": [1, 2], "y": 3}, [12, 1.5]),
    ("f(x[n], y) = sum[r:n-3](y), prod[r:n-3](y)", {"x": [1, 2], "y": 3}, [0, 1]),
    ("f(x[n]) = logsumexp[r:3](x[0])", {"x": [1, 2]}, [1 + float(mpmath.log(3))]),
    ("f(x[n], b[n]?) = sum[i:n](b[i]*x[0])", {"x": [5, 2], "b": None}, [10]),
    # the dtype of a result is that of all its equations, wherever they stand
    ("f(x[n]) -> o: o[i] = h[i]*2; h[i] = x[i]", {"x": [0.5, 2]}, [[1, 4]]),
    ("f(x[n]) -> o: o[0] = n; o[1] = x[0]", {"x": [0.5, 2]}, [[2, 0.5]]),
    ("f(x, y) = [x//y, x % y]", {"x": -3.5, "y": 2}, [[[-2, 0.5]]]),
    ("f(x, y) = [x//1, x//1.0*y, (x*y)//1]", {"x": -3.5, "y": 2.1}, [[[-4, -8.4, -8]]]),
    ("f(k: int) = [k//1, -k//1]", {"k": 3}, [[[3, -3]]]),
    ("f(x[n])[i] = x[i//1]", {"x": [0.5, 2]}, [[0.5, 2]]),
    (
        """layer_norm(x[n,d], gain[d], bias[d]; eps=0.0):
            mean[i] = sum[j](x[i,j])/d
            var[i] = sum[j]((x[i,j]-mean[i])**2)/d
            out[i,j] = (x[i,j]-mean[i])/sqrt(var[i]+eps)
                       *gain[j] + bias[j]
        """,
        {"x": [[1, 3]], "gain": [1, 2], "bias": [0, 1]},
        [[[-1, 3]]],
    ),
]


@pytest.mark.parametrize(("text", "inputs", "expected"), ARRAYS, ids=[a[0][:60] for a in ARRAYS])
def test_formulas_of_arrays_have_their_values(text: str, inputs: dict[str, Any], expected: list[Any]) -> None:
    values = run(parse(text), inputs)
    assert len(values) == len(expected)
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(np.ravel(value), np.ravel(np.array(wanted, dtype=float)), rtol=1e-14)
        assert np.shape(value) in (np.shape(wanted), (1, *np.shape(wanted)))


@pytest.mark.parametrize("text", [s[0] for s in SCALARS] + [a[0] for a in ARRAYS])
def test_source_and_formula_declare_the_same_function(text: str) -> None:
    function = parse(text)
    assert "\n" not in function.source
    assert parse(function.source) == function
    assert parse(function.formula) == function


TIDY = [
    ("f( x,y )=x ** 2+ y", "f(x, y) = x**2 + y"),
    ("f(x)=-x-(-1)", "f(x) = -x - (-1)"),
    ("x^2 * sin( y )", "f(x, y) = x**2*sin(y)"),
    ("f(x [ n , k ];eps = 1e-5) [ i ,j ]= x[ i,j ]/eps", "f(x[n,k]; eps=1e-5)[i,j] = x[i,j]/eps"),
    ("f(x[n,m]) [(h  e)]=x[ 2 * h + 1-h , e ]", "f(x[n,m])[(h e)] = x[2*h+1-h,e]"),
    ("f(t[n] :int,m[n]?)[i]=not t[i]<1 and(t[i])>2", "f(t[n]: int, m[n]?)[i] = not t[i] < 1 and (t[i]) > 2"),
    ("f(x):\n  r=x*x\n\n  out = r\n+1;\n", "f(x): r = x*x; out = r + 1"),
    ("f(x) -> out:; r = x;;\n; out = r", "f(x) -> out: r = x; out = r"),
    ("f(x[n])->a ,b :a=x[0];b= 2 ;", "f(x[n]) -> a, b: a = x[0]; b = 2"),
    ("f(x[...,n])[...]=sum[ i : 2 ](x[..., i])", "f(x[...,n])[...] = sum[i:2](x[...,i])"),
    ("f(x, y) = [x ,-y]", "f(x, y) = [x, -y]"),
]


@pytest.mark.parametrize(("text", "source"), TIDY, ids=lambda v: v[:40])
def test_the_source_is_spaced_in_one_way(text: str, source: str) -> None:
    assert parse(text).source == source


def test_a_block_is_one_statement_a_line_for_people() -> None:
    function = parse("f(x): r = x*x; out = r**2")
    assert function.formula == "f(x):\n    r = x*x\n    out = r**2"


def test_bare_inputs_are_arrays_of_one_shape_and_scalars_beside_brackets() -> None:
    assert parse("f(x) = x").table["x"].shape == (ref("..."),)
    assert parse("f(x) = x").statements[0].subscripts == (index("..."),)
    assert parse("f(x[n], s)[i] = s*x[i]").table["s"].shape == ()


def test_a_reduction_that_is_the_whole_body_is_one_equation() -> None:
    for kind in ("sum", "max", "min", "prod", "logsumexp", "argmax"):
        (equation,) = parse(f"f(x[n,m])[i] = {kind}[j](x[i,j])").statements
        assert equation.reduce == kind


def test_a_signature_declares_the_inputs_alone() -> None:
    draft = Draft("linear")
    declare_inputs(draft, "x[n,k], weight[m,k], bias[m]?; eps=1e-5")
    assert [(t.name, len(t.shape), t.optional) for t in draft.tensors.values()] == [
        ("x", 2, False),
        ("weight", 2, False),
        ("bias", 1, True),
    ]
    with pytest.raises(FormulaError):
        declare_inputs(Draft("f"), "x[n]) = (1")


REFUSED = [
    ("", "there is no formula"),
    ("  \n ", "there is no formula"),
    ("f(x) =", "an operand is missing; the text ends here"),
    ("f(x) = x +", "an operand is missing; the text ends here"),
    ("f(x) = x + *y", "'*' is no operand"),
    ("f(x) = (x", "never closed"),
    ("f(x) = x)", "closes nothing"),
    ("f(x) = (x]", "']' closes a '('. Write ')'"),
    ("f(x) = x y", "an operator is missing, before 'y'"),
    ("f(x) = (x) y", "A product is written with `*`"),
    ("f(x) = 2x", "A product is 2*x"),
    ("f(x) = 0x10", "0x10 is not a number"),
    ("f(x) = 1_000", "1_000 is not a number"),
    ("f(x) = 1.2.3", "1.2.3 is not a number"),
    ("f(x) = 1e*x", "1e is not a number"),
    ("f(x) = z", "z is not known"),
    ("f(alpha) = alhpa", "Did you mean alpha?"),
    ("f(x) = sn(x)", "Did you mean sin?"),
    ("f(x) = sin", "sin is a function. Write sin(...)"),
    ("f(x) = sin x", "sin is a function"),
    ("f(x) = sin()", "sin takes 1 argument, not 0"),
    ("f(x) = atan2(x)", "atan2 takes 2 arguments, not 1"),
    ("f(x) = Max(x)", "at least 2 arguments"),
    ("f(x) = x(2)", "x is not a function"),
    ("f(x) = pi(2)", "pi is not a function"),
    ("f(x) = sum(x)", "sum needs the indices it runs over"),
    ("f(x[n]) = sum[i](x[i], 2)", "reduces one expression"),
    ("f(x[n]) = sum[i](3)", "does not mention i"),
    ("f(x[n])[i] = sum[i](x[i])", "the index i is taken"),
    ("f(x[n]) = sum[x](x[0])", "x is a tensor"),
    ("f(x[n]) = sum[n](x[n])", "n is a size"),
    ("f(x[n]) = sum[i] x[i]", "'(' is missing"),
    ("f(x[n]) = sum[2*i](x[i])", "an index to reduce over is missing"),
    ("f(x[n])[i] = x", "x has 1 axis. Write 1 of them: x[i]"),
    ("f(x[n,m])[i] = x[i]", "x has 2 axes. Write 2 of them: x[i,j]"),
    ("f(x[n])[i] = x[i,0]", "x has 1 axis"),
    ("f(x, y) = x[0]", "x is declared without axes"),
    ("f(x[n])[n] = x[n]", "n is the size of this axis"),
    ("f(x[n])[i] = x[-1]", "subscripts count from 0"),
    ("f(p[2]) = p[2]", "has 2 elements, the last is 1"),
    ("f(x[n])[i] = x[i/2]", "a subscript is an integer"),
    ("f(x[n], y[n])[i] = x[y[i]]", "a subscript is an integer"),
    ("f(x[n])[i] = x[0:2]", "a subscript is one position"),
    ("f(x[n])[i:x[0]] = x[i]", "an extent"),
    ("f(x[n])[i:1.5] = x[i]", "an extent is an integer"),
    ("f(x[...,n])[i] = x[...,i]", "the result does not show `...`"),
    ("f(x[n])[...] = x[0]", "no input has the axes ..."),
    ("f(x[n,...])[i] = x[i]", "a pack comes first"),
    ("f(x[2*n])[i] = x[i]", "nothing tells n: give it to an axis of its own, x[n], or to an option"),
    ("f(x[-1])[i] = x[i]", "a size is missing"),
    ("f(x[n,1.5*n])[i] = x[i,0]", "a size is made of names and whole numbers"),
    ("f(x[n,n/2])[i] = x[i,0]", "an axis is an integer; this is a real number"),
    ("f(x, x) = x", "'x' is taken by an input"),
    ("f(x[x]) = 1", "is taken by a size"),
    ("f(pi) = 1", "'pi' is a constant"),
    ("f(_X) = 1", "not starting with"),
    ("lambda*x", "Write the function itself"),
    ("f(x): x = 2", "x is an input. Give the result a name of its own"),
    ("f(x): r = x; r = 2*x; out = r", "r is defined twice"),
    ("f(x[n]): y[i] = x[i]; y[0] = 3", "y is defined twice"),
    ("f(x[n]): y[i] = x[i]; y[i,j] = 3; out = 1", "y has 2 axes here, and 1 before"),
    ("f(x): out = x, 2", "a statement has one result"),
    ("f(x): x + 1", "'=' is missing behind x"),
    ("f(x): ", "the statements are missing"),
    ("f(x) -> a = x", "':' is missing"),
    ("f(x) -> b: a = x", "no statement says what b is; there is a. Write b = ..."),
    ("f(x) -> a, a: a = x", "listed twice"),
    ("f(x) = x; y = 2", "several statements stand in a block"),
    ("f(x) = x = 2", "`==` compares"),
    ("y = x**2", "the inputs are missing before '='"),
    ("f(x[n]): y[i] = x[i] where i < 2; y[i] = 2*x[i] where i > 0", "y is defined twice where conditions meet"),
    ("f(x[n]): y[i] = x[i] when x is given", "`when` asks for an optional input"),
    ("f(x[n], b[n]?): y[i] = b[i] when b is absent", "b is read here, and is absent"),
    ("f(x[n], b[n]?): y[i] = b[i] when b is there", "`when b is given` or `when b is absent`"),
    ("f(x[n]): require(x[0] > 0); y[i] = x[i]", "x is no size or option, which require(...) asks for"),
    ("f(A[n,n])[i,j] = inv[k:n](A[i,k])[i,j]", "inv is written as inv[i:n,j:n](...), of 1 elements, and has 2"),
    ("f(x) = x < 1 + not x", "`not` binds less tightly"),
    ("f(x) = x if x > 0 else 0", "Write where(condition, then, otherwise)"),
    ("f(x) = |x|", "The absolute value is abs(x)"),
    ("f(x) = where(x > 0, x)", "where takes 3 arguments, not 2"),
    ("f(x) = Piecewise((x, x > 0))", "has the condition True"),
    ("f(x) = Piecewise(x, True)", "a pair (value, condition) is missing"),
    ("f(x) = Piecewise((x), (2, True))", "a piece is a pair"),
    ("f(x) = given(x, 1, 2)", "asks for an optional input"),
    ("f(x[n], m[n]?)[i] = exp(m[i])", "m is optional"),
    ("f(x) = [x, x] + 1", "a stack [a, b] is a whole result"),
    ("f(x) = 1 + [x, x]", "a stack [a, b] is a whole result"),
    ("f(x) = [[x, x], [x]]", "the rows of a stack have one length"),
    ("f(x) = [[x, x], x]", "the rows of a stack have one length"),
    ("f(x) = [x, [x]]", "a stack"),
    ("f(x) = []", "at least one element"),
    ("f(x) = sin((x, x))", "several results"),
    ("f(x[n]; s=2)[i] = sum[j:s*i](x[j])", "nothing tells how large that is over all i"),
    ("f(x[n])[i] = sum[j:j+1](x[j])", "j cannot say how far it runs itself"),
    ("f(x[n], t[n]: int)[i] = sum[j:t[i]](x[j])", "an extent is made of sizes, options, integers and"),
    ("f(x) = oo*x", "oo is given to an operator that has no limit there"),
    ("f(x[n]) = max[i](x[i]*oo)", "oo is given to an operator"),
    ("f(x) = x/0", "divides by zero"),
    ("f(x) = x//(1-1)", "divides by zero"),
    ("f(x) = 0**-1", "divides by zero"),
    ("f(x) = (-8)**(1/3)", "is not real"),
    ("f(x; eps) = x", "behind the option eps, for its default"),
    ("f(x[n]): s[0] = 0; s[i] = s[i-1] + x[i]; out = s[n-1]", "says the next element by the last one: s[i+1] = ..."),
    ("f(x[n])[i] = x[i+1] - x[i]", "stays inside: i below n - 1, in text [i:n - 1]."),
    ("f(x[n])[i:n-1] = x[i+1] - x[i-1]", "Read it where it is inside, where(i >= 1, x[i - 1], ...)."),
    ("f(x; k: int = 2) = x", "an option has the type of its default"),
    ("f(x; eps=x) = x", "the default of an option, a number, is missing"),
    ("f(x: str) = x", "are int, bool or real, not str"),
    ("f(x, eps=1) = x", "an option stands behind ';'"),
    ("f(x) = x.real", "'.' has no meaning here"),
    ("f(x) = x @ x", "`@` is between whole arrays, A @ x, by their names"),
    ("f(x) = x; import os", "several statements"),
    ("f(x) = __import__('os').system('true')", "has no meaning"),
    ('f(x) = "a"', "holds no strings"),
    ("f(x) = x ! 2", "there is no factorial"),
    ("f(x) = х", "CYRILLIC SMALL LETTER HA"),
    ("f(x) = x − 1", "MINUS SIGN"),
    ("f(x) = x²", "SUPERSCRIPT TWO"),
    ("f(x) = ١", "ARABIC-INDIC DIGIT ONE"),
    ("f(x) = x\x00", "a control character, U+0000"),
    ("f(x) = x\u202e", "RIGHT-TO-LEFT OVERRIDE"),
    ("f(x) = 1e999*x", "beyond the range of a double"),
    ("f(x) = 1e-999*x", "beyond the range of a double"),
    ("f(x) = 10**40*10**400*x", "beyond the range of a double"),
    ("f(x) = 9**9**9", "an exponent is at most"),
    ("f(x) = 9**9**5", "digits"),
    ("f(x) = 2**10**10", "an exponent is at most"),
    ("f(x) = x**10**10**10", "an exponent is at most"),
    ("f(x) = ((((9**64)**64)**64)**64)**64", "digits"),
    ("f(x) = 9**(-9**9)", "an exponent is at most"),
    ("x[i]", "nothing tells the shape of x"),
    ("f(x[d], w, b[n]?) -> o: o[i:n] = w**3", "only b tells the size n, and b is optional. Give an input that is"),
    ("f(x[n], b[n]?) -> o: h[i] = b[i]; o[i] = x[i]*h[i]", "h is nothing without b, which is optional"),
    ("f(x[n], b[n]?)[i] = b[i]", "out is nothing without b, which is optional. Say what counts then: given(b, then,"),
    ("f(x[n], t[m]?: int, b[m]): o[i:n] = x[i]; o[t[k]] += b[k]", "t is optional, and tells which elements of o"),
    ("f(x[n], b[n]?, w) = w*sum[i](b[i]*w)", "nothing tells how far i runs in w, where an optional input is absent"),
    ("f(x) = argmax[i:3](x)", "every i is as good in argmax[i] of x"),
    ("f(x) = x*log(0)", "log(0) is not a number of double precision"),
    ("f(x) = where(x > 0, sqrt(-2), x)", "sqrt(-2) is not a number of double precision"),
    ("f(x) = x + exp(1000)", "exp(1000) is not a number of double precision"),
]


@pytest.mark.parametrize(("text", "fragment"), REFUSED, ids=[ascii(r[0]) for r in REFUSED])
def test_what_is_refused_says_what_and_where(text: str, fragment: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse(text)
    message = str(caught.value)
    assert fragment in message
    assert message.isascii()
    if isinstance(caught.value, FormulaError):
        assert message.splitlines()[-1].strip() == "^"


@pytest.mark.parametrize("text", [row[0] for row in FORMULAS if isinstance(row[0], str)] + library.__all__)
def test_what_is_printed_reads_back_as_the_same_function(text: str) -> None:
    function = parse(text) if "=" in text else as_function(getattr(library, text))
    again = parse(str(function))
    assert parts_of(again) == parts_of(function)


def parts_of(f: Function) -> dict[str, Any]:
    """What a function is made of, in no order of its equations, and in one order of the sums that sizes are."""
    tensors = {t.name: ([*map(terms, t.shape)], replace(t, shape=(), named=True)) for t in f.tensors}
    return {
        **{"inputs": f.inputs, "options": f.options, "outputs": f.outputs, "dims": {*f.dims}, "tensors": tensors},
        **{"constraints": {*f.constraints}, "text": sorted(str(f).split("\n"))},
    }


def test_the_caret_stands_under_the_place() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("f(x):\n    r = x*x\n    out = r + zeta")
    assert str(caught.value) == (
        "line 3, column 15: zeta is not known. Known here: inputs x; results r, out.\n"
        "    out = r + zeta\n              ^"
    )


def test_a_long_line_is_shown_around_the_place() -> None:
    with pytest.raises(FormulaError) as caught:
        parse(f"f(x) = {'+'.join(['x'] * 500)} + zeta + {'+'.join(['x'] * 500)}")
    _, line, caret = str(caught.value).splitlines()
    assert len(line) < 130
    assert line[caret.index("^") :].startswith("zeta")


def test_ranges_and_recurrences_are_refused_by_the_draft() -> None:
    with pytest.raises(ShapeError, match="two sizes"):
        parse("f(x[n,m])[i] = x[i,i]")
    with pytest.raises(ShapeError, match=r"nothing tells how far the index i .*for an n of yours: out\[i:n\] = "):
        parse("f(x[n])[i] = 3")
    with pytest.raises(ShapeError, match=r"nothing tells how far .*: h\[\(t:n\) \+ 1\] = \.\.\. in text"):
        parse("f(x[n]): h[0] = x[0]; h[t+1] = 2*h[t]")
    with pytest.raises(ShapeError, match="nothing tells how long axis 0 of y"):
        parse("f(x[n], t[n]: int): y[t[i]] += x[i]")
    with pytest.raises(ShapeError, match="past the end of its axis"):
        parse("f(x[n]): y[i:2] = x[i]; y[2] = 1")
    with pytest.raises(UnsupportedError, match="computed from itself"):
        parse("f(x[n]): h[0] = x[0]; h[t+1] = h[2*t] + x[t]")


def test_a_state_goes_as_far_as_its_other_parts() -> None:
    function = parse("f(u[n], a[2]): s[0,j] = a[j]; s[t+1,0] = s[t,0] + s[t,1]; s[t+1,1] = s[t,1] + u[t]; out = s[n,0]")
    assert "s[(t:n) + 1,0]" in str(function)


LIMITS = {
    "1e5 minus signs": "f(x) = " + "-" * 100_000 + "x",
    "1e5 terms": "f(x) = " + "+".join(["x"] * 100_000),
    "19,000 minus signs": "f(x) = " + "-" * 19_000 + "x",
    "9,000 terms": "f(x) = " + "+".join(["x"] * 9_000),
    "brackets": "f(x) = " + "(" * 65 + "x" + ")" * 65,
    "2,000 brackets": "f(x) = " + "(" * 2_000 + "x" + ")" * 2_000,
    "open brackets": "f(x) = " + "(" * 2_000,
    "a tower": "f(x) = " + "**".join(["x"] * 70),
    "a signed tower": "f(x) = " + "**-".join(["x"] * 70),
    "digits": "f(x) = " + "9" * 1_201,
    "a product of large numbers": "f(x) = " + "*".join(["9" * 1_000] * 3),
    "a long decimal": "f(x) = 0." + "1" * 1_201,
    "17 optional inputs": "f(" + ", ".join(f"x{k}?" for k in range(17)) + ") = " + "*".join(f"x{k}" for k in range(17)),
}


@pytest.mark.parametrize("text", LIMITS.values(), ids=LIMITS.keys())
def test_limits_are_checked_quickly(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(FormulaError):
        parse(text)
    assert time.perf_counter() - start < 2


LARGE = {
    "4,900 minus signs": "f(x) = " + "-" * 4_900 + "x",
    "4,000 nots": "f(x) = where(" + "~" * 4_000 + "(x < 1), 1, 0)",
    "2,400 terms": "f(x) = " + "+".join(["x"] * 2_400),
    "60 brackets of every kind": "f(x[n]: int) = " + "(-2**x[1 | 2 & 3 < 4 + 5*" * 15 + "1" + "])" * 15,
    "60 calls": "f(x) = " + "where(x < 1 & x > 0, x, " * 60 + "x" + ")" * 60,
    "60 pieces": "f(x) = " + "Piecewise((x, x > 1), (" * 30 + "x" + ", True))" * 30,
    "60 sums": "f(x) = " + "".join(f"sum[i{k}:2](" for k in range(30)) + "x" + ")" * 30,
    "600 statements": "f(x): a0 = x; " + "; ".join(f"a{k + 1} = a{k}*x" for k in range(600)),
    "300 statements of arrays": "f(x[n]): a0[i] = x[i]; " + "; ".join(f"a{k + 1}[i] = a{k}[i]*2" for k in range(300)),
    "a polynomial subscript": "f(x[n])[i,j,k,l,p,q] = x[" + "*".join(["(i+j+k+l+p+q)"] * 40) + "]",
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE.keys())
def test_what_is_large_is_read_or_refused_quickly(text: str) -> None:
    start = time.perf_counter()
    with contextlib.suppress(SymgradError):
        parse(text)
    assert time.perf_counter() - start < 5


# what is shown reads back

HEADER = "f(a[n]: int, t[n]: int; x=2, y=3, z=5)[i:n] = "


def body(text: str) -> Expr:
    """The expression that `text` is, among integers x, y, z, arrays a and t of integers, the index i and the size n."""
    return parse(HEADER + text).statements[-1].body


TRICKY = [
    "x - (y - z)", "x - y - z", "x/(y*z)", "x/y*z", "x/(y/z)", "x*(y/z)", "x*y/z", "-x**2", "(-x)**2", "(x**y)**z",
    "x**y**z", "x**(-y)", "x**-2", "-2/x", "(-2)/x", "-(2/x)", "x*(-2)", "2/3*x", "x*2/3", "x*(2/3)", "x/(2/3)",
    "(2/3)**x", "x**(2/3)", "x**0.5", "0.1*x", "1e-05*x - 0.1", "-0.1*x", "-(x + y)", "-(x*y)", "-x*y", "-x + y",
    "x - -y", "x//(y % z)", "x//y//z", "x//(y//z)", "x*(y//z)", "(x*y)//z", "x*y//z", "-(x//y)", "(-x)//y", "-x//y",
    "-(x % y)", "(-x) % y", "x % y*z", "x % (y*z)", "where(x < y, x, -y)", "~(x < y) & (y >= z)", "~(x < y & y >= z)",
    "x < y | y < z & z < x", "(x < y | y < z) & z < x", "x < y & (y < z & z < x)", "(x < y) == (y < z)",
    "(x == y) == z", "(x < y) + 1", "(x < y)*z", "-(x < y)", "~x**2", "(~x)**2", "~~x", "~(-x < y)", "-~x",
    "a[(2*i + 1)//2]", "a[t[i]]", "a[n - 1 - i]", "a[(i + 1)//2] - a[i % 2]", "maximum(x, minimum(y, z))", "2*pi*x",
    "atan2(-x, y)", "(x + y)*(x - y)", "x*(y*z)", "x + (y + z)", "x + (y - z)", "exp(-(x**2))", "1 - (1 - x)",
]  # fmt: skip


@pytest.mark.parametrize("text", TRICKY)
def test_what_is_shown_reads_back_as_the_same_node(text: str) -> None:
    node = body(text)
    assert body(show(node)) is node


DIFFERENT = [
    ("x - (y - z)", "x - y - z"),
    ("-x**2", "(-x)**2"),
    ("(x**y)**z", "x**y**z"),
    ("-(x//y)", "-x//y"),
    ("x//(y//z)", "x//y//z"),
    ("x*(y//z)", "x*y//z"),
    ("~x**2", "(~x)**2"),
    ("x % (y*z)", "x % y*z"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_brackets_matter(one: str, other: str) -> None:
    assert body(one) is not body(other)
    assert show(body(one)) != show(body(other))


SAME = [
    ("-x//y", "(-x)//y"),
    ("-x*y", "-(x*y)"),
    ("x*-y*z", "x*(-y)*z"),
    ("x**-y*z", "(x**(-y))*z"),
    ("x^2", "x**2"),
    ("x < 1 and y < 1 or z < 1", "((x < 1) & (y < 1)) | (z < 1)"),
    ("not x < 1", "~(x < 1)"),
    ("Ne(x, y)", "x != y"),
    ("2/4*x", "0.5*x"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_are_one_node(one: str, other: str) -> None:
    assert body(one) is body(other)


LEAVES = st.sampled_from(
    [ref("x"), ref("y"), ref("z"), index("i"), ref("n"), ref("a", index("i")), ref("t", index("i"))]
    + [const(k) for k in (1, 2, 3, -1, -2, 7)]
    + [const(Fraction(2, 3)), const(Fraction(-1, 2)), const(Fraction(-4, 3)), const("0.1"), const("1e-05"), apply("pi")]
)
BINARY = ["add", "sub", "mul", "div", "pow", "floordiv", "mod", "lt", "le", "eq", "ne", "and", "or", "maximum", "atan2"]


def _grow(below: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(apply, st.sampled_from(["neg", "not", "sin", "exp", "abs"]), below),
        st.builds(apply, st.sampled_from(BINARY), below, below),
        st.builds(apply, st.just("select"), below, below, below),
    )


def _is_real(node: Expr) -> bool:
    return dtype_of(node, {}) is Dtype.REAL
KINDS = {t.name: t.dtype for t in parse(HEADER + "0").tensors}


def _makes_sense(node: Expr) -> bool:
    """Without constant operations that the text refuses: a division by 0, a power that is too large or not real."""
    try:
        check_numbers("f", node)
    except DeclarationError:
        return False
    for n in postorder(node):
        if isinstance(n, Apply) and n.op in ("div", "floordiv", "mod") and n.args[1] is const(0):
            return False
        if isinstance(n, Apply) and n.op in ("add", "sub") and isinstance(n.args[1], Apply) and n.args[1].op == "neg":
            return False  # x - -y reads back as x + y
        if isinstance(n, Apply) and n.op in ("floordiv", "mod") and Dtype.REAL in [dtype_of(a, KINDS) for a in n.args]:
            return False  # reads back as the operator of real numbers
        if isinstance(n, Apply) and n.op == "floordiv" and n.args[1] is const(1):
            return False  # reads back as the integer that is divided
        if isinstance(n, Apply) and n.op in ("floordiv", "mod") and indices(n.args[1]):
            return False  # refused: it may be 0
        if isinstance(n, Apply) and OPS[n.op].kind == "logic" and {dtype_of(a, KINDS) for a in n.args} != {Dtype.BOOL}:
            return False  # reads back as a condition of x != 0
        kinds = {dtype_of(a, KINDS) for a in n.args} if isinstance(n, Apply) and OPS[n.op].kind == "comparison" else {}
        if kinds == {Dtype.INT}:
            return False  # reads back with the integer that is given on a side of its own
        if isinstance(n, Apply) and n.op == "pow" and isinstance(n.args[0], Const) and isinstance(n.args[1], Const):
            return False
        if isinstance(n, Const) and n.value.numerator.bit_length() + n.value.denominator.bit_length() > 1_000:
            return False
    return True


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.recursive(LEAVES, _grow, max_leaves=12))
def test_any_expression_reads_back_as_the_same_node(node: Expr) -> None:
    assume(_makes_sense(node))
    assert body(show(node)) is node


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet="xyf()[],;:=+-*/ 12.e<>&|~?in\n", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        function = parse(text)
    except SymgradError:
        return
    assert parse(function.source) == function


PIECES = [*"f()[]xy=:;,2-", "sum", "max", "where", "[i]", "(x)", "[n]", "x[i]", "->", "+=", "**", "..."]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_tokens_are_read_or_refused(tokens: list[str]) -> None:
    text = "f(x[n], y" + " ".join(tokens)
    try:
        function = parse(text)
    except SymgradError:
        return
    assert parse(function.source) == function


@pytest.mark.parametrize("text", ["x and 1", "2 and x", "x | 0", "0 or x", "x and x"])
def test_a_number_is_a_condition_where_it_is_joined_with_one(text):
    (e,) = as_function(parse(f"f(x) = {text}")).statements
    assert show(e.body) == "x[...] != 0"
