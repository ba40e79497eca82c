"""Values that are equal but for a sign or the order of operands have one form; nothing is rounded otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from symgrad.evaluate import evaluate
from symgrad.expr import apply, const, ref, show
from symgrad.expr.signs import OneForm

a, b, c, s = (ref(name) for name in "abcs")

PAIRS = {  # the first, and what the second becomes
    "a difference turned round": (a * s - b * c, b * c - a * s, "b * c - a * s"),
    "operands in another order": (a * s + b, b + s * a, "a * s + b"),
    "a minus before a sum": (a + b, -a - b, "-(a + b)"),
    "a minus within a product": (a * s, c - (-a) * s, "c + a * s"),
    "two of them": (a * s, (-a) * (-s), "a * s"),
    "below the line": (a / s, b + a / -s, "b - a / s"),
    "a negative number": (2 * a, b + const(-2) * a, "b - 2 * a"),
    "inside of a function": (a - b, apply("exp", b - a), "exp(b - a)"),
    "in turn": (a * s - b * c, c * (b * c - s * a), "-c * (a * s - b * c)"),
    "the same once more": (a, a - a + b, "b"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_has_been_met_keeps_its_form(name):
    first, second, expected = PAIRS[name]
    form = OneForm()
    assert form(first) is first
    assert show(form(second)) == expected


@pytest.mark.parametrize("seed", range(40))
def test_the_numbers_are_the_same_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    values = dict(zip("abcs", rng.standard_normal(4), strict=True))
    nodes = [a, b, c, s, const(-2), const(3)]
    for _ in range(40):
        op = str(rng.choice(["add", "sub", "mul", "div", "neg", "exp"], p=[0.25, 0.25, 0.25, 0.1, 0.1, 0.05]))
        args = [nodes[int(rng.integers(len(nodes)))] for _ in range(1 if op in ("neg", "exp") else 2)]
        nodes.append(apply(op, *args))
    form = OneForm()
    formed = [form(node) for node in nodes]

    def value(node):
        with np.errstate(all="ignore"):
            try:
                return float(evaluate(node, {}, lambda name, _: values[name]))
            except (ZeroDivisionError, OverflowError):
                return None

    assert [repr(value(n)) for n in formed] == [repr(value(n)) for n in nodes]


def test_what_is_shared_is_one_node():
    form = OneForm()
    shared = form((a * s - b * c) * b)
    again = form(c - (b * c - s * a) * b)
    assert shared in again.args
