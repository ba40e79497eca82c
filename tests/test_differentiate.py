"""The rule of differentiation: J^T v by its equations is what differences of the declaration say, to 60 digits."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mathematics import apart, as_function, by_differences, by_equations, flat, inputs_of, precisely, rng_of, seeds_of, shape_of
from mpmath import mp

import symgrad as sg
from symgrad import library
from symgrad.differentiate import differentiate, tangent
from symgrad.evaluate import evaluate
from symgrad.expr import ONE, ZERO, apply, ref
from symgrad.ir import bind, names_of
from symgrad.ops import OPS

GOOD = mpmath.mpf(10) ** -60

FORMULAS = [  # (formula, sizes, inputs that are not drawn)
    # scalars
    ("f(x, y) = x**2, x*y, y**2", {"...": ()}, {}),
    ("f(x, y) = x*y/(1 + x**2) - exp(-y)*sin(x)", {"...": (3,)}, {}),
    ("f(x, y) = (1 + x**2)**y + (1 + y**2)**(1/3)", {"...": (2,)}, {}),
    ("f(x) -> a, b, c: a = sin(x); b = a*x; c = a*b", {"...": (2,)}, {}),
    ("f(x) -> a, b: a = sin(x); b = 2*a", {"...": (2,)}, {}),
    ("f(x) = x**-3 + x**(-1/2)*abs(x)", {"...": ()}, {"x": 1.625}),
    ("f(x, y) = where(x > y, x**2*y, sin(x)/y)", {"...": (5,)}, {}),
    ("f(x) = where(x > 0, log(x), 7*x)", {"...": (4,)}, {}),
    ("f(x, y) = atan2(x, y) + hypot(x, y) + maximum(x, 2*y) - minimum(x*y, y)", {"...": (4,)}, {}),
    ("f(x) = relu(x) + abs(x) + sigmoid(x)*softplus(x) + tanh(x)", {"...": (4,)}, {}),
    ("f(x; a=0.3, k=3) = a*x**k + k*exp(a*x)", {"...": (2,)}, {}),
    ("f(x, y) = 3*y", {"...": (2,)}, {}),
    ("f(x) = floor(x)*x + sign(x)*x**2", {"...": (4,)}, {}),
    # products, broadcasting
    ("linear(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]", {"n": 2, "k": 3, "m": 2}, {}),
    ("linear(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]", {"n": 2, "k": 3, "m": 2}, {"b": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {"g": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {"b": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {"g": None, "b": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {}),
    ("f(x[n], y[m])[i,j] = x[i]*sin(y[j]) + x[i]", {"n": 2, "m": 3}, {}),
    ("f(x[n], y)[i] = x[i]*y + y**2", {"n": 3}, {}),
    ("f(x[..., d], w[d])[..., i] = x[..., i]*w[i]", {"...": (2, 2), "d": 3}, {}),
    ("f(x[*a, d], y[*b, d])[*a, *b] = sum[k](x[*a,k]*y[*b,k])", {"*a": (2,), "*b": (1, 3), "d": 2}, {}),
    ("f(a[n,k], b[k,m], c[m,p])[i,l] = sum[j](sum[r](a[i,r]*b[r,j])*c[j,l])", {"n": 2, "k": 2, "m": 3, "p": 2}, {}),
    ("f(x[n,n])[i,j] = x[i,j] + x[j,i]**2", {"n": 3}, {}),
    # repeated, literal and affine subscripts
    ("f(x[n,n]) = sum[i](x[i,i]**2)", {"n": 3}, {}),
    ("f(x[n,n])[i] = x[i,i]*x[0,i]", {"n": 3}, {}),
    ("f(x[n])[i] = x[n-1-i]*x[i]", {"n": 4}, {}),
    ("f(x[n])[i:n-1] = (x[i+1] - x[i])**2", {"n": 4}, {}),
    ("f(x[n], w[p]; s=2)[i] = sum[r](x[s*i+r]*w[r])", {"n": 5, "p": 3}, {}),
    ("conv(x[n,h,w], k[p,q])[b,i,j] = sum[r,s](x[b,2*i+r,j+s]*k[r,s])", {"n": 1, "h": 5, "w": 3, "p": 3, "q": 2}, {}),
    ("f(x[n], k[p])[i:n] = sum[r](where((i+r-1 >= 0) & (i+r-1 < n), x[i+r-1]*k[r], 0))", {"n": 4, "p": 3}, {}),
    ("f(x[n,h])[i,a:h//2,c:2] = x[i,a*2+c]**2", {"n": 2, "h": 4}, {}),
    ("f(x[n], y[m]): out[i:n] = x[i]**2; out[n+j] = y[j]*x[0]", {"n": 2, "m": 3}, {}),
    ("f(p[..., 2]): out[..., 0] = p[..., 0]**2; out[..., 1] = p[..., 0]*sin(p[..., 1])", {"...": (2,)}, {}),
    ("f(x[n])[i] = i*x[i]/n + (i % 2)*x[i]**2", {"n": 4}, {}),
    ("f(x[n,d])[i,j] = sum[k](where(k <= i, x[i,j]*x[k,j], 0))", {"n": 3, "d": 2}, {}),
    # gathers, scatters
    ("f(x[n,d], t[m]: int)[i,j] = x[t[i],j]**2", {"d": 2}, {"x": np.arange(6.0).reshape(3, 2) / 4, "t": [2, 0, 2, 2]}),
    ("f(x[n,c], t[n]: int) = sum[i](logsumexp[j](x[i,j]) - x[i,t[i]])", {"n": 3, "c": 2}, {"t": [1, 0, 1]}),
    ("f(x[m,d], t[m]: int, y[n,d]): out[i,j] = y[i,j]; out[t[k],j] += x[k,j]**2", {"m": 4, "n": 3, "d": 2}, {"t": [2, 0, 2, 2]}),
    ("f(x[n], mask[n]: bool)[i] = where(mask[i], x[i]**2, sin(x[i]))*mask[i]", {"n": 3}, {"mask": [1, 0, 1]}),
    # reductions
    ("f(x[n,m])[i] = max[j](x[i,j]**3)", {"n": 2, "m": 3}, {}),
    ("f(x[n,m]) = min[i,j](x[i,j])*max[i,j](x[i,j])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[i] = prod[j](x[i,j])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m]) = prod[i,j](x[i,j])", {}, {"x": [[1.5, 0.0], [-2.0, 3.0]]}),
    ("f(x[n,m])[i] = prod[j](x[i,j])", {}, {"x": [[1.5, 0.0, 2.0], [0.0, 3.0, 0.0]]}),
    ("f(x[n,m])[i] = prod[j](where(j > 0, x[i,j], 1))", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[j] = logsumexp[i](2*x[i,j])", {"n": 3, "m": 2}, {}),
    ("f(x[n,m])[i] = sum[j](x[i,argmax[k](x[i,k])]*x[i,j])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[i] = mean[j](x[i,j])**2", {"n": 2, "m": 3}, {}),
    ("f(x[n,m]): m1[i] = mean[j](x[i,j]); out[i] = mean[j]((x[i,j] - m1[i])**2)", {"n": 2, "m": 3}, {}),
    ("f(x[n,d])[i,j] = exp(x[i,j])/sum[k](exp(x[i,k]))", {"n": 2, "d": 3}, {}),
    ("f(x[n,d])[i,j] = sqrt(1 + sum[k]((x[i,k] - x[j,k])**2))", {"n": 2, "d": 3}, {}),
    ("f(x[n,m], y[n]): r[i] = sum[j](x[i,j]*y[i]); t = sum[i](r[i]**2); out[i] = r[i]/t", {"n": 2, "m": 3}, {}),
    (
        "attention(q[n,d], k[m,d], v[m,e]): s[i,j] = sum[l](q[i,l]*k[j,l])/sqrt(d); w[i,j] = exp(s[i,j]); "
        "out[i,p] = sum[j](w[i,j]*v[j,p])/sum[j](w[i,j])",
        {"n": 2, "m": 3, "d": 2, "e": 2},
        {},
    ),
]
LIBRARY = {
    "batch_norm": {"n": 3, "d": 2},
    "cross_entropy": {"n": 3, "c": 2},
    "gelu": {"...": (3,)},
    "layer_norm": {"...": (2,), "d": 3},
    "linear_mse": {"n": 2, "k": 2, "m": 3},
    "log_softmax": {"...": (2,), "n": 3},
    "mlp": {"n": 2, "k": 2, "h": 3, "m": 2},
    "residual": {"n": 2, "k": 2},
    "rms_norm": {"...": (2,), "d": 3},
    "softmax": {"...": (2,), "n": 3},
    "tanh": {"...": (3,)},
    "var": {"...": (2,), "n": 3},
}


def _row(text, sizes, given):
    absent = "".join(f", no {n}" for n, v in given.items() if v is None)
    return pytest.param(text, sizes, given, id=text + absent)


ROWS = [_row(*row) for row in FORMULAS]
ROWS += [
    pytest.param(getattr(library, name), sizes, {"target": [1, 0, 1]} if name == "cross_entropy" else {}, id=name)
    for name, sizes in LIBRARY.items()
]
table = pytest.mark.parametrize(("declaration", "sizes", "given"), ROWS)


def at_a_point(declaration, sizes, given):
    """The function, its inputs and a cotangent for each output."""
    function = as_function(declaration)
    rng = rng_of(f"{function}")
    inputs = inputs_of(function, sizes, given, rng)
    return function, inputs, seeds_of(function, inputs, rng)


def named(derivative, seeds):
    """The cotangents by the names that the derivative gives them."""
    return {name: seeds[output] for output, name in derivative.seeds}


@table
def test_the_product_agrees_with_differences(declaration, sizes, given):
    with precisely():
        function, inputs, seeds = at_a_point(declaration, sizes, given)
        derivative = differentiate(function)
        found = by_equations(derivative, inputs, named(derivative, seeds))
        assert apart(found, by_differences(function, inputs, seeds)) < GOOD


@table
def test_forward_and_reverse_are_adjoint(declaration, sizes, given):
    """<v, J u> = <J^T v, u>."""
    with precisely():
        function, inputs, seeds = at_a_point(declaration, sizes, given)
        reverse, forward = differentiate(function), tangent(function)
        rng = rng_of("tangents")
        real = [n for n, _ in reverse.gradients if inputs[n] is not None]
        directions = {n: rng.choice(np.arange(-63, 64, 2), np.shape(inputs[n])) / 32 for n in real}
        wanted = {name: directions.get(n) for n, name in forward.seeds}
        wanted = {k: np.zeros(()) if v is None else v for k, v in wanted.items()}
        for n, name in forward.seeds:
            if inputs[n] is None:  # an absent input: any shape that fits
                wanted[name] = np.zeros([bind(function, inputs).get(str(e), 1) for e in function.table[n].shape])
        pushed = by_equations(forward, inputs, wanted)
        pulled = by_equations(reverse, inputs, named(reverse, seeds))
        left = sum(s * t for out, ts in pushed.items() for s, t in zip(flat(seeds[out]), ts, strict=True))
        right = sum(g * u for n in real for g, u in zip(pulled[n], flat(directions[n]), strict=True))
        assert abs(left - right) < GOOD * max(1, abs(left))


@table
def test_the_product_can_be_differentiated_again(declaration, sizes, given):
    with precisely():
        function, inputs, seeds = at_a_point(declaration, sizes, given)
        first = differentiate(function)
        inputs = {**inputs, **named(first, seeds)}
        second = differentiate(first.function)
        outer = seeds_of(first.function, inputs, rng_of("again"))
        for name, gradient in first.gradients:  # of an absent input, or one that nothing contributes to
            if gradient not in outer:
                outer[gradient] = np.zeros(shape_of(first.function, name, bind(first.function, inputs)))
        found = by_equations(second, inputs, named(second, outer))
        told = by_differences(first.function, inputs, outer)
        assert apart(found, told) < GOOD


# declared values where there is no derivative


TIES = [
    ("f(x[n]) = max[i](x[i])", {"x": [3.0, 1.0, 3.0]}, {"x": [0.5, 0, 0.5]}),
    ("f(x[n]) = min[i](x[i])", {"x": [1.0, 1.0, 1.0, 2.0]}, {"x": [Fraction(1, 3)] * 3 + [0]}),
    ("f(x[n,m])[i] = max[j](x[i,j])", {"x": [[2.0, 2.0], [0.0, 1.0]]}, {"x": [0.5, 0.5, 0, 1]}),
    ("f(x[n,m]) = max[i,j](x[i,j])", {"x": [[2.0, 2.0], [2.0, 2.0]]}, {"x": [0.25] * 4}),
    ("f(x[n]) = max[i](x[i]**2)", {"x": [-3.0, 3.0]}, {"x": [-3, 3]}),
    ("f(x[n], y[n]) = max[i](x[i]*y[i])", {"x": [2.0, 1.0], "y": [1.0, 2.0]}, {"x": [0.5, 1], "y": [1, 0.5]}),
    ("f(x, y) = maximum(x, y)", {"x": 2.0, "y": 2.0}, {"x": [0.5], "y": [0.5]}),
    ("f(x, y) = minimum(x, y)", {"x": 2.0, "y": 2.0}, {"x": [0.5], "y": [0.5]}),
    ("f(x) = maximum(x, 0)", {"x": 0.0}, {"x": [0.5]}),
    ("f(x) = relu(x)", {"x": 0.0}, {"x": [0]}),
    ("f(x) = abs(x)", {"x": 0.0}, {"x": [0]}),
    ("f(x, y) = hypot(x, y)", {"x": 0.0, "y": 0.0}, {"x": [0], "y": [0]}),
    ("f(x, y) = atan2(x, y)", {"x": 0.0, "y": 0.0}, {"x": [0], "y": [0]}),
    ("f(x) = x**2 + x**3", {"x": 0.0}, {"x": [0]}),
    ("f(x, y) = x**y", {"x": 0.0, "y": 2.0}, {"x": [0], "y": [0]}),
    ("f(x) = where(x > 0, sqrt(x), 0)", {"x": 0.0}, {"x": [0]}),
    ("f(x) = where(x > 0, 1/x, x)", {"x": 0.0}, {"x": [1]}),
    ("f(x) = where(x == 0, 1, sin(x)/x)", {"x": 0.0}, {"x": [0]}),
]


@pytest.mark.parametrize(("text", "inputs", "expected"), TIES, ids=[f"{text} at {at}" for text, at, _ in TIES])
def test_ties_and_kinks_have_their_declared_value(text, inputs, expected):
    function = sg.parse(text)
    derivative = differentiate(function)
    (seed,) = (np.ones(shape_of(function, out, bind(function, inputs))) for out in function.outputs)
    found = by_equations(derivative, inputs, {"grad_output": seed})
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        assert [float(v) for v in found[name]] == pytest.approx([float(v) for v in wanted], rel=1e-15)


# the rows of the operators

X, Y = ref("x"), ref("y")
INSIDE = {  # where an operator is not defined for all real numbers
    **dict.fromkeys(["log", "log2", "log10", "sqrt"], [(0.25, 0.75, 2.5)]),
    "log1p": [(-0.75, 0.25, 2.5)],
    **dict.fromkeys(["asin", "acos", "atanh"], [(-0.75, 0.125, 0.9375)]),
    "acosh": [(1.0625, 1.5, 4.0)],
    "pow": [(0.25, 1.5, 3.0), (-2.5, -1.0, 0.0, 1.0, 2.0, 0.5)],
}
EVERYWHERE = (-2.75, -0.375, 0.625, 1.875)


def value_at(expression, point):
    return evaluate(expression, {}, lambda name, _: point[name])


def partials(row, point):
    """The values of the derivative of a row, one per argument."""
    args = [ref(n) for n in point]
    if row.derivative is None:
        return [mpmath.mpf(0)] * row.arity
    return [None if d is None else value_at(d, point) for d in row.derivative(*args, apply(row.name, *args))]


REAL = [row for row in OPS.values() if row.arity and row.result == "real" and row.name != "select"]


@pytest.mark.parametrize("row", REAL, ids=lambda row: row.name)
def test_every_operator_has_the_derivative_that_differences_tell(row):
    places = INSIDE.get(row.name, [])
    places = [*places, *[EVERYWHERE] * (row.arity - len(places))]
    if row.arity == 2 and row.name != "pow":
        places = [EVERYWHERE, tuple(v + 0.0625 for v in EVERYWHERE)]
    with precisely():
        h = mpmath.mpf(10) ** -40
        for at in itertools.product(*places):
            point = dict(zip("xy", map(mpmath.mpf, at), strict=False))
            for name, found in zip(point, partials(row, point), strict=True):
                ahead, behind = ({**point, name: point[name] + s} for s in (h, -h))
                told = (row.value(*ahead.values()) - row.value(*behind.values())) / (2 * h)
                assert abs(found - told) < GOOD * max(1, abs(told)), (name, at)


@pytest.mark.parametrize("row", [row for row in OPS.values() if row.kinks], ids=lambda row: row.name)
def test_every_operator_has_its_declared_value_at_a_kink(row):
    values = [mpmath.mpf(v) for v in (-3, -1.5, 0, 2)]
    for kink in row.kinks:
        points = [p for p in itertools.product(values, repeat=row.arity) if kink.holds(*p)]
        assert points, f"no point where {kink.at}"
        for at in points:
            assert partials(row, dict(zip("xy", at, strict=False))) == [mpmath.mpf(v.numerator) / v.denominator for v in kink.values]


@pytest.mark.parametrize("row", [r for r in OPS.values() if r.result in ("int", "bool")], ids=lambda row: row.name)
def test_operators_on_integers_and_conditions_carry_no_derivative(row):
    assert row.derivative is None


@pytest.mark.parametrize("condition", [0, 1])
def test_where_passes_the_gradient_to_the_branch_it_selects(condition):
    _, then, otherwise = OPS["select"].derivative(ref("c"), X, Y, apply("select", ref("c"), X, Y))
    assert (value_at(then, {"c": condition}), value_at(otherwise, {"c": condition})) == (condition, 1 - condition)
    assert OPS["select"].derivative(ONE, X, Y, X)[1:] == (ONE, ZERO)


@pytest.mark.parametrize(
    ("x", "n", "expected"),
    [(-2, 3, 12), (0, 2, 0), (0, 1, 1), (-1.5, -1, -1 / 2.25), (0, 0, 0), (3, 0, 0)],
    ids=str,
)
def test_an_integer_power_has_a_derivative_at_every_base(x, n, expected):
    (found, _) = partials(OPS["pow"], {"x": mpmath.mpf(x), "y": mpmath.mpf(n)})
    assert found == pytest.approx(expected, rel=1e-15)


# names and cost


@pytest.mark.parametrize(
    ("text", "gradients"),
    [
        ("f(x, grad_x) = x*grad_x", ["grad_x_2", "grad_grad_x"]),
        ("f(x[i,j,k]) -> a, b: a[p,q,r] = x[p,q,r]**2; b[p,q,r] = a[p,q,r]*x[p,q,r]", ["grad_x"]),
        ("f(x[k], w[k,k])[i] = x[i] + sum[j](w[i,j]*x[j])", ["grad_x", "grad_w"]),
    ],
    ids=["an input is called grad_x", "sizes are called i, j, k", "a size is called k"],
)
def test_new_names_do_not_clash(text, gradients):
    function = sg.parse(text)
    for derivative in (differentiate(function), sg.vjp(function)):
        assert [g for _, g in derivative.gradients] == gradients
        for e in derivative.function.statements:
            indices = {i.name for i, _ in e.box} - set(function.packs)
            assert not indices & names_of(derivative.function), e


def test_a_long_chain_is_differentiated_in_linear_time():
    steps = {}
    for count in (100, 800):
        body = "; ".join(f"a{k + 1} = sin(a{k})*x" for k in range(count))
        function = sg.parse(f"f(x): a0 = x; {body}; out = a{count}")
        steps[count] = len(differentiate(function).equations)
    assert steps[800] < 9 * steps[100]


def test_a_gradient_is_computed_at_the_point_where_it_is_asked():
    with mp.workdps(30):
        derivative = differentiate(sg.parse("f(x) = x**3"))
        (found,) = by_equations(derivative, {"x": mpmath.mpf(2)}, {"grad_output": 5})["x"]
        assert found == 60
