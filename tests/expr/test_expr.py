"""Expressions by themselves: what is one node, which identities building applies, walks, names, polynomials, text."""

from __future__ import annotations

import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad as sg
from symgrad.expr import (
    ONE,
    TWO,
    ZERO,
    apply,
    branch,
    conjunction,
    conjuncts,
    const,
    factors,
    index,
    indices,
    postorder,
    preorder,
    ref,
    refs,
    select,
    show,
    size,
    substitute,
    terms_of,
    total,
    transform,
    values,
)
from symgrad.expr.names import Names, fresh
from symgrad.expr.polynomials import polynomial
from symgrad.expr.sizes import as_integer, coefficient, equal, largest, never_negative, tidy

X, Y, Z, N, M = (ref(name) for name in "xyznm")
I, J = index("i"), index("j")
XI, YJ = ref("x", I), ref("y", J)
POSITIVE = apply("gt", X, ZERO)


def test_what_is_written_the_same_is_one_node():
    assert X * Y + 1 is X * Y + 1
    assert X * Y is not Y * X and (X * Y).key is (Y * X).key
    assert (X - Y).key is not (Y - X).key
    assert ref("x", X * Y).key is ref("x", Y * X).key


IDENTITIES = {  # that hold at every finite point where the parts have a value
    "x + 0": (X + 0, "x"),
    "0 - x": (0 - X, "-x"),
    "x - x": (X - X, "0"),
    "x*y - y*x": (X * Y - Y * X, "0"),
    "x*0": (X * 0, "0"),
    "1*x": (1 * X, "x"),
    "x + -y": (X + -Y, "x - y"),
    "x - -y": (X - -Y, "x + y"),
    "-x*-y": (-X * -Y, "x*y"),
    "-(x - y)": (-(X - Y), "y - x"),
    "x/-y": (X / -Y, "-x/y"),
    "(-x)**2": ((-X) ** 2, "x**2"),
    "(-x)**3": ((-X) ** 3, "(-x)**3"),
    "x**0": (X**0, "1"),
    "1/3 + 1/6": (const(Fraction(1, 3)) + Fraction(1, 6), "0.5"),
    "7//2": (apply("floordiv", 7, 2), "3"),
    "-7 % 3": (apply("mod", -7, 3), "2"),
    "x/x stays, it has no value at 0": (X / X, "x/x"),
    "0/x stays, it has no value at 0": (ZERO / X, "0/x"),
    "a decimal stays as typed": (const("0.1") + const("0.2"), "0.1 + 0.2"),
    "where(~c, x, y)": (select(apply("not", POSITIVE), X, Y), "where(x > 0, y, x)"),
    "where(c, x, x)": (select(POSITIVE, X, X), "x"),
    "where(1 < 2, x, y)": (select(apply("lt", 1, 2), X, Y), "x"),
    "true & c": (apply("and", ONE, POSITIVE), "x > 0"),
    "c | c": (apply("or", POSITIVE, POSITIVE), "x > 0"),
}


@pytest.mark.parametrize(("built", "text"), IDENTITIES.values(), ids=IDENTITIES)
def test_building_applies_identities(built, text):
    assert show(built).replace(" * ", "*").replace(" / ", "/") == text


BRACKETS = ["x*(y + z)", "x - (y - z)", "x/(y*z)", "x/y*z", "(x**y)**z", "x**y**z", "-x**2", "2*-x"]
BRACKETS += ["where(~((x > y) | (y > z)), x, 1)"]


@pytest.mark.parametrize("text", BRACKETS)
def test_text_has_the_brackets_it_needs(text):
    (e,) = sg.parse(f"f(x, y, z) = {text}").statements
    (again,) = sg.parse(f"f(x, y, z) = {show(e.body)}").statements
    assert again.body is e.body


def test_a_long_chain_is_walked_without_recursion():
    chain = X
    for k in range(20_000):
        chain = apply("sin", chain) + k
    assert size(chain) == 39_999  # sin(x) + 0 is sin(x)
    assert size(substitute(chain, {X: Y})) == 39_999
    assert refs(transform(chain, lambda n: Y if n is X else n)) == (Y,)


def test_walks():
    body = apply("sin", XI) * ref("x", I + 1) + apply("sin", XI)
    sine, shifted = body.args[1], ref("x", I + 1)
    assert list(postorder(body)) == [I, XI, sine, ONE, I + 1, shifted, sine * shifted, body]
    assert I + 1 not in values(body) and ref("x", I + 1) in values(body)
    assert values(body, closed=lambda n: n is body.args[0])[0] is body.args[0]
    assert list(preorder([body], lambda n: n.args)) == [body, sine * shifted, sine, XI, I, shifted, I + 1, ONE]
    assert list(preorder([body], lambda n: n.args if n is body else ())) == [body, sine * shifted, sine]
    assert (indices(XI * YJ), refs(XI * YJ)) == ((I, J), (XI, YJ))


def test_substitution_is_all_at_once():
    assert substitute(X - Y, {X: Y, Y: X}) is Y - X
    assert substitute(ref("x", I) + I, {I: J + 1}) is ref("x", J + 1) + (J + 1)


def test_a_branch_asks_its_condition_no_more():
    inner = select(POSITIVE, X, Y)
    assert branch(inner * 2, POSITIVE, True) is X * 2
    assert branch(inner * 2, POSITIVE, False) is Y * 2


def test_parts_of_sums_products_and_conditions():
    assert factors(X * Y / Z) == ([X, Y], [Z])
    assert factors(X / (Y / Z)) == ([X, Z], [Y])
    assert conjuncts(conjunction([POSITIVE, apply("gt", Y, ZERO)])) == [POSITIVE, apply("gt", Y, ZERO)]
    assert total([X, Y, Z]) is X + Y + Z
    assert terms_of(X - (Y - Z)) == [(X, 1), (Y, -1), (Z, 1)]


def test_names_are_given_once():
    names = Names({"x", "grad_x"})
    assert [names.new("y"), names.new("y"), names.new("x"), names.new("", "z")] == ["y", "y_2", "x_2", "z"]
    assert "y_2" in names and fresh("x", {"x", "x_2"}) == "x_3"


# integer expressions of sizes


@st.composite
def integers(draw, depth=3):
    """An integer expression of the sizes n and m and the index i, and the function that computes it."""
    if depth == 0:
        leaf = draw(st.sampled_from((N, M, I, *map(const, range(-2, 3)))))
        return leaf, lambda at: at[leaf] if leaf in at else int(leaf.value)
    op = draw(st.sampled_from((operator.add, operator.sub, operator.mul)))
    (a, f), (b, g) = draw(integers(depth - 1)), draw(integers(depth - 1))
    return op(a, b), lambda at: op(f(at), g(at))


@given(integers(), st.integers(0, 5), st.integers(1, 4), st.integers(1, 4))
def test_a_polynomial_is_the_expression(drawn, i, n, m):
    node, compute = drawn
    expected = compute({I: i, N: n, M: m})
    numbers = {I: const(i), N: const(n), M: const(m)}
    for same in (node, tidy(node), polynomial(node).expression()):
        assert as_integer(substitute(same, numbers)) == expected
    assert never_negative(node) is False or expected >= 0
    assert equal(node, tidy(node))


REACH = [(I, ONE, N - 1), (2 * I + 1, TWO, 2 * N - 1), (N - 1 - I, -ONE, N - 1), (M * I, M, M * N - M)]
REACH += [(J, ZERO, M - 1)]


@pytest.mark.parametrize(("subscript", "step", "end"), REACH, ids=[show(s) for s, *_ in REACH])
def test_how_far_a_subscript_reaches(subscript, step, end):
    assert coefficient(subscript, I) is step
    assert equal(largest(subscript, {I: N, J: M}), end)


def test_what_is_not_linear_has_no_step():
    assert coefficient(I * I, I) is None and coefficient(apply("floordiv", I, const(2)), I) is None
