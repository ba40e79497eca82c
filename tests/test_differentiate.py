"""The rule of differentiation: J^T v by its equations is what differences of the declaration say, to 60 digits."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from formulas import ROWS
from mathematics import (
    apart,
    as_function,
    by_differences,
    by_equations,
    flat,
    in_domain,
    inputs_of,
    outer_seeds,
    precisely,
    rng_of,
    seeds_of,
    shape_of,
    sizes_of,
)
from mpmath import mp

import symgrad as sg
from symgrad.differentiate import differentiate, tangent
from symgrad.errors import TargetError
from symgrad.evaluate import evaluate
from symgrad.expr import ONE, ZERO, apply, ref
from symgrad.ir import names_of
from symgrad.ops import OPS
from symgrad.ops import ROWS as OPERATORS

GOOD = mpmath.mpf(10) ** -60

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
                wanted[name] = np.zeros([sizes_of(function, inputs).get(str(e), 1) for e in function.table[n].shape])
        pushed = by_equations(forward, inputs, wanted)
        pulled = by_equations(reverse, inputs, named(reverse, seeds))
        left = sum(s * t for out, ts in pushed.items() for s, t in zip(flat(seeds[out]), ts, strict=True))
        right = sum(g * u for n in real for g, u in zip(pulled[n], flat(directions[n]), strict=True))
        assert abs(left - right) < GOOD * max(1, abs(left))


@table
@pytest.mark.in_turn
def test_the_product_can_be_differentiated_again(declaration, sizes, given):
    with precisely():
        function, inputs, seeds = at_a_point(declaration, sizes, given)
        first = differentiate(function)
        inputs = {**inputs, **named(first, seeds)}
        second = differentiate(first.function)
        outer = outer_seeds(first, inputs, rng_of("again"))
        found = by_equations(second, inputs, named(second, outer))
        told = by_differences(first.function, inputs, outer)
        told = {name: told[name] for name in found}
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
    ("f(x) = where(x > 0, log(x), 0) + where(x > 1, log(x)**2, 0)", {"x": 0.0}, {"x": [0]}),
    ("f(x) = where(x > 0, log(x), 0) + where(x > 0, 0, log(-x))", {"x": -2.0}, {"x": [-0.5]}),
]


@pytest.mark.parametrize(("text", "inputs", "expected"), TIES, ids=[f"{text} at {at}" for text, at, _ in TIES])
def test_ties_and_kinks_have_their_declared_value(text, inputs, expected):
    function = sg.parse(text)
    derivative = differentiate(function)
    (seed,) = (np.ones(shape_of(function, out, sizes_of(function, inputs))) for out in function.outputs)
    found = by_equations(derivative, inputs, {"grad_output": seed})
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        assert [float(v) for v in found[name]] == pytest.approx([float(v) for v in wanted], rel=1e-15)


# the rows of the operators

X, Y = ref("x"), ref("y")
EVERYWHERE = (-2.75, -0.375, 0.625, 1.875)
INSIDE = {  # where the domain of an operator is said in words, or the pieces that it has meet at the points above
    "pow": [(0.25, 1.5, 3.0), (-2.5, -1.0, 0.0, 1.0, 2.0, 0.5)],
    **{name: [(-2.75, -0.375, 1.875), (-1.25, 0.75, 2.5)] for name in ("fmod", "modulo")},
    "clip": [EVERYWHERE, (-1.0, 0.25), (0.5, 1.25)],
    "polygamma": [(0.0, 1.0, 3.0), EVERYWHERE],
    **{name: [(0.5, 2.0), (0.25, 1.5, 3.0)] for name in ("gammainc", "gammaincc")},
    "hurwitz": [(2.0, 3.0, 2.5), (0.25, 1.5, 3.0)],
    "xlogy": [EVERYWHERE, (0.25, 1.5, 3.0)],
}


def value_at(expression, point):
    return evaluate(expression, {}, lambda name, _: point[name])


def partials(row, point):
    """The values of the derivative of a row, one per argument."""
    args = [ref(n) for n in point]
    if row.derivative is None:
        return [mpmath.mpf(0)] * row.arity
    return [None if d is None else value_at(d, point) for d in row.derivative(*args, apply(row.name, *args))]


REAL = [row for row in OPERATORS if row.arity and row.result == "real" and row.name != "select"]


@pytest.mark.parametrize("row", REAL, ids=lambda row: row.name)
def test_every_operator_has_the_derivative_that_differences_tell(row):
    places = INSIDE.get(row.name, [])
    places = [*places, *[EVERYWHERE] * (row.arity - len(places))]
    if row.arity == 2 and row.name not in INSIDE:
        places = [EVERYWHERE, tuple(v + 0.0625 for v in EVERYWHERE)]
    with precisely():
        h = mpmath.mpf(10) ** -40
        points = [at for at in itertools.product(*places) if in_domain(row, at)]
        assert points, f"{row.name} has a value at none of them: give it a row of INSIDE"
        for at in points:
            point = dict(zip("xyzw", map(mpmath.mpf, at), strict=False))
            for name, found in zip(point, partials(row, point), strict=True):
                if found is None or mpmath.isnan(found):  # the order of polygamma
                    continue
                ahead, behind = ({**point, name: point[name] + s} for s in (h, -h))
                told = (row.value(*ahead.values()) - row.value(*behind.values())) / (2 * h)
                assert mpmath.isfinite(told), f"{row.name} has no value at {at}: give it a row of INSIDE"
                assert abs(found - told) < GOOD * max(1, abs(told)), (name, at)


@pytest.mark.parametrize("row", [row for row in OPERATORS if row.kinks], ids=lambda row: row.name)
def test_every_operator_has_its_declared_value_at_a_kink(row):
    values = [mpmath.mpf(v) for v in (-3, -1.5, 0, 2)]
    for kink in row.kinks:
        points = [p for p in itertools.product(values, repeat=row.arity) if kink.holds(*p)]
        assert points, f"no point where {kink.at}"
        for at in points:
            assert partials(row, dict(zip("xyz", at, strict=False))) == [
                mpmath.mpf(v.numerator) / v.denominator for v in kink.values
            ]


@pytest.mark.parametrize("row", [r for r in OPERATORS if r.result in ("int", "bool")], ids=lambda row: row.name)
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
    for count in (50, 400):
        body = "; ".join(f"a{k + 1} = sin(a{k})*x" for k in range(count))
        function = sg.parse(f"f(x): a0 = x; {body}; out = a{count}")
        steps[count] = len(differentiate(function).equations)
    assert steps[400] < 9 * steps[50]


def test_a_gradient_is_computed_at_the_point_where_it_is_asked():
    with mp.workdps(30):
        derivative = differentiate(sg.parse("f(x) = x**3"))
        (found,) = by_equations(derivative, {"x": mpmath.mpf(2)}, {"grad_output": 5})["x"]
        assert found == 60


HESSIANS = [  # (scalar formula, sizes)
    ("valley(x[n]) = sum[i:n-1](100*(x[i+1] - x[i]**2)**2 + (1 - x[i])**2)", {"n": 4}),
    ("f(x[n]) = log(sum[i](exp(x[i])))", {"n": 3}),
    ("f(x[n], w[n]) = log(sum[i](w[i]**2*exp(x[i])))", {"n": 3}),  # saves what is called grad_pre_out
    ("f(x[n]) = prod[i](x[i]) + sum[i](x[i]**3)", {"n": 3}),
    ("f(x[n,d], y[n]) = mean[i](softplus(sum[j](x[i,j]*y[i])))", {"n": 2, "d": 2}),
    ("f(x, y) = x**2*y", {}),  # at each point of arrays
    ("f(x, y) = log(exp(x) + exp(y))", {}),
    ("f(x[n], y[m]) = sum[i](x[i]**3)", {"n": 3, "m": 2}),  # which y changes nothing of
]


@pytest.mark.parametrize(("formula", "sizes"), HESSIANS, ids=[formula for formula, _ in HESSIANS])
@pytest.mark.in_turn
def test_gradient_is_a_function_again(formula, sizes):
    for to in ("numpy", "c"):
        report = sg.check(sg.gradient(sg.parse(formula)), to=to)
        assert report.ok, report


def line(x: sg.Tensor["..."], slope: sg.Tensor[""]):
    return slope * x


def test_gradient_of_what_is_no_scalar():
    with pytest.raises(TargetError, match="one scalar output"):
        sg.gradient(sg.parse("f(x[n])[i] = x[i]**2"))
    with pytest.raises(TargetError, match="one scalar output"):  # of slope all points are read
        sg.gradient(sg.function(line), "slope")
    with pytest.raises(TargetError, match="no gradient for z; choose from x, y"):
        sg.gradient(sg.parse("f(x, y[n]) = x*sum[i](y[i])"), "z")
